// The parameters of ggml's op GGML_OP_ROPE, and the frequencies and axes that they say.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// ggml's names, types and defaults (of ggml_rope). [ggml.h, ggml_rope_ext, ggml_rope_multi,
/// ggml_rope_set_offset]
struct ggml_rope_parameters {
  std::int32_t n_dims = 0;                    ///< dims that are rotated; for VISION half of them
  std::int32_t mode = 0;                      ///< 0 NORMAL, 2 NEOX, 8 MROPE, 24 VISION, 40 IMROPE
  std::int32_t n_ctx_orig = 0;                ///< YaRN's trained context, in tokens
  float freq_base = 10000;                    ///< of the geometric series
  float freq_scale = 1;                       ///< on frequencies: 1 / factor
  float ext_factor = 0;                       ///< how much of YaRN: 0 none
  float attn_factor = 1;                      ///< on cosines and sines
  float beta_fast = 32;                       ///< as yarn_scaling has it
  float beta_slow = 1;                        ///< as yarn_scaling has it
  std::array<std::int32_t, 4> sections = {};  ///< pairs of t, h, w, e: of MROPE, VISION, IMROPE
  std::int32_t n_offs = 0;                    ///< the first dim that is rotated

  /// From the op_params of a tensor, 16 words.
  static ggml_rope_parameters of(std::int32_t const* op_params) noexcept {
    std::array<std::int32_t, 14> words{op_params[1], op_params[2]};  // 0 and 3 are not used
    std::copy_n(op_params + 4, 12, words.begin() + 2);
    return detail::bit_cast<ggml_rope_parameters>(words);
  }

  bool is_interleaved() const noexcept { return mode == 0; }        ///< else halves
  bool has_axes() const noexcept { return (mode & 8) != 0; }        ///< MROPE, VISION, IMROPE
  bool is_vision() const noexcept { return mode == 24; }            ///< each axis from pair 0 on
  bool alternates_axes() const noexcept { return mode == 40; }      ///< IMROPE: t h w t h w ...
  std::size_t axes() const noexcept { return has_axes() ? 4 : 1; }  ///< positions per token
  /// How many pairs of a head are rotated. n_dims must not be negative; this is not checked.
  std::size_t pairs() const noexcept {
    return static_cast<std::size_t>(is_vision() ? n_dims : n_dims / 2);
  }
  /// The pairs of t, h, w, e; none must be negative, as above.
  std::array<std::size_t, 4> section_pairs() const noexcept {
    std::array<std::size_t, 4> pairs;
    std::copy(sections.begin(), sections.end(), pairs.begin());
    return pairs;
  }
};

namespace detail {

/// Throws unless the op takes the parameters with a head of that size.
inline void require_ggml_rope(ggml_rope_parameters const& p, std::size_t head_dim) {
  auto const m = p.mode;
  require(m == 0 || m == 2 || m == 8 || m == 24 || m == 40,
          "ggml_rope: mode must be 0 (NORMAL), 2 (NEOX), 8 (MROPE), 24 (VISION) or 40 (IMROPE), "
          "got ",
          m);
  require(p.n_dims > 0 && p.n_dims % 2 == 0, "ggml_rope: n_dims must be even and positive, got ",
          p.n_dims);
  require(p.n_offs >= 0 && p.n_offs % 2 == 0,
          "ggml_rope: n_offs must be even and not negative, got ", p.n_offs);
  auto const dims = static_cast<std::size_t>(p.n_dims), offset = static_cast<std::size_t>(p.n_offs);
  bool const fits = dims <= head_dim && offset <= head_dim - dims,
             is_half = 2 * dims == head_dim && offset == 0;
  require(fits && (is_half || !p.is_vision()), "ggml_rope: n_dims ",
          fits ? "of VISION must be half of the head and n_offs 0" : "must fit into the head",
          ", got ", dims, " from dim ", offset, " on, of head_dim ", head_dim);
  if (!p.has_axes()) return;
  std::size_t sum = 0;
  for (auto const pairs : p.sections) {
    require(pairs >= 0, "ggml_rope: a section must not be negative, got ", pairs);
    sum += static_cast<std::size_t>(pairs);
  }
  require(sum <= head_dim, "ggml_rope: the sum of the sections must be at most head_dim ", head_dim,
          ", got ", sum);
  require(sum > p.section_pairs()[3],
          "ggml_rope: one of the first three sections must be positive, got 0, 0, 0");
}

inline void require_ggml_number(char const* name, float x) {
  require_positive("ggml_rope", name, static_cast<double>(x));
}

/// The interval in which YaRN's ramp rises: a step at its start unless its end is beyond that, and
/// at 0 for a context of 0.
inline yarn_ramp ggml_ramp(ggml_rope_parameters const& p) {
  require(p.n_ctx_orig >= 0, "ggml_rope: n_ctx_orig must not be negative, got ", p.n_ctx_orig);
  require_ggml_number("beta_fast", p.beta_fast);
  require_ggml_number("beta_slow", p.beta_slow);
  auto const base = static_cast<double>(p.freq_base);
  require(base > 1, "ggml_rope: freq_base must be above 1 if ext_factor is not 0, got ", base);
  if (p.n_ctx_orig == 0) return {0, 0.001};
  auto const ramp = ramp_of_yarn(static_cast<std::size_t>(p.n_dims), base,
                                 {.factor = 1,
                                  .original_length = static_cast<double>(p.n_ctx_orig),
                                  .beta_fast = static_cast<double>(p.beta_fast),
                                  .beta_slow = static_cast<double>(p.beta_slow)});
  return {ramp.first, std::max(ramp.last, ramp.first + 0.001)};
}

/// The power of base^(-2 / n_dims) that is each pair's frequency: its index, for VISION from the
/// start of its section. If several sections start at the same pair, ggml restarts only the first
/// one.
inline std::vector<std::size_t> ggml_powers(ggml_rope_parameters const& p, pair_axes const& axes) {
  std::vector<std::size_t> powers(axes.pairs());
  auto const [t, h, w, e] = p.section_pairs();
  std::array<std::size_t, 4> const starts{0, t, t + h, t + h + w};
  std::array<std::size_t, 4> next{};
  for (std::size_t pair = 0; pair < powers.size(); ++pair) {
    if (p.is_vision()) {
      auto const start = std::ranges::find(starts, pair % (starts[3] + e));
      if (start != starts.end()) next[static_cast<std::size_t>(start - starts.begin())] = 0;
    }
    powers[pair] = next[axes.axis(pair)];
    for (auto& power : next) ++power;
  }
  return powers;
}

}  // namespace detail

/// Which of the positions t, h, w, e each pair rotates by; the first one without axes.
/// Throws std::invalid_argument unless mode is one of the five, n_dims is even, positive and fits
/// into the head with n_offs (VISION: is half of the head, n_offs 0), and, with axes, the sections
/// are not negative, not all 0 (the fourth does not count) and have a sum of at most head_dim.
inline pair_axes ggml_pair_axes(ggml_rope_parameters const& p, std::size_t head_dim) {
  detail::require_ggml_rope(p, head_dim);
  if (!p.has_axes()) return pair_axes(std::vector<std::size_t>(p.pairs()));
  return p.alternates_axes() ? ggml_interleaved_axes(p.section_pairs(), p.pairs())
                             : ggml_axes(p.section_pairs(), p.pairs());
}

/// With e_i = freq_base^(-2i / n_dims) / freq_factors_i, of VISION with i from the start of the
/// pair's section,
///
///     inv_freq_i = freq_scale e_i (1 - kept_i) + e_i kept_i
///     kept_i = ext_factor (1 - clamp((i - first) / (last - first), 0, 1))        as in yarn
///     attention_factor = attn_factor (1 + 0.1 ln(1 / freq_scale))    attn_factor if ext_factor = 0
///
/// A freq_scale above 1 lowers the attention factor, which yarn's does not. The ramp's ends are
/// rounded outwards from doubles, where ggml has floats. [ggml, ops.cpp] A factor of 1e30 or more
/// stops its pair, as in divided_by_factors.
/// Throws as ggml_pair_axes does, and unless freq_base, freq_scale, attn_factor, and the attention
/// factor are finite and positive, ext_factor is in [0, 1], and there is no factor or at least one
/// per pair, finite and positive. If ext_factor is not 0: also unless n_ctx_orig is not negative,
/// the betas are finite and positive, and freq_base is above 1.
inline frequencies ggml_frequencies(ggml_rope_parameters const& p, std::size_t head_dim,
                                    std::span<float const> freq_factors = {}) {
  auto const axes = ggml_pair_axes(p, head_dim);
  detail::require_ggml_number("freq_base", p.freq_base);
  detail::require_ggml_number("freq_scale", p.freq_scale);
  detail::require_ggml_number("attn_factor", p.attn_factor);
  auto const kept = static_cast<double>(p.ext_factor), scale = static_cast<double>(p.freq_scale);
  detail::require_within("ggml_rope", "ext_factor", kept, 0, 1);
  auto const pairs = p.pairs();
  detail::require(freq_factors.empty() || freq_factors.size() >= pairs,
                  "ggml_rope: freq_factors must have one for each of the ", pairs, " pairs, got ",
                  freq_factors.size());

  auto const series = detail::geometric_series("ggml_rope", 2 * pairs,
                                               static_cast<double>(p.freq_base), p.n_dims / 2.0);
  auto const powers = detail::ggml_powers(p, axes);
  auto f = detail::for_pairs(pairs, 1,
                             [&](std::size_t i) { return detail::with_rest(series, powers[i]); });
  if (!freq_factors.empty()) {
    auto const first = freq_factors.first(pairs);
    f = detail::divided("ggml_rope: freq_factors", f,
                        std::vector<double>(first.begin(), first.end()), 1);
  }
  auto const ramp = kept == 0 ? yarn_ramp{0, 1} : detail::ggml_ramp(p);
  auto const factor =
      static_cast<double>(p.attn_factor) * (kept == 0 ? 1 : 1 - 0.1 * std::log(scale));
  detail::require(factor > 0,
                  "ggml_rope: attn_factor (1 - 0.1 ln freq_scale) must be positive, got ", factor);
  return detail::changed(
      f,
      [&](std::size_t i, auto const& e) {
        auto const scaled = e * scale;
        return kept == 0 ? scaled : detail::blended(ramp, i, e, scaled, kept);
      },
      factor);
}

}}  // namespace posenc
