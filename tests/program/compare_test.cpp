#include "../examples/program/compare/compare.cpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "non_numbers.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/heads/storage.hpp"
#include "rejects.hpp"

namespace of_compare {
namespace {

using namespace posenc;
using namespace comparing;

layer_description layer(frequencies f, std::variant<halves, interleaved> layout = halves(),
                        std::size_t head_dim = 128, rotary_block block = rotary_block::first()) {
  return {.name = "full_attention",
          .layers = {0},
          .head_dim = head_dim,
          .rotary = {
              {.rule = "default", .frequencies = std::move(f), .layout = layout, .block = block}}};
}

model_description model(std::vector<layer_description> kinds) {
  std::size_t layers = 0;
  for (auto const& kind : kinds) layers += kind.layers.size();
  return {.type = "llama", .layers = layers, .context = 8192, .kinds = std::move(kinds)};
}

// S(distance), a number at a time.
Eigen::MatrixXd matrix(layer_description const& one, std::int64_t distance) {
  auto const n = static_cast<Eigen::Index>(one.head_dim);
  Eigen::MatrixXd s = Eigen::MatrixXd::Identity(n, n);
  for (auto const& rotary : one.rotary) {
    auto const f = rotary.frequencies.at(8192);
    auto const first = rotary.block.first_dim(one.head_dim, f.rotary_dim());
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      bool const is_halves = std::holds_alternative<halves>(rotary.layout);
      auto const x = static_cast<Eigen::Index>(first + (is_halves ? i : 2 * i)),
                 y = static_cast<Eigen::Index>(first + (is_halves ? i + f.pairs() : 2 * i + 1));
      auto const angle = static_cast<double>(distance) * f.inv_freq()[i],
                 gain = f.attention_factor() * f.attention_factor();
      s(x, x) = s(y, y) = gain * std::cos(angle);
      s(y, x) = gain * std::sin(angle), s(x, y) = -gain * std::sin(angle);
    }
  }
  return s * one.softmax_factor;
}

/// The largest singular value: rotations make the columns orthogonal, two by two, and their norms
/// are the singular values. So many sweeps and no more, for Eigen's decompositions do not end under
/// -ffast-math.
double largest_of(Eigen::MatrixXd m) {
  bool is_done = false;
  for (int sweep = 0; sweep < 12 && !is_done; ++sweep) {
    is_done = true;
    for (Eigen::Index p = 0; p < m.cols(); ++p) {
      for (Eigen::Index q = p + 1; q < m.cols(); ++q) {
        auto const product = m.col(p).dot(m.col(q));
        if (std::abs(product) <= 1e-10 * (1 + m.col(p).squaredNorm())) continue;
        is_done = false;
        auto const angle =
            std::atan2(2 * product, m.col(p).squaredNorm() - m.col(q).squaredNorm()) / 2;
        Eigen::VectorXd const first = std::cos(angle) * m.col(p) + std::sin(angle) * m.col(q);
        m.col(q) = std::cos(angle) * m.col(q) - std::sin(angle) * m.col(p);
        m.col(p) = first;
      }
    }
  }
  return m.colwise().norm().maxCoeff();
}

void expect_scores(layer_description const& a, layer_description const& b,
                   layer_comparison const& found) {
  for (auto const& score : found.scores) {
    if (score.distance > 200) continue;
    auto const x = matrix(a, score.distance), y = matrix(b, score.distance);
    EXPECT_NEAR(score.worst, largest_of(x - y) / std::max(largest_of(x), largest_of(y)), 2e-3)
        << score.distance;
    EXPECT_NEAR(score.gaussian, (x - y).norm() / std::max(x.norm(), y.norm()), 1e-12)
        << score.distance;
  }
}

std::vector<std::string> names(layer_comparison const& found) {
  std::vector<std::string> result;
  for (auto const& one : found.fields) result.push_back(one.field);
  return result;
}

score_difference at(layer_comparison const& found, std::int64_t distance) {
  return *std::ranges::find(found.scores, distance, &score_difference::distance);
}

using list = std::vector<std::string>;

TEST(compare, of_equal_layers_finds_nothing) {
  auto const a = layer(geometric(128, 1e4));
  auto const found = compare(a, a);
  EXPECT_TRUE(found.fields.empty());
  EXPECT_TRUE(found.scores.empty());
  EXPECT_EQ(found.matters_from, std::nullopt);
}

TEST(compare, of_two_bases) {
  auto const a = layer(geometric(128, 1e4)), b = layer(geometric(128, 1e6));
  auto const found = compare(a, b, {.length = 8192});
  EXPECT_EQ(names(found), list{"inv_freq of pair 63"});
  EXPECT_EQ(found.matters_from, 1);
  EXPECT_EQ(found.scores.front().worst, 0);
  EXPECT_NEAR(at(found, 1).worst, 0.14771990001, 1e-10);
  EXPECT_NEAR(*at(found, 4).angle, 4 * 0.1478545400, 1e-9);
  EXPECT_GT(found.scores.back().worst, 1.99);
  EXPECT_EQ(found.scores.back().distance, 8191);
  expect_scores(a, b, found);
}

TEST(compare, of_llama_3_with_and_without_its_scaling) {
  auto const f = geometric(128, 5e5);
  auto const a = layer(f), b = layer(llama3(f, {8, 1, 4, 8192}));
  auto const found = compare(a, b, {.length = 131'072});
  EXPECT_EQ(found.matters_from, 5);
  // By Cauchy and Schwarz, of the oracle's frequencies.
  auto const plain = oracle::default_rule(128, 5e5L),
             scaled = oracle::llama3_rule(plain, 8, 1, 4, 8192);
  for (auto const& score : found.scores) {
    double worst = 0, squares = 0, angle = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      auto const delta = static_cast<double>(score.distance) * (plain[i] - scaled[i]);
      worst = std::max(worst, 2 * std::abs(std::sin(delta / 2)));
      squares += 4 * std::pow(std::sin(delta / 2), 2) / 64;
      angle = std::max(angle, std::abs(delta));
    }
    EXPECT_NEAR(score.worst, worst, 1e-9);
    EXPECT_NEAR(score.gaussian, std::sqrt(squares), 1e-9);
    EXPECT_NEAR(*score.angle, angle, 1e-9);
  }
  auto const before =
      *std::ranges::find(found.scores, *found.matters_from, &score_difference::distance);
  EXPECT_GT(before.worst, 0x1p-8);
}

TEST(compare, matters_from_the_first_distance_above_the_threshold) {
  // A pair that differs by 1e-3: 2 sin(r / 2000) > t.
  auto const a = layer(frequencies({1, 0.5}), halves(), 4),
             b = layer(frequencies({1, 0.501}), halves(), 4);
  for (auto const threshold : {0x1p-8, 0.1, 0.5, 1.0}) {
    auto const from = static_cast<std::int64_t>(2000 * std::asin(threshold / 2)) + 1;
    EXPECT_EQ(compare(a, b, {.threshold = threshold, .length = 10'000}).matters_from, from);
    EXPECT_EQ(compare(a, b, {.threshold = threshold, .length = static_cast<std::size_t>(from)})
                  .matters_from,
              std::nullopt);
  }
  // Where the difference falls and rises again, it is above there and not one before.
  auto const fast = layer(frequencies({1, 2.5}), halves(), 4);
  auto const above = [&](std::int64_t r) {
    return 2 * std::abs(std::sin(2 * static_cast<double>(r) / 2)) > 1.9;
  };
  auto const from = compare(a, fast, {.threshold = 1.9, .length = 1000}).matters_from;
  ASSERT_TRUE(from.has_value());
  EXPECT_TRUE(above(*from) && !above(*from - 1));
  // A difference of a whole turn is none.
  auto const turn = layer(frequencies({1, 0.5 + 2 * std::numbers::pi}), halves(), 4);
  EXPECT_EQ(compare(a, turn, {.length = 1000}).matters_from, std::nullopt);
}

TEST(compare, of_halves_and_interleaved) {
  for (auto const dims : {std::size_t{8}, std::size_t{64}}) {
    auto const f = geometric(dims, 1e4);
    auto const a = layer(f, halves(), dims), b = layer(f, interleaved(), dims);
    auto const found = compare(a, b, {.length = 500});
    EXPECT_EQ(names(found), list{"layout"});
    EXPECT_EQ(found.fields[0], (field_difference{"layout", "halves", "interleaved"}));
    EXPECT_EQ(found.matters_from, 1);
    EXPECT_EQ(found.scores[1].angle, std::nullopt);
    EXPECT_GT(found.scores[1].worst, 1);
    expect_scores(a, b, found);
  }
}

TEST(compare, of_rotary_blocks_in_other_places) {
  auto const f = geometric(32, 1e4);
  auto const a = layer(f, interleaved(), 64), b = layer(f, interleaved(), 64, rotary_block::last());
  auto const found = compare(a, b, {.length = 100});
  EXPECT_EQ(names(found), list{"first rotary dim"});
  EXPECT_EQ(found.fields[0].b, "32");
  EXPECT_EQ(found.matters_from, 1);
  expect_scores(a, b, found);
  auto const whole = layer(geometric(64, 1e4), interleaved(), 64);
  auto const parts = compare(a, whole, {.length = 100});
  EXPECT_EQ(names(parts), list{"rotary_dim"});
  expect_scores(a, whole, parts);
}

TEST(compare, of_mscale_matters_at_once) {
  auto const f = yarn(128, 1e4, {.factor = 8, .original_length = 4096});
  auto const a = layer(f), b = layer(f.with_attention_factor(1));
  auto const found = compare(a, b);
  EXPECT_EQ(names(found), list{"attention_factor"});
  EXPECT_EQ(found.matters_from, 0);
  auto const gain = std::pow(0.1 * std::log(8.0) + 1, 2);
  EXPECT_NEAR(found.scores[0].worst, 1 - 1 / gain, 1e-12);
  EXPECT_EQ(found.scores[0].angle, 0);
  expect_scores(a, b, found);
  auto twice = a;
  twice.softmax_factor = 2;
  auto const scaled = compare(a, twice);
  EXPECT_EQ(names(scaled), list{"softmax_factor"});
  EXPECT_NEAR(scaled.scores[0].worst, 0.5, 1e-12);
  EXPECT_EQ(scaled.matters_from, 0);
}

TEST(compare, of_nope_is_a_rotation_and_none) {
  layer_description const nope{.name = "x", .head_dim = 128};
  auto const a = layer(geometric(128, 1e4));
  auto const found = compare(a, nope);
  EXPECT_EQ(names(found), list{"rotary blocks"});
  EXPECT_EQ(found.matters_from, 1);
  expect_scores(a, nope, found);
}

TEST(compare, of_what_is_no_rotation_has_no_scores) {
  layer_description const a{.name = "x", .head_dim = 64};
  auto b = a;
  b.window = 512, b.chunk = 8192, b.score_cap = 50, b.sinks = true, b.pooled = 4;
  b.alibi = alibi_bias{8};
  b.buckets = bucket_bias{32, 128};
  b.temperature = llama4_temperature();
  b.shares_index = true;
  auto const found = compare(a, b, {.length = 100'000});
  EXPECT_EQ(names(found), (list{"alibi", "buckets", "temperature", "score_cap", "sinks", "window",
                                "chunk", "shares_index", "pooled"}));
  EXPECT_TRUE(found.scores.empty());
}

TEST(compare, ends_at_the_smaller_window) {
  auto a = layer(geometric(128, 1e4)), b = layer(geometric(128, 1.0001e4));
  auto const wide = compare(a, b, {.length = 100'000});
  ASSERT_TRUE(wide.matters_from.has_value());
  b.window = static_cast<std::size_t>(*wide.matters_from);
  auto const found = compare(a, b, {.length = 100'000});
  EXPECT_EQ(found.matters_from, std::nullopt);
  EXPECT_EQ(found.scores.back().distance, *wide.matters_from - 1);
  EXPECT_LE(found.scores.back().worst, 0x1p-8);
}

TEST(compare, of_other_head_dims_has_no_scores) {
  auto const found = compare(layer(geometric(64, 1e4), halves(), 64), layer(geometric(128, 1e4)));
  EXPECT_EQ(names(found), (list{"head_dim", "rotary_dim"}));
  EXPECT_TRUE(found.scores.empty());
}

TEST(compare, of_models_puts_layers_together) {
  auto const f = geometric(128, 1e4), g = geometric(128, 1e6);
  auto full = layer(f), sliding = layer(g), other = layer(g);
  full.layers = {1, 3}, sliding.layers = {0, 2, 4}, other.layers = {1, 3, 5};
  auto const a = model({full, sliding});
  auto same = sliding;
  auto const b = model({same, other});
  auto const found = compare(a, b);
  EXPECT_EQ(found.equal_layers, 3);
  ASSERT_EQ(found.layers.size(), 1);
  EXPECT_EQ(found.layers[0].layers, (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(found.layers[0].difference.matters_from, 1);
  ASSERT_EQ(found.fields.size(), 1);
  EXPECT_EQ(found.fields[0], (field_difference{"layers", "5", "6"}));
  EXPECT_EQ(found.layers[0].difference.scores.back().distance, 8191);  // the models' context
}

TEST(compare, names_the_settings_of_a_rule) {
  auto a = layer(geometric(128, 1e4)), b = layer(linear(geometric(128, 1e4), 2));
  a.rotary[0].parameters = {{"rope_type", "\"default\""}, {"rope_theta", "10000"}};
  b.rotary[0].parameters = {{"rope_type", "\"linear\""}, {"rope_theta", "10000"}, {"factor", "2"}};
  b.rotary[0].rule = "linear";
  auto const found = compare(a, b);
  EXPECT_EQ(names(found), (list{"rule", "factor", "inv_freq of pair 0"}));
  EXPECT_EQ(found.fields[1].a, "");
  EXPECT_EQ(found.fields[1].b, "2");
}

layer_description of_base(double base) { return layer(geometric(8, base), halves(), 8); }
std::int64_t last_distance(layer_comparison const& found) { return found.scores.back().distance; }

TEST(compare, the_default_threshold_is_half_a_unit_of_bfloat16) {
  auto const threshold = static_cast<float>(compare_options().threshold);
  EXPECT_EQ(static_cast<float>(bfloat16(1 + threshold)), 1);
  EXPECT_GT(static_cast<float>(bfloat16(1 + threshold * (1 + 0x1p-7f))), 1);
}

TEST(compare, without_a_length_distances_end_at_4096_or_at_the_smaller_context) {
  EXPECT_EQ(last_distance(compare(of_base(1e4), of_base(1e5))), 4095);
  EXPECT_EQ(last_distance(compare(of_base(1e4), of_base(1e5), {.length = 5000})), 4999);
  auto const last = [](std::optional<std::size_t> a, std::optional<std::size_t> b) {
    model_description const of_a{.type = "x", .layers = 1, .context = a, .kinds = {of_base(1e4)}},
        of_b{.type = "x", .layers = 1, .context = b, .kinds = {of_base(1e5)}};
    return last_distance(compare(of_a, of_b).layers.at(0).difference);
  };
  EXPECT_EQ(last({}, {}), 4095);
  EXPECT_EQ(last(100, 7000), 99);
  EXPECT_EQ(last(7000, 100), 99);
  EXPECT_EQ(last({}, 7000), 6999);
}

TEST(compare, of_fields_is_equal_if_names_and_values_are) {
  field_difference const one{"window", "512", "1024"};
  EXPECT_EQ(one, (field_difference{"window", "512", "1024"}));
  EXPECT_NE(one, (field_difference{"chunk", "512", "1024"}));
  EXPECT_NE(one, (field_difference{"window", "256", "1024"}));
  EXPECT_NE(one, (field_difference{"window", "512", "2048"}));
}

TEST(compare, refuses_what_it_cannot_compare) {
  auto const a = layer(geometric(128, 1e4));
  auto const message = [&](compare_options const& options) {
    return message_of([&] { compare(a, a, options); });
  };
  EXPECT_EQ(message({.threshold = 0}),
            "posenc: compare: threshold must be finite and positive, got 0");
  EXPECT_EQ(message({.threshold = not_a_number()}),
            "posenc: compare: threshold must be finite and positive, got NaN");
  EXPECT_EQ(message({.length = 0}), "posenc: compare: length must be from 1 to 2^48 tokens, got 0");
}

}  // namespace
}  // namespace of_compare
