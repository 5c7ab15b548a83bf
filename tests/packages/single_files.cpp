// Rotates, attends and prints the bits: with posenc's own headers if SEVERAL is defined, else with
// posenc_attention.hpp. With posenc_rotation.hpp, if ROTATION is defined, it only rotates.
#if defined(SEVERAL)
#include <posenc/attention/attention.hpp>
#include <posenc/frequency/geometric.hpp>
#include <posenc/frequency/llama3.hpp>
#include <posenc/rotation/rotate.hpp>
#include <posenc/rows/cos_sin_table.hpp>
#include <posenc/score/alibi.hpp>
#include <posenc/version.hpp>
#elif defined(ROTATION)
#include <posenc_rotation.hpp>
#else
#include <posenc_attention.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <vector>

#if defined(EIGEN_WORLD_VERSION)
#error "posenc::attention parses Eigen"
#endif

int main() {
  auto const frequencies = posenc::llama3(
      posenc::geometric(64, 500'000),
      {.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_length = 8192});
  auto const rows =
      posenc::cos_sin_table(frequencies).rows(std::vector<std::int64_t>{0, 7, 1'000'000, -3});
  std::vector<posenc::bfloat16> x(4 * 2 * 72, posenc::bfloat16(1.5f));
  posenc::heads_view const heads(x.data(), {.tokens = 4, .heads = 2, .head_dim = 72});
  posenc::rotate<posenc::halves>(heads, rows);
  posenc::rotate<posenc::interleaved>(heads, rows, posenc::rotary_block::last());
  std::printf("%d.%d.%d\n", POSENC_VERSION_MAJOR, POSENC_VERSION_MINOR, POSENC_VERSION_PATCH);
  for (auto const number : x) std::printf("%04x\n", static_cast<unsigned>(number.bits));

#if !defined(ROTATION)
  auto const result = posenc::attention(heads, heads, heads, posenc::alibi(2));
  for (auto const number : result.outputs) std::printf("%a\n", static_cast<double>(number));
#endif
}
