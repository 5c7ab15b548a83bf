#include "phase.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <numbers>
#include <ostream>
#include <vector>

#include "posenc/analysis/dispersion.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/critical_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace phase {
namespace {

using charts::compact;

constexpr double delta = 5.69;  // largest score less smallest of Gemma 2B's mean head
constexpr double fewest = 16, most = 1 << 20;  // keys
// Queries and keys that are normed, of 128 dims: scores of sqrt(128) times their similarity.
double const largest_score = std::sqrt(128.0);
constexpr double similarities[] = {0, 0.5, 0.75, 0.9};

// The inverse temperature at which tokens of this similarity change their phase.
double boundary(double similarity, std::size_t keys) {
  return posenc::phase_boundary(keys, similarity) / largest_score;
}

struct named_rule {
  std::string name;
  std::function<double(double keys)> beta;
};

// What models do to the last query of so many keys.
std::vector<named_rule> rules_of_models(double scale, std::size_t trained_keys) {
  auto const of = [](auto const& encoding) {
    return [encoding](double keys) {
      return encoding.inverse_temperature({.keys = static_cast<std::size_t>(keys),
                                           .query_position = static_cast<std::int64_t>(keys) - 1});
    };
  };
  auto const trained = static_cast<double>(trained_keys);
  return {{"softmax", of(posenc::constant_temperature(1))},
          {"Llama 4", of(posenc::llama4_temperature())},
          {"log n / log " + std::to_string(trained_keys), of(posenc::log_n(trained))},
          {"YaRN from " + std::to_string(trained_keys),
           [trained](double keys) {
             return posenc::yarn_temperature(keys / trained).inverse_temperature({});
           }},
          {"SSMax " + compact(scale) + " ln n", of(posenc::ssmax({scale}))},
          {"constant 8", of(posenc::constant_temperature(8))}};
}

// Gaps below the largest of n scores. Scores at the middles of n equal parts of a distribution: a
// typical row, without luck.
double part(std::size_t i, std::size_t n) {
  return (static_cast<double>(i) + 0.5) / static_cast<double>(n);
}
std::vector<double> equal_others(std::size_t n) {
  std::vector<double> scores(n, -delta);
  scores[0] = 0;
  return scores;
}
std::vector<double> uniform(std::size_t n) {
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = -delta * part(i, n);
  return scores;
}
// The squared half distance of unit vectors of 5 dims has the distribution 3 t^2 - 2 t^3.
std::vector<double> sphere(std::size_t n) {
  std::vector<double> scores(n);
  for (std::size_t i = 1; i < n; ++i)
    scores[i] = -delta * (0.5 - std::sin(std::asin(1 - 2 * part(i - 1, n - 1)) / 3));
  return scores;
}
std::vector<double> normal(std::size_t n) {
  std::vector<double> scores(n);
  auto x = std::sqrt(2 * std::log(static_cast<double>(n)));
  for (std::size_t i = 0; i < n; ++i) {
    for (int newton = 0; newton < (i == 0 ? 100 : 8); ++newton) {
      auto const above = std::erfc(x / std::numbers::sqrt2) / 2 - part(i, n);
      x += above * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    }
    scores[i] = x;
  }
  return scores;
}

struct family {
  char const* name;
  std::vector<double> (*row)(std::size_t keys);
};
constexpr family families[] = {{"uniform: n", uniform},
                               {"on a sphere of 5 dims: n^(1/2)", sphere},
                               {"normal: (ln n)^(1/2)", normal},
                               {"one above the rest: ln n", equal_others}};

// The first number of keys at which a rule is below the boundary, and stays so; 0 if none is.
std::size_t below_from(named_rule const& r, double similarity) {
  std::size_t from = 0;
  for (auto n = static_cast<std::size_t>(most); n >= 2; --n) {
    if (r.beta(static_cast<double>(n)) >= boundary(similarity, n)) break;
    from = n;
  }
  return from;
}

std::string read(std::vector<named_rule> const& rules, double scale) {
  std::map<std::size_t, std::vector<std::string>> below;
  for (auto const& r : rules) below[below_from(r, 0.5)].push_back(r.name);
  auto text = "If tokens have a similarity of 0.5, their scores are " + compact(largest_score / 2) +
              " apart in a normed head of 128 dims. ";
  for (auto const& [from, names] : below) {
    text += charts::joined(names, " and ") + (names.size() == 1 ? " is " : " are ");
    text += from == 0 ? "above the boundary up to a million keys. "
                      : "below the boundary from " + std::to_string(from) + " keys on. ";
  }
  return text + "Among rules that grow like ln n, " + compact(scale) +
         " ln n holds any number of keys up to a similarity of " +
         compact(1 - 1 / (scale * largest_score), 2) + ".";
}

}  // namespace

phase_figure::phase_figure(double scale, std::size_t trained) {
  auto const of_models = rules_of_models(scale, trained);
  std::vector<double> keys;  // eight between powers of two
  for (int i = 0; keys.empty() || keys.back() < most; ++i)
    keys.push_back(std::round(fewest * std::exp2(i / 8.0)));
  rules = {"Temperatures of models, and the phase boundary",
           {"keys n", true},
           {"inverse temperature beta", true},
           {},
           charts::range{0.2, 30}};
  for (auto const& r : of_models) rules.curves.push_back(charts::curve(r.name, keys, r.beta));
  for (auto const similarity : similarities) {
    rules.curves.push_back(charts::curve("rho " + compact(similarity), keys, [&](double n) {
      return boundary(similarity, static_cast<std::size_t>(n));
    }));
    rules.curves.back().colour = 6, rules.curves.back().dashed = true;
  }
  rules.notes = {{20, 22, "above a boundary: each token by itself", {}},
                 {900'000, 0.25, "below it: the mean of all", {}, true}};

  rows = {"Temperature for half the weight at the top",
          {"keys n", true},
          {"inverse temperature beta", true},
          {},
          charts::range{0.4, 1e6}};
  std::vector<charts::series> bounds;
  for (auto const& [name, row] : families) {
    charts::series half{.name = name}, bound{.name = ""};
    for (auto n = fewest; n <= most; n *= 2) {
      auto const scores = row(static_cast<std::size_t>(n));
      auto const seen = posenc::statistics(scores);
      half.x.push_back(n), bound.x.push_back(n);
      half.y.push_back(posenc::half_weight_temperature().inverse_temperature(seen));
      bound.y.push_back(posenc::critical_temperature().inverse_temperature(seen));
    }
    bound.colour = rows.curves.size(), bound.dashed = true;
    rows.curves.push_back(std::move(half)), bounds.push_back(std::move(bound));
  }
  rows.curves.insert(rows.curves.end(), bounds.begin(), bounds.end());
  rows.notes = {{20, 3e5, "dashed: twice the critical temperature", {}}};
  reading = read(of_models, scale);
}

void print(std::ostream& out, phase_figure const& figure, charts::terminal_style style) {
  for (auto const* chart : {&figure.rules, &figure.rows}) {
    auto named = *chart;
    std::erase_if(named.curves, [](auto const& curve) { return curve.name.empty(); });
    for (auto const& line : draw(named, style)) out << line << '\n';
    out << '\n';
    for (auto const& curve : named.curves) {
      constexpr std::size_t width = 32;
      if (&curve == &named.curves.front()) {
        out << "beta at n =" << std::string(width - 11, ' ');
        for (double n = fewest; n <= most; n *= 16)
          out << charts::cell(std::to_string(static_cast<int>(n)), 9);
        out << '\n';
      }
      out << curve.name << std::string(width - std::min(width, curve.name.size()), ' ');
      for (double n = fewest; n <= most; n *= 16) {
        auto const at = std::ranges::lower_bound(curve.x, n) - curve.x.begin();
        out << charts::cell(compact(curve.y[static_cast<std::size_t>(at)]), 9);
      }
      out << '\n';
    }
    out << '\n';
  }
  charts::print_folded(out, figure.reading, style.columns);
}

void write_csv(std::ostream& out, phase_figure const& figure) {
  charts::csv csv(out, {"curve", "keys", "beta"});
  for (auto const* chart : {&figure.rules, &figure.rows})
    for (auto const& curve : chart->curves)
      for (std::size_t i = 0; i < curve.x.size(); ++i)
        csv.line(curve.name.empty() ? "twice critical, " + chart->curves[*curve.colour].name
                                    : curve.name,
                 static_cast<std::size_t>(curve.x[i]), curve.y[i]);
}

std::string to_svg(phase_figure const& figure) {
  return charts::svg(
      {figure.rules, figure.rows},
      {.title = "How sharp must softmax be?",
       .subtitle = "Chen et al. 2025 (left: tokens of similarity rho, normed heads of 128 dims); "
                   "Karakida, Hayase 2026; Bruno et al. 2026 (right)",
       .charts_per_row = 2,
       .chart_width = 520,
       .chart_height = 500});
}

}  // namespace phase
