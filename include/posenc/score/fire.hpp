// FIRE: a small network makes the bias of a distance that is measured against how far the query can
// look back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/sites.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// One hidden layer of ReLUs on one number, as torch stores Linear(1, hidden), ReLU, Linear(hidden,
/// heads). FIRE has 32 hidden.
struct fire_network {
  std::vector<float> hidden_weights;  ///< [hidden]
  std::vector<float> hidden_biases;   ///< [hidden]
  std::vector<float> output_weights;  ///< [heads][hidden]
  std::vector<float> output_biases;   ///< [heads]
};

/// What is learned of the interpolation; of both numbers the code takes the magnitude. Learning
/// starts at c = 0.1, threshold = 512.
struct fire_interpolation {
  double c;          ///< in ln(c x + 1)
  double threshold;  ///< L, in tokens: queries before it are all measured against it. |L_multiplier
                     ///< * init_L| in the code
  double epsilon = 1e-6;  ///< added to the denominator by the code, not by the formula
};

/// score(t, s) += network(psi(t - s) / (psi(max(L, t)) + epsilon))_head, psi(x) = ln(c x + 1), on
/// scores that are scaled already. [Li 2023, 3 and the code of its appendix] t counts from 0: it is
/// the query's position itself that enters, so that prepended padding must not count. Causal:
/// scores of keys after the query, which the mask takes, are left alone. max, not min, as some
/// ports have it. Throws std::invalid_argument unless the network's arrays fit together and are
/// finite, c is finite and positive, threshold and epsilon finite and not negative, and one of them
/// positive.
class fire {
 public:
  fire(fire_network network, fire_interpolation const& interpolation)
      : network_(std::move(network)), with_(interpolation) {
    auto const hidden = network_.hidden_weights.size(), heads = network_.output_biases.size();
    detail::require(
        hidden > 0 && network_.hidden_biases.size() == hidden,
        "fire: there must be as many hidden weights as hidden biases, and one or more, got ",
        hidden, " and ", network_.hidden_biases.size());
    detail::require(heads > 0 && network_.output_weights.size() % hidden == 0 &&
                        network_.output_weights.size() / hidden == heads,
                    "fire: there must be one output weight for each of ", heads, " heads and ",
                    hidden, " hidden, got ", network_.output_weights.size());
    require_finite("hidden weights", network_.hidden_weights);
    require_finite("hidden biases", network_.hidden_biases);
    require_finite("output weights", network_.output_weights);
    require_finite("output biases", network_.output_biases);
    detail::require(is_finite(with_.c) && with_.c > 0, "fire: c must be finite and positive, got ",
                    with_.c);
    detail::require(is_finite(with_.threshold) && with_.threshold >= 0,
                    "fire: threshold must be finite and not negative, got ", with_.threshold);
    detail::require(is_finite(with_.epsilon) && with_.epsilon >= 0,
                    "fire: epsilon must be finite and not negative, got ", with_.epsilon);
    detail::require(with_.threshold > 0 || with_.epsilon > 0,
                    "fire: threshold or epsilon must be positive, got 0 for both");
  }

  std::size_t heads() const noexcept { return network_.output_biases.size(); }

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t query_position,
              std::int64_t key_position) const noexcept {
    return bias(head, denominator(query_position), distance_between(query_position, key_position));
  }
  /// The same for a row, whose denominator is one.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("fire", row, heads());
    auto const of_query = denominator(row.query_position);
    detail::add_bias(row, [&](std::int64_t key) {
      return bias(row.head, of_query, distance_between(row.query_position, key));
    });
  }

 private:
  static void require_finite(char const* what, std::vector<float> const& numbers) {
    for (auto const x : numbers)
      detail::require(is_finite(static_cast<double>(x)), "fire: ", what, " must be finite, got ",
                      x);
  }

  double denominator(std::int64_t query_position) const noexcept {
    return std::log1p(with_.c * std::max(with_.threshold, static_cast<double>(query_position))) +
           with_.epsilon;
  }

  double bias(std::size_t head, double of_query, std::int64_t distance) const noexcept {
    return distance < 0
               ? 0
               : output(std::log1p(with_.c * static_cast<double>(distance)) / of_query, head);
  }

  double output(double x, std::size_t head) const noexcept {
    auto const hidden = network_.hidden_weights.size();
    auto const* weights = network_.output_weights.data() + head * hidden;
    auto sum = static_cast<double>(network_.output_biases[head]);
    for (std::size_t i = 0; i < hidden; ++i) {
      auto const before = static_cast<double>(network_.hidden_weights[i]) * x +
                          static_cast<double>(network_.hidden_biases[i]);
      sum += static_cast<double>(weights[i]) * std::max(before, 0.0);
    }
    return sum;
  }

  fire_network network_;
  fire_interpolation with_;
};

static_assert(acts_on_scores<fire> && adds_bias<fire>);

}  // namespace posenc
