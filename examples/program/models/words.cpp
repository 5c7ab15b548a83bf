#include "program/models/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace program {

std::string rounded(double number) {
  if (number >= 1000 && number < 1e15) return grouped(static_cast<std::size_t>(std::round(number)));
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

void print_wrapped(std::ostream& os, std::string const& head, std::string_view text) {
  os << head;
  auto used = head.size();
  for (bool first = true; !text.empty(); first = false) {
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!first && used + 1 + word.size() > screen)
      os << '\n' << std::string(head.size(), ' '), used = head.size(), first = true;
    if (!first) os << ' ', ++used;
    os << word;
    used += word.size();
  }
  os << '\n';
}

std::string shown_layers(std::vector<std::size_t> const& layers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < layers.size();) {
    auto last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    runs.push_back(std::to_string(layers[i]));
    if (last != i) (runs.back() += '-') += std::to_string(layers[last]);
    i = last + 1;
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == 3 && runs.size() > 5) text += " ...", i = runs.size() - 2;
    text += i == 0 ? "" : text.ends_with("...") ? " " : ", ";
    text += runs[i];
  }
  return text;
}

}  // namespace program
