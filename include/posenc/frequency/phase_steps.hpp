// The exact angles of all pairs between neighbouring positions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "posenc/core/line_allocator.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/phase_step.hpp"

namespace posenc::inline POSENC_TARGET {

/// The phase_step of every pair, in lists that registers load: each list begins a cache line, and
/// `padding` zeros follow the last pair, whatever the instruction set. frequencies::steps() has
/// those of its pairs. Immutable.
/// Precondition, not checked: that of phase_step.
class phase_steps {
 public:
  static constexpr std::size_t padding = 15;  ///< for loads of up to 1024 bits from the last pair

  /// rest: as in phase_step, one per pair or none.
  explicit phase_steps(std::span<double const> inv_freq, std::span<double const> rest = {})
      : high_(inv_freq.size() + padding, 0), low_(high_.size(), 0), turns_(high_.size(), 0) {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      phase_step const step(inv_freq[i], rest.empty() ? 0 : rest[i]);
      high_[i] = step.high_, low_[i] = step.low_, turns_[i] = step.turns_;
    }
  }

  std::size_t pairs() const noexcept { return high_.size() - padding; }  ///< without the padding
  phase const* high() const noexcept { return high_.data(); }            ///< places 1 to 64
  phase const* low() const noexcept { return low_.data(); }              ///< places 65 to 96
  double const* turns() const noexcept { return turns_.data(); }         ///< inv_freq / 2 pi

 private:
  std::vector<phase, detail::line_allocator<phase>> high_, low_;
  std::vector<double, detail::line_allocator<double>> turns_;
};

}  // namespace posenc
