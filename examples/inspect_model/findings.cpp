#include "findings.hpp"

#include <algorithm>

#include "posenc/analysis/rope_decay.hpp"
#include "posenc/frequency/describe.hpp"
#include "report.hpp"

using posenc::frequencies;
using posenc::layer_description;

std::size_t reach_of(layer_description const& kind, std::size_t context) {
  return std::min({context, kind.window.value_or(context), kind.chunk.value_or(context)});
}

std::vector<std::string> findings(layer_description const& kind, frequencies const& f, std::size_t context) {
  std::vector<std::string> result;
  auto const reach = reach_of(kind, context);
  auto const within = "within " + grouped(reach) + " tokens";
  auto const pairs = posenc::describe(f, reach).pairs;

  auto const standing = std::ranges::count_if(pairs, [](auto const& p) { return p.inv_freq == 0; });
  if (standing != 0) {
    result.push_back(grouped(static_cast<std::size_t>(standing)) + " of " + grouped(pairs.size()) +
                     " pairs stand still: those dims carry no position.");
  }
  auto const slow = [](auto const& p) { return p.inv_freq != 0 && p.turns < 1; };
  auto const first_slow = std::ranges::find_if(pairs, slow);
  if (first_slow != pairs.end()) {
    result.push_back(grouped(static_cast<std::size_t>(std::ranges::count_if(pairs, slow))) + " of " + grouped(pairs.size()) +
                     " pairs never complete a turn " + within + ", the first of them pair " + grouped(first_slow->pair) +
                     ", of wavelength " + rounded(first_slow->wavelength) + ".");
  }
  bool const is_whole = f.rotary_dim() == kind.head_dim;
  auto const farthest = std::min(reach, (std::size_t{1} << 29) / pairs.size());  // a second's work
  if (auto const m = posenc::first_negative_distance(f, farthest)) {
    result.push_back(
        (is_whole ? "Base too small for the context: a" : "Among rotated dims alone the base is too small for the context: a") +
        std::string(" key like the query begins to score below a random one at distance ") + grouped(*m) +
        ", where the sum of all cos(distance * frequency) turns negative. [Men 2024]");
  }
  if (auto const a = f.attention_factor(); a != 1) {
    result.push_back("Attention factor " + rounded(a) + " multiplies rotated queries and rotated keys, hence " +
                     (is_whole ? "scores by " : "the part of scores that comes from rotated dims by ") + rounded(a * a) + ".");
  }
  return result;
}

double float_error(frequencies const& f, std::size_t context) {
  return static_cast<double>(context) * *std::ranges::max_element(f.inv_freq()) * 0x1p-24;
}
