#include "program/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace program {
namespace {

// Letters to add, to leave out or to exchange. [Levenshtein 1966]
std::size_t edits_between(std::string const& a, std::string const& b) {
  std::vector<std::size_t> of_b(b.size() + 1);
  std::iota(of_b.begin(), of_b.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = of_b[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      auto const exchanged = diagonal + (a[i] != b[j]);
      diagonal = of_b[j + 1];
      of_b[j + 1] = std::min({exchanged, diagonal + 1, of_b[j] + 1});
    }
  }
  return of_b.back();
}

}  // namespace

std::string nearest(std::string const& given, std::vector<std::string> const& names) {
  std::string best;
  auto fewest = given.size() / 2 + 1;
  for (auto const& name : names)
    if (auto const edits = edits_between(given, name); edits < fewest) best = name, fewest = edits;
  return best;
}

std::string there_is_no(std::string const& what, std::string const& given,
                        std::vector<std::string> const& names, std::string const& otherwise) {
  auto const near = nearest(given, names);
  return "there is no " + what + " " + given + "; " +
         (near.empty() ? otherwise : "the nearest is " + near);
}

}  // namespace program
