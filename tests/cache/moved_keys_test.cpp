// Keys that move in a cache: shifted, or to other frequencies, in every format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/cached_keys.hpp"
#include "cache/codes.hpp"
#include "numbers.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/rerotation.hpp"

namespace of_moved_keys { namespace {

using namespace cached_keys;
using posenc::bfloat16;
using posenc::cos_sin_rows;
using posenc::deepseek_v4;
using posenc::halves;
using posenc::heads_view;
using posenc::interleaved;
using posenc::rotate;
using posenc::rotated;
using posenc::shift_rows;

// The rms errors that README.md says, in percent: as written; after one shift by 64; after ten and
// a hundred by 64; after a hundred by 1.
struct errors {
  double written, once, ten, by_64, by_1;
};
template <class F>
errors shifted(F const& format) {
  auto const f = posenc::geometric(dim, 1e4);
  auto const x = normal_keys();
  constexpr std::int64_t first = 10'000;
  auto const error_after = [&](int shifts, std::int64_t by) {
    cached keys(format);
    rotate(cos_sin_rows(f, positions(first)),
           rotated<halves>(heads_view<float const>(x.data(), {tokens, 1, dim}), keys.heads()));
    auto const rows = shift_rows(f, std::vector<std::int64_t>(tokens, by));
    for (int i = 0; i < shifts; ++i) rotate(rows, rotated<halves>(keys.heads()));
    return 100 * rms_error(keys.read(), x, f.inv_freq(), first + shifts * by);
  };
  return {error_after(0, 0), error_after(1, -64), error_after(10, -64), error_after(100, -64),
          error_after(100, -1)};
}

// If an encoding's errors were independent of the last one's, a hundred would make ten times the
// error. They make more: a slow pair that turns by less than half a step of its codes is rounded
// back to where it was, each time. Hence many small shifts are worse than one large one.
template <class F>
void shifts(F const& format, errors const& expected) {
  auto const got = shifted(format);
  EXPECT_NEAR(got.written, expected.written, 0.02 * expected.written);
  EXPECT_NEAR(got.once, expected.once, 0.02 * expected.once);
  EXPECT_NEAR(got.ten, expected.ten, 0.03 * expected.ten);
  EXPECT_NEAR(got.by_64, expected.by_64, 0.04 * expected.by_64);
  EXPECT_NEAR(got.by_1, expected.by_1, 0.04 * expected.by_1);
}

TEST(moved_keys, have_the_errors_of_their_encodings) {
  shifts(posenc::numbers_of<posenc::half>{}, {0.0211, 0.0296, 0.0688, 0.199, 0.920});
  shifts(posenc::numbers_of<bfloat16>{}, {0.166, 0.240, 0.637, 1.81, 5.85});
  shifts(posenc::q8_0{}, {0.525, 0.746, 2.02, 7.88, 18.2});
  shifts(posenc::u8_per_head{}, {0.591, 0.836, 1.98, 5.84, 11.0});
  shifts(posenc::int8_per_head{}, {0.634, 0.918, 2.39, 9.70, 18.9});
  shifts(posenc::int8_static{4.5f / 127}, {1.013, 1.44, 5.29, 36.1, 36.0});
  shifts(posenc::q4_0{}, {8.57, 11.7, 34.7, 131, 120});
  shifts(posenc::q4_1{}, {7.78, 10.8, 28.3, 121, 100});
  shifts(posenc::q5_0{}, {4.25, 5.96, 17.3, 79.5, 75.8});
  shifts(posenc::q5_1{}, {3.73, 5.20, 13.3, 46.9, 50.4});
  shifts(posenc::iq4_nl{}, {7.85, 10.8, 29.1, 108, 92.8});
  shifts(posenc::int4_per_head{}, {10.1, 13.8, 43.5, 193, 151});
  shifts(posenc::int4_static{0.35f}, {11.0, 14.5, 50.7, 140, 112});
  shifts(posenc::e4m3::of_scale(1.0f / 64), {2.66, 3.55, 10.9, 81.5, 74.0});
  shifts(posenc::e4m3::of_scale(1.0f / 64, posenc::e4m3_rounding::towards_zero),
         {5.07, 9.20, 39.4, 99.0, 98.6});
}

// LongRoPE's switch from its short to its long factors, on a live cache: as if the keys had been
// rotated by the long ones, but for one more encoding.
TEST(moved_keys, switch_to_other_frequencies) {
  std::vector<double> short_factors(dim / 2, 1.1), long_factors(dim / 2);
  for (std::size_t i = 0; i < dim / 2; ++i) long_factors[i] = 1.5 + static_cast<double>(i) / 2;
  auto const plain = posenc::geometric(dim, 1e4);
  auto const at = [&](std::vector<double> const& factors) {
    std::vector<double> inv_freq(plain.inv_freq().begin(), plain.inv_freq().end());
    for (std::size_t i = 0; i < dim / 2; ++i) inv_freq[i] /= factors[i];
    return posenc::frequencies(inv_freq, 1.0);
  };
  auto const from = at(short_factors), to = at(long_factors);
  auto const x = normal_keys();
  auto const switches = [&](auto const& format, double percent) {
    cached keys(format);
    rotate(cos_sin_rows(from, positions(4096)),
           rotated<halves>(heads_view<float const>(x.data(), {tokens, 1, dim}), keys.heads()));
    auto const rows = posenc::rerotation_rows(from, to, positions(4096));
    rotate(rows, rotated<halves>(keys.heads()));
    EXPECT_NEAR(100 * rms_error(keys.read(), x, to.inv_freq(), 4096), percent, 0.03 * percent);
  };
  switches(posenc::u8_per_head{}, 0.827);
  switches(posenc::q8_0{}, 0.74);
  switches(posenc::int8_per_head{}, 0.90);
  switches(posenc::e4m3::of_scale(1.0f / 64), 3.7);
}

// Keys that move in their cache, and those that turn as they are read, have the bits of separate
// calls: decoded, rotated, encoded.
template <class F>
void moves_as_separate_calls(F const& format) {
  auto const f = posenc::geometric(64, 1e4);
  cached<F> keys(format);
  auto const x = normal_keys();
  for (std::size_t t = 0; t < tokens; ++t)
    keys.heads().write(t, 0, std::span(x).subspan(t * dim, dim));
  auto const block = posenc::rotary_block::last();
  std::vector<float> apart(all), read(all);
  heads_view const heads(apart.data(), {tokens, 1, dim}), to(read.data(), {tokens, 1, dim});
  for (auto const& rows : {shift_rows(f, std::vector<std::int64_t>(tokens, -7)),
                           posenc::rerotation_rows(f, posenc::geometric(64, 1e6), positions(99))}) {
    std::ranges::copy(keys.read(), apart.begin());
    posenc::rotate(rows, posenc::rotated<halves>(heads).block(block));
    rotate(rows, rotated<halves>(keys.heads(), to).block(block));
    EXPECT_TRUE(numbers::same_bits(read, apart));
    auto wanted = keys;
    for (std::size_t t = 0; t < tokens; ++t)
      wanted.heads().write(t, 0, std::span(apart).subspan(t * dim, dim));
    rotate(rows, rotated<halves>(keys.heads()).block(block));
    EXPECT_EQ(keys.memory, wanted.memory);
  }
}

TEST(moved_keys, have_the_bits_of_separate_calls_in_every_format) {
  moves_as_separate_calls(posenc::numbers_of<posenc::half>{});
  moves_as_separate_calls(posenc::numbers_of<bfloat16>{});
  moves_as_separate_calls(posenc::u8_per_head{});
  moves_as_separate_calls(posenc::q8_0{posenc::q8_0_writer::avx2});
  moves_as_separate_calls(posenc::q4_0{});
  moves_as_separate_calls(posenc::q5_1{});
  moves_as_separate_calls(posenc::int4_per_head{});
  moves_as_separate_calls(posenc::int4_static{0.6f});
  moves_as_separate_calls(posenc::int8_per_head{});
  moves_as_separate_calls(posenc::int8_static{4.5f / 127});
  moves_as_separate_calls(posenc::e4m3::of_scale(1.0f / 64));
  moves_as_separate_calls(deepseek_v4{});
}

// A cache whose oldest tokens were dropped: the rest move to the front and turn, in one pass.
TEST(moved_keys, go_to_other_slots_of_their_pages) {
  std::vector<std::byte> memory(3 * 4 * 2 * 68);
  std::vector<std::int64_t> const old_slots{4, 5, -1, 10}, new_slots{0, 1, 11, 9},
      shared{0, 5, 6, 7};
  auto const at = [&](std::vector<std::byte>& bytes, std::vector<std::int64_t> const& slots) {
    return heads_view(posenc::q8_0{}, bytes.data(), {3, 4, 2, 64}, slots);
  };
  auto const f = posenc::geometric(64, 1e4);
  auto const x = numbers::random<float>(4 * 2 * 64);
  rotate(cos_sin_rows(f, std::vector{20, 21, 22, 23}),
         rotated<halves>(heads_view(x.data(), {4, 2, 64}), at(memory, old_slots)));
  auto const rows = shift_rows(f, std::vector{-20, -20, -20, -20});
  auto in_place = memory, before = memory;
  rotate(rows, rotated<halves>(at(in_place, old_slots)));
  rotate(rows, rotated<halves>(at(memory, old_slots), at(memory, new_slots)));
  auto const token = [](std::vector<std::byte> const& bytes, std::int64_t slot) {
    return std::vector(bytes.begin() + slot * 136, bytes.begin() + (slot + 1) * 136);
  };
  for (std::size_t t = 0; t < 4; ++t) {
    bool const is_moved = old_slots[t] >= 0;
    EXPECT_EQ(token(memory, new_slots[t]),
              is_moved ? token(in_place, old_slots[t]) : token(before, new_slots[t]));
    EXPECT_TRUE(!is_moved || token(memory, old_slots[t]) == token(before, old_slots[t]));
  }
  before = memory;
  EXPECT_THROW(rotate(rows, rotated<halves>(at(memory, old_slots), at(memory, shared))),
               std::invalid_argument);
  EXPECT_EQ(memory, before);
}

// Keys that are stored before their rotation, and rotated as they are read, at positions of each
// step: their only error is that of one encoding.
TEST(moved_keys, stored_unrotated_turn_as_they_are_read) {
  auto const f = posenc::geometric(dim, 1e4);
  auto const x = normal_keys();
  cached keys(posenc::q8_0{});
  std::vector<float> read(all);
  rotate(cos_sin_rows(f, positions(0)),
         posenc::unrotated(heads_view<float const>(x.data(), {tokens, 1, dim}), keys.heads()));
  auto const before = keys.memory;
  for (std::int64_t const first : {0, 77, 1'000'000}) {
    rotate(cos_sin_rows(f, positions(first)),
           rotated<halves>(keys.heads(), heads_view(read.data(), {tokens, 1, dim})));
    EXPECT_NEAR(rms_error(read, x, f.inv_freq(), first), 0.0053, 0.0002);
  }
  EXPECT_EQ(keys.memory, before);
}

// DeepSeek V4's 64 rotary dims are bfloat16: a shift changes no code and no scale.
TEST(moved_keys, of_deepseek_v4_keep_their_codes) {
  posenc::pages_shape const shape{2, 4, 1, 512};
  std::vector<std::byte> memory(2 * 4 * 584);
  std::vector<std::int64_t> const three{6, 1, 3};
  auto const x = numbers::random<bfloat16>(3 * 512);
  auto const f = posenc::geometric(64, 1e4);
  heads_view const cache(deepseek_v4{}, memory.data(), shape, three);
  auto const write = [&](std::vector<std::int64_t> const& at) {
    rotate(cos_sin_rows(f, at),
           rotated<interleaved>(heads_view<bfloat16 const>(x.data(), {3, 1, 512}), cache)
               .block(posenc::rotary_block::last()));
  };
  write({10, 20, 30});
  auto const before = memory;
  posenc::heads_view const turning(reinterpret_cast<bfloat16*>(memory.data() + 448), {2, 4, 1, 64},
                                   {.page = 292 * 4, .token = 288}, three);
  posenc::rotate<interleaved>(turning, shift_rows(f, std::vector{-5, -5, -5}));
  auto const moved = memory;
  write({5, 15, 25});
  std::size_t changed = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    auto const within = i % (4 * 584);
    bool const rotary = within < 4 * 576 && within % 576 >= 448;
    if (!rotary) {
      ASSERT_EQ(moved[i], before[i]) << i;
    }
    changed += moved[i] != before[i];
  }
  EXPECT_GT(changed, 3u * 64);
  // As if written there, but for one more rounding to bfloat16.
  std::vector<float> there(512), shifted(512);
  for (std::size_t t = 0; t < 3; ++t) {
    cache.read(t, 0, there);
    heads_view(deepseek_v4{}, static_cast<void const*>(moved.data()), shape, three)
        .read(t, 0, shifted);
    for (std::size_t d = 0; d < 512; ++d)
      ASSERT_NEAR(shifted[d], there[d], d < 448 ? 0 : 3 * std::sqrt(2.0) * 0x1p-8) << d;
  }
}

}  // namespace
}  // namespace of_moved_keys
