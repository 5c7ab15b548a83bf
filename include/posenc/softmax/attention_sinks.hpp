// Attention sinks: a logit in the denominator of every row that belongs to no key.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// p_s = e^(beta x_s) / (e^sink_h + sum_j e^(beta x_j)): the weights of a row sum to less than 1,
/// so that a head may attend to almost nothing. One learned sink per head; the temperature does not
/// apply to it. [gpt-oss; Xiao 2023]
/// Throws std::invalid_argument unless there is at least one head and each logit is finite.
class attention_sinks {
 public:
  /// logits: [heads] of one layer.
  explicit attention_sinks(std::vector<double> logits) : logits_(std::move(logits)) {
    detail::require(!logits_.empty(),
                    "attention_sinks: there must be a logit for at least one head, got none");
    detail::require_finite("attention_sinks: logits", logits_, " for head ");
  }

  std::size_t heads() const noexcept { return logits_.size(); }  ///< of queries

  /// Site 4. Throws unless the head has a logit.
  double sink(std::size_t head) const {
    detail::require(head < heads(), "attention_sinks: the head must be below ", heads(), ", got ",
                    head);
    return logits_[head];
  }

 private:
  std::vector<double> logits_;
};

/// Sinks of 0: p_s = e^x_s / (1 + sum_j e^x_j), "softmax1". [Miller 2023]
struct softmax_off_by_one {
  /// Site 4.
  static constexpr double sink(std::size_t) noexcept { return 0; }
};

static_assert(adds_sink<attention_sinks> && adds_sink<softmax_off_by_one>);

}}  // namespace posenc
