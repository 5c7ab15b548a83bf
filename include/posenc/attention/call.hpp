// Attention as an engine calls it: outputs and memory are the caller's, the threads too.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/block_attention.hpp"
#include "posenc/attention/dense_heads.hpp"
#include "posenc/attention/prepared_encoding.hpp"
#include "posenc/attention/work.hpp"
#include "posenc/core/bit_cast.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

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
      : queries_(heads_of(q)),
        keys_(to_read(k)),
        values_(to_read(v)),
        outputs_(outputs),
        encoding_(encoding),
        given_(checked_arguments<number>(function, encoding, heads_of(q).shape(), k.shape(),
                                         v.shape(), options, scale_on(q), at)),
        work_(given_, reads_in_place(),
              keeps_rows || has_temperature(encoding) || adjusts_whole_rows(encoding)),
        step_(step) {
    static_assert(std::same_as<number, arithmetic_of<K>> && std::same_as<number, arithmetic_of<V>>,
                  "q, k and v are doubles, or none of them");
    find_gaps();
    if (step_ == nullptr)
      own_step_.emplace(encoding, given_.query_positions, given_.key_positions,
                        given_.keys_are_encoded, given_.queries_are_encoded);
  }

  /// Where results go.
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
  prepared_sites<number, Encoding> const& sites() const noexcept {
    return step_ == nullptr ? *own_step_ : *step_;
  }
  std::size_t rows() const noexcept { return given_.queries * given_.heads; }
  /// Of how many ranges rows are kept until all are done; of none, one for rows that see nothing.
  std::size_t ranges_kept() const noexcept {
    return work_.ranges == 1 ? 0 : std::max<std::size_t>(work_.ranges, 1);
  }
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
  /// The rows of worker i of n, if no piece has stored them: the sum of the ranges, in order.
  void add_ranges(partial_rows<number> const& all, std::size_t i, std::size_t n) const {
    if (work_.ranges == 1) return;
    auto const [first, count] = part_of(rows(), i, n);
    for (auto row = first; row < first + count; ++row) {
      auto const sum = all.from(row);
      if (work_.ranges == 0) sum.clear(1), record_nothing(row);
      for (std::size_t range = 1; range < work_.ranges; ++range) {
        auto const part = all.from(range * rows() + row);
        sum.add(0, part.sums[0], part.outputs);
      }
      store(row / given_.heads, row % given_.heads, sum, 0);
    }
  }

 private:
  bool reads_in_place() const noexcept {
    return reads_keys<Encoding>(given_) && !changes_head_dim<Encoding> &&
           given_.queries * given_.group <= std::min(most_rows_in_place<number>(keys_),
                                                     most_rows_in_place<number>(values_));
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

/// What the workers of some calls share, and what is each worker's own.
template <class Call>
class shared_memory {
  using T = typename Call::number;

 public:
  shared_memory(std::span<Call const> calls, std::size_t workers, void* memory = nullptr)
      : calls_(calls), workers_(workers) {
    scratch all = memory == nullptr ? scratch() : scratch(memory);
    next_ = all.take<std::atomic<std::size_t>>(1);
    marks_ = all.take<std::uint64_t>(workers);
    ranges_ = all;
    for (auto const& call : calls)
      partial_rows<T>(all, call.ranges_kept() * call.rows(), call.given().value_dim);
    std::size_t most = 0;
    for (auto const& call : calls) {
      scratch own;
      block_attention<Call>(call, workers, own, {});
      most = std::max(most, own.bytes());
    }
    own_bytes_ = most;
    own_ = all.take<std::byte>(workers, most);
    bytes_ = all.bytes();
  }

  std::size_t bytes() const noexcept { return bytes_; }
  void begin() const noexcept { ::new (next_) std::atomic<std::size_t>(0); }

  /// A worker leaves a mark of its arguments, and finds those of the others.
  void mark(std::size_t worker) const noexcept { marks_[worker] = mark_of(worker); }
  void unmark(std::size_t worker) const noexcept { marks_[worker] = 0; }
  bool all_agree() const noexcept {
    for (std::size_t i = 0; i < workers_; ++i)
      if (marks_[i] != mark_of(i)) return false;
    return true;
  }

  /// Takes pieces until none is left.
  void work(std::size_t worker) const {
    std::size_t base = 0, next = (*next_)++;
    auto ranges = ranges_;
    for (auto const& call : calls_) {
      partial_rows<T> const all(ranges, call.ranges_kept() * call.rows(),
                                call.given().value_dim);
      auto const pieces = call.work().pieces(workers_);
      if (next < base + pieces) {
        scratch own(own_ + worker * own_bytes_);
        block_attention<Call> block(call, workers_, own, all);
        for (; next < base + pieces; next = (*next_)++)
          block.compute(call.work().piece(next - base, workers_));
      }
      base += pieces;
    }
  }
  /// Part i of n of the sums over ranges.
  void add_ranges(std::size_t i, std::size_t n) const {
    auto ranges = ranges_;
    for (auto const& call : calls_) {
      partial_rows<T> const all(ranges, call.ranges_kept() * call.rows(),
                                call.given().value_dim);
      call.add_ranges(all, i, n);
    }
  }

 private:
  std::uint64_t mark_of(std::size_t worker) const noexcept {
    std::uint64_t mark = 0x9e37'79b9'7f4a'7c15u;
    auto const add = [&](std::uint64_t x) { mark = (mark ^ x) * 0xff51'afd7'ed55'8ccdu ^ mark >> 29; };
    add(worker), add(workers_), add(calls_.size());
    for (auto const& call : calls_) {
      auto const& given = call.given();
      for (auto const x : {given.queries, given.keys, given.heads, given.kv_heads, given.head_dim,
                           given.value_dim})
        add(x);
      add(bit_cast<std::uint64_t>(given.scale));
    }
    return mark | 1;
  }

  std::span<Call const> calls_;
  std::size_t workers_, own_bytes_ = 0, bytes_ = 0;
  std::atomic<std::size_t>* next_;  // piece
  std::uint64_t* marks_;
  scratch ranges_;
  std::byte* own_;
};

inline void require_memory(std::size_t needed, std::size_t bytes) {
  require(bytes >= needed, "attend: memory must have ", needed,
          " bytes, as attention_bytes says, got ", bytes);
}

/// Positions that a call keeps.
struct kept_positions {
  token_positions of_queries, of_keys;
};

}  // namespace detail

/// One sequence's attention, checked and ready to run: softmax(scale * q k^T under the encoding) v,
/// as attention() has it, into outputs that are the caller's.
///
///     attention_call const call(q, k, v, outputs, encoding, {.keys_are_encoded = true});
///     attend(worker(i, n, barrier), std::span(&call, 1), memory);
///
/// outputs [queries][heads][value_dim]: heads of numbers, written once each. The views' memory and
/// slots, the encoding, and what options and records view must outlive it. Nothing is allocated
/// unless the encoding acts at site 2 here, or the options have positions, chunks or packed
/// sequences. Throws std::invalid_argument as attention() does; and unless outputs have a place for
/// each query and head, and share no byte with queries, keys and values.
template <class Q, class K, class V, class O, class Encoding>
class attention_call : detail::kept_positions, public detail::checked_call<Q, K, V, O, Encoding> {
  static_assert(attended_queries<Q> || any_heads<Q>);
  static_assert(detail::encoding_check<Encoding>::passed);
  using base = detail::checked_call<Q, K, V, O, Encoding>;

 public:
  attention_call(Q const& q, K const& k, V const& v, O const& outputs, Encoding const& encoding,
                 attention_options options = {},
                 attention_records<detail::arithmetic_of<Q>> const& records = {})
      : kept_positions{std::move(options.query_positions), std::move(options.key_positions)},
        base("attention_call", q, k, v, outputs, encoding, options,
             {this->of_queries, this->of_keys, options.keys_are_encoded}, keeps(records),
             nullptr) {
    check(q, k, v, outputs, records);
  }
  /// With positions that are viewed, in place of the options'.
  attention_call(Q const& q, K const& k, V const& v, O const& outputs, Encoding const& encoding,
                 attention_options const& options, detail::attention_positions const& at,
                 attention_records<detail::arithmetic_of<Q>> const& records = {})
      : base("attention_call", q, k, v, outputs, encoding, options, at, keeps(records), nullptr) {
    check(q, k, v, outputs, records);
  }

 private:
  static bool keeps(attention_records<detail::arithmetic_of<Q>> const& records) noexcept {
    return !records.scores.empty() || !records.weights.empty();
  }
  void check(Q const& q, K const& k, V const& v, O const& outputs,
             attention_records<detail::arithmetic_of<Q>> const& records) {
    auto const& given = this->given();
    heads_shape const needed{given.queries, given.heads, given.value_dim};
    auto const& shape = outputs.shape();
    detail::require(shape == needed, "attention_call: outputs must be [", needed.tokens, "][",
                    needed.heads, "][", needed.head_dim, "], got [", shape.tokens, "][",
                    shape.heads, "][", shape.head_dim, "]");
    detail::require(!detail::may_overlap(outputs, detail::heads_of(q)) &&
                        !detail::may_overlap(outputs, k) && !detail::may_overlap(outputs, v),
                    "attention_call: outputs must not overlap queries, keys or values");
    auto const check_record = [&](char const* what, std::size_t size, std::size_t whole) {
      detail::require(size == 0 || size == whole, "attention_call: ", what, " must have ", whole,
                      " numbers, or none, got ", size);
    };
    check_record("log_sum_exp", records.log_sum_exp.size(), this->rows());
    check_record("scores", records.scores.size(), this->rows() * given.keys);
    check_record("weights", records.weights.size(), this->rows() * given.keys);
    this->write_to(outputs, records);
  }
};

/// The bytes of memory, at any address, that `workers` need to attend to the calls. A worker's part
/// is the same for any number of keys, but where a rule looks at whole rows or scores or weights
/// are kept; all share the outputs of up to 64 ranges of keys.
template <class Call>
std::size_t attention_bytes(std::span<Call const> calls, std::size_t workers) {
  return detail::shared_memory<Call>(calls, workers).bytes();
}

/// Attends to the calls, a batch of sequences, each with its own views, slots and lengths, in tasks
/// that an executor runs. Throws, before any byte is written, unless memory has attention_bytes for
/// as many workers as tasks; and what the encoding throws, amid the work.
template <class Executor, class Call>
void attend(tasks<Executor> const& split, std::span<Call const> calls,
            std::span<std::byte> memory) {
  detail::shared_memory<Call> const shared(calls, split.count(), memory.data());
  detail::require_memory(shared.bytes(), memory.size());
  shared.begin();
  detail::run_tasks(split, [&](std::size_t i) { shared.work(i); });
  shared.add_ranges(0, 1);
}

/// The same in one of the workers, all of which call it with equal arguments and the same memory.
/// Outputs are whole when all have returned. Errors of arguments are thrown by every worker, behind
/// the first barrier, so that none waits for another: also where the workers' arguments differ. What
/// the encoding throws is thrown by the worker that met it, behind the last barrier.
template <class Barrier, class Call>
void attend(worker<Barrier> const& self, std::span<Call const> calls, std::span<std::byte> memory) {
  detail::shared_memory<Call> const shared(calls, self.count(), memory.data());
  bool const fits = memory.size() >= shared.bytes();
  if (fits) shared.mark(self.index());
  if (fits && self.index() == 0) shared.begin();
  self.wait();
  detail::require_memory(shared.bytes(), memory.size());
  bool const agree = shared.all_agree();
  if (!agree) shared.unmark(self.index());
  detail::require(agree, "attend: workers must be ", self.count(),
                  ", with indices of their own and equal arguments, got others");
  auto const failed = detail::caught([&] { shared.work(self.index()); });
  self.wait();
  shared.unmark(self.index());
  detail::rethrow(failed);
  shared.add_ranges(self.index(), self.count());
}

}  // namespace posenc
