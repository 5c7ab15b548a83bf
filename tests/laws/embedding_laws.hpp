#pragma once

/// Site 1: the laws of every encoding that adds p_t to an embedding. The test of an encoding says
/// in one line that it obeys: at any position, or at the few positions that it has.
///
///     laws::obey("interleaved", sinusoidal<interleaved>(f), 64);
///     laws::obey_at_its_positions("6 rows", learned_embedding<float>(table, 10), 10);

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/sites.hpp"
#include "tolerance.hpp"

namespace laws {

/// Start positions: near, negative, and far.
inline constexpr std::array<std::int64_t, 7> starts{0, 1, 17, -5, 1'000'000, -1'000'000, 1'234'567};

/// The added vectors, [positions][dim].
template <class T, posenc::acts_on_embeddings E>
std::vector<T> added(E const& encoding, std::size_t dim,
                     std::vector<std::int64_t> const& positions) {
  std::vector<T> x(positions.size() * dim, T(0.0F));
  encoding.embed(posenc::heads_view(x.data(), {positions.size(), 1, dim}), positions);
  return x;
}

template <posenc::acts_on_embeddings E>
void inner_products_depend_on_distance_alone(E const& encoding, std::size_t dim) {
  numbers::in_float_and_double([&]<class T>() {
    auto const tolerance = 2 * static_cast<double>(dim) * 2 *
                           tolerance::of_cosine<T>();  // of two sums of dim products
    for (std::int64_t const distance : {0, 1, 2, 63, 1000, -3}) {
      double at_zero = 0;
      for (auto const start : starts) {
        auto const p = numbers::exact(added<T>(encoding, dim, {start + distance, start}));
        long double product = 0;
        for (std::size_t i = 0; i < dim; ++i)
          product += static_cast<long double>(p[i]) * static_cast<long double>(p[dim + i]);
        if (start == 0) at_zero = static_cast<double>(product);
        EXPECT_NEAR(static_cast<double>(product), at_zero, tolerance)
            << "distance " << distance << " from " << start;
      }
    }
  });
}

/// p_t does not depend on the order of tokens or on the other tokens.
template <posenc::acts_on_embeddings E>
void each_token_gets_what_its_position_says(E const& encoding, std::size_t dim,
                                            std::vector<std::int64_t> const& positions = {
                                                7, -2, 1'000'003, 7, 0, 5}) {
  numbers::in_every_format([&]<class T>() {
    auto const together = added<T>(encoding, dim, positions);
    for (std::size_t token = 0; token < positions.size(); ++token) {
      auto const from = together.begin() + static_cast<std::ptrdiff_t>(token * dim);
      std::vector<T> const among_others(from, from + static_cast<std::ptrdiff_t>(dim));
      EXPECT_TRUE(numbers::same_bits(among_others, added<T>(encoding, dim, {positions[token]})))
          << "token " << token;
    }
  });
}

/// Every head gets the same p_t.
template <posenc::acts_on_embeddings E>
void adds_to_what_is_there(E const& encoding, std::size_t dim,
                           std::vector<std::int64_t> const& positions = {3, -8, 4095, 1'000'000}) {
  numbers::in_every_format([&]<class T>() {
    constexpr std::size_t heads = 3;
    auto x = numbers::random<T>(positions.size() * heads * dim);
    auto const before = numbers::exact(x);
    encoding.embed(numbers::view(x, positions.size(), dim), positions);
    auto const p = numbers::exact(added<double>(encoding, dim, positions));
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const sum = before[i] + p[i / (heads * dim) * dim + i % dim];
      auto const arithmetic = tolerance::of_cosine<T>() +
                              std::abs(sum) * tolerance::unit_roundoff<posenc::arithmetic_t<T>>();
      EXPECT_NEAR(static_cast<double>(posenc::load(x[i])), sum,
                  arithmetic + tolerance::of_storing<T>(std::abs(sum) + arithmetic));
    }
  });
}

/// Views without tokens or heads are allowed.
template <posenc::acts_on_embeddings E>
void an_empty_view_stays_empty(E const& encoding, std::size_t dim) {
  std::vector<std::int64_t> const three{1, 2, 3};
  encoding.embed(posenc::heads_view<float>(nullptr, {0, 1, dim}), {});
  encoding.embed(posenc::heads_view<float>(nullptr, {3, 0, dim}), three);
}

/// For encodings whose vectors depend on distance.
template <posenc::acts_on_embeddings E>
void obey(char const* name, E const& encoding, std::size_t dim) {
  SCOPED_TRACE(name);
  inner_products_depend_on_distance_alone(encoding, dim);
  each_token_gets_what_its_position_says(encoding, dim);
  adds_to_what_is_there(encoding, dim);
  an_empty_view_stays_empty(encoding, dim);
}

/// For those with only some positions, 0 to 5 among them, or with a special one.
template <posenc::acts_on_embeddings E>
void obey_at_its_positions(char const* name, E const& encoding, std::size_t dim) {
  SCOPED_TRACE(name);
  std::vector<std::int64_t> const positions{3, 0, 5, 3, 1, 2};
  each_token_gets_what_its_position_says(encoding, dim, positions);
  adds_to_what_is_there(encoding, dim, positions);
  an_empty_view_stays_empty(encoding, dim);
}

}  // namespace laws
