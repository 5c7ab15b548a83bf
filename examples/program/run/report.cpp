#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "reporting/csv.hpp"
#include "reporting/text.hpp"

namespace run {
namespace {

struct placed_head {
  std::size_t layer, head;
  head_record const* record;
};

// The heads whose attention distance explains best come first.
std::vector<placed_head> by_distance(measurement const& of) {
  std::vector<placed_head> all;
  for (std::size_t layer = 0; layer < of.layers.size(); ++layer)
    for (std::size_t head = 0; head < of.layers[layer].heads.size(); ++head)
      all.push_back({layer, head, &of.layers[layer].heads[head]});
  std::ranges::stable_sort(all, std::ranges::greater{}, [](placed_head const& h) {
    return h.record->explained_by_distance();
  });
  return all;
}

std::string name_of(placed_head const& h) {
  return std::to_string(h.layer) + "." + std::to_string(h.head);
}

void print_heads(std::ostream& out, measurement const& of, int columns) {
  auto const all = by_distance(of);
  if (all.empty() || all.front().record->queries() == 0) {
    charts::print_folded(out,
                         "Heads are measured from the query " + std::to_string(first_query) +
                             " on: the text is too short.",
                         columns);
    return;
  }
  constexpr std::size_t most = 12;
  out << '\n';
  charts::print_folded(out,
                       "Heads by the share of their weights' variance that distance alone "
                       "explains, the most positional first:",
                       columns);
  out << "  layer.head" << charts::cell("explained", 11) << charts::cell("looks back", 12)
      << charts::cell("with weight", 13) << charts::cell("entropy", 9)
      << charts::cell("first", 10) << '\n';
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    auto const& h = *all[i].record;
    auto const offset = h.nearest_offset();
    auto const name = "  " + name_of(all[i]);
    out << name << std::string(12 - std::min<std::size_t>(12, name.size()), ' ')
        << charts::cell(percent(h.explained_by_distance()), 11)
        << charts::cell(std::to_string(offset.distance), 12)
        << charts::cell(short_number(offset.weight, 2), 13) << charts::cell(short_number(h.entropy(), 2), 9)
        << charts::cell(short_number(h.on_first(), 2), 10) << '\n';
  }
  if (all.size() > most)
    out << "  and " << all.size() - most << " more, in --csv FILE\n";
  charts::print_folded(out,
                       "Entropy is that of the weights over ln n: 1 is attention to all tokens "
                       "alike. First is the weight on the first token.",
                       columns);
}

void print_predictions(std::ostream& out, predictions const& of, int columns) {
  auto const mean = of.mean();
  std::string text = "cross-entropy " + short_number(mean.mean) + " nats per token";
  if (std::isfinite(mean.half_width))
    text += " (" + short_number(mean.low()) + " to " + short_number(mean.high()) + " with 95 % confidence)";
  text += ", perplexity " + short_number(std::exp(mean.mean));
  charts::print_folded(out, text, columns);
  text = "by thirds of the text:";
  for (auto const part : of.parts(3)) text += " " + short_number(part);
  if (of.cross_entropy.size() >= 3) charts::print_folded(out, text, columns);
}

void print_costs(std::ostream& out, run_report const& report, int columns) {
  auto const own = report.own.of_text.mean().mean;
  std::size_t width = 6;
  for (auto const& each : report.costs) width = std::max(width, each.name.size());
  width = std::min<std::size_t>(width, static_cast<std::size_t>(std::max(columns - 40, 12)));
  out << '\n'
      << std::string(width + 2, ' ') << charts::cell("cost", 9) << charts::cell("KL", 10)
      << charts::cell("agreement", 11) << '\n';
  for (auto const& each : report.costs) {
    auto const name = each.name.substr(0, width);
    out << "  " << name << std::string(width - name.size(), ' ')
        << charts::cell(short_number(each.of.mean().mean - own, 3), 9)
        << charts::cell(short_number(each.of.mean_kl(), 3), 10)
        << charts::cell(percent(each.of.agreement()), 11) << '\n';
    if (report.explains_costs) out << "    " << each.says << '\n';
    if (!each.writes.empty()) out << "    writes: " << each.writes << '\n';
  }
  charts::print_folded(out,
                       "The cost is the change of the cross-entropy, in nats per token. KL is the "
                       "divergence from the model's own predictions, in nats. Agreement is the "
                       "share of tokens with the same likeliest next token.",
                       columns);
}

}  // namespace

std::string short_number(double number, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, number);
  return text;
}
std::string percent(double part) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * part);
  return text;
}

void print(std::ostream& out, run_report const& report, charts::terminal_style const& style) {
  charts::print_folded(out, report.title + "; " + std::to_string(report.tokens) + " tokens",
                       style.columns);
  print_predictions(out, report.own.of_text, style.columns);
  if (auto const& text = report.own.of_text; !report.against.empty())
    charts::print_folded(out,
                         "KL divergence from " + report.against + " " +
                             short_number(text.mean_kl()) + " nats; " + percent(text.agreement()) +
                             " of the tokens have the same likeliest next token",
                         style.columns);
  if (!report.writes.empty())
    charts::print_folded(out, "writes: " + report.writes, style.columns);
  if (!report.costs.empty()) print_costs(out, report, style.columns);
  if (report.shows_heads) print_heads(out, report.own, style.columns);
}

void write_csv(std::ostream& out, run_report const& report) {
  if (!report.costs.empty()) {
    charts::csv file(out, {"change", "cross_entropy", "cost", "kl", "agreement"});
    auto const own = report.own.of_text.mean().mean;
    file.line("none", own, 0.0, 0.0, 1.0);
    for (auto const& each : report.costs)
      file.line(each.name, each.of.mean().mean, each.of.mean().mean - own, each.of.mean_kl(),
                each.of.agreement());
    return;
  }
  std::vector<std::string> columns{"layer",         "head",     "explained_by_distance", "entropy",
                                   "on_first",      "previous", "looks_back",            "with_weight"};
  auto const bins = distance_bins(report.tokens);
  for (std::size_t i = 0; i + 1 < bins.size(); ++i)
    columns.push_back("weight_at_" + std::to_string(bins[i]));
  charts::csv file(out, columns);
  for (std::size_t layer = 0; layer < report.own.layers.size(); ++layer)
    for (std::size_t head = 0; head < report.own.layers[layer].heads.size(); ++head) {
      auto const& h = report.own.layers[layer].heads[head];
      auto const offset = h.nearest_offset();
      file.put(layer), file.put(head), file.put(h.explained_by_distance()), file.put(h.entropy());
      file.put(h.on_first()), file.put(h.previous()), file.put(offset.distance);
      file.put(offset.weight);
      for (std::size_t i = 0; i + 1 < bins.size(); ++i)
        file.put(h.at_distances(bins[i], bins[i + 1]));
      file.end_line();
    }
}

}  // namespace run
