#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <ostream>

#include "posenc/softmax/adaptive_temperature.hpp"
#include "reading.hpp"
#include "reporting/map.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/svg_drawing.hpp"
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

column gain(rule which, rule over, by_rule<interval> size_summary::*of, bool utf8) {
  return {std::string(rule_names[which]) + " - " + std::string(rule_names[over]), 20,
          [=](size_summary const& s) { return with_interval((s.*of)[which], utf8); }};
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

constexpr rule drawn[] = {plain, adaptive, own, beta_8, hard};

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

void print(std::ostream& out, std::vector<size_summary> const& summary,
           std::vector<seed_result> const& results, charts::terminal_style style) {
  charts::print_folded(
      out,
      "plain: softmax as in training. adaptive: at test time alone, every row at an inverse "
      "temperature beta by its entropy, as published. own fit: the same with a polynomial fitted "
      "to the network. beta 2, 4, 8: every row at this beta. hard: at beta of a million, which "
      "leaves the largest score alone.",
      style.columns);
  out << '\n';
  auto const utf8 = style.utf8;
  print_table(out, "Accuracy, %: the mean over seeds, and its 95 % interval",
              {accuracy(plain, utf8), from_paper(plain), accuracy(adaptive, utf8),
               from_paper(adaptive), accuracy(own, utf8)},
              summary);
  print_table(out, "Its controls",
              {accuracy(beta_2, utf8), accuracy(beta_4, utf8), accuracy(beta_8, utf8),
               accuracy(hard, utf8)},
              summary);
  print_table(out, "Points of accuracy gained, seed by seed",
              {gain(adaptive, plain, &size_summary::gain, utf8),
               gain(own, adaptive, &size_summary::over_adaptive, utf8),
               gain(beta_8, adaptive, &size_summary::over_adaptive, utf8)},
              summary);
  constexpr auto weight = &measurement::largest_weight, entropy = &measurement::entropy,
                 beta = &measurement::inverse_temperature;
  print_table(out, right("largest weight", 33) + right("entropy, nats", 27) + right("beta", 18),
              {mean(plain, weight, 4), mean(adaptive, weight, 4), mean(own, weight, 4),
               mean(plain, entropy, 3), mean(adaptive, entropy, 3), mean(own, entropy, 3),
               mean(adaptive, beta, 3), mean(own, beta, 3)},
              summary);
  if (summary.size() > 1) {
    for (auto const& line : charts::draw(accuracy_chart(summary), style)) out << line << '\n';
    out << '\n';
  }
  for (auto const& sentence : readings(summary, results, style.utf8))
    charts::print_folded(out, sentence, style.columns);
}

void write_csv(std::ostream& out, std::vector<std::size_t> const& sizes,
               std::vector<seed_result> const& results) {
  out << "seed,items,rule,accuracy,largest_weight,entropy,inverse_temperature,unaided,training_"
         "loss\n";
  for (auto const& result : results) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::size_t which = 0; which < rule_count; ++which) {
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
  add(own, results.front().fit.rule);
  beta.curves.push_back(charts::curve(std::string(rule_names[beta_8]), entropies,
                                      [](double) { return constant_beta(beta_8); }));
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

}  // namespace max_retrieval
