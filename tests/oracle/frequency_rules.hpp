#pragma once

/// Every rule of frequencies, one pair at a time and from its formula. Radians per position, fastest pair first.

#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace oracle {

inline constexpr long double pi = std::numbers::pi_v<long double>;

/// base^(-2i/dim) [Su 2021, section 3.2.2].
inline std::vector<double> default_rule(std::size_t dim, long double base) {
  std::vector<double> f;
  for (std::size_t i = 0; 2 * i < dim; ++i)
    f.push_back(static_cast<double>(std::pow(base, -2.0L * static_cast<long double>(i) / static_cast<long double>(dim))));
  return f;
}

/// f / factor [Chen 2023, section 3.2].
inline std::vector<double> linear_rule(std::vector<double> f, long double factor) {
  for (double& x : f) x = static_cast<double>(x / factor);
  return f;
}

/// base * factor^(dim / (dim - 2)): the last pair then is 1/factor as fast as it was.
inline long double ntk_base(std::size_t dim, long double base, long double factor) {
  return base * std::pow(factor, static_cast<long double>(dim) / static_cast<long double>(dim - 2));
}

/// NTK-aware.
inline std::vector<double> ntk_rule(std::size_t dim, long double base, long double factor) {
  return default_rule(dim, ntk_base(dim, base, factor));
}

/// The base of dynamic NTK at a length, in tokens [transformers, modeling_rope_utils.py]. That of the trained length below it.
inline long double dynamic_ntk_base(std::size_t dim, long double base, long double factor, long double trained, long double length) {
  const long double ratio = length > trained ? length / trained : 1.0L;
  return ntk_base(dim, base, factor * ratio - (factor - 1));
}

inline std::vector<double> dynamic_ntk_rule(std::size_t dim, long double base, long double factor, long double trained,
                                            long double length) {
  return default_rule(dim, dynamic_ntk_base(dim, base, factor, trained, length));
}

/// "ntk" of vLLM without mixed_b, kexue.fm 9706's "NTK-RoPE-fixed": the base times factor, then all frequencies / factor^(2/dim).
inline std::vector<double> ntk_fixed_rule(std::size_t dim, long double base, long double factor) {
  return linear_rule(default_rule(dim, base * factor), std::pow(factor, 2.0L / static_cast<long double>(dim)));
}

/// "NTK-RoPE-mixed" [kexue.fm 9706]: f_i / exp(a (i + 1)^b), a = ln(factor) / (dim/2)^b.
inline std::vector<double> ntk_mixed_rule(std::size_t dim, long double base, long double factor, long double b) {
  std::vector<double> f = default_rule(dim, base);
  const long double a = std::log(factor) / std::pow(static_cast<long double>(dim) / 2, b);
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = static_cast<double>(f[i] / std::exp(a * std::pow(static_cast<long double>(i + 1), b)));
  return f;
}

/// The pair, not a whole number as a rule, that turns `rotations` times in the trained length.
inline long double yarn_pair_of(long double rotations, std::size_t dim, long double base, long double trained) {
  return static_cast<long double>(dim) * std::log(trained / (2 * pi * rotations)) / (2 * std::log(base));
}

/// Pairs up to `low` keep their frequency, pairs from `high` are interpolated.
struct pair_range {
  long double low;
  long double high;
};

inline pair_range yarn_range(std::size_t dim, long double base, long double trained, long double fast, long double slow,
                             bool truncate = true) {
  long double low = yarn_pair_of(fast, dim, base, trained);
  long double high = yarn_pair_of(slow, dim, base, trained);
  if (truncate) low = std::floor(low);
  if (truncate) high = std::ceil(high);
  if (low < 0) low = 0;
  if (high > static_cast<long double>(dim - 1)) high = static_cast<long double>(dim - 1);
  if (low == high) high += 0.001L;
  return {low, high};
}

inline long double ramp(std::size_t pair, pair_range range) {
  const long double x = (static_cast<long double>(pair) - range.low) / (range.high - range.low);
  if (x < 0) return 0;
  return x > 1 ? 1 : x;
}

/// YaRN as its code has it [jquesnelle/yarn; transformers]: the blend is linear in the number of the pair.
inline std::vector<double> yarn_rule(std::size_t dim, long double base, long double factor, long double trained, long double fast = 32,
                                     long double slow = 1, bool truncate = true) {
  std::vector<double> f = default_rule(dim, base);
  const pair_range range = yarn_range(dim, base, trained, fast, slow, truncate);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const long double interpolated = ramp(i, range);
    f[i] = static_cast<double>(f[i] / factor * interpolated + f[i] * (1 - interpolated));
  }
  return f;
}

/// YaRN as its paper has it [Peng 2023, section 3.2]: the blend is linear in the rotations a pair makes in the trained length.
inline std::vector<double> yarn_paper_rule(std::size_t dim, long double base, long double factor, long double trained,
                                           long double alpha = 1, long double beta = 32) {
  std::vector<double> f = default_rule(dim, base);
  for (double& x : f) {
    const long double rotations = trained * x / (2 * pi);
    long double kept = (rotations - alpha) / (beta - alpha);
    if (kept < 0) kept = 0;
    if (kept > 1) kept = 1;
    x = static_cast<double>((1 - kept) * x / factor + kept * x);
  }
  return f;
}

/// 0.1 weight ln(factor) + 1, and 1 for a factor of at most 1 [Peng 2023, section 3.4; DeepSeek's weights].
inline long double yarn_mscale(long double factor, long double weight = 1) {
  return factor > 1 ? 0.1L * weight * std::log(factor) + 1 : 1.0L;
}

/// NTK by parts [jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding]: NTK-aware and linear are blended around one rotation in the
/// trained length (1.25 to 0.75), the result and the unscaled frequencies between 16 and 2 rotations.
inline std::vector<double> ntk_by_parts_rule(std::size_t dim, long double base, long double factor, long double trained,
                                             long double ntk_weight = 1, long double unscaled_weight = 1) {
  const std::vector<double> unscaled = default_rule(dim, base);
  const std::vector<double> ntk = ntk_rule(dim, base, factor);
  const pair_range outer = yarn_range(dim, base, trained, 1.25L, 0.75L);
  const pair_range inner = yarn_range(dim, base, trained, 16, 2);
  std::vector<double> f;
  for (std::size_t i = 0; i < unscaled.size(); ++i) {
    const long double of_ntk = (1 - ramp(i, outer)) * ntk_weight;
    const long double scaled = unscaled[i] / factor * (1 - of_ntk) + ntk[i] * of_ntk;
    const long double of_unscaled = (1 - ramp(i, inner)) * unscaled_weight;
    f.push_back(static_cast<double>(scaled * (1 - of_unscaled) + unscaled[i] * of_unscaled));
  }
  return f;
}

/// f_i / factors_i: the lists of LongRoPE, and the freq_factors of ggml.
inline std::vector<double> per_pair_rule(std::vector<double> f, const std::vector<double>& factors) {
  if (f.size() != factors.size()) throw std::invalid_argument("oracle::per_pair_rule: there must be a factor a pair");
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = static_cast<double>(static_cast<long double>(f[i]) / factors[i]);
  return f;
}

/// LongRoPE [Ding 2024]: the long list for lengths above the trained one.
inline std::vector<double> longrope_rule(std::size_t dim, long double base, const std::vector<double>& short_factors,
                                         const std::vector<double>& long_factors, long double trained, long double length) {
  return per_pair_rule(default_rule(dim, base), length > trained ? long_factors : short_factors);
}

/// sqrt(1 + ln(factor) / ln(trained)), and 1 for a factor of at most 1.
inline long double longrope_attention_factor(long double factor, long double trained) {
  return factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(trained)) : 1.0L;
}

/// Llama 3.1: by wavelength. low_factor = high_factor is a step at wavelength trained / low_factor, above which pairs are divided.
inline std::vector<double> llama3_rule(std::vector<double> f, long double factor, long double low_factor, long double high_factor,
                                       long double trained) {
  for (double& x : f) {
    if (x == 0) continue;
    const long double wavelength = 2 * pi / x;
    if (wavelength < trained / high_factor) continue;
    if (wavelength > trained / low_factor) {
      x = static_cast<double>(x / factor);
    } else if (high_factor > low_factor) {
      const long double kept = (trained / wavelength - low_factor) / (high_factor - low_factor);
      x = static_cast<double>((1 - kept) * x / factor + kept * x);
    }
  }
  return f;
}

/// "proportional" [transformers; Gemma 4], p-RoPE: exponents over the whole head, int(p * head_dim // 2) pairs move, all / factor.
inline std::vector<double> proportional_rule(std::size_t head_dim, long double base, double p, long double factor = 1) {
  std::vector<double> f = linear_rule(default_rule(head_dim, base), factor);
  const double product = p * static_cast<double>(head_dim);  // Python's, rounded to f64; halving is exact
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (static_cast<double>(i) >= std::floor(product / 2)) f[i] = 0;
  }
  return f;
}

/// Resonance RoPE [Wang 2024]: wavelengths rounded to whole positions.
inline std::vector<double> resonance_rule(std::vector<double> f) {
  for (double& x : f) x = static_cast<double>(2 * pi / std::round(2 * pi / x));
  return f;
}

/// Clipped RoPE [Li 2026]: the last `count` frequencies times (1 + cos(u)) / 2, u in even steps from 0 to pi, both included.
inline std::vector<double> raised_cosine_clip_rule(std::vector<double> f, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) {
    const long double u = count > 1 ? pi * static_cast<long double>(j) / static_cast<long double>(count - 1) : 0.0L;
    double& x = f[f.size() - count + j];
    x = j > 0 && j + 1 == count ? 0.0 : static_cast<double>(x * (1 + std::cos(u)) / 2);
  }
  return f;
}

/// FoPE's floor [Hua 2024]: frequencies that do not turn once in the trained length stand still.
inline std::vector<double> fope_floor_rule(std::vector<double> f, long double trained) {
  for (double& x : f) {
    if (x < 2 * pi / trained) x = 0;
  }
  return f;
}

}  // namespace oracle
