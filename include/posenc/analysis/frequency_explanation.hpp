// Which rule made a table of frequencies: the answer of identify(), as data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"

namespace posenc::inline POSENC_TARGET {

/// A parameter of a frequency rule, by its name in the rule's header.
struct rule_parameter {
  std::string name;             ///< as in the rule's header: base, factor ...
  std::optional<double> value;  ///< the simplest that fits; nothing where any value would
  /// No value outside of these fits the table, whatever the other parameters are.
  double least,  ///< of the values that fit
      most;      ///< of the values that fit
};

/// A rule and its parameters.
struct named_rule {
  std::string rule;                        ///< the function's name in frequency/
  std::vector<rule_parameter> parameters;  ///< in the order of its arguments
};

/// A way in which a table may have been made.
struct frequency_explanation {
  /// The function in frequency/: geometric, linear, truncated, llama3 ...; "sections" for several
  /// tables one after another.
  std::string rule;
  std::vector<rule_parameter> parameters = {};  ///< in the order of its arguments
  std::size_t fitted = 0;        ///< how many numbers were chosen to fit: fewer is simpler
  bool within_rounding = false;  ///< the table is this rule, but for the rounding of its numbers
  double relative_error = 0;     ///< the largest; 1 where one of the two is 0
  double ulps = 0;               ///< the largest error, in units in the last place of the storage
  /// Rules that make the same table, or one that its rounding hides: no table can tell them apart.
  std::vector<named_rule> same_table = {};
  std::vector<std::string> remarks = {};             ///< what else the table leaves open, in words
  std::vector<double> factors = {};                  ///< of divided_by_factors, one per pair
  std::vector<frequency_explanation> sections = {};  ///< of "sections"
  frequencies made;                                  ///< what the rule makes of the parameters

  /// A parameter. Throws std::invalid_argument if there is none of that name.
  rule_parameter const& operator[](std::string const& name) const {
    for (auto const& one : parameters) {
      if (one.name == name) return one;
    }
    detail::refuse("frequency_explanation: ", rule, " has no parameter ", name);
  }
};

/// How the numbers of a table stand for frequencies.
enum class table_form {
  inv_freq,     ///< radians per position, pair by pair
  each_twice,   ///< f0 f0 f1 f1 ..., as tables of interleaved dims have it
  reversed,     ///< the slowest pair first
  wavelengths,  ///< 1 / inv_freq: base^(2i / dim)
  shuffled,     ///< in no order; explained as if sorted
};

/// What identify() found.
struct identification {
  table_form form = table_form::inv_freq;  ///< what the numbers are: inv_freq, wavelengths ...
  bool negated = false;  ///< all numbers are negative: the pairs rotate the other way
  /// The rounding of the numbers, relative: of their type, or a coarser one that explains them.
  double unit_roundoff = 0;
  std::optional<double> attention_factor = {};  ///< of cosines and sines: their length
  /// Best first: those within rounding, the simplest first; then the others, by their error. The
  /// last resort, a factor for each pair (divided_by_factors), is always among them: first if no
  /// rule is within rounding, else last.
  std::vector<frequency_explanation> explanations = {};

  /// The first explanation; valid while this is.
  frequency_explanation const& best() const { return explanations.front(); }
};

}  // namespace posenc
