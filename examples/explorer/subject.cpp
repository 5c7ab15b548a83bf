#include "subject.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "posenc/analysis/rope_decay.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/score/alibi.hpp"
#include "reporting/text.hpp"

namespace explorer {

using charts::grouped;
using nlohmann::json;
using posenc::frequencies;

namespace {

frequencies standing_still(std::size_t dim) {
  return frequencies(std::vector<double>(dim / 2, 0.0));
}

/// 10000 is "10000", 500000 "500,000".
std::string shown_base(double base) {
  return base == std::floor(base) && base < 1e15 ? grouped(static_cast<std::size_t>(base))
                                                 : shown(base);
}

std::vector<double> list_of(posenc::alibi const& encoding) {
  return {encoding.slopes().begin(), encoding.slopes().end()};
}

}  // namespace

bool subject::rotates() const {
  return std::ranges::any_of(f.inv_freq(), [](double x) { return x != 0; });
}

std::vector<double> mean_scores(subject const& of, std::size_t seen) {
  auto const at = [&](std::size_t distance) {
    return of.score_factor / std::sqrt(static_cast<double>(of.head_dim)) *
           posenc::correlated_score(of.f, 1, static_cast<std::int64_t>(distance), of.head_dim).mean;
  };
  std::vector<double> result(seen, at(0));
  for (std::size_t r = 1; of.rotates() && r < seen; ++r) result[r] = at(r);
  return result;
}

std::size_t seen_by(subject const& of, std::size_t tokens) {
  return std::max<std::size_t>(std::min(tokens, of.window), 2);
}

subject by_rule(json const& settings) {
  auto const rule = text(settings, "rule");
  auto const dim = count(settings, "dim", 2, 1024);
  if (rule == "nope") return {"NoPE", standing_still(dim), dim, 1e4};
  if (rule == "alibi") {
    auto const heads = count(settings, "heads", 1, 1024);
    subject result{"ALiBi, " + std::to_string(heads) + " heads", standing_still(dim), dim, 1e4};
    result.slopes = list_of(posenc::alibi(heads));
    return result;
  }
  auto const base = number(settings, "base", 1, 1e12);
  auto const plain = posenc::geometric(dim, base);
  auto const factor = [&] { return number(settings, "factor", 1, 1024); };
  auto const trained = [&] { return number(settings, "trained", 1, most_tokens); };
  auto const named = [&](std::string const& name, frequencies f) {
    return subject{name + ", base " + shown_base(base), std::move(f), dim, base};
  };
  auto const by = [&](char const* name) { return name + (" by " + shown(factor())); };
  if (rule == "rope") return named("RoPE", plain);
  if (rule == "p-rope") {
    auto const p = number(settings, "p", 0, 1);
    return named("p-RoPE " + shown(p), posenc::truncated(plain, p));
  }
  if (rule == "linear") return named(by("position interpolation"), posenc::linear(plain, factor()));
  if (rule == "ntk") return named(by("NTK-aware"), posenc::ntk(plain, factor()));
  if (rule == "yarn")
    return named(by("YaRN"),
                 posenc::yarn(dim, base, {.factor = factor(), .original_length = trained()}));
  if (rule == "llama3")
    return named(by("Llama 3"), posenc::llama3(plain, {.factor = factor(),
                                                       .low_freq_factor = 1,
                                                       .high_freq_factor = 4,
                                                       .original_length = trained()}));
  refuse("rule must be rope, p-rope, linear, ntk, yarn, llama3, alibi or nope, got " + rule);
}

subject by_kind(posenc::model_description const& model, posenc::layer_description const& kind,
                std::string name, std::size_t context) {
  if (model.kinds.size() > 1) name += ", " + kind.name;
  auto const dim = std::max<std::size_t>(kind.head_dim, 2);
  subject result{std::move(name), standing_still(dim), dim, 1e4, kind.softmax_factor};
  result.context = model.context;
  if (!kind.rotary.empty()) {
    result.f = kind.rotary.front().frequencies.at(context);
    for (auto const& [key, value] : kind.rotary.front().parameters)
      if (key == "rope_theta") result.base = std::strtod(value.c_str(), nullptr);
  }
  for (auto const reach : {kind.window, kind.chunk})
    if (reach) result.window = std::min(result.window, *reach);
  if (kind.alibi) result.slopes = list_of(kind.alibi->encoding());
  if (kind.buckets) {
    result.buckets.emplace(kind.buckets->buckets, kind.buckets->max_distance, kind.ahead != 0);
    result.unknown = "Each head adds a learned number to a score, one for each of " +
                     std::to_string(kind.buckets->buckets) +
                     " buckets of distances. These numbers are weights of the model, so its "
                     "settings give no curve of scores.";
  } else if (!model.embedding.empty() && kind.rotary.empty() && !kind.alibi) {
    result.unknown = "Positions are added to the words before the first layer (" + model.embedding +
                     "), and the weights of the model decide what heads make of them. So its "
                     "settings give no curve of scores.";
  }
  return result;
}

std::vector<head> heads_of(subject const& of, std::size_t most) {
  if (of.slopes.empty()) return {{of.name, 0}};
  std::vector<std::size_t> order(of.slopes.size());
  for (std::size_t h = 0; h < order.size(); ++h) order[h] = h;
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t h) { return of.slopes[h]; });
  std::vector<head> result;
  auto const shown_heads = std::min(most, order.size());
  for (std::size_t i = 0; i < shown_heads; ++i) {
    auto const h = order[shown_heads > 1 ? i * (order.size() - 1) / (shown_heads - 1) : 0];
    char slope[32];
    std::snprintf(slope, sizeof slope, "%.3g", of.slopes[h]);
    result.push_back({"head " + std::to_string(h) + ", slope " + slope, of.slopes[h]});
  }
  return result;
}

std::string says(subject const& of, std::size_t tokens, std::vector<double> const& scores) {
  if (!of.unknown.empty()) return of.unknown;
  std::string result;
  if (!of.slopes.empty()) {
    auto const [flattest, steepest] = std::ranges::minmax(of.slopes);
    char one[32], other[32];
    std::snprintf(one, sizeof one, "%.3g", 1 / steepest);
    std::snprintf(other, sizeof other, "%.3g", 1 / flattest);
    result = "ALiBi subtracts a slope times the distance from each score, and each of the " +
             std::to_string(of.slopes.size()) +
             " heads has its own slope. A weight falls to 1/e of itself every " + one +
             " tokens in the steepest head, and every " + other + " tokens in the flattest head.";
    if (!of.rotates()) return result;
    result += ' ';
  }
  if (!of.rotates())
    return "These layers encode no positions: a key scores the same at every distance.";
  result += "On average a key like the query scores above a random key ";
  auto const first = std::ranges::find_if(scores, [](double score) { return score < 0; });
  auto const at = static_cast<std::size_t>(first - scores.begin());
  if (first != scores.end())
    return result + "up to a distance of " + grouped(at - 1) + " tokens, and below it at " +
           grouped(at) + ".";
  return result + "at every distance " + (of.window < tokens ? "in its window of " : "below ") +
         grouped(scores.size()) + " tokens.";
}

}  // namespace explorer
