// An encoding of your own: one struct with the function of the site where it acts. Here a Gaussian
// window, a bias that lets a head look about `width` tokens far: score(t, s) -= (t - s)^2 / (2
// width^2).
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "posenc/posenc.hpp"

struct gaussian_window {
  double width = 64;

  // Site 3: what is added to the score of a key at this distance behind the query.
  double bias(std::size_t /* head */, std::int64_t distance) const {
    auto const in_widths = static_cast<double>(distance) / width;
    return -in_widths * in_widths / 2;
  }
};

// Fails to compile, and says why, if the function is not one that a site calls.
static_assert(posenc::acts_on_scores<gaussian_window>);

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
  // The logit at distance 64 is 8, that is 64 / sqrt(64), less 1 / 2.
  return std::abs(alone.logit[64].mean() - 7.5) < 1e-12 ? 0 : 1;
}
