// Which keys a query sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/attention/given_mask.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// From first to last, both included; empty where last < first.
struct position_interval {
  std::int64_t first, last;  ///< any int64
  friend bool operator==(position_interval const&, position_interval const&) = default;
};

/// The keys that a query sees: the keys in an interval of positions around the query's. Packed
/// sequences and given cells hide more keys. `&` is the intersection.
///
///     mask::full                                  every key
///     mask::causal                                no key after the query
///     mask::causal & mask::sliding_window(128)    Mistral, Gemma, gpt-oss: the 128 nearest keys
///     mask::causal & mask::chunked(8192)          Llama 4: the keys of the query's own chunk
///     mask::causal & mask::packed({3, 4})         packed sequences, which see only themselves
///     mask::window(2, 1)                          FlashAttention's (2, 1): 2 behind, 1 ahead
///     mask::farther_than(2)                       what mask::window(2, mask::any) leaves out
///     mask::given(cells)                          a tree of drafts, a prefix, ggml's KQ mask
///     mask::given(cells) & mask::causal           ONNX's attn_mask with is_causal
///     mask::given(cells) & mask::window(511, mask::any)    Gemma 3: an image sees both ways
///
/// Positions decide, not the order of tokens: keys may be cached, evicted, padded, in any order.
/// Packed sequences are of neighbouring tokens, whose positions may begin anew with each. Given
/// cells go by the order of tokens alone: see given_mask. Immutable.
class mask {
 public:
  /// No limit on a side of a window.
  static constexpr auto any = std::numeric_limits<std::int64_t>::max();

  static mask const full,  ///< every key
      causal;              ///< no key after the query

  /// Keys at most so far behind the query, and ahead of it: 0 or more, or any. Throws
  /// std::invalid_argument if one is negative.
  static mask window(std::int64_t behind, std::int64_t ahead) {
    detail::require(behind >= 0 && ahead >= 0,
                    "mask: the lengths of a window must not be negative, got ", behind,
                    " behind and ", ahead, " ahead");
    return mask(behind, ahead);
  }

  /// Distances below `size` to either side. Throws std::invalid_argument unless size is positive.
  static mask sliding_window(std::int64_t size) {
    detail::require(size > 0, "mask: the size of a sliding window must be positive, got ", size);
    return mask(size - 1, size - 1);
  }

  /// Only keys more than `distance` behind the query: the keys that window(distance, any) hides.
  /// Throws std::invalid_argument if distance is negative.
  static mask farther_than(std::int64_t distance) {
    detail::require(distance >= 0, "mask: the distance must not be negative, got ", distance);
    return mask(any, -1 - distance);
  }

  /// Keys whose positions have the same floor(position / size) as the query's. Throws
  /// std::invalid_argument unless size is positive.
  static mask chunked(std::int64_t size) {
    detail::require(size > 0, "mask: the size of a chunk must be positive, got ", size);
    mask result = full;
    result.chunks_ = sizes{size};
    return result;
  }

  /// The lengths of the packed sequences, in queries and in keys.
  static mask packed(list_view<std::size_t> query_lengths, list_view<std::size_t> key_lengths) {
    detail::require(query_lengths.size() == key_lengths.size(),
                    "mask: there must be as many packed sequences of queries as of keys, got ",
                    query_lengths.size(), " and ", key_lengths.size());
    mask result = full;
    result.packing_ = {bounds_of(query_lengths), bounds_of(key_lengths)};
    return result;
  }
  /// The same lengths in queries and in keys.
  static mask packed(list_view<std::size_t> lengths) { return packed(lengths, lengths); }

  /// Keys that cells show, and what biases they have; the cells are viewed.
  static mask given(given_mask const& cells) {
    mask result = full;
    result.given_ = cells;
    return result;
  }

  /// Throws std::invalid_argument if both are packed, or both are given.
  friend mask operator&(mask const& a, mask const& b) {
    detail::require(!a.packing_ || !b.packing_, "mask: at most one of two masks may be packed");
    detail::require(!a.given_ || !b.given_,
                    "mask: at most one of two masks may be given cell by cell");
    mask both(std::min(a.behind_, b.behind_), std::min(a.ahead_, b.ahead_));
    both.chunks_ = a.chunks_ ? a.chunks_ : b.chunks_;
    if (a.chunks_ && b.chunks_)
      both.chunks_->insert(both.chunks_->end(), b.chunks_->begin(), b.chunks_->end());
    both.packing_ = a.packing_ ? a.packing_ : b.packing_;
    both.given_ = a.given_ ? a.given_ : b.given_;
    return both;
  }

  /// Made of the same parts in the same order.
  friend bool operator==(mask const&, mask const&) = default;

  /// A hash of its parts, for workers that compare their arguments; the address of cells is left
  /// out.
  std::uint64_t hash() const noexcept {
    detail::argument_hash all;
    all.add(static_cast<std::uint64_t>(behind_));
    all.add(static_cast<std::uint64_t>(ahead_));
    for (auto const size : chunks_ ? std::span(*chunks_) : std::span<std::int64_t const>{})
      all.add(static_cast<std::uint64_t>(size));
    all.add(std::uint64_t{is_packed() ? packing_->keys.size() : 0});
    all.add(given_ ? given_->hash() : std::uint64_t{0});
    return all.value();
  }

  /// Throws std::invalid_argument unless the lengths of packed sequences, if any, sum to the
  /// numbers of queries and keys. Given cells have another check.
  void check(std::size_t queries, std::size_t keys) const {
    if (!packing_) return;
    auto const of_queries = packing_->queries.back(), of_keys = packing_->keys.back();
    detail::require(of_queries == queries && of_keys == keys,
                    "mask: packed sequences must have all ", queries, " queries and ", keys,
                    " keys, got ", of_queries, " and ", of_keys);
  }

  /// The positions of keys that a query at a position sees.
  position_interval positions(std::int64_t query) const noexcept {
    auto seen = around(query, behind_, ahead_);
    for (auto const size : chunks_ ? std::span(*chunks_) : std::span<std::int64_t const>{}) {
      auto const within = query % size < 0 ? query % size + size : query % size;  // of its chunk
      auto const chunk = around(query, within, size - 1 - within);
      seen = {std::max(seen.first, chunk.first), std::min(seen.last, chunk.last)};
    }
    return seen;
  }

  /// The cells of given(), as this mask has them; null if there are none.
  given_mask const* given_cells() const noexcept { return given_ ? &*given_ : nullptr; }
  /// Whether sequences are packed.
  bool is_packed() const noexcept { return packing_.has_value(); }

  /// The keys of the query's own sequence: all `keys` if nothing is packed.
  token_range tokens(std::size_t query, std::size_t keys) const noexcept {
    if (!packing_) return {0, keys};
    auto const i = static_cast<std::size_t>(std::ranges::upper_bound(packing_->queries, query) -
                                            packing_->queries.begin());
    return {packing_->keys[i - 1], packing_->keys[i]};
  }

  /// Default positions of keys: 0, 1, ... in each sequence.
  std::vector<std::int64_t> counted(std::size_t keys) const {
    std::vector<std::int64_t> positions(keys);
    for_sequences(0, keys, [&](token_range, token_range of_keys) {
      for (auto s = of_keys.first; s < of_keys.last; ++s)
        positions[s] = static_cast<std::int64_t>(s - of_keys.first);
    });
    return positions;
  }

  /// Default positions of queries: those of the last keys of each sequence. Throws
  /// std::invalid_argument, in the name of a function, if queries outnumber them.
  std::vector<std::int64_t> last_positions(char const* function, std::size_t queries,
                                           std::span<std::int64_t const> key_positions) const {
    std::vector<std::int64_t> positions(queries);
    for_sequences(queries, key_positions.size(), [&](token_range of_queries, token_range of_keys) {
      auto const count = of_queries.last - of_queries.first, keys = of_keys.last - of_keys.first;
      detail::require(count <= keys, function,
                      ": the positions of queries must be given where they outnumber keys, got ",
                      count, " queries and ", keys, " keys");
      std::ranges::copy(key_positions.subspan(of_keys.last - count, count),
                        positions.data() + of_queries.first);
    });
    return positions;
  }

  /// Whether the positions of keys ascend in each sequence.
  bool sequences_rise(std::span<std::int64_t const> key_positions) const {
    bool rise = true;
    for_sequences(0, key_positions.size(), [&](token_range, token_range of_keys) {
      rise = rise && std::ranges::is_sorted(
                         key_positions.subspan(of_keys.first, of_keys.last - of_keys.first));
    });
    return rise;
  }

 private:
  /// Calls what(queries, keys) for each sequence; once with all tokens if nothing is packed.
  void for_sequences(std::size_t queries, std::size_t keys, auto const& what) const {
    if (!packing_) return what(token_range{0, queries}, token_range{0, keys});
    auto const& [of_queries, of_keys] = *packing_;
    for (std::size_t i = 1; i < of_keys.size(); ++i)
      what(token_range{of_queries[i - 1], of_queries[i]}, token_range{of_keys[i - 1], of_keys[i]});
  }

  struct packing {
    std::vector<std::size_t> queries, keys;  // 0, then the end of each sequence
    friend bool operator==(packing const&, packing const&) = default;
  };

  constexpr mask(std::int64_t behind, std::int64_t ahead) noexcept
      : behind_(behind), ahead_(ahead) {}

  /// Distances up to these to either side, within the range of positions.
  static position_interval around(std::int64_t query, std::int64_t behind,
                                  std::int64_t ahead) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    if (ahead < 0 && query < limits::min() - ahead) return {limits::max(), limits::min()};  // none
    return {behind == any || query < limits::min() + behind ? limits::min() : query - behind,
            ahead == any || (ahead > 0 && query > limits::max() - ahead) ? limits::max()
                                                                         : query + ahead};
  }

  static std::vector<std::size_t> bounds_of(std::span<std::size_t const> lengths) {
    using limits = std::numeric_limits<std::size_t>;
    std::vector<std::size_t> bounds{0};
    for (auto const length : lengths) {
      detail::require(length <= limits::max() - bounds.back(),
                      "mask: packed sequences must have fewer tokens than 2^", limits::digits,
                      ", got ", bounds.back(), " and then ", length);
      bounds.push_back(bounds.back() + length);
    }
    return bounds;
  }

  // Largest distances to keys before the query, and after it: negative if the keys are before it.
  std::int64_t behind_, ahead_;
  // A vector of this namespace, which is copied out of line: sets of instructions share none.
  using sizes = detail::line_vector<std::int64_t>;
  std::optional<sizes> chunks_;  // in optional, for constinit by g++ 11
  std::optional<packing> packing_;
  std::optional<given_mask> given_;
};

// Before any other global.
inline constinit mask const mask::full = mask(mask::any, mask::any);
inline constinit mask const mask::causal = mask(mask::any, 0);

}}  // namespace posenc
