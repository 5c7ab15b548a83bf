// How attention changes with the distance between query and key.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <variant>
#include <vector>

#include "posenc/analysis/running_moments.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// q = k = (1, ..., 1): shows the encoding alone. With RoPE, the logit at distance r is sum_i 2
/// cos(r f_i). [Barbero 2024, fig. 2a]
struct all_ones {};

/// q ~ N(0, I), and at each distance its own k = rho q + sqrt(1 - rho^2) z, z ~ N(0, I). rho = 0:
/// independent; rho = 1: k = q.
/// With RoPE, <q, k> has the moments that correlated_score says (rope_decay.hpp).
struct gaussian {
  double rho = 0;            ///< correlation of q and k, in [-1, 1]
  std::size_t samples = 16;  ///< number of queries q
  std::uint64_t seed = 1;    ///< the same seed gives the same q and k
};

/// The heads and distances of a profile, and its queries and keys.
struct profile_settings {
  std::size_t head_dim = 128;  ///< of queries and keys
  std::size_t heads = 1;       ///< heads of the encoding; all have the same q and k
  std::size_t range = 4096;    ///< distances 0 .. range - 1
  std::variant<all_ones, gaussian> inputs = all_ones{};  ///< what q and k are made of
  /// Keys that are scored together; `range` where keys count for each other (cope).
  std::size_t keys_at_once = 128;
};

/// How logits and weights change with distance.
struct distance_profile {
  std::vector<running_moments> logit,   ///< [distance], of <q, k> / sqrt(head_dim)
      weight;                           ///< [distance], over samples and heads
  running_moments entropy;              ///< of the weights, in nats
  running_moments inverse_temperature;  ///< of the rows
};

/// Attention of one query to a key at every distance from 0 to range - 1. Calls
/// progress(done, total) after every keys_at_once keys. Memory: 80 + 8 heads bytes per distance,
/// and these keys. Throws std::invalid_argument unless head_dim, heads, range, samples and
/// keys_at_once are positive and rho is in [-1, 1], and as the encoding does.
template <class Encoding, class Progress>
distance_profile profile_distances(Encoding const& encoding, profile_settings const& settings,
                                   Progress&& progress) {
  auto const [head_dim, heads, range, inputs, chunk] = settings;
  auto const* const random = std::get_if<gaussian>(&inputs);
  auto const samples = random == nullptr ? 1 : random->samples;
  auto const rho = random == nullptr ? 1 : random->rho;
  detail::require(head_dim > 0 && heads > 0 && range > 0 && samples > 0,
                  "profile_distances: head_dim, heads, range and samples must be positive, got ",
                  head_dim, ", ", heads, ", ", range, " and ", samples);
  detail::require(chunk > 0, "profile_distances: keys_at_once must be positive, got 0");
  detail::require(range <= (std::uint64_t{1} << 40) / heads,
                  "profile_distances: heads * range must be at most 2^40, got ", heads, " * ",
                  range);
  detail::require_within("profile_distances", "rho", rho, -1, 1);

  std::mt19937_64 bits(random == nullptr ? 0 : random->seed);
  std::normal_distribution<double> normal;
  std::vector<double> q(head_dim, 1.0), k(std::min(chunk, range) * head_dim, 1.0),
      rows(heads * range);
  std::vector<std::int64_t> key_positions;
  auto const query_position = static_cast<std::int64_t>(range - 1);
  distance_profile profile;
  profile.logit.resize(range), profile.weight.resize(range);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    if (random != nullptr) std::ranges::generate(q, [&] { return normal(bits); });
    for (std::size_t first = 0; first < range; first += chunk) {
      auto const count = std::min(chunk, range - first);
      if (random != nullptr) {
        for (std::size_t i = 0; i < count * head_dim; ++i)
          k[i] = rho * q[i % head_dim] + std::sqrt(1 - rho * rho) * normal(bits);
      }
      key_positions.resize(count);
      for (std::size_t i = 0; i < count; ++i)
        key_positions[i] = query_position - static_cast<std::int64_t>(first + i);

      heads_view<double const> const q_heads(q.data(), {1, heads, head_dim}, {0, 0}),
          k_heads(k.data(), {count, 1, head_dim});
      auto const seen = attention(q_heads, k_heads, k_heads.slice_dims(0, 1), encoding,
                                  {.mask = mask::full,
                                   .query_positions = std::span(&query_position, 1),
                                   .key_positions = key_positions,
                                   .keep_scores = true});
      for (std::size_t head = 0; head < heads; ++head) {
        std::copy_n(seen.scores.begin() + static_cast<std::ptrdiff_t>(head * count), count,
                    rows.begin() + static_cast<std::ptrdiff_t>(head * range + first));
      }
      progress(sample * range + first + count, samples * range);
    }
    for (std::size_t head = 0; head < heads; ++head) {
      std::span<double> const row(rows.data() + head * range, range);
      for (std::size_t r = 0; r < range; ++r) profile.logit[r].add(row[r]);
      auto const plain = statistics(std::span<double const>(row), head, query_position);
      auto const beta = detail::inverse_temperature_of(encoding, plain);
      double sink = no_sink;
      if constexpr (adds_sink<Encoding>) sink = encoding.sink(head);
      softmax(row, plain, beta, sink);
      double entropy = 0;
      for (std::size_t r = 0; r < range; ++r) {
        profile.weight[r].add(row[r]);
        if (row[r] > 0) entropy -= row[r] * std::log(row[r]);
      }
      profile.entropy.add(entropy);
      profile.inverse_temperature.add(beta);
    }
  }
  return profile;
}

/// The same without progress.
template <class Encoding>
distance_profile profile_distances(Encoding const& encoding, profile_settings const& settings) {
  return profile_distances(encoding, settings, [](std::size_t, std::size_t) {});
}

/// The length of a map, and its queries and keys.
struct attention_map_settings {
  std::size_t head_dim = 128;  ///< of queries and keys
  std::size_t heads = 1;       ///< heads of the encoding; all have the same q and k
  std::size_t length = 256;    ///< queries and keys, at positions 0 to length - 1
  std::variant<all_ones, gaussian> inputs = all_ones{};  ///< what q and k are made of
  posenc::mask mask = posenc::mask::causal;              ///< a hidden key has weight 0
};

/// Mean attention weights, [heads][query][key]; 0 where masked.
struct attention_map {
  std::size_t heads, length;    ///< as the settings say
  std::vector<double> weights;  ///< [heads][query][key]

  /// The weights of a query for all keys. Precondition, not checked: head < heads, query < length.
  std::span<double const> row(std::size_t head, std::size_t query) const& noexcept {
    return std::span(weights).subspan((head * length + query) * length, length);
  }
  /// The row of a temporary, as a vector.
  std::vector<double> row(std::size_t head, std::size_t query) && {
    auto const all = row(head, query);
    return {all.begin(), all.end()};
  }
};

/// The weights of attention, averaged over samples. Gaussian queries and keys have a
/// common part c, so that each q_t and each k_s correlate by rho at any two positions, and each
/// score has the moments of correlated_score:
///
///     q_t = sqrt(|rho|) c + sqrt(1 - |rho|) z_t,   k_s = +-sqrt(|rho|) c + sqrt(1 - |rho|) z'_s
///
/// with c, z_t, z'_s ~ N(0, I), and the sign of rho. Memory: 16 heads length^2 bytes.
/// Throws std::invalid_argument unless head_dim, heads, length and samples are positive, heads *
/// length^2 is at most 2^32, and rho is in [-1, 1]; and what the encoding throws.
template <class Encoding>
attention_map map_attention(Encoding const& encoding, attention_map_settings const& settings) {
  auto const head_dim = settings.head_dim, heads = settings.heads, length = settings.length;
  auto const* const random = std::get_if<gaussian>(&settings.inputs);
  auto const samples = random == nullptr ? 1 : random->samples;
  auto const rho = random == nullptr ? 1 : random->rho;
  detail::require(head_dim > 0 && heads > 0 && length > 0 && samples > 0,
                  "map_attention: head_dim, heads, length and samples must be positive, got ",
                  head_dim, ", ", heads, ", ", length, " and ", samples);
  detail::require(heads <= (std::uint64_t{1} << 32) / length / length,
                  "map_attention: heads * length^2 must be at most 2^32, got ", heads, " * ",
                  length, "^2");
  detail::require_within("map_attention", "rho", rho, -1, 1);

  std::mt19937_64 bits(random == nullptr ? 0 : random->seed);
  std::normal_distribution<double> normal;
  std::vector<double> q(length * head_dim, 1.0), k(length * head_dim, 1.0), common(head_dim);
  heads_view<double const> const q_heads(q.data(), {length, heads, head_dim},
                                         {static_cast<std::ptrdiff_t>(head_dim), 0}),
      k_heads(k.data(), {length, 1, head_dim});
  attention_map result{heads, length, std::vector<double>(heads * length * length)};
  attention_workspace<double> workspace;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    if (random != nullptr) {
      auto const shared = std::sqrt(std::abs(rho)), own = std::sqrt(1 - std::abs(rho)),
                 sign = rho < 0 ? -1.0 : 1.0;
      std::ranges::generate(common, [&] { return normal(bits); });
      for (std::size_t i = 0; i < q.size(); ++i) {
        q[i] = shared * common[i % head_dim] + own * normal(bits);
        k[i] = sign * shared * common[i % head_dim] + own * normal(bits);
      }
    }
    attention(q_heads, k_heads, k_heads.slice_dims(0, 1), encoding,
              {.mask = settings.mask, .keep_weights = true}, workspace);
    for (std::size_t i = 0; i < result.weights.size(); ++i)
      result.weights[i] += workspace.result.weights[i] / static_cast<double>(samples);
  }
  return result;
}

}}  // namespace posenc
