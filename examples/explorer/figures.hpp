// The page's charts, each a picture with the numbers behind it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "subject.hpp"

namespace explorer {

struct chart_settings {
  std::size_t tokens;  ///< of context
  double rho;          ///< correlation of queries and keys
  double spread;       ///< the largest score of a row less the smallest
  double width;        ///< of a picture, in pixels
};

/// The largest error of a cosine or sine at some contexts, as an engine stores them.
struct engine_errors {
  std::string name;
  std::vector<double> tokens = {}, largest = {};
};

/// A subject with the numbers that take time.
struct measured {
  subject of;
  std::vector<double> scores;         ///< its mean_scores at the distances that it sees
  std::vector<engine_errors> errors;  ///< none where nothing rotates
};
measured measure(subject of, std::size_t tokens);

/// Charts of one subject or of several together, as a list of objects: "title"; "svg", a whole
/// file; "x" and "y", the labels of its axes; "curves", each with "name", "colour" (the class
/// s0 ... s6 of the picture), "x", "y", and where these are in the plot, "across" and "up", from 0
/// to 1; null is a gap. Curves of one chart have values at the same x, as far as each reaches.
nlohmann::json charts_of(std::vector<measured> const& subjects, chart_settings const& how);

}  // namespace explorer
