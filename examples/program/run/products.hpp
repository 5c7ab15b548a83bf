// Products of weights and of the vectors of many tokens. Weights are decoded by tiles, so that a
// file larger than memory can be multiplied. Needs Eigen.
#pragma once

#include <cstddef>
#include <vector>

#include "program/run/crew.hpp"
#include "program/tensors/weights.hpp"

namespace run {

/// Rows of a tensor [rows][columns] as a matrix, which turns a vector of `columns` numbers into one
/// of `rows`; a transposed one turns `rows` into `columns` numbers (GPT-2 writes them so).
struct matrix {
  program::weight const* tensor = nullptr;  ///< null: there is none
  std::size_t first_row = 0, rows = 0, columns = 0;
  bool is_transposed = false;
  std::vector<float> bias = {};  ///< added, one for each result; empty: none

  std::size_t inputs() const { return is_transposed ? rows : columns; }
  std::size_t outputs() const { return is_transposed ? columns : rows; }
};

/// Writes to[token][output] = sum over inputs of from[token][input] w, plus the bias. Tokens lie
/// `to_stride` numbers apart.
void multiply(crew const& all, matrix const& by, float const* from, std::size_t tokens, float* to,
              std::size_t to_stride);

}  // namespace run
