#include "reading.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reporting/scale.hpp"

namespace max_retrieval {
namespace {

using charts::compact;

std::string listed(std::vector<std::size_t> const& sizes) {
  std::string list;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    list += (i == 0 ? "" : i + 1 == sizes.size() ? " and " : ", ") + std::to_string(sizes[i]);
  return list;
}

std::string of_plain(std::vector<size_summary> const& summary, bool utf8) {
  auto const &near = summary.front(), &far = summary.back();
  if (summary.size() == 1) return "Plain softmax met no sets larger than those it was trained on.";
  auto text = "Plain softmax " +
              std::string(far.lost.low() > 0 && far.sharpness_lost.low() > 0
                              ? "disperses"
                              : "does not clearly disperse") +
              ": from " + std::to_string(near.size) + " to " + std::to_string(far.size) +
              " items its largest weight goes from " + compact(near.mean[plain].largest_weight) +
              " to " + compact(far.mean[plain].largest_weight) +
              ", the entropy of its weights from " + compact(near.mean[plain].entropy) + " to " +
              compact(far.mean[plain].entropy) + " nats, its accuracy from " +
              with_interval(near.accuracy[plain], utf8) + " to " +
              with_interval(far.accuracy[plain], utf8) + " %";
  return text + (far.accuracy[plain].low() > 10
                     ? "."
                     : ", no better than to guess, 10 %, within the interval.");
}

// Against the plain softmax, size by size.
std::string of_rule(std::vector<size_summary> const& summary, rule which, std::string const& name,
                    bool utf8) {
  std::vector<std::size_t> better, worse;
  for (auto const& s : summary) {
    if (s.gain[which].low() > 0) better.push_back(s.size);
    if (s.gain[which].high() < 0) worse.push_back(s.size);
  }
  auto text =
      name + (worse.empty() ? " does no worse than plain softmax at any size, within the interval"
                            : " does worse than plain softmax at " + listed(worse));
  if (better.empty()) return text + ", and better at none.";
  auto const most = std::ranges::max_element(summary, {}, [&](size_summary const& s) {
    return s.gain[which].low() > 0 ? s.gain[which].mean : -1000.0;  // points: below any gain
  });
  return text + "; it does better at " + listed(better) + ", at most by " +
         with_interval(most->gain[which], utf8) + " points, at " + std::to_string(most->size) + ".";
}

std::string of_unaided(size_summary const& far) {
  auto const left_alone = "leaves alone " + fixed(100 * far.mean[adaptive].unaided, 0) +
                          " % of the sets of " + std::to_string(far.size) +
                          " items as too diffuse for its polynomial";
  return "As published, adaptive temperature " +
         (far.mean[adaptive].unaided > 0 ? left_alone
                                         : "finds none of the sets of " + std::to_string(far.size) +
                                               " items too diffuse for its polynomial") +
         "; its mean beta there is " + fixed(far.mean[adaptive].inverse_temperature, 2) +
         ", and held at the maximum " + fixed(far.mean[held].inverse_temperature, 2) + ".";
}

std::string of_paper(std::vector<size_summary> const& summary) {
  double most = 0;
  std::string where, at;
  for (auto const& s : summary) {
    for (auto const which : {plain, adaptive}) {
      if (!s.paper[which] || std::abs(s.accuracy[which].mean - *s.paper[which]) < most) continue;
      most = std::abs(s.accuracy[which].mean - *s.paper[which]);
      where = std::string(rule_names[which]) + " at " + std::to_string(s.size);
      at = fixed(s.accuracy[which].mean, 1) + " against " + fixed(*s.paper[which], 1) + " %";
    }
  }
  return where.empty() ? "None of these sizes is in the paper."
                       : "Farthest from the paper: " + where + ", " + at + ".";
}

}  // namespace

std::string fixed(double x, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, x);
  return text;
}

std::string with_interval(interval const& x, bool utf8) {
  return fixed(x.mean, 1) + (utf8 ? " ± " : " +- ") + fixed(x.half_width, 1);
}

std::vector<std::string> readings(std::vector<size_summary> const& summary, bool utf8) {
  return {of_plain(summary, utf8), of_rule(summary, adaptive, "Adaptive temperature", utf8),
          of_rule(summary, held, "Held at its maximum, it", utf8), of_unaided(summary.back()),
          of_paper(summary)};
}

}  // namespace max_retrieval
