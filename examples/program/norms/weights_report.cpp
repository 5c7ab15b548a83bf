#include "weights_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <sstream>
#include <utility>

#include "posenc/analysis/running_moments.hpp"
#include "reporting/csv.hpp"
#include "reporting/map.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace norms {
namespace {

using charts::compact;
using place = model_of_weights::place;

std::string percent(double part) { return compact(std::round(1000 * part) / 10) + " %"; }

std::string name_of(model_of_weights const& m, place p) {
  return "layer " + std::to_string(m.layers[p.layer].layer) + ", head " +
         std::to_string(m.at(p).head);
}

// The first of the ranking.
std::vector<place> highest(model_of_weights const& m, std::size_t most) {
  auto all = m.by_fast_share();
  all.resize(std::min(all.size(), most));
  return all;
}

std::size_t most_pairs(model_of_weights const& m) {
  std::size_t most = 0;
  for (auto const& layer : m.layers) most = std::max(most, layer.inv_freq.size());
  return most;
}

charts::chart shares(model_of_weights const& m) {
  charts::chart c{"Share of a head's budget", {"pair"}, {"share"}, {}};
  charts::series all{.name = "all heads"};
  for (std::size_t i = 0; i < most_pairs(m); ++i) {
    posenc::running_moments share;
    for (auto const& layer : m.layers)
      for (auto const& head : layer.heads)
        if (i < head.share.size()) share.add(head.share[i]);
    all.x.push_back(static_cast<double>(i)), all.y.push_back(share.mean());
    all.low.push_back(share.low()), all.high.push_back(share.high());
  }
  auto const first = m.by_fast_share().front();
  charts::series one{.name = name_of(m, first)};
  one.y = m.at(first).share;
  one.x = charts::steps(0, static_cast<double>(one.y.size()) - 1);
  c.curves = {std::move(all), std::move(one)};
  return c;
}

// Norms of a layer's heads, their mean over heads; queries or keys.
double mean_norm(std::vector<norms_of_head> const& heads, std::size_t pair) {
  double sum = 0;
  for (auto const& head : heads) sum += head[pair];
  return sum / static_cast<double>(heads.size());
}

// What biases of keys there are, and whether a cache should leave them out.
void print_biases(std::ostream& out, model_of_weights const& m, int columns) {
  auto const has_biases = [](layer_of_weights const& layer) { return !layer.biases.empty(); };
  if (std::ranges::none_of(m.layers, has_biases)) {
    charts::print_folded(out, "Keys have no bias: a cache has nothing to leave out.", columns);
    return;
  }
  auto const has_norm = [](layer_of_weights const& layer) { return layer.norm_behind; };
  if (std::ranges::any_of(m.layers, has_norm)) {
    charts::print_folded(
        out, "Keys have a bias, and a norm behind it: a cache cannot leave it out.", columns);
    return;
  }
  struct head_of_keys {
    std::size_t layer, head;
    bias_of_head const* bias;
    double gain;  // errors of the first format, as it is over bias out
  };
  std::vector<head_of_keys> all;
  for (auto const& layer : m.layers)
    for (std::size_t head = 0; head < layer.biases.size(); ++head) {
      auto const& bias = layer.biases[head];
      auto const gain = bias.ways.empty() || bias.ways[1] == 0 ? 1 : bias.ways[0] / bias.ways[1];
      all.push_back({layer.layer, head, &bias, gain});
    }
  std::ranges::stable_sort(all, std::ranges::greater{}, &head_of_keys::gain);
  charts::print_folded(out,
                       "Keys have a bias, and no norm behind it. rms errors of a logit with it in "
                       "the cache, and left out:",
                       columns);
  constexpr std::size_t most = 8, most_pairs = 3;
  out << "  layer, key head" << charts::cell("norm", 8) << charts::cell("of a key", 10);
  for (auto const* const format : bias_formats)
    out << charts::cell(format, 8) << charts::cell("out", 8);
  out << "  outlying pairs\n";
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
    auto const& [layer, head, bias, gain] = all[i];
    auto const name = "  " + std::to_string(layer) + ", " + std::to_string(head);
    out << name << std::string(17 - std::min<std::size_t>(17, name.size()), ' ')
        << charts::cell(compact(bias->norm), 8) << charts::cell(percent(bias->share), 10);
    for (std::size_t way = 0; way < 2 * std::size(bias_formats); ++way)
      out << charts::cell(bias->ways.empty() ? "-" : compact(bias->ways[way], 2), 8);
    for (std::size_t pair = 0; pair < std::min(bias->outlying.size(), most_pairs); ++pair)
      out << (pair == 0 ? "  " : " ") << bias->outlying[pair];
    if (bias->outlying.size() > most_pairs) out << " +" << bias->outlying.size() - most_pairs;
    out << '\n';
  }
  if (all.size() > most) out << "  and " << all.size() - most << " more, in --csv FILE\n";
  auto const first = all.front().gain, median = all[all.size() / 2].gain;
  charts::print_folded(
      out,
      first > 1.25
          ? "Leaving it out (posenc keys) would help: errors of " + std::string(bias_formats[0]) +
                " keys would be " + compact(first, 2) + " times smaller in layer " +
                std::to_string(all.front().layer) + ", head " + std::to_string(all.front().head) +
                ", and " + compact(median, 2) + " times in the median head."
          : "Leaving it out would hardly help: it lies within what keys are anyway.",
      columns);
}

constexpr double border = 28, small = 12;

// Lines through a map, along the rows, where pairs no longer turn within so many tokens; rows_of:
// how many rows of the map a layer has.
void draw_turns(charts::svg_drawing& out, charts::box const& at, model_of_weights const& m,
                std::size_t tokens, std::string const& label, double label_y, auto const& rows_of) {
  std::vector<charts::point> line;
  auto const pairs = static_cast<double>(most_pairs(m));
  double rows = 0, done = 0;
  for (auto const& layer : m.layers) rows += static_cast<double>(rows_of(layer));
  for (auto const& layer : m.layers) {
    auto const x = at.x + at.width * static_cast<double>(layer.pairs_within(tokens)) / pairs;
    line.push_back({x, at.y + at.height * done / rows});
    done += static_cast<double>(rows_of(layer));
    line.push_back({x, at.y + at.height * done / rows});
  }
  out.path(line, "pen s1");
  auto const room = charts::text_width(label, 11);
  auto const x = std::clamp(line.front().x, at.x + room / 2, at.x + at.width - room / 2);
  out.text({x, label_y}, 11, 300, "label middle", label);
  out.line({line.front().x, label_y + 3}, {line.front().x, at.y}, "pen s1");
}

void draw_both_turns(charts::svg_drawing& out, charts::box const& at, model_of_weights const& m,
                     auto const& rows_of) {
  draw_turns(out, at, m, fast_tokens, "a turn in " + std::to_string(fast_tokens) + " tokens",
             at.y - 20, rows_of);
  draw_turns(out, at, m, m.context,
             "a turn in the context, " + compact(static_cast<double>(m.context)), at.y - 6,
             rows_of);
}

void caption(charts::svg_drawing& out, charts::box const& at, std::size_t pairs,
             std::string const& says) {
  out.text({at.x, at.y + at.height + 15}, 11, at.width, "label", "pair 0");
  out.text({at.x + at.width, at.y + at.height + 15}, 11, at.width, "label end",
           std::to_string(pairs - 1));
  out.text({at.x, at.y + at.height + 32}, 11, 640, "label", says);
}

// The numbers of layers beside their rows, as many as have room.
void label_rows(charts::svg_drawing& out, charts::box const& at, model_of_weights const& m,
                auto const& rows_of) {
  double rows = 0, done = 0, last = -100;
  for (auto const& layer : m.layers) rows += static_cast<double>(rows_of(layer));
  for (auto const& layer : m.layers) {
    auto const part = static_cast<double>(rows_of(layer));
    auto const y = at.y + at.height * (done + part / 2) / rows + 4;
    done += part;
    if (part > 1 && done < rows && at.height * part / rows > 14) {
      auto const end = at.y + at.height * done / rows;
      out.line({at.x, end}, {at.x + at.width, end}, "zero");
    }
    if (y - last < 14) continue;
    out.text({at.x - 6, y}, 11, 60, "label end", std::to_string(layer.layer));
    last = y;
  }
}

}  // namespace

void print(std::ostream& out, model_of_weights const& m, charts::terminal_style style) {
  charts::print_folded(out, m.title, style.columns);
  if (!m.unrotated.empty()) {
    std::string sentence = "Layers that do not rotate are left out:";
    for (auto const layer : m.unrotated) sentence += " " + std::to_string(layer);
    charts::print_folded(out, sentence, style.columns);
  }
  out << '\n';
  style.rows = 8;
  for (auto const& text : draw(shares(m), style)) out << text << '\n';

  auto const put = [&](std::string const& name, std::vector<std::string> const& cells) {
    out << name << std::string(34 - std::min<std::size_t>(34, name.size()), ' ');
    for (auto const& text : cells) out << charts::cell(text, 9);
    out << '\n';
  };
  posenc::running_moments fast, whole, less;
  for (auto const& layer : m.layers) {
    for (auto const& head : layer.heads)
      fast.add(head.fast), whole.add(head.whole), less.add(1 - head.whole);
  }
  out << '\n';
  put("budget of heads in pairs that turn", {"mean", "lowest", "highest"});
  for (auto const& [name, share] :
       {std::pair{"within " + std::to_string(fast_tokens) + " tokens", fast},
        std::pair{"within the context, " + std::to_string(m.context), whole},
        std::pair{std::string("not within it, or never"), less}})
    put("  " + name, {percent(share.mean()), percent(share.low()), percent(share.high())});

  constexpr std::size_t most = 8;
  put("\nheads, the highest share within " + std::to_string(fast_tokens) + " tokens first", {});
  for (auto const& each : highest(m, most))
    put("  " + name_of(m, each) + ", key head " + std::to_string(m.at(each).key_head),
        {percent(m.at(each).fast)});
  if (fast.count() > most) out << "  and " << fast.count() - most << " more, in --csv FILE\n";
  out << '\n';
  print_biases(out, m, style.columns);
  out << '\n';
  charts::print_folded(out,
                       "Weights say which frequencies a head can use, for inputs that are "
                       "independent and of mean square 1. They do not say where it looks: a head "
                       "with much in fast pairs need not attend by position, and one with little "
                       "may. posenc run shows where heads look in a text.",
                       style.columns);
}

void write_csv(std::ostream& out, model_of_weights const& m) {
  charts::csv csv(out, {"layer", "head", "key_head", "pair", "inv_freq", "query_norm", "key_norm",
                        "key_bias", "share", "fast_share"});
  for (auto const& layer : m.layers)
    for (auto const& head : layer.heads)
      for (std::size_t i = 0; i < head.share.size(); ++i)
        csv.line(layer.layer, head.head, head.key_head, i, layer.inv_freq[i],
                 layer.queries[head.head][i], layer.keys[head.key_head][i],
                 layer.biases.empty() ? 0 : layer.biases[head.key_head].norms[i], head.share[i],
                 head.fast);
}

std::string to_svg(model_of_weights const& m) {
  constexpr double width = 720, gap = 56, left = border + 24;
  auto const pairs = most_pairs(m), layers = m.layers.size();
  charts::svg_drawing out;
  out.text({border, border + 16}, 20, width, "title",
           "What a model's heads use each frequency for");
  double y = border + 38;
  std::stringstream lines;
  charts::print_folded(lines, m.title, static_cast<int>((width - 2 * border) / (0.6 * small)));
  for (std::string text; std::getline(lines, text); y += 18)
    out.text({border, y}, small, width, "label", text.substr(text.find_first_not_of(' ')));
  out.text(
      {border, y}, small, width, "label",
      "pairs to the right, the fastest first; those left of a line turn within so many tokens");
  auto const top = y + 62;

  // Layers x pairs.
  auto const one = [](auto const&) { return std::size_t{1}; };
  auto const side = (width - border - left - gap) / 2;
  auto const height = std::clamp(12.0 * static_cast<double>(layers), 48.0, 300.0);
  double x = left;
  for (auto const of : {&layer_of_weights::queries, &layer_of_weights::keys}) {
    auto const* const name =
        of == &layer_of_weights::queries ? "Norms of queries, by layer" : "Norms of keys, by layer";
    double largest = 0;
    for (auto const& layer : m.layers)
      for (std::size_t i = 0; i < layer.inv_freq.size(); ++i)
        largest = std::max(largest, mean_norm(layer.*of, i));
    charts::box const at{x, top, side, height};
    out.text({x, top - 38}, 14, side, "title", name);
    charts::draw_map(out, at, layers, pairs, [&](std::size_t row, std::size_t pair) {
      auto const& layer = m.layers[row];
      return pair < layer.inv_freq.size() && largest > 0 ? mean_norm(layer.*of, pair) / largest : 0;
    });
    draw_both_turns(out, at, m, one);
    label_rows(out, at, m, one);
    caption(out, at, pairs, "layers downwards; full colour: " + compact(largest));
    x += side + gap;
  }

  // Heads x pairs.
  std::vector<place> rows;
  double largest = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < m.layers[layer].heads.size(); ++head) {
      rows.push_back({layer, head});
      for (auto const share : m.at(rows.back()).share) largest = std::max(largest, share);
    }
  }
  constexpr double labels = 190;
  auto const heads_top = top + height + 108;
  charts::box const at{left, heads_top, width - border - left - labels,
                       std::clamp(8.0 * static_cast<double>(rows.size()), 96.0, 640.0)};
  out.text({left, heads_top - 38}, 14, width, "title",
           "Share of each head's budget, query norm times key norm");
  charts::draw_map(out, at, rows.size(), pairs, [&](std::size_t row, std::size_t pair) {
    auto const& share = m.at(rows[row]).share;
    return pair < share.size() && largest > 0 ? std::sqrt(share[pair] / largest) : 0;
  });
  auto const heads_of = [](layer_of_weights const& layer) { return layer.heads.size(); };
  draw_both_turns(out, at, m, heads_of);
  label_rows(out, at, m, heads_of);
  constexpr std::size_t most_named = 8;
  auto const named = highest(m, most_named);
  double last = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto const is_row = [&](place p) {
      return p.layer == rows[row].layer && p.head == rows[row].head;
    };
    if (std::ranges::none_of(named, is_row)) continue;
    auto const row_y =
        at.y + at.height * (static_cast<double>(row) + 0.5) / static_cast<double>(rows.size());
    auto const text_y = std::max(row_y + 4, last + 14);
    out.line({at.x + at.width + 2, row_y}, {at.x + at.width + 12, text_y - 4}, "pen s6");
    out.text({at.x + at.width + 16, text_y}, 11, labels, "",
             name_of(m, rows[row]) + ": " + percent(m.at(rows[row]).fast));
    last = text_y;
  }
  caption(out, at, pairs,
          "heads of each layer downwards; full colour: " + percent(largest) +
              "; named: the highest shares within " + std::to_string(fast_tokens) + " tokens");
  return out.page(width, std::max(at.y + at.height, last) + 32 + border);
}

}  // namespace norms
