#pragma once

/// Every frequency rule, written out from its formula. Symbols: d dims that rotate, b the base, s
/// the factor, O the trained length in tokens; pair i of n = d / 2.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "exact.hpp"

namespace exact {

inline series made(std::size_t pairs, std::function<number(std::int64_t)> const& of) {
  series result;
  for (std::size_t i = 0; i < pairs; ++i) result.push_back(of(static_cast<std::int64_t>(i)));
  return result;
}
inline series changed(series const& f,
                      std::function<number(std::size_t, number const&)> const& by) {
  series result;
  for (std::size_t i = 0; i < f.size(); ++i) result.push_back(by(i, f[i]));
  return result;
}

/// e_i = b^(-2i / d) [Su 2021, 3.2.2], for a base that is given by its logarithm.
inline series geometric_of_log(std::size_t d, number const& ln_base) {
  return made(d / 2, [&](std::int64_t i) {
    return oracle::exp(-(ln_base * ratio(2 * i, static_cast<std::int64_t>(d))));
  });
}
inline series geometric(std::size_t d, double base) {
  return geometric_of_log(d, oracle::log(number(base)));
}

/// b^(-i / (n - 1)): both ends included [tensor2tensor, get_timing_signal_1d].
inline series geometric_inclusive(std::size_t d, double base) {
  auto const ln_base = oracle::log(number(base));
  auto const last = static_cast<std::int64_t>(d / 2 - 1);
  return made(d / 2, [&](std::int64_t i) { return oracle::exp(-(ln_base * ratio(i, last))); });
}

/// pi (1 + i (m / 2 - 1) / (n - 1)) [rotary-embedding-torch, freqs_for = "pixel"].
inline series pixel(std::size_t d, double max_freq) {
  auto const last = static_cast<std::int64_t>(d / 2 - 1);
  return made(d / 2, [&](std::int64_t i) {
    return oracle::pi_in_fixed_point() *
           (whole(1) + (number(max_freq) / 2 - whole(1)) * ratio(i, last));
  });
}

/// f / s [Chen 2023, 3.2].
inline series linear(series const& f, double factor) {
  return changed(f, [&](std::size_t, number const& x) { return x / number(factor); });
}

/// The base b s^(d / (d - 2)) [bloc97 2023].
inline series ntk_by(std::size_t d, double base, number const& factor) {
  auto const D = static_cast<std::int64_t>(d);
  return geometric_of_log(d, oracle::log(number(base)) + oracle::log(factor) * ratio(D, D - 2));
}
inline series ntk(std::size_t d, double base, double factor) {
  return ntk_by(d, base, number(factor));
}

/// The same by s max(L, O) / O - (s - 1), L the length of the sequence [modeling_rope_utils.py].
inline series dynamic_ntk(std::size_t d, double base, double factor, double trained,
                          double length) {
  auto const longest = number(length > trained ? length : trained);
  return ntk_by(d, base, number(factor) * longest / number(trained) - (number(factor) - whole(1)));
}

/// e_i / exp(a (i + 1)^p), a = ln(s) / n^p [kexue.fm 9706; vLLM's mixed_b].
inline series mixed_ntk(std::size_t d, double base, double factor, double b) {
  auto const n = static_cast<std::int64_t>(d / 2);
  return changed(geometric(d, base), [&](std::size_t i, number const& x) {
    auto const share = power(ratio(static_cast<std::int64_t>(i) + 1, n), number(b));
    return x * oracle::exp(-(oracle::log(number(factor)) * share));
  });
}

inline number clamped(number const& x) { return smaller(larger(x, whole(0)), whole(1)); }

struct ramp {
  number low, high;
  number at(std::size_t i) const {
    return clamped((whole(static_cast<std::int64_t>(i)) - low) / (high - low));
  }
};

/// The ramp of YaRN's code, from c(fast) to c(slow), c(r) = d ln(O / (2 pi r)) / (2 ln b)
/// [jquesnelle/yarn; modeling_rope_utils.py].
inline ramp yarn_ramp(std::size_t d, double base, double trained, double fast, double slow,
                      bool truncate) {
  auto const pair_of = [&](double turns) {
    return whole(static_cast<std::int64_t>(d)) *
           oracle::log(number(trained) / (turn() * number(turns))) /
           (oracle::log(number(base)) * whole(2));
  };
  auto low = pair_of(fast), high = pair_of(slow);
  if (truncate) low = whole(floor_of(low)), high = -whole(floor_of(-high));
  low = larger(low, whole(0));
  high = smaller(high, whole(static_cast<std::int64_t>(d) - 1));
  if (!less(low, high) && !less(high, low)) high = high + whole(1) / 1000;
  return {low, high};
}

struct yarn_settings {
  double factor, trained, fast = 32, slow = 1;
  bool truncate = true;
  double extrapolation = 1;  ///< ggml's ext_factor
};

inline series yarn(std::size_t d, double base, yarn_settings const& s) {
  auto const blend = yarn_ramp(d, base, s.trained, s.fast, s.slow, s.truncate);
  return changed(geometric(d, base), [&](std::size_t i, number const& e) {
    auto const kept = (whole(1) - blend.at(i)) * number(s.extrapolation);
    return e / number(s.factor) * (whole(1) - kept) + e * kept;
  });
}

/// 0.1 m ln s + 1 [Peng 2023, 3.4; DeepSeek's m].
inline number yarn_magnitude(double factor, number const& mscale = whole(1)) {
  return factor <= 1 ? whole(1) : mscale * oracle::log(number(factor)) / 10 + whole(1);
}

/// (1 - g) f / s + g f, g rising from 0 at alpha turns within O to 1 at beta [Peng 2023, 3.2]; a
/// step where they are equal.
inline series ntk_by_parts(series const& f, double factor, double trained, double alpha,
                           double beta) {
  return changed(f, [&](std::size_t, number const& x) {
    auto const turns = number(trained) * x / turn();
    auto const g = alpha == beta
                       ? whole(less(turns, number(alpha)) ? 0 : 1)
                       : clamped((turns - number(alpha)) / (number(beta) - number(alpha)));
    return x / number(factor) * (whole(1) - g) + x * g;
  });
}

/// Linear and NTK-aware, blended between 0.75 and 1.25 turns; that and the unscaled ones between 2
/// and 16 [jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding].
inline series part_ntk(std::size_t d, double base, double factor, double trained) {
  auto const inner = yarn_ramp(d, base, trained, 1.25, 0.75, true),
             outer = yarn_ramp(d, base, trained, 16, 2, true);
  auto const middle = ntk(d, base, factor);
  return changed(geometric(d, base), [&](std::size_t i, number const& e) {
    auto const scaled = e / number(factor) * inner.at(i) + middle[i] * (whole(1) - inner.at(i));
    return scaled * outer.at(i) + e * (whole(1) - outer.at(i));
  });
}

/// f_i / factor_i; 1e30 marks a pair that stands [ggml, freq_factors; Ding 2024].
inline series divided(series const& f, std::vector<double> const& factors) {
  return changed(f, [&](std::size_t i, number const& x) {
    return factors[i] >= 1e30 ? whole(0) : x / number(factors[i]);
  });
}

/// sqrt(1 + ln s / ln O) [Ding 2024, published code].
inline number longrope_magnitude(double factor, double trained) {
  if (factor <= 1) return whole(1);
  return power(whole(1) + oracle::log(number(factor)) / oracle::log(number(trained)), ratio(1, 2));
}

/// 2 pi / round(2 pi / f) [Wang 2024, 4.1].
inline series resonance(series const& f) {
  return changed(f, [](std::size_t, number const& x) {
    return turn() / whole(floor_of(turn() / x + ratio(1, 2)));
  });
}

/// The last m frequencies times (1 + cos(pi j / (m - 1))) / 2, j = 0 ... m - 1 [hrlics/CoPE 2026].
inline series raised_cosine_clip(series const& f, std::size_t m) {
  return changed(f, [&](std::size_t i, number const& x) {
    if (i + m < f.size()) return x;
    auto const j = static_cast<std::int64_t>(i + m - f.size());
    auto const last = static_cast<std::int64_t>(m - 1);
    if (j == last) return whole(0);
    return x * (whole(1) + oracle::cos_sin(oracle::pi_in_fixed_point() * ratio(j, last)).first) / 2;
  });
}

/// 0 for less than one turn within O [Hua 2024, 4.2].
inline series fope_floor(series const& f, double trained) {
  return changed(f, [&](std::size_t, number const& x) {
    return less(x, turn() / number(trained)) ? whole(0) : x;
  });
}

/// The first int(p * head_dim // 2) frequencies, the others 0, in Python's floating point [Barbero
/// 2024, appendix].
inline series p_rope(series const& f, double p) {
  auto const kept = std::floor(p * static_cast<double>(2 * f.size()) / 2);
  return changed(f, [&](std::size_t i, number const& x) {
    return static_cast<double>(i) < kept ? x : whole(0);
  });
}

/// One series after another [Flux; Qwen2-VL's vision model].
inline series axial(std::vector<std::size_t> const& dims, double base) {
  series result;
  for (auto const d : dims) {
    for (auto const& x : geometric(d, base)) result.push_back(x);
  }
  return result;
}

}  // namespace exact
