// The loop of a step: some heads of a token at a time go through L1, from their source to their
// target.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/cache/head_norm.hpp"
#include "posenc/cache/step_heads.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/columns.hpp"
#include "posenc/rotation/cut.hpp"
#include "posenc/rotation/heads_in_memory.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rms_norm.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/codes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What turns some heads of a token, in L1.
template <class Heads>
class step_loop {
  using S = typename Heads::from_type;
  using Norm = typename Heads::norm_type;
  using Round = typename Heads::round_type;
  static constexpr bool
      is_encoded = encoded_source<std::remove_cvref_t<decltype(std::declval<Heads>().source())>>,
      normalises = !std::same_as<Norm, nothing>, rounds = !std::same_as<Round, nothing>;
  using From = typename Heads::from_layout;
  using To = typename Heads::to_layout;

 public:
  step_loop(Heads const& heads, cos_sin_view<float> const& rows, std::size_t first_dim) noexcept
      : heads_(heads), rows_(rows), first_dim_(first_dim), dim_(heads.source().head_dim()) {}

  /// Token by token, some heads at a time, which stay in L1 from their norm to their target.
  void run(part_of_heads const& part) {
    auto const most = std::clamp<std::size_t>(numbers / 2 / dim_, 1, most_heads);
    for (auto token = part.token; token < part.token + part.tokens; ++token) {
      for (std::size_t done = 0, count; done < part.heads; done += count) {
        count = std::min(most, part.heads - done);
        auto const head = part.head + done;
        auto const [from, stride] = heads_at(token, head, count);
        if (from == nullptr) break;
        if constexpr (is_plain) {
          if (heads_.scale() == 1) {
            write(token, head, count, from, stride);
            continue;
          }
        }
        if constexpr (requires { heads_.sink().numbers(token, head); }) {
          // The kernel writes to the page, without a copy of floats in L1.
          auto const [to, to_stride] = heads_.sink().numbers(token, head);
          if (to != nullptr && is_usual()) {
            turn_usually(token, from, stride, count, to, to_stride);
            continue;
          }
        }
        turn(token, from, stride, count);
        write(token, head, count, turned_, static_cast<std::ptrdiff_t>(dim_));
      }
    }
  }

 private:
  static constexpr std::size_t numbers = most_head_dim, most_heads = 64;
  static constexpr bool is_plain =
      !Heads::rotates && !normalises && !rounds && std::same_as<S, float>;

  void write(std::size_t token, std::size_t head, std::size_t count, float const* x,
             std::ptrdiff_t stride) const {
    auto const& sink = heads_.sink();
    if constexpr (requires { sink.write_some(token, head, count, x, stride); }) {
      sink.write_some(token, head, count, x, stride);  // its slot and page found once
    } else {
      for (std::size_t i = 0; i < count; ++i, x += stride) sink.write(token, head + i, {x, dim_});
    }
  }
  std::span<float> of(float* some, std::size_t i) const noexcept { return {some + i * dim_, dim_}; }
  // Where some heads of a token are as numbers, which cached ones are in loaded_, and how far it is
  // to the next; null if nowhere.
  std::pair<S const*, std::ptrdiff_t> heads_at(std::size_t token, std::size_t head,
                                               std::size_t count) noexcept {
    auto const& source = heads_.source();
    if constexpr (is_encoded) {
      if (!source.has(token)) return {nullptr, 0};
      for (std::size_t i = 0; i < count; ++i) source.read(token, head + i, of(loaded_, i));
      return {loaded_, static_cast<std::ptrdiff_t>(dim_)};
    } else {
      auto const* first = source.token(token);
      if (first != nullptr) first += static_cast<std::ptrdiff_t>(head) * source.head_stride();
      return {first, source.head_stride()};
    }
  }
  bool is_usual() const noexcept {  // as rotate itself has it
    if constexpr (rounds) {
      return false;
    } else if constexpr (std::same_as<Norm, head_norm<float>>) {
      auto const& n = heads_.norm();
      return n.kind == norm_kind::rms && n.place == norm_place::before &&
             n.eps_place == norm_eps::inside && !n.plus_one;
    } else {
      return !normalises;
    }
  }

  // Rotates some heads of a token from the source to `to`, by the kernel alone.
  template <class T>
  void turn_usually(std::size_t token, S const* from, std::ptrdiff_t stride, std::size_t count,
                    T* to, std::ptrdiff_t to_stride) noexcept {
    auto const scale = heads_.scale();
    float const* weight = nullptr;
    if constexpr (std::same_as<Norm, head_norm<float>>) {
      auto const& w = heads_.norm().weight;
      weight = w.empty() ? nullptr : w.data() + first_dim_;
      gains_.compute(from, stride, count, dim_, heads_.norm().eps, scale);
      return rotate(token, from, stride, count, weight, gains_.values, true, to, to_stride);
    }
    rotate(token, from, stride, count, weight, &scale, false, to, to_stride);
  }
  // Rotates some heads of a token from the source to turned_.
  void turn(std::size_t token, S const* from, std::ptrdiff_t stride, std::size_t count) noexcept {
    auto const scale = heads_.scale();
    auto const turned_stride = static_cast<std::ptrdiff_t>(dim_);
    if (is_usual()) return turn_usually(token, from, stride, count, turned_, turned_stride);
    auto const& points = heads_.points();
    for (std::size_t i = 0; i < count; ++i) {
      auto const* const head = from + static_cast<std::ptrdiff_t>(i) * stride;
      auto const x = of(loaded_, i);
      each_of(dim_, [&](std::size_t j) { x[j] = load(head[j]); });
      norm(x, norm_place::before);
    }
    constexpr float one = 1;
    bool by_kernel = true;
    if constexpr (rounds && Heads::rotates) by_kernel = !points.products && !points.cosines;
    if (by_kernel) {
      rotate(token, loaded_, turned_stride, count, nullptr, &one, false, turned_, turned_stride);
    } else if constexpr (Heads::rotates) {
      for (std::size_t i = 0; i < count; ++i) turn_rounded(token, of(loaded_, i), of(turned_, i));
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto const x = of(turned_, i);
      round_to<Round>(x, points.rotated);
      norm(x, norm_place::after);
      if (scale == 1) continue;
      each_of(dim_, [&](std::size_t j) { x[j] *= scale; });
      round_to<Round>(x, points.rotated);
    }
  }

  void norm(std::span<float> head, norm_place place) const noexcept {
    if constexpr (normalises) {
      if (heads_.norm().place == place) apply_norm<Round>(heads_.norm(), head, heads_.points());
    }
  }

  // Where the same heads of the next token are, to be prefetched; `from` if there is no next one.
  template <class T>
  T const* of_next([[maybe_unused]] std::size_t token, T const* from) const noexcept {
    if constexpr (std::same_as<T, S> && !is_encoded) {
      auto const& source = heads_.source();
      bool const last = token + 1 == source.tokens() || source.token(token + 1) == nullptr;
      if (!last && static_cast<void const*>(from) != loaded_)
        return source.token(token + 1) + (from - source.token(token));
    }
    return from;
  }

  // By the kernel.
  template <class T, class U>
  void rotate(std::size_t token, T const* from, std::ptrdiff_t stride, std::size_t count,
              float const* weights, float const* gains, bool gain_per_head, U* to,
              std::ptrdiff_t to_stride) noexcept {
    heads_in_memory<T, U, true> some;
    some.first = {from + first_dim_, to + first_dim_,
                  weights,           gains,
                  gain_per_head,     of_next(token, from) + first_dim_};
    some.cos = rows_.cos(token).data();
    some.tokens = 1, some.heads = count, some.cos_token = 0;
    some.from_token = some.to_token = 0;
    some.from_head = stride, some.to_head = to_stride;
    some.head_dim = dim_, some.first_dim = first_dim_;
    if constexpr (Heads::rotates) {
      some.pairs = rows_.pairs();
      rotate_near<From, To>(some, rows_.rotated_pairs());
    } else {
      if constexpr (std::same_as<T, U>)
        if (!gain_per_head && weights == nullptr && *gains == 1) {
          for (; count != 0; --count, from += stride, to += to_stride) std::copy_n(from, dim_, to);
          return;
        }
      copy_dims(some, 0, 0, dim_);
    }
  }

  // Pair by pair, each operation rounded where it shall be.
  void turn_rounded(std::size_t token, std::span<float const> from,
                    std::span<float> to) const noexcept {
    auto const& points = heads_.points();
    auto const rounded = [](bool here, float x) POSENC_INLINED {
      if constexpr (rounds) return here ? static_cast<float>(storage_format_t<Round>(x)) : x;
      return x;
    };
    std::ranges::copy(from, to.begin());
    auto const pairs = rows_.pairs();
    auto const cos = rows_.cos(token), sin = rows_.sin(token);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const c = rounded(points.cosines, cos[i]), s = rounded(points.cosines, sin[i]);
      auto const x = from[first_dim_ + From::x_index(i, pairs)],
                 y = from[first_dim_ + From::y_index(i, pairs)];
      auto const product = [&](float a, float b) {
        return rounded(points.products, stored(a * b));
      };
      to[first_dim_ + To::x_index(i, pairs)] =
          rounded(points.products, product(x, c) - product(y, s));
      to[first_dim_ + To::y_index(i, pairs)] =
          rounded(points.products, product(y, c) + product(x, s));
    }
  }

  Heads const& heads_;
  cos_sin_view<float> const& rows_;
  std::size_t first_dim_, dim_;
  head_gains<float, most_heads> gains_;
  alignas(64) float loaded_[numbers];
  alignas(64) float turned_[numbers];
};

}  // namespace posenc::detail
