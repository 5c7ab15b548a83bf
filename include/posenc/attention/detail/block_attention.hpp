// Attention in blocks of queries and parts of keys, which names no encoding: sites 2 and 3 are in
// score_blocks.hpp, site 4 and the outputs here.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/block_memory.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/checked_call.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/detail/few_products.hpp"
#include "posenc/attention/detail/finish_outputs.hpp"
#include "posenc/attention/detail/key_parts.hpp"
#include "posenc/attention/detail/products.hpp"
#include "posenc/attention/detail/rounded_products.hpp"
#include "posenc/attention/detail/score_blocks.hpp"
#include "posenc/attention/detail/work.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// One worker of a call. Which worker takes a piece changes no bit of it.
template <class Call>
class block_attention {
  using T = typename Call::number;

 public:
  /// all: the rows of each range, [ranges][queries][heads], if there are several.
  block_attention(Call const& call, std::size_t workers, scratch& memory,
                  partial_rows<T> const& all)
      : call_(call),
        given_(call.given()),
        work_(call.work()),
        sizes_(work_.sizes(workers, given_.keys)),
        all_(all),
        rounds_(call.rounds()),
        multiplies_words_(call.multiplies_words()),
        scores_(call.sites(), given_, call.missing(), sizes_, memory),
        memory_(memory, given_, sizes_, work_.in_place, rounds_, has_temperature(call.encoding())) {
    if constexpr (Call::may_multiply_words)
      words_ = memory.take<float>(sizes_.queries * given_.group, words_of_head());
    if constexpr (Call::may_round)
      rounded_ = {memory,
                  sizes_.blocks,
                  sizes_.queries * given_.group,
                  rounds_.keys ? sizes_.keys : 0,
                  given_.head_dim,
                  rounds_.values ? sizes_.keys : 0,
                  given_.value_dim};
  }

  void compute(attention_piece const& piece) {
    piece_ = piece;
    for (std::size_t i = 0; i < piece.blocks; ++i) encode(i);
    memory_.rows.clear(piece.blocks * rows_of_block());
    auto const range = work_.keys(piece.range, given_.keys);
    if (work_.whole_rows) {
      see(0, range) ? attend_to_whole_rows(range) : record_nothing();
    } else {
      for (auto first = range.first; first < range.last; first += keys_of_part)
        attend_to_part({first, std::min(first + keys_of_part, range.last)});
    }
    for (std::size_t i = 0; i < piece.blocks; ++i) store(i);
  }

 private:
  std::size_t first_of(std::size_t i) const noexcept {
    return (piece_.first_block + i) * work_.block_queries;
  }
  std::size_t count_of(std::size_t i) const noexcept {
    return std::min(work_.block_queries, given_.queries - first_of(i));
  }
  std::size_t rows_of_block() const noexcept {
    return sizes_.kv_heads * sizes_.queries * given_.group;
  }
  bool see(std::size_t i, token_range among) {
    block_ = i;
    return scores_.see(i, first_of(i), count_of(i), piece_.kv_head, piece_.kv_heads, among);
  }
  auto keys() const { return call_.keys().slice_heads(piece_.kv_head, piece_.kv_heads); }
  auto values() const { return call_.values().slice_heads(piece_.kv_head, piece_.kv_heads); }

  void encode(std::size_t i) {
    scores_.encode(i, call_.queries(), first_of(i), count_of(i), piece_.kv_head, piece_.kv_heads);
    if constexpr (Call::may_round) {
      if (rounds_.keys)
        rounded_.queries[i].round(scores_.encoded_queries(i), count_of(i) * given_.group,
                                  given_.head_dim, static_cast<float>(given_.scale));
    }
  }
  std::size_t words_of_head() const noexcept { return (given_.head_dim + 1) / 2; }
  void attend_to_part(token_range part) {
    bool has_panels = false;
    for (std::size_t i = 0; i < piece_.blocks; ++i) {
      if (!see(i, part)) continue;
      if (!work_.in_place && !has_panels) {
        make_key_panels(part);
        make_value_panels(part);
      }
      has_panels = true;
      multiply_keys();
      scores_.adjust();
      make_weights();
      multiply_values();
      add_outputs(i);
    }
  }
  /// Scores of all keys, then weights, then outputs.
  void attend_to_whole_rows(token_range range) {
    auto const for_parts = [&](auto const& act) {
      auto const seen = scores_.shape().keys;
      for (auto first = seen.first / keys_of_part * keys_of_part; first < seen.last;
           first += keys_of_part)
        act(token_range{first, std::min(first + keys_of_part, range.last)});
    };
    if (work_.in_place)
      multiply_keys();
    else
      for_parts([&](token_range part) { make_key_panels(part), multiply_keys(); });
    scores_.adjust();
    make_weights();
    if (work_.in_place)
      multiply_values();
    else
      for_parts([&](token_range part) { make_value_panels(part), multiply_values(); });
    add_outputs(0);
  }

  void record_nothing() {
    for (std::size_t n = 0; n < scores_.shape().rows(); ++n) {
      record(call_.records().scores, scores_[n], masked_score<T>, std::identity());
      record(call_.records().weights, scores_[n], T{0}, std::identity());
    }
  }

  void make_key_panels(token_range part) {
    if constexpr (Call::may_round) {
      if (rounds_.keys && reads_keys<typename Call::encoding_type>(given_))
        return rounded_.keys.begin({call_.keys(), piece_.kv_head, part});
    }
    if constexpr (Call::may_multiply_words) {
      if (multiplies_words_) {
        copy_words(memory_.keys, keys().slice_tokens(part.first, part.last - part.first));
        return memory_.key_panels.begin(
            {memory_.keys, {part.last - part.first, 1, words_of_head()}}, part.first);
      }
    }
    auto const some =
        scores_.encoded_keys(memory_.keys, keys().slice_tokens(part.first, part.last - part.first),
                             part.first, piece_.kv_head);
    if constexpr (Call::may_round) {
      if (rounds_.keys) return rounded_.keys.begin({some, 0, part, part.first});
    }
    memory_.key_panels.begin(some, part.first);
  }
  void make_value_panels(token_range part) {
    if constexpr (Call::may_round) {
      if (rounds_.values) return rounded_.values.begin({call_.values(), piece_.kv_head, part});
    }
    auto const some = values().slice_tokens(part.first, part.last - part.first);
    memory_.value_panels.begin(as_computed<T>(memory_.values, some), part.first);
  }
  void multiply_keys() {
    if constexpr (Call::may_round) {
      if (rounds_.keys)
        return scores_.multiply(scores_.data(), rounded_.keys, rounded_.queries[block_]);
    }
    if constexpr (Call::may_multiply_words) {
      if (multiplies_words_) {
        copy_words(words_, call_.queries()
                               .slice_tokens(first_of(block_), count_of(block_))
                               .slice_heads(piece_.kv_head * given_.group, given_.group));
        return multiply_scores<word_tile>(scores_.data(), static_cast<float>(given_.scale), words_,
                                          memory_.key_panels, scores_.shape());
      }
    }
    if (work_.in_place)
      scores_.multiply(scores_.data(), keys(), memory_.few);
    else
      scores_.multiply(scores_.data(), memory_.key_panels);
  }
  void multiply_values() {
    auto const& block = scores_.shape();
    if constexpr (Call::may_round) {
      if (rounds_.values) return multiply_outputs(memory_.outputs, scores_.data(), rounded_, block);
    }
    if (work_.in_place) std::fill_n(memory_.outputs, block.rows() * given_.value_dim, T{0});
    if (work_.in_place)
      multiply_outputs<T>(memory_.outputs, scores_.data(), values(), block, memory_.few);
    else
      multiply_outputs<T>(memory_.outputs, scores_.data(), memory_.value_panels, block);
  }

  /// (4) Exponentials of each row in place of scores, their sums, and shares: 1 / sum.
  void make_weights() {
    auto const seen = scores_.shape().seen();
    for (std::size_t i = 0; i < scores_.shape().rows(); ++i) {
      auto const row = scores_[i];
      record(call_.records().scores, row, masked_score<T>, std::identity());
      auto const e = exponentiate_row(call_.encoding(), given_, row, memory_.exponentials);
      if (e.numbers != row.scores.data())
        std::copy_n(e.numbers, row.scores.size(), row.scores.data());
      if (!is_finite(e.sum.sum)) scores_.clear_hidden(row);
      memory_.sums[i] = e.sum;
      memory_.shares[i] = e.sum.sum == 0 ? 0 : 1 / e.sum.sum;
      auto* const weights = scores_.data() + i * seen;
      std::fill(weights, row.scores.data(), T{0});
      std::fill(row.scores.data() + row.scores.size(), weights + seen, T{0});
    }
  }

  /// Adds the outputs of the keys to the rows of block i.
  void add_outputs(std::size_t i) {
    finish_outputs(memory_.outputs, scores_.data(), values(), scores_.shape(), memory_.shares);
    auto const rows = memory_.rows.from(i * rows_of_block());
    for (std::size_t n = 0; n < scores_.shape().rows(); ++n)
      rows.add(n, memory_.sums[n], memory_.outputs + n * given_.value_dim);
    if (call_.records().weights.empty()) return;
    for (std::size_t n = 0; n < scores_.shape().rows(); ++n) {
      auto const row = scores_[n];
      auto const share = share_of(memory_.sums[n], sink_of(call_.encoding(), row.head)).share;
      record(call_.records().weights, row, T{0}, [share = static_cast<T>(share)](T weight) {
        return weight == 0 ? T{0} : weight * share;
      });
    }
  }

  /// The rows of block i go to the result, or to their range.
  void store(std::size_t i) {
    auto const rows = memory_.rows.from(i * rows_of_block());
    auto const of_head = count_of(i) * given_.group;
    for (std::size_t n = 0; n < piece_.kv_heads * of_head; ++n) {
      auto const query = first_of(i) + n % of_head / given_.group,
                 head = (piece_.kv_head + n / of_head) * given_.group + n % given_.group,
                 row = query * given_.heads + head;
      auto* const outputs = rows.outputs + n * given_.value_dim;
      if (work_.ranges == 1) {
        call_.store(query, head, rows, n);
      } else {
        auto const to = all_.from(piece_.range * given_.queries * given_.heads + row);
        to.sums[0] = rows.sums[n];
        std::copy_n(outputs, given_.value_dim, to.outputs);
      }
    }
  }

  /// Writes a row of scores or weights: `hidden`, and of(score) where the key is seen.
  void record(std::span<T> all, block_row<T> const& row, T hidden, auto const& of) const {
    if (all.empty()) return;
    auto const at = (row.head * given_.queries + row.query) * given_.keys;
    auto const to = all.subspan(at, given_.keys);
    std::ranges::fill(to, hidden);
    std::ranges::transform(row.scores, to.data() + row.keys.first, of);
  }

  Call const& call_;
  attention_arguments const& given_;
  attention_work const& work_;
  block_sizes sizes_;
  partial_rows<T> all_;
  rounded_sides rounds_;
  bool multiplies_words_;
  float* words_ = nullptr;  // of the queries of a block
  score_blocks<T, typename Call::encoding_type> scores_;
  block_memory<T> memory_;
  struct none {};
  [[no_unique_address]] std::conditional_t<Call::may_round, rounded_memory, none> rounded_;
  attention_piece piece_ = {};
  std::size_t block_ = 0;
};

}}}  // namespace posenc::detail
