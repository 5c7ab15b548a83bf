// posenc itself against the cases of the conformance set that are of steps: norms, rounding points,
// and formats byte for byte. The set is computed from formulas, without posenc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {
namespace of_step_cases {

using nlohmann::json;
using namespace posenc;

std::vector<json> cases(std::string const& encoding) {
  std::vector<json> result;
  auto const folder =
      std::filesystem::path(__FILE__).parent_path().parent_path() / "conformance" / "steps";
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    auto one = json::parse(std::ifstream(file.path()));
    if (one["encoding"] == encoding) result.push_back(std::move(one));
  }
  return result;
}

std::string in_hex(std::vector<std::byte> const& bytes) {
  std::string result;
  for (auto const byte : bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(byte));
    result += text;
  }
  return result;
}

template <class F>
void has_the_bytes(json const& one, F const& format) {
  auto const dim = one["head_dim"].get<std::size_t>();
  for (std::size_t i = 0; i < one["input"].size(); ++i) {
    auto const head = one["input"][i].get<std::vector<float>>();
    std::vector<std::byte> codes(format.bytes(dim)), scales;
    if constexpr (scaled_format<F>) {
      scales.resize(format.scale_bytes(dim));
      format.encode(head, codes.data(), scales.data());
      EXPECT_EQ(in_hex(scales), one["scale_bytes"][i]) << one["name"] << ", head " << i;
    } else {
      format.encode(head, codes.data());
    }
    EXPECT_EQ(in_hex(codes), one["bytes"][i]) << one["name"] << ", head " << i;
  }
}

#if !defined(__FAST_MATH__)  // where a code may differ by one

TEST(step_cases, of_formats_have_their_bytes) {
  std::size_t known = 0;
  for (auto const& one : cases("cache_format")) {
    auto const name = one["format"].get<std::string>();
    auto const scale = one.value("tensor_scale", 1.0f);
    auto const is = [&](char const* format, auto const& facts) {
      if (name == format) ++known, has_the_bytes(one, facts);
    };
    is("u8_per_head", u8_per_head());
    is("q8_0", q8_0());
    is("q8_0_avx2", q8_0{q8_0_writer::avx2});
    is("int8_per_head", int8_per_head());
    is("int8_per_head_truncated", int8_per_head{true});
    is("int8_static", int8_static{scale});
    is("e4m3", e4m3::of_scale(scale));
    is("e4m3_truncated", e4m3::of_scale(scale, e4m3_rounding::towards_zero));
    is("deepseek_v4", deepseek_v4::of_cuda());
    is("deepseek_v4_cpu", deepseek_v4::of_cpus());
    is("float16", numbers_of<half>());
    is("bfloat16", numbers_of<bfloat16>());
  }
  EXPECT_EQ(known, 12u);
}

#endif

template <class Layout>
void has_the_results(json const& one) {
  auto const& norm = one["norm"];
  auto const inputs = one["input"].get<std::vector<std::vector<float>>>();
  auto const tokens = inputs.size(), dim = inputs[0].size();
  std::vector<float> x, result(tokens * dim), weight;
  for (auto const& head : inputs) x.insert(x.end(), head.begin(), head.end());
  if (one.contains("weight")) weight = one["weight"].get<std::vector<float>>();
  head_norm<> const how{.weight = weight,
                        .eps = norm["eps"].get<float>(),
                        .kind = norm["kind"] == "rms" ? norm_kind::rms : norm_kind::l2,
                        .place = norm["place"] == "before" ? norm_place::before : norm_place::after,
                        .eps_place = norm["eps_place"] == "inside"    ? norm_eps::inside
                                     : norm["eps_place"] == "outside" ? norm_eps::outside
                                                                      : norm_eps::at_least,
                        .plus_one = norm["plus_one"].get<bool>()};
  cos_sin_rows const forward(geometric(dim, one["rope_theta"].get<double>()),
                             one["positions"].get<std::vector<std::int64_t>>());
  auto const rows = one["opposite"].get<bool>() ? forward.inverse() : forward;
  heads_view<float const> const from(x.data(), {tokens, 1, dim});
  auto const wanted = [&](std::size_t t, std::size_t d) {
    return one["result"][t][d].get<double>();
  };
  if (!one.contains("rounding")) {
    rotate(rows, rotated<Layout>(from, heads_view(result.data(), {tokens, 1, dim})).norm(how));
    for (std::size_t t = 0; t < tokens; ++t) {
      double most = 0;
      for (std::size_t d = 0; d < dim; ++d) most = std::max(most, std::abs(wanted(t, d)));
      auto const bound = (8 + static_cast<double>(dim) / 2) * 0x1p-24 * most;
      for (std::size_t d = 0; d < dim; ++d)
        EXPECT_NEAR(result[t * dim + d], wanted(t, d), bound) << one["name"] << t << ", " << d;
    }
    return;
  }
  if constexpr (std::is_same_v<Layout, halves>) {  // no case rounds pairs that interleave
    std::set<std::string> const at = one["rounding"];
    auto const has = [&](char const* point) { return at.contains(point); };
    rounding_points const points{has("normalised"), has("norm"), has("cosines"), has("products"),
                                 has("rotated")};
    std::vector<bfloat16> stored(x.size());
    rotate(rows, rotated<Layout>(from, heads_view(stored.data(), {tokens, 1, dim}))
                     .norm(how)
                     .template round<bfloat16>(points));
    for (std::size_t i = 0; i < stored.size(); ++i)
      EXPECT_EQ(static_cast<double>(float(stored[i])), wanted(i / dim, i % dim))
          << one["name"] << i;
  } else {
    FAIL() << one["name"] << " rounds, with " << one["layout"];
  }
}

TEST(step_cases, of_norms_and_rounding_points_have_their_results) {
  auto const all = cases("norm_and_rotate");
  EXPECT_EQ(all.size(), 13u);
  for (auto const& one : all)
    one["layout"] == "halves" ? has_the_results<halves>(one) : has_the_results<interleaved>(one);
}

}  // namespace of_step_cases
}  // namespace
