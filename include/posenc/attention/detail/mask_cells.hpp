// The cells of a given mask in memory, whatever their type: looked at as bits, some at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "posenc/attention/token_range.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/simd/numbers.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// T can be a cell of a given mask.
template <class T>
concept cell_of_mask = std::same_as<T, bool> || std::same_as<T, unsigned char> || storable<T>;

/// The bits of a cell. A bool is not 0 where the key is seen; a bias is -infinity where it is not.
template <class T>
struct mask_cell {
  static constexpr bool is_bias = !std::same_as<T, bool>;
  using bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  // -infinity has the sign and the whole exponent, and no fraction.
  static constexpr int fraction = std::same_as<T, double>  ? 52
                                  : std::same_as<T, float> ? 23
                                  : std::same_as<T, half>  ? 10
                                                           : 7;
  static constexpr auto hidden = static_cast<bits>(is_bias ? ~std::uint64_t{0} << fraction : 0);

  static constexpr std::size_t together = 64;  ///< are looked at
  using some = std::array<bits, together>;

  // No branch, and a known size: one pass of registers.
  static bool any(some const& cells, auto const& bits_of) noexcept {
    bits all = 0;
    for (auto const cell : cells) all = static_cast<bits>(all | bits_of(cell));
    return all != 0;
  }
  static bool any_seen(some const& cells) noexcept {
    return any(cells, [](bits cell) { return cell ^ hidden; });
  }
  static bool any_hidden(some const& cells) noexcept {
    return any(cells, [](bits cell) { return cell == hidden; });
  }
  /// Whether a bias is neither 0 nor -infinity.
  static bool any_added(some const& cells) noexcept {
    return any(cells, [](bits cell) { return cell == hidden ? bits{0} : cell; });
  }
};

/// Cells [heads][queries][keys] at strides in bytes, that of keys in cells.
struct mask_cells {
  enum class type : unsigned char { bytes, bits, floats, doubles, halfs, bfloat16s };

  std::byte const* data;
  std::ptrdiff_t query, head, key;
  type cells;
  friend bool operator==(mask_cells const&, mask_cells const&) = default;

  template <cell_of_mask T>
  static constexpr type type_of() noexcept {
    if constexpr (sizeof(T) == 1) {
      return type::bytes;
    } else {
      using format = storage_format_t<T>;
      return std::same_as<format, float>    ? type::floats
             : std::same_as<format, double> ? type::doubles
             : std::same_as<format, half>   ? type::halfs
                                            : type::bfloat16s;
    }
  }
  bool are_biases() const noexcept { return cells > type::bits; }

  /// what(mask_cell<T>()) for their type.
  auto in_type(auto const& what) const noexcept {
    switch (cells) {
      case type::floats:
        return what(mask_cell<float>());
      case type::doubles:
        return what(mask_cell<double>());
      case type::halfs:
        return what(mask_cell<half>());
      case type::bfloat16s:
        return what(mask_cell<bfloat16>());
      default:
        return what(mask_cell<bool>());
    }
  }

  /// The smallest range of the keys of a row that are seen; {0, 0} if none is.
  token_range seen(std::size_t t, std::size_t of_head, token_range among) const noexcept {
    return in_type([&]<class Cell>(Cell) {
      auto first = among.first, last = among.last;
      auto const* const row = row_of(t, of_head);
      typename Cell::some some;
      for (std::size_t i = 0; first < last; first += Cell::together) {
        read<Cell>(row, {first, last}, some);
        if (!Cell::any_seen(some)) continue;
        while (some[i] == Cell::hidden) ++i;
        first += i;
        break;
      }
      if (first >= last) return token_range{0, 0};  // or found beyond the last
      for (;;) {                                    // ends at `first`
        auto const count = std::min(Cell::together, last - first);
        read<Cell>(row, {last - count, last}, some);
        for (auto i = Cell::any_seen(some) ? count : 0; i > 0; --i)
          if (some[i - 1] != Cell::hidden) return token_range{first, last - count + i};
        last -= count;
      }
    });
  }

  /// Overwrites elements of a row whose keys are hidden.
  template <class T>
  void hide(std::size_t t, std::size_t of_head, token_range keys, T* row, T hidden) const noexcept {
    for_some(t, of_head, keys, row, [&]<class Cell>(Cell cell, auto const& some, auto elements) {
      overwrite(cell, some, elements, hidden);
    });
  }
  /// The bias of a key; 0 of cells that have none.
  double bias(std::size_t t, std::size_t of_head, std::size_t s) const noexcept {
    return in_type([&]<class T>(mask_cell<T>) -> double {
      if constexpr (mask_cell<T>::is_bias) {
        T cell;
        auto const step = key * static_cast<std::ptrdiff_t>(sizeof(T));
        std::memcpy(&cell, row_of(t, of_head) + step * static_cast<std::ptrdiff_t>(s), sizeof cell);
        return static_cast<double>(load(cell));
      } else {
        return 0;
      }
    });
  }
  /// Adds biases times a slope to scores, and writes -infinity where keys are hidden.
  template <class T>
  void add(std::size_t t, std::size_t of_head, token_range keys, T* row,
           double slope) const noexcept {
    for_some(t, of_head, keys, row, [&]<class Cell>(Cell cell, auto const& some, auto scores) {
      if (Cell::any_added(some)) {
        auto const biases = numbers(cell, some);
        for (std::size_t i = 0; i < scores.size(); ++i) {
          auto const bias = slope * static_cast<double>(biases[i]);
          auto const sum = static_cast<T>(static_cast<double>(scores[i]) + bias);
          scores[i] = bias < std::numeric_limits<double>::lowest() ? negative_infinity<T> : sum;
        }
      }
      overwrite(cell, some, scores, negative_infinity<T>);
    });
  }

 private:
  std::byte const* row_of(std::size_t t, std::size_t of_head) const noexcept {
    return data + static_cast<std::ptrdiff_t>(t) * query +
           static_cast<std::ptrdiff_t>(of_head) * head;
  }

  template <class Cell, class T>
  static void overwrite(Cell, typename Cell::some const& some, auto elements, T hidden) noexcept {
    if (!Cell::any_hidden(some)) return;
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = some[i] == Cell::hidden ? hidden : elements[i];
  }

  template <class T>
  static auto numbers(mask_cell<T>, typename mask_cell<T>::some const& some) noexcept {
    if constexpr (mask_cell<T>::is_bias) {
      std::array<arithmetic_t<T>, mask_cell<T>::together> to;
      load_numbers(reinterpret_cast<T const*>(some.data()), std::span<arithmetic_t<T>>(to));
      return to;
    } else {
      return some;  // not asked for
    }
  }

  /// The first cells of a range of keys, as many as fit. No one asks what follows the last.
  template <class Cell>
  void read(std::byte const* row, token_range keys, typename Cell::some& to) const noexcept {
    constexpr auto size = sizeof(typename Cell::bits);
    auto const count = std::min(keys.last - keys.first, to.size());
    if (cells == type::bits) {
      if constexpr (!Cell::is_bias) spread(word_of(row, keys.first, count), to);
    } else if (key == 1 && count == to.size()) {
      std::memcpy(to.data(), row + keys.first * size, sizeof to);
    } else {
      to.fill(Cell::hidden);
      auto const step = key * static_cast<std::ptrdiff_t>(size);
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&to[i], row + step * static_cast<std::ptrdiff_t>(keys.first + i), size);
    }
  }
  /// A byte for each bit, not 0 where the bit is not.
  static void spread(std::uint64_t word, std::array<std::uint8_t, 64>& to) noexcept {
    constexpr auto bit_of_each = std::endian::native == std::endian::little
                                     ? std::uint64_t{0x8040'2010'0804'0201}
                                     : std::uint64_t{0x0102'0408'1020'4080};
    for (std::size_t i = 0; i < to.size(); i += 8) {
      auto const bytes = (word >> i & 0xff) * 0x0101'0101'0101'0101 & bit_of_each;
      std::memcpy(&to[i], &bytes, sizeof bytes);
    }
  }
  /// `count` bits, at most 64, from one on, the first lowest, and what else is in their bytes: no
  /// byte beyond the last is read.
  static std::uint64_t word_of(std::byte const* row, std::size_t first,
                               std::size_t count) noexcept {
    auto const shift = first % 8;
    auto word = std::to_integer<std::uint64_t>(row[first / 8]) >> shift;
    for (std::size_t at = 8 - shift; at < count; at += 8)
      word |= std::to_integer<std::uint64_t>(row[(first + at) / 8]) << at;
    return word;
  }

  /// Calls what(Cell, cells, elements) for the keys of a range, Cell::together keys at a time.
  template <class T>
  void for_some(std::size_t t, std::size_t of_head, token_range keys, T* elements,
                auto const& what) const noexcept {
    in_type([&]<class Cell>(Cell cell) {
      auto const* const row = row_of(t, of_head);
      typename Cell::some some;
      for (auto first = keys.first; first < keys.last; first += Cell::together) {
        read<Cell>(row, {first, keys.last}, some);
        if (keys.last - first >= Cell::together) {  // of a known size
          what(cell, some, std::span<T, Cell::together>(elements, Cell::together));
        } else {
          what(cell, some, std::span<T>(elements, keys.last - first));
        }
        elements += Cell::together;
      }
    });
  }
};

}}}  // namespace posenc::detail
