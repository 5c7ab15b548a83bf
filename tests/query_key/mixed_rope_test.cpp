#include "posenc/query_key/mixed_rope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/reference.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace of_mixed_rope { namespace {

using namespace posenc;

constexpr std::size_t row_heads = 3, axes = 2, pairs = 21, tokens = 37;

std::vector<double> some_frequencies(std::uint64_t seed = 1) {
  auto all = numbers::random<double>(row_heads * axes * pairs, seed);
  for (auto& f : all) f *= 2;
  for (auto at = pairs / 2; at < all.size(); at += pairs) all[at] = 0;  // a pair that does not turn
  return all;
}
mixed_row_maker some_maker() { return {row_heads, axes, some_frequencies()}; }
std::vector<std::int64_t> points(std::int64_t most = 1000) {
  std::vector<std::int64_t> all;
  for (auto const x : numbers::random<double>(axes * tokens, 7))
    all.push_back(static_cast<std::int64_t>(x * static_cast<double>(most)));
  return all;
}

// The direction of the sum of all axes' angles, as the product of their directions.
template <class P>
std::complex<oracle::wide> direction(std::vector<P> const& at, std::size_t token,
                                     std::span<double const> inv_freq, std::size_t head,
                                     std::size_t pair) {
  std::complex<oracle::wide> all = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    auto const [c, s] = oracle::direction_at(static_cast<oracle::wide>(at[axis * tokens + token]),
                                             inv_freq[(head * axes + axis) * pairs + pair]);
    all *= std::complex<oracle::wide>(c, s);
  }
  return all;
}

template <class Real, class P>
void expect_rows(std::vector<P> const& at, double bound) {
  auto const maker = some_maker();
  cos_sin_rows<Real> const rows(maker, at);
  ASSERT_EQ(rows.heads(), row_heads);
  ASSERT_EQ(rows.tokens(), tokens);
  for (std::size_t head = 0; head < row_heads; ++head) {
    auto const own = rows.view().of_head(head);
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t i = 0; i < pairs; ++i) {
        auto const exact = direction(at, t, maker.inv_freq(), head, i);
        EXPECT_NEAR(own.cos(t)[i], static_cast<double>(exact.real()), bound);
        EXPECT_NEAR(own.sin(t)[i], static_cast<double>(exact.imag()), bound);
      }
  }
}

TEST(mixed_row_maker, adds_the_angles_of_all_axes_exactly) {
  expect_rows<float>(points(), 3.1e-8);
  expect_rows<float>(points(std::int64_t{1} << 31), 3.1e-8);
  expect_rows<double>(points(), 4e-16);
  auto fractional = numbers::random<double>(axes * tokens, 9);
  for (auto& x : fractional) x *= 50;
  expect_rows<float>(fractional, 3.1e-8);
}

// One axis has the bits of 1-D rows, an axis of frequency 0 those of the other's.
TEST(mixed_row_maker, has_the_bits_of_rows_of_one_axis) {
  auto const f = geometric(2 * pairs, 100);
  std::vector<std::int64_t> const x(points());
  mixed_row_maker const one(1, 1, {f.inv_freq().begin(), f.inv_freq().end()});
  frequencies const doubles({f.inv_freq().begin(), f.inv_freq().end()});
  cos_sin_rows const plain(doubles, x), got(one, x);
  std::vector<double> both(2 * pairs);
  std::copy(f.inv_freq().begin(), f.inv_freq().end(), both.begin() + pairs);
  cos_sin_rows const of_second(mixed_row_maker(1, 2, both), x);
  for (std::size_t t = 0; t < x.size(); ++t)
    EXPECT_TRUE(std::ranges::equal(got.cos(t), plain.cos(t)) &&
                std::ranges::equal(got.sin(t), plain.sin(t)));
  for (std::size_t t = 0; t < tokens; ++t)
    EXPECT_TRUE(std::ranges::equal(of_second.sin(t), plain.sin(tokens + t)));
}

// Heads that share rows, by one call or head by head with plain rows; in place, to another layout
// and type, in a step with norm, in tasks, and by tokens.
TEST(mixed_rows, rotate_each_head_by_its_own) {
  auto const maker = some_maker();
  cos_sin_rows const rows(maker, points());
  constexpr std::size_t dim = 2 * pairs + 6;
  for (std::size_t const heads : {row_heads, 2 * row_heads, 4 * row_heads}) {
    auto const x = numbers::random<float>(tokens * heads * dim, heads);
    auto expected = x, got = x;
    std::vector<half> other(x.size()), wanted(x.size());
    auto normed = x, wanted_normed = x;
    heads_shape const shape{tokens, heads, dim};
    heads_view const view(got.data(), shape), at(expected.data(), shape);
    heads_view const source(x.data(), shape);
    for (std::size_t head = 0; head < heads; ++head) {
      auto const own = rows.view().of_head(head / (heads / row_heads));
      rotate<halves>(at.slice_heads(head, 1), own, rotary_block::last());
      rotate<interleaved, halves>(source.slice_heads(head, 1),
                                  heads_view(wanted.data(), shape).slice_heads(head, 1), own);
      rotate(own, rotated<halves>(heads_view(wanted_normed.data(), shape).slice_heads(head, 1))
                      .norm({{}, 1e-6f}));
    }
    rotate<halves>(view, rows, rotary_block::last());
    EXPECT_TRUE(numbers::same_bits(got, expected)) << heads;
    rotate<interleaved, halves>(source, heads_view(other.data(), shape), rows);
    EXPECT_TRUE(numbers::same_bits(other, wanted)) << heads;
    rotate(rows, rotated<halves>(heads_view(normed.data(), shape)).norm({{}, 1e-6f}));
    EXPECT_TRUE(numbers::same_bits(normed, wanted_normed)) << heads;

    got = x;
    auto const here = [](std::size_t n, task const& run) {
      for (auto i = n; i-- > 0;) run(i);
    };
    rotate<halves>(tasks(5, here), view.slice_tokens(0, 2), rows.slice_tokens(0, 2),
                   rotary_block::last());
    rotate<halves>(tasks(3, here), view.slice_tokens(2, tokens - 2),
                   rows.slice_tokens(2, tokens - 2), rotary_block::last());
    EXPECT_TRUE(numbers::same_bits(got, expected)) << heads;
    rotate<halves>(view, rows.inverse(), rotary_block::last());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], x[i], 1e-6);
  }
}

TEST(mixed_rows, are_refused) {
  EXPECT_EQ(message_of([] {
              mixed_row_maker(2, 2, {1, 2, 3});
            }),
            "posenc: mixed_row_maker: there must be as many frequencies for each of 2 heads and 2 "
            "axes, got 3");
  EXPECT_EQ(message_of([] { mixed_row_maker(0, 2, {}); }),
            "posenc: mixed_row_maker: there must be a head and an axis at least, got 0 heads and 2 "
            "axes");
  EXPECT_EQ(message_of([] {
              mixed_row_maker(1, 2, {1, 2, 3, std::numeric_limits<double>::infinity()});
            }),
            "posenc: mixed_row_maker: inv_freq must be in [-2^64, 2^64] radians per position, got "
            "infinity at pair 1 of head 0 on axis 1");
  EXPECT_EQ(message_of([] {
              cos_sin_rows(some_maker(), std::vector{1, 2, 3});
            }),
            "posenc: cos_sin_rows: there must be a position on each of the 2 axes for each token, "
            "got 3 positions");
  auto const maker = some_maker();
  cos_sin_rows const rows(maker, points());
  std::vector<float> x(tokens * 4 * 48, 1);
  auto const before = x;
  heads_view const view(x.data(), {tokens, 4, 48});
  auto const must =
      "posenc: rotate: heads must be a multiple of the heads of rows, got 4 heads and rows of 3";
  EXPECT_EQ(message_of([&] { rotate<halves>(view, rows); }), must);
  EXPECT_EQ(message_of([&] { rotate(rows, rotated<halves>(view).scale(2)); }), must);
  std::vector<float> y(x.size());
  EXPECT_EQ(message_of([&] { rotate<halves>(view, heads_view(y.data(), view.shape()), rows); }),
            must);
  EXPECT_EQ(x, before);
  EXPECT_EQ(message_of([&] { mixed_rope<halves>(maker, axis_positions(2, points()), 6, 4); }),
            "posenc: mixed_rope: heads and kv heads must be multiples of the 3 heads of "
            "frequencies, got 4");
  EXPECT_EQ(message_of([&] { mixed_rope<halves>(maker, axis_positions(1, points()), 6, 3); }),
            "posenc: mixed_rope: positions must be on the 2 axes of the frequencies, got 1");
  EXPECT_EQ(message_of([&] {
              mixed_rope<halves>(maker, axis_positions(2, points()), 6, 3)
                  .prepare(std::vector<std::int64_t>{3, 37});
            }),
            "posenc: mixed_rope: an index must be below the 37 tokens, got 37 at token 1");
}

// Scores depend on differences of positions; attention has the queries' and keys' heads in blocks.
TEST(mixed_rope, depends_on_differences_alone_and_is_the_same_in_blocks) {
  auto const maker = some_maker();
  auto at = points(20);
  auto const attend = [&](auto const& by) {
    mixed_rope<interleaved> const encoding(maker, axis_positions(2, at), 6, 3);
    auto const q = numbers::random<double>(tokens * 6 * 48, 1),
               k = numbers::random<double>(tokens * 3 * 48, 2),
               v = numbers::random<double>(tokens * 3 * 16, 3);
    return by(heads_view<double const>(q.data(), {tokens, 6, 48}),
              heads_view<double const>(k.data(), {tokens, 3, 48}),
              heads_view<double const>(v.data(), {tokens, 3, 16}), encoding)
        .outputs;
  };
  auto const in_blocks = [](auto const&... x) {
    return attention(x..., attention_options{.mask = mask::full});
  };
  auto const whole = [](auto const&... x) {
    return reference_attention(x..., attention_options{.mask = mask::full});
  };
  auto const expected = attend(whole), got = attend(in_blocks);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += i < tokens ? 1000 : -77;
  auto const moved = attend(in_blocks);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-13);
    EXPECT_NEAR(moved[i], expected[i], 1e-12);
  }
}

TEST(mixed_rope, obeys_the_laws_of_its_site) {
  // On a line, where equal distances of indices are equal differences on both axes.
  std::vector<std::vector<std::int64_t>> on_axes(2);
  for (std::int64_t i = 0; i < 9000; ++i) on_axes[0].push_back(i), on_axes[1].push_back(-2 * i);
  axis_positions<std::int64_t> const line(on_axes);
  mixed_row_maker const maker(1, 2, numbers::random<double>(2 * 16, 3));
  laws::obey("points of a line", mixed_rope<halves>(maker, line, 64, 64), 32, 1,
             laws::rotation_by_position,
             {.starts = {9, 300, 3001}, .positions = {7, 2, 0, 5, 3, 8}});
  std::vector<std::int64_t> const indices{0, 7, 5};
  transposed::pulls_back_by_the_transpose(
      mixed_rope<interleaved>(mixed_row_maker(1, 2, numbers::random<double>(2 * 3, 4), 1.25), line,
                              64, 64, rotary_block::from(1)),
      9, indices);
}

// ---- Two Go nets, if they are there: heads of two layers with golden scores

// The tensors of a safetensors file, found by their names.
class tensors {
 public:
  explicit tensors(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    std::uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof size);
    header_ = bytes_.substr(8, size), bytes_.erase(0, 8 + size);
  }
  template <class T>
  std::vector<T> at(std::string const& name) const {
    auto const found = header_.find("\"" + name + "\"");
    EXPECT_NE(found, header_.npos) << name;
    auto const offsets = header_.find("data_offsets", found);
    std::size_t first = 0, last = 0;
    std::sscanf(header_.c_str() + header_.find('[', offsets), "[%zu,%zu", &first, &last);
    std::vector<T> result((last - first) / sizeof(T));
    std::memcpy(result.data(), bytes_.data() + first, last - first);
    return result;
  }

 private:
  std::string bytes_, header_;
};

constexpr std::size_t points_of_board = 169, asked = 11, go_dim = 32;

// In the folder `shared` beside one that the test runs in.
std::filesystem::path file_of(std::string const& net) {
  auto const name = "shared/models/katago/" + net;
  auto folder = std::filesystem::current_path();
  while (folder.has_relative_path() && !std::filesystem::exists(folder / name))
    folder = folder.parent_path();
  return folder / name;
}
// [axes][tokens] of positions, x and y of each point.
axis_positions<> board(tensors const& of) {
  auto const xy = of.at<std::int64_t>("positions");
  std::vector<std::vector<std::int64_t>> by_axis(2);
  for (std::size_t i = 0; i < xy.size(); ++i) by_axis[i % 2].push_back(xy[i]);
  return axis_positions<>(by_axis);
}
template <class E>
void has_the_heads(tensors const& of, std::string const& layer, E const& encoding,
                   std::size_t heads, std::size_t kv_heads, std::size_t value_dim) {
  auto const queries = of.at<std::int64_t>("queries");
  auto q = of.at<float>(layer + "q"), k = of.at<float>(layer + "k");
  auto const v = of.at<float>(layer + "v");
  std::vector<std::int64_t> all(points_of_board);
  std::iota(all.begin(), all.end(), 0);
  heads_view const q_view(q.data(), {asked, heads, go_dim}),
      k_view(k.data(), {points_of_board, kv_heads, go_dim});
  auto const outputs =
      attention(q_view.to_read(), k_view.to_read(),
                heads_view<float const>(v.data(), {points_of_board, kv_heads, value_dim}), encoding,
                {.mask = mask::full, .query_positions = queries, .key_positions = all})
          .outputs;
  auto const expected = of.at<double>(layer + "outputs");
  ASSERT_EQ(outputs.size(), expected.size());
  auto const most = std::abs(*std::ranges::max_element(v, {}, [](float x) { return std::abs(x); }));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_NEAR(outputs[i], expected[i], 2e-6 * double{most}) << layer << i;
}

TEST(mixed_rope, has_the_heads_of_kata_gos_learned_net) {
  auto const path = file_of("katago-learned-heads.safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
  tensors const of(path);
  constexpr std::size_t heads = 6, kv_heads = 3, n = go_dim / 2;
  auto const at = board(of);
  auto const queries = of.at<std::int64_t>("queries");
  for (std::string const layer : {"layers.0.", "layers.5."}) {
    auto const learned = of.at<double>(layer + "frequencies");  // [kv heads][pairs][x, y]
    ASSERT_EQ(learned.size(), kv_heads * n * 2);
    std::vector<double> inv_freq(learned.size());
    for (std::size_t i = 0; i < learned.size(); ++i)
      inv_freq[(i / (2 * n) * 2 + i % 2) * n + i / 2 % n] = learned[i];
    mixed_row_maker const maker(kv_heads, 2, inv_freq);
    mixed_rope<interleaved> const encoding(maker, at, heads, kv_heads);
    has_the_heads(of, layer, encoding, heads, kv_heads, 16);

    auto q = of.at<float>(layer + "q");
    std::vector<std::int64_t> x_and_y;
    for (std::size_t axis = 0; axis < 2; ++axis)
      for (auto const t : queries) x_and_y.push_back(at.of(axis)[static_cast<std::size_t>(t)]);
    cos_sin_rows const rows(maker, x_and_y);
    rotate<interleaved>(heads_view(q.data(), {asked, heads, go_dim}), rows);
    auto const rotated = of.at<double>(layer + "q_rotated");
    for (std::size_t i = 0; i < q.size(); ++i)
      EXPECT_NEAR(q[i], rotated[i], 4e-7 * std::max(1.0, std::abs(rotated[i])) * 4) << layer << i;
  }
}

// Pairs 0 to 7 rotate by y, 8 to 15 by x: m_rope with axes, and mixed rows with zeros.
TEST(mixed_rope, has_the_heads_of_kata_gos_axial_net) {
  auto const path = file_of("katago-axial-heads.safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
  tensors const of(path);
  constexpr std::size_t heads = 3, n = go_dim / 2;
  auto const at = board(of);
  auto const f = axial({std::size_t{16}, std::size_t{16}}, 100);
  std::vector<std::size_t> axis_of_pair(n, 0);
  std::fill_n(axis_of_pair.begin(), 8, 1);
  std::vector<double> mixed(2 * n);
  for (std::size_t i = 0; i < n; ++i) mixed[axis_of_pair[i] * n + i] = f.inv_freq()[i];
  for (std::string const layer : {"layers.1.", "layers.5."}) {
    has_the_heads(of, layer, m_rope<interleaved>(f, pair_axes(axis_of_pair), at, 0), heads, heads,
                  32);
    has_the_heads(of, layer,
                  mixed_rope<interleaved>(mixed_row_maker(1, 2, mixed), at, heads, heads), heads,
                  heads, 32);
  }
}

}  // namespace
}  // namespace of_mixed_rope
