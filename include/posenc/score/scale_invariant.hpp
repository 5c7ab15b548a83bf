// Scale-invariant attention: near, far and farther keys share a query's weight alike, and the
// farther they are, the fewer of them have it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/simd/doubles.hpp"
#include "posenc/simd/logarithm.hpp"

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET {

/// score(t, s) = a(r) score + m(r), r = |t - s|, on scores that are scaled already:
///
///     a(r) = sqrt(1 + 2 ln(1 + r / tau)),   m(r) = -2 ln(1 + r / tau)      [Anson 2025,
///     2505.17083]
///
/// For normal scores x of mean 0 and variance 1, w = e^(a x + m) has E[w] = E[w ln w] =
/// e^(1/2) / (1 + r / tau): keys from distance r to c r together have a weight that does not depend
/// on r, and so has their entropy's part. These two conditions, and a(0) = 1, m(0) = 0, are the
/// paper's derivation. Its models norm queries and keys, use p-RoPE, and have tau = 10; with whole
/// RoPE they were worse. It is causal there; here keys after the query count by their distance,
/// too.
class scale_invariant {
 public:
  /// tau: in tokens; within it scores hardly change. Throws std::invalid_argument unless it is in
  /// [1e-9, 1e18].
  explicit scale_invariant(double tau = 10) : tau_(tau) { check("scale_invariant", tau); }
  /// The same check, in the name of a function.
  static void check(char const* function, double tau) {
    detail::require_within(function, "tau", tau, 1e-9, 1e18);
  }

  double tau() const noexcept { return tau_; }  ///< in tokens
  static constexpr bool is_pointwise = true;    ///< see adjusts_each_score

  /// Site 3. Throws std::invalid_argument unless each key has a position.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_keys("scale_invariant", row);
    change(row.scores, row, [](number const& x, number const& log, number const& slope) {
      return registers::multiply_add(x, slope, log * -2.0);
    });
  }
  /// Gradients times a(r). Throws, before a change, unless there is a gradient and a position for
  /// each score.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T>) const {
    detail::require_keys("scale_invariant", before);
    detail::require(d_scores.size() == before.scores.size(),
                    "scale_invariant: there must be one gradient for each of ",
                    before.scores.size(), " scores, got ", d_scores.size());
    change(d_scores, before,
           [](number const& d, number const&, number const& slope) { return d * slope; });
  }

 private:
  using registers = detail::lanes<double>;
  using number = typename registers::number;

  // numbers[s] = what(numbers[s], ln(1 + r / tau), a(r)), a register of keys at a time.
  template <class T>
  void change(std::span<T> numbers, auto const& row, auto const& what) const noexcept {
    auto const& keys = row.key_positions;
    detail::change_doubles(numbers, [&](number const& x, std::size_t first) {
      auto const count = std::min(registers::size, keys.size() - first);
      number distances(0.0);
      if (count < registers::size ||
          !detail::differences(registers(), row.query_position, keys.data() + first, distances)) {
        std::array<double, registers::size> each{};
        for (std::size_t i = 0; i < count; ++i)
          each[i] =
              std::abs(static_cast<double>(distance_between(row.query_position, keys[first + i])));
        distances = registers::load(each.data());
      }
      number const log = detail::log_1_plus(registers(), distances / tau_);
      return number(what(x, log, number(registers::square_root(number(log * 2.0 + 1.0)))));
    });
  }

  double tau_;
};

static_assert(acts_on_scores<scale_invariant> && adjusts_each_score<scale_invariant> &&
              pulls_back_scores<scale_invariant>);

}}  // namespace posenc

POSENC_QUIET_END
