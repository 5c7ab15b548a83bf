// FIRE: a small network of the distance, which is measured against how far the query can look back.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/simd/doubles.hpp"
#include "posenc/simd/logarithm.hpp"
#include "posenc/simd/multiply_add.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One hidden layer of ReLUs on one number, as torch stores Linear(1, hidden), ReLU, Linear(hidden,
/// heads). FIRE has 32 hidden.
struct fire_network {
  std::vector<float> hidden_weights;  ///< [hidden]
  std::vector<float> hidden_biases;   ///< [hidden]
  std::vector<float> output_weights;  ///< [heads][hidden]
  std::vector<float> output_biases;   ///< [heads]
};

/// The learned numbers of the interpolation; the code takes the magnitude of both. Learning starts
/// at c = 0.1, threshold = 512.
struct fire_interpolation {
  double c;          ///< in ln(c x + 1)
  double threshold;  ///< L, in tokens: queries before it are all measured against it. |L_multiplier
                     ///< * init_L| in the code
  double epsilon = 1e-6;  ///< added to the denominator by the code, not by the formula
};

/// score(t, s) += network(psi(t - s) / (psi(max(L, t)) + epsilon))_head, psi(x) = ln(c x + 1), on
/// scores that are scaled already. [Li 2023, 3 and the code of its appendix] t counts from 0:
/// prepended padding must not count. Causal: scores of keys after the query are left alone. (Ports
/// with min in place of max differ.)
class fire {
 public:
  /// Throws std::invalid_argument unless the network's arrays fit together and are finite, c is
  /// finite and positive, threshold and epsilon finite and not negative, and one of them positive.
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
    detail::require_finite("fire: hidden weights", network_.hidden_weights);
    detail::require_finite("fire: hidden biases", network_.hidden_biases);
    detail::require_finite("fire: output weights", network_.output_weights);
    detail::require_finite("fire: output biases", network_.output_biases);
    detail::require_positive("fire", "c", with_.c);
    detail::require_not_negative("fire", "threshold", with_.threshold);
    detail::require_not_negative("fire", "epsilon", with_.epsilon);
    detail::require(with_.threshold > 0 || with_.epsilon > 0,
                    "fire: threshold or epsilon must be positive, got 0 for both");
    find_segments();
  }

  /// The number of query heads: as many as the network gives numbers.
  std::size_t heads() const noexcept { return network_.output_biases.size(); }

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t query_position,
              std::int64_t key_position) const noexcept {
    double sum = 0;
    add_biases(head, query_position, positions_view(&key_position, 1), std::span<double>(&sum, 1));
    return sum;
  }
  /// The same for a row, a register of keys at a time.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::require_row("fire", row, heads());
    add_biases(row.head, row.query_position, row.key_positions, row.scores);
  }

 private:
  /// The network of a head between two knots, where hidden units switch on or off.
  struct segment {
    double slope, intercept;
  };

  void find_segments() {
    struct unit {
      double weight, bias;
      bool is_on;
    };
    std::vector<unit> units;
    std::vector<std::pair<double, std::size_t>> knots;
    for (std::size_t i = 0; i < network_.hidden_weights.size(); ++i) {
      auto const weight = static_cast<double>(network_.hidden_weights[i]),
                 bias = static_cast<double>(network_.hidden_biases[i]);
      units.push_back({weight, bias, weight < 0 || (weight == 0 && bias > 0)});
      if (weight != 0) knots.push_back({-bias / weight, i});
    }
    std::ranges::sort(knots);
    segments_.resize(heads() * (knots.size() + 1));
    for (std::size_t piece = 0; piece <= knots.size(); ++piece) {
      if (piece > 0) {
        auto const [knot, i] = knots[piece - 1];
        knots_.push_back(knot);
        units[i].is_on = !units[i].is_on;
      }
      auto const* output = network_.output_weights.data();
      for (std::size_t head = 0; head < heads(); ++head) {
        segment sum{0, static_cast<double>(network_.output_biases[head])};
        for (auto const& u : units) {
          auto const weight = static_cast<double>(*output++);
          if (u.is_on) {
            sum.slope += weight * u.weight;
            sum.intercept += weight * u.bias;
          }
        }
        segments_[head * (knots.size() + 1) + piece] = sum;
      }
    }
  }

  template <class T>
  void add_biases(std::size_t head, std::int64_t query_position, positions_view keys,
                  std::span<T> scores) const noexcept {
    using registers = detail::lanes<double>;
    using number = typename registers::number;
    constexpr auto size = registers::size;
    auto const from_here = std::max(with_.threshold, static_cast<double>(query_position));
    auto const factor = 1 / (std::log1p(with_.c * from_here) + with_.epsilon);
    auto const* const segments = segments_.data() + head * (knots_.size() + 1);
    constexpr auto most = std::numeric_limits<double>::max();
    std::size_t piece = 0;
    std::array<double, size> x{}, biases{};
    detail::change_doubles(scores, [&](number const& score, std::size_t first) {
      auto const count = std::min(size, keys.size() - first);
      number distances(0.0);
      bool const simple =  // all keys are there, and none is after the query
          count == size &&
          detail::differences(registers(), query_position, keys.data() + first, distances);
      if (!simple) {
        for (std::size_t i = 0; i < count; ++i) {
          auto const distance = distance_between(query_position, keys[first + i]);
          x[i] = static_cast<double>(std::max<std::int64_t>(distance, 0));
        }
        distances = registers::load(x.data());
      }
      auto const psi =
          detail::log_1_plus(registers(), number(with_.c) * distances) * number(factor);
      auto const from = piece == 0 ? -most : knots_[piece - 1],
                 to = piece == knots_.size() ? most : knots_[piece];
      if (simple && detail::all_within(registers(), psi, from, to)) {
        return number(score + registers::multiply_add(psi, number(segments[piece].slope),
                                                      number(segments[piece].intercept)));
      }
      registers::store(x.data(), psi);
      for (std::size_t i = 0; i < count; ++i) {
        while (piece > 0 && x[i] < knots_[piece - 1]) --piece;  // a neighbour is rarely far
        while (piece < knots_.size() && !(x[i] < knots_[piece])) ++piece;
        auto const& at = segments[piece];
        biases[i] = keys[first + i] > query_position
                        ? 0
                        : detail::multiply_add(x[i], at.slope, at.intercept);
      }
      return number(score + registers::load(biases.data()));
    });
  }

  fire_network network_;
  fire_interpolation with_;
  std::vector<double> knots_;      // ascending
  std::vector<segment> segments_;  // [heads][knots + 1]
};

static_assert(acts_on_scores<fire> && adds_bias<fire>);

}}  // namespace posenc
