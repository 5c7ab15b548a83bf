// One set of heads to be rotated: where from, where to, and what is fused with it.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked.hpp"
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

namespace detail {

/// The type of arithmetic on the heads of a view or of a rotation.
template <class Heads>
struct real_of {
  using type = typename Heads::real;
};
template <heads_of_tokens V>
struct real_of<V> {
  using type = arithmetic_t<typename V::element_type>;
};
template <class R>
concept set_of_heads = requires {
  typename R::real;
  requires R::is_rotation;
};
/// A view that says itself what its elements must be.
template <class Heads>
concept unstorable = heads_of_tokens<Heads> && !storable<typename Heads::element_type>;
/// Rows for Heads, a view or a rotation.
template <class Rows, class Heads>
concept rows_for = !unstorable<Heads> &&
                   std::convertible_to<Rows const&, cos_sin_view<typename real_of<Heads>::type>>;

/// Says what is wrong with the types of a rotation, if anything is.
template <class From, class To, class Source, class Target>
consteval bool are_right() noexcept {
  static_assert(pair_layout<From> && pair_layout<To>,
                "posenc: a rotation must be told its pair layout: rotate<halves>(...) or "
                "rotate<interleaved>(...)");
  static_assert(writable_heads<Target> || unstorable<Target>,
                "posenc: heads that a rotation writes must not be const");
  static_assert(!writable_heads<Target> || unstorable<Source> || target_of<Target, Source>,
                "posenc: heads of double must be rotated to heads of double, others to others");
  return pair_layout<From> && pair_layout<To> && target_of<Target, Source>;
}
template <class Rows, class Heads>
consteval bool are_right() noexcept {
  static_assert(rows_for<Rows, Heads> || unstorable<Heads>,
                "posenc: rows must be of double for heads of double, and of float for all others");
  return rows_for<Rows, Heads>;
}
/// Rows as a view: themselves if they are one, since a copy would wait for the caller's stores.
template <class Heads, rows_for<Heads> Rows>
[[gnu::always_inline]] inline decltype(auto) view_of(Rows const& rows) noexcept {
  using view = cos_sin_view<typename real_of<Heads>::type>;
  if constexpr (std::same_as<Rows, view>) {
    return (rows);
  } else {
    return static_cast<view>(rows);
  }
}

}  // namespace detail

/// One set of heads, made by rotation_of. From, To: pair layouts. Fused: with a norm or a scale.
template <pair_layout From, pair_layout To, heads_of_tokens Source, target_of<Source> Target,
          bool Fused = false>
class rotation {
 public:
  using from_type = typename Source::element_type;  ///< const where the source is only read
  using to_type = typename Target::element_type;    ///< what is written
  using real = arithmetic_t<to_type>;               ///< float, or double for doubles
  static constexpr bool is_rotation = true;         ///< how rotate knows it

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
  /// A factor on each head, after the rotation: 1 / sqrt(head_dim) on queries, which attention()
  /// then takes as encoded(rotation), or it would scale scores once more.
  auto scale(real factor) const {
    detail::require(is_finite(factor), "rotation: the scale must be finite, got ", factor);
    fused result(*this);
    result.factors_.scale = factor;
    return result;
  }

  real scale() const noexcept { return factors_.scale; }  ///< 1 if none was given

  /// What rotate runs. Throws std::invalid_argument as rotate does, of this set of heads alone.
  auto check(cos_sin_view<real> const& rows) const {
    return detail::check<From, To, Fused>(source_, target_, block_, factors_, rows);
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

/// From source to target, see rotate.
template <class From = void, class To = From, heads_of_tokens Source, heads_of_tokens Target>
auto rotation_of(Source const& source, Target const& target) {
  if constexpr (detail::are_right<From, To, Source, Target>())
    return rotation<From, To, Source, Target>(source, target);
}
/// In place.
template <class Layout = void, heads_of_tokens V>
auto rotation_of(V const& heads) {
  return rotation_of<Layout, Layout>(heads, heads);
}

}  // namespace posenc
