#include "posenc/score/deberta_buckets.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "oracle/wide.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

struct known {
  std::int64_t distance, bucket;
};

// make_log_bucket_position of modeling_deberta_v2.py in 60 digits, for position_buckets 256 and
// max_relative_positions 512, DeBERTa V3's.
TEST(deberta_buckets, has_the_known_buckets) {
  deberta_buckets const rows(256, 512);
  EXPECT_EQ(rows.count(), 512u);
  for (auto const& [distance, bucket] :
       {known{0, 0}, known{1, 1}, known{127, 127}, known{128, 128}, known{129, 129},
        known{130, 130}, known{200, 169}, known{256, 192}, known{300, 207}, known{400, 233},
        known{510, 255}, known{511, 255}}) {
    EXPECT_EQ(rows(distance), static_cast<std::size_t>(256 + bucket)) << distance;
    EXPECT_EQ(rows(-distance), static_cast<std::size_t>(256 - bucket)) << -distance;
  }
}

TEST(deberta_buckets, clips_to_its_table) {
  deberta_buckets const rows(256, 512);
  auto const most = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t const distance : {std::int64_t{512}, std::int64_t{100'000}, most}) {
    EXPECT_EQ(rows(distance), 511u);
    EXPECT_EQ(rows(-distance), 0u);
  }
  EXPECT_EQ(rows(std::numeric_limits<std::int64_t>::min()), 0u);
}

// The least k with (m - 1) ln(d / m) <= k ln((max - 1) / m), in logarithms of wide numbers.
std::int64_t oracle_bucket(std::size_t buckets, std::size_t max_position, std::size_t d) {
  auto const m = buckets / 2;
  if (d <= m) return static_cast<std::int64_t>(d);
  auto const of_half = [&](std::size_t x) {
    return oracle::log(static_cast<oracle::wide>(x) / static_cast<oracle::wide>(m));
  };
  auto const of_d = static_cast<oracle::wide>(m - 1) * of_half(d),
             of_step = of_half(max_position - 1);
  std::size_t k = 0;
  while (of_d > static_cast<oracle::wide>(k) * of_step + 1e-12L) ++k;
  return static_cast<std::int64_t>(m + k);
}

TEST(deberta_buckets, follows_its_formula) {
  for (std::size_t const buckets : {4u, 8u, 32u, 256u}) {
    for (std::size_t const max_position : {132u, 512u, 4097u}) {
      deberta_buckets const rows(buckets, max_position);
      for (std::size_t d = 0; d < max_position; ++d) {
        auto const bucket = oracle_bucket(buckets, max_position, d);
        auto const distance = static_cast<std::int64_t>(d);
        auto const zero = static_cast<std::int64_t>(buckets);
        ASSERT_EQ(rows(distance), static_cast<std::size_t>(zero + bucket)) << d;
        ASSERT_EQ(rows(-distance), static_cast<std::size_t>(zero - bucket)) << d;
      }
    }
  }
}

TEST(deberta_buckets, refuses_sizes_without_steps) {
  std::string const must =
      "posenc: deberta_buckets: buckets must be even and from 4 to 65536, got ";
  EXPECT_EQ(message_of([] { deberta_buckets(7, 512); }), must + "7");
  EXPECT_EQ(message_of([] { deberta_buckets(2, 512); }), must + "2");
  EXPECT_EQ(message_of([] { deberta_buckets(65'538, 1 << 20); }), must + "65538");
  EXPECT_EQ(message_of([] { deberta_buckets(256, 129); }),
            "posenc: deberta_buckets: max_position must be above 129 and at most 2^24, got 129");
  EXPECT_EQ(message_of([] { deberta_buckets(256, (1 << 24) + 1); }),
            "posenc: deberta_buckets: max_position must be above 129 and at most 2^24, got "
            "16777217");
}

}  // namespace
