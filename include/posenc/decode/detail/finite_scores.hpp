// Scores whose codes overflow where the keys as numbers do not.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/decode/detail/head_codes.hpp"
#include "posenc/heads/format.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Tests exponent bits; branch-free, so that it vectorises.
template <std::floating_point T>
bool all_finite(std::span<T const> numbers) noexcept {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto infinity = static_cast<bits>(detail::bit_cast<bits>(negative_infinity<T>) << 1);
  bits highest = 0;
  for (auto const x : numbers)
    highest = std::max(highest, static_cast<bits>(detail::bit_cast<bits>(x) << 1));
  return highest < infinity;
}

/// scores[row][s] = scale q[row] k[s] in double, where scores are infinite or NaN.
template <std::floating_point T, class S>
void sum_again(std::span<T> scores, T scale, std::span<T const> q, auto const& k,
               std::size_t head) noexcept {
  if (!all_finite(q)) return;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    if (is_finite(static_cast<double>(scores[s]))) continue;
    auto const* const codes =
        reinterpret_cast<typename head_codes<S>::element const*>(k.codes(s, head));
    std::byte const* scales = nullptr;
    if constexpr (head_codes<S>::takes_scales) scales = k.scales(s, head);
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i)
      sum += static_cast<double>(q[i]) *
             static_cast<double>(head_codes<S>::load_one(codes, scales, i));
    if constexpr (head_codes<S>::has_factors && scaled_format<S>)
      sum *= static_cast<double>(k.format().factor(k.scales(s, head)));
    else if constexpr (head_codes<S>::has_factors)
      sum *= static_cast<double>(k.format().factor());
    scores[s] = static_cast<T>(sum * static_cast<double>(scale));
  }
}

/// Computes infinite and NaN scores of finite queries again, [heads][rows][keys]: codes and factors
/// may overflow where the numbers that they stand for do not. q: [heads][padded][head_dim].
template <std::floating_point T, class S>
void finish_scores(T* scores, T scale, T const* q, std::size_t rows, std::size_t padded,
                   auto const& k) noexcept {
  auto const keys = k.tokens(), dims = k.head_dim();
  if (all_finite(std::span<T const>(scores, k.heads() * rows * keys))) return;
  for (std::size_t row = 0; row < k.heads() * rows; ++row) {
    auto const head = row / rows;
    sum_again<T, S>({scores + row * keys, keys}, scale,
                    {q + (head * padded + row % rows) * dims, dims}, k, head);
  }
}

}}}  // namespace posenc::detail
