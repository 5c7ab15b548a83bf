// Attention in blocks of queries, which names no encoding: sites 2 and 3 are in score_blocks.hpp,
// site 4 and the outputs here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/attention/products.hpp"
#include "posenc/attention/score_blocks.hpp"
#include "posenc/attention/visible_keys.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// What one task computes in.
template <std::floating_point T>
struct attention_memory {
  score_memory<T> blocks;
  std::vector<T> keys, values, exponentials, outputs;
  tile_panels<T> key_panels, value_panels;
  std::vector<double> shares;
};

template <class Encoding>
double sink_of([[maybe_unused]] Encoding const& encoding, [[maybe_unused]] std::size_t head) {
  if constexpr (adds_sink<Encoding>) return encoding.sink(head);
  return no_sink;
}

/// The result of queries that see nothing.
template <class T, class Encoding>
void begin(attention_result<T>& result, Encoding const& encoding, attention_arguments const& given,
           attention_options const& options) {
  auto const queries = given.queries, keys = given.keys, heads = given.heads;
  result.outputs.resize(queries * heads * given.value_dim);
  if (keys == 0) std::ranges::fill(result.outputs, T{0});
  result.scores.assign(options.keep_scores ? heads * queries * keys : 0, masked_score<T>);
  result.weights.assign(options.keep_weights ? heads * queries * keys : 0, T{0});
  result.log_sum_exp.resize(queries * heads);
  for (std::size_t i = 0; i < queries * heads; ++i)
    result.log_sum_exp[i] = sink_of(encoding, i % heads);
}

/// How many keys make a part: the scores of few rows stay in L2.
inline constexpr std::size_t keys_of_part = 2048;

/// The parts of the keys that few rows are computed of, in any order, then added in that of the
/// keys. They begin at multiples of keys_of_part, so that bits depend on neither tasks nor pages.
template <std::floating_point T>
struct key_parts {
  std::size_t first = 0, count = 1;  ///< of the keys that are seen; one part keeps nothing here
  std::vector<scaled_sum> sums;      ///< [parts][queries][heads]
  std::vector<T> outputs;            ///< [parts][queries][heads][value_dim], each as if alone

  /// One part unless rows are few and neither the rules nor the options need whole rows.
  template <class Encoding>
  void begin(attention_arguments const& given, attention_options const& options) {
    first = 0, count = 1;
    if (acts_on_softmax<Encoding> || (acts_on_scores<Encoding> && !adjusts_each_score<Encoding>) ||
        options.keep_scores || options.keep_weights || given.keys <= keys_of_part ||
        !reads_in_place<Encoding>(given))
      return;
    visible_keys const visible(given.mask, given.query_positions, given.key_positions);
    std::vector<token_range> ranges;
    for (std::size_t t = 0; t < given.queries; ++t)
      ranges.push_back(visible.around(t, {0, given.keys}));
    auto const seen = hull(ranges);
    if (seen.first == seen.last) return;
    first = seen.first / keys_of_part, count = (seen.last - 1) / keys_of_part + 1 - first;
    sums.assign(count * given.queries * given.heads, no_keys());
    outputs.resize(sums.size() * given.value_dim);
  }

  void add_to(attention_result<T>& result, auto const& encoding, attention_arguments const& given) {
    auto const rows = result.log_sum_exp.size(), dim = given.value_dim;
    for (std::size_t row = 0; row < rows && count > 1; ++row) {
      auto all = no_keys();
      for (auto i = row; i < sums.size(); i += rows) all.add(sums[i]);
      auto const [log_sum_exp, share] = share_of(all, sink_of(encoding, row % given.heads));
      result.log_sum_exp[row] = log_sum_exp;
      auto* const output = std::fill_n(result.outputs.data() + row * dim, dim, T{0}) - dim;
      for (auto i = row; i < sums.size(); i += rows) {
        auto const part = std::exp(sums[i].largest - all.largest) * sums[i].sum * share;
        auto const weight = static_cast<T>(part);
        for (std::size_t j = 0; weight != 0 && j < dim; ++j)
          output[j] += weight * outputs[i * dim + j];
      }
    }
  }

  static scaled_sum no_keys() noexcept { return {1, std::numeric_limits<double>::lowest(), 0}; }
};

/// One worker, of arguments that are checked. Which worker takes a piece changes no bit of it.
template <std::floating_point T, class Encoding>
class block_attention {
 public:
  block_attention(prepared_encoding<T, Encoding> const& step, attention_arguments const& given,
                  attention_options const& options, attention_result<T>& result,
                  key_parts<T>& parts, attention_memory<T>& memory)
      : encoding_(step.encoding()),
        given_(given),
        options_(options),
        result_(result),
        parts_(parts),
        memory_(memory),
        scores_(step, given, memory.blocks) {}

  /// Takes pieces until none is left. Where rows are few, keys and values are read in place: a
  /// piece is a part of the keys, of all kv heads, or of some where tasks are more than parts. Else
  /// it is a block of queries of one kv head, whose keys are encoded by each task that takes one;
  /// the last block, which sees most keys, first. k and v: as to_read makes them.
  template <class Q>
  void take(std::atomic<std::size_t>& next, std::size_t tasks, heads_view<Q> const& q,
            auto const& k, auto const& v) {
    if (reads_in_place<Encoding>(given_)) {
      auto const splits = (tasks - 1) / parts_.count + 1;
      for (std::size_t i; (i = next++) < parts_.count * splits;) {
        auto const [head, count] = part_of(given_.kv_heads, i % splits, splits);
        if (count == 0) continue;
        part_ = i / splits;
        auto const from = (parts_.first + part_) * keys_of_part;
        if (parts_.count > 1) scores_.see({from, from + keys_of_part});
        attend(q, k.slice_heads(head, count), v.slice_heads(head, count), head, 0);
      }
      return;
    }
    auto &keys = memory_.key_panels, &values = memory_.value_panels;
    auto const blocks = (given_.queries - 1) / scores_.queries() + 1;
    auto encoded = given_.kv_heads;
    for (std::size_t i; (i = next++) < given_.kv_heads * blocks;) {
      auto const kv_head = i / blocks;
      if (encoded != kv_head) {
        keys.begin(scores_.encoded_keys(memory_.keys, k.slice_heads(kv_head, 1), kv_head),
                   blocks > 1);
        values.begin(as_computed<T>(memory_.values, v.slice_heads(kv_head, 1)), blocks > 1);
        encoded = kv_head;
      }
      attend(q, keys, values, kv_head, (blocks - 1 - i % blocks) * scores_.queries());
    }
  }

 private:
  /// The block of queries from `first` on, of the heads that share the kv heads of k and v,
  /// `kv_head` and those after it.
  template <class Q>
  void attend(heads_view<Q> const& q, auto&& k, auto&& v, std::size_t kv_head, std::size_t first) {
    auto const sees = scores_.compute(q, first, k, kv_head);  // (2) queries and keys, (3) scores
    auto const rows = scores_.shape().rows();
    for (std::size_t i = 0; !sees && i < rows; ++i)
      std::fill_n(outputs_of(scores_[i]), given_.value_dim, T{0});
    if (!sees) return;
    memory_.shares.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) make_weights(i);  // (4) softmax
    sum_values(v);
  }

  /// Exponentiates row i; shares[i] is 1 / its sum.
  void make_weights(std::size_t i) {
    auto const row = scores_[i];
    auto const seen = scores_.shape().seen();
    if (options_.keep_scores) std::ranges::copy(row.scores, result_.scores.data() + at_keys(row));
    auto const e = exponentiate<acts_on_softmax<Encoding>>(
        row.scores, memory_.exponentials, [&](auto const& plain, auto max) {
          return inverse_temperature_of(
              encoding_, statistics_of(plain, max, row.head, given_.query_positions[row.query]));
        });
    if (e.numbers != row.scores.data())
      std::copy_n(e.numbers, row.scores.size(), row.scores.data());
    if (!is_finite(e.sum.sum)) scores_.clear_hidden(row);
    auto const in_parts = parts_.count > 1;
    auto const share = share_of(e.sum, in_parts ? no_sink : sink_of(encoding_, row.head));
    memory_.shares[i] = share.share;
    if (in_parts)
      parts_.sums[part_ * result_.log_sum_exp.size() + at(row)] = e.sum;
    else
      result_.log_sum_exp[at(row)] = share.log_sum_exp;
    auto* const weights = scores_.data() + i * seen;
    std::fill(weights, row.scores.data(), T{0});
    std::fill(row.scores.data() + row.scores.size(), weights + seen, T{0});
  }

  /// The outputs of the block, and its weights where they are kept.
  void sum_values(auto&& v) {
    auto const& block = scores_.shape();
    auto const value_dim = given_.value_dim;
    memory_.outputs.resize(block.rows() * value_dim);
    multiply_outputs<T>(memory_.outputs.data(), scores_.data(), v, block, memory_.shares.data());
    for (std::size_t i = 0; i < block.rows(); ++i) {
      auto const row = scores_[i];
      std::copy_n(memory_.outputs.data() + i * value_dim, value_dim, outputs_of(row));
      if (!options_.keep_weights) continue;
      std::ranges::transform(row.scores, result_.weights.data() + at_keys(row),
                             [share = static_cast<T>(memory_.shares[i])](T weight) {
                               return weight == 0 ? T{0} : weight * share;
                             });
    }
  }

  T* outputs_of(block_row<T> const& row) const noexcept {
    auto* const outputs = parts_.count > 1 ? parts_.outputs.data() + part_ * result_.outputs.size()
                                           : result_.outputs.data();
    return outputs + at(row) * given_.value_dim;
  }
  std::size_t at(block_row<T> const& row) const noexcept {
    return row.query * given_.heads + row.head;
  }
  std::size_t at_keys(block_row<T> const& row) const noexcept {
    return (row.head * given_.queries + row.query) * given_.keys + row.keys.first;
  }

  Encoding const& encoding_;
  attention_arguments const& given_;
  attention_options const& options_;
  attention_result<T>& result_;
  key_parts<T>& parts_;
  attention_memory<T>& memory_;
  score_blocks<T, Encoding> scores_;
  std::size_t part_ = 0;
};

}  // namespace detail
}  // namespace posenc
