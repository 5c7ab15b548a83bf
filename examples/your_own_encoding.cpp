// An encoding of your own: one struct with the function of the site where it acts. Here a Gaussian
// window, a bias that lets a head look about `width` tokens far, score(t, s) -= (t - s)^2 / (2
// width^2); and a rotation that counts positions in pages.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "posenc/posenc.hpp"

struct gaussian_window {
  double width = 64;

  // Site 3: what is added to the score of a key at this distance behind the query.
  double bias(std::size_t /* head */, std::int64_t distance) const {
    auto const in_widths = static_cast<double>(distance) / width;
    return -in_widths * in_widths / 2;
  }
};

struct rope_by_page {
  posenc::frequencies frequencies = posenc::geometric(64, 1e4);
  std::int64_t page = 16;

  // Site 2: one row of cosines and sines a token; the library rotates queries, keys and gradients.
  template <class T>
  auto prepare(posenc::positions_view positions) const {
    std::vector<std::int64_t> pages;
    for (auto const position : positions) pages.push_back(position / page);
    return posenc::prepared_rotation<posenc::halves, T>(
        posenc::cos_sin_rows<T>(frequencies, pages));
  }
};

// Fails to compile, and says why, if the function is not one that a site calls.
static_assert(posenc::acts_on_scores<gaussian_window>);
static_assert(posenc::acts_on_queries_and_keys<rope_by_page>);

int main() {
  // Whatever takes an encoding takes yours: alone, or with others in a scheme.
  auto const rope = posenc::rope<posenc::halves>(posenc::geometric(64, 1e4));
  posenc::profile_settings const settings{.head_dim = 64, .range = 1024};
  auto const alone = posenc::profile_distances(gaussian_window{}, settings);
  auto const with_rope =
      posenc::profile_distances(posenc::scheme{rope, gaussian_window{.width = 256}}, settings);

  std::printf("distance   window alone: logit, weight   with RoPE: logit, weight\n");
  for (auto const r : std::array<std::size_t, 7>{0, 1, 4, 16, 64, 256, 1023}) {
    std::printf("%8zu   %19.4f  %.5f   %15.4f  %.5f\n", r, alone.logit[r].mean(),
                alone.weight[r].mean(), with_rope.logit[r].mean(), with_rope.weight[r].mean());
  }
  auto const by_page = posenc::profile_distances(rope_by_page{}, settings);
  // The logit at distance 64 is 8, that is 64 / sqrt(64), less 1 / 2. On the query's page it is 8.
  return std::abs(alone.logit[64].mean() - 7.5) < 1e-12 &&
                 std::abs(by_page.logit[0].mean() - 8) < 1e-6
             ? 0
             : 1;
}
