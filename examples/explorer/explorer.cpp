#include "explorer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "figures.hpp"
#include "posenc/analysis/context_bound.hpp"
#include "posenc/analysis/dispersion.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "settings.hpp"
#include "subject.hpp"
#include "program/verdict/verdict.hpp"

namespace explorer {
namespace {

using nlohmann::json;

/// What the curves leave out, one sentence each.
std::vector<std::string> left_out(posenc::layer_description const& kind) {
  std::vector<std::string> remarks;
  if (kind.rotary.size() > 1)
    remarks.push_back("The curves show the first of " + std::to_string(kind.rotary.size()) +
                      " blocks of rotated dims.");
  if (kind.score_cap) remarks.push_back("The curves leave out the cap on scores.");
  if (kind.temperature || kind.sinks)
    remarks.push_back("The weights leave out the layer's temperature and sinks.");
  return remarks;
}

json kinds_of(posenc::model_description const& model) {
  json kinds = json::array();
  for (auto const& kind : model.kinds)
    kinds.push_back(kind.name + ": " + std::to_string(kind.layers.size()) + " layers");
  return kinds;
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

// ---- Subjects

/// What a model's file, or a rule, says of itself in `result`; and what its curves are of.
subject read(json const& settings, std::span<std::byte const> file, std::size_t tokens,
             json& result) {
  result["kinds"] = result["remarks"] = json::array();
  bool const is_gguf = settings.contains("gguf");
  if (!is_gguf && !settings.contains("config")) {
    auto const of = by_rule(settings);
    result["name"] = of.name;
    return of;
  }
  auto const name = is_gguf ? text(settings, "gguf") : "config.json";
  auto const model = is_gguf ? posenc::read_gguf(posenc::gguf_metadata(file, name))
                             : posenc::read_hugging_face(text(settings, "config"), name);
  if (model.kinds.empty()) refuse(name + ": must have a layer");
  auto const called = settings.contains("name") ? text(settings, "name") : model.type;
  result["name"] = called, result["kinds"] = kinds_of(model);
  if (model.context) result["context"] = *model.context;
  add_verdict(result, model);
  auto const last = static_cast<double>(model.kinds.size() - 1);
  auto const& kind = model.kinds[count(settings, "kind", 0, last)];
  for (auto const& list : {left_out(kind), model.assumptions, model.notes})
    for (auto const& sentence : list) result["remarks"].push_back(sentence);
  return by_kind(model, kind, called, tokens);
}

using fact_list = std::vector<std::pair<std::string, std::string>>;
fact_list facts_of(measured const& from, chart_settings const& how) {
  auto const& [of, scores, errors] = from;
  fact_list facts;
  auto const fact = [&](std::string const& name, std::string const& value) {
    facts.emplace_back(name, value);
  };
  auto const rotated = std::ranges::count_if(of.f.inv_freq(), [](double x) { return x != 0; });
  fact("head_dim", std::to_string(of.head_dim));
  fact("pairs that rotate", std::to_string(rotated) + " of " + std::to_string(of.head_dim / 2));
  auto const bound = posenc::context_bound(of.f, of.rotates() ? how.tokens : 1);
  if (of.rotates()) {
    fact("fastest wavelength, tokens",
         shown(2 * std::numbers::pi / std::ranges::max(of.f.inv_freq())));
    fact("slowest wavelength, tokens", shown(bound.longest_wavelength));
    fact("attention factor", shown(of.f.attention_factor()));
  }
  if (!of.slopes.empty()) {
    fact("steepest slope of ALiBi", shown(std::ranges::max(of.slopes)));
    fact("flattest slope of ALiBi", shown(std::ranges::min(of.slopes)));
  }
  fact("keys that a query sees", std::to_string(scores.size()));
  if (of.rotates()) {
    fact("first distance with a negative mean of cosines",
         bound.context ? std::to_string(*bound.context)
                       : "none below " + std::to_string(how.tokens));
    for (auto const& one : errors)
      fact("largest error of a cosine, " + one.name, shown(one.largest.back()));
  }
  fact("keys among which no weight reaches 0.5", shown(posenc::keys_below(0.5, how.spread).keys));
  return facts;
}

/// A row of a name and each subject's value, "-" where one has none.
json table_of(std::vector<fact_list> const& lists) {
  json rows = json::array();
  for (std::size_t s = 0; s < lists.size(); ++s)
    for (auto const& fact : lists[s]) {
      auto row = std::ranges::find_if(rows, [&](json const& one) { return one[0] == fact.first; });
      if (row == rows.end()) {
        rows.push_back(json::array({fact.first}));
        row = rows.end() - 1;
        for (std::size_t i = 0; i < lists.size(); ++i) row->push_back("-");
      }
      (*row)[s + 1] = fact.second;
    }
  return rows;
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
  chart_settings const how{count(settings, "context", 64, most_tokens),
                           number(settings, "rho", -1, 1), number(settings, "spread", 0, 700),
                           settings.contains("width") ? number(settings, "width", 200, 1200) : 400};

  json result;
  std::vector<measured> subjects{measure(read(settings, file, how.tokens, result), how.tokens)};
  auto const told_of = [&](measured const& one) { return says(one.of, how.tokens, one.scores); };
  result["says"] = told_of(subjects[0]);
  if (auto const other = settings.find("with"); other != settings.end()) {
    if (!other->is_object()) refuse("with must be an object");
    if (other->contains("gguf")) refuse("with must be a config.json or a rule, got a GGUF file");
    subjects.push_back(measure(read(*other, {}, how.tokens, result["with"]), how.tokens));
    result["with"]["says"] = told_of(subjects[1]);
    if (subjects[0].of.name == subjects[1].of.name) subjects[1].of.name += " (2)";
  }
  std::vector<fact_list> facts;
  for (auto const& one : subjects) facts.push_back(facts_of(one, how));
  result["facts"] = table_of(facts);
  result["charts"] = charts_of(subjects, how);
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace explorer
