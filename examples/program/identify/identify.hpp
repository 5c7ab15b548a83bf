// Which rule of frequency/, with which parameters, made a table of frequencies.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace identifying {

/// A parameter of a frequency rule, by its name in the rule's header.
struct rule_parameter {
  std::string name;             ///< base, factor ...
  std::optional<double> value;  ///< the simplest that fits; nothing where any value would
};

/// A way in which a table may have been made.
struct frequency_explanation {
  std::string rule;  ///< the function in frequency/: geometric, linear, truncated, llama3 ...
  std::vector<rule_parameter> parameters = {};  ///< in the order of its arguments
  bool within_rounding = false;  ///< the table is this rule, but for the rounding of its numbers
  double relative_error = 0;     ///< the largest
  std::vector<double> factors = {};  ///< of divided_by_factors, one per pair
};

/// What identify() found.
struct identification {
  /// The rounding of the numbers, relative: of double, or of a coarser type that explains them.
  double unit_roundoff = 0;
  /// Best first: those within rounding, the simplest first; then the others, by their error. A
  /// factor for each pair (divided_by_factors) is first if no rule is within rounding, else last.
  std::vector<frequency_explanation> explanations = {};

  frequency_explanation const& best() const { return explanations.front(); }  ///< the first
};

/// What is known beforehand of a table.
struct identify_options {
  /// A base that is expected, as a file says it: preferred where the table leaves a choice.
  std::optional<double> base = {};
  /// The largest relative error of rounding a number: for decimals of k digits 0.5 10^(1 - k).
  /// Without, that of double; if no rule explains them, of numbers computed in float, then of half
  /// and bfloat16, where all numbers are of that type.
  std::optional<double> unit_roundoff = {};
};

/// Which rule made a table of frequencies, one number per pair, in radians per position:
///
///     auto const found = identify(inv_freq);
///     found.best().rule;                                     // "llama3"
///     found.best().parameters[0];                            // "factor", 8
///     found.explanations[1];                                 // the next best: "yarn", off by 12 %
///
/// Tried are geometric (ntk is that of another base), geometric_inclusive, linear, truncated,
/// proportional, llama3 and yarn (of six numbers or more), computed in float as engines do: a
/// number may be off by its rounding and by (8 + |ln inv_freq|) unit roundoffs of float (of the
/// rounding, if that is finer), the error of base^exponent. `within_rounding` says whether all are.
/// Parameters are the simplest that fit: a table of float determines a base to 5 to 7 digits.
/// low_freq_factor and beta_slow are taken to be 1; a frequency of 0 is a pair that does not
/// rotate. For a GGUF file's tensor rope_freqs, pass divided_by_factors(geometric(dim, base),
/// factors). Throws std::invalid_argument unless there are 1 to 4096 numbers, all from 0 to 2^64,
/// base is above 1 and unit_roundoff in (0, 0.1].
identification identify(std::span<double const> inv_freq, identify_options const& options = {});

}  // namespace identifying
