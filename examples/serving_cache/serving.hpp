// One layer of a server: two sequences in the pages of one cache, which share a prefix.
#pragma once

#include <string>
#include <vector>

/// What a format cost.
struct outcome {
  std::string format, engine;
  double bytes = 0;        ///< per token, keys and values
  double nanoseconds = 0;  ///< per token of the prefill: norm, rotation, write
  double error = 0,
         moved = 0;  ///< of outputs, rms, as a part of theirs: before and after the shift
};

/// Names that serve takes, in the order of the table.
std::vector<std::string> const& format_names();

/// Serves with a format: prefill, decode, the oldest tokens of one sequence dropped and its others
/// shifted, decode. Outputs are compared with attention in double.
outcome serve(std::string const& format, unsigned seed);
