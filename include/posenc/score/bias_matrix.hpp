// The biases of an encoding as a matrix, for kernels of attention that add one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "posenc/core/adjust_scores.hpp"
#include "posenc/core/encoding_check.hpp"
#include "posenc/core/gradient_sites.hpp"
#include "posenc/core/list_view.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// Writes b(t, s) to memory, [heads][queries][keys], a vector, array or span of float, double, half
/// or bfloat16:
///
///     write_bias_matrix(alibi(8), 8, query_positions, key_positions, memory);
///     auto const b = bias_matrix(alibi(8), 8, query_positions, key_positions);    vector<float>
///
/// Of any encoding that adds biases, a scheme of several too: their sum. Every element is worked
/// out anew, in double, and rounded to float, then to the type of the memory; kernels add it after
/// scaling the scores. The mask is not in it: keys after the query have their biases too. Throws
/// std::invalid_argument, before anything is written, unless there is a head, memory has one number
/// for each element, and an encoding that knows its heads has as many, or more where it may serve
/// fewer; and, amid the work, where the encoding refuses a row.
template <class E, class Memory>
void write_bias_matrix(E const& encoding, std::size_t heads, token_positions const& query_positions,
                       token_positions const& key_positions, Memory&& memory) {
  static_assert(detail::encoding_check<E>::passed);
  static_assert(adds_bias<E>,
                "posenc: the encoding of a bias matrix must add biases: it must have bias (site "
                "3), or is_bias beside adjust_scores");
  using T = detail::span_value_t<Memory>;
  std::span<T> const matrix(memory);
  auto const queries = query_positions.size(), keys = key_positions.size(), size = matrix.size();
  detail::require(heads > 0, "write_bias_matrix: there must be a head, got 0");
  detail::require(size % heads == 0 && size / heads == queries * keys,
                  "write_bias_matrix: there must be one number for each of ", heads, " heads, ",
                  queries, " queries and ", keys, " keys, got ", size);
  detail::require_heads("write_bias_matrix", encoding, heads);
  std::vector<double> row(keys);
  auto* to = matrix.data();
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t t = 0; t < queries; ++t) {
      std::ranges::fill(row, 0);
      adjust_scores(encoding,
                    score_row<double>{row, head, query_positions[t], key_positions, {}, t});
      for (auto const bias : row) store(*to++, static_cast<arithmetic_t<T>>(bias));
    }
  }
}

/// The same in new memory.
template <writable T = float, class E>
std::vector<T> bias_matrix(E const& encoding, std::size_t heads,
                           token_positions const& query_positions,
                           token_positions const& key_positions) {
  std::vector<T> matrix(heads * query_positions.size() * key_positions.size());
  write_bias_matrix(encoding, heads, query_positions, key_positions, matrix);
  return matrix;
}

}  // namespace posenc
