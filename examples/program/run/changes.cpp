#include "changes.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/hugging_face.hpp"
#include "program/verdict/mistakes.hpp"
#include "reporting/scale.hpp"

namespace run {
namespace {

using posenc::frequencies;
using posenc::layer_description;
using posenc::rotary_description;

constexpr char const* rotation = "a layer that rotates";

std::string whole(std::size_t n) { return std::to_string(n); }
std::string shown(double number) { return verdicts::shown(number); }
/// As part of a name.
std::string word(double number) { return shown(number); }

/// A change of each rotation of a layer.
change of_rotation(std::string name, std::string says,
                   std::function<void(rotary_description&, way&, surroundings const&)> each) {
  return {std::move(name), std::move(says),
          [each = std::move(each)](way& w, surroundings const& at) {
            for (auto& rotary : w.says.rotary) each(rotary, w, at);
            return !w.says.rotary.empty();
          },
          rotation};
}

/// A change of frequencies that were by f(frequencies, length, surroundings, rotation).
template <class Rule>
change of_frequencies(std::string name, std::string says, Rule rule) {
  return of_rotation(
      std::move(name), std::move(says),
      [rule](rotary_description& rotary, way&, surroundings const& at) {
        auto const context = at.context();
        auto const base = verdicts::base_of(rotary);
        auto const by = [rule, context, base](frequencies const& f, std::size_t length) {
          return rule(f, length, context, base);
        };
        if (rotary.frequencies.depends_on_length()) {
          rotary.frequencies = posenc::frequencies_by_length(
              [by, before = rotary.frequencies](std::size_t length) {
                return by(before.at(length), length);
              });
        } else {
          // Dynamic NTK makes them depend on it.
          rotary.frequencies = posenc::frequencies_by_length(
              [by, f = rotary.frequencies.at(1)](std::size_t length) { return by(f, length); });
        }
      });
}

/// Pairs that stop.
template <class Stops>
change of_pairs(std::string name, std::string says, std::size_t most, Stops stops) {
  return of_frequencies(
      std::move(name), std::move(says),
      [most, stops](frequencies const& f, std::size_t, std::size_t, std::optional<double>) {
        if (most > f.pairs())
          throw std::runtime_error("pairs must be below the " + whole(f.pairs()) +
                                   " of a head, got " + whole(most));
        std::vector<double> kept(f.inv_freq().begin(), f.inv_freq().end()),
            rest(f.rest().begin(), f.rest().end());
        for (std::size_t i = 0; i < kept.size(); ++i)
          if (stops(i, kept.size())) kept[i] = rest[i] = 0;
        return frequencies(kept, rest, f.attention_factor());
      });
}

change of_scores(std::string name, std::string says, std::function<void(way&)> make) {
  return {std::move(name), std::move(says), [make = std::move(make)](way& w, auto const&) {
            make(w);
            return true;
          }};
}

/// Adds to what changes the rules of a block.
void add_rules(way& w,
               std::function<void(posenc::attention_rules&, query_block const&)> const& more) {
  w.rules = [before = w.rules, more](posenc::attention_rules& rules, query_block const& block) {
    if (before) before(rules, block);
    more(rules, block);
  };
}

/// A mask of cells in the place of the layer's: sees(query, key).
template <class Sees>
void see_by(way& w, Sees sees) {
  add_rules(w, [cells = std::make_shared<std::vector<unsigned char>>(), sees](
                   posenc::attention_rules& rules, query_block const& block) {
    cells->resize(block.queries * block.keys);
    for (std::size_t i = 0; i < block.queries; ++i)
      for (std::size_t key = 0; key < block.keys; ++key)
        (*cells)[i * block.keys + key] = sees(block.first + i, key);
    rules.sees = posenc::mask::given(
        posenc::given_mask(cells->data(), {block.queries, 1, block.keys}));
  });
}

bool is_interleaved(rotary_description const& rotary) {
  return std::holds_alternative<posenc::interleaved>(rotary.layout);
}
void set_layout(rotary_description& rotary, bool interleaved) {
  if (interleaved) {
    rotary.layout = posenc::interleaved();
  } else {
    rotary.layout = posenc::halves();
  }
}

}  // namespace

std::vector<layer_plan> changed_plans(decoder const& model, std::vector<change> const& changes,
                                      places const& where, std::size_t length) {
  auto plans = model.plans();
  for (auto const layer : where.layers)
    if (layer >= plans.size())
      throw std::runtime_error("layers must be below the number of layers, " +
                               whole(plans.size()) + ", got " + whole(layer));
  for (auto const head : where.heads)
    if (head >= model.heads())
      throw std::runtime_error("heads must be below the number of heads, " +
                               whole(model.heads()) + ", got " + whole(head));
  auto const is_here = [](std::vector<std::size_t> const& list, std::size_t i) {
    return list.empty() || std::ranges::count(list, i) != 0;
  };
  // Heads that are changed are a way beside the others.
  for (std::size_t layer = 0; layer < plans.size() && !where.heads.empty(); ++layer) {
    if (!is_here(where.layers, layer)) continue;
    auto& ways = plans[layer].ways;
    auto changed = ways.front();
    for (std::size_t head = 0; head < model.heads(); ++head)
      (is_here(where.heads, head) ? changed.heads : ways.front().heads).push_back(head);
    if (ways.front().heads.empty()) {
      changed.heads.clear();
      ways.front() = std::move(changed);
    } else {
      ways.push_back(std::move(changed));
    }
  }
  for (auto const& one : changes) {
    bool found = false;
    for (std::size_t layer = 0; layer < plans.size(); ++layer) {
      if (!is_here(where.layers, layer)) continue;
      found = one.make(plans[layer].ways.back(), {model.description(), layer, model.heads(),
                                                  model.key_heads(), length}) ||
              found;
    }
    if (!found)
      throw std::runtime_error(one.name + " needs " + one.needs + ", and the model has none" +
                               (where.layers.empty() ? "" : " among these"));
  }
  return plans;
}

bool can_change(decoder const& model, change const& one, std::size_t length) {
  auto plans = model.plans();
  for (std::size_t layer = 0; layer < plans.size(); ++layer)
    if (one.make(plans[layer].ways.back(),
                 {model.description(), layer, model.heads(), model.key_heads(), length}))
      return true;
  return false;
}

// ---- Frequencies

change fastest_pairs(std::size_t count) {
  return of_pairs("p_rope_" + whole(count), "the " + whole(count) + " fastest pairs rotate", count,
                  [count](std::size_t i, std::size_t) { return i >= count; });
}
change slowest_pairs(std::size_t count) {
  return of_pairs("slowest_" + whole(count), "the " + whole(count) + " slowest pairs rotate", count,
                  [count](std::size_t i, std::size_t pairs) { return i + count < pairs; });
}
change part_of_pairs(double p) {
  return of_frequencies("p_rope_of_" + word(p), "p-RoPE, p = " + shown(p),
                        [p](frequencies const& f, std::size_t, std::size_t, std::optional<double>) {
                          return posenc::truncated(f, p, posenc::exact_floor);
                        });
}
change pairs_between(std::size_t first, std::size_t last) {
  return of_pairs("pairs_" + whole(first) + "_" + whole(last),
                  "pairs " + whole(first) + " to " + whole(last) + " alone rotate", last + 1,
                  [=](std::size_t i, std::size_t) { return i < first || i > last; });
}
change pairs_stopped(std::size_t first, std::size_t last) {
  return of_pairs("without_pairs_" + whole(first) + "_" + whole(last),
                  "pairs " + whole(first) + " to " + whole(last) + " do not rotate", last + 1,
                  [=](std::size_t i, std::size_t) { return first <= i && i <= last; });
}

namespace {

// Of a geometric series of another base, with what a rule has made of each frequency.
frequencies rebased(frequencies const& f, std::optional<double> before, double base) {
  if (!before) throw std::runtime_error("the base must be known, and this file does not say it");
  auto const from = posenc::geometric(f.rotary_dim(), *before),
             to = posenc::geometric(f.rotary_dim(), base);
  if (std::ranges::equal(f.inv_freq(), from.inv_freq()))
    return to.with_attention_factor(f.attention_factor());
  std::vector<double> changed(f.inv_freq().begin(), f.inv_freq().end());
  for (std::size_t i = 0; i < changed.size(); ++i)
    changed[i] *= to.inv_freq()[i] / from.inv_freq()[i];
  return frequencies(changed, f.attention_factor());
}

}  // namespace

change with_base(double base) {
  return of_frequencies(
      "base_" + word(base), "the base is " + shown(base),
      [base](frequencies const& f, std::size_t, std::size_t, std::optional<double> before) {
        return rebased(f, before, base);
      });
}
change base_times(double factor) {
  return of_frequencies(
      factor >= 1 ? "base_times_" + word(factor) : "base_over_" + word(1 / factor),
      "the base times " + shown(factor),
      [factor](frequencies const& f, std::size_t, std::size_t, std::optional<double> before) {
        return rebased(f, before, before.value_or(1) * factor);
      });
}

std::vector<std::string> const& scaling_rules() {
  static std::vector<std::string> const rules{"linear", "ntk",  "dynamic",
                                              "yarn",   "llama3", "yarn-without-factor"};
  return rules;
}

change scaled(std::string const& rule, double factor) {
  auto name = rule + "_" + word(factor), says = rule + " by " + shown(factor);
  if (rule == "dynamic") name = "ntk_dynamic_" + word(factor);
  if (rule == "yarn-without-factor")
    name = "yarn_" + word(factor) + "_without_attention_factor",
    says = "yarn by " + shown(factor) + ", without its attention factor";
  return of_frequencies(
      name, says,
      [=](frequencies const& f, std::size_t length, std::size_t context, std::optional<double>) {
        auto const trained = static_cast<double>(context);
        if (rule == "linear") return posenc::linear(f, factor);
        if (rule == "ntk") return posenc::ntk(f, factor);
        if (rule == "dynamic")
          return posenc::dynamic_ntk(f, {factor, trained}, static_cast<double>(length));
        if (rule == "llama3") return posenc::llama3(f, {factor, 1, 4, trained});
        posenc::yarn_scaling yarn{.factor = factor, .original_length = trained};
        if (rule == "yarn-without-factor") yarn.attention_factor = 1;
        return posenc::yarn(f, yarn);
      });
}

change by_parameters(std::string const& name, std::string const& json) {
  return of_rotation(
      "rotation_of_" + name, "the rotation of " + name,
      [=](rotary_description& rotary, way& w, surroundings const& at) {
        auto const before = rotary.frequencies.at(1).rotary_dim();
        auto const read = posenc::read_rope_parameters(
            json, name,
            {.head_dim = before,
             .base = verdicts::base_of(rotary).value_or(1e4),
             .context = at.model.context});
        auto const& kind = read.kinds.front();
        rotary.frequencies = kind.rotary.front().frequencies;
        w.says.softmax_factor *= kind.softmax_factor;
      });
}

// ---- Rotation

change without_rotation() {
  return {"no_rotation", "nothing rotates (NoPE)",
          [](way& w, auto const&) {
            bool const rotates = !w.says.rotary.empty();
            w.says.rotary.clear();
            return rotates;
          },
          rotation};
}

change in_other_layout() {
  return of_rotation("other_pairs", "pairs in the other layout",
                     [](rotary_description& rotary, way&, auto const&) {
                       set_layout(rotary, !is_interleaved(rotary));
                     });
}
change in_layout(bool interleaved) {
  return {interleaved ? "interleaved" : "halves",
          interleaved ? "pairs are interleaved" : "pairs are halves",
          [interleaved](way& w, auto const&) {
            bool is_other = false;
            for (auto& rotary : w.says.rotary) {
              is_other = is_other || is_interleaved(rotary) != interleaved;
              set_layout(rotary, interleaved);
            }
            return is_other;
          },
          "a layer with pairs in another layout"};
}
change backwards() {
  return of_rotation("rotated_backwards", "by the opposite angle",
                     [](rotary_description& rotary, way&, auto const&) {
                       rotary.opposite = !rotary.opposite;
                     });
}
change rotated_twice() {
  return of_frequencies("rotated_twice", "rotated twice",
                        [](frequencies const& f, std::size_t, std::size_t, std::optional<double>) {
                          auto const factor = f.attention_factor();
                          return posenc::linear(f, 0.5).with_attention_factor(factor * factor);
                        });
}
namespace {
change shifted(std::string const& whose, std::int64_t positions, std::int64_t way::*offset) {
  auto const sign = positions < 0 ? "minus_" : "plus_";
  return of_rotation(whose + "_positions_" + sign + std::to_string(std::abs(positions)),
                     whose + "s rotate by their position " + (positions < 0 ? "- " : "+ ") +
                         std::to_string(std::abs(positions)),
                     [=](rotary_description&, way& w, auto const&) { w.*offset = positions; });
}
}  // namespace
change keys_ahead(std::int64_t positions) { return shifted("key", positions, &way::key_offset); }
change queries_ahead(std::int64_t positions) {
  return shifted("query", positions, &way::query_offset);
}

// ---- Scores and masks

change with_alibi() {
  return {"alibi", "ALiBi in the place of rotation",
          [](way& w, surroundings const& at) {
            bool const had = w.says.alibi.has_value();
            w.says.rotary.clear();
            w.says.alibi = posenc::alibi_bias{at.heads};
            return !had;
          },
          "a layer without ALiBi"};
}

change scale_times(double factor, std::string const& name) {
  return of_scores(name.empty() ? "scale_times_" + word(factor) : name,
                   "scores times " + shown(factor),
                   [factor](way& w) { w.says.softmax_factor *= factor; });
}

change with_cap(double cap) {
  return {cap == 0 ? "without_cap" : "cap_" + word(cap),
          cap == 0 ? "no soft cap" : "a soft cap of " + shown(cap),
          [cap](way& w, auto const&) {
            bool const had = w.says.score_cap.has_value();
            w.says.score_cap = cap == 0 ? std::nullopt : std::optional(cap);
            return cap != 0 || had;
          },
          "a layer with a cap"};
}

change in_window(std::size_t size) {
  return of_scores("window_" + whole(size), "queries see " + whole(size) + " keys",
                   [size](way& w) { w.says.window = size; });
}

change in_window_with_sinks(std::size_t sinks, std::size_t size) {
  return of_scores("sinks_" + whole(sinks) + "_window_" + whole(size),
                   "queries see " + whole(size) + " keys and the first " + whole(sinks),
                   [=](way& w) {
                     see_by(w, [=](std::size_t query, std::size_t key) {
                       return key <= query && (query - key < size || key < sinks);
                     });
                   });
}

change mask_one_ahead() {
  return {"mask_one_ahead", "queries see one key too many",
          [](way& w, auto const&) {
            bool const is_causal = w.says.ahead == 0;
            if (is_causal) w.says.ahead = 1;
            return is_causal;
          },
          "a causal layer"};
}

change mask_one_short() {
  return {"mask_one_short", "queries do not see their own key",
          [](way& w, auto const&) {
            bool const is_causal = w.says.ahead == 0;
            auto const window = w.says.window.value_or(std::size_t(-1));
            see_by(w, [window](std::size_t query, std::size_t key) {
              return key < query ? query - key < window : key == query && query == 0;
            });
            return is_causal;
          },
          "a causal layer"};
}

change key_heads_modulo() {
  return {"gqa_modulo", "query head h reads kv head h mod the kv heads",
          [](way& w, surroundings const& at) {
            if (at.key_heads < 2 || at.key_heads == at.heads) return false;
            w.key_heads.clear();
            for (std::size_t head = 0; head < at.heads; ++head)
              w.key_heads.push_back(head % at.key_heads);
            return true;
          },
          "several kv heads, fewer than heads"};
}

change with_temperature(std::string const& name, posenc::temperature_rule rule, double length,
                        double scale) {
  return {name, "softmax by " + name, [=](way& w, surroundings const& at) {
            auto const scales = std::make_shared<std::vector<double>>(
                rule == posenc::temperature_rule::ssmax ? at.heads : 0, scale);
            add_rules(w, [=](posenc::attention_rules& rules, query_block const&) {
              rules.temperature = {.rule = rule,
                                   .length = length,
                                   .scale = scales->empty() ? scale : 0,
                                   .scales = *scales};
            });
            return true;
          }};
}

// ---- Caches

namespace {
std::string name_of(stored as) { return std::string(stored_names[static_cast<std::size_t>(as)]); }

bool takes(stored as, std::size_t head_dim) {
  try {
    return any_format{as}.bytes(head_dim) > 0;
  } catch (std::invalid_argument const&) {
    return false;
  }
}

change in_format(std::string name, std::string says, stored as, std::function<void(way&)> make) {
  return {std::move(name), std::move(says),
          [as, make = std::move(make)](way& w, auto const&) {
            if (!takes(as, w.says.head_dim)) return false;
            make(w);
            return true;
          },
          "heads of dims that the format takes"};
}
}  // namespace

change keys_stored(stored as) {
  return in_format("keys_" + name_of(as), "keys in " + name_of(as), as,
                   [as](way& w) { w.keys = as; });
}
change values_stored(stored as) {
  return in_format("values_" + name_of(as), "values in " + name_of(as), as,
                   [as](way& w) { w.values = as; });
}
change stored_as(stored as) {
  return in_format("cache_" + name_of(as), "keys and values in " + name_of(as), as,
                   [as](way& w) { w.keys = w.values = as; });
}
change with_hadamard() {
  return of_scores("hadamard", "queries and keys by Hadamard",
                   [](way& w) { w.transforms_keys = true; });
}
change key_bias_apart() {
  return {"without_key_bias", "keys stored without their bias",
          [](way& w, auto const&) {
            bool const can = w.says.key_bias_is_separable() == true;
            w.key_bias_is_apart = w.key_bias_is_apart || can;
            return can;
          },
          "a layer whose keys have a bias and no norm behind it"};
}
change keys_moved(std::int64_t positions) {
  return of_rotation("keys_moved_" + std::to_string(positions),
                     "keys written " + std::to_string(positions) +
                         " positions later, and rotated back",
                     [=](rotary_description&, way& w, auto const&) { w.keys_moved = positions; });
}

}  // namespace run
