// How sharp a row must be, from its own scores: critical temperature, half weight.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// max over gaps g > 0 of ln(N(g) / N(0)) / g; 0 without a gap.
template <std::floating_point T>
double critical_beta(std::span<T const> row, T max) {
  std::vector<double> gaps;
  std::size_t ties = 0;
  for (auto const x : row) {
    if (x == max) ++ties;
    if (x < max && !is_masked(x)) gaps.push_back(static_cast<double>(max) - static_cast<double>(x));
  }
  auto const ratio = [&](std::size_t keys) {
    return std::log(static_cast<double>(keys) / static_cast<double>(ties));
  };
  auto const most = ratio(ties + gaps.size());
  std::ranges::make_heap(gaps, std::greater());  // gaps as they grow, while one may still be above
  double beta = 0;
  for (auto keys = ties + 1; !gaps.empty() && beta * gaps.front() < most; ++keys) {
    std::ranges::pop_heap(gaps, std::greater());
    beta = std::max(beta, std::min(ratio(keys) / gaps.back(), std::numeric_limits<double>::max()));
    gaps.pop_back();
  }
  return beta;
}

/// The smallest beta >= 1 at which the keys below the top weigh `odds` times those at the top, by
/// Newton's method on the logarithm of their sum, which is convex and falls: it never goes beyond.
template <std::floating_point T>
double beta_for_odds(std::span<T const> row, T max, double odds) {
  auto const ties = static_cast<double>(std::ranges::count(row, max));
  double beta = 1;
  for (int i = 0; i < 200; ++i) {
    auto const sums = exponentials<true>(row.data(), static_cast<T*>(nullptr), row.size(), max,
                                         static_cast<T>(beta));
    auto const below = sums.exponentials - ties;
    if (!(below > odds * ties)) break;
    auto const next = beta * (1 + std::log(below / (odds * ties)) * (below / -sums.exponents));
    if (!is_finite(next) || !(next > beta * (1 + 4 * std::numeric_limits<T>::epsilon())) ||
        !(next < static_cast<double>(std::numeric_limits<T>::max())))
      break;
    beta = next;
  }
  return beta;
}

/// of_row(scores, largest), by the type of the scores; 1 for a row without keys.
inline double from_scores(char const* rule, row_statistics const& row, auto const& of_row) {
  if (row.keys == 0) return 1;
  auto const [floats, doubles] = row.scores;
  require(!floats.empty() || !doubles.empty(), rule,
          ": the statistics must have the scores of their row, got none");
  auto const beta =
      floats.empty() ? of_row(doubles, row.max) : of_row(floats, static_cast<float>(row.max));
  return is_finite(beta) && beta > 1 ? beta : 1;
}

}  // namespace detail

/// beta = max(1, times * critical), the critical inverse temperature of a row of scores being
///
///     max over gaps g > 0 of ln(N(g) / N(0)) / g,   N(g): keys whose score is within g of the top
///
/// [Karakida and Hayase 2026, 2605.12697: N(g) sets the scale; this formula of it is posenc's.] The
/// keys of the largest score together weigh, with c = beta / critical,
///
///     c > 1    at least 1 - 1 / c: the sum of the others is at most N(0) / (c - 1)
///     c < 1    at most 1 / (1 + (m - 1) m^-c), m = N(g) / N(0) at the maximum: about 1 / m^(1 - c)
///
/// so that the default gives them half the weight at least, where gaps are above 1e-36 (of doubles
/// 1e-306). Rows of equal scores are left alone. beta jumps where the largest scores become equal:
/// behind a soft cap that is reached, floats are equal where doubles are not, and then outputs may
/// differ from the definition's as much as values do.
/// Sorts a copy of the row as far as it must: attention computes whole rows. Exact.
class critical_temperature {
 public:
  /// times: c. Throws std::invalid_argument unless it is finite and positive.
  explicit critical_temperature(double times = 2) : times_(times) {
    detail::require_positive("critical_temperature", "times", times);
  }

  /// Site 4. Throws std::invalid_argument for statistics without scores.
  double inverse_temperature(row_statistics const& row) const {
    return detail::from_scores("critical_temperature", row, [this](auto scores, auto max) {
      auto const most = std::numeric_limits<decltype(max)>::max();
      return std::min(times_ * detail::critical_beta(scores, max), static_cast<double>(most));
    });
  }

 private:
  double times_;
};

/// The smallest beta >= 1 at which the largest weight reaches 1/2, or another weight: the keys of
/// the largest score together, if several have it, so that rows of equal scores are left alone. At
/// most 2 critical (see critical_temperature). No number in it is fitted; the rule is posenc's. It
/// takes about eight passes over the row. The weight is within 2e-6 of the one asked for with
/// scores in float, within 1e-14 in double. beta jumps where the largest scores become equal, as
/// that of critical_temperature does. Attention computes whole rows.
class half_weight_temperature {
 public:
  /// Throws std::invalid_argument unless weight is in (0, 1).
  explicit half_weight_temperature(double weight = 0.5) : odds_((1 - weight) / weight) {
    check("half_weight_temperature", weight);
  }
  /// The same check, in the name of a function.
  static void check(char const* function, double weight) {
    detail::require(is_finite(weight) && weight > 0 && weight < 1, function,
                    ": weight must be in (0, 1), got ", weight);
  }

  /// Site 4. Throws std::invalid_argument for statistics without scores.
  double inverse_temperature(row_statistics const& row) const {
    return detail::from_scores("half_weight_temperature", row, [this](auto scores, auto max) {
      return detail::beta_for_odds(scores, max, odds_);
    });
  }

 private:
  double odds_;
};

static_assert(acts_on_softmax<critical_temperature> && acts_on_softmax<half_weight_temperature>);

}}  // namespace posenc
