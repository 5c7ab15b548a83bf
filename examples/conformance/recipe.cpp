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

recipe recipe_of(test_case const& c) {
  recipe r{.head_dim = c.head_dim,
           .inv_freq = c.expected.at("inv_freq"),
           .attention_factor = c.expected.at("attention_factor").front(),
           .pairs = c.pairs,
           .axis_of_pair = c.axis_of_pair,
           .positions = c.positions,
           .input = c.input};
  if (c.type == "xpos") {
    auto const &cos = c.expected.at("cos"), &sin = c.expected.at("sin");
    for (std::size_t at = 0; at < cos.size(); at += c.pairs.size()) {
      numbers gains;
      for (std::size_t i = at; i < at + c.pairs.size(); ++i)
        gains.push_back(std::hypot(cos[i], sin[i]) / r.attention_factor);
      r.gains.push_back(gains);
    }
  }
  return r;
}

namespace {

double angle_of(recipe const& r, std::size_t token, std::size_t pair) {
  auto const position = rounded(r.positions[token][r.axis_of_pair[pair]], r.of_positions);
  return rounded(position * rounded(r.inv_freq[pair], r.of_frequencies), r.of_angles);
}

double gain_of(recipe const& r, std::size_t token, std::size_t pair) {
  return r.attention_factor * (r.gains.empty() ? 1 : std::pow(r.gains[token][pair], r.gain_power));
}

}  // namespace

bool is_sound(recipe const& r) {
  auto const within = [&](pair_list const& pairs) {
    return std::ranges::all_of(
        pairs, [&](auto const& pair) { return std::max(pair[0], pair[1]) < r.head_dim; });
  };
  return r.inv_freq.size() == r.pairs.size() && r.axis_of_pair.size() == r.pairs.size() &&
         (r.written.empty() || r.written.size() == r.pairs.size()) &&
         (r.gains.empty() || r.gains.front().size() == r.pairs.size()) && within(r.pairs) &&
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

answers bounds(recipe const& r, double ramp, precision stored) {
  auto const u = std::max(unit_roundoff(stored), unit_roundoff(r.loose_arithmetic));
  auto const u_angle = r.has_exact_angles ? 0 : unit_roundoff(r.loose_angles);
  // Of base^(-2i / d): the rounding of the exponent, of the power, and of steps from pair to pair.
  auto const relative = [&](std::size_t i, double unit) {
    auto const logarithm = r.inv_freq[i] > 0 ? std::abs(std::log(r.inv_freq[i])) : 0;
    return (4 + 2 * logarithm + 2 * static_cast<double>(i)) * std::max(1.0, ramp) * unit;
  };
  answers result;
  auto& inv_freq = result["inv_freq"];
  auto const u_frequency = std::max(
      {unit_roundoff(stored), unit_roundoff(r.loose_angles), unit_roundoff(r.loose_frequencies)});
  auto const least = stored == precision::float16 ? 0x1p-25 : 1e-40;
  for (std::size_t i = 0; i < r.inv_freq.size(); ++i)
    inv_freq.push_back(std::abs(r.inv_freq[i]) * relative(i, u_frequency) + least);
  result["attention_factor"] = {8 * unit_roundoff(stored) * r.attention_factor};
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
