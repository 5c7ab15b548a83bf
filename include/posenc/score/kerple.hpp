// KERPLE: distances are penalised through a kernel, which each head has learned the shape of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

namespace detail {

/// As the authors' code clamps a learned number each time before it uses it: learning may have left
/// it outside.
inline double clamped(char const* name, double x, std::size_t head,
                      double largest = std::numeric_limits<double>::max()) {
  require(is_finite(x), name, " must be finite, got ", x, " for head ", head);
  return std::min(std::max(x, 0.01), largest);
}

}  // namespace detail

/// What a head of kerple_log has learned: r_1 and r_2 in the paper, bias_p and bias_a in the
/// authors' code.
struct kerple_log_head {
  double coefficient,  ///< r_1
      rate;            ///< r_2
};

/// The logarithmic kernel: score(t, s) -= coefficient_h ln(1 + rate_h |t - s|), on scores that are
/// scaled already. [Chi 2022, 3; ParallelKerpleLog, github.com/chijames/KERPLE, whose kernel this
/// is] Numbers below 0.01 count as 0.01, as there.
class kerple_log {
 public:
  /// One a head. Throws std::invalid_argument unless there is a head and all are finite.
  explicit kerple_log(std::vector<kerple_log_head> heads) : heads_(std::move(heads)) {
    detail::require(!heads_.empty(), "kerple_log: there must be at least one head, got none");
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      auto& [coefficient, rate] = heads_[h];
      coefficient = detail::clamped("kerple_log: coefficient", coefficient, h);
      rate = detail::clamped("kerple_log: rate", rate, h);
    }
  }

  /// One a head, clamped.
  std::span<kerple_log_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }  ///< of queries

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    auto const& [coefficient, rate] = heads_[head];
    return -coefficient * std::log1p(rate * std::abs(static_cast<double>(distance)));
  }

 private:
  std::vector<kerple_log_head> heads_;
};

/// What a head of kerple_power has learned: r_2 and r_1 in the paper, bias_p and bias_a in the
/// authors' code.
struct kerple_power_head {
  double exponent,  ///< r_2
      coefficient;  ///< r_1
};

/// The power kernel: score(t, s) -= coefficient_h |t - s|^exponent_h, on scores that are scaled
/// already; an exponent of 1 is ALiBi. [Chi 2022, 3; ParallelKerplePower, as above] Numbers below
/// 0.01 count as 0.01, exponents above 2 as 2.
class kerple_power {
 public:
  /// One a head. Throws std::invalid_argument unless there is a head and all are finite.
  explicit kerple_power(std::vector<kerple_power_head> heads) : heads_(std::move(heads)) {
    detail::require(!heads_.empty(), "kerple_power: there must be at least one head, got none");
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      auto& [exponent, coefficient] = heads_[h];
      exponent = detail::clamped("kerple_power: exponent", exponent, h, 2);
      coefficient = detail::clamped("kerple_power: coefficient", coefficient, h);
    }
  }

  /// One a head, clamped.
  std::span<kerple_power_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }  ///< of queries

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    auto const& [exponent, coefficient] = heads_[head];
    return -coefficient * std::pow(std::abs(static_cast<double>(distance)), exponent);
  }

 private:
  std::vector<kerple_power_head> heads_;
};

static_assert(acts_on_scores<kerple_log> && acts_on_scores<kerple_power> && adds_bias<kerple_log> &&
              adds_bias<kerple_power>);

}  // namespace posenc
