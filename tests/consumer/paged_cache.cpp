// A second translation unit: a function that is not inline would be defined twice.
#include <posenc/posenc.hpp>

#include <array>
#include <cstdint>
#include <numeric>

double score_in_paged_cache(std::int64_t query_position, std::int64_t key_position) {
  auto const rope = posenc::geometric(8, 1e4);
  std::array<float, 8> q{1, 2, 3, 4, 5, 6, 7, 8}, k{8, 7, 6, 5, 4, 3, 2, 1};
  posenc::rotate<posenc::halves>(posenc::heads_view(q.data(), {1, 1, 8}),
                                 posenc::cos_sin_rows(rope, std::array{query_position}));
  posenc::rotate<posenc::halves>(posenc::heads_view(k.data(), {1, 1, 8}),
                                 posenc::cos_sin_rows(rope, std::array{key_position}));
  return std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
}
