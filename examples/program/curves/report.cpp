#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "landmarks.hpp"
#include "reading.hpp"
#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace curves {
namespace {

using posenc::running_moments;

// A weight that has underflowed to 0 is drawn below the chart: a gap would end a band in a wall.
charts::series line(std::string name, std::vector<running_moments> const& values,
                    bool of_weights = false) {
  charts::series s{.name = std::move(name)};
  auto const above = [&](double y) { return of_weights ? std::max(y, 1e-270) : y; };
  bool const band =
      std::ranges::any_of(values, [](running_moments const& m) { return m.low() < m.high(); });
  for (std::size_t r = 0; r < values.size(); ++r) {
    s.x.push_back(static_cast<double>(r));
    s.y.push_back(above(values[r].mean()));
    if (band) s.low.push_back(above(values[r].low())), s.high.push_back(above(values[r].high()));
  }
  return s;
}

// What bands are over.
std::string band_of(bool random_inputs, bool some_over_queries) {
  return std::string("extremes of ") + (random_inputs       ? "queries, heads"
                                        : some_over_queries ? "queries"
                                                            : "heads");
}

charts::axis const distance{"distance, in tokens", true}, logit{"logit"}, weight{"weight", true};

void print_numbers(std::ostream& out, std::vector<curve> const& curves, int columns) {
  constexpr std::size_t names = 18, wide = 10;
  std::size_t range = 0;
  for (auto const& c : curves) range = std::max(range, c.plain.logit.size());
  auto const room = std::max(static_cast<std::size_t>(columns), names) - names;
  auto const at = landmarks(range, std::max<std::size_t>(room / wide, 2));
  auto const row = [&](std::string const& what, auto&& number) {
    out << what << std::string(names - what.size(), ' ');
    for (auto const r : at) out << charts::cell(number(r), wide);
    out << '\n';
  };
  // Windows of some layers end before the others'.
  auto const row_of = [&](std::string const& what, std::vector<running_moments> const& values) {
    row(what, [&](std::size_t r) {
      if (r >= values.size()) return std::string("-");
      auto const mean = values[r].mean();
      return charts::compact(std::abs(mean) < 1e-99 ? 0 : mean);
    });
  };
  row("distance", [](std::size_t r) { return std::to_string(r); });
  for (auto const& c : curves) {
    out << c.encoding << '\n';
    row_of("  logit", c.plain.logit);
    row_of("  weight", c.plain.weight);
    row_of("  weight, adaptive", c.adaptive.weight);
  }
}

}  // namespace

void print(std::ostream& out, measured_model const& m, charts::terminal_style style,
           bool random_inputs) {
  out << '\n';
  auto const title = m.name + ": " + m.says;
  charts::print_folded(out, title, style.columns);
  out << std::string(std::min(title.size(), static_cast<std::size_t>(style.columns)), '=')
      << "\n\n";
  for (auto const& c : m.curves) {
    auto const name = c.encoding + (c.own ? " (its own)" : "");
    charts::chart left{name + ": logit", distance, logit, {line("logit", c.plain.logit)}};
    charts::chart right{
        name + ": weight",
        distance,
        weight,
        {line("plain softmax", c.plain.weight, true), line("adaptive", c.adaptive.weight, true)}};
    if (!random_inputs && c.queries == 0) left.y_range = charts::worth_showing(left);
    right.y_range = charts::worth_showing(right);
    if (has_band(left)) left.band = band_of(random_inputs, c.queries > 0);
    if (has_band(right)) right.band = band_of(random_inputs, false);
    left.marks = right.marks = {m.known};
    charts::print_beside(out, left, right, style, 6);
  }
  print_numbers(out, m.curves, style.columns);
  out << '\n';
  for (auto const& c : m.curves)
    charts::print_folded(out, reading(c, random_inputs), style.columns);
}

void write_csv(std::ostream& out, std::vector<measured_model> const& measured,
               bool every_distance) {
  charts::csv csv(
      out, {"model", "encoding", "softmax", "distance", "logit_mean", "logit_spread", "logit_low",
            "logit_high", "weight_mean", "weight_spread", "weight_low", "weight_high"});
  for (auto const& m : measured) {
    for (auto const& c : m.curves) {
      for (auto const& [softmax, profile] :
           {std::pair{"plain", &c.plain}, std::pair{"adaptive", &c.adaptive}}) {
        auto const last = static_cast<double>(profile->logit.size() - 1);
        auto distances = charts::steps(0, every_distance ? last : std::min(last, 64.0));
        if (distances.back() < last)
          for (auto const r : charts::whole_powers(64, last, 48))
            if (r > distances.back()) distances.push_back(r);
        for (auto const x : distances) {
          auto const r = static_cast<std::size_t>(x);
          auto const &of_logit = profile->logit[r], &of_weight = profile->weight[r];
          csv.line(m.name, c.encoding, softmax, r, of_logit.mean(), of_logit.spread(),
                   of_logit.low(), of_logit.high(), of_weight.mean(), of_weight.spread(),
                   of_weight.low(), of_weight.high());
        }
      }
    }
  }
}

std::string to_svg(std::vector<measured_model> const& measured, std::string const& inputs,
                   bool random_inputs, bool together) {
  std::vector<charts::chart> all;
  bool over_queries = random_inputs;
  auto const several = together && measured.size() > 1;  // whose curves need names
  for (auto const& m : measured) {
    if (all.empty() || !together) {
      auto const of = several ? "" : m.name + ": ";
      all.push_back({of + "logit", distance, logit, {}});
      all.push_back({of + "weight, plain softmax", distance, weight, {}});
      all.push_back({of + "weight, adaptive softmax", distance, weight, {}});
    }
    auto* const three = &all[all.size() - 3];
    for (int i = 0; i < 3; ++i) {
      auto mark = m.known;
      if (several) mark.label = m.name + ", " + mark.label;
      three[i].marks.push_back(std::move(mark));
    }
    for (auto const& c : m.curves) {
      auto const label = several ? m.name + ": " + c.encoding : c.encoding;
      three[0].curves.push_back(line(label, c.plain.logit));
      three[1].curves.push_back(line(label, c.plain.weight, true));
      three[2].curves.push_back(line(label, c.adaptive.weight, true));
      over_queries = over_queries || c.queries > 0;
    }
  }
  for (auto& chart : all)
    if (has_band(chart)) chart.band = band_of(over_queries, false);
  for (auto& chart : all) chart.y_range = charts::worth_showing(chart);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    auto& shown = all[together ? 0 : 3 * i].y_range;
    for (auto const& c : measured[i].curves)  // bands over queries whole, for they are the matter
      for (auto const& m : c.plain.logit)
        if (c.queries > 0) shown = {std::min(shown->low, m.low()), std::max(shown->high, m.high())};
  }
  return charts::svg(
      all, {.title = "Attention against distance", .subtitle = inputs, .charts_per_row = 3});
}

}  // namespace curves
