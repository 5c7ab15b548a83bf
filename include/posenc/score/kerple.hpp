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

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// As the authors' code clamps a learned number before each use: learning may have left it outside.
inline void clamp_learned(char const* name, double& x, std::size_t head,
                          double largest = std::numeric_limits<double>::max()) {
  require(is_finite(x), name, " must be finite, got ", x, " for head ", head);
  x = std::min(std::max(x, 0.01), largest);
}

/// The kernel of each head.
template <class Head>
class kerple {
 public:
  /// One a head. Throws std::invalid_argument unless there is a head and all are finite.
  explicit kerple(std::vector<Head> heads) : heads_(std::move(heads)) {
    require(!heads_.empty(), Head::kernel, ": there must be at least one head, got none");
    for (std::size_t h = 0; h < heads_.size(); ++h) heads_[h].clamp(h);
  }

  /// One per head, clamped. A vector if this is a temporary.
  std::span<Head const> learned() const& noexcept { return heads_; }
  std::vector<Head> learned() && noexcept { return std::move(heads_); }  ///< of a temporary
  std::size_t heads() const noexcept { return heads_.size(); }           ///< of queries

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    return heads_[head].bias(std::abs(static_cast<double>(distance)));
  }

 private:
  std::vector<Head> heads_;
};

}  // namespace detail

/// The learned numbers of a head of kerple_log; bias_p and bias_a in the authors' code.
struct kerple_log_head {
  double coefficient,  ///< r_1 in the paper
      rate;            ///< r_2

  static constexpr char const* kernel = "kerple_log";  ///< its name
  /// The score at a distance.
  double bias(double distance) const noexcept { return -coefficient * std::log1p(rate * distance); }
  /// Throws unless the numbers are right; below 0.01 they become 0.01.
  void clamp(std::size_t head) {
    detail::clamp_learned("kerple_log: coefficient", coefficient, head);
    detail::clamp_learned("kerple_log: rate", rate, head);
  }
};

/// The logarithmic kernel: score(t, s) -= coefficient_h ln(1 + rate_h |t - s|), on scores that are
/// scaled already. [Chi 2022, 3; ParallelKerpleLog, github.com/chijames/KERPLE, whose kernel this
/// is] Numbers below 0.01 count as 0.01, as there.
using kerple_log = detail::kerple<kerple_log_head>;

/// The learned numbers of a head of kerple_power; bias_a and bias_p in the authors' code.
struct kerple_power_head {
  double exponent,  ///< r_2 in the paper
      coefficient;  ///< r_1

  static constexpr char const* kernel = "kerple_power";  ///< its name
  /// The score at a distance.
  double bias(double distance) const noexcept {
    return -coefficient * std::pow(distance, exponent);
  }
  /// Throws unless the numbers are right; below 0.01 they become 0.01.
  void clamp(std::size_t head) {
    detail::clamp_learned("kerple_power: exponent", exponent, head, 2);
    detail::clamp_learned("kerple_power: coefficient", coefficient, head);
  }
};

/// The power kernel: score(t, s) -= coefficient_h |t - s|^exponent_h, on scores that are scaled
/// already; an exponent of 1 is ALiBi. [Chi 2022, 3; ParallelKerplePower, as above] Numbers below
/// 0.01 count as 0.01, exponents above 2 as 2.
using kerple_power = detail::kerple<kerple_power_head>;

static_assert(acts_on_scores<kerple_log> && acts_on_scores<kerple_power> && adds_bias<kerple_log> &&
              adds_bias<kerple_power>);

}}  // namespace posenc
