#include "plain_loops.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using numbers = std::vector<double>;

double number(std::uint64_t kind, std::size_t token, std::size_t i) {
  auto x = ((kind * 1'000'003 + token) * 8191 + i) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return static_cast<double>(x >> 56) / 128 - 1;
}
double query(std::size_t token, std::size_t i) { return 4 * number(0, token, i); }
double key(std::size_t token, std::size_t i) {  // those of 16 neighbours are alike
  return (3 * number(1, token / 16, i) + number(2, token, i)) / 4;
}
double value(std::size_t token, std::size_t i) { return number(3, token, i); }

void fill(double (*of)(std::size_t, std::size_t), std::size_t first, std::size_t tokens,
          std::size_t count, float* to) {
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < count; ++i)
      to[t * count + i] = static_cast<float>(of(first + t, i));
}

numbers head(double (*of)(std::size_t, std::size_t), std::size_t token, std::size_t h,
             std::size_t dim) {
  numbers result(dim);
  for (std::size_t i = 0; i < dim; ++i) result[i] = of(token, h * dim + i);
  return result;
}

/// Pairs (first + i step, first + i step + apart) of `dims` dims.
void rotate(numbers& x, std::int64_t position, std::size_t first, std::size_t dims,
            std::size_t step, std::size_t apart) {
  for (std::size_t i = 0; i < dims / 2; ++i) {
    auto const angle = static_cast<double>(position) *
                       std::pow(1e4, -2 * static_cast<double>(i) / static_cast<double>(dims));
    auto &a = x[first + i * step], &b = x[first + i * step + apart];
    auto const rotated = a * std::cos(angle) - b * std::sin(angle);
    b = a * std::sin(angle) + b * std::cos(angle), a = rotated;
  }
}

numbers attention(numbers const& q, std::vector<numbers> const& keys,
                  std::vector<numbers> const& values, std::size_t value_dim, double scale) {
  numbers outputs(value_dim);
  double sum = 0;
  for (std::size_t t = 0; t < keys.size(); ++t) {
    double score = 0;
    for (std::size_t i = 0; i < q.size(); ++i) score += q[i] * keys[t][i];
    auto const weight = std::exp(scale * score);
    sum += weight;
    for (std::size_t i = 0; i < value_dim; ++i) outputs[i] += weight * values[t][i];
  }
  for (auto& x : outputs) x /= sum;
  return outputs;
}

/// Sums of products in float, a few hundred numbers each, round by less than 2e-6 (rms).
bool close(float const* found, numbers const& wanted) {
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    errors += std::pow(static_cast<double>(found[i]) - wanted[i], 2),
        squares += wanted[i] * wanted[i];
  return errors <= squares * 4e-12;
}

}  // namespace

void queries_of(std::size_t first, std::size_t tokens, std::size_t count, float* q) {
  fill(query, first, tokens, count, q);
}
void keys_of(std::size_t first, std::size_t tokens, std::size_t count, float* k) {
  fill(key, first, tokens, count, k);
}
void values_of(std::size_t first, std::size_t tokens, std::size_t count, float* v) {
  fill(value, first, tokens, count, v);
}

int is_right(float const* outputs, std::size_t token, std::int64_t position,
             std::size_t const* seen, std::int64_t const* positions, std::size_t count) {
  bool right = true;
  for (std::size_t h = 0; h < HEADS; ++h) {
    auto q = head(query, token, h, DIM);
    rotate(q, position, 0, DIM, 1, DIM / 2);
    std::vector<numbers> keys, values;
    for (std::size_t t = 0; t < count; ++t) {
      keys.push_back(head(key, seen[t], h * KV_HEADS / HEADS, DIM));
      values.push_back(head(value, seen[t], h * KV_HEADS / HEADS, DIM));
      auto const at = positions == nullptr ? static_cast<std::int64_t>(seen[t]) : positions[t];
      rotate(keys.back(), at, 0, DIM, 1, DIM / 2);
    }
    right = right &&
            close(outputs + h * DIM, attention(q, keys, values, DIM, 1 / std::sqrt(double{DIM})));
  }
  return right;
}

int is_right_over(float const* outputs, float const* q, float const* k, float const* v,
                  std::size_t count) {
  bool right = true;
  for (std::size_t h = 0; h < HEADS; ++h) {
    std::vector<numbers> keys, values;
    for (std::size_t t = 0; t < count; ++t) {
      auto const at = (t * KV_HEADS + h * KV_HEADS / HEADS) * DIM;
      keys.emplace_back(k + at, k + at + DIM), values.emplace_back(v + at, v + at + DIM);
    }
    numbers const of_head(q + h * DIM, q + (h + 1) * DIM);
    right = right && close(outputs + h * DIM,
                           attention(of_head, keys, values, DIM, 1 / std::sqrt(double{DIM})));
  }
  return right;
}

int is_right_of_mla(float const* outputs, std::size_t token, double scale) {
  bool right = true;
  for (std::size_t h = 0; h < MLA_HEADS; ++h) {
    auto const rotated = [](numbers x, std::size_t position) {
      rotate(x, static_cast<std::int64_t>(position), MLA_LATENT, MLA_ROPE, 2, 1);
      return x;
    };
    std::vector<numbers> keys;
    for (std::size_t t = 0; t <= token; ++t) keys.push_back(rotated(head(key, t, 0, MLA_DIM), t));
    right = right && close(outputs + h * MLA_LATENT,
                           attention(rotated(head(query, token, h, MLA_DIM), token), keys, keys,
                                     MLA_LATENT, scale));
  }
  return right;
}
