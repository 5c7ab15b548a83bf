// Which keys a query sees, and with what biases, given cell by cell.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "posenc/core/bit_cast.hpp"
#include "posenc/core/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

/// From first up to but not including last.
struct token_range {
  std::size_t first, last;  ///< [first, last)
  friend bool operator==(token_range const&, token_range const&) = default;
};

namespace detail {

/// The bits of a cell: a boolean, not 0 where the key is seen, or a bias, -infinity where hidden.
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

  static bool sees_any(some const& cells) noexcept {
    bits any = 0;
    for (auto const cell : cells) any = static_cast<bits>(any | (cell ^ hidden));
    return any != 0;
  }
  /// The bias of a cell that is not hidden.
  static double number(bits cell) noexcept {
    if constexpr (is_bias) return static_cast<double>(load(detail::bit_cast<T>(cell)));
    return 0;
  }
};

/// T can be a cell of a given_mask.
template <class T>
concept cell_of_mask = std::same_as<T, bool> || std::same_as<T, unsigned char> || storable<T>;

}  // namespace detail

/// Cells [heads][queries][keys] of an engine, where they lie: a copy refers to the same memory,
/// which must outlive it. Queries and keys are counted as the call has them; a mask may have more.
///
///     mask::given(given_mask(sees, {8, 1, 4104}))           bool or bytes: a tree of 8 drafts
///     mask::given(given_mask(kq, {n, 1, keys}, {row}))      half: ggml's mask, rows of `row` halfs
///     mask::given(given_mask(m, {n, 32, keys}, {keys, n * keys}))       one for each head
///     mask::given(given_mask(padding, {n, 1, keys}, {0}))   the same keys for every query
///
/// Booleans, bytes and bits that are not 0 show a key. Numbers are biases: each is added, in
/// double, to the finished score, after every rule of site 3, a soft cap too; -infinity hides.
/// No cell is looked at before the work. A bias that is NaN or +infinity makes the outputs of its
/// row NaN. One that is very low, as -65504, hides nothing: it leaves a weight near 0.
class given_mask {
 public:
  /// Heads are 1, which all share, or as many as the call has.
  struct shape {
    std::size_t queries, heads, keys;
    friend bool operator==(shape const&, shape const&) = default;
  };
  /// From one query, head or key to the next, in cells; 0 where they share one; may be negative.
  struct strides {
    std::ptrdiff_t query, head = 0, key = 1;
    friend bool operator==(strides const&, strides const&) = default;
  };

  /// T: bool, unsigned char or any storable number; 16-bit words of an engine are cast to
  /// half const* or bfloat16 const*. Throws std::invalid_argument if there is no head, if data is
  /// null but there are cells, or if they do not fit into memory.
  template <detail::cell_of_mask T>
  given_mask(T const* data, shape extents, strides steps)
      : given_mask(type_of<T>(), data, sizeof(T), extents, steps) {}
  /// Dense.
  template <detail::cell_of_mask T>
  given_mask(T const* data, shape extents)
      : given_mask(data, extents,
                   {static_cast<std::ptrdiff_t>(extents.keys),
                    static_cast<std::ptrdiff_t>(extents.keys * extents.queries)}) {}

  /// Key s is bit s % 8, the lowest being 0, of byte s / 8. Strides of queries and heads are in
  /// bytes, that of keys is 1.
  static given_mask bits(std::byte const* data, shape extents, strides steps) {
    detail::require(steps.key == 1, "given_mask: bits must have a stride of 1 between keys, got ",
                    steps.key);
    return given_mask(cells::bits, data, 1, extents, steps);
  }

  /// Biases times the slope of their head, as ALiBi's in ggml. Views the slopes, which must outlive
  /// it. Throws std::invalid_argument unless cells are biases and all slopes are finite.
  given_mask with_slopes(std::span<double const> of_heads) const {
    detail::require(has_biases(), "given_mask: slopes must be of biases, got cells that are not");
    for (auto const slope : of_heads)
      detail::require(is_finite(slope), "given_mask: slopes must be finite, got ", slope);
    auto sloped = *this;
    sloped.slopes_ = of_heads.data(), sloped.slope_count_ = of_heads.size();
    return sloped;
  }

  bool has_biases() const noexcept { return type_ > cells::bits; }
  /// Whether heads may see different keys.
  bool heads_differ() const noexcept { return shape_.heads > 1 && strides_.head != 0; }

  /// The same memory, seen in the same way.
  friend bool operator==(given_mask const&, given_mask const&) = default;

  /// Throws std::invalid_argument, in the name of a function, unless there are cells for all
  /// queries, heads and keys, and slopes, if any, for all heads.
  void check(char const* function, std::size_t queries, std::size_t heads, std::size_t keys) const {
    detail::require(shape_.queries >= queries && shape_.keys >= keys &&
                        (shape_.heads == 1 || shape_.heads == heads),
                    function, ": a given mask must have ", queries, " queries, 1 or ", heads,
                    " heads and ", keys, " keys, got ", shape_.queries, ", ", shape_.heads, " and ",
                    shape_.keys);
    detail::require(slopes_ == nullptr || slope_count_ == heads, function,
                    ": a given mask must have one slope for each of ", heads, " heads, got ",
                    slope_count_);
  }

 private:
  auto in_type(auto const& what) const noexcept {
    switch (type_) {
      case cells::floats:
        return what(detail::mask_cell<float>());
      case cells::doubles:
        return what(detail::mask_cell<double>());
      case cells::halfs:
        return what(detail::mask_cell<half>());
      case cells::bfloat16s:
        return what(detail::mask_cell<bfloat16>());
      default:
        return what(detail::mask_cell<bool>());
    }
  }

 public:
  // Preconditions of all below, not checked: check(), and indices below what it was told.

  /// What is added to a score: -infinity where the key is hidden; 0 if there are no biases.
  double bias(std::size_t query, std::size_t head, std::size_t key) const noexcept {
    double score = 0;
    apply(query, head, {key, key + 1}, std::span(&score, 1));
    return score;
  }

  /// The smallest range of the keys that are seen; {0, 0} if none is.
  token_range seen(std::size_t query, std::size_t head, token_range among) const noexcept {
    return in_type([&]<class Cell>(Cell) {
      auto [first, last] = among;
      typename Cell::some some;
      auto const at = [&](std::size_t i) { return some[i] != Cell::hidden; };
      for (std::size_t i = 0; first < last; first += Cell::together) {
        read<Cell>(query, head, {first, last}, some);
        if (!Cell::sees_any(some)) continue;
        while (!at(i)) ++i;
        first += i;
        break;
      }
      if (first >= last) return token_range{0, 0};
      for (;;) {  // ends at `first`
        auto const count = std::min(Cell::together, last - first);
        read<Cell>(query, head, {last - count, last}, some);
        for (auto i = Cell::sees_any(some) ? count : 0; i > 0; --i)
          if (at(i - 1)) return token_range{first, last - count + i};
        last -= count;
      }
    });
  }

  /// Adds biases to the scores of keys, in double, and writes -infinity where they are hidden.
  template <class T>
  void apply(std::size_t query, std::size_t head, token_range keys,
             std::span<T> row) const noexcept {
    if (!has_biases()) return hide(query, head, keys, row, detail::negative_infinity<T>);
    auto const slope = slopes_ == nullptr ? 1 : slopes_[head];
    for_cells(query, head, keys, row, [&]<class Cell>(Cell, auto const& some, auto scores) {
      typename Cell::bits any = 0;
      for (auto const cell : some) any = static_cast<typename Cell::bits>(any | cell);
      if (any == 0) return;  // biases of 0 alone
      for (std::size_t i = 0; i < scores.size(); ++i) {
        auto const sum =
            static_cast<T>(static_cast<double>(scores[i]) + slope * Cell::number(some[i]));
        scores[i] = some[i] == Cell::hidden ? detail::negative_infinity<T> : sum;
      }
    });
  }

  /// Overwrites elements of a row whose keys are hidden.
  template <class T>
  void hide(std::size_t query, std::size_t head, token_range keys, std::span<T> row,
            T hidden) const noexcept {
    for_cells(query, head, keys, row, [&]<class Cell>(Cell, auto const& some, auto elements) {
      for (std::size_t i = 0; i < elements.size(); ++i)
        elements[i] = some[i] == Cell::hidden ? hidden : elements[i];
    });
  }

 private:
  enum class cells : unsigned char { bytes, bits, floats, doubles, halfs, bfloat16s };

  template <class T>
  static constexpr cells type_of() noexcept {
    if constexpr (sizeof(T) == 1) {
      return cells::bytes;
    } else {
      using format = storage_format_t<T>;
      return std::same_as<format, float>    ? cells::floats
             : std::same_as<format, double> ? cells::doubles
             : std::same_as<format, half>   ? cells::halfs
                                            : cells::bfloat16s;
    }
  }

  given_mask(cells type, void const* data, std::size_t size, shape extents, strides steps)
      : data_(static_cast<std::byte const*>(data)), shape_(extents), strides_(steps), type_(type) {
    auto const [queries, heads, keys] = extents;
    detail::require(heads > 0, "given_mask: there must be a head, got 0");
    if (queries == 0 || keys == 0) return;
    detail::require(data != nullptr, "given_mask: data must not be null for ", queries,
                    " queries and ", keys, " keys");
    auto room = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size - 1;
    auto const fits = [&](std::size_t count, std::ptrdiff_t stride) {
      auto const step =
          stride < 0 ? 0 - static_cast<std::size_t>(stride) : static_cast<std::size_t>(stride);
      if (step != 0 && count - 1 > room / step) return false;
      room -= (count - 1) * step;
      return true;
    };
    detail::require(fits(queries, steps.query) && fits(heads, steps.head) && fits(keys, steps.key),
                    "given_mask: cells must fit into memory, got ", queries, " queries of stride ",
                    steps.query, ", ", heads, " heads of stride ", steps.head, " and ", keys,
                    " keys of stride ", steps.key);
  }

  /// The first cells of a range of keys, as many as fit; hidden ones follow the last.
  template <class Cell>
  void read(std::size_t query, std::size_t head, token_range keys,
            typename Cell::some& to) const noexcept {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(typename Cell::bits));
    auto const count = std::min(keys.last - keys.first, to.size());
    if (count < to.size()) to.fill(Cell::hidden);
    auto const* const row =
        data_ +
        size * (static_cast<std::ptrdiff_t>(query) * strides_.query +
                (shape_.heads == 1 ? 0 : static_cast<std::ptrdiff_t>(head) * strides_.head));
    if (type_ == cells::bits) {
      for (auto s = keys.first; s < keys.first + count; ++s)
        to[s - keys.first] =
            static_cast<typename Cell::bits>(std::to_integer<unsigned>(row[s / 8]) >> s % 8 & 1);
    } else if (strides_.key == 1) {
      auto const* const from = row + size * static_cast<std::ptrdiff_t>(keys.first);
      if (count == to.size()) {
        std::memcpy(to.data(), from, sizeof to);
      } else {
        std::memcpy(to.data(), from, count * sizeof to[0]);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(&to[i], row + size * strides_.key * static_cast<std::ptrdiff_t>(keys.first + i),
                    sizeof to[i]);
    }
  }

  /// what(Cell, cells, elements) for the keys of a range, some at a time.
  template <class T>
  void for_cells(std::size_t query, std::size_t head, token_range keys, std::span<T> row,
                 auto const& what) const noexcept {
    in_type([&]<class Cell>(Cell cell) {
      constexpr auto together = Cell::together;
      typename Cell::some some;
      for (auto first = keys.first; first < keys.last; first += together) {
        read<Cell>(query, head, {first, keys.last}, some);
        auto* const elements = row.data() + (first - keys.first);
        if (keys.last - first >= together) {  // of a known size, for the compiler
          what(cell, some, std::span<T, together>(elements, together));
        } else {
          what(cell, some, std::span<T>(elements, keys.last - first));
        }
      }
    });
  }

  std::byte const* data_;
  shape shape_;
  strides strides_;
  double const* slopes_ = nullptr;
  std::size_t slope_count_ = 0;
  cells type_;
};

}  // namespace posenc
