// The curves of one model: each encoding's logit and weight against distance, with plain and with
// adaptive softmax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "models.hpp"
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/model/model_description.hpp"

namespace curves {

/// The first five are shown unless others are asked for.
inline constexpr std::string_view all_encodings[] = {
    "rope",       "p-rope",       "nope",     "alibi", "sinusoidal",   "rerope", "self-extend",
    "kerple-log", "kerple-power", "sandwich", "xpos",  "forget-gates", "t5",     "cope"};
inline constexpr std::size_t default_encodings = 5;

struct choice {
  std::vector<std::string> encodings{std::begin(all_encodings),
                                     std::begin(all_encodings) + default_encodings};
  std::vector<double> fractions{0.75};  ///< of p-RoPE
  std::int64_t window = 1024;           ///< of ReRoPE and Self-Extend
  std::int64_t group = 8;               ///< of Self-Extend
  std::vector<double> gates{0.999};     ///< of forget-gates, each a constant
  bool heads_apart = false;  ///< a curve for each of up to eight heads, where heads differ
};

struct curve {
  std::string encoding;   ///< as people say it: "p-RoPE 0.75"
  bool own = false;       ///< the model itself uses it
  bool compares = false;  ///< below 0 a key like the query scores less than a random one
  posenc::distance_profile plain, adaptive;
  /// Above 0: the logit is no function of distance alone. Of all ones it then is over so many
  /// queries, spread over the context; weights are always those of the last query.
  std::size_t queries = 0;
};

/// `progress` hears how much of the whole is done, 0 to 1. Throws std::invalid_argument for
/// settings no encoding can have.
std::vector<curve> compute(model const& m, choice const& chosen,
                           posenc::profile_settings const& settings,
                           std::function<void(double)> const& progress);

/// The same of a model whose settings were read: a curve for each kind of layers, as far as its
/// window, called by its rule. Throws std::invalid_argument for layers with biases that are weights
/// of the model.
std::vector<curve> compute_layers(posenc::model_description const& m, bool heads_apart,
                                  posenc::profile_settings const& settings,
                                  std::function<void(double)> const& progress);

}  // namespace curves
