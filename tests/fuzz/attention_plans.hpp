#pragma once

/// What attention_fuzz asks attention for: encodings whose arithmetic is plain, masks, and heads in
/// memory of any strides.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "given_cells.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/encoding/score_row.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "site_2.hpp"

namespace fuzz {

using posenc::arithmetic_t;
using posenc::heads_shape;
using posenc::heads_strides;
using real = long double;
using positions = std::vector<std::int64_t>;

inline bool finite(real x) { return std::isfinite(x); }
inline std::int64_t remainder(std::int64_t position, std::int64_t size) {
  return (position % size + size) % size;
}

// Encodings whose arithmetic is plain, so that what is tested is who is asked, with what, and when.
struct lifts {  // site 1
  static float lift(std::int64_t position) {
    return 0.25f * static_cast<float>(remainder(position, 5));
  }
  template <class T>
  void embed(posenc::heads_view<T> x, posenc::positions_view at) const {
    for (std::size_t t = 0; t < x.tokens(); ++t)
      for (std::size_t h = 0; h < x.heads(); ++h)
        for (auto& number : x(t, h)) number += lift(at[t]);
  }
};

struct doubles {  // site 2
  static float of_query(std::int64_t position) {
    return remainder(position, 2) == 0 ? 2.0f : -1.0f;
  }
  static float of_key(std::int64_t position) { return remainder(position, 3) == 0 ? 0.5f : 1.0f; }
  template <class>
  auto prepare(posenc::positions_view at) const {
    return site_2::remembered(*this, at);
  }
  template <class T>
  void queries_at(posenc::heads_view<T> x, posenc::positions_view at) const {
    multiply(x, [&](std::size_t t) { return of_query(at[t]); });
  }
  template <class T>
  void keys_at(posenc::heads_view<T> x, posenc::positions_view at) const {
    multiply(x, [&](std::size_t t) { return of_key(at[t]); });
  }
  template <class T>
  void multiply(posenc::heads_view<T> x, auto const& factor) const {
    for (std::size_t t = 0; t < x.tokens(); ++t)
      for (std::size_t h = 0; h < x.heads(); ++h)
        for (auto& number : x(t, h)) number *= factor(t);
  }
};

struct tempers {  // site 4
  enum { constant, position, whole_row } by;
  double inverse_temperature(posenc::row_statistics const& row) const {
    if (by == constant) return 1.25;
    if (by == position) return 1 + 0.25 * static_cast<double>(remainder(row.query_position, 3));
    return 1 + row.entropy / 8 + 0.5 / static_cast<double>(row.keys) +
           static_cast<double>(row.head % 3) / 16;
  }
  /// Of rows of n keys, whose ln(n + 1) this is.
  static real most(real logarithm) { return 1.7L + logarithm / 8; }
};

// What acts, and so rounds.
struct acting {
  bool lifted = false, doubled = false, rotates = false;
  std::vector<double> slopes = {};
  double cap = 0;
  std::optional<tempers> softmax = {};
  std::vector<double> sinks = {};
};

struct mask_plan {
  bool causal = false, packed = false;
  std::int64_t window = 0, chunk = 0;
  std::vector<std::size_t> query_lengths = {}, key_lengths = {};
  std::optional<std::array<std::int64_t, 2>> behind_and_ahead = {};
  std::shared_ptr<given_cells const> cells = {};
  std::vector<bool> missing = {};  // keys without slots, if any

  posenc::mask made() const {
    auto m = made_of_positions();
    if (cells) m = m & posenc::mask::given(cells->made());
    return m;
  }
  posenc::mask made_of_positions() const {
    auto m = causal ? posenc::mask::causal : posenc::mask::full;
    if (behind_and_ahead)
      m = m & posenc::mask::window((*behind_and_ahead)[0], (*behind_and_ahead)[1]);
    if (window > 0) m = m & posenc::mask::sliding_window(window);
    if (chunk > 0) m = posenc::mask::chunked(chunk) & m;
    if (packed) m = m & posenc::mask::packed(query_lengths, key_lengths);
    return m;
  }
  static std::size_t sequence_of(std::vector<std::size_t> const& lengths, std::size_t token) {
    std::size_t sequence = 0;
    for (; token >= lengths[sequence]; ++sequence) token -= lengths[sequence];
    return sequence;
  }
  /// What a key is given: 0 without cells, -infinity where they hide it or it is missing.
  double bias(std::size_t t, std::size_t head, std::size_t s) const {
    if (!missing.empty() && missing[s]) return -std::numeric_limits<double>::infinity();
    return cells ? cells->bias(t, head, s) : 0;
  }
  /// By its position.
  bool shows(std::size_t t, std::size_t s, std::int64_t query, std::int64_t key) const {
    using wide = __int128;
    constexpr auto any = posenc::mask::any;
    auto const [behind, ahead] = behind_and_ahead.value_or(std::array{any, any});
    auto const distance = static_cast<wide>(query) - static_cast<wide>(key);
    auto const floor = [&](wide x) { return (x - ((x % chunk + chunk) % chunk)) / chunk; };
    return (!causal || distance >= 0) && (behind == any || distance <= behind) &&
           (ahead == any || -distance <= ahead) &&
           (window == 0 || (distance < window && -distance < window)) &&
           (chunk == 0 || floor(query) == floor(key)) &&
           (!packed || sequence_of(query_lengths, t) == sequence_of(key_lengths, s));
  }
};

// Heads in memory that ends where they end, whatever their strides.
template <class S>
struct heads_in_memory {
  using number = arithmetic_t<S>;
  heads_shape shape;
  heads_strides strides;
  std::vector<S> numbers, before;
  std::ptrdiff_t origin = 0;

  /// Dense.
  explicit heads_in_memory(heads_shape given)
      : shape(given),
        strides{static_cast<std::ptrdiff_t>(given.heads * given.head_dim),
                static_cast<std::ptrdiff_t>(given.head_dim)},
        numbers(given.tokens * given.heads * given.head_dim) {}
  heads_in_memory(FuzzedDataProvider& data, heads_shape given) : shape(given) {
    auto const d = static_cast<std::ptrdiff_t>(shape.head_dim),
               h = static_cast<std::ptrdiff_t>(shape.heads),
               t = static_cast<std::ptrdiff_t>(shape.tokens),
               pad = data.ConsumeIntegralInRange<std::ptrdiff_t>(0, 3);
    switch (data.ConsumeIntegralInRange(0, 7)) {
      case 0:
        strides = {d + pad, t * (d + pad)};
        break;
      case 1:
        strides = {-h * (d + pad), -(d + pad)};
        break;
      case 2:
        strides = {h * d + pad, -d};
        break;
      case 3:
        strides = {0, d};
        break;
      case 4:
        strides = {h * d, 0};
        break;
      case 5:
        strides = {data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9),
                   data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9)};
        break;
      default:
        strides = {h * d, d};
    }
    if (shape.tokens == 0 || shape.heads == 0) return;
    auto const way_t = (t - 1) * strides.token, way_h = (h - 1) * strides.head,
               zero = std::ptrdiff_t{0};
    origin = -(std::min(way_t, zero) + std::min(way_h, zero));
    numbers = std::vector<S>(
        static_cast<std::size_t>(origin + std::max(way_t, zero) + std::max(way_h, zero) + d));
  }
  void fill(std::uint64_t seed, int wild, real size) {
    for (auto& x : numbers) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      auto const bits = seed >> 11;
      if (wild > 0 && static_cast<int>(bits % 1024) < wild) {
        auto const any = bits * 0x9e3779b97f4a7c15u;
        std::memcpy(&x, reinterpret_cast<std::byte const*>(&any) + 8 - sizeof(S), sizeof(S));
        auto const special = std::array{std::numeric_limits<arithmetic_t<S>>::infinity(),
                                        -std::numeric_limits<arithmetic_t<S>>::infinity(),
                                        std::numeric_limits<arithmetic_t<S>>::quiet_NaN(),
                                        std::numeric_limits<arithmetic_t<S>>::max()};
        if (any % 3 != 0) posenc::store(x, special[any % 4]);
      } else {
        posenc::store(
            x, static_cast<arithmetic_t<S>>((static_cast<real>(bits) * 0x1p-52L - 1) * size));
      }
    }
    before = numbers;
  }
  posenc::heads_view<S const> view() const {
    return {numbers.empty() ? nullptr : numbers.data() + origin, shape, strides};
  }
  real at(std::size_t t, std::size_t h, std::size_t i) const {
    auto const from = origin + static_cast<std::ptrdiff_t>(t) * strides.token +
                      static_cast<std::ptrdiff_t>(h) * strides.head;
    return static_cast<real>(posenc::load(numbers[static_cast<std::size_t>(from) + i]));
  }
  bool is_unchanged() const {
    return numbers.empty() ||
           std::memcmp(numbers.data(), before.data(), numbers.size() * sizeof(S)) == 0;
  }
};

}  // namespace fuzz
