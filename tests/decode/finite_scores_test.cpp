#include "posenc/decode/detail/finite_scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <typeinfo>
#include <vector>

#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/encoding/scheme.hpp"
#include "tolerance.hpp"

namespace finite_scores {
namespace {

using posenc::heads_view;

constexpr std::size_t kv_heads = 2, keys = 37, dim = 64;

/// A size of queries, of keys and the scale of their products.
struct sizes {
  float q, k;
  double scale;
};

// Scores of a step over keys in a format, beside those of the numbers that it reads, in double.
template <std::size_t Rows, class F>
void are_those_of_the_numbers(F const& format, sizes const& size, double of_codes = 0) {
  auto bytes = format.bytes(dim);
  if constexpr (posenc::scaled_format<F>) bytes += format.scale_bytes(dim);
  std::vector<std::byte> memory(keys * kv_heads * bytes);
  posenc::heads_shape const shape{keys, kv_heads, dim};
  heads_view const cache(format, memory.data(), shape);
  auto numbers = numbers::random<float>(keys * kv_heads * dim, 1),
       q = numbers::random<float>(Rows * kv_heads * dim, 2);
  for (auto& x : numbers) x *= size.k;
  for (auto& x : q) x *= size.q;
  for (std::size_t i = 0; i < keys * kv_heads; ++i) {
    std::span const head(numbers.data() + i * dim, dim);
    cache.write(i / kv_heads, i % kv_heads, head);
    cache.read(i / kv_heads, i % kv_heads, head);
  }
  std::vector<float> const zeros(numbers.size());
  auto const got = posenc::attention(heads_view<float const>(q.data(), {1, Rows * kv_heads, dim}),
                                     cache, heads_view<float const>(zeros.data(), shape),
                                     posenc::nope(), {.scale = size.scale, .keep_scores = true})
                       .scores;
  for (std::size_t h = 0; h < Rows * kv_heads; ++h) {
    for (std::size_t t = 0; t < keys; ++t) {
      double sum = 0, most = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        auto const x = double{q[h * dim + i]},
                   y = double{numbers[(t * kv_heads + h / Rows) * dim + i]};
        sum += x * y, most += double{size.q} * std::abs(y);
      }
      EXPECT_NEAR(got[h * keys + t], size.scale * sum,
                  size.scale * most * (of_codes + tolerance::of_dot_product<float>(dim, 1)))
          << h << " " << t;
    }
  }
}

template <class Of>
void of_formats(sizes const& size, Of const& of) {
  of(posenc::e4m3::of_scale(size.k / 256), 0.0);
  of(posenc::int8_static{size.k / 127}, 0.0);
  of(posenc::int8_per_head{}, 0.0);
  of(posenc::u8_per_head{}, 0.0);
  constexpr auto of_codes = 1.0 / 254;
  of(posenc::dot_products(posenc::int8_static{size.k / 127}), of_codes);
  of(posenc::dot_products(posenc::int8_per_head{}), of_codes);
  of(posenc::dot_products(posenc::u8_per_head{}), of_codes);
}

// The factors of keys times the scale overflow; or the products of codes do.
TEST(finite_scores, are_those_of_the_numbers_that_codes_stand_for) {
  for (sizes const& size :
       {sizes{0x1p-12f, 0x1p112f, 0x1p20}, {0x1p125f, 0x1p-12f, 0x1p-115}, {1, 1, 1}}) {
    of_formats(size, [&](auto const& format, double of_codes) {
      SCOPED_TRACE(testing::Message() << typeid(format).name() << ' ' << size.k);
      are_those_of_the_numbers<1>(format, size, of_codes);
      are_those_of_the_numbers<4>(format, size, of_codes);
    });
  }
  sizes const of_groups{0x1p125f, 0x1p-12f, 0x1p-115};
  are_those_of_the_numbers<1>(posenc::q8_0{}, of_groups);
  are_those_of_the_numbers<4>(posenc::dot_products(posenc::q8_0{}), of_groups, 1.0 / 254);
  are_those_of_the_numbers<4>(posenc::q4_0{}, of_groups);
  are_those_of_the_numbers<4>(posenc::iq4_nl{}, of_groups);
}

TEST(finite_scores, are_all_that_finite_means) {
  std::vector<float> numbers(37, std::numeric_limits<float>::max());
  EXPECT_TRUE(posenc::detail::all_finite<float>(numbers));
  for (auto const x :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    numbers[35] = x;
    EXPECT_FALSE(posenc::detail::all_finite<float>(numbers));
  }
}

}  // namespace
}  // namespace finite_scores
