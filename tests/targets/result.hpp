#pragma once

/// The results of one target, and by how much those of another may differ.
struct result {
  double value, bound;
};

/// Writes all results from `to` on and returns their end. `target`: the namespace that made them.
using entry = result*(result* to, char const** target);
