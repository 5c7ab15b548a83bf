// What differs between what a model does and what the keys of a GGUF file say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf/rope_words.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Finds what differs first, as a part of a sentence. Numbers in a GGUF file are f32, with a
/// relative error of 2^-24; what is made of up to four of them has four times that. Names, findings
/// and the layout of pairs do not count: a converter permutes weights.
class gguf_difference {
 public:
  /// Empty if nothing differs.
  static std::string between(model_description const& model, model_description const& keys) {
    gguf_difference found;
    found.compare("the number of layers", model.layers, keys.layers);
    if (model.context) found.compare("the context", *model.context, keys.context.value_or(0));
    if (model.embedding != keys.embedding) found.differs("the embedding", "", "");
    if (!found.text_.empty()) return found.text_;
    auto const of_model = kinds_by_layer(model), of_keys = kinds_by_layer(keys);
    std::set<std::pair<layer_description const*, layer_description const*>> seen;
    for (std::size_t i = 0; found.text_.empty() && i < model.layers; ++i) {
      if (!seen.emplace(of_model[i], of_keys[i]).second) continue;
      found.layer_ = " of layer " + shown(i);
      found.compare(*of_model[i], *of_keys[i]);
    }
    return found.text_;
  }

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
      for (std::size_t i = 0; i < f.pairs(); ++i)
        compare("inv_freq of pair " + shown(i), f.inv_freq()[i], g.inv_freq()[i]);
      compare("the attention factor", f.attention_factor(), g.attention_factor());
    }
    bool const is_open =
        model.frequencies.depends_on_length() != keys.frequencies.depends_on_length();
    if (is_open) differs("whether frequencies depend on the length", "", "");
    if (model.axes != keys.axes) differs("the axes of pairs", "", "");
  }

  void compare_index(layer_description const& model, layer_description const& keys) {
    if (model.shares_index != keys.shares_index ||
        model.index.has_value() != keys.index.has_value())
      return differs("the heads that choose keys", "", "");
    if (!model.index) return;
    auto const &a = *model.index, &b = *keys.index;
    compare("the number of heads that choose keys", a.heads, b.heads);
    compare("head_dim of the heads that choose keys", a.head_dim, b.head_dim);
    compare("the number of blocks that are chosen", a.chosen, b.chosen);
    compare("the keys in a block", a.block, b.block);
    compare("the number of local blocks", a.local_blocks, b.local_blocks);
    compare("the tokens of a key that is chosen", a.key_stride, b.key_stride);
    if (a.rotary.layout.index() != b.rotary.layout.index())
      differs("the layout of the heads that choose keys", "", "");
    if (text_.empty() && a.head_dim == b.head_dim) compare(a.rotary, b.rotary, a.head_dim);
  }

  void compare(std::string const& what, std::size_t model, std::size_t keys) {
    if (model != keys) differs(what, shown(model), shown(keys));
  }
  void compare(std::string const& what, double model, double keys) {
    bool const is_same = is_finite(model) && std::abs(model - keys) <= 0x1p-22 * std::abs(model);
    if (!is_same) differs(what, shown(model), shown(keys));
  }
  void differs(std::string const& what, std::string const& model, std::string const& keys) {
    if (!text_.empty()) return;
    text_ = what + layer_;
    if (!model.empty()) text_ += " is " + model + ", and they say " + keys;
  }

  std::string layer_ = {}, text_ = {};
};

}  // namespace detail
}  // namespace posenc
