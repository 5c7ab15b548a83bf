#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace dispersion {
namespace {

using posenc::running_moments;
using member = running_moments rows_of_length::*;

charts::axis const keys{"keys", true}, weight{"weight", true};

charts::series line(std::string name, curve const& c, member of) {
  charts::series s{.name = std::move(name)};
  bool const band = std::ranges::any_of(
      c.lengths, [&](rows_of_length const& rows) { return (rows.*of).low() < (rows.*of).high(); });
  for (auto const& rows : c.lengths) {
    s.x.push_back(static_cast<double>(rows.keys)), s.y.push_back((rows.*of).mean());
    if (band) s.low.push_back((rows.*of).low()), s.high.push_back((rows.*of).high());
  }
  return s;
}

charts::series line(std::string name, curve const& c, double (*of)(double n)) {
  charts::series s{.name = std::move(name)};
  for (auto const& rows : c.lengths)
    s.x.push_back(static_cast<double>(rows.keys)), s.y.push_back(of(s.x.back()));
  return s;
}

// Where it says anything.
charts::series published_bound(curve const& c) {
  auto s = line("published bound", c, &rows_of_length::most_published);
  auto const first = std::ranges::find_if(s.y, [](double y) { return y < 1; }) - s.y.begin();
  for (auto* const numbers : {&s.x, &s.y, &s.low, &s.high})
    if (!numbers->empty()) numbers->erase(numbers->begin(), numbers->begin() + first);
  return s;
}

// The same scale for every rule, so that they compare.
charts::range shown(curve const& c) {
  return {0.7 / static_cast<double>(c.lengths.back().keys), 1.4};
}

charts::chart bounded(curve const& c) {
  charts::chart chart{c.rule, keys, weight};
  // Later ones are drawn over earlier ones; the one that may have nothing to say comes last, so
  // that the others keep their colours.
  chart.curves = {line("tight bound", c, &rows_of_length::most),
                  line("largest weight", c, &rows_of_length::largest),
                  line("1 / n", c, [](double n) { return 1 / n; }), published_bound(c)};
  if (chart.curves.back().x.empty()) chart.curves.pop_back();
  chart.y_range = shown(c);
  return chart;
}

// So many lengths as there is room for, evenly, and the last.
std::vector<std::size_t> landmarks(std::size_t lengths, std::size_t at_most) {
  std::vector<std::size_t> result;
  auto const step = (lengths + at_most - 1) / at_most;
  for (std::size_t i = (lengths - 1) % step; i < lengths; i += step) result.push_back(i);
  return result;
}

void print_numbers(std::ostream& out, std::vector<curve> const& curves, int columns) {
  constexpr std::size_t number_width = 9, what_width = 16;
  std::size_t names = 4;
  for (auto const& c : curves) names = std::max(names, c.rule.size());
  auto const used = names + 2 + what_width,
             room = std::max(static_cast<std::size_t>(columns), used) - used;
  auto const at =
      landmarks(curves.front().lengths.size(), std::max<std::size_t>(room / number_width, 2));
  auto const print_row = [&](std::string const& name, std::string const& what, auto&& number) {
    out << name << std::string(names + 2 - name.size(), ' ') << what
        << std::string(what_width - what.size(), ' ');
    for (auto const i : at) out << charts::cell(number(i), number_width);
    out << '\n';
  };
  print_row("keys", "",
            [&](std::size_t i) { return std::to_string(curves.front().lengths[i].keys); });
  for (auto const& c : curves) {
    auto const print_means = [&](std::string const& name, std::string const& what, member of) {
      print_row(name, what,
                [&](std::size_t i) { return charts::compact((c.lengths[i].*of).mean()); });
    };
    print_means(c.rule, "largest weight", &rows_of_length::largest);
    print_means("", "tight bound", &rows_of_length::most);
    print_row("", "published bound", [&](std::size_t i) {
      auto const bound = c.lengths[i].most_published.mean();
      return bound < 1 ? charts::compact(bound) : std::string("-");
    });
    print_means("", "entropy", &rows_of_length::entropy);
    print_means("", "beta", &rows_of_length::beta);
  }
}

}  // namespace

void print(std::ostream& out, std::vector<curve> const& curves, charts::terminal_style style) {
  for (std::size_t i = 0; i + 1 < curves.size(); i += 2)
    charts::print_beside(out, bounded(curves[i]), bounded(curves[i + 1]), style, 8);
  print_numbers(out, curves, style.columns);
}

void write_csv(std::ostream& out, std::vector<curve> const& curves) {
  constexpr std::array columns{std::pair{"beta", &rows_of_length::beta},
                               std::pair{"entropy", &rows_of_length::entropy},
                               std::pair{"largest", &rows_of_length::largest},
                               std::pair{"most", &rows_of_length::most},
                               std::pair{"most_published", &rows_of_length::most_published},
                               std::pair{"smallest", &rows_of_length::smallest},
                               std::pair{"least", &rows_of_length::least}};
  std::vector<std::string> names{"rule", "keys"};
  for (auto const& [name, of] : columns)
    for (auto const* which : {"_mean", "_low", "_high"}) names.push_back(std::string(name) + which);
  charts::csv csv(out, names);
  for (auto const& c : curves) {
    for (auto const& rows : c.lengths) {
      csv.put(c.rule), csv.put(rows.keys);
      for (auto const& [name, of] : columns)
        csv.put((rows.*of).mean()), csv.put((rows.*of).low()), csv.put((rows.*of).high());
      csv.end_line();
    }
  }
}

std::string to_svg(std::vector<curve> const& curves, std::string const& subtitle) {
  std::vector<charts::chart> all;
  for (auto const& c : curves) all.push_back(bounded(c));
  charts::chart largest{"largest weight", keys, weight},
      entropy{"entropy of the weights", keys, {"nats"}},
      beta{"inverse temperature", keys, {"beta"}};
  for (auto const& c : curves) {
    largest.curves.push_back(line(c.rule, c, &rows_of_length::largest));
    entropy.curves.push_back(line(c.rule, c, &rows_of_length::entropy));
    beta.curves.push_back(line(c.rule, c, &rows_of_length::beta));
  }
  entropy.curves.push_back(line("ln n", curves.front(), [](double n) { return std::log(n); }));
  largest.y_range = shown(curves.front());
  for (auto* const chart : {&largest, &entropy, &beta}) all.push_back(std::move(*chart));
  return charts::svg(all, {.title = "Largest attention weight against the number of keys",
                           .subtitle = subtitle,
                           .charts_per_row = 3});
}

}  // namespace dispersion
