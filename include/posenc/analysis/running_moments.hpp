// Mean, standard deviation and extremes of numbers that arrive one at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Welford's recurrence, which loses no precision on numbers far from 0. If there are no numbers,
/// everything is 0.
class running_moments {
 public:
  /// x must be finite.
  void add(double x) noexcept {
    low_ = count_ == 0 ? x : std::min(low_, x);
    high_ = count_ == 0 ? x : std::max(high_, x);
    auto const step = x - mean_;
    mean_ += step / static_cast<double>(++count_);
    squares_ += step * (x - mean_);
  }

  std::size_t count() const noexcept { return count_; }  ///< how many numbers were added
  double mean() const noexcept { return mean_; }         ///< 0 of no numbers
  double low() const noexcept { return low_; }           ///< the smallest number
  double high() const noexcept { return high_; }         ///< the largest number
  /// The standard deviation of the numbers themselves (divided by count, not count - 1).
  double spread() const noexcept {
    return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
  }

 private:
  std::size_t count_ = 0;
  double mean_ = 0, squares_ = 0, low_ = 0, high_ = 0;
};

}}  // namespace posenc
