// Writes architectures.json, what each family of models does by default, from posenc's records; or
// compares one with what it would write.
//
//     architectures FILE            writes it
//     architectures --compare FILE  fails unless it is that, byte for byte
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/gguf/detail/architectures.hpp"
#include "posenc/model/hugging_face/detail/families.hpp"
#include "text.hpp"

namespace {

using namespace posenc::detail;
using posenc::both_ways;
using posenc::norm_place;
using posenc::norm_scope;
using text::object;

enum class format { config_json, gguf };

/// The first of these keys that the class of the family reads, or none.
std::string key_of(model_family const& f, std::string_view keys) {
  for (auto const key : words_of(keys))
    if (contains(words_of(f.keys), key)) return std::string(key);
  return {};
}

bool rotates(model_family const& f) {
  using enum position_rule;
  auto const of = {rope, alibi_if_flagged, alibi_without_context, learned_or_rotary};
  return std::ranges::count(of, f.positions) != 0 && f.rotation != rotation_rule::no_layer;
}

std::string positions_of(model_family const& f) {
  switch (f.positions) {
    case position_rule::rope:
      return rotates(f) ? "rope" : "none";
    case position_rule::alibi:
      return "alibi";
    case position_rule::alibi_if_flagged:
      return "rope, or alibi where that key is true";
    case position_rule::alibi_without_context:
      return "rope, or alibi without max_position_embeddings";
    case position_rule::alibi_or_learned:
      return "learned, or alibi where a key says so";
    case position_rule::buckets:
      return "buckets";
    case position_rule::learned_buckets:
      return "learned and buckets";
    case position_rule::sinusoidal:
      return "sinusoidal";
    case position_rule::learned:
    case position_rule::learned_absolute:
      return "learned";
    case position_rule::learned_or_rotary:
      return "rope where position_embedding_type is rotary, else learned";
  }
  return {};
}

std::string rotating_layers(model_family const& f) {
  auto const n = std::to_string(f.nope_every);
  if (f.rotation == rotation_rule::sliding_layers) return "sliding ones, or all if none slides";
  if (f.rotation == rotation_rule::sliding_and_dense_layers) return "sliding and dense ones";
  if (f.rotation == rotation_rule::if_position_type_is_rope)
    return "all where position_embedding_type is rope, else none";
  if (f.nope_every != 0) return "all but every " + n + "th";
  if (f.nope_first_of != 0)
    return "all but the first of " + std::to_string(f.nope_first_of) + " where any slides";
  if (f.full_are_nope) return "sliding ones";
  return "all";
}

std::string block_of(model_family const& f) {
  if (f.two_axes) return "one for each of two axes";
  if (f.axial_axes != 0) return "one for each of " + std::to_string(f.axial_axes) + " axes";
  return f.last_dims ? "last" : "first";
}

object rotary_dims(model_family const& f, format of) {
  object dims;
  auto const add_key = [&](std::string const& key) {
    if (!key.empty()) dims.add("key", key);
  };
  if (of == format::gguf) {
    if (!f.whole_head) add_key("rope.dimension_count");
    return dims.add("part", 1.0);
  }
  if (f.last_dims && f.partial == 1) {
    add_key("qk_rope_head_dim");
    return dims;
  }
  if (f.rotary_dim != 0) {
    add_key(key_of(f, "rotary_dim"));
    return dims.add("dims", f.rotary_dim);
  }
  add_key(key_of(f,
                 "partial_rotary_factor rotary_pct rope_pct rotary_emb_fraction rotary_dim"
                 " attn_rotary_emb"));
  return dims.add("part", f.partial);
}

object base_of(model_family const& f, format of) {
  object base;
  bool const is_gguf = of == format::gguf;
  base.add("key", is_gguf              ? "rope.freq_base"
                  : f.base_key.empty() ? "rope_theta"
                                       : std::string(f.base_key));
  bool const is_needed = f.needs_rope || f.needs_nested_rope;
  auto const value = f.only_base != 0 ? f.only_base : f.base;
  base.raw("default", is_needed ? "null" : text::setting(value));
  if (f.other_base != 0) base.add("default_of_other_versions", f.other_base);
  if (f.local_base != 0)
    base.add("sliding_key", is_gguf ? "rope.freq_base_swa" : "rope_local_base_freq")
        .add("sliding_default", f.local_base);
  if (f.base_is_ratio) base.add("times", "rope_ratio");
  return base;
}

std::string rule_of(model_family const& f) {
  if (f.unscaled) return "default";
  bool const is_local = f.local_base != 0 && !f.local_scaled;
  return f.scaled_if_full || is_local ? "of the file, default in sliding layers" : "of the file";
}

std::string norm_of(model_family const& f) {
  auto const& norm = f.norm;
  char const* of = "head";
  switch (norm.of) {
    case norm_scope::unknown:
      return "null";
    case norm_scope::none:
      return object().add("of", "none").inner();
    case norm_scope::head:
      break;
    case norm_scope::own_weights:
      of = "head, weights for each";
      break;
    case norm_scope::token:
      of = "token";
      break;
    case norm_scope::centred:
      of = "head, centred";
      break;
  }
  object made;
  made.add("of", of).add("place", norm.place == norm_place::after ? "after" : "before");
  if (norm.query.empty()) made.add("weights", false);
  if (norm.plus_one) made.add("plus_one", true);
  if (norm.values) made.add("values", true);
  if (norm.where_rotated) made.add("layers", "that rotate");
  if (!norm.flag.empty()) made.add("key", norm.flag).add("default", norm.by_default);
  if (norm.optional) made.add("where", "the file has its tensors");
  return made.inner();
}

object scale_of(model_family const& f, format of) {
  object scale;
  auto const key = of == format::gguf ? gguf_name_of(f.scale_key) : f.scale_key;
  bool const is_all = f.scale_key == "attention_multiplier" || f.scale_key == "softmax_scale";
  if (f.undivided || (f.scale_key.empty() && f.scale_default == 1)) {
    scale.add("is", "1");
  } else if (f.scale_by_dim) {
    scale.add("is", "1 / head_dim");
  } else if (f.scale_key == "query_pre_attn_scalar") {
    scale.add("is", "1 / sqrt(key)").add("key", key);
  } else if (is_all) {
    scale.add("is", "key").add("key", key);
  } else {
    scale.add("is", f.scale_key.empty() ? "1 / sqrt(head_dim)" : "key / sqrt(head_dim)");
    if (!f.scale_key.empty()) scale.add("key", key);
  }
  if (!f.scale_key.empty())
    scale.raw("default", f.scale_default != 0 ? text::setting(f.scale_default) : "null");
  if (of == format::gguf && f.scale_key.empty() && (f.reads & gguf_group::scale) != 0)
    scale.add("key", "attention.scale");
  if (f.embedding_scale_layers != 0)
    scale.add("embedding_length_for_head_dim_in_models_of_layers", f.embedding_scale_layers);
  if (f.mscale_on_scores) scale.add("times", "YaRN's magnitude of mscale_all_dim, squared");
  return scale;
}

std::string cap_of(model_family const& f, format of) {
  bool const is_read = of == format::gguf ? (f.reads & gguf_group::cap) != 0
                                          : !key_of(f, "attn_logit_softcapping").empty();
  if (!is_read && f.score_cap == 0) return "null";
  return object()
      .add("key", "attn_logit_softcapping")
      .raw("default", f.score_cap != 0 ? text::setting(f.score_cap) : "null")
      .inner();
}

std::string sliding_layers(model_family const& f) {
  auto const n = std::to_string(f.full_every);
  if (f.needs_layer_types) return "of a list that must be given";
  if (f.max_window_layers != 0) return "from " + std::to_string(f.max_window_layers) + " on";
  if (f.full_every == 1 || !f.others.empty()) return "all";
  std::string const where = f.full_at == full_place::first_of_each ? "the first of " + n
                            : f.full_at == full_place::counted_from_the_end
                                ? "every " + n + "th from the end"
                            : f.full_at == full_place::by_offset ? "one of " + n
                                                                 : "the last of " + n;
  return "all but " + where + (f.first_full ? ", and the first" : "") +
         (f.last_full ? ", and the last" : "");
}

std::string window_of(model_family const& f, format of) {
  bool const is_gguf = of == format::gguf;
  bool const can_slide = is_gguf ? (f.reads & gguf_group::window) != 0 && !f.window_is_off
                                 : f.slides || f.window != 0 || f.window_needs_flag ||
                                       f.even_slide || (f.full_every > 1 && f.others.empty());
  if (!can_slide || f.chunked_where_rotated) return "null";
  object made;
  made.add("key", is_gguf ? "attention.sliding_window" : std::string(f.window_key));
  made.raw("default", f.window != 0 ? text::setting(f.window) : "null");
  made.add("counts",
           f.window_is == window_rule::last_keys     ? "keys, the query's own among them"
           : f.window_is == window_rule::half_of_key ? "twice the keys, the query's own among them"
           : f.window_is == window_rule::each_side   ? "keys on each side, beside the query's own"
           : f.window_is == window_rule::half_on_each_side
               ? "keys on both sides, half on each, beside the query's own"
               : "keys, the query's own among them; for both sides, half on each, beside it");
  made.add("layers", sliding_layers(f));
  auto const list = is_gguf ? std::string() : key_of(f, "layer_types hybrid_layer_pattern");
  if (is_gguf && (f.reads & gguf_group::pattern) != 0)
    made.add("layers_key", "attention.sliding_window_pattern");
  if (!list.empty()) made.add("layers_key", list);
  if (f.window_needs_flag) made.add("only_if", "use_sliding_window");
  return made.inner();
}

object visibility_of(model_family const& f, format of) {
  object made;
  std::string const causal_key = of == format::gguf ? "attention.causal" : "";
  switch (f.sides) {
    case side_rule::before:
      made.add("sides", "before");
      break;
    case side_rule::both:
      made.add("sides", "both");
      break;
    case side_rule::both_unless_decoder:
      made.add("sides", "both").add("key", "is_decoder");
      break;
    case side_rule::both_by_flag:
    case side_rule::both_by_word:
      made.add("sides", "before").add("key", "use_bidirectional_attention");
      break;
  }
  if (!causal_key.empty() && f.sides == side_rule::before) made.add("key", causal_key);
  auto const ways = f.sides == side_rule::both_by_word ? both_ways::image_within_window : f.within;
  if (ways != both_ways::none)
    made.add("both_ways", ways == both_ways::image ? "image, in sliding layers within the window"
                          : ways == both_ways::image_within_window ? "image_within_window"
                                                                   : "prefix");
  if (f.chunked_where_rotated) made.add("chunks", "in layers that rotate");
  if (f.compressed) made.add("pooled_keys", true);
  if (!f.index.heads.key.empty()) made.add("index_heads", true);
  return made;
}

std::string temperature_of(model_family const& f, format of) {
  if (f.nope_temperature) return text::setting("Llama 4's, in layers that do not rotate");
  bool const is_read = of == format::gguf
                           ? (f.reads & gguf_group::temperature) != 0
                           : !key_of(f, "llama_4_scaling_beta llama_4_scaling").empty();
  if (!is_read) return "null";
  return text::setting("by position, where " +
                       (of == format::gguf ? std::string("attention.temperature_scale")
                                           : key_of(f, "llama_4_scaling_beta llama_4_scaling")) +
                       " is given");
}

std::string written(model_family const& f, format of) {
  object made;
  made.add("positions", positions_of(f));
  if (rotates(f)) {
    made.add("layout", f.interleaved ? "interleaved" : "halves");
    auto const key = key_of(f, "rope_interleave rope_is_neox_style rotary_emb_interleaved");
    if (of == format::config_json && !key.empty()) made.add("layout_key", key);
    made.raw("rotary_dims", rotary_dims(f, of).inner()).add("block", block_of(f));
    made.raw("base", base_of(f, of).inner()).add("rule", rule_of(f));
    made.add("layers", rotating_layers(f));
    if (f.has_axes)
      made.add("axes", f.order == axis_order::contiguous    ? "in sections"
                       : f.order == axis_order::interleaved ? "interleaved"
                                                            : "alternating");
    if (f.opposite) made.add("opposite", true);
  }
  made.raw("norm", norm_of(f)).raw("scale", scale_of(f, of).inner()).raw("cap", cap_of(f, of));
  made.raw("window", window_of(f, of)).raw("visibility", visibility_of(f, of).inner());
  made.add("sinks", f.sinks ? "all layers" : f.sliding_sinks ? "sliding layers" : "none");
  made.raw("temperature", temperature_of(f, of));
  return made.inner();
}

using records = std::map<std::string, std::string, std::less<>>;

void add(records& to, model_family const& f, format of) {
  if (!f.refusal.empty()) return;
  for (auto const name : words_of(f.types)) to.emplace(name, written(f, of));
}

std::string shown(records const& all) {
  std::string result = "{\n";
  for (auto const& [name, record] : all)
    result += (result.size() > 2 ? ",\n\"" : "\"") + name + "\": " + record;
  return result + "\n}";
}

std::string file() {
  records of_config, of_gguf;
  for (auto const& one : model_families::all) add(of_config, one, format::config_json);
  for (auto const& one : gguf_architectures::all) add(of_gguf, one, format::gguf);
  return "{\"model_type\": " + shown(of_config) + ",\n\"general.architecture\": " + shown(of_gguf) +
         "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  bool const compare = argc == 3 && std::string_view(argv[1]) == "--compare";
  if (argc != 2 && !compare) return std::fputs("architectures [--compare] FILE\n", stderr), 2;
  auto const text = file();
  if (!compare) {
    std::ofstream out(argv[1], std::ios::binary);
    out << text;
    return out.flush() ? 0 : 2;
  }
  std::ifstream in(argv[2], std::ios::binary);
  if (std::string(std::istreambuf_iterator<char>(in), {}) == text) return 0;
  std::fprintf(stderr,
               "%s is not what the records say: write it again by the target "
               "posenc_architectures_json\n",
               argv[2]);
  return 1;
}
