#include "answers.hpp"

#include <cstdio>
#include <ostream>
#include <vector>

#include "report.hpp"

namespace {

std::string quoted(std::string const& value) { return value.empty() ? "nothing" : value; }

void print(std::ostream& os, std::vector<posenc::field_difference> const& fields,
           std::string const& indent) {
  for (auto const& [field, a, b] : fields)
    print_wrapped(os, indent + field + ": ", quoted(a) + " / " + quoted(b));
}

void print_scores(std::ostream& os, posenc::layer_comparison const& found, double threshold) {
  auto const share = rounded(threshold) + " of |q| |k|";
  if (!found.matters_from) {
    print_wrapped(os, "    ",
                  "No score differs by more than " + share + " within " +
                      grouped(static_cast<std::size_t>(found.scores.back().distance) + 1) +
                      " tokens.");
  } else {
    print_wrapped(os, "    ",
                  "From distance " + grouped(static_cast<std::size_t>(*found.matters_from)) +
                      " on, a score may differ by more than " + share + ".");
  }
  print_wrapped(
      os, "    ",
      "By distance: the largest difference of angles; of scores, relative to |q| |k|, at "
      "worst; of scores of Gaussian q and k, their root mean square, relative to scores.");
  char line[120];
  std::snprintf(line, sizeof line, "      %12s  %14s  %10s  %10s\n", "distance", "angle, rad",
                "at worst", "Gaussian");
  os << line;
  for (auto const& [distance, angle, worst, gaussian] : found.scores) {
    std::snprintf(line, sizeof line, "      %12s  %14s  %10s  %10s\n",
                  grouped(static_cast<std::size_t>(distance)).c_str(),
                  angle ? rounded(*angle).c_str() : "other dims", rounded(worst).c_str(),
                  rounded(gaussian).c_str());
    os << line;
  }
}

}  // namespace

void print(std::ostream& os, std::string const& a, std::string const& b,
           posenc::model_comparison const& comparison, double threshold) {
  os << a << " / " << b << '\n';
  print(os, comparison.fields, "  ");
  if (comparison.equal_layers != 0)
    print_wrapped(os, "  ", grouped(comparison.equal_layers) + " layers encode positions alike.");
  for (auto const& [layers, difference] : comparison.layers) {
    os << '\n';
    print_wrapped(os, "  ",
                  grouped(layers.size()) + (layers.size() == 1 ? " layer: " : " layers: ") +
                      shown_layers(layers));
    print(os, difference.fields, "    ");
    if (!difference.scores.empty()) print_scores(os, difference, threshold);
  }
}
