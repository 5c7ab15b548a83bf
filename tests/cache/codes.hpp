#pragma once

/// Heads through formats and back.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/heads/format.hpp"

/// The bytes of a head: codes, and scales if they are elsewhere.
struct encoded {
  std::vector<std::byte> codes, scales;

  int signed_code(std::size_t i) const { return static_cast<std::int8_t>(codes[i]); }
  int code(std::size_t i) const { return static_cast<std::uint8_t>(codes[i]); }
  friend bool operator==(encoded const&, encoded const&) = default;
};

/// In memory of exactly that size, so that a sanitizer sees what goes beyond.
template <posenc::cache_format F>
encoded encode(F const& format, std::span<float const> head) {
  encoded result;
  result.codes.resize(format.bytes(head.size()));
  if constexpr (posenc::scaled_format<F>) {
    result.scales.resize(format.scale_bytes(head.size()));
    format.encode(head, result.codes.data(), result.scales.data());
  } else {
    format.encode(head, result.codes.data());
  }
  return result;
}

template <posenc::cache_format F>
std::vector<float> decode(F const& format, encoded const& x, std::size_t head_dim) {
  std::vector<float> result(head_dim);
  if constexpr (posenc::scaled_format<F>) {
    format.decode(x.codes.data(), x.scales.data(), result);
  } else {
    format.decode(x.codes.data(), result);
  }
  return result;
}

template <posenc::cache_format F>
std::vector<float> through(F const& format, std::span<float const> head) {
  return decode(format, encode(format, head), head.size());
}

/// The integer nearest to c + quarters / 4, by the rule that a format has for ties.
inline int nearest_even(int c, int quarters) {
  return quarters < 2 ? c : quarters > 2 ? c + 1 : c % 2 == 0 ? c : c + 1;
}
inline int nearest_away(int c, int quarters) {
  return quarters < 2 ? c : quarters > 2 ? c + 1 : c >= 0 ? c + 1 : c;
}
inline int towards_zero(int c, int quarters) { return c < 0 && quarters > 0 ? c + 1 : c; }
