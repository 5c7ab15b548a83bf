// The mean attention weights of an encoding, query by key.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <variant>
#include <vector>

#include "posenc/analysis/distance_profile.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// What to map, and between which queries and keys.
struct attention_map_settings {
  std::size_t head_dim = 128;  ///< of queries and keys
  std::size_t heads = 1;       ///< heads of the encoding; all have the same q and k
  std::size_t length = 256;    ///< queries and keys, at positions 0 to length - 1
  std::variant<all_ones, gaussian> inputs = all_ones{};  ///< what q and k are made of
  posenc::mask mask = posenc::mask::causal;              ///< a hidden key has weight 0
};

/// Mean weights, [heads][length][length]; 0 where masked.
struct attention_map {
  std::size_t heads, length;    ///< as the settings say
  std::vector<double> weights;  ///< [heads][query][key]

  /// Of a query and all keys. Precondition, not checked: head < heads, query < length.
  std::span<double const> row(std::size_t head, std::size_t query) const noexcept {
    return std::span(weights).subspan((head * length + query) * length, length);
  }
};

/// The weights of the reference attention, averaged over samples. Gaussian queries and keys have a
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

}  // namespace posenc
