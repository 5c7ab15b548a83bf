// What can be changed in how a model attends, as data: each change has a name, and changes the ways
// of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "posenc/model/model_description.hpp"
#include "program/run/decoder.hpp"

namespace run {

/// What a change may ask.
struct surroundings {
  posenc::model_description const& model;
  std::size_t layer, heads, key_heads;  ///< of the layer
  std::size_t length;                   ///< tokens of the text
  std::size_t context() const { return model.context.value_or(length); }
};

struct change {
  std::string name;  ///< as facts and tables have it: p_rope_3
  std::string says;  ///< "the 3 fastest pairs rotate"
  /// Changes how heads of a layer attend. False where that layer has nothing to change.
  std::function<bool(way&, surroundings const&)> make;
  std::string needs = {};  ///< what some layer must have: "a layer that rotates"
};

/// Layers and heads in which changes are made; empty: all.
struct places {
  std::vector<std::size_t> layers = {}, heads = {};
};

/// The model's own plans, changed one after another. Throws std::runtime_error if a change finds
/// nothing to change in any of the layers, or if there is no such layer or head.
std::vector<layer_plan> changed_plans(decoder const& model, std::vector<change> const& changes,
                                      places const& where, std::size_t length);

/// Whether some layer has what the change needs.
bool can_change(decoder const& model, change const& one, std::size_t length);

// Frequencies.
change fastest_pairs(std::size_t count);                    ///< the others stop
change slowest_pairs(std::size_t count);                    ///< likewise
change part_of_pairs(double p);                             ///< p-RoPE
change pairs_between(std::size_t first, std::size_t last);  ///< these alone rotate, last included
change pairs_stopped(std::size_t first, std::size_t last);  ///< these alone stop
change with_base(double base);
change base_times(double factor);
/// linear, ntk, dynamic, yarn, yarn-without-factor or llama3, by this factor, of the trained
/// context.
change scaled(std::string const& rule, double factor);
/// The names of these rules.
std::vector<std::string> const& scaling_rules();
/// By a rope_parameters object of a config.json, as JSON, which stands in the file of that name.
change by_parameters(std::string const& name, std::string const& json);

// Rotation.
change without_rotation();
change in_other_layout();
change in_layout(bool interleaved);  ///< nothing to change where it is so already
change backwards();
change rotated_twice();
change keys_ahead(std::int64_t positions);     ///< keys rotate by their position + positions
change queries_ahead(std::int64_t positions);  ///< likewise

// Scores and masks.
change with_alibi();  ///< in the place of rotation
change scale_times(double factor, std::string const& name);
change with_cap(double cap);  ///< 0: none
change in_window(std::size_t size);
change in_window_with_sinks(std::size_t sinks, std::size_t size);
change mask_one_ahead();
change mask_one_short();
change key_heads_modulo();
/// A rule of site 4; scales: of ssmax, for each head the same.
change with_temperature(std::string const& name, posenc::temperature_rule rule, double length,
                        double scale);

// Caches.
change keys_stored(stored as);
change values_stored(stored as);
change stored_as(stored as);  ///< both
change with_hadamard();
change key_bias_apart();
/// Keys were written for positions that much later, and rotated back.
change keys_moved(std::int64_t positions);

}  // namespace run
