#include "data.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "model_json.hpp"
#include "posenc/model/rotate.hpp"
#include "remarks.hpp"

using nlohmann::ordered_json;

namespace {

ordered_json json_of(std::vector<comparing::field_difference> const& fields) {
  auto list = ordered_json::array();
  for (auto const& one : fields) list.push_back({{"field", one.field}, {"a", one.a}, {"b", one.b}});
  return list;
}

ordered_json json_of(std::vector<identifying::rule_parameter> const& parameters) {
  auto object = ordered_json::object();
  for (auto const& p : parameters) object[p.name] = model_json::json_or_null(p.value);
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
      {"layout", [](line const& l) { return model_json::name_of(l.rotary.layout); }},
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
  ordered_json object{{"file", file}};
  object.update(model_json::json_of(model, length));
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
                        {"angle", model_json::json_or_null(score.angle)},
                        {"worst", score.worst},
                        {"gaussian", score.gaussian}});
    }
    object["layers"].push_back({{"layers", layers},
                                {"fields", json_of(difference.fields)},
                                {"matters_from", model_json::json_or_null(difference.matters_from)},
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
