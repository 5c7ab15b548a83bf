#include "posenc/score/dynamic_position_bias.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "laws/score_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "oracle/wide.hpp"
#include "rejects.hpp"
#include "score/rows.hpp"

namespace {

using namespace posenc;

/// From 1 number to 2, to 2, to 3 heads.
position_network small(bool log_distance, bool norm) {
  position_network network{
      .layers = {{.weights = {0.5f, -0.25f}, .biases = {0.125f, 1}},
                 {.weights = {0.75f, -0.5f, 0.25f, 1}, .biases = {-0.125f, 0.5f}},
                 {.weights = {1, -2, 0.5f, 0.25f, -1.5f, 0}, .biases = {0, 0.125f, 1}}},
      .log_distance = log_distance};
  if (norm) {
    network.layers[0].norm_weights = {1.5f, 0.5f};
    network.layers[1].norm_weights = {1.25f, -0.75f}, network.layers[1].norm_biases = {0.25f, 0.5f};
  }
  return network;
}

struct known_biases {
  bool log_distance, norm;
  std::int64_t distance;
  std::array<double, 3> biases;
};

// The modules of DynamicPositionBias, Linear, LayerNorm and SiLU, written out in Python.
constexpr known_biases values[]{
    {false, false, -3, {-3.6260826806118853, 0.40718759201330912, 1.4105745833516239}},
    {false, false, 0, {-2.1111731104599571, 0.28103733540101117, 1.2588623281755604}},
    {false, false, 2, {-1.2963898502874984, 0.41803999134340675, 0.68562097586207338}},
    {false, false, 100, {11.406307099510123, 22.117180362844369, -55.20312500067952}},
    {false, true, -3, {-0.050035951761141423, -0.036833145740007178, 1.4034103353043597}},
    {false, true, 2, {-0.71683662487662225, 0.98085967136257424, -0.83901222380719132}},
    {true, false, -3, {-2.7385010974826871, 0.31115618629757752, 1.3747754821306202}},
    {true, false, 0, {-2.1111731104599571, 0.28103733540101117, 1.2588623281755604}},
    {true, false, 2, {-1.6682156448867185, 0.32298165797879286, 1.0253087143169126}},
    {true, false, 100, {-0.12181285062004021, 0.96409767502912658, -0.97729056488389165}},
    {true, true, 2, {-0.050035992605889701, -0.03683313576505895, 1.4034103236179085}},
    {true, true, 100, {-0.71683664266330616, 0.98085975018129568, -0.83901240763611784}}};

TEST(dynamic_position_bias, has_the_known_values_within_its_table_and_beyond) {
  for (std::int64_t const longest : {0, 2, 128}) {
    for (auto const& [log_distance, norm, distance, biases] : values) {
      dynamic_position_bias const encoding(small(log_distance, norm), longest);
      EXPECT_EQ(encoding.heads(), 3u);
      for (std::size_t head = 0; head < 3; ++head)
        EXPECT_NEAR(encoding.bias(head, distance), biases[head],
                    64 * tolerance::unit_roundoff<double>() * 60)
            << "head " << head << ", distance " << distance << ", norm " << norm;
    }
  }
}

/// Widths 1, 7, 7, 7, 5.
position_network random_network(bool log_distance, bool norm) {
  position_network network{.log_distance = log_distance};
  std::size_t in = 1;
  for (unsigned layer = 0; layer < 4; ++layer) {
    std::size_t const out = layer == 3 ? 5 : 7;
    position_layer one{.weights = numbers::random<float>(in * out, layer),
                       .biases = numbers::random<float>(out, layer + 10)};
    if (norm && layer < 3) {
      one.norm_weights = numbers::random<float>(out, layer + 20);
      if (layer > 0) one.norm_biases = numbers::random<float>(out, layer + 30);
    }
    network.layers.push_back(one);
    in = out;
  }
  return network;
}

std::vector<oracle::wide> oracle_answers(position_network const& network, std::int64_t distance) {
  using oracle::wide;
  wide const d = static_cast<wide>(distance);
  std::vector<wide> x{!network.log_distance ? d : d < 0 ? -oracle::log(1 - d) : oracle::log(1 + d)};
  for (std::size_t layer = 0; layer < network.layers.size(); ++layer) {
    auto const& [weights, biases, norm_weights, norm_biases] = network.layers[layer];
    std::vector<wide> y;
    for (std::size_t o = 0; o < biases.size(); ++o) {
      wide sum = biases[o];
      for (std::size_t i = 0; i < x.size(); ++i)
        sum += static_cast<wide>(weights[o * x.size() + i]) * x[i];
      y.push_back(sum);
    }
    if (layer + 1 == network.layers.size()) return y;
    if (!norm_weights.empty()) {
      wide mean = 0, squares = 0;
      for (auto const v : y) mean += v, squares += v * v;
      mean /= static_cast<wide>(y.size());
      auto const variance = squares / static_cast<wide>(y.size()) - mean * mean;
      for (std::size_t o = 0; o < y.size(); ++o) {
        y[o] = (y[o] - mean) / oracle::sqrt(variance + 1e-5L) * norm_weights[o];
        if (!norm_biases.empty()) y[o] += norm_biases[o];
      }
    }
    for (auto& v : y) v = v / (1 + oracle::exp(-v));
    x = y;
  }
  return x;
}

TEST(dynamic_position_bias, answers_as_the_network_does) {
  for (bool const log_distance : {false, true}) {
    for (bool const norm : {false, true}) {
      auto const network = random_network(log_distance, norm);
      dynamic_position_bias const encoding(network, 50);
      for (std::int64_t const distance : {-1000, -51, -50, -1, 0, 1, 7, 50, 51, 4096}) {
        auto const expected = oracle_answers(network, distance);
        for (std::size_t head = 0; head < 5; ++head) {
          // Without logarithm and norm numbers grow with the distance.
          auto const magnitude = norm || log_distance ? 200.0 : 200.0 * 4097;
          EXPECT_NEAR(encoding.bias(head, distance), static_cast<double>(expected[head]),
                      256 * tolerance::unit_roundoff<double>() * magnitude)
              << "head " << head << ", distance " << distance;
        }
      }
    }
  }
}

TEST(dynamic_position_bias, refuses_layers_that_do_not_fit) {
  auto const message = [](auto const& change) {
    auto network = small(false, true);
    change(network);
    return message_of([&] { dynamic_position_bias(network, 1); });
  };
  EXPECT_EQ(message([](auto& n) { n.layers.resize(1); }),
            "posenc: dynamic_position_bias: there must be two layers or more, got 1");
  EXPECT_EQ(message([](auto& n) { n.layers[1].weights.pop_back(); }),
            "posenc: dynamic_position_bias: layer 1 must have weights for 2 inputs and each of its "
            "2 biases, got 3");
  EXPECT_EQ(message([](auto& n) { n.layers[2].biases.clear(); }),
            "posenc: dynamic_position_bias: layer 2 must have weights for 2 inputs and each of its "
            "0 biases, got 6");
  EXPECT_EQ(
      message([](auto& n) { n.layers[0].norm_weights = {1}; }),
      "posenc: dynamic_position_bias: the norm of layer 0 must be empty or of its size, got 1 "
      "weights and 0 biases");
  EXPECT_EQ(
      message([](auto& n) { n.layers[1].norm_weights.clear(); }),
      "posenc: dynamic_position_bias: the norm of layer 1 must be empty or of its size, got 0 "
      "weights and 2 biases");
  EXPECT_EQ(
      message([](auto& n) { n.layers[1].norm_biases = {1}; }),
      "posenc: dynamic_position_bias: the norm of layer 1 must be empty or of its size, got 2 "
      "weights and 1 biases");
  EXPECT_EQ(message([](auto& n) {
              n.layers[2].norm_weights = {1, 1, 1};
            }),
            "posenc: dynamic_position_bias: the norm of layer 2 must be empty, for it is the last, "
            "got 3 weights and 0 biases");
  EXPECT_EQ(message([](auto& n) { n.layers[1].biases[0] = static_cast<float>(not_a_number()); }),
            "posenc: dynamic_position_bias: layer 1 must be finite, got NaN");
  auto const longest = [](std::int64_t l) {
    return message_of([&] { dynamic_position_bias(small(false, false), l); });
  };
  EXPECT_EQ(longest(-1), "posenc: dynamic_position_bias: longest must be in [0, 2^31], got -1");
}

TEST(dynamic_position_bias, obeys_the_laws_of_its_site) {
  laws::obey("3 heads", dynamic_position_bias(small(true, true), 64), 3,
             laws::of_distance | laws::added);
  laws::obey("5 heads", dynamic_position_bias(random_network(true, false), 8), 5,
             laws::of_distance | laws::added);
}

}  // namespace
