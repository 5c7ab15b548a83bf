// Normal numbers, the same on every platform.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace keys {

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  ///< below 1
  double normal() {                                                         // Box and Muller
    auto const radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t bits() {  // splitmix64
    auto x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }

  std::uint64_t state_;
};

}  // namespace keys
