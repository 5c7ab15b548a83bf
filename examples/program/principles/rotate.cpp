#include <array>
#include <cstdio>
#include <numbers>

#include "posenc/analysis/positional_budget.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "steps.hpp"
#include "vectors.hpp"

namespace principles {
namespace {

using posenc::halves;

doubles rotated(doubles x, posenc::cos_sin_rows<double> const& rows) {
  posenc::rotate<halves>(posenc::heads_view<double>(x.data(), {1, 1, x.size()}), rows);
  return x;
}
doubles rotated(doubles const& x, posenc::frequencies const& f, std::int64_t t) {
  return rotated(x, posenc::cos_sin_rows<double>(f, std::array{t}));
}

constexpr int places = 120, apart = 10;
// The score of a query at t and a key ten tokens before it, of two words placed by `at`.
charts::series scores_by_place(std::string name, doubles const& q, doubles const& k,
                               auto const& at) {
  return curve(std::move(name), apart, places,
               [&](int t) { return dot(at(q, t), at(k, t - apart)) / std::sqrt(dim); });
}
running_moments moments(doubles const& of) {
  running_moments m;
  for (auto const x : of) m.add(x);
  return m;
}
std::string spread_of(charts::series const& s) {
  auto const m = moments(s.y);
  return compact(m.high() - m.low());
}

step rotation() {
  auto const q = words(1, 11), k = words(1, 12);
  auto const f = posenc::geometric(dim, 1e4);
  posenc::sinusoidal<posenc::interleaved> const sinusoid(f);
  auto const added = scores_by_place("position added", q, k, [&](doubles const& x, int t) {
    doubles p(dim);
    sinusoid.write(std::int64_t{t}, p);
    return sum(x, p);
  });
  auto const turned = scores_by_place("rotated by the position", q, k,
                                      [&](doubles const& x, int t) { return rotated(x, f, t); });
  running_moments norms;
  for (int t = 0; t <= places; ++t)
    norms.add(std::abs(std::sqrt(dot(rotated(q, f, t), rotated(q, f, t)) / dot(q, q)) - 1));
  return {
      "Rotation",
      {{"Two words, 10 tokens apart", {"position of the query"}, {"score"}, {added, turned}}},
      {"A sum makes four products, and those of a word with a position depend on where they "
       "are: two words 10 tokens apart score " +
           extent(moments(added.y)) + ".",
       "Rotate each pair of dims by position * frequency instead. Two rotations make one by the "
       "difference, <R_t q, R_s k> = <q, R_(s-t) k>: the score varies by " +
           spread_of(turned) + ", and norms change by a factor of 1 +- " + compact(norms.high()) +
           "."}};
}

std::string scientific(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

step several_frequencies() {
  auto const all = posenc::geometric(dim, 1e4);
  charts::chart reach{"Two turns of a pair", {"distance", true}, {"cos(r f)"}, {}};
  for (std::size_t const i : {0u, 8u, 16u, 24u}) {
    auto const inv_freq = all.inv_freq()[i];
    doubles distances;  // between tokens too, for the fastest
    for (int x = 0; x <= 200; ++x)
      distances.push_back(0.5 * std::pow(8 * std::numbers::pi / inv_freq, x / 200.0));
    reach.curves.push_back(charts::curve("pair " + std::to_string(i), distances,
                                         [&](double r) { return std::cos(r * inv_freq); }));
  }
  constexpr std::size_t length = 8192;
  auto const budget = posenc::positional_budget(posenc::geometric(128, 1e4), length, 0.99);
  auto const back = posenc::near_recurrences(1, length);
  auto const returns = [&](std::size_t distance) {
    auto const& at = *std::ranges::find(back, distance, &posenc::near_recurrence::distance);
    return std::to_string(at.distance) + " tokens are whole turns but for " + compact(at.angle) +
           " radians";
  };
  return {
      "Several frequencies",
      {{"Score of a word with itself",
        {"distance"},
        {"mean cos(r f)"},
        {charts::curve("all pairs at 1 radian a token", charts::steps(0, 100, 0.25),
                       [](double r) { return std::cos(r); }),  // between tokens too
         curve("32 frequencies, 1 to 1e-4", 0, 100, [&](int r) { return mean_cosine(all, r); })},
        charts::range{-1.05, 1.5}},
       reach},
      {"One frequency comes back: of 1 radian a token, " + returns(44) + ", and " + returns(710) +
           ". To give one of 8192 tokens a weight of 0.99, a head needs a score of " +
           scientific(*budget.by_pairs.front().score) + ".",
       "With the " + std::to_string(budget.cheapest) + " fastest of 64 frequencies, " +
           compact(budget.score) +
           " is enough: fast pairs tell neighbours apart, slow ones tell near from far."}};
}

using matrix = std::array<std::array<double, 3>, 3>;
matrix product(matrix const& a, matrix const& b) {
  matrix c{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t l = 0; l < 3; ++l) c[i][j] += a[i][l] * b[l][j];
  return c;
}
matrix about_z(double angle) {
  auto const c = std::cos(angle), s = std::sin(angle);
  return {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
}
matrix about_x(double angle) {
  auto const c = std::cos(angle), s = std::sin(angle);
  return {{{1, 0, 0}, {0, c, -s}, {0, s, c}}};
}

step pairs_and_not_triplets() {
  constexpr std::size_t triplets = dim / 3;
  auto const q = words(1, 13, 3 * triplets), k = words(1, 14, 3 * triplets);
  auto const f = posenc::geometric(2 * triplets, 1e4);
  auto const turned = [&](doubles const& x, int t, bool two_axes) {
    doubles result(x.size());
    for (std::size_t i = 0; i < triplets; ++i) {
      auto const angle = t * f.inv_freq()[i];
      auto const r = product(about_z(angle), about_x(two_axes ? angle / 2 : 0.0));
      for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t col = 0; col < 3; ++col)
          result[3 * i + row] += r[row][col] * x[3 * i + col];
    }
    return result;
  };
  auto const one = scores_by_place("about one axis", q, k,
                                   [&](doubles const& x, int t) { return turned(x, t, false); });
  auto const two = scores_by_place("about two axes", q, k,
                                   [&](doubles const& x, int t) { return turned(x, t, true); });
  auto const xz = product(about_x(1), about_z(1)), zx = product(about_z(1), about_x(1));
  double apart_most = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      apart_most = std::max(apart_most, std::abs(xz[i][j] - zx[i][j]));
  return {"Pairs, not triplets",
          {{"The same, rotated in triplets", {"position of the query"}, {"score"}, {two, one}}},
          {"In three dims rotations do not commute: 1 radian about x and then z, or z and then x, "
           "differ by " +
               compact(apart_most) +
               " in an entry. Rotated about two axes, two words 10 tokens apart score " +
               extent(moments(two.y)) + ", by where they are.",
           "Rotated about one axis alone the score varies by " + spread_of(one) +
               ", but that is a pair and a dim that stands still: so pairs it is."}};
}

step position_beside_content() {
  auto const q = words(1, 17), k = words(1, 18);
  auto const f = posenc::truncated(posenc::geometric(dim, 1e4), 0.5);  // p-RoPE
  // The dims that rotate, and those that do not, each as a head of its own.
  constexpr std::ptrdiff_t half = dim / 2, quarter = dim / 4;
  auto const part = [](doubles const& x, std::ptrdiff_t first) {
    doubles result(x.begin() + first, x.begin() + first + quarter);
    result.insert(result.end(), x.begin() + half + first, x.begin() + half + first + quarter);
    return result;
  };
  auto const fast = f.inv_freq().first(quarter);
  posenc::frequencies const rotating(doubles(fast.begin(), fast.end()));
  auto const scale = 1 / std::sqrt(dim);
  auto const score = [&](int r) { return dot(rotated(q, f, r), k) * scale; };
  auto const content = dot(part(q, quarter), part(k, quarter)) * scale;
  auto const position = [&](int r) {
    return dot(rotated(part(q, 0), rotating, r), part(k, 0)) * scale;
  };
  running_moments of_position;
  double apart_most = 0;
  for (int r = 0; r <= places; ++r) {
    of_position.add(position(r));
    apart_most = std::max(apart_most, std::abs(score(r) - content - position(r)));
  }
  charts::chart chart{"Half of the pairs rotate", {"distance"}, {"score"}, {}};
  chart.curves = {curve("dims that rotate", 0, places, position),
                  curve("that stand still", 0, places, [&](int) { return content; }),
                  curve("sum: p-RoPE", 0, places, score)};
  return {
      "Position beside content",
      {chart},
      {"Let some pairs stand still, and the score is a sum, <q, k> = <q_c, k_c> + <q_p, R k_p>: "
       "of content, " +
           compact(content) + " at any distance, and of position, " + extent(of_position) +
           ". It is p-RoPE's score but for " + compact(apart_most) + ".",
       "So a head has position beside content without more weights: in p-RoPE the slow pairs "
       "stand still, in partial rotary the last dims, in DeepSeek's heads the first 128 of "
       "192."}};
}

step two_axes() {
  constexpr int width = 16;
  auto const q = words(1, 15), k = words(1, 16);
  auto const f = posenc::axial({dim / 2, dim / 2}, 100);
  auto const axes = posenc::axial_axes({dim / 2, dim / 2});
  auto const placed = [&](doubles const& x, std::int64_t row, std::int64_t column) {
    return rotated(
        x, posenc::axis_rows<double>(f, axes, posenc::axis_positions(2, std::array{row, column})));
  };
  running_moments scores;  // of patches 3 rows and 5 columns apart
  for (int row = 3; row < width; ++row)
    for (int column = 5; column < width; ++column)
      scores.add(dot(placed(q, row, column), placed(k, row - 3, column - 5)));

  auto const line = posenc::geometric(dim, 100), half = posenc::geometric(dim / 2, 100);
  auto const in_line = [&](std::int64_t steps) {
    return [&, steps](int r) { return mean_cosine(line, r * steps); };
  };
  auto const on_axis = [&](int r) { return (mean_cosine(half, r) + 1) / 2; };
  auto const last = width - 1;
  auto below = curve("below", 0, last, on_axis);
  below.dashed = true;
  return {
      "Two axes for images",
      {{"Patches in one line",
        {"patches to the side, or below"},
        {"mean cos(r f)"},
        {curve("to the side", 0, last, in_line(1)), curve("below", 0, last, in_line(width))},
        charts::range{-0.3, 1}},
       {"A row and a column",
        {"patches to the side, or below"},
        {"mean cos(r f)"},
        {curve("to the side", 0, last, on_axis), below},
        charts::range{-0.3, 1}}},
      {"Count the patches of an image of 16 columns line by line, and the patch to the side is 1 "
       "away, the one below 16: a patch scores " +
           compact(in_line(1)(1)) + " and " + compact(in_line(width)(1)) +
           " of its score with itself.",
       "Give half of the pairs the row and half the column, and both score " + compact(on_axis(1)) +
           ". Scores of patches 3 rows and 5 columns apart vary by " +
           compact(scores.high() - scores.low()) + " over the image."}};
}

}  // namespace

std::vector<step> positions_to_rotate_by() {
  return {rotation(), several_frequencies(), pairs_and_not_triplets(), position_beside_content(),
          two_axes()};
}

}  // namespace principles
