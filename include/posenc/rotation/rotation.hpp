// One set of heads to be rotated: where from, where to, and what is done on the way, all in one
// pass over memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked_rotation.hpp"
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

/// Heads that can be written.
template <class V>
concept writable_heads = heads_of_tokens<V> && writable<typename V::element_type>;
/// Heads that can take what Source holds: double goes only with double.
template <class V, class Source>
concept target_of = writable_heads<V> && std::same_as<arithmetic_t<typename V::element_type>,
                                                      arithmetic_t<typename Source::element_type>>;

/// One set of heads: source, target, rotary block, norm and scale. Made by rotation_of. From and To
/// are pair layouts; Fused: there is a norm or a scale.
template <pair_layout From, pair_layout To, heads_of_tokens Source, target_of<Source> Target,
          bool Fused = false>
class rotation {
 public:
  using from_type = typename Source::element_type;  ///< const where the source is only read
  using to_type = typename Target::element_type;    ///< what is written
  using real = arithmetic_t<to_type>;               ///< float, or double for doubles

  /// Views both; checks nothing until rotate does.
  rotation(Source const& source, Target const& target, rotary_block block = rotary_block::first())
      : source_(source), target_(target), block_(block) {}

  Source const& source() const noexcept { return source_; }  ///< may be the target
  Target const& target() const noexcept { return target_; }  ///< is written

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
    result.factors_.weight = norm.weight, result.factors_.eps = norm.eps;
    result.factors_.normalises = true;
    return result;
  }
  /// A factor on each head, after the rotation: 1 / sqrt(head_dim) on queries. Give attention()
  /// these as encoded(rotation): it scales scores by 1 / sqrt(head_dim) otherwise.
  auto scale(real factor) const {
    detail::require(is_finite(factor), "rotation: the scale must be finite, got ", factor);
    fused result(*this);
    result.factors_.scale = factor;
    return result;
  }

  real scale() const noexcept { return factors_.scale; }  ///< 1 if none was given

  /// The same of some tokens, or of some heads. Throws if they reach beyond it.
  rotation slice_tokens(std::size_t first, std::size_t count) const {
    auto result = *this;
    result.source_ = source_.slice_tokens(first, count);
    result.target_ = target_.slice_tokens(first, count);
    return result;
  }
  /// Likewise, of the heads of every token.
  rotation slice_heads(std::size_t first, std::size_t count) const {
    auto result = *this;
    result.source_ = source_.slice_heads(first, count);
    result.target_ = target_.slice_heads(first, count);
    return result;
  }

  /// What rotate runs.
  using checked = detail::checked_rotation<From, To, Source, Target, Fused>;
  /// Throws std::invalid_argument as rotate does, of this set of heads alone.
  checked check(cos_sin_view<real> const& rows) const {
    return {source_, target_, block_, factors_, rows};
  }

  /// Throws std::invalid_argument if one of the two writes what the other reads or writes.
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

  Source source_;
  Target target_;
  rotary_block block_;
  detail::head_factors<real> factors_;
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
