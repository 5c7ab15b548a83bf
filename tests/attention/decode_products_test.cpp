#include "posenc/attention/decode_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "posenc/core/storage.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

/// Heads whose numbers have gaps between them, stored as S and computed with as T.
template <class T, class S>
void expect_products(std::size_t heads, std::size_t rows, std::size_t keys, std::size_t dims) {
  SCOPED_TRACE(testing::Message() << heads << " heads, " << rows << " rows, " << keys << " keys, "
                                  << dims << " dims");
  auto const q = numbers::random<T>(heads * rows * dims, 1),
             w = numbers::random<T>(heads * rows * keys, 2);
  std::vector<S> stored;
  for (auto const x : numbers::random<T>(keys * heads * (dims + 1), 3)) stored.push_back(S(x));
  auto const across = static_cast<std::ptrdiff_t>(dims + 1);
  heads_view<S const> const cache(stored.data(), {keys, heads, dims},
                                  {static_cast<std::ptrdiff_t>(heads) * across, across});
  auto const number = [&](std::size_t s, std::size_t head, std::size_t i) {
    return static_cast<oracle::wide>(load(cache(s, head)[i]));
  };

  std::vector<T> scores(heads * rows * keys + 1, T{9}), outputs(heads * rows * dims + 1, T{1});
  detail::few_scores<T, S>(scores.data(), T(0.5), q.data(), rows, cache);
  detail::few_outputs<T, S>(outputs.data(), w.data(), rows, cache);
  for (std::size_t row = 0; row < heads * rows; ++row) {
    for (std::size_t s = 0; s < keys; ++s) {
      oracle::wide sum = 0;
      for (std::size_t i = 0; i < dims; ++i)
        sum += static_cast<oracle::wide>(q[row * dims + i]) * number(s, row / rows, i);
      EXPECT_NEAR(static_cast<double>(scores[row * keys + s]), static_cast<double>(sum / 2),
                  tolerance::of_dot_product<T>(dims, static_cast<double>(dims)));
    }
    for (std::size_t i = 0; i < dims; ++i) {
      oracle::wide sum = 1;  // what was there is added to
      for (std::size_t s = 0; s < keys; ++s)
        sum += static_cast<oracle::wide>(w[row * keys + s]) * number(s, row / rows, i);
      EXPECT_NEAR(static_cast<double>(outputs[row * dims + i]), static_cast<double>(sum),
                  tolerance::of_dot_product<T>(keys + 1, static_cast<double>(keys + 1)));
    }
  }
  EXPECT_EQ(scores.back(), 9) << "nothing is written beyond";
  EXPECT_EQ(outputs.back(), 1);
}

TEST(decode_products, are_the_products_of_their_definition) {
  for (std::size_t const dims : {1u, 7u, 16u, 19u, 66u, 128u}) {
    for (std::size_t const keys : {1u, 5u, 40u}) {
      expect_products<float, float>(1, 4, keys, dims);
      expect_products<double, double>(2, 1, keys, dims);
    }
  }
  // As many tokens as are near at once, a block more or less, and more than are summed in one run.
  for (std::size_t const keys : {63u, 64u, 65u, 150u, 512u, 577u}) {
    expect_products<float, float>(2, 4, keys, 16);
    expect_products<float, bfloat16>(2, 1, keys, 32);
  }
  for (std::size_t const rows : {1u, 2u, 4u, 5u, 8u}) {
    expect_products<float, float>(3, rows, 33, 19);
    expect_products<float, half>(3, rows, 33, 35);
    expect_products<float, bfloat16>(3, rows, 33, 35);
  }
}

TEST(decode_products, sums_of_a_long_cache_stay_exact) {
  constexpr std::size_t keys = 131'072;
  std::vector<float> values(keys, 0.1f);
  values.front() = values.back() = 5000;  // each far above what roundings explain
  std::vector<float> const weights(keys, 1.0f);
  float output = 0;
  detail::few_outputs<float, float>(&output, weights.data(), 1,
                                    heads_view<float const>(values.data(), {keys, 1, 1}));
  auto const exact = static_cast<double>(keys - 2) * static_cast<double>(0.1f) + 10'000;
  // Up to 512 values, then up to 256 sums of them, are added one after another.
  EXPECT_NEAR(static_cast<double>(output), exact,
              (512 + 256) * tolerance::unit_roundoff<float>() * exact);
}

}  // namespace
