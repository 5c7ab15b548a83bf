#include "reading.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reporting/scale.hpp"

namespace retrieval {
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

// Gains of a rule over another, size by size.
std::string compared(std::vector<size_summary> const& summary, by_rule<interval> size_summary::*of,
                     rule which, std::string const& name, std::string const& other, bool utf8) {
  std::vector<std::size_t> better, worse;
  size_summary const* most = nullptr;
  for (auto const& s : summary) {
    auto const& gain = (s.*of)[which];
    if (gain.high() < 0) worse.push_back(s.size);
    if (gain.low() <= 0) continue;
    better.push_back(s.size);
    if (most == nullptr || gain.mean > (most->*of)[which].mean) most = &s;
  }
  auto const text = name + " does " +
                    (worse.empty() ? "no worse than " + other + " at any size, within the interval"
                                   : "worse than " + other + " at " + listed(worse));
  if (most == nullptr) return text + ", and better at none.";
  return text + "; it does better at " + listed(better) + ", at most by " +
         with_interval((most->*of)[which], utf8) + " points, at " + std::to_string(most->size) +
         ".";
}

std::string of_own_fit(std::vector<size_summary> const& summary,
                       std::vector<seed_result> const& results, bool utf8) {
  auto const [least, most] =
      std::ranges::minmax(results, {}, [](seed_result const& result) { return result.fit.helped; });
  if (least.fit.helped == 0)
    return "No polynomial could be fitted to every network: too few of the " +
           std::to_string(least.fit.sets) + " sets for it are such that a temperature helps.";
  return compared(summary, &size_summary::over_adaptive, own,
                  "A polynomial fitted to the network itself, to the " +
                      std::to_string(least.fit.helped) + " to " + std::to_string(most.fit.helped) +
                      " of " + std::to_string(least.fit.sets) +
                      " other sets that a temperature helps,",
                  "the published one", utf8);
}

std::string of_entropy(std::vector<size_summary> const& summary, bool utf8) {
  auto const text = compared(summary, &size_summary::of_own, beta_8, "The fit of its own",
                             "the constant 8", utf8);
  auto const gains = std::ranges::any_of(
      summary, [&](size_summary const& s) { return s.of_own[beta_8].low() > 0; });
  return text + (gains ? " So the entropy of a row says something of the temperature that it needs."
                       : " So the entropy of a row says nothing here of the temperature that it "
                         "needs.");
}

std::string of_hard(size_summary const& far) {
  auto const of = [&](rule which) { return fixed(far.accuracy[which].mean, 1) + " %"; };
  return "Hard attention, to the largest score alone, is right in " + of(hard) +
         " of the sets of " + std::to_string(far.size) + " items; half weight in " + of(half) +
         ", the published polynomial in " + of(adaptive) + ", plain softmax in " + of(plain) +
         ". In " + fixed(100 * far.mean[hard].misordered, 1) +
         " % of them the largest score is of an item of another class: order, which no "
         "temperature mends.";
}

std::string of_unaided(size_summary const& far) {
  auto const left_alone = "leaves alone " + fixed(100 * far.mean[adaptive].unaided, 0) +
                          " % of the sets of " + std::to_string(far.size) +
                          " items as too diffuse for its polynomial";
  return "As published, adaptive temperature " +
         (far.mean[adaptive].unaided > 0 ? left_alone
                                         : "finds none of the sets of " + std::to_string(far.size) +
                                               " items too diffuse for its polynomial") +
         "; its mean beta there is " + fixed(far.mean[adaptive].inverse_temperature, 2) + ".";
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

std::string with_interval(interval const& x, bool utf8) {
  return fixed(x.mean, 1) + (utf8 ? " ± " : " +- ") + fixed(x.half_width, 1);
}

std::vector<std::string> readings(std::vector<size_summary> const& summary,
                                  std::vector<seed_result> const& results, bool utf8) {
  return {of_plain(summary, utf8),
          compared(summary, &size_summary::gain, adaptive, "Adaptive temperature, as published,",
                   "plain softmax", utf8),
          compared(summary, &size_summary::over_adaptive, half,
                   "Half weight, the beta that gives the largest score half of it,",
                   "the published polynomial", utf8),
          of_own_fit(summary, results, utf8),
          of_entropy(summary, utf8),
          of_hard(summary.back()),
          of_unaided(summary.back()),
          of_paper(summary)};
}

}  // namespace retrieval
