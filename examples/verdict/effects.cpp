#include "effects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "posenc/analysis/precision_budget.hpp"

namespace verdicts {
namespace {

using posenc::layer_description;

/// S by rows, which have at most two entries: that of the dim itself and that of its partner.
struct score_matrix {
  std::vector<double> angle, own, partners;
  std::vector<std::size_t> partner;
};

/// How far the query is from the key, on each axis.
using offsets = std::array<double, 3>;

score_matrix matrix_of(layer_description const& layer, std::size_t length, offsets const& offset,
                       bool in_float = false) {
  auto const dims = layer.head_dim;
  score_matrix s{std::vector<double>(dims), std::vector<double>(dims, layer.softmax_factor),
                 std::vector<double>(dims), std::vector<std::size_t>(dims)};
  for (std::size_t i = 0; i < dims; ++i) s.partner[i] = i;
  for (auto const& rotary : layer.rotary) {
    auto const f = rotary.frequencies.at(length);
    auto const gain = layer.softmax_factor * f.attention_factor() * f.attention_factor();
    std::vector<posenc::formed_angle> floats(f.pairs());
    posenc::float_angles{}(f, static_cast<std::int64_t>(offset[0]), floats);
    auto const first = rotary.block.first_dim(dims, f.rotary_dim());
    bool const is_halved = !is_interleaved(rotary);
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const axis = rotary.axes ? std::min<std::size_t>(rotary.axes->axis(i), 2) : 0;
      auto const angle = in_float ? floats[i].angle : f.inv_freq()[i] * offset[axis];
      auto const x = first + (is_halved ? i : 2 * i), y = x + (is_halved ? f.pairs() : 1);
      s.angle[x] = s.angle[y] = angle;
      s.own[x] = s.own[y] = gain * std::cos(angle);
      s.partners[y] = gain * std::sin(angle), s.partners[x] = -s.partners[y];
      s.partner[x] = y, s.partner[y] = x;
    }
  }
  return s;
}

double square(double x) { return x * x; }

effect difference(score_matrix const& right, score_matrix const& wrong) {
  double angle = 0, change = 0, size = 0;
  for (std::size_t i = 0; i < right.own.size(); ++i) {
    angle = std::max(angle, std::abs(right.angle[i] - wrong.angle[i]));
    size += square(right.own[i]) + square(right.partners[i]);
    change += square(right.own[i] - wrong.own[i]);
    change += right.partner[i] == wrong.partner[i]
                  ? square(right.partners[i] - wrong.partners[i])
                  : square(right.partners[i]) + square(wrong.partners[i]);
  }
  return {0, 0, angle == 0 ? std::nullopt : std::optional(angle), std::sqrt(change / size)};
}

/// A bias adds to scores of spread softmax_factor, as they are divided by sqrt(head_dim).
double difference_of_slopes(layer_description const& right, layer_description const& wrong) {
  auto const a = right.alibi->encoding();
  auto const slope = [&](std::size_t head) {
    return wrong.alibi ? plain_slope(*wrong.alibi, head) : 0.0;
  };
  double sum = 0;
  for (std::size_t h = 0; h < right.alibi->heads; ++h) sum += square(a.slopes()[h] - slope(h));
  return std::sqrt(sum / static_cast<double>(right.alibi->heads)) / std::abs(right.softmax_factor);
}

}  // namespace

std::vector<effect> effects_of(layer_description const& right, made_mistake const& made) {
  std::vector<effect> result;
  for (std::size_t const tokens : {1024u, 32'768u, 131'072u}) {
    auto const all = right.pooled != 0 ? tokens : right.window.value_or(tokens);
    auto const reach = std::min({tokens, all, right.chunk.value_or(tokens)}) - 1;
    auto const distance = static_cast<double>(reach);
    offsets const text{distance, distance, distance};
    effect found{};
    if (right.alibi) {
      found.score = distance * difference_of_slopes(right, made.wrong);
    } else if (made.in_float) {  // as angle_errors: the worst of 64 positions
      for (std::size_t back = 0; back < std::min<std::size_t>(reach, 64); ++back) {
        offsets const at{distance - static_cast<double>(back)};
        auto const one = difference(matrix_of(right, tokens, {at[0], at[0], at[0]}),
                                    matrix_of(right, tokens, at, true));
        found.radians = std::max(found.radians, one.radians);
        found.score = std::max(found.score, one.score);
      }
    } else if (made.where == place::text) {
      found = difference(matrix_of(right, tokens, text), matrix_of(made.wrong, tokens, text));
    } else {
      auto const side = std::floor(std::sqrt(static_cast<double>(tokens))) - 1;
      offsets const corners{0, side, side};
      found =
          difference(matrix_of(right, tokens, corners),
                     matrix_of(made.wrong, tokens, made.where == place::image ? corners : text));
    }
    found.tokens = tokens, found.distance = reach;
    result.push_back(found);
  }
  return result;
}

}  // namespace verdicts
