#pragma once

/// Keys in the pages of a cache, in any format, and how far they are from exact ones.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "oracle/rotary.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"

namespace cached_keys {

inline constexpr std::size_t tokens = 48, dim = 128, all = tokens * dim;
inline constexpr posenc::pages_shape pages{3, 16, 1, dim};

inline std::vector<std::int64_t> slots() {  // page 2, 0, 1
  std::vector<std::int64_t> result;
  for (std::int64_t t = 0; t < 48; ++t) result.push_back((t + 32) % 48);
  return result;
}
inline std::vector<std::int64_t> positions(std::int64_t first) {
  std::vector<std::int64_t> result;
  for (std::int64_t t = 0; t < 48; ++t) result.push_back(first + t);
  return result;
}
inline std::vector<float> normal_keys() {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> result(all);
  for (auto& x : result) x = normal(random);
  return result;
}

// Keys of a cache in any format.
template <class F>
struct cached {
  F format;
  std::vector<std::int64_t> of_tokens = slots();
  std::vector<std::byte> memory;

  explicit cached(F const& f) : format(f) {
    auto bytes = f.bytes(dim);
    if constexpr (posenc::scaled_format<F>) bytes += f.scale_bytes(dim);
    memory.resize(48 * bytes);
  }
  auto heads() { return posenc::heads_view(format, memory.data(), pages, of_tokens); }
  std::vector<float> read() {
    std::vector<float> result(all);
    for (std::size_t t = 0; t < tokens; ++t)
      heads().read(t, 0, std::span(result).subspan(t * dim, dim));
    return result;
  }
};

// sqrt(sum (x - y)^2 / sum y^2), where y is x, rotated exactly.
inline double rms_error(std::vector<float> const& read, std::vector<float> const& x,
                        std::span<double const> inv_freq, std::int64_t first) {
  double errors = 0, squares = 0;
  for (std::size_t t = 0; t < tokens; ++t) {
    std::vector<double> head(x.begin() + static_cast<std::ptrdiff_t>(t * dim),
                             x.begin() + static_cast<std::ptrdiff_t>((t + 1) * dim));
    oracle::rotate(head, inv_freq, static_cast<oracle::wide>(first) + static_cast<double>(t),
                   oracle::pairing::halves);
    for (std::size_t d = 0; d < dim; ++d) {
      auto const off = static_cast<double>(read[t * dim + d]) - head[d];
      errors += off * off, squares += head[d] * head[d];
    }
  }
  return std::sqrt(errors / squares);
}

}  // namespace cached_keys
