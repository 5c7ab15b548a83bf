// What the explorer answers: settings in, numbers and a figure out, both as JSON.
#pragma once

#include <string>
#include <string_view>

namespace explorer {

/// Settings are an object: "config", the text of a config.json, and "kind", which of its kinds of
/// layers, from 0; or "rule" (rope, p-rope, linear, ntk, yarn, llama3), "dim", "base", "p",
/// "factor" and "trained". And always "context" in tokens, "rho", the correlation of queries and
/// keys, and "spread", the largest score of a row less the smallest.
///
/// The answer is an object: "name"; "context", that of the model if it says so; "kinds" and
/// "remarks", lists of texts; "facts", a list of names and values; "figures", a list of SVGs.
/// Settings that make no sense end in refuse, or in posenc's error.
std::string answer(std::string_view settings);

/// Defined by the program: ends the answer with a sentence on what must hold.
[[noreturn]] void refuse(std::string const& sentence);

}  // namespace explorer
