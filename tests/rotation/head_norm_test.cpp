#include "posenc/rotation/head_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/codes.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "tolerance.hpp"

namespace of_head_norm {
namespace {

using posenc::bfloat16;
using posenc::cos_sin_rows;
using posenc::half;
using posenc::halves;
using posenc::head_norm;
using posenc::heads_view;
using posenc::interleaved;
using posenc::norm_eps;
using posenc::norm_kind;
using posenc::norm_place;
using posenc::rotate;
using posenc::rotated;
using posenc::rounding_points;
using posenc::unrotated;

constexpr std::size_t tokens = 2, heads = 3, dim = 80, all = tokens * heads * dim;
std::vector<std::int64_t> const positions{131'071, -7};
posenc::heads_shape const shape{tokens, heads, dim};

std::vector<double> normed(std::vector<double> x, auto const& norm) {
  double r = 0;
  for (auto const number : x) r += number * number;
  if (norm.kind == norm_kind::rms) r /= static_cast<double>(x.size());
  auto const eps = static_cast<double>(norm.eps);
  auto const root = norm.eps_place == norm_eps::inside    ? std::sqrt(r + eps)
                    : norm.eps_place == norm_eps::outside ? std::sqrt(r) + eps
                                                          : std::max(std::sqrt(r), eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const w = norm.weight.empty() ? 1 : static_cast<double>(posenc::load(norm.weight[i]));
    x[i] *= (norm.weight.empty() || !norm.plus_one ? w : w + 1) / root;
  }
  return x;
}

// Against doubles: x normed, rotated by the oracle, normed; each as the norm says.
template <class Layout, class S, class W>
void norms(head_norm<W> const& norm, cos_sin_rows<float> const& rows, bool opposite = false) {
  auto const x = numbers::random<S>(all);
  std::vector<float> result(all);
  rotate(rows,
         rotated<Layout>(heads_view<S const>(x.data(), shape), heads_view(result.data(), shape))
             .norm(norm)
             .scale(0.5f));
  auto const f = posenc::geometric(64, 1e4);
  for (std::size_t i = 0; i < tokens * heads; ++i) {
    std::vector<double> head;
    for (std::size_t d = 0; d < dim; ++d)
      head.push_back(static_cast<double>(posenc::load(x[i * dim + d])));
    if (norm.place == norm_place::before) head = normed(head, norm);
    oracle::rotate(
        head, f.inv_freq(), static_cast<oracle::wide>(positions[i / heads]) * (opposite ? -1 : 1),
        std::same_as<Layout, halves> ? oracle::pairing::halves : oracle::pairing::interleaved);
    if (norm.place == norm_place::after) head = normed(head, norm);
    // Root and gain, weights, cosines, the rotation, the scale: of the pair's length.
    auto most = 0.0;
    for (auto const number : head) most = std::max(most, std::abs(number));
    auto const off = 2 * most *
                     (tolerance::of_gain<float>(dim) + tolerance::of_cosine<float>() +
                      10 * tolerance::unit_roundoff<float>());
    for (std::size_t d = 0; d < dim; ++d)
      ASSERT_NEAR(result[i * dim + d], head[d] / 2, off) << "head " << i << ", dim " << d;
  }
}

template <class W>
std::vector<W> weights() {
  return numbers::random<W>(dim, 7);
}

TEST(head_norm, has_every_kind_place_eps_and_weight) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  auto const w = weights<float>();
  for (auto const kind : {norm_kind::rms, norm_kind::l2})
    for (auto const place : {norm_place::before, norm_place::after})
      for (auto const eps_place : {norm_eps::inside, norm_eps::outside, norm_eps::at_least})
        for (float const eps : {1e-6f, 0.3f, 40.0f}) {
          norms<halves, float>(head_norm<float>{{}, eps, kind, place, eps_place}, rows);
          norms<halves, float>(head_norm<float>{w, eps, kind, place, eps_place, true}, rows);
        }
  auto const w_16 = weights<bfloat16>();
  norms<interleaved, bfloat16>(head_norm<bfloat16>{.weight = w_16}, rows);
  norms<interleaved, bfloat16>(head_norm<bfloat16>{.weight = w_16, .place = norm_place::after},
                               rows);
  auto const w_half = weights<half>();
  norms<halves, bfloat16>(head_norm<half>{.weight = w_half, .plus_one = true}, rows);
}

TEST(head_norm, of_engines) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  auto const w = weights<float>();
  norms<halves, float>(head_norm<float>{.weight = w, .eps = 1e-6f}, rows);      // Qwen 3
  norms<halves, float>(head_norm<float>{.weight = w, .plus_one = true}, rows);  // Gemma 3
  norms<halves, float>(head_norm<float>{.weight = w, .eps = 1e-5f, .place = norm_place::after},
                       rows);  // HunYuan
  norms<interleaved, float>(head_norm<float>{.eps = 1e-5f, .place = norm_place::after},
                            rows);  // Llama 4
  // nanochat rotates by the opposite angle.
  norms<halves, float>(head_norm<float>{.eps = 0x1p-23f, .place = norm_place::after},
                       rows.inverse(), true);
}

TEST(head_norm, of_values_does_not_rotate) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  auto v = numbers::random<float>(all);
  auto const before = v;
  heads_view const view(v.data(), shape);
  head_norm<float> const norm{.eps = 1e-6f};  // Gemma 4
  rotate(rows, unrotated(view, view).norm(norm));
  for (std::size_t i = 0; i < tokens * heads; ++i) {
    auto const expected = normed({before.begin() + static_cast<std::ptrdiff_t>(i * dim),
                                  before.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim)},
                                 norm);
    for (std::size_t d = 0; d < dim; ++d)
      ASSERT_NEAR(v[i * dim + d], expected[d],
                  std::abs(expected[d]) * tolerance::of_gain<float>(dim));
  }
}

TEST(head_norm, makes_heads_of_zeros_zeros) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  for (auto const eps_place : {norm_eps::inside, norm_eps::outside, norm_eps::at_least}) {
    std::vector<float> x(all, 0.0f);
    rotate(rows, rotated<halves>(heads_view(x.data(), shape))
                     .norm({.kind = norm_kind::l2, .eps_place = eps_place}));
    for (auto const number : x) ASSERT_EQ(number, 0);
  }
}

// Three calls, each of which reads and writes T, and a fourth that encodes.
template <class T, class Layout>
void rounds_as_separate_calls(head_norm<T> const& norm) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  auto const x = numbers::random<T>(all);
  std::vector<T> first(all), second(all);
  heads_view<T const> const source(x.data(), shape);
  heads_view<T> const a(first.data(), shape), b(second.data(), shape);
  if (norm.place == norm_place::before) {
    rotate(rows, unrotated(source, a).norm(norm));
    posenc::rotate<Layout, Layout>(a, b, rows);
  } else {
    posenc::rotate<Layout, Layout>(source, a, rows);
    rotate(rows, unrotated(a, b).norm(norm));
  }
  posenc::numbers_of<float> const format;  // shows every bit of what is encoded
  std::vector<std::byte> memory(4 * all), expected(4 * all), other(4 * all);
  std::vector<std::int64_t> const slots{1, 0};
  posenc::pages_shape const pages{1, 2, heads, dim};
  posenc::heads_view const cache(format, memory.data(), pages, slots),
      wanted(format, expected.data(), pages, slots), unrounded(format, other.data(), pages, slots);
  rotate(rows, unrotated(b, wanted));
  auto const k = rotated<Layout>(source, cache).norm(norm);
  rotate(rows, k.template round<T>(rounding_points::separate_calls()));
  EXPECT_EQ(memory, expected);
  rotate(rows, rotated<Layout>(source, unrounded).norm(norm));
  EXPECT_NE(other, expected);
}

TEST(rounding_points, separate_calls_has_the_bits_of_separate_calls) {
  auto const in = []<class T>(T) {
    auto const w = weights<T>();
    rounds_as_separate_calls<T, halves>(head_norm<T>{.weight = w});
    rounds_as_separate_calls<T, interleaved>(head_norm<T>{.weight = w, .plus_one = true});
    rounds_as_separate_calls<T, halves>(head_norm<T>{.weight = w, .place = norm_place::after});
  };
  in(bfloat16());
  in(half());
}

// What PyTorch does in type T: each operation rounds.
template <class T>
struct rounding_number {
  T stored;
  rounding_number(float x) : stored(x) {}
  friend rounding_number operator*(rounding_number a, rounding_number b) {
    return float(a.stored) * float(b.stored);
  }
  friend rounding_number operator+(rounding_number a, rounding_number b) {
    return float(a.stored) + float(b.stored);
  }
  friend rounding_number operator-(rounding_number a) { return -float(a.stored); }
  explicit operator float() const { return float(stored); }
};

// Of weights, then rotation, as apply_rotary_pos_emb of modeling_qwen3.py has it, in numbers that
// round, or not. The norm's mean is in float: taken from the norm without weights, so that the
// order of a sum does not matter.
template <class T, class Layout, class Normalised, class Weighted, class Cosine, class Product>
void rounds_as(rounding_points const& points, std::size_t rotary, std::size_t first) {
  cos_sin_rows const rows(posenc::geometric(rotary, 1e4), positions);
  auto const x = numbers::random<T>(all);
  auto const w = weights<T>();
  std::vector<T> result(all);
  std::vector<float> normalised(all);
  heads_view<T const> const source(x.data(), shape);
  rotate(rows,
         rotated<Layout>(source, heads_view(result.data(), shape))
             .block(posenc::rotary_block::from(first))
             .norm(head_norm<T>{.weight = w})
             .template round<T>(points),
         unrotated(source, heads_view(normalised.data(), shape)).norm(head_norm<T>{}));
  for (std::size_t i = 0; i < tokens * heads; ++i)
    for (std::size_t d = 0; d < dim; ++d) {
      auto const at = [&](std::size_t j) -> Product {
        auto const before = static_cast<float>(Normalised(normalised[i * dim + j]));
        return static_cast<float>(Weighted(posenc::load(w[j]) * before));
      };
      auto expected = at(d);
      if (d >= first && d < first + rotary) {
        auto const within = d - first, pairs = rotary / 2;
        bool const in_halves = std::same_as<Layout, halves>,
                   is_x = in_halves ? within < pairs : within % 2 == 0;
        auto const pair = in_halves ? within % pairs : within / 2, step = in_halves ? pairs : 1;
        Product const cos = static_cast<float>(Cosine(rows.cos(i / heads)[pair])),
                      sin = static_cast<float>(Cosine(rows.sin(i / heads)[pair]));
        expected = at(d) * cos + (is_x ? -at(d + step) : at(d - step)) * sin;
      }
      ASSERT_EQ(result[i * dim + d].bits, T(static_cast<float>(expected)).bits) << i << ", " << d;
    }
}
template <class T, class Normalised, class Weighted, class Cosine, class Product>
void rounds_as(rounding_points const& points) {
  rounds_as<T, halves, Normalised, Weighted, Cosine, Product>(points, dim, 0);
  rounds_as<T, interleaved, Normalised, Weighted, Cosine, Product>(points, 48, 22);
}

TEST(rounding_points, hugging_face_has_the_bits_of_every_operation_in_that_type) {
  auto const in = []<class T>(T) {
    rounds_as<T, T, T, T, rounding_number<T>>(rounding_points::hugging_face());
  };
  in(bfloat16());
  in(half());
}

// A float, whose product no compiler joins with a sum.
struct float_number {
  float stored;
  float_number(float x) : stored(x) {}
  explicit operator float() const { return stored; }
  friend float_number operator*(float_number a, float_number b) {
    return posenc::detail::stored(a.stored * b.stored);
  }
  friend float_number operator+(float_number a, float_number b) { return a.stored + b.stored; }
  friend float_number operator-(float_number a) { return -a.stored; }
};

TEST(rounding_points, of_fused_calls_have_the_bits_of_their_kernels) {
  auto const in = []<class T>(T) {
    rounds_as<T, float, float, T, float_number>(rounding_points::vllm_fused());
    rounds_as<T, float, T, T, rounding_number<T>>(rounding_points::sglang_fused());
  };
  in(bfloat16());
  in(half());
}

// The norm in a call of its own; then rotation and encoding in one.
template <class T>
void rounds_before_the_rotation_alone() {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), positions);
  auto const x = numbers::random<T>(all);
  auto const w = weights<T>();
  head_norm<T> const norm{.weight = w};
  std::vector<T> normed(all);
  std::vector<std::vector<std::byte>> memory(3, std::vector<std::byte>(4 * all));
  std::vector<std::int64_t> const slots{1, 0};
  auto const cache = [&](std::size_t i) {
    return posenc::heads_view(posenc::numbers_of<float>{}, memory[i].data(),
                              posenc::pages_shape{1, 2, heads, dim}, slots);
  };
  heads_view<T const> const source(x.data(), shape);
  heads_view<T> const between(normed.data(), shape);
  auto const step = [&](std::size_t i, rounding_points const& points) {
    return rotated<halves>(source, cache(i)).norm(norm).template round<T>(points);
  };
  rotate(rows, step(0, rounding_points::flashinfer_fused()));
  rotate(rows, unrotated(source, between).norm(norm));
  rotate(rows, rotated<halves>(between, cache(1)));
  EXPECT_EQ(memory[0], memory[1]);
  rotate(rows, step(2, rounding_points::separate_calls()));
  EXPECT_NE(memory[0], memory[2]);
}

TEST(rounding_points, flashinfer_fused_rounds_before_the_rotation_alone) {
  rounds_before_the_rotation_alone<bfloat16>();
  rounds_before_the_rotation_alone<half>();
}

// DeepSeek V4's keys: rounded to bfloat16 by their format.
TEST(rounding_points, are_the_formats_own_too) {
  cos_sin_rows const rows(posenc::geometric(64, 1e4), std::vector{3});
  auto const x = numbers::random<float>(512);
  std::vector<std::byte> a(584), b(584);
  std::vector<std::int64_t> const slot{0};
  auto const k = [&](std::vector<std::byte>& to) {
    return rotated<interleaved>(
               heads_view<float const>(x.data(), {1, 1, 512}),
               posenc::heads_view(posenc::deepseek_v4{}, to.data(), {1, 1, 1, 512}, slot))
        .block(posenc::rotary_block::last());
  };
  rotate(rows, k(a));
  rotate(rows, k(b).round<bfloat16>({.rotated = true}));
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace of_head_norm
