#include <numbers>
#include <optional>

#include "posenc/analysis/rope_decay.hpp"
#include "posenc/analysis/semantic_robustness.hpp"
#include "posenc/frequency/geometric.hpp"
#include "steps.hpp"
#include "vectors.hpp"

namespace principles {
namespace {

// mean_cosine, if no pair turned by more than half a turn.
double clipped(posenc::frequencies const& f, double distance) {
  double all = 0;
  for (auto const inv_freq : f.inv_freq())
    all += std::cos(std::min(distance * inv_freq, std::numbers::pi));
  return all / static_cast<double>(f.pairs());
}

// Of the square matrix of of(query, key): how many numbers a query and a key need for these to be
// their inner product. By elimination, with the largest entry as the next pivot.
std::size_t rank(std::size_t n, auto const& of) {
  std::vector<doubles> rows(n, doubles(n));
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t s = 0; s < n; ++s) rows[t][s] = of(t, s);
  for (std::size_t r = 0; r < n; ++r) {
    std::size_t row = r, column = r;
    for (std::size_t i = r; i < n; ++i)
      for (std::size_t j = r; j < n; ++j)
        if (std::abs(rows[i][j]) > std::abs(rows[row][column])) row = i, column = j;
    if (std::abs(rows[row][column]) < 1e-9) return r;
    std::swap(rows[r], rows[row]);
    for (auto& each : rows) std::swap(each[r], each[column]);
    for (std::size_t i = r + 1; i < n; ++i) {
      auto const factor = rows[i][r] / rows[r][r];
      for (std::size_t j = r; j < n; ++j) rows[i][j] -= factor * rows[r][j];
    }
  }
  return n;
}

step long_distances() {
  auto const f = posenc::geometric(128, 1e4);  // Llama 2
  constexpr int far = 50'000;
  doubles plain;
  for (int r = 0; r <= far; ++r) plain.push_back(mean_cosine(f, r));
  auto const lowest = std::ranges::min_element(plain) - plain.begin();
  auto const sign = posenc::first_negative_distance(f, far);
  int rises = 0;
  std::optional<int> first_rise;
  for (int r = 1; r <= far; ++r) {
    if (plain[static_cast<std::size_t>(r)] > plain[static_cast<std::size_t>(r) - 1] && !first_rise)
      first_rise = r;
    rises += clipped(f, r) > clipped(f, r - 1);
  }
  auto const slowest = f.inv_freq()[f.pairs() - 1];
  auto const half_turn = posenc::distance_of_cosine(slowest, -1);
  auto const beyond = std::ranges::count_if(f.inv_freq(), [&](double inv_freq) {
    return inv_freq * static_cast<double>(lowest) > std::numbers::pi;
  });

  constexpr std::size_t n = 96;
  auto const one = [&](bool clip) {
    return rank(n, [&](std::size_t t, std::size_t s) {
      auto const angle = 0.1 * std::abs(static_cast<double>(t) - static_cast<double>(s));
      return std::cos(clip ? std::min(angle, std::numbers::pi) : angle);
    });
  };
  auto const chart = [&](char const* title, int last, int by) {
    charts::chart c{title, {"distance"}, {"mean cos(r f)"}, {{"RoPE"}, {"clipped at pi"}}};
    for (int r = 0; r <= last; r += by) {
      for (auto& s : c.curves) s.x.push_back(r);
      c.curves[0].y.push_back(plain[static_cast<std::size_t>(r)]);
      c.curves[1].y.push_back(clipped(f, r));
    }
    return c;
  };
  return {
      "Open questions",
      {chart("Llama 2, to 500 tokens", 500, 1), chart("Llama 2, to 50,000 tokens", far, 50)},
      {"A word's score with itself falls with the distance, but not steadily: it first rises at " +
           std::to_string(first_rise.value_or(0)) + ", is below 0 from " +
           std::to_string(sign.value_or(0)) + " on, and lowest, " +
           compact(plain[static_cast<std::size_t>(lowest)]) + ", at " + std::to_string(lowest) +
           ".",
       "It rises again because pairs that have made half a turn come back: " +
           std::to_string(beyond) + " of 64 have, at that distance, and the slowest has at " +
           std::to_string(std::lround(half_turn)) + " tokens.",
       "If each pair stopped at half a turn, cos(min(r f, pi)), the curve would never rise: in " +
           std::to_string(far) + " steps it does " + std::to_string(rises) + " times.",
       "No cached key can do that, for it does not know the query's position. Scores of one pair "
       "between 96 tokens are a matrix of rank " +
           std::to_string(one(false)) + ", so keys of 2 numbers have them; clipped it has rank " +
           std::to_string(one(true)) + "."}};
}

}  // namespace

std::vector<step> left_open() { return {long_distances()}; }

}  // namespace principles
