#pragma once

/// Every frequency rule, one pair at a time, from its formula. Radians per position, fastest pair
/// first.

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "wide.hpp"

namespace oracle {

/// base^(-2i/dim) [Su 2021, section 3.2.2].
inline std::vector<double> default_rule(std::size_t dim, wide base) {
  std::vector<double> f;
  for (std::size_t i = 0; 2 * i < dim; ++i)
    f.push_back(
        static_cast<double>(pow(base, -2.0L * static_cast<wide>(i) / static_cast<wide>(dim))));
  return f;
}

/// f / factor [Chen 2023, section 3.2].
inline std::vector<double> linear_rule(std::vector<double> f, wide factor) {
  for (double& x : f) x = static_cast<double>(x / factor);
  return f;
}

/// base * factor^(dim / (dim - 2)), which divides the last frequency by factor.
inline wide ntk_base(std::size_t dim, wide base, wide factor) {
  return base * pow(factor, static_cast<wide>(dim) / static_cast<wide>(dim - 2));
}

/// NTK-aware.
inline std::vector<double> ntk_rule(std::size_t dim, wide base, wide factor) {
  return default_rule(dim, ntk_base(dim, base, factor));
}

/// The base of dynamic NTK at a length, in tokens [transformers, modeling_rope_utils.py]; below the
/// trained length, that of the trained length.
inline wide dynamic_ntk_base(std::size_t dim, wide base, wide factor, wide trained, wide length) {
  const wide ratio = length > trained ? length / trained : 1.0L;
  return ntk_base(dim, base, factor * ratio - (factor - 1));
}

inline std::vector<double> dynamic_ntk_rule(std::size_t dim, wide base, wide factor, wide trained,
                                            wide length) {
  return default_rule(dim, dynamic_ntk_base(dim, base, factor, trained, length));
}

/// "ntk" of vLLM without mixed_b, kexue.fm 9706's "NTK-RoPE-fixed": the base times factor, then all
/// frequencies / factor^(2/dim).
inline std::vector<double> ntk_fixed_rule(std::size_t dim, wide base, wide factor) {
  return linear_rule(default_rule(dim, base * factor), pow(factor, 2.0L / static_cast<wide>(dim)));
}

/// "NTK-RoPE-mixed" [kexue.fm 9706]: f_i / exp(a (i + 1)^b), a = ln(factor) / (dim/2)^b.
inline std::vector<double> ntk_mixed_rule(std::size_t dim, wide base, wide factor, wide b) {
  std::vector<double> f = default_rule(dim, base);
  const wide a = log(factor) / pow(static_cast<wide>(dim) / 2, b);
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = static_cast<double>(f[i] / exp(a * pow(static_cast<wide>(i + 1), b)));
  return f;
}

/// The index, in general not an integer, of the pair with `rotations` turns in the trained length.
inline wide yarn_pair_of(wide rotations, std::size_t dim, wide base, wide trained) {
  return static_cast<wide>(dim) * log(trained / (2 * pi * rotations)) / (2 * log(base));
}

/// Pairs up to `low` keep their frequency, pairs from `high` are interpolated.
struct pair_range {
  wide low;
  wide high;
};

inline pair_range yarn_range(std::size_t dim, wide base, wide trained, wide fast, wide slow,
                             bool truncate = true) {
  wide low = yarn_pair_of(fast, dim, base, trained);
  wide high = yarn_pair_of(slow, dim, base, trained);
  if (truncate) low = floor(low);
  if (truncate) high = ceil(high);
  if (low < 0) low = 0;
  if (high > static_cast<wide>(dim - 1)) high = static_cast<wide>(dim - 1);
  if (low == high) high += wide(1) / 1000;
  return {low, high};
}

inline wide ramp(std::size_t pair, pair_range range) {
  const wide x = (static_cast<wide>(pair) - range.low) / (range.high - range.low);
  if (x < 0) return 0;
  return x > 1 ? 1 : x;
}

/// YaRN as coded [jquesnelle/yarn; transformers]: the blend is linear in the index of the pair.
inline std::vector<double> yarn_rule(std::size_t dim, wide base, wide factor, wide trained,
                                     wide fast = 32, wide slow = 1, bool truncate = true) {
  std::vector<double> f = default_rule(dim, base);
  const pair_range range = yarn_range(dim, base, trained, fast, slow, truncate);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const wide interpolated = ramp(i, range);
    f[i] = static_cast<double>(f[i] / factor * interpolated + f[i] * (1 - interpolated));
  }
  return f;
}

/// YaRN as published [Peng 2023, section 3.2]: the blend is linear in the turns of a pair in the
/// trained length.
inline std::vector<double> yarn_paper_rule(std::size_t dim, wide base, wide factor, wide trained,
                                           wide alpha = 1, wide beta = 32) {
  std::vector<double> f = default_rule(dim, base);
  for (double& x : f) {
    const wide rotations = trained * x / (2 * pi);
    wide kept = (rotations - alpha) / (beta - alpha);
    if (kept < 0) kept = 0;
    if (kept > 1) kept = 1;
    x = static_cast<double>((1 - kept) * x / factor + kept * x);
  }
  return f;
}

/// 0.1 weight ln(factor) + 1, and 1 for a factor of at most 1 [Peng 2023, section 3.4; DeepSeek's
/// weights].
inline wide yarn_mscale(wide factor, wide weight = 1) {
  return factor > 1 ? wide(1) / 10 * weight * log(factor) + 1 : 1.0L;
}

/// NTK by parts [jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding]: blends NTK-aware and linear
/// around one turn in the trained length (1.25 to 0.75), then that and the unscaled frequencies
/// between 16 and 2 turns.
inline std::vector<double> ntk_by_parts_rule(std::size_t dim, wide base, wide factor, wide trained,
                                             wide ntk_weight = 1, wide unscaled_weight = 1) {
  const std::vector<double> unscaled = default_rule(dim, base);
  const std::vector<double> ntk = ntk_rule(dim, base, factor);
  const pair_range outer = yarn_range(dim, base, trained, 1.25L, 0.75L);
  const pair_range inner = yarn_range(dim, base, trained, 16, 2);
  std::vector<double> f;
  for (std::size_t i = 0; i < unscaled.size(); ++i) {
    const wide of_ntk = (1 - ramp(i, outer)) * ntk_weight;
    const wide scaled = unscaled[i] / factor * (1 - of_ntk) + ntk[i] * of_ntk;
    const wide of_unscaled = (1 - ramp(i, inner)) * unscaled_weight;
    f.push_back(static_cast<double>(scaled * (1 - of_unscaled) + unscaled[i] * of_unscaled));
  }
  return f;
}

/// f_i / factors_i: the lists of LongRoPE, and the freq_factors of ggml.
inline std::vector<double> per_pair_rule(std::vector<double> f,
                                         const std::vector<double>& factors) {
  if (f.size() != factors.size())
    throw std::invalid_argument("oracle::per_pair_rule: there must be a factor a pair");
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = static_cast<double>(static_cast<wide>(f[i]) / factors[i]);
  return f;
}

/// LongRoPE [Ding 2024]: the long list for lengths above the trained one.
inline std::vector<double> longrope_rule(std::size_t dim, wide base,
                                         const std::vector<double>& short_factors,
                                         const std::vector<double>& long_factors, wide trained,
                                         wide length) {
  return per_pair_rule(default_rule(dim, base), length > trained ? long_factors : short_factors);
}

/// sqrt(1 + ln(factor) / ln(trained)), and 1 for a factor of at most 1.
inline wide longrope_attention_factor(wide factor, wide trained) {
  return factor > 1 ? sqrt(1 + log(factor) / log(trained)) : 1.0L;
}

/// Llama 3.1: by wavelength. low_factor = high_factor is a step: pairs of wavelengths above trained
/// / low_factor are divided.
inline std::vector<double> llama3_rule(std::vector<double> f, wide factor, wide low_factor,
                                       wide high_factor, wide trained) {
  for (double& x : f) {
    if (x == 0) continue;
    const wide wavelength = 2 * pi / x;
    if (wavelength < trained / high_factor) continue;
    if (wavelength > trained / low_factor) {
      x = static_cast<double>(x / factor);
    } else if (high_factor > low_factor) {
      const wide kept = (trained / wavelength - low_factor) / (high_factor - low_factor);
      x = static_cast<double>((1 - kept) * x / factor + kept * x);
    }
  }
  return f;
}

/// "proportional" [transformers; Gemma 4], p-RoPE: exponents over the whole head, int(p * head_dim
/// // 2) pairs move, all / factor.
inline std::vector<double> proportional_rule(std::size_t head_dim, wide base, double p,
                                             wide factor = 1) {
  std::vector<double> f = linear_rule(default_rule(head_dim, base), factor);
  const double product =
      p * static_cast<double>(head_dim);  // Python's, rounded to f64; halving is exact
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (static_cast<double>(i) >= std::floor(product / 2)) f[i] = 0;
  }
  return f;
}

/// Resonance RoPE [Wang 2024]: wavelengths rounded to whole positions.
inline std::vector<double> resonance_rule(std::vector<double> f) {
  for (double& x : f) x = static_cast<double>(2 * pi / round(2 * pi / x));
  return f;
}

/// Clipped RoPE [Li 2026]: the last `count` frequencies times (1 + cos(u)) / 2, with u in even
/// steps from 0 to pi, both included.
inline std::vector<double> raised_cosine_clip_rule(std::vector<double> f, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const wide u = count > 1 ? pi * static_cast<wide>(j) / static_cast<wide>(count - 1) : 0.0L;
    double& x = f[f.size() - count + j];
    x = j > 0 && j + 1 == count ? 0.0 : static_cast<double>(x * (1 + cosine(u)) / 2);
  }
  return f;
}

/// FoPE's floor [Hua 2024]: 0 for frequencies of less than one turn in the trained length.
inline std::vector<double> fope_floor_rule(std::vector<double> f, wide trained) {
  for (double& x : f) {
    if (x < 2 * pi / trained) x = 0;
  }
  return f;
}

}  // namespace oracle
