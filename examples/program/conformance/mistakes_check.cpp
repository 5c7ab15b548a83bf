// Every mistake, made in every case where it can be made, is named; and so are mistakes that posenc
// makes when it is told to, by ways of its own.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <posenc/posenc.hpp>
#include <set>
#include <string>
#include <vector>

#include "cases.hpp"
#include "mistakes.hpp"
#include "posenc_engine.hpp"
#include "recipe.hpp"
#include "verdict.hpp"

using namespace conformance;

namespace {

int failures = 0;

void expect(bool holds, std::string const& what) {
  if (!holds) std::printf("%s\n", what.c_str()), ++failures;
}

std::string said(verdict const& v) {
  std::string text = v.is_right ? "right" : v.mistakes.empty() ? "unknown" : "";
  for (auto const& m : v.mistakes) text += (text.empty() ? "" : " + ") + m;
  return text;
}

answers stored_as(answers all, precision p, test_case const& c) {
  for (auto& [field, values] : all)
    for (auto& x : values) x = rounded(x, p);
  // A dump has as many numbers as the case, so none of other pairs.
  std::erase_if(all, [&](auto const& one) {
    auto const wanted = c.expected.find(one.first);
    return wanted == c.expected.end() || wanted->second.size() != one.second.size();
  });
  return all;
}

bool agree(answers const& a, answers const& b, double allowed) {
  for (auto const& [field, values] : a) {
    auto const& other = b.at(field);
    if (other.size() != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::abs(values[i] - other[i]) > allowed * (1 + std::abs(values[i]))) return false;
  }
  return true;
}

// What a named mistake predicts, one of its ways, is what was given.
bool predicts(std::string const& name, test_case const& c, answers const& given,
              set_facts const& facts) {
  bool found = false;
  for (auto const& m : rotary_mistakes()) {
    if (m.name != name) continue;
    m.make(c, recipe_of(c), facts, [&](recipe const& made, std::string const&) {
      if (!is_sound(made)) return;
      auto const predicted = followed(made);
      found = found || agree(given, predicted, 1e-5);
    });
  }
  return found;
}

void check_rotary_mistakes(std::vector<test_case> const& cases, set_facts const& facts) {
  std::set<std::string> named;
  std::size_t made_mistakes = 0;
  for (auto const p : {precision::float64, precision::float32}) {
    for (auto const& c : cases) {
      if (!c.is_rotary || !c.expected.contains("cos")) continue;
      for (auto const& m : rotary_mistakes()) {
        if (m.is_loose) continue;
        m.make(c, recipe_of(c), facts, [&](recipe const& made, std::string const& detail) {
          if (!is_sound(made)) return;
          auto const full = followed(made);
          auto const given = stored_as(full, p, c);
          auto const v = judged(c, given, p, facts);
          if (v.is_right) return;  // nothing that could be seen
          ++made_mistakes;
          bool const is_named = v.mistakes == std::vector<std::string>{m.name};
          if (is_named) named.insert(m.name);
          expect(is_named || (v.mistakes.size() == 1 && predicts(v.mistakes[0], c, given, facts)),
                 std::string(name_of(p)) + ' ' + c.name + ": " + m.name + " (" + detail +
                     ") is taken for " + said(v));
        });
      }
    }
  }
  for (auto const& m : rotary_mistakes())
    expect(m.is_loose || named.contains(m.name), std::string(m.name) + " is never named");
  std::printf("%zu rotary mistakes made, %zu kinds named\n", made_mistakes, named.size());
}

void check_score_mistakes(std::vector<test_case> const& cases, set_facts const& facts) {
  std::set<std::string> named;
  for (auto const& c : cases) {
    if (c.is_rotary) continue;
    for (auto const& m : score_mistakes()) {
      auto const given = stored_as(m.of(c), precision::float32, c);
      if (given.empty()) continue;
      auto const v = judged(c, given, precision::float32, facts);
      if (v.is_right) continue;
      if (v.mistakes == std::vector<std::string>{m.name}) named.insert(m.name);
      expect(!v.mistakes.empty(), c.name + ": " + m.name + " is taken for " + said(v));
    }
  }
  for (auto const& m : score_mistakes())
    expect(named.contains(m.name), std::string(m.name) + " is never named");
}

// --- mistakes that posenc makes ---

std::vector<float> heads_of(test_case const& c) {
  std::vector<float> heads;
  for (auto const& token : c.input)
    for (auto const x : token) heads.push_back(static_cast<float>(x));
  return heads;
}

using rows = posenc::cos_sin_rows<float>;

template <class Layout>
answers rotated_by(test_case const& c, rows const& r, std::size_t first_dim) {
  auto heads = heads_of(c);
  posenc::rotate<Layout>(
      posenc::heads_view<float>(heads.data(),
                                {.tokens = c.input.size(), .heads = 1, .head_dim = c.head_dim}),
      r, posenc::rotary_block::from(first_dim));
  return {{"rotated", numbers(heads.begin(), heads.end())}};
}

std::vector<double> positions_of(test_case const& c, double shift = 0) {
  std::vector<double> result;
  for (auto const& token : c.positions) result.push_back(token.front() + shift);
  return result;
}

// As llama.cpp forms angles: from pair to pair, in float.
answers by_recurrence(test_case const& c) {
  answers result;
  auto const step = std::pow(static_cast<float>(c.setting("rope_theta", 1)),
                             -2.0f / static_cast<float>(2 * c.pairs.size()));
  for (auto const& token : c.positions) {
    auto theta = static_cast<float>(token.front());
    for (std::size_t i = 0; i < c.pairs.size(); ++i, theta *= step) {
      result["cos"].push_back(static_cast<double>(std::cos(theta)));
      result["sin"].push_back(static_cast<double>(std::sin(theta)));
    }
  }
  return result;
}

// As much code in float does it: halves, always.
answers as_halves_in_float(test_case const& c) {
  answers result;
  auto const n = c.pairs.size();
  for (std::size_t t = 0; t < c.input.size(); ++t) {
    auto head = c.input[t];
    for (std::size_t i = 0; i < n; ++i) {
      auto const inv_freq = 1 / std::pow(static_cast<float>(c.setting("rope_theta", 1)),
                                         static_cast<float>(i) / static_cast<float>(n));
      auto const angle = static_cast<float>(c.positions[t].front()) * inv_freq;
      auto const cos = static_cast<double>(std::cos(angle)),
                 sin = static_cast<double>(std::sin(angle));
      auto &x = head[c.first_dim + i], &y = head[c.first_dim + i + n];
      auto const before = x;
      x = rounded(before * cos - y * sin, precision::float32);
      y = rounded(before * sin + y * cos, precision::float32);
    }
    result["rotated"].insert(result["rotated"].end(), head.begin(), head.end());
  }
  return result;
}

answers in_bfloat16(test_case const& c, rows const& r) {
  posenc::cos_sin_view<float> const view = r;
  auto const narrow = [](double x) { return rounded(x, precision::bfloat16); };
  answers result;
  for (std::size_t t = 0; t < c.input.size(); ++t) {
    auto head = c.input[t];
    for (std::size_t i = 0; i < c.pairs.size(); ++i) {
      auto const x = c.input[t][c.pairs[i][0]], y = c.input[t][c.pairs[i][1]];
      auto const cos = narrow(static_cast<double>(view.cos(t)[i])),
                 sin = narrow(static_cast<double>(view.sin(t)[i]));
      head[c.pairs[i][0]] = narrow(narrow(x * cos) - narrow(y * sin));
      head[c.pairs[i][1]] = narrow(narrow(x * sin) + narrow(y * cos));
    }
    result["rotated"].insert(result["rotated"].end(), head.begin(), head.end());
  }
  return result;
}

void check_posencs_mistakes(std::vector<test_case> const& cases, set_facts const& facts) {
  using namespace posenc;
  auto const of = [&](char const* name) {
    return *std::ranges::find(cases, std::string(name), &test_case::name);
  };
  auto const expect_verdict = [&](char const* name, answers const& given,
                                  std::string const& wanted) {
    auto const c = of(name);
    auto const got = said(judged(c, given, precision::float32, facts));
    expect(got == wanted, std::string(name) + ": posenc's " + wanted + " is taken for " + got);
  };
  auto const plain = of("default"), gptj = of("default-interleaved"), yarned = of("yarn");
  auto const f = geometric(32, 1e4);
  auto const y = yarn(32, 1e4, {.factor = 16, .original_length = 4096});
  auto const at = positions_of(plain);
  rows const right(f, at);
  expect_verdict("default", rotated_by<halves>(plain, right, 0), "right");
  expect_verdict("default", rotated_by<interleaved>(plain, right, 0), "interleaved-for-halves");
  expect_verdict("default-interleaved", rotated_by<halves>(gptj, right, 0),
                 "halves-for-interleaved");
  expect_verdict("default", rotated_by<halves>(plain, right.inverse(), 0), "rotates-the-other-way");
  expect_verdict("default", rotated_by<halves>(plain, float_angle_rows(f, at), 0),
                 "angles-in-float");
  expect_verdict("default-interleaved", rotated_by<halves>(gptj, float_angle_rows(f, at), 0),
                 "halves-for-interleaved + angles-in-float");
  expect_verdict("default", rotated_by<halves>(plain, rows(f, positions_of(plain, 1)), 0),
                 "positions-from-1");
  expect_verdict("default", rotated_by<halves>(plain, rows(geometric(32, 5e5), at), 0),
                 "base-of-another");
  expect_verdict("default", rotated_by<halves>(plain, rows(geometric_inclusive(32, 1e4), at), 0),
                 "both-ends-included");
  expect_verdict("yarn", rotated_by<halves>(yarned, rows(y, at), 0), "right");
  expect_verdict("yarn", rotated_by<halves>(yarned, rows(y.with_attention_factor(1), at), 0),
                 "factor-missing");
  expect_verdict(
      "yarn",
      rotated_by<halves>(
          yarned, rows(y.with_attention_factor(y.attention_factor() * y.attention_factor()), at),
          0),
      "factor-twice");
  expect_verdict("yarn", rotated_by<halves>(yarned, rows(y, at).inverse(), 0), "inverse-applied");
  expect_verdict("yarn", rotated_by<halves>(yarned, rows(y, at).transpose(), 0),
                 "rotates-the-other-way");
  expect_verdict("yarn", rotated_by<halves>(yarned, rows(f, at), 0), "rule-missing");
  expect_verdict(
      "yarn",
      rotated_by<halves>(
          yarned, rows(yarn_by_rotations(f, {.factor = 16, .original_length = 4096}), at), 0),
      "published-ramp");
  auto const not_truncated = of("yarn-not-truncated");
  expect_verdict(
      "yarn-not-truncated",
      rotated_by<halves>(not_truncated,
                         rows(yarn(32, 1.5e5, {.factor = 32, .original_length = 4096}), at), 0),
      "ramp-rounded");
  auto const last = of("partial-last-interleaved");
  expect_verdict("partial-last-interleaved",
                 rotated_by<interleaved>(last, rows(geometric(16, 1e4), at), 0),
                 "partial-at-other-end");
  expect_verdict("partial-last-interleaved", rotated_by<interleaved>(last, right, 0),
                 "partial-ignored");
  auto const first = of("partial-first-halves");
  expect_verdict("partial-first-halves", rotated_by<halves>(first, rows(truncated(f, 0.5), at), 0),
                 "p-rope-for-partial");
  for (auto const* name : {"llama3", "proportional", "model-llama-3.1-8b"}) {
    auto const c = of(name);  // without its rope_parameters
    rows const ignorant(geometric(2 * c.pairs.size(), 1e4), positions_of(c));
    expect_verdict(name, rotated_by<halves>(c, ignorant, 0), "scaling-missing + base-of-another");
  }
  auto const queries = of("xpos-queries"), keys = of("xpos-keys");
  auto const next = positions_of(queries, 1);
  expect_verdict("xpos-queries",
                 rotated_by<interleaved>(queries, xpos_query_rows<float>(f, next), 0),
                 "positions-from-1");
  expect_verdict("xpos-keys", rotated_by<interleaved>(keys, xpos_key_rows<float>(f, next), 0),
                 "positions-from-1");
  expect_verdict("default", by_recurrence(plain), "angles-in-float");
  expect_verdict("default", in_bfloat16(plain, right), "arithmetic-in-bfloat16");
  for (auto const* name : {"default", "partial-first-halves", "partial-last-halves"})
    expect_verdict(name, as_halves_in_float(of(name)), "angles-in-float");
  for (auto const* name : {"default-interleaved", "partial-first-interleaved",
                           "partial-last-interleaved", "model-gpt-j-6b"})
    expect_verdict(name, as_halves_in_float(of(name)), "halves-for-interleaved + angles-in-float");
  auto in_half = rotated_by<halves>(plain, right, 0);
  for (auto& x : in_half["rotated"]) x = rounded(x, precision::float16);
  expect_verdict("default", in_half, "arithmetic-in-half");
  // What nobody does is no mistake, nor two of them, of any case.
  for (auto const& c : cases) {
    if (!c.is_rotary || !c.expected.contains("cos")) continue;
    auto nonsense = c.expected.at("rotated");
    for (auto& x : nonsense) x = x * 1.25 + 0.5;
    expect_verdict(c.name.c_str(), {{"rotated", nonsense}}, "unknown");
  }
  // In double, all that float does is a mistake.
  auto const in_float = stored_as(of_posenc(plain, precision::float32), precision::float32, plain);
  auto const v = judged(plain, {{"rotated", in_float.at("rotated")}}, precision::float64, facts);
  expect(said(v) == "arithmetic-in-float", "floats for doubles are taken for " + said(v));
}

// posenc forms angles exactly, at every position, where its frequencies are within 2^-98: not where
// YaRN's ramp has ends in double, nor xPos's gains.
void check_exact_angles(std::vector<test_case> const& cases) {
  for (auto const& c : cases) {
    bool const is_double = (c.type == "yarn" && c.setting("truncate", 1) == 0) || c.type == "xpos";
    if (!c.is_rotary || is_double) continue;
    auto right = recipe_of(c);
    right.has_exact_angles = true, right.before_ramp.clear();
    auto const allowed = bounds(right, precision::float64);
    for (auto const& [field, values] : of_posenc(c, precision::float64)) {
      auto const& wanted = c.expected.at(field);
      for (std::size_t i = 0; i < values.size(); ++i) {
        expect(std::abs(values[i] - wanted[i]) <= allowed.at(field)[i],
               c.name + ": posenc's " + field + '[' + std::to_string(i) + "] is off by " +
                   std::to_string(std::abs(values[i] - wanted[i]) / allowed.at(field)[i]) +
                   " times what is allowed with exact angles");
      }
    }
  }
}

// Tokens that differ are no matter of float angles, neither where a rule ramps nor elsewhere.
void check_bfloat16_positions(std::vector<test_case> const& cases, set_facts const& facts) {
  std::size_t made = 0;
  for (auto const& c : cases) {
    if (!c.is_rotary) continue;
    auto wrong = recipe_of(c);
    wrong.of_positions = precision::bfloat16;
    wrong.of_frequencies = wrong.of_angles = precision::float32;
    auto const moves = [](numbers const& token) {
      return std::ranges::any_of(token, [](double p) {
        // Float angles lose whole tokens beyond.
        return std::abs(p) < 0x1p21 && rounded(p, precision::bfloat16) != p;
      });
    };
    if (std::ranges::none_of(c.positions, moves)) continue;
    ++made;
    auto const given = stored_as(followed(wrong), precision::float32, c);
    auto const v = judged(c, given, precision::float32, facts);
    auto const is_float = [](std::string const& m) { return m == "angles-in-float"; };
    expect(!v.is_right && (v.mistakes.empty() || !std::ranges::all_of(v.mistakes, is_float)),
           c.name + ": bfloat16 positions, then float angles, are taken for " + said(v));
  }
  std::printf("%zu cases with positions in bfloat16\n", made);
}

// Frequencies are held to float at least, however heads are stored.
void check_narrow_frequencies(std::vector<test_case> const& cases, set_facts const& facts) {
  for (auto const p : {precision::float16, precision::bfloat16}) {
    auto const suffix = std::string(p == precision::float16 ? "half" : "bfloat16");
    for (auto const& c : cases) {
      if (!c.is_rotary) continue;
      auto const& right = c.expected.at("inv_freq");
      auto const expect_verdict = [&](answers const& given, std::string const& wanted) {
        auto const got = said(judged(c, given, p, facts));
        expect(got == wanted, c.name + ": " + wanted + " is taken for " + got);
      };
      auto narrow = right, first = right;
      for (auto& f : narrow) f = rounded(f, p);
      std::fill(first.begin() + 1, first.end(), 0.0);
      if (narrow != right) expect_verdict({{"inv_freq", narrow}}, "frequencies-in-" + suffix);
      if (first != right) expect_verdict({{"inv_freq", first}}, "unknown");
      auto const factor = c.expected.at("attention_factor").front();
      if (rounded(factor, p) != factor)
        expect_verdict({{"attention_factor", {rounded(factor, p)}}}, "factor-in-" + suffix);
    }
  }
}

// One wrong number is no arithmetic, and no angles in float.
void check_one_wrong_number(std::vector<test_case> const& cases, set_facts const& facts) {
  for (auto const& c : cases) {
    if (!c.is_rotary) continue;
    for (auto const error : {1e-3, 1e-5}) {
      auto given = stored_as(c.expected, precision::float32, c);
      auto& x = given["rotated"][given["rotated"].size() / 2 + c.pairs.front()[0]];
      x += error * std::max(1.0, std::abs(x));
      auto const got = said(judged(c, given, precision::float32, facts));
      expect(got == "unknown", c.name + ": one wrong number is taken for " + got);
    }
  }
}

// Where a formula gives 0, so does the set.
void check_zeros(std::vector<test_case> const& cases) {
  for (auto const& c : cases)
    for (auto const& [field, values] : c.expected)
      for (auto const x : values)
        expect(x == 0 || std::abs(x) > 1e-75, c.name + ": " + field + " has a number that is 0");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("mistakes_check CASES\n", stderr), 2;
  auto const cases = read_cases(argv[1]);
  auto const facts = facts_of(cases);
  for (auto const p :
       {precision::float64, precision::float32, precision::float16, precision::bfloat16}) {
    for (auto const& c : cases) {
      auto const v = judged(c, of_posenc(c, p), p, facts);
      expect(v.is_right, std::string(name_of(p)) + ' ' + c.name + ": posenc is " + said(v) + ", " +
                             v.field + '[' + std::to_string(v.index) +
                             "]: " + std::to_string(v.got) + " for " + std::to_string(v.expected) +
                             ", " + std::to_string(v.times_allowed) + " times what is allowed");
    }
  }
  check_exact_angles(cases);
  check_zeros(cases);
  check_bfloat16_positions(cases, facts);
  check_narrow_frequencies(cases, facts);
  check_one_wrong_number(cases, facts);
  check_rotary_mistakes(cases, facts);
  check_score_mistakes(cases, facts);
  check_posencs_mistakes(cases, facts);
  std::printf("%zu cases, %d failures\n", cases.size(), failures);
  return failures == 0 ? 0 : 1;
}
