#include "data.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <variant>

#include "posenc/analysis/context_bound.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/analysis/precision_wall.hpp"
#include "posenc/model/rotate.hpp"
#include "remarks.hpp"
#include "reporting/csv.hpp"
#ifdef POSENC_READS_MODELS
#include "model_json.hpp"
#endif

namespace inspect {
#ifdef POSENC_READS_MODELS
namespace {

// How far a head sees by its frequencies alone, the score that singles out the previous token, and
// the pairs that numbers of each type leave to do it.
nlohmann::ordered_json far_and_near(posenc::frequencies const& f, std::size_t reach,
                                    std::size_t length) {
  auto const farthest = farthest_of(reach, f.pairs());
  auto const bounds = posenc::context_bound(f, farthest);
  nlohmann::ordered_json object{
      {"context_bound",
       {{"reach", farthest},
        {"context", model_json::json_or_null<nlohmann::ordered_json>(bounds.context)},
        {"certain", bounds.certain},
        {"longest_wavelength", bounds.longest_wavelength}}},
      {"positional_budget", nullptr},
      {"neighbours_told_apart",
       {{"float32", posenc::neighbours_told_apart<float>(f)},
        {"float16", posenc::neighbours_told_apart<posenc::half>(f)},
        {"bfloat16", posenc::neighbours_told_apart<posenc::bfloat16>(f)}}},
      {"float_angle_error", float_error(f, length)}};
  constexpr double weight = 0.99;
  auto const tokens = std::min(reach, std::size_t{8192});
  try {
    auto const budget = posenc::positional_budget(f, tokens, weight, 1);
    object["positional_budget"] = {{"tokens", tokens},
                                   {"distance", 1},
                                   {"weight", weight},
                                   {"pairs", budget.cheapest},
                                   {"score", budget.score}};
  } catch (std::invalid_argument const&) {
    // No score gives the weight: there is one token, no rotation, or a recurrence.
  }
  return object;
}

}  // namespace
#endif

void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length) {
#ifdef POSENC_READS_MODELS
  nlohmann::ordered_json object{{"file", file}};
  object.update(model_json::json_of(model, length));
  for (std::size_t i = 0; i < model.kinds.size(); ++i)
    for (std::size_t j = 0; auto const& rotary : model.kinds[i].rotary)
      object["kinds"][i]["rotary"][j++].update(
          far_and_near(rotary.frequencies.at(length), reach_of(model.kinds[i], length), length));
  os << object.dump(2) << '\n';
#else
  throw std::runtime_error("--json: this posenc was built without nlohmann-json");
#endif
}

void print_csv(std::ostream& os, posenc::model_description const& model, std::size_t length) {
  charts::csv csv(os,
                  {"kind", "first_layer", "layers", "rule", "layout", "pair", "x_dim", "y_dim",
                   "axis", "inv_freq", "wavelength", "turns", "last_angle", "attention_factor"},
                  charts::digits::all);
  for (auto const& kind : model.kinds)
    for (auto const& rotary : kind.rotary) {
      auto const f = rotary.frequencies.at(length);
      bool const halves = std::holds_alternative<posenc::halves>(rotary.layout);
      for (auto const& pair : posenc::describe(f, reach_of(kind, length))) {
        auto const [x, y] = posenc::dims_of_pair(rotary, kind.head_dim, pair.pair);
        csv.put(kind.name), csv.put(kind.layers.front()), csv.put(kind.layers.size());
        csv.put(rotary.rule), csv.put(halves ? "halves" : "interleaved");
        csv.put(pair.pair), csv.put(x), csv.put(y);
        csv.put(rotary.axes ? rotary.axes->axis(pair.pair) : 0), csv.put(pair.inv_freq);
        bool const rotates = pair.wavelength <= 1e300;
        rotates ? csv.put(pair.wavelength) : csv.put("");
        csv.line(pair.turns, pair.last_angle, f.attention_factor());
      }
    }
}

}  // namespace inspect
