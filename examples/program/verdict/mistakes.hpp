// Mistakes that engines are known to make: each is another description of the same layers. Names
// are those of the conformance set where it knows the mistake.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/model_description.hpp"

namespace verdicts {

/// Between which tokens it shows.
enum class place {
  text,       ///< all axes have the same position
  image,      ///< opposite corners of a square image of so many tokens
  flat_image  ///< the same, which the mistake takes for so many tokens of text
};

/// By what the effect of a mistake is measured.
enum class measure {
  score,         ///< by the score of random queries and keys, before its cap
  float_angles,  ///< the same, with angles float(position) float(inv_freq)
  slopes,        ///< by the bias of ALiBi
  cap,           ///< by the score with its cap
  heads,         ///< by the part of heads that read another's keys
  keys,          ///< by the keys that are seen
  sinks          ///< a sink counts as one key
};

/// The layers as an engine has them that makes the mistake; `wrong.layers` are those it is made in.
struct made_mistake {
  std::string says;
  posenc::layer_description wrong;
  place where = place::text;
  measure by = measure::score;
};

struct known_mistake {
  std::string_view name;
  std::vector<std::string_view> threads;
  /// Nothing where layers of this kind leave no room for it.
  std::optional<made_mistake> (*make)(posenc::model_description const&,
                                      posenc::layer_description const&);
};
std::vector<known_mistake> const& known_mistakes();

/// Of these, those of the score after its rotation, and of the mask.
std::vector<known_mistake> const& attention_mistakes();

/// Every engine that forms angles in float makes it, at any model; it is a yardstick.
known_mistake const& float_angles();

/// The slope of a head by the formula for a power of 2 of heads, whatever their number.
double plain_slope(posenc::alibi_bias const& alibi, std::size_t head);

/// A number of at most 6 digits, a whole one in full.
std::string shown(double number);

std::optional<double> base_of(posenc::rotary_description const& rotary);
bool is_interleaved(posenc::rotary_description const& rotary);
/// A frequency that turns no angle: 0, or one divided by a factor like 1e30.
bool is_standing(double inv_freq);

}  // namespace verdicts
