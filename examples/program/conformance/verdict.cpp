#include "verdict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace conformance {
namespace {

struct misfit {
  double times_allowed = 0;
  std::string field = {};
  std::size_t index = 0;
};

// The place where answers are farthest off, beyond `enough` any.
misfit misfit_of(answers const& given, answers const& wanted, answers const& allowed,
                 double enough = std::numeric_limits<double>::max()) {
  misfit worst;
  for (auto const& [field, values] : given) {
    auto const &want = wanted.at(field), &bound = allowed.at(field);
    if (want.size() != values.size()) return {std::numeric_limits<double>::max(), field, 0};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == not_given) continue;
      auto const times = std::abs(values[i] - want[i]) / bound[i];
      if (times > worst.times_allowed || worst.field.empty()) worst = {times, field, i};
      if (worst.times_allowed > enough) return worst;
    }
  }
  return worst;
}

// How many numbers of how many are farther off than is allowed.
std::pair<std::size_t, std::size_t> count_wrong(answers const& given, answers const& wanted,
                                                answers const& allowed) {
  std::size_t wrong = 0, all = 0;
  for (auto const& [field, values] : given) {
    auto const &want = wanted.at(field), &bound = allowed.at(field);
    for (std::size_t i = 0; i < std::min(values.size(), want.size()); ++i) {
      if (values[i] == not_given) continue;
      ++all;
      if (!(std::abs(values[i] - want[i]) <= bound[i])) ++wrong;
    }
  }
  return {wrong, all};
}

answers bounds_of_scores(answers const& wanted, precision stored) {
  answers result;
  for (auto const& [field, values] : wanted) {
    for (auto const x : values) {
      result[field].push_back(
          field == "buckets" ? 0.5 : 16 * unit_roundoff(stored) * std::abs(x) + 1e-40);
    }
  }
  return result;
}

struct explanation {
  std::vector<rotary_mistake const*> mistakes;
  std::string details;
  std::size_t loose;  ///< 0, or the place among mistakes of the one that allows errors: the
                      ///< earlier, the fewer
  double times_allowed;
};

std::string joined(std::string const& before, std::string const& detail) {
  return before + (detail.empty() ? "" : ": " + detail);
}

// The best explanation by one mistake more than `sofar` has; and in `closest` that which is least
// wrong, whether it explains the answers or not.
class search {
 public:
  search(test_case const& c, answers const& given, precision stored, set_facts const& facts)
      : case_(c), given_(given), stored_(stored), facts_(facts) {}

  std::optional<explanation> run() {
    auto const right = recipe_of(case_);
    for (auto const& first : rotary_mistakes()) try_one(right, first, nullptr, "", false);
    if (best_) return best_;
    for (auto const& first : rotary_mistakes()) {
      if (first.is_loose) continue;
      first.make(case_, right, facts_, [&](recipe const& made, std::string const& detail) {
        if (!is_sound(made)) return;
        for (auto const* second = &first + 1;
             second != rotary_mistakes().data() + rotary_mistakes().size(); ++second)
          try_one(made, *second, &first, joined(first.says, detail) + "; and ", true);
      });
    }
    return best_;
  }
  std::optional<explanation> const& closest() const { return closest_; }

 private:
  void try_one(recipe const& sofar, rotary_mistake const& last, rotary_mistake const* first,
               std::string const& said, bool is_second) {
    last.make(case_, sofar, facts_, [&](recipe const& made, std::string const& detail) {
      if (!is_sound(made)) return;
      auto const fit = misfit_of(given_, followed(made), bounds(made, stored_),
                                 is_second ? 1 : std::numeric_limits<double>::max());
      auto const at = static_cast<std::size_t>(&last - rotary_mistakes().data());
      explanation one{
          {}, said + joined(last.says, detail), last.is_loose ? at : 0, fit.times_allowed};
      if (first != nullptr) one.mistakes.push_back(first);
      one.mistakes.push_back(&last);
      auto const better = [&](std::optional<explanation> const& than) {
        return !than || std::pair(one.loose, one.times_allowed) <
                            std::pair(than->loose, than->times_allowed);
      };
      if (!is_second && !last.is_loose && better(closest_)) closest_ = one;
      if (fit.times_allowed > 1 || !better(best_)) return;
      if (!last.is_loose || (has_many_wrong(recipe_of(case_)) && has_many_wrong(sofar)))
        best_ = one;
    });
  }

  // One number that is off is a slip, not a way to compute all of them.
  bool has_many_wrong(recipe const& r) const {
    return count_wrong(given_, followed(r), bounds(r, stored_)).first > 1;
  }

  test_case const& case_;
  answers const& given_;
  precision stored_;
  set_facts const& facts_;
  std::optional<explanation> best_, closest_;
};

answers allowed_errors(test_case const& c, precision stored) {
  return c.is_rotary ? bounds(recipe_of(c), stored) : bounds_of_scores(c.expected, stored);
}

}  // namespace

bool is_right(test_case const& c, answers const& given, precision stored) {
  return misfit_of(given, c.expected, allowed_errors(c, stored)).times_allowed <= 1;
}

verdict judged(test_case const& c, answers const& given, precision stored, set_facts const& facts) {
  auto const allowed = allowed_errors(c, stored);
  auto const fit = misfit_of(given, c.expected, allowed);
  verdict result{.is_right = fit.times_allowed <= 1,
                 .times_allowed = fit.times_allowed,
                 .field = fit.field,
                 .index = fit.index,
                 .got = given.at(fit.field)[fit.index],
                 .expected = c.expected.at(fit.field)[fit.index]};
  std::tie(result.wrong, result.given) = count_wrong(given, c.expected, allowed);
  if (result.is_right) return result;
  if (!c.is_rotary) {
    for (auto const& mistake : score_mistakes()) {
      auto const made = mistake.of(c);
      if (made.empty()) continue;
      auto const with = misfit_of(given, made, bounds_of_scores(made, stored)).times_allowed;
      if (with > 1 || (!result.mistakes.empty() && with >= result.with_mistake)) continue;
      result.mistakes = {mistake.name}, result.says = mistake.says, result.with_mistake = with;
    }
    return result;
  }
  search hypotheses(c, given, stored, facts);
  if (auto const found = hypotheses.run()) {
    for (auto const* mistake : found->mistakes) result.mistakes.emplace_back(mistake->name);
    result.says = found->details, result.with_mistake = found->times_allowed;
  } else if (auto const& near = hypotheses.closest();
             near && near->times_allowed < result.times_allowed / 4) {
    result.closest = near->details, result.with_mistake = near->times_allowed;
  }
  return result;
}

}  // namespace conformance
