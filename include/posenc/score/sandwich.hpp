// Sandwich: inner products of sinusoidal embeddings of query and key as a bias; nothing is learned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// score(t, s) += (<p_t, p_s> - dims / 2) / (8 (h + 1) / heads), on scores that are scaled already,
/// p being sinusoidal embeddings:
///
///     <p_t, p_s> = sum of cos((t - s) / 10000^(2i / dims)) over i = 0 .. dims / 2 - 1
///
/// [Chi 2023, 4 and the code of its appendix E] dims is a separate number, not the model's. Head 0
/// has the strongest bias. The code leaves dims / 2 out, which softmax cannot tell; with it, the
/// bias is 0 at distance 0 and never above. Angles are exact at any distance, and each cosine
/// within 2.5e-16; a key costs dims / 2 of them.
class sandwich {
 public:
  /// Throws std::invalid_argument unless heads is in [1, 65536], dims even, positive, at most 2^24.
  explicit sandwich(std::size_t heads, std::size_t dims = 128) : heads_(heads) {
    detail::require(heads > 0 && heads <= 65'536, "sandwich: heads must be in [1, 65536], got ",
                    heads);
    detail::require(dims > 0 && dims % 2 == 0 && dims <= std::size_t{1} << 24,
                    "sandwich: dims must be even, positive and at most 2^24, got ", dims);
    auto const f = geometric(dims, 10'000);
    for (std::size_t i = 0; i < f.pairs(); ++i) steps_.emplace_back(f.inv_freq()[i], f.rest()[i]);
  }

  std::size_t heads() const noexcept { return heads_; }            ///< of queries
  std::size_t dims() const noexcept { return 2 * steps_.size(); }  ///< of the sinusoidal vectors

  /// Site 3: what is added to a score. Precondition, not checked: head < heads().
  double bias(std::size_t head, std::int64_t distance) const noexcept {
    double sum = 0;
    for (auto const& step : steps_) sum += cos_sin(step.at(distance)).cos - 1;
    return sum / (8 * static_cast<double>(head + 1) / static_cast<double>(heads_));
  }

 private:
  std::vector<phase_step> steps_;
  std::size_t heads_;
};

static_assert(acts_on_scores<sandwich> && adds_bias<sandwich>);

}}  // namespace posenc
