// An engine that only rotates: no Eigen is there.
#include <posenc/frequency/geometric.hpp>
#include <posenc/rotation/rotate.hpp>
#include <posenc/rows/row_maker.hpp>
#include <posenc/version.hpp>

#include <cmath>
#include <string>
#include <vector>

#if defined(EIGEN_WORLD_VERSION)
#error "posenc::rotation parses Eigen"
#endif

int main() {
#if defined(VERSION)  // of the package
  if (std::to_string(POSENC_VERSION_MAJOR) + "." + std::to_string(POSENC_VERSION_MINOR) + "." +
          std::to_string(POSENC_VERSION_PATCH) !=
      VERSION)
    return 2;
#endif
  posenc::row_maker const maker(posenc::geometric(64, 1e4));
  std::vector<float> memory(2 * maker.rotary_dim()), x(2 * 64, 1.0f);
  auto const rows = maker.write(std::vector<int>{0, 7}, memory.data());
  posenc::rotate<posenc::halves>(
      posenc::heads_view<float>(x.data(), {.tokens = 2, .heads = 1, .head_dim = 64}), rows);
  return x[0] == 1.0f && std::abs(x[64] - static_cast<float>(std::cos(7.0) - std::sin(7.0))) < 1e-6f
             ? 0
             : 1;
}
