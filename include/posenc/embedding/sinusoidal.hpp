// Sinusoidal embeddings: the positional vector p_t that is added to an embedding.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/embedding/detail/add_rows.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rows/phase.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// How published sinusoidal embeddings differ, apart from frequencies and order of pairs.
struct sinusoidal_form {
  std::int64_t start = 0;                   ///< added to every position (CTranslate2: 1)
  bool cosine_first = false;                ///< swap sines and cosines
  double scale = 1;                         ///< of the vector (x-transformers: learned)
  std::size_t zeros = 0;                    ///< after the pairs: 1 if dim is odd
  bool without_last = false;                ///< of the pairs' numbers (RoFormer, XLM: dim is odd)
  std::optional<std::int64_t> silent = {};  ///< the position whose p_t is 0 (fairseq's padding_idx)
};

/// p_t holds sin(t f_i) and cos(t f_i) for every frequency f_i; <p_t, p_s> depends on t - s alone.
/// [Vaswani 2017, 3.5]
///
///     sinusoidal<interleaved>(geometric(dim, 1e4))                      sin cos sin cos ...
///     sinusoidal<halves>(geometric(dim, 1e4))                           sin sin .. cos cos
///     sinusoidal<halves>(geometric_inclusive(dim, 1e4))                 sin sin .. cos cos
///     sinusoidal<halves>(geometric(dim, 1e4), {.cosine_first = true})   cos cos .. sin sin
///
/// sinusoidal_forms.hpp has them by the names of papers, models and libraries.
/// Accuracy: double 3e-16, float 3e-8, times the scale, before the sum is rounded. For fractional
/// positions, the angle of the fraction has a relative error of 2^-51.
template <pair_layout Layout>
class sinusoidal {
 public:
  /// The form of the paper. `start` is the position of the first vector.
  explicit sinusoidal(frequencies const& f, std::int64_t start = 0)
      : sinusoidal(f, sinusoidal_form{.start = start}) {}

  /// In any form. Throws std::invalid_argument unless the attention factor is 1, the scale is
  /// finite, and zeros is at most 2^24.
  sinusoidal(frequencies const& f, sinusoidal_form const& form) : form_(form) {
    for (std::size_t i = 0; i < f.pairs(); ++i) steps_.emplace_back(f.inv_freq()[i], f.rest()[i]);
    detail::require(f.attention_factor() == 1, "sinusoidal: the attention factor must be 1, got ",
                    f.attention_factor());
    detail::require(is_finite(form.scale), "sinusoidal: the scale must be finite, got ",
                    form.scale);
    detail::require(form.zeros <= std::size_t{1} << 24,
                    "sinusoidal: zeros must be at most 2^24, got ", form.zeros);
  }

  std::size_t dim() const noexcept { return of_pairs() + form_.zeros; }  ///< numbers in a vector

  /// Writes p_t to `vector`. Throws unless it has dim() numbers.
  template <class Vector>
  void write(std::int64_t position, Vector&& vector) const {
    std::span<detail::span_value_t<Vector>> const numbers(vector);
    require_size(numbers.size());
    if (position == form_.silent) return fill(numbers, 0);
    write_pairs(numbers,
                [whole = from_start(position)](phase_step const& step) { return step.at(whole); });
  }

  /// The same at a fractional position, counted from `start` too; `silent` does not apply. Throws
  /// unless `vector` has dim() numbers and the position is finite and within [-2^63, 2^63).
  template <std::floating_point P, class Vector>
  void write(P position, Vector&& vector) const {
    std::span<detail::span_value_t<Vector>> const numbers(vector);
    auto const t = static_cast<double>(position);
    require_size(numbers.size());
    detail::require(is_finite(t) && t >= -0x1p63 && t < 0x1p63,
                    "sinusoidal: a position must be finite and within [-2^63, 2^63), got ", t);
    auto const below = std::floor(t), fraction = t - below;
    auto const whole = from_start(static_cast<std::int64_t>(below));
    write_pairs(numbers,
                [=](phase_step const& step) { return step.at(whole) + step.at(fraction); });
  }

  /// Site 1: x[t] += p_t. x: [tokens][1][dim]; with several heads, each gets the same p_t. Throws,
  /// before anything is changed, unless x has heads of dim() and one position per token.
  template <class T>
  void embed(heads_view<T> const& x, token_positions const& positions) const {
    detail::require_embeddings("sinusoidal", x, dim(), positions);
    detail::add_rows(x, [&](std::size_t token, auto vector) { write(positions[token], vector); });
  }

 private:
  std::size_t of_pairs() const noexcept { return 2 * steps_.size() - (form_.without_last ? 1 : 0); }

  std::int64_t from_start(std::int64_t position) const noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(position) +
                                     static_cast<std::uint64_t>(form_.start));
  }

  void require_size(std::size_t size) const {
    detail::require(size == dim(), "sinusoidal: a vector must have ", dim(), " numbers, got ",
                    size);
  }

  template <class T>
  static void fill(std::span<T> numbers, arithmetic_t<T> value) noexcept {
    for (auto& number : numbers) store(number, value);
  }

  template <class T>
  void write_pairs(std::span<T> vector, auto&& phase_of) const noexcept {
    auto const pairs = steps_.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const values = cos_sin(phase_of(steps_[i]));
      auto const first = form_.cosine_first ? values.cos : values.sin,
                 second = form_.cosine_first ? values.sin : values.cos;
      store(vector[Layout::x_index(i, pairs)], static_cast<arithmetic_t<T>>(form_.scale * first));
      auto const y = Layout::y_index(i, pairs);
      if (y < of_pairs()) store(vector[y], static_cast<arithmetic_t<T>>(form_.scale * second));
    }
    fill(vector.subspan(of_pairs()), 0);
  }

  std::vector<phase_step> steps_;
  sinusoidal_form form_;
};

static_assert(acts_on_embeddings<sinusoidal<interleaved>>);

}}  // namespace posenc
