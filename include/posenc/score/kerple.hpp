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

/// What one head has learned; bias_p and bias_a in the authors' code. The kernels use them in
/// different roles.
struct kerple_head {
  double p, a;
};

namespace detail {

/// The numbers as the authors' code clamps them each time before it uses them: learning may have
/// left them outside.
inline std::vector<kerple_head> clamped(char const* encoding, std::vector<kerple_head> heads,
                                        double largest_p) {
  require(!heads.empty(), encoding, ": there must be at least one head, got none");
  for (std::size_t h = 0; h < heads.size(); ++h) {
    auto& [p, a] = heads[h];
    require(is_finite(p), encoding, ": p must be finite, got ", p, " for head ", h);
    require(is_finite(a), encoding, ": a must be finite, got ", a, " for head ", h);
    p = std::min(std::max(p, 0.01), largest_p);
    a = std::max(a, 0.01);
  }
  return heads;
}

}  // namespace detail

/// The logarithmic kernel: score(t, s) -= p_h ln(1 + a_h |t - s|), on scores that are scaled
/// already. [Chi 2022, 3; ParallelKerpleLog, github.com/chijames/KERPLE, whose kernel this is: r_1
/// = p, r_2 = a] p and a below 0.01 count as 0.01, as there. Throws std::invalid_argument unless
/// there is a head and all are finite.
class kerple_log {
 public:
  explicit kerple_log(std::vector<kerple_head> heads)
      : heads_(
            detail::clamped("kerple_log", std::move(heads), std::numeric_limits<double>::max())) {}

  /// One a head, clamped.
  std::span<kerple_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    auto const& [p, a] = heads_[head];
    return -p * std::log1p(a * std::abs(static_cast<double>(distance)));
  }

 private:
  std::vector<kerple_head> heads_;
};

/// The power kernel: score(t, s) -= a_h |t - s|^p_h, 0 < p_h <= 2, on scores that are scaled
/// already; p = 1 is ALiBi. [Chi 2022, 3; ParallelKerplePower, as above: r_1 = a, r_2 = p] p and a
/// below 0.01 count as 0.01, and p above 2 as 2. Throws std::invalid_argument unless there is a
/// head and all are finite.
class kerple_power {
 public:
  explicit kerple_power(std::vector<kerple_head> heads)
      : heads_(detail::clamped("kerple_power", std::move(heads), 2)) {}

  /// One a head, clamped.
  std::span<kerple_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    auto const& [p, a] = heads_[head];
    return -a * std::pow(std::abs(static_cast<double>(distance)), p);
  }

 private:
  std::vector<kerple_head> heads_;
};

static_assert(acts_on_scores<kerple_log> && acts_on_scores<kerple_power> && adds_bias<kerple_log> &&
              adds_bias<kerple_power>);

}  // namespace posenc
