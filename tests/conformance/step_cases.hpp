#pragma once

/// Cases of what a step does to heads: the bytes of a cache's formats, and norms with a rotation,
/// rounded or not.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "exact.hpp"
#include "rotary_case.hpp"
#include "text.hpp"

namespace conformance {

using exact::operator/;
using row = std::vector<double>;

struct step_case {
  std::string name;
  text::object file;
};

// ---- Formats

/// x rounded to `bits` significant bits, of numbers that are normal from `least` on: ties to even.
inline double rounded(double x, int bits, double least) {
  int exponent = 0;
  std::frexp(std::max(std::abs(x), least), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)), exponent - bits);
}
inline double to_float(double x) { return static_cast<double>(static_cast<float>(x)); }
inline double to_half(double x) { return rounded(x, 11, 0x1p-14); }
inline double to_bfloat16(double x) { return rounded(x, 8, 0x1p-126); }

/// The bits of a number that a type of 16 bits has.
inline unsigned bits16(double x, int exponent_bits) {
  int const fraction = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(x, &exponent);
  exponent = std::max(x == 0 ? -bias : exponent, 2 - bias);
  auto const units = static_cast<unsigned>(std::ldexp(std::abs(x), fraction + 1 - exponent));
  return (static_cast<unsigned>(exponent + bias - 2) << fraction) + units + (x < 0 ? 0x8000u : 0u);
}
inline unsigned bits32(double x) {  // normal numbers
  int exponent = 0;
  auto const fraction = std::frexp(std::abs(x), &exponent);
  if (x == 0) return std::signbit(x) ? 0x8000'0000u : 0u;
  return (static_cast<unsigned>(exponent + 125) << 23) +
         static_cast<unsigned>(std::ldexp(fraction, 24)) + (x < 0 ? 0x8000'0000u : 0u);
}
inline double e4m3_number(unsigned code) {
  auto const exponent = static_cast<int>(code >> 3 & 15u);
  auto const fraction = static_cast<double>(code & 7u);
  auto const x = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return code >> 7 != 0 ? -x : x;
}

enum class rounds { to_even, away, to_zero };

/// The code of an integer format. Dies unless floats, too, get it: numbers are exact, or far from
/// where the code changes.
inline long integer_code(double x, rounds how, bool exact) {
  auto const beyond = std::abs(x) - std::floor(std::abs(x)),
             edge = how == rounds::to_zero ? 0 : 0.5;
  auto const distance = std::min(std::abs(beyond - edge), std::abs(beyond - edge - 1));
  if (!exact && distance < 1e-4 && x != 0)
    std::fprintf(stderr, "a code of %.17g is not certain\n", x), std::exit(2);
  return std::lround(how == rounds::to_even ? std::nearbyint(x)
                     : how == rounds::away  ? std::round(x)
                                            : std::trunc(x));
}
inline unsigned e4m3_code(double x, bool truncates, bool flushes = false) {
  unsigned best = 0;
  for (unsigned code = 1; code < 0x7f; ++code) {
    auto const now = std::abs(std::abs(x) - e4m3_number(code)),
               before = std::abs(std::abs(x) - e4m3_number(best));
    if (truncates ? e4m3_number(code) <= std::abs(x)
                  : now < before || (now == before && code % 2 == 0))
      best = code;
  }
  if (flushes && std::abs(x) < 0x1p-6) best = 0;
  return best | (x < 0 ? 0x80u : 0u);
}

struct encoded {
  std::vector<unsigned> bytes, scale_bytes;
  row scale, zero;  ///< of each group

  void little_endian(std::vector<unsigned>& to, unsigned bits, int count) const {
    for (int i = 0; i < count; ++i) to.push_back(bits >> 8 * i & 255u);
  }
};

struct format_case {
  std::string name, covers, source;
  std::size_t head_dim;
  double scale;                   ///< of the tensor; 0: none
  std::array<std::size_t, 3> at;  ///< dim i is in byte at[0] + i / at[1] at[2] + i % at[1]
  row ties;                       ///< two that set the scale, then some
  std::function<encoded(row const&)> encode;
};

inline std::string hex(std::vector<unsigned> const& bytes) {
  std::string result;
  for (auto const byte : bytes)
    result += "0123456789abcdef"[byte >> 4], result += "0123456789abcdef"[byte & 15u];
  return result;
}

inline step_case written(format_case const& c) {
  std::vector<row> heads(4, row(c.head_dim));
  auto const drawn = input_of(3, c.head_dim);
  for (std::size_t i = 0; i < c.head_dim; ++i) {
    // No number but the largest is halfway between two codes, of any format.
    heads[0][i] = (i % 32 == 0 ? 37 : i % 32 == 1 ? -34 : drawn[i]) / 16.0;
    heads[1][i] = i % 32 < 2 ? c.ties[i % 32] : c.ties[2 + i % (c.ties.size() - 2)];
    heads[3][i] = heads[0][i] * 0x1p-20;  // of the least scale
  }
  std::vector<std::string> bytes, scale_bytes;
  std::vector<row> scales, zeros;
  for (auto const& head : heads) {
    auto const e = c.encode(head);
    bytes.push_back(hex(e.bytes)), scale_bytes.push_back(hex(e.scale_bytes));
    scales.push_back(e.scale), zeros.push_back(e.zero);
  }
  auto const rows = [](std::vector<row> const& table) {
    return text::list(table, [](row const& r) {
      return text::list(r, [](double x) { return text::setting(x); });
    });
  };
  auto const strings = [](std::vector<std::string> const& list) {
    return text::list(list, [](std::string const& s) { return text::setting(s); });
  };
  step_case result{"format-" + c.name, {}};
  auto& file = result.file;
  file.add("name", result.name).add("covers", c.covers);
  file.raw("source", text::list(std::vector{c.source},
                                [](std::string const& s) { return text::setting(s); }));
  file.add("encoding", "cache_format").add("format", c.name);
  if (c.scale != 0) file.add("tensor_scale", c.scale);
  file.add("head_dim", c.head_dim).raw("input", rows(heads)).raw("bytes", strings(bytes));
  if (!scale_bytes.front().empty()) file.raw("scale_bytes", strings(scale_bytes));
  if (!scales.front().empty()) {
    file.raw("code_at", text::settings(std::vector<std::size_t>(c.at.begin(), c.at.end())));
    file.raw("scale", text::list(scales, [](row const& r) {
               return text::list(r, [](double x) { return text::digits(x); });
             }));
  }
  if (!zeros.front().empty())
    file.raw("zero", text::list(zeros, [](row const& r) {
               return text::list(r, [](double x) { return text::digits(x); });
             }));
  return result;
}

inline double largest(row const& x, std::size_t first, std::size_t count) {
  double result = 0;
  for (auto i = first; i < first + count; ++i) result = std::max(result, std::abs(x[i]));
  return result;
}

inline std::vector<step_case> format_cases() {
  auto const byte = [](long code) { return static_cast<unsigned>(code) & 255u; };
  auto const q8_0 = [=](bool avx2) {
    return [=](row const& x) {
      encoded e;
      for (std::size_t g = 0; g < x.size(); g += 32) {
        auto const d = to_float(largest(x, g, 32) / 127);
        e.scale.push_back(d), e.little_endian(e.bytes, bits16(to_half(d), 5), 2);
        for (std::size_t i = g; i < g + 32; ++i)
          e.bytes.push_back(byte(
              d == 0 ? 0 : integer_code(x[i] / d, avx2 ? rounds::to_even : rounds::away, d == 1)));
      }
      return e;
    };
  };
  auto const int8 = [=](rounds how) {
    return [=](row const& x) {
      encoded e;
      auto const scale = std::max(to_float(largest(x, 0, x.size()) / 127), to_float(1e-6));
      // As floats: the largest number may be 127 or a little less, which is truncated.
      auto const inverse = to_float(1 / scale);
      for (auto const one : x)
        e.bytes.push_back(byte(how == rounds::to_zero
                                   ? integer_code(to_float(one * inverse), how, true)
                                   : integer_code(one / scale, how, scale == 1)));
      e.scale = {scale}, e.little_endian(e.scale_bytes, bits32(scale), 4);
      return e;
    };
  };
  auto const u8 = [=](row const& x) {
    encoded e;
    auto const [least, most] = std::ranges::minmax(x);
    auto const range = to_float((most - least) / 255), scale = range == 0 ? to_float(1e-4) : range,
               zero = to_float(-least / scale);
    e.little_endian(e.bytes, bits32(scale), 4), e.little_endian(e.bytes, bits32(zero), 4);
    for (auto const one : x)
      e.bytes.push_back(byte(
          std::clamp(integer_code(one / scale + zero, rounds::to_even, scale == 1), 0l, 255l)));
    e.scale = {scale}, e.zero = {zero};
    return e;
  };
  auto const fixed = [=](row const& x) {
    encoded e;
    for (auto const one : x)
      e.bytes.push_back(
          byte(std::clamp(integer_code(one / 0.5, rounds::to_even, true), -128l, 127l)));
    e.scale = {0.5};
    return e;
  };
  auto const e4m3 = [](bool truncates) {
    return [=](row const& x) {
      encoded e;
      for (auto const one : x) e.bytes.push_back(e4m3_code(one / 0.5, truncates));
      e.scale = {0.5};
      return e;
    };
  };
  auto const v4 = [](bool cpu) {
    return [=](row const& x) {
      encoded e;
      auto const plain = x.size() - 64;
      for (std::size_t g = 0; g < plain; g += 64) {
        auto const least = cpu ? 1e-4 : 1e-4 / 448;
        auto const exponent =
            static_cast<int>(std::ceil(std::log2(std::max(largest(x, g, 64) / 448, least))));
        for (auto i = g; i < g + 64; ++i)
          e.bytes.push_back(e4m3_code(std::ldexp(x[i], -exponent), false, cpu));
        e.scale.push_back(std::ldexp(1, exponent));
        e.scale_bytes.push_back(static_cast<unsigned>(exponent + 127));
      }
      for (auto i = plain; i < x.size(); ++i)
        e.little_endian(e.bytes, bits16(to_bfloat16(x[i]), 8), 2);
      e.scale_bytes.push_back(0);
      return e;
    };
  };
  auto const numbers = [](int exponent_bits) {
    return [=](row const& x) {
      encoded e;
      for (auto const one : x)
        e.little_endian(e.bytes,
                        bits16(exponent_bits == 5 ? to_half(one) : to_bfloat16(one), exponent_bits),
                        2);
      return e;
    };
  };
  row const of_127{127,  -127, 0.5,   -0.5,  1.5,    -1.5, 2.5,
                   -2.5, 63.5, -64.5, 126.5, -126.5, 3.25, -3.75},
      of_255{127, -128, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 63.5, -64.5, 126.5, -127.5, 3.25, -3.75},
      of_half{100, -100, 0.25, -0.25, 0.75, -0.75, 1.25, -1.25, 63.75, -64.25, -63.75, 1.6},
      of_e4m3{-448,           448,           8.5,    -9.5,   15.5, 23, -25, 0.00146484375,
              -0.00048828125, 0.00244140625, 1.0625, -1.1875};
  auto of_16 = [](double unit) {
    return row{1,        -1,           1 + unit,      1 + 3 * unit, -1 - unit, -1 - 3 * unit,
               2 - unit, 1 + unit / 2, 1 + 1.5 * unit};
  };
  std::vector<format_case> const all{{"u8_per_head",
                                      "8 bits with a scale and a zero point per head",
                                      "OpenVINO, attn_quant.cpp: quant_u8",
                                      64,
                                      0,
                                      {8, 64, 0},
                                      of_255,
                                      u8},
                                     {"q8_0",
                                      "ties away from zero",
                                      "ggml, ggml-quants.c: quantize_row_q8_0_ref",
                                      64,
                                      0,
                                      {2, 32, 34},
                                      of_127,
                                      q8_0(false)},
                                     {"q8_0_avx2",
                                      "ties to even",
                                      "ggml, arch/x86/quants.c: quantize_row_q8_0",
                                      64,
                                      0,
                                      {2, 32, 34},
                                      of_127,
                                      q8_0(true)},
                                     {"int8_per_head",
                                      "a scale per head, elsewhere",
                                      "vLLM: int8_per_token_head",
                                      64,
                                      0,
                                      {0, 64, 0},
                                      of_127,
                                      int8(rounds::to_even)},
                                     {"int8_per_head_truncated",
                                      "towards zero",
                                      "vLLM: int8_per_token_head, whose store converts",
                                      64,
                                      0,
                                      {0, 64, 0},
                                      of_127,
                                      int8(rounds::to_zero)},
                                     {"int8_static",
                                      "a scale of the tensor; from -128 to 127",
                                      "ONNX Runtime, MLAS, qkv_quant.cpp: QuantizeRowInt8",
                                      64,
                                      0.5,
                                      {0, 64, 0},
                                      of_half,
                                      fixed},
                                     {"e4m3",
                                      "a scale of the tensor; ties to even, at most 448",
                                      "vLLM: fp8_e4m3",
                                      64,
                                      0.5,
                                      {0, 64, 0},
                                      of_e4m3,
                                      e4m3(false)},
                                     {"e4m3_truncated",
                                      "towards zero",
                                      "vLLM, cpu_attn_fp8.hpp",
                                      64,
                                      0.5,
                                      {0, 64, 0},
                                      of_e4m3,
                                      e4m3(true)},
                                     {"deepseek_v4",
                                      "E4M3 in groups of 64 with a power of 2, and 64 of bfloat16",
                                      "vLLM: fp8_ds_mla",
                                      128,
                                      0,
                                      {0, 64, 64},
                                      of_e4m3,
                                      v4(false)},
                                     {"deepseek_v4_cpu",
                                      "no scale below 1e-4, no code below 2^-6",
                                      "sglang, store_cache.cpp",
                                      128,
                                      0,
                                      {0, 64, 64},
                                      of_e4m3,
                                      v4(true)},
                                     {"float16",
                                      "ties to even, subnormal numbers",
                                      "IEEE 754, binary16",
                                      16,
                                      0,
                                      {},
                                      of_16(0x1p-10),
                                      numbers(5)},
                                     {"bfloat16",
                                      "ties to even",
                                      "the upper half of binary32",
                                      16,
                                      0,
                                      {},
                                      of_16(0x1p-7),
                                      numbers(8)}};
  std::vector<step_case> result;
  for (auto const& one : all) result.push_back(written(one));
  return result;
}

// ---- Norms and rotation

struct norm_case {
  std::string name, covers, source;
  std::string kind = "rms", place = "before", eps_place = "inside";
  double eps = 1e-6;
  bool weights = true, plus_one = false, opposite = false;
  std::string layout = "halves";
  bool rounded = false;
  std::vector<std::string> points = {};  ///< of rounding to bfloat16; then what is stored, too
};

/// To bfloat16. Dies unless numbers in float, too, round so.
inline number to_bfloat16(number const& x) {
  auto const near = exact::nearest(x), result = to_bfloat16(near);
  int exponent = 0;
  std::frexp(near, &exponent);
  auto const half = std::ldexp(1, exponent - 9);
  auto const distance = std::abs(std::abs(near - result) - half);
  if (distance > 0 && distance < half * 0x1p-11)  // a product of two of them is exact
    std::fprintf(stderr, "the rounding of %.17g is not certain\n", near), std::exit(2);
  return number(result);
}

inline step_case written(norm_case const& c) {
  constexpr std::size_t dim = 16, pairs = dim / 2;
  row const positions{1, 7, 1000};
  std::vector<number> weight;
  for (std::size_t i = 0; i < dim; ++i)
    weight.push_back(
        exact::ratio(static_cast<std::int64_t>(5 + i * 7 % 8) - (c.plus_one ? 8 : 0), 8));
  auto const at = [&](char const* point, number const& x) {
    return std::ranges::find(c.points, point) != c.points.end() ? to_bfloat16(x) : x;
  };
  auto const norm = [&](series& x) {
    number sum;
    for (auto const& one : x) sum = sum + one * one;
    auto const r = c.kind == "rms" ? sum / exact::whole(dim) : sum, eps = number(c.eps);
    auto const root_of = [](number const& y) { return exact::power(y, exact::ratio(1, 2)); };
    auto const root = c.eps_place == "inside"    ? root_of(r + eps)
                      : c.eps_place == "outside" ? root_of(r) + eps
                                                 : exact::larger(root_of(r), eps);
    for (std::size_t i = 0; i < dim; ++i) {
      x[i] = at("normalised", x[i] / root);
      if (c.weights) x[i] = x[i] * (c.plus_one ? weight[i] + exact::whole(1) : weight[i]);
      x[i] = at("norm", x[i]);
    }
  };
  std::vector<row> inputs;
  std::vector<series> results;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    series x;
    inputs.emplace_back();
    for (auto const drawn : input_of(t + 11, dim)) {
      inputs.back().push_back(drawn / 64.0);
      x.push_back(exact::ratio(drawn, 64));
    }
    if (c.place == "before") norm(x);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const inv_freq =
          exact::power(exact::whole(10000), exact::ratio(-static_cast<std::int64_t>(i), pairs));
      auto const [cos, sin] = oracle::cos_sin(number(positions[t]) * inv_freq);
      auto const cosine = at("cosines", cos), sine = at("cosines", c.opposite ? -sin : sin);
      auto& u = x[c.layout == "halves" ? i : 2 * i];
      auto& v = x[c.layout == "halves" ? i + pairs : 2 * i + 1];
      auto const a = at("products", at("products", u * cosine) - at("products", v * sine)),
                 b = at("products", at("products", u * sine) + at("products", v * cosine));
      u = at("rotated", a), v = at("rotated", b);
    }
    if (c.place == "after") norm(x);
    for (auto& one : x) one = c.rounded ? to_bfloat16(one) : one;
    results.push_back(x);
  }
  auto const strings = [](std::vector<std::string> const& list) {
    return text::list(list, [](std::string const& s) { return text::setting(s); });
  };
  step_case result{c.name, {}};
  auto& file = result.file;
  file.add("name", c.name).add("covers", c.covers).raw("source", strings({c.source}));
  file.add("encoding", "norm_and_rotate");
  text::object settings;
  settings.add("kind", c.kind)
      .add("place", c.place)
      .add("eps", c.eps)
      .add("eps_place", c.eps_place);
  settings.add("plus_one", c.plus_one);
  file.raw("norm", settings.inner());
  if (c.weights) file.raw("weight", text::numbers(weight));
  file.add("rope_theta", 10000.0).add("layout", c.layout).add("opposite", c.opposite);
  if (c.rounded) file.raw("rounding", strings(c.points));
  file.raw("positions", text::settings(positions));
  file.raw("input", text::list(inputs, [](row const& r) { return text::settings(r); }));
  file.raw("result", text::list(results, text::numbers));
  return result;
}

inline std::vector<step_case> norm_cases() {
  std::vector<norm_case> const all{
      {.name = "norm-before",
       .covers = "RMS, weights, then the rotation",
       .source = "transformers: modeling_qwen3.py"},
      {.name = "norm-plus-one",
       .covers = "weights that count from 1",
       .source = "transformers: modeling_gemma3.py",
       .plus_one = true},
      {.name = "norm-after",
       .covers = "the rotation, then RMS and weights",
       .source = "transformers: modeling_hunyuan_v1_dense.py",
       .place = "after"},
      {.name = "norm-after-without-weights",
       .covers = "the rotation, then RMS",
       .source = "transformers: modeling_llama4.py",
       .place = "after",
       .eps = 1e-5,
       .weights = false,
       .layout = "interleaved"},
      {.name = "norm-after-opposite",
       .covers = "rotated by the opposite angle",
       .source = "nanochat: gpt.py",
       .place = "after",
       .weights = false,
       .opposite = true},
      {.name = "norm-l2",
       .covers = "the root of the sum of squares, at least eps",
       .source = "ggml: l2_norm; torch.nn.functional.normalize",
       .kind = "l2",
       .eps_place = "at_least",
       .weights = false},
      {.name = "norm-eps-inside",
       .covers = "an eps that matters",
       .source = "Zhang 2019, arXiv:1910.07467",
       .eps = 0.0625},
      {.name = "norm-eps-outside",
       .covers = "eps beside the root",
       .source = "Zhang 2019, arXiv:1910.07467",
       .eps_place = "outside",
       .eps = 0.0625},
      {.name = "rounding-none",
       .covers = "float until the store",
       .source = "ggml: rms_norm and rope in float",
       .rounded = true},
      {.name = "rounding-separate-calls",
       .covers = "norm and rotation store bfloat16 each",
       .source = "vLLM on CPUs",
       .rounded = true,
       .points = {"norm", "rotated"}},
      {.name = "rounding-hugging-face",
       .covers = "every operation",
       .source = "transformers: modeling_qwen3.py in bfloat16",
       .rounded = true,
       .points = {"normalised", "norm", "cosines", "products", "rotated"}},
      {.name = "rounding-vllm-fused",
       .covers = "rows of bfloat16, else float",
       .source = "vLLM: fused_qknorm_rope_kernel.cu",
       .rounded = true,
       .points = {"cosines", "rotated"}},
      {.name = "rounding-sglang-fused",
       .covers = "after the norm, then in bfloat16",
       .source = "sglang: qknorm_rope.cuh, round_norm_before_rope",
       .rounded = true,
       .points = {"norm", "cosines", "products", "rotated"}}};
  std::vector<step_case> result;
  for (auto const& one : all) result.push_back(written(one));
  return result;
}

}  // namespace conformance
