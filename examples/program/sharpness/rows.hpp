// Rows of scores of one's own, and what rules of temperature make of them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "posenc/analysis/dispersion.hpp"
#include "program/dispersion/experiment.hpp"
#include "reporting/terminal_chart.hpp"

namespace sharpness {

/// FILE.npy or FILE.gguf:TENSOR as read_heads (program/tensors/heads_file.hpp) reads them, whose
/// contiguous dim are the keys; else text, a line for each row, numbers between blanks, commas or
/// semicolons. -inf masks a key; a line that begins with # is none. Throws std::runtime_error,
/// which names the file, unless it can be read and has rows of finite and masked scores, some not
/// masked.
std::vector<std::vector<double>> read_rows(std::string const& file);

/// What each rule makes of each row, after scores are multiplied by `scale`.
struct measured_rows {
  std::vector<dispersion::rule> rules;                    ///< softmax first
  std::vector<std::vector<posenc::row_dispersion>> rows;  ///< [rules][rows]
};
measured_rows measure_rows(std::vector<std::vector<double>> rows, double scale,
                           dispersion::settings const& s);

void print(std::ostream& out, measured_rows const& measured, double eps,
           charts::terminal_style style);

/// One line a rule and row.
void write_csv(std::ostream& out, measured_rows const& measured);

/// Largest weight and beta of each row against its entropy.
std::string to_svg(measured_rows const& measured, std::string const& subtitle);

}  // namespace sharpness
