#pragma once

/// What rotate_fuzz asks rotate for: heads anywhere in one piece of memory, of any shape, strides
/// and slots.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "posenc/heads/heads_view.hpp"

namespace fuzz {

using posenc::heads_shape;
using posenc::heads_strides;

inline constexpr std::size_t arena_size = std::size_t{1} << 15;
using footprint = std::bitset<arena_size>;

// Heads as they were asked for, without the library: byte addresses that no view which there can be
// overflows.
struct heads_plan {
  bool paged;
  heads_shape shape;
  heads_strides strides;
  std::size_t pages, page_tokens;
  std::ptrdiff_t page_stride;
  std::vector<std::int64_t> slots;
  std::size_t offset, size_of_number;

  std::size_t tokens() const { return paged ? slots.size() : shape.tokens; }
  bool is_nothing() const { return tokens() == 0 || shape.heads == 0; }
  bool has_no_memory() const {
    return paged ? pages == 0 || page_tokens == 0 || shape.heads == 0 : is_nothing();
  }  // pages are, slots or no
  bool has(std::size_t token) const { return !paged || slots[token] >= 0; }

  [[clang::no_sanitize("signed-integer-overflow")]] __int128 address(std::size_t token,
                                                                     std::size_t head) const {
    __int128 at = static_cast<__int128>(head) * strides.head;
    if (paged) {
      auto const slot = static_cast<std::size_t>(slots[token]);
      at += static_cast<__int128>(slot / page_tokens) * page_stride +
            static_cast<__int128>(slot % page_tokens) * strides.token;
    } else {
      at += static_cast<__int128>(token) * strides.token;
    }
    return static_cast<__int128>(offset) + at * static_cast<__int128>(size_of_number);
  }

  // All memory from the lowest to the highest head that there could be.
  [[clang::no_sanitize("signed-integer-overflow")]] std::array<__int128, 2> envelope() const {
    __int128 first = 0, last = 0;
    auto const reach = [&](std::size_t steps, std::ptrdiff_t stride) {
      auto const way = steps == 0 ? 0 : static_cast<__int128>(steps - 1) * stride;
      (way < 0 ? first : last) += way;
    };
    reach(paged ? page_tokens : shape.tokens, strides.token), reach(shape.heads, strides.head);
    if (paged) reach(pages, page_stride);
    auto const size = static_cast<__int128>(size_of_number), base = static_cast<__int128>(offset);
    return {base + first * size, base + (last + static_cast<__int128>(shape.head_dim)) * size};
  }

  // The bytes of its heads, if they all lie in the arena.
  std::optional<footprint> bytes() const {
    footprint result;
    if (is_nothing()) return result;
    if (tokens() > 256 || shape.heads > 256) return std::nullopt;
    auto const length =
        static_cast<__int128>(shape.head_dim) * static_cast<__int128>(size_of_number);
    for (std::size_t t = 0; t < tokens(); ++t) {
      for (std::size_t h = 0; has(t) && h < shape.heads; ++h) {
        auto const at = address(t, h);
        if (at < 0 || length > static_cast<__int128>(arena_size) ||
            at + length > static_cast<__int128>(arena_size))
          return std::nullopt;
        for (auto i = static_cast<std::size_t>(at); i < static_cast<std::size_t>(at + length); ++i)
          result.set(i);
      }
    }
    return result;
  }

  bool is(heads_plan const& other) const {
    if (size_of_number != other.size_of_number || is_nothing()) return false;
    for (std::size_t t = 0; t < tokens(); ++t) {
      if (has(t) != other.has(t)) return false;
      for (std::size_t h = 0; has(t) && h < shape.heads; ++h)
        if (address(t, h) != other.address(t, h)) return false;
    }
    return true;
  }
};

inline bool envelopes_touch(heads_plan const& a, heads_plan const& b) {
  if (a.has_no_memory() || b.has_no_memory()) return false;
  auto const x = a.envelope(), y = b.envelope();
  return x[0] < y[1] && y[0] < x[1];
}

inline constexpr std::size_t few = 6;

inline heads_strides any_strides(FuzzedDataProvider& data, heads_shape shape) {
  auto const d = static_cast<std::ptrdiff_t>(std::min<std::size_t>(shape.head_dim, 1 << 20));
  auto const h = static_cast<std::ptrdiff_t>(std::min<std::size_t>(shape.heads, 1 << 10));
  auto const t = static_cast<std::ptrdiff_t>(std::min<std::size_t>(shape.tokens, 1 << 10));
  auto const pad = data.ConsumeIntegralInRange<std::ptrdiff_t>(0, 5);
  switch (data.ConsumeIntegralInRange(0, 7)) {
    case 0:
    case 1:
      return {h * (d + pad), d + pad};
    case 2:
      return {d + pad, t * (d + pad)};
    case 3:
      return {-h * (d + pad), -(d + pad)};
    case 4:
      return {2 * h * d + pad, d};
    case 5:
      return {0, 0};
    case 6:
      return {data.ConsumeIntegral<std::ptrdiff_t>(), data.ConsumeIntegral<std::ptrdiff_t>()};
    default:
      return {data.ConsumeIntegralInRange<std::ptrdiff_t>(-400, 400),
              data.ConsumeIntegralInRange<std::ptrdiff_t>(-400, 400)};
  }
}

inline heads_shape any_shape(FuzzedDataProvider& data) {
  heads_shape s{data.ConsumeIntegralInRange<std::size_t>(0, few),
                data.ConsumeIntegralInRange<std::size_t>(0, few),
                data.ConsumeIntegralInRange<std::size_t>(1, 290)};
  switch (data.ConsumeIntegralInRange(0, 15)) {
    case 0:
      s.heads = 60 + data.ConsumeIntegralInRange<std::size_t>(0, 10),
      s.head_dim = 1 + s.head_dim % 40;
      break;
    case 1:
      s.heads = data.ConsumeIntegral<std::size_t>();
      break;
    case 2:
      s.tokens = data.ConsumeIntegral<std::size_t>();
      break;
    case 3:
      s.head_dim = data.ConsumeIntegral<std::size_t>();
      break;
  }
  return s;
}

inline heads_plan any_plan(FuzzedDataProvider& data, heads_shape shape, std::size_t size_of_number,
                           bool paged) {
  heads_plan p{paged, shape, any_strides(data, shape), 0, 0, 0, {}, 0, size_of_number};
  p.offset =
      data.ConsumeIntegralInRange<std::size_t>(0, arena_size / size_of_number - 1) * size_of_number;
  if (!paged) return p;
  p.pages = data.ConsumeIntegralInRange<std::size_t>(0, 4),
  p.page_tokens = data.ConsumeIntegralInRange<std::size_t>(0, 4);
  if (data.ConsumeIntegralInRange(0, 31) == 0) p.pages = data.ConsumeIntegral<std::size_t>();
  if (data.ConsumeIntegralInRange(0, 31) == 0) p.page_tokens = data.ConsumeIntegral<std::size_t>();
  p.shape.tokens = p.page_tokens;
  p.strides = any_strides(data, p.shape);
  auto const dense = p.page_tokens * p.shape.heads * p.shape.head_dim;  // or nonsense
  p.page_stride = data.ConsumeBool()
                      ? static_cast<std::ptrdiff_t>(std::min<std::size_t>(dense, 1 << 20)) +
                            data.ConsumeIntegralInRange(0, 9)
                      : data.ConsumeIntegral<std::ptrdiff_t>();
  auto const slots = std::min<std::size_t>(shape.tokens, 2 * few);
  auto const size = static_cast<std::int64_t>(std::min<unsigned __int128>(
      static_cast<unsigned __int128>(p.pages) * p.page_tokens, 1 << 20));
  for (std::size_t i = 0; i < slots; ++i)
    p.slots.push_back(
        data.ConsumeIntegralInRange(0, 63) == 0
            ? data.ConsumeIntegral<std::int64_t>()
            : data.ConsumeIntegralInRange<std::int64_t>(-1, std::max<std::int64_t>(size - 1, -1)));
  return p;
}

template <class T>
auto view_of(std::byte* arena, heads_plan const& p, std::false_type) {
  return posenc::heads_view<T>(reinterpret_cast<T*>(arena + p.offset), p.shape, p.strides);
}
template <class T>
auto view_of(std::byte* arena, heads_plan const& p, std::true_type) {
  return posenc::heads_view<T, posenc::in_pages>(
      reinterpret_cast<T*>(arena + p.offset),
      {p.pages, p.page_tokens, p.shape.heads, p.shape.head_dim},
      {p.page_stride, p.strides.token, p.strides.head}, p.slots);
}

}  // namespace fuzz
