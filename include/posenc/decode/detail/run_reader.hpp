// Heads of a cache in the order in which decoding reads them, whatever they are stored as.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/head_codes.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Four streams of a run of 512 tokens are read in parallel: hardware prefetchers follow four
/// streams faster than one. Scores and weights are computed in tiles of 64 tokens, 16 of each
/// stream, which are dense in memory; a stream of each head would be too many.
inline constexpr std::size_t streams = 4, tokens_of_run = 512, tile_tokens = 64,
                             stream_tokens = tile_tokens / streams;

constexpr std::size_t rounded_up(std::size_t n, std::size_t to) noexcept {
  return (n + to - 1) / to * to;
}

/// A run of tokens in the order in which they are read: one of each stream, then the next of each.
struct token_run {
  std::size_t first, length;  ///< tokens of a stream
  std::size_t count;          ///< of all; fewer than there are streams if length is 1
  std::size_t token(std::size_t i) const noexcept {
    return first + i % streams * length + i / streams;
  }
  /// Calls act(token, index in the tile, count) for the neighbours among the tile's tokens,
  /// [from, to) of the run.
  POSENC_ALWAYS_INLINE void for_neighbours(std::size_t from, std::size_t to,
                                           auto const& act) const {
    if (to - from == tile_tokens) {
      for (std::size_t s = 0; s < streams; ++s)
        act(first + s * length + from / streams, s * stream_tokens,
            std::integral_constant<std::size_t, stream_tokens>());
      return;
    }
    for (std::size_t s = 0; s < streams && from + s < to; ++s)
      act(token(from + s), s * stream_tokens, (to - from - s - 1) / streams + 1);
  }
};
/// Index of token i in the tile, stream by stream.
constexpr std::size_t tile_index(std::size_t i) noexcept {
  return i % streams * stream_tokens + i / streams;
}

/// Calls act(run) for the runs of `tokens` tokens.
void for_runs(std::size_t tokens, auto const& act) {
  for (std::size_t first = 0; first < tokens; first += tokens_of_run) {
    auto const count = std::min(tokens_of_run, tokens - first), rest = count % streams;
    if (count >= streams) act(token_run{first, count / streams, count - rest});
    if (rest > 0) act(token_run{first + count - rest, 1, rest});
  }
}

/// Bytes by which prefetches are ahead of the arithmetic, in each stream.
inline constexpr std::size_t prefetched_ahead = 2048;

/// The tokens of a run in blocks of AtOnce. The last block repeats its last token.
template <class S, std::size_t AtOnce, class Heads>
class run_reader {
  using codes = head_codes<S>;
  using element = typename codes::element;
  using block = head_block<S, AtOnce>;
  static constexpr bool is_scaled = scaled_format<S>;

 public:
  static constexpr bool has_factors = codes::has_factors;
  /// decoded: memory of AtOnce heads, where they are decoded.
  run_reader(Heads const& cache, token_run const& run, [[maybe_unused]] float* decoded = nullptr)
      : cache_(cache), run_(run), count_(rounded_up(run.count, AtOnce)), heads_(cache.heads()) {
    if constexpr (codes::decodes) {
      decoded_ = decoded;
    } else {
      for (std::size_t i = 0; i < count_; ++i)
        tokens_[i] = reinterpret_cast<element const*>(cache.codes(token(i), 0));
      if (heads_ > 1) stride_ = cache.codes(run.first, 1) - cache.codes(run.first, 0);
      if constexpr (is_scaled) {
        for (std::size_t i = 0; i < rounded_up(run.count, tile_tokens); ++i)
          scales_at(i) = cache.scales(token(i), 0);
        if (heads_ > 1) scale_stride_ = cache.scales(run.first, 1) - cache.scales(run.first, 0);
      }
      auto const bytes = cache.head_dim() * sizeof(element) *
                         std::max(AtOnce / streams, std::size_t{1}),
                 heads = std::max<std::size_t>(prefetched_ahead / bytes, 1);
      ahead_ = heads / heads_ * AtOnce;
      heads_ahead_ = heads % heads_;
    }
  }
  /// The first element of a head of token i of the run.
  element const* head_of(std::size_t i, std::size_t head) const noexcept {
    auto const* const first = reinterpret_cast<std::byte const*>(tokens_[i]);
    return reinterpret_cast<element const*>(first + static_cast<std::ptrdiff_t>(head) * stride_);
  }
  /// Calls act(head, i, block) for [from, to), in reading order. i: of the first token in the run.
  POSENC_ALWAYS_INLINE void read(std::size_t from, std::size_t to, auto const& act) {
    for (auto i = from; i < to; i += AtOnce) {
      if constexpr (is_scaled && !codes::decodes) {
        if (i + tile_tokens < run_.count) {
          for (std::size_t s = 0; s < AtOnce; ++s) prefetch_into_l1(scales_at(i + tile_tokens + s));
        }
      }
      for (std::size_t head = 0; head < heads_; ++head) act(head, i, at(i, head));
    }
  }
  /// factors[tile_index(n)] = the factor of a head of token from + n of the run.
  template <class T>
  void find_factors([[maybe_unused]] std::size_t from, [[maybe_unused]] std::size_t head,
                    std::array<T, tile_tokens>& factors) const noexcept {
    if constexpr (is_scaled) {
      auto const* const scales = scales_.data() + from;
      auto const of_head = static_cast<std::ptrdiff_t>(head) * scale_stride_;
#pragma GCC unroll 8
      for (std::size_t n = 0; n < tile_tokens; ++n)
        factors[n] = cache_.format().factor(scales[n] + of_head);
    } else {
      factors.fill(cache_.format().factor());
    }
  }

 private:
  std::size_t token(std::size_t i) const noexcept {
    return run_.token(std::min(i, run_.count - 1));
  }
  std::byte const*& scales_at(std::size_t i) noexcept {
    return scales_[i / tile_tokens * tile_tokens + tile_index(i % tile_tokens)];
  }
  POSENC_ALWAYS_INLINE block at(std::size_t i, std::size_t head) {
    block b;
    if constexpr (codes::decodes) {
      auto const dims = cache_.head_dim();
      for (std::size_t s = 0; s < AtOnce; ++s) {
        std::span const decoded(decoded_ + s * dims, dims);
        cache_.read(token(i + s), head, decoded);
        b.heads[s] = tokens_[s] = decoded.data();
      }
      b.later = tokens_.data();
      b.later_head = 0;
    } else {
      auto next = i + ahead_, next_head = head + heads_ahead_;
      if (next_head >= heads_) {
        next += AtOnce;
        next_head -= heads_;
      }
      if (next >= count_) {
        next = i;
        next_head = head;
      }
      for (std::size_t s = 0; s < AtOnce; ++s) b.heads[s] = head_of(i + s, head);
      if constexpr (codes::takes_scales) {
        auto const of_head = static_cast<std::ptrdiff_t>(head) * scale_stride_;
        for (std::size_t s = 0; s < AtOnce; ++s) b.scales[s] = scales_at(i + s) + of_head;
      }
      b.later = tokens_.data() + next;
      b.later_head = static_cast<std::ptrdiff_t>(next_head) * stride_;
    }
    return b;
  }

  Heads const& cache_;
  token_run run_;
  std::size_t count_, heads_, ahead_ = 0, heads_ahead_ = 0;
  std::ptrdiff_t stride_ = 0, scale_stride_ = 0;  // in bytes
  std::array<element const*, tokens_of_run> tokens_;
  std::array<std::byte const*, is_scaled ? tokens_of_run : 0> scales_;  // by tile_index
  float* decoded_ = nullptr;
};

/// Multiplies the scores or weights of a tile, tokens [from, end) of a run, by the factors of their
/// tokens, then by `scale`, in `rows` columns per head: to[n] = x[n] factor[n] scale, with {to, x}
/// = places(head, row, token, index). In this order nothing overflows but what does for numbers
/// too. The factors of the next head are stored first, then the factors of this head are loaded: a
/// register that is loaded right after its numbers were stored one by one stalls.
template <std::floating_point T, class Reader>
POSENC_ALWAYS_INLINE inline void scale_tile(Reader const& reader, token_run const& run,
                                            std::size_t from, std::size_t end, std::size_t heads,
                                            std::size_t rows, T scale,
                                            auto const& places) noexcept {
  std::array<std::array<T, tile_tokens>, 2> factors;
  for (std::size_t next = 0; next <= heads; ++next) {
    if constexpr (Reader::has_factors) {
      if (next < heads) reader.find_factors(from, next, factors[next % 2]);
    }
    for (std::size_t row = 0; next > 0 && row < rows; ++row) {
      auto const head = next - 1;
      auto const scale_neighbours = [=, &factors](std::size_t token, std::size_t index,
                                                  auto count) POSENC_INLINED {
        auto const [to, x] = places(head, row, token, index);
        auto const* const of_tokens = factors[head % 2].data() + index;
        auto const whole = count / lanes<T>::size * lanes<T>::size;
        for (std::size_t n = 0; n < whole; n += lanes<T>::size) {
          auto scaled = lanes<T>::load(x + n);
          if constexpr (Reader::has_factors) scaled = scaled * lanes<T>::load(of_tokens + n);
          lanes<T>::store(to + n, scaled * typename lanes<T>::number(scale));
        }
        for (auto n = whole; n < count; ++n)
          to[n] = (Reader::has_factors ? x[n] * of_tokens[n] : x[n]) * scale;
      };
      run.for_neighbours(from, end, scale_neighbours);
    }
  }
}

}}}  // namespace posenc::detail
