// Every hot template once. Compiled for each instruction set, each with its own ENTRY, and linked
// into one program.
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/xpos.hpp"
#include "posenc/rotation/relayout.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/rerotation.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/softmax.hpp"
#include "result.hpp"
#include "tolerance.hpp"

#define TEXT(macro) TEXT_EXPANDED(macro)
#define TEXT_EXPANDED(text) #text

namespace {

using namespace posenc;

constexpr std::size_t tokens = 5, heads = 3, head_dim = 150;
constexpr std::array<std::int64_t, tokens> positions{0, 7, 1'000'000, -3,
                                                     std::int64_t{1} << 40};  // no code before main

/// Appends numbers to the results that the program compares. Roundings differ by target: fused
/// multiply-add, -ffast-math.
struct numbers {
  result* to;

  /// float: scores of up to 30 give weights with an error of 144 roundings
  /// (tolerance::of_exponentials) in each of two targets. half: stored three times, each time with
  /// a difference of one ULP (two roundings) between targets; so may the norm's gain differ by the
  /// first two. The numbers end below 1.2 and do not grow when rotated: five ULPs in all.
  template <class T>
  static constexpr double bound = std::same_as<T, arithmetic_t<T>>
                                      ? 2 * 144 * tolerance::unit_roundoff<T>()
                                      : 5 * 1.2 * 2 * tolerance::unit_roundoff<T>();

  /// T: the type that the results were last stored as.
  template <class T>
  void add(auto const& values) {
    for (auto const& x : values) {
      auto const value = static_cast<double>(load(x));
      *to++ = {value, bound<T> * (1 + std::abs(value))};
    }
  }
};

template <class T>
std::vector<T> some_heads() {
  std::vector<T> x(tokens * heads * head_dim);
  for (std::size_t i = 0; i < x.size(); ++i)
    store(x[i], static_cast<arithmetic_t<T>>(static_cast<int>(i % 17) - 8));
  return x;
}

constexpr heads_shape shape{.tokens = tokens, .heads = heads, .head_dim = head_dim};

template <class T>
void rotations(numbers& out) {
  using real = arithmetic_t<T>;
  auto const f = truncated(geometric(head_dim - 4, 1e4), 0.9);
  cos_sin_rows<real> const rows(f, positions);
  auto x = some_heads<T>();
  heads_view const view(x.data(), shape);
  rotate<halves>(view, rows);
  rotate<interleaved>(view, rows, rotary_block::last());
  rotate(rows, rotated<halves>(view).norm({{}, real(1e-6)}).scale(real(0.5)));
  out.add<T>(x);
  std::vector<real> y(x.size());
  rotate<interleaved, halves>(heads_view<T const>(view), heads_view(y.data(), shape), rows);
  rotate<halves>(heads_view(y.data(), shape), rows.inverse());
  relayout<halves, interleaved>(heads_view(y.data(), shape), head_dim - 4);
  out.add<T>(y);
}

template <class Real>
void rows(numbers& out) {
  auto const f = geometric(head_dim, 500'000);
  auto const add = [&](auto const& made) {
    for (std::size_t t = 0; t < made.tokens(); ++t)
      out.add<Real>(made.cos(t)), out.add<Real>(made.sin(t));
  };
  add(cos_sin_table(f, 1 << 12).rows<Real>(positions));
  add(cos_sin_rows<Real>(f, std::vector<double>{0.5, -1e6, 3.25}));
  add(shift_rows<Real>(f, positions));
  add(rerotation_rows<Real>(f, linear(f, 4), positions));
  add(xpos_query_rows<Real>(f, std::vector{1, 2, 3}));
}

template <class T>
void sites(numbers& out) {
  auto x = some_heads<T>();
  heads_view const view(x.data(), shape);
  sinusoidal<interleaved>(geometric(head_dim, 1e4)).embed(view, positions);
  rope<halves>(geometric(head_dim, 1e4)).prepare<arithmetic_t<T>>(positions).encode_queries(view);
  xpos<interleaved>(geometric(head_dim, 1e4))
      .prepare<arithmetic_t<T>>(std::vector<std::int64_t>{0, 1, 2, 3, 4})
      .encode_keys(view);
  out.add<T>(x);

  std::vector<std::int64_t> keys(61);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<T> scores(keys.size());
  for (std::size_t s = 0; s < scores.size(); ++s) scores[s] = static_cast<T>(s % 7);
  score_row<T> const row{
      .scores = scores, .head = 1, .query_position = 60, .key_positions = keys, .query = {}};
  posenc::adjust_scores(alibi(4), row);
  posenc::adjust_scores(kerple_log({{1, 1}, {0.5, 2}}), row);
  posenc::adjust_scores(bias_table(sandwich(4), 4, 100), row);
  posenc::adjust_scores(soft_cap(30), row);
  std::vector<T> memory;
  softmax(std::span<T>(scores), adaptive_temperature{}, memory);
  out.add<T>(scores);
  std::vector<T> gradients(scores.size(), T{1});
  gradients[3] = T{2};
  softmax_backward(scores, gradients);
  out.add<T>(gradients);
}

}  // namespace

extern "C" result* ENTRY(result* to, char const** target) {
  *target = TEXT(POSENC_TARGET);
  numbers out{to};
  rotations<float>(out), rotations<double>(out), rotations<half>(out), rotations<bfloat16>(out);
  rows<float>(out), rows<double>(out);
  auto const angles = float_angle_rows(geometric(head_dim, 1e4), positions);
  out.add<float>(angles.cos(2));
  sites<float>(out), sites<double>(out);
  return out.to;
}
