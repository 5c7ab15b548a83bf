// Pictures of a run: where heads look, as maps and against distance, and what changes cost.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "program/run/report.hpp"
#include "reporting/map.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/svg_drawing.hpp"
#include "reporting/text.hpp"

namespace run {
namespace {

constexpr double chart_width = 300, gap = 28, small = 11;

charts::chart chart_of(measurement const& of, std::size_t layer, std::size_t tokens) {
  charts::chart c{.title = "Layer " + std::to_string(layer),
                  .x = {"distance + 1, in tokens", true},
                  .y = {"mean weight", false}};
  auto const bins = distance_bins(tokens);
  auto const& heads = of.layers[layer].heads;
  constexpr std::size_t most = 8;
  for (std::size_t head = 0; head < std::min(most, heads.size()); ++head) {
    charts::series s{.name = "head " + std::to_string(head)};
    for (std::size_t i = 0; i + 1 < bins.size(); ++i) {
      s.x.push_back(static_cast<double>(bins[i]) + 1);
      s.y.push_back(heads[head].at_distances(bins[i], bins[i + 1]));
    }
    c.curves.push_back(std::move(s));
  }
  return c;
}

// A map with a title above it, and what its full colour is below.
void draw_titled(charts::svg_drawing& out, charts::box const& at, std::string const& title,
                 std::string const& first, std::string const& last, std::string const& says) {
  out.text({at.x, at.y - 10}, 14, at.width, "title", title);
  out.text({at.x, at.y + at.height + 15}, small, at.width, "label", first);
  out.text({at.x + at.width, at.y + at.height + 15}, small, at.width, "label end", last);
  out.text({at.x, at.y + at.height + 31}, small, at.width, "label", says);
}

// The numbers of layers beside their rows, as many as have room.
void label_layers(charts::svg_drawing& out, charts::box const& at,
                  std::vector<std::size_t> const& layers) {
  auto const height = at.height / static_cast<double>(layers.size());
  double last = -100;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const middle = at.y + height * (static_cast<double>(i) + 0.5) + 4;
    if (middle - last < 14) continue;
    out.text({at.x - 6, middle}, small, 24, "label end", std::to_string(layers[i]));
    last = middle;
  }
}

// Layers x heads, in shades of a number of each head.
void draw_heads(charts::svg_drawing& out, charts::box const& at, measurement const& of,
                std::string const& title, std::function<double(head_record const&)> const& number) {
  double most = 0;
  std::vector<std::size_t> layers;
  for (auto const& layer : of.layers) {
    layers.push_back(layers.size());
    for (auto const& head : layer.heads) most = std::max(most, number(head));
  }
  auto const heads = of.layers.front().heads.size();
  charts::draw_map(out, at, layers.size(), heads, [&](std::size_t layer, std::size_t head) {
    return most > 0 ? number(of.layers[layer].heads[head]) / most : 0;
  });
  label_layers(out, at, layers);
  draw_titled(out, at, title, "head 0", std::to_string(heads - 1),
              "layers downwards; full colour: " + percent(most));
}

// Heads of each layer x pairs, in shades of norms; of layers that rotate.
void draw_norms(charts::svg_drawing& out, charts::box const& at, measurement const& of,
                std::string const& title, std::vector<double> pair_norms::*which) {
  struct row {
    std::vector<double> const* norms;
    std::size_t first, pairs;
  };
  std::vector<row> rows;
  std::vector<std::size_t> layers;
  std::size_t pairs = 0;
  double most = 0;
  for (std::size_t layer = 0; layer < of.layers.size(); ++layer) {
    auto const& norms = of.layers[layer].norms;
    if (!norms) continue;
    layers.push_back(layer);
    auto const& numbers = (*norms).*which;
    for (std::size_t i = 0; i < numbers.size(); i += norms->pairs)
      rows.push_back({&numbers, i, norms->pairs});
    for (auto const norm : numbers) most = std::max(most, norm);
    pairs = std::max(pairs, norms->pairs);
  }
  charts::draw_map(out, at, rows.size(), pairs, [&](std::size_t i, std::size_t pair) {
    auto const& [numbers, first, count] = rows[i];
    return pair < count && most > 0 ? (*numbers)[first + pair] / most : 0;
  });
  for (std::size_t i = 1; i < layers.size(); ++i) {
    auto const y = at.y + at.height * static_cast<double>(i) / static_cast<double>(layers.size());
    out.line({at.x, y}, {at.x + at.width, y}, "zero");
  }
  label_layers(out, at, layers);
  draw_titled(out, at, title, "pair 0, the fastest", std::to_string(pairs - 1),
              "heads downwards; full colour: " + short_number(most, 3));
}

bool rotates(measurement const& of) {
  return std::ranges::any_of(of.layers, [](layer_record const& l) { return l.norms.has_value(); });
}

// The heights of the two rows of maps, with their texts.
constexpr double above_map = 30, below_map = 60;
double height_of_heads(measurement const& of) {
  return std::clamp(14 * static_cast<double>(of.layers.size()), 56.0, 240.0);
}
double height_of_norms(measurement const& of) {
  auto const heads = of.layers.size() * of.layers.front().heads.size();
  return rotates(of) ? std::clamp(4 * static_cast<double>(heads), 80.0, 320.0) : 0;
}
double height_of_maps(measurement const& of) {
  return 2 * (above_map + below_map) + height_of_heads(of) +
         std::max(height_of_heads(of), height_of_norms(of));
}

void draw_maps(charts::svg_drawing& out, charts::point corner, measurement const& of) {
  auto const column = [&](std::size_t i, double top, double height) {
    auto const x = corner.x + static_cast<double>(i) * (chart_width + gap);
    return charts::box{x + 24, top + above_map, chart_width - 24, height};
  };
  auto const heads = height_of_heads(of), norms = height_of_norms(of);
  draw_heads(out, column(0, corner.y, heads), of, "Explained by distance alone",
             [](head_record const& h) { return h.explained_by_distance(); });
  draw_heads(out, column(1, corner.y, heads), of, "Weight 1 to 3 tokens back",
             [](head_record const& h) { return h.nearest_offset().weight; });
  draw_heads(out, column(2, corner.y, heads), of, "Weight on the first token",
             [](head_record const& h) { return h.on_first(); });
  auto const top = corner.y + above_map + heads + below_map;
  draw_heads(out, column(norms > 0 ? 2 : 0, top, heads), of, "Entropy over ln n",
             [](head_record const& h) { return h.entropy(); });
  if (norms == 0) return;
  draw_norms(out, column(0, top, norms), of, "Norms of queries, by pair", &pair_norms::q);
  draw_norms(out, column(1, top, norms), of, "Norms of keys, by pair", &pair_norms::k);
}

std::string bars(run_report const& report) {
  constexpr double left = 250, width = 420, row = 18, top = 56;
  auto const own = report.own.of_text.mean().mean;
  double most = 1e-9;
  for (auto const& each : report.costs) most = std::max(most, each.of.mean().mean - own);
  charts::svg_drawing out;
  out.text({20, 26}, 15, 700, "title", report.title);
  out.text({20, 44}, 11, 700, "label",
           "what each change costs, in nats per token, over the model's " + short_number(own));
  double y = top;
  for (auto const& each : report.costs) {
    auto const by = each.of.mean().mean - own;
    out.text({left - 8, y + 12}, 11, left - 20, "label end", each.name);
    out.rectangle({left, y + 2, std::max(1.0, width * std::max(by, 0.0) / most), row - 5}, "f0");
    out.text({left + width * std::max(by, 0.0) / most + 6, y + 12}, 11, 80, "label",
             (by < 0 ? "" : "+") + short_number(by, 3));
    y += row;
  }
  return out.page(left + width + 80, y + 16);
}

// The number behind the prefix of a change's name.
std::optional<double> number_behind(std::string const& name, std::string const& prefix) {
  std::size_t number = 0;
  if (!name.starts_with(prefix)) return {};
  auto const* const first = name.data() + prefix.size();
  if (std::from_chars(first, name.data() + name.size(), number).ec != std::errc()) return {};
  return static_cast<double>(number);
}

// Means over layers and heads, relative to the largest.
std::vector<double> mean_norms(measurement const& of, std::vector<double> pair_norms::*which) {
  std::vector<double> sums;
  for (auto const& layer : of.layers) {
    if (!layer.norms) continue;
    auto const pairs = layer.norms->pairs;
    sums.resize(std::max(sums.size(), pairs));
    auto const& numbers = (*layer.norms).*which;
    for (std::size_t i = 0; i < numbers.size(); ++i) sums[i % pairs] += numbers[i];
  }
  auto const most = sums.empty() ? 0 : *std::ranges::max_element(sums);
  for (auto& sum : sums) sum = most > 0 ? sum / most : 0;
  return sums;
}

// What the fastest pairs alone cost, what some pairs cost that stop alone, and the norms of pairs:
// from the first to the last that has three quarters of the largest is the band of high norms.
std::string curves_by_pair(run_report const& report) {
  auto const own = report.own.of_text.mean().mean;
  charts::chart fastest{.title = "The fastest pairs alone rotate",
                        .x = {"pairs that rotate", false},
                        .y = {"cost, nats per token", false}},
      stopped{.title = "Some pairs alone stop",
              .x = {"first pair that stops", false},
              .y = {"cost, nats per token", false}},
      norms{.title = "Norms by pair",
            .x = {"pair, 0 the fastest", false},
            .y = {"mean norm, of the largest", false}};
  for (auto* c : {&fastest, &stopped}) c->curves.push_back({.name = "cost"});
  for (auto const& each : report.costs) {
    auto const add = [&](charts::chart& c, double x) {
      c.curves.front().x.push_back(x);
      c.curves.front().y.push_back(each.of.mean().mean - own);
    };
    if (auto const pairs = number_behind(each.name, "p_rope_")) add(fastest, *pairs);
    if (auto const pair = number_behind(each.name, "without_pairs_")) add(stopped, *pair);
  }
  auto const queries = mean_norms(report.own, &pair_norms::q),
             keys = mean_norms(report.own, &pair_norms::k);
  auto const is_high = [&](std::size_t i) { return std::max(queries[i], keys[i]) >= 0.75; };
  std::size_t first = 0, last = keys.size();
  while (first < last && !is_high(first)) ++first;
  while (last > first && !is_high(last - 1)) --last;
  for (auto const& [name, all] : {std::pair("queries", &queries), std::pair("keys", &keys)})
    norms.curves.push_back(
        {.name = name, .x = charts::steps(0, static_cast<double>(all->size()) - 1), .y = *all});
  for (auto* c : {&stopped, &norms}) {
    c->marks = {{static_cast<double>(first), "band"}};
    if (first + 1 < last) c->marks.push_back({static_cast<double>(last) - 1, "to here"});
  }
  auto const pairs = static_cast<double>(keys.size());
  fastest.marks = {{static_cast<double>(last), "whole band"}, {0.75 * pairs, "p = 0.75"}};
  return charts::svg({fastest, stopped, norms},
                     {.title = report.title,
                      .subtitle = "costs over the model's " + short_number(own) +
                                  " nats per token; band: norms of 0.75 of the largest or more",
                      .charts_per_row = 3,
                      .chart_width = chart_width,
                      .chart_height = 240});
}

}  // namespace

std::string to_svg(run_report const& report) {
  if (report.costs.size() > 1 && report.is_sweep) return curves_by_pair(report);
  if (report.costs.size() > 1) return bars(report);
  constexpr std::size_t most = 12;
  auto const layers = report.own.layers.size();
  std::vector<charts::chart> all;
  for (std::size_t i = 0; i < std::min(most, layers); ++i)
    all.push_back(chart_of(report.own, layers <= most ? i : i * layers / most, report.tokens));
  charts::svg_page page{.title = report.title,
                        .subtitle = "heads, the mean of " + std::to_string(report.tokens) +
                                    " tokens; below, attention against distance",
                        .charts_per_row = 3,
                        .chart_width = chart_width,
                        .chart_height = 220};
  if (layers > 0 && report.own.layers.front().heads.front().queries() > 0) {
    page.above_width = 3 * (chart_width + gap) - gap;
    page.above_height = height_of_maps(report.own);
    page.draw_above = [&](charts::svg_drawing& out, charts::point corner) {
      draw_maps(out, corner, report.own);
    };
  }
  return charts::svg(all, page);
}

}  // namespace run
