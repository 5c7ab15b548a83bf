// One set of heads of a rotation: from where, what is done to them, and who takes them.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/overlap.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// The numbers of L1 that a step has for some heads of a token.
inline constexpr std::size_t most_head_dim = 4096;

/// The type of arithmetic on the heads of a view, or of an operand.
template <class Heads>
struct real_of {
  using type = typename Heads::real;
};
template <any_heads V>
struct real_of<V> {
  using type = arithmetic_t<typename V::element_type>;
};
/// A view that says itself what its elements must be.
template <class Heads>
concept unstorable = requires {
  typename Heads::element_type;
}
&&!storable<typename Heads::element_type> && !head_sink<Heads>;
/// Rows for Heads, a view or an operand.
template <class Rows, class Heads>
concept rows_for = !unstorable<Heads> &&
                   std::convertible_to<Rows const&, cos_sin_view<typename real_of<Heads>::type>>;
/// Heads of double, which go with no others.
template <class V>
concept heads_of_double = any_heads<V> && std::same_as < arithmetic_t<typename V::element_type>,
double > ;
/// Takes what arithmetic on Source gives.
template <class Target, class Source>
concept takes_heads_of = head_sink<Target> && any_heads<Source> && heads_of_double<Target>
== heads_of_double<Source>;

/// Says what is wrong with the types of an operand, if anything is.
template <class From, class To, class Source, class Target>
consteval bool are_right() noexcept {
  static_assert(pair_layout<From> && pair_layout<To>,
                "posenc: a rotation must be told its pair layout: rotate<halves>(...) or "
                "rotate<interleaved>(...)");
  static_assert(head_sink<Target> || unstorable<Target>,
                "posenc: heads that a rotation writes must not be const");
  static_assert(!head_sink<Target> || unstorable<Source> || takes_heads_of<Target, Source>,
                "posenc: heads of double must be rotated to heads of double, others to others");
  return pair_layout<From> && pair_layout<To> && takes_heads_of<Target, Source>;
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

/// One set of heads of a rotation, made by rotated or unrotated. From, To: pair layouts, or void.
/// Norm: a head_norm. Round: a type. Scaled: there is a factor.
template <class From, class To, any_heads Source, head_sink Target, class Norm = detail::nothing,
          class Round = detail::nothing, bool Scaled = false>
class operand {
 public:
  using from_layout = From;                                              ///< of pairs, or void
  using to_layout = To;                                                  ///< of pairs, or void
  using source_type = Source;                                            ///< is read
  using target_type = Target;                                            ///< takes the heads
  using norm_type = Norm;                                                ///< head_norm, or nothing
  using round_type = Round;                                              ///< rounded to, or nothing
  using from_type = std::remove_const_t<typename Source::element_type>;  ///< what is read
  using real = arithmetic_t<from_type>;                                  ///< float, or double
  static constexpr bool is_operand = true;                               ///< how rotate knows it
  static constexpr bool rotates = pair_layout<From>;                     ///< not so values
  static constexpr bool is_scaled = Scaled;                              ///< there is a factor
  static constexpr bool normalises = !std::same_as<Norm, detail::nothing>;  ///< there is a norm
  static constexpr bool rounds = !std::same_as<Round, detail::nothing>;  ///< before the target does
  /// Numbers are rotated to numbers, and nothing else.
  static constexpr bool is_plain =
      rotates && !normalises && !rounds && heads_of_numbers<Source> && writable_heads<Target>;

  /// Views both; checks nothing until rotate does.
  operand(Source const& source, Target const& target, Norm const& norm = {})
      : source_(source), target_(target), norm_(norm) {}

  /// Which dims are rotary; by default the first ones.
  operand block(rotary_block block) const requires rotates {
    auto result = *this;
    result.block_ = block;
    return result;
  }
  /// A norm of each head. Throws unless eps is finite and positive, with one weight per dim or
  /// none.
  template <storable W>
  auto norm(head_norm<W> const& norm) const {
    detail::require(is_finite(norm.eps) && norm.eps > 0,
                    "rotate: eps of the norm must be finite and positive, got ", norm.eps);
    detail::require(norm.weight.empty() || norm.weight.size() == source_.head_dim(),
                    "rotate: the norm must have one weight per dim, got ", norm.weight.size(),
                    " weights for head_dim ", source_.head_dim());
    static_assert(
        std::same_as<arithmetic_t<W>, real>,
        "posenc: weights must be of double for heads of double, and of others for others");
    return with<head_norm<W>, Round, Scaled>(norm);
  }
  /// The same, with weights of the type of arithmetic.
  auto norm(head_norm<real> const& norm) const { return this->template norm<real>(norm); }
  /// Rounds to T at these points.
  template <storable T>
  auto round(rounding_points points) const {
    auto result = with<Norm, T, Scaled>(norm_);
    result.points_ = points;
    return result;
  }
  /// A factor on each head, after the rotation and the norm: 1 / sqrt(head_dim) on queries, which
  /// attention() then takes as encoded(operand), or it would scale scores once more. Throws unless
  /// it is finite.
  auto scale(real factor) const {
    detail::require(is_finite(factor), "rotate: the scale must be finite, got ", factor);
    auto result = with<Norm, Round, true>(norm_);
    result.scale_ = factor;
    return result;
  }

  Source const& source() const noexcept { return source_; }           ///< may be the target
  Target const& target() const noexcept { return target_; }           ///< is written
  Norm const& norm() const noexcept { return norm_; }                 ///< nothing if none was given
  rounding_points const& points() const noexcept { return points_; }  ///< none unless given
  real const& scale() const noexcept { return scale_; }               ///< 1 if none was given

  /// Whether the kernel computes the norm, and rounding is the target's alone.
  bool is_usual() const noexcept {
    if constexpr (rounds) {
      return false;
    } else if constexpr (std::same_as<Norm, head_norm<real>>) {
      return norm_.kind == norm_kind::rms && norm_.place == norm_place::before &&
             norm_.eps_place == norm_eps::inside && !norm_.plus_one;
    } else {
      return !normalises;
    }
  }
  /// Whether source and target are the same heads. Throws std::invalid_argument as rotate does, of
  /// this operand alone.
  bool check(cos_sin_view<real> const& rows) const {
    auto const tokens = source_.tokens(), heads = source_.heads(), dim = source_.head_dim();
    detail::require(rows.tokens() == tokens, "rotate: there must be one row per token, got ",
                    rows.tokens(), " rows for ", tokens, " tokens");
    bool const by_kernel = heads_of_numbers<Source> && writable_heads<Target> && is_usual();
    detail::require(by_kernel || dim <= detail::most_head_dim, "rotate: head_dim must be at most ",
                    detail::most_head_dim, ", got ", dim);
    bool in_place = false;
    detail::for_each_sink(target_, [&]<class Sink>(Sink const& to) {
      if constexpr (requires { to.tokens(), to.heads(), to.head_dim(); })
        detail::require(to.tokens() == tokens && to.heads() == heads && to.head_dim() == dim,
                        "rotate: source and target must have the same shape, got ", tokens,
                        " tokens x ", heads, " heads of ", dim, " and ", to.tokens(), " x ",
                        to.heads(), " of ", to.head_dim());
      if constexpr (!heads_of_numbers<Sink>)
        if constexpr (requires { to.require_each_slot_once(); }) to.require_each_slot_once();
      bool const same = detail::same_heads(source_, to);
      detail::require((same && std::same_as<From, To>) || !detail::may_overlap(source_, to),
                      "rotate: source and target must not overlap, unless they are the same heads "
                      "in the same layout");
      in_place = in_place || same;
      detail::for_each_sink(target_, [&](auto const& other) {
        bool const is_it = static_cast<void const*>(&other) == &to;
        detail::require(is_it || !detail::may_overlap(to, other),
                        "rotate: targets of one set must not overlap each other");
      });
    });
    return in_place;
  }
  /// The first dim that rotates. Throws std::invalid_argument if the head is too short.
  std::size_t first_dim(cos_sin_view<real> const& rows) const {
    if constexpr (rotates) return block_.first_dim(source_.head_dim(), rows.rotary_dim());
    return 0;
  }

 private:
  template <class F, class T, any_heads S, head_sink K, class N, class R, bool D>
  friend class operand;
  template <class OtherNorm, class OtherRound, bool OtherScaled>
  auto with(OtherNorm const& norm) const {
    operand<From, To, Source, Target, OtherNorm, OtherRound, OtherScaled> result(source_, target_,
                                                                                 norm);
    result.block_ = block_, result.points_ = points_, result.scale_ = scale_;
    return result;
  }

  Source source_;
  Target target_;
  Norm norm_;
  rotary_block block_ = rotary_block::first();
  rounding_points points_;
  real scale_ = 1;
};

/// Heads that are rotated and given to a target. The source is a heads_view; the target too, or any
/// head_sink; tokens without a slot in either are skipped. From and To: halves or interleaved.
template <class From = void, class To = From, any_heads Source, class Target>
auto rotated(Source const& source, Target const& target) {
  if constexpr (detail::are_right<From, To, Source, Target>())
    return operand<From, To, Source, Target>(source, target);
}
/// In place. Cached keys move so, in any format: they are decoded, rotated by shift_rows or
/// rerotation_rows, and encoded.
template <class Layout = void, any_heads Heads>
auto rotated(Heads const& heads) {
  return rotated<Layout, Layout>(heads, heads);
}
/// Heads that are given to a target as they are, or with a norm or scale: values.
template <any_heads Source, head_sink Target>
auto unrotated(Source const& source, Target const& target) {
  return operand<void, void, Source, Target>(source, target);
}

}  // namespace posenc
