#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "figures.hpp"
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/analysis/positional_symbolic.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "reporting/map.hpp"
#include "reporting/plane.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/svg_drawing.hpp"

namespace {

using posenc::halves;
using posenc::heads_view;

constexpr double page_margin = 28;

figure attention_maps() {
  constexpr double side = 250, gap = 30, above = 40;
  constexpr std::size_t length = 64;
  charts::svg_drawing out;
  out.text({page_margin, page_margin + 16}, 22, 1000, "title",
           "A head that attends to the previous token");
  out.text({page_margin, page_margin + 42}, 15, 1000, "label",
           "64 queries downwards, keys to the right; the same q and k at every token; the last "
           "query's weight");
  auto const f = posenc::geometric(128, 1e4);
  posenc::rope<halves> const rope(f), truncated(posenc::truncated(f, 0.25));
  std::size_t count = 0;
  auto const add = [&](std::string const& title, auto const& encoding, std::size_t pairs,
                       std::size_t shown, std::int64_t late = 0) {
    auto const head = posenc::positional_head<halves>(f, 1, pairs, 40, 128);
    heads_view<double const> const q(head.query.data(), {length, 1, 128}, {0, 0}),
        k(head.key.data(), {length, 1, 128}, {0, 0});
    std::vector<std::int64_t> positions(length);
    std::iota(positions.begin(), positions.end(), late);
    auto const weights = attention(q, k, k.slice_dims(0, 1), encoding,
                                   {.query_positions = positions, .keep_weights = true})
                             .weights;
    auto const line = count / 3, column = count % 3;
    double const left = page_margin + static_cast<double>(column) * (side + gap),
                 top = page_margin + 64 + static_cast<double>(line) * (side + above + 34);
    ++count;
    out.text({left, top + 16}, 15, side + gap, "title", title);
    auto const last = weights[length * length - 1 - shown];
    out.text({left, top + 35}, 13, side + gap, "label",
             (shown == 0 ? "itself: " : "previous token: ") + charts::compact(100 * last) + " %");
    draw_map(out, {left, top + above + 4, side, side}, length, length,
             [&](std::size_t t, std::size_t s) { return std::sqrt(weights[t * length + s]); });
  };
  add("NoPE: cannot", posenc::nope(), 9, 1);
  add("RoPE, fastest pair alone", rope, 1, 1);
  add("RoPE, 9 fastest pairs", rope, 9, 1);
  add("RoPE, all 64 pairs", rope, 64, 1);
  add("p-RoPE, p = 0.25, 9 pairs", truncated, 9, 1);
  add("9 pairs, queries 1 late", rope, 9, 0, 1);
  auto const bottom = page_margin + 64 + 2 * (side + above + 34);
  out.text({page_margin, bottom + 14}, 15, side, "title", "weight");
  draw_scale_of_roots(out, {page_margin + 80, bottom, 2 * side, 18});
  return {"attention_maps.svg",
          out.page(2 * page_margin + 3 * side + 2 * gap, bottom + 40 + page_margin)};
}

// Of queries and keys that are all ones, so that nothing but the encoding and the mask decides.
figure ways_to_stay_near() {
  constexpr double side = 250, gap = 30, top = page_margin + 104;
  constexpr std::size_t near = 16;
  charts::svg_drawing out;
  out.text({page_margin, page_margin + 16}, 22, 1000, "title", "Three ways to stay near");
  out.text({page_margin, page_margin + 42}, 15, 1000, "label",
           "64 queries downwards, keys to the right, all alike; weight of the nearest 16 tokens");
  double left = page_margin;
  std::vector<std::string> parts;
  auto const add = [&](std::string const& title, auto const& encoding, posenc::mask const& mask) {
    auto const map = posenc::map_attention(encoding, {.length = 64, .mask = mask});
    auto const last = map.row(0, 63).last(near);
    parts.push_back(charts::compact(100 * std::accumulate(last.begin(), last.end(), 0.0)) + " %");
    out.text({left, top - 24}, 15, side + gap, "title", title);
    out.text({left, top - 5}, 13, side + gap, "label", "nearest 16: " + parts.back());
    charts::draw_map(out, {left, top + 4, side, side}, 64, 64,
                     [&](std::size_t t, std::size_t s) { return std::sqrt(map.row(0, t)[s]); });
    left += side + gap;
  };
  auto const causal = posenc::mask(posenc::mask::causal);
  add("a window of 16", posenc::nope(), causal & posenc::mask::sliding_window(near));
  add("a slope: ALiBi, 1/8", posenc::alibi::with_slopes({0.125}), causal);
  add("a rotation: RoPE", posenc::rope<halves>(posenc::geometric(128, 1e4)), causal);
  out.text({page_margin, top + side + 46}, 15, side, "title", "weight");
  charts::draw_scale_of_roots(out, {page_margin + 80, top + side + 32, 2 * side, 18});
  return {"ways_to_stay_near.svg",
          out.page(left - gap + page_margin, top + side + 80 + page_margin),
          "| " + parts[0] + " | " + parts[1] + " | " + parts[2] + " |"};
}

// Ruscio et al. 2026: what a query sees of keys before it grows with their number.
figure causal_position() {
  constexpr std::size_t dim = 128, length = 4096;
  std::vector<double> const ones(dim, 1);
  auto const shown = charts::whole_powers(1, length, 12);
  std::vector<std::int64_t> queries, keys(length);
  for (auto const n : shown) queries.push_back(static_cast<std::int64_t>(n) - 1);
  std::iota(keys.begin(), keys.end(), std::int64_t{0});
  heads_view<double const> const q(ones.data(), {queries.size(), 1, dim}, {0, 0}),
      k(ones.data(), {length, 1, dim}, {0, 0});
  charts::chart c{"", {"place of the query, from 1", true}, {"ln of the softmax denominator"}, {}};
  auto const add = [&](char const* name, auto const& encoding, posenc::mask const& mask) {
    auto const sums = attention(q, k, k.slice_dims(0, 1), encoding,
                                {.mask = mask, .query_positions = queries, .key_positions = keys})
                          .log_sum_exp;
    charts::series s{.name = name, .x = shown};
    for (auto const sum : sums) s.y.push_back(sum - sums[0]);
    c.curves.push_back(std::move(s));
  };
  auto const causal = posenc::mask(posenc::mask::causal);
  auto const f = posenc::geometric(dim, 1e4);
  add("NoPE: ln t", posenc::nope(), causal);
  add("p-RoPE 0.25", posenc::rope<halves>(posenc::truncated(f, 0.25)), causal);
  add("RoPE", posenc::rope<halves>(f), causal);
  add("ALiBi, slope 1/8", posenc::alibi::with_slopes({0.125}), causal);
  add("NoPE, window of 64", posenc::nope(), causal & posenc::mask::sliding_window(64));
  auto const at = [&](std::size_t i) { return charts::compact(c.curves[i].y.back()); };
  return {"causal_position.svg",
          charts::svg({c}, {"The causal mask tells a query where it is",
                            "log_sum_exp of attention, minus the first query's; all tokens "
                            "are alike, head_dim 128",
                            1, 760, 360}),
          "| " + at(0) + ", which is ln 4096 | " + at(2) + " | " + at(3) + " | " + at(4) +
              ", which is ln 64 |"};
}

// The mean of 10 draws: a query psi, 64 keys sqrt(1 - share) psi + sqrt(share) content, so that
// softmax sees a score of psi with itself.
posenc::positional_symbolic_score scores_of(auto const& encoding, std::size_t pairs, double score,
                                            double share) {
  constexpr std::size_t keys = 64;
  constexpr int draws = 10;
  auto const dim = 2 * pairs;
  auto const norm =
      std::sqrt(score * std::sqrt(static_cast<double>(dim)) / static_cast<double>(pairs));
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  posenc::positional_symbolic_score mean{0, 0};
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> q(dim), k(keys * dim);
    std::fill_n(q.begin(), pairs, norm);
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i] = std::sqrt(1 - share) * q[i % dim] + std::sqrt(share / 2) * norm * normal(bits);
    auto const found = posenc::positional_symbolic(
        heads_view<double const>(q.data(), {1, 1, dim}),
        heads_view<double const>(k.data(), {keys, 1, dim}), encoding)[0];
    mean.positional += found.positional / draws, mean.symbolic += found.symbolic / draws;
  }
  return mean;
}

figure positional_symbolic() {
  constexpr double width = 430, height = 330, top = page_margin + 92;
  auto const f = posenc::geometric(128, 1e4);
  charts::svg_drawing out;
  out.text({page_margin, page_margin + 16}, 22, 1000, "title",
           "Does a head attend by position or by content?");
  out.text({page_margin, page_margin + 42}, 15, 1000, "label",
           "64 keys exchange contents: weights stay (positional) or follow (symbolic)");
  charts::box const left{page_margin + 30, top, width, height},
      right{left.x + width + 80, top, width, height};
  charts::draw_unit_axis(out, left, "Heads of one pair: score", "wavelength of the pair, tokens");
  auto const across = [&](double tokens) {
    return left.x + left.width * std::log10(tokens / 6) / std::log10(60'000.0 / 6);
  };
  for (double const tokens : {10.0, 100.0, 1000.0, 10'000.0})
    out.text({across(tokens), top + height + 20}, 13, 80, "label middle", charts::compact(tokens));
  std::vector<charts::point> positional, symbolic;
  for (std::size_t i = 0; i < 64; i += 3) {
    auto const inv_freq = f.inv_freq()[i];
    auto const found = scores_of(posenc::rope<halves>(posenc::frequencies({inv_freq})), 1, 8, 0.5);
    auto const x = across(2 * std::acos(-1.0) / inv_freq);
    positional.push_back({x, top + height * (1 - found.positional)});
    symbolic.push_back({x, top + height * (1 - found.symbolic)});
  }
  out.line({across(64), top}, {across(64), top + height}, "pen s6 dashed");
  out.text({across(64) - 6, top + height - 10}, 13, 160, "label end", "context: 64");
  out.path(positional, charts::pen_style(0));
  out.path(symbolic, charts::pen_style(1));
  out.text({across(7), positional.front().y - 32}, 14, 100, "title", "positional");
  out.text({across(7), symbolic.front().y + 36}, 14, 100, "title", "symbolic");

  std::vector<charts::dot> dots;
  auto const add = [&](std::string const& name, auto const& encoding) {
    auto const found = scores_of(encoding, 64, 20, 0.9);
    dots.push_back({found.positional, found.symbolic, name});
  };
  add("NoPE", posenc::nope());
  add("RoPE", posenc::rope<halves>(f));
  add("p-RoPE 0.25", posenc::rope<halves>(posenc::truncated(f, 0.25)));
  add("p-RoPE 0.75", posenc::rope<halves>(posenc::truncated(f, 0.75)));
  add("ALiBi, slope 1/4", posenc::alibi::with_slopes({0.25}));
  charts::draw_plane(out, right, "Whole heads: symbolic upwards", "positional", dots);
  return {"positional_symbolic.svg",
          out.page(right.x + width + page_margin, top + height + 60 + page_margin)};
}

}  // namespace

std::vector<figure> figures_of_heads() {
  return {attention_maps(), ways_to_stay_near(), causal_position(), positional_symbolic()};
}
