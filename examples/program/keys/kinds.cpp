#include "kinds.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "posenc/frequency/geometric.hpp"
#include "random.hpp"
#include "reporting/scale.hpp"

namespace keys {

head_rotation kind_settings::rotation() const {
  return {posenc::geometric(head_dim, base), posenc::halves{}};
}

std::vector<std::string> const& kind_names() {
  static std::vector<std::string> const names{"none", "outlier", "evened", "shared",
                                              "slow", "turning", "wide",   "qwen"};
  return names;
}

std::vector<kind_of_keys> kinds_of_keys(kind_settings const& s) {
  auto const f = s.rotation().frequencies;
  auto const pairs = f.pairs();
  // One of the fastest third, the one whose turns are nearest to one, and one of the slowest.
  auto const fast = pairs * 5 / 16, slow = pairs * 15 / 16;
  auto const off = [&](double inv_freq) {
    return std::abs(
        std::log(inv_freq * static_cast<double>(s.sample.context) / (2 * std::numbers::pi)));
  };
  auto const once = static_cast<std::size_t>(std::ranges::min_element(f.inv_freq(), {}, off) -
                                             f.inv_freq().begin());

  std::vector<double> const ones(s.head_dim, 1);
  head_statistics const plain{std::vector<double>(s.head_dim), ones, ones};
  auto const with_gain = [&](double of_queries) {
    auto result = plain;
    for (auto const dim : {fast, fast + pairs})
      result.keys[dim] = s.gain, result.queries[dim] = of_queries;
    return result;
  };
  auto wide = plain;
  random_numbers random(s.sample.seed + 1);
  double squares = 0;
  for (auto& b : wide.bias) b = random.normal(), squares += b * b;
  for (auto& b : wide.bias) b *= s.wide_bias / std::sqrt(squares);
  auto const with_bias = [&](head_statistics result, std::vector<std::size_t> const& in) {
    auto const norm = s.pair_bias / std::sqrt(static_cast<double>(in.size()));
    for (auto const pair : in)
      result.bias[pair] += 0.8 * norm, result.bias[pair + pairs] += 0.6 * norm;
    return result;
  };

  auto const gain = charts::compact(s.gain), norm = charts::compact(s.pair_bias),
             all = charts::compact(s.wide_bias);
  auto const pair = [](std::size_t i) { return "pair " + std::to_string(i); };
  auto const turns = [&](std::size_t i) {
    return charts::compact(
        f.inv_freq()[i] * static_cast<double>(s.sample.context) / (2 * std::numbers::pi), 2);
  };
  auto const& names = kind_names();
  return {
      {names[0], "No outlier", plain},
      {names[1], "Pair " + std::to_string(fast) + " of keys x " + gain, with_gain(1)},
      {names[2], "Pair " + std::to_string(fast) + " of keys x " + gain + ", of queries / " + gain,
       with_gain(1 / s.gain)},
      {names[3], "Pair " + std::to_string(fast) + " of keys x " + gain + ", of queries x " + gain,
       with_gain(s.gain)},
      {names[4], "Bias of norm " + norm + " in " + pair(slow) + ", " + turns(slow) + " turns",
       with_bias(plain, {slow})},
      {names[5], "Bias of norm " + norm + " in " + pair(once) + ", " + turns(once) + " turns",
       with_bias(plain, {once})},
      {names[6], "Bias of norm " + all + " over all dims", wide},
      {names[7], "Bias of norm " + all + " over all dims, " + norm + " in three pairs",
       with_bias(wide, {fast, once, slow})}};
}

}  // namespace keys
