#include "posenc/analysis/precision_budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "golden/precision.hpp"
#include "non_numbers.hpp"
#include "oracle/angle.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

constexpr double digits = 6e-6;  ///< relative; of numbers with six

// What rounding the frequencies alone costs: an engine of one's own.
struct float_frequencies {
  void operator()(frequencies const& f, std::int64_t at, std::span<formed_angle> angles) const {
    for (std::size_t i = 0; i < f.pairs(); ++i)
      angles[i] = {static_cast<double>(at) *
                   static_cast<double>(static_cast<float>(f.inv_freq()[i]))};
  }
};

precision_at_length last_of(auto const& how, std::size_t length) {
  return precision_budget(geometric(128, 1e4), length, how).back();
}

TEST(precision_budget, angles_have_the_known_errors) {
  for (auto const& [length, in_float, float_frequency, ggml] : golden::angle_errors) {
    EXPECT_NEAR(last_of(float_angles{}, length).angle, in_float, digits * in_float) << length;
    EXPECT_NEAR(last_of(float_frequencies{}, length).angle, float_frequency,
                digits * float_frequency)
        << length;
    EXPECT_NEAR(last_of(ggml_angles{1e4}, length).angle, ggml, digits * ggml) << length;
    EXPECT_EQ(last_of(exact_angles{}, length).angle, 0) << length;
  }
  for (auto const& [length, positions, frequencies, both] : golden::bfloat16_errors) {
    EXPECT_NEAR((last_of(rounded_angles<bfloat16, float>{}, length).angle), positions,
                digits * positions);
    EXPECT_NEAR((last_of(rounded_angles<float, bfloat16>{}, length).angle), frequencies,
                digits * frequencies);
    EXPECT_NEAR((last_of(rounded_angles<bfloat16, bfloat16>{}, length).angle), both, digits * both);
  }
}

/// Cosines and sines as stored, and as they should be.
struct rows {
  std::vector<double> cos, sin;
};
rows stored_rows(cos_sin_rows<float> const& made, std::size_t token) {
  rows result;
  for (std::size_t i = 0; i < made.pairs(); ++i) {
    result.cos.push_back(static_cast<double>(made.cos(token)[i]));
    result.sin.push_back(static_cast<double>(made.sin(token)[i]));
  }
  return result;
}
rows exact_rows(frequencies const& f, std::size_t position) {
  rows result;
  for (auto const inv_freq : f.inv_freq()) {
    auto const [cos, sin] = oracle::direction_at(static_cast<oracle::wide>(position), inv_freq);
    result.cos.push_back(static_cast<double>(cos)), result.sin.push_back(static_cast<double>(sin));
  }
  return result;
}

/// The largest error of a cosine or sine, and of a score of norms 1 with the rows of a key.
double error_of_row(rows const& a, rows const& b) {
  double error = 0;
  for (std::size_t i = 0; i < a.cos.size(); ++i)
    error = std::max({error, std::abs(a.cos[i] - b.cos[i]), std::abs(a.sin[i] - b.sin[i])});
  return error;
}
double error_of_score(rows const& q, rows const& exact_q, rows const& k, rows const& exact_k) {
  double error = 0;
  for (std::size_t i = 0; i < q.cos.size(); ++i) {
    // <R_t q, R_s k> for q and k of norm 1 in pair i, k in 720 directions
    for (int step = 0; step < 720; ++step) {
      auto const angle = step * (3.14159265358979 / 360), u = std::cos(angle), v = std::sin(angle);
      auto const score = [&](rows const& query, rows const& key) {
        return query.cos[i] * (u * key.cos[i] - v * key.sin[i]) +
               query.sin[i] * (u * key.sin[i] + v * key.cos[i]);
      };
      error = std::max(error, std::abs(score(q, k) - score(exact_q, exact_k)));
    }
  }
  return error;
}

TEST(precision_budget, rows_and_scores_are_those_of_hugging_face) {
  // Frequencies of doubles alone, for the oracle.
  frequencies const f({1, 0.37, 0.01, 1e-4});
  constexpr std::size_t length = 5000;
  auto const found = precision_budget(f, length, float_angles{}).back();
  EXPECT_EQ(found.length, length);
  std::vector<std::int64_t> positions;
  for (std::int64_t p = 0; p < 64; ++p) positions.push_back(p);
  for (std::int64_t p = length - 64; p < std::int64_t{length}; ++p) positions.push_back(p);
  auto const made = float_angle_rows(f, positions);
  auto const last = stored_rows(made, 127), exact_last = exact_rows(f, length - 1);
  double row = 0, score = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    auto const stored = stored_rows(made, i),
               exact = exact_rows(f, static_cast<std::size_t>(positions[i]));
    if (i >= 64) row = std::max(row, error_of_row(stored, exact));
    score = std::max(score, error_of_score(last, exact_last, stored, exact));
  }
  EXPECT_NEAR(found.row, row, 1e-15);
  EXPECT_GE(found.score, score - 1e-15);
  EXPECT_LE(found.score, score * (1 + 1e-5) + 1e-15) << "directions are half a degree apart";
}

TEST(precision_budget, of_posenc_is_the_rounding_of_rows) {
  for (auto const& errors : precision_budget(geometric(128, 5e5), 1 << 20, exact_angles{})) {
    EXPECT_EQ(errors.angle, 0);
    EXPECT_LE(errors.row, tolerance::of_cosine<float>());
    EXPECT_GT(errors.row, 1e-8);
    EXPECT_LE(errors.score, 4 * 0x1p-25) << "two rows, each of a cosine and a sine";
  }
  for (auto const& errors : precision_budget<double>(geometric(128, 5e5), 1 << 20, exact_angles{}))
    EXPECT_LE(errors.row, 2e-16);
}

TEST(precision_budget, of_a_bfloat16_table_has_its_rounding_at_any_length) {
  auto const found = precision_budget<bfloat16>(geometric(128, 1e4), 8192, float_angles{});
  for (auto const& errors : found) {
    EXPECT_LE(errors.row, 0x1p-9 + errors.angle);
    EXPECT_GT(errors.row, 0x1.8p-10);
  }
  auto const in_float = precision_budget(geometric(128, 1e4), 8192, float_angles{});
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].angle, in_float[i].angle);
}

TEST(precision_budget, weights_are_off_by_what_the_header_says) {
  auto const f = geometric(128, 1e4);
  auto const of = [](auto const& found, std::size_t length) {
    return std::ranges::find(found, length, &precision_at_length::length)->weight(10);
  };
  auto const in_float = precision_budget(f, 131072, float_angles{}),
             ggml = precision_budget(f, 131072, ggml_angles{1e4}),
             table = precision_budget<bfloat16>(f, 131072, float_angles{}),
             exact = precision_budget(f, 131072, exact_angles{});
  EXPECT_NEAR(of(in_float, 8192), 0.01, 0.0005);
  EXPECT_NEAR(of(in_float, 131072), 0.11, 0.005);
  EXPECT_NEAR(of(ggml, 8192), 0.02, 0.0005);
  EXPECT_NEAR(of(ggml, 131072), 0.30, 0.01);
  EXPECT_NEAR(of(table, 8192), 0.11, 0.005);
  EXPECT_NEAR(of(table, 131072), 0.13, 0.005);
  for (auto const& errors : exact) EXPECT_LT(errors.weight(10), 1.65e-6);
}

TEST(precision_budget, lengths_double_up_to_the_length) {
  auto const lengths_of = [](std::size_t length) {
    std::vector<std::size_t> lengths;
    for (auto const& errors : precision_budget(geometric(4, 100), length, float_angles{}))
      lengths.push_back(errors.length);
    return lengths;
  };
  EXPECT_EQ(lengths_of(1), std::vector<std::size_t>({1}));
  EXPECT_EQ(lengths_of(64), std::vector<std::size_t>({64}));
  EXPECT_EQ(lengths_of(300), std::vector<std::size_t>({64, 128, 256, 300}));
}

TEST(precision_budget, weights_follow_from_scores) {
  precision_at_length const errors{100, 0, 0, 0.01};
  EXPECT_NEAR(errors.weight(10), std::exp(0.2) - 1, 1e-15);
  EXPECT_EQ(errors.weight(0), 0);
}

TEST(precision_budget, ggml_divides_by_the_factors_of_other_frequencies) {
  auto const plain = geometric(128, 5e5);
  auto const f = llama3(
      plain, {.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_length = 8192});
  std::vector<formed_angle> of_plain(64), angles(64), of_none(64);
  ggml_angles{5e5}(plain, 1000, of_plain);
  ggml_angles{5e5}(f, 1000, angles);
  ggml_angles{5e5}(truncated(plain, 0.5), 1000, of_none);
  for (std::size_t i = 0; i < 64; ++i) {
    auto const factor = static_cast<float>(plain.inv_freq()[i] / f.inv_freq()[i]);
    EXPECT_EQ(angles[i].angle, static_cast<double>(static_cast<float>(of_plain[i].angle) / factor));
    EXPECT_EQ(angles[i].rest, 0);
    if (i >= 32) {
      EXPECT_LT(of_none[i].angle, 1e-24);
    }
  }
  EXPECT_EQ(of_plain[0].angle, 1000);
}

TEST(precision_budget, a_way_of_ones_own_is_measured_too) {
  auto const late = [](frequencies const& f, std::int64_t position,
                       std::span<formed_angle> angles) {
    for (std::size_t i = 0; i < f.pairs(); ++i)
      angles[i] = {static_cast<double>(position + 1) * f.inv_freq()[i]};
  };
  auto const found = precision_budget(frequencies({0.5, 0.25}), 200, late).back();
  EXPECT_NEAR(found.angle, 0.5, 1e-13);
  EXPECT_NEAR(found.score, 0, 1e-7) << "all are late alike";
}

TEST(precision_budget, bad_input_is_rejected) {
  EXPECT_EQ(message_of([] { precision_budget(geometric(4, 10), 0, float_angles{}); }),
            "posenc: precision_budget: length must be in [1, 2^53], got 0");
}

}  // namespace
