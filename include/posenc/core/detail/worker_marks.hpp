// Marks, by which workers that share memory tell each other their arguments before a barrier.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A number in memory that workers share, whatever was there before. Nothing constructs it, as two
/// workers may write it before they know of each other. Barriers order it: memory_order_relaxed.
using shared_number = std::atomic<std::size_t>;
static_assert(shared_number::is_always_lock_free && sizeof(shared_number) == sizeof(std::size_t));

/// A mark for each of some workers, in memory of the caller's. A worker leaves its own before a
/// barrier and looks at all behind it. Workers that disagree may have one index, and one may erase
/// its mark while another looks: that is no race.
class worker_marks {
 public:
  worker_marks(scratch& memory, std::size_t workers)
      : marks_(memory.take<shared_number>(workers)), workers_(workers) {}

  /// arguments: a hash of them.
  void leave(std::size_t worker, std::uint64_t arguments) const noexcept {
    marks_[worker].store(mark_of(arguments), std::memory_order_relaxed);
  }
  /// Calls that use the memory later do not find it.
  void erase(std::size_t worker) const noexcept {
    marks_[worker].store(0, std::memory_order_relaxed);
  }
  /// Throws, and erases the worker's own, unless every worker has left a mark of the same
  /// arguments.
  void require_agreement(char const* function, std::size_t worker, std::uint64_t arguments) const {
    bool agree = true;
    for (std::size_t i = 0; i < workers_; ++i)
      agree = agree && marks_[i].load(std::memory_order_relaxed) == mark_of(arguments);
    if (!agree) erase(worker);
    require(agree, function, ": workers must be ", workers_,
            ", with different indices and equal arguments without an error, got others");
  }

 private:
  // Never that of a worker that has left none.
  static std::size_t mark_of(std::uint64_t arguments) noexcept {
    return static_cast<std::size_t>(arguments ^ arguments >> 32) | 1;
  }

  shared_number* marks_;
  std::size_t workers_;
};

}}}  // namespace posenc::detail
