// The keys of a config.json that list something for each layer. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/config.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Throws std::invalid_argument unless the list under a key has an entry for each layer. Further
/// entries are for layers that are not read: any number, or `further` or none if that is given.
inline void require_entries(hugging_face_config const& config, std::string_view key,
                            std::size_t entries, std::optional<std::size_t> further = {}) {
  auto const layers = config.found.layers;
  bool const fits = further ? entries == layers || entries == layers + *further : entries >= layers;
  config.keys.require(fits, key, "have one entry for each of the " + shown(layers) + " layers");
}

/// The list of texts under a key. Throws std::invalid_argument if a type is unknown, or there is
/// not one for each layer and each of the layers that predict further tokens.
inline layer_types checked_layer_types(hugging_face_config& config, std::string_view key,
                                       layer_types types) {
  auto const further = config.keys.count_or_zero("num_nextn_predict_layers", most_dims).value_or(0);
  require_entries(config, key, types.size(), further);
  types.resize(config.found.layers);
  for (auto& type : types) {
    if (!contains(known_layer_types, type)) {
      std::string known;
      for (auto const& one : known_layer_types) (known += one) += ", ";
      refuse(config.keys.where(), ": ", key, " must be among ", known, "got ",
             shown_json(json(type)));
    }
    config.keys.require(type != chunked_attention || config.family.chunked_where_rotated, key,
                        "hold no chunked_attention for " + config.found.type);
    if (type == "attention" || type == "qwen_sparse_attention") type = full_attention;
  }
  return types;
}

/// The types in a list of numbers. `types` holds the type for each number.
inline layer_types layer_types_by_number(
    hugging_face_config& config, std::string const& key,
    std::vector<std::pair<double, std::string_view>> const& types) {
  auto const given = *config.keys.numbers(key);
  require_entries(config, key, given.size());
  layer_types result;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    auto const type =
        std::ranges::find(types, given[i], &std::pair<double, std::string_view>::first);
    if (type == types.end()) {
      std::string known;
      for (auto const& one : types) known += shown(one.first) + ", ";
      refuse(config.keys.where(), ": ", key, " must be one of ", known, "got ", given[i],
             " for layer ", i);
    }
    result.emplace_back(type->second);
  }
  return result;
}

/// A letter for each layer; fewer letters repeat. `types` holds the type for each letter.
inline layer_types layer_types_by_letter(
    hugging_face_config& config, std::string const& key,
    std::vector<std::pair<char, std::string_view>> const& types, std::string_view must) {
  auto const letters = *config.keys.text(key);
  config.keys.require(!letters.empty(), key, must);
  layer_types result;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    auto const letter = letters[i % letters.size()];
    auto const type = std::ranges::find(types, letter, &std::pair<char, std::string_view>::first);
    config.keys.require(type != types.end(), key, must);
    result.emplace_back(type->second);
  }
  return result;
}

/// The layers that a list of indices names, counted from `first`.
inline std::vector<bool> layers_by_index(hugging_face_config& config, json_object const& keys,
                                         std::string const& key, std::size_t first) {
  std::vector<bool> result(config.found.layers, false);
  for (auto const x : keys.needed(keys.numbers(key), key)) {
    auto const index = whole_number(x - static_cast<double>(first), result.size() - 1);
    keys.require(index.has_value(), key,
                 "hold indices of the " + shown(result.size()) + " layers, from " + shown(first));
    result[*index] = true;
  }
  return result;
}

/// The types by a list of layers with full attention; `others` elsewhere.
inline layer_types full_where(std::vector<bool> const& is_full, std::string_view others) {
  layer_types types;
  for (bool const full : is_full) types.emplace_back(full ? full_attention : others);
  return types;
}

/// The types by Nemotron-NAS's configurations of layers.
inline layer_types types_of_blocks(hugging_face_config& config,
                                   std::vector<json_object> const& blocks) {
  require_entries(config, "block_configs", blocks.size(), 0);
  std::vector<bool> attends;
  for (auto const& block : blocks) {
    auto const attention = block.needed(block.object("attention"), "attention");
    for (auto const* key : {"window_length", "num_sink_tokens", "sparsify"})
      attention.require(!attention.has(key), key, "be null: it is not read");
    attends.push_back(!attention.flag("no_op").value_or(false) &&
                      !attention.flag("replace_with_linear").value_or(false));
  }
  return full_where(attends, "mlp");
}

/// The types by MiniMax-M3's object; `sparse` is its sparse_attention_freq.
inline layer_types types_of_sparse_attention(json_object const& keys,
                                             std::vector<double> const& sparse) {
  constexpr auto disable = "sparse_disable_index_value", first = "sparse_init_block";
  auto const disabled = keys.numbers(disable).value_or(sparse);
  layer_types types;
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    bool const has_value = sparse[i] != 0 && (i >= disabled.size() || disabled[i] == 0);
    keys.require(!has_value, disable, "hold 1 for each sparse layer: index values are not read");
    types.emplace_back(sparse[i] != 0 ? "minimax_m3_sparse" : full_attention);
  }
  keys.require(!keys.count_or_zero(first, most_tokens), first, "be 0: first blocks are not read");
  auto const score = keys.text("sparse_score_type");
  keys.require(score.value_or("max") == "max", "sparse_score_type", "be max");
  return types;
}

/// The types by GPT-Neo's [[["global", "local"], 12]]: lists, and how often each repeats.
inline layer_types repeated_types(hugging_face_config const& config, std::string_view key) {
  auto const require = [&](bool holds, std::string const& must, json const& got) {
    if (!holds) refuse(config.keys.where(), ": ", key, " must ", must, ", got ", shown_json(got));
  };
  std::string const pairs =
      "be a list of pairs, each of a list of types and of how often it repeats";
  layer_types types;
  std::uint64_t entries = 0;
  auto const& given = *config.keys.value_of(key);
  require(given.is_array(), pairs, given);
  for (auto const& item : given) {
    require(item.is_array() && item.size() == 2 && item[0].is_array(), pairs, item);
    auto const times =  // 0, which is refused, for what is no whole number
        item[1].is_number_integer() ? json_object::whole_in(item[1]).value_or(0) : 0;
    require(times > 0 && times <= most_dims,
            "repeat a list of types a whole number of times from 1 to " + shown(most_dims),
            item[1]);
    for (auto const& type : item[0])
      require(type == "global" || type == "local", "hold global and local alone", type);
    entries += times * item[0].size();
    for (std::uint64_t i = 0; i < times && types.size() < config.found.layers; ++i)
      for (auto const& type : item[0]) types.push_back(type.get<std::string>());
  }
  require(entries == config.found.layers,
          "have one entry for each of the " + shown(config.found.layers) + " layers", entries);
  return types;
}

/// The types by the object of Kimi Linear, which counts layers from 1, and of GLM 5.3.
inline layer_types types_of_linear_attention(hugging_face_config& config,
                                             json_object const& linear) {
  auto const first = config.family.first_listed;
  auto const full = layers_by_index(config, linear, "full_attn_layers", first);
  auto others = layers_by_index(config, linear, "kda_layers", first);
  others.flip();
  linear.require(others == full, "kda_layers", "hold the layers that full_attn_layers has not");
  return full_where(full, linear_attention);
}

/// Tokens of a pooled key in each layer (DeepSeek-V4.1): none in layers that only slide.
inline std::vector<std::size_t> pooled_tokens(hugging_face_config& config) {
  constexpr auto key = "compress_ratios";
  auto const given = config.keys.needed(config.keys.numbers(key), key);
  require_entries(config, key, given.size());
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < config.found.layers; ++i) {
    auto const ratio = whole_number(given[i], most_tokens);
    require(ratio.has_value(), config.keys.where(), ": ", key,
            " must hold whole numbers from 0 on, got ", given[i], " for layer ", i);
    result.push_back(*ratio);
  }
  return result;
}

/// The types by these numbers.
inline layer_types types_of_shared_pools(hugging_face_config& config) {
  layer_types types;
  for (auto const tokens : pooled_tokens(config))
    types.emplace_back(tokens == 0 ? sliding_attention : shared_compressed_attention);
  return types;
}

/// The layer whose pooled keys, or choice of them, each layer with pooled keys sees: the last one
/// of a list up to its own. Each must pool as its source does.
inline std::vector<std::size_t> sources_of(hugging_face_config& config, std::string const& key,
                                           std::vector<std::size_t> const& pooled) {
  auto const is_source = layers_by_index(config, config.keys, key, 0);
  std::vector<std::size_t> sources(pooled.size());
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    config.keys.require(!is_source[i] || pooled[i] != 0, key,
                        "hold layers with a ratio above 0, not " + shown(i));
    if (is_source[i]) last = i;
    bool const has_source = pooled[i] == 0 || (last && pooled[*last] == pooled[i]);
    config.keys.require(has_source, key, "hold a layer of its ratio up to layer " + shown(i));
    sources[i] = pooled[i] == 0 ? i : *last;
  }
  return sources;
}

/// The types by a key that lists them; empty if there is none.
inline layer_types listed_layer_types(hugging_face_config& config) {
  for (std::string_view const key :
       {"layer_types", "layers_block_type", "block_types", "_block_types", "attention_layers"}) {
    auto given = config.keys.texts(std::string(key));
    constexpr auto short_form = "attention_types";
    if (key == "attention_layers" && config.keys.has(short_form)) {
      auto repeated = repeated_types(config, short_form);
      config.keys.require(!given || *given == repeated, short_form, "agree with attention_layers");
      given = std::move(repeated);
    }
    bool const repeats = key.ends_with("block_types");  // RecurrentGemma
    if (!given || (repeats && given->empty())) continue;
    if (repeats) {
      auto const period = given->size();
      given->resize(config.found.layers);
      for (auto i = period; i < given->size(); ++i) (*given)[i] = (*given)[i - period];
    } else if (key == "attention_layers") {  // GPT-Neo
      for (auto const& type : *given)
        if (type != "global" && type != "local")
          refuse(config.keys.where(), ": ", key, " must hold global and local alone, got ",
                 shown_json(json(type)));
      std::ranges::replace(*given, "global", std::string(full_attention));
      std::ranges::replace(*given, "local", std::string(sliding_attention));
    }
    bool const is_short = key == "attention_layers" && !config.keys.has(key);
    auto types = checked_layer_types(config, is_short ? short_form : key, std::move(*given));
    auto const linear = config.keys.object("linear_attn_config");
    if (linear && linear->has("full_attn_layers")) {
      std::vector<bool> attend;
      for (auto const& type : types) attend.push_back(has_attention(type));
      config.keys.require(
          types_of_linear_attention(config, *linear) == full_where(attend, linear_attention),
          "linear_attn_config", "agree with " + std::string(key));
    }
    return types;
  }
  if (config.keys.has("hybrid_override_pattern")) {  // Nemotron-H
    auto const length = config.keys.text("hybrid_override_pattern")->size();
    require_entries(config, "hybrid_override_pattern", length, 0);
    return layer_types_by_letter(
        config, "hybrid_override_pattern",
        {{'M', "mamba"}, {'*', full_attention}, {'-', "mlp"}, {'E', "moe"}},
        "hold letters M, *, - and E");
  }
  std::pair<char const*, std::vector<std::pair<double, std::string_view>>> const by_number[]{
      {"hybrid_layer_pattern", {{0, full_attention}, {1, sliding_attention}}},
      {"attn_type_list", {{0, linear_attention}, {1, full_attention}}},  // MiniMax
      {"compress_ratios",
       {{0, sliding_attention},
        {4, compressed_sparse_attention},
        {128, heavily_compressed_attention}}}};
  if (config.family.shares_pooled) return types_of_shared_pools(config);
  for (auto const& [key, types] : by_number)
    if (config.keys.has(key)) return layer_types_by_number(config, key, types);
  if (auto const sparse = config.keys.object("sparse_attention_config")) {  // MiniMax-M3
    if (auto const given = sparse->numbers("sparse_attention_freq"))
      return checked_layer_types(config, "sparse_attention_config",
                                 types_of_sparse_attention(*sparse, *given));
  }
  if (auto const blocks = config.keys.objects("block_configs"))
    return types_of_blocks(config, *blocks);
  if (auto const linear = config.keys.object("linear_attn_config"))
    return types_of_linear_attention(config, *linear);
  for (auto const* key : {"attn_layer_indices", "full_attn_idxs"}) {  // Bamba, LFM2
    if (!config.keys.has(key)) continue;
    return full_where(layers_by_index(config, config.keys, key, 0),
                      key[0] == 'a' ? "mamba" : "conv");
  }
  if (config.keys.has("cross_attention_layers")) {  // Llama 3.2 Vision
    auto others = layers_by_index(config, config.keys, "cross_attention_layers", 0);
    others.flip();
    return full_where(others, cross_attention);
  }
  config.keys.require(!config.family.needs_layer_types, "layer_types",
                      "be given, or another list of the types of layers");
  return {};
}

/// Whether each layer sees the keys that an earlier one chose (GLM-5).
inline std::vector<bool> layers_that_share_index(hugging_face_config& config) {
  std::vector<bool> shares(config.found.layers, false);
  if (config.family.index.heads.key.empty()) return shares;
  constexpr auto pattern = "index_topk_pattern";
  auto given = config.keys.texts("indexer_types");
  auto const key = given ? "indexer_types" : pattern;
  if (!given && config.keys.peek(pattern).is_string()) {
    given = layer_types_by_letter(config, pattern, {{'F', "full"}, {'S', "shared"}},
                                  "hold letters F and S");
  }
  if (!given) given = config.keys.texts(pattern);
  auto const freq = config.keys.count_or_zero("index_topk_freq", most_dims);
  auto const every = freq.value_or(config.family.index.shared_every);
  auto const first = config.keys.count("index_skip_topk_offset", most_dims).value_or(2);
  bool const is_listed = given && !given->empty();
  if (is_listed) require_entries(config, key, given->size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = is_listed ? (*given)[i] == "shared" : i + 1 > first && (i + 1 - first) % every != 0;
  }
  config.keys.require(!shares.front(), key, "begin with a layer that chooses its keys");
  return shares;
}

/// The keys that per_layer_config gives a layer: by its index, or by its type, in `types`.
inline std::vector<std::optional<json_object>> own_keys(hugging_face_config& config,
                                                        layer_types const& types) {
  constexpr auto key = "per_layer_config";
  std::vector<std::optional<json_object>> result(types.size());
  auto const all = config.keys.object(key);
  if (!all) return result;
  for (auto const& [name, value] : all->whole().items()) {
    bool const is_index = !name.empty() && name.size() < 8 &&
                          std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    auto const index = is_index ? std::stoul(name) : types.size();
    require(index < types.size() || (!is_index && contains(known_layer_types, name)),
            config.keys.where(), ": ", key, " must name types, or indices of the ", types.size(),
            " layers, got ", shown_json(json(name)));
    auto const own = all->object(name);
    if (is_index) result[index] = own;
    for (std::size_t i = 0; i < types.size() && !is_index; ++i)
      if (!result[i] && types[i] == name) result[i] = own;
  }
  return result;
}

/// Numbers that a key gives for each layer, or for more; none if it is absent or one number.
inline std::vector<double> numbers_by_layer(hugging_face_config& config, std::string const& key) {
  if (!config.keys.has(key) || !config.keys.peek(key).is_array()) return {};
  auto given = *config.keys.numbers(key);
  require_entries(config, key, given.size());
  config.keys.require(std::ranges::min(given) >= 0, key, "hold no number below 0");
  given.resize(config.found.layers);
  return given;
}

}}}  // namespace posenc::detail
