// Student's t at 95 %, against its printed tables, and an interval by hand.
#include <cmath>
#include <cstdio>
#include <utility>

#include "interval.hpp"

int main() {
  using namespace retrieval;
  bool right = true;
  auto const expect = [&](char const* what, double got, double wanted, double tolerance) {
    if (std::abs(got - wanted) <= tolerance) return;
    std::printf("%s must be %.9g, got %.9g\n", what, wanted, got);
    right = false;
  };
  // Printed to five digits, rounded. [Abramowitz, Stegun 1964, table 26.10]
  constexpr std::pair<int, double> printed[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},
                                                {4, 2.776},  {9, 2.262},  {10, 2.228},
                                                {30, 2.042}, {120, 1.980}};
  for (auto const& [degrees, t] : printed) expect("t", t_of_95_percent(degrees), t, 0.0005);
  // Of 1 and of 2 degrees of freedom in closed form: 2 / pi atan(t) and t / sqrt(2 + t^2).
  for (auto const t : {0.0, 0.3, 1.0, 7.0}) {
    expect("within(t, 1)", within(t, 1), 2 / std::acos(-1.0) * std::atan(t), 1e-14);
    expect("within(t, 2)", within(t, 2), t / std::sqrt(2 + t * t), 1e-14);
  }
  // Mean 2, deviation 1, of three.
  auto const x = interval_of({1, 2, 3});
  expect("the mean", x.mean, 2, 1e-15);
  expect("half the width", x.half_width, std::sqrt(2 * 0.95 * 0.95 / (1 - 0.95 * 0.95) / 3), 1e-12);
  expect("the standard error", x.standard_error, 1 / std::sqrt(3.0), 1e-15);
  auto const difference = interval_of_difference({5, 7, 9}, {4, 6, 8});
  expect("the mean difference", difference.mean, 1, 1e-15);
  expect("half the width", difference.half_width, 0, 1e-14);
  return right ? 0 : 1;
}
