// Attention with linear biases: every key is penalised in proportion to its distance.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// 2^(-x share) within 1 ULP, for x >= 0 and a share in [0, 1] of at most 26 binary places. The
/// error of x share as one double would grow with x. So x is split in two; each part times the
/// share is exact, and only the fraction of their sum is rounded.
inline double power_of_half(double x, double share) noexcept {
  constexpr auto lower_half = (std::uint64_t{1} << 27) - 1;
  auto const upper = detail::bit_cast<double>(detail::bit_cast<std::uint64_t>(x) & ~lower_half);
  auto const most = upper * share, rest = (x - upper) * share, whole = std::round(most);
  if (whole > 1100) return 0;
  auto const fraction = stored(most - whole);  // exact
  return std::ldexp(std::exp2(-(fraction + rest)), -static_cast<int>(whole));
}

}  // namespace detail

/// score(t, s) -= slope_h * |t - s|, on scores that are scaled already. [Press 2021, 3]
///
///     heads a power of two    slope_h = 2^(-max_bias (h + 1) / heads), h = 0 .. heads - 1
///     otherwise               slopes of the next lower power of two c, then every other of 2c's
///
/// Right under any mask and with gaps between positions. (BLOOM adds slope * s, which only a causal
/// softmax over gapless positions cannot tell apart.) max_bias: the exponent of the flattest head,
/// MPT's alibi_bias_max. Slopes are within 1 ULP whatever max_bias is; one below 2^-1022 is off by
/// half of 2^-1074 more.
class alibi {
 public:
  /// Throws std::invalid_argument unless heads is positive and max_bias finite and positive.
  explicit alibi(std::size_t heads, double max_bias = 8) {
    detail::require(heads > 0, "alibi: heads must be positive, got 0");
    detail::require_positive("alibi", "max_bias", max_bias);
    detail::require(heads <= 65'536, "alibi: heads must be at most 65536, got ", heads);
    slopes_ = std::vector<double>(heads);
    auto const powers = std::bit_floor(heads);
    for (std::size_t h = 0; h < heads; ++h) {
      auto const half_steps = static_cast<double>(h < powers ? 2 * h + 2 : 2 * (h - powers) + 1);
      slopes_[h] = detail::power_of_half(max_bias, half_steps / static_cast<double>(2 * powers));
    }
  }

  /// The given slopes, one per head. A head of slope 0 has no bias, as x-transformers' heads beyond
  /// alibi_num_heads. Throws unless there is a slope, and all are finite.
  static alibi with_slopes(list_view<double> slopes) {
    detail::require(!slopes.empty() && slopes.size() <= 65'536,
                    "alibi: there must be 1 to 65536 slopes, got ", slopes.size());
    detail::require_finite("alibi: slopes", slopes, " for head ");
    alibi result(1);
    result.slopes_.assign(slopes.begin(), slopes.end());
    return result;
  }

  /// [heads]. A vector if this is a temporary.
  std::span<double const> slopes() const& noexcept { return slopes_; }
  std::vector<double> slopes() && noexcept { return std::move(slopes_); }  ///< of a temporary
  std::size_t heads() const noexcept { return slopes_.size(); }            ///< of queries

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    return -slopes_[head] * std::abs(static_cast<double>(distance));
  }

 private:
  std::vector<double> slopes_;
};

static_assert(acts_on_scores<alibi> && adds_bias<alibi>);

}}  // namespace posenc
