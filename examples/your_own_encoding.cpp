// An encoding of your own: one struct with the function of the site where it acts. Here KERPLE's
// logarithmic bias, which falls ever more slowly with distance: score(t, s) -= strength * ln(1 +
// rate * |t - s|).  [Chi 2022, KERPLE]
#include <array>
#include <cmath>
#include <cstdio>

#include "posenc/posenc.hpp"

struct logarithmic_bias {
  double strength = 1, rate = 1;

  template <class T>
  void adjust_scores(posenc::score_row<T> const& row) const {
    for (std::size_t s = 0; s < row.scores.size(); ++s) {
      auto const distance =
          std::abs(static_cast<double>(row.query_position - row.key_positions[s]));
      row.scores[s] -= static_cast<T>(strength * std::log1p(rate * distance));
    }
  }
};

static_assert(posenc::acts_on_scores<logarithmic_bias>);  // says at once if the function is not the
                                                          // one a site calls

int main() {
  // Whatever takes an encoding takes yours: alone, or with others in a scheme.
  auto const rope = posenc::rope<posenc::halves>(posenc::geometric(64, 1e4));
  posenc::profile_settings const settings{.head_dim = 64, .range = 1024};
  auto const alone = posenc::profile_distances(logarithmic_bias{}, settings);
  auto const with_rope =
      posenc::profile_distances(posenc::scheme{rope, logarithmic_bias{.strength = 0.5}}, settings);

  std::printf("distance   bias alone: logit, weight   with RoPE: logit, weight\n");
  for (auto const r : std::array<std::size_t, 7>{0, 1, 4, 16, 64, 256, 1023}) {
    std::printf("%8zu   %17.4f  %.5f   %15.4f  %.5f\n", r, alone.logit[r].mean(),
                alone.weight[r].mean(), with_rope.logit[r].mean(), with_rope.weight[r].mean());
  }
  // The logit at distance r is 8, that is 64 / sqrt(64), less ln(1 + r).
  return std::abs(alone.logit[1023].mean() - (8 - std::log(1024.0))) < 1e-12 ? 0 : 1;
}
