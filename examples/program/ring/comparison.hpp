// Whether the ring's attention is that of one process, as far as rounding lets them be the same.
#pragma once

#include <span>

#include "encodings.hpp"
#include "shard.hpp"

namespace ring {

/// How far the numbers are apart at most, and how much of what rounding may cost that is: above 1
/// they are not the same.
struct difference {
  double outputs = 0, log_sum_exp = 0;
  double part_of_outputs = 0, part_of_log_sum_exp = 0;
  bool is_rounding() const { return part_of_outputs <= 1 && part_of_log_sum_exp <= 1; }
};

/// What rounding may cost, for a query that sees n keys: d = head_dim, u = 2^-24, beta the query's
/// inverse temperature, V the largest value, and S = |q| |k| / sqrt(d) no smaller than any product
/// of a query and a key.
///
///     A = u (beta (d + 3) S + 5 ln n + 20) + n 2^-53    a weight, on average under the weights
///         A score is off by d + 2 roundings of S and one of itself, which averages beta S + ln n;
///         an exponential by 20 + 4 |exponent|, which averages ln n at most; sums are in double.
///     log_sum_exp    2 A                                of both, the ring and the one process
///     outputs        2 V (2 A + (n + 4) u) + m V u
///         Numerator and denominator, the sum of n products; m merged parts, rounded once each.
///
/// Rotated queries and keys are the same bits on both sides, for rotating one token does not depend
/// on others.
class rounding {
 public:
  rounding(sequence const& s, shard const& whole, temperature const& t, std::size_t parts);
  double of_log_sum_exp(std::int64_t query_position) const;
  double of_outputs(std::int64_t query_position) const;

 private:
  temperature temperature_;
  double dims_, largest_score_ = 0, largest_value_ = 0, parts_;
};

/// Of what was gathered from ranks, whose tokens stand at `positions`, and of the whole, whose
/// tokens stand in order.
difference compare(posenc::attention_result<float> const& gathered,
                   std::span<std::int64_t const> positions,
                   posenc::attention_result<float> const& whole, rounding const& allowed);

}  // namespace ring
