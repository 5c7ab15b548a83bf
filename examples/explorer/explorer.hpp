// What the explorer answers to settings, as JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace explorer {

/// Settings are an object that says what the curves are of: "config", the text of a config.json, or
/// "gguf", the name of a GGUF file whose first bytes `file` has, "kind", which of its kinds of
/// layers, from 0, and maybe "name"; or "rule" (rope, p-rope, linear, ntk, yarn, llama3, alibi,
/// nope), "dim", "base", "p", "factor", "trained" and "heads", as far as the rule has them. Also
/// "context" in tokens, "rho", the correlation of queries and keys, "spread", the largest score of
/// a row less the smallest, and maybe "width" of a picture in pixels; and maybe "with", the object
/// of another model or rule, which shares the charts.
///
/// The answer is an object: "name"; "context", that of the model if it says so; "says", how far its
/// heads see, in a sentence or two; "kinds" and "remarks", lists of texts; "facts", a list of names
/// and values, one value for each model; "charts", as charts_of gives them. Of a model also
/// "layers", the rows of a table, and "pitfalls", what engines are known to get wrong on it:
/// "name", "says", "kinds", "threads", and "angles" and "scores" in 1024, 32,768 and 131,072
/// tokens, as examples/program/verdict says. "with" is an object of the same names, but for facts and
/// charts. Settings that make no sense end in refuse, or in posenc's error.
std::string answer(std::string_view settings, std::span<std::byte const> file = {});

/// An error's sentence without what it says to C++ alone.
std::string plain(std::string sentence);

/// Defined by the program: ends the answer with a sentence on what must hold.
[[noreturn]] void refuse(std::string const& sentence);

}  // namespace explorer
