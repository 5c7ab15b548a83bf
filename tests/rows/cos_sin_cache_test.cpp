#include "posenc/rows/cos_sin_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

// 33 pairs: whole registers and some more.
constexpr std::size_t cached = 40, pairs = 33, rotary_dim = 2 * pairs;
cos_sin_cache_shape const contiguous{.positions = cached, .rotary_dim = rotary_dim};

frequencies cached_frequencies() { return geometric(rotary_dim, 1e4); }

// The rows of positions 0 to 39, which every cache here is filled from.
cos_sin_rows<double> all_rows() {
  std::vector<int> positions(cached);
  std::iota(positions.begin(), positions.end(), 0);
  return {cached_frequencies(), positions};
}

template <class T>
T stored(double number) {
  T result;
  store(result, static_cast<arithmetic_t<T>>(number));
  return result;
}

// An engine's cache: the cosine of pair i at position p is cos[p * position_stride + i *
// pair_stride]. What lies between holds 9.
template <class T>
struct engine_cache {
  std::vector<T> memory;
  std::size_t sin_from;
  cos_sin_cache_shape shape;

  engine_cache(std::size_t size, std::size_t from, cos_sin_cache_shape its_shape)
      : memory(size, stored<T>(9)), sin_from(from), shape(its_shape) {
    auto const rows = all_rows();
    for (std::size_t p = 0; p < cached; ++p) {
      for (std::size_t i = 0; i < pairs; ++i) {
        auto const at = p * static_cast<std::size_t>(shape.position_stride) +
                        i * static_cast<std::size_t>(shape.pair_stride);
        memory[at] = stored<T>(rows.cos(p)[i]), memory[from + at] = stored<T>(rows.sin(p)[i]);
      }
    }
  }
  T const* cos() const { return memory.data(); }
  T const* sin() const { return memory.data() + sin_from; }
};

// [positions][cos | sin].
template <class T>
engine_cache<T> one_array() {
  return {cached * rotary_dim, pairs, {cached, rotary_dim, rotary_dim}};
}

// Rows have the numbers that were stored, to the bit.
template <class T, class Real, class Positions>
void expect_stored(cos_sin_view<Real> const& rows, Positions const& positions) {
  auto const all = all_rows();
  ASSERT_EQ(rows.tokens(), positions.size());
  ASSERT_EQ(rows.pairs(), pairs);
  std::size_t token = 0;
  for (auto const position : positions) {
    auto const p = static_cast<std::size_t>(position);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const number = [](double x) { return static_cast<Real>(load(stored<T>(x))); };
      ASSERT_EQ(rows.cos(token)[i], number(all.cos(p)[i])) << token << ' ' << i;
      ASSERT_EQ(rows.sin(token)[i], number(all.sin(p)[i])) << token << ' ' << i;
    }
    ++token;
  }
}

template <class T, class Real, class Position>
void writes_what_is_stored(cos_sin_cache<T> const& cache, std::vector<Position> const& positions) {
  std::vector<Real> memory(positions.size() * rotary_dim + 1, 7);
  auto const rows = cache.write(positions, memory.data());
  EXPECT_EQ(rows.cos(0).data(), memory.data());
  EXPECT_EQ(memory.back(), 7) << "nothing is written beyond";
  expect_stored<T>(rows, positions);
  expect_stored<T>(cache.template rows<Real>(positions).view(), positions);
}

TEST(cos_sin_cache, writes_the_stored_numbers_of_every_format) {
  numbers::in_every_format([]<class T>() {
    auto const cache = one_array<T>();
    std::vector<int> const positions{39, 0, 7, 7};
    cos_sin_cache const view(cache.cos(), contiguous);
    writes_what_is_stored<T, float>(view, positions);
    writes_what_is_stored<T, double>(view, positions);
  });
}

TEST(cos_sin_cache, takes_positions_of_any_integer_type) {
  auto const cache = one_array<bfloat16>();
  cos_sin_cache const view(cache.cos(), contiguous);
  EXPECT_EQ(view.positions(), cached);
  EXPECT_EQ(view.pairs(), pairs);
  EXPECT_EQ(view.rotary_dim(), rotary_dim);
  writes_what_is_stored<bfloat16, float>(view, std::vector<std::int8_t>{39, 0, 7});
  writes_what_is_stored<bfloat16, float>(view, std::vector<std::uint16_t>{39, 0, 7});
  writes_what_is_stored<bfloat16, float>(view, std::vector<std::int64_t>{39, 0, 7});
  writes_what_is_stored<bfloat16, float>(view, std::vector<std::uint64_t>{39, 0, 7});
}

TEST(cos_sin_cache, may_have_any_strides) {
  numbers::in_every_format([]<class T>() {
    std::vector<int> const positions{39, 0, 7};
    auto const check = [&](engine_cache<T> const& cache, cos_sin_cache_shape const& shape) {
      writes_what_is_stored<T, arithmetic_t<T>>(cos_sin_cache(cache.cos(), cache.sin(), shape),
                                                positions);
    };
    // Two arrays of [positions][pairs].
    check({2 * cached * pairs, cached * pairs, {cached, rotary_dim, pairs}}, contiguous);
    // Two arrays of [positions][rotary_dim], of which one half is read.
    cos_sin_cache_shape const doubled{cached, rotary_dim, rotary_dim};
    check({2 * cached * rotary_dim, cached * rotary_dim, doubled}, doubled);
    // Complex numbers.
    cos_sin_cache_shape const complex{cached, rotary_dim, rotary_dim, 2};
    check({cached * rotary_dim, 1, complex}, complex);
    // One array with a gap after each row.
    engine_cache<T> const padded(cached * 100, pairs, {cached, rotary_dim, 100});
    writes_what_is_stored<T, arithmetic_t<T>>(cos_sin_cache(padded.cos(), padded.shape), positions);
  });
}

// A float cache that was filled from rows of ours, with an attention factor, gives them back.
template <class Layout>
void rotates_as_the_rows_it_was_filled_from() {
  std::vector<int> const positions{4, 9};
  auto const plain = cached_frequencies();
  frequencies const f({plain.inv_freq().begin(), plain.inv_freq().end()}, 1.25);
  std::vector<int> first_ten(10);
  std::iota(first_ten.begin(), first_ten.end(), 0);
  cos_sin_rows const rows(f, first_ten);
  std::vector<float> cache;
  for (std::size_t p = 0; p < 10; ++p) {
    cache.insert(cache.end(), rows.cos(p).begin(), rows.cos(p).end());
    cache.insert(cache.end(), rows.sin(p).begin(), rows.sin(p).end());
  }
  auto a = numbers::random<float>(2 * 3 * 80), b = a;
  std::vector<float> memory(2 * rotary_dim);
  cos_sin_cache const view(cache.data(), {.positions = 10, .rotary_dim = rotary_dim});
  rotate<Layout>(heads_view(a.data(), {2, 3, 80}), view.write(positions, memory.data()));
  rotate<Layout>(heads_view(b.data(), {2, 3, 80}), cos_sin_rows(f, positions));
  EXPECT_TRUE(numbers::same_bits(a, b));
}

TEST(cos_sin_cache, rotates_as_the_rows_it_was_filled_from) {
  rotates_as_the_rows_it_was_filled_from<halves>();
  rotates_as_the_rows_it_was_filled_from<interleaved>();
}

// Each way rounds 5 times, of the cosines and of the rotation, at most 2 (|x| + |y|) <= 7.
TEST(cos_sin_cache, rows_have_an_inverse_whatever_the_attention_factor_of_the_cache) {
  std::vector<float> const cache{1.2f, -0.9f, 0.5f, 2.5f};  // 2 pairs of gains 1.3 and 2.66
  cos_sin_cache const view(cache.data(), {.positions = 1, .rotary_dim = 4});
  auto const rows = view.rows(std::vector<int>{0});
  std::vector<float> const before{3, -2, 0.5, 1};
  auto x = before;
  heads_view const heads(x.data(), {1, 1, 4});
  rotate<halves>(heads, rows);
  rotate<halves>(heads, rows.inverse());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x[i], before[i], 2 * 5 * 7 * 0x1p-24) << i;
}

TEST(cos_sin_cache, of_no_positions_writes_nothing) {
  auto const cache = one_array<half>();
  cos_sin_cache const view(cache.cos(), contiguous);
  EXPECT_EQ(view.write<float>(std::vector<int>(), nullptr).tokens(), 0u);
  EXPECT_EQ(view.rows(std::vector<int>()).tokens(), 0u);
  cos_sin_cache<half> const empty(nullptr, {.positions = 0, .rotary_dim = 2});
  EXPECT_EQ(empty.write<float>(std::vector<int>(), nullptr).tokens(), 0u);
}

TEST(cos_sin_cache, refuses_positions_that_it_does_not_have_before_it_writes) {
  auto const cache = one_array<float>();
  cos_sin_cache const view(cache.cos(), contiguous);
  std::vector<float> memory(2 * rotary_dim, 7);
  auto const refused = [&](auto position) {
    return message_of([&] {
      view.write(std::vector<decltype(position)>{1, position}, memory.data());
    });
  };
  EXPECT_EQ(
      refused(40),
      "posenc: cos_sin_cache: a position must be one of the 40 of the cache, got 40 at token 1");
  EXPECT_EQ(
      refused(-1),
      "posenc: cos_sin_cache: a position must be one of the 40 of the cache, got -1 at token 1");
  EXPECT_EQ(refused(std::numeric_limits<std::uint64_t>::max()),
            "posenc: cos_sin_cache: a position must be one of the 40 of the cache, got "
            "18446744073709551615 at token 1");
  EXPECT_TRUE(std::ranges::all_of(memory, [](float x) { return x == 7; }));
  EXPECT_EQ(
      message_of([&] {
        view.rows(std::vector<int>{0, 40});
      }),
      "posenc: cos_sin_cache: a position must be one of the 40 of the cache, got 40 at token 1");
}

TEST(cos_sin_cache, refuses_shapes_that_no_cache_has) {
  float const number = 0;
  EXPECT_EQ(message_of([&] { cos_sin_cache(&number, {.positions = 1, .rotary_dim = 3}); }),
            "posenc: cos_sin_cache: rotary_dim must be even and positive, got 3");
  EXPECT_EQ(message_of([&] { cos_sin_cache(&number, {.positions = 1, .rotary_dim = 0}); }),
            "posenc: cos_sin_cache: rotary_dim must be even and positive, got 0");
  float const* const null = nullptr;
  std::string const sentence =
      "posenc: cos_sin_cache: cosines and sines must not be null for 5 positions";
  EXPECT_EQ(message_of([&] { cos_sin_cache(null, {.positions = 5, .rotary_dim = 2}); }), sentence);
  EXPECT_EQ(message_of([&] { cos_sin_cache(&number, null, {.positions = 5, .rotary_dim = 2}); }),
            sentence);
}

}  // namespace
