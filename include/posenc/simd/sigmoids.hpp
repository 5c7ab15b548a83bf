// The sigmoids of a row of numbers, in double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/exponential.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// 1 / (1 + e^-x) of the numbers of a row, each within (6 + |x|) roundings of itself; 0 for what is
/// no finite number. Computed a register at a time, when asked for.
template <class T>
class sigmoids {
 public:
  explicit sigmoids(std::span<T const> row) noexcept : row_(row) {}

  double operator()(std::size_t i) noexcept {
    if (i / size != register_) compute(i / size);
    return of_register_[i % size];
  }

 private:
  using registers = lanes<double>;
  static constexpr std::size_t size = registers::size;

  // Of a magnitude's exponential, which cannot overflow.
  void compute(std::size_t index) noexcept {
    register_ = index;
    std::array<double, size> x{}, e;
    auto const first = index * size, count = std::min(size, row_.size() - first);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<double>(row_[first + i]);
    for (std::size_t i = 0; i < size; ++i) e[i] = -std::abs(x[i]);
    registers::store(e.data(), exponential(registers(), registers::load(e.data())));
    for (std::size_t i = 0; i < size; ++i) {
      auto const sigmoid = (x[i] < 0 ? e[i] : 1) / (1 + e[i]);
      of_register_[i] = is_finite(x[i]) ? sigmoid : 0;
    }
  }

  std::span<T const> row_;
  std::array<double, size> of_register_ = {};
  std::size_t register_ = static_cast<std::size_t>(-1);  // none yet
};

}  // namespace posenc::detail
