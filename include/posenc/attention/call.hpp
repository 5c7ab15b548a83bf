// Attention as an engine calls it: outputs and memory are the caller's, the threads too.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/checked_call.hpp"
#include "posenc/attention/detail/shared_memory.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/overlap.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

inline void require_memory(std::size_t needed, std::size_t bytes) {
  require(bytes >= needed, "attend: memory must have ", needed,
          " bytes, as attention_bytes says, got ", bytes);
}

/// One call, or several that lie side by side.
template <class Calls>
auto calls_of(Calls const& calls) noexcept {
  if constexpr (requires { calls.work(); }) {
    return std::span<Calls const>(&calls, 1);
  } else {
    std::span const all(calls);
    return std::span<typename decltype(all)::value_type const>(all.data(), all.size());
  }
}

}  // namespace detail

/// One sequence's attention, checked and ready to run: softmax(scale * q k^T under the encoding) v,
/// as attention() has it, into outputs that are the caller's.
///
///     attention_call const call(q, k, v, outputs, encoding, {.keys_are_encoded = true});
///     attend(worker(i, n, barrier), call, memory);          or calls, a batch of sequences
///
/// outputs [queries][heads][value_dim]: heads of numbers, written once each. The views' memory and
/// slots, the encoding, which must have a name, and what options and records view must outlive it.
/// Nothing is allocated unless the encoding acts at site 2 here, the options have positions, chunks
/// or packed sequences, or, in attend, products of codes are asked for. Throws
/// std::invalid_argument as attention() does; and unless outputs have a place for each query and
/// head, and share no byte with queries, keys and values.
template <class Q, class K, class V, class O, class Encoding>
class attention_call : public detail::checked_call<Q, K, V, O, Encoding> {
  static_assert(attended_queries<Q> || any_heads<Q>);
  static_assert(detail::encoding_check<Encoding>::passed);
  using base = detail::checked_call<Q, K, V, O, Encoding>;

 public:
  /// Keeps the positions of the options.
  attention_call(Q const& q, K const& k, V const& v, O const& outputs, Encoding const& encoding,
                 attention_options options = {},
                 attention_records<detail::arithmetic_of<Q>> const& records = {})
      : base("attention_call", q, k, v, outputs, encoding, std::move(options), keeps(records)) {
    check(q, k, v, outputs, records);
  }
  /// With positions that are viewed, in place of the options'.
  attention_call(Q const& q, K const& k, V const& v, O const& outputs, Encoding const& encoding,
                 attention_options const& options, detail::attention_positions const& at,
                 attention_records<detail::arithmetic_of<Q>> const& records = {})
      : base("attention_call", q, k, v, outputs, encoding, options, at, keeps(records), nullptr) {
    check(q, k, v, outputs, records);
  }
  attention_call(Q const&,  // posenc: what is viewed must have a name
                 K const&, V const&, O const&, Encoding const&&, attention_options = {},
                 attention_records<detail::arithmetic_of<Q>> const& = {}) = delete;
  attention_call(Q const&,  // posenc: what is viewed must have a name
                 K const&, V const&, O const&, Encoding const&&, attention_options const&,
                 detail::attention_positions const&,
                 attention_records<detail::arithmetic_of<Q>> const& = {}) = delete;

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

/// The bytes of memory, at any address, that `workers` need to attend to the calls: one, or a
/// vector, array or span of them. A worker's part is the same for any number of keys, but where a
/// rule looks at whole rows or scores or weights are kept; all share the outputs of up to 64 ranges
/// of keys.
template <class Calls>
std::size_t attention_bytes(Calls const& calls, std::size_t workers) {
  return detail::shared_memory(detail::calls_of(calls), workers).bytes();
}

/// Attends to the calls, a batch of sequences, each with its own views, slots and lengths, in tasks
/// that an executor runs. Throws, before any byte is written, unless memory has attention_bytes for
/// as many workers as tasks; and what the encoding throws, amid the work.
template <class Executor, class Calls>
void attend(tasks<Executor> const& split, Calls const& calls, std::span<std::byte> memory) {
  detail::shared_memory const shared(detail::calls_of(calls), split.count(), memory.data());
  detail::require_memory(shared.bytes(), memory.size());
  shared.begin();
  detail::run_tasks(split, [&](std::size_t i) { shared.work(i); });
  shared.add_ranges(0, 1);
}

/// attend in one of the workers, all of which call it with equal arguments and the same memory.
/// Outputs are whole when all workers have returned. Every worker throws an error of arguments,
/// behind the first barrier, so that none waits for another: also if the workers' arguments differ.
/// If the encoding throws, the worker that met it throws behind the last barrier.
template <class Barrier, class Calls>
void attend(worker<Barrier> const& self, Calls const& calls, std::span<std::byte> memory) {
  detail::shared_memory const shared(detail::calls_of(calls), self.count(), memory.data());
  bool const fits = memory.size() >= shared.bytes();
  auto const hash = shared.hash_of_arguments();
  if (fits) shared.mark(self.index(), hash);
  if (fits && self.index() == 0) shared.begin();
  self.wait();
  detail::require_memory(shared.bytes(), memory.size());
  shared.require_agreement(self.index(), hash);
  auto const failed = detail::caught([&] { shared.work(self.index()); });
  self.wait();
  shared.unmark(self.index());
  detail::rethrow(failed);
  shared.add_ranges(self.index(), self.count());
}

/// Whatever else is given.
void attend(...) = delete;  // posenc: attend takes tasks or a worker, calls, and std::byte memory

}}  // namespace posenc
