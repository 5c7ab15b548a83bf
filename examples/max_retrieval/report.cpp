#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <ostream>

#include "posenc/softmax/adaptive_temperature.hpp"
#include "reading.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace max_retrieval {
namespace {

using posenc::adaptive_temperature;

struct column {
  std::string name;
  int width;
  std::function<std::string(size_summary const&)> cell;
};

std::string right(std::string const& text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - charts::display_width(text))),
                     ' ') +
         text;
}

void print_table(std::ostream& out, std::string const& title, std::vector<column> const& columns,
                 std::vector<size_summary> const& summary) {
  out << title << '\n' << right("items", 6);
  for (auto const& c : columns) out << right(c.name, c.width);
  out << '\n';
  for (auto const& s : summary) {
    out << right(std::to_string(s.size), 6);
    for (auto const& c : columns) out << right(c.cell(s), c.width);
    out << '\n';
  }
  out << '\n';
}

column accuracy(rule which, bool utf8) {
  return {std::string(rule_names[which]), 14,
          [=](size_summary const& s) { return with_interval(s.accuracy[which], utf8); }};
}

column gain(rule which, bool utf8) {
  return {std::string(rule_names[which]) + " - plain", 20,
          [=](size_summary const& s) { return with_interval(s.gain[which], utf8); }};
}

column from_paper(rule which) {
  return {"paper", 7,
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

// In this order: where adaptive and held agree, the curve of adaptive is seen.
constexpr rule drawn[] = {plain, held, adaptive};

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

void print(std::ostream& out, std::vector<size_summary> const& summary,
           charts::terminal_style style) {
  charts::print_folded(
      out,
      "plain: softmax as in training. adaptive: at test time alone, every row at "
      "an inverse temperature beta by its entropy, as "
      "published. held: the same, but beta stays at its maximum, " +
          fixed(adaptive_temperature{}.polynomial(adaptive_temperature::entropy_of_maximum), 2) +
          ", from " + fixed(adaptive_temperature::entropy_of_maximum, 2) + " nats on.",
      style.columns);
  out << '\n';
  print_table(out, "Accuracy, %: the mean over seeds, and its 95 % interval",
              {accuracy(plain, style.utf8), from_paper(plain), accuracy(adaptive, style.utf8),
               from_paper(adaptive), accuracy(held, style.utf8)},
              summary);
  print_table(out, "Points of accuracy gained, seed by seed",
              {gain(adaptive, style.utf8), gain(held, style.utf8)}, summary);
  constexpr auto weight = &measurement::largest_weight, entropy = &measurement::entropy,
                 beta = &measurement::inverse_temperature;
  print_table(out, right("largest weight", 33) + right("entropy, nats", 27) + right("beta", 18),
              {mean(plain, weight, 4), mean(adaptive, weight, 4), mean(held, weight, 4),
               mean(plain, entropy, 3), mean(adaptive, entropy, 3), mean(held, entropy, 3),
               mean(adaptive, beta, 3), mean(held, beta, 3)},
              summary);
  if (summary.size() > 1) {
    for (auto const& line : charts::draw(accuracy_chart(summary), style)) out << line << '\n';
    out << '\n';
  }
  for (auto const& sentence : readings(summary, style.utf8))
    charts::print_folded(out, sentence, style.columns);
}

void write_csv(std::ostream& out, std::vector<std::size_t> const& sizes,
               std::vector<seed_result> const& results) {
  out << "seed,items,rule,accuracy,largest_weight,entropy,inverse_temperature,unaided,training_"
         "loss\n";
  for (auto const& result : results) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (auto const which : {plain, adaptive, held}) {
        auto const& m = result.by_size[i][which];
        out << result.seed << ',' << sizes[i] << ',' << rule_names[which];
        for (auto const x : {m.accuracy, m.largest_weight, m.entropy, m.inverse_temperature,
                             m.unaided, result.loss}) {
          char number[32];
          std::snprintf(number, sizeof number, ",%.9g", x);
          out << number;
        }
        out << '\n';
      }
    }
  }
}

std::string to_svg(std::vector<size_summary> const& summary, std::string const& subtitle) {
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
  return charts::svg({all, weight, entropy}, {.title = "Max retrieval under three rules of softmax",
                                              .subtitle = subtitle,
                                              .charts_per_row = 3});
}

}  // namespace max_retrieval
