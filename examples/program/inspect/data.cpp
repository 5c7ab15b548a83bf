#include "data.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "model_json.hpp"
#include "posenc/model/rotate.hpp"
#include "remarks.hpp"
#include "reporting/csv.hpp"

namespace inspect {

using nlohmann::ordered_json;

namespace {

// A line of the CSV.
struct line {
  posenc::layer_description const& kind;
  posenc::rotary_description const& rotary;
  posenc::frequencies const& f;
  posenc::pair_description const& pair;
};

posenc::pair_dims dims_of(line const& l) {
  return posenc::dims_of_pair(l.rotary, l.kind.head_dim, l.pair.pair);
}

using column = std::pair<std::string, std::function<void(charts::csv&, line const&)>>;

// A column of what of(line) gives.
column made(char const* name, auto const& of) {
  return {name, [of](charts::csv& to, line const& l) { to.put(of(l)); }};
}

std::vector<column> const& all_columns() {
  static std::vector<column> const columns{
      made("kind", [](line const& l) { return l.kind.name; }),
      made("first_layer", [](line const& l) { return l.kind.layers.front(); }),
      made("layers", [](line const& l) { return l.kind.layers.size(); }),
      made("rule", [](line const& l) { return l.rotary.rule; }),
      made("layout", [](line const& l) { return model_json::name_of(l.rotary.layout); }),
      made("pair", [](line const& l) { return l.pair.pair; }),
      made("x_dim", [](line const& l) { return dims_of(l).x; }),
      made("y_dim", [](line const& l) { return dims_of(l).y; }),
      made("axis",
           [](line const& l) { return l.rotary.axes ? l.rotary.axes->axis(l.pair.pair) : 0; }),
      made("inv_freq", [](line const& l) { return l.pair.inv_freq; }),
      {"wavelength",
       [](charts::csv& to, line const& l) {  // nothing of a pair that does not rotate
         l.pair.wavelength > 1e300 ? to.put("") : to.put(l.pair.wavelength);
       }},
      made("turns", [](line const& l) { return l.pair.turns; }),
      made("last_angle", [](line const& l) { return l.pair.last_angle; }),
      made("attention_factor", [](line const& l) { return l.f.attention_factor(); })};
  return columns;
}

}  // namespace

void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length) {
  ordered_json object{{"file", file}};
  object.update(model_json::json_of(model, length));
  os << object.dump(2) << '\n';
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
  for (auto const& name : columns) {
    auto const found = std::ranges::find(all_columns(), name, &column::first);
    if (found == all_columns().end()) {
      std::string all;
      for (auto const& one : csv_columns()) all += (all.empty() ? "" : ", ") + one;
      throw std::runtime_error("--fields must be of " + all + ", got " + name);
    }
    chosen.push_back(*found);
  }
  charts::csv csv(os, columns, charts::digits::all);
  for (auto const& kind : model.kinds)
    for (auto const& rotary : kind.rotary) {
      auto const f = rotary.frequencies.at(length);
      for (auto const& pair : posenc::describe(f, reach_of(kind, length))) {
        for (auto const& [name, put] : chosen) put(csv, {kind, rotary, f, pair});
        csv.end_line();
      }
    }
}

}  // namespace inspect
