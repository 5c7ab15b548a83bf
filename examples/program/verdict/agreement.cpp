#include "agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "effects.hpp"
#include "mistakes.hpp"
#include "program/compare/compare.hpp"

namespace comparing {
namespace {

using posenc::frequencies;
using posenc::layer_description;
using posenc::model_description;
using posenc::rotary_description;

// ---- What only the format makes different

/// Floats in the place of doubles; a frequency divided by 1e30 turns no angle.
bool is_close(double a, double b) {
  auto const size = std::max(std::abs(a), std::abs(b));
  return size < 1e-20 || std::abs(a - b) <= 1e-6 * size;
}
bool is_close(std::optional<double> a, std::optional<double> b) {
  return a && b ? is_close(*a, *b) : a == b;
}

/// The numbers of a text or a list of JSON; none if there is a word.
std::vector<double> numbers_in(std::string text) {
  for (auto& c : text)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  std::vector<double> numbers;
  char const* at = text.c_str();
  for (char* end = nullptr; *at != '\0'; at = end) {
    while (*at == ' ') ++at;
    if (*at == '\0') break;
    numbers.push_back(std::strtod(at, &end));
    if (end == at) return {};
  }
  return numbers;
}

bool are_close(std::string const& a, std::string const& b) {
  auto const x = numbers_in(a), y = numbers_in(b);
  return a == b || (!x.empty() &&
                    std::ranges::equal(x, y, [](double u, double v) { return is_close(u, v); }));
}

bool are_close(frequencies const& a, frequencies const& b) {
  return a.pairs() == b.pairs() && is_close(a.attention_factor(), b.attention_factor()) &&
         std::ranges::equal(a.inv_freq(), b.inv_freq(),
                            [](double x, double y) { return is_close(x, y); });
}

/// The numbers of a rule that both files name, those of the GGUF file; the other ones of the
/// config.json.
std::vector<posenc::model_setting> shared_parameters(rotary_description const& of_config,
                                                     rotary_description const& of_gguf) {
  auto result = of_config.parameters;
  for (auto& [key, value] : result) {
    auto const found = std::ranges::find(of_gguf.parameters, key, &posenc::model_setting::key);
    if (found != of_gguf.parameters.end() && !are_close(value, found->value)) value = found->value;
  }
  return result;
}

rotary_description in_words_of(rotary_description const& config, rotary_description gguf,
                               std::vector<std::size_t> const& lengths) {
  using posenc::halves;
  if (std::holds_alternative<halves>(config.layout)) gguf.layout = halves();
  auto const alike = [&](std::size_t n) {
    return are_close(config.frequencies.at(n), gguf.frequencies.at(n));
  };
  if (std::ranges::all_of(lengths, alike)) {
    gguf.frequencies = config.frequencies;
    gguf.rule = config.rule, gguf.parameters = config.parameters;
  } else {
    gguf.parameters = shared_parameters(config, gguf);
    if (gguf.has_pair_factors) gguf.rule += ", divided by the tensor rope_freqs";
  }
  return gguf;
}

void take_if_close(auto& to, auto const& from) {
  if (is_close(to, from)) to = from;
}

/// A layer of a GGUF file, with all that is the same in the words of the config.json.
layer_description in_words_of(layer_description const& config, layer_description gguf,
                              std::vector<std::size_t> const& lengths) {
  for (std::size_t i = 0; i < std::min(config.rotary.size(), gguf.rotary.size()); ++i)
    gguf.rotary[i] = in_words_of(config.rotary[i], gguf.rotary[i], lengths);
  take_if_close(gguf.softmax_factor, config.softmax_factor);
  take_if_close(gguf.score_cap, config.score_cap);
  if (gguf.temperature && config.temperature) {
    take_if_close(gguf.temperature->scale, config.temperature->scale);
    take_if_close(gguf.temperature->floor_scale, config.temperature->floor_scale);
    take_if_close(gguf.temperature->offset, config.temperature->offset);
  }
  if (gguf.alibi && config.alibi) {
    take_if_close(gguf.alibi->max_bias, config.alibi->max_bias);
    take_if_close(gguf.alibi->factor, config.alibi->factor);
  }
  gguf.both_ways = config.both_ways;
  gguf.name = config.name;
  return gguf;
}

/// A kind for each pair of kinds that meet.
model_description in_words_of(model_description const& config, model_description gguf,
                              std::vector<std::size_t> const& lengths) {
  std::map<std::pair<layer_description const*, layer_description const*>, layer_description> kinds;
  for (std::size_t layer = 0; layer < gguf.layers; ++layer) {
    auto const& own = gguf.kind_of(layer);
    auto const& other = layer < config.layers ? config.kind_of(layer) : own;
    auto const at = std::pair(&other, &own);
    if (!kinds.contains(at)) {
      kinds.emplace(at, in_words_of(other, own, lengths));
      kinds.at(at).layers.clear();
    }
    kinds.at(at).layers.push_back(layer);
  }
  std::vector<layer_description> changed;
  for (auto& [of, kind] : kinds) changed.push_back(std::move(kind));
  gguf.kinds = std::move(changed);
  gguf.type = config.type;
  return gguf;
}

// ---- What a difference does

std::vector<verdicts::effect> effects_of(std::string const& field, layer_description const& right,
                                         layer_description const& other) {
  constexpr std::string_view without_number[]{"alibi", "buckets", "index heads", "shares_index",
                                              "pooled"};
  if (right.head_dim != other.head_dim || std::ranges::count(without_number, field) != 0) return {};
  verdicts::made_mistake made{.says = {}, .wrong = right};
  auto& wrong = made.wrong;
  if (field == "window" || field == "ahead" || field == "chunk") {
    made.by = verdicts::measure::keys;
    wrong.window = other.window, wrong.ahead = other.ahead, wrong.chunk = other.chunk;
  } else if (field == "sinks") {
    made.by = verdicts::measure::sinks;
  } else if (field == "score_cap") {
    made.by = verdicts::measure::cap;
    wrong.score_cap = other.score_cap;
  } else if (field == "softmax_factor") {
    wrong.softmax_factor = other.softmax_factor;
  } else if (field == "temperature") {
    wrong.temperature = other.temperature;
  } else {
    wrong.rotary = other.rotary;
  }
  return verdicts::effects_of(right, made);
}

// ---- Sentences

/// A number in six digits, a list by its length.
std::string brief(std::string const& value) {
  auto const numbers = numbers_in(value);
  if (numbers.size() == 1) return verdicts::shown(numbers.front());
  return numbers.empty() ? value : "a list of " + std::to_string(numbers.size());
}

/// A key of the GGUF file that llama.cpp does not read, of this name: yarn_beta_fast for beta_fast.
posenc::model_setting const* ignored(model_description const& gguf, std::string const& field) {
  auto const found = std::ranges::find_if(gguf.ignored, [&](posenc::model_setting const& one) {
    return one.key.ends_with("_" + field) || one.key.ends_with("." + field);
  });
  return found == gguf.ignored.end() ? nullptr : &*found;
}

std::string sentence(named_model const& config, named_model const& gguf,
                     field_difference const& one) {
  auto text = one.field + " is " + (one.a.empty() ? "absent" : brief(one.a)) + " in " + config.name;
  text += one.b.empty() ? "; llama.cpp uses none" : "; llama.cpp uses " + brief(one.b);
  if (auto const* const key = ignored(gguf.model, one.field))
    text += ", and does not read " + key->key + ", " + brief(key->value);
  return text;
}

/// A frequency that follows from a number which is told already, is not told; nor is a name twice.
std::vector<field_difference> told(std::vector<field_difference> const& fields,
                                   layer_description const& config) {
  std::vector<field_difference> result;
  bool has_cause = false;
  for (auto const& one : fields) {
    auto const is_same = [&](field_difference const& other) { return other.field == one.field; };
    bool const is_frequency = one.field.find("inv_freq of pair ") != std::string::npos;
    if (std::ranges::any_of(result, is_same) || (is_frequency && has_cause)) continue;
    result.push_back(one);
    for (auto const& rotary : config.rotary)
      has_cause = has_cause || std::ranges::count(rotary.parameters, one.field,
                                                  &posenc::model_setting::key) != 0;
  }
  return result;
}

}  // namespace

verdicts::verdict disagreement(named_model const& config, named_model const& gguf) {
  std::vector<std::size_t> lengths{1024, 32'768, 131'072};
  if (config.model.context) lengths.push_back(*config.model.context);
  auto const changed = in_words_of(config.model, gguf.model, lengths);
  auto const found = compare(config.model, changed);
  verdicts::verdict result{
      .rows = verdicts::verdict_on(config.model).rows, .pitfalls = {}, .rounding = {}};
  for (auto const& one : found.fields)
    result.pitfalls.push_back({.name = one.field,
                               .says = sentence(config, gguf, one),
                               .kinds = {},
                               .layers = {},
                               .threads = {},
                               .effects = {}});
  for (auto const& [layers, difference] : found.layers) {
    auto const &right = config.model.kind_of(layers.front()),
               &other = changed.kind_of(layers.front());
    for (auto const& one : told(difference.fields, right))
      result.pitfalls.push_back({.name = one.field,
                                 .says = sentence(config, gguf, one),
                                 .kinds = {right.name},
                                 .layers = layers,
                                 .threads = {},
                                 .effects = effects_of(one.field, right, other)});
  }
  return result;
}

}  // namespace comparing
