// How well a model predicts a text, and how far it is from another model's predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "program/retrieval/interval.hpp"

namespace run {

/// ln of the sum of e^x, in double.
double log_sum_exp(std::span<float const> logits);
/// sum p ln(p / p'), in nats and in double: p of the model, p' of the other, whose log_sum_exp is
/// known.
double divergence(std::span<float const> model, std::span<float const> other, double of_other);
/// The first of the largest.
std::size_t largest(std::span<float const> logits);

/// Of a text of n tokens; lists have n - 1 numbers, the prediction of token 1 first.
struct predictions {
  std::vector<double> cross_entropy = {};  ///< of each token
  std::vector<double> kl = {};             ///< from the model's own; empty: none were given
  std::vector<std::uint8_t> agrees = {};   ///< 1 if the largest logit is the model's, too

  /// A mean, with the interval in which it lies with 95 % confidence, from the means of blocks of
  /// neighbouring tokens: neighbours are not independent.
  retrieval::interval mean() const;
  double mean_kl() const;
  double agreement() const;
  /// Means of `parts` parts of equal length, their bounds rounded down.
  std::vector<double> parts(std::size_t count) const;
};

/// The mean of a list; 0 of none.
double mean_of(std::span<double const> list);

/// Blocks of an interval: at most so many, of at least so many tokens.
inline constexpr std::size_t most_blocks = 32, least_block = 8;

/// Of a position the largest logits, the largest first.
struct top_logits {
  std::size_t position;
  std::vector<std::size_t> ids;
  std::vector<float> logits;
};
top_logits top_of(std::size_t position, std::span<float const> logits, std::size_t count);

}  // namespace run
