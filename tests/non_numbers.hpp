#pragma once

/// NaN and infinity, made from bits that neither the compiler nor -ffast-math can see through.

#include <bit>
#include <cstdint>

inline double number_of_bits(std::uint64_t bits) {
  std::uint64_t volatile hidden = bits;
  return std::bit_cast<double>(std::uint64_t{hidden});
}

inline float float_of_bits(std::uint32_t bits) {
  std::uint32_t volatile hidden = bits;
  return std::bit_cast<float>(std::uint32_t{hidden});
}

inline double not_a_number() { return number_of_bits(0x7ff8'0000'0000'0000); }
inline double infinity() { return number_of_bits(0x7ff0'0000'0000'0000); }
inline double minus_infinity() { return number_of_bits(0xfff0'0000'0000'0000); }
