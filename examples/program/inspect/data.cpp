#include "data.hpp"

#include <ostream>
#include <stdexcept>
#include <variant>

#include "posenc/model/rotate.hpp"
#include "remarks.hpp"
#include "reporting/csv.hpp"
#ifdef POSENC_READS_MODELS
#include "model_json.hpp"
#endif

namespace inspect {

void print_json(std::ostream& os, std::string const& file, posenc::model_description const& model,
                std::size_t length) {
#ifdef POSENC_READS_MODELS
  nlohmann::ordered_json object{{"file", file}};
  object.update(model_json::json_of(model, length));
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
