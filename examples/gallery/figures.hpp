// The figures of the gallery. Each is a whole SVG file, made anew from formulas and seeds.
#pragma once

#include <string>
#include <vector>

struct figure {
  std::string file, svg;
  std::string caption = {};  ///< with computed numbers, which the page has
  std::string page = "examples/README.md";
};

/// Scores against distance, what positions cost a head.
std::vector<figure> figures_of_scores();
/// Frequencies: rules, bases and contexts, errors of angles.
std::vector<figure> figures_of_frequencies();
/// How far is too far: what distance does to the slowest pair, and what moves do.
std::vector<figure> figures_of_distances();
/// Softmax among many keys.
std::vector<figure> figures_of_softmax();
/// Heads that attend by position, and by content.
std::vector<figure> figures_of_heads();
/// Layouts of pairs, as boxes.
std::vector<figure> figures_of_layouts();
