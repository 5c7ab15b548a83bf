#include "posenc/adapter/ggml.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/ggml_rope.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;
using oracle_op = oracle::ggml_rope;

// What an engine's op has: a tensor with data, ne and nb.
struct tensor {
  void* data;
  std::int64_t ne[4];
  std::size_t nb[4];
};

enum class layout { contiguous, padded, heads_first, second_half };

// Numbers in memory, and the tensor that is a part of it.
template <class T>
struct stored_tensor {
  std::vector<T> memory;
  std::array<std::size_t, 4> ne;
  std::array<std::size_t, 4> stride;  // in elements
  std::size_t offset = 0;

  stored_tensor(std::array<std::size_t, 4> shape, layout how, std::uint64_t seed) : ne(shape) {
    auto const [dims, heads, tokens, batches] = shape;
    std::array<std::size_t, 4> whole = shape;
    if (how == layout::padded) whole = {2 * dims, 4 * heads, 3 * tokens, batches};
    if (how == layout::second_half) whole[0] = 2 * dims, offset = dims;
    stride = {1, whole[0], whole[0] * whole[1], whole[0] * whole[1] * whole[2]};
    if (how == layout::heads_first) stride[1] = whole[0] * whole[2], stride[2] = whole[0];
    memory = numbers::random<T>(stride[3] * whole[3], seed);
  }
  tensor view() {
    tensor t{memory.data() + offset, {}, {}};
    for (std::size_t i = 0; i < 4; ++i)
      t.ne[i] = static_cast<std::int64_t>(ne[i]), t.nb[i] = stride[i] * sizeof(T);
    return t;
  }
  std::size_t at(std::size_t batch, std::size_t token, std::size_t head) const {
    return offset + batch * stride[3] + token * stride[2] + head * stride[1];
  }
};

ggml_rope_parameters parameters_of(oracle_op const& op) {
  return {.n_dims = op.n_dims,
          .mode = op.mode,
          .n_ctx_orig = op.n_ctx_orig,
          .freq_base = static_cast<float>(op.freq_base),
          .freq_scale = static_cast<float>(op.freq_scale),
          .ext_factor = static_cast<float>(op.ext_factor),
          .attn_factor = static_cast<float>(op.attn_factor),
          .beta_fast = static_cast<float>(op.beta_fast),
          .beta_slow = static_cast<float>(op.beta_slow),
          .sections = {op.sections[0], op.sections[1], op.sections[2], op.sections[3]},
          .n_offs = op.n_offs};
}

// Of both signs, and far; a function of the token and the axis.
std::vector<std::int32_t> some_positions(std::size_t tokens, std::size_t axes) {
  std::vector<std::int32_t> positions(tokens * axes);
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<std::int32_t>(i * i * 977 % 131'072) * (i % 5 == 3 ? -1 : 1);
  return positions;
}

// The error of a rotated number of two from [-1, 1]: the row's, where a factor adds a rounding;
// that of the oracle, whose angle shrinks by a rounded step from pair to pair; the rotation's.
template <class T>
double bound(oracle_op const& op, double position, double result) {
  auto const magnitude = static_cast<double>(oracle::ggml_magnitude(op));
  auto const steps = 3.0 * op.n_dims + 16;
  auto const of_row = tolerance::of_cosine<T>() + tolerance::unit_roundoff<float>() +
                      tolerance::of_phase(position) +
                      std::abs(position) * 2 * steps * oracle::wide_epsilon +
                      16 * tolerance::unit_roundoff<double>();
  return 2 * magnitude * of_row + tolerance::of_rotating<T>(magnitude, magnitude, result);
}

// Compares a call with the oracle: every rotated number, and the bits of all others in memory.
template <class T>
void expect_as_ggml(oracle_op const& op, std::array<std::size_t, 4> shape, layout how,
                    bool in_place) {
  auto const p = parameters_of(op);
  auto const [head_dim, heads, tokens, batches] = shape;
  auto const positions = some_positions(tokens, p.axes());
  std::vector<float> factors(op.freq_factors.begin(), op.freq_factors.end());
  stored_tensor<T> source(shape, how, 1), target(shape, layout::contiguous, 2);
  if (in_place) target = source;
  auto expected = numbers::exact(target.memory);
  auto const untouched = target.memory;
  std::vector<bool> rotated(expected.size(), false);

  row_cache cache;
  auto const from = in_place ? target.view() : source.view();
  ggml_heads<T> const to(target.view());
  ggml_rope(cache,
            {.parameters = p,
             .positions = positions.data(),
             .freq_factors = factors,
             .backward = !op.forward},
            ggml_heads<T const>(from), to, to.all_rows());

  for (std::size_t token = 0; token < tokens; ++token) {
    std::array<std::int32_t, 4> position{};
    for (std::size_t axis = 0; axis < p.axes(); ++axis)
      position[axis] = positions[axis * tokens + token];
    double farthest = 0;
    for (auto const x : position) farthest = std::max(farthest, std::abs(static_cast<double>(x)));
    auto const row = oracle::ggml_row(op, position);
    for (std::size_t batch = 0; batch < batches; ++batch) {
      for (std::size_t head = 0; head < heads; ++head) {
        std::vector<double> x(head_dim);
        for (std::size_t i = 0; i < head_dim; ++i)
          x[i] = static_cast<double>(load(source.memory[source.at(batch, token, head) + i]));
        oracle::rotate_as_ggml(x, op, row);
        auto const first = target.at(batch, token, head);
        auto const first_dim = static_cast<std::size_t>(op.n_offs);
        for (std::size_t i = 0; i < head_dim; ++i) {
          rotated[first + i] = true;
          auto const is = static_cast<double>(load(target.memory[first + i]));
          if (i < first_dim || i >= first_dim + 2 * row.size()) {
            ASSERT_EQ(is, x[i]) << "dim " << i << " must not change";
          } else {
            ASSERT_NEAR(is, x[i], bound<T>(op, farthest, x[i]))
                << "batch " << batch << ", token " << token << ", head " << head << ", dim " << i;
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < rotated.size(); ++i) {
    if (rotated[i]) continue;
    ASSERT_EQ(std::memcmp(&target.memory[i], &untouched[i], sizeof(T)), 0) << i;
  }
}

// All modes with whole heads, n_dims below the head, and from a dim on.
std::vector<oracle_op> shapes_of_ops(std::size_t head_dim) {
  auto const dim = static_cast<int>(head_dim);
  std::vector<oracle_op> ops;
  for (int const mode : {0, 2, 8, 40}) {
    for (auto const& [n_dims, n_offs] : {std::pair{dim, 0}, {dim / 4 * 2, 0}, {dim / 4 * 2, 6}}) {
      for (auto const& sections : {std::array{dim / 3, dim / 3, dim / 3, 0}, {3, 2, 1, 2}})
        ops.push_back({.n_dims = n_dims, .mode = mode, .sections = sections, .n_offs = n_offs});
    }
  }
  for (auto const& sections :
       {std::array{dim / 4, dim / 4, 0, 0}, {3, 2, 1, 2}, {dim / 8, dim / 8, dim / 8, dim / 8}})
    ops.push_back({.n_dims = dim / 2, .mode = 24, .sections = sections});
  return ops;
}

TEST(ggml_rope, is_ggmls_formula_in_every_mode) {
  std::vector<double> factors;
  for (int i = 0; i < 64; ++i)
    factors.push_back(static_cast<double>(static_cast<float>(0.9 + 0.01 * (i % 21) + i * 0.3)));
  for (std::size_t const head_dim : {24u, 40u}) {
    for (auto op : shapes_of_ops(head_dim)) {
      for (bool const has_factors : {false, true}) {
        for (float const ext_factor : {0.0f, 0.7424f, 1.0f}) {
          for (float const freq_scale : {1.0f, 0.5f, 1.4245f}) {
            for (bool const forward : {true, false}) {
              if (oracle::wide_cost > 1 && head_dim > 24) continue;
              op.freq_factors = has_factors ? factors : std::vector<double>();
              op.ext_factor = static_cast<double>(ext_factor);
              op.freq_scale = static_cast<double>(freq_scale), op.forward = forward;
              op.n_ctx_orig = 8192, op.beta_fast = 32, op.beta_slow = 1;
              op.attn_factor = forward ? 1 : static_cast<double>(1.1245f);
              SCOPED_TRACE("mode " + std::to_string(op.mode) + ", n_dims " +
                           std::to_string(op.n_dims) + " of " + std::to_string(head_dim) +
                           ", factors " + std::to_string(has_factors) + ", ext_factor " +
                           std::to_string(ext_factor) + ", freq_scale " +
                           std::to_string(freq_scale) + ", forward " + std::to_string(forward));
              expect_as_ggml<float>(op, {head_dim, 3, 4, 1}, layout::contiguous, false);
              expect_as_ggml<half>(op, {head_dim, 2, 3, 1}, layout::padded, true);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST(ggml_rope, takes_any_strides_in_place_or_not) {
  for (auto op : shapes_of_ops(40)) {
    op.ext_factor = static_cast<double>(0.7424f), op.freq_scale = static_cast<double>(1.4245f);
    op.n_ctx_orig = 4096;
    for (auto const how :
         {layout::contiguous, layout::padded, layout::heads_first, layout::second_half}) {
      for (bool const in_place : {false, true}) {
        SCOPED_TRACE("mode " + std::to_string(op.mode) + ", layout " +
                     std::to_string(static_cast<int>(how)) + ", in place " +
                     std::to_string(in_place));
        expect_as_ggml<float>(op, {40, 5, 3, 2}, how, in_place);
        expect_as_ggml<half>(op, {40, 1, 6, 3}, how, in_place);
        expect_as_ggml<bfloat16>(op, {40, 3, 1, 1}, how, in_place);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// ggml's own tests have n_ctx_orig 0 beside an ext_factor.
TEST(ggml_rope, takes_every_ramp) {
  for (auto op : shapes_of_ops(40)) {
    op.ext_factor = static_cast<double>(0.7424f), op.freq_scale = static_cast<double>(1.4245f);
    auto const n_ctx_orig = {0, 1, 100, 4096, 1 << 30};
    for (auto const& [fast, slow] : {std::pair{32.0, 1.0}, {1.0, 1.0}, {1.0, 32.0}}) {
      for (int const context : n_ctx_orig) {
        op.n_ctx_orig = context, op.beta_fast = fast, op.beta_slow = slow;
        SCOPED_TRACE("mode " + std::to_string(op.mode) + ", n_ctx_orig " + std::to_string(context) +
                     ", beta_fast " + std::to_string(fast));
        expect_as_ggml<float>(op, {40, 1, 4, 1}, layout::contiguous, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Of sections that start at the same pair, ggml restarts the first one only.
TEST(ggml_rope, restarts_vision_as_ggml_does) {
  for (auto const& sections : {std::array{0, 3, 0, 2},
                               {3, 0, 2, 0},
                               {4, 0, 0, 3},
                               {0, 0, 5, 0},
                               {1, 1, 1, 1},
                               {20, 20, 0, 0},
                               {7, 0, 0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(sections));
    oracle_op const op{.n_dims = 20, .mode = 24, .sections = sections};
    expect_as_ggml<float>(op, {40, 2, 5, 1}, layout::contiguous, false);
  }
}

TEST(ggml_rope, gives_the_same_bits_on_any_number_of_threads) {
  for (auto const& op : shapes_of_ops(40)) {
    auto const p = parameters_of(op);
    stored_tensor<half> const source({40, 3, 5, 2}, layout::padded, 1);
    auto const positions = some_positions(5, p.axes());
    auto const rotated = [&](std::size_t threads) {
      auto target = source;
      ggml_heads<half> const heads(target.view());
      for (std::size_t i = 0; i < threads; ++i) {
        row_cache cache;
        ggml_rope(cache, {p, positions.data()}, heads, heads, heads.rows_of_thread(i, threads));
      }
      return target.memory;
    };
    auto const alone = rotated(1);
    for (std::size_t const threads : {2u, 3u, 4u, 7u, 8u, 29u, 30u, 40u})
      ASSERT_TRUE(numbers::same_bits(rotated(threads), alone)) << threads << " threads";
  }
}

TEST(ggml_rope, finds_the_rows_of_a_step_again_and_those_of_the_next_not) {
  row_cache cache;
  std::vector<std::int32_t> positions{5};
  std::vector<float> factors{1, 1};
  ggml_rope_parameters p{.n_dims = 4, .mode = 2};
  auto const rotated = [&](bool backward = false) {
    std::vector<float> x{1, 1, 0, 0};
    tensor const t{x.data(), {4, 1, 1, 1}, {4, 16, 16, 16}};
    ggml_heads<float> const heads(t);
    ggml_rope(cache, {p, positions.data(), factors, backward}, heads, heads, heads.all_rows());
    return x;
  };
  auto const expect = [](std::vector<float> const& x, double first, double second) {
    EXPECT_NEAR(static_cast<double>(x[0]), std::cos(first), 1e-7);
    EXPECT_NEAR(static_cast<double>(x[2]), std::sin(first), 1e-7);
    EXPECT_NEAR(static_cast<double>(x[1]), std::cos(second), 1e-7);
    EXPECT_NEAR(static_cast<double>(x[3]), std::sin(second), 1e-7);
  };
  expect(rotated(), 5, 0.05);
  expect(rotated(), 5, 0.05);
  EXPECT_EQ(cache.size(), 1u);
  positions[0] = 6;  // the same address
  expect(rotated(), 6, 0.06);
  factors[1] = 2;
  expect(rotated(), 6, 0.03);
  p.freq_base = 100;
  expect(rotated(), 6, 0.3);
  expect(rotated(true), -6, -0.3);
  EXPECT_EQ(cache.size(), 5u);
}

TEST(ggml_rope, takes_no_rows) {
  row_cache cache;
  std::vector<float> x(8);
  for (auto const& ne : {std::array<std::int64_t, 4>{8, 0, 1, 1}, {8, 1, 0, 1}, {8, 1, 1, 0}}) {
    ggml_heads<float> const none(x.data(), ne, {4, 32, 32, 32});
    EXPECT_EQ(none.rows(), 0u);
    ggml_rope(cache, {{.n_dims = 8}, nullptr}, none, none, none.rows_of_thread(2, 4));
  }
  EXPECT_EQ(cache.size(), 0u);
}

TEST(ggml_rope, says_what_is_wrong_before_anything_changes) {
  std::vector<float> x(16 * 3, 1.0f), other(16 * 3);
  std::vector<std::int32_t> const positions(3 * 4, 7);
  row_cache cache;
  std::array<std::int64_t, 4> const ne{16, 1, 3, 1};
  std::array<std::size_t, 4> const nb{4, 64, 64, 192};
  ggml_rope_parameters const fine{.n_dims = 16, .mode = 2, .n_ctx_orig = 4096};
  auto const error_of = [&](auto const& change, std::span<float const> factors = {}) {
    auto p = fine;
    change(p);
    ggml_heads<float> const heads(x.data(), ne, nb);
    return message_of([&] {
      ggml_rope(cache, {p, positions.data(), factors}, heads, heads, heads.all_rows());
    });
  };
  using parameters = ggml_rope_parameters&;
  for (int const mode : {1, 3, 4, 16, 10, 32, 56, -1})
    EXPECT_EQ(error_of([=](parameters p) { p.mode = mode; }),
              "posenc: ggml_rope: mode must be 0 (NORMAL), 2 (NEOX), 8 (MROPE), 24 (VISION) or 40 "
              "(IMROPE), got " +
                  std::to_string(mode));
  for (int const n_dims : {0, 7, -2, 15})
    EXPECT_EQ(error_of([=](parameters p) { p.n_dims = n_dims; }),
              "posenc: ggml_rope: n_dims must be even and positive, got " + std::to_string(n_dims));
  EXPECT_EQ(error_of([](parameters p) { p.n_dims = 18; }),
            "posenc: ggml_rope: n_dims must fit into the head, got 18 from dim 0 on, of head_dim "
            "16");
  EXPECT_EQ(error_of([](parameters p) { p.n_dims = 8, p.n_offs = 10; }),
            "posenc: ggml_rope: n_dims must fit into the head, got 8 from dim 10 on, of head_dim "
            "16");
  for (int const n_offs : {-2, 3})
    EXPECT_EQ(
        error_of([=](parameters p) { p.n_dims = 8, p.n_offs = n_offs; }),
        "posenc: ggml_rope: n_offs must be even and not negative, got " + std::to_string(n_offs));
  EXPECT_EQ(error_of([](parameters p) {
              p.mode = 24, p.sections = {4, 4, 0, 0};
            }),
            "posenc: ggml_rope: n_dims of VISION must be half of the head and n_offs 0, got 16 "
            "from dim 0 on, of head_dim 16");
  EXPECT_EQ(error_of([](parameters p) {
              p.mode = 24, p.n_dims = 8, p.n_offs = 2, p.sections = {4, 4, 0, 0};
            }),
            "posenc: ggml_rope: n_dims of VISION must be half of the head and n_offs 0, got 8 from "
            "dim 2 on, of head_dim 16");
  for (int const mode : {8, 40}) {
    EXPECT_EQ(error_of([=](parameters p) {
                p.mode = mode, p.sections = {8, 8, 1, 0};
              }),
              "posenc: ggml_rope: the sum of the sections must be at most head_dim 16, got 17");
    EXPECT_EQ(error_of([=](parameters p) {
                p.mode = mode, p.sections = {8, -1, 1, 0};
              }),
              "posenc: ggml_rope: a section must not be negative, got -1");
    EXPECT_EQ(error_of([=](parameters p) {
                p.mode = mode, p.sections = {0, 0, 0, 3};
              }),
              "posenc: ggml_rope: one of the first three sections must be positive, got 0, 0, 0");
  }
  for (float const base : {0.0f, -1.0f})
    EXPECT_EQ(error_of([=](parameters p) { p.freq_base = base; }),
              std::string("posenc: ggml_rope: freq_base must be finite and positive, got ") +
                  (base == 0 ? "0" : "-1"));
  EXPECT_EQ(error_of([](parameters p) { p.freq_base = float_of_bits(0x7fc0'0000); }),
            "posenc: ggml_rope: freq_base must be finite and positive, got NaN");
  EXPECT_EQ(error_of([](parameters p) { p.freq_scale = 0; }),
            "posenc: ggml_rope: freq_scale must be finite and positive, got 0");
  EXPECT_EQ(error_of([](parameters p) { p.attn_factor = -0.5f; }),
            "posenc: ggml_rope: attn_factor must be finite and positive, got -0.5");
  for (float const ext_factor : {-1.0f, 1.5f})
    EXPECT_EQ(error_of([=](parameters p) { p.ext_factor = ext_factor; }),
              std::string("posenc: ggml_rope: ext_factor must be in [0, 1], got ") +
                  (ext_factor < 0 ? "-1" : "1.5"));
  EXPECT_EQ(error_of([](parameters p) { p.ext_factor = 1, p.freq_base = 1; }),
            "posenc: ggml_rope: freq_base must be above 1 if ext_factor is not 0, got 1");
  EXPECT_EQ(error_of([](parameters p) { p.ext_factor = 1, p.n_ctx_orig = -1; }),
            "posenc: ggml_rope: n_ctx_orig must not be negative, got -1");
  EXPECT_EQ(error_of([](parameters p) { p.ext_factor = 1, p.beta_fast = 0; }),
            "posenc: ggml_rope: beta_fast must be finite and positive, got 0");
  EXPECT_EQ(error_of([](parameters p) { p.ext_factor = 1, p.beta_slow = -1; }),
            "posenc: ggml_rope: beta_slow must be finite and positive, got -1");
  EXPECT_TRUE(error_of([](parameters p) { p.ext_factor = 1, p.freq_scale = 32768; })
                  .starts_with("posenc: ggml_rope: attn_factor (1 - 0.1 ln freq_scale) must be "
                               "positive, got -0.0397"));
  auto const nothing = [](parameters) {};
  EXPECT_EQ(error_of(nothing, std::vector<float>(7, 1.0f)),
            "posenc: ggml_rope: freq_factors must have one for each of the 8 pairs, got 7");
  EXPECT_EQ(error_of(nothing, std::vector<float>{1, 1, 1, 0, 1, 1, 1, 1}),
            "posenc: ggml_rope: freq_factors must have finite factors above 0, got 0 at pair 3");

  ggml_heads<float> const heads(x.data(), ne, nb);
  auto const call = [&](auto const& from, auto const& to, ggml_row_range range,
                        std::int32_t const* at) {
    return message_of([&] { ggml_rope(cache, {fine, at}, from, to, range); });
  };
  EXPECT_EQ(call(heads, heads, {0, 3}, nullptr), "posenc: ggml_rope: positions must not be null");
  EXPECT_EQ(call(heads, heads, {0, 4}, positions.data()),
            "posenc: ggml_rope: the range must lie within the 3 rows, got 0 to 4");
  EXPECT_EQ(call(heads, heads, {2, 1}, positions.data()),
            "posenc: ggml_rope: the range must lie within the 3 rows, got 2 to 1");
  EXPECT_EQ(
      call(heads, ggml_heads<float>(other.data(), {16, 3, 1, 1}, nb), {0, 3}, positions.data()),
      "posenc: ggml_rope: both tensors must have the same ne");
  // Two blocks: a head alone and a token of two heads that overlap.
  ggml_heads<float> const overlapping(x.data(), {16, 2, 2, 1}, {4, 32, 96, 192});
  EXPECT_EQ(call(overlapping, overlapping, {1, 4}, positions.data()),
            "posenc: heads_view: heads that are written to must not overlap, got head_dim 16 with "
            "1 tokens of stride 24 and 2 heads of stride 8");
  for (auto const value : x) ASSERT_EQ(value, 1);
}

// The target is the source two tokens later: token 0 alone can be rotated there, tokens 1 to 5 not.
TEST(ggml_rope, changes_nothing_where_a_later_block_is_refused) {
  auto x = numbers::random<float>(8 * 4 * 8);
  auto const before = x;
  ggml_heads<float const> const from(x.data(), {8, 4, 6, 1}, {4, 32, 128, 768});
  ggml_heads<float> const to(x.data() + 2 * 4 * 8, {8, 4, 6, 1}, {4, 32, 128, 768});
  std::vector<std::int32_t> const positions{1, 2, 3, 4, 5, 6};
  row_cache cache;
  EXPECT_NE(message_of([&] {
              ggml_rope(cache, {{.n_dims = 8}, positions.data()}, from, to, {1, 24});
            }),
            "");
  EXPECT_TRUE(numbers::same_bits(x, before));
  EXPECT_NO_THROW(ggml_rope(cache, {{.n_dims = 8}, positions.data()}, from, to, {1, 4}));
}

// Rows of 2 batches x 3 tokens x 4 heads, in the order of blocks.
std::vector<std::array<std::size_t, 3>> rows_of(ggml_heads<float> const& heads,
                                                ggml_row_range range, std::size_t* blocks) {
  std::vector<std::array<std::size_t, 3>> rows;
  *blocks = 0;
  heads.for_blocks(range, [&](ggml_block const& b) {
    ++*blocks;
    for (auto token = b.token; token < b.token + b.tokens; ++token)
      for (auto head = b.head; head < b.head + b.heads; ++head)
        rows.push_back({b.batch, token, head});
  });
  return rows;
}

TEST(ggml_heads, are_split_into_few_blocks_that_are_all_rows_of_a_range) {
  std::vector<float> x(2 * 3 * 4 * 2);
  ggml_heads<float> const heads(x.data(), {2, 4, 3, 2}, {4, 8, 32, 96});
  ASSERT_EQ(heads.rows(), 24u);
  for (std::size_t first = 0; first <= 24; ++first) {
    for (std::size_t last = first; last <= 24; ++last) {
      std::size_t blocks = 0;
      auto const rows = rows_of(heads, {first, last}, &blocks);
      ASSERT_EQ(rows.size(), last - first);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto const row = first + i;
        ASSERT_EQ(rows[i], (std::array{row / 12, row / 4 % 3, row % 4})) << first << ", " << last;
      }
      ASSERT_LE(blocks, 6u);  // of each batch: the end of a token, tokens, the start of one
    }
  }
}

TEST(ggml_heads, are_split_over_threads_as_by_ggml) {
  std::vector<float> x(2 * 7);
  ggml_heads<float> const heads(x.data(), {2, 7, 1, 1}, {4, 8, 56, 56});
  auto const range = [&](int i, int n) {
    auto const [first, last] = heads.rows_of_thread(i, n);
    return std::array{first, last};
  };
  using pair = std::array<std::size_t, 2>;
  EXPECT_EQ(range(0, 1), (pair{0, 7}));
  EXPECT_EQ(range(0, 2), (pair{0, 4}));
  EXPECT_EQ(range(1, 2), (pair{4, 7}));
  EXPECT_EQ(range(3, 5), (pair{6, 7}));
  EXPECT_EQ(range(4, 5), (pair{7, 7}));  // two each: nothing is left
}

TEST(ggml_heads, have_a_view_of_each_block) {
  std::vector<float> x(100);
  ggml_heads<float const> const heads(x.data() + 1, {2, 2, 3, 2}, {4, 12, 32, 120});
  auto const view = heads.block({.batch = 1, .token = 1, .tokens = 2, .head = 1, .heads = 1});
  EXPECT_EQ(view.data(), x.data() + 1 + 30 + 8 + 3);
  EXPECT_EQ(view.shape(), (heads_shape{2, 1, 2}));
  EXPECT_EQ(view.strides().token, 8);
  EXPECT_EQ(view.strides().head, 3);
}

TEST(ggml_heads, say_what_is_wrong) {
  std::vector<float> x(64);
  auto const error = [&](std::array<std::int64_t, 4> ne, std::array<std::size_t, 4> nb) {
    return message_of([&] { ggml_heads<float>(x.data(), ne, nb); });
  };
  EXPECT_EQ(error({0, 1, 1, 1}, {4, 4, 4, 4}),
            "posenc: ggml_heads: ne[0], the head_dim, must be positive, got 0");
  EXPECT_NO_THROW(ggml_heads<float>(x.data(), {1, 1, 1, 1}, {4, 4, 4, 4}));
  EXPECT_EQ(error({2, 1, -1, 1}, {4, 8, 8, 8}),
            "posenc: ggml_heads: ne must not be negative, got -1 in dimension 2");
  EXPECT_EQ(error({2, 1, 1, 1}, {8, 8, 8, 8}),
            "posenc: ggml_heads: nb[0] must be the 4 bytes of an element and nb a multiple of it, "
            "got 8 in dimension 0");
  EXPECT_EQ(error({2, 1, 1, 1}, {4, 8, 10, 8}),
            "posenc: ggml_heads: nb[0] must be the 4 bytes of an element and nb a multiple of it, "
            "got 10 in dimension 2");
}

}  // namespace
