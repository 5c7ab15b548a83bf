// posenc itself against the cases of the conformance set that are of attention. The set is computed
// from formulas, without posenc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "posenc/attention/attention.hpp"
#include "posenc/model/layer_mask.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/log_n.hpp"

namespace {
namespace of_attention_cases {

using nlohmann::json;
using namespace posenc;

std::vector<json> cases() {
  std::vector<json> result;
  auto const folder =
      std::filesystem::path(__FILE__).parent_path().parent_path() / "conformance" / "attention";
  for (auto const& file : std::filesystem::directory_iterator(folder))
    result.push_back(json::parse(std::ifstream(file.path())));
  return result;
}

struct heads {
  std::vector<double> numbers;
  heads_shape extents;
  heads_view<double const> view() const { return {numbers.data(), extents}; }
};

heads heads_of(json const& tokens) {
  heads result{{}, {tokens.size(), tokens[0].size(), tokens[0][0].size()}};
  for (auto const& token : tokens)
    for (auto const& head : token)
      for (auto const& x : head) result.numbers.push_back(x.get<double>());
  return result;
}

std::optional<std::size_t> number(json const& one, char const* key) {
  auto const found = one.find(key);
  return found == one.end() || found->is_null() ? std::nullopt
                                                : std::optional(found->get<std::size_t>());
}

/// The layer that a case is of, as far as it says what is seen.
layer_description layer_of(json const& one) {
  layer_description layer{.name = one["name"].get<std::string>()};
  if (auto const behind = number(one, "behind")) layer.window = *behind + 1;
  layer.ahead = number(one, "ahead"), layer.chunk = number(one, "chunk");
  auto const how = one.value("both_ways", std::string());
  layer.both_ways = how == "image"                 ? both_ways::image
                    : how == "image_within_window" ? both_ways::image_within_window
                    : how == "prefix"              ? both_ways::prefix
                                                   : both_ways::none;
  return layer;
}

template <class Encoding>
void has_the_output(json const& one, attention_options const& options, Encoding const& encoding) {
  auto const q = heads_of(one["query"]), k = heads_of(one["key"]), v = heads_of(one["value"]),
             wanted = heads_of(one["output"]);
  auto const got = attention(q.view(), k.view(), v.view(), encoding, options).outputs;
  ASSERT_EQ(got.size(), wanted.numbers.size()) << one["name"];
  // Scores of up to 32 from sums of 12 products, off by 16 roundings each; values of up to 2.
  auto const bound = 2 * 2 * 16 * 32 * 0x1p-53;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted.numbers[i], bound) << one["name"] << ", number " << i;
}

TEST(attention_cases, have_their_outputs) {
  auto const all = cases();
  EXPECT_EQ(all.size(), 32u);
  for (auto const& one : all) {
    auto const keys = one["key"].size(), queries = one["query"].size();
    auto const layer = layer_of(one);
    std::vector<unsigned char> cells;
    attention_options options{
        .mask = mask_of(layer),
        .scale = one["scale"].get<double>(),
        .query_positions = one["query_positions"].get<std::vector<std::int64_t>>(),
        .key_positions = one["key_positions"].get<std::vector<std::int64_t>>()};
    if (one.contains("blocks"))
      options.mask = mask_of(layer, one["blocks"].get<std::vector<std::int64_t>>(), queries, cells);
    if (one.contains("documents"))
      options.mask = options.mask & mask::packed(one["documents"].get<std::vector<std::size_t>>());
    std::vector<double> biases;
    if (one.contains("valid")) {
      for (auto const& is : one["valid"]) cells.push_back(is.get<bool>());
      options.mask = options.mask & mask::given(given_mask(cells.data(), {queries, 1, keys}, {0}));
    }
    if (one.contains("bias")) {
      for (auto const& row : one["bias"])
        for (auto const& x : row)
          biases.push_back(x.is_null() ? -std::numeric_limits<double>::infinity()
                                       : x.get<double>());
      options.mask = options.mask & mask::given(given_mask(biases.data(), {queries, 1, keys}));
    }
    if (one.contains("cap")) {
      has_the_output(one, options, scheme(soft_cap(one["cap"].get<double>())));
    } else if (one.contains("sinks")) {
      has_the_output(one, options,
                     scheme(attention_sinks(one["sinks"].get<std::vector<double>>())));
    } else if (one.contains("log_n")) {
      has_the_output(one, options, scheme(log_n(one["log_n"]["trained_length"].get<double>())));
    } else if (one.contains("alibi")) {
      auto const slopes = alibi(one["alibi"]["heads"].get<std::size_t>()).slopes();
      auto const first = one["alibi"]["first_head"].get<std::ptrdiff_t>();
      auto const heads = static_cast<std::ptrdiff_t>(one["query"][0].size());
      std::vector<double> const of_rank(slopes.begin() + first, slopes.begin() + first + heads);
      has_the_output(one, options, scheme(alibi::with_slopes(of_rank)));
    } else {
      has_the_output(one, options, nope());
    }
  }
}

}  // namespace of_attention_cases
}  // namespace
