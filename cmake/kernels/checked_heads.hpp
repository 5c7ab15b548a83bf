// The C API: checks of posenc1_heads.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "handles.hpp"

namespace posenc_kernels {

// Divisions would cost more than all else here: sizes are powers of 2.
constexpr int log2_of_size[types] = {2, 3, 1, 1};
constexpr std::size_t size_of(posenc1_type type) noexcept {
  return std::size_t{1} << log2_of_size[type];
}

/// Whether the product fits; else product is its lowest bits. (Without GNU's builtin, and mostly
/// without a division.)
template <std::unsigned_integral T>
constexpr bool multiply(T a, T b, T& product) noexcept {
  product = a * b;
  return (a | b) >> (std::numeric_limits<T>::digits / 2) == 0 || a == 0 || product / a == b;
}

/// Throws unless an array begins at a multiple of its elements' size.
inline void require_aligned(char const* function, char const* name, void const* array,
                            std::size_t size) {
  require((reinterpret_cast<std::uintptr_t>(array) & (size - 1)) == 0, function, ": ", name,
          " must begin at a multiple of the ", size, " bytes of an element");
}

/// One dimension of heads: so many steps of a stride in bytes.
struct dimension {
  std::size_t steps;
  std::ptrdiff_t stride;

  std::uint64_t magnitude() const noexcept {
    return stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
  }
  /// A single step has no stride that matters.
  bool reaches_below(dimension const& other) const noexcept {
    return steps <= 1 || (other.steps > 1 && magnitude() <= other.magnitude());
  }
};

struct memory {
  std::uintptr_t first = 0, last = 0;
};
/// The memory of an array.
template <class T>
memory memory_of(T const* array, std::size_t count) noexcept {
  auto const first = reinterpret_cast<std::uintptr_t>(array);
  return {first, array == nullptr ? first : first + count * sizeof(T)};
}
inline bool overlap(memory a, memory b) noexcept { return a.first < b.last && b.first < a.last; }

struct heads_shape {
  std::size_t batches, tokens, heads, head_dim;
};

/// What an error calls heads.
struct heads_name {
  char const *function, *heads;
};

inline void require_dim(char const* function, char const* name, std::size_t dim) {
  require(dim > 0 && dim <= std::numeric_limits<std::uint32_t>::max(), function, ": ", name,
          " must be positive and below 2^32, got ", dim);
}

/// posenc1_heads with all strides, and where they are in memory.
struct checked_heads {
  char* data;
  dimension batch, token, head;  ///< with slots, `batch` counts pages
  memory all, of_batch, of_token;
  int64_t const* slots;
  std::size_t page_tokens;

  placed_heads in_elements(posenc1_type type) const noexcept {
    auto const shift = log2_of_size[type];
    return {data, token.stride >> shift, head.stride >> shift};
  }
  /// Token t of batch b, of `tokens` per batch. Null: its slot is negative.
  char* at(std::size_t b, std::size_t t, std::size_t tokens) const noexcept {
    auto const by = [this](std::size_t page, std::size_t step) {
      return data + static_cast<std::ptrdiff_t>(page) * batch.stride +
             static_cast<std::ptrdiff_t>(step) * token.stride;
    };
    if (slots == nullptr) return by(b, t);
    auto const slot = slots[b * tokens + t];
    if (slot < 0) return nullptr;
    auto const n = static_cast<std::size_t>(slot);
    return by(n / page_tokens, n % page_tokens);
  }
};

/// Grows a range of memory by a dimension. Throws unless it fits into memory and, for heads that
/// are written, unless steps are as far apart as what they step over is long.
[[gnu::always_inline]] inline void grow(heads_name what, memory& range, dimension const& d,
                                        bool written) {
  if (d.steps <= 1) return;
  auto const length = range.last - range.first;
  require(!written || d.magnitude() >= length, what.function, ": ", what.heads,
          ": heads that are written must not overlap, got a stride of ", d.stride,
          " bytes for what is ", length, " bytes long");
  std::uint64_t reach = 0;
  // No memory has 2^56 bytes, and none goes on from address 0 after the last.
  bool const fits = multiply<std::uint64_t>(d.steps - 1, d.magnitude(), reach) &&
                    (reach | length) >> 56 == 0 &&
                    reach <= (d.stride < 0 ? range.first : ~range.last);
  require(fits, what.function, ": ", what.heads, ": heads must fit into memory, got ", d.steps,
          " steps of ", d.stride, " bytes");
  auto const by = static_cast<std::uintptr_t>(reach);
  (d.stride < 0 ? range.first : range.last) += d.stride < 0 ? 0 - by : by;
}

/// Heads of `length` bytes each, in pages or not.
inline checked_heads placed(heads_name what, posenc1_heads const& given, bool paged,
                            std::size_t length, heads_shape const& shape, bool written) {
  checked_heads h{static_cast<char*>(given.data),
                  {paged ? given.pages : shape.batches, given.batch_stride},
                  {paged ? given.page_tokens : shape.tokens, given.token_stride},
                  {shape.heads, given.head_stride},
                  {},
                  {},
                  {},
                  given.slots,
                  given.page_tokens};
  auto const contiguous = [](dimension& d, dimension const& inner) {
    if (d.stride == 0)
      d.stride =
          static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(inner.stride) * inner.steps);
  };
  contiguous(h.head, {1, static_cast<std::ptrdiff_t>(length)});
  contiguous(h.token, h.head);
  contiguous(h.batch, h.token);

  auto const data = reinterpret_cast<std::uintptr_t>(given.data);
  h.of_token = {data, data + length};
  grow(what, h.of_token, h.head, written);
  // Each step must reach over what the smaller ones reach: mostly heads, tokens, batches.
  bool const in_order =
      (h.token.steps <= 1 || h.head.reaches_below(h.token)) &&
      (h.batch.steps <= 1 || (h.token.reaches_below(h.batch) && h.head.reaches_below(h.batch)));
  if (in_order) {
    h.of_batch = h.of_token;
    grow(what, h.of_batch, h.token, written);
    h.all = h.of_batch;
    grow(what, h.all, h.batch, written);
  } else {
    dimension d[] = {h.head, h.token, h.batch};
    std::ranges::sort(d, [](auto const& x, auto const& y) { return !y.reaches_below(x); });
    h.all = {data, data + length};
    for (auto const& one : d) {
      h.of_batch = h.all;  // if batches are outermost
      grow(what, h.all, one, written);
    }
    if (d[2].stride != h.batch.stride || d[2].steps != h.batch.steps) h.of_batch = h.all;
  }
  return h;
}

inline checked_heads checked(heads_name what, posenc1_heads const& given, heads_shape const& shape,
                             bool written) {
  // As bits: to C++ an enum has no other value than its own, so that the check would go.
  auto const type = bits_of(given.type), layout = bits_of(given.layout);
  require(type < types && layout < layouts, what.function, ": ", what.heads,
          ": type and layout must be ones of the header, got ", type, " and ", layout);
  require(given.data != nullptr, what.function, ": ", what.heads, ": data must not be null");
  auto const size = size_of(given.type);
  auto const all_bits = reinterpret_cast<std::uintptr_t>(given.data) |
                        static_cast<std::uintptr_t>(given.batch_stride) |
                        static_cast<std::uintptr_t>(given.token_stride) |
                        static_cast<std::uintptr_t>(given.head_stride);
  require((all_bits & (size - 1)) == 0, what.function, ": ", what.heads,
          ": data and strides must be multiples of the ", size,
          " bytes of an element, got strides of ", given.batch_stride, ", ", given.token_stride,
          " and ", given.head_stride);
  return placed(what, given, given.slots != nullptr, shape.head_dim * size, shape, written);
}

inline void check_slots(heads_name what, checked_heads const& h, std::size_t first,
                        std::size_t last) {
  if (h.slots == nullptr) return;
  auto const size = h.batch.steps * h.token.steps;
  for (auto i = first; i < last; ++i) {
    require(h.slots[i] < 0 || static_cast<std::uint64_t>(h.slots[i]) < size, what.function, ": ",
            what.heads, ": a slot must be below ", size, " (", h.batch.steps, " pages of ",
            h.token.steps, " tokens), got ", h.slots[i], " for token ", i);
  }
}

/// Whether ranges a and b, which both come again every `period` bytes, do not overlap.
inline bool side_by_side(memory a, memory b, std::ptrdiff_t period) noexcept {
  if (period <= 0) return false;
  auto const n = static_cast<std::uintptr_t>(period);
  auto const offset = (b.first % n + n - a.first % n) % n;
  return offset >= a.last - a.first && offset + (b.last - b.first) <= n;
}

/// Whether the heads of two sets, at least one of which is written, keep apart: they are elsewhere,
/// or side by side in each token, or in each batch or page.
inline bool apart(checked_heads const& a, checked_heads const& b) noexcept {
  if (!overlap(a.all, b.all)) return true;
  bool const same_batches = a.batch.stride == b.batch.stride && a.batch.steps == b.batch.steps;
  if (same_batches && side_by_side(a.of_batch, b.of_batch, a.batch.stride)) return true;
  bool const same_tokens = a.token.stride == b.token.stride && a.token.stride != 0 &&
                           a.batch.steps == b.batch.steps &&
                           (a.batch.steps == 1 || a.batch.stride == b.batch.stride) &&
                           a.batch.magnitude() % a.token.magnitude() == 0;
  return same_tokens && side_by_side(a.of_token, b.of_token, a.token.stride);
}

/// Whether they are the same heads, in memory of one type.
inline bool same(checked_heads const& a, checked_heads const& b) noexcept {
  auto const alike = [](dimension const& x, dimension const& y) {
    return x.stride == y.stride || (x.steps <= 1 && y.steps <= 1);
  };
  return a.data == b.data && a.slots == b.slots &&
         (a.slots == nullptr || a.page_tokens == b.page_tokens) && alike(a.batch, b.batch) &&
         alike(a.token, b.token) && alike(a.head, b.head);
}

}  // namespace posenc_kernels
