// What the options of the verb run ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/options.hpp"
#include "program/run/changes.hpp"

namespace run {

struct options {
  std::string model, against, ids, text;
  std::size_t threads = 2;
  std::optional<std::size_t> tokens;

  // Changes.
  std::optional<double> p, base, scale, cap, log_n, ssmax, critical, half_weight;
  std::optional<std::size_t> fastest, slowest, window, sinks;
  std::optional<std::int64_t> keys_ahead, queries_ahead, keys_moved;
  std::string pairs, without_pairs, scaling, parameters, layout, keys, values;
  bool nope = false, alibi = false, backwards = false, twice = false, one_ahead = false,
       one_short = false, modulo = false, adaptive = false, hadamard = false, bias_apart = false;
  std::string layers, heads;

  // What is shown.
  bool mistakes = false, facts = false, sweep = false;
  std::string top;
  std::size_t greedy = 0;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o);

/// The changes that are asked for, in the order in which they act. Throws std::runtime_error for a
/// value that is none.
std::vector<change> changes_of(options const& o);
places places_of(options const& o);
/// Positions of --top. Throws std::runtime_error for one beyond the text.
std::vector<std::size_t> top_positions(options const& o, std::size_t tokens);

}  // namespace run
