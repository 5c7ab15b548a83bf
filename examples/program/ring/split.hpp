// Which tokens of a sequence each rank holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ring {

/// Of 8 tokens on 2 ranks:
///
///     contiguous    0 0 0 0 1 1 1 1    neighbours together: the last rank's queries see most
///     striped       0 1 0 1 0 1 0 1    by turns
///     zig-zag       0 0 1 1 1 1 0 0    two pieces each, the one as late as the other is early
enum class split { contiguous, striped, zig_zag };

inline constexpr std::array all_splits{split::contiguous, split::striped, split::zig_zag};

inline std::string name_of(split s) {
  return std::array{"contiguous", "striped", "zig-zag"}[static_cast<std::size_t>(s)];
}

/// The positions in the whole sequence of one rank's tokens, rising. Any number of tokens is split,
/// on any number of ranks.
inline std::vector<std::int64_t> positions_of(split s, std::size_t tokens, std::size_t rank,
                                              std::size_t ranks) {
  std::vector<std::int64_t> positions;
  auto const take = [&](std::size_t first, std::size_t end, std::size_t step = 1) {
    for (auto t = first; t < end; t += step) positions.push_back(static_cast<std::int64_t>(t));
  };
  auto const piece = [&](std::size_t i, std::size_t pieces) {
    take(i * tokens / pieces, (i + 1) * tokens / pieces);
  };
  if (s == split::contiguous) piece(rank, ranks);
  if (s == split::striped) take(rank, tokens, ranks);
  if (s == split::zig_zag) piece(rank, 2 * ranks), piece(2 * ranks - 1 - rank, 2 * ranks);
  return positions;
}

}  // namespace ring
