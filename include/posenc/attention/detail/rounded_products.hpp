// The two products of attention for many rows of heads that are dot_products: queries, keys,
// weights and values are rounded to integers of 16 bits.
#pragma once

#include "posenc/attention/detail/rounded_heads.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

struct rounded_memory;

}}}  // namespace posenc::detail

#if defined(POSENC_HAS_PAIR_PRODUCTS)
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "posenc/attention/detail/block_shape.hpp"
#include "posenc/attention/detail/dense_heads.hpp"
#include "posenc/attention/detail/products.hpp"
#include "posenc/attention/detail/work.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/tile.hpp"
#include "posenc/simd/x86_pair_products.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A kv head of some tokens as floats: where they lie, or decoded one by one. Views `all`, whose
/// first token may be that of the part.
class part_of_head {
 public:
  part_of_head() = default;
  template <class Heads>
  part_of_head(Heads const& all, std::size_t head, token_range const& part,
               std::size_t first_of_all = 0) noexcept
      : all_(&all),
        head_(head),
        first_(part.first),
        offset_(part.first - first_of_all),
        count_(part.last - part.first),
        dims_(all.head_dim()),
        numbers_(numbers_in_place<float>(all)),
        read_([](void const* from, std::size_t token, std::size_t of, std::span<float> to) {
          static_cast<Heads const*>(from)->read(token, of, to);
        }) {}

  std::size_t tokens() const noexcept { return count_; }
  std::size_t first() const noexcept { return first_; }  ///< token
  std::size_t last() const noexcept { return first_ + count_; }
  std::size_t head_dim() const noexcept { return dims_; }
  /// Head i of the part; decoded: memory of head_dim numbers.
  std::span<float const> read(std::size_t i, float* decoded) const noexcept {
    if (numbers_.tokens() != 0) return numbers_(offset_ + i, head_);
    read_(all_, offset_ + i, head_, {decoded, dims_});
    return {decoded, dims_};
  }
  /// Heads from i on; beyond the last, that again. decoded: memory of as many.
  rounded_scales::some_heads read_some(std::size_t i, float* decoded) const noexcept {
    rounded_scales::some_heads heads;
    auto const last = std::min(heads_at_once, count_ - i) - 1;
    for (std::size_t n = 0; n < heads_at_once; ++n) {
      heads[n] = n > last ? heads[last] : read(i + n, decoded + n * dims_);
      // No CPU foresees the stride of tokens.
      if (numbers_.tokens() != 0 && i + n + heads_at_once < count_)
        prefetch_numbers(numbers_(offset_ + i + n + heads_at_once, head_));
    }
    return heads;
  }

 private:
  void const* all_ = nullptr;
  std::size_t head_ = 0, first_ = 0, offset_ = 0, count_ = 0, dims_ = 0;
  heads_view<float const> numbers_ = {nullptr, {0, 1, 1}};
  void (*read_)(void const*, std::size_t, std::size_t, std::span<float>) = nullptr;
};

/// The queries of a block: words of two dims.
struct rounded_queries {
  rounded_scales scales;  ///< times attention's scale
  float* words = nullptr;
  std::size_t words_of_row = 0;

  rounded_queries() = default;
  rounded_queries(scratch& memory, std::size_t rows, std::size_t dims)
      : scales(memory, rows), words_of_row((dims + 1) / 2) {
    words = memory.take<float>(rows, words_of_row);
  }
  /// q: [rows][dims] dense.
  void round(float const* q, std::size_t rows, std::size_t dims, float scale) noexcept {
    scales.begin(rows);
    for (std::size_t row = 0; row < rows; row += heads_at_once) {
      auto const count = std::min(heads_at_once, rows - row);
      rounded_scales::some_heads heads;
      for (std::size_t i = 0; i < heads_at_once; ++i)
        heads[i] = {q + (row + std::min(i, count - 1)) * dims, dims};
      auto const inverse = scales.by_norm(row, count, heads, scale);
      for (std::size_t i = 0; i < count; ++i)
        round_dims(heads[i], inverse[i], words + (row + i) * words_of_row);
    }
  }
};

/// The keys of a part in panels, [tile_columns keys][words of two dims][tile_columns].
struct rounded_keys {
  part_of_head numbers;
  rounded_scales scales;
  float *panels = nullptr, *decoded = nullptr, *words = nullptr;
  std::size_t words_of_head = 0;

  rounded_keys() = default;
  rounded_keys(scratch& memory, std::size_t tokens, std::size_t dims)
      : scales(memory, tokens), words_of_head((dims + 1) / 2) {
    constexpr auto columns = tile_columns<float>;
    panels = memory.take<float>((tokens + columns - 1) / columns * columns, words_of_head);
    memory.take<float>(columns);  // the last registers of a panel may read behind it
    decoded = memory.take<float>(heads_at_once, dims);
    words = memory.take<float>(heads_at_once, words_of_head + 1);
  }
  void begin(part_of_head const& keys) noexcept {
    constexpr auto columns = tile_columns<float>, size = heads_at_once;
    auto const stride = words_of_head + 1;
    numbers = keys;
    scales.begin(keys.tokens());
    for (std::size_t key = 0; key < keys.tokens(); key += size) {
      auto const heads = keys.read_some(key, decoded);
      auto const inverse = scales.by_norm(key, std::min(size, keys.tokens() - key), heads);
      for (std::size_t i = 0; i < size; ++i) round_dims(heads[i], inverse[i], words + i * stride);
      auto* to = panels + key / columns * columns * words_of_head + key % columns;
      std::size_t n = 0;
      for (; n + size <= words_of_head; n += size) {
        std::array<lanes<float>::number, size> x;
        for (std::size_t i = 0; i < size; ++i) x[i] = lanes<float>::load(words + i * stride + n);
        lanes<float>::transpose(x.data());
        for (auto const& row : x) lanes<float>::store(to, row), to += columns;
      }
      for (; n < words_of_head; ++n, to += columns)
        for (std::size_t i = 0; i < size; ++i)
          std::memcpy(to + i, words + i * stride + n, sizeof(float));
    }
  }
  float const* panel(std::size_t key, std::size_t word) const noexcept {
    return panels + key * words_of_head + word * tile_columns<float>;
  }
};

/// The values of a part in panels, [tile_columns dims][words of two tokens][tile_columns].
struct rounded_values {
  part_of_head numbers;
  rounded_scales scales;
  float *panels = nullptr, *decoded = nullptr;
  std::size_t pairs = 0;  ///< of tokens

  rounded_values() = default;
  rounded_values(scratch& memory, std::size_t tokens, std::size_t dims)
      : scales(memory, tokens), pairs((tokens + 1) / 2) {
    constexpr auto columns = tile_columns<float>;
    panels = memory.take<float>(pairs, (dims + columns - 1) / columns * columns);
    decoded = memory.take<float>(heads_at_once, dims);
  }
  void begin(part_of_head const& values) noexcept {
    constexpr auto columns = tile_columns<float>;
    auto const dims = values.head_dim();
    numbers = values;
    scales.begin(values.tokens());
    for (std::size_t token = 0; token < values.tokens(); token += heads_at_once) {
      auto const count = std::min(heads_at_once, values.tokens() - token);
      auto const heads = values.read_some(token, decoded);
      auto inverse = scales.by_largest(token, count, heads);
      std::fill(inverse.begin() + static_cast<std::ptrdiff_t>(count), inverse.end(), 0.0f);
      for (std::size_t dim = 0; dim < dims; dim += columns)
        for (std::size_t i = 0; i < count; i += 2)
          round_two(heads[i].data() + dim, inverse[i], heads[i + 1].data() + dim, inverse[i + 1],
                    std::min(dims - dim, columns),
                    panels + dim * pairs + (token + i) / 2 * columns);
    }
  }
  float const* panel(std::size_t pair, std::size_t dim) const noexcept {
    return panels + dim * pairs + pair * tile_columns<float>;
  }
};

/// The memory in which a worker rounds.
struct rounded_memory {
  std::span<rounded_queries> queries;  ///< of the blocks that are computed together
  rounded_keys keys;
  rounded_values values;
  float* weights = nullptr;  ///< words of each row, from the first key of the part on
  float* steps = nullptr;    ///< of the weights of each row

  static constexpr std::size_t words_of_row = keys_of_part / 2 + 16;  // other sets of L1

  rounded_memory() = default;
  /// tokens: 0 of keys or values that are not rounded.
  rounded_memory(scratch& memory, std::size_t blocks, std::size_t rows, std::size_t key_tokens,
                 std::size_t head_dim, std::size_t value_tokens, std::size_t value_dim) {
    if (key_tokens != 0) {
      auto* const of_blocks = memory.take<rounded_queries>(blocks);
      for (std::size_t i = 0; i < blocks; ++i) {
        rounded_queries const of_block(memory, rows, head_dim);
        if (!memory.counts()) ::new (of_blocks + i) rounded_queries(of_block);
      }
      queries = {of_blocks, blocks};
      keys = {memory, key_tokens, head_dim};
    }
    if (value_tokens != 0) {
      values = {memory, value_tokens, value_dim};
      weights = memory.take<float>(rows, words_of_row);
      steps = memory.take<float>(rows + tile_rows);
    }
  }
};

/// As multiply_scores of tile_panels. q: [rows][head_dim] dense.
inline void multiply_scores(float* scores, float scale, float const* q, rounded_keys& k,
                            block_shape const& b, rounded_queries const& queries) {
  auto const& numbers = k.numbers;
  auto const dims = numbers.head_dim(), seen = b.seen();
  in_parts(std::max(b.keys.first, numbers.first()), numbers.last(), tile_columns<float>,
           [&](std::size_t key, std::size_t keys) {
             if (key >= b.keys.last) return;
             in_parts(0, k.words_of_head, tile_terms, [&](std::size_t word, std::size_t terms) {
               auto const* const panel = k.panel(key - numbers.first(), word);
               in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
                 auto const [from, to] = keys_of_tile<float>(b, row, rows, key, keys);
                 if (from >= to) return;
                 multiply(pair_tile{scores + row * seen + from - b.keys.first, seen,
                                    rows_of_tile(queries.words + row * queries.words_of_row + word,
                                                 queries.words_of_row, rows),
                                    panel + (from - key), terms, queries.scales.data() + row,
                                    k.scales.data() + from - numbers.first(), word > 0},
                          rows, to - from);
               });
             });
           });
  auto const score = [&](std::size_t row, std::size_t key) {
    auto const at = numbers.first() + key;
    if (at < b.keys.first || at >= b.keys.last) return;
    auto const head = numbers.read(key, k.decoded);
    double sum = 0;
    for (std::size_t i = 0; i < dims; ++i)
      sum += static_cast<double>(q[row * dims + i]) * static_cast<double>(head[i]);
    scores[row * seen + at - b.keys.first] = static_cast<float>(sum * static_cast<double>(scale));
  };
  for (auto const key : k.scales.apart())
    for (std::size_t row = 0; row < b.rows(); ++row) score(row, key);
  for (auto const row : queries.scales.apart())
    for (std::size_t key = 0; key < numbers.tokens(); ++key) score(row, key);
}

/// As multiply_outputs of tile_panels.
inline void multiply_outputs(float* outputs, float const* weights, rounded_memory& memory,
                             block_shape const& b) {
  auto const& v = memory.values;
  auto const& numbers = v.numbers;
  auto const dims = numbers.head_dim(), seen = b.seen();
  auto const within = [&](token_range const& of_rows) {
    return token_range{std::max(of_rows.first, numbers.first()),
                       std::min(of_rows.last, numbers.last())};
  };
  auto const words = [&](std::size_t row) { return memory.weights + row * memory.words_of_row; };
  in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
    auto const of_rows = b.seen_by(row, rows);
    if (of_rows.first == of_rows.last) std::fill_n(outputs + row * dims, rows * dims, 0.0f);
    auto const [from, to] = within(of_rows);
    for (auto r = row; r < row + rows && from < to; ++r) {
      auto const at = from - numbers.first(), end = to - numbers.first();
      words(r)[at / 2] = words(r)[end / 2] = 0;  // words are whole
      memory.steps[r] =
          round_weights(weights + r * seen + from - b.keys.first, v.scales.data() + at, to - from,
                        reinterpret_cast<std::byte*>(words(r)) + 2 * at);
    }
  });
  in_parts(0, (numbers.tokens() + 1) / 2, tile_terms, [&](std::size_t pair, std::size_t pairs) {
    in_parts(0, dims, tile_columns<float>, [&](std::size_t dim, std::size_t columns) {
      in_parts(0, b.rows(), tile_rows, [&](std::size_t row, std::size_t rows) {
        auto const of_rows = b.seen_by(row, rows), some = within(of_rows);
        if (some.first >= some.last) return;
        auto const from = std::max((some.first - numbers.first()) / 2, pair),
                   to = std::min((some.last - numbers.first() + 1) / 2, pair + pairs);
        if (from >= to) return;
        in_parts(from, to, keys_of_sum / 2, [&](std::size_t first, std::size_t terms) {
          auto const at = std::max(first, from);
          multiply(pair_tile{outputs + row * dims + dim, dims,
                             rows_of_tile(words(row) + at, memory.words_of_row, rows),
                             v.panel(at, dim), first + terms - at, memory.steps + row,
                             no_factors.data(), numbers.first() + 2 * at > of_rows.first},
                   rows, columns);
        });
      });
    });
  });
  for (auto const token : v.scales.apart()) {
    auto const key = numbers.first() + token;
    if (key < b.keys.first || key >= b.keys.last) continue;
    auto const value = numbers.read(token, v.decoded);
    for (std::size_t row = 0; row < b.rows(); ++row) {
      auto const weight = weights[row * seen + key - b.keys.first];
      if (weight == 0) continue;
      for (std::size_t i = 0; i < dims; ++i) outputs[row * dims + i] += weight * value[i];
    }
  }
}

}}}  // namespace posenc::detail
#endif
