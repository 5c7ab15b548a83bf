#include "experiment.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "bounds.hpp"
#include "posenc/posenc.hpp"
#include "reporting/scale.hpp"

namespace dispersion {
namespace {

// The experiment: the weights of one row, at the temperature that the rule gives it. Answers with
// its beta.
double weigh(std::span<float const> scores, rule const& r, double delta,
             std::vector<float>& weights, rows_of_length& rows) {
  auto const statistics = posenc::statistics(scores);
  auto const beta = r.inverse_temperature(statistics), spread = beta * delta;
  weights.assign(scores.begin(), scores.end());
  posenc::softmax(std::span(weights), statistics, beta);

  double entropy = 0, smallest = 1, largest = 0;
  for (double const p : weights) {
    if (p > 0) entropy -= p * std::log(p);
    smallest = std::min(smallest, p), largest = std::max(largest, p);
  }
  if (!within_bounds(spread, rows.keys, smallest, largest))
    throw std::logic_error("weights from " + charts::compact(smallest, 9) + " to " +
                           charts::compact(largest, 9) + " under " + r.name +
                           " are outside of their bounds, at " + std::to_string(rows.keys) +
                           " keys and beta " + charts::compact(beta, 9));
  rows.beta.add(beta), rows.entropy.add(entropy), rows.largest.add(largest),
      rows.smallest.add(smallest);
  auto const of_weights = posenc::dispersion(spread, rows.keys);
  rows.most.add(of_weights.most), rows.most_published.add(of_weights.most_published);
  rows.least.add(of_weights.least);
  return beta;
}

// A rule that sharpens `on` keys and leaves `off` keys alone: the first number of keys at which it
// does, and the entropy of their scores.
std::pair<std::size_t, double> switch_between(std::size_t on, std::size_t off,
                                              std::span<float const> scores, rule const& r) {
  auto const statistics = [&](std::size_t keys) { return posenc::statistics(scores.first(keys)); };
  while (off - on > 1) {
    auto const middle = on + (off - on) / 2;
    (r.inverse_temperature(statistics(middle)) > 1 ? on : off) = middle;
  }
  return {off, statistics(off).entropy};
}

// All lengths of one draw.
void weigh_all(std::span<float const> scores, rule const& r, double delta,
               std::vector<float>& weights, curve& c) {
  std::size_t before = 0;
  bool sharpened = false;
  for (auto& rows : c.lengths) {
    auto const beta = weigh(scores.first(rows.keys), r, delta, weights, rows);
    if (sharpened && beta == 1) {
      auto const [keys, entropy] = switch_between(before, rows.keys, scores, r);
      c.off_at.add(static_cast<double>(keys)), c.off_entropy.add(entropy);
    }
    sharpened = beta > 1, before = rows.keys;
  }
}

std::vector<rows_of_length> lengths_up_to(std::size_t largest) {
  std::vector<rows_of_length> lengths;
  for (std::size_t n = 2; n < largest; n *= 2) lengths.push_back({.keys = n});
  lengths.push_back({.keys = largest});
  return lengths;
}

}  // namespace

std::vector<rule> rules(settings const& s) {
  using namespace posenc;
  auto const of = [](auto const& encoding) {
    return [encoding](row_statistics const& row) { return encoding.inverse_temperature(row); };
  };
  return {{"softmax", of(constant_temperature(1))},
          {"adaptive", of(adaptive_temperature{})},
          {"adaptive held",
           of(adaptive_temperature{.highest = adaptive_temperature::entropy_of_maximum})},
          {"log-n " + std::to_string(s.trained), of(log_n(static_cast<double>(s.trained)))},
          {"SSMax " + charts::compact(s.scale), of(ssmax({s.scale}))},
          {"SSMax ln n", of(ssmax_without_scale{})}};
}

std::vector<curve> measure(settings const& s, std::function<void(double)> const& progress) {
  if (!posenc::is_finite(s.delta)) throw std::invalid_argument("delta must be finite");
  auto const all = rules(s);
  auto const delta = static_cast<float>(s.delta);  // what the scores have of it
  std::vector<curve> curves;
  for (auto const& r : all) curves.push_back({.rule = r.name, .lengths = lengths_up_to(s.largest)});

  std::vector<float> weights;
  double done = 0;
  for (std::size_t draw = 0; draw < s.draws; ++draw) {
    auto const scores = scores_of(s.scores, delta, s.largest, s.seed, draw);
    for (std::size_t i = 0; i < all.size(); ++i) {
      weigh_all(scores, all[i], static_cast<double>(delta), weights, curves[i]);
      progress(++done / static_cast<double>(s.draws * all.size()));
    }
  }
  return curves;
}

}  // namespace dispersion
