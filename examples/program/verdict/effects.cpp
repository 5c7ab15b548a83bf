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
  auto factor = layer.softmax_factor;
  if (layer.temperature)
    factor *= layer.temperature->inverse_temperature(
        {.query_position = static_cast<std::int64_t>(length) - 1});
  score_matrix s{std::vector<double>(dims), std::vector<double>(dims, factor),
                 std::vector<double>(dims), std::vector<std::size_t>(dims)};
  for (std::size_t i = 0; i < dims; ++i) s.partner[i] = i;
  for (auto const& rotary : layer.rotary) {
    auto const f = rotary.frequencies.at(length);
    auto const gain = factor * f.attention_factor() * f.attention_factor();
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
  return {.radians = angle == 0 ? std::nullopt : std::optional(angle),
          .score = std::sqrt(change / size)};
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

/// Scores of N(0, 1) times the factor, with one cap and with another, or none.
double difference_of_cap(layer_description const& right, layer_description const& wrong) {
  auto const capped = [](layer_description const& layer, double z) {
    auto const score = layer.softmax_factor * z;
    return layer.score_cap ? *layer.score_cap * std::tanh(score / *layer.score_cap) : score;
  };
  double size = 0, change = 0;
  for (double z = -9; z <= 9; z += 1.0 / 64) {
    auto const density = std::exp(-square(z) / 2), score = capped(right, z);
    size += density * square(score), change += density * square(score - capped(wrong, z));
  }
  return std::sqrt(change / size);
}

/// A head that reads another's keys has another score.
double difference_of_groups(layer_description const& layer) {
  std::size_t other = 0;
  for (std::size_t h = 0; h < layer.heads; ++h)
    other += h % layer.key_heads != h / (layer.heads / layer.key_heads);
  return std::sqrt(2 * static_cast<double>(other) / static_cast<double>(layer.heads));
}

// ---- The mask

/// Tokens, the last one among them.
struct interval {
  std::int64_t first, last;
};
std::int64_t length_of(interval const& x) { return x.last - x.first + 1; }

/// An image at the end, or a prompt at the beginning.
interval block_of(posenc::both_ways which, std::int64_t tokens) {
  auto const size = std::min<std::int64_t>(tokens, 1120);  // the largest image of Gemma 4
  return which == posenc::both_ways::prefix ? interval{0, size - 1}
                                            : interval{tokens - size, tokens - 1};
}

/// The keys that a query sees, which lie side by side.
interval seen(layer_description const& layer, std::int64_t query, std::int64_t tokens) {
  auto const behind = layer.window
                          ? query - static_cast<std::int64_t>(std::min<std::size_t>(
                                        *layer.window - 1, static_cast<std::size_t>(query)))
                          : 0;
  interval keys{behind, tokens - 1};
  if (layer.ahead && *layer.ahead < static_cast<std::size_t>(tokens))
    keys.last = std::min(keys.last, query + static_cast<std::int64_t>(*layer.ahead));
  if (layer.chunk && *layer.chunk < static_cast<std::size_t>(tokens)) {
    auto const size = static_cast<std::int64_t>(*layer.chunk), start = query / size * size;
    keys = {std::max(keys.first, start), std::min(keys.last, start + size - 1)};
  }
  using enum posenc::both_ways;
  auto const block = block_of(layer.both_ways, tokens);
  if (layer.both_ways == none || query < block.first || query > block.last) return keys;
  auto const first =
      layer.both_ways == image_within_window ? std::max(block.first, behind) : block.first;
  return {std::min(keys.first, first), std::max(keys.last, block.last)};
}

double difference_of_keys(layer_description const& right, layer_description const& wrong,
                          std::size_t length) {
  auto const tokens = static_cast<std::int64_t>(length);
  interval queries{0, tokens - 1};
  bool const is_of_block = right.both_ways != wrong.both_ways && right.window == wrong.window &&
                           right.ahead == wrong.ahead && right.chunk == wrong.chunk;
  if (is_of_block)
    queries = block_of(
        right.both_ways == posenc::both_ways::none ? wrong.both_ways : right.both_ways, tokens);
  double all = 0, other = 0;
  for (auto q = queries.first; q <= queries.last; ++q) {
    auto const a = seen(right, q, tokens), b = seen(wrong, q, tokens);
    auto const either = std::max(a.last, b.last) - std::min(a.first, b.first) + 1;
    auto const both = std::min(a.last, b.last) - std::max(a.first, b.first) + 1;
    all += static_cast<double>(either), other += static_cast<double>(either - both);
    if (right.pooled != 0) all += static_cast<double>(q + 1) / static_cast<double>(right.pooled);
  }
  return other / all;
}

/// One of the terms that the last query's softmax has, or should have.
double share_of_sink(layer_description const& layer, std::size_t tokens) {
  auto const last = static_cast<std::int64_t>(tokens) - 1;
  auto keys = static_cast<double>(length_of(seen(layer, last, last + 1)));
  if (layer.pooled != 0) keys += static_cast<double>(tokens) / static_cast<double>(layer.pooled);
  return 1 / (keys + 1);
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
    if (made.by == measure::slopes) {
      found.score = distance * difference_of_slopes(right, made.wrong);
    } else if (made.by == measure::cap) {
      found.score = difference_of_cap(right, made.wrong);
    } else if (made.by == measure::heads) {
      found.score = difference_of_groups(right);
    } else if (made.by == measure::keys) {
      found.keys = difference_of_keys(right, made.wrong, tokens);
    } else if (made.by == measure::sinks) {
      found.keys = share_of_sink(right, tokens);
    } else if (made.by == measure::float_angles) {  // as angle_errors: the worst of 64 positions
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
