#pragma once

/// The cases of rotary encodings: rules, layouts, parts of a head, axes.

#include <cmath>
#include <string>
#include <vector>

#include "rotary_case.hpp"
#include "rules.hpp"

namespace conformance {

inline std::string const su = "Su 2021, arXiv:2104.09864, 3.2",
                         rope_utils = "transformers, modeling_rope_utils.py",
                         yarn_paper = "Peng 2023, arXiv:2309.00071",
                         yarn_code = "github.com/jquesnelle/yarn", ggml = "ggml, ops.cpp, rope";

/// rope_type and rope_theta.
inline text::object parameters(char const* type, double base) {
  return text::object().add("rope_type", type).add("rope_theta", base);
}

inline std::vector<std::vector<double>> usual_positions() {
  return one_axis({0, 1, 2, 7, 1000, 131071, 1048575});
}

class case_list {
 public:
  rotary_case& add(char const* name, char const* covers, std::vector<std::string> source,
                   text::object const& said, series const& f) {
    cases_.push_back({.name = name,
                      .covers = covers,
                      .source = std::move(source),
                      .rope_parameters = said,
                      .head_dim = 2 * f.size(),
                      .inv_freq = f,
                      .positions = usual_positions()});
    return cases_.back();
  }
  std::vector<rotary_case> const& cases() const { return cases_; }

 private:
  std::vector<rotary_case> cases_;
};

/// Rules that need no trained length: all of a head of 32 dims as halves.
inline void add_series(case_list& to) {
  using namespace exact;
  auto const plain = geometric(32, 1e4);
  to.add("default", "RoPE as published, in halves", {su, "transformers, modeling_llama.py"},
         parameters("default", 1e4), plain);
  to.add("default-interleaved", "RoPE as published, interleaved",
         {su, "transformers, modeling_gptj.py"}, parameters("default", 1e4), plain)
      .layout = "interleaved";
  to.add("default-base-500000", "another base", {su, "Llama 3"}, parameters("default", 5e5),
         geometric(32, 5e5));
  to.add("geometric-inclusive", "both ends of the series included: the last pair has 1 / base",
         {"tensor2tensor, get_timing_signal_1d"}, parameters("geometric_inclusive", 1e4),
         geometric_inclusive(32, 1e4));
  to.add("linear", "position interpolation", {"Chen 2023, arXiv:2306.15595, 3.2", rope_utils},
         parameters("linear", 1e4).add("factor", 4), linear(plain, 4));
  to.add("ntk", "NTK-aware: the base times factor^(d / (d - 2))",
         {"bloc97 2023", yarn_paper + ", 3.1"}, parameters("ntk", 1e4).add("factor", 4),
         ntk(32, 1e4, 4));
  auto& within = to.add("dynamic-within", "dynamic NTK at the trained length: nothing changes",
                        {"emozilla 2023", rope_utils}, parameters("dynamic", 1e4).add("factor", 2),
                        dynamic_ntk(32, 1e4, 2, 4096, 4096));
  within.length = within.trained = 4096;
  auto& beyond = to.add("dynamic-beyond", "dynamic NTK at four times the trained length",
                        {"emozilla 2023", rope_utils}, parameters("dynamic", 1e4).add("factor", 2),
                        dynamic_ntk(32, 1e4, 2, 4096, 16384));
  beyond.length = 16384, beyond.trained = 4096;
  to.add("mixed-ntk", "each pair divided by exp(a (i + 1)^b), b = 0.625",
         {"kexue.fm 9706", "vLLM, ntk_scaling_rope.py"},
         parameters("mixed_ntk", 1e4).add("factor", 8).add("b", 0.625),
         mixed_ntk(32, 1e4, 8, 0.625));
  to.add("resonance", "wavelengths of whole tokens", {"Wang 2024, arXiv:2403.00071, 4.1"},
         parameters("resonance", 1e4), resonance(plain));
  to.add("raised-cosine-clip", "the six slowest pairs fall smoothly to 0", {"hrlics/CoPE 2026"},
         parameters("raised_cosine_clip", 1e4).add("clipped_pairs", 6),
         raised_cosine_clip(plain, 6));
  to.add("truncated", "p-RoPE: the 12 fastest of 16 pairs rotate",
         {"Barbero 2024, arXiv:2410.06205, 6.1"}, parameters("truncated", 1e4).add("p", 0.75),
         p_rope(plain, 0.75));
  to.add("proportional", "Gemma 4's p-RoPE with a factor", {rope_utils + ", proportional"},
         parameters("proportional", 1e6).add("partial_rotary_factor", 0.25).add("factor", 8),
         linear(p_rope(geometric(64, 1e6), 0.25), 8));
  std::vector<double> factors;
  for (int i = 0; i < 16; ++i) factors.push_back(i < 12 ? 1 + 0.25 * i * i : 1e30);
  to.add("freq-factors", "a divisor for each pair; 1e30 marks pairs that stand",
         {ggml + " freq_factors"},
         parameters("divided_by_factors", 1e4).raw("factors", text::settings(factors)),
         divided(plain, factors));
  to.add("pixel", "even steps, for coordinates of an image from -1 to 1",
         {"lucidrains/rotary-embedding-torch, freqs_for = pixel"},
         text::object().add("rope_type", "pixel").add("max_freq", 10), pixel(16, 10))
      .positions = one_axis({-1, -0.75, -0.5, 0, 0.25, 1});
}

/// Rules by turns within the trained length.
inline void add_context_extensions(case_list& to) {
  using namespace exact;
  auto const plain = geometric(32, 1e4);
  auto const trained = "original_max_position_embeddings";
  auto const yarn_said = [&](double base, double factor, double length) {
    return parameters("yarn", base).add("factor", factor).add(trained, length);
  };
  std::vector<std::string> const source{yarn_code, rope_utils + ", yarn", yarn_paper + ", 3.4"};
  auto const yarn_case = [&](char const* name, char const* covers, text::object const& said,
                             yarn_settings const& s, double base = 1e4) -> rotary_case& {
    auto& made = to.add(name, covers, source, said, yarn(32, base, s));
    made.attention_factor = yarn_magnitude(s.factor);
    return made;
  };
  yarn_case("yarn", "YaRN as coded; factor 0.1 ln s + 1 on rotated queries and on rotated keys",
            yarn_said(1e4, 16, 4096), {.factor = 16, .trained = 4096});
  yarn_case("yarn-not-truncated", "the ramp's ends are not rounded: gpt-oss",
            yarn_said(1.5e5, 32, 4096).add("truncate", false),
            {.factor = 32, .trained = 4096, .truncate = false}, 1.5e5);
  yarn_case("yarn-equal-betas", "a step: both ends of the ramp in one pair, as in Kimi K2",
            yarn_said(5e4, 32, 4096).add("beta_fast", 1).add("beta_slow", 1),
            {.factor = 32, .trained = 4096, .fast = 1, .slow = 1}, 5e4);
  yarn_case("yarn-mscale", "DeepSeek-V3: mscale = mscale_all_dim, so that heads get no factor",
            yarn_said(1e4, 40, 4096).add("mscale", 1).add("mscale_all_dim", 1),
            {.factor = 40, .trained = 4096})
      .attention_factor = whole(1);
  yarn_case("yarn-two-mscales", "mscale and mscale_all_dim differ: a quotient",
            yarn_said(1e4, 40, 4096).add("mscale", 1).add("mscale_all_dim", 0.5),
            {.factor = 40, .trained = 4096})
      .attention_factor = yarn_magnitude(40) / yarn_magnitude(40, ratio(1, 2));
  yarn_case("yarn-attention-factor", "attention_factor is given",
            yarn_said(1e4, 16, 4096).add("attention_factor", 1.5), {.factor = 16, .trained = 4096})
      .attention_factor = ratio(3, 2);
  yarn_case("yarn-extrapolation", "half of what the ramp keeps: ggml's ext_factor",
            yarn_said(1e4, 16, 4096).add("extrapolation", 0.5),
            {.factor = 16, .trained = 4096, .extrapolation = 0.5})
      .source = {ggml + " ext_factor"};
  to.add("yarn-by-rotations", "YaRN as its paper has it: the ramp runs over turns, not over pairs",
         {yarn_paper + ", 3.2"},
         parameters("yarn_by_rotations", 1e4).add("factor", 16).add(trained, 4096),
         ntk_by_parts(plain, 16, 4096, 1, 32))
      .attention_factor = yarn_magnitude(16);
  to.add("ntk-by-parts", "the same without a factor, other turns", {yarn_paper + ", 3.2"},
         parameters("ntk_by_parts", 1e4)
             .add("factor", 16)
             .add(trained, 4096)
             .add("alpha", 2)
             .add("beta", 24),
         ntk_by_parts(plain, 16, 4096, 2, 24));
  to.add("part-ntk", "linear, NTK-aware and unscaled, blended along two ramps",
         {yarn_code + ", LlamaPartNTKScaledRotaryEmbedding"},
         parameters("part_ntk", 1e4).add("factor", 16).add(trained, 4096),
         part_ntk(32, 1e4, 16, 4096));
  auto const llama3_said = [&](double factor, double low, double high) {
    return parameters("llama3", 5e5)
        .add("factor", factor)
        .add("low_freq_factor", low)
        .add("high_freq_factor", high)
        .add(trained, 8192);
  };
  to.add("llama3", "kept, blended or divided, by wavelength",
         {"llama-models, model.py", rope_utils}, llama3_said(8, 1, 4),
         ntk_by_parts(geometric(32, 5e5), 8, 8192, 1, 4));
  to.add("llama3-step",
         "equal factors, where most code divides 0 by 0: a step, as in Llama 4 Scout",
         {"llama-models, llama4"}, llama3_said(16, 1, 1),
         ntk_by_parts(geometric(32, 5e5), 16, 8192, 1, 1));
  std::vector<double> of_short, of_long;
  for (int i = 0; i < 16; ++i) of_short.push_back(1 + i / 16.0), of_long.push_back(1 + i * i / 8.0);
  for (bool const is_long : {false, true}) {
    auto& one = to.add(is_long ? "longrope-long" : "longrope-short",
                       is_long ? "the long list, for sequences beyond the trained length"
                               : "the short list, with the same attention factor",
                       {"Ding 2024, arXiv:2402.13753", rope_utils + ", longrope"},
                       parameters("longrope", 1e4)
                           .add("factor", 32)
                           .add(trained, 4096)
                           .raw("short_factor", text::settings(of_short))
                           .raw("long_factor", text::settings(of_long)),
                       divided(plain, is_long ? of_long : of_short));
    one.attention_factor = longrope_magnitude(32, 4096);
    one.length = is_long ? 8192 : 4096;
  }
  to.add("fope-floor", "pairs of less than one turn within the trained length stand",
         {"Hua 2024, arXiv:2412.17739, 4.2"}, parameters("fope_floor", 1e4).add(trained, 512),
         fope_floor(plain, 512));
}

/// Where in a head the rotary block is, and positions out of the ordinary.
inline void add_layouts(case_list& to) {
  using namespace exact;
  auto const part = [&](char const* name, char const* covers, std::vector<std::string> source,
                        std::size_t dims, std::size_t first, char const* layout) -> rotary_case& {
    auto& one = to.add(
        name, covers, std::move(source),
        parameters("default", 1e4).add("partial_rotary_factor", static_cast<double>(dims) / 32),
        geometric(dims, 1e4));
    one.head_dim = 32, one.first_dim = first, one.layout = layout;
    return one;
  };
  part("partial-first-halves", "the first half of a head rotates, as halves of that part",
       {"transformers, modeling_gpt_neox.py, modeling_phi.py"}, 16, 0, "halves");
  part("partial-first-interleaved", "the first quarter of a head rotates, interleaved",
       {"transformers, modeling_gptj.py, modeling_glm.py"}, 8, 0, "interleaved");
  part("partial-last-halves", "the last half of a head rotates, as halves of that part",
       {"transformers, modeling_minicpm3.py"}, 16, 16, "halves");
  part("partial-last-interleaved", "the last dims rotate, interleaved: DeepSeek's MLA",
       {"transformers, modeling_deepseek_v3.py"}, 16, 16, "interleaved");
  part("partial-middle", "a block within the head", {"ggml, ggml_rope_set_offset"}, 16, 8,
       "halves");
  auto& scaled =
      part("partial-yarn-last", "YaRN on the last dims, by its factor; the others stay as they are",
           {yarn_code, "transformers, modeling_deepseek_v2.py"}, 16, 16, "interleaved");
  scaled.rope_parameters = parameters("yarn", 1e4)
                               .add("factor", 40)
                               .add("original_max_position_embeddings", 4096)
                               .add("partial_rotary_factor", 0.5);
  scaled.inv_freq = yarn(16, 1e4, {.factor = 40, .trained = 4096});
  scaled.attention_factor = yarn_magnitude(40);
  auto& negative = to.add("negative-positions", "positions before 0", {su},
                          parameters("default", 1e4), geometric(16, 1e4));
  negative.positions = one_axis({-1, -7, -1000, -131071});
  auto& far = to.add("far-positions", "positions up to 2^31 - 1", {su}, parameters("default", 1e4),
                     geometric(16, 1e4));
  far.positions = one_axis({0, 16777215, 16777217, 268435455, 2147483647});
  for (bool const of_keys : {false, true}) {
    auto& one = to.add(of_keys ? "xpos-keys" : "xpos-queries",
                       of_keys ? "xPos on keys: the reciprocal gain"
                               : "xPos on queries: each pair times its own gain",
                       {"Sun 2022, arXiv:2212.10554, 3.2", "torchscale, xpos_relative_position.py"},
                       parameters("xpos", 1e4)
                           .add("gamma", 0.4)
                           .add("scale_base", 512)
                           .add("encodes", of_keys ? "keys" : "queries"),
                       geometric(32, 1e4));
    one.layout = "interleaved";
    one.positions = one_axis({0, 1, 2, 7, 512, 4095});
    one.gain = [of_keys](std::size_t pair, double position) {
      // zeta = (2i + gamma d) / ((1 + gamma) d)
      auto const zeta = (whole(2 * static_cast<std::int64_t>(pair)) + ratio(2, 5) * whole(32)) /
                        (ratio(7, 5) * whole(32));
      return power(zeta, number(of_keys ? -position : position) / 512);
    };
  }
}

/// Positions of several axes.
inline void add_axes(case_list& to) {
  using namespace exact;
  using axes = std::vector<std::size_t>;
  // Text, an image, far text with a distant frame: [time, height, width].
  std::vector<std::vector<double>> const thw{{0, 0, 0},
                                             {1, 1, 1},
                                             {5, 5, 5},
                                             {5, 7, 11},
                                             {5, 30, 6},
                                             {900, 17, 43},
                                             {131071, 131071, 131071}};
  auto const sections = [&](char const* name, char const* covers, std::vector<std::string> source,
                            text::object const& said, std::size_t dims, double base,
                            axes axis_of_pair, char const* layout) -> rotary_case& {
    auto& one = to.add(name, covers, std::move(source), said, geometric(dims, base));
    one.layout = layout, one.axis_of_pair = std::move(axis_of_pair), one.positions = thw;
    return one;
  };
  auto const said = [&](double base, std::vector<std::size_t> const& lengths) {
    return parameters("default", base).raw("mrope_section", text::settings(lengths));
  };
  sections("mrope-sections", "M-RoPE: pairs in sections of time, height, width; axes [t, h, w]",
           {"Qwen2-VL, arXiv:2409.12191, 2.1", "transformers, modeling_qwen2_vl.py"},
           said(1e6, {4, 6, 6}), 32, 1e6, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2},
           "halves");
  sections("mrope-sections-interleaved", "the same sections, with interleaved dims: GLM-4V",
           {"transformers, modeling_glm4v.py"}, said(1e4, {4, 6, 6}), 32, 1e4,
           {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, "interleaved");
  sections("mrope-interleaved", "axes alternate while their sections last, then time: Qwen3-VL",
           {"transformers, modeling_qwen3_vl.py, apply_interleaved_mrope"},
           said(5e6, {6, 5, 5}).add("mrope_interleaved", true), 32, 5e6,
           {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, "halves");
  auto& part = sections(
      "mrope-interleaved-partial", "the same on the first quarter of a head: Qwen3.5",
      {"transformers, modeling_qwen3_5.py"},
      said(1e7, {3, 3, 2}).add("mrope_interleaved", true).add("partial_rotary_factor", 0.25), 16,
      1e7, {0, 1, 2, 0, 1, 2, 0, 1}, "halves");
  part.head_dim = 64;
  sections("mrope-alternating", "height and width alternate, then time: ERNIE 4.5 VL's [h, w, t]",
           {"transformers, modeling_ernie4_5_vl_moe.py", "vLLM, ernie45_vl_rope.py"},
           parameters("ernie_3d", 5e5).raw("mrope_section", text::settings(axes{5, 5, 6})), 32, 5e5,
           {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0}, "interleaved");
  std::vector<std::vector<double>> const yx{{0, 0}, {0, 1}, {1, 0}, {3, 17}, {62, 35}, {511, 1023}};
  auto& vision = to.add(
      "axial-vision", "each axis has a series of its own from the start; halves of the whole head",
      {"transformers, modeling_qwen2_vl.py, VisionRotaryEmbedding", "ggml, GGML_ROPE_TYPE_VISION"},
      parameters("axial", 1e4).raw("axis_dims", text::settings(axes{16, 16})),
      axial({16, 16}, 1e4));
  vision.axis_of_pair = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, vision.positions = yx;
  auto& blocks =
      to.add("axial-blocks", "halves inside each axis's block of the head: Gemma 4's vision model",
             {"transformers, modeling_gemma4.py, vision"},
             parameters("axial", 100).raw("axis_dims", text::settings(axes{16, 16})),
             axial({16, 16}, 100));
  blocks.axis_of_pair = vision.axis_of_pair, blocks.positions = yx, blocks.blocks = 2;
  auto& flux = to.add("axial-interleaved", "three axes of unequal parts, interleaved: Flux",
                      {"black-forest-labs/flux, math.py", "diffusers, transformer_flux.py"},
                      parameters("axial", 1e4).raw("axis_dims", text::settings(axes{4, 14, 14})),
                      axial({4, 14, 14}, 1e4));
  flux.layout = "interleaved", flux.axis_of_pair = {0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2};
  flux.positions = {{0, 0, 0}, {0, 3, 17}, {1, 62, 35}, {4, 511, 1023}};
}

inline std::vector<rotary_case> rotary_cases() {
  case_list cases;
  add_series(cases), add_context_extensions(cases), add_layouts(cases), add_axes(cases);
  return cases.cases();
}

}  // namespace conformance
