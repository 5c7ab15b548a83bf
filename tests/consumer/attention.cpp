// An engine that attends to a cache of q8_0, and reads GGUF: no Eigen is there.
#include <posenc/attention/attention.hpp>
#include <posenc/cache/q8_0.hpp>
#include <posenc/frequency/geometric.hpp>
#include <posenc/model/gguf.hpp>
#include <posenc/rotation/rotate.hpp>
#include <posenc/rows/cos_sin_rows.hpp>
#include <posenc/score/alibi.hpp>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <vector>

#if defined(EIGEN_WORLD_VERSION)
#error "posenc::attention parses Eigen"
#endif

int main() {
  std::vector<float> const heads(3 * 2 * 32, 1.0f);
  std::vector<std::int64_t> const slots{2, 0, 1};
  posenc::pages_shape const pages{.pages = 1, .page_tokens = 3, .heads = 2, .head_dim = 32};
  std::vector<std::byte> bytes(3 * 2 * posenc::q8_0().bytes(32));
  posenc::heads_view const given(heads.data(), {.tokens = 3, .heads = 2, .head_dim = 32});
  posenc::heads_view const cache(posenc::q8_0(), bytes.data(), pages, slots);
  posenc::cos_sin_rows const rows(posenc::geometric(32, 1e4), slots);
  posenc::rotate(rows, posenc::unrotated(given, cache));
  auto const seen = posenc::attention(given, cache, cache, posenc::alibi(2));
  std::istringstream no_model("GGML");
  try {
    posenc::read_gguf(no_model, "model.gguf");
    return 2;
  } catch (std::invalid_argument const&) {
  }
  return std::abs(seen.outputs.back() - 1) < 1e-2 ? 0 : 1;
}
