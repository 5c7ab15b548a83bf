// A rotation whose arguments were checked: it hands tokens to the kernel.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/cpu.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rotation/rms_norm.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/steps.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// What a rotation multiplies heads by: by the norm's weights before it, by the scale after it.
template <class Real>
struct head_factors {
  std::span<Real const> weight = {};
  Real eps = 0, scale = 1;
  bool normalises = false;
};

/// Whether source and target, of the same shape, are the same heads.
template <class Source, class Target>
bool same_heads(Source const& source, Target const& target) noexcept {
  if (static_cast<void const*>(&source) == &target) return true;
  if constexpr (std::same_as<std::remove_const_t<typename Source::element_type>,
                             typename Target::element_type>) {
    if (source.head_stride() != target.head_stride() && source.heads() > 1) return false;
    for (std::size_t token = 0; token < source.tokens(); ++token) {
      if (source.token(token) != target.token(token)) return false;
    }
    return true;
  }
  return false;
}

/// Refers to its arguments: copies of them cost as much as the rotation of some heads. For the same
/// reason what a call runs first is inlined: the object stays in registers, and nothing is stored
/// but what the kernel reads. Fused: there are factors.
template <class From, class To, class Source, class Target, bool Fused>
class checked_rotation {
 public:
  using from_type = std::remove_const_t<typename Source::element_type>;
  using to_type = typename Target::element_type;
  using real = arithmetic_t<to_type>;

  /// Throws std::invalid_argument as rotate says.
  [[gnu::always_inline]] checked_rotation(Source const& from, Target const& to,
                                          rotary_block const& block,
                                          head_factors<real> const& factors,
                                          cos_sin_view<real> const& rows)
      : from_(from), to_(to), factors_(factors), rows_(rows) {
    require(rows.tokens() == from.tokens(), "rotate: there must be one row per token, got ",
            rows.tokens(), " rows for ", from.tokens(), " tokens");
    require(from.tokens() == to.tokens() && from.heads() == to.heads() &&
                from.head_dim() == to.head_dim(),
            "rotate: source and target must have the same shape, got ", from.tokens(), " tokens x ",
            from.heads(), " heads of ", from.head_dim(), " and ", to.tokens(), " x ", to.heads(),
            " of ", to.head_dim());
    first_dim_ = block.first_dim(from.head_dim(), rows.rotary_dim());
    bool const in_place = same_heads(from, to);
    require((in_place && std::same_as<From, To>) || !may_overlap(from, to),
            "rotate: source and target must not overlap, unless they are the same heads in the "
            "same layout");
    copies_ = Fused || !in_place;
  }

  [[gnu::always_inline]] void rotate() const noexcept {
    if constexpr (Fused) {
      if (factors_.normalises) return rotate_normalised();
    }
    auto const tokens = rows_.tokens(), heads = from_.heads();
    if (heads == 0 || tokens == 0) return;
    auto const step = split();
    if constexpr (strided) {
      if (step.tokens >= tokens && step.heads == heads)
        return rotate(heads_at(0, tokens, 0, heads, &factors_.scale, false, step.pace));
    }
    rotate_in_steps(step);
  }

 private:
  static constexpr bool strided = requires(Source const& source, Target const& target) {
    source.strides(), target.strides();
  };
  using some_heads = token_heads<from_type, to_type, Fused>;

  [[gnu::always_inline]] void rotate_in_steps(steps const& step) const noexcept {
    for (std::size_t token = 0, next; token < rows_.tokens(); token = next) {
      next = token + std::min(equidistant(token), step.tokens);
      if (is_left_out(token)) continue;
      auto const some =
          heads_at(token, next - token, 0, from_.heads(), &factors_.scale, false, step.pace);
      if (step.heads == from_.heads()) {
        rotate(some);
      } else {
        rotate(some.by_heads(step.heads));
        auto const rest = from_.heads() % step.heads;
        if (rest > 0)
          rotate(heads_at(token, 1, from_.heads() - rest, rest, &factors_.scale, false, step.pace));
      }
    }
  }

  [[gnu::always_inline]] steps split() const noexcept {
    auto const ranges = rows_.rotated_pairs();
    auto const pairs = ranges.empty() ? 0 : ranges.back().last - ranges.front().first;
    bool const copies = copies_ && 2 * pairs < from_.head_dim();
    return steps_of<From, To, from_type, to_type>(
        {rows_.tokens(), from_.heads(), pairs, !copies && ranges.size() == 1}, is_zen_3_or_4());
  }

  // Number of tokens from `token` on, of which each has the same distance to the next one.
  std::size_t equidistant(std::size_t token) const noexcept {
    return strided ? rows_.tokens() - token : 1;
  }
  // A slot of -1.
  bool is_left_out(std::size_t token) const noexcept {
    return from_.token(token) == nullptr || to_.token(token) == nullptr;
  }

  some_heads heads_at(std::size_t token, std::size_t tokens, std::size_t head, std::size_t heads,
                      [[maybe_unused]] real const* gains, [[maybe_unused]] bool gain_per_head,
                      detail::pace pace) const noexcept {
    auto const at = [&](auto const& view) {
      return view.token(token) + static_cast<std::ptrdiff_t>(head) * view.head_stride() +
             static_cast<std::ptrdiff_t>(first_dim_);
    };
    auto const token_stride = [&](auto const& view) {
      return tokens > 1 ? view.token(token + 1) - view.token(token) : 0;
    };
    // With one head, the stride may be anything. Clang would load it with that of tokens, 16 bytes,
    // to which two stores of 8, the caller's, cannot be forwarded.
    auto const head_stride = [&](auto const& view) {
      return anew_in_each_turn(from_.heads() > 1 ? view.head_stride() : 0);
    };
    some_heads some;
    some.first.from = at(from_), some.first.to = at(to_);
    if constexpr (Fused) {
      auto const& weight = factors_.weight;
      some.first.weights = weight.empty() ? nullptr : weight.data() + first_dim_;
      some.first.gain = gains, some.first.gain_per_head = gain_per_head;
    }
    some.cos = rows_.cos(token).data();
    some.tokens = tokens, some.heads = std::min(heads, from_.heads() - head);
    some.cos_token = rows_.rotary_dim();
    some.from_token = token_stride(from_), some.to_token = token_stride(to_);
    some.from_head = head_stride(from_), some.to_head = head_stride(to_);
    some.head_dim = from_.head_dim(), some.first_dim = first_dim_, some.pairs = rows_.pairs();
    some.pace = pace;
    return some;
  }

  void rotate(some_heads const& some) const noexcept {
    auto const ranges = rows_.rotated_pairs();
    if (ranges.size() == 1 && !copies_) return rotate_range<From, To>(some, ranges[0]);
    rotate_tokens<From, To>(some, ranges, copies_);
  }

  // Token by token, some heads at a time: they stay in L1 from their norm to their rotation.
  void rotate_normalised() const noexcept {
    constexpr std::size_t most_heads = 64;
    head_gains<real, most_heads> gains;
    for (std::size_t token = 0; token < rows_.tokens(); ++token) {
      if (is_left_out(token)) continue;
      for (std::size_t head = 0; head < from_.heads(); head += most_heads) {
        auto const some = heads_at(token, 1, head, most_heads, gains.values, true, {});
        gains.compute(some.first.from - first_dim_, some.from_head, some.heads, from_.head_dim(),
                      factors_.eps, factors_.scale);
        rotate(some);
      }
    }
  }

  Source const& from_;
  Target const& to_;
  head_factors<real> const& factors_;
  cos_sin_view<real> const& rows_;
  std::size_t first_dim_;
  bool copies_;
};

}  // namespace posenc::detail
