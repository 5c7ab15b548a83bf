#include "reading.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "reporting/scale.hpp"

namespace curves {
namespace {

using charts::compact;

// Part of a curve: one distance, or, of random inputs, enough neighbouring ones to average the
// chance out.
struct stretch {
  std::size_t first, last;  // distances [first, last)
  double mean, error;       // of the logit, and its standard error
};

std::vector<stretch> stretches(std::vector<posenc::running_moments> const& logit,
                               bool random_inputs) {
  std::vector<stretch> result;
  for (std::size_t first = 0; first < logit.size();) {
    auto const last =
        random_inputs ? std::min(logit.size(), std::max(first + 1, first + first / 2)) : first + 1;
    double sum = 0, variance = 0;
    for (auto r = first; r < last; ++r) {
      sum += logit[r].mean();
      variance += logit[r].spread() * logit[r].spread() /
                  std::max(1.0, static_cast<double>(logit[r].count()) - 1);
    }
    auto const n = static_cast<double>(last - first);
    result.push_back({first, last, sum / n, random_inputs ? std::sqrt(variance) / n : 0});
    first = last;
  }
  return result;
}

// Whether a is above b by more than rounding, or than chance, explains.
bool above(stretch const& a, stretch const& b) {
  return a.mean - b.mean >
         4 * std::hypot(a.error, b.error) + 1e-9 * (std::abs(a.mean) + std::abs(b.mean));
}

// Of all ones: how far the queries' logits at one distance lie apart, where this is most.
std::string over_queries(curve const& c) {
  auto const widest = std::ranges::max_element(
      c.plain.logit, {}, [](posenc::running_moments const& m) { return m.high() - m.low(); });
  return "the logit depends on the query's position: it is " + compact(widest->low()) + " to " +
         compact(widest->high()) + " at distance " +
         std::to_string(widest - c.plain.logit.begin()) + " (band: " + std::to_string(c.queries) +
         " positions); the weights are those of the last query";
}

std::string of_logit(curve const& c, bool random_inputs) {
  if (c.queries > 0 && !random_inputs) return over_queries(c);
  auto const parts = stretches(c.plain.logit, random_inputs);
  auto const &near = parts.front(), &far = parts.back();
  if (random_inputs && c.plain.logit.front().count() < 8)
    return "too few queries to tell a trend of the logit from chance";
  auto const [lowest, highest] = std::ranges::minmax_element(parts, {}, &stretch::mean);
  if (!above(*highest, *lowest) && !above(near, far) && !above(far, near)) {
    return "the logit " + compact(near.mean) +
           (random_inputs ? " shows no trend with distance" : " is the same at every distance");
  }
  auto const digits = compact(near.mean) == compact(far.mean) ? 9 : 3;
  auto text =
      "the logit goes from " + compact(near.mean, digits) + " to " + compact(far.mean, digits);
  if (random_inputs) text += " (on average over the farthest third)";

  // Against the general trend, the first step back.
  bool const falls = near.mean >= far.mean;
  std::optional<std::size_t> back;
  for (std::size_t i = 1; i < parts.size() && !back; ++i) {
    if (falls ? above(parts[i], parts[i - 1]) : above(parts[i - 1], parts[i]))
      back = parts[i].first;
  }
  text += back ? ", not steadily (it first " + std::string(falls ? "rises" : "falls") +
                     " at distance " + std::to_string(*back) + ")"
               : std::string(falls ? ", falling" : ", rising") +
                     (random_inputs ? "; bumps are within sampling noise" : " all the way");
  if (near.mean > 0) {
    auto const first_below = [&](double bound) -> std::string {
      auto const at = std::ranges::find_if(parts, [&](stretch const& s) {
        return above({0, 0, bound, 0}, s);
      });
      return at == parts.end() ? "" : std::to_string(at->first);
    };
    auto const half = first_below(near.mean / 2), negative = first_below(0);
    text += half.empty() ? "; it never falls below half" : "; it first falls below half at " + half;
    if (negative.empty())
      text += " and is never negative";
    else if (c.compares)
      text += "; from " + negative + " tokens on a key like the query can score below a random one";
    else
      text += " and below 0 at " + negative;
  }
  return text;
}

// How many of the nearest keys share half of the weight.
std::size_t half_of_the_weight(posenc::distance_profile const& profile) {
  double sum = 0;
  std::size_t keys = 0;
  for (; keys < profile.weight.size() && sum < 0.5; ++keys) sum += profile.weight[keys].mean();
  return keys;
}

std::string of_weight(curve const& c) {
  auto const keys = c.plain.weight.size(), plain = half_of_the_weight(c.plain),
             adaptive = half_of_the_weight(c.adaptive);
  auto const nearest = [](std::size_t count) {
    return count == 1 ? "the nearest key alone has"
                      : "the nearest " + std::to_string(count) + " have";
  };
  auto text = nearest(plain) + " half of the weight of " + std::to_string(keys) + " keys";
  auto const& beta = c.adaptive.inverse_temperature;
  if (beta.high() > 1) {
    text += "; with adaptive temperature (beta " + compact(beta.low()) +
            (beta.low() < beta.high() ? " to " + compact(beta.high()) : "") + ") " +
            (adaptive == plain ? "they still do" : nearest(adaptive) + " it");
    if (adaptive == plain && plain == 1)
      text.replace(text.rfind("they"), text.npos, "it still has");
  } else {
    text += "; adaptive temperature changes nothing: entropy " + compact(c.plain.entropy.mean()) +
            " nats" +
            (c.plain.entropy.low() > 5.9445 ? " is too diffuse for it"
                                            : " is not within the 0.85 to 5.94 in which it acts");
  }
  return text;
}

}  // namespace

std::string reading(curve const& c, bool random_inputs) {
  return c.encoding + (c.own ? " (its own)" : "") + ": " + of_logit(c, random_inputs) + "; " +
         of_weight(c) +
         (c.queries > 0 && random_inputs ? "; all of it at the last query, for it depends on the "
                                           "query's position, too."
                                         : ".");
}

}  // namespace curves
