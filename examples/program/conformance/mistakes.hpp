// The mistakes that are known: each says what an engine that makes it would answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cases.hpp"
#include "recipe.hpp"

namespace conformance {

/// What a mistake may take from the set.
struct set_facts {
  numbers bases;  ///< of all cases, each once
};
set_facts facts_of(std::vector<test_case> const& cases);

/// Receives each way in which the mistake can be made; `detail` is said after its sentence.
using propose = std::function<void(recipe const&, std::string const& detail)>;

struct rotary_mistake {
  char const *name, *says;
  /// Changes the right way, or that with another mistake in it.
  void (*make)(test_case const&, recipe const&, set_facts const&, propose const&);
  /// It allows errors rather than predict them, so that others go before it.
  bool is_loose = false;
};
std::vector<rotary_mistake> const& rotary_mistakes();

struct score_mistake {
  char const *name, *says;
  /// Nothing where it cannot be made.
  answers (*of)(test_case const&);
};
std::vector<score_mistake> const& score_mistakes();

/// What a case about scores answers.
answers scores_of(test_case const& c);

}  // namespace conformance
