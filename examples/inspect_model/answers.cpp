#include "answers.hpp"

#include <cmath>
#include <cstdio>
#include <ostream>
#include <vector>

#include "report.hpp"

namespace {

std::string quoted(std::string const& value) { return value.empty() ? "nothing" : value; }

void print(std::ostream& os, std::vector<comparing::field_difference> const& fields,
           std::string const& indent) {
  for (auto const& [field, a, b] : fields)
    print_wrapped(os, indent + field + ": ", quoted(a) + " / " + quoted(b));
}

void print_scores(std::ostream& os, comparing::layer_comparison const& found, double threshold) {
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

std::string exact(double x) {
  char text[32];
  for (int digits = 6; digits < 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, x);
    if (std::abs(std::atof(text) - x) <= 1e-12 * std::abs(x)) break;
  }
  return text;
}

std::string shown(std::vector<identifying::rule_parameter> const& parameters) {
  std::string text;
  for (auto const& p : parameters)
    text += (text.empty() ? "" : ", ") + p.name + " " + (p.value ? exact(*p.value) : "any");
  return text;
}

std::string shown_error(identifying::frequency_explanation const& told) {
  char text[64];
  if (told.within_rounding) {
    std::snprintf(text, sizeof text, "within rounding, off by %.1g", told.relative_error);
  } else {
    std::snprintf(text, sizeof text, "off by %.2g %%", 100 * told.relative_error);
  }
  return text;
}

void print_best(std::ostream& os, identifying::frequency_explanation const& best) {
  auto const line = [&](std::string const& text) { print_wrapped(os, "  ", text); };
  line(best.rule + ": " + shown(best.parameters) + "; " + shown_error(best) + ".");
  if (!best.factors.empty()) {
    std::string list;
    for (auto const x : best.factors) list += (list.empty() ? "" : ", ") + rounded(x);
    print_wrapped(os, "    factors ", list);
  }
}

}  // namespace

void print(std::ostream& os, std::string const& a, std::string const& b,
           comparing::model_comparison const& comparison, double threshold) {
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

void print(std::ostream& os, std::string const& table, std::size_t numbers,
           identifying::identification const& found) {
  char rounding[32];
  std::snprintf(rounding, sizeof rounding, "%.2g", found.unit_roundoff);
  os << table << ": " << grouped(numbers) << (numbers == 1 ? " number" : " numbers")
     << ", rounded to " << rounding << '\n';
  print_best(os, found.best());
  bool is_first = true;
  for (std::size_t i = 1; i < found.explanations.size(); ++i) {
    auto const& other = found.explanations[i];
    if (other.rule == "divided_by_factors" || (!other.within_rounding && other.relative_error > 10))
      continue;
    print_wrapped(os, is_first ? "  else " : "       ",
                  other.rule + ": " + shown(other.parameters) + "; " + shown_error(other));
    is_first = false;
  }
}
