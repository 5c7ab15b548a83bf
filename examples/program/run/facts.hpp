// All that can be said of a model and a text, as one flat object of JSON that others can compare.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "program/run/changes.hpp"
#include "program/run/measurement.hpp"

namespace run {

/// The changes that are made one by one; those for which a model has nothing to change are left
/// out by can_change.
std::vector<change> standard_changes(decoder const& model);

/// p-RoPE by ever more of the fastest pairs, and each eighth of the pairs alone at rest, so that the
/// pairs that a model needs are seen.
std::vector<change> sweep(decoder const& model);

/// A name, and its numbers as JSON.
using facts = std::vector<std::pair<std::string, std::string>>;

/// Of the model as it is: ids, cross_entropy, perplexity, token_cross_entropy, thirds, norms.q,
/// norms.k, attention.*, and kl and agreement with --against; lists are flat, in the order [layers][heads][...].
facts facts_of(measurement const& own, std::vector<std::uint32_t> const& ids);
/// top.positions, top.ids and top.logits, the five largest of each position.
void add_top(facts& to, std::vector<top_logits> const& top);
/// greedy.prompt, the number of ids, and greedy.ids, which follow them.
void add_greedy(facts& to, std::size_t prompt, std::vector<std::uint32_t> const& ids);
/// changed.NAME.cross_entropy, .kl, .agreement and .quarters.
void add_change(facts& to, std::string const& name, predictions const& of);

/// "[1, 2]", each number with all its digits.
std::string json_list(std::vector<double> const& numbers);
std::string json_text(std::string const& text);

void write_json(std::ostream& out, facts const& all);

}  // namespace run
