// The keys of a GGUF file, as llama.cpp reads them for an architecture.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/detail/family.hpp"
#include "posenc/model/gguf/metadata.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

// clang-format off
/// Bits: the keys and tensors that llama.cpp reads for certain architectures only.
struct gguf_group {
  enum bits : unsigned {
    yarn_betas = 1u << 0, yarn_ext_factor = 1u << 1, yarn_log_multiplier = 1u << 2,
    finetuned = 1u << 3, base_alpha = 1u << 4, sections = 1u << 5, local_base = 1u << 6,
    window = 1u << 7, pattern = 1u << 8, interval = 1u << 9, scale = 1u << 10,
    output_scale = 1u << 11, cap = 1u << 12, temperature = 1u << 13, temperature_length = 1u << 14,
    max_bias = 1u << 15, bucket_count = 1u << 16, loops = 1u << 17, compression = 1u << 18,
    index = 1u << 19, index_blocks = 1u << 20, latent_length = 1u << 21,
    pattern_list = 1u << 22,    ///< that key may be a list; others ignore one
    pair_factors = 1u << 23,    ///< the tensor rope_freqs
    length_factors = 1u << 24,  ///< the tensors rope_factors_short and rope_factors_long
    sink_tensors = 1u << 25,    ///< attn_sinks of each layer
    index_pool = 1u << 26, index_types = 1u << 27, local_latent = 1u << 28
  };
  /// Converters write these for every model that has them. They have no effect for an architecture
  /// that does not read them.
  static constexpr unsigned written_for_all =
      yarn_betas | yarn_ext_factor | yarn_log_multiplier | finetuned;
  /// The keys that are read of an unknown architecture: their meaning is plain.
  static constexpr unsigned plain = sections | local_base | window | pattern | interval | scale |
                                    cap | temperature | temperature_length | max_bias |
                                    latent_length;
};

/// Keys with spaces between, the group that reads them (0: all architectures), and the name in
/// config.json of what says the same, where read_layers.hpp asks for it.
struct gguf_key {
  std::string_view names;
  unsigned group = 0;
  std::string_view in_config = {};
};

/// From the calls of get_key in each load_arch_hparams of llama.cpp @ 1425386f; num_loops from
/// #25994, blocks of keys from #24523; pools, types of index and latent keys of sliding layers from
/// its repository until October 2026.
inline constexpr gguf_key gguf_keys[]{
    {"rope.dimension_count rope.dimension_count_swa rope.freq_base rope.scale_linear"
     " rope.scaling.type rope.scaling.factor rope.scaling.attn_factor attention.causal"
     " rope.scaling.original_context_length attention.key_length_swa"},
    {"attention.shared_kv_layers", 0, "num_kv_shared_layers"},
    {"rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow", gguf_group::yarn_betas},
    {"rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor", gguf_group::yarn_ext_factor},
    {"rope.scaling.yarn_log_multiplier", gguf_group::yarn_log_multiplier},
    {"rope.scaling.finetuned", gguf_group::finetuned},
    {"rope.scaling.alpha", gguf_group::base_alpha},
    {"attention.key_length_mla", gguf_group::latent_length},
    {"rope.dimension_sections", gguf_group::sections},
    {"rope.freq_base_swa", gguf_group::local_base},
    {"attention.sliding_window", gguf_group::window},
    {"attention.sliding_window_pattern", gguf_group::pattern},
    {"full_attention_interval attention.recurrent_layers", gguf_group::interval},
    {"attention.scale", gguf_group::scale, "attention_multiplier"},
    {"attention.output_scale", gguf_group::output_scale, "softmax_scale"},
    {"attn_logit_softcapping", gguf_group::cap}, {"num_loops", gguf_group::loops},
    {"attention.temperature_scale", gguf_group::temperature},
    {"attention.temperature_length", gguf_group::temperature_length},
    {"attention.max_alibi_bias", gguf_group::max_bias},
    {"attention.relative_buckets_count", gguf_group::bucket_count},
    {"attention.compress_ratios attention.compress_rope_freq_base", gguf_group::compression},
    {"attention.indexer.head_count", gguf_group::index, "index_n_heads"},
    {"attention.indexer.key_length", gguf_group::index, "index_head_dim"},
    {"attention.indexer.top_k", gguf_group::index, "index_topk"},
    {"attention.indexer.kpool", gguf_group::index_pool, "index_kpool"},
    {"attention.indexer.types", gguf_group::index_types},
    {"attention.key_length_mla_swa", gguf_group::local_latent},
    {"attention.indexer.block_size", gguf_group::index_blocks, "index_block_size"},
    {"attention.indexer.local_blocks", gguf_group::index_blocks, "index_local_blocks"}};

/// Keys that sound like position but act on values, logits, experts or residuals.
inline constexpr std::string_view gguf_keys_that_act_elsewhere =
    "attention.value_length_swa attention.value_length_mla_swa attention.kv_lora_rank_swa"
    " attention.value_scale final_logit_softcapping"
    " router_logit_softcapping expert_chunk_feed_forward_length"
    " hyper_connection.sinkhorn_iterations";

/// Parts of the names of keys that act on positions, on the scale of scores or on the mask.
inline constexpr std::string_view gguf_words =
    "rope rotary position alibi yarn ntk nope bucket window swa sliding chunk causal bidirectional"
    " interval recurrent indexer compress softcap temperature sink";
// clang-format on

/// The name in GGUF of a key that is named as in config.json; else the name as it is.
inline std::string_view gguf_name_of(std::string_view name) {
  auto const* const found = std::ranges::find(gguf_keys, name, &gguf_key::in_config);
  return found == std::end(gguf_keys) ? name : found->names;
}

/// The record of a key; null for a key that is not about positions.
inline gguf_key const* gguf_key_of(std::string_view name) {
  return record_of(gguf_keys, &gguf_key::names, name);
}

/// Whether the name of a key has such a word.
inline bool gguf_key_speaks(std::string_view name) {
  auto const holds = [&](std::string_view word) { return name.find(word) != name.npos; };
  return std::ranges::any_of(words_of(gguf_words), holds) ||
         (name.starts_with("attention.") && holds("scal"));
}

/// The keys of one architecture, by their names in config.json or in GGUF. A key that llama.cpp
/// does not read for it counts as absent.
class architecture_keys : public settings<architecture_keys, gguf_metadata> {
 public:
  explicit architecture_keys(gguf_metadata const& metadata) : file_(metadata) {}

  std::string architecture = {};
  unsigned groups = 0;     ///< of gguf_group: what llama.cpp reads for it
  std::size_t layers = 0;  ///< of lists

  /// The full name in the file of a key that is named as in config.json or as in GGUF.
  std::string key(std::string_view name) const {
    return architecture + "." + std::string(gguf_name_of(name));
  }
  /// Whether llama.cpp reads a key for this architecture.
  bool reads(std::string_view name) const {
    auto const* const known = gguf_key_of(gguf_name_of(name));
    return known == nullptr || known->group == 0 || (groups & known->group) != 0;
  }
  /// The beginning of an error about what a key holds.
  std::string where(std::string_view name) const { return file_.file() + ": " + key(name); }
  gguf_value const* value_of(std::string_view name) const {
    return reads(name) ? file_.value_of(key(name)) : nullptr;
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view must) const {
    file_.refuse(key(name), must);
  }
  std::optional<double> positive(std::string_view name) const {
    return settings::positive(name, "be above 0");
  }
  /// As positive, but 0 counts as absent: llama.cpp writes it for none.
  std::optional<double> positive_or_none(std::string_view name) const {
    auto const given = number(name);
    require(!given || *given >= 0, name, "be 0 or above");
    return given == 0.0 ? std::nullopt : given;
  }

  using settings::count;
  std::optional<std::size_t> count(std::initializer_list<char const*> names,
                                   std::uint64_t most) const {
    return count(*names.begin(), most);  // the others are config.json's alone
  }
  /// None for 0.
  std::optional<std::size_t> count_or_zero(std::string_view name, std::uint64_t most) const {
    auto const given = count(name, 0, most);
    return given == std::size_t{0} ? std::nullopt : given;
  }

  bool is_list(std::string_view name) const { return reads(name) && file_.is_list(key(name)); }
  /// A count for each layer: the key holds one for all layers, or a list.
  std::optional<std::vector<std::size_t>> counts(std::string_view name, std::uint64_t most) const {
    if (!is_list(name)) {
      auto const one = count(name, 0, most);
      return one ? std::optional(std::vector<std::size_t>(layers, *one)) : std::nullopt;
    }
    auto const list = *file_.numbers(key(name));
    require(list.size() >= layers, name,
            "have one entry for each of the " + shown(layers) + " layers");
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < layers; ++i) {
      auto const whole = whole_number(list[i], most);
      detail::require(whole.has_value(), where(name), " must hold whole numbers from 0 to ", most,
                      ", got ", list[i], " for layer ", i);
      result.push_back(*whole);
    }
    return result;
  }
  static bool is_null(std::string_view) { return false; }

 private:
  gguf_metadata const& file_;
};

}}}  // namespace posenc::detail
