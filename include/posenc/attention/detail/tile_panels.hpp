// Keys and values as the products of many rows read them.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/simd/tile.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Neighbouring keys or values of one head as panels, each made when it is first asked for. They
/// are kept for the next blocks of queries, or else the next panel takes their place.
template <std::floating_point T>
class tile_panels {
 public:
  tile_panels() = default;
  /// Takes memory for up to as many tokens.
  tile_panels(scratch& memory, std::size_t tokens, std::size_t dims, bool kept) : kept_(kept) {
    auto const of = [](std::size_t count, std::size_t each) { return (count + each - 1) / each; };
    auto const panels = std::max(of(tokens, tile_columns<T>) * of(dims, tile_terms),
                                 of(tokens, tile_terms) * of(dims, tile_columns<T>));
    auto const terms = std::min(tile_terms, std::max(tokens, dims));
    done_ = memory.take<char>(panels_ = kept ? panels : 1);
    // The last tile may read a register from any number of the last row on.
    numbers_ = memory.take<T>(panels_ * terms * tile_columns<T> + line);
  }
  /// All tokens of a head, in memory that the panels own.
  explicit tile_panels(heads_view<T const> const& head) {
    scratch counted;
    tile_panels(counted, head.tokens(), head.head_dim(), true);
    std::vector<std::byte> own(counted.bytes());
    scratch memory(own.data());
    *this = tile_panels(memory, head.tokens(), head.head_dim(), true);
    own_ = std::move(own);
    begin(head, 0);
  }

  /// Takes tokens from `first` on, which is a multiple of tile_terms and of tile_columns.
  void begin(heads_view<T const> const& head, std::size_t first) {
    head_ = head, first_ = first;
    std::fill_n(done_, panels_, char{0});
  }
  heads_view<T const> const& head() const noexcept { return head_; }     ///< token 0 is first()
  std::size_t first() const noexcept { return first_; }                  ///< token
  std::size_t last() const noexcept { return first_ + head_.tokens(); }  ///< one beyond
  static constexpr std::size_t heads() noexcept { return 1; }

  /// [terms][columns]: some dims of keys, panel[n][c] = head(key + c)[dim + n].
  T const* of_keys(std::size_t key, std::size_t keys, std::size_t dim, std::size_t terms) {
    key -= first_;
    auto const parts = (head_.head_dim() - 1) / tile_terms + 1;
    auto const [to, is_new] = panel(key / tile_columns<T> * parts + dim / tile_terms,
                                    std::min(tile_terms, head_.head_dim()));
    if (is_new) transpose(to, key, keys, dim, terms);
    return to;
  }
  /// [terms][columns]: some dims of values, panel[n][c] = head(value + n)[dim + c].
  T const* of_values(std::size_t value, std::size_t terms, std::size_t dim, std::size_t columns) {
    value -= first_;
    auto const parts = (head_.head_dim() - 1) / tile_columns<T> + 1;
    auto const [to, is_new] = panel(value / tile_terms * parts + dim / tile_columns<T>,
                                    std::min(tile_terms, head_.tokens()));
    for (std::size_t n = 0; is_new && n < terms; ++n) {
      if (n + ahead < terms) prefetch_numbers(head_(value + n + ahead, 0).subspan(dim, columns));
      auto const* const from = head_(value + n, 0).data() + dim;
      auto* const row = to + n * tile_columns<T>;
      std::size_t c = 0;
      for (; c + size <= columns; c += size) lanes<T>::store(row + c, lanes<T>::load(from + c));
      if (c < columns)
        std::fill(std::copy(from + c, from + columns, row + c), row + c + size, T{0});
    }
    return to;
  }

 private:
  static constexpr auto size = lanes<T>::size;
  static constexpr std::size_t line = 64 / sizeof(T);  // of a cache
  static constexpr std::size_t ahead = 16;  // tokens, whose strides the CPU does not foresee

  // Panel i, and whether it must still be packed.
  std::pair<T*, bool> panel(std::size_t i, std::size_t terms) noexcept {
    if (!kept_) i = 0;
    return {numbers_ + i * terms * tile_columns<T>, !std::exchange(done_[i], kept_)};
  }

  /// Beyond the last key, up to a whole register, that key again.
  void transpose(T* panel, std::size_t key, std::size_t keys, std::size_t dim,
                 std::size_t terms) const noexcept {
    for (std::size_t c = 0; c < keys; c += size) {
      std::array<T const*, size> from;
      for (std::size_t i = 0; i < size; ++i) {
        from[i] = head_(key + std::min(c + i, keys - 1), 0).data() + dim;
        if (c + i + size < keys) prefetch_numbers(head_(key + c + i + size, 0).subspan(dim, terms));
      }
      auto* to = panel + c;
      std::size_t n = 0;
      for (; n + size <= terms; n += size) {
        std::array<typename lanes<T>::number, size> x;
        for (std::size_t i = 0; i < size; ++i) x[i] = lanes<T>::load(from[i] + n);
        lanes<T>::transpose(x.data());
        for (auto const& row : x) lanes<T>::store(to, row), to += tile_columns<T>;
      }
      for (; n < terms; ++n, to += tile_columns<T>)
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i][n];
    }
  }

  heads_view<T const> head_ = {nullptr, {0, 1, 1}};
  std::size_t first_ = 0, panels_ = 0;
  bool kept_ = false;
  char* done_ = nullptr;  // of each panel
  T* numbers_ = nullptr;
  std::vector<std::byte> own_;
};

}}}  // namespace posenc::detail
