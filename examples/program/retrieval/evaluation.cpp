#include "evaluation.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "passes.hpp"
#include "posenc/analysis/fit_adaptive_temperature.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/critical_temperature.hpp"
#include "posenc/softmax/log_n.hpp"

namespace retrieval {
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

// Sets, and what the network makes of them before softmax.
struct asked_sets {
  item_sets<float> batch;
  matrix<float> features, question;

  asked_sets(network<float> const& n, random_numbers& random, std::size_t sets, std::size_t size)
      : batch(draw<float>(random, sets, size)),
        features(features_of(n, batch.items)),
        question(query_pass<float>(n, batch.queries).question) {}

  posenc::attention_result<float> attend(auto const& encoding) const {
    auto options = every_item();
    options.keep_scores = options.keep_weights = true;
    auto const k = as_heads(features, batch.sets);
    return posenc::attention(as_heads(question, batch.sets), k, k, encoding, options);
  }
};

matrix<float> answers(network<float> const& n, posenc::attention_result<float> const& attended) {
  return answer_pass<float>(n, as_matrix(attended.outputs, n.w_q.rows())).logits;
}

Eigen::Map<Eigen::ArrayXf const> weights_of(posenc::attention_result<float> const& attended,
                                            std::size_t set, std::size_t size) {
  return {attended.weights.data() + set * size, static_cast<Eigen::Index>(size)};
}

// Calls work(sets) for a few at a time, so many in all.
void few_at_a_time(network<float> const& n, random_numbers& random, std::size_t sets,
                   std::size_t size, auto const& work) {
  auto const at_once = std::max<std::size_t>(4096 / size, 1);
  for (std::size_t first = 0; first < sets; first += at_once)
    work(asked_sets(n, random, std::min(at_once, sets - first), size));
}

// Adds to what was measured of a rule. `betas`: by set.
void add_measurement(measurement& sum, network<float> const& n, item_sets<float> const& batch,
                     posenc::attention_result<float> const& attended,
                     std::vector<double> const& betas) {
  auto const logits = answers(n, attended);
  for (std::size_t s = 0; s < batch.sets; ++s) {
    Eigen::Index answer = 0;
    logits.row(static_cast<Eigen::Index>(s)).maxCoeff(&answer);
    auto const weights = weights_of(attended, s, batch.size);
    sum.accuracy += answer == batch.answers[s];
    sum.largest_weight += static_cast<double>(weights.maxCoeff());
    sum.entropy += entropy_of(weights);
    sum.inverse_temperature += betas[s];
  }
}

// The weights of the items of largest priority of one set.
void add_to_map(std::vector<double>& map, item_sets<float> const& batch, std::size_t set,
                Eigen::Map<Eigen::ArrayXf const> const& weights) {
  std::vector<std::pair<float, Eigen::Index>> items;
  for (std::size_t i = 0; i < batch.size; ++i)
    items.emplace_back(batch.items(static_cast<Eigen::Index>(i * batch.sets + set), 0), i);
  std::ranges::partial_sort(items, items.begin() + weight_map::items, std::greater{});
  for (std::size_t i = 0; i < weight_map::items; ++i)
    map.push_back(static_cast<double>(weights[items[i].second]));
}

}  // namespace

std::pair<by_rule<measurement>, weight_map> evaluate(network<float> const& n,
                                                     adaptive_temperature const& own_rule,
                                                     random_numbers& random, std::size_t sets,
                                                     std::size_t size) {
  by_rule<measurement> sums;
  weight_map map;
  few_at_a_time(n, random, sets, size, [&](asked_sets const& asked) {
    auto const& batch = asked.batch;
    posenc::attention_result<float> at_one;
    // What attention returned, under a rule whose temperatures are those of the plain scores.
    auto const measure = [&](rule which, auto const& encoding) {
      auto attended = asked.attend(encoding);
      if (which == plain) at_one = attended;
      std::vector<double> betas;
      for (std::size_t s = 0; s < batch.sets; ++s) {
        auto const row = posenc::statistics(std::span(at_one.scores).subspan(s * size, size));
        betas.push_back(encoding.inverse_temperature(row));
      }
      add_measurement(sums[which], n, batch, attended, betas);
      return attended;
    };
    measure(plain, posenc::constant_temperature(1));
    auto const adapted = measure(adaptive, adaptive_temperature{});
    measure(own, own_rule);
    measure(beta_8, posenc::constant_temperature(8));
    measure(log_n_2, posenc::scheme(posenc::log_n(16), posenc::constant_temperature(2)));
    measure(half, posenc::half_weight_temperature());
    measure(critical, posenc::critical_temperature());
    measure(hard, posenc::constant_temperature(hard_beta));
    for (std::size_t s = 0; s < batch.sets; ++s) {
      if (map.plain.size() == weight_map::sets * weight_map::items) break;
      add_to_map(map.plain, batch, s, weights_of(at_one, s, size));
      add_to_map(map.adaptive, batch, s, weights_of(adapted, s, size));
    }
  });
  for (auto& sum : sums) {
    for (auto* const x :
         {&sum.accuracy, &sum.largest_weight, &sum.entropy, &sum.inverse_temperature})
      *x /= static_cast<double>(sets);
  }
  return {sums, map};
}

adaptive_temperature fit_to(network<float> const& n, random_numbers& random, std::size_t sets,
                            std::vector<std::size_t> const& sizes) {
  std::vector<posenc::temperature_sample> samples;
  for (auto const size : sizes) {
    few_at_a_time(n, random, sets, size, [&](asked_sets const& asked) {
      struct best {
        double entropy = 0, at_one = 0, probability = 0, beta = 1;
      };
      std::vector<best> of_set(asked.batch.sets);
      for (auto const beta : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0}) {
        auto const attended = asked.attend(posenc::constant_temperature(beta));
        auto const logits = answers(n, attended);
        for (std::size_t s = 0; s < of_set.size(); ++s) {
          auto const row = logits.row(static_cast<Eigen::Index>(s)).array();
          auto const right =
              static_cast<double>(1 / (row - row[asked.batch.answers[s]]).exp().sum());
          auto& b = of_set[s];
          if (beta == 1) b.entropy = entropy_of(weights_of(attended, s, size)), b.at_one = right;
          if (right > b.probability) b.probability = right, b.beta = beta;
        }
      }
      for (auto const& b : of_set)
        if (b.at_one < 0.9 && b.probability > 0.5) samples.push_back({b.entropy, b.beta});
    });
  }
  try {
    return posenc::fit_adaptive_temperature(samples);
  } catch (std::invalid_argument const&) {  // too few, or too much alike
    return {.coefficients = {0, 0, 0, 0, 1}};
  }
}

}  // namespace retrieval
