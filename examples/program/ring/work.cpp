#include "work.hpp"

#include <algorithm>
#include <numeric>

namespace ring {

std::uint64_t work::of_rank(std::size_t rank) const {
  return std::accumulate(pairs[rank].begin(), pairs[rank].end(), std::uint64_t{0});
}

std::uint64_t work::total() const {
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < pairs.size(); ++rank) sum += of_rank(rank);
  return sum;
}

std::uint64_t work::longest(std::size_t step) const {
  std::uint64_t most = 0;
  for (auto const& of_rank : pairs) most = std::max(most, of_rank[step]);
  return most;
}

double work::efficiency() const {
  std::uint64_t sum = 0;
  for (std::size_t step = 0; step < pairs.size(); ++step) sum += longest(step);
  return static_cast<double>(total()) / static_cast<double>(sum * pairs.size());
}

work count_work(split how, std::size_t tokens, std::size_t ranks) {
  std::vector<std::vector<std::int64_t>> positions;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    positions.push_back(positions_of(how, tokens, rank, ranks));
  work result{std::vector(ranks, std::vector<std::uint64_t>(ranks))};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t step = 0; step < ranks; ++step) {
      auto const& keys = positions[(rank + ranks - step) % ranks];
      std::size_t seen = 0;  // positions rise
      for (auto const query : positions[rank]) {
        while (seen < keys.size() && keys[seen] <= query) ++seen;
        result.pairs[rank][step] += seen;
      }
    }
  }
  return result;
}

}  // namespace ring
