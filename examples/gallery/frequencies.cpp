#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <utility>

#include "figures.hpp"
#include "posenc/analysis/context_bound.hpp"
#include "posenc/analysis/precision_wall.hpp"
#include "posenc/analysis/semantic_robustness.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"

namespace {

using charts::chart;
using charts::curve;
using charts::steps;
using charts::whole_powers;
using posenc::geometric;

constexpr std::size_t dim = 128;

figure frequency_rules() {
  constexpr double factor = 8, trained = 4096;
  auto const plain = geometric(dim, 1e4);
  auto const by_pair = [](posenc::frequencies const& f, auto const& of) {
    return curve({}, steps(0, static_cast<double>(f.pairs() - 1)),
                 [&](double i) { return of(static_cast<std::size_t>(i)); });
  };
  auto const wavelengths = [&](posenc::frequencies const& f) {
    return by_pair(f, [&](std::size_t i) {
      return f.inv_freq()[i] > 0 ? 2 * std::numbers::pi / f.inv_freq()[i] : NAN;
    });
  };
  std::vector<chart> all;
  auto const add = [&](char const* title, posenc::frequencies const& f) {
    all.push_back(
        {title, {"pair"}, {"wavelength, in tokens", true}, {wavelengths(plain), wavelengths(f)}});
    all.back().curves[0].colour = 6;
    all.back().curves[0].dashed = true;
    all.back().curves[1].colour = 0;
    all.back().y_range = {{0.01, 1e6}};
  };
  auto const add_ratio = [&](char const* title, posenc::frequencies const& f,
                             charts::range range = {0, 10}) {
    all.push_back({title, {"pair"}, {"wavelength, of geometric's"}, {by_pair(f, [&](std::size_t i) {
                     return plain.inv_freq()[i] / f.inv_freq()[i];
                   })}});
    all.back().y_range = range;
  };
  add("geometric, 500k", geometric(dim, 5e5));
  add("geometric_inclusive", posenc::geometric_inclusive(dim, 1e4));
  add("axial, 64 and 64 dims", posenc::axial({dim / 2, dim / 2}, 1e4));
  add("pixel", posenc::pixel(dim));
  add_ratio("resonance, another axis", posenc::resonance(plain), {0.9, 1.1});

  add("truncated, p = 0.75", posenc::truncated(plain, 0.75));
  add("proportional, 0.25, 1M", posenc::proportional(dim, 1e6, 0.25));
  add("fope_floor, 512", posenc::fope_floor(plain, 512));
  add("raised_cosine_clip, 60", posenc::raised_cosine_clip(plain, 60));
  add_ratio("linear", posenc::linear(plain, factor));

  add_ratio("ntk", posenc::ntk(plain, factor));
  add_ratio("dynamic_ntk, at 8k",
            posenc::dynamic_ntk(plain, {.factor = factor, .trained_length = trained}, 8192));
  add_ratio("mixed_ntk", posenc::mixed_ntk(plain, factor));
  std::vector<double> const factors_short(dim / 2, 1.0);
  std::vector<double> factors_long;
  for (std::size_t i = 0; i < dim / 2; ++i)
    factors_long.push_back(1 + 7.0 * static_cast<double>(i * i) / (63.0 * 63.0));
  add_ratio("longrope, a list", posenc::longrope(plain,
                                                 {.short_factor = factors_short,
                                                  .long_factor = factors_long,
                                                  .original_length = trained,
                                                  .factor = factor},
                                                 16'384));
  add_ratio("divided_by_factors", posenc::divided_by_factors(plain, factors_long));

  add_ratio("part_ntk", posenc::part_ntk(dim, 1e4, {.factor = factor, .original_length = trained}));
  add_ratio("ntk_by_parts",
            posenc::ntk_by_parts(plain, {.factor = factor, .original_length = trained}));
  add_ratio("yarn_by_rotations",
            posenc::yarn_by_rotations(plain, {.factor = factor, .original_length = trained}));
  add_ratio("yarn", posenc::yarn(dim, 1e4, {.factor = factor, .original_length = trained}));
  add_ratio("llama3", posenc::llama3(plain, {.factor = factor,
                                             .low_freq_factor = 1,
                                             .high_freq_factor = 4,
                                             .original_length = trained}));
  return {"frequency_rules.svg",
          charts::svg(all, {.title = "RoPE's wavelengths under each frequency rule",
                            .subtitle = "dashed: geometric, base 10,000, head_dim 128; factor 8 of "
                                        "4096 tokens; where a curve ends, pairs stand still",
                            .charts_per_row = 4,
                            .chart_width = 230,
                            .chart_height = 190})};
}

figure base_bounds() {
  chart base{"Smallest base for a context", {"tokens", true}, {"base", true}, {}};
  base.curves = {
      curve("smallest_base, head_dim 128", whole_powers(500, 8000, 20),
            [](double n) { return posenc::smallest_base(dim, static_cast<std::size_t>(n)); }),
      curve("1.62 n (Su, for n without end)", whole_powers(500, 8000, 4),
            [](double n) { return 1.62 * n; })};
  chart context{"Context of a base", {"base", true}, {"tokens without a negative mean", true}, {}};
  for (std::size_t const d : {64u, 128u, 256u})
    context.curves.push_back(
        curve("head_dim " + std::to_string(d), whole_powers(1000, 300'000, 80), [d](double b) {
          auto const bound = posenc::context_bound(geometric(d, b), 100'000).context;
          return bound ? static_cast<double>(*bound) : NAN;
        }));
  chart fraction{"Part of the pairs that turn once", {"tokens", true}, {"p of p-RoPE"}, {}};
  for (double const b : {1e4, 5e5, 1e7})
    fraction.curves.push_back(
        curve("base " + charts::compact(b), whole_powers(512, 1'048'576, 8),
              [b](double n) { return posenc::suggest_fraction(b, static_cast<std::size_t>(n)); }));
  return {
      "base_bounds.svg",
      charts::svg(
          {base, context, fraction},
          {"Which base a context needs, and which context a base allows",
           "Men et al. 2024, theorem 1: sum cos(r f) is negative at no distance r; a larger base "
           "may fail where a smaller one holds",
           3, 330, 280})};
}

// The largest error of 64 Gaussian pairs of each frequency, relative to the pair's length, at 64
// positions up to `last`. They are rotated by `rows` of floats and stored as T. The sums are in
// double, so that every CPU draws the same.
template <posenc::storable T>
double measured_error(posenc::frequencies const& f, double last, auto const& rows_of) {
  constexpr int around = 64;
  std::vector<std::int64_t> positions;
  for (int back = around; back-- > 0;) positions.push_back(static_cast<std::int64_t>(last) - back);
  auto const rows = rows_of(positions);
  posenc::cos_sin_rows<double> const exact(f, positions);
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  auto const stored = [](double x) {
    T element{};
    posenc::store(element, static_cast<posenc::arithmetic_t<T>>(x));
    return static_cast<double>(posenc::load(element));
  };
  double worst = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const x = stored(normal(bits)), y = stored(normal(bits));
      double const c = rows.cos(t)[i], s = rows.sin(t)[i];
      auto const off_x = stored(x * c - y * s) - (x * exact.cos(t)[i] - y * exact.sin(t)[i]),
                 off_y = stored(x * s + y * c) - (x * exact.sin(t)[i] + y * exact.cos(t)[i]);
      worst = std::max(worst, std::hypot(off_x, off_y) / std::hypot(x, y));
    }
  }
  return worst;
}

// With the wall of Liu 2026 as a mark.
figure precision_wall() {
  auto const f = geometric(dim, 5e5);
  auto const exact_rows = [&](auto const& at) { return posenc::cos_sin_rows<float>(f, at); };
  auto const float_rows = [&](auto const& at) { return posenc::float_angle_rows(f, at); };
  auto const of_fastest = [](auto const& how, double p) {
    return how.bound(1, static_cast<std::int64_t>(p));
  };
  struct way {
    std::string name;
    std::function<double(double)> bound, measured;
  };
  std::vector<way> const ways{
      {"float angles, heads in float",
       [&](double p) {
         return posenc::rotation_bound<float>(of_fastest(posenc::float_angles{}, p));
       },
       [&](double p) { return measured_error<float>(f, p, float_rows); }},
      {"exact angles, heads in float",
       [&](double p) {
         return posenc::rotation_bound<float>(of_fastest(posenc::exact_angles{}, p));
       },
       [&](double p) { return measured_error<float>(f, p, exact_rows); }},
      {"exact angles, heads in bfloat16",
       [&](double p) {
         return posenc::rotation_bound<posenc::bfloat16>(of_fastest(posenc::exact_angles{}, p));
       },
       [&](double p) { return measured_error<posenc::bfloat16>(f, p, exact_rows); }}};
  chart c{"", {"position", true}, {"error, of the pair's length", true}, {}};
  auto const positions = whole_powers(1000, 1e9, 8);
  std::string rows;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    c.curves.push_back(curve("", positions, ways[i].bound));
    c.curves.back().colour = i, c.curves.back().dashed = true;
    c.curves.push_back(curve("", positions, ways[i].measured));
    c.curves.back().colour = i;
    rows += "| " + ways[i].name;
    for (double const p : {1e3, 1e6, 1e9})
      rows += " | " + charts::compact(ways[i].bound(p), 2) + ", " +
              charts::compact(ways[i].measured(p), 2);
    rows += " | ";
  }
  auto const wall = posenc::precision_wall(0.8, 32);
  c.y_range = {1e-8, 300};
  c.marks = {{wall.context, "Liu's wall"}, {wall.base, "a whole token"}};
  for (std::size_t i = 0; i < ways.size(); ++i)
    c.notes.push_back(
        {std::array{9e3, 1.3e3, 1.3e7}[i], std::array{1.5e-4, 5e-7, 1e-2}[i], ways[i].name, i});
  return {"precision_wall.svg",
          charts::svg({c}, {"Float angles end, exact angles do not, bfloat16 has one error",
                            "largest error of a rotated pair; dashed: bound; head_dim 128, base "
                            "500k; each point is the worst of 64 positions",
                            1, 760, 380}),
          rows, "include/posenc/analysis/HOW_FAR.md"};
}

}  // namespace

std::vector<figure> figures_of_frequencies() {
  return {frequency_rules(), base_bounds(), precision_wall()};
}
