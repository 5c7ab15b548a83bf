// What differs between what a model does and what the keys of a GGUF file say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/model/gguf/rope_words.hpp"
#include "posenc/model/gguf/values.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Finds what differs first, as a part of a sentence. Numbers in a GGUF file are f32, with a
/// relative error of 2^-24; what is made of up to four of them has four times that. Names, findings
/// and the layout of pairs do not count: a converter permutes weights.
class gguf_difference {
 public:
  /// With `nearest`, how pairs rotate may differ: that is in rotations().
  gguf_difference(model_description const& model, model_description const& keys, bool nearest)
      : nearest_(nearest) {
    compare("the number of layers", model.layers, keys.layers);
    if (model.context) compare("the context", *model.context, keys.context.value_or(0));
    if (model.embedding != keys.embedding) differs("the embedding");
    if (!text_.empty()) return;
    auto const of_model = kinds_by_layer(model), of_keys = kinds_by_layer(keys);
    std::set<std::pair<layer_description const*, layer_description const*>> seen;
    for (std::size_t i = 0; text_.empty() && i < model.layers; ++i) {
      if (!seen.emplace(of_model[i], of_keys[i]).second) continue;
      layer_ = " of layer " + shown(i);
      compare(*of_model[i], *of_keys[i]);
    }
  }

  /// Empty if nothing differs.
  std::string const& text() const noexcept { return text_; }
  /// What differs in each kind of layers.
  std::vector<std::string> const& rotations() const noexcept { return rotations_; }

 private:
  void compare(layer_description const& model, layer_description const& keys) {
    compare("head_dim", model.head_dim, keys.head_dim);
    compare("the number of rotary blocks", model.rotary.size(), keys.rotary.size());
    if (!text_.empty()) return;
    for (std::size_t i = 0; i < model.rotary.size(); ++i)
      compare(model.rotary[i], keys.rotary[i], model.head_dim);
    compare("the window", model.window.value_or(0), keys.window.value_or(0));
    compare("the chunk", model.chunk.value_or(0), keys.chunk.value_or(0));
    compare("the number of pooled tokens", model.pooled, keys.pooled);
    compare("the factor on scores", model.softmax_factor, keys.softmax_factor);
    compare("the cap of scores", model.score_cap.value_or(0), keys.score_cap.value_or(0));
    auto const alibi = [](layer_description const& kind) {
      return kind.alibi.value_or(alibi_bias{0, 0});
    };
    compare("the number of heads with ALiBi", alibi(model).heads, alibi(keys).heads);
    compare("ALiBi's max_bias", alibi(model).max_bias, alibi(keys).max_bias);
    auto const buckets = [](layer_description const& kind) {
      return kind.buckets.value_or(bucket_bias{0, 0});
    };
    compare("the number of buckets", buckets(model).buckets, buckets(keys).buckets);
    compare("the buckets' max_distance", buckets(model).max_distance, buckets(keys).max_distance);
    auto const temperature = [](layer_description const& kind) {
      return kind.temperature.value_or(position_temperature{0, 1, 0});
    };
    auto const warm = temperature(model), written = temperature(keys);
    compare("the temperature's scale", warm.scale, written.scale);
    compare("the temperature's floor_scale", warm.floor_scale, written.floor_scale);
    compare("the temperature's offset", warm.offset, written.offset);
    compare_index(model, keys);
  }

  void compare(rotary_description const& model, rotary_description const& keys,
               std::size_t head_dim) {
    if (model.axes != keys.axes) differs("the axes of pairs");
    bool const changes = model.frequencies.depends_on_length();
    if (text_.empty() && changes != keys.frequencies.depends_on_length()) {
      return rotates_otherwise("frequencies" + layer_ + " that " +
                               (changes ? changing(model) : std::string("never change")) +
                               ", by the rule " + model.rule);
    }
    constexpr std::size_t longest = std::size_t{1} << 40;
    // Up to this length LongRoPE has one list of factors, and beyond it another.
    auto const given = rope_words(model).number("original_max_position_embeddings").value_or(1);
    auto const original = static_cast<std::size_t>(std::clamp(given, 1.0, 0x1p40));
    for (auto const length : {std::size_t{1}, original, original + 1, longest}) {
      auto const f = model.frequencies.at(length), g = keys.frequencies.at(length);
      compare("the number of rotary dims", f.rotary_dim(), g.rotary_dim());
      if (!text_.empty()) return;
      compare("the first rotary dim", model.block.first_dim(head_dim, f.rotary_dim()),
              keys.block.first_dim(head_dim, g.rotary_dim()));
      auto const i = farthest_pair(f, g);
      auto const suffix = " at length " + shown(length) + by_rule(model, keys);
      bool const pairs_differ = i < f.pairs() && !is_same(f.inv_freq()[i], g.inv_freq()[i]);
      if (pairs_differ) {
        return rotates_otherwise("inv_freq of pair " + shown(i) + layer_ +
                                 both(shown(f.inv_freq()[i]), shown(g.inv_freq()[i])) + suffix);
      }
      if (!is_same(f.attention_factor(), g.attention_factor())) {
        return rotates_otherwise("the attention factor" + layer_ +
                                 both(shown(f.attention_factor()), shown(g.attention_factor())) +
                                 suffix);
      }
    }
  }

  /// The pair whose frequencies differ most.
  static std::size_t farthest_pair(frequencies const& f, frequencies const& g) {
    std::size_t result = 0;
    double farthest = 0;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const a = f.inv_freq()[i], b = g.inv_freq()[i];
      auto const apart = a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), 1e-300);
      if (apart > farthest) result = i, farthest = apart;
    }
    return result;
  }

  /// From which length on frequencies are others than for one token.
  static std::string changing(rotary_description const& model) {
    auto const f = model.frequencies.at(1);
    auto const is_other = [&](std::size_t length) {
      auto const g = model.frequencies.at(length);
      return !std::ranges::equal(f.inv_freq(), g.inv_freq()) ||
             f.attention_factor() != g.attention_factor();
    };
    std::size_t same = 1, other = std::size_t{1} << 40;
    if (!is_other(other)) return "depend on the length";
    while (other - same > 1) {
      auto const middle = same + (other - same) / 2;
      (is_other(middle) ? other : same) = middle;
    }
    return "change from length " + shown(other) + " on";
  }

  /// The rule, and its parameters of which the keys have others.
  static std::string by_rule(rotary_description const& model, rotary_description const& keys) {
    if (model.rule != keys.rule)
      return ": the rule" + both(printable(model.rule), printable(keys.rule));
    std::string result;
    for (auto const& [name, value] : model.parameters) {
      for (auto const& [key, other] : keys.parameters) {
        if (key != name || other == value) continue;
        auto const a = rope_words(model).number(name), b = rope_words(keys).number(name);
        if (a && b && is_same(*a, *b)) continue;
        result += (result.empty() ? ": " : "; ") + name + " of the rule " + model.rule +
                  both(printable(value), printable(other));
      }
    }
    return result.empty() ? ", by the rule " + printable(model.rule) : result;
  }

  void compare_index(layer_description const& model, layer_description const& keys) {
    if (model.shares_index != keys.shares_index ||
        model.index.has_value() != keys.index.has_value())
      return differs("the heads that choose keys");
    if (!model.index) return;
    auto const &a = *model.index, &b = *keys.index;
    compare("the number of heads that choose keys", a.heads, b.heads);
    compare("head_dim of the heads that choose keys", a.head_dim, b.head_dim);
    compare("the number of blocks that are chosen", a.chosen, b.chosen);
    compare("the keys in a block", a.block, b.block);
    compare("the number of local blocks", a.local_blocks, b.local_blocks);
    compare("the tokens of a key that is chosen", a.key_stride, b.key_stride);
    if (a.rotary.layout.index() != b.rotary.layout.index())
      differs("the layout of the heads that choose keys");
    if (text_.empty() && a.head_dim == b.head_dim) compare(a.rotary, b.rotary, a.head_dim);
  }

  void compare(std::string const& what, std::size_t model, std::size_t keys) {
    if (model != keys) differs(what, both(shown(model), shown(keys)));
  }
  void compare(std::string const& what, double model, double keys) {
    if (!is_same(model, keys)) differs(what, both(shown(model), shown(keys)));
  }
  static bool is_same(double model, double keys) {
    return is_finite(model) && std::abs(model - keys) <= 0x1p-22 * std::abs(model);
  }
  static std::string both(std::string const& model, std::string const& keys) {
    return " is " + model + ", and they say " + keys;
  }
  void differs(std::string const& what, std::string const& how = "") {
    if (text_.empty()) text_ = what + layer_ + how;
  }
  void rotates_otherwise(std::string what) {
    if (nearest_) return rotations_.push_back(std::move(what));
    if (text_.empty()) text_ = std::move(what);
  }

  bool nearest_;
  std::string layer_ = {}, text_ = {};
  std::vector<std::string> rotations_ = {};
};

}  // namespace detail
}  // namespace posenc
