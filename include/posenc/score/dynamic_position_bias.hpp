// Dynamic position bias: a small network of the distance, or of its logarithm, gives heads biases.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// One layer, as torch stores Linear(in, out) and LayerNorm(out).
struct position_layer {
  std::vector<float> weights;            ///< [out][in]
  std::vector<float> biases;             ///< [out]
  std::vector<float> norm_weights = {};  ///< [out]; empty: no norm
  std::vector<float> norm_biases = {};   ///< [out]; empty: 0, as in the code's first layer
};

/// The layers of DynamicPositionBias. The first takes 1 number and gives `dim`; `depth` - 1 more
/// take `dim` and give `dim`. After each of these come its norm, if it has one, and SiLU. The last
/// layer takes `dim` numbers and gives one for each head, without norm and SiLU.
struct position_network {
  std::vector<position_layer> layers = {};  ///< from input to output
  bool log_distance = false;  ///< its input is sign(d) ln(|d| + 1), not the distance d
};

/// score(t, s) += network(t - s)_head, on scores that are scaled already. [x-transformers,
/// DynamicPositionBias; CrossFormer, Wang 2021, 3.2] LayerNorm's epsilon is 1e-5. A table holds the
/// biases from -longest to longest, 8 bytes per head and distance; beyond, each call runs the
/// network.
class dynamic_position_bias {
 public:
  /// Throws std::invalid_argument unless there are two layers or more, each takes as many numbers
  /// as the one before it gives, weights and tabulated biases are finite, longest is in [0, 2^31].
  dynamic_position_bias(position_network network, std::int64_t longest)
      : network_(std::move(network)), longest_(longest) {
    detail::require(network_.layers.size() >= 2,
                    "dynamic_position_bias: there must be two layers or more, got ",
                    network_.layers.size());
    detail::require(longest >= 0 && longest <= std::int64_t{1} << 31,
                    "dynamic_position_bias: longest must be in [0, 2^31], got ", longest);
    std::size_t in = 1;
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      require_layer(i, in);
      in = network_.layers[i].biases.size();
    }
    table_.reserve(heads() * static_cast<std::size_t>(2 * longest + 1));
    for (auto distance = -longest; distance <= longest; ++distance) {
      auto const answers = answers_to(distance);
      table_.insert(table_.end(), answers.begin(), answers.end());
    }
    detail::require_finite("dynamic_position_bias: answers", table_);
  }

  /// The number of query heads: as many as the last layer gives numbers.
  std::size_t heads() const noexcept { return network_.layers.back().biases.size(); }
  std::int64_t longest() const noexcept { return longest_; }  ///< in tokens, on either side

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const {
    if (distance < -longest_ || distance > longest_) return answers_to(distance)[head];
    return table_[static_cast<std::size_t>(distance + longest_) * heads() + head];
  }

 private:
  void require_layer(std::size_t index, std::size_t in) const {
    auto const& layer = network_.layers[index];
    auto const out = layer.biases.size();
    detail::require(out > 0 && layer.weights.size() % out == 0 && layer.weights.size() / out == in,
                    "dynamic_position_bias: layer ", index, " must have weights for ", in,
                    " inputs and each of its ", out, " biases, got ", layer.weights.size());
    bool const is_last = index + 1 == network_.layers.size();
    auto const normed = layer.norm_weights.size(), shifted = layer.norm_biases.size();
    detail::require(
        (normed == 0 || (normed == out && !is_last)) && (shifted == 0 || shifted == normed),
        "dynamic_position_bias: the norm of layer ", index,
        is_last ? " must be empty, for it is the last, got "
                : " must be empty or of its size, got ",
        normed, " weights and ", shifted, " biases");
    auto const what = "dynamic_position_bias: layer " + detail::shown(index);
    for (auto const* numbers :
         {&layer.weights, &layer.biases, &layer.norm_weights, &layer.norm_biases})
      detail::require_finite(what.c_str(), *numbers);
  }

  std::vector<double> answers_to(std::int64_t distance) const {
    auto const d = static_cast<double>(distance);
    auto const logarithm = std::log1p(std::abs(d));
    std::vector<double> x{!network_.log_distance ? d : d < 0 ? -logarithm : logarithm};
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      x = linear(network_.layers[i], x);
      if (i + 1 == network_.layers.size()) break;
      if (!network_.layers[i].norm_weights.empty()) normalise(network_.layers[i], x);
      for (auto& number : x) number /= 1 + std::exp(-number);  // SiLU
    }
    return x;
  }

  static std::vector<double> linear(position_layer const& layer, std::vector<double> const& x) {
    std::vector<double> result(layer.biases.begin(), layer.biases.end());
    auto const* weights = layer.weights.data();
    for (auto& sum : result) {
      for (auto const number : x) sum += static_cast<double>(*weights++) * number;
    }
    return result;
  }

  static void normalise(position_layer const& layer, std::vector<double>& x) {
    auto const count = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (auto const number : x) mean += number / count;
    for (auto const number : x) variance += (number - mean) * (number - mean) / count;
    auto const scale = 1 / std::sqrt(variance + 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const shift = layer.norm_biases.empty() ? 0 : static_cast<double>(layer.norm_biases[i]);
      x[i] = (x[i] - mean) * scale * static_cast<double>(layer.norm_weights[i]) + shift;
    }
  }

  position_network network_;
  std::int64_t longest_;
  std::vector<double> table_;  // [distance, from -longest to longest][heads]
};

static_assert(acts_on_scores<dynamic_position_bias> && adds_bias<dynamic_position_bias>);

}}  // namespace posenc
