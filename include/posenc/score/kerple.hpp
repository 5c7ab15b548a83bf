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
#include "posenc/score/add_bias.hpp"

namespace posenc::inline POSENC_TARGET {

/// What one head has learned; bias_p and bias_a in the authors' code. The kernels use them in different roles.
struct kerple_head {
  double p, a;
};

namespace detail {

/// The numbers as the authors' code clamps them each time before it uses them: learning may have left them outside.
inline std::vector<kerple_head> clamped(char const* encoding, std::vector<kerple_head> heads, double largest_p) {
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

/// The logarithmic kernel: score(t, s) -= p_h ln(1 + a_h |t - s|), on scores that are scaled already.
/// [Chi 2022, 3; ParallelKerpleLog, github.com/chijames/KERPLE, whose kernel this is: r_1 = p, r_2 = a]
/// p and a below 0.01 count as 0.01, as there. Throws std::invalid_argument unless there is a head and all are finite.
class kerple_log {
 public:
  static constexpr bool is_bias = true;         ///< gradients of scores pass as they are
  static constexpr bool is_by_distance = true;  ///< a bias_table may stand for it

  explicit kerple_log(std::vector<kerple_head> heads)
      : heads_(detail::clamped("kerple_log", std::move(heads), std::numeric_limits<double>::max())) {}

  /// One a head, clamped.
  std::span<kerple_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }

  /// Site 3. Throws std::invalid_argument unless the row's head has learned numbers and each key a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("kerple_log", row, heads_.size());
    auto const& head = heads_[row.head];
    detail::add_bias(row, [&](std::int64_t key_position) { return bias(head, detail::distance(row.query_position, key_position)); });
  }

 private:
  // A call, since a vector of them need not have the bits of a single one: a key must not depend on its place in the row.
  [[gnu::noinline]] static double bias(kerple_head const& head, std::uint64_t distance) noexcept {
    return -head.p * std::log1p(head.a * static_cast<double>(distance));
  }

  std::vector<kerple_head> heads_;
};

/// The power kernel: score(t, s) -= a_h |t - s|^p_h, 0 < p_h <= 2, on scores that are scaled already; p = 1 is ALiBi.
/// [Chi 2022, 3; ParallelKerplePower, as above: r_1 = a, r_2 = p]
/// p and a below 0.01 count as 0.01, and p above 2 as 2. Throws std::invalid_argument unless there is a head and all are finite.
class kerple_power {
 public:
  static constexpr bool is_bias = true;         ///< gradients of scores pass as they are
  static constexpr bool is_by_distance = true;  ///< a bias_table may stand for it

  explicit kerple_power(std::vector<kerple_head> heads) : heads_(detail::clamped("kerple_power", std::move(heads), 2)) {}

  /// One a head, clamped.
  std::span<kerple_head const> learned() const noexcept { return heads_; }
  std::size_t heads() const noexcept { return heads_.size(); }

  /// Site 3. Throws std::invalid_argument unless the row's head has learned numbers and each key a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("kerple_power", row, heads_.size());
    auto const& head = heads_[row.head];
    detail::add_bias(row, [&](std::int64_t key_position) { return bias(head, detail::distance(row.query_position, key_position)); });
  }

 private:
  // A call, since a vector of them need not have the bits of a single one: a key must not depend on its place in the row.
  [[gnu::noinline]] static double bias(kerple_head const& head, std::uint64_t distance) noexcept {
    return -head.a * std::pow(static_cast<double>(distance), head.p);
  }

  std::vector<kerple_head> heads_;
};

static_assert(acts_on_scores<kerple_log> && acts_on_scores<kerple_power> && adds_bias<kerple_log> && adds_bias<kerple_power>);

}  // namespace posenc
