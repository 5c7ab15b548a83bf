#include "figures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "posenc/analysis/dispersion.hpp"
#include "posenc/analysis/precision_budget.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace explorer {
namespace {

using charts::chart;
using charts::series;
using nlohmann::json;

constexpr std::size_t ink = 6;  // the colour of texts

std::size_t heads_shown(std::vector<measured> const& subjects) {
  return subjects.size() == 1 ? 5 : 3;
}
/// Short, as a legend on a phone has little room.
std::string name_of(std::vector<measured> const& subjects, subject const& of, head const& one) {
  auto const biased =
      std::ranges::count_if(subjects, [](measured const& each) { return !each.of.slopes.empty(); });
  if (of.slopes.empty() || biased == 1) return one.name;
  return of.name + one.name.substr(one.name.find(','));  // "mpt-7b, slope 0.25"
}
/// A model keeps its colours in all charts.
series coloured(series curve, std::vector<measured> const& subjects, measured const& each,
                std::size_t head = 0) {
  constexpr std::size_t of_two[2][3] = {{0, 2, 5}, {1, 3, 4}};
  curve.colour = subjects.size() == 1 ? head : of_two[&each - subjects.data()][head];
  return curve;
}

/// Distances on a logarithmic axis, with the farthest key of each subject.
std::vector<double> distances(std::vector<measured> const& subjects) {
  std::vector<double> ends;
  for (auto const& one : subjects) ends.push_back(static_cast<double>(one.scores.size() - 1));
  auto result = charts::whole_powers(1, std::ranges::max(ends), 64);
  result.insert(result.end(), ends.begin(), ends.end());
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}
/// As far as one sees.
std::vector<double> seen_of(std::vector<double> distances, measured const& by) {
  std::erase_if(distances, [&](double r) { return r >= static_cast<double>(by.scores.size()); });
  return distances;
}

/// Vertical lines at the contexts that the models are made for, where the chart goes beyond them.
std::vector<charts::mark> contexts(std::vector<measured> const& subjects,
                                   chart_settings const& how) {
  std::vector<charts::mark> result;
  for (auto const& each : subjects)
    if (auto const& of = each.of; of.context && *of.context < how.tokens)
      result.push_back({static_cast<double>(*of.context),
                        "context" + (subjects.size() == 1 ? "" : " of " + of.name)});
  return result;
}

/// The lowest and the highest score as near to distance i of a list as to its neighbours.
charts::range extremes_nearby(auto const& score, std::vector<double> const& at, std::size_t i) {
  auto const whole = [](double r) { return static_cast<std::size_t>(r); };
  auto const first = i > 0 ? whole(std::ceil((at[i - 1] + at[i]) / 2)) : whole(at[i]),
             last = i + 1 < at.size() ? whole((at[i] + at[i + 1]) / 2) : whole(at[i]);
  auto const here = score(whole(at[i]));
  charts::range result{here, here};
  for (auto r = first; r <= last; ++r)
    result = {std::min(result.low, score(r)), std::max(result.high, score(r))};
  return result;
}

struct score_charts {
  chart score{.title = "Mean score", .x = {"distance, tokens", true}, .y = {"score"}};
  chart weight{.title = "Weight", .x = {"distance, tokens", true}, .y = {"weight", true}};
};
score_charts by_distance(std::vector<measured> const& subjects, chart_settings const& how) {
  score_charts result;
  auto const at = distances(subjects);
  bool biased = false;
  std::vector<std::size_t> lengths;
  std::vector<series> uniforms;
  for (auto const& each : subjects) {
    auto const& of = each.of;
    auto const& scores = each.scores;
    auto const seen = scores.size();
    if (!of.unknown.empty()) continue;
    auto const heads = heads_of(of, heads_shown(subjects));
    for (std::size_t h = 0; h < heads.size(); ++h) {
      auto const& one = heads[h];
      auto const score = [&](std::size_t r) {
        return how.rho * scores[r] - one.slope * static_cast<double>(r);
      };
      double largest = score(0), total = 0;
      for (std::size_t r = 0; r < seen; ++r) largest = std::max(largest, score(r));
      for (std::size_t r = 0; r < seen; ++r) total += std::exp(score(r) - largest);
      auto const name = name_of(subjects, of, one);
      auto const here = seen_of(at, each);
      auto const weight_of = [&](double s) { return std::exp(s - largest) / total; };
      series by_score{.name = name, .x = here}, by_weight = by_score;
      for (auto const r : here) {
        auto const exact = score(static_cast<std::size_t>(r));
        by_score.y.push_back(exact), by_weight.y.push_back(weight_of(exact));
      }
      if (of.rotates())
        for (std::size_t i = 0; i < here.size(); ++i) {
          auto const [low, high] = extremes_nearby(score, here, i);
          by_score.low.push_back(low), by_score.high.push_back(high);
          by_weight.low.push_back(weight_of(low)), by_weight.high.push_back(weight_of(high));
        }
      result.score.curves.push_back(coloured(by_score, subjects, each, h));
      result.weight.curves.push_back(coloured(by_weight, subjects, each, h));
    }
    biased |= !of.slopes.empty();
    if (std::ranges::find(lengths, seen) != lengths.end()) continue;
    lengths.push_back(seen);
    uniforms.push_back(charts::curve("1 / " + charts::grouped(seen) + " keys", seen_of(at, each),
                                     [&](double) { return 1 / static_cast<double>(seen); }));
    uniforms.back().dashed = true, uniforms.back().colour = ink;
  }
  if (biased)
    result.score.y_range = charts::worth_showing(result.score),
    result.weight.y_range = charts::worth_showing(result.weight);
  for (auto const& one : uniforms) result.weight.curves.push_back(one);
  result.score.marks = result.weight.marks = contexts(subjects, how);
  return result;
}

/// What ALiBi adds to scores. A bias of -10 leaves 1 / 22,026 of a weight.
chart biases(std::vector<measured> const& subjects) {
  chart result{.title = "ALiBi: bias on a score",
               .x = {"distance, tokens", true},
               .y = {"bias"},
               .y_range = charts::range{-10, 0}};
  auto const at = distances(subjects);
  for (auto const& each : subjects) {
    auto const& of = each.of;
    if (of.slopes.empty()) continue;
    auto const heads = heads_of(of, heads_shown(subjects));
    for (std::size_t h = 0; h < heads.size(); ++h)
      result.curves.push_back(
          coloured(charts::curve(name_of(subjects, of, heads[h]), seen_of(at, each),
                                 [&](double r) { return -heads[h].slope * r; }),
                   subjects, each, h));
  }
  return result;
}

chart buckets(std::vector<measured> const& subjects) {
  chart result{
      .title = "T5: bucket of an earlier key", .x = {"distance, tokens", true}, .y = {"bucket"}};
  auto const at = distances(subjects);
  for (auto const& each : subjects)
    if (auto const& of = each.of; of.buckets)
      result.curves.push_back(coloured(
          charts::curve(of.name, seen_of(at, each),
                        [&](double r) {
                          return static_cast<double>((*of.buckets)(static_cast<std::int64_t>(r)));
                        }),
          subjects, each));
  return result;
}

chart wavelengths(std::vector<measured> const& subjects, chart_settings const& how) {
  chart result{.title = "Wavelengths", .x = {"pair"}, .y = {"tokens a turn", true}};
  std::size_t most = 0;
  for (auto const& each : subjects) {
    auto const& of = each.of;
    if (!of.rotates()) continue;
    auto const pairs = of.f.pairs();
    most = std::max(most, pairs);
    auto const wavelength = [&](double i) {
      auto const frequency = of.f.inv_freq()[static_cast<std::size_t>(i)];
      return frequency > 0 ? 2 * std::numbers::pi / frequency : NAN;
    };
    result.curves.push_back(coloured(
        charts::curve(of.name, charts::steps(0, static_cast<double>(pairs - 1)), wavelength),
        subjects, each));
  }
  if (most == 0) return result;
  auto reach = charts::curve("context", charts::steps(0, static_cast<double>(most - 1)),
                             [&](double) { return static_cast<double>(how.tokens); });
  reach.dashed = true, reach.colour = ink;
  result.curves.push_back(reach);
  return result;
}

chart sharpest_weights(chart_settings const& how) {
  series plain{.name = "softmax"}, adaptive{.name = "adaptive temperature"};
  for (auto const n : charts::whole_powers(2, static_cast<double>(how.tokens), 16)) {
    auto const keys = static_cast<std::size_t>(n);
    plain.x.push_back(n), plain.y.push_back(posenc::dispersion(how.spread, keys).most);
    adaptive.x.push_back(n);
    adaptive.y.push_back(
        posenc::dispersion(how.spread, keys, posenc::adaptive_temperature{}).largest);
  }
  return {.title = "Largest possible weight",
          .x = {"keys", true},
          .y = {"weight"},
          .curves = {plain, adaptive}};
}

json data_of(chart const& c, chart_settings const& how) {
  charts::plane const axes(c);
  json curves = json::array();
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    auto const& one = c.curves[i];
    json across = json::array(), up = json::array();
    auto const place = [](double at) { return std::round(1e5 * at) / 1e5; };
    for (auto const x : one.x) across.push_back(place(axes.x(x)));
    for (auto const y : one.y) up.push_back(place(axes.y(y)));
    curves.push_back({{"name", one.name},
                      {"colour", one.colour.value_or(i) % 7},
                      {"x", one.x},
                      {"y", one.y},
                      {"across", across},
                      {"up", up}});
  }
  return {{"title", c.title},
          {"x", c.x.label},
          {"y", c.y.label},
          {"curves", curves},
          {"svg", charts::svg({c}, {.charts_per_row = 1, .chart_width = how.width})}};
}

}  // namespace

measured measure(subject of, std::size_t tokens) {
  measured result{std::move(of), {}, {}};
  auto const& f = result.of.f;
  result.scores = mean_scores(result.of, seen_by(result.of, tokens));
  auto const add = [&](char const* name, auto const& angles) {
    engine_errors one{.name = name};
    for (auto const& at : posenc::precision_budget(f, tokens, angles))
      one.tokens.push_back(static_cast<double>(at.length)), one.largest.push_back(at.row);
    result.errors.push_back(one);
  };
  if (!result.of.rotates()) return result;
  add("float: Hugging Face, vLLM", posenc::float_angles{});
  add("ggml on CPUs", posenc::ggml_angles{result.of.base});
  add("posenc", posenc::exact_angles{});
  return result;
}

json charts_of(std::vector<measured> const& subjects, chart_settings const& how) {
  json result = json::array();
  auto const add = [&](chart const& c) {
    if (!c.curves.empty()) result.push_back(data_of(c, how));
  };
  auto const [score, weight] = by_distance(subjects, how);
  add(score), add(weight), add(wavelengths(subjects, how));
  add(biases(subjects)), add(buckets(subjects));
  bool const alone = subjects.size() == 1;
  chart rows{.title = alone ? "Error of a stored cosine" : "Error of a cosine, float",
             .x = {"context, tokens", true},
             .y = {"largest error", true}};
  for (auto const& each : subjects)
    for (auto const& one : each.errors)
      if (alone)
        rows.curves.push_back({.name = one.name, .x = one.tokens, .y = one.largest});
      else if (one.name.starts_with("float"))
        rows.curves.push_back(
            coloured({.name = each.of.name, .x = one.tokens, .y = one.largest}, subjects, each));
  add(rows), add(sharpest_weights(how));
  return result;
}

}  // namespace explorer
