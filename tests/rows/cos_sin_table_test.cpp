#include "posenc/rows/cos_sin_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "farthest.hpp"
#include "frequency/of_doubles.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_cache.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "rotation/all_rows.hpp"
#include "tolerance.hpp"

namespace {

using posenc::cos_sin_rows;
using posenc::cos_sin_table;
using posenc::frequencies;
using posenc::geometric;

constexpr std::int64_t million = 1 << 20;
// The errors of_cosine of two factors (sqrt(2) times that as complex numbers), the two roundings of
// the product, and one of the result.
template <class Real>
constexpr double of_table() {
  return std::same_as<Real, double> ? 7e-16 : 3e-8;
}

template <class Real>
void expect_exact(cos_sin_rows<Real> const& rows, frequencies const& f, auto const& positions,
                  double more = 0) {
  ASSERT_EQ(rows.tokens(), positions.size());
  ASSERT_EQ(rows.pairs(), f.pairs());
  for (std::size_t token = 0; token < positions.size(); ++token) {
    auto const p = positions[token];
    auto const bound = f.attention_factor() *
                       (of_table<Real>() + more + tolerance::of_phase(static_cast<double>(p)));
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const [cos, sin] = oracle::direction_at(static_cast<oracle::wide>(p),
                                                   static_cast<oracle::wide>(f.inv_freq()[i]));
      ASSERT_NEAR(static_cast<double>(rows.cos(token)[i]),
                  f.attention_factor() * static_cast<double>(cos), bound)
          << p << ", " << i;
      ASSERT_NEAR(static_cast<double>(rows.sin(token)[i]),
                  f.attention_factor() * static_cast<double>(sin), bound)
          << p << ", " << i;
    }
  }
}

std::vector<std::int64_t> within(std::int64_t range, std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> result{0, 1, -1, range, -range, range - 1};
  while (result.size() < count)
    result.push_back(
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * range + 1)) - range);
  return result;
}

TEST(cos_sin_table, is_as_exact_as_documented) {
  for (auto const base : {1e4, 5e5}) {
    auto const f = of_doubles(geometric(128, base));
    cos_sin_table const table(f);
    EXPECT_EQ(table.range(), million);
    auto const positions = within(million, 400);
    expect_exact(table.rows(positions), f, positions);
    expect_exact(table.rows<double>(positions), f, positions);
  }
}

TEST(cos_sin_table, of_any_range_holds_every_position_of_it) {
  auto const f = of_doubles(geometric(22, 1e4));  // 11 pairs: no multiple of a register
  for (std::int64_t const range : {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 100, 1000}) {
    cos_sin_table const table(f, range);
    std::vector<std::int64_t> positions;
    for (auto p = -range - 2; p <= range + 2; ++p) positions.push_back(p);
    expect_exact(table.rows(positions), f, positions);
    expect_exact(table.rows<double>(positions), f, positions);
  }
}

TEST(cos_sin_table, computes_what_lies_beyond) {
  auto const f = of_doubles(geometric(26, 1e4));
  cos_sin_table const table(f, 1000);
  std::vector<std::int64_t> const beyond{1001, -1001, million, farthest, farthest_back, 1ll << 40};
  EXPECT_TRUE(
      numbers::same_bits(all(table.rows(beyond).view()), all(cos_sin_rows(f, beyond).view())));
  std::vector<double> const fractional{0.5, -0.5, 999.25, -1e6 + 0.125, 0x1p62};
  EXPECT_TRUE(numbers::same_bits(all(table.rows(fractional).view()),
                                 all(cos_sin_rows(f, fractional).view())));
}

TEST(cos_sin_table, takes_positions_of_any_type) {
  cos_sin_table const table(geometric(26, 1e4));
  auto const expected = all(table.rows(std::vector<std::int64_t>{0, 5, 127}).view());
  EXPECT_TRUE(
      numbers::same_bits(all(table.rows(std::vector<std::uint8_t>{0, 5, 127}).view()), expected));
  EXPECT_TRUE(numbers::same_bits(all(table.rows(std::vector<double>{0, 5, 127}).view()), expected));
  EXPECT_TRUE(numbers::same_bits(all(table.rows(std::vector<float>{0, 5, 127}).view()), expected));
}

TEST(cos_sin_table, mirrors_exactly) {
  auto const f = geometric(64, 1e4);
  cos_sin_table const table(f);
  auto positions = within(million, 200);
  auto const there = table.rows(positions);
  for (auto& p : positions) p = -p;
  EXPECT_TRUE(std::ranges::equal(all(table.rows(positions).view()), all(there.transpose().view())))
      << "but for the sign of 0";
}

TEST(cos_sin_table, gives_a_position_the_same_bits_in_any_company) {
  cos_sin_table const table(geometric(78, 1e4), 5000);
  auto const positions = within(6000, 300);
  auto const check = [&]<class Real>(cos_sin_rows<Real> const& prefill) {
    auto decode = table.rows<Real>(std::vector{0});
    for (std::size_t token = 0; token < positions.size(); ++token) {
      table.write(std::vector{positions[token]}, decode);
      ASSERT_TRUE(numbers::same_bits(all(decode.view()), all(prefill.slice_tokens(token, 1))))
          << positions[token];
    }
  };
  check(table.rows(positions));
  check(table.rows<double>(positions));
}

TEST(cos_sin_table, carries_the_attention_factor) {
  frequencies const f({1, 0.01, 0}, 1.19023807);
  cos_sin_table const table(f);
  auto const positions = within(million, 100);
  expect_exact(table.rows(positions), f, positions, tolerance::unit_roundoff<float>());
  expect_exact(table.rows<double>(positions), f, positions, 2 * tolerance::unit_roundoff<double>());
  EXPECT_EQ(table.rows(positions).view().rotated_pairs().size(), 1u);
  auto const undo = table.rows(std::vector{0}).inverse();
  EXPECT_NEAR(undo.cos(0)[0], 1 / 1.19023807, tolerance::unit_roundoff<float>());
}

TEST(cos_sin_table, does_not_hold_what_stands_still) {
  auto const f = geometric(128, 1e4);
  cos_sin_table const whole(f), quarter(posenc::truncated(f, 0.25)),
      nothing(frequencies({0, 0, 0}));
  EXPECT_EQ(quarter.bytes(), whole.bytes() / 4);
  EXPECT_EQ(nothing.bytes(), 0u);
  frequencies const scattered({0, 1, 0, 0, 0.5, 0.25, 0});
  cos_sin_table const table(scattered);
  auto const positions = within(million, 50);
  expect_exact(table.rows(positions), scattered, positions);
  EXPECT_EQ(table.rows(positions).view().rotated_pairs().size(), 2u);
  EXPECT_EQ(nothing.rows(positions).cos(3)[1], 1);
  EXPECT_TRUE(nothing.rows(positions).view().rotated_pairs().empty());
}

TEST(cos_sin_table, is_as_small_as_documented) {
  cos_sin_table const table(geometric(128, 1e4));
  EXPECT_LE(table.bytes(), 1.51 * (1 << 20));
  EXPECT_EQ(table.pairs(), 64u);
  EXPECT_EQ(table.rotary_dim(), 128u);
}

TEST(cos_sin_table, writes_over_rows_where_they_are) {
  cos_sin_table const table(posenc::truncated(geometric(64, 1e4), 0.5));
  auto const positions = within(million, 20);
  std::vector<std::int64_t> const fewer(positions.begin(), positions.begin() + 7);
  auto rows = table.rows(positions);
  auto const* const memory = rows.cos(0).data();
  auto const* const ranges = rows.view().rotated_pairs().data();
  for (auto const& next : {fewer, positions, fewer, std::vector<std::int64_t>{}, positions}) {
    table.write(next, rows);
    EXPECT_EQ(rows.tokens(), next.size());
    EXPECT_TRUE(numbers::same_bits(all(rows.view()), all(table.rows(next).view())));
    EXPECT_TRUE(next.empty() || rows.cos(0).data() == memory);
    EXPECT_EQ(rows.view().rotated_pairs().data(), ranges);
  }
}

TEST(cos_sin_table, writes_over_rows_of_another_kind) {
  cos_sin_table const table(frequencies({1, 0, 0.5, 0, 0.25})),
      scaled(frequencies({1, 0, 0.5, 0, 0.25}, 2));
  std::vector<int> const positions{3, 1, 4};
  auto const check = [&](cos_sin_rows<float> rows) {
    for (auto const* const each : {&scaled, &table, &scaled}) {
      each->write(positions, rows);
      EXPECT_TRUE(numbers::same_bits(all(rows.view()), all(each->rows(positions).view())));
      EXPECT_TRUE(std::ranges::equal(rows.view().rotated_pairs(),
                                     each->rows(positions).view().rotated_pairs()));
      EXPECT_TRUE(numbers::same_bits(all(rows.inverse().view()),
                                     all(each->rows(positions).inverse().view())));
    }
  };
  check(cos_sin_rows(geometric(64, 1e4), std::vector{1, 2, 3, 4}));
  check(cos_sin_rows(frequencies({0, 1, 1, 1, 0}), std::vector{1, 2, 3}));
  check(cos_sin_rows(frequencies({1, 0, 0.5, 0, 0.25}, 3), std::vector{1, 2, 3}).inverse());
  auto moved = cos_sin_rows(frequencies({1, 0, 0.5, 0, 0.25}), std::vector{1, 2, 3});
  auto const taken = std::move(moved);
  check(std::move(moved));
}

TEST(cos_sin_table, writes_its_rows_into_memory_to_the_bit) {
  auto const check = [&]<class Real, class Position>(cos_sin_table const& table, Real untouched,
                                                     std::vector<Position> const& positions) {
    std::vector<Real> memory(positions.size() * table.rotary_dim() + 1, untouched);
    static_assert(noexcept(table.write(positions, memory.data())));
    auto const rows = table.write(positions, memory.data());
    auto const expected = table.rows<Real>(positions);
    EXPECT_EQ(rows.cos(0).data(), memory.data());
    EXPECT_TRUE(numbers::same_bits(all(rows), all(expected.view())));
    EXPECT_TRUE(std::ranges::equal(rows.rotated_pairs(), expected.view().rotated_pairs()));
    EXPECT_EQ(memory.back(), untouched) << "nothing is written beyond";
  };
  for (double const factor : {1.0, 1.25}) {  // 7 pairs, some of frequency 0
    cos_sin_table const table(frequencies({0, 1, 0.75, 0, 0.5, 0.25, 0}, factor), 1000);
    std::vector<std::int64_t> const positions{0, 5, -7, 1000, -1001, farthest};
    check(table, 9.0F, positions);
    check(table, 9.0, positions);
    check(table, 9.0F, std::vector<std::uint16_t>{3, 65'535});
    EXPECT_EQ(table.write<float>(std::vector<int>(), nullptr).tokens(), 0u);
  }
}

TEST(cos_sin_table, is_copied_and_moved) {
  auto table = cos_sin_table(geometric(26, 1e4), 1000);
  auto const positions = within(1000, 20);
  auto const expected = all(table.rows(positions).view());
  auto const copy = table;
  auto const moved = std::move(table);
  EXPECT_TRUE(numbers::same_bits(all(copy.rows(positions).view()), expected));
  EXPECT_TRUE(numbers::same_bits(all(moved.rows(positions).view()), expected));
}

TEST(cos_sin_table, refuses_bad_input_and_changes_nothing) {
  auto const f = geometric(8, 1e4);
  EXPECT_EQ(message_of([&] { cos_sin_table(f, 0); }),
            "posenc: cos_sin_table: range must be in [1, 2^32], got 0");
  EXPECT_NE(message_of([&] { cos_sin_table(f, (1ll << 32) + 1); }), "");
  cos_sin_table const table(f, 100);
  auto rows = table.rows(std::vector{1, 2, 3});
  auto const before = all(rows.view());
  EXPECT_EQ(message_of([&] {
              table.write(std::vector{0.0, not_a_number()}, rows);
            }),
            "posenc: cos_sin_table: a position must be finite and within [-2^63, 2^63), got NaN at "
            "token 1");
  EXPECT_EQ(message_of([&] { table.write(std::vector{std::uint64_t{1} << 63}, rows); }),
            "posenc: cos_sin_table: a position must fit int64, got 9223372036854775808 at token 0");
  EXPECT_TRUE(numbers::same_bits(all(rows.view()), before));
}

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
