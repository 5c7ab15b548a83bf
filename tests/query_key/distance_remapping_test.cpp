#include "posenc/query_key/distance_remapping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "attention/random_heads.hpp"
#include "laws/query_key_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "oracle/distance_remapping.hpp"
#include "oracle/rotary.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < n; ++i) result.push_back(i);
  return result;
}

// q^T R(r) k in long double, and how far two rotated vectors' product may be off it.
template <class T>
void expect_scores(distance_remapping const& remapping, auto const& effective_distance) {
  constexpr std::size_t head_dim = 22;
  constexpr std::int64_t length = 40;
  frequencies const f(oracle::inv_freq(head_dim, 1e4));
  auto const positions = up_to(length);
  auto const one_q = numbers::random<T>(head_dim, 1), one_k = numbers::random<T>(head_dim, 2);
  auto const everywhere = [&](std::vector<T> const& one, cos_sin_rows<T> const& rows) {
    std::vector<T> all;
    for (std::int64_t i = 0; i < length; ++i) all.insert(all.end(), one.begin(), one.end());
    rotate<halves>(numbers::view(all, length, head_dim), rows);
    return numbers::exact(all);
  };
  auto const near_q = everywhere(one_q, cos_sin_rows<T>(f, positions)),
             near_k = everywhere(one_k, cos_sin_rows<T>(f, positions));
  auto const far_q = everywhere(one_q, remapping.far_query_rows<T>(f, positions));
  auto const far_k = everywhere(one_k, remapping.far_key_rows<T>(f, positions));
  auto const q = numbers::exact(one_q), k = numbers::exact(one_k);
  auto const error = tolerance::of_rotated<T>(1, 1, std::sqrt(2.0)) +
                     1e-14;  // fractional positions are rounded to double
  auto const bound = 2 * head_dim * (2 * std::sqrt(2.0) + error) * error;
  std::map<long double, long double> of_distances;  // what is expected
  for (std::int64_t t = 0; t < length; ++t) {
    for (std::int64_t s = 0; s < length; ++s) {
      auto const r = effective_distance(t, s);
      EXPECT_NEAR(remapping.distance(t, s), static_cast<double>(r), 1e-14) << t << " " << s;
      auto const near = remapping.is_near(t, s);
      EXPECT_EQ(near, t - s < remapping.window());
      long double score = 0;
      for (std::size_t i = 0; i < head_dim; ++i) {
        auto const at = [&](auto const& x, std::int64_t token) {
          return static_cast<long double>(x[static_cast<std::size_t>(token) * head_dim + i]);
        };
        score += near ? at(near_q, t) * at(near_k, s) : at(far_q, t) * at(far_k, s);
      }
      auto const [at_distance, is_new] = of_distances.try_emplace(r, 0);
      for (std::size_t i = 0; is_new && i < head_dim / 2; ++i) {
        auto const [c, sin] = oracle::direction_at(r, static_cast<long double>(f.inv_freq()[i]));
        const long double qx = q[i], qy = q[i + head_dim / 2], kx = k[i], ky = k[i + head_dim / 2];
        at_distance->second += c * (qx * kx + qy * ky) + sin * (qx * ky - qy * kx);
      }
      auto const expected = at_distance->second;
      ASSERT_NEAR(static_cast<double>(score), static_cast<double>(expected), bound)
          << "query " << t << ", key " << s;
    }
  }
}

TEST(distance_remapping, two_matrices_of_scores_have_the_effective_distance) {
  numbers::in_float_and_double([]<class T>() {
    for (long long const w : {1, 2, 7, 16, 100}) {
      expect_scores<T>(rerope(w), [&](auto t, auto s) { return oracle::rerope(t, s, w); });
      for (double const k : {1.0, 2.0, 3.7, 16.0})
        expect_scores<T>(leaky_rerope(w, k), [&](auto t, auto s) {
          return oracle::leaky_rerope(t, s, w, static_cast<long double>(k));
        });
      for (long long const g : {1, 2, 3, 8})
        expect_scores<T>(self_extend(w, g),
                         [&](auto t, auto s) { return oracle::self_extend(t, s, w, g); });
    }
  });
}

TEST(rerope, leaves_far_keys_unrotated) {
  auto const x = numbers::random<float>(5 * 8);
  auto y = x;
  rotate<halves>(numbers::view(y, 5, 8),
                 rerope(3).far_key_rows(frequencies(oracle::inv_freq(8, 1e4)), up_to(5)));
  EXPECT_TRUE(numbers::same_bits(x, y));
  for (auto const t : up_to(50)) {
    EXPECT_EQ(rerope(3).far_query(t), 3);
    EXPECT_EQ(rerope(3).far_key(t), 0);
  }
}

TEST(leaky_rerope, by_1_is_rope_and_by_much_is_rerope) {
  for (std::int64_t t = 0; t < 100; ++t)
    for (std::int64_t s = 0; s <= t; ++s) {
      EXPECT_EQ(leaky_rerope(9, 1).distance(t, s), static_cast<double>(t - s));
      EXPECT_NEAR(leaky_rerope(9, 1e12).distance(t, s), rerope(9).distance(t, s), 1e-10);
    }
}

TEST(leaky_rerope, never_lets_a_distance_fall) {
  auto const leaky = leaky_rerope(16, 8);
  for (std::int64_t t = 1; t < 200; ++t) EXPECT_GT(leaky.distance(t, 0), leaky.distance(t - 1, 0));
}

TEST(self_extend, by_1_is_rope) {
  for (std::int64_t t = 0; t < 100; ++t)
    for (std::int64_t s = 0; s <= t; ++s)
      EXPECT_EQ(self_extend(9, 1).distance(t, s), static_cast<double>(t - s));
}

TEST(self_extend, reaches_the_training_length_in_its_published_context) {
  for (std::int64_t const g : {2, 4, 8})
    for (std::int64_t const w : {64, 512}) {
      constexpr std::int64_t trained = 2048;
      auto const context = (trained - w) * g + w;
      EXPECT_EQ(self_extend(w, g).distance(context - 1, 0), trained - 1)
          << w << " in groups of " << g;
    }
}

TEST(self_extend, groups_negative_positions_downwards) {
  auto const extended = self_extend(2, 4);
  EXPECT_EQ(extended.far_key(-1), -1);
  EXPECT_EQ(extended.far_key(-4), -1);
  EXPECT_EQ(extended.far_key(-5), -2);
  EXPECT_EQ(extended.far_key(3), 0);
  EXPECT_EQ(extended.far_query(3), 2);
}

TEST(distance_remapping, takes_maps_of_ones_own) {
  distance_remapping const squares(
      2, [](std::int64_t t) { return static_cast<double>(t * t); },
      [](std::int64_t s) { return static_cast<double>(s); });
  EXPECT_EQ(squares.distance(5, 4), 1);
  EXPECT_EQ(squares.distance(5, 2), 23);
  EXPECT_EQ(squares.distance(2, 5), -3) << "a key after its query is near";
}

TEST(distance_remapped, rotates_near_at_the_tokens_positions_and_far_where_the_maps_put_them) {
  auto const f = geometric(16, 1e4);
  std::vector<std::int64_t> const positions{0, 7, 100, -3};
  auto const distances = self_extend(20, 8);
  auto const expect = [&](auto const& encoding) {
    auto const prepared = encoding.inner().template prepare<float>(positions);
    auto const far = encoding.far().template prepare<float>(positions);
    auto const x = numbers::random<float>(4 * 16);
    auto const encoded = [&](auto const& encode) {
      auto y = x;
      encode(numbers::view(y, 4, 16));
      return y;
    };
    auto const rotated = [&](cos_sin_rows<float> const& rows) {
      return encoded([&](auto const& y) { rotate<halves>(y, rows); });
    };
    auto const near = rotated(cos_sin_rows<float>(f, positions));
    EXPECT_EQ(encoded([&](auto const& q) { prepared.encode_queries(q); }), near);
    EXPECT_EQ(encoded([&](auto const& k) { prepared.encode_keys(k); }), near);
    EXPECT_EQ(encoded([&](auto const& q) { far.encode_queries(q); }),
              rotated(distances.far_query_rows(f, positions)));
    EXPECT_EQ(encoded([&](auto const& k) { far.encode_keys(k); }),
              rotated(distances.far_key_rows(f, positions)));
    EXPECT_EQ(encoded([&](auto const& d) { prepared.backward_keys(d); }),
              rotated(cos_sin_rows<float>(f, positions).transpose()));
    EXPECT_EQ(encoded([&](auto const& d) { far.backward_queries(d); }),
              rotated(distances.far_query_rows(f, positions).transpose()));
    EXPECT_EQ(encoded([&](auto const& d) { far.backward_keys(d); }),
              rotated(distances.far_key_rows(f, positions).transpose()));
    for (std::int64_t const key : {81, 80})
      EXPECT_EQ(encoding.distances().is_near(100, key), key == 81);
  };
  expect(self_extend(rope<halves>(f), 20, 8));
  expect(distance_remapped(rope<halves>(f), distances));
}

TEST(distance_remapped, is_made_of_an_encoding_by_each_rule) {
  auto const f = geometric(16, 1e4);
  for (std::int64_t const key : {0, 200, 290, 299}) {
    EXPECT_EQ(rerope(rope<halves>(f), 20).distances().distance(299, key),
              rerope(20).distance(299, key));
    EXPECT_EQ(leaky_rerope(rope<interleaved>(f), 20, 4).distances().distance(299, key),
              leaky_rerope(20, 4).distance(299, key));
    EXPECT_EQ(self_extend(rope<halves>(f), 20, 8).distances().distance(299, key),
              self_extend(20, 8).distance(299, key));
  }
}

TEST(distance_remapping, far_distances_need_not_fit_int64) {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(rerope(5).is_near(last, -last));
  EXPECT_TRUE(rerope(5).is_near(-last, last));
}

TEST(distance_remapping, says_what_must_hold) {
  auto const same = [](std::int64_t p) { return static_cast<double>(p); };
  EXPECT_EQ(message_of([&] { distance_remapping(0, same, same); }),
            "posenc: distance_remapping: window must be positive, got 0");
  EXPECT_EQ(message_of([&] { distance_remapping(1, same, nullptr); }),
            "posenc: distance_remapping: both maps must be given");
  EXPECT_EQ(message_of([&] { distance_remapping(1, nullptr, same); }),
            "posenc: distance_remapping: both maps must be given");
  EXPECT_EQ(message_of([] { rerope(-1); }), "posenc: rerope: window must be positive, got -1");
  EXPECT_EQ(message_of([] { leaky_rerope(0, 2); }),
            "posenc: leaky_rerope: window must be positive, got 0");
  EXPECT_EQ(message_of([] { leaky_rerope(4, 0.5); }),
            "posenc: leaky_rerope: k must be finite and at least 1, got 0.5");
  EXPECT_EQ(message_of([] { leaky_rerope(4, infinity()); }),
            "posenc: leaky_rerope: k must be finite and at least 1, got infinity");
  EXPECT_EQ(message_of([] { self_extend(0, 2); }),
            "posenc: self_extend: window must be positive, got 0");
  EXPECT_EQ(message_of([] { self_extend(4, 0); }),
            "posenc: self_extend: group must be positive, got 0");
}

}  // namespace
