#pragma once

/// The cases about scores: what is added to them, what they are multiplied by.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "text.hpp"

namespace conformance {

struct score_case {
  std::string name;
  text::object file;
};

inline std::string ints(std::vector<std::int64_t> const& values) {
  return text::list(values, [](std::int64_t x) { return std::to_string(x); });
}

inline text::object score_head(std::string const& name, char const* covers,
                               std::vector<std::string> const& source, char const* encoding,
                               text::object const& parameters) {
  text::object file;
  file.add("name", name).add("covers", covers);
  file.raw("source", text::list(source, [](std::string const& s) { return text::setting(s); }));
  return file.add("encoding", encoding).raw("parameters", parameters.inner());
}

inline std::vector<std::int64_t> const& distances() {
  static std::vector<std::int64_t> const all{0,  1,  2,  7,   8,   15,   16,
                                             20, 33, 64, 127, 128, 1000, 131071};
  return all;
}

inline std::string bias_rows(std::size_t heads,
                             std::function<exact::number(std::size_t, std::int64_t)> const& bias) {
  std::vector<exact::series> rows(heads);
  for (std::size_t h = 0; h < heads; ++h)
    for (auto const d : distances()) rows[h].push_back(bias(h, std::llabs(d)));
  return text::list(rows, text::numbers);
}

/// 2^(-m (h + 1) / c) for the c heads of the largest power of two; then every other slope of 2c
/// heads.
inline exact::series alibi_slopes(std::size_t heads, std::int64_t max_bias) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  auto const slope = [&](std::size_t steps, std::size_t of) {
    return oracle::exp(
        -(oracle::log(exact::whole(2)) * exact::ratio(max_bias * static_cast<std::int64_t>(steps),
                                                      static_cast<std::int64_t>(of))));
  };
  exact::series result;
  for (std::size_t h = 0; h < heads; ++h)
    result.push_back(h < power ? slope(h + 1, power) : slope(2 * (h - power) + 1, 2 * power));
  return result;
}

/// floor(e + (n - e) ln(r / e) / ln(far / e)), at most n - 1.
inline std::int64_t t5_bucket(std::int64_t distance, std::int64_t buckets, std::int64_t farthest,
                              bool bidirectional) {
  auto const side = bidirectional ? buckets / 2 : buckets, exact_ones = side / 2;
  auto const r = bidirectional ? std::llabs(distance) : distance < 0 ? 0 : distance;
  auto result = std::int64_t{r};
  if (r >= exact_ones) {
    using exact::operator/;
    auto const step =
        exact::floor_of(oracle::log(exact::ratio(r, exact_ones)) * exact::whole(side - exact_ones) /
                        oracle::log(exact::ratio(farthest, exact_ones)));
    result = exact_ones + step < side - 1 ? exact_ones + step : side - 1;
  }
  return result + (bidirectional && distance < 0 ? side : 0);
}

/// cap tanh(x / cap) = cap (1 - e^(-2a)) / (1 + e^(-2a)), a = |x| / cap
inline exact::number capped(exact::number const& x, double cap) {
  using exact::operator/;
  auto const one = exact::whole(1), c = exact::number(cap);
  auto const e = oracle::exp(-((x.negative() ? -x : x) * exact::whole(2) / c));
  auto const size = c * ((one - e) / (one + e));
  return x.negative() ? -size : size;
}

inline std::vector<score_case> score_cases() {
  using namespace exact;
  std::vector<score_case> cases;
  auto const add = [&](text::object file, std::string const& name) {
    cases.push_back({name, std::move(file)});
  };
  std::vector<std::string> const press{"Press 2021, arXiv:2108.12409, 3"};
  struct alibi_settings {
    char const *name, *covers;
    std::size_t heads;
    std::int64_t max_bias;
  };
  for (auto const& s : {alibi_settings{"alibi-8-heads", "ALiBi, heads a power of two", 8, 8},
                        alibi_settings{"alibi-12-heads", "ALiBi, heads no power of two", 12, 8},
                        alibi_settings{"alibi-max-bias", "MPT's alibi_bias_max, 16", 8, 16}}) {
    auto const slopes = alibi_slopes(s.heads, s.max_bias);
    auto file = score_head(
        s.name, s.covers, press, "alibi",
        text::object().add("heads", s.heads).add("max_bias", static_cast<int>(s.max_bias)));
    file.raw("distances", ints(distances())).raw("slopes", text::numbers(slopes));
    file.raw("bias", bias_rows(s.heads, [&](std::size_t h, std::int64_t d) {
               return -(slopes[h] * whole(d));
             }));
    add(file, s.name);
  }
  for (bool const both : {false, true}) {
    std::string const name = both ? "t5-buckets-both-sides" : "t5-buckets-causal";
    std::vector<std::int64_t> all;
    for (auto const d : {-131071, -200, -64, -8, -1}) all.push_back(d);
    for (auto const d : distances()) all.push_back(d);
    std::vector<std::int64_t> buckets;
    for (auto const d : all) buckets.push_back(t5_bucket(d, 32, 128, both));
    auto file = score_head(
        name, both ? "T5's buckets in its encoder" : "T5's buckets in its decoder",
        {"Raffel 2020, arXiv:1910.10683, 2.1", "transformers, modeling_t5.py"}, "t5_buckets",
        text::object().add("buckets", 32).add("max_distance", 128).add("bidirectional", both));
    file.raw("distances", ints(all)).raw("buckets", ints(buckets));
    add(file, name);
  }
  std::vector<double> const first{0.5, 1, 3}, second{0.25, 1.5, 0.75};
  for (bool const is_log : {true, false}) {
    std::string const name = is_log ? "kerple-log" : "kerple-power";
    auto file = score_head(name, is_log ? "-p ln(1 + a r)" : "-a r^p",
                           {"Chi 2022, arXiv:2205.09921, 3", "github.com/chijames/KERPLE"},
                           is_log ? "kerple_log" : "kerple_power",
                           text::object()
                               .raw("coefficient", text::settings(first))
                               .raw(is_log ? "rate" : "exponent", text::settings(second)));
    file.raw("distances", ints(distances()));
    file.raw("bias", bias_rows(3, [&](std::size_t h, std::int64_t d) {
               if (d == 0) return whole(0);
               auto const shape = is_log ? oracle::log(whole(1) + number(second[h]) * whole(d))
                                         : power(whole(d), number(second[h]));
               return -(number(first[h]) * shape);
             }));
    add(file, name);
  }
  {
    std::vector<double> const scores{-400, -50, -1, 0, 0.0078125, 0.5, 3, 25, 50, 75};
    series results;
    for (auto const x : scores) results.push_back(capped(number(x), 50));
    auto file =
        score_head("soft-cap", "cap tanh(score / cap), before the mask",
                   {"Gemma 2, arXiv:2408.00118, 2"}, "soft_cap", text::object().add("cap", 50));
    file.raw("scores", text::settings(scores)).raw("capped", text::numbers(results));
    add(file, "soft-cap");
  }
  for (bool const llama : {true, false}) {
    std::string const name = llama ? "temperature-llama4" : "temperature-mistral";
    std::int64_t const offset = llama ? 1 : 0, step = llama ? 8192 : 16384;
    std::vector<std::int64_t> const positions{0, 1, step - 2, step - 1, step, 131071, 1048575};
    series factors;
    for (auto const p : positions)
      factors.push_back(whole(1) + oracle::log(whole(1 + (p + offset) / step)) / 10);
    auto file =
        score_head(name,
                   llama ? "queries of NoPE layers times 1 + 0.1 ln(1 + floor((p + 1) / 8192))"
                         : "queries times 1 + 0.1 ln(1 + floor(p / 16384))",
                   {llama ? "llama-models, llama4" : "transformers, modeling_ministral3.py"},
                   "position_temperature",
                   text::object()
                       .add("scale", 0.1)
                       .add("floor_scale", static_cast<int>(step))
                       .add("offset", static_cast<int>(offset)));
    file.raw("positions", ints(positions)).raw("factors", text::numbers(factors));
    add(file, name);
  }
  return cases;
}

}  // namespace conformance
