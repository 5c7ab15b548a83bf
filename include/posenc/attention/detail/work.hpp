// How the work of one call is cut into pieces, and what a worker needs for one.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/detail/block_memory.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/visible_keys.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Keys whose scores, and panels, a worker holds at a time. Parts begin at multiples of it, so that
/// bits depend on neither workers nor pages.
inline constexpr std::size_t keys_of_part = 512;
static_assert(keys_of_part % tile_terms == 0 && keys_of_part % tile_columns<float> == 0 &&
              keys_of_part % tokens_of_run == 0);

/// Some blocks of queries of some kv heads, with the keys of a range.
struct attention_piece {
  std::size_t kv_head, kv_heads, first_block, blocks, range;
};

/// How the work is cut, which the shape alone decides, so that bits are the same for any tasks:
///
/// A block of queries attends to 512 keys at a time, and the rows are added up in the order of
/// keys. **Few rows**, up to 32 per kv head (8 where the CPU does not convert the format's halves)
/// of keys that no site changes, read keys and values in place, as in decoding; **more** of them
/// read panels of 512 keys, which blocks of up to 144 rows share, up to six at a time. Keys are
/// split into up to 64 ranges where they are many beside the rows; the outputs of ranges, up to 64
/// times those of the call's few rows, are shared memory. Whole rows are in one range.
///
/// A piece is a range of keys of all kv heads or some, where rows are few and keys and values are
/// read in place; else some blocks of queries of one kv head, whose keys and values become panels,
/// a part at a time. Ranges, blocks and parts depend on the shape alone, and so do the bits.
struct attention_work {
  bool in_place;    ///< keys and values
  bool whole_rows;  ///< a rule, or a record, needs all scores of a row at once
  std::size_t kv_heads, rows_of_head, block_queries, blocks;
  std::size_t first_range = 0, ranges = 1, keys_of_range;  ///< ranges 0: no query sees a key

  attention_work(attention_arguments const& given, bool reads_in_place, bool needs_whole_rows)
      : in_place(reads_in_place),
        whole_rows(needs_whole_rows),
        kv_heads(given.kv_heads),
        rows_of_head(given.queries * given.group) {
    auto const rows = rows_of_head;
    block_queries = in_place ? given.queries : queries_of_block(given.group);
    if (rows == 0 || given.keys == 0) ranges = 0;
    blocks = rows == 0 ? 0 : (given.queries - 1) / block_queries + 1;
    // The outputs of a range are small beside its keys, and there are at most 64 ranges; of one,
    // where blocks alone are as many.
    keys_of_range = keys_of_part * std::max((rows + 15) / 16, (given.keys + 64 * keys_of_part - 1) /
                                                                  (64 * keys_of_part));
    if (ranges == 0 || whole_rows || given.keys <= keys_of_range || blocks * kv_heads >= 64) {
      keys_of_range = given.keys;
      return;
    }
    visible_keys const visible(given);
    token_range seen{0, 0};
    for (std::size_t t = 0; t < given.queries; ++t)
      seen = visible_keys::hull_of(seen, visible.around(t, {0, given.keys}));
    first_range = seen.first / keys_of_range;
    ranges = seen.first == seen.last ? 0 : (seen.last - 1) / keys_of_range + 1 - first_range;
  }

  token_range keys(std::size_t range, std::size_t all) const noexcept {
    auto const first = (first_range + range) * keys_of_range;
    return {first, std::min(first + keys_of_range, all)};
  }

  /// Groups of kv heads whose pieces are apart: all together, unless workers are more than ranges
  /// or rows too many for L2.
  std::size_t groups(std::size_t workers) const noexcept {
    if (!in_place) return kv_heads;
    auto const heads =
        std::max<std::size_t>(rows_of_block / std::max<std::size_t>(rows_of_head, 1), 1);
    return std::min(kv_heads, std::max((workers - 1) / std::max<std::size_t>(ranges, 1) + 1,
                                       (kv_heads - 1) / heads + 1));
  }
  /// Blocks of queries of a piece: panels serve several, unless workers would share few pieces.
  std::size_t together(std::size_t workers) const noexcept {
    if (in_place || whole_rows) return 1;
    std::size_t count = 6;
    while (workers > 1 && count > 1 && pieces_of(workers, count) < 4 * workers) --count;
    return count;
  }
  std::size_t pieces(std::size_t workers) const noexcept {
    return pieces_of(workers, together(workers));
  }
  /// Piece i of all. The last queries, which see most keys, come first.
  attention_piece piece(std::size_t i, std::size_t workers) const noexcept {
    auto const each = together(workers), n = groups(workers),
               of_blocks = (blocks + each - 1) / each;
    auto const [head, heads] = part_of(kv_heads, i % n, n);
    auto const range = i / n % ranges, last = of_blocks - 1 - i / n / ranges;
    return {head, heads, last * each, std::min(each, blocks - last * each), range};
  }
  block_sizes sizes(std::size_t workers, std::size_t keys) const noexcept {
    auto const n = groups(workers);
    return {block_queries, in_place ? (kv_heads - 1) / n + 1 : 1, together(workers),
            whole_rows ? keys : std::min(keys, keys_of_part),
            in_place ? 0 : std::min(keys, keys_of_part)};
  }

 private:
  std::size_t pieces_of(std::size_t workers, std::size_t each) const noexcept {
    return groups(workers) * ranges * ((blocks + each - 1) / each);
  }
};

}}}  // namespace posenc::detail
