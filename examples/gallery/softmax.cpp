#include <algorithm>
#include <cmath>

#include "figures.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/softmax/log_n.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"

namespace {

using charts::chart;
using charts::curve;

constexpr double gemma = 5.69;  // largest score less smallest of Gemma 2B's mean head

std::size_t whole(double n) { return static_cast<std::size_t>(n); }
auto const keys = charts::whole_powers(2, 1'000'000, 24);

figure dispersing() {
  auto const bounds = [](double n) { return posenc::dispersion(gemma, whole(n)); };
  chart bounded{
      "Bounds of a weight", {"keys", true}, {"weight", true}, {}, charts::range{1e-9, 1.5}};
  bounded.curves = {
      curve("published bound", keys, [&](double n) { return bounds(n).most_published; }),
      curve("upper bound, tight", keys, [&](double n) { return bounds(n).most; }),
      curve("1 / n", keys, [](double n) { return 1 / n; }),
      curve("lower bound, tight", keys, [&](double n) { return bounds(n).least; }),
      curve("published", keys, [&](double n) { return bounds(n).least_published; })};
  bounded.curves.front().dashed = bounded.curves.back().dashed = true;

  chart rules{
      "Largest weight, by rule", {"keys", true}, {"weight", true}, {}, charts::range{1e-4, 1.2}};
  auto const add = [&](char const* name, auto const& rule) {
    rules.curves.push_back(
        curve(name, keys, [&](double n) { return dispersion(gemma, whole(n), rule).largest; }));
  };
  add("", posenc::adaptive_temperature{});
  add("SSMax, 0.43 ln n", posenc::ssmax({0.43}));
  add("log n / log 8192", posenc::log_n(8192));
  add("softmax", posenc::nope());
  rules.curves.back().colour = 6, rules.curves.back().dashed = true;
  rules.notes = {{1300, 0.3, "adaptive temperature", 0}};

  chart spread{"Spread for a weight", {"keys", true}, {"largest score - smallest"}, {}};
  for (double const w : {0.5, 0.9, 0.99})
    spread.curves.push_back(
        curve(charts::compact(w), keys, [w](double n) { return posenc::spread_for(w, whole(n)); }));
  return {"dispersion.svg",
          charts::svg({bounded, rules, spread},
                      {"Softmax disperses",
                       "Velickovic et al. 2024: among more keys every weight falls; scores within "
                       "5.69, as in Gemma 2B's mean head",
                       3, 330, 280})};
}

figure adapting() {
  posenc::adaptive_temperature const rule;
  auto const entropies = charts::steps(0, 8, 0.02);
  auto const [below, above] = posenc::sharpens_between(rule);
  chart beta{"Inverse temperature against entropy",
             {"entropy of the row, in nats"},
             {"beta"},
             {},
             charts::range{-1, 3.3}};
  beta.curves = {curve("", entropies, [&](double h) { return rule.polynomial(h); }),
                 curve("", entropies, [&](double h) {
                   return posenc::detail::inverse_temperature_of(rule, {.entropy = h});
                 })};
  beta.marks = {{below, "inert below " + charts::compact(below)},
                {above.value(), "above " + charts::compact(*above)}};
  beta.curves[0].dashed = true;
  beta.notes = {{3.6, -0.6, "fitted polynomial", 0}, {2.2, 1.7, "what the rule does", 1}};

  chart rows{
      "Among more keys", {"keys", true}, {"beta of the sharpest row"}, {}, charts::range{0.9, 3.5}};
  auto const off_at = [&](double spread) {
    return std::to_string(switches_off(rule, spread).value_or(0));
  };
  auto const caption = "The published polynomial sharpens rows of an entropy between " +
                       charts::compact(below) + " and " + charts::compact(above.value()) +
                       " nats and no others. Rows of equal scores are left alone from " +
                       off_at(0) + " keys on, those of Gemma 2B's spread from " + off_at(gemma) +
                       ".";
  for (double const spread : {0.0, 3.0, gemma, 10.0}) {
    auto const row = rows.curves.size();
    rows.curves.push_back(curve("", keys, [&](double n) {
      return dispersion(spread, whole(n), rule).inverse_temperature;
    }));
    auto const& beta_of = rows.curves.back().y;
    auto const peak = std::ranges::max_element(beta_of) - beta_of.begin();
    rows.notes.push_back({keys[static_cast<std::size_t>(peak)] / 6,
                          3.3 - 0.25 * static_cast<double>(row),
                          "spread " + charts::compact(spread) + ": off at " + off_at(spread), row});
  }
  return {
      "adaptive_temperature.svg",
      charts::svg(
          {beta, rows},
          {.title = "Adaptive temperature, and where it does nothing",
           .subtitle = "Velickovic et al. 2024: the most dispersed rows, which need it most, stay "
                       "as they are"}),
      caption};
}

}  // namespace

std::vector<figure> figures_of_softmax() { return {dispersing(), adapting()}; }
