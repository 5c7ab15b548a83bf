#include "remarks.hpp"

#include <algorithm>

#include "posenc/analysis/rope_decay.hpp"
#include "report.hpp"

using posenc::frequencies;
using posenc::layer_description;

std::vector<std::string> remarks(layer_description const& kind, frequencies const& f,
                                 std::size_t context) {
  std::vector<std::string> result;
  auto const reach = reach_of(kind, context);
  auto const pairs = posenc::describe(f, reach);

  auto const fraction = [&](auto count) {
    return grouped(static_cast<std::size_t>(count)) + " of " + grouped(pairs.size()) + " pairs";
  };
  auto const unrotated = std::ranges::count(pairs, 0, &posenc::pair_description::inv_freq);
  if (unrotated != 0) {
    result.push_back(fraction(unrotated) + " do not rotate: their dims carry no position.");
  }
  auto const slow = [](auto const& p) { return p.inv_freq != 0 && p.turns < 1; };
  auto const first_slow = std::ranges::find_if(pairs, slow);
  if (first_slow != pairs.end()) {
    result.push_back(fraction(std::ranges::count_if(pairs, slow)) + " make less than one turn in " +
                     grouped(reach) + " tokens. The first is pair " + grouped(first_slow->pair) +
                     ", of wavelength " + rounded(first_slow->wavelength) + ".");
  }
  bool const is_whole = f.rotary_dim() == kind.head_dim;
  auto const farthest = std::min(reach, (std::size_t{1} << 29) / pairs.size());  // about a second
  if (auto const m = posenc::first_negative_distance(f, farthest)) {
    auto const which = is_whole ? "The base" : "Among rotary dims alone, the base";
    result.push_back(which + std::string(" is too small for the context: at distance ") +
                     grouped(*m) +
                     " the sum of cos(distance * frequency) over pairs becomes negative, and a key "
                     "like the query begins to score below a random one. [Men 2024]");
  }
  if (auto const a = f.attention_factor(); a != 1) {
    result.push_back("Attention factor " + rounded(a) +
                     " multiplies rotated queries and keys, and so " +
                     (is_whole ? "scores by " : "the part of scores from rotary dims by ") +
                     rounded(a * a) + ".");
  }
  return result;
}

double float_error(frequencies const& f, std::size_t context) {
  return static_cast<double>(context) * *std::ranges::max_element(f.inv_freq()) * 0x1p-24;
}
