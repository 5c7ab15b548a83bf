// The sigmoids of a row of numbers, in double.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/doubles.hpp"
#include "posenc/simd/exponential.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// From the exponential of a magnitude, which cannot overflow.
inline double sigmoid(one_lane<double>, double x) noexcept {
  auto const e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
template <several_lanes Lanes, class Number>
POSENC_ALWAYS_INLINE inline Number sigmoid(Lanes, Number const& x) noexcept {
  using bits = decltype(bits_as<std::uint64_t>(x));
  bits const sign(std::uint64_t{1} << 63), of_x = bits_as<std::uint64_t>(x);
  auto const e = exponential(Lanes(), bits_as<double>(of_x | sign));
  auto const above = chosen((of_x & sign) == sign, bits_as<std::uint64_t>(e),
                            bits(detail::bit_cast<std::uint64_t>(1.0)));
  return bits_as<double>(above) / (Number(1.0) + e);
}

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
  using number = typename registers::number;
  static constexpr std::size_t size = registers::size;

  void compute(std::size_t index) noexcept {
    register_ = index;
    auto const x = doubles_of(row_, index * size);
    registers::store(of_register_.data(),
                     where_finite(registers(), x, sigmoid(registers(), x), number(0.0)));
  }

  std::span<T const> row_;
  std::array<double, size> of_register_ = {};
  std::size_t register_ = static_cast<std::size_t>(-1);  // none yet
};

}}}  // namespace posenc::detail
