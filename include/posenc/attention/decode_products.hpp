// The two products of attention for few queries, as in decoding: keys and values are read once, in
// place, a few tokens at a time.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "posenc/core/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/lanes.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// Tokens are read in runs, from so many places of a run side by side: CPUs prefetch that faster
/// than one place. Scores and weights of near_tokens of them are dense while blocks of them are
/// computed. Whole rows, one per head, would be too many places.
inline constexpr std::size_t streams = 4, tokens_of_run = 512, near_tokens = 64,
                             near_in_stream = near_tokens / streams;

/// Some tokens in the order in which they are read: one of each stream, then the next of each.
struct token_run {
  std::size_t first, length;  ///< tokens of a stream
  std::size_t count;          ///< of all; fewer than there are streams if length is 1
  std::size_t token(std::size_t i) const noexcept {
    return first + i % streams * length + i / streams;
  }
  /// Calls act(token, place among those that are near, count) for neighbours within [from, to).
  [[gnu::always_inline]] void for_neighbours(std::size_t from, std::size_t to,
                                             auto const& act) const {
    if (to - from == near_tokens) {
      for (std::size_t s = 0; s < streams; ++s)
        act(first + s * length + from / streams, s * near_in_stream,
            std::integral_constant<std::size_t, near_in_stream>());
      return;
    }
    for (std::size_t s = 0; s < streams && from + s < to; ++s)
      act(token(from + s), s * near_in_stream, (to - from - s - 1) / streams + 1);
  }
};
/// Where number i of those that are near is.
constexpr std::size_t near_place(std::size_t i) noexcept {
  return i % streams * near_in_stream + i / streams;
}

/// Calls act(run) for runs that make up some tokens.
void for_runs(std::size_t tokens, auto const& act) {
  for (std::size_t first = 0; first < tokens; first += tokens_of_run) {
    auto const count = std::min(tokens_of_run, tokens - first), rest = count % streams;
    if (count >= streams) act(token_run{first, count / streams, count - rest});
    if (rest > 0) act(token_run{first + count - rest, 1, rest});
  }
}

/// Heads of Count tokens, and others that are read a little later.
template <class S, std::size_t Count>
struct head_block {
  std::array<S const*, Count> heads, later;

  /// Asks for Numbers numbers, from i on, of the heads that are read later.
  template <std::size_t Numbers>
  [[gnu::always_inline]] void prefetch(std::size_t i) const noexcept {
    for (std::size_t s = 0; s < Count; ++s)
      for (std::size_t n = 0; n < Numbers; n += 64 / sizeof(S)) prefetch_into_l1(later[s] + i + n);
  }
};

/// Prefetches are in step with the arithmetic, about as many bytes ahead of it in each stream.
inline constexpr std::size_t prefetched_ahead = 2048;

/// The tokens of a run, AtOnce at a time. Where fewer are left, the last stands for those that lack.
template <class S, std::size_t AtOnce>
class run_reader {
 public:
  run_reader(auto const& cache, token_run const& run) noexcept
      : count_((run.count + AtOnce - 1) / AtOnce * AtOnce), heads_(cache.heads()) {
    for (std::size_t i = 0; i < count_; ++i)
      tokens_[i] = cache(run.token(std::min(i, run.count - 1)), 0).data();
    if (heads_ > 1) stride_ = cache(run.first, 1).data() - tokens_[0];
    auto const bytes = cache.head_dim() * sizeof(S) * std::max<std::size_t>(AtOnce / streams, 1),
               heads = std::max<std::size_t>(prefetched_ahead / bytes, 1);
    ahead_ = heads / heads_ * AtOnce, heads_ahead_ = heads % heads_;
  }
  /// Calls act(head, i, block) for [from, to), in reading order. i: of the first token in the run.
  [[gnu::always_inline]] void read(std::size_t from, std::size_t to, auto const& act) const {
    for (auto i = from; i < to; i += AtOnce) {
      for (std::size_t head = 0; head < heads_; ++head) {
        auto next = i + ahead_, next_head = head + heads_ahead_;
        if (next_head >= heads_) next += AtOnce, next_head -= heads_;
        if (next >= count_) next = i, next_head = head;
        head_block<S, AtOnce> block;
        for (std::size_t s = 0; s < AtOnce; ++s) {
          block.heads[s] = tokens_[i + s] + static_cast<std::ptrdiff_t>(head) * stride_;
          block.later[s] = tokens_[next + s] + static_cast<std::ptrdiff_t>(next_head) * stride_;
        }
        act(head, i, block);
      }
    }
  }

 private:
  std::size_t count_, heads_, ahead_, heads_ahead_;
  std::ptrdiff_t stride_ = 0;
  std::array<S const*, tokens_of_run> tokens_;
};

/// near[r][place] = <q[r], k[s]> for Rows queries and Keys keys. q: a row is `dims` long; near:
/// [Rows][near_tokens], from the place of the first key on.
template <std::size_t Rows, std::size_t Keys, std::floating_point T, class S>
[[gnu::always_inline]] inline void few_by_few_scores(T* near, T const* q,
                                                     head_block<S, Keys> const& k,
                                                     std::size_t dims) noexcept {
  using number = typename lanes<T>::number;
  constexpr auto size = lanes<T>::size;
  number products[Rows * Keys];
  std::array<T, Rows * Keys> sums;
  std::fill_n(products, Rows * Keys, number(T{0}));
  std::size_t i = 0;
  auto const add = [&](std::size_t at) POSENC_INLINED {
    number x[Keys];
    for (std::size_t s = 0; s < Keys; ++s) x[s] = lanes<S>::load(k.heads[s] + at);
    for (std::size_t r = 0; r < Rows; ++r) {
      auto const query = lanes<T>::load(q + r * dims + at);
      for (std::size_t s = 0; s < Keys; ++s)
        products[r * Keys + s] = lanes<T>::multiply_add(query, x[s], products[r * Keys + s]);
    }
  };
  for (; i + 2 * size <= dims; i += 2 * size) {
    k.template prefetch<2 * size>(i);
    add(i), add(i + size);
  }
  if (i + size <= dims) add(i), i += size;
  if constexpr (Rows * Keys == size) {
    lanes<T>::store(sums.data(), lanes<T>::sums(products));
  } else {
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] = lanes<T>::sum(products[n]);
  }
  for (; i < dims; ++i) {
    for (std::size_t s = 0; s < Keys; ++s) {
      auto const key = load(k.heads[s][i]);
      for (std::size_t r = 0; r < Rows; ++r) sums[r * Keys + s] += q[r * dims + i] * key;
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t s = 0; s < Keys; ++s)
      near[r * near_tokens + near_place(s)] = sums[r * Keys + s];
  }
}

/// The scores of Rows rows at a time.
template <std::size_t Rows, std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k, T* near) noexcept {
  constexpr std::size_t at_once = std::max<std::size_t>(lanes<T>::size / Rows, 1);
  auto const keys = k.tokens(), dims = k.head_dim(), columns = k.heads() * rows;
  for_runs(keys, [&](token_run const& run) {
    run_reader<S, at_once> const reader(k, run);
    for (std::size_t from = 0; from < run.count; from += near_tokens) {
      auto const to = std::min(from + near_tokens, run.count);
      reader.read(from, to, [&](std::size_t head, std::size_t i, auto const& block) {
        for (auto c = head * rows; c < (head + 1) * rows; c += Rows) {
          few_by_few_scores<Rows>(near + c * near_tokens + near_place(i - from), q + c * dims,
                                  block, dims);
        }
      });
      for (std::size_t c = 0; c < columns; ++c) {
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          auto const* const x = near + c * near_tokens + place;
          auto* const to_row = scores + c * keys + token;
          for (std::size_t n = 0; n < count; ++n) to_row[n] = scale * x[n];
        });
      }
    }
  });
}

/// scores = scale * q k^T, [heads][rows][keys] and q [heads][rows][head_dim] dense, for the same
/// few rows of every head. As many keys are read at once as make a register of scores with four
/// rows, or else with one. Memory: near [heads][rows][near_tokens].
template <std::floating_point T, class S>
void few_scores(T* scores, T scale, T const* q, std::size_t rows, auto const& k, T* near) noexcept {
  if (k.heads() == 0 || k.tokens() == 0) return;
  if (rows % 4 == 0) return few_scores<4, T, S>(scores, scale, q, rows, k, near);
  few_scores<1, T, S>(scores, scale, q, rows, k, near);
}

/// sums[r] += sum_s weights[r][s] values[s] of Rows queries, for Width registers of each value.
/// sums: a row is `dims` long; weights: [Rows][near_tokens], from the place of the first value on.
template <std::size_t Width, std::size_t Rows, std::floating_point T, class S, std::size_t Count>
[[gnu::always_inline]] inline void add_columns(T* sums, std::size_t dims, T const* weights,
                                               head_block<S, Count> const& v,
                                               std::size_t column) noexcept {
  using number = typename lanes<T>::number;
  constexpr std::size_t size = lanes<T>::size;
  number of_rows[Rows][Width], value[Width];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      of_rows[r][j] = lanes<T>::load(sums + r * dims + column + j * size);
  }
  v.template prefetch<Width * size>(column);
  for (std::size_t s = 0; s < Count; ++s) {
    for (std::size_t j = 0; j < Width; ++j)
      value[j] = lanes<S>::load(v.heads[s] + column + j * size);
    for (std::size_t r = 0; r < Rows; ++r) {
      number const weight(weights[r * near_tokens + near_place(s)]);
      for (std::size_t j = 0; j < Width; ++j)
        of_rows[r][j] = lanes<T>::multiply_add(weight, value[j], of_rows[r][j]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Width; ++j)
      lanes<T>::store(sums + r * dims + column + j * size, of_rows[r][j]);
  }
}

/// The same for whole values.
template <std::size_t Rows, std::floating_point T, class S, std::size_t Count>
[[gnu::always_inline]] inline void add_values(T* sums, std::size_t dims, T const* weights,
                                              head_block<S, Count> const& v) noexcept {
  constexpr std::size_t size = lanes<T>::size, wide = has_32_registers ? 4 : 2;
  std::size_t i = 0;
  for (; i + wide * size <= dims; i += wide * size)
    add_columns<wide, Rows>(sums, dims, weights, v, i);
  for (; i + size <= dims; i += size) add_columns<1, Rows>(sums, dims, weights, v, i);
  for (; i < dims; ++i) {
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t s = 0; s < Count; ++s)
        sums[r * dims + i] += weights[r * near_tokens + near_place(s)] * load(v.heads[s][i]);
    }
  }
}

/// The outputs of Rows rows at a time.
template <std::size_t Rows, std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, T* sums,
                 T* near) noexcept {
  constexpr std::size_t at_once = 2 * streams;
  auto const keys = v.tokens(), dims = v.head_dim(), columns = v.heads() * rows;
  for_runs(keys, [&](token_run const& run) {
    run_reader<S, at_once> const reader(v, run);
    std::fill_n(sums, columns * dims, T{0});
    for (std::size_t from = 0; from < run.count; from += near_tokens) {
      auto const to = std::min(from + near_tokens, run.count);
      if (to - from < near_tokens) std::fill_n(near, columns * near_tokens, T{0});
      for (std::size_t c = 0; c < columns; ++c) {
        run.for_neighbours(from, to, [&](std::size_t token, std::size_t place, auto count) {
          auto const* const x = weights + c * keys + token;
          for (std::size_t n = 0; n < count; ++n) near[c * near_tokens + place + n] = x[n];
        });
      }
      reader.read(from, to, [&](std::size_t head, std::size_t i, auto const& block) {
        for (auto c = head * rows; c < (head + 1) * rows; c += Rows) {
          add_values<Rows>(sums + c * dims, dims, near + c * near_tokens + near_place(i - from),
                           block);
        }
      });
    }
    for (std::size_t n = 0; n < columns * dims; ++n) outputs[n] += sums[n];
  });
}

/// outputs += weights v, [heads][rows][value_dim] and weights [heads][rows][keys] dense. Values are
/// summed in runs, then the sums of the runs, so that rounding errors do not grow with the cache.
/// Memory: sums [heads][rows][value_dim], near as above.
template <std::floating_point T, class S>
void few_outputs(T* outputs, T const* weights, std::size_t rows, auto const& v, T* sums,
                 T* near) noexcept {
  if (v.heads() == 0 || v.tokens() == 0) return;
  if (rows % 4 == 0) return few_outputs<4, T, S>(outputs, weights, rows, v, sums, near);
  few_outputs<1, T, S>(outputs, weights, rows, v, sums, near);
}

}  // namespace posenc::detail
