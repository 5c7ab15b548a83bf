// Scores of keys of 4 bits, 16 keys side by side in a register: no sum over lanes, which heads of
// few dims pay for dearly, and one product with the scale of a group.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/head_codes.hpp"
#include "posenc/decode/detail/run_reader.hpp"
#include "posenc/simd/lanes.hpp"
#include "posenc/simd/x86_nibble_columns.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Whether scores of T and keys S are made so: of a format whose groups of 32 dims are a half, then
/// bytes with codes j and j + 16, which mean the half times a number of its table.
template <class T, class S>
inline constexpr bool has_nibble_scores = false;
template <class F>
requires requires { F::numbers_of_codes; }
inline constexpr bool has_nibble_scores<float, F> = has_nibble_columns;

#if defined(POSENC_HAS_NIBBLE_COLUMNS)

POSENC_QUIET_BEGIN

/// The scores of Rows queries and 16 keys, four of each stream side by side. q: [Rows][dims].
template <std::size_t Rows, class F>
POSENC_ALWAYS_INLINE inline std::array<lanes<float>::number, Rows> scores_of_16(
    float const* q, head_block<F, 16> const& k, std::size_t dims) noexcept {
  using number = lanes<float>::number;
  std::array<number, Rows> sums;
  for (auto& sum : sums) sum = number(0.0f);
  for (std::size_t i = 0, group = 0; i < dims; i += 32, group += 18) {
    if (i % 64 == 0) {
      for (std::size_t s = 0; s < 16; ++s) k.template prefetch<64>(s, i);
    }
    auto const group_of = [&](std::size_t lane) POSENC_INLINED {
      return k.heads[lane % 4 * streams + lane / 4] + group;
    };
    __m512i words[4];
    load_words_of_each([&](std::size_t lane) POSENC_INLINED { return group_of(lane) + 2; }, words);
    number products[Rows][2];  // of low and high bits: a sum waits for the one before
    for (auto& of_row : products) of_row[0] = of_row[1] = number(0.0f);
    unrolled<4>([&](std::size_t j) POSENC_INLINED {
      auto const add = [&](number const& x, std::size_t dim, std::size_t high) POSENC_INLINED {
        unrolled<Rows>([&](std::size_t r) POSENC_INLINED {
          products[r][high] =
              lanes<float>::multiply_add(number(q[r * dims + i + dim]), x, products[r][high]);
        });
      };
      [&]<std::size_t... n>(std::index_sequence<n...>) POSENC_INLINED {
        (add(nibble_of_each<n>(words[j], F::numbers_of_codes), 4 * j + n / 2 + n % 2 * 16, n % 2),
         ...);
      }
      (std::make_index_sequence<8>{});
    });
    auto const scales = half_of_each(group_of);
    for (std::size_t r = 0; r < Rows; ++r)
      sums[r] = lanes<float>::multiply_add(products[r][0] + products[r][1], scales, sums[r]);
  }
  return sums;
}

/// few_scores of Rows rows at a time.
template <std::size_t Rows, class F>
void nibble_scores(float* scores, float scale, float const* q, std::size_t rows,
                   auto const& k) noexcept {
  auto const keys = k.tokens(), dims = k.head_dim(), padded = rounded_up(rows, Rows);
  for_runs(keys, [&](token_run const& run) {
    run_reader<F, 16, std::remove_cvref_t<decltype(k)>> reader(k, run);
    reader.read(0, run.count, [=](std::size_t head, std::size_t i, auto const& block) {
      for (std::size_t first = 0; first < rows; first += Rows) {
        auto const sums = scores_of_16<Rows>(q + (head * padded + first) * dims, block, dims);
        for (std::size_t r = 0; r < std::min(Rows, rows - first); ++r) {
          auto* const to = scores + (head * rows + first + r) * keys + run.first + i / streams;
          auto const scaled = sums[r] * lanes<float>::number(scale);
          if (i + 16 <= run.count) {
            store_quarters(to, run.length, scaled);
          } else {
            float each[16];
            lanes<float>::store(each, scaled);
            for (std::size_t n = 0; i + n < run.count; ++n)
              to[n % streams * run.length + n / streams] = each[n % streams * 4 + n / streams];
          }
        }
      }
    });
  });
}

POSENC_QUIET_END

#endif

}}}  // namespace posenc::detail
