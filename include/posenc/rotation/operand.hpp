// One set of heads of a rotation: from where, what is done to them, and who takes them.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// No norm, no rounding.
struct nothing {};

}  // namespace detail

/// One set of heads of a rotation, made by rotated or unrotated. From, To: pair layouts, or void.
/// Norm: a head_norm. Round: a type. Scaled: there is a factor. Transformed: by hadamard.
template <class From, class To, any_heads Source, head_sink Target, class Norm = detail::nothing,
          class Round = detail::nothing, bool Scaled = false, bool Transformed = false>
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
  static constexpr bool is_transformed = Transformed;                    ///< by hadamard
  /// Numbers are rotated to numbers, and nothing else.
  static constexpr bool is_plain = rotates && !normalises && !rounds && !Transformed &&
                                   heads_of_numbers<Source> && writable_heads<Target>;

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
    return with<head_norm<W>, Round, Scaled, Transformed>(norm);
  }
  /// The same, with weights of the type of arithmetic.
  auto norm(head_norm<real> const& norm) const { return this->template norm<real>(norm); }
  /// Rounds to T at these points.
  template <storable T>
  auto round(rounding_points points) const {
    auto result = with<Norm, T, Scaled, Transformed>(norm_);
    result.points_ = points;
    return result;
  }
  /// A factor on each head, after the rotation and the norm: 1 / sqrt(head_dim) on queries, which
  /// attention() then takes as encoded(operand), or it would scale scores once more. Throws unless
  /// it is finite.
  auto scale(real factor) const {
    detail::require(is_finite(factor), "rotate: the scale must be finite, got ", factor);
    auto result = with<Norm, Round, true, Transformed>(norm_);
    result.scale_ = factor;
    return result;
  }

  /// Transforms each head at last, after rotation, norm, scale and rounding points, before the
  /// target encodes it. `block` and errors: see posenc::hadamard.
  auto hadamard(std::size_t block = 0) const {
    auto result = with<Norm, Round, Scaled, true>(norm_);
    result.target_block_ = detail::hadamard_block(source_.head_dim(), block, "rotate");
    return result;
  }
  /// Transforms each head of the source first, before norm and rotation: heads that were stored
  /// transformed. Cached keys move so:
  ///
  ///     rotate(shift_rows(...), rotated<halves>(k_cache).from_hadamard().hadamard());
  auto from_hadamard(std::size_t block = 0) const {
    auto result = with<Norm, Round, Scaled, true>(norm_);
    result.source_block_ = detail::hadamard_block(source_.head_dim(), block, "rotate");
    return result;
  }

  Source const& source() const noexcept { return source_; }           ///< may be the target
  Target const& target() const noexcept { return target_; }           ///< is written
  Norm const& norm() const noexcept { return norm_; }                 ///< nothing if none was given
  rounding_points const& points() const noexcept { return points_; }  ///< none unless given
  real const& scale() const noexcept { return scale_; }               ///< 1 if none was given
  std::size_t target_block() const noexcept { return target_block_; }  ///< of hadamard; 1: none
  std::size_t source_block() const noexcept {
    return source_block_;
  }  ///< of from_hadamard; 1: none

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
    if constexpr (rotates) detail::check_heads_of_rows(rows, source_.heads());
    bool const by_kernel =
        heads_of_numbers<Source> && writable_heads<Target> && is_usual() && !Transformed;
    return detail::check_heads<std::same_as<From, To>>(source_, target_, rows.tokens(), by_kernel);
  }
  /// The first dim that rotates. Throws std::invalid_argument if the head is too short.
  std::size_t first_dim(cos_sin_view<real> const& rows) const {
    if constexpr (rotates) return block_.first_dim(source_.head_dim(), rows.rotary_dim());
    return 0;
  }

 private:
  template <class F, class T, any_heads S, head_sink K, class N, class R, bool D, bool H>
  friend class operand;
  template <class OtherNorm, class OtherRound, bool OtherScaled, bool OtherTransformed>
  auto with(OtherNorm const& norm) const {
    operand<From, To, Source, Target, OtherNorm, OtherRound, OtherScaled, OtherTransformed> result(
        source_, target_, norm);
    result.block_ = block_;
    result.points_ = points_;
    result.scale_ = scale_;
    result.target_block_ = target_block_;
    result.source_block_ = source_block_;
    return result;
  }

  Source source_;
  Target target_;
  Norm norm_;
  rotary_block block_ = rotary_block::first();
  rounding_points points_;
  real scale_ = 1;
  std::size_t target_block_ = 1, source_block_ = 1;
};

/// An operand: the result of rotated or unrotated.
template <class H>
concept rotary_operand = requires {
  requires H::is_operand;
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

}}  // namespace posenc
