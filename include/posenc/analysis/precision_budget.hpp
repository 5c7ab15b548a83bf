// How far off angles, rows, scores and weights are, by how an engine forms its angles.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// An angle as an engine has it, radians: angle + rest, |rest| at most half an ULP of it.
struct formed_angle {
  double angle, rest = 0;  ///< in radians
};

namespace detail {

/// The largest relative error of rounding to T once.
template <storable T>
constexpr double unit_roundoff() {
  using format = storage_format_t<T>;
  if (std::same_as<format, double>) return 0x1p-53;
  if (std::same_as<format, float>) return 0x1p-24;
  return std::same_as<format, half> ? 0x1p-11 : 0x1p-8;
}

/// The largest error of storing x >= 0 as T after rounding it to float.
template <storable T>
double most_off(double x) {
  constexpr double u = unit_roundoff<T>(), of_float = unit_roundoff<float>();
  constexpr bool is_half = std::same_as<storage_format_t<T>, half>;
  require(!is_half || x < 65520, "rounded_angles: numbers must be below 65520 for half, got ", x);
  // A subnormal number is off by half the smallest one.
  constexpr double of_smallest = is_half ? 0x1p-25 : u == 0x1p-8 ? 0x1p-134 : 0x1p-150;
  return x * (of_float + (u > of_float ? u * (1 + of_float) : 0)) + of_smallest;
}

}  // namespace detail

/// How angles are formed: of every pair, at a position of 0 or more.
template <class H>
concept forms_angles = requires(H const& how, frequencies const& f, std::int64_t position,
                                std::span<formed_angle> angles) {
  how(f, position, angles);
};

/// posenc: position * (inv_freq + rest), not rounded.
struct exact_angles {
  /// Writes the angle of every pair at a position; angles: [pairs].
  void operator()(frequencies const& f, std::int64_t at, std::span<formed_angle> angles) const {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const product = detail::two_doubles(static_cast<double>(at)) * detail::with_rest(f, i);
      angles[i] = {product.high, product.low};
    }
  }
  /// The largest error of an angle of rows, in radians: frequencies are truncated at 2^-96 turns
  /// per token, a phase at 2^-64 turns. 5e-19 at position 2^31, 8e-10 at 2^63.
  double bound(double inv_freq, std::int64_t at) const {
    constexpr double turn = 2 * std::numbers::pi;
    return turn * 0x1p-64 + static_cast<double>(at) * (turn * 0x1p-96 + inv_freq * 0x1p-98);
  }
};

namespace detail {
template <storable T>
double as_stored(double number) {
  T result{};
  store(result, stored(static_cast<arithmetic_t<T>>(number)));
  return static_cast<double>(load(result));
}
}  // namespace detail

/// float(float(P(position)) * float(F(inv_freq))): position and frequency stored as P and F, their
/// product in float.
///
///     float_angles = rounded_angles<float, float>    Hugging Face, vLLM
///     rounded_angles<float, bfloat16>                model.to(bfloat16) took inv_freq along
///     rounded_angles<bfloat16, float>                positions were cast: 257 becomes 256
template <storable P, storable F>
struct rounded_angles {
  /// As exact_angles does.
  void operator()(frequencies const& f, std::int64_t at, std::span<formed_angle> angles) const {
    auto const as_float = [](double x) { return static_cast<float>(x); };
    auto const p = as_float(detail::as_stored<P>(static_cast<double>(at)));
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const inv_freq = as_float(detail::as_stored<F>(f.inv_freq()[i]));
      angles[i] = {static_cast<double>(detail::stored(p * inv_freq))};
    }
  }
  /// The largest error of an angle, in radians, for any frequency near this one: the frequency is
  /// rounded, the product too, and the position from 2^24 on. For float_angles
  ///
  ///     at * inv_freq * 2^-23     below position 2^24, and 1.5 times that beyond it
  ///
  /// so that a pair is off by at * 2^-23 tokens: by a whole token at 8,388,608, for any base.
  /// Throws std::invalid_argument if the position or the frequency overflows half.
  double bound(double inv_freq, std::int64_t at) const {
    auto const p = static_cast<double>(at);
    bool const is_exact = p <= 1 / std::max(detail::unit_roundoff<P>(), 0x1p-24);
    auto const p_off = is_exact ? 0 : detail::most_off<P>(p), f_off = detail::most_off<F>(inv_freq);
    auto const product = (p + p_off) * (inv_freq + f_off);
    return p * f_off + p_off * (inv_freq + f_off) + product * 0x1p-24 + 0x1p-150;
  }
};
using float_angles = rounded_angles<float, float>;  ///< Hugging Face, vLLM

/// ggml: theta_0 = float(position), theta_i = float(theta_(i-1) * theta_scale) with theta_scale =
/// float(base^(-1 / pairs)), each divided by its freq_factor in float. Errors add up from pair to
/// pair. [ggml, ggml_rope_cache_init] The factors make geometric(2 pairs, base) the given
/// frequencies.
struct ggml_angles {
  double base;  ///< of the geometric frequencies

  /// As exact_angles does.
  void operator()(frequencies const& f, std::int64_t at, std::span<formed_angle> angles) const {
    auto const pairs = static_cast<double>(f.pairs());
    auto const scale = static_cast<float>(std::pow(base, -1 / pairs));
    auto theta = static_cast<float>(at);
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const plain = std::pow(base, -static_cast<double>(i) / pairs);
      auto const factor =
          f.inv_freq()[i] == 0 ? 1e30f : static_cast<float>(plain / f.inv_freq()[i]);
      angles[i] = {static_cast<double>(detail::stored(theta / factor))};
      theta = detail::stored(theta * scale);
    }
  }
};

/// The largest errors over the last 64 positions of a context.
struct precision_at_length {
  std::size_t length;  ///< of the context, in tokens
  double angle;        ///< of an angle, in radians
  double row;          ///< of a cosine or sine, as stored
  double score;  ///< of <R_t q, R_s k> for any q and k of norm 1, t the last position and s among
                 ///< the first 64 and the last 64

  /// How far e^(score) / e^(other score) may be off, relatively, for scores of up to `logit` =
  /// |q| |k| / sqrt(head_dim): e^(2 logit score) - 1.
  double weight(double logit) const { return std::expm1(2 * logit * score); }
};

namespace detail {

/// For each pair at one position, cos + i sin as an engine has it and as it should be.
template <storable Table>
struct row_errors {
  std::vector<std::complex<double>> stored, exact;
  double angle = 0;  ///< largest error
  double row = 0;    ///< of cosines and sines

  row_errors(frequencies const& f, std::int64_t position, forms_angles auto const& how) {
    std::vector<formed_angle> angles(f.pairs());
    how(f, position, std::span(angles));
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const [formed, rest] = angles[i];
      auto const right = two_doubles(static_cast<double>(position)) * with_rest(f, i);
      angle = std::max(angle, std::abs((two_doubles(formed, rest) - right).high));
      auto const [c, s] = cos_sin(phase_step(f.inv_freq()[i], f.rest()[i]).at(position));
      auto const [cos, sin] = cos_sin(phase_step(formed, rest).at(std::int64_t{1}));
      exact.emplace_back(c, s);
      stored.emplace_back(as_stored<Table>(cos), as_stored<Table>(sin));
      row = std::max({row, std::abs(stored[i].real() - c), std::abs(stored[i].imag() - s)});
    }
  }

  /// The error of scores between a query at this position and a key at another one: the error of
  /// the product of one row and the conjugate of the other.
  double score(row_errors const& key) const {
    double error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      auto const off = stored[i] * std::conj(key.stored[i]) - exact[i] * std::conj(key.exact[i]);
      error = std::max(error, std::abs(off));
    }
    return error;
  }
};

}  // namespace detail

/// The errors of an engine at lengths 64, 128, ... and `length`, of rows stored as Table, without
/// attention factors. For a model, pass the frequencies that its reader gives for a layer.
///
///     precision_budget(f, 131072, float_angles{})             Hugging Face in float
///     precision_budget<bfloat16>(f, 131072, float_angles{})   with cos and sin cast to bfloat16
///     precision_budget(f, 131072, ggml_angles{1e4})           llama.cpp
///     precision_budget(f, 131072, exact_angles{})             posenc
///
/// Errors of angles double with the length; a table of 16 bits adds an error that does not grow.
/// With base 1e4 and scores of up to 10, ratios of weights may be off by 11 % at 131072 tokens in
/// float, 30 % in ggml, 13 % with bfloat16 tables, and 1.6e-6 here. Throws std::invalid_argument
/// unless length is in [1, 2^53].
template <storable Table = float, forms_angles How>
std::vector<precision_at_length> precision_budget(frequencies const& f, std::size_t length,
                                                  How const& how) {
  std::uint64_t const positions = length;  // a size of 32 bits is always small enough
  detail::require(positions > 0 && positions <= std::uint64_t{1} << 53,
                  "precision_budget: length must be in [1, 2^53], got ", length);
  constexpr std::size_t window = 64;
  auto const rows_of = [&](std::size_t first, std::size_t last) {
    std::vector<detail::row_errors<Table>> rows;
    for (auto p = first; p < last; ++p) rows.emplace_back(f, static_cast<std::int64_t>(p), how);
    return rows;
  };
  auto const beginning = rows_of(0, std::min(window, length));
  std::vector<precision_at_length> result;
  for (auto n = std::min(window, length);; n = std::min(2 * n, length)) {
    auto const end = rows_of(n - std::min(window, n), n);
    precision_at_length errors{n, 0, 0, 0};
    for (auto const& row : end) {
      errors.angle = std::max(errors.angle, row.angle);
      errors.row = std::max(errors.row, row.row);
      errors.score = std::max(errors.score, end.back().score(row));
    }
    for (auto const& row : beginning) errors.score = std::max(errors.score, end.back().score(row));
    result.push_back(errors);
    if (n == length) return result;
  }
}

}}  // namespace posenc
