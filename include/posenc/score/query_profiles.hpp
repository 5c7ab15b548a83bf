// Inkling's bias: a query makes its own profile over distances, from profiles that a layer learned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// The profile that a row's query makes, added to its scores: see query_profiles.
template <class T>
void add_profile(std::span<float const> profiles, std::size_t rank, score_row<T> const& row) {
  require_keys("query_profiles", row);
  require(row.query_side.size() == rank, "query_profiles: query_side must have ", rank,
          " numbers per query and head, got ", row.query_side.size());
  auto const extent = profiles.size() / rank;
  for (std::size_t s = 0; s < row.scores.size(); ++s) {
    auto const distance = distance_between(row.query_position, row.key_positions[s]);
    if (distance < 0 || static_cast<std::uint64_t>(distance) >= extent) continue;
    auto sum = static_cast<double>(row.scores[s]);
    for (std::size_t k = 0; k < rank; ++k)
      sum += static_cast<double>(row.query_side[k]) *
             static_cast<double>(profiles[k * extent + static_cast<std::size_t>(distance)]);
    row.scores[s] = static_cast<T>(sum);
  }
}

}  // namespace detail

/// score(t, s) += sum_k r_t[k] B[k][t - s] for 0 <= t - s < extent, on scores that are scaled
/// already; others are left alone. B are the profiles of a layer, [rank][extent]; r, [rank], is
/// made of the query's token by a separate projection, r = W_r x, and is given beside the query:
/// attention_options::query_side, [queries][heads][rank]. Nothing more is cached. [Inkling,
/// thinkingmachines: transformers, modular_inkling; rank 16, extent 1024, or the window]
///
///     attention(q, k, v, query_profiles(profiles, 16), {.scale = 1.0 / head_dim, .query_side = r})
///
/// Inkling's global layers multiply queries and this bias by 1 + 0.1 ln(max((t + 1) / floor, 1)):
/// a scheme with a rule of site 4 does both. Sums are in double, rounded once. Gradients of scores
/// pass as they are; r and B get none.
class query_profiles {
 public:
  static constexpr bool is_bias = true;  ///< of positions and of what is beside the query

  /// Throws std::invalid_argument unless the profiles are `rank` rows of one length or more, and
  /// finite.
  query_profiles(std::span<float const> profiles, std::size_t rank)
      : profiles_(profiles.begin(), profiles.end()), rank_(rank) {
    detail::require(rank > 0 && !profiles.empty() && profiles.size() % rank == 0,
                    "query_profiles: the profiles must be ", rank, " rows of one length, got ",
                    profiles.size(), " numbers");
    detail::require_finite("query_profiles: profiles", profiles, " of profile ", extent());
  }

  std::size_t rank() const noexcept { return rank_; }                       ///< of r
  std::size_t extent() const noexcept { return profiles_.size() / rank_; }  ///< of distances

  /// Site 3, see acts_on_scores. Throws, before anything is changed, unless each key has a position
  /// and there are rank() numbers beside the query.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    detail::add_profile<T>(profiles_, rank_, row);
  }

 private:
  std::vector<float> profiles_;  // [rank][extent]
  std::size_t rank_;
};

static_assert(acts_on_scores<query_profiles> && adds_bias<query_profiles> &&
              adjusts_each_score<query_profiles>);

}}  // namespace posenc
