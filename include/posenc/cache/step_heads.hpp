// One set of heads of a step: from where, what is done to them, and who takes them.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/cache/head_norm.hpp"
#include "posenc/cache/head_sink.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotation.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {
/// The numbers of L1 that a step has for some heads of a token.
inline constexpr std::size_t most_head_dim = 4096;
}  // namespace detail

/// One set of heads of a step, made by rotated or unrotated. From, To: pair layouts, or void.
template <class From, class To, detail::step_source Source, head_sink Sink,
          class Norm = detail::nothing, class Round = detail::nothing>
class step_heads {
 public:
  using from_type = std::remove_const_t<typename Source::element_type>;  ///< what is read
  using norm_type = Norm;                                                ///< head_norm, or nothing
  using round_type = Round;                                              ///< rounded to, or nothing
  using from_layout = From;                                              ///< of pairs, or void
  using to_layout = To;                                                  ///< of pairs, or void
  static constexpr bool rotates = pair_layout<From>;                     ///< not so values
  static constexpr bool is_step_heads = true;  ///< how write_step knows it
  static_assert(std::same_as<arithmetic_t<from_type>, float>,
                "posenc: a step computes in float; heads of double are rotated by rotate");

  /// Views both; checks nothing until write_step does.
  step_heads(Source const& source, Sink const& sink, Norm const& norm = {})
      : source_(source), sink_(sink), norm_(norm) {}

  /// Which dims are rotary; by default the first ones.
  step_heads block(rotary_block block) const requires rotates {
    auto result = *this;
    result.block_ = block;
    return result;
  }
  /// A norm of each head. Throws unless eps is finite and positive, with one weight per dim or
  /// none.
  template <storable W>
  auto norm(head_norm<W> const& norm) const {
    detail::require(is_finite(norm.eps) && norm.eps > 0,
                    "write_step: eps of the norm must be finite and positive, got ", norm.eps);
    detail::require(norm.weight.empty() || norm.weight.size() == source_.head_dim(),
                    "write_step: the norm must have one weight per dim, got ", norm.weight.size(),
                    " weights for head_dim ", source_.head_dim());
    return with<head_norm<W>, Round>(norm);
  }
  /// The same, with weights of float.
  auto norm(head_norm<float> const& norm) const { return this->template norm<float>(norm); }
  /// Rounds to T at these points.
  template <storable T>
  auto round(rounding_points points) const {
    auto result = with<Norm, T>(norm_);
    result.points_ = points;
    return result;
  }
  /// A factor on each head, after the rotation and the norm. Throws unless it is finite.
  step_heads scale(float factor) const {
    detail::require(is_finite(factor), "write_step: the scale must be finite, got ", factor);
    auto result = *this;
    result.scale_ = factor;
    return result;
  }

  Source const& source() const noexcept { return source_; }           ///< is read
  Sink const& sink() const noexcept { return sink_; }                 ///< takes the heads
  Norm const& norm() const noexcept { return norm_; }                 ///< nothing if none was given
  rounding_points const& points() const noexcept { return points_; }  ///< none unless given
  float scale() const noexcept { return scale_; }                     ///< 1 if none was given

  /// The first dim that rotates. Throws std::invalid_argument as write_step does, of these alone.
  std::size_t check(cos_sin_view<float> const& rows) const {
    auto const tokens = source_.tokens(), heads = source_.heads(), dim = source_.head_dim();
    detail::require(rows.tokens() == tokens, "write_step: there must be one row per token, got ",
                    rows.tokens(), " rows for ", tokens, " tokens");
    detail::require(dim <= detail::most_head_dim, "write_step: head_dim must be at most ",
                    detail::most_head_dim, ", got ", dim);
    detail::for_each_sink(sink_, [&](auto const& sink) {
      if constexpr (requires { sink.tokens(), sink.heads(), sink.head_dim(); })
        detail::require(sink.tokens() == tokens && sink.heads() == heads && sink.head_dim() == dim,
                        "write_step: source and target must have the same shape, got ", tokens,
                        " tokens x ", heads, " heads of ", dim, " and ", sink.tokens(), " x ",
                        sink.heads(), " of ", sink.head_dim());
      if constexpr (requires { sink.require_each_slot_once(); }) sink.require_each_slot_once();
      auto const& place = detail::place_of(sink);
      detail::require(detail::are_same(source_, place) || !detail::may_share(source_, place),
                      "write_step: source and target must not overlap, unless they are the same "
                      "heads");
      detail::for_each_sink(sink_, [&](auto const& other) {
        bool const is_it = static_cast<void const*>(&other) == &sink;
        detail::require(is_it || !detail::may_share(place, detail::place_of(other)),
                        "write_step: targets of one set must not overlap each other");
      });
    });
    if constexpr (rotates) return block_.first_dim(dim, rows.rotary_dim());
    return 0;
  }

 private:
  template <class F, class T, detail::step_source S, head_sink K, class N, class R>
  friend class step_heads;
  template <class OtherNorm, class OtherRound>
  auto with(OtherNorm const& norm) const {
    step_heads<From, To, Source, Sink, OtherNorm, OtherRound> result(source_, sink_, norm);
    result.block_ = block_, result.points_ = points_, result.scale_ = scale_;
    return result;
  }

  Source source_;
  Sink sink_;
  Norm norm_;
  rotary_block block_ = rotary_block::first();
  rounding_points points_;
  float scale_ = 1;
};

/// Heads that a step rotates and gives to a target. Both: heads_view, paged_heads, or the
/// encoded_heads of a cache; tokens without a slot in either are skipped. The target may be any
/// head_sink. From and To: halves or interleaved.
template <pair_layout From, pair_layout To = From, detail::step_source Source,
          detail::step_target Target>
auto rotated(Source const& source, Target const& target) {
  return step_heads<From, To, Source, decltype(detail::sink_of(target))>(source,
                                                                         detail::sink_of(target));
}
/// In place. Cached keys move so, in any format: they are decoded, rotated by shift_rows or
/// rerotation_rows, and encoded.
template <pair_layout Layout, detail::step_target Heads>
auto rotated(Heads const& heads) {
  return rotated<Layout>(heads, heads);
}
/// Heads that a step gives to a target as they are, or with a norm or scale: values.
template <detail::step_source Source, detail::step_target Target>
auto unrotated(Source const& source, Target const& target) {
  return step_heads<void, void, Source, decltype(detail::sink_of(target))>(source,
                                                                           detail::sink_of(target));
}

}  // namespace posenc
