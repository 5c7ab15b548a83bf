// From the keys of a file to the layers of a model.
#pragma once

#include <concepts>
#include <initializer_list>

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Look-ups by the names in config.json, for the names in GGUF too.
template <class K>
concept layer_keys = requires(K const& keys, std::string const& key, std::size_t most) {
  { keys.has(key) } -> std::same_as<bool>;      // whether it is given
  { keys.is_null(key) } -> std::same_as<bool>;  // whether it is given as null
  // Whole numbers from 1 to `most`; also where 0 stands for none, or under one of several names.
  { keys.count(key, most) } -> std::same_as<std::optional<std::size_t>>;
  { keys.count_or_zero(key, most) } -> std::same_as<std::optional<std::size_t>>;
  { keys.count({key.c_str(), key.c_str()}, most) } -> std::same_as<std::optional<std::size_t>>;
  { keys.positive_or_none(key) } -> std::same_as<std::optional<double>>;  // a number above 0
  keys.require(true, key, key);                                           // refuses its value
};

/// The questions of read_layers to a format: hugging_face_reader, gguf_reader. `config` has the
/// model's answers, with its findings; all other answers are about layers.
template <class F>
concept front_end = requires(F& file, layer_description& kind, scheduled_layer& layer,
                             layer_types const& types, std::string const& type, std::size_t i,
                             index_number_rule const& number, norm_scope scope) {
  requires layer_keys<std::remove_reference_t<decltype((file.config.keys))>>;
  requires std::derived_from<std::remove_reference_t<decltype((file.config))>, findings>;
  // The record, in which the file has replaced defaults.
  { file.config.family } -> std::convertible_to<model_family const&>;
  // The window, if any layer slides.
  { file.config.window() } -> std::same_as<std::optional<std::size_t>>;
  // The description, with keys that were read and ignored. Throws for keys that nobody read.
  { file.config.settled() } -> std::same_as<model_description>;

  // The type of each layer: by a key that lists them, or empty.
  { file.listed_types() } -> std::same_as<layer_types>;
  // Else whether any layer slides, and which: by a key for their pattern, or empty.
  { file.slides() } -> std::same_as<bool>;
  { file.types_by_pattern() } -> std::same_as<layer_types>;
  // Else by the family's pattern, of which this says that it was assumed, or its other rules.
  file.assume_full_every();
  { file.types_by_rule() } -> std::same_as<layer_types>;

  // Whether layer i has attention; the types may say so, too.
  { file.attends(i) } -> std::same_as<bool>;
  // Which layers rotate, if they have attention.
  { file.rotated(types) } -> std::same_as<std::vector<bool>>;
  // Whether those see a chunk, and its tokens.
  { file.is_chunked() } -> std::same_as<bool>;
  { file.chunk() } -> std::same_as<std::size_t>;
  // Adds what lists and tensors say of layer i alone: sinks, bases ....
  file.add_what_lists_say(layer, i);

  // Continues "TYPE" for layers without attention.
  { file.says_without_attention } -> std::convertible_to<std::string>;
  // Dims of a head in layers of a type, and the factor on their scores.
  { file.head_dim_of(type) } -> std::same_as<std::size_t>;
  { file.softmax_factor(i) } -> std::same_as<double>;
  // Whether queries see later keys, or which do in layers of a type, and the window there.
  { file.sees_both_sides() } -> std::same_as<bool>;
  { file.both_ways_in(type) } -> std::same_as<both_ways>;
  { file.needed_window(type) } -> std::same_as<std::optional<std::size_t>>;
  // Fills in rotation, ALiBi, buckets and the temperature.
  file.read_positions(kind, layer);
  // Tokens of a pooled key in layers of a type.
  { file.pooled(type) } -> std::same_as<std::size_t>;
  // A number of index heads, and a refusal of their head_dim unless the rotating dims fit in.
  { file.index_number(number) } -> std::same_as<std::optional<std::size_t>>;
  file.require_index_dims(number.key, i, i);
  // Fills in the numbers of heads, and what changes keys before their norm.
  file.read_heads(kind);

  // The norm of layer i, its eps, how the names of its tensors begin, and heads by which its
  // weights are counted, of queries or of keys.
  { file.norm_of(i) } -> std::same_as<norm_rule>;
  { file.norm_eps(scope) } -> std::same_as<double>;
  { file.norm_prefix } -> std::convertible_to<std::string>;
  { file.heads_of(i, true) } -> std::same_as<std::size_t>;
};

/// Full attention in one of n layers at the family's place, `others` elsewhere; nowhere for n = 0.
inline layer_types full_every(auto& config, std::size_t n, std::string_view others) {
  auto const& family = config.family;
  auto const layers = config.found.layers;
  if (n == 0) return full_every(layers, 0, others);
  auto first = n - 1;
  if (family.full_at == full_place::first_of_each) first = 0;
  if (family.full_at == full_place::counted_from_the_end) first = (layers - 1) % n;
  if (family.full_at == full_place::by_offset) {
    constexpr auto key = "attn_layer_offset";
    auto const given = config.keys.count_or_zero(key, most_dims);
    first = config.keys.has(key) ? given.value_or(0) : config.assumed(key, family.full_offset);
  }
  auto types = full_every(layers, n, others, first);
  for (auto i = layers / n * n; family.rest_full && i < layers; ++i) types[i] = full_attention;
  if (family.first_full) types.front() = full_attention;
  if (family.last_full) types.back() = full_attention;
  return types;
}

/// The factor of scores besides 1 / sqrt(head_dim), by the family's key.
inline double scale_by_key(auto& config, std::size_t head_dim) {
  auto const& family = config.family;
  auto const dims = static_cast<double>(head_dim), root = std::sqrt(dims);
  if (family.undivided) return root;
  if (family.scale_by_dim) return 1 / root;
  auto const key = std::string(family.scale_key);
  if (key.empty()) return 1;
  auto const given_or = [&](double of_dims) {
    return config.or_assumed(config.keys.positive_or_none(key), key,
                             family.scale_default != 0 ? family.scale_default : of_dims);
  };
  if (key == "query_pre_attn_scalar") return root / std::sqrt(given_or(dims));
  bool const is_all = key == "attention_multiplier" || key == "softmax_scale";
  return is_all ? root * given_or(1 / root) : given_or(1);
}

/// The type of each layer, in Hugging Face's words.
inline layer_types types_of_layers(front_end auto& file) {
  auto& config = file.config;
  auto const& family = config.family;
  auto types = file.listed_types();
  if (types.empty() && !family.others.empty()) {
    auto n = family.full_every;
    if (n != 0) {
      auto const given = config.keys.count(
          {"full_attention_interval", "layer_group_size", "attn_layer_period"}, most_dims);
      n = config.or_assumed(given, "full_attention_interval", n);
    }
    types = full_every(config, n, family.others);
  }
  if (!family.others.empty() && family.slides && config.window())
    std::ranges::replace(types, full_attention, std::string(sliding_attention));
  if (!types.empty()) return types;
  if (!file.slides()) return full_every(config.found.layers, 1, {});
  types = file.types_by_pattern();
  if (types.empty() && family.full_every != 1) {
    file.assume_full_every();
    types = full_every(config, family.full_every, sliding_attention);
  }
  if (types.empty()) types = file.types_by_rule();
  if (contains(types, sliding_attention)) config.note(family.sliding_note);
  return types;
}

/// The layers, each with its type, whether it rotates, and what the file says of it alone.
inline std::vector<scheduled_layer> scheduled_layers(front_end auto& file) {
  auto const types = types_of_layers(file);
  std::vector<bool> const rotated = file.rotated(types);
  bool const is_chunked = file.is_chunked();
  std::vector<scheduled_layer> layers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::string_view type = file.attends(i) ? std::string_view(types[i]) : no_attention;
    bool const rotates = rotated[i] && has_attention(type);
    if (is_chunked && has_attention(type)) type = rotates ? chunked_attention : full_attention;
    auto& layer = layers.emplace_back(scheduled_layer{
        .type = std::string(type), .attends = has_attention(type), .rotates = rotates});
    if (layer.attends) file.add_what_lists_say(layer, i);
  }
  return layers;
}

/// Reads which layers see the keys of others.
inline void read_shared_keys(front_end auto& file, std::vector<scheduled_layer> const& layers) {
  auto& config = file.config;
  auto const known = config.family.kv_shared;
  if (!known) return;
  constexpr auto key = "num_kv_shared_layers";
  auto const keyed = config.family.keyed_layers;
  bool const is_given = config.keys.has(key);
  auto shared = config.keys.count_or_zero(key, most_dims).value_or(0);
  if (!is_given && keyed != 0) shared = layers.size() - std::min(keyed, layers.size());
  if (!is_given && *known != 0) shared = config.assumed(key, *known);
  if (shared == 0 || shared >= layers.size()) return;  // as transformers has it
  bool const can_share = share_keys(config, layers, layers.size() - shared);
  config.keys.require(can_share || (!is_given && keyed != 0), key,
                      "leave a layer of each type before the layers that share");
  if (can_share && !is_given && keyed != 0) config.assumed(key, shared);
}

/// Reads which keys a query sees.
inline void read_visibility(front_end auto& file, layer_description& kind, std::string_view type) {
  auto& config = file.config;
  bool const sees_both_sides = file.sees_both_sides();
  if (sees_both_sides) kind.ahead = {};
  kind.both_ways = sees_both_sides ? both_ways::none : file.both_ways_in(type);
  if (type == chunked_attention) kind.chunk = file.chunk();
  auto const& family = config.family;
  if (type != sliding_attention && !family.compressed) return;
  kind.window = file.needed_window(type);
  auto rule = family.window_is;
  if (rule == window_rule::half_if_both_sides)
    rule = sees_both_sides ? window_rule::half_on_each_side : window_rule::last_keys;
  if (!kind.window || rule == window_rule::last_keys) return;
  if (rule == window_rule::half_of_key)
    config.keys.require(*kind.window >= 2, family.window_key, "be at least 2");
  auto const side = rule == window_rule::each_side ? *kind.window : *kind.window / 2;
  kind.window = rule == window_rule::half_of_key ? side : side + 1;
  if (sees_both_sides) kind.ahead = side;
}

/// Reads the index heads of a layer. Those of layers that do not rotate become a note.
inline void read_index_heads(front_end auto& file, scheduled_layer const& layer,
                             layer_description& kind) {
  auto& config = file.config;
  auto const& rule = config.family.index;
  bool const is_of_type =
      rule.layers.empty() ? layer.type != sliding_attention : rule.layers == layer.type;
  if (rule.heads.key.empty() || !layer.has_index || layer.shares_index || !is_of_type) return;
  auto const number = [&](index_number_rule const& one) {
    if (one.key.empty()) return one.value;
    return config.or_assumed(file.index_number(one), std::string(one.key), one.value);
  };
  if (!kind.rotary.empty()) {
    auto const head_dim = file.index_number(rule.head_dim).value_or(rule.head_dim.value);
    file.require_index_dims(rule.head_dim.key, head_dim,
                            kind.rotary[0].frequencies.at(1).rotary_dim());
  }
  auto const stride = kind.pooled != 0 ? kind.pooled : number(rule.key_stride);
  auto const chosen = number(rule.chosen);
  if (kind.rotary.empty()) {
    auto const pools = stride == 1 ? " keys" : " pools of " + shown(stride) + " keys";
    return config.note(kind.name + ": " + shown(number(rule.heads)) + " index heads of " +
                       shown(number(rule.head_dim)) + " dims choose " + shown(chosen / stride) +
                       pools + " for each query. They do not rotate, and are not described.");
  }
  kind.index.emplace(index_heads{.heads = number(rule.heads),
                                 .head_dim = number(rule.head_dim),
                                 .rotary = kind.rotary[0],
                                 .chosen = rule.chosen_in_tokens ? chosen / stride : chosen,
                                 .block = number(rule.block),
                                 .local_blocks = number(rule.local_blocks),
                                 .key_stride = stride});
  auto& index = *kind.index;
  if (rule.chosen_in_tokens) index.block = stride;
  index.rotary.layout = halves();
  if (rule.interleaved) index.rotary.layout = interleaved();
  index.rotary.block = rule.last_dims ? rotary_block::last() : rotary_block::first();
}

inline void read_kind(front_end auto& file, layer_description& kind, scheduled_layer const& layer) {
  auto& config = file.config;
  auto const& family = config.family;
  if (!layer.attends) {
    auto const why = layer.type == cross_attention ? " layers see tokens of images alone"
                                                   : file.says_without_attention;
    return config.note(layer.type + why + ": no encoding acts there.");
  }
  kind.head_dim = layer.head_dim != 0 ? layer.head_dim : file.head_dim_of(layer.type);
  kind.softmax_factor = file.softmax_factor(kind.head_dim);
  kind.sinks = layer.sinks;
  read_visibility(file, kind, layer.type);
  constexpr auto cap = "attn_logit_softcapping";
  kind.score_cap = config.keys.positive_or_none(cap);
  if (!kind.score_cap && family.score_cap != 0 && !config.keys.is_null(cap))
    kind.score_cap = config.assumed(cap, family.score_cap);
  file.read_positions(kind, layer);
  kind.shares_index = layer.shares_index;
  if (layer.rotates && family.compressed && layer.type != sliding_attention)
    kind.pooled = layer.pooled != 0 ? layer.pooled : file.pooled(layer.type);
  read_index_heads(file, layer, kind);
}

/// Reads the norms of all kinds of layers. They stay unknown where the record has none.
inline void read_norms(front_end auto& file) {
  auto& config = file.config;
  if (config.family.norm.of == norm_scope::unknown) return;
  for (auto& kind : config.found.kinds) {
    auto const layer = kind.layers.front();
    auto const rule = file.norm_of(layer);
    auto const eps = file.norm_eps(rule.of);
    auto const one = [&](norm_scope of, std::string_view name, bool is_key) {
      norm_description norm{.of = of};
      if (of <= norm_scope::none) return norm;
      norm.how.eps = static_cast<float>(eps);
      norm.how.place = rule.place;
      if (name.empty()) return norm;
      norm.how.plus_one = rule.plus_one;
      if (of == norm_scope::head) norm.weights = kind.head_dim;
      if (of == norm_scope::token) norm.weights = kind.head_dim * file.heads_of(layer, is_key);
      norm.tensor = file.norm_prefix + std::string(name) + ".weight";
      return norm;
    };
    bool const skips = kind.head_dim == 0 || (rule.where_rotated && kind.rotary.empty());
    auto const of = skips ? norm_scope::none : rule.of;
    kind.query_norm = one(rule.keys_alone ? norm_scope::none : of, rule.query, false);
    kind.key_norm = one(of, rule.key, true);
    bool const has_none = of != norm_scope::unknown && !rule.values;
    kind.value_norm = one(has_none ? norm_scope::none : of, {}, false);
  }
}

/// Reads all layers, and says what was found.
inline model_description read_layers(front_end auto& file) {
  auto& config = file.config;
  auto const layers = scheduled_layers(file);
  config.found.kinds =
      kinds_of(layers, [&](auto& kind, auto const& layer) { read_kind(file, kind, layer); });
  read_shared_keys(file, layers);
  read_norms(file);
  for (auto& kind : config.found.kinds)
    if (kind.head_dim != 0) file.read_heads(kind);
  return config.settled();
}

}}}  // namespace posenc::detail
