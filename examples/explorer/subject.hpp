// One kind of a model's layers, or a rule: what the page's curves are of.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/score/t5_bias.hpp"
#include "settings.hpp"

namespace explorer {

/// How its layers encode positions.
struct subject {
  std::string name;       ///< of its curves
  posenc::frequencies f;  ///< all 0 where nothing rotates
  std::size_t head_dim;
  double base;              ///< of ggml's recurrence
  double score_factor = 1;  ///< on scores that are divided by sqrt(head_dim)
  std::size_t window = static_cast<std::size_t>(most_tokens);  ///< a query sees so many keys
  std::vector<double> slopes = {};                             ///< ALiBi's, of each head
  std::optional<posenc::relative_buckets> buckets = {};        ///< T5's
  /// Why settings alone give no curve of scores, as a sentence; empty if they do.
  std::string unknown = {};
  std::optional<std::size_t> context = {};  ///< tokens that the model is made for

  bool rotates() const;
};

/// A rule with the numbers that the settings give.
subject by_rule(nlohmann::json const& settings);

/// The first block of rotated dims of a kind of layers, and the bias on its scores.
subject by_kind(posenc::model_description const& model, posenc::layer_description const& kind,
                std::string name, std::size_t context);

/// Mean scores of queries and keys of unit variance that are equal, at the distances below `seen`,
/// without slopes. Vectors of correlation rho have rho times these.
std::vector<double> mean_scores(subject const& of, std::size_t seen);

/// The keys that a query sees in so many tokens; at least two.
std::size_t seen_by(subject const& of, std::size_t tokens);

/// Some heads of a subject with ALiBi, from the steepest to the flattest; else one of slope 0.
struct head {
  std::string name;  ///< of its curve
  double slope;
};
std::vector<head> heads_of(subject const& of, std::size_t most);

/// How far its heads see in so many tokens, in a sentence or two. scores: its mean_scores there.
std::string says(subject const& of, std::size_t tokens, std::vector<double> const& scores);

}  // namespace explorer
