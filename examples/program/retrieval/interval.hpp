// How far a mean over few seeds can be trusted.
#pragma once

#include <vector>

namespace retrieval {

/// mean +- half_width: where the mean over ever more seeds lies, with 95 % confidence, from the
/// standard error of the mean.
struct interval {
  double mean = 0, half_width = 0, standard_error = 0;
  double low() const { return mean - half_width; }
  double high() const { return mean + half_width; }
};

/// Student's t interval, as of independent values that are about normal; two or more.
interval interval_of(std::vector<double> const& values);

/// The same of a[i] - b[i]: what both share, such as an easy seed, drops out.
interval interval_of_difference(std::vector<double> const& a, std::vector<double> const& b);

/// P(|X| <= t) of Student's distribution with so many degrees of freedom, 1 or more; t >= 0.
double within(double t, int degrees);

/// The t for which that is 0.95.
double t_of_95_percent(int degrees);

}  // namespace retrieval
