#pragma once

/// What one target computes, and how far another's may be from it.
struct result {
  double value, bound;
};

/// Writes all results from `to` on, and returns where they end. `target`: the namespace that made them.
using entry = result*(result* to, char const** target);
