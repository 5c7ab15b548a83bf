#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <ostream>
#include <utility>

#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace pairs {
namespace {

using moments = posenc::running_moments;

charts::series line(std::string name, result const& r, moments pair_result::*of) {
  charts::series s{.name = std::move(name)};
  bool const band = r.score.count() > 1;
  for (std::size_t i = 0; i < r.pairs.size(); ++i) {
    auto const& m = r.pairs[i].*of;
    s.x.push_back(static_cast<double>(i)), s.y.push_back(m.mean());
    if (band) s.low.push_back(m.low()), s.high.push_back(m.high());
  }
  return s;
}

charts::chart scores(result const& r) {
  charts::chart c{"Part of the score from each pair", {"pair"}, {"score"}, {}};
  c.curves = {line("score", r, &pair_result::score), line("at most", r, &pair_result::budget)};
  c.curves.back().dashed = true;
  c.curves.back().low.clear(), c.curves.back().high.clear();
  return c;
}

charts::chart norms(result const& r) {
  charts::chart c{"Norms of pairs", {"pair"}, {"norm"}, {}};
  c.curves = {line("queries", r, &pair_result::query_norm),
              line("keys", r, &pair_result::key_norm)};
  return c;
}

std::string wavelength(double inv_freq) {
  return inv_freq > 0 ? charts::compact(2 * std::numbers::pi / inv_freq) : "none";
}

}  // namespace

void print(std::ostream& out, result const& r, charts::terminal_style style) {
  charts::print_folded(out, r.title, style.columns);
  out << '\n';
  charts::print_beside(out, scores(r), norms(r), style, 8);

  auto const put = [&](std::string const& name, std::array<std::string, 3> const& cells) {
    out << name << std::string(34 - name.size(), ' ');
    for (auto const& text : cells) out << charts::cell(text, 9);
    out << '\n';
  };
  put("turns within " + std::to_string(r.context) + " tokens", {"pairs", "score", "at most"});
  for (auto const& [name, band] : {std::pair{"1 or more", &r.bands.whole_turns},
                                   std::pair{"a quarter or more", &r.bands.part_of_a_turn},
                                   std::pair{"less", &r.bands.less_than_a_quarter},
                                   std::pair{"none, and dims in no pair", &r.bands.unrotated}})
    put(std::string("  ") + name,
        {std::to_string(band->pairs), charts::compact(band->score), charts::compact(band->budget)});

  std::vector<std::size_t> order(r.pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return std::abs(r.pairs[i].score.mean()); });
  order.resize(std::min<std::size_t>(order.size(), 5));
  put("pairs that add most", {"turn in", "score", "at most"});
  for (auto const i : order) {
    auto const& p = r.pairs[i];
    put("  pair " + std::to_string(i), {wavelength(p.inv_freq), charts::compact(p.score.mean()),
                                        charts::compact(p.budget.mean())});
  }
  double budget = r.bands.unrotated.budget;
  for (auto const* band :
       {&r.bands.whole_turns, &r.bands.part_of_a_turn, &r.bands.less_than_a_quarter})
    budget += band->budget;
  out << '\n';
  charts::print_folded(out,
                       "The score, without 1 / sqrt(head_dim), is " +
                           charts::compact(r.score.mean()) +
                           (r.score.count() > 1 ? " on average (" + charts::compact(r.score.low()) +
                                                      " to " + charts::compact(r.score.high()) + ")"
                                                : std::string()) +
                           ", and at most " + charts::compact(budget) +
                           " with these norms, if each pair pointed the same way at this distance.",
                       style.columns);
}

void write_csv(std::ostream& out, result const& r) {
  constexpr std::array columns{std::pair{"score", &pair_result::score},
                               std::pair{"at_most", &pair_result::budget},
                               std::pair{"query_norm", &pair_result::query_norm},
                               std::pair{"key_norm", &pair_result::key_norm}};
  std::vector<std::string> names{"pair", "inv_freq"};
  for (auto const& [name, of] : columns)
    for (auto const* which : {"_mean", "_low", "_high"}) names.push_back(std::string(name) + which);
  charts::csv csv(out, names);
  for (std::size_t i = 0; i < r.pairs.size(); ++i) {
    csv.put(i), csv.put(r.pairs[i].inv_freq);
    for (auto const& [name, of] : columns) {
      auto const& m = r.pairs[i].*of;
      csv.put(m.mean()), csv.put(m.low()), csv.put(m.high());
    }
    csv.end_line();
  }
}

std::string to_svg(result const& r) {
  return charts::svg({scores(r), norms(r)}, {.title = "Scores by frequency", .subtitle = r.title});
}

}  // namespace pairs
