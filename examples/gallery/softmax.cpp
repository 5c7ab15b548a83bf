#include <algorithm>
#include <cmath>

#include "figures.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "posenc/encoding/scheme.hpp"
#include "program/phase/phase.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"

namespace {

using charts::chart;
using charts::curve;

constexpr double gemma = 5.69;  // largest score less smallest of Gemma 2B's mean head

std::size_t whole(double n) { return static_cast<std::size_t>(n); }
auto const keys = charts::whole_powers(2, 1'000'000, 24);

figure sharpening() {
  phase::phase_figure const figure;
  return {"dispersion.svg", to_svg(figure), figure.reading};
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
  auto const caption = "The published polynomial sharpens only rows whose entropy is between " +
                       charts::compact(below) + " and " + charts::compact(above.value()) +
                       " nats. So it does not sharpen a row of equal scores from " + off_at(0) +
                       " keys on, nor a row with the spread of Gemma 2B's from " + off_at(gemma) +
                       " keys on.";
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

std::vector<figure> figures_of_softmax() { return {sharpening(), adapting()}; }
