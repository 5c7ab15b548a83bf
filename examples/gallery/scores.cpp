#include <algorithm>
#include <cmath>
#include <random>

#include "figures.hpp"
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/analysis/key_for_distance.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/analysis/semantic_robustness.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/rope.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"

namespace {

using charts::chart;
using charts::curve;
using charts::steps;
using posenc::halves;

std::vector<double> head(std::size_t dim, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> result(dim);
  for (auto& x : result) x = normal(bits);
  return result;
}

charts::svg_page two_in_a_row(std::string title, std::string subtitle) {
  return {std::move(title), std::move(subtitle), 2, 400, 300};
}

auto distance_in(auto const& values) {
  return [&values](double r) { return values[static_cast<std::size_t>(r)]; };
}

figure score_against_distance() {
  constexpr std::size_t dim = 256;
  auto const f = posenc::geometric(dim, 1e4);
  auto const distances = steps(0, 5000);
  auto const random = posenc::profile_distances(
      posenc::rope<halves>(f), {.head_dim = dim, .range = 5001, .inputs = posenc::gaussian{0, 1}});
  auto const correlated = posenc::profile_distances(
      posenc::rope<halves>(f),
      {.head_dim = dim, .range = 5001, .inputs = posenc::gaussian{0.5, 1}});
  auto const q = head(dim, 1), made = posenc::key_for_distance<halves>(q, f, 2000, 5001).key;
  auto const panel = [](char const* title) {
    return chart{title, {"distance, in tokens"}, {"score / sqrt(d)"}, {}};
  };
  chart ones = panel("All ones: falls, and rises again"), own = panel("Random, a key each: no"),
        half = panel("Correlation 0.5: half of the first"),
        learned = panel("A key made for distance 2000: rises");
  auto const root = std::sqrt(dim);
  auto const of_ones = [&](double r) {
    return root * mean_cosine(f, static_cast<std::int64_t>(r));
  };
  auto const scored = [&](std::vector<double> const& k) {
    return curve("", distances, [&](double r) {
      return posenc::score_by_frequency<halves>(q, k, f, static_cast<std::int64_t>(r)).score / root;
    });
  };
  ones.curves = {curve("", distances, of_ones)};
  own.curves = {
      curve("", distances, [&](double r) { return distance_in(random.logit)(r).mean(); })};
  half.curves = {
      curve("", distances, [&](double r) { return distance_in(correlated.logit)(r).mean(); }),
      curve("", distances, [&](double r) { return of_ones(r) / 2; })};
  half.curves[1].colour = 6, half.curves[1].dashed = true;
  learned.curves = {scored(made)};
  for (auto* const c : {&ones, &own, &half, &learned}) c->y_range = {-7, 18};
  auto page = two_in_a_row("Does RoPE make scores fall with distance?",
                           "head_dim 256, base 10,000; four kinds of queries and keys");
  return {"score_against_distance.svg", charts::svg({ones, own, half, learned}, page)};
}

figure correlated_gaussians() {
  constexpr std::size_t dim = 128, range = 257;
  auto const f = posenc::geometric(dim, 1e4);
  chart mean{"Mean", {"distance", true}, {"score / sqrt(d)"}, {}},
      spread{"Standard deviation", {"distance", true}, {"score / sqrt(d)"}, {}};
  auto const distances = charts::whole_powers(1, range - 1, 24);
  std::vector<charts::series> theory_mean, theory_spread;
  for (double const rho : {0.0, 0.3, 0.7, 1.0}) {
    auto const measured = posenc::profile_distances(
        posenc::rope<halves>(f),
        {.head_dim = dim, .range = range, .inputs = posenc::gaussian{rho, 400}});
    auto const name = "correlation " + charts::compact(rho);
    mean.curves.push_back(
        curve(name, distances, [&](double r) { return distance_in(measured.logit)(r).mean(); }));
    spread.curves.push_back(
        curve(name, distances, [&](double r) { return distance_in(measured.logit)(r).spread(); }));
    auto const theory = [&](double r) {
      return posenc::correlated_score(f, rho, static_cast<std::int64_t>(r), dim);
    };
    theory_mean.push_back(
        curve("", distances, [&](double r) { return theory(r).mean / std::sqrt(dim); }));
    theory_spread.push_back(
        curve("", distances, [&](double r) { return std::sqrt(theory(r).variance / dim); }));
  }
  for (auto* const theory : {&theory_mean, &theory_spread}) {
    theory->front().name = "closed form";
    for (auto& s : *theory) {
      s.colour = 6, s.dashed = true;
      (theory == &theory_mean ? mean : spread).curves.push_back(s);
    }
  }
  return {"correlated_gaussians.svg",
          charts::svg({mean, spread},
                      two_in_a_row("Decay is a property of how queries and keys correlate",
                                   "400 Gaussian queries, at each distance its own key; head_dim "
                                   "128, base 10,000"))};
}

figure keys_for_distances() {
  constexpr std::size_t dim = 128, pairs_of_head = dim / 2, length = 4096;
  auto const f = posenc::geometric(dim, 1e4);
  auto const q = head(dim, 1);
  chart scores{"The key for a distance", {"distance"}, {"score, of |q|^2"}, {}};
  for (std::size_t const r : {200u, 1000u, 3000u}) {
    auto const key = posenc::key_for_distance<halves>(q, f, r, length);
    scores.curves.push_back(
        curve("made for " + std::to_string(r), steps(0, length - 1, 8),
              [&](double s) { return 1 - distance_in(key.behind)(s) / key.peak; }));
  }
  chart pairs{"Part of the score from each pair", {"pair"}, {"of a query with itself"}, {}};
  auto const most = posenc::score_by_frequency<halves>(q, q, f, 0);
  pairs.curves.push_back(curve("at most", steps(0, pairs_of_head - 1),
                               [&](double i) { return distance_in(most.pairs)(i).budget; }));
  pairs.curves.front().colour = 6, pairs.curves.front().dashed = true;
  for (std::int64_t const r : {10, 1000}) {
    auto const score = posenc::score_by_frequency<halves>(q, q, f, r);
    pairs.curves.push_back(curve("at distance " + std::to_string(r), steps(0, pairs_of_head - 1),
                                 [&](double i) { return distance_in(score.pairs)(i).score; }));
  }
  return {"key_for_distance.svg",
          charts::svg({scores, pairs},
                      {"For each distance there is a key that scores highest there",
                       "Barbero et al. 2024, proposition 3.1; a Gaussian q, head_dim 128, base "
                       "10,000",
                       2, 520, 300})};
}

figure budgets() {
  auto const f = posenc::geometric(128, 1e4);
  chart needed{
      "Score for a weight of 0.99", {"fastest pairs that are used", true}, {"score", true}, {}};
  std::string caption;
  for (std::size_t const length : {512u, 8192u, 65'536u}) {
    auto const budget = posenc::positional_budget(f, length, 0.99);
    if (length == 8192)
      caption = "A head that gives one token of 8192 a weight of 0.99 needs a score of " +
                charts::compact(budget.by_pairs.front().score.value() / 1e9) +
                " billion if it uses the fastest pair, and of " + charts::compact(budget.score) +
                " if it uses the " + std::to_string(budget.cheapest) + " fastest pairs";
    charts::series s{.name = std::to_string(length) + " tokens"};
    for (auto const& pairs : budget.by_pairs)
      s.x.push_back(static_cast<double>(pairs.pairs)), s.y.push_back(pairs.score.value_or(NAN));
    needed.curves.push_back(std::move(s));
  }
  chart kept{
      "Lowest share of a score that a pair keeps", {"pair"}, {"cosine within the context"}, {}};
  auto const add = [&](char const* name, posenc::frequencies const& of, std::size_t length,
                       double height) {
    auto const result = posenc::semantic_robustness(of, length);
    kept.curves.push_back(curve("", steps(0, 63), distance_in(result.lowest_cosines)));
    auto const& y = kept.curves.back().y;
    auto const rises = std::ranges::find_if(y, [&](double share) { return share > height; });
    kept.notes.push_back({static_cast<double>(rises - y.begin()) - 2, height - 0.05, name,
                          kept.curves.size() - 1, true});
  };
  add("base 10k, 8192 tokens", f, 8192, -0.8);
  add("base 500k, 8192 tokens", posenc::geometric(128, 5e5), 8192, 0.7);
  add("base 500k, 131,072 tokens", posenc::geometric(128, 5e5), 131'072, -0.3);
  add("p-RoPE 0.75", posenc::truncated(f, 0.75), 131'072, 0.2);
  return {
      "positional_budget.svg",
      charts::svg({needed, kept},
                  two_in_a_row("Fast pairs find places, slow pairs keep meaning",
                               "one place takes several fast pairs; meaning keeps in pairs that "
                               "hardly turn; head_dim 128")),
      caption};
}

}  // namespace

std::vector<figure> figures_of_scores() {
  return {score_against_distance(), correlated_gaussians(), keys_for_distances(), budgets()};
}
