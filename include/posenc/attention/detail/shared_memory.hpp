// The memory that workers of attention share: the next piece of work, the outputs of ranges.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/attention/detail/block_attention.hpp"
#include "posenc/attention/detail/key_parts.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/detail/worker_marks.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The memory that the workers of some calls share, and the memory of each worker.
template <class Call>
class shared_memory {
  using T = typename Call::number;

 public:
  shared_memory(std::span<Call const> calls, std::size_t workers, void* memory = nullptr)
      : shared_memory(calls, workers, memory == nullptr ? scratch() : scratch(memory)) {}

  std::size_t bytes() const noexcept { return bytes_; }
  /// Before any worker takes a piece.
  void begin() const noexcept { next_->store(0, std::memory_order_relaxed); }

  /// A hash of all that workers must have alike.
  std::uint64_t hash_of_arguments() const noexcept {
    argument_hash all;
    all.add(std::uint64_t{workers_}), all.add(std::uint64_t{calls_.size()});
    for (auto const& call : calls_) all.add(call.hash());
    return all.value();
  }
  /// A worker leaves a mark of its arguments, and finds those of the others.
  void mark(std::size_t worker, std::uint64_t hash) const noexcept { marks_.leave(worker, hash); }
  void unmark(std::size_t worker) const noexcept { marks_.erase(worker); }
  void require_agreement(std::size_t worker, std::uint64_t hash) const {
    marks_.require_agreement("attend", worker, hash);
  }

  /// Takes pieces until none is left.
  void work(std::size_t worker) const {
    std::size_t base = 0, next = take();
    auto ranges = ranges_;
    for (auto const& call : calls_) {
      partial_rows<T> const all(ranges, call.ranges_kept() * call.rows(), call.given().value_dim);
      auto const pieces = call.work().pieces(workers_);
      if (next < base + pieces) {
        scratch own(own_ + worker * own_bytes_);
        block_attention<Call> block(call, workers_, own, all);
        for (; next < base + pieces; next = take())
          block.compute(call.work().piece(next - base, workers_));
      }
      base += pieces;
    }
  }
  /// Part i of n of the sums over ranges.
  void add_ranges(std::size_t i, std::size_t n) const {
    auto ranges = ranges_;
    for (auto const& call : calls_) {
      auto const dim = call.given().value_dim;
      partial_rows<T> const all(ranges, call.ranges_kept() * call.rows(), dim);
      scratch own(own_ + i * own_bytes_);  // has a row of each block
      call.add_ranges(call.work().ranges == 0 ? partial_rows<T>(own, 1, dim) : all, i, n);
    }
  }

 private:
  shared_memory(std::span<Call const> calls, std::size_t workers, scratch all)
      : calls_(calls),
        workers_(workers),
        next_(all.take<shared_number>(1)),
        marks_(all, workers),
        ranges_(all) {
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

  std::size_t take() const noexcept { return next_->fetch_add(1, std::memory_order_relaxed); }
  std::span<Call const> calls_;
  std::size_t workers_, own_bytes_ = 0, bytes_ = 0;
  shared_number* next_;  // piece
  worker_marks marks_;
  scratch ranges_;
  std::byte* own_;
};

}}}  // namespace posenc::detail
