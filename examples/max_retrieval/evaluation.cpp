#include "evaluation.hpp"

#include <algorithm>
#include <vector>

#include "passes.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace max_retrieval {
namespace {

using posenc::adaptive_temperature;

// A few items at a time, so that what is between them and their features stays in the cache.
matrix<float> features_of(network<float> const& n, matrix<float> const& items) {
  constexpr Eigen::Index few = 512;
  matrix<float> features(items.rows(), n.item_hidden.w.cols());
  for (Eigen::Index first = 0; first < items.rows(); first += few) {
    auto const count = std::min(few, items.rows() - first);
    features.middleRows(first, count) = gelu(n.item_hidden(items.middleRows(first, count)));
  }
  return features;
}

double entropy_of(Eigen::Array<float, Eigen::Dynamic, 1> const& weights) {
  return -static_cast<double>((weights * weights.max(1e-30f).log()).sum());
}

// Adds to what was measured of a rule. `betas`: by set.
void add_measurement(measurement& sum, network<float> const& n, item_sets<float> const& batch,
                     posenc::attention_result<float> const& attended,
                     std::vector<double> const& betas) {
  answer_pass<float> const answered(n, as_matrix(attended.outputs, n.w_q.rows()));
  for (std::size_t s = 0; s < batch.sets; ++s) {
    Eigen::Index answer = 0;
    answered.logits.row(static_cast<Eigen::Index>(s)).maxCoeff(&answer);
    Eigen::Map<Eigen::ArrayXf const> const weights(attended.weights.data() + s * batch.size,
                                                   static_cast<Eigen::Index>(batch.size));
    sum.accuracy += answer == batch.answers[s];
    sum.largest_weight += static_cast<double>(weights.maxCoeff());
    sum.entropy += entropy_of(weights);
    sum.inverse_temperature += betas[s];
  }
}

}  // namespace

std::array<measurement, 3> evaluate(network<float> const& n, random_numbers& random,
                                    std::size_t sets, std::size_t size) {
  std::array<measurement, 3> sums;
  auto options = every_item();
  options.keep_weights = true;
  auto const at_once = std::max<std::size_t>(4096 / size, 1);
  for (std::size_t first = 0; first < sets; first += at_once) {
    auto const batch = draw<float>(random, std::min(at_once, sets - first), size);
    auto const features = features_of(n, batch.items);
    query_pass<float> const asked(n, batch.queries);
    auto const q = as_heads(asked.question, batch.sets), k = as_heads(features, batch.sets);

    auto const at_one = posenc::attention(q, k, k, posenc::nope{}, options);
    add_measurement(sums[plain], n, batch, at_one, std::vector(batch.sets, 1.0));
    for (auto const& [which, encoding] :
         {std::pair{adaptive, adaptive_temperature{}},
          std::pair{held,
                    adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum}}}) {
      std::vector<double> betas;
      for (std::size_t s = 0; s < batch.sets; ++s) {
        Eigen::Map<Eigen::ArrayXf const> const weights(at_one.weights.data() + s * size,
                                                       static_cast<Eigen::Index>(size));
        auto const entropy = entropy_of(weights);
        betas.push_back(encoding.inverse_temperature(
            {.keys = size, .max = 0, .log_sum_exp = 0, .entropy = entropy}));
        sums[which].unaided +=
            entropy > adaptive_temperature::entropy_of_maximum && betas.back() == 1;
      }
      add_measurement(sums[which], n, batch, posenc::attention(q, k, k, encoding, options), betas);
    }
  }
  for (auto& sum : sums) {
    for (auto* const x :
         {&sum.accuracy, &sum.largest_weight, &sum.entropy, &sum.inverse_temperature, &sum.unaided})
      *x /= static_cast<double>(sets);
  }
  return sums;
}

}  // namespace max_retrieval
