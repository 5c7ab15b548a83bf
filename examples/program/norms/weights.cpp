#include "weights.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <variant>

#include "posenc/analysis/score_by_frequency.hpp"
#include "posenc/heads/heads_view.hpp"
#include "program/keys/errors.hpp"
#include "program/run/tensor_names.hpp"
#include "program/tensors/weights.hpp"
#include "reporting/scale.hpp"

namespace norms {
namespace {

bool turns_within(double inv_freq, std::size_t tokens) {
  return inv_freq * static_cast<double>(tokens) >= 2 * std::numbers::pi;
}

// The heads of queries or of keys of a layer: which rows of which tensor.
struct projection {
  std::string tensor, norm_tensor;  // by GGUF's names
  posenc::norm_description const& norm;
  std::size_t heads, head_dim, first_row, row_step, all_rows;  // row_step: from head to head

  std::size_t rows() const { return heads * head_dim; }
  std::size_t row_of(std::size_t head) const { return first_row + head * row_step; }
};

// A layer of a model's files.
struct layer_tensors {
  program::weight_files const& files;
  run::tensor_names const& names;
  bool norm_has_one_more;  // of the vectors of tokens: 1 is added to the weights
  std::size_t layer;

  program::weight const* find(std::string const& part, std::string const& ending) const {
    auto const name = names.of(part, layer, ending);
    return name.empty() ? nullptr : files.find(name);
  }
};

// Of the rows of heads.
struct projected_rows {
  std::vector<double> norms;  // with bias and norm, the root of the sum of squares of each
  std::vector<double> inner;  // the same without these, of inputs times the weights of their norm
  std::vector<double> bias;   // empty: none
};

// The weights of the norm before a projection; empty if the file has none for each input.
std::vector<double> input_weights(layer_tensors const& from, std::size_t inputs) {
  auto const* const found = from.find("attn_norm", ".weight");
  std::vector<double> weights;
  if (found != nullptr && found->shape == std::vector<std::size_t>{inputs})
    found->each_row(
        0, 1, [&](auto, auto const numbers) { weights.assign(numbers.begin(), numbers.end()); });
  for (auto& weight : weights) weight += from.norm_has_one_more ? 1 : 0;
  return weights;
}

[[noreturn]] void refuse_shape(program::weight const& of, projection const& p,
                               std::string const& must) {
  of.refuse("must be " + must + ", for " + std::to_string(p.heads) + " heads of " +
            std::to_string(p.head_dim) + " dims, got " + of.shown_shape());
}

std::vector<program::weight const*> norm_tensors(layer_tensors const& from, projection const& p) {
  std::vector<program::weight const*> found;
  for (auto const& name : from.names.of_head_norm(p.norm_tensor, from.layer, p.norm, p.heads))
    if (auto const* const norm = from.files.find(name)) found.push_back(norm);
  return found;
}

// The norm of each head, with weights for one head or for each, or of all heads at once.
void normalise(std::vector<double>& rows, layer_tensors const& from, projection const& p) {
  std::vector<double> weights;
  std::size_t group = 0;
  for (auto const* const norm : norm_tensors(from, p)) {
    norm->each_row(0, norm->rows(), [&](auto, auto const numbers) {
      weights.insert(weights.end(), numbers.begin(), numbers.end());
    });
    group = norm->columns();
    if ((group != p.head_dim && group != p.rows()) ||
        (weights.size() % group != 0 || weights.size() > p.rows()))
      refuse_shape(*norm, p,
                   "[" + std::to_string(p.head_dim) + "] or [" + std::to_string(p.rows()) + "]");
  }
  if (weights.empty()) return;
  for (auto& weight : weights) weight += p.norm.how.plus_one ? 1 : 0;
  for (std::size_t first = 0; first < p.rows(); first += group) {
    double sum = 0;
    for (std::size_t i = first; i < first + group; ++i) sum += rows[i] * rows[i];
    for (std::size_t i = first; i < first + group && sum > 0; ++i)
      rows[i] *= weights[i % weights.size()] * std::sqrt(static_cast<double>(group) / sum);
  }
}

projected_rows rows_of(layer_tensors const& from, projection const& p) {
  auto const& weight = from.files.at(from.names.of(p.tensor, from.layer));
  if (weight.shape.size() != 2 || weight.rows() != p.all_rows)
    refuse_shape(weight, p, "[" + std::to_string(p.all_rows) + ", inputs]");
  projected_rows found;
  auto& result = found.norms;
  auto const of_inputs = input_weights(from, weight.columns());
  for (std::size_t head = 0; head < p.heads; ++head)
    weight.each_row(p.row_of(head), p.head_dim, [&](auto, auto const numbers) {
      double sum = 0, inner = 0;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const x = static_cast<double>(numbers[i]), w = of_inputs.empty() ? 1 : of_inputs[i];
        sum += x * x, inner += x * x * w * w;
      }
      result.push_back(std::sqrt(sum)), found.inner.push_back(std::sqrt(inner));
    });
  if (auto const* const bias = from.find(p.tensor, ".bias")) {
    if (bias->shape != std::vector<std::size_t>{p.all_rows})
      refuse_shape(*bias, p, "[" + std::to_string(p.all_rows) + "]");
    bias->each_row(0, 1, [&](auto, auto const numbers) {
      for (std::size_t i = 0; i < p.rows(); ++i) {
        auto const at = p.row_of(i / p.head_dim) + i % p.head_dim;
        found.bias.push_back(static_cast<double>(numbers[at]));
        result[i] = std::hypot(result[i], found.bias.back());
      }
    });
  }
  normalise(result, from, p);
  return found;
}

struct projected_norms {
  std::vector<norms_of_head> pairs;  // [head]
  std::vector<double> rest;          // of all dims outside the rotary block
};

projected_norms norms_of(std::vector<double> const& rows, projection const& p,
                         keys::head_rotation const& how) {
  auto const& f = how.frequencies;
  posenc::heads_view const heads(rows.data(),
                                 {.tokens = 1, .heads = p.heads, .head_dim = p.head_dim});
  auto const found = std::visit(
      [&]<class Layout>(Layout) { return posenc::norms_by_frequency<Layout>(heads, f, how.block); },
      how.layout);
  auto const first = how.block.first_dim(p.head_dim, f.rotary_dim());
  projected_norms result;
  for (std::size_t head = 0; head < p.heads; ++head) {
    auto& pairs = result.pairs.emplace_back();
    for (auto const& norm : found[head]) pairs.push_back(norm.mean());
    double rest = 0;
    for (std::size_t i = 0; i < p.head_dim; ++i)
      if (i < first || i >= first + f.rotary_dim()) rest = std::hypot(rest, heads(0, head)[i]);
    result.rest.push_back(rest);
  }
  return result;
}

// What the file says of a layer's heads: one number for all layers, or a list.
std::size_t count_of(posenc::gguf_metadata const& header, std::string const& key,
                     std::size_t layer) {
  if (header.is_list(key)) {
    auto const list = *header.numbers(key);
    if (layer < list.size() && list[layer] >= 1 && list[layer] <= 65'536)
      return static_cast<std::size_t>(list[layer]);
    header.refuse(key, "have 1 to 65536 heads for layer " + std::to_string(layer));
  }
  auto const count = header.count(key, 65'536);
  if (!count) header.refuse(key, "be given");
  return *count;
}

std::vector<bias_of_head> biases_of(projected_rows const& keys, projected_rows const& queries,
                                    projection const& k, std::size_t group,
                                    keys::head_rotation const& how, std::size_t context) {
  auto const norms = norms_of(keys.bias, k, how), inner = norms_of(keys.inner, k, how);
  std::vector<bias_of_head> result;
  for (std::size_t head = 0; head < k.heads; ++head) {
    keys::head_statistics of;
    double squares = 0, of_x = 0;
    for (std::size_t i = 0; i < k.head_dim; ++i) {
      auto const row = head * k.head_dim + i;
      of.bias.push_back(keys.bias[row]), of.keys.push_back(keys.inner[row]);
      squares += keys.bias[row] * keys.bias[row], of_x += keys.inner[row] * keys.inner[row];
      double square = 0;
      for (std::size_t j = 0; j < group; ++j) {
        auto const query_row = (head * group + j) * k.head_dim + i;
        auto const b = queries.bias.empty() ? 0 : queries.bias[query_row];
        square += b * b + queries.inner[query_row] * queries.inner[query_row];
      }
      of.queries.push_back(std::sqrt(square / static_cast<double>(group)));
    }
    bias_of_head found{norms.pairs[head], std::sqrt(squares), 0, {}, {}};
    if (squares + of_x > 0) found.share = squares / (squares + of_x);
    auto const limit = outlying_from * std::sqrt(2 * of_x / static_cast<double>(k.head_dim));
    for (std::size_t pair = 0; pair < found.norms.size(); ++pair)
      if (found.norms[pair] > limit) found.outlying.push_back(pair);
    std::ranges::sort(found.outlying, std::ranges::greater{},
                      [&](std::size_t pair) { return found.norms[pair]; });
    if (k.head_dim % 32 == 0) {
      keys::sampled_head const sampled(
          of, how, {.tokens = 256, .queries = 1, .context = static_cast<std::int64_t>(context)});
      for (auto const* const format : bias_formats)
        for (auto const way : {keys::way::as_it_is, keys::way::bias_out})
          found.ways.push_back(sampled.of(format, way).logit);
    }
    result.push_back(std::move(found));
  }
  return result;
}

struct head_counts {
  std::size_t queries, keys;
};

head_counts counts_of(program::weight_files const& files, posenc::layer_description const& kind,
                      std::string const& type, std::size_t layer) {
  head_counts found{kind.heads, kind.key_heads == 0 ? kind.heads : kind.key_heads};
  std::string heads = "num_attention_heads", key_heads = "num_key_value_heads";
  if (files.is_gguf()) {
    auto const& header = files.gguf();
    heads = type + ".attention.head_count", key_heads = heads + "_kv";
    found.queries = found.keys = count_of(header, heads, layer);
    if (header.value_of(key_heads) != nullptr) found.keys = count_of(header, key_heads, layer);
  }
  if (found.keys == 0)
    throw std::runtime_error(files.name() + ": " + heads + " must be given, one for all layers");
  if (found.queries % found.keys != 0)
    throw std::runtime_error(files.name() + ": " + heads + " must be a multiple of " + key_heads +
                             ", got " + std::to_string(found.queries) + " and " +
                             std::to_string(found.keys) + " for layer " + std::to_string(layer));
  return found;
}

layer_of_weights read_layer(layer_tensors const& from, run::family const& of,
                            posenc::layer_description const& kind, std::string const& type,
                            std::size_t context) {
  auto const& rotary = kind.rotary.front();
  auto const f = rotary.frequencies.at(context);
  auto const d = kind.head_dim;
  auto const [heads, key_heads] = counts_of(from.files, kind, type, from.layer);
  projection q{"attn_q", "attn_q_norm", kind.query_norm, heads, d, 0, d, heads * d};
  projection k{"attn_k", "attn_k_norm", kind.key_norm, key_heads, d, 0, d, key_heads * d};
  bool const joined = from.find("attn_q", ".weight") == nullptr &&
                      from.find("attn_qkv", ".weight") != nullptr;
  if (joined) {
    q.tensor = k.tensor = "attn_qkv";
    q.all_rows = k.all_rows = (heads + 2 * key_heads) * d;
    k.first_row = heads * d;
  }
  if (joined && !from.files.is_gguf() && of.joined == run::joined_heads::by_head)
    q.row_step = k.row_step = 3 * d, k.first_row = d;
  keys::head_rotation const how{f, rotary.layout, rotary.block};
  auto const q_rows = rows_of(from, q), k_rows = rows_of(from, k);
  auto const queries = norms_of(q_rows.norms, q, how);
  auto const keys = norms_of(k_rows.norms, k, how);

  layer_of_weights result{
      from.layer, {f.inv_freq().begin(), f.inv_freq().end()}, queries.pairs, keys.pairs, {}};
  auto const gain = f.attention_factor() * f.attention_factor();
  for (std::size_t head = 0; head < heads; ++head) {
    head_of_weights found{head, head * key_heads / heads, {}, 0, 0};
    auto sum = queries.rest[head] * keys.rest[found.key_head];
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      found.share.push_back(gain * queries.pairs[head][i] * keys.pairs[found.key_head][i]);
      sum += found.share.back();
    }
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto& share = found.share[i];
      if (sum > 0) share /= sum;
      if (turns_within(f.inv_freq()[i], fast_tokens)) found.fast += share;
      if (turns_within(f.inv_freq()[i], context)) found.whole += share;
    }
    result.heads.push_back(std::move(found));
  }
  result.norm_behind =
      !norm_tensors(from, k).empty() || kind.key_norm.of > posenc::norm_scope::none;
  if (!k_rows.bias.empty())
    result.biases = biases_of(k_rows, q_rows, k, heads / key_heads, how, context);
  return result;
}

std::string title_of(std::string const& file, posenc::model_description const& model,
                     std::size_t layer, layer_of_weights const& found) {
  auto const& kind = model.kind_of(layer);
  auto const& rotary = kind.rotary.front();
  std::string base;
  for (auto const& [key, value] : rotary.parameters)
    if (key == "rope_theta") base = ", base " + charts::compact(std::stod(value));
  return file + ": " + model.type + ", " + std::to_string(model.layers) + " layers of " +
         std::to_string(found.queries.size()) + " heads of queries and " +
         std::to_string(found.keys.size()) + " of keys, head_dim " + std::to_string(kind.head_dim) +
         ", " + std::to_string(2 * found.inv_freq.size()) + " dims rotate, " +
         (std::holds_alternative<posenc::halves>(rotary.layout) ? "halves" : "interleaved") +
         ", rule " + rotary.rule + base;
}

}  // namespace

std::size_t layer_of_weights::pairs_within(std::size_t tokens) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(inv_freq, [&](double f) { return turns_within(f, tokens); }));
}

std::vector<model_of_weights::place> model_of_weights::by_fast_share() const {
  std::vector<place> result;
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (std::size_t head = 0; head < layers[layer].heads.size(); ++head)
      result.push_back({layer, head});
  std::ranges::stable_sort(result, std::ranges::greater{}, [&](place p) { return at(p).fast; });
  return result;
}

model_of_weights read_weights(std::string const& file, std::optional<std::size_t> context,
                              std::optional<std::size_t> layer) {
  program::weight_files const files(file);
  auto const model = files.description();
  // A family that run does not know has Llama's names.
  auto const* const known = run::family_of(model.type, files.is_gguf());
  auto const of = known == nullptr ? run::family() : *known;
  run::tensor_names const names(files, of);
  bool const has_one_more = !files.is_gguf() && of.norm == run::norm_kind::rms_plus_one;
  model_of_weights result{{}, context.value_or(model.context.value_or(8192)), {}, {}};
  if (layer) model.kind_of(*layer);  // throws if there is none
  for (auto i = layer.value_or(0); i < (layer ? *layer + 1 : model.layers); ++i) {
    auto const& kind = model.kind_of(i);
    if (kind.rotary.empty()) {
      result.unrotated.push_back(i);
    } else {
      result.layers.push_back(
          read_layer({files, names, has_one_more, i}, of, kind, model.type, result.context));
      if (result.title.empty()) result.title = title_of(file, model, i, result.layers.back());
    }
  }
  if (result.layers.empty())
    throw std::runtime_error(file + ": must have a layer that rotates, got none");
  return result;
}

}  // namespace norms
