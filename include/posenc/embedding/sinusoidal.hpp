// Sinusoidal embeddings: the positional vector p_t that is added to an embedding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/sites.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/phase.hpp"

namespace posenc {

/// p_t holds sin(t f_i) and cos(t f_i) of every frequency f_i; <p_t, p_s> depends on t - s alone. [Vaswani 2017, 3.5]
///
///     sinusoidal<interleaved>(geometric(dim, 1e4))             sin cos sin cos ...   "Attention is all you need"
///     sinusoidal<halves>(geometric(dim, 1e4))                  sin sin .. cos cos    concatenated: RoFormer, XLM
///     sinusoidal<halves>(geometric_inclusive(dim, 1e4))        sin sin .. cos cos    tensor2tensor, fairseq, Whisper
///
/// start: the position of the first token, added to every position given (CTranslate2 1, fairseq padding_idx + 1).
/// Accuracy: double 3e-16, float 3e-8, before the rounding of the sum.
template <pair_layout Layout = interleaved>
class sinusoidal {
 public:
  explicit sinusoidal(frequencies const& f, std::int64_t start = 0) : start_(static_cast<std::uint64_t>(start)) {
    for (auto const inv_freq : f.inv_freq()) steps_.emplace_back(inv_freq);
    detail::require(f.attention_factor() == 1, "sinusoidal: the attention factor must be 1, got ", f.attention_factor());
  }

  std::size_t dim() const noexcept { return 2 * steps_.size(); }

  /// p_t itself, into `row` of dim() numbers. Throws std::invalid_argument if it has another size.
  template <class T>
  void write(std::int64_t position, std::span<T> row) const {
    detail::require(row.size() == dim(), "sinusoidal: a row must have ", dim(), " numbers, got ", row.size());
    each(position, [&](std::size_t i, double number) { store(row[i], static_cast<arithmetic_t<T>>(number)); });
  }

  /// Site 1: x[t] += p_t. x: [tokens][1][dim]; several heads get the same p_t each.
  /// Throws std::invalid_argument, before anything is changed, unless x has dim() numbers a head and one position a token.
  template <class T>
  void embed(heads_view<T> const& x, positions_view positions) const {
    detail::require(x.head_dim() == dim(), "sinusoidal: embeddings must have ", dim(), " numbers, got ", x.head_dim());
    detail::require(x.tokens() == positions.size(), "sinusoidal: there must be one position a token, got ", positions.size(),
                    " positions for ", x.tokens(), " tokens");
    std::vector<arithmetic_t<T>> row(dim());
    for (std::size_t token = 0; token < x.tokens(); ++token) {
      write(positions[token], std::span(row));
      for (std::size_t head = 0; head < x.heads(); ++head) {
        auto const numbers = x(token, head);
        for (std::size_t i = 0; i < row.size(); ++i) store(numbers[i], load(numbers[i]) + row[i]);
      }
    }
  }

 private:
  void each(std::int64_t position, auto&& put) const {
    auto const pairs = steps_.size();
    auto const from_start = static_cast<std::int64_t>(static_cast<std::uint64_t>(position) + start_);
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const [cos, sin] = cos_sin(steps_[i].at(from_start));
      put(Layout::x_index(i, pairs), sin);
      put(Layout::y_index(i, pairs), cos);
    }
  }

  std::vector<phase_step> steps_;
  std::uint64_t start_;
};

static_assert(acts_on_embeddings<sinusoidal<interleaved>>);

}  // namespace posenc
