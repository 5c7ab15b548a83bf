#include "reading.hpp"

#include <algorithm>
#include <cmath>

#include "posenc/analysis/dispersion.hpp"
#include "reporting/scale.hpp"

namespace dispersion {
namespace {

using charts::compact;

// A whole number to its last digit, while a double has it.
std::string whole(double number) {
  return number < 0x1p53 ? std::to_string(static_cast<long long>(number)) : compact(number);
}

std::string extent(posenc::running_moments const& m, auto&& written) {
  return written(m.low()) + (m.low() < m.high() ? " to " + written(m.high()) : "");
}

std::string short_extent(posenc::running_moments const& m) {
  return extent(m, [](double x) { return compact(x, 4); });
}

std::string of_bounds(std::vector<curve> const& curves, settings const& s, double eps) {
  std::size_t rows = 0;
  for (auto const& c : curves) rows += c.lengths.size() * s.draws;
  auto text = "all weights of " + std::to_string(rows) +
              " rows lie within their bounds. A weight of " + compact(1 - eps, 9) + " among " +
              std::to_string(s.largest) + " keys takes beta * delta of " +
              compact(posenc::spread_for(1 - eps, s.largest), 4) + " at least; there is";
  for (auto const& c : curves)
    text += (&c == &curves.front() ? " " : ", ") +
            compact(c.lengths.back().beta.mean() * s.delta, 4) + " (" + c.rule + ")";
  return text;
}

// From which length on every largest weight is below eps; the end if from none.
auto below_from(curve const& c, double eps) {
  auto const last =
      std::find_if(c.lengths.rbegin(), c.lengths.rend(),
                   [&](rows_of_length const& rows) { return rows.largest.high() >= eps; });
  return last.base();
}

std::string of_softmax(curve const& c, settings const& s, double eps) {
  auto const [tight, published] = posenc::keys_below(eps, s.delta);
  auto text = "with delta " + compact(s.delta) + ", whatever the scores, all weights are below " +
              compact(eps) + " from " + whole(tight) + " keys on (by the published bound, " +
              whole(published) + ")";
  auto const from = below_from(c, eps);
  text += from == c.lengths.end()
              ? "; of the rows measured, not yet at " + std::to_string(c.lengths.back().keys)
              : "; of the rows measured, from " + std::to_string(from->keys) + " on";
  auto const& last = c.lengths.back();
  return text + ". At " + std::to_string(last.keys) + " keys the largest is " +
         compact(last.largest.mean(), 4) + ", " + compact(last.largest.mean() / last.most.mean()) +
         " of its bound";
}

std::string of_beta(curve const& c) {
  auto const& lengths = c.lengths;
  auto const sharpens = [](rows_of_length const& rows) { return rows.beta.high() > 1; };
  auto const first = std::ranges::find_if(lengths, sharpens);
  if (first == lengths.end()) return "beta is never above 1";
  auto const strongest = std::ranges::max_element(
      lengths, {}, [](rows_of_length const& rows) { return rows.beta.high(); });
  auto const last = std::find_if(lengths.rbegin(), lengths.rend(), sharpens);
  auto const range = first->keys == last->keys ? "at " + std::to_string(first->keys) + " keys alone"
                                               : "from " + std::to_string(first->keys) + " to " +
                                                     std::to_string(last->keys) + " keys";
  return "of the rows measured, beta is above 1 " + range + ", " +
         compact(strongest->beta.high(), 4) + " at most, at " + std::to_string(strongest->keys);
}

std::string of_switch(curve const& c, std::size_t draws) {
  if (c.off_at.count() == 0) return "";
  return "; it switches itself off at " + extent(c.off_at, whole) + " keys" +
         (c.off_at.count() == draws ? ""
                                    : " in " + std::to_string(c.off_at.count()) + " of " +
                                          std::to_string(draws) + " draws") +
         ", where the entropy is " + short_extent(c.off_entropy) + " nats";
}

std::string of_bound(curve const& c) {
  auto const& first = c.lengths.front();
  auto const& last = c.lengths.back();
  auto const& least = *std::ranges::min_element(
      c.lengths, {}, [](rows_of_length const& rows) { return rows.most.mean(); });
  auto const at = [](rows_of_length const& rows) {
    return compact(rows.most.mean(), 4) + " at " + std::to_string(rows.keys);
  };
  if (&first == &last) return "its bound is " + at(last);
  if (compact(least.most.mean(), 4) == compact(last.most.mean(), 4) &&
      compact(first.most.mean(), 4) == compact(last.most.mean(), 4)) {
    return "its bound stays at " + compact(last.most.mean(), 4);
  }
  if (&least == &last) return "its bound falls to " + at(last);
  if (&least == &first) return "its bound rises from " + at(first) + " to " + at(last);
  return "its bound falls to " + at(least) + " and is " + at(last);
}

std::string of_rule(curve const& c, curve const& softmax, settings const& s) {
  auto const &last = c.lengths.back(), &plain = softmax.lengths.back();
  auto const ratio = last.largest.mean() / plain.largest.mean();
  return of_beta(c) + of_switch(c, s.draws) + "; " + of_bound(c) +
         ", where the largest weight is " + compact(last.largest.mean(), 4) + ", " +
         (std::abs(ratio - 1) < 1e-5 ? "as softmax has it"
                                     : compact(ratio, 4) + " times softmax's");
}

}  // namespace

std::vector<std::string> readings(std::vector<curve> const& curves, settings const& s, double eps) {
  auto const& softmax = curves.front();
  std::vector<std::string> sentences{"bounds: " + of_bounds(curves, s, eps) + ".",
                                     softmax.rule + ": " + of_softmax(softmax, s, eps) + "."};
  for (auto c = curves.begin() + 1; c != curves.end(); ++c)
    sentences.push_back(c->rule + ": " + of_rule(*c, softmax, s) + ".");
  return sentences;
}

}  // namespace dispersion
