// Tables, CSV and pictures of a run.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "program/run/measurement.hpp"
#include "reporting/terminal_chart.hpp"

namespace run {

/// A change, or a mistake, and what it costs.
struct cost {
  std::string name, says;
  predictions of;
  std::string writes = {};  ///< the text that it writes, if it was asked for
};

struct run_report {
  std::string title;       ///< of the model
  std::size_t tokens = 0;  ///< of the text
  measurement own = {};
  std::string against = {};  ///< the model from which of_text's divergence is; empty: none
  std::vector<cost> costs = {};
  bool shows_heads = true, explains_costs = true;
  bool is_sweep = false;  ///< costs are of p-RoPE and of pairs that stop
  std::string writes = {};  ///< the model's own text behind the given one
};

void print(std::ostream& out, run_report const& report, charts::terminal_style const& style);
/// A line for each head with all that is measured; with costs, a line for each cost.
void write_csv(std::ostream& out, run_report const& report);
/// Maps of the heads, and their attention against distance; with several costs, bars of them, or
/// of a sweep curves by pair beside the norms.
std::string to_svg(run_report const& report);

/// "0.0123", "63 %".
std::string short_number(double number, int digits = 4);
std::string percent(double part);

}  // namespace run
