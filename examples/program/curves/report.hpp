// The curves of a model for people to look at and for programs to read.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "curves.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/terminal_chart.hpp"

namespace curves {

struct measured_model {
  std::string name, says;  ///< no two models have one name; says: the settings
  std::vector<curve> curves;
  charts::mark known;  ///< the largest distance that it was trained with
};

/// Pictures, numbers and readings, as wide as style.columns.
void print(std::ostream& out, measured_model const& m, charts::terminal_style style,
           bool random_inputs);

/// One line a model, encoding, softmax and distance: every distance, or those below 64 and 48 to
/// each factor of ten beyond.
void write_csv(std::ostream& out, std::vector<measured_model> const& measured, bool every_distance);

/// Three charts a model: logit, weight with plain softmax, weight with adaptive softmax; or three
/// of all models together.
std::string to_svg(std::vector<measured_model> const& measured, std::string const& inputs,
                   bool random_inputs, bool together);

}  // namespace curves
