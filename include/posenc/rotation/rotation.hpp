// One set of heads to be rotated: where from, where to, and what is done on the way, all in one
// pass over memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rms_norm.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {

/// heads_view or paged_heads.
template <class V>
concept heads_of_tokens = requires(V const& v, std::size_t token) {
  { v.token(token) } -> std::same_as<typename V::element_type*>;
  { v.memory() } -> std::same_as<memory_range>;
  v.tokens(), v.heads(), v.head_dim(), v.head_stride();
};

/// Heads that can be written; and those that can take what Source holds: double goes only with
/// double.
template <class V>
concept writable_heads = heads_of_tokens<V> && writable<typename V::element_type>;
template <class V, class Source>
concept target_of = writable_heads<V> && std::same_as<arithmetic_t<typename V::element_type>,
                                                      arithmetic_t<typename Source::element_type>>;

/// One set of heads: source, target, rotary block, norm and scale. Made by rotation_of. From and To
/// are pair layouts; Fused: there is a norm or a scale.
template <pair_layout From, pair_layout To, heads_of_tokens Source, target_of<Source> Target,
          bool Fused = false>
class rotation {
 public:
  using from_type = typename Source::element_type;
  using to_type = typename Target::element_type;
  using real = arithmetic_t<to_type>;

  rotation(Source const& source, Target const& target, rotary_block block = rotary_block::first())
      : source_(source), target_(target), block_(block) {}

  Source const& source() const noexcept { return source_; }
  Target const& target() const noexcept { return target_; }

  /// Which dims are rotary; by default the first ones.
  rotation block(rotary_block block) const {
    auto result = *this;
    result.block_ = block;
    return result;
  }
  /// An RMS norm of each head, before the rotation.
  auto norm(std::type_identity_t<rms_norm<real>> norm) const {
    detail::require(is_finite(norm.eps) && norm.eps > 0,
                    "rotation: eps of the norm must be finite and positive, got ", norm.eps);
    detail::require(norm.weight.empty() || norm.weight.size() == source_.head_dim(),
                    "rotation: the norm must have one weight per dim, got ", norm.weight.size(),
                    " weights for head_dim ", source_.head_dim());
    fused result(*this);
    result.weight_ = norm.weight, result.eps_ = norm.eps, result.normalises_ = true;
    return result;
  }
  /// A factor on each head, after the rotation: 1 / sqrt(head_dim) on queries. attention() scales
  /// scores by 1 / sqrt(head_dim) of its own accord: of queries scaled here, tell it {.scale = 1}.
  auto scale(real factor) const {
    detail::require(is_finite(factor), "rotation: the scale must be finite, got ", factor);
    fused result(*this);
    result.scale_ = factor;
    return result;
  }

  /// The same of some tokens, or of some heads. Throws if they reach beyond it.
  rotation slice_tokens(std::size_t first, std::size_t count) const {
    auto result = *this;
    result.source_ = source_.slice_tokens(first, count);
    result.target_ = target_.slice_tokens(first, count);
    return result;
  }
  rotation slice_heads(std::size_t first, std::size_t count) const {
    auto result = *this;
    result.source_ = source_.slice_heads(first, count);
    result.target_ = target_.slice_heads(first, count);
    return result;
  }

  // What rotate uses: the constructor checks everything, then rotate(token) is called for each
  // token.
  class checked {
   public:
    checked(rotation const& r, cos_sin_view<real> const& rows) : r_(r), rows_(rows) {
      auto const& from = r.source_;
      auto const& to = r.target_;
      detail::require(rows.tokens() == from.tokens(),
                      "rotate: there must be one row per token, got ", rows.tokens(), " rows for ",
                      from.tokens(), " tokens");
      detail::require(from.tokens() == to.tokens() && from.heads() == to.heads() &&
                          from.head_dim() == to.head_dim(),
                      "rotate: source and target must have the same shape, got ", from.tokens(),
                      " tokens x ", from.heads(), " heads of ", from.head_dim(), " and ",
                      to.tokens(), " x ", to.heads(), " of ", to.head_dim());
      first_dim_ = r.block_.first_dim(from.head_dim(), rows.rotary_dim());
      bool const in_place = r.in_place();
      detail::require((in_place && std::same_as<From, To>) || !detail::may_overlap(from, to),
                      "rotate: source and target must not overlap, unless they are the same heads "
                      "in the same layout");
      copies_ = Fused || !in_place;
      std::size_t rotated = 0;
      for (auto const [first, last] : rows.rotated_pairs()) rotated += last - first;
      ahead_ = from.tokens() * from.heads() * 2 * rotated * sizeof(from_type) >= beyond_cache &&
               r.dense();
    }

    void rotate(std::size_t token) const noexcept {
      ahead_ ? rotate<true>(token) : rotate<false>(token);
    }

   private:
    static constexpr std::size_t beyond_cache = std::size_t{1} << 20;  // bytes; L2 of one core

    template <bool Ahead>
    void rotate(std::size_t token) const noexcept {
      auto* const from = r_.source_.token(token);
      auto* const to = r_.target_.token(token);
      if (from == nullptr || to == nullptr) return;
      if constexpr (!Fused) {
        rotate_heads(shape<Ahead>(r_.source_.heads()), {from, to}, token);
      } else {
        auto const* const weights = r_.weight_.empty() ? nullptr : r_.weight_.data();
        if (!r_.normalises_)
          return rotate_heads(shape<Ahead>(r_.source_.heads()),
                              {from, to, weights, &r_.scale_, false}, token);
        constexpr std::size_t some = 64;  // heads that stay in L1 from their norm to their rotation
        detail::head_gains<real, some> gains;
        for (std::size_t head = 0; head < r_.source_.heads(); head += some) {
          auto const heads = shape<Ahead>(std::min(some, r_.source_.heads() - head));
          auto const n = static_cast<std::ptrdiff_t>(head);
          cursor const at{from + n * r_.source_.head_stride(), to + n * r_.target_.head_stride(),
                          weights, gains.values, true};
          gains.compute(at.from, heads.from_stride, heads.heads, heads.head_dim, r_.eps_,
                        r_.scale_);
          rotate_heads(heads, at, token);
        }
      }
    }

    using source_number = std::remove_const_t<from_type>;
    using cursor = detail::cursor<source_number, to_type, Fused>;

    template <bool Ahead>
    detail::token_shape<source_number, to_type, Fused, Ahead> shape(
        std::size_t heads) const noexcept {
      bool const steps = heads > 1;  // else the strides may be anything
      return {steps ? r_.source_.head_stride() : 0,
              steps ? r_.target_.head_stride() : 0,
              heads,
              r_.source_.head_dim(),
              first_dim_,
              rows_.pairs()};
    }
    void rotate_heads(auto const& shape, cursor const& at, std::size_t token) const noexcept {
      detail::rotate_token<From, To>(shape, at, rows_.cos(token).data(), rows_.sin(token).data(),
                                     rows_.rotated_pairs(), copies_);
    }

    rotation const& r_;
    cos_sin_view<real> const& rows_;
    std::size_t first_dim_;
    bool copies_, ahead_;
  };

  template <class Other>
  void check_apart(Other const& other) const {
    detail::require(
        !detail::may_overlap(target_, other.source()) &&
            !detail::may_overlap(target_, other.target()) &&
            !detail::may_overlap(source_, other.target()),
        "rotate: heads that one rotation of a call writes must not overlap those of another");
  }

 private:
  using fused = rotation<From, To, Source, Target, true>;
  friend class rotation<From, To, Source, Target, !Fused>;
  explicit rotation(rotation<From, To, Source, Target, !Fused> const& plain)
      : source_(plain.source_), target_(plain.target_), block_(plain.block_) {}

  // Whether source and target are the same heads.
  bool in_place() const noexcept {
    if constexpr (!std::same_as<std::remove_const_t<from_type>, to_type>) return false;
    if (source_.head_stride() != target_.head_stride() && source_.heads() > 1) return false;
    for (std::size_t t = 0; t < source_.tokens(); ++t) {
      if (static_cast<void const*>(source_.token(t)) != static_cast<void const*>(target_.token(t)))
        return false;
    }
    return true;
  }

  // Whether tokens and heads are contiguous in memory.
  bool dense() const noexcept {
    auto const head = static_cast<std::ptrdiff_t>(source_.head_dim()),
               token = static_cast<std::ptrdiff_t>(source_.heads()) * head;
    return source_.tokens() > 0 && source_.head_stride() == head &&
           source_.memory().last - source_.memory().first ==
               source_.tokens() * static_cast<std::size_t>(token) * sizeof(from_type);
  }

  Source source_;
  Target target_;
  rotary_block block_;
  std::span<real const> weight_;
  real eps_ = 0, scale_ = 1;
  bool normalises_ = false;
};

namespace detail {
void check_apart(auto const& first, auto const&... more) {
  (first.check_apart(more), ...);
  if constexpr (sizeof...(more) > 1) check_apart(more...);
}
}  // namespace detail

/// In place.
template <pair_layout Layout, writable_heads V>
rotation<Layout, Layout, V, V> rotation_of(V const& heads) {
  return {heads, heads};
}

/// From source to target, of another type or layout if need be; dims that are not rotated are
/// copied.
template <pair_layout From, pair_layout To = From, heads_of_tokens Source, target_of<Source> Target>
rotation<From, To, Source, Target> rotation_of(Source const& source, Target const& target) {
  return {source, target};
}

}  // namespace posenc
