// What is wrong with an engine's answers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cases.hpp"
#include "mistakes.hpp"

namespace conformance {

struct verdict {
  bool is_right = false;
  std::vector<std::string> mistakes = {};  ///< names; empty where none explains the answers
  std::string says = {};                   ///< one sentence for each of them
  std::size_t wrong = 0, given = 0;        ///< how many of how many numbers
  /// The largest error, over what is allowed at that place.
  double times_allowed = 0;
  /// The number that is farthest off.
  std::string field = {};
  std::size_t index = 0;
  double got = 0, expected = 0;
  /// The same for the mistakes, or for the closest one where none explains the answers.
  double with_mistake = 0;
  std::string closest = {};
};

bool is_right(test_case const& c, answers const& given, precision stored);

/// Of the answers that were given. The fewest mistakes that explain all of them are named: at most
/// two.
verdict judged(test_case const& c, answers const& given, precision stored, set_facts const& facts);

}  // namespace conformance
