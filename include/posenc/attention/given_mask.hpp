// Which keys a query sees, and with what biases, given cell by cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/attention/detail/mask_cells.hpp"
#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/detail/fits_into_memory.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Cells [heads][queries][keys] of an engine, where they lie: a copy refers to the same memory,
/// which must outlive it. Queries and keys are counted as the call has them, whatever their
/// positions; a mask may have more of either.
///
///     mask::given(given_mask(sees, {8, 1, 4104}))           bool or bytes: a tree of 8 drafts
///     mask::given(given_mask(kq, {n, 1, keys}, {row}))      half: ggml's mask, rows of `row` halfs
///     mask::given(given_mask(m, {n, 32, keys}))             ONNX's attn_mask, one for each head
///     mask::given(given_mask(padding, {n, 1, keys}, {0}))   the same keys for every query
///
/// Booleans, bytes and bits that are not 0 show a key. Numbers are biases, and -infinity hides: a
/// bias is added, in double, to a score that is finished, after every rule of site 3, a soft cap
/// too. (attention_bias is a rule, which stands where its scheme has it.)
///
/// No cell is looked at before the work. A bias that is NaN or +infinity makes the outputs of its
/// row NaN. A very low one, as -65504, hides nothing: its key has next to no weight, unless all
/// keys of its row are so low. The sums are stored as scores are: floats near -65504 are multiples
/// of 2^-8, so that weights of such a row are off by up to 4e-3 of themselves, and near -1e9 all
/// are equal, as in PyTorch.
class given_mask {
 public:
  /// Heads are 1, which all share, or as many as the call has.
  struct shape {
    std::size_t queries, heads, keys;  ///< of the cells
    friend bool operator==(shape const&, shape const&) = default;
  };
  /// From one query, head or key to the next, in cells; 0 where they share one; may be negative.
  struct strides {
    std::ptrdiff_t query, head = 0, key = 1;  ///< in cells
    friend bool operator==(strides const&, strides const&) = default;
  };

  /// T: bool, unsigned char or any storable number. Words of an engine are cast, to half const* or
  /// bfloat16 const*. Throws std::invalid_argument if there is no head, if data is null but there
  /// are cells, or if they do not fit into memory.
  template <detail::cell_of_mask T>
  given_mask(T const* data, shape extents, strides steps)
      : given_mask(detail::mask_cells::type_of<T>(), data, sizeof(T), extents, steps) {}
  /// Dense.
  template <detail::cell_of_mask T>
  given_mask(T const* data, shape extents)
      : given_mask(data, extents,
                   {static_cast<std::ptrdiff_t>(extents.keys),
                    static_cast<std::ptrdiff_t>(extents.keys * extents.queries)}) {}

  /// Key s is bit s % 8, the lowest being 0, of byte s / 8. Strides of queries and heads are in
  /// bytes; that of keys must be 1.
  static given_mask bits(std::byte const* data, shape extents, strides steps) {
    detail::require(steps.key == 1, "given_mask: bits must have a stride of 1 between keys, got ",
                    steps.key);
    return given_mask(detail::mask_cells::type::bits, data, 1, extents, steps);
  }

  /// Biases times the slope of their head, as ggml's max_bias. Views the slopes, which must outlive
  /// it. Throws std::invalid_argument unless cells are biases and all slopes are finite.
  given_mask with_slopes(viewed<double> of_heads) const {
    detail::require(has_biases(), "given_mask: slopes must be of biases, got cells without");
    for (auto const slope : of_heads)
      detail::require(is_finite(slope), "given_mask: slopes must be finite, got ", slope);
    auto sloped = *this;
    sloped.has_slopes_ = true;
    sloped.slopes_ = of_heads.data();
    sloped.slope_count_ = of_heads.size();
    return sloped;
  }

  bool has_biases() const noexcept { return cells_.are_biases(); }  ///< numbers that are added
  /// Whether heads may see different keys.
  bool heads_differ() const noexcept { return shape_.heads > 1 && cells_.head != 0; }

  /// The same memory, seen in the same way.
  friend bool operator==(given_mask const&, given_mask const&) = default;

  /// Throws std::invalid_argument, in the name of a function, unless there are cells for all
  /// queries, heads and keys, and slopes, if any, for all heads.
  void check(char const* function, std::size_t queries, std::size_t heads, std::size_t keys) const {
    detail::require(shape_.queries >= queries && (shape_.heads == 1 || shape_.heads == heads) &&
                        shape_.keys >= keys,
                    function, ": a given mask must have at least ", queries, " queries and ", keys,
                    " keys, of 1 head or of ", heads, ", got ", shape_.queries, " queries and ",
                    shape_.keys, " keys of ", shape_.heads);
    detail::require(!has_slopes_ || slope_count_ == heads, function,
                    ": a given mask must have one slope for each of ", heads, " heads, got ",
                    slope_count_);
  }

  /// A hash of the cells' place and shape, for workers that compare their arguments.
  std::uint64_t hash() const noexcept {
    detail::argument_hash all;
    for (std::size_t const n :
         {shape_.queries, shape_.heads, shape_.keys, static_cast<std::size_t>(cells_.cells),
          static_cast<std::size_t>(cells_.query), static_cast<std::size_t>(cells_.head),
          static_cast<std::size_t>(cells_.key)})
      all.add(std::uint64_t{n});
    all.add(std::span(slopes_, slope_count_));
    return all.value();
  }

  // Not checked: what check() has passed, and tokens and heads of that call.

  /// The number that is added to a score: 0 if there are no biases, -infinity if the key is hidden.
  double bias(std::size_t query, std::size_t head, std::size_t key) const noexcept {
    double score = 0;
    apply(query, head, {key, key + 1}, std::span(&score, 1));
    return score;
  }
  /// The smallest range of the keys that are seen; {0, 0} if none is.
  token_range seen(std::size_t query, std::size_t head, token_range among) const noexcept {
    return cells_.seen(query, head, among);
  }
  /// Adds biases to the scores of keys, in double, and writes -infinity where they are hidden.
  template <class T>
  void apply(std::size_t query, std::size_t head, token_range keys,
             std::span<T> row) const noexcept {
    if (!has_biases()) return hide(query, head, keys, row, detail::negative_infinity<T>);
    cells_.add(query, head, keys, row.data(), has_slopes_ ? slopes_[head] : 1);
  }
  /// Overwrites elements of a row whose keys are hidden.
  template <class T>
  void hide(std::size_t query, std::size_t head, token_range keys, std::span<T> row,
            T hidden) const noexcept {
    cells_.hide(query, head, keys, row.data(), hidden);
    if (has_slopes_) hide_by_slope(query, head, keys, row, hidden);
  }

 private:
  /// A negative slope hides what is +infinity. Not inlined: a row is hidden from after its work
  /// only if it has a NaN.
  template <class T>
  [[gnu::noinline]] void hide_by_slope(std::size_t query, std::size_t head, token_range keys,
                                       std::span<T> row, T hidden) const noexcept {
    for (auto s = keys.first; s < keys.last; ++s)
      if (detail::is_negative_infinity(slopes_[head] * cells_.bias(query, head, s)))
        row[s - keys.first] = hidden;
  }

  given_mask(detail::mask_cells::type type, void const* data, std::size_t size, shape extents,
             strides steps)
      : cells_{static_cast<std::byte const*>(data), 0, 0, steps.key, type}, shape_(extents) {
    detail::require(extents.heads > 0, "given_mask: there must be a head, got 0");
    if (extents.queries == 0 || extents.keys == 0) return;
    detail::require(data != nullptr, "given_mask: data must not be null for ", extents.queries,
                    " queries and ", extents.keys, " keys");
    using detail::repeated;
    detail::require(detail::fits_into_memory(
                        detail::room_of_memory(size), 1, repeated{extents.queries, steps.query},
                        repeated{extents.heads, steps.head}, repeated{extents.keys, steps.key}),
                    "given_mask: cells must fit into memory, got ", extents.queries,
                    " queries of stride ", steps.query, ", ", extents.heads, " heads of stride ",
                    steps.head, " and ", extents.keys, " keys of stride ", steps.key);
    auto const bytes = static_cast<std::ptrdiff_t>(size);
    if (extents.queries > 1) cells_.query = bytes * steps.query;
    if (extents.heads > 1) cells_.head = bytes * steps.head;
    if (extents.keys == 1) cells_.key = 1;
  }

  detail::mask_cells cells_;
  shape shape_;
  bool has_slopes_ = false;
  double const* slopes_ = nullptr;
  std::size_t slope_count_ = 0;
};

}}  // namespace posenc
