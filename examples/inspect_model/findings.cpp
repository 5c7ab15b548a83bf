#include "findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "posenc/frequency/describe.hpp"
#include "posenc/rotation/phase.hpp"
#include "report.hpp"

using posenc::frequencies;
using posenc::layer_encoding;

std::optional<std::size_t> first_negative(frequencies const& f, std::size_t reach) {
  // From one distance to the next by a rotation, and exactly again every so often, so that nothing drifts.
  constexpr std::size_t stretch = 4096;
  auto const n = f.pairs();
  std::vector<double> cos(n), sin(n), step_cos(n), step_sin(n);
  for (std::size_t i = 0; i < n; ++i) step_cos[i] = std::cos(f.inv_freq()[i]), step_sin[i] = std::sin(f.inv_freq()[i]);
  for (std::size_t first = 0; first < reach; first += stretch) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const exact = posenc::cos_sin(posenc::phase_step(f.inv_freq()[i]).at(static_cast<std::int64_t>(first)));
      cos[i] = exact.cos, sin[i] = exact.sin;
    }
    for (auto m = first; m < std::min(first + stretch, reach); ++m) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += cos[i];
        auto const next = cos[i] * step_cos[i] - sin[i] * step_sin[i];
        sin[i] = sin[i] * step_cos[i] + cos[i] * step_sin[i];
        cos[i] = next;
      }
      if (sum < 0) return m;
    }
  }
  return {};
}

std::size_t reach_of(layer_encoding const& kind, std::size_t context) {
  return std::min({context, kind.window.value_or(context), kind.chunk.value_or(context)});
}

std::vector<std::string> findings(layer_encoding const& kind, frequencies const& f, std::size_t context) {
  std::vector<std::string> result;
  auto const reach = reach_of(kind, context);
  auto const within = "within " + grouped(reach) + " tokens";
  auto const pairs = posenc::describe(f, reach).pairs;

  auto const standing = std::ranges::count_if(pairs, [](auto const& p) { return p.inv_freq == 0; });
  if (standing != 0) {
    result.push_back(grouped(static_cast<std::size_t>(standing)) + " of " + grouped(pairs.size()) +
                     " pairs stand still: those dims carry no position.");
  }
  auto const slow = [](auto const& p) { return p.inv_freq != 0 && p.turns < 1; };
  auto const first_slow = std::ranges::find_if(pairs, slow);
  if (first_slow != pairs.end()) {
    result.push_back(grouped(static_cast<std::size_t>(std::ranges::count_if(pairs, slow))) + " of " + grouped(pairs.size()) +
                     " pairs never complete a turn " + within + ", the first of them pair " + grouped(first_slow->pair) +
                     ", of wavelength " + rounded(first_slow->wavelength) + ".");
  }
  if (auto const m = first_negative(f, reach)) {
    result.push_back("Base too small for the context: a key like the query begins to score below a random one at distance " + grouped(*m) +
                     ", where the sum of all cos(distance * frequency) turns negative. [Men 2024]");
  }
  if (auto const a = f.attention_factor(); a != 1) {
    bool const all = f.rotary_dim() == kind.head_dim;
    result.push_back("Attention factor " + rounded(a) + " multiplies rotated queries and rotated keys, hence " +
                     (all ? "scores by " : "the part of scores that comes from rotated dims by ") + rounded(a * a) + ".");
  }
  auto const fastest = *std::ranges::max_element(f.inv_freq());
  auto const in_float = static_cast<double>(context) * fastest * 0x1p-24;
  if (in_float > 1e-3) {
    result.push_back("Formed in float32, the angle at the last of " + grouped(context) + " positions is off by up to " + rounded(in_float) +
                     " radians.");
  }
  return result;
}
