// Heads through L1: norm, rotation, scale, rounding, transforms, and the write to any target.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/cut.hpp"
#include "posenc/rotation/detail/heads_in_memory.hpp"
#include "posenc/rotation/detail/norm_loops.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/operand.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/simd/numbers.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Rotates an operand that passed its checks, token by token, up to 64 heads at a time, which stay
/// in L1 from their norm to their target.
template <class Operand>
class step {
  using S = typename Operand::from_type;
  using real = typename Operand::real;
  using Norm = typename Operand::norm_type;
  using Round = typename Operand::round_type;
  using From = typename Operand::from_layout;
  using To = typename Operand::to_layout;
  using Target = typename Operand::target_type;
  static constexpr bool has_numbers = heads_of_numbers<typename Operand::source_type>,
                        has_usual_norm = std::same_as<Norm, head_norm<real>>;

 public:
  step(Operand const& operand, cos_sin_view<real> const& rows, std::size_t first_dim) noexcept
      : heads_(operand),
        all_rows_(rows),
        rows_(&rows),
        first_dim_(first_dim),
        dim_(operand.source().head_dim()) {}

  void run(part_of_heads const& part) {
    constexpr bool by_numbers = has_numbers && writable_heads<Target> && !Operand::is_transformed;
    auto const most = by_numbers && heads_.is_usual()
                          ? most_heads
                          : std::clamp<std::size_t>(numbers / 2 / dim_, 1, most_heads);
    for (auto token = part.token; token < part.token + part.tokens; ++token) {
      if constexpr (any_heads<Target>)
        if (!heads_.target().has(token)) continue;
      for (std::size_t done = 0, count; done < part.heads; done += count) {
        count = std::min(most, part.heads - done);
        auto const head = part.head + done;
        if constexpr (Operand::rotates)
          if (all_rows_.heads() != 1) count = std::min(count, turn_to(head));
        if constexpr (has_numbers) {
          if (!Operand::is_transformed || heads_.source_block() == 1) {
            auto const [from, stride] = numbers_at(heads_.source(), token, head);
            if (from == nullptr) break;
            to_target(token, head, count, from, stride);
            continue;
          }
        }
        if constexpr (!has_numbers || Operand::is_transformed) {
          if (!heads_.source().has(token)) break;
          load_heads(token, head, count);
          to_target(token, head, count, static_cast<real const*>(loaded_),
                    static_cast<std::ptrdiff_t>(dim_));
        }
      }
    }
  }

 private:
  static constexpr std::size_t numbers = most_head_dim, most_heads = 64;
  static constexpr bool changes = Operand::rotates || Operand::normalises || Operand::rounds,
                        writes_numbers = writable_heads<Target> || requires(Target const&to) {
    to.numbers(0, 0);
  };

  // Takes the rows of a head. Returns how many heads from there on share them.
  std::size_t turn_to(std::size_t head) noexcept {
    auto const group = heads_.source().heads() / all_rows_.heads();
    own_rows_.emplace(all_rows_.of_head(head / group));
    rows_ = &*own_rows_;
    return group - head % group;
  }

  // Heads of a token from memory to the target.
  template <class X>
  void to_target(std::size_t token, std::size_t head, std::size_t count, X const* from,
                 std::ptrdiff_t stride) {
    if constexpr (!changes && std::same_as<X, real>) {
      if (heads_.scale() == 1 && stays()) return write(token, head, count, from, stride);
    }
    if constexpr (writes_numbers) {
      // The kernel writes to the target, without a copy of floats in L1.
      auto const [to, to_stride] = numbers_at(heads_.target(), token, head);
      constexpr bool there = std::same_as<std::remove_cvref_t<decltype(*to)>, real>;
      if (to != nullptr && heads_.is_usual() && (there || stays())) {
        norm_and_rotate(token, from, stride, count, to, to_stride);
        if constexpr (there && Operand::is_transformed)
          for (auto* x = to; count != 0; --count, x += to_stride)
            transform_blocks(std::span(x, dim_), heads_.target_block());
        return;
      }
    }
    rotate_to_l1(token, from, stride, count);
    if constexpr (Operand::is_transformed)
      transform_blocks(std::span(rotated_, count * dim_), heads_.target_block());
    write(token, head, count, rotated_, static_cast<std::ptrdiff_t>(dim_));
  }
  // Whether heads go to the target as they are rotated.
  bool stays() const noexcept { return !Operand::is_transformed || heads_.target_block() == 1; }
  // The numbers of a token's head, null without a slot, and the stride to the next head, or 0.
  template <class Heads>
  static auto numbers_at(Heads const& heads, std::size_t token, std::size_t head) noexcept {
    if constexpr (heads_of_numbers<Heads>) {
      auto* const at = heads.token(token);
      auto const stride = heads.heads() > 1 ? heads.head_stride() : 0;
      return std::pair(at == nullptr ? at : at + static_cast<std::ptrdiff_t>(head) * stride,
                       stride);
    } else {
      return heads.numbers(token, head);
    }
  }
  // Heads of the source as floats, decoded and transformed.
  void load_heads(std::size_t token, std::size_t head, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (has_numbers) {
        load_numbers(heads_.source().at(token, head + i), of(loaded_, i));
      } else {
        heads_.source().read(token, head + i, of(loaded_, i));
      }
    }
    if constexpr (Operand::is_transformed)
      transform_blocks(std::span(loaded_, count * dim_), heads_.source_block());
  }
  void write(std::size_t token, std::size_t head, std::size_t count, real const* x,
             std::ptrdiff_t stride) const {
    for_each_sink(heads_.target(), [&]<class Sink>(Sink const& to) {
      if constexpr (requires { to.write_some(token, head, count, x, stride); }) {
        to.write_some(token, head, count, x, stride);  // its slot and page found once
      } else {
        auto const* from = x;
        for (std::size_t i = 0; i < count; ++i, from += stride) {
          if constexpr (heads_of_numbers<Sink>) {
            if (to.has(token)) store_numbers(std::span(from, dim_), to.at(token, head + i));
          } else {
            to.write(token, head + i, {from, dim_});
          }
        }
      }
    });
  }
  std::span<real> of(real* work, std::size_t i) const noexcept { return {work + i * dim_, dim_}; }

  // Some heads of a token from the source to `to`, by the kernel alone: norm, rotation, scale.
  template <class X, class T>
  void norm_and_rotate(std::size_t token, X const* from, std::ptrdiff_t stride, std::size_t count,
                       T* to, std::ptrdiff_t to_stride) noexcept {
    if constexpr (has_usual_norm) {
      auto const& norm = heads_.norm();
      gains_.compute(from, stride, count, dim_, norm.eps, heads_.scale());
      call_kernel(token, from, stride, count,
                  norm.weight.empty() ? nullptr : norm.weight.data() + first_dim_, gains_.values,
                  true, to, to_stride);
    } else {
      call_kernel(token, from, stride, count, nullptr, &heads_.scale(), false, to, to_stride);
    }
  }
  // Some heads of a token from the source to rotated_, with any norm and any rounding.
  template <class X>
  void rotate_to_l1(std::size_t token, X const* from, std::ptrdiff_t stride,
                    std::size_t count) noexcept {
    auto const rotated_stride = static_cast<std::ptrdiff_t>(dim_);
    if (heads_.is_usual())
      return norm_and_rotate(token, from, stride, count, rotated_, rotated_stride);
    for (std::size_t i = 0; i < count; ++i) {
      auto const* const head = from + static_cast<std::ptrdiff_t>(i) * stride;
      auto const x = of(loaded_, i);
      each_of(dim_, [&](std::size_t j) { x[j] = load(head[j]); });
      norm(x, norm_place::before);
    }
    auto const& points = heads_.points();
    constexpr real one = 1;
    bool const rounds = Operand::rotates && (points.products || points.cosines);
    if (!Operand::rounds || !rounds) {
      call_kernel(token, loaded_, rotated_stride, count, nullptr, &one, false, rotated_,
                  rotated_stride);
    } else if constexpr (Operand::rounds && Operand::rotates) {
      for (std::size_t i = 0; i < count; ++i)
        rotate_rounded<Round, From, To, real>(*rows_, token, first_dim_, of(loaded_, i),
                                              of(rotated_, i), points);
    }
    auto const scale = heads_.scale();
    for (std::size_t i = 0; i < count; ++i) {
      auto const x = of(rotated_, i);
      round_to<Round>(x, points.rotated);
      norm(x, norm_place::after);
      if (scale == 1) continue;
      each_of(dim_, [&](std::size_t j) { x[j] *= scale; });
      round_to<Round>(x, points.rotated);
    }
  }

  void norm(std::span<real> head, norm_place place) const noexcept {
    if constexpr (Operand::normalises) {
      if (heads_.norm().place == place) apply_norm<Round>(heads_.norm(), head, heads_.points());
    }
  }

  // The address of the same heads of the next token, to prefetch it; `from` if there is none.
  template <class T>
  T const* of_next([[maybe_unused]] std::size_t token, T const* from) const noexcept {
    if constexpr (std::same_as<T, S> && has_numbers) {
      auto const& source = heads_.source();
      bool const last = token + 1 == source.tokens() || source.token(token + 1) == nullptr;
      if (!last && static_cast<void const*>(from) != loaded_)
        return source.token(token + 1) + (from - source.token(token));
    }
    return from;
  }

  // The kernel: weights before the rotation, or none; gains after it.
  template <class T, class U>
  void call_kernel(std::size_t token, T const* from, std::ptrdiff_t stride, std::size_t count,
                   real const* weights, real const* gains, bool gain_per_head, U* to,
                   std::ptrdiff_t to_stride) noexcept {
    cursor<T, U, true> const block{from + first_dim_, to + first_dim_,
                                   weights,           gains,
                                   gain_per_head,     of_next(token, from) + first_dim_};
    auto const work =
        in_memory(block, {1, count, dim_}, first_dim_, {0, stride}, {0, to_stride}, *rows_, token);
    if constexpr (Operand::rotates) {
      rotate_in_l1<From, To>(work, rows_->rotated_pairs());
    } else {
      if constexpr (std::same_as<T, U>)
        if (!gain_per_head && weights == nullptr && *gains == 1) {
          for (; count != 0; --count, from += stride, to += to_stride) std::copy_n(from, dim_, to);
          return;
        }
      copy_dims(work, 0, 0, dim_);
    }
  }

  Operand const& heads_;
  cos_sin_view<real> const& all_rows_;
  cos_sin_view<real> const* rows_;              // of the heads that are rotated
  std::optional<cos_sin_view<real>> own_rows_;  // if rows differ by head
  std::size_t first_dim_, dim_;
  head_gains<real, most_heads> gains_;
  alignas(64) real loaded_[numbers];
  alignas(64) real rotated_[numbers];
};

}}}  // namespace posenc::detail
