#include "posenc/analysis/spread_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/frequency/geometric.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using row = std::vector<double>;

constexpr double excess = 1e-8;  // of a bound above the largest singular values

double norm(row const& x) {
  double sum = 0;
  for (auto const v : x) sum += v * v;
  return std::sqrt(sum);
}

/// W x, for W of [dims][x.size()].
row times(row const& w, row const& x) {
  row y(w.size() / x.size());
  for (std::size_t i = 0; i < w.size(); ++i) y[i / x.size()] += w[i] * x[i % x.size()];
  return y;
}

/// W^T y.
row transposed_times(row const& w, row const& y) {
  row x(w.size() / y.size());
  for (std::size_t i = 0; i < w.size(); ++i) x[i % x.size()] += w[i] * y[i / x.size()];
  return x;
}

row of_norm_1(row x) {
  auto const length = norm(x);
  for (auto& v : x) v /= length;
  return x;
}

/// The y and x of norm 1 of the largest y^T W_q^T W_k x, by the power method.
std::pair<row, row> best(row const& w_q, row const& w_k, std::size_t inputs) {
  auto x = of_norm_1(numbers::random<double>(inputs, 11)), y = x;
  for (int i = 0; i < 20'000; ++i) {
    y = of_norm_1(transposed_times(w_q, times(w_k, x)));
    x = of_norm_1(transposed_times(w_k, times(w_q, y)));
  }
  return {y, x};
}

template <class Layout>
double score(row const& q, row const& k, std::size_t rotary_dim, std::int64_t distance) {
  return rotary_dim == 0
             ? score_by_frequency<Layout>(q, k, geometric(2, 1e4), 0).score
             : score_by_frequency<Layout>(q, k, geometric(rotary_dim, 1e4), distance).score;
}

TEST(spread_bound, without_rotation_is_attained_by_opposite_inputs) {
  for (std::size_t const head_dim : {1u, 2u, 8u, 16u}) {
    for (std::size_t const inputs : {1u, 3u, 24u}) {
      auto const w_q = numbers::random<double>(head_dim * inputs, 1),
                 w_k = numbers::random<double>(head_dim * inputs, 2);
      auto const [y, x] = best(w_q, w_k, inputs);
      auto const q = times(w_q, y), k = times(w_k, x);
      double most = 0;
      for (std::size_t i = 0; i < head_dim; ++i) most += q[i] * k[i];
      auto const spread = most - -most;  // of the keys of x and -x
      auto const bounds = spread_bound<halves>(w_q, w_k, head_dim, 0);
      EXPECT_NEAR(bounds.unrotated, spread, excess * spread) << head_dim << " x " << inputs;
      EXPECT_GE(bounds.unrotated, spread * (1 - 1e-13));
      EXPECT_GE(bounds.norms, bounds.unrotated * (1 - 1e-13));
      EXPECT_EQ(bounds.pairs, bounds.norms) << "all dims together";
    }
  }
}

// Singular values: 3 and 2 of W_q, 5 and 4 of W_k, along the same dims or across.
TEST(spread_bound, has_the_values_of_diagonal_matrices) {
  row const w_q{3, 0, 0, 2}, along{5, 0, 0, 4}, across{4, 0, 0, 5};
  auto const same = spread_bound<halves>(w_q, along, 2, 2),
             other = spread_bound<halves>(w_q, across, 2, 2);
  for (auto const& bounds : {same, other}) {
    EXPECT_NEAR(bounds.norms, 2 * 3 * 5, 30 * excess);
    EXPECT_NEAR(bounds.pairs, 2 * 3 * 5, 30 * excess) << "one pair";
  }
  EXPECT_NEAR(same.unrotated, 2 * 3 * 5, 30 * excess);
  EXPECT_NEAR(other.unrotated, 2 * 3 * 4, 30 * excess);

  row all_equal(16 * 16);  // where tr(A^m)^(1/m) is 16^(1/m) too large
  for (std::size_t i = 0; i < 16; ++i) all_equal[17 * i] = 1;
  auto const bounds = spread_bound<halves>(all_equal, all_equal, 16, 0);
  EXPECT_NEAR(bounds.norms, 2, 2 * excess);
  EXPECT_NEAR(bounds.unrotated, 2, 2 * excess);

  // Four dims of singular values 1 to 4 and 8 to 5; in halves pairs are dims 0 with 2, 1 with 3.
  row q(16), k(16);
  for (std::size_t i = 0; i < 4; ++i) {
    q[5 * i] = static_cast<double>(i + 1);
    k[5 * i] = static_cast<double>(8 - i);
  }
  EXPECT_NEAR((spread_bound<halves>(q, k, 4, 4).pairs), 2 * (3 * 8 + 4 * 7), 110 * excess);
  EXPECT_NEAR((spread_bound<interleaved>(q, k, 4, 4).pairs), 2 * (2 * 8 + 4 * 6), 110 * excess);
  EXPECT_NEAR((spread_bound<halves>(q, k, 4, 2).pairs), 2 * (2 * 8 + 4 * 6), 110 * excess);
  EXPECT_NEAR((spread_bound<halves>(q, k, 4, 4).norms), 2 * 4 * 8, 64 * excess);
}

// One pair whose query looks along one dim and whose key lies along the other: a quarter of a turn
// brings them together.
TEST(spread_bound, under_rotation_is_attained_and_that_without_is_passed) {
  row const w_q{3, 0, 0, 1e-3}, w_k{1e-3, 0, 0, 5};
  auto const bounds = spread_bound<halves>(w_q, w_k, 2, 2);
  double most = 0;
  for (std::int64_t distance = 0; distance < 1000; ++distance)
    most = std::max(most, std::abs(score<halves>({3, 0}, {0, 5}, 2, distance)));
  EXPECT_NEAR(2 * most, bounds.norms, 1e-4 * bounds.norms) << "distances are whole";
  EXPECT_LE(2 * most, std::min(bounds.norms, bounds.pairs));
  EXPECT_GT(2 * most, 100 * bounds.unrotated);
}

TEST(spread_bound, is_never_below_the_spread_of_random_inputs_at_any_positions) {
  constexpr std::size_t head_dim = 8, keys = 40;
  for (std::size_t seed = 0; seed < 200; ++seed) {
    auto const inputs = 1 + seed % 12, rotary_dim = 2 * (seed % 5);
    auto const w_q = numbers::random<double>(head_dim * inputs, 2 * seed),
               w_k = numbers::random<double>(head_dim * inputs, 2 * seed + 1);
    auto const y = of_norm_1(numbers::random<double>(inputs, seed + 1000));
    auto const of_keys = numbers::random<double>(inputs * keys, seed + 2000);
    auto const check = [&]<class Layout>(Layout) {
      auto const bounds = spread_bound<Layout>(w_q, w_k, head_dim, rotary_dim);
      std::vector<double> plain, turned;
      for (std::size_t s = 0; s < keys; ++s) {
        auto const first = of_keys.begin() + static_cast<std::ptrdiff_t>(s * inputs);
        auto const x = of_norm_1(row(first, first + static_cast<std::ptrdiff_t>(inputs)));
        auto const q = times(w_q, y), k = times(w_k, x);
        plain.push_back(score<Layout>(q, k, 0, 0));
        turned.push_back(score<Layout>(q, k, rotary_dim, static_cast<std::int64_t>(s)));
      }
      auto const spread = [](std::vector<double> const& scores) {
        auto const [low, high] = std::ranges::minmax(scores);
        return high - low;
      };
      EXPECT_GE(std::min(bounds.norms, bounds.pairs), spread(turned) * (1 - 1e-13)) << seed;
      // Its square is a sum of products of 8 dims that may cancel, as with one input, where it is
      // attained.
      EXPECT_GE(std::pow(bounds.unrotated, 2),
                std::pow(spread(plain), 2) - 0x1p-45 * std::pow(bounds.norms, 2))
          << seed;
    };
    check(halves{});
    check(interleaved{});
  }
}

TEST(spread_bound, grows_with_the_weights_of_any_size_and_type) {
  auto const w_q = numbers::random<double>(64, 1), w_k = numbers::random<double>(64, 2);
  auto const at_1 = spread_bound<halves>(w_q, w_k, 8, 8);
  for (double const size : {1e-300, 1e-150, 1e3, 1e150}) {
    auto large = w_q;
    for (auto& w : large) w *= size;
    auto const bounds = spread_bound<halves>(large, w_k, 8, 8);
    EXPECT_NEAR(bounds.norms / size, at_1.norms, 1e-12 * at_1.norms) << size;
    EXPECT_NEAR(bounds.pairs / size, at_1.pairs, 1e-12 * at_1.pairs) << size;
    EXPECT_NEAR(bounds.unrotated / size, at_1.unrotated, 1e-12 * at_1.unrotated) << size;
  }
  std::vector<bfloat16> const twos(8, bfloat16(2.0f));
  EXPECT_NEAR((spread_bound<halves>(twos, std::vector<float>(8, 1), 2, 0).norms), 32, 32 * excess)
      << "of eight equal numbers: sqrt(8) times 2, and sqrt(8)";
  std::vector<double> const none(4);
  auto const bounds = spread_bound<halves>(none, none, 2, 2);
  EXPECT_EQ(bounds.norms + bounds.pairs + bounds.unrotated, 0);
}

TEST(spread_bound, bad_input_is_rejected) {
  row const good(8, 1), bad{1, 2, not_a_number(), 4};
  std::string const sizes =
      "posenc: spread_bound: head_dim must be positive, rotary_dim even and at most that, got ";
  EXPECT_EQ(message_of([&] { spread_bound<halves>(good, good, 0, 0); }), sizes + "0 and 0");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(good, good, 4, 3); }), sizes + "4 and 3");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(good, good, 4, 6); }), sizes + "4 and 6");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(good, row(9, 1), 4, 4); }),
            "posenc: spread_bound: w_k must have a multiple of 4 numbers, got 9");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(row(), good, 4, 4); }),
            "posenc: spread_bound: w_q must have a multiple of 4 numbers, got 0");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(bad, good, 4, 4); }),
            "posenc: spread_bound: w_q must be finite, got NaN at 2");
  EXPECT_EQ(message_of([&] { spread_bound<halves>(good, row(4, infinity()), 4, 4); }),
            "posenc: spread_bound: w_k must be finite, got infinity at 0");
}

}  // namespace
