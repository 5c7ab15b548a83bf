#include "scores.hpp"

#include <algorithm>
#include <random>

namespace dispersion {

std::vector<float> scores_of(shape scores, float delta, std::size_t keys, std::uint64_t seed,
                             std::uint64_t draw) {
  std::vector<float> row(keys);
  row.front() = delta;
  std::seed_seq beginning{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                          static_cast<std::uint32_t>(draw)};
  std::mt19937_64 bits(beginning);
  auto const others = row.begin() + 1;
  auto const between = [=](float x) {
    return std::clamp(x, 0.0F, delta);
  };  // rounding may reach beyond
  if (scores == shape::uniform) {
    std::uniform_real_distribution<float> uniform;
    std::generate(others, row.end(), [&] { return between(delta * uniform(bits)); });
  }
  if (scores == shape::gaussian) {
    std::normal_distribution<float> normal;
    std::generate(others, row.end(), [&] {
      auto z = normal(bits);
      while (z < -3 || z > 3) z = normal(bits);
      return between(delta * (z + 3) / 6);
    });
  }
  return row;
}

}  // namespace dispersion
