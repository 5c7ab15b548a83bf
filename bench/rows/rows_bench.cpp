// Making rows: 64 cosines and sines per position, at 256 scattered positions, compared with what
// users call.
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation/exact.hpp"
#include "suites.hpp"

namespace bench {
namespace {

constexpr std::size_t head_dim = 128, pairs = head_dim / 2, tokens = 256;

posenc::frequencies const& f() {
  static auto const result = posenc::geometric(head_dim, 1e4);
  return result;
}

std::vector<std::int64_t> const& positions() {
  static auto const result = [] {
    std::vector<std::int64_t> p(tokens);
    for (std::size_t i = 0; i < tokens; ++i) p[i] = static_cast<std::int64_t>(4099 * i);
    return p;
  }();
  return result;
}

/// [tokens][2][pairs], like posenc's rows.
template <class Real>
std::vector<Real>& table() {
  static std::vector<Real> numbers(tokens * head_dim);
  return numbers;
}

template <class Real>
double max_error(Real const* rows) {
  double error = 0;
  for (std::size_t t = 0; t < tokens; ++t, rows += head_dim) {
    for (std::size_t i = 0; i < pairs; ++i) {
      exact_turn const exact(positions()[t], f().inv_freq()[i]);
      error = std::max({error, std::abs(static_cast<double>(rows[i] - exact.cos)),
                        std::abs(static_cast<double>(rows[i + pairs] - exact.sin))});
    }
  }
  return error;
}

// Angles, cosines and sines in Angle: float as in PyTorch code, or double as in careful code.
template <class Real, class Angle>
[[gnu::noinline]] void library_calls() {
  auto* row = table<Real>().data();
  for (auto const position : positions()) {
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const angle = static_cast<Angle>(position) * static_cast<Angle>(f().inv_freq()[i]);
      row[i] = static_cast<Real>(std::cos(angle)),
      row[i + pairs] = static_cast<Real>(std::sin(angle));
    }
    row += head_dim;
  }
}

report_case rows_case(char const* name, char const* type, auto const& make, auto const& error) {
  return {.suite = "rows",
          .name = name,
          .type = type,
          .layout = "",
          .head_dim = head_dim,
          .where = "",
          .rows = tokens,
          .ways = {passes_of(make)},
          .prepare = [] {},
          .max_error = error};
}

template <class Real, class Angle>
measured_case const* add_library(report& r, char const* name, char const* type) {
  return r.add(rows_case(name, type, library_calls<Real, Angle>, [] {
    library_calls<Real, Angle>();
    return max_error(table<Real>().data());
  }));
}

template <class Real>
void add_made(report& r, char const* type, measured_case const* plain_loop,
              measured_case const* beside) {
  auto c = rows_case(
      "cos_sin_rows", type,
      [] { benchmark::DoNotOptimize(posenc::cos_sin_rows<Real>(f(), positions()).cos(0).data()); },
      [] { return max_error(posenc::cos_sin_rows<Real>(f(), positions()).cos(0).data()); });
  c.plain_loop = plain_loop, c.beside = beside;
  r.add(std::move(c));
}

}  // namespace

void add_rows(report& r) {
  auto const* const in_double = add_library<float, double>(r, "std_double_angles", "float");
  auto const* const in_float = add_library<float, float>(r, "std_float_angles", "float");
  add_made<float>(r, "float", in_double, in_float);
  add_made<double>(r, "double", add_library<double, double>(r, "std_double_angles", "double"),
                   nullptr);
}

}  // namespace bench
