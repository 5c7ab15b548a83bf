#pragma once

/// Site 2: the laws of every encoding that rotates queries and keys. `gain` is its attention
/// factor. The test of an encoding says in one line which it obeys:
///
///     laws::obey("xpos", xpos<halves>(f), 64, 1.01, laws::of_distance);

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <vector>

#include "numbers.hpp"
#include "posenc/encoding/sites.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace laws {

/// Query heads, [positions][1][head_dim], encoded.
template <class T, posenc::acts_on_queries_and_keys E>
std::vector<T> queries_at(E const& encoding, std::vector<T> queries,
                          std::vector<std::int64_t> const& positions) {
  site_2::encode_queries(
      encoding, numbers::view(queries, positions.size(), queries.size() / positions.size()),
      positions);
  return queries;
}

template <class T, posenc::acts_on_queries_and_keys E>
std::vector<T> keys_at(E const& encoding, std::vector<T> keys,
                       std::vector<std::int64_t> const& positions) {
  site_2::encode_keys(
      encoding, numbers::view(keys, positions.size(), keys.size() / positions.size()), positions);
  return keys;
}

/// The error of an encoded number, for inputs in [-1, 1].
template <class T>
double error_of_a_number(double gain) {
  return tolerance::of_rotated<T>(1, 1, gain * std::numbers::sqrt2, gain);
}

/// Positions to test: near, negative, and beyond a million, unless the encoding has fewer.
struct places {
  std::vector<std::int64_t> starts{0, 1, 17, -5, 1'000'000, -1'000'000, 1'234'567};
  std::vector<std::int64_t> positions{7, -2, 1'000'003, 7, 0, 5, 1, -7, 4095};
};

template <posenc::acts_on_queries_and_keys E>
void inner_products_depend_on_distance_alone(E const& encoding, std::size_t head_dim, double gain,
                                             places const& at) {
  numbers::in_float_and_double([&]<class T>() {
    auto const q = numbers::random<T>(head_dim, 1), k = numbers::random<T>(head_dim, 2);
    // Two sums of products of two numbers up to sqrt 2, each with that error.
    auto const n = static_cast<double>(head_dim);
    auto const tolerance = 2 * n * (2 * gain * std::numbers::sqrt2 + error_of_a_number<T>(gain)) *
                           error_of_a_number<T>(gain);
    for (std::int64_t const distance : {0, 1, 2, 63, 5000, -3}) {
      double at_first = 0;
      for (auto const start : at.starts) {
        auto const q_t = numbers::exact(queries_at(encoding, q, {start + distance}));
        auto const k_s = numbers::exact(keys_at(encoding, k, {start}));
        long double product = 0;
        for (std::size_t i = 0; i < head_dim; ++i)
          product += static_cast<long double>(q_t[i]) * static_cast<long double>(k_s[i]);
        if (start == at.starts.front()) at_first = static_cast<double>(product);
        EXPECT_NEAR(static_cast<double>(product), at_first, tolerance)
            << "distance " << distance << " from " << start;
      }
    }
  });
}

/// Norms are kept, up to the attention factor.
template <posenc::acts_on_queries_and_keys E>
void position_zero_is_the_identity(E const& encoding, std::size_t head_dim, double gain,
                                   places const&) {
  numbers::in_every_format([&]<class T>() {
    auto const x = numbers::random<T>(head_dim);
    for (auto const& encoded : {queries_at(encoding, x, {0}), keys_at(encoding, x, {0})}) {
      if (gain == 1) {
        EXPECT_TRUE(numbers::same_bits(encoded, x));
        continue;
      }
      auto const before = numbers::exact(x), after = numbers::exact(encoded);
      for (std::size_t i = 0; i < head_dim; ++i)
        EXPECT_NEAR(after[i], gain * before[i],
                    tolerance::of_rotated<T>(before[i], 0, gain * before[i], gain))
            << "at " << i;
    }
  });
}

template <posenc::acts_on_queries_and_keys E>
void norms_are_kept(E const& encoding, std::size_t head_dim, double gain, places const& at) {
  numbers::in_every_format([&]<class T>() {
    auto const norm = [](std::vector<T> const& x) {
      long double squares = 0;
      for (long double const number : numbers::exact(x)) squares += number * number;
      return static_cast<double>(std::sqrt(squares));
    };
    auto const x = numbers::random<T>(head_dim);
    auto const tolerance = std::sqrt(static_cast<double>(head_dim)) *
                           error_of_a_number<T>(gain);  // the norm of the errors
    for (auto const position : at.positions) {
      EXPECT_NEAR(norm(queries_at(encoding, x, {position})), gain * norm(x), tolerance)
          << "at " << position;
      EXPECT_NEAR(norm(keys_at(encoding, x, {position})), gain * norm(x), tolerance)
          << "at " << position;
    }
  });
}

/// The result does not depend on the order of tokens, or on other tokens and heads.
template <posenc::acts_on_queries_and_keys E>
void each_token_is_encoded_by_its_position(E const& encoding, std::size_t head_dim, double,
                                           places const& at) {
  numbers::in_every_format([&]<class T>() {
    auto const& positions = at.positions;
    constexpr std::size_t heads = 2;
    auto const x = numbers::random<T>(positions.size() * heads * head_dim);
    auto q = x, k = x;
    site_2::encode_queries(encoding, numbers::view(q, positions.size(), head_dim), positions);
    site_2::encode_keys(encoding, numbers::view(k, positions.size(), head_dim), positions);
    for (std::size_t i = 0; i < positions.size() * heads; ++i) {
      auto const one = [&](std::vector<T> const& all) {
        auto const from = all.begin() + static_cast<std::ptrdiff_t>(i * head_dim);
        return std::vector<T>(from, from + static_cast<std::ptrdiff_t>(head_dim));
      };
      EXPECT_TRUE(numbers::same_bits(one(q), queries_at(encoding, one(x), {positions[i / heads]})))
          << "query " << i;
      EXPECT_TRUE(numbers::same_bits(one(k), keys_at(encoding, one(x), {positions[i / heads]})))
          << "key " << i;
    }
  });
}

/// What an encoding promises beyond the laws of all.
enum promise : unsigned {
  of_distance = 1,       ///< inner products depend on query - key, not on the positions themselves
  identity_at_zero = 2,  ///< position 0 changes nothing but by the attention factor
  norm_kept = 4,         ///< up to the attention factor
};
inline constexpr unsigned rotation_by_position = of_distance | identity_at_zero | norm_kept;

/// An encoding, by its name in a configuration, keeps what it promises at these positions, and what
/// all encodings promise.
template <posenc::acts_on_queries_and_keys E>
void obey(char const* name, E const& encoding, std::size_t head_dim, double gain = 1,
          unsigned promises = rotation_by_position, places const& at = {}) {
  SCOPED_TRACE(name);
  if ((promises & of_distance) != 0)
    inner_products_depend_on_distance_alone(encoding, head_dim, gain, at);
  if ((promises & identity_at_zero) != 0)
    position_zero_is_the_identity(encoding, head_dim, gain, at);
  if ((promises & norm_kept) != 0) norms_are_kept(encoding, head_dim, gain, at);
  each_token_is_encoded_by_its_position(encoding, head_dim, gain, at);
}

/// `a` and `b` give the same bits if the numbers of a head are permuted: number i for b is number
/// order[i] for a.
template <posenc::acts_on_queries_and_keys A, posenc::acts_on_queries_and_keys B>
void are_the_same_but_for_their_order(A const& a, B const& b,
                                      std::vector<std::size_t> const& order) {
  numbers::in_every_format([&]<class T>() {
    auto const reordered = [&](std::vector<T> const& x) {
      std::vector<T> result;
      for (auto const i : order) result.push_back(x[i]);
      return result;
    };
    auto const x = numbers::random<T>(order.size());
    for (std::int64_t const position : {0, 1, -7, 4095, 1'000'003}) {
      EXPECT_TRUE(numbers::same_bits(reordered(queries_at(a, x, {position})),
                                     queries_at(b, reordered(x), {position})));
      EXPECT_TRUE(numbers::same_bits(reordered(keys_at(a, x, {position})),
                                     keys_at(b, reordered(x), {position})));
    }
  });
}

/// No bit of a query or key changes, not even of -0, infinity and NaN.
template <posenc::acts_on_queries_and_keys E>
void nothing_is_changed(E const& encoding, std::size_t head_dim) {
  numbers::in_every_format([&]<class T>() {
    auto x = numbers::random<T>(head_dim);
    std::memset(static_cast<void*>(&x[0]), 0xff, sizeof(T));  // a NaN with a payload
    x[1] = T(-0.0F);
    x[head_dim - 1] = posenc::load(x[head_dim - 1]) > 0 ? T(0x1p-24F) : T(-0x1p-24F);
    for (std::int64_t const position : {0, 1, -7, 1'000'003}) {
      EXPECT_TRUE(numbers::same_bits(queries_at(encoding, x, {position}), x));
      EXPECT_TRUE(numbers::same_bits(keys_at(encoding, x, {position}), x));
    }
  });
}

}  // namespace laws
