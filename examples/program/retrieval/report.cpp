#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "posenc/softmax/adaptive_temperature.hpp"
#include "reporting/csv.hpp"
#include "reporting/map.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/svg_drawing.hpp"
#include "reporting/text.hpp"

namespace retrieval {
namespace {

using charts::cell;
using charts::fixed;
using posenc::adaptive_temperature;

struct column {
  std::string name;
  std::size_t width;
  std::function<std::string(size_summary const&)> of;
};

void print_table(std::ostream& out, std::string const& title, std::vector<column> const& columns,
                 std::vector<size_summary> const& summary) {
  out << title << '\n' << cell("items", 6);
  for (auto const& c : columns) out << cell(c.name, c.width);
  out << '\n';
  for (auto const& s : summary) {
    out << cell(std::to_string(s.size), 6);
    for (auto const& c : columns) out << cell(' ' + c.of(s), c.width);
    out << '\n';
  }
  out << '\n';
}

column accuracy(rule which, bool utf8) {
  return {std::string(rule_names[which]), utf8 ? 10u : 11u, [=](size_summary const& s) {
            auto const& x = s.accuracy[which];
            return fixed(x.mean, 1) + (utf8 ? " ±" : " +-") + fixed(x.standard_error, 1);
          }};
}

column below_hard(rule which, bool utf8) {
  return {std::string(rule_names[which]), 14, [=](size_summary const& s) {
            auto const& x = s.of_hard[which];
            return fixed(x.mean, 1) + (utf8 ? " ± " : " +- ") + fixed(x.half_width, 1);
          }};
}

column from_paper(rule which) {
  return {"paper, " + std::string(rule_names[which]), 17,
          [=](size_summary const& s) { return s.paper[which] ? fixed(*s.paper[which], 1) : "-"; }};
}

column mean(rule which, double measurement::*what, int places) {
  return {std::string(rule_names[which]), 9,
          [=](size_summary const& s) { return fixed(s.mean[which].*what, places); }};
}

charts::series curve(std::string name, std::vector<size_summary> const& summary, auto&& value) {
  charts::series line{.name = std::move(name)};
  for (auto const& s : summary) {
    line.x.push_back(static_cast<double>(s.size));
    line.y.push_back(value(s));
  }
  return line;
}

constexpr rule drawn[] = {plain, adaptive, beta_8, half, hard};

charts::chart accuracy_chart(std::vector<size_summary> const& summary) {
  charts::chart c{.title = "accuracy",
                  .x = {"items of a set", true},
                  .y = {"%"},
                  .curves = {},
                  .y_range = charts::range{0, 100}};
  for (auto const which : drawn) {
    auto line = curve(std::string(rule_names[which]), summary,
                      [&](size_summary const& s) { return s.accuracy[which].mean; });
    for (auto const& s : summary) {
      if (which != plain && which != adaptive) break;  // five bands would hide one another
      line.low.push_back(std::max(s.accuracy[which].low(), 0.0));
      line.high.push_back(std::min(s.accuracy[which].high(), 100.0));
    }
    c.curves.push_back(std::move(line));
  }
  return c;
}

}  // namespace

std::string description(settings const& s) {
  return std::to_string(s.seeds) + " networks, trained for " + std::to_string(s.steps) +
         " steps on batches of " + std::to_string(s.batch) + " sets of 1 to " +
         std::to_string(s.largest_trained) + " items; tested on " + std::to_string(s.sets) +
         " sets of each size; seeds " + std::to_string(s.seed) + " to " +
         std::to_string(s.seed + s.seeds - 1);
}

void print_accuracies(std::ostream& out, std::vector<size_summary> const& summary, bool utf8) {
  std::vector<column> columns;
  for (auto const which : {plain, adaptive, beta_8, log_n_2, half, critical, hard})
    columns.push_back(accuracy(which, utf8));
  print_table(out, "Accuracy, %: the mean over seeds, and its standard error", columns, summary);
}

void print_below_hard(std::ostream& out, std::vector<size_summary> const& summary, bool utf8) {
  std::vector<column> columns;
  for (auto const which : {plain, adaptive, beta_8, half, critical})
    columns.push_back(below_hard(which, utf8));
  print_table(out, "Points below hard attention, seed by seed, and their 95 % interval", columns,
              summary);
}

void print(std::ostream& out, std::vector<size_summary> const& summary,
           charts::terminal_style style) {
  charts::print_folded(
      out,
      "plain: softmax as in training. adaptive: at test time alone, every row at an inverse "
      "temperature beta by its entropy, as published. beta 8: every row at 8. 2 log n: at 2 ln n / "
      "ln 16, n items. half: at the smallest beta that gives the largest score half the weight. "
      "critical: at twice max ln N(g) / g, N(g) items within g of the largest score. hard: the "
      "largest score alone. own fit: as adaptive, with a polynomial fitted to the network.",
      style.columns);
  out << '\n';
  auto const utf8 = style.utf8;
  print_accuracies(out, summary, utf8);
  print_below_hard(out, summary, utf8);
  print_table(out, "Accuracy, %, of the own fit; and the paper's",
              {accuracy(own, utf8), from_paper(plain), from_paper(adaptive)}, summary);
  constexpr auto weight = &measurement::largest_weight, entropy = &measurement::entropy,
                 beta = &measurement::inverse_temperature;
  print_table(out, cell("largest weight", 33) + cell("entropy, nats", 18) + cell("beta", 27),
              {mean(plain, weight, 4), mean(adaptive, weight, 4), mean(half, weight, 4),
               mean(plain, entropy, 3), mean(adaptive, entropy, 3), mean(adaptive, beta, 2),
               mean(half, beta, 2), mean(critical, beta, 2)},
              summary);
  if (summary.size() > 1) {
    for (auto const& line : charts::draw(accuracy_chart(summary), style)) out << line << '\n';
    out << '\n';
  }
}

void write_csv(std::ostream& out, std::vector<std::size_t> const& sizes,
               std::vector<seed_result> const& results) {
  std::vector<std::string> columns{"seed", "items", "measure"};
  columns.insert(columns.end(), rule_names.begin(), rule_names.end());
  charts::csv csv(out, columns);
  for (auto const& result : results)
    for (std::size_t i = 0; i < sizes.size(); ++i)
      for (auto const& [name, what] :
           {std::pair{"accuracy", &measurement::accuracy},
            {"largest_weight", &measurement::largest_weight},
            {"entropy", &measurement::entropy},
            {"inverse_temperature", &measurement::inverse_temperature}}) {
        csv.put(result.seed), csv.put(sizes[i]), csv.put(name);
        for (auto const& m : result.by_size[i]) csv.put(m.*what);
        csv.end_line();
      }
}

std::vector<size_summary> read_csv(std::string const& name) {
  auto const require = [&](bool holds, std::string const& what) {
    if (!holds) throw std::invalid_argument(name + ": " + what);
  };
  std::ifstream file(name);
  require(file.is_open(), "cannot be read");
  std::ostringstream header;
  write_csv(header, {}, {});
  std::string line;
  std::getline(file, line);
  auto const expected = header.str().substr(0, header.str().size() - 1);
  require(line == expected, "must begin with " + expected);
  std::vector<std::size_t> sizes;
  std::map<std::uint64_t, seed_result> results;
  while (std::getline(file, line)) {
    seed_result row;
    std::size_t size = 0;
    char measure[32] = "";
    int at = 0;
    require(std::sscanf(line.c_str(), "%lu,%zu,%31[^,]%n", &row.seed, &size, measure, &at) == 3,
            "must have a seed, items and a measure, got " + line);
    if (measure != std::string("accuracy")) continue;
    auto& of_seed = results[row.seed].by_size.emplace_back();
    for (auto& m : of_seed) {
      int length = 0;
      require(std::sscanf(line.c_str() + at, ",%lf%n", &m.accuracy, &length) == 1 &&
                  m.accuracy >= 0 && m.accuracy <= 1,
              "must have an accuracy for each rule, got " + line);
      at += length;
    }
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
    require(sizes[results[row.seed].by_size.size() - 1] == size,
            "must have the same sizes for every seed, got " + line);
  }
  std::vector<seed_result> all;
  for (auto const& [seed, result] : results) {
    all.push_back(result);
    require(result.by_size.size() == sizes.size(),
            "must have every size for seed " + std::to_string(seed));
  }
  require(all.size() >= 2, "must have two seeds or more");
  return summarise(sizes, all);
}

std::string to_svg(std::vector<size_summary> const& summary,
                   std::vector<seed_result> const& results, std::string const& subtitle) {
  auto all = accuracy_chart(summary);
  for (auto const which : {plain, adaptive}) {
    auto line = curve("paper, " + std::string(rule_names[which]), summary,
                      [](size_summary const&) { return 0.0; });
    line.x.clear(), line.y.clear();
    for (auto const& s : summary) {
      if (s.paper[which])
        line.x.push_back(static_cast<double>(s.size)), line.y.push_back(*s.paper[which]);
    }
    all.curves.push_back(std::move(line));
  }
  charts::chart weight{.title = "largest weight", .x = all.x, .y = {"", true}},
      entropy{.title = "entropy of the weights", .x = all.x, .y = {"nats"}};
  for (auto const which : drawn) {
    auto const name = std::string(rule_names[which]);
    weight.curves.push_back(
        curve(name, summary, [&](size_summary const& s) { return s.mean[which].largest_weight; }));
    entropy.curves.push_back(
        curve(name, summary, [&](size_summary const& s) { return s.mean[which].entropy; }));
  }
  charts::chart beta{.title = "beta of a row, by its entropy, and in controls",
                     .x = {"entropy of the row, in nats"},
                     .y = {"beta"}};
  auto const entropies = charts::steps(0, 8, 0.02);
  auto const add = [&](rule which, adaptive_temperature const& rule) {
    beta.curves.push_back(charts::curve(std::string(rule_names[which]), entropies, [&](double h) {
      return rule.inverse_temperature({.entropy = h});
    }));
  };
  add(plain, {.coefficients = {0, 0, 0, 0, 1}});
  add(adaptive, {});
  add(own, results.front().fit);
  add(beta_8, {.coefficients = {0, 0, 0, 0, 8}});
  return charts::svg({all, beta, weight, entropy},
                     {.title = "Max retrieval under rules of softmax", .subtitle = subtitle});
}

std::string map_svg(std::vector<std::size_t> const& sizes, seed_result const& first) {
  constexpr double gap = 22, left = 28, width = weight_map::items * 10;
  std::vector<std::size_t> shown;
  std::size_t const step = sizes.size() > 6 ? 2 : 1;
  for (auto i = (sizes.size() - 1) % step; i < sizes.size(); i += step) shown.push_back(i);
  charts::svg_drawing out;
  auto const across = std::max(static_cast<double>(shown.size()) * (width + gap), 660.0);
  out.text({left, 44}, 20, across, "title",
           "Weights of the ten largest items, the largest at left");
  out.text({left, 68}, 13, across, "label",
           "a row is a set; bluer: more weight; the number: mean weight of the largest item");
  double y = 68;
  for (auto const& [name, of] :
       {std::pair{"plain softmax", &weight_map::plain},
        std::pair{"adaptive temperature, as published", &weight_map::adaptive}}) {
    out.text({left, y += 34}, 14, across, "title", name);
    y += 14;
    double height = 0;
    for (std::size_t column = 0; column < shown.size(); ++column) {
      auto const& weights = first.maps[shown[column]].*of;
      auto const rows = weights.size() / weight_map::items;
      charts::box const at{left + static_cast<double>(column) * (width + gap), y, width,
                           height = static_cast<double>(rows) * 7};
      double of_largest = 0;
      for (std::size_t row = 0; row < rows; ++row)
        of_largest += weights[row * weight_map::items] / static_cast<double>(rows);
      charts::draw_map(out, at, rows, weight_map::items, [&](std::size_t row, std::size_t item) {
        return weights[row * weight_map::items + item];
      });
      auto const middle = at.x + width / 2;
      out.text({middle, y + height + 16}, 12, width + gap, "middle", fixed(of_largest, 2));
      out.text({middle, y + height + 32}, 11, width + gap, "label middle",
               std::to_string(sizes[shown[column]]) + " items");
    }
    y += height + 32;
  }
  return out.page(across + 2 * left, y + 24);
}

}  // namespace retrieval
