#include "data.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "posenc/model/rotate.hpp"
#include "remarks.hpp"

using nlohmann::ordered_json;

namespace {

std::string name_of(std::variant<posenc::halves, posenc::interleaved> const& layout) {
  return std::holds_alternative<posenc::halves>(layout) ? "halves" : "interleaved";
}

template <class T>
ordered_json json_of(std::optional<T> const& x) {
  return x ? ordered_json(*x) : ordered_json(nullptr);
}

ordered_json json_of(std::vector<posenc::model_setting> const& settings) {
  auto object = ordered_json::object();
  for (auto const& [key, value] : settings) {
    auto parsed = ordered_json::parse(value, nullptr, false);
    object[key] = parsed.is_discarded() ? ordered_json(value) : std::move(parsed);
  }
  return object;
}

ordered_json json_of(posenc::rotary_description const& rotary, std::size_t head_dim,
                     std::size_t length) {
  auto const f = rotary.frequencies.at(length);
  ordered_json object{{"rule", rotary.rule},
                      {"rotary_dim", f.rotary_dim()},
                      {"first_dim", rotary.block.first_dim(head_dim, f.rotary_dim())},
                      {"layout", name_of(rotary.layout)},
                      {"opposite", rotary.opposite},
                      {"attention_factor", f.attention_factor()},
                      {"depends_on_length", rotary.frequencies.depends_on_length()},
                      {"has_pair_factors", rotary.has_pair_factors},
                      {"parameters", json_of(rotary.parameters)},
                      {"axes", nullptr},
                      {"inv_freq", std::vector(f.inv_freq().begin(), f.inv_freq().end())}};
  if (rotary.axes) {
    object["axes"] = ordered_json::array();
    for (std::size_t i = 0; i < rotary.axes->pairs(); ++i)
      object["axes"].push_back(rotary.axes->axis(i));
  }
  return object;
}

ordered_json json_of(posenc::norm_description const& norm) {
  constexpr char const* scopes[]{"unknown", "none", "head", "own_weights", "token", "centred"};
  ordered_json object{{"of", scopes[static_cast<std::size_t>(norm.of)]}};
  if (norm.of <= posenc::norm_scope::none) return object;
  object["place"] = norm.how.place == posenc::norm_place::before ? "before" : "after";
  object["eps"] = norm.how.eps;
  object["plus_one"] = norm.how.plus_one;
  object["weights"] = norm.weights;
  object["tensor"] = norm.tensor;
  return object;
}

ordered_json json_of(posenc::layer_description const& kind, std::size_t length) {
  ordered_json object{{"name", kind.name},
                      {"layers", kind.layers},
                      {"head_dim", kind.head_dim},
                      {"rotary", ordered_json::array()},
                      {"query_norm", json_of(kind.query_norm)},
                      {"key_norm", json_of(kind.key_norm)},
                      {"value_norm", json_of(kind.value_norm)},
                      {"alibi", nullptr},
                      {"buckets", nullptr},
                      {"temperature", nullptr},
                      {"softmax_factor", kind.softmax_factor},
                      {"score_cap", json_of(kind.score_cap)},
                      {"sinks", kind.sinks},
                      {"window", json_of(kind.window)},
                      {"chunk", json_of(kind.chunk)},
                      {"index", nullptr},
                      {"shares_index", kind.shares_index},
                      {"pooled", kind.pooled}};
  for (auto const& rotary : kind.rotary)
    object["rotary"].push_back(json_of(rotary, kind.head_dim, length));
  if (kind.alibi)
    object["alibi"] = {{"heads", kind.alibi->heads},
                       {"max_bias", kind.alibi->max_bias},
                       {"factor", kind.alibi->factor}};
  if (kind.buckets) {
    object["buckets"] = {{"buckets", kind.buckets->buckets},
                         {"max_distance", kind.buckets->max_distance}};
  }
  if (kind.temperature) {
    object["temperature"] = {{"scale", kind.temperature->scale},
                             {"floor_scale", kind.temperature->floor_scale},
                             {"offset", kind.temperature->offset}};
  }
  if (kind.index) {
    auto const& index = *kind.index;
    object["index"] = {{"heads", index.heads},
                       {"head_dim", index.head_dim},
                       {"chosen", index.chosen},
                       {"block", index.block},
                       {"local_blocks", index.local_blocks},
                       {"key_stride", index.key_stride},
                       {"rotary", json_of(index.rotary, index.head_dim, length)}};
  }
  return object;
}

ordered_json json_of(std::vector<comparing::field_difference> const& fields) {
  auto list = ordered_json::array();
  for (auto const& one : fields) list.push_back({{"field", one.field}, {"a", one.a}, {"b", one.b}});
  return list;
}

ordered_json json_of(std::vector<identifying::rule_parameter> const& parameters) {
  auto object = ordered_json::object();
  for (auto const& p : parameters) object[p.name] = json_of(p.value);
  return object;
}

ordered_json json_of(identifying::frequency_explanation const& told) {
  ordered_json object{{"rule", told.rule},
                      {"parameters", json_of(told.parameters)},
                      {"within_rounding", told.within_rounding},
                      {"relative_error", told.relative_error}};
  if (!told.factors.empty()) object["factors"] = told.factors;
  return object;
}

void print(std::ostream& os, ordered_json const& object) { os << object.dump(2) << '\n'; }

// A line of the CSV.
struct line {
  posenc::layer_description const& kind;
  posenc::rotary_description const& rotary;
  posenc::frequencies const& f;
  posenc::pair_description const& pair;
};

std::string shown(double x) {
  if (x > 1e300) return "";  // the wavelength of a pair that does not rotate
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}
std::string shown(std::size_t x) { return std::to_string(x); }

posenc::pair_dims dims_of(line const& l) {
  return posenc::dims_of_pair(l.rotary, l.kind.head_dim, l.pair.pair);
}

using column = std::pair<std::string, std::function<std::string(line const&)>>;

std::vector<column> const& all_columns() {
  static std::vector<column> const columns{
      {"kind", [](line const& l) { return "\"" + l.kind.name + "\""; }},
      {"first_layer", [](line const& l) { return shown(l.kind.layers.front()); }},
      {"layers", [](line const& l) { return shown(l.kind.layers.size()); }},
      {"rule", [](line const& l) { return l.rotary.rule; }},
      {"layout", [](line const& l) { return name_of(l.rotary.layout); }},
      {"pair", [](line const& l) { return shown(l.pair.pair); }},
      {"x_dim", [](line const& l) { return shown(dims_of(l).x); }},
      {"y_dim", [](line const& l) { return shown(dims_of(l).y); }},
      {"axis",
       [](line const& l) { return shown(l.rotary.axes ? l.rotary.axes->axis(l.pair.pair) : 0); }},
      {"inv_freq", [](line const& l) { return shown(l.pair.inv_freq); }},
      {"wavelength", [](line const& l) { return shown(l.pair.wavelength); }},
      {"turns", [](line const& l) { return shown(l.pair.turns); }},
      {"last_angle", [](line const& l) { return shown(l.pair.last_angle); }},
      {"attention_factor", [](line const& l) { return shown(l.f.attention_factor()); }},
  };
  return columns;
}

}  // namespace

void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length) {
  ordered_json object{{"file", file},
                      {"type", model.type},
                      {"layers", model.layers},
                      {"context", json_of(model.context)},
                      {"length", length},
                      {"embedding", model.embedding},
                      {"kinds", ordered_json::array()},
                      {"assumptions", model.assumptions},
                      {"key_layers", model.key_layers},
                      {"notes", model.notes},
                      {"read", json_of(model.read)},
                      {"assumed", json_of(model.assumed)},
                      {"ignored", json_of(model.ignored)}};
  for (auto const& kind : model.kinds) object["kinds"].push_back(json_of(kind, length));
  print(os, object);
}

void print_json(std::ostream& os, std::string const& a, std::string const& b,
                comparing::model_comparison const& comparison) {
  ordered_json object{{"a", a},
                      {"b", b},
                      {"fields", json_of(comparison.fields)},
                      {"equal_layers", comparison.equal_layers},
                      {"layers", ordered_json::array()}};
  for (auto const& [layers, difference] : comparison.layers) {
    auto scores = ordered_json::array();
    for (auto const& score : difference.scores) {
      scores.push_back({{"distance", score.distance},
                        {"angle", json_of(score.angle)},
                        {"worst", score.worst},
                        {"gaussian", score.gaussian}});
    }
    object["layers"].push_back({{"layers", layers},
                                {"fields", json_of(difference.fields)},
                                {"matters_from", json_of(difference.matters_from)},
                                {"scores", std::move(scores)}});
  }
  print(os, object);
}

void print_json(std::ostream& os, std::vector<identified_table> const& tables) {
  auto list = ordered_json::array();
  for (auto const& [name, found] : tables) {
    ordered_json object{{"table", name},
                        {"unit_roundoff", found.unit_roundoff},
                        {"explanations", ordered_json::array()}};
    for (auto const& one : found.explanations) object["explanations"].push_back(json_of(one));
    list.push_back(std::move(object));
  }
  print(os, list);
}

std::vector<std::string> const& csv_columns() {
  static auto const names = [] {
    std::vector<std::string> result;
    for (auto const& [name, value] : all_columns()) result.push_back(name);
    return result;
  }();
  return names;
}

void print_csv(std::ostream& os, posenc::model_description const& model, std::size_t length,
               std::vector<std::string> const& columns) {
  std::vector<column> chosen;
  std::string header;
  for (auto const& name : columns) {
    auto const found = std::ranges::find(all_columns(), name, &column::first);
    if (found == all_columns().end()) {
      std::string all;
      for (auto const& one : csv_columns()) all += (all.empty() ? "" : ", ") + one;
      throw std::runtime_error("--columns must be of " + all + ", got " + name);
    }
    chosen.push_back(*found);
    header += (header.empty() ? "" : ",") + name;
  }
  os << header << '\n';
  for (auto const& kind : model.kinds) {
    for (auto const& rotary : kind.rotary) {
      auto const f = rotary.frequencies.at(length);
      for (auto const& pair : posenc::describe(f, reach_of(kind, length))) {
        std::string text;
        for (auto const& [name, value] : chosen)
          text += (&name == &chosen.front().first ? "" : ",") + value({kind, rotary, f, pair});
        os << text << '\n';
      }
    }
  }
}
