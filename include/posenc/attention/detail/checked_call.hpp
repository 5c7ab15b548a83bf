// A call whose arguments passed their checks: how its work is cut, where its results go.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/detail/few_products.hpp"
#include "posenc/attention/detail/key_parts.hpp"
#include "posenc/attention/detail/score_blocks.hpp"
#include "posenc/attention/detail/work.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/simd/x86_pair_products.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

template <class Encoding>
double sink_of([[maybe_unused]] Encoding const& encoding, [[maybe_unused]] std::size_t head) {
  if constexpr (adds_sink<Encoding>) return encoding.sink(head);
  return no_sink;
}
template <class Encoding>
bool has_temperature([[maybe_unused]] Encoding const& encoding) noexcept {
  if constexpr (may_act_on_softmax<Encoding>) {
    return encoding.changes_temperature();
  } else {
    return acts_on_softmax<Encoding>;
  }
}
/// (4) The exponentials of a row of scores, at its temperature. memory: of a row, if there is one.
template <class Encoding, std::floating_point T>
row_exponentials<T> exponentiate_row([[maybe_unused]] Encoding const& encoding,
                                     attention_arguments const& given, block_row<T> const& row,
                                     T* memory) {
  auto const beta = [&](auto const& plain, auto max) {
    return inverse_temperature_of(encoding, statistics_of<T>(plain, row.scores, max, row.head,
                                                             given.query_positions[row.query]));
  };
  if constexpr (acts_on_softmax<Encoding>) {
    if (has_temperature(encoding)) return exponentiate<true>(row.scores, memory, beta);
  }
  return exponentiate<false>(row.scores, memory, beta);
}
/// Whether site 3 looks at other scores of the row.
template <class Encoding>
inline constexpr bool adjusts_whole_rows =
    acts_on_scores<Encoding> && !adjusts_each_score<Encoding>;

template <class Q>
auto const& heads_of(Q const& q) noexcept {
  if constexpr (requires { q.scale; }) {
    return q.heads;
  } else {
    return q;
  }
}
std::optional<double> scale_on(auto const& q) noexcept {
  if constexpr (requires { q.scale; }) return q.scale;
  return {};
}

/// The arguments of a call, checked, and how its work is cut.
template <class Q, class K, class V, class O, class Encoding>
class checked_call {
 public:
  using number = arithmetic_of<Q>;
  using encoding_type = Encoding;

  /// step: prepared for the positions `at`; null: it is prepared here.
  checked_call(char const* function, Q const& q, K const& k, V const& v, O const& outputs,
               Encoding const& encoding, attention_options const& options,
               attention_positions const& at, bool keeps_rows,
               prepared_sites<number, Encoding> const* step)
      : checked_call(function, q, k, v, outputs, encoding, options, {}, {}, &at, keeps_rows, step) {
  }
  /// Keeps the positions of the options.
  checked_call(char const* function, Q const& q, K const& k, V const& v, O const& outputs,
               Encoding const& encoding, attention_options&& options, bool keeps_rows)
      : checked_call(function, q, k, v, outputs, encoding, options,
                     std::move(options.query_positions), std::move(options.key_positions), nullptr,
                     keeps_rows, nullptr) {}

  /// Sets where results go.
  void write_to(O const& outputs, attention_records<number> const& records) noexcept {
    outputs_ = outputs, records_ = records;
  }

  auto const& queries() const noexcept { return queries_; }
  auto const& keys() const noexcept { return keys_; }
  auto const& values() const noexcept { return values_; }
  Encoding const& encoding() const noexcept { return encoding_; }
  attention_arguments const& given() const noexcept { return given_; }
  attention_records<number> const& records() const noexcept { return records_; }
  attention_work const& work() const noexcept { return work_; }
  /// Whether the products of some keys or values may be rounded, and those of the call are.
  static constexpr bool may_round =
      multiplies_pairs && std::same_as<number, float> &&
      (may_round_products<std::remove_cvref_t<K>> || may_round_products<std::remove_cvref_t<V>>);
  rounded_sides rounds() const noexcept {
    if (!may_round || work_.in_place) return {};
    return {rounds_products(keys_), rounds_products(values_)};
  }
  /// Whether the scores are products of words: queries and keys are bfloat16 numbers, and the CPU
  /// multiplies pairs of them faster than floats. The products are as exact.
  static constexpr bool may_multiply_words =
      std::same_as<number, float> &&
      may_be_words<std::remove_cvref_t<decltype(heads_of(std::declval<Q const&>()))>> &&
      may_be_words<std::remove_cvref_t<K>>;
  bool multiplies_words() const noexcept {
    if constexpr (may_multiply_words) {
      return !work_.in_place && reads_keys<Encoding>(given_) &&
             (!acts_on_queries_and_keys<Encoding> || given_.queries_are_encoded) &&
             !rounds().keys && are_words(queries_) && are_words(keys_);
    } else {
      return false;
    }
  }
  prepared_sites<number, Encoding> const& sites() const noexcept {
    return step_ == nullptr ? *own_step_ : *step_;
  }
  std::size_t rows() const noexcept { return given_.queries * given_.heads; }
  /// A hash of all that workers of one call must have alike: shapes, scale, mask, positions, what
  /// is recorded, and the encoding's numbers if it has a hash. Addresses may differ.
  std::uint64_t hash() const noexcept {
    argument_hash all;
    for (auto const n : {given_.queries, given_.keys, given_.heads, given_.kv_heads,
                         given_.head_dim, given_.value_dim, records_.log_sum_exp.size(),
                         records_.scores.size(), records_.weights.size()})
      all.add(std::uint64_t{n});
    all.add(given_.scale);
    all.add(given_.mask.hash());
    for (position_list const* const at : {&given_.query_positions, &given_.key_positions}) {
      if (at->size() == 0) continue;
      all.add(static_cast<std::uint64_t>((*at)[0]));
      all.add(static_cast<std::uint64_t>((*at)[at->size() - 1]));
    }
    if constexpr (posenc::has_hash<Encoding>) all.add(encoding_.hash());
    return all.value();
  }
  /// The number of ranges whose rows are kept until all are done.
  std::size_t ranges_kept() const noexcept { return work_.ranges > 1 ? work_.ranges : 0; }
  missing_tokens missing() const noexcept {
    if (!has_gaps_) return {};
    return {&keys_, &values_, [](void const* k, void const* v, std::size_t token) {
              return !static_cast<decltype(keys_) const*>(k)->has(token) ||
                     !static_cast<decltype(values_) const*>(v)->has(token);
            }};
  }

  /// Row n of `rows` is what a query and head come to.
  void store(std::size_t query, std::size_t head, partial_rows<number> const& rows,
             std::size_t n) const {
    auto const sink = sink_of(encoding_, head);
    rows.leave_share(n, sink);
    outputs_.write(query, head,
                   std::span<number const>(rows.outputs + n * given_.value_dim, given_.value_dim));
    if (!records_.log_sum_exp.empty())
      records_.log_sum_exp[query * given_.heads + head] = share_of(rows.sums[n], sink).log_sum_exp;
  }
  /// The rows of worker i of n, if no piece has stored them: the sum of the ranges, in order; or,
  /// in one row of memory, rows that see nothing.
  void add_ranges(partial_rows<number> const& all, std::size_t i, std::size_t n) const {
    if (work_.ranges == 1) return;
    auto const [first, count] = part_of(rows(), i, n);
    for (auto row = first; row < first + count; ++row) {
      auto const sum = all.from(work_.ranges == 0 ? 0 : row);
      if (work_.ranges == 0) {
        sum.clear(1);
        record_nothing(row);
      }
      for (std::size_t range = 1; range < work_.ranges; ++range) {
        auto const part = all.from(range * rows() + row);
        sum.add(0, part.sums[0], part.outputs);
      }
      store(row / given_.heads, row % given_.heads, sum, 0);
    }
  }

 private:
  // viewed: null if the positions are kept.
  checked_call(char const* function, Q const& q, K const& k, V const& v, O const& outputs,
               Encoding const& encoding, attention_options const& options,
               token_positions&& query_positions, token_positions&& key_positions,
               attention_positions const* viewed, bool keeps_rows,
               prepared_sites<number, Encoding> const* step)
      : query_positions_(std::move(query_positions)),
        key_positions_(std::move(key_positions)),
        queries_(heads_of(q)),
        keys_(to_read(k)),
        values_(to_read(v)),
        outputs_(outputs),
        encoding_(encoding),
        given_(checked_arguments<number>(
            function, encoding, heads_of(q).shape(), k.shape(), v.shape(), options, scale_on(q),
            viewed != nullptr
                ? *viewed
                : attention_positions{query_positions_, key_positions_, options.keys_are_encoded})),
        work_(given_, reads_in_place(),
              keeps_rows || has_temperature(encoding) || adjusts_whole_rows<Encoding>),
        step_(step) {
    static_assert(std::same_as<number, arithmetic_of<K>> && std::same_as<number, arithmetic_of<V>>,
                  "q, k and v are doubles, or none of them");
    find_gaps();
    if (step_ == nullptr)
      own_step_.emplace(encoding, given_.query_positions, given_.key_positions,
                        given_.keys_are_encoded, given_.queries_are_encoded);
  }

  // Packed sequences that are many rows are better in panels, whose tiles leave out what no row of
  // theirs sees.
  bool reads_in_place() const noexcept {
    auto const most =
        std::min(most_rows_in_place<number>(keys_), most_rows_in_place<number>(values_));
    return reads_keys<Encoding>(given_) &&
           given_.queries * given_.group <=
               (given_.mask.is_packed() ? std::min<std::size_t>(most, 8) : most);
  }
  void record_nothing(std::size_t row) const {
    auto const at = (row % given_.heads * given_.queries + row / given_.heads) * given_.keys;
    if (!records_.scores.empty())
      std::ranges::fill(records_.scores.subspan(at, given_.keys), masked_score<number>);
    if (!records_.weights.empty())
      std::ranges::fill(records_.weights.subspan(at, given_.keys), number{0});
  }
  // A key is there if it and its value have slots.
  void find_gaps() noexcept {
    has_gaps_ = !keys_.has_all() || !values_.has_all();
    for (std::size_t t = 0; has_gaps_ && t < given_.keys; ++t)
      if (keys_.has(t) && values_.has(t)) return;
    if (has_gaps_) work_.ranges = 0;
  }

  token_positions query_positions_, key_positions_;  // that are kept
  std::remove_cvref_t<decltype(heads_of(std::declval<Q const&>()))> queries_;
  decltype(to_read(std::declval<K const&>())) keys_;
  decltype(to_read(std::declval<V const&>())) values_;
  O outputs_;
  Encoding const& encoding_;
  attention_arguments given_;
  attention_records<number> records_ = {};
  attention_work work_;
  bool has_gaps_ = false;
  prepared_sites<number, Encoding> const* step_;
  std::optional<prepared_sites<number, Encoding>> own_step_;
};

}}}  // namespace posenc::detail
