#include "remarks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "posenc/analysis/precision_wall.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "program/models/words.hpp"

namespace inspect {

using posenc::frequencies;
using posenc::layer_description;
using program::grouped;
using program::rounded;

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
  auto const farthest = farthest_of(reach, pairs.size());
  std::string const which = is_whole ? "The base" : "Among rotary dims alone, the base",
                    sum = "the sum of cos(distance * frequency) over pairs";
  if (auto const m = posenc::first_negative_distance(f, farthest); m && *m < reach) {
    result.push_back(which + " is too small for the context: at distance " + grouped(*m) + " " +
                     sum +
                     " becomes negative, and a key like the query begins to score below a random "
                     "one. [Men 2024]");
  } else {
    result.push_back(which + " is large enough for " + grouped(reach) + " tokens: " +
                     (m ? "at distance " + grouped(*m) + " " + sum +
                              " becomes negative, and a key like the query begins to score below "
                              "a random one. [Men 2024]"
                        : sum + " stays positive up to a distance of " + grouped(farthest - 1) +
                              ", so that a key like the query scores above a random one. [Men "
                              "2024]"));
  }
  result.push_back(fraction(posenc::neighbours_told_apart<posenc::bfloat16>(f)) +
                   " tell neighbouring tokens apart if keys are stored in bfloat16, " +
                   grouped(posenc::neighbours_told_apart<posenc::half>(f)) + " in float16.");
  if (auto const a = f.attention_factor(); a != 1) {
    result.push_back("Attention factor " + rounded(a) +
                     " multiplies rotated queries and keys, and so " +
                     (is_whole ? "scores by " : "the part of scores from rotary dims by ") +
                     rounded(a * a) + ".");
  }
  return result;
}

std::string how_far(layer_description const& kind) {
  if (kind.alibi) {
    auto const encoding = kind.alibi->encoding();
    auto const [least, most] = std::ranges::minmax(encoding.slopes());
    auto const half_of = [](double slope) {
      return slope > 0 ? rounded(std::numbers::ln2 / slope) + " tokens" : "never";
    };
    return "By its bias alone a key loses half of its weight after " + half_of(most) +
           " in the steepest head, after " + half_of(least) + " in the flattest.";
  }
  if (!kind.rotary.empty() || kind.buckets || kind.head_dim == 0) return {};
  return "No score changes with distance: a head sees as far as its mask.";
}

double float_error(frequencies const& f, std::size_t context) {
  auto const last = static_cast<std::int64_t>(context) - 1;
  return posenc::float_angles{}.bound(std::ranges::max(f.inv_freq()), last);
}

}  // namespace inspect
