// A verdict on a model: what engines are known to get wrong on such a one, and what that does to
// its angles and scores. For programs and the explorer's page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "posenc/model/model_description.hpp"

namespace verdicts {

/// What a mistake does in a sequence of so many tokens, between the last query and the farthest key
/// that it sees: in one with a window, the key at its end.
struct effect {
  std::size_t tokens = 0, distance = 0;
  /// The largest error of the angle by which a dim turns, not reduced: from pi on, any angle.
  /// Nothing where no angle is wrong.
  std::optional<double> radians = {};
  /// Root mean square of the score's error for q, k ~ N(0, I), over that of the score: |S' - S| /
  /// |S| of the matrices that the score is made by, q^T S k. 2^(1/2): as if it were another score.
  /// Nothing where other keys are seen.
  std::optional<double> score = {};
  /// Of all pairs of a query and a key that it sees or should see, the part that is seen wrongly or
  /// missed: of the queries of an image of 1,120 tokens at the end, if its mask is wrong, or of a
  /// prompt of 1,120 tokens; else of all. A sink counts as a key. Nothing where no other are seen.
  std::optional<double> keys = {};

  /// The distance apart, which is that of the first of several kinds of layers.
  bool operator==(effect const& other) const {
    return tokens == other.tokens && radians == other.radians && score == other.score &&
           keys == other.keys;
  }
};

/// A mistake that engines are known to make on layers like these.
struct pitfall {
  std::string name, says;
  std::vector<std::string> kinds;    ///< of layers: those in which it does the same
  std::vector<std::size_t> layers;   ///< their indices
  std::vector<std::string> threads;  ///< where it was found: vllm-project/vllm#941
  std::vector<effect> effects;       ///< of 1024, 32,768 and 131,072 tokens
};

/// How layers of one kind encode positions, as words and numbers for a table.
struct layer_row {
  std::string kind;
  std::vector<std::size_t> layers;
  std::string dims = {},  ///< "128 of 256", or "none" where nothing rotates
      pairs = {},         ///< halves or interleaved
      rule = {};          ///< "yarn", "ALiBi", "no RoPE", with M-RoPE's axes
  std::optional<double> base = {};
  std::optional<std::size_t> sees = {};  ///< the window or chunk; with two sides, that of one
  std::string sides = {};  ///< "to either side", "both sides", "images both ways", or nothing
};

struct verdict {
  std::vector<layer_row> rows;
  std::vector<pitfall> pitfalls;
  /// What angles formed in float cost at least in one kind of layers: a yardstick, for most engines
  /// form them so.
  std::optional<pitfall> rounding;
};

/// "all", "1024", "64 to either side", "all, both sides"; the number as it is given.
std::string shown_sees(layer_row const& row, std::string const& number);

verdict verdict_on(posenc::model_description const& model);

/// "verdict" is "uncontested" or "contested".
nlohmann::ordered_json json_of(verdict const& found, posenc::model_description const& model);

}  // namespace verdicts
