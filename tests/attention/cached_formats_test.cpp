// Attention reads a cache of any format as it reads the numbers that the cache decodes to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace of_cached_formats {
namespace {

using posenc::heads_view;
using posenc::in_pages;

constexpr std::size_t keys = 37, kv_heads = 2, heads = 6;
using slots = std::vector<std::int64_t>;

// As a format of one's own is: attention decodes its heads to memory.
struct decoded_alone {
  posenc::u8_per_head format = {};
  std::size_t bytes(std::size_t head_dim) const { return format.bytes(head_dim); }
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    format.encode(head, to);
  }
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    format.decode(from, head);
  }
};
static_assert(posenc::detail::head_codes<decoded_alone>::decodes);

template <class F>
void attends_to(F const& format, auto const& encoding, std::size_t queries, std::size_t dim) {
  auto const q = numbers::random<float>(queries * heads * dim, 1),
             k = numbers::random<float>(keys * kv_heads * dim, 2);
  posenc::pages_shape const shape{10, 4, kv_heads, dim};
  auto bytes = format.bytes(dim);
  if constexpr (posenc::scaled_format<F>) bytes += format.scale_bytes(dim);
  std::vector<std::byte> memory(10 * 4 * kv_heads * bytes);
  slots order;
  for (std::int64_t t = 0; t < static_cast<std::int64_t>(keys); ++t) order.push_back(t * 7 % 40);
  heads_view const write(format, memory.data(), shape, order);
  std::vector<float> read(keys * kv_heads * dim);
  for (std::size_t i = 0; i < keys * kv_heads; ++i) {
    auto const head = std::span(k).subspan(i * dim, dim);
    write.write(i / kv_heads, i % kv_heads, head);
    write.read(i / kv_heads, i % kv_heads, std::span(read).subspan(i * dim, dim));
  }
  heads_view const cache(format, static_cast<void const*>(memory.data()), shape, order);
  heads_view<float const> const view(read.data(), {keys, kv_heads, dim});
  heads_view<float const> const query(q.data(), {queries, heads, dim});
  auto const expected = posenc::attention(query, view, view, encoding),
             got = posenc::attention(query, cache, cache, encoding);
  // A factor of a head multiplies its codes as they are decoded, and sums as they are read: scores,
  // whose errors are relative errors of weights, and of outputs.
  auto const most = *std::ranges::max_element(read, {}, [](float x) { return std::abs(x); });
  auto const value = static_cast<double>(std::abs(most)),
             score = 2 * tolerance::of_dot_product<float>(
                             dim, std::sqrt(static_cast<double>(dim)) * value),
             output = (2 * score + 2 * tolerance::of_dot_product<float>(keys, 1)) * value;
  for (std::size_t i = 0; i < got.outputs.size(); ++i)
    EXPECT_NEAR(got.outputs[i], expected.outputs[i], output);
  for (std::size_t i = 0; i < got.log_sum_exp.size(); ++i)
    EXPECT_NEAR(got.log_sum_exp[i], expected.log_sum_exp[i], score);

  // The same heads at strides give the same bits: codes with factors of a head, with those of
  // blocks, and a format that is decoded to memory.
  if constexpr (posenc::acts_nowhere<std::remove_cvref_t<decltype(encoding)>> &&
                (std::is_same_v<F, posenc::u8_per_head> || std::is_same_v<F, posenc::q8_0> ||
                 std::is_same_v<F, decoded_alone>)) {
    posenc::heads_shape const dense{keys, kv_heads, dim};
    heads_view const at_strides(format, memory.data(), dense);
    for (std::size_t i = 0; i < keys * kv_heads; ++i)
      at_strides.write(i / kv_heads, i % kv_heads, std::span(k).subspan(i * dim, dim));
    EXPECT_TRUE(numbers::same_bits(
        posenc::attention(query, at_strides, at_strides, encoding).outputs, got.outputs));
  }
}

TEST(cached_formats, are_attended_to_as_what_they_decode_to) {
  posenc::scheme const rotary{posenc::rope<posenc::halves>(posenc::geometric(64, 1e4)),
                              posenc::alibi(heads)};
  for (std::size_t const queries : {1u, 5u}) {
    attends_to(posenc::u8_per_head{}, rotary, queries, 64);
    attends_to(posenc::u8_per_head{}, posenc::nope(), queries, 64);
    attends_to(posenc::q8_0{}, posenc::nope(), queries, 64);
    attends_to(posenc::q4_0{}, posenc::nope(), queries, 64);
    attends_to(posenc::q4_0{}, posenc::nope(), queries, 96);
    attends_to(posenc::q4_1{}, posenc::nope(), queries, 96);
    attends_to(posenc::q5_0{}, posenc::nope(), queries, 96);
    attends_to(posenc::q5_1{}, posenc::nope(), queries, 96);
    attends_to(posenc::iq4_nl{}, posenc::nope(), queries, 96);
    attends_to(posenc::int4_per_head{}, posenc::nope(), queries, 64);
    attends_to(posenc::int4_static{0.2f}, posenc::nope(), queries, 64);
    attends_to(posenc::int8_per_head{}, posenc::nope(), queries, 64);
    attends_to(posenc::int8_static{0.01f}, posenc::nope(), queries, 64);
    attends_to(posenc::e4m3::of_scale(0.01f), posenc::nope(), queries, 64);
    attends_to(posenc::numbers_of<posenc::bfloat16>{}, posenc::nope(), queries, 64);
    attends_to(posenc::deepseek_v4{}, posenc::nope(), queries, 512);
  }
  for (std::size_t const dim : {1u, 19u, 40u}) {  // a register is not filled
    attends_to(posenc::u8_per_head{}, posenc::nope(), 1, dim);
    attends_to(posenc::int8_per_head{}, posenc::nope(), 1, dim);
    attends_to(posenc::e4m3::of_scale(0.01f), posenc::nope(), 1, dim);
    attends_to(posenc::numbers_of<posenc::bfloat16>{}, posenc::nope(), 1, dim);
    attends_to(decoded_alone{}, posenc::nope(), 1, dim);
    if (dim % 2 != 0) continue;
    attends_to(posenc::int4_per_head{}, posenc::nope(), 1, dim + 2);
    attends_to(posenc::int4_static{0.2f}, posenc::nope(), 1, dim + 2);
  }
}

// All codes of 8 bits, some of them a scale or a zero point, in a register and one by one.
template <class F>
void loads_what_it_decodes(F const& format, float factor) {
  using codes = posenc::detail::head_codes<F>;
  using lanes = posenc::detail::lanes<float>;
  std::vector<std::byte> head(300, std::byte{0x3c});
  for (std::size_t i = 0; i < 256; ++i) head[i + 8] = static_cast<std::byte>(i);
  std::vector<float> decoded(256), loaded(256), one_by_one(256);
  if constexpr (posenc::scaled_format<F>)
    format.decode(head.data(), head.data() + 260, decoded);
  else
    format.decode(head.data(), decoded);
  for (std::size_t i = 0; i < 256; i += lanes::size)
    lanes::store(loaded.data() + i, codes::load(head.data(), head.data() + 260, i, 0));
  for (std::size_t i = 0; i < 256; ++i) {
    loaded[i] *= factor;
    one_by_one[i] = codes::load_one(head.data(), head.data() + 260, i) * factor;
  }
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(std::isnan(loaded[i]), std::isnan(decoded[i])) << i;
    if (std::isnan(decoded[i])) continue;
    EXPECT_EQ(loaded[i], decoded[i]) << i;
    EXPECT_EQ(one_by_one[i], decoded[i]) << i;
  }
}

TEST(cached_formats, load_what_they_decode_to) {
  loads_what_it_decodes(posenc::u8_per_head{}, 1);
  loads_what_it_decodes(posenc::q8_0{}, 1);
  loads_what_it_decodes(posenc::q4_0{}, 1);
  loads_what_it_decodes(posenc::q4_1{}, 1);
  loads_what_it_decodes(posenc::q5_0{}, 1);
  loads_what_it_decodes(posenc::q5_1{}, 1);
  loads_what_it_decodes(posenc::iq4_nl{}, 1);
  loads_what_it_decodes(posenc::int4_per_head{}, 1);
  posenc::int4_static const nibbles{0.1f};
  loads_what_it_decodes(nibbles, nibbles.factor());
  posenc::int8_static const integers{0.1f};
  loads_what_it_decodes(integers, integers.factor());
  auto const floats = posenc::e4m3::of_scale(0.1f);
  loads_what_it_decodes(floats, floats.factor());
}

TEST(cached_formats, may_be_numbers_at_any_byte) {
  std::vector<std::byte> memory(2 * 129 + 1);
  heads_view const cache(posenc::numbers_of<posenc::bfloat16>{}, memory.data() + 1,
                         posenc::heads_shape{1, 2, 64}, posenc::heads_strides{258, 129});
  cache.write(0, 0, std::vector<float>(64, 1)), cache.write(0, 1, std::vector<float>(64, 2));
  std::vector<float> const q(2 * 64);
  auto const got =
      posenc::attention(heads_view(q.data(), {1, 2, 64}), cache, cache, posenc::nope());
  EXPECT_EQ(got.outputs.front(), 1);
  EXPECT_EQ(got.outputs.back(), 2);
}

TEST(cached_formats, leave_out_a_key_without_a_slot) {
  std::vector<std::byte> memory(4 * 72);
  slots const some{2, -1}, one{2};
  auto const q = numbers::random<float>(64), k = numbers::random<float>(64, 2);
  posenc::pages_shape const shape{1, 4, 1, 64};
  heads_view(posenc::u8_per_head{}, memory.data(), shape, one).write(0, 0, k);
  auto const attend = [&](slots const& at) {
    heads_view const cache(posenc::u8_per_head{}, static_cast<void const*>(memory.data()), shape,
                           at);
    return posenc::attention(heads_view<float const>(q.data(), {1, 1, 64}), cache, cache,
                             posenc::nope());
  };
  EXPECT_EQ(attend(some).outputs, attend(one).outputs);
}

}  // namespace
}  // namespace of_cached_formats
