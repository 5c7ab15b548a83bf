// The experiment for people to look at and for programs to read.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reporting/terminal_chart.hpp"
#include "summary.hpp"

namespace retrieval {

/// "10 networks, trained for 10000 steps ..."
std::string description(settings const& s);

/// Tables and a chart, as wide as style.columns.
void print(std::ostream& out, std::vector<size_summary> const& summary,
           charts::terminal_style style);

/// The first of the tables.
void print_accuracies(std::ostream& out, std::vector<size_summary> const& summary, bool utf8);
/// The second one.
void print_below_hard(std::ostream& out, std::vector<size_summary> const& summary, bool utf8);

/// One line a seed, size and measure, with a number for each rule.
void write_csv(std::ostream& out, std::vector<std::size_t> const& sizes,
               std::vector<seed_result> const& results);

/// The accuracies of such a file. Throws std::invalid_argument, with the name of the file, unless
/// it has those of every size for two seeds or more.
std::vector<size_summary> read_csv(std::string const& name);

/// Accuracy, largest weight and entropy against the size; the polynomials of the first network.
std::string to_svg(std::vector<size_summary> const& summary,
                   std::vector<seed_result> const& results, std::string const& subtitle);

/// The paper's figure 2, of the first network: a map for every size, or every second of many, plain
/// over adaptive.
std::string map_svg(std::vector<std::size_t> const& sizes, seed_result const& first);

}  // namespace retrieval
