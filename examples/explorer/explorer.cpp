#include "explorer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "posenc/analysis/context_bound.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "posenc/analysis/precision_budget.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "reporting/svg_chart.hpp"
#include "program/verdict/verdict.hpp"

namespace explorer {
namespace {

using nlohmann::json;
using posenc::frequencies;

/// The longest context: its curve takes a second.
constexpr double most_tokens = 1 << 20;
constexpr double turn = 2 * std::numbers::pi;

/// What the curves are of: how queries and keys rotate, and what else a layer does to scores.
struct subject {
  frequencies f;
  std::size_t head_dim;
  double base;  ///< of ggml's recurrence
  double score_factor = 1;
  std::size_t window = static_cast<std::size_t>(most_tokens);
};

// ---- Settings

std::string shown(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return digits;
}

double number(json const& settings, char const* key, double least, double most) {
  auto const found = settings.find(key);
  if (found == settings.end() || !found->is_number())
    refuse(std::string(key) + " must be a number");
  auto const value = found->get<double>();
  if (!(value >= least && value <= most))
    refuse(std::string(key) + " must be from " + shown(least) + " to " + shown(most) + ", got " +
           shown(value));
  return value;
}
std::size_t count(json const& settings, char const* key, double least, double most) {
  auto const value = number(settings, key, least, most);
  if (value != std::floor(value))
    refuse(std::string(key) + " must be a whole number, got " + shown(value));
  return static_cast<std::size_t>(value);
}
std::string text(json const& settings, char const* key) {
  auto const found = settings.find(key);
  if (found == settings.end() || !found->is_string()) refuse(std::string(key) + " must be text");
  return found->get<std::string>();
}

subject by_rule(json const& settings) {
  auto const rule = text(settings, "rule");
  auto const dim = count(settings, "dim", 2, 1024);
  auto const base = number(settings, "base", 1, 1e12);
  auto const plain = posenc::geometric(dim, base);
  auto const factor = [&] { return number(settings, "factor", 1, 1024); };
  auto const trained = [&] { return number(settings, "trained", 1, most_tokens); };
  if (rule == "rope") return {plain, dim, base};
  if (rule == "p-rope") return {posenc::truncated(plain, number(settings, "p", 0, 1)), dim, base};
  if (rule == "linear") return {posenc::linear(plain, factor()), dim, base};
  if (rule == "ntk") return {posenc::ntk(plain, factor()), dim, base};
  if (rule == "yarn")
    return {posenc::yarn(dim, base, {.factor = factor(), .original_length = trained()}), dim, base};
  if (rule == "llama3")
    return {posenc::llama3(plain, {.factor = factor(),
                                   .low_freq_factor = 1,
                                   .high_freq_factor = 4,
                                   .original_length = trained()}),
            dim, base};
  refuse("rule must be rope, p-rope, linear, ntk, yarn or llama3, got " + rule);
}

/// What the curves leave out, one sentence each.
std::vector<std::string> left_out(posenc::layer_description const& kind) {
  std::vector<std::string> remarks;
  if (kind.rotary.empty()) remarks.push_back("These layers do not rotate queries and keys.");
  if (kind.rotary.size() > 1)
    remarks.push_back("The curves are of the first of " + std::to_string(kind.rotary.size()) +
                      " blocks of rotated dims.");
  if (kind.alibi || kind.buckets) remarks.push_back("The curves are without the bias on scores.");
  if (kind.score_cap) remarks.push_back("The curves are without the cap on scores.");
  if (kind.temperature || kind.sinks)
    remarks.push_back("The weights are without the layer's temperature and sinks.");
  return remarks;
}

json kinds_of(posenc::model_description const& model) {
  json kinds = json::array();
  for (auto const& kind : model.kinds)
    kinds.push_back(kind.name + ": " + std::to_string(kind.layers.size()) + " layers");
  return kinds;
}

/// The first block of rotated dims of a kind of layers; NoPE is no pair that rotates.
subject by_kind(posenc::layer_description const& kind, std::size_t context) {
  auto const dim = std::max<std::size_t>(kind.head_dim, 2);
  subject result{frequencies(std::vector<double>(dim / 2, 0.0)), dim, 1e4, kind.softmax_factor};
  if (!kind.rotary.empty()) {
    result.f = kind.rotary.front().frequencies.at(context);
    for (auto const& [key, value] : kind.rotary.front().parameters)
      if (key == "rope_theta") result.base = std::strtod(value.c_str(), nullptr);
  }
  for (auto const reach : {kind.window, kind.chunk})
    if (reach) result.window = std::min(result.window, *reach);
  return result;
}

// ---- The verdict

/// Three digits, and whole numbers from 100 on.
std::string brief(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, value < 100 ? "%.3g" : "%.0f", value);
  return digits;
}

json told(verdicts::pitfall const& one) {
  json angles = json::array(), scores = json::array();
  for (auto const& e : one.effects) {
    angles.push_back(e.radians ? brief(*e.radians) : "-");
    scores.push_back(e.keys ? brief(100 * *e.keys) + " %" : brief(e.score.value_or(0)));
  }
  return {{"name", one.name},       {"says", one.says}, {"kinds", one.kinds},
          {"threads", one.threads}, {"angles", angles}, {"scores", scores}};
}

void add_verdict(json& result, posenc::model_description const& model) {
  auto const found = verdicts::verdict_on(model);
  auto &rows = result["layers"] = json::array(), &pitfalls = result["pitfalls"] = json::array();
  for (auto const& row : found.rows)
    rows.push_back({std::to_string(row.layers.size()) + " " + row.kind, row.dims, row.pairs,
                    row.base ? brief(*row.base) : "", row.rule,
                    shown_sees(row, std::to_string(row.sees.value_or(0)))});
  for (auto const& one : found.pitfalls) pitfalls.push_back(told(one));
  if (found.rounding) result["rounding"] = told(*found.rounding);
}

// ---- Charts

/// Mean score of queries and keys of unit variance, rho correlated, at a distance.
double mean_score(subject const& of, double rho, std::int64_t distance) {
  return of.score_factor / std::sqrt(static_cast<double>(of.head_dim)) *
         posenc::correlated_score(of.f, rho, distance, of.head_dim).mean;
}

struct curves {
  charts::chart score{.title = "Mean score", .x = {"distance, tokens", true}, .y = {"score"}};
  charts::chart weight{.title = "Weight", .x = {"distance, tokens", true}, .y = {"weight", true}};
};
curves by_distance(subject const& of, double rho, std::size_t seen) {
  double total = 0;  // every score at most that at distance 0
  std::vector<double> scores(seen);
  for (std::size_t r = 0; r < seen; ++r)
    scores[r] = mean_score(of, rho, static_cast<std::int64_t>(r));
  auto const largest = *std::ranges::max_element(scores);
  for (auto const score : scores) total += std::exp(score - largest);
  curves result;
  charts::series score{.name = "mean score"}, weight{.name = "softmax of the mean scores"},
      uniform{.name = "1 / keys", .dashed = true};
  for (auto const r : charts::whole_powers(1, static_cast<double>(seen - 1), 64)) {
    auto const here = scores[static_cast<std::size_t>(r)];
    score.x.push_back(r), score.y.push_back(here);
    weight.x.push_back(r), weight.y.push_back(std::exp(here - largest) / total);
    uniform.x.push_back(r), uniform.y.push_back(1 / static_cast<double>(seen));
  }
  result.score.curves = {score};
  result.weight.curves = {weight, uniform};
  return result;
}

charts::chart wavelengths(subject const& of, std::size_t context) {
  charts::series wavelength{.name = "wavelength"}, reach{.name = "context", .dashed = true};
  for (std::size_t i = 0; i < of.f.pairs(); ++i) {
    wavelength.x.push_back(static_cast<double>(i));
    wavelength.y.push_back(of.f.inv_freq()[i] > 0 ? turn / of.f.inv_freq()[i] : 0);
    reach.x.push_back(static_cast<double>(i)), reach.y.push_back(static_cast<double>(context));
  }
  return {.title = "Wavelengths",
          .x = {"pair"},
          .y = {"tokens a turn", true},
          .curves = {wavelength, reach}};
}

charts::chart row_errors(subject const& of, std::size_t context) {
  auto const engine = [&](char const* name, auto const& how) {
    charts::series errors{.name = name};
    for (auto const& at : posenc::precision_budget(of.f, context, how))
      errors.x.push_back(static_cast<double>(at.length)), errors.y.push_back(at.row);
    return errors;
  };
  return {.title = "Error of cosines and sines, stored as float",
          .x = {"context, tokens", true},
          .y = {"largest error", true},
          .curves = {engine("float: Hugging Face, vLLM", posenc::float_angles{}),
                     engine("ggml on CPUs", posenc::ggml_angles{of.base}),
                     engine("posenc", posenc::exact_angles{})}};
}

charts::chart sharpest_weights(double spread, std::size_t context) {
  charts::series plain{.name = "softmax"}, adaptive{.name = "adaptive temperature"};
  for (auto const n : charts::whole_powers(2, static_cast<double>(context), 16)) {
    auto const keys = static_cast<std::size_t>(n);
    plain.x.push_back(n), plain.y.push_back(posenc::dispersion(spread, keys).most);
    adaptive.x.push_back(n);
    adaptive.y.push_back(posenc::dispersion(spread, keys, posenc::adaptive_temperature{}).largest);
  }
  return {.title = "Largest weight that a spread allows",
          .x = {"keys", true},
          .y = {"weight"},
          .curves = {plain, adaptive}};
}

}  // namespace

std::string plain(std::string sentence) {
  constexpr std::string_view hint = ", unless unknown_model::as_llama is asked for";
  if (auto const at = sentence.find(hint); at != sentence.npos) sentence.erase(at, hint.size());
  return sentence;
}

std::string answer(std::string_view given, std::span<std::byte const> file) {
  auto const settings = json::parse(given, nullptr, false);
  if (!settings.is_object()) refuse("settings must be a JSON object");
  auto const context = count(settings, "context", 64, most_tokens);
  auto const rho = number(settings, "rho", -1, 1), spread = number(settings, "spread", 0, 700);

  json result{{"name", "your rule"}, {"kinds", json::array()}, {"remarks", json::array()}};
  auto const of = [&] {
    bool const is_gguf = settings.contains("gguf");
    if (!is_gguf && !settings.contains("config")) return by_rule(settings);
    auto const name = is_gguf ? text(settings, "gguf") : "config.json";
    auto const model = is_gguf ? posenc::read_gguf(posenc::gguf_metadata(file, name))
                               : posenc::read_hugging_face(text(settings, "config"), name);
    result["name"] = model.type, result["kinds"] = kinds_of(model);
    if (model.context) result["context"] = *model.context;
    if (model.kinds.empty()) refuse(name + ": must have a layer");
    add_verdict(result, model);
    auto const last = static_cast<double>(model.kinds.size() - 1);
    auto const& kind = model.kinds[count(settings, "kind", 0, last)];
    for (auto const& list : {left_out(kind), model.assumptions, model.notes})
      for (auto const& sentence : list) result["remarks"].push_back(sentence);
    return by_kind(kind, context);
  }();

  auto const seen = std::min(context, of.window);
  auto const [score, weight] = by_distance(of, rho, std::max<std::size_t>(seen, 2));
  auto const bound = posenc::context_bound(of.f, context);
  auto& facts = result["facts"] = json::array();
  auto const fact = [&](char const* name, std::string const& value) {
    facts.push_back({name, value});
  };
  auto const rotated = static_cast<std::size_t>(
      std::ranges::count_if(of.f.inv_freq(), [](double x) { return x != 0; }));
  fact("head_dim", std::to_string(of.head_dim));
  fact("pairs that rotate", std::to_string(rotated) + " of " + std::to_string(of.head_dim / 2));
  if (rotated > 0) {
    fact("fastest wavelength, tokens", shown(turn / std::ranges::max(of.f.inv_freq())));
    fact("slowest wavelength, tokens", shown(bound.longest_wavelength));
  }
  fact("attention factor", shown(of.f.attention_factor()));
  fact("keys that a query sees", std::to_string(seen));
  fact("first distance with a negative mean of cosines",
       bound.context ? std::to_string(*bound.context) : "none below " + std::to_string(context));
  auto const errors = row_errors(of, context);
  for (auto const& engine : errors.curves)
    fact(("largest error of a cosine, " + engine.name).c_str(), shown(engine.y.back()));
  fact("no weight reaches 0.5 from so many keys on", shown(posenc::keys_below(0.5, spread).keys));

  for (auto const& chart :
       {wavelengths(of, context), score, weight, errors, sharpest_weights(spread, context)})
    result["figures"].push_back(charts::svg({chart}, {.charts_per_row = 1}));
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace explorer
