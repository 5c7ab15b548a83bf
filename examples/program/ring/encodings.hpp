// The encodings to choose from.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "posenc/attention/attention.hpp"
#include "posenc/encoding/score_row.hpp"
#include "shard.hpp"

namespace ring {

inline constexpr std::string_view all_encodings[] = {"rope", "alibi", "nope"};
/// No rule that depends on the whole row, such as adaptive or log n: each rank sees a part of the
/// row's keys at a time, and parts that were weighed at different temperatures cannot be merged.
inline constexpr std::string_view all_temperatures[] = {"none", "constant", "position"};

/// posenc::attention with the chosen encoding.
using attention_function = std::function<posenc::attention_result<float>(
    posenc::heads_view<float const> const& q, posenc::heads_view<float const> const& k,
    posenc::heads_view<float const> const& v, posenc::attention_options const& options)>;

/// A rule of the softmax that is known only when the program runs. Depends on the query's position,
/// and on nothing else of a row.
struct temperature {
  std::function<double(posenc::row_statistics const&)> rule;
  double inverse_temperature(posenc::row_statistics const& row) const { return rule(row); }
  double at(std::int64_t query_position) const { return rule({.query_position = query_position}); }
};

/// "constant": 1.25; "position": Llama 4's, one step for each eighth of the sequence.
temperature chosen_temperature(std::string const& name, std::size_t tokens);

/// Throws std::invalid_argument for a shape that the encoding cannot have.
attention_function chosen_attention(std::string const& encoding, temperature const& t,
                                    sequence const& s);

}  // namespace ring
