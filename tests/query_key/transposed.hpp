#pragma once

/// Gradients at site 2: pulled back by the transpose of what was done to queries, and to keys.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/sites.hpp"
#include "site_2.hpp"

namespace transposed {

/// Number j of unit vector i pulled back is number i of unit vector j encoded, to the bit, for an
/// element of a 2 x 2 matrix times 1 is itself.
template <posenc::pulls_back_queries_and_keys E>
void pulls_back_by_the_transpose(E const& encoding, std::size_t head_dim,
                                 std::vector<std::int64_t> const& positions) {
  std::vector<std::int64_t> at;
  for (auto const position : positions) at.insert(at.end(), head_dim, position);
  numbers::in_every_format([&]<class T>() {
    std::vector<T> units(at.size() * head_dim, T(0.0F));
    for (std::size_t token = 0; token < at.size(); ++token)
      units[token * head_dim + token % head_dim] = T(1.0F);
    auto q = units, k = units, d_q = units, d_k = units;
    site_2::encode_queries(encoding, numbers::view(q, at.size(), head_dim), at);
    site_2::encode_keys(encoding, numbers::view(k, at.size(), head_dim), at);
    site_2::backward_queries(encoding, numbers::view(d_q, at.size(), head_dim), at);
    site_2::backward_keys(encoding, numbers::view(d_k, at.size(), head_dim), at);
    for (std::size_t i = 0; i < units.size(); ++i) {
      auto const matrix = i / (head_dim * head_dim), row = i / head_dim % head_dim,
                 column = i % head_dim;
      auto const mirrored = (matrix * head_dim + column) * head_dim + row;
      EXPECT_EQ(posenc::load(d_q[i]), posenc::load(q[mirrored]))
          << "query at " << positions[matrix] << ", " << row << ", " << column;
      EXPECT_EQ(posenc::load(d_k[i]), posenc::load(k[mirrored]))
          << "key at " << positions[matrix] << ", " << row << ", " << column;
    }
  });
}

}  // namespace transposed
