#include "recipe.hpp"

#include <algorithm>
#include <cmath>

namespace conformance {

numbers series(double base, double dims, std::size_t count) {
  numbers result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(std::pow(base, -2 * static_cast<double>(i) / dims));
  return result;
}

pair_list halves_of(std::size_t first, std::size_t dims) {
  pair_list result;
  for (std::size_t i = 0; i < dims / 2; ++i) result.push_back({first + i, first + i + dims / 2});
  return result;
}

pair_list interleaved_of(std::size_t first, std::size_t dims) {
  pair_list result;
  for (std::size_t i = 0; i < dims / 2; ++i) result.push_back({first + 2 * i, first + 2 * i + 1});
  return result;
}

numbers unscaled(test_case const& c) {
  auto const base = c.setting("rope_theta", 0);
  if (base == 0) return {};
  auto const axes = c.settings.find("axis_dims");
  if (axes == c.settings.end())
    return series(base, 2 * static_cast<double>(c.pairs.size()), c.pairs.size());
  numbers result;
  for (auto const d : axes->second) {
    auto const one = series(base, d, static_cast<std::size_t>(d) / 2);
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

recipe recipe_of(test_case const& c) {
  recipe r{.head_dim = c.head_dim,
           .inv_freq = c.expected.at("inv_freq"),
           .attention_factor = c.expected.at("attention_factor").front(),
           .pairs = c.pairs,
           .axis_of_pair = c.axis_of_pair,
           .positions = c.positions,
           .input = c.input};
  for (auto const* type : {"yarn", "yarn_by_rotations", "llama3", "ntk_by_parts", "part_ntk"})
    if (c.type == type) r.before_ramp = unscaled(c), r.ramp_factor = c.setting("factor", 1);
  if (c.type == "xpos") {
    // Where the gain is farthest from 1.
    auto const& at = *std::ranges::max_element(
        c.positions, {}, [](numbers const& token) { return std::abs(token.front()); });
    auto const row = static_cast<std::size_t>(&at - c.positions.data()) * c.pairs.size();
    for (std::size_t i = 0; i < c.pairs.size(); ++i) {
      auto const gain = std::hypot(c.expected.at("cos")[row + i], c.expected.at("sin")[row + i]);
      auto const logarithm = std::log(gain / r.attention_factor);
      r.gain_rates.push_back(at.front() == 0 ? 0 : logarithm / at.front());
    }
  }
  return r;
}

namespace {

double position_of(recipe const& r, std::size_t token, std::size_t pair) {
  return rounded(r.positions[token][r.axis_of_pair[pair]], r.of_positions);
}

double angle_of(recipe const& r, std::size_t token, std::size_t pair) {
  auto const frequency = rounded(r.inv_freq[pair], r.of_frequencies);
  return rounded(position_of(r, token, pair) * frequency, r.of_angles);
}

double gain_of(recipe const& r, std::size_t token, std::size_t pair) {
  if (r.gain_rates.empty()) return r.attention_factor;
  auto const logarithm = r.gain_rates[pair] * r.gain_power * position_of(r, token, pair);
  return r.attention_factor * std::exp(logarithm);
}

// How many times the rounding of a ramp counts in a frequency, before (k + (1 - k) / factor): that
// of k moves it by a part of `before`, which may be far more than the frequency.
double of_ramp(recipe const& r, std::size_t pair) {
  if (r.before_ramp.size() != r.inv_freq.size()) return 1;
  auto const before = r.before_ramp[pair], f = r.inv_freq[pair], last = before / r.ramp_factor;
  bool const is_between = f < before * (1 - 1e-9) && f > last * (1 + 1e-9);
  return is_between ? before / f : 1;
}

}  // namespace

bool is_sound(recipe const& r) {
  auto const within = [&](pair_list const& pairs) {
    return std::ranges::all_of(
        pairs, [&](auto const& pair) { return std::max(pair[0], pair[1]) < r.head_dim; });
  };
  return r.inv_freq.size() == r.pairs.size() && r.axis_of_pair.size() == r.pairs.size() &&
         (r.written.empty() || r.written.size() == r.pairs.size()) &&
         (r.gain_rates.empty() || r.gain_rates.size() == r.pairs.size()) && within(r.pairs) &&
         within(r.written);
}

answers followed(recipe const& r) {
  answers result;
  auto& inv_freq = result["inv_freq"];
  for (auto const f : r.inv_freq) inv_freq.push_back(rounded(f, r.of_frequencies));
  result["attention_factor"] = {r.attention_factor};
  auto &cosines = result["cos"], &sines = result["sin"], &rotated = result["rotated"];
  auto const& written = r.written.empty() ? r.pairs : r.written;
  for (std::size_t t = 0; t < r.positions.size(); ++t) {
    auto head = r.input[t];
    for (auto& x : head) x *= r.factor_of_rest;
    for (std::size_t i = 0; i < r.pairs.size(); ++i) {
      auto const angle = angle_of(r, t, i), gain = gain_of(r, t, i);
      auto cos = rounded(gain * std::cos(angle), r.of_rows),
           sin = rounded(gain * std::sin(angle), r.of_rows);
      if (r.exchanges_cos_sin) std::swap(cos, sin);
      cosines.push_back(cos), sines.push_back(sin * r.sine_into_y);
      auto x = r.input[t][r.pairs[i][0]], y = r.input[t][r.pairs[i][1]];
      for (int n = 0; n < r.times; ++n) {
        auto const before = x;
        x = before * cos + r.sine_into_x * y * sin;
        y = r.sine_into_y * before * sin + y * cos;
      }
      head[written[i][0]] = x, head[written[i][1]] = y;
    }
    rotated.insert(rotated.end(), head.begin(), head.end());
  }
  return result;
}

answers bounds(recipe const& r, precision stored) {
  auto const u = std::max(unit_roundoff(stored), unit_roundoff(r.loose_arithmetic));
  auto const u_angle = r.has_exact_angles ? 0 : unit_roundoff(r.loose_angles);
  // Of base^(-2i / d): the rounding of the exponent, of the power, and of steps from pair to pair.
  auto const relative = [&](std::size_t i, double unit) {
    auto const logarithm = r.inv_freq[i] > 0 ? std::abs(std::log(r.inv_freq[i])) : 0;
    return (4 + 2 * logarithm + 2 * static_cast<double>(i)) * of_ramp(r, i) * unit;
  };
  answers result;
  auto& inv_freq = result["inv_freq"];
  // Frequencies and their factor are not stored as heads are.
  auto const u_setting = std::min(unit_roundoff(stored), unit_roundoff(precision::float32));
  auto const u_frequency =
      std::max({u_setting, unit_roundoff(r.loose_angles), unit_roundoff(r.loose_frequencies)});
  for (std::size_t i = 0; i < r.inv_freq.size(); ++i)
    inv_freq.push_back(std::abs(r.inv_freq[i]) * relative(i, u_frequency) + 1e-40);
  result["attention_factor"] = {8 * u_setting * r.attention_factor};
  auto &cosines = result["cos"], &rotated = result["rotated"];
  auto const& written = r.written.empty() ? r.pairs : r.written;
  for (std::size_t t = 0; t < r.positions.size(); ++t) {
    numbers head(r.head_dim);
    for (std::size_t d = 0; d < r.head_dim; ++d)
      head[d] = 2 * u * std::abs(r.input[t][d]) * r.factor_of_rest + 1e-40;
    for (std::size_t i = 0; i < r.pairs.size(); ++i) {
      auto const gain = gain_of(r, t, i), of_all = std::pow(gain, std::max(1, r.times));
      auto const of_angle = std::min(2.0, std::abs(angle_of(r, t, i)) * relative(i, u_angle));
      cosines.push_back(gain * (4 * u + of_angle) + 1e-40);
      auto const size = std::abs(r.input[t][r.pairs[i][0]]) + std::abs(r.input[t][r.pairs[i][1]]);
      head[written[i][0]] = head[written[i][1]] =
          of_all * size * (6 * u + of_angle) * std::max(1, r.times) + 1e-40;
    }
    rotated.insert(rotated.end(), head.begin(), head.end());
  }
  result["sin"] = cosines;
  return result;
}

}  // namespace conformance
