#pragma once

/// A case of rotary encodings: its numbers, from frequencies to rotated heads.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "text.hpp"

namespace conformance {

using exact::number;
using exact::series;

struct rotary_case {
  std::string name, covers;
  std::vector<std::string> source, models = {};
  text::object rope_parameters;
  std::size_t head_dim;
  series inv_freq;
  number attention_factor = exact::whole(1);
  std::string layout = "halves";
  std::size_t first_dim = 0;
  std::size_t blocks = 1;                      ///< pairs lie within each of so many equal blocks
  std::vector<std::size_t> axis_of_pair = {};  ///< empty: all by axis 0
  std::vector<std::vector<double>> positions;  ///< [tokens][axes]
  /// xPos: what a pair is multiplied by at a position.
  std::function<number(std::size_t pair, double position)> gain = {};
  double length = 0, trained = 0;  ///< where the rule depends on them
  bool rows = true;                ///< write cosines and sines too
};

inline std::vector<std::vector<double>> one_axis(std::vector<double> const& positions) {
  std::vector<std::vector<double>> result;
  for (auto const p : positions) result.push_back({p});
  return result;
}

/// The two dims of each pair.
inline std::vector<std::array<std::size_t, 2>> pairs_of(rotary_case const& c) {
  std::vector<std::array<std::size_t, 2>> result;
  auto const in_block = c.inv_freq.size() / c.blocks;
  for (std::size_t i = 0; i < c.inv_freq.size(); ++i) {
    auto const start = c.first_dim + i / in_block * 2 * in_block, j = i % in_block;
    if (c.layout == "halves") {
      result.push_back({start + j, start + j + in_block});
    } else {
      result.push_back({start + 2 * j, start + 2 * j + 1});
    }
  }
  return result;
}

/// Sixteenths from -2 to 2, but not 0: exact in every storage type.
inline std::vector<int> input_of(std::size_t token, std::size_t head_dim) {
  auto state = static_cast<std::uint32_t>(2026 + 7919 * token);
  std::vector<int> result;
  for (std::size_t i = 0; i < head_dim; ++i) {
    state = state * 1664525u + 1013904223u;
    auto const drawn = static_cast<int>((state >> 24) % 63) - 31;
    result.push_back(drawn == 0 ? 32 : drawn);
  }
  return result;
}

inline std::string written(rotary_case const& c) {
  auto const pairs = pairs_of(c);
  std::vector<series> cosines, sines, rotated;
  std::vector<std::vector<int>> input;
  for (std::size_t t = 0; t < c.positions.size(); ++t) {
    series cos, sin, head;
    input.push_back(input_of(t, c.head_dim));
    for (auto const x : input.back()) head.push_back(exact::ratio(x, 16));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      auto const p = c.positions[t][c.axis_of_pair.empty() ? 0 : c.axis_of_pair[i]];
      auto const [unit_cos, unit_sin] = oracle::cos_sin(number(p) * c.inv_freq[i]);
      auto const gain = c.gain ? c.attention_factor * c.gain(i, p) : c.attention_factor;
      cos.push_back(gain * unit_cos), sin.push_back(gain * unit_sin);
      auto const x = head[pairs[i][0]], y = head[pairs[i][1]];
      head[pairs[i][0]] = x * cos.back() - y * sin.back();
      head[pairs[i][1]] = x * sin.back() + y * cos.back();
    }
    cosines.push_back(cos), sines.push_back(sin), rotated.push_back(head);
  }
  text::object file;
  auto const show = [](std::string const& s) { return text::setting(s); };
  file.add("name", c.name).add("covers", c.covers);
  file.raw("source", text::list(c.source, show));
  if (!c.models.empty()) file.raw("models", text::list(c.models, show));
  file.add("encoding", "rotary").raw("rope_parameters", c.rope_parameters.inner());
  if (c.length != 0) file.add("length", c.length);
  if (c.trained != 0) file.add("max_position_embeddings", c.trained);
  file.add("head_dim", c.head_dim).add("rotary_dim", 2 * c.inv_freq.size());
  file.add("first_dim", c.first_dim).add("layout", c.layout);
  if (c.blocks != 1) file.add("blocks", c.blocks);
  file.raw("pairs", text::list(pairs, [](auto const& p) {
             return '[' + std::to_string(p[0]) + ',' + std::to_string(p[1]) + ']';
           }));
  if (!c.axis_of_pair.empty()) file.raw("axis_of_pair", text::settings(c.axis_of_pair));
  file.raw("inv_freq", text::numbers(c.inv_freq));
  file.raw("attention_factor", text::digits(c.attention_factor));
  file.raw("positions", text::list(c.positions, [](std::vector<double> const& p) {
             return p.size() == 1 ? text::setting(p[0]) : text::settings(p);
           }));
  if (c.rows) file.raw("cos", text::list(cosines, text::numbers));
  if (c.rows) file.raw("sin", text::list(sines, text::numbers));
  file.raw("input", text::list(input, [](std::vector<int> const& row) {
             return text::list(row, [](int x) { return text::setting(x / 16.0); });
           }));
  file.raw("rotated", text::list(rotated, text::numbers));
  return file.line();
}

}  // namespace conformance
