#include "program/run/model.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "program/run/settings.hpp"
#include "program/run/tensor_names.hpp"

namespace run {
namespace {

using program::weight;
using shape = std::vector<std::size_t>;

std::string shown(shape const& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

// Finds tensors by the names of GGUF, and remembers which were asked for.
class tensors {
 public:
  tensors(program::weight_files const& files, family const& of)
      : files_(files), of_(of), names_(files, of) {}

  tensor_names const& names() const { return names_; }
  weight const* find(std::string const& part, std::optional<std::size_t> layer = {},
                     std::string const& ending = ".weight") {
    auto const full = names_.of(part, layer, ending);
    return full.empty() ? nullptr : find_named(full);
  }
  weight const* find_named(std::string const& full) {
    auto const* const found = files_.find(full);
    if (found != nullptr) used_.insert(found);
    return found;
  }
  weight const& named(std::string const& full) {
    if (auto const* const found = find_named(full)) return *found;
    throw std::runtime_error(files_.name() + ": must have the tensor " + full +
                             ", and has it not");
  }
  weight const& at(std::string const& part, std::optional<std::size_t> layer = {}) {
    return named(names_.of(part, layer));
  }
  bool has(std::string const& part, std::optional<std::size_t> layer) {
    auto const full = names_.of(part, layer);
    return !full.empty() && files_.find(full) != nullptr;
  }

  std::vector<float> vector(weight const* from, std::size_t size) {
    if (from == nullptr) return {};
    auto const& dims = from->shape;
    std::size_t all = 1;
    for (auto const dim : dims) all *= dim;
    if (all != size) from->refuse("must have " + std::to_string(size) + " numbers, got " +
                                  from->shown_shape());
    std::vector<float> numbers(size);
    from->decode(0, from->rows(), numbers.data());
    return numbers;
  }

  /// [outputs][inputs]; 0: any. `transposed`: as the file has it.
  matrix product(std::string const& part, std::optional<std::size_t> layer, std::size_t outputs,
                 std::size_t inputs) {
    auto const& w = at(part, layer);
    bool const transposed = of_.is_transposed && !files_.is_gguf() && part != "output";
    auto const rows = transposed ? inputs : outputs, columns = transposed ? outputs : inputs;
    auto const& dims = w.shape;
    if (dims.size() != 2 || (rows != 0 && dims[0] != rows) ||
        (columns != 0 && dims[1] != columns))
      w.refuse("must be " + (rows == 0 || columns == 0
                                 ? "a matrix with " + std::to_string(rows + columns) +
                                       (rows == 0 ? " columns" : " rows")
                                 : shown({rows, columns})) +
               ", got " + w.shown_shape());
    matrix result{&w, 0, dims[0], dims[1], transposed};
    result.bias = vector(find(part, layer, ".bias"), result.outputs());
    return result;
  }

  /// Several matrices in one tensor, [count][rows][columns]; 0 rows: any.
  weight const& stack(std::string const& part, std::size_t layer, std::size_t count,
                      std::size_t rows, std::size_t columns) {
    auto const& w = at(part, layer);
    auto const& dims = w.shape;
    if (dims.size() != 3 || dims[0] != count || (rows != 0 && dims[1] != rows) ||
        dims[2] != columns)
      w.refuse("must be [" + std::to_string(count) + ", " +
               (rows == 0 ? "any" : std::to_string(rows)) + ", " + std::to_string(columns) +
               "], got " + w.shown_shape());
    return w;
  }

  token_norm norm(std::string const& part, std::optional<std::size_t> layer, std::size_t width,
                  norm_kind kind, double eps) {
    auto const* const found = find(part, layer);
    if (found == nullptr) return {};
    return {vector(found, width), vector(find(part, layer, ".bias"), width), kind, eps};
  }

  // Refuses what the pass would leave out.
  void require_all_used() const {
    for (auto const& one : files_.all()) {
      auto const& name = one.name;
      auto const has = [&](char const* part) { return name.find(part) != std::string::npos; };
      bool const is_none_of_ours =
          has("rotary_emb") || has("rope_freqs") || has("rope_factors_") ||
          name.ends_with(".attn.bias") || name.ends_with(".masked_bias") ||
          name.ends_with(".attention.bias") || has("vision_tower") || has("multi_modal_projector");
      if (!is_none_of_ours && !used_.contains(&one))
        one.refuse("is a tensor that the pass of " + std::string(of_.hugging_face) +
                   " does not use, so that its logits would be another model's");
    }
  }

 private:
  program::weight_files const& files_;
  family const& of_;
  tensor_names names_;
  std::set<weight const*> used_;
};

void refuse(program::weight_files const& files, std::string const& what) {
  throw std::runtime_error(files.name() + ": the pass does not know " + what);
}

// What the pass leaves to others.
void require_known(program::weight_files const& files, posenc::model_description const& model) {
  auto const require = [&](bool holds, std::string const& what) {
    if (!holds) refuse(files, what);
  };
  require(model.embedding.empty() || model.embedding == "learned",
          model.embedding + " embeddings of positions");
  for (std::size_t i = 0; i < model.key_layers.size(); ++i)
    require(model.key_layers[i] == i, "layers that read the keys of another layer");
  std::size_t layers = 0;
  for (auto const& kind : model.kinds) {
    layers += kind.layers.size();
    auto const of = " in the layers " + kind.name;
    require(kind.rotary.size() < 2, "two rotations of one head" + of);
    require(!kind.buckets, "T5's buckets" + of);
    require(!kind.index && !kind.shares_index, "heads that choose keys" + of);
    require(kind.pooled == 0, "pooled keys" + of);
    require(!kind.sinks, "learned sinks" + of);
    require(kind.ahead.has_value() && *kind.ahead == 0, "queries that see later keys" + of);
    require(kind.value_norm.of <= posenc::norm_scope::none, "a norm of values" + of);
    for (auto const* const norm : {&kind.query_norm, &kind.key_norm})
      require(norm->of != posenc::norm_scope::own_weights, "a norm with weights for each head" + of);
  }
  require(layers == model.layers, "layers without attention");
}

activation activation_of(settings const& keys, family const& of) {
  for (auto const* const name : {"hidden_activation", "hidden_act", "activation_function"}) {
    settings::key const key{name, ""};
    auto const word = keys.text(key);
    if (!word) continue;
    if (of.scales_embeddings) return of.act;  // Gemma's hidden_act says gelu, and means tanh's
    if (*word == "silu" || *word == "swish") return activation::silu;
    if (*word == "gelu") return activation::gelu;
    if (*word == "gelu_new" || *word == "gelu_pytorch_tanh" || *word == "gelu_fast")
      return activation::gelu_tanh;
    if (*word == "relu") return activation::relu;
    keys.refuse(key, "be silu, gelu, gelu_new, gelu_pytorch_tanh or relu");
  }
  return of.act;
}

double eps_of(settings const& keys, norm_kind kind) {
  auto const given =
      kind == norm_kind::layer
          ? keys.number({"layer_norm_eps", "attention.layer_norm_epsilon"})
          : keys.number({"rms_norm_eps", "attention.layer_norm_rms_epsilon"});
  auto const other = keys.number({"layer_norm_epsilon", ""});
  return given ? *given : other.value_or(kind == norm_kind::layer ? 1e-5 : 1e-6);
}

std::size_t heads_of(settings const& keys, std::size_t known) {
  if (known != 0) return known;
  for (auto const* const name : {"num_attention_heads", "n_head", "n_heads"})
    if (keys.has({name, "attention.head_count"}))
      return keys.count({name, "attention.head_count"});
  return keys.count({"num_attention_heads", "attention.head_count"});
}

class loader {
 public:
  loader(loaded_model& model, program::weight_files const& files, settings const& keys)
      : m_(model), files_(files), keys_(keys), tensors_(files, model.of) {}

  void load() {
    read_outside();
    for (std::size_t i = 0; i < m_.description.layers; ++i) m_.layers.push_back(layer(i));
    tensors_.require_all_used();
  }

 private:
  token_norm norm(std::string const& part, std::optional<std::size_t> layer) {
    return tensors_.norm(part, layer, m_.width, m_.of.norm, m_.eps);
  }
  token_norm needed_norm(std::string const& part, std::size_t layer) {
    tensors_.at(part, layer);
    return norm(part, layer);
  }

  void read_outside() {
    bool const is_tied =
        keys_.flag({"tie_word_embeddings", ""}).value_or(!tensors_.has("output", {}));
    // A tied matrix may be stored by its other name alone.
    bool const by_output =
        is_tied && !tensors_.has("token_embd", {}) && tensors_.has("output", {});
    auto const& embedding = tensors_.at(by_output ? "output" : "token_embd");
    if (embedding.shape.size() != 2) embedding.refuse("must be a matrix, got " + embedding.shown_shape());
    m_.embedding = &embedding;
    m_.vocabulary = embedding.shape[0], m_.width = embedding.shape[1];
    m_.embedding_norm = norm("token_embd_norm", {});
    if (m_.description.embedding == "learned") {
      m_.positions = &tensors_.at("position_embd");
      if (m_.positions->shape.size() != 2 || m_.positions->shape[1] != m_.width)
        m_.positions->refuse("must be a matrix with " + std::to_string(m_.width) +
                             " columns, got " + m_.positions->shown_shape());
    }
    m_.output_norm = norm("output_norm", {});
    if (!m_.output_norm) tensors_.at("output_norm");
    if (tensors_.has("output", {})) {
      m_.output = tensors_.product("output", {}, m_.vocabulary, m_.width);
    } else if (is_tied || files_.is_gguf()) {
      m_.output = {&embedding, 0, m_.vocabulary, m_.width};
    } else {
      tensors_.at("output");
    }
  }

  void read_heads(loaded_layer& l, std::size_t i, posenc::layer_description const& kind) {
    auto const query_rows = m_.heads * kind.head_dim, key_rows = m_.key_heads * kind.head_dim;
    m_.value_dim = kind.head_dim;
    if (m_.of.is_latent) return read_latent(l, i, kind);
    if (m_.of.joined != joined_heads::none && tensors_.has("attn_qkv", i)) {
      l.joined = tensors_.product("attn_qkv", i, query_rows + 2 * key_rows, m_.width);
      take_key_bias(l, kind.head_dim);
    } else {
      l.q = tensors_.product("attn_q", i, query_rows, m_.width);
      l.k = tensors_.product("attn_k", i, key_rows, m_.width);
      l.key_bias = std::exchange(l.k.bias, {});
      l.v = tensors_.product("attn_v", i, key_rows, m_.width);
    }
    if (kind.key_bias == true && l.key_bias.empty())
      throw std::runtime_error(files_.name() + ": must have the bias of keys of layer " +
                               std::to_string(i) + ", and has it not");
    l.q_norm = head_weights("attn_q_norm", i, kind.query_norm, m_.heads, kind.head_dim);
    l.k_norm = head_weights("attn_k_norm", i, kind.key_norm, m_.key_heads, kind.head_dim);
  }

  void take_key_bias(loaded_layer& l, std::size_t dims) const {
    auto& bias = l.joined.bias;
    bool const by_head = m_.of.joined == joined_heads::by_head;
    for (std::size_t h = 0; !bias.empty() && h < m_.key_heads; ++h) {
      auto const first = by_head ? (3 * h + 1) * dims : (m_.heads + h) * dims;
      for (std::size_t i = 0; i < dims; ++i)
        l.key_bias.push_back(std::exchange(bias[first + i], 0.0f));
    }
  }

  std::vector<float> head_weights(std::string const& part, std::size_t layer,
                                  posenc::norm_description const& norm, std::size_t heads,
                                  std::size_t dims) {
    if (norm.of <= posenc::norm_scope::none || (norm.of == posenc::norm_scope::head && norm.weights == 0))
      return {};
    auto const names = tensors_.names().of_head_norm(part, layer, norm, heads);
    auto const shared = norm.of == posenc::norm_scope::head ? dims : heads * dims;
    std::vector<float> all;
    for (auto const& name : names) {
      auto const some = tensors_.vector(&tensors_.named(name), shared / names.size());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  void read_latent(loaded_layer& l, std::size_t i, posenc::layer_description const& kind) {
    // Norms of latents have the eps of their class, whatever config.json says of other norms.
    auto const eps = files_.is_gguf() ? m_.eps : 1e-6;
    auto const latent_norm = [&](std::string const& part, std::size_t width) {
      return tensors_.norm(part, i, width, m_.of.norm, eps);
    };
    latent_heads one;
    auto const query_rows = m_.heads * kind.head_dim;
    if (tensors_.has("attn_q_a", i)) {
      one.q_a = tensors_.product("attn_q_a", i, 0, m_.width);
      one.q_a_norm = latent_norm("attn_q_a_norm", one.q_a.rows);
      one.q_b = tensors_.product("attn_q_b", i, query_rows, one.q_a.rows);
    } else {
      l.q = tensors_.product("attn_q", i, query_rows, m_.width);
    }
    one.kv_a = tensors_.product("attn_kv_a_mqa", i, 0, m_.width);
    auto const& kv_norm = tensors_.at("attn_kv_a_norm", i);
    auto const latent = kv_norm.columns();
    one.kv_a_norm = latent_norm("attn_kv_a_norm", latent);
    auto const rotated = one.kv_a.rows - std::min(latent, one.kv_a.rows);
    if (rotated == 0 || rotated >= kind.head_dim)
      one.kv_a.tensor->refuse("must have rows of the " + std::to_string(latent) +
                              " dims of the latent and of 1 to " +
                              std::to_string(kind.head_dim - 1) + " dims that rotate, got " +
                              one.kv_a.tensor->shown_shape());
    auto const plain = kind.head_dim - rotated;
    if (files_.is_gguf() && tensors_.has("attn_k_b", i)) {
      auto const& k = tensors_.stack("attn_k_b", i, m_.heads, latent, plain);
      auto const& v = tensors_.stack("attn_v_b", i, m_.heads, 0, latent);
      m_.value_dim = v.shape[1];
      for (std::size_t h = 0; h < m_.heads; ++h) {
        one.k_b.push_back({&k, h * latent, latent, plain, true});
        one.v_b.push_back({&v, h * m_.value_dim, m_.value_dim, latent});
      }
    } else {
      one.kv_b = tensors_.product("attn_kv_b", i, 0, latent);
      auto const of_head = one.kv_b.rows / m_.heads;
      if (one.kv_b.rows % m_.heads != 0 || of_head <= plain)
        one.kv_b.tensor->refuse("must have values beside the " + std::to_string(plain) +
                                " dims of keys of " + std::to_string(m_.heads) + " heads, got " +
                                one.kv_b.tensor->shown_shape());
      m_.value_dim = of_head - plain;
    }
    m_.key_heads = m_.heads;
    l.latent = std::move(one);
  }

  network read_network(std::size_t i, std::string const& ending) {
    network one;
    one.up = tensors_.product("ffn_up" + ending, i, 0, m_.width);
    auto hidden = one.up.outputs();
    if (m_.of.joins_gate) {
      hidden /= 2;
    } else if (m_.of.is_gated) {
      one.gate = tensors_.product("ffn_gate" + ending, i, hidden, m_.width);
    }
    one.down = tensors_.product("ffn_down" + ending, i, m_.width, hidden);
    return one;
  }

  expert_networks read_experts(std::size_t i) {
    expert_networks all;
    all.router = tensors_.product("ffn_gate_inp", i, 0, m_.width);
    auto const count = all.router.rows;
    all.used = keys_.count({"num_experts_per_tok", "expert_used_count"});
    if (all.used > count)
      keys_.refuse({"num_experts_per_tok", "expert_used_count"},
                   "be at most the " + std::to_string(count) + " experts");
    all.renormalises = files_.is_gguf()
                           ? keys_.flag({"", "expert_weights_norm"}).value_or(m_.of.renormalises_experts)
                           : keys_.flag({"norm_topk_prob", ""}).value_or(false);
    all.factor = keys_.number({"routed_scaling_factor", "expert_weights_scale"}).value_or(1);
    require_plain_choice(all);
    for (std::size_t e = 0; e < count; ++e) all.all.push_back(read_expert(i, e, count));
    if (m_.of.is_latent && tensors_.has("ffn_up_shexp", i)) all.shared = read_network(i, "_shexp");
    return all;
  }
  // Of the largest softmax, among all experts.
  void require_plain_choice(expert_networks const& all) const {
    settings::key const method{"topk_method", ""}, scores{"scoring_func", ""},
        scores_of_gguf{"", "expert_gating_func"}, renormalises{"norm_topk_prob", ""},
        groups{"", "expert_group_count"}, used{"", "expert_group_used_count"};
    if (keys_.text(method).value_or("greedy") != "greedy") keys_.refuse(method, "be greedy");
    if (keys_.text(scores).value_or("softmax") != "softmax") keys_.refuse(scores, "be softmax");
    if (keys_.number(scores_of_gguf).value_or(1) != 1)
      keys_.refuse(scores_of_gguf, "be 1, softmax");
    if (keys_.number(used).value_or(1) < keys_.number(groups).value_or(1))
      keys_.refuse(used, "be all groups of experts");
    // DeepSeek's own code would divide by the sum and not multiply by routed_scaling_factor, and
    // its class in transformers ignores the key.
    if (m_.of.is_latent && !files_.is_gguf() && all.renormalises)
      keys_.refuse(renormalises, "be false for deepseek_v2");
  }
  network read_expert(std::size_t i, std::size_t e, std::size_t count) {
    if (files_.is_gguf()) {
      auto const part = [&](std::string const& name, std::size_t outputs, std::size_t inputs) {
        auto const& w = tensors_.stack(name, i, count, outputs, inputs);
        return matrix{&w, e * w.shape[1], w.shape[1], w.shape[2]};
      };
      network one;
      one.up = part("ffn_up_exps", 0, m_.width);
      one.gate = part("ffn_gate_exps", one.up.rows, m_.width);
      one.down = part("ffn_down_exps", m_.width, one.up.rows);
      return one;
    }
    auto const router = tensors_.names().of("ffn_gate_inp", i, "");
    auto const part = [&](char const* last, std::size_t outputs, std::size_t inputs) {
      auto const& w = tensors_.named(router.substr(0, router.rfind('.')) + ".experts." +
                                     std::to_string(e) + "." + last + ".weight");
      if (w.shape.size() != 2 || (outputs != 0 && w.shape[0] != outputs) || w.shape[1] != inputs)
        w.refuse("must be [" + (outputs == 0 ? "any" : std::to_string(outputs)) + ", " +
                 std::to_string(inputs) + "], got " + w.shown_shape());
      return matrix{&w, 0, w.shape[0], w.shape[1]};
    };
    network one;
    one.up = part("up_proj", 0, m_.width);
    one.gate = part("gate_proj", one.up.rows, m_.width);
    one.down = part("down_proj", m_.width, one.up.rows);
    return one;
  }

  loaded_layer layer(std::size_t i) {
    loaded_layer l;
    auto const& kind = m_.description.kind_of(i);
    if (m_.of.places != norm_places::behind) l.before_attention = needed_norm("attn_norm", i);
    if (m_.of.places != norm_places::before) {
      l.behind_attention = needed_norm("post_attention_norm", i);
      l.behind_network = needed_norm("post_ffw_norm", i);
    }
    read_heads(l, i, kind);
    l.output = tensors_.product("attn_output", i, m_.width, m_.heads * m_.value_dim);
    if (m_.of.places != norm_places::behind && m_.of.order != block_order::parallel_with_one_norm)
      l.before_network = needed_norm("ffn_norm", i);
    if (tensors_.has("ffn_gate_inp", i)) {
      l.experts = read_experts(i);
    } else {
      l.dense = read_network(i, "");
    }
    return l;
  }

  loaded_model& m_;
  program::weight_files const& files_;
  settings const& keys_;
  tensors tensors_;
};

}  // namespace

loaded_model::loaded_model(program::weight_files const& files, std::size_t count)
    : description(files.description()), threads{count} {
  auto const* const known = family_of(description.type, files.is_gguf());
  if (known == nullptr)
    throw std::runtime_error(files.name() + ": the pass knows the networks of " +
                             known_types(files.is_gguf()) + ", got " + description.type);
  of = *known;
  settings const keys(files);
  require_known(files, description);
  // GGUF has weights of Gemma's norms with 1 added, and queries, keys and values not by head.
  if (files.is_gguf()) {
    if (of.norm == norm_kind::rms_plus_one) of.norm = norm_kind::rms;
    if (of.joined == joined_heads::by_head) of.joined = joined_heads::in_turn;
  }
  of.act = activation_of(keys, of);
  eps = eps_of(keys, of.norm);
  auto const& first = description.kinds.front();
  heads = heads_of(keys, first.heads);
  key_heads = first.key_heads == 0 ? heads : first.key_heads;
  settings::key const parallel{"use_parallel_residual", "use_parallel_residual"};
  if (auto const given = keys.flag(parallel)) {
    if (of.order == block_order::parallel && !*given) of.order = block_order::in_turn;
    if (of.order == block_order::in_turn && *given && description.type == "stablelm")
      of.order = block_order::parallel_with_one_norm;
  }
  settings::key const behind{"apply_residual_connection_post_layernorm", ""},
      before{"do_layer_norm_before", ""};
  if (keys.flag(behind).value_or(false)) keys.refuse(behind, "be false");
  if (!keys.flag(before).value_or(true)) keys.refuse(before, "be true");
  for (auto const* const name : {"clip_qkv", "attn_config.clip_qkv"})
    if (auto const given = keys.number({name, "attention.clamp_kqv"}); given && *given > 0)
      clip = *given;
  residual = keys.number({"residual_multiplier", "residual_scale"}).value_or(1);
  embedding_scale = keys.number({"embedding_multiplier", "embedding_scale"}).value_or(1);
  logit_cap = keys.number({"final_logit_softcapping", "final_logit_softcapping"}).value_or(0);
  logit_scale = keys.number({"logit_scale", description.type == "granite" ? "" : "logit_scale"})
                    .value_or(1 / keys.number({"logits_scaling", "logit_scale"}).value_or(1));
  loader(*this, files, keys).load();
  if (of.scales_embeddings) embedding_scale = std::sqrt(static_cast<double>(width));
}

}  // namespace run
