#include "posenc/rotation/relayout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/own_storage.hpp"
#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "rotation/placed_heads.hpp"

namespace {

using posenc::bfloat16;
using posenc::half;
using posenc::halves;
using posenc::heads_view;
using posenc::interleaved;
using posenc::relayout;
using posenc::relayout_order;
using posenc::relayout_rows;
using posenc::rotary_block;
using posenc::rows_shape;

using order = std::vector<std::size_t>;

TEST(relayout_order, is_as_written_by_hand) {
  EXPECT_EQ((relayout_order<interleaved, halves>(2, 2)), (order{0, 1}));
  EXPECT_EQ((relayout_order<interleaved, halves>(6, 6)), (order{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ((relayout_order<halves, interleaved>(6, 6)), (order{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ((relayout_order<interleaved, halves>(8, 8)), (order{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ((relayout_order<halves, interleaved>(8, 8)), (order{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(relayout_order, leaves_the_dims_beside_the_block) {
  EXPECT_EQ((relayout_order<interleaved, halves>(7, 4)), (order{0, 2, 1, 3, 4, 5, 6}));
  EXPECT_EQ((relayout_order<interleaved, halves>(7, 4, rotary_block::last())),
            (order{0, 1, 2, 3, 5, 4, 6}));
  EXPECT_EQ((relayout_order<interleaved, halves>(8, 6, rotary_block::from(1))),
            (order{0, 1, 3, 5, 2, 4, 6, 7}));
  EXPECT_EQ((relayout_order<halves, interleaved>(8, 6, rotary_block::from(1))),
            (order{0, 1, 4, 2, 5, 3, 6, 7}));
  EXPECT_EQ((relayout_order<halves, interleaved>(6, 4, rotary_block::last())),
            (order{0, 1, 2, 4, 3, 5}));
}

TEST(relayout_order, to_the_same_layout_is_the_identity) {
  EXPECT_EQ((relayout_order<halves, halves>(6, 4)), (order{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ((relayout_order<interleaved, interleaved>(6, 4)), (order{0, 1, 2, 3, 4, 5}));
}

TEST(relayout_order, of_deepseek_is_that_of_its_transpose) {
  // q.view(.., d / 2, 2).transpose(4, 3) on the last 64 of 192 dims: [DeepSeek-V2,
  // modeling_deepseek.py, apply_rotary_pos_emb]
  order expected(192);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 2; ++j) expected[128 + j * 32 + i] = 128 + i * 2 + j;
  EXPECT_EQ((relayout_order<interleaved, halves>(192, 64, rotary_block::last())), expected);
}

// Calls `test` with a head_dim, a rotary_dim, and every kind of block.
void in_odd_and_even_sizes(auto&& test) {
  for (std::size_t const head_dim : {2u, 7u, 16u, 33u, 80u})
    for (std::size_t rotary_dim = 2; rotary_dim <= head_dim; rotary_dim += rotary_dim < 8 ? 2 : 14)
      for (auto const block : {rotary_block::first(), rotary_block::last(),
                               rotary_block::from((head_dim - rotary_dim) / 2)})
        test(head_dim, rotary_dim, block);
}

TEST(relayout_order, and_that_of_the_way_back_undo_each_other) {
  in_odd_and_even_sizes([](std::size_t head_dim, std::size_t rotary_dim, rotary_block block) {
    auto const there = relayout_order<interleaved, halves>(head_dim, rotary_dim, block);
    auto const back = relayout_order<halves, interleaved>(head_dim, rotary_dim, block);
    for (std::size_t d = 0; d < head_dim; ++d) EXPECT_EQ(back[there[d]], d);
  });
}

// Calls `test` for every format, and for an engine's own type.
void in_every_storage(auto&& test) {
  numbers::in_every_format(test);
  SCOPED_TRACE("engine::brain_float");
  test.template operator()<engine::brain_float>();
}

TEST(relayout, in_place_moves_the_numbers_of_heads_wherever_they_lie_and_nothing_else) {
  in_every_storage([]<class T>() {
    in_odd_and_even_sizes([](std::size_t head_dim, std::size_t rotary_dim, rotary_block block) {
      for (auto const arranged : arrangements) {
        placed_heads<T> x({3, 2, head_dim}, arranged, rotary_dim % 3);
        auto expected = x.memory;
        auto const sources = relayout_order<interleaved, halves>(head_dim, rotary_dim, block);
        for (std::size_t token = 0; token < 3; ++token)
          for (std::size_t head = 0; head < 2; ++head)
            for (std::size_t d = 0; d < head_dim; ++d)
              expected[x.at(token, head, d)] = x.memory[x.at(token, head, sources[d])];
        auto const before = x.memory;
        relayout<interleaved, halves>(x.view(), rotary_dim, block);
        ASSERT_TRUE(numbers::same_bits(x.memory, expected));
        relayout<halves, interleaved>(x.view(), rotary_dim, block);
        ASSERT_TRUE(numbers::same_bits(x.memory, before));
      }
    });
  });
}

TEST(relayout, to_another_place_does_as_in_place) {
  in_every_storage([]<class T>() {
    in_odd_and_even_sizes([](std::size_t head_dim, std::size_t rotary_dim, rotary_block block) {
      for (auto const arranged : arrangements) {
        placed_heads<T> from({3, 2, head_dim}, arranged),
            to({3, 2, head_dim}, arrangement::padded, 1);
        auto const before = from.memory;
        auto expected = to.memory;
        relayout<halves, interleaved>(from.view(), to.view(), rotary_dim, block);
        ASSERT_TRUE(numbers::same_bits(from.memory, before));
        relayout<halves, interleaved>(from.view(), rotary_dim, block);
        for (std::size_t token = 0; token < 3; ++token)
          for (std::size_t head = 0; head < 2; ++head)
            std::ranges::copy(from.view()(token, head), &expected[to.at(token, head, 0)]);
        ASSERT_TRUE(numbers::same_bits(to.memory, expected));
      }
    });
  });
}

TEST(relayout, rounds_once_where_the_format_changes) {
  in_every_storage([]<class S>() {
    numbers::in_every_format([]<class T>() {
      if constexpr (posenc::stores_numbers_of<T, S>) {
        placed_heads<S> from({2, 3, 10}, arrangement::backwards);
        placed_heads<T> to({2, 3, 10}, arrangement::heads_outermost);
        relayout<interleaved, halves>(heads_view<S const>(from.view()), to.view(), 6,
                                      rotary_block::last());
        auto const sources = relayout_order<interleaved, halves>(10, 6, rotary_block::last());
        for (std::size_t d = 0; d < 10; ++d) {
          T expected;
          posenc::store(expected, posenc::load(from.view()(1, 2)[sources[d]]));
          EXPECT_TRUE(numbers::same_bits<T>({to.view()(1, 2)[d]}, {expected})) << d;
        }
      }
    });
  });
}

// A signalling NaN with a payload, -0, infinity and a subnormal: no arithmetic and no conversion
// keeps the bits of all.
template <class T, class Bits>
void expect_keeps(std::array<Bits, 4> const& codes) {
  auto const now = [](Bits bits) { return std::bit_cast<T>(bits); };
  std::vector<T> x{now(codes[0]), now(codes[1]), now(codes[2]), now(codes[3])}, y(4);
  std::vector<T> const expected{x[0], x[2], x[1], x[3]};
  relayout<interleaved, halves>(numbers::view(x, 1, 4), numbers::view(y, 1, 4), 4);
  EXPECT_TRUE(std::memcmp(y.data(), expected.data(), sizeof(T) * 4) == 0);
  relayout<interleaved, halves>(numbers::view(x, 1, 4), 4);
  EXPECT_TRUE(std::memcmp(x.data(), expected.data(), sizeof(T) * 4) == 0);
}

TEST(relayout, keeps_every_bit_of_the_same_format) {
  expect_keeps<float>(std::array<std::uint32_t, 4>{0x7f81'2345, 0x8000'0000, 0xff80'0000, 1});
  expect_keeps<double>(
      std::array<std::uint64_t, 4>{0x7ff0'1234'5678'9abc, 1ull << 63, 0xfff0'0000'0000'0000, 1});
  expect_keeps<half>(std::array<std::uint16_t, 4>{0x7d23, 0x8000, 0xfc00, 1});
  expect_keeps<bfloat16>(std::array<std::uint16_t, 4>{0x7fa3, 0x8000, 0xff80, 1});
  // Nor does it matter whose type has the format.
  std::vector<engine::brain_float> own{engine::brain_float(0x7fa3), engine::brain_float(0x8000)};
  std::vector<bfloat16> ours(2);
  relayout<halves, interleaved>(numbers::view(own, 1, 2), numbers::view(ours, 1, 2), 2);
  EXPECT_EQ(ours[0].bits, 0x7fa3);
  EXPECT_EQ(ours[1].bits, 0x8000);
}

TEST(relayout, and_rotating_can_change_places) {
  in_every_storage([]<class T>() {
    in_odd_and_even_sizes([](std::size_t head_dim, std::size_t rotary_dim, rotary_block block) {
      posenc::cos_sin_rows<posenc::arithmetic_t<T>> const rows(
          posenc::geometric(rotary_dim, 1e4), std::vector<std::int64_t>{1'000'003, -7, 0});
      placed_heads<T> late({3, 2, head_dim}, arrangement::padded), early = late;
      posenc::rotate<interleaved>(late.view(), rows, block);
      relayout<interleaved, halves>(late.view(), rotary_dim, block);
      relayout<interleaved, halves>(early.view(), rotary_dim, block);
      posenc::rotate<halves>(early.view(), rows, block);
      ASSERT_TRUE(numbers::same_bits(late.memory, early.memory)) << head_dim << ", " << rotary_dim;
    });
  });
}

TEST(relayout, of_one_head_takes_anything_adjacent) {
  std::vector<int> vector{10, 11, 12, 13, 14};
  relayout<interleaved, halves>(vector, 4);
  EXPECT_EQ(vector, (std::vector{10, 12, 11, 13, 14}));
  relayout<halves, interleaved>(std::span(vector).last(4), 4);
  EXPECT_EQ(vector, (std::vector{10, 12, 13, 11, 14}));
  double array[]{0, 1, 2, 3, 4, 5};
  relayout<halves, interleaved>(array, 4, rotary_block::last());
  EXPECT_EQ(std::vector(std::begin(array), std::end(array)),
            (std::vector<double>{0, 1, 2, 4, 3, 5}));
}

TEST(relayout, of_nothing_does_nothing) {
  heads_view<float> const no_tokens(nullptr, {0, 4, 8}), no_heads(nullptr, {3, 0, 8});
  relayout<interleaved, halves>(no_tokens, 8);
  relayout<interleaved, halves>(no_heads, 6, rotary_block::last());
  relayout<interleaved, halves>(no_tokens, no_tokens, 8);
  relayout<interleaved, halves>(no_heads, no_heads, 8);
  relayout_rows<interleaved, halves>(std::span<float>(), {.heads = 0, .head_dim = 8, .columns = 4},
                                     8);
}

// Row r is 10r, 10r + 1, ...
std::vector<int> numbered(std::size_t rows, std::size_t columns) {
  std::vector<int> result;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) result.push_back(static_cast<int>(10 * r + c));
  return result;
}

TEST(relayout_rows, does_as_hugging_faces_conversion_of_llama) {
  // w.view(n_heads, dim1 // n_heads // 2, 2, dim2).transpose(1, 2).reshape(dim1, dim2)
  // [transformers, convert_llama_weights_to_hf.py]
  auto w = numbered(8, 3);
  relayout_rows<interleaved, halves>(w, {.heads = 2, .head_dim = 4, .columns = 3}, 4);
  EXPECT_EQ(w, (std::vector{0,  1,  2,  20, 21, 22, 10, 11, 12, 30, 31, 32,
                            40, 41, 42, 60, 61, 62, 50, 51, 52, 70, 71, 72}));
  relayout_rows<halves, interleaved>(w, {.heads = 2, .head_dim = 4, .columns = 3}, 4);
  EXPECT_EQ(w, numbered(8, 3));
}

TEST(relayout_rows, moves_the_rotary_rows_of_each_head_alone) {
  auto bias = numbered(12, 1);
  relayout_rows<interleaved, halves>(bias, {.heads = 2, .head_dim = 6, .columns = 1}, 4,
                                     rotary_block::last());
  EXPECT_EQ(bias, (std::vector{0, 10, 20, 40, 30, 50, 60, 70, 80, 100, 90, 110}));
}

TEST(relayout_rows, leaves_what_lies_between_rows) {
  auto w = numbered(8, 4);
  relayout_rows<interleaved, halves>(std::span(w).subspan(1),
                                     {.heads = 2, .head_dim = 4, .columns = 2, .row_stride = 4}, 4);
  EXPECT_EQ(w, (std::vector{0,  1,  2,  3,  10, 21, 22, 13, 20, 11, 12, 23, 30, 31, 32, 33,
                            40, 41, 42, 43, 50, 61, 62, 53, 60, 51, 52, 63, 70, 71, 72, 73}));
}

// Quantised rows, as engines store them.
struct quantised {
  std::uint16_t scale;
  std::array<std::byte, 4> codes;
  friend bool operator==(quantised const&, quantised const&) = default;
};

TEST(relayout_rows, moves_bytes_and_blocks_as_well) {
  std::vector<std::byte> bytes;
  for (auto const x : numbered(4, 2)) bytes.push_back(static_cast<std::byte>(x));
  relayout_rows<interleaved, halves>(bytes, {.heads = 1, .head_dim = 4, .columns = 2}, 4);
  std::vector<int> shown;
  for (auto const b : bytes) shown.push_back(std::to_integer<int>(b));
  EXPECT_EQ(shown, (std::vector{0, 1, 20, 21, 10, 11, 30, 31}));

  std::array<quantised, 4> blocks{quantised{0, {}}, quantised{1, {}}, quantised{2, {}},
                                  quantised{3, {}}};
  relayout_rows<halves, interleaved>(blocks, {.heads = 1, .head_dim = 4, .columns = 1}, 4);
  EXPECT_EQ(blocks, (std::array<quantised, 4>{quantised{0, {}}, quantised{2, {}}, quantised{1, {}},
                                              quantised{3, {}}}));
}

// y = W x + bias, summed in the same order for every row.
std::vector<double> project(std::vector<double> const& w, std::vector<double> const& x,
                            std::vector<double> const& bias) {
  auto y = bias;
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += w[r * x.size() + c] * x[c];
  return y;
}

double dot(std::span<double const> a, std::span<double const> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(relayout_rows, makes_projections_that_have_the_other_layout) {
  in_odd_and_even_sizes([](std::size_t head_dim, std::size_t rotary_dim, rotary_block block) {
    constexpr std::size_t heads = 3, columns = 5;
    auto const x = numbers::random<double>(columns);
    auto w_q = numbers::random<double>(heads * head_dim * columns, 2),
         w_k = numbers::random<double>(w_q.size(), 3);
    auto bias = numbers::random<double>(heads * head_dim, 4);
    std::vector<double> const no_bias(bias.size());
    auto q = project(w_q, x, bias), k = project(w_k, x, no_bias);
    for (auto* const w : {&w_q, &w_k})
      relayout_rows<interleaved, halves>(*w, {heads, head_dim, columns}, rotary_dim, block);
    relayout_rows<interleaved, halves>(bias, {heads, head_dim, 1}, rotary_dim, block);
    auto new_q = project(w_q, x, bias), new_k = project(w_k, x, no_bias);

    auto moved = q;
    relayout<interleaved, halves>(numbers::view(moved, 1, head_dim), rotary_dim, block);
    ASSERT_TRUE(numbers::same_bits(new_q, moved));

    // The model's scores are unchanged.
    auto const f = posenc::geometric(rotary_dim, 1e4);
    posenc::cos_sin_rows<double> const at_9(f, std::vector{9}), at_4(f, std::vector{4});
    posenc::rotate<interleaved>(numbers::view(q, 1, head_dim), at_9, block);
    posenc::rotate<interleaved>(numbers::view(k, 1, head_dim), at_4, block);
    posenc::rotate<halves>(numbers::view(new_q, 1, head_dim), at_9, block);
    posenc::rotate<halves>(numbers::view(new_k, 1, head_dim), at_4, block);
    for (std::size_t head = 0; head < heads; ++head)
      EXPECT_NEAR(
          dot(numbers::view(new_q, 1, head_dim)(0, head),
              numbers::view(new_k, 1, head_dim)(0, head)),
          dot(numbers::view(q, 1, head_dim)(0, head), numbers::view(k, 1, head_dim)(0, head)),
          1e-11);
  });
}

// Each of the functions throws that message and changes nothing.
void expect_refused(std::size_t rotary_dim, rotary_block block, std::string const& message) {
  placed_heads<float> x({3, 2, 16}, arrangement::padded), y({3, 2, 16}, arrangement::dense);
  auto const x_before = x.memory, y_before = y.memory;
  EXPECT_EQ(message_of([&] { relayout_order<interleaved, halves>(16, rotary_dim, block); }),
            message);
  EXPECT_EQ(
      message_of([&] { relayout<interleaved, halves>(x.view(), y.view(), rotary_dim, block); }),
      message);
  EXPECT_EQ(message_of([&] { relayout<interleaved, halves>(x.view(), rotary_dim, block); }),
            message);
  EXPECT_EQ(message_of([&] { relayout<interleaved, halves>(x.view()(0, 0), rotary_dim, block); }),
            message);
  EXPECT_EQ(message_of([&] {
              relayout_rows<interleaved, halves>(std::span(y.memory).first(64), {2, 16, 2},
                                                 rotary_dim, block);
            }),
            message);
  EXPECT_TRUE(numbers::same_bits(x.memory, x_before));
  EXPECT_TRUE(numbers::same_bits(y.memory, y_before));
}

TEST(relayout, refuses_a_rotary_dim_that_does_not_fit_and_changes_nothing) {
  expect_refused(0, rotary_block::first(),
                 "posenc: relayout: rotary_dim must be even and positive, got 0");
  expect_refused(7, rotary_block::last(),
                 "posenc: relayout: rotary_dim must be even and positive, got 7");
  std::string const must =
      "posenc: rotary_block: the rotary block must lie within the head, got dims ";
  expect_refused(18, rotary_block::first(), must + "0 to 18 of head_dim 16");
  expect_refused(18, rotary_block::last(), must + "0 to 18 of head_dim 16");
  expect_refused(12, rotary_block::from(5), must + "5 to 17 of head_dim 16");
}

TEST(relayout, refuses_an_empty_head) {
  EXPECT_EQ(message_of([] { relayout_order<interleaved, halves>(0, 2); }),
            "posenc: rotary_block: the rotary block must lie within the head, got dims 0 to 2 of "
            "head_dim 0");
  EXPECT_NE(message_of([] { relayout<interleaved, halves>(std::vector<float>(), 2); }), "");
}

TEST(relayout, refuses_shapes_that_differ) {
  std::vector<float> a(48), b(48);
  auto const message = [&](posenc::heads_shape shape) {
    return message_of([&] {
      relayout<interleaved, halves>(heads_view(a.data(), {2, 3, 8}), heads_view(b.data(), shape),
                                    4);
    });
  };
  std::string const must =
      "posenc: relayout: from and to must have the same shape, got 2 x 3 x 8 and ";
  EXPECT_EQ(message({2, 3, 6}), must + "2 x 3 x 6");
  EXPECT_EQ(message({2, 2, 8}), must + "2 x 2 x 8");
  EXPECT_EQ(message({1, 3, 8}), must + "1 x 3 x 8");
  EXPECT_EQ(message({0, 3, 8}), must + "0 x 3 x 8");
  EXPECT_EQ(b, std::vector<float>(48));
}

TEST(relayout, refuses_heads_that_overlap_and_changes_nothing) {
  auto memory = numbers::random<bfloat16>(256);
  auto const before = memory;
  auto const at = [&](std::size_t first, posenc::heads_strides strides) {
    return heads_view(memory.data() + first, {2, 3, 8}, strides);
  };
  auto const message = [&](auto const& from, auto const& to) {
    return message_of([&] { relayout<interleaved, halves>(from, to, 8); });
  };
  std::string const must = "posenc: relayout: from and to must not overlap in memory";
  EXPECT_EQ(message(at(0, {24, 8}), at(0, {24, 8})), must);
  EXPECT_EQ(message(at(0, {24, 8}), at(47, {24, 8})), must);
  EXPECT_EQ(message(at(47, {24, 8}), at(0, {24, 8})), must);
  EXPECT_EQ(message(at(0, {60, 20}), at(13, {60, 20})), must);
  EXPECT_EQ(message(at(100, {-60, 20}), at(113, {-60, 20})), must);
  // Heads of floats that overlap heads of half as many bytes.
  heads_view const floats(reinterpret_cast<float*>(memory.data()), {2, 3, 8});
  EXPECT_EQ(message(at(92, {24, 8}), floats), must);
  EXPECT_EQ(message(floats, at(92, {24, 8})), must);
  EXPECT_TRUE(numbers::same_bits(memory, before));
}

TEST(relayout, takes_heads_of_the_same_memory_only_where_none_overlap) {
  // Contiguous, one of three fused projections, heads outermost, backwards, far apart.
  posenc::heads_strides const strides[]{{6, 2},  {18, 2},  {2, 4},  {3, 11},
                                        {-6, 2}, {13, -3}, {30, 10}};
  std::size_t taken = 0, refused = 0;
  for (auto const& from_strides : strides)
    for (auto const& to_strides : strides)
      for (std::size_t first = 30; first <= 90; ++first) {
        std::vector<float> memory(150);
        std::iota(memory.begin(), memory.end(), 0.0f);
        heads_view<float> const from(memory.data() + 60, {2, 3, 2}, from_strides),
            to(memory.data() + first, {2, 3, 2}, to_strides);
        auto const before = memory;
        std::vector<int> uses(memory.size(), 0);
        for (auto const& view : {from, to})
          for (std::size_t token = 0; token < 2; ++token)
            for (std::size_t head = 0; head < 3; ++head)
              for (auto const& x : view(token, head))
                ++uses.at(static_cast<std::size_t>(&x - memory.data()));
        try {
          relayout<interleaved, halves>(from, to, 2);
          EXPECT_EQ(std::ranges::count(uses, 2), 0);
          EXPECT_EQ(to(1, 2)[1], from(1, 2)[1]);
          ++taken;
        } catch (std::invalid_argument const&) {
          EXPECT_EQ(memory, before);
          ++refused;
        }
      }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 500u);
}

TEST(relayout_rows, refuses_weights_that_do_not_fit_and_changes_nothing) {
  auto const original = numbered(8, 3);
  auto w = original;
  auto const message = [&](rows_shape const& shape) {
    return message_of([&] { relayout_rows<interleaved, halves>(w, shape, 4); });
  };
  EXPECT_EQ(message({2, 0, 3}),
            "posenc: relayout_rows: head_dim and columns must be positive, got 0 and 3");
  EXPECT_EQ(message({2, 4, 0}),
            "posenc: relayout_rows: head_dim and columns must be positive, got 4 and 0");
  EXPECT_EQ(message({2, 4, 3, 2}),
            "posenc: relayout_rows: row_stride must be at least the number of columns, 3, got 2");
  std::string const must = "posenc: relayout_rows: weights must have one row for each of ",
                    got = " dims, got 8 rows in 24 elements";
  EXPECT_EQ(message({3, 4, 3}), must + "3 x 4" + got);
  EXPECT_EQ(message({1, 4, 3}), must + "1 x 4" + got);
  EXPECT_EQ(message({1, 5, 3}), must + "1 x 5" + got);
  EXPECT_EQ(message({0, 4, 3}), must + "0 x 4" + got);
  EXPECT_EQ(message({2, 4, 3, 4}), must + "2 x 4 dims, got 6 rows in 24 elements");
  EXPECT_EQ(message({1, 4, 25}), must + "1 x 4 dims, got 0 rows in 24 elements");
  EXPECT_EQ(message({(~std::size_t{0} >> 2) + 3, 4, 3}),
            must + std::to_string((~std::size_t{0} >> 2) + 3) + " x 4" + got);  // 8 rows, mod 2^64
  EXPECT_EQ(w, original);
  w.pop_back();
  EXPECT_EQ(message({2, 4, 3}), must + "2 x 4 dims, got 7 rows in 23 elements");
  EXPECT_EQ(message_of([] {
              relayout_rows<interleaved, halves>(std::span<float>(static_cast<float*>(nullptr), 8),
                                                 {2, 4, 1}, 4);
            }),
            "posenc: relayout_rows: weights must not be null for 8 rows");
}

// clang-format off
template <class S, class T>
concept can_copy = requires(heads_view<S> const& from, heads_view<T> const& to) { relayout<halves, interleaved>(from, to, 8); };
template <class T>
concept can_move = requires(T&& x) {
  relayout<halves, interleaved>(x, 8);
  relayout<interleaved, halves>(x, 8, rotary_block::last());
};
// clang-format on

TEST(relayout, takes_what_can_be_written_to_and_numbers_of_the_same_arithmetic) {
  static_assert(can_copy<float, float> && can_copy<float const, half> && can_copy<half, bfloat16> &&
                can_copy<double const, double>);
  static_assert(!can_copy<float, float const> && !can_copy<double, float> &&
                !can_copy<float, double>);
  static_assert(can_move<heads_view<half>> && can_move<std::span<half>> &&
                can_move<std::vector<std::byte>&>);
  static_assert(!can_move<heads_view<half const>> && !can_move<std::span<half const>> &&
                !can_move<std::vector<float> const&>);
  static_assert(!can_move<std::vector<std::string>&> && !can_move<std::vector<bool>&>);
}

}  // namespace
