// The blocks of attention in reverse, in four steps: softmax, scores, products, and the sums over
// blocks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/block_memory.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/checked_call.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/detail/finish_outputs.hpp"
#include "posenc/attention/detail/products.hpp"
#include "posenc/attention/detail/score_blocks.hpp"
#include "posenc/attention/detail/tile_panels.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// sums += factors^T rows, of one kv head. Factors are 0 where a row does not see a key; the row
/// may be NaN there, and is then left out. panels: memory for these rows.
template <std::floating_point T>
void add_transposed_product(heads_view<T> const& sums, T const* factors, T const* rows,
                            tile_panels<T>& panels, block_shape const& b) {
  auto const dims = sums.head_dim(), seen = b.seen();
  if (!all_finite(std::span(rows, b.rows() * dims))) {
    for (std::size_t row = 0; row < b.rows(); ++row) {
      for (std::size_t s = 0; s < seen; ++s) {
        auto const factor = factors[row * seen + s];
        if (factor == 0) continue;
        auto const sum = sums(b.keys.first + s, 0);
        for (std::size_t i = 0; i < dims; ++i)
          sum[i] = multiply_add(factor, rows[row * dims + i], sum[i]);
      }
    }
    return;
  }
  panels.begin(heads_view<T const>(rows, {b.rows(), 1, dims}), 0);
  in_parts(0, b.rows(), tile_terms, [&](std::size_t row, std::size_t terms) {
    auto const hull = b.seen_by(row, terms);
    in_parts(0, dims, tile_columns<T>, [&](std::size_t dim, std::size_t columns) {
      auto const* const panel = panels.of_values(row, terms, dim, columns);
      for (auto key = hull.first; key < hull.last; key += tile_rows) {
        auto const keys = std::min(tile_rows, hull.last - key);
        multiply(tile<T>{sums(key, 0).data() + dim, static_cast<std::size_t>(sums.strides().token),
                         rows_of_tile(factors + row * seen + key - b.keys.first, 1, keys), seen,
                         panel, terms, 1, true},
                 keys, columns);
      }
    });
  });
}

/// Outputs of a call and their gradients; the sums, from 0 on, of those of q, k and v.
template <std::floating_point T, class Outputs, class Gradients>
struct backward_heads {
  Outputs outputs;            ///< [queries][heads][value_dim]
  double const* log_sum_exp;  ///< [queries][heads]
  std::size_t of_query;       ///< from one query's to the next one's
  Gradients d_outputs;        ///< [queries][heads][value_dim]
  heads_view<T> d_q, d_k, d_v;
};

/// The memory in which blocks are computed in reverse, beside that of scores.
template <std::floating_point T>
struct backward_memory {
  T *keys, *values;                   ///< of a kv head, unless they are read in place
  T *outputs, *d_outputs;             ///< of a block
  T* d_scores;                        ///< [rows][keys]
  T *d_queries, *d_encoded_queries;   ///< of a block
  T* exponentials;                    ///< of a row
  tile_panels<T> of_keys, of_values,  ///< for scores, and for gradients of weights
      summed_keys,                    ///< for gradients of queries
      rows;                           ///< for gradients of keys and values

  backward_memory(scratch& memory, attention_arguments const& given, block_sizes const& sizes,
                  bool has_temperature) {
    auto const count = sizes.queries * given.group;
    keys = memory.take<T>(given.keys, given.head_dim);
    values = memory.take<T>(given.keys, given.value_dim);
    outputs = memory.take<T>(count, given.value_dim);
    d_outputs = memory.take<T>(count, given.value_dim);
    d_scores = memory.take<T>(count, sizes.columns);
    d_queries = memory.take<T>(count, given.head_dim);
    d_encoded_queries = memory.take<T>(count, given.head_dim);
    exponentials = memory.take<T>(has_temperature ? sizes.columns : 0);
    of_keys = {memory, given.keys, given.head_dim, true};
    of_values = {memory, given.keys, given.value_dim, true};
    summed_keys = {memory, given.keys, given.head_dim, true};
    rows = {memory, count, std::max(given.head_dim, given.value_dim), true};
  }
};

/// The blocks of one call in reverse. Gradients of encoded queries and keys come out as those of q
/// and k.
template <std::floating_point T, class Encoding>
class backward_blocks {
  using through = lets_through<Encoding>;

 public:
  /// step: prepared for the positions of the call.
  backward_blocks(Encoding const& encoding, attention_arguments const& given,
                  prepared_sites<T, Encoding> const& step, scratch& memory)
      : encoding_(encoding),
        given_(given),
        scores_(step, given, {}, sizes_of(given), memory),
        memory_(memory, given, sizes_of(given), has_temperature(encoding)) {}

  /// k and v: as to_read makes them.
  void add_all(auto const& q, auto const& k, auto const& v, auto const& of) {
    auto const each = scores_.sizes().queries;
    for (std::size_t kv_head = 0; kv_head < given_.kv_heads; ++kv_head) {
      auto const encoded =
          scores_.encoded_keys(memory_.keys, k.slice_heads(kv_head, 1), 0, kv_head);
      memory_.of_keys.begin(encoded, 0), memory_.summed_keys.begin(encoded, 0);
      memory_.of_values.begin(as_computed<T>(memory_.values, v.slice_heads(kv_head, 1)), 0);
      for (std::size_t first = 0; first < given_.queries; first += each) {
        auto const count = std::min(each, given_.queries - first);
        scores_.encode(0, q, first, count, kv_head, 1);
        if (!scores_.see(0, first, count, kv_head, 1, {0, given_.keys})) continue;
        scores_.multiply(scores_.data(), memory_.of_keys);
        scores_.adjust();
        auto const& block = scores_.shape();
        auto const of_block = [&](auto const& heads) {
          return heads.slice_tokens(first, count).slice_heads(kv_head * given_.group, given_.group);
        };
        copied<T>(memory_.d_outputs, of_block(of.d_outputs));
        T const* const d_outputs = memory_.d_outputs;
        multiply_scores(memory_.d_scores, T{1}, d_outputs, memory_.of_values, block);
        auto const outputs = as_computed<T>(memory_.outputs, of_block(of.outputs));
        for (std::size_t i = 0; i < block.rows(); ++i) through_softmax(i, first, outputs, of);
        add_transposed_product<T>(of.d_v.slice_heads(kv_head, 1), scores_.data(), d_outputs,
                                  memory_.rows, block);
        if constexpr (!through::as_biases) {
          if (!only_adds_bias(encoding_)) through_scores();
        }
        through_products(kv_head, of);
      }
    }
  }

 private:
  /// How large the blocks are.
  static block_sizes sizes_of(attention_arguments const& given) noexcept {
    return {std::min(given.queries, queries_of_block(given.group)), 1, 1, given.keys, given.keys};
  }

  /// (4) Of row i: scores become weights, and gradients of weights those of scores. outputs: of the
  /// block's queries, from `first` on, and heads.
  void through_softmax(std::size_t i, std::size_t first, heads_view<T const> const& outputs,
                       auto const& of) {
    auto const row = scores_[i];
    auto const dims = given_.value_dim;
    auto const log_sum_exp = of.log_sum_exp[row.query * of.of_query + row.head];
    double mean = 0;
    auto const e = exponentiate_row(encoding_, given_, row, memory_.exponentials);
    auto const share = static_cast<T>(share_within(e.sum, log_sum_exp));
    std::transform(e.numbers, e.numbers + row.scores.size(), row.scores.data(),
                   [share](T weight) { return weight * share; });
    if (!is_finite(e.sum.sum) || !is_finite(static_cast<double>(share))) scores_.clear_hidden(row);
    auto const output = outputs(row.query - first, row.head % given_.group);
    for (std::size_t j = 0; j < dims; ++j)
      mean += static_cast<double>(memory_.d_outputs[i * dims + j]) * static_cast<double>(output[j]);
    auto* const weights = scores_.data();
    auto const seen = scores_.shape().seen(), from = index_of(row), to = from + row.scores.size();
    auto const factor = static_cast<T>(only_adds_bias(encoding_) ? e.beta * given_.scale : e.beta);
    softmax_gradients(weights + from, memory_.d_scores + from, to - from, static_cast<T>(mean),
                      factor);
    for (auto* const numbers : {weights, memory_.d_scores}) {
      std::fill(numbers + i * seen, numbers + from, T{0});
      std::fill(numbers + to, numbers + (i + 1) * seen, T{0});
    }
  }

  /// (3) Of rules that are no biases, from the scores before them, which take the place of weights.
  void through_scores() {
    auto const rows = scores_.shape().rows(), dims = given_.head_dim;
    std::fill_n(memory_.d_encoded_queries, rows * dims, T{0});
    scores_.multiply(scores_.data(), memory_.of_keys);
    auto const positions = scores_.listed_positions();
    for (std::size_t i = 0; i < rows; ++i) {
      auto const row = scores_[i];
      std::span<T> const d_row(memory_.d_scores + index_of(row), row.scores.size());
      encoding_.backward_scores(scores_.score_row_of(i, std::span<T const>(row.scores), positions),
                                d_row, std::span<T>(memory_.d_encoded_queries + i * dims, dims));
      for (auto& x : d_row) x *= static_cast<T>(given_.scale);
    }
  }

  /// From scores to encoded queries and keys.
  void through_products(std::size_t kv_head, auto const& of) {
    auto const& block = scores_.shape();
    T const* const d_scores = memory_.d_scores;
    auto const dims = given_.head_dim;
    add_transposed_product<T>(of.d_k.slice_heads(kv_head, 1), d_scores, scores_.encoded_queries(),
                              memory_.rows, block);
    std::fill_n(memory_.d_queries, block.rows() * dims, T{0});
    multiply_outputs(memory_.d_queries, d_scores, memory_.summed_keys, block);
    finish_outputs<T>(memory_.d_queries, d_scores, memory_.of_keys.head(), block, nullptr);
    for (std::size_t i = 0; i < block.rows(); ++i) {
      auto const row = scores_[i];
      auto const to = of.d_q(row.query, row.head);
      std::copy_n(memory_.d_queries + i * dims, dims, to.data());
      if (only_adds_bias(encoding_)) continue;
      for (std::size_t j = 0; j < dims; ++j) to[j] += memory_.d_encoded_queries[i * dims + j];
    }
  }

  /// In [rows][seen].
  std::size_t index_of(block_row<T> const& row) {
    return static_cast<std::size_t>(row.scores.data() - scores_.data());
  }

  Encoding const& encoding_;
  attention_arguments const& given_;
  score_blocks<T, Encoding> scores_;
  backward_memory<T> memory_;
};

}}}  // namespace posenc::detail
