/// The accuracy that the library promises, measured on this platform: one line of a table, each
/// error with its bound. Fails if one is exceeded.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "frequency/of_doubles.hpp"
#include "oracle/alibi.hpp"
#include "oracle/angle.hpp"
#include "oracle/wide.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/simd/exponential.hpp"

namespace {

using oracle::wide;

template <class T>
constexpr double roundoff = std::same_as<T, float> ? 0x1p-24 : 0x1p-53;

std::vector<std::int64_t> positions(std::int64_t range, std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> result{0, 1, -1, range, -range};
  while (result.size() < count)
    result.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * range)) -
                     range);
  return result;
}

double distance(double ours, wide exact) {
  return std::abs(static_cast<double>(wide(ours) - exact));
}

/// The absolute error of cosines and sines.
template <class Real>
double error_of_rows(posenc::frequencies const& f, std::vector<std::int64_t> const& at,
                     posenc::cos_sin_rows<Real> const& rows) {
  double worst = 0;
  for (std::size_t token = 0; token < at.size(); ++token) {
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const exact = oracle::direction_at(at[token], f.inv_freq()[i]);
      worst = std::max({worst, distance(static_cast<double>(rows.cos(token)[i]), exact.cos),
                        distance(static_cast<double>(rows.sin(token)[i]), exact.sin)});
    }
  }
  return worst;
}

/// The error of ALiBi's slopes, in ULPs.
double error_of_slopes() {
  double worst = 0;
  for (std::size_t heads = 1; heads <= 128; ++heads) {
    posenc::alibi const ours(heads);
    for (std::size_t head = 0; head < heads; ++head) {
      auto const exact = oracle::slope(head, heads);
      worst = std::max(
          worst, std::abs(ours.slopes()[head] - exact) / std::ldexp(1.0, std::ilogb(exact) - 52));
    }
  }
  return worst;
}

/// The error of e^x in registers, in units of (2 + |x|) roundings.
template <class T>
double error_of_exponentials() {
  using lanes = posenc::detail::lanes<T>;
  double worst = 0;
  std::array<T, lanes::size> x, e;
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    for (auto& number : x)
      number = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53) *
               (std::same_as<T, float> ? T(-87) : T(-708));
    lanes::store(e.data(), posenc::detail::exponential(lanes(), lanes::load(x.data())));
    for (std::size_t k = 0; k < x.size(); ++k) {
      using oracle::exp;
      wide const exact = exp(wide(x[k]));
      auto const off = distance(static_cast<double>(e[k]), exact) / static_cast<double>(exact);
      worst = std::max(worst, off / roundoff<T> / (2 + std::abs(static_cast<double>(x[k]))));
    }
  }
  return worst;
}

/// The error of rotated vectors, in roundings of |x| + |y|.
template <class T, class Layout>
double error_of_rotation() {
  constexpr std::size_t dim = 134, heads = 3;  // 67 pairs: no whole registers
  auto const f = of_doubles(posenc::geometric(dim, 5e5));
  auto const at = positions(std::int64_t{1} << 31, 40);
  std::mt19937_64 random(3);
  std::vector<T> x(at.size() * heads * dim);
  for (auto& number : x) number = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  auto const before = x;
  posenc::rotate<Layout>(
      posenc::heads_view(x.data(), {.tokens = at.size(), .heads = heads, .head_dim = dim}),
      posenc::cos_sin_rows<T>(f, at));
  double worst = 0;
  for (std::size_t head = 0; head < at.size() * heads; ++head) {
    for (std::size_t i = 0; i < dim / 2; ++i) {
      auto const of_x = head * dim + Layout::x_index(i, dim / 2),
                 of_y = head * dim + Layout::y_index(i, dim / 2);
      auto const [c, s] = oracle::direction_at(at[head / heads], f.inv_freq()[i]);
      wide const a = before[of_x], b = before[of_y];
      auto const roundings =
          roundoff<T> * static_cast<double>(std::abs(before[of_x]) + std::abs(before[of_y]));
      worst = std::max({worst, distance(static_cast<double>(x[of_x]), a * c - b * s) / roundings,
                        distance(static_cast<double>(x[of_y]), a * s + b * c) / roundings});
    }
  }
  return worst;
}

bool good = true;

void print(char const* what, double error, double bound) {
  std::printf(" | %s %.2g of %.2g", what, error, bound);
  good = good && error <= bound;
}

#define NAME(macro) NAME_EXPANDED(macro)
#define NAME_EXPANDED(macro) #macro

}  // namespace

int main() {
  auto const f = of_doubles(posenc::geometric(128, 5e5));
  auto const far = positions(std::int64_t{1} << 31, 100), near = positions(1 << 16, 100);
  posenc::cos_sin_table const table(f, 1 << 16);
  std::printf("%s | %s | %zu floats, %zu doubles", NAME(POSENC_TARGET), __VERSION__,
              posenc::detail::lanes<float>::size, posenc::detail::lanes<double>::size);
  print("float rows", error_of_rows(f, far, posenc::cos_sin_rows<float>(f, far)), 3.0e-8);
  print("of a table", error_of_rows(f, near, table.rows<float>(near)), 3.0e-8);
  print("double rows", error_of_rows(f, far, posenc::cos_sin_rows<double>(f, far)), 2.5e-16);
  print("of a table", error_of_rows(f, near, table.rows<double>(near)), 7e-16);
  print("slopes, ULP", error_of_slopes(), 1);
  print("e^x float", error_of_exponentials<float>(), 1);
  print("double", error_of_exponentials<double>(), 1);
  print("rotated float",
        std::max(error_of_rotation<float, posenc::halves>(),
                 error_of_rotation<float, posenc::interleaved>()),
        4);
  print("double",
        std::max(error_of_rotation<double, posenc::halves>(),
                 error_of_rotation<double, posenc::interleaved>()),
        4);
  std::puts(good ? "" : " | ABOVE A BOUND");
  return good ? 0 : 1;
}
