// What rotation is compared with: the limit, and the code that users would write. Heads are
// contiguous, [tokens][heads][head_dim].
#pragma once

#include <Eigen/Core>

#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/simd/lanes.hpp"

namespace bench {

// Scaling: reads and writes every number once. By -1, which keeps magnitudes; the compiler must not
// know it.

template <class T>
[[gnu::noinline]] void scale_by_loop(T* x, std::size_t count, T factor) {
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

/// With posenc's registers, several at a time; `load` and `store` handle one or two.
template <class T, std::size_t At_once>
void scale_by_registers(T* x, std::size_t count, posenc::arithmetic_t<T> factor, auto const& load,
                        auto const& store) {
  using lanes = posenc::detail::lanes<T>;
  typename lanes::number const c(factor);
  constexpr auto step = 4 * At_once * lanes::size;
  for (std::size_t i = 0; i + step <= count; i += step) {
    typename lanes::number numbers[4][At_once];
    for (std::size_t j = 0; j < 4; ++j) load(x + i + j * At_once * lanes::size, numbers[j]);
    for (auto& group : numbers) {
      for (auto& number : group) number = number * c;
    }
    for (std::size_t j = 0; j < 4; ++j) store(x + i + j * At_once * lanes::size, numbers[j]);
  }
}
template <class T>
[[gnu::noinline]] void scale_by_lanes(T* x, std::size_t count, posenc::arithmetic_t<T> factor) {
  using lanes = posenc::detail::lanes<T>;
  scale_by_registers<T, 1>(
      x, count, factor, [](T const* from, auto& n) { n[0] = lanes::load(from); },
      [](T* to, auto const& n) { lanes::store(to, n[0]); });
}
template <class T>
[[gnu::noinline]] void scale_by_pairs(T* x, std::size_t count, posenc::arithmetic_t<T> factor) {
  using lanes = posenc::detail::lanes<T>;
  scale_by_registers<T, 2>(
      x, count, factor, [](T const* from, auto& n) { lanes::load_pairs(from, n[0], n[1]); },
      [](T* to, auto const& n) { lanes::store_pairs(to, n[0], n[1]); });
}

// The loop of a user with a table.

inline float user_load(float x) { return x; }
inline double user_load(double x) { return x; }
inline float user_load(posenc::bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

inline void user_store(float& to, float x) { to = x; }
inline void user_store(double& to, double x) { to = x; }
inline void user_store(posenc::bfloat16& to, float x) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  to.bits = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#if defined(__FLT16_MAX__) && (!defined(__clang__) || __clang_major__ >= 15)
inline float user_load(posenc::half x) {
  return static_cast<float>(std::bit_cast<_Float16>(x.bits));
}
inline void user_store(posenc::half& to, float x) {
  to.bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
}
#else
inline float user_load(posenc::half x) { return static_cast<float>(x); }
inline void user_store(posenc::half& to, float x) { to = static_cast<posenc::half>(x); }
#endif

template <class Layout, class T, class Real>
[[gnu::noinline]] void plain_loop(T* heads, posenc::heads_shape const& shape, Real const* cos_sin) {
  auto const pairs = shape.head_dim / 2;
  for (std::size_t t = 0; t < shape.tokens; ++t) {
    Real const *cos = cos_sin + t * shape.head_dim, *sin = cos + pairs;
    for (std::size_t h = 0; h < shape.heads; ++h) {
      T* head = heads + (t * shape.heads + h) * shape.head_dim;
      for (std::size_t i = 0; i < pairs; ++i) {
        constexpr bool split = std::is_same_v<Layout, posenc::halves>;
        auto& x = split ? head[i] : head[2 * i];
        auto& y = split ? head[i + pairs] : head[2 * i + 1];
        Real const a = user_load(x), b = user_load(y);
        user_store(x, a * cos[i] - b * sin[i]);
        user_store(y, a * sin[i] + b * cos[i]);
      }
    }
  }
}

// Eigen: products of arrays; of complex numbers if pairs are interleaved.

template <class T>
[[gnu::noinline]] void eigen_halves(T* heads, posenc::heads_shape const& shape, T const* cos_sin) {
  using numbers = Eigen::Array<T, Eigen::Dynamic, 1>;
  auto const pairs = static_cast<Eigen::Index>(shape.head_dim / 2);
  numbers turned(pairs);
  for (std::size_t t = 0; t < shape.tokens; ++t) {
    Eigen::Map<numbers const> const cos(cos_sin + t * shape.head_dim, pairs),
        sin(cos.data() + pairs, pairs);
    for (std::size_t h = 0; h < shape.heads; ++h) {
      Eigen::Map<numbers> x(heads + (t * shape.heads + h) * shape.head_dim, pairs),
          y(x.data() + pairs, pairs);
      turned = x * cos - y * sin;
      y = x * sin + y * cos;
      x = turned;
    }
  }
}

template <class T>
[[gnu::noinline]] void eigen_interleaved(T* heads, posenc::heads_shape const& shape,
                                         std::complex<T> const* turns) {
  using numbers = Eigen::Array<std::complex<T>, Eigen::Dynamic, 1>;
  auto const pairs = static_cast<Eigen::Index>(shape.head_dim / 2);
  auto* head = reinterpret_cast<std::complex<T>*>(heads);
  for (std::size_t t = 0; t < shape.tokens; ++t, turns += pairs) {
    Eigen::Map<numbers const> const turn(turns, pairs);
    for (std::size_t h = 0; h < shape.heads; ++h, head += pairs)
      Eigen::Map<numbers>(head, pairs) *= turn;
  }
}

// The loop of llama2.c, without a table.
[[gnu::noinline]] inline void on_the_fly(float* heads, posenc::heads_shape const& shape,
                                         std::int64_t const* positions) {
  for (std::size_t t = 0; t < shape.tokens; ++t) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      float* head = heads + (t * shape.heads + h) * shape.head_dim;
      for (std::size_t i = 0; i < shape.head_dim; i += 2) {
        float const freq =
            1.0f / powf(10000.0f, static_cast<float>(i) / static_cast<float>(shape.head_dim));
        float const val = static_cast<float>(positions[t]) * freq;
        float const fcr = cosf(val), fci = sinf(val);
        float const v0 = head[i], v1 = head[i + 1];
        head[i] = v0 * fcr - v1 * fci;
        head[i + 1] = v0 * fci + v1 * fcr;
      }
    }
  }
}

}  // namespace bench
