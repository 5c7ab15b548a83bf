#include "posenc/cache/q5_1.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cache/codes.hpp"
#include "executors.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"

namespace of_step { namespace {

using posenc::bfloat16;
using posenc::both;
using posenc::cos_sin_rows;
using posenc::geometric;
using posenc::half;
using posenc::halves;
using posenc::heads_view;
using posenc::in_pages;
using posenc::int8_per_head;
using posenc::interleaved;
using posenc::pages_shape;
using posenc::q8_0;
using posenc::rotary_block;
using posenc::rotate;
using posenc::rotated;
using posenc::u8_per_head;
using posenc::unrotated;

using slots = std::vector<std::int64_t>;

// vLLM's page of keys, [page][head][dim][token]: a column for each token. A sink of five lines.
struct columns {
  float* pages;
  slots const& of_tokens;
  std::size_t heads, page_tokens;

  void write(std::size_t token, std::size_t head, std::span<float const> x) const {
    if (of_tokens[token] < 0) return;
    auto const slot = static_cast<std::size_t>(of_tokens[token]);
    auto* const column =
        pages + (slot / page_tokens * heads + head) * x.size() * page_tokens + slot % page_tokens;
    for (std::size_t dim = 0; dim < x.size(); ++dim) column[dim * page_tokens] = x[dim];
  }
};

// What a sink was given, of each token and head.
struct noted {
  std::vector<std::vector<float>>& heads;
  std::size_t of_token;

  void write(std::size_t token, std::size_t head, std::span<float const> x) const {
    auto& place = heads[token * of_token + head];
    EXPECT_TRUE(place.empty()) << "twice: token " << token << ", head " << head;
    place.assign(x.begin(), x.end());
  }
};

// Five tokens, one without a slot, in pages of four.
struct setting {
  std::size_t heads = 3, dim = 64;
  slots of_tokens{6, 7, -1, 0, 9};
  std::vector<std::int64_t> positions{5, 6, 1'000'000, -3, 0};
  pages_shape pages() const { return {3, 4, heads, dim}; }
  posenc::heads_shape shape() const { return {5, heads, dim}; }
};

// The heads in float that rotate makes of `x` when it alone is called.
template <class From, class To, class S>
std::vector<float> by_rotate(std::vector<S>& x, setting const& s, cos_sin_rows<float> const& rows,
                             auto const& treat) {
  std::vector<float> result(x.size());
  rotate(rows, treat(rotated<From, To>(heads_view<S const>(x.data(), s.shape()),
                                       heads_view<float>(result.data(), s.shape()))));
  return result;
}

// One pass writes the bytes of two: rotate into floats, then encode each head.
template <class S, class From, class To, class F>
void writes_what_separate_passes_write(F const& format, setting const& s, std::size_t rotary_dim,
                                       rotary_block block) {
  auto k = numbers::random<S>(5 * s.heads * s.dim);
  auto const weight = numbers::random<float>(s.dim, 3);
  cos_sin_rows const rows(posenc::truncated(geometric(rotary_dim, 1e4), 0.75), s.positions);
  auto const expected = by_rotate<From, To>(k, s, rows, [&](auto const& r) {
    return r.block(block).norm({weight, 1e-6f}).scale(0.25f);
  });
  auto const bytes = encode(format, std::span(expected).first(s.dim));
  std::vector<std::byte> memory(12 * s.heads * (bytes.codes.size() + bytes.scales.size()),
                                std::byte{0xee});
  auto separate = memory;
  heads_view const cache(format, memory.data(), s.pages(), s.of_tokens),
      target(format, separate.data(), s.pages(), s.of_tokens);
  auto const before = k;
  rotate(rows, rotated<From, To>(heads_view<S const>(k.data(), s.shape()), cache)
                   .block(block)
                   .norm({weight, 1e-6f})
                   .scale(0.25f));
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t h = 0; h < s.heads; ++h)
      target.write(t, h, std::span(expected).subspan((t * s.heads + h) * s.dim, s.dim));
  EXPECT_EQ(memory, separate);
  EXPECT_TRUE(numbers::same_bits(k, before));
}

TEST(step, writes_the_bytes_that_separate_passes_write) {
  auto const of_some_heads = [](auto const& act) {
    setting s;
    for (std::size_t const heads : {1u, 3u, 70u}) {  // 64 heads and 4096 numbers stay in L1
      s.heads = heads;
      act(s);
    }
  };
  auto const from_float = [&](auto const& format) {
    of_some_heads([&](setting const& s) {
      writes_what_separate_passes_write<float, halves, halves>(format, s, 64,
                                                               rotary_block::first());
    });
  };
  auto const from_bfloat16 = [&](auto const& format) {
    of_some_heads([&](setting const& s) {
      writes_what_separate_passes_write<bfloat16, interleaved, interleaved>(format, s, 32,
                                                                            rotary_block::last());
    });
  };
  from_float(u8_per_head{}), from_bfloat16(u8_per_head{});
  from_float(q8_0{}), from_bfloat16(q8_0{});
  from_float(posenc::q4_0{});
  from_bfloat16(posenc::q5_1{});
  from_bfloat16(posenc::int4_per_head{});
  from_float(posenc::e4m3::of_scale(0.02f));
  setting s;
  writes_what_separate_passes_write<float, halves, halves>(int8_per_head{}, s, 64,
                                                           rotary_block::first());
  writes_what_separate_passes_write<half, interleaved, halves>(posenc::int8_static{0.01f}, s, 48,
                                                               rotary_block::from(10));
  writes_what_separate_passes_write<float, halves, halves>(posenc::numbers_of<bfloat16>{}, s, 64,
                                                           rotary_block::first());
  s.dim = 512, s.heads = 1;
  writes_what_separate_passes_write<bfloat16, interleaved, interleaved>(posenc::deepseek_v4{}, s,
                                                                        64, rotary_block::last());
  s.dim = 4096;
  writes_what_separate_passes_write<float, halves, halves>(u8_per_head{}, s, 64,
                                                           rotary_block::first());
}

TEST(step, scales_values_whose_type_does_not_change) {
  setting const s;
  slots const all{0, 1, 2, 3, 4};
  auto const test = [&]<class T>(T) {
    auto const v = numbers::random<T>(5 * s.heads * s.dim);
    std::vector<T> pages(12 * s.heads * s.dim);
    cos_sin_rows const rows(geometric(s.dim, 1e4), s.positions);
    rotate(rows, unrotated(heads_view<T const>(v.data(), s.shape()),
                           heads_view(posenc::numbers_of<T>{}, pages.data(), s.pages(), all))
                     .scale(0.3f));
    for (std::size_t i = 0; i < v.size(); ++i) {
      T expected;
      posenc::store(expected, posenc::load(v[i]) * 0.3f);
      ASSERT_EQ(posenc::load(pages[i]), posenc::load(expected));
    }
  };
  test(float());
  test(half());
  test(bfloat16());
}

// Where they are aligned the kernel writes them, elsewhere they go by way of floats.
TEST(step, writes_the_same_numbers_where_they_are_not_aligned) {
  setting const s;
  auto const k = numbers::random<bfloat16>(5 * s.heads * s.dim);
  auto const weight = numbers::random<float>(s.dim, 3);
  cos_sin_rows const rows(geometric(s.dim, 1e4), s.positions);
  auto const size = 12 * s.heads * s.dim * sizeof(bfloat16);
  std::vector<std::byte> memory(2 * size + 1);
  heads_view const keys(k.data(), s.shape());
  heads_view const aligned(posenc::numbers_of<bfloat16>{}, memory.data(), s.pages(), s.of_tokens),
      odd(posenc::numbers_of<bfloat16>{}, memory.data() + size + 1, s.pages(), s.of_tokens);
  EXPECT_NE(aligned.numbers(0, 0).first, nullptr);
  EXPECT_EQ(odd.numbers(0, 0).first, nullptr);
  rotate(rows, rotated<halves>(keys, aligned).norm({weight, 1e-6f}),
         rotated<halves>(keys, odd).norm({weight, 1e-6f}));
  EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(size),
                         memory.begin() + static_cast<std::ptrdiff_t>(size + 1)));
  EXPECT_NE(memory[0], std::byte{0});
}

TEST(step, is_one_call_for_queries_keys_and_values) {
  setting const s;
  auto q = numbers::random<float>(5 * 6 * 64, 1), k = numbers::random<float>(5 * 3 * 64, 2),
       v = numbers::random<float>(5 * 3 * 64, 3);
  auto q_alone = q;
  auto const weight = numbers::random<float>(64, 4);
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  std::vector<std::byte> k_memory(12 * 3 * 72), v_memory(12 * 3 * 64 / 32 * 34);
  heads_view const k_cache(u8_per_head{}, k_memory.data(), s.pages(), s.of_tokens);
  heads_view const v_cache(q8_0{}, v_memory.data(), s.pages(), s.of_tokens);
  heads_view const queries(q.data(), {5, 6, 64});
  auto const k_before = k, v_before = v;
  rotate(rows, rotated<halves>(queries).norm({weight, 1e-6f}).scale(0.125f),
         rotated<halves>(heads_view(k.data(), s.shape()), k_cache).norm({weight, 1e-5f}),
         unrotated(heads_view(v.data(), s.shape()), v_cache));
  rotate(
      rows,
      rotated<halves>(heads_view(q_alone.data(), {5, 6, 64})).norm({weight, 1e-6f}).scale(0.125f));
  EXPECT_TRUE(numbers::same_bits(q, q_alone));
  EXPECT_TRUE(numbers::same_bits(k, k_before));
  EXPECT_TRUE(numbers::same_bits(v, v_before));
  auto const k_alone = by_rotate<halves, halves>(k, s, rows, [&](auto const& r) {
    return r.norm({weight, 1e-5f});
  });
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t h = 0; h < 3 && s.of_tokens[t] >= 0; ++h) {
      std::vector<float> read(64);
      auto const of_head = [&](auto const& x) {
        return std::span<float const>(x).subspan((t * 3 + h) * 64, 64);
      };
      k_cache.read(t, h, read);
      EXPECT_EQ(read, through(u8_per_head{}, of_head(k_alone)));
      v_cache.read(t, h, read);
      EXPECT_EQ(read, through(q8_0{}, of_head(v)));
    }
}

TEST(step, writes_columns_by_a_sink_of_five_lines) {
  setting const s;
  auto k = numbers::random<bfloat16>(5 * 3 * 64);
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  auto const expected =
      by_rotate<halves, halves>(k, s, rows, [](auto const& r) { return r.scale(1); });
  std::vector<float> pages(3 * 4 * 3 * 64, 7.0f), want = pages;
  rotate(rows, rotated<halves>(heads_view(k.data(), s.shape()),
                               columns{pages.data(), s.of_tokens, 3, 4}));
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t h = 0; h < 3 && s.of_tokens[t] >= 0; ++h)
      for (std::size_t d = 0; d < 64; ++d) {
        auto const slot = static_cast<std::size_t>(s.of_tokens[t]);
        want[((slot / 4 * 3 + h) * 64 + d) * 4 + slot % 4] = expected[(t * 3 + h) * 64 + d];
      }
  EXPECT_TRUE(numbers::same_bits(pages, want));
}

TEST(step, gives_a_sink_each_head_once_whoever_runs_it) {
  setting const s;
  for (std::size_t const heads : {1u, 3u, 130u}) {
    auto k = numbers::random<bfloat16>(5 * heads * 64);
    heads_view const view(k.data(), {5, heads, 64});
    cos_sin_rows const rows(geometric(64, 1e4), s.positions);
    std::vector<std::vector<float>> whole(5 * heads);
    auto const step = [&](auto& to) {
      return rotated<halves>(view, noted{to, heads}).norm({{}, 1e-6f}).scale(0.5f);
    };
    rotate(rows, step(whole));
    for (auto const& head : whole) EXPECT_EQ(head.size(), 64u);
    executors::in_every_split([&](auto const& split) {
      std::vector<std::vector<float>> parts(5 * heads);
      rotate(split, rows, step(parts));
      for (std::size_t i = 0; i < whole.size(); ++i)
        ASSERT_TRUE(numbers::same_bits(parts[i], whole[i])) << "head " << i;
    });
  }
}

// Bytes of each head alone, and of some at once.
TEST(step, writes_the_same_bytes_in_any_split) {
  setting s;
  s.heads = 9;
  auto const k = numbers::random<float>(5 * 9 * 64);
  heads_view<float const> const view(k.data(), s.shape());
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  auto const in = [&](auto const& split) {
    std::vector<std::byte> memory(2 * 12 * 9 * 72, std::byte{0xee});
    heads_view const keys(u8_per_head{}, memory.data(), s.pages(), s.of_tokens);
    heads_view const values(q8_0{}, memory.data() + 12 * 9 * 72, s.pages(), s.of_tokens);
    rotate(split, rows, rotated<halves>(view, keys), unrotated(view, values));
    return memory;
  };
  auto const whole = in(posenc::detail::one_task());
  executors::in_every_split([&](auto const& split) { EXPECT_EQ(in(split), whole); });
}

#if defined(__cpp_exceptions)
TEST(step, rethrows_what_a_sink_throws) {
  struct thrown {};
  struct full {
    void write(std::size_t token, std::size_t, std::span<float const>) const {
      if (token == 3) throw thrown();
    }
  };
  setting const s;
  auto k = numbers::random<float>(5 * 3 * 64);
  auto const step = rotated<halves>(heads_view<float const>(k.data(), s.shape()), full());
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  EXPECT_THROW(rotate(rows, step), thrown);
  executors::in_every_split(
      [&](auto const& split) { EXPECT_THROW(rotate(split, rows, step), thrown); });
}
#endif

// In place, and in a cache: a token without a slot is rotated all the same.
TEST(step, rotates_in_place_and_writes_what_has_a_slot) {
  setting const s;
  auto k = numbers::random<float>(5 * 3 * 64);
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  auto const expected =
      by_rotate<interleaved, interleaved>(k, s, rows, [](auto const& r) { return r.scale(2); });
  std::vector<bfloat16> pages(3 * 4 * 3 * 64, bfloat16(7.0f)), want = pages;
  heads_view const view(k.data(), s.shape());
  heads_view const cache(pages.data(), s.pages(), s.of_tokens),
      wanted(want.data(), s.pages(), s.of_tokens);
  rotate(rows, rotated<interleaved>(view, both{view, cache}).scale(2));
  EXPECT_TRUE(numbers::same_bits(k, expected));
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t i = 0; i < 3 * 64 && wanted.token(t) != nullptr; ++i)
      wanted.token(t)[i] = bfloat16(expected[t * 3 * 64 + i]);
  EXPECT_TRUE(numbers::same_bits(pages, want));
}

TEST(step, passes_values_through_as_they_are) {
  setting const s;
  auto const test = [&]<class S, class T>(S, T) {
    auto v = numbers::random<S>(5 * 3 * 64);
    std::vector<T> to(v.size());
    cos_sin_rows const rows(geometric(64, 1e4), s.positions);
    rotate(rows, unrotated(heads_view<S const>(v.data(), s.shape()),
                           heads_view<T>(to.data(), s.shape())));
    for (std::size_t i = 0; i < v.size(); ++i) {
      T expected;
      posenc::store(expected, posenc::load(v[i]));
      ASSERT_EQ(posenc::load(to[i]), posenc::load(expected));
    }
  };
  test(float(), bfloat16());
  test(bfloat16(), half());
  test(half(), float());
  test(float(), float());
}

// Pages of bfloat16 may have a slot twice: the later token stays, whoever runs it.
TEST(step, keeps_tokens_in_order_where_slots_repeat) {
  setting s;
  s.of_tokens = {6, 7, 6, 0, 6};
  auto k = numbers::random<float>(5 * 3 * 64);
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  std::vector<bfloat16> pages(3 * 4 * 3 * 64), in_parts = pages;
  heads_view<float const> const view(k.data(), s.shape());
  rotate(rows, rotated<halves>(view, heads_view(pages.data(), s.pages(), s.of_tokens)));
  executors::in_every_split([&](auto const& split) {
    std::ranges::fill(in_parts, bfloat16(0.0f));
    rotate(split, rows, rotated<halves>(view, heads_view(in_parts.data(), s.pages(), s.of_tokens)));
    EXPECT_TRUE(numbers::same_bits(pages, in_parts));
  });
}

// Bad calls: they throw that message and change nothing.

TEST(step, leaves_out_tokens_without_a_slot_of_many_heads) {
  // More numbers of a token than a step keeps in L1.
  constexpr std::size_t many = 48, dim = 128;
  std::vector<std::int64_t> const positions{7, 8}, some{3, -1};
  cos_sin_rows const rows(geometric(dim, 1e4), positions);
  auto const k = numbers::random<float>(2 * many * dim);
  auto const weight = numbers::random<float>(dim, 1);
  std::vector<posenc::bfloat16> pages(4 * many * dim, posenc::bfloat16(3.0f)), alone(many * dim);
  heads_view<float const> const keys(k.data(), {2, many, dim});
  heads_view const cache(pages.data(), {1, 4, many, dim}, some);
  rotate(rows, rotated<halves>(keys, cache).norm({weight, 1e-6f}));
  cos_sin_rows const first(geometric(dim, 1e4), std::vector{7});
  rotate(first, rotated<halves>(keys.slice_tokens(0, 1), heads_view(alone.data(), {1, many, dim}))
                    .norm({weight, 1e-6f}));
  for (std::size_t i = 0; i < pages.size(); ++i)
    EXPECT_EQ(pages[i], i < 3 * many * dim ? posenc::bfloat16(3.0f) : alone[i - 3 * many * dim])
        << i;
  auto const values = numbers::random<posenc::bfloat16>(2 * many * dim);
  rotate(rows, unrotated(heads_view(values.data(), {2, many, dim}), cache).scale(2));
  EXPECT_EQ(pages.front(), posenc::bfloat16(3.0f));
}

TEST(step, refuses_bad_input_and_changes_nothing) {
  setting s;
  auto q = numbers::random<float>(5 * 3 * 64), k = q;
  auto const q_before = q;
  std::vector<std::byte> memory(12 * 3 * 72, std::byte{0xee});
  auto const before = memory;
  cos_sin_rows const rows(geometric(64, 1e4), s.positions),
      four(geometric(64, 1e4), std::vector{1, 2, 3, 4}), wide(geometric(66, 1e4), s.positions);
  heads_view const queries(q.data(), s.shape()), keys(k.data(), s.shape());
  std::vector<std::byte> far(memory.size());
  heads_view const cache(u8_per_head{}, memory.data(), s.pages(), s.of_tokens),
      elsewhere(u8_per_head{}, far.data(), s.pages(), s.of_tokens);
  auto const refuses = [&](std::string const& message, auto const& some_rows, auto const& last) {
    EXPECT_EQ(message_of([&] { rotate(some_rows, rotated<halves>(queries), last); }), message);
    // Which of two parts is told first is not said.
    EXPECT_NE(message_of([&] { rotate(some_rows, rotated<halves>(queries).scale(2), last); }), "");
    EXPECT_TRUE(numbers::same_bits(q, q_before));
    EXPECT_EQ(memory, before);
  };
  refuses("posenc: rotate: there must be one row per token, got 4 rows for 5 tokens", four,
          rotated<halves>(keys, cache));
  auto const shape =
      "posenc: rotate: source and target must have the same shape, got 5 tokens x 3 heads of "
      "64 and ";
  slots const fewer{1, 2, 3, 4};
  refuses(shape + std::string("4 x 3 of 64"), rows,
          rotated<halves>(keys, heads_view(u8_per_head{}, memory.data(), s.pages(), fewer)));
  refuses(shape + std::string("5 x 3 of 32"), rows,
          unrotated(keys, heads_view(u8_per_head{}, memory.data(), {3, 4, 3, 32}, s.of_tokens)));
  refuses(shape + std::string("5 x 2 of 64"), rows,
          rotated<halves>(keys, both{elsewhere, cache.slice_heads(1, 2)}));
  slots const twice{6, 7, 6, 0, 9};
  refuses("posenc: rotate: a slot must be written once, got slot 6 again for token 2", rows,
          unrotated(keys, heads_view(u8_per_head{}, memory.data(), s.pages(), twice)));
  refuses(
      "posenc: rotary_block: the rotary block must lie within the head, got dims 2 to 66 of "
      "head_dim 64",
      rows, rotated<halves>(keys, cache).block(rotary_block::from(2)));
  EXPECT_NE(message_of([&] { rotate(wide, rotated<halves>(keys, cache)); }), "");
  auto const apart =
      "posenc: rotate: heads that one rotation of a call writes must not overlap those of another";
  refuses(apart, rows, rotated<halves>(queries, cache));
  refuses(apart, rows, rotated<halves>(keys, queries));
  auto const same =
      "posenc: rotate: source and target must not overlap, unless they are the same heads in the "
      "same layout";
  auto const targets = "posenc: rotate: targets of one set must not overlap each other";
  slots const four_slots{0, 1, 2, 3, -1};
  heads_view const other(q8_0{}, memory.data() + 70, {1, 4, 3, 64}, four_slots);
  refuses(targets, rows, rotated<halves>(keys, both{cache, cache}));
  refuses(targets, rows, unrotated(keys, both{both{keys, cache}, both{elsewhere, other}}));
  heads_view const shifted(k.data() + 64, {5, 2, 64}), first(k.data(), {5, 2, 64});
  refuses(same, rows, rotated<halves>(first, shifted));
  slots const in_order{0, 1, 2, 3, 4};
  heads_view const over(posenc::numbers_of<float>{}, static_cast<void*>(k.data()), {1, 5, 3, 64},
                        in_order);
  EXPECT_EQ(message_of([&] { rotate(rows, rotated<halves>(keys, over)); }), same);
  EXPECT_EQ(
      message_of([&] { rotate(rows, rotated<halves>(keys, cache), unrotated(queries, cache)); }),
      apart);
  std::vector<float> large(4098);
  heads_view const head(large.data(), {1, 1, 4098});
  cos_sin_rows const one(geometric(64, 1e4), std::vector{1});
  EXPECT_EQ(message_of([&] { rotate(one, rotated<halves>(head).norm({.plus_one = true})); }),
            "posenc: rotate: head_dim must be at most 4096, got 4098");
  EXPECT_NO_THROW(rotate(one, rotated<halves>(head).norm({}).scale(2)));
  EXPECT_EQ(memory, before);
}

TEST(step, takes_keys_and_values_that_share_pages) {
  setting const s;
  auto k = numbers::random<float>(5 * 3 * 64), v = numbers::random<float>(5 * 3 * 64, 2);
  cos_sin_rows const rows(geometric(64, 1e4), s.positions);
  constexpr std::ptrdiff_t page = 4 * 3 * 72;
  std::vector<std::byte> memory(3 * 2 * page);  // [page][keys, values]
  auto const at = [&](std::ptrdiff_t offset) {
    return heads_view(u8_per_head{}, memory.data() + offset, s.pages(), {2 * page, 3 * 72, 72},
                      s.of_tokens);
  };
  heads_view const keys(k.data(), s.shape()), values(v.data(), s.shape());
  EXPECT_NO_THROW(rotate(rows, rotated<halves>(keys, at(0)), unrotated(values, at(page))));
  EXPECT_NE(message_of([&] {
              rotate(rows, rotated<halves>(keys, at(0)), unrotated(values, at(page - 1)));
            }),
            "");
  std::vector<bfloat16> pages(3 * 2 * 4 * 3 * 64);
  auto const half_of = [&](std::size_t first) {
    return posenc::heads_view(pages.data() + first * 4 * 3 * 64, s.pages(),
                              {2 * 4 * 3 * 64, 3 * 64, 64}, s.of_tokens);
  };
  EXPECT_NO_THROW(rotate(rows, rotated<halves>(keys, half_of(0)), unrotated(values, half_of(1))));
  auto const first = half_of(0).slice_heads(0, 1), last = half_of(0).slice_heads(1, 2);
  EXPECT_NO_THROW(rotate(rows, rotated<halves>(keys.slice_heads(0, 1), first),
                         unrotated(values.slice_heads(1, 2), last)));
  std::vector<float> read(64);
  at(page).read(4, 2, read);
  EXPECT_EQ(read, through(u8_per_head{}, std::span<float const>(v).last(64)));
}

TEST(step, refuses_a_norm_or_scale_that_is_none) {
  std::vector<float> x(2 * 8);
  auto const heads = rotated<halves>(heads_view(x.data(), {1, 2, 8}));
  std::vector<bfloat16> const short_weight(7);
  EXPECT_EQ(
      message_of([&] { std::ignore = heads.norm(posenc::head_norm<bfloat16>{short_weight}); }),
      "posenc: rotate: the norm must have one weight per dim, got 7 weights for head_dim 8");
  EXPECT_EQ(message_of([&] { std::ignore = heads.norm({.eps = 0}); }),
            "posenc: rotate: eps of the norm must be finite and positive, got 0");
  EXPECT_EQ(message_of([&] { std::ignore = heads.scale(static_cast<float>(infinity())); }),
            "posenc: rotate: the scale must be finite, got infinity");
}

TEST(step, of_nothing_does_nothing) {
  std::vector<std::byte> memory(72);
  slots const none;
  cos_sin_rows const no_rows(geometric(64, 1e4), std::vector<int>{}),
      one(geometric(64, 1e4), std::vector{1});
  heads_view<float> const no_tokens(nullptr, {0, 3, 64}), no_heads(nullptr, {1, 0, 64});
  rotate(no_rows,
         rotated<halves>(no_tokens, heads_view(u8_per_head{}, memory.data(), {1, 1, 3, 64}, none)),
         unrotated(no_tokens, no_tokens));
  rotate(one, rotated<halves>(no_heads).norm({.kind = posenc::norm_kind::l2}));
}

// Of one head the stride is never used, and no pointer may be moved by it (UBSan sees it).
template <class Target>
void takes_any_stride_of_one_head(Target const& to, posenc::heads_strides strides) {
  std::vector<float> const k = numbers::random<float>(2 * 64);
  heads_view<float const> const from(k.data(), {2, 1, 64}, strides);
  auto const weight = numbers::random<float>(64, 3);
  cos_sin_rows const rows(geometric(64, 1e4), std::vector<std::int64_t>{5, 6});
  rotate(rows, rotated<halves>(from, to).norm({weight, 1e-6f}));
  rotate(rows, rotated<halves>(from, to));
}

TEST(step, takes_any_stride_of_one_head) {
  auto const farthest = std::numeric_limits<std::ptrdiff_t>::max();
  posenc::heads_strides const strides{64, farthest};
  std::vector<float> numbers(2 * 64);
  takes_any_stride_of_one_head(heads_view<float>(numbers.data(), {2, 1, 64}, strides), strides);
  EXPECT_NE(numbers, std::vector<float>(2 * 64));
}

}  // namespace
}  // namespace of_step
