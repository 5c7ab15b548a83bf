#include "posenc/decode/detail/decode_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"
#include "tolerance.hpp"

namespace decoding {
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
  auto const padded = detail::padded_rows(rows);  // with zeros
  std::vector<T> queries(heads * padded * dims), sums(queries.size()),
      near(heads * padded * detail::tile_tokens, T{9});
  for (std::size_t head = 0; head < heads; ++head)
    std::copy_n(q.data() + head * rows * dims, rows * dims, queries.data() + head * padded * dims);
  detail::few_scores<T, S>(scores.data(), T(0.5), queries.data(), rows, cache, near.data());
  detail::few_outputs<T, S>(outputs.data(), w.data(), rows, cache, sums.data(), near.data());
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
  for (std::size_t const rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
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
  float output = 0, sum = 0;
  std::array<float, detail::tile_tokens> near{};
  detail::few_outputs<float, float>(&output, weights.data(), 1,
                                    heads_view<float const>(values.data(), {keys, 1, 1}), &sum,
                                    near.data());
  auto const exact = static_cast<double>(keys - 2) * static_cast<double>(0.1f) + 10'000;
  // Up to 512 values, then up to 256 sums of them, are added one after another.
  EXPECT_NEAR(static_cast<double>(output), exact,
              (512 + 256) * tolerance::unit_roundoff<float>() * exact);
}

TEST(run_reader, has_every_token_of_every_head_once_in_the_order_of_the_run) {
  constexpr std::size_t heads = 3, dims = 5, most = 1100;
  std::vector<float> const numbers(most * heads * dims);
  for (std::size_t const tokens : {1u, 3u, 4u, 70u, 512u, 1027u}) {
    heads_view<float const> const cache(numbers.data(), {tokens, heads, dims});
    std::vector<std::size_t> times(tokens * heads);
    detail::for_runs(tokens, [&](detail::token_run const& run) {
      detail::run_reader<float, 8, heads_view<float const>> reader(cache, run);
      reader.read(0, run.count, [&](std::size_t head, std::size_t i, auto const& block) {
        for (std::size_t t = 0; t < 8; ++t) {
          auto const last = std::min(i + t, run.count - 1);  // stands for those that lack
          EXPECT_EQ(block.heads[t], cache(run.token(last), head).data());
          times[run.token(last) * heads + head] += i + t < run.count;
        }
      });
      for (std::size_t from = 0; from < run.count; from += detail::tile_tokens) {
        auto const to = std::min(from + detail::tile_tokens, run.count);
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, std::size_t count) {
          for (std::size_t n = 0; n < count; ++n) {
            std::size_t i = from;
            while (detail::tile_index(i - from) != place + n) ++i;
            EXPECT_EQ(run.token(i), token + n);
          }
        });
      }
    });
    EXPECT_EQ(times, std::vector<std::size_t>(tokens * heads, 1)) << tokens;
  }
}

TEST(run_reader, is_ahead_in_the_order_of_the_run) {
  constexpr std::size_t heads = 2, dims = 128, tokens = 64;
  std::vector<float> const numbers(tokens * heads * dims);
  heads_view<float const> const cache(numbers.data(), {tokens, heads, dims});
  detail::for_runs(tokens, [&](detail::token_run const& run) {
    detail::run_reader<float, 4, heads_view<float const>> reader(cache, run);
    auto const later = detail::prefetched_ahead / sizeof(float) / dims;
    reader.read(0, run.count, [&](std::size_t head, std::size_t i, auto const& block) {
      auto const at = i / 4 * heads + head + later;  // of all blocks
      auto const of_last = at / heads * 4 >= run.count;
      for (std::size_t s = 0; s < 4; ++s)
        EXPECT_EQ(
            block.later[s] + block.later_head / std::ptrdiff_t{sizeof(*block.later[s])},
            of_last ? block.heads[s] : cache(run.token(at / heads * 4 + s), at % heads).data());
    });
  });
}

}  // namespace
}  // namespace decoding
