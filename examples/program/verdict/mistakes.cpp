#include "mistakes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "posenc/frequency/geometric.hpp"
#include "posenc/model/hugging_face.hpp"

namespace verdicts {
namespace {

using nlohmann::json;
using posenc::frequencies;
using posenc::layer_description;
using posenc::model_description;
using posenc::rotary_description;
using made = std::optional<made_mistake>;

constexpr double default_base = 1e4;

/// The layer with another rotation in the place of its own.
layer_description with(layer_description layer, rotary_description rotary) {
  layer.rotary = {std::move(rotary)};
  return layer;
}
layer_description with(layer_description const& layer, frequencies f) {
  auto rotary = layer.rotary.front();
  rotary.frequencies = std::move(f);
  return with(layer, std::move(rotary));
}

/// Layers that rotate in one block, by numbers that the file gives or implies: not those of vision.
rotary_description const* text_rotation(layer_description const& layer) {
  bool const is_one = layer.rotary.size() == 1 && base_of(layer.rotary.front());
  return is_one ? &layer.rotary.front() : nullptr;
}

std::string setting(rotary_description const& rotary, std::string_view key) {
  auto const found = std::ranges::find(rotary.parameters, key, &posenc::model_setting::key);
  return found == rotary.parameters.end() ? std::string() : found->value;
}

/// The part of a head that these dims are. Half a dim more, for readers truncate the product.
double part_of(std::size_t head_dim, std::size_t dims) {
  return (static_cast<double>(dims) + 0.5) / static_cast<double>(head_dim);
}

/// Frequencies by the numbers given for these layers, one of them changed, in a head of head_dim;
/// nothing where a rope_parameters object has no words for a number: that of a tensor in GGUF.
std::optional<posenc::frequencies_by_length> reread(
    model_description const& model, layer_description const& given, std::size_t head_dim,
    std::pair<char const*, json> const& change = {}) {
  auto const& rotary = given.rotary.front();
  if (rotary.has_pair_factors) return {};
  auto parameters = json::object();
  for (auto const& [key, value] : rotary.parameters) {
    if (key.find('.') != std::string::npos) return {};
    parameters[key] = json::parse(value);
  }
  auto const dims = rotary.frequencies.at(1).rotary_dim();
  if (dims != given.head_dim) parameters["partial_rotary_factor"] = part_of(given.head_dim, dims);
  if (change.first != nullptr) parameters[change.first] = change.second;
  return posenc::read_rope_parameters(parameters, "rope_parameters",
                                      {.head_dim = head_dim, .context = model.context})
      .kinds.front()
      .rotary.front()
      .frequencies;
}

/// p-RoPE's frequencies, without the pairs at rest; none where all move.
std::vector<double> moving(layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr) return {};
  auto const f = rotary->frequencies.at(1);
  std::vector<double> const found(f.inv_freq().begin(),
                                  std::ranges::find_if(f.inv_freq(), is_standing));
  return found.size() == f.pairs() ? std::vector<double>() : found;
}

// ---- Frequencies

made theta_lost(model_description const& model, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || *base_of(*rotary) == default_base) return {};
  auto const base = *base_of(*rotary);
  auto wrong = *rotary;
  auto const read = reread(model, layer, layer.head_dim, {"rope_theta", default_base});
  // Whatever divides base^(-2i / dims), stays.
  wrong.frequencies =
      read ? *read
           : posenc::frequencies_by_length([=, right = rotary->frequencies](std::size_t length) {
               auto const f = right.at(length);
               std::vector<double> changed(f.inv_freq().begin(), f.inv_freq().end());
               for (std::size_t i = 0; i < changed.size(); ++i)
                 changed[i] *=
                     std::pow(base / default_base,
                              static_cast<double>(i) / static_cast<double>(changed.size()));
               return frequencies(changed, f.attention_factor());
             });
  return made_mistake{"the base is 10000, where the model has " + shown(base), with(layer, wrong)};
}

made rule_missing(model_description const&, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || !moving(layer).empty()) return {};
  if (rotary->rule == "default" && !rotary->has_pair_factors) return {};
  auto const dims = rotary->frequencies.at(1).rotary_dim();
  auto const name = rotary->has_pair_factors ? "in the tensor rope_freqs" : rotary->rule;
  return made_mistake{"plain RoPE, where the rule is " + name,
                      with(layer, posenc::geometric(dims, *base_of(*rotary)))};
}

made frequencies_of_others(model_description const& model, layer_description const& layer) {
  auto const* const own = text_rotation(layer);
  if (own == nullptr) return {};
  for (auto const& other : model.kinds) {
    auto const* const theirs = text_rotation(other);
    if (theirs == nullptr || theirs->parameters == own->parameters) continue;
    auto wrong = *own;
    if (other.head_dim == layer.head_dim) {
      wrong.frequencies = theirs->frequencies;
    } else {  // the numbers of the other layers, in a head of this size
      bool const is_whole = theirs->frequencies.at(1).rotary_dim() == other.head_dim;
      auto const f = is_whole && theirs->rule != "longrope" ? reread(model, other, layer.head_dim)
                                                            : std::nullopt;
      if (!f) continue;
      wrong.frequencies = *f;
    }
    auto const pairs = wrong.frequencies.at(1).pairs();
    if (wrong.axes && wrong.axes->pairs() != pairs) wrong.axes.reset();
    if (wrong.block.first_dim(layer.head_dim, 0) + 2 * pairs > layer.head_dim)
      wrong.block = posenc::rotary_block::first();
    return made_mistake{"frequencies are those of " + other.name, with(layer, wrong)};
  }
  return {};
}

made ramp_rounded(model_description const& model, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || setting(*rotary, "truncate") != "false") return {};
  auto const f = reread(model, layer, layer.head_dim, {"truncate", true});
  if (!f) return {};
  return made_mistake{"YaRN's ramp is rounded to whole pairs, where truncate is false",
                      with(layer, f->at(1))};
}

made other_list(model_description const& model, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || !rotary->frequencies.depends_on_length() || rotary->rule != "longrope")
    return {};
  auto const longest = model.context.value_or(std::size_t{1} << 20);
  return made_mistake{"LongRoPE's long list serves short sequences too",
                      with(layer, rotary->frequencies.at(longest))};
}

// ---- Dims

/// The dims that rotate, if they are the first ones and the others have no position.
std::size_t partial_dims(layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr) return 0;
  auto const dims = rotary->frequencies.at(1).rotary_dim();
  bool const is_first = rotary->block.first_dim(layer.head_dim, dims) == 0;
  return is_first && dims < layer.head_dim && layer.head_dim % 2 == 0 ? dims : 0;
}

/// The rule of a part of the head, on the whole head. A list of factors goes on with its last one.
posenc::frequencies_by_length on_whole_head(model_description const& model,
                                            layer_description const& layer) {
  auto const& rotary = layer.rotary.front();
  if (rotary.rule != "longrope")
    if (auto const read = reread(model, layer, layer.head_dim, {"partial_rotary_factor", 1.0}))
      return *read;
  auto const base = *base_of(rotary);
  return posenc::frequencies_by_length(
      [=, right = rotary.frequencies, dims = layer.head_dim](std::size_t length) {
        auto const f = right.at(length);
        auto const part = posenc::geometric(f.rotary_dim(), base),
                   whole = posenc::geometric(dims, base);
        std::vector<double> changed(whole.inv_freq().begin(), whole.inv_freq().end());
        for (std::size_t i = 0; i < changed.size(); ++i) {
          auto const listed = std::min(i, f.pairs() - 1);
          changed[i] *= f.inv_freq()[listed] / part.inv_freq()[listed];
        }
        return frequencies(changed, f.attention_factor());
      });
}

made on_other_dims(layer_description const& layer, posenc::frequencies_by_length f,
                   std::string const& says) {
  auto wrong = layer.rotary.front();
  wrong.frequencies = std::move(f);
  wrong.axes.reset();
  return made_mistake{says, with(layer, wrong)};
}

made partial_ignored(model_description const& model, layer_description const& layer) {
  if (partial_dims(layer) == 0) return {};
  return on_other_dims(layer, on_whole_head(model, layer), "the whole head rotates");
}

made p_rope_for_partial(model_description const& model, layer_description const& layer) {
  auto const pairs = partial_dims(layer) / 2;
  if (pairs == 0) return {};
  posenc::frequencies_by_length const f(
      [whole = on_whole_head(model, layer), pairs](std::size_t length) {
        auto const all = whole.at(length);
        std::vector<double> kept(all.inv_freq().begin(), all.inv_freq().end());
        std::fill(kept.begin() + static_cast<std::ptrdiff_t>(pairs), kept.end(), 0.0);
        return frequencies(kept, all.attention_factor());
      });
  return on_other_dims(layer, f,
                       "p-RoPE: frequencies and pairs of the whole head, the slow ones at rest");
}

made p_rope_ignored(model_description const& model, layer_description const& layer) {
  if (moving(layer).empty()) return {};
  auto wrong = layer.rotary.front();
  auto const dims = wrong.frequencies.at(1).rotary_dim();
  auto const read = reread(model, layer, layer.head_dim, {"partial_rotary_factor", 1.0});
  wrong.frequencies = read ? *read : posenc::geometric(dims, *base_of(wrong));
  return made_mistake{"all pairs rotate, the slow ones too", with(layer, wrong)};
}

made partial_for_p_rope(model_description const&, layer_description const& layer) {
  auto const dims = 2 * moving(layer).size();
  if (dims == 0) return {};
  return made_mistake{
      "partial rotary: the first " + std::to_string(dims) + " dims have a whole series",
      with(layer, posenc::geometric(dims, *base_of(layer.rotary.front())))};
}

made pairs_of_partial(model_description const&, layer_description const& layer) {
  auto const f = moving(layer);
  if (f.empty()) return {};
  return made_mistake{
      "p-RoPE's frequencies, on the first " + std::to_string(2 * f.size()) + " dims alone",
      with(layer, frequencies(f))};
}

made halves_for_interleaved(model_description const&, layer_description const& layer) {
  auto wrong = layer;
  bool is_one = false;
  for (auto& rotary : wrong.rotary) {
    is_one = is_one || is_interleaved(rotary);
    rotary.layout = posenc::halves();
  }
  if (!is_one) return {};
  return made_mistake{"pairs are halves, where these are interleaved", wrong};
}

// ---- Axes

bool has_axes(layer_description const& layer) {
  return std::ranges::any_of(layer.rotary,
                             [](auto const& r) { return r.axes && r.axes->axes() > 1; });
}

made sections_for_alternating(model_description const&, layer_description const& layer) {
  auto wrong = layer;
  bool is_other = false;
  for (auto& rotary : wrong.rotary) {
    if (!rotary.axes || rotary.axes->axes() < 2) continue;
    std::vector<std::size_t> sections(rotary.axes->axes(), 0);
    for (std::size_t i = 0; i < rotary.axes->pairs(); ++i) ++sections[rotary.axes->axis(i)];
    auto const sorted = posenc::contiguous_axes(sections);
    is_other = is_other || sorted != *rotary.axes;
    rotary.axes = sorted;
  }
  if (!is_other) return {};
  return made_mistake{"M-RoPE's axes lie in sections, where these take turns; in an image", wrong,
                      place::image};
}

made axes_ignored(model_description const&, layer_description const& layer) {
  if (!has_axes(layer)) return {};
  auto wrong = layer;
  for (auto& rotary : wrong.rotary) rotary.axes.reset();
  return made_mistake{"an image's tokens have positions of text", wrong, place::flat_image};
}

// ---- Scores

made factor_missing(model_description const&, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || rotary->frequencies.at(1).attention_factor() == 1) return {};
  auto wrong = *rotary;
  wrong.frequencies = posenc::frequencies_by_length([right = rotary->frequencies](std::size_t n) {
    return right.at(n).with_attention_factor(1);
  });
  return made_mistake{
      "the attention factor " + shown(rotary->frequencies.at(1).attention_factor()) + " is lost",
      with(layer, wrong)};
}

made factor_of_plain_yarn(model_description const&, layer_description const& layer) {
  auto const* const rotary = text_rotation(layer);
  if (rotary == nullptr || rotary->rule != "yarn") return {};
  auto const f = rotary->frequencies.at(1);
  auto const plain = 0.1 * std::log(std::strtod(setting(*rotary, "factor").c_str(), nullptr)) + 1;
  if (!(plain > 1) || std::abs(plain - f.attention_factor()) < 1e-6) return {};
  return made_mistake{"the attention factor is 0.1 ln(factor) + 1, " + shown(plain) +
                          ", where it is " + shown(f.attention_factor()),
                      with(layer, f.with_attention_factor(plain))};
}

made nope_rotated(model_description const& model, layer_description const& layer) {
  bool const is_nope =
      layer.rotary.empty() && layer.head_dim != 0 && !layer.alibi && !layer.buckets;
  if (!is_nope) return {};
  for (auto const& other : model.kinds) {
    if (other.rotary.empty() || other.head_dim != layer.head_dim) continue;
    auto wrong = layer;
    wrong.rotary = other.rotary;
    return made_mistake{"layers without RoPE rotate as " + other.name, wrong};
  }
  return {};
}

made alibi_missing(model_description const&, layer_description const& layer) {
  if (!layer.alibi) return {};
  auto wrong = layer;
  wrong.alibi.reset();
  return made_mistake{"ALiBi's bias is left out", wrong, place::text, measure::slopes};
}

made one_series_of_slopes(model_description const&, layer_description const& layer) {
  if (!layer.alibi || std::has_single_bit(layer.alibi->heads)) return {};
  return made_mistake{
      "slopes of " + std::to_string(layer.alibi->heads) + " heads by the formula for a power of 2",
      layer, place::text, measure::slopes};
}

made angles_in_float(model_description const&, layer_description const& layer) {
  if (layer.rotary.empty()) return {};
  return made_mistake{"angles are formed in float32", layer, place::text, measure::float_angles};
}

}  // namespace

std::vector<known_mistake> const& known_mistakes() {
  static std::vector<known_mistake> const all = [] {
    std::vector<known_mistake> list{
        {"theta-lost", {"deepspeedai/DeepSpeed#8345", "vllm-project/vllm#9503"}, theta_lost},
        {"rule-missing", {"unslothai/unsloth#6197", "Blaizzy/mlx-vlm#1709"}, rule_missing},
        {"frequencies-of-other-layers",
         {"ggml-org/llama.cpp#14367", "antonellof/ferrox#39"},
         frequencies_of_others},
        {"partial-for-p-rope", {"pegainfer-project/pegainfer#820"}, partial_for_p_rope},
        {"pairs-of-partial",
         {"NVIDIA-NeMo/Megatron-Bridge#4195", "apple/coreai-models#66"},
         pairs_of_partial},
        {"p-rope-ignored", {"jagmarques/nexusquant#12"}, p_rope_ignored},
        {"p-rope-for-partial", {"pie-project/pie#603"}, p_rope_for_partial},
        {"partial-ignored",
         {"AI-Hypercomputer/maxtext#4616", "vllm-project/speculators#649"},
         partial_ignored},
        {"halves-for-interleaved",
         {"vllm-project/vllm#941", "vllm-project/vllm-ascend#12765"},
         halves_for_interleaved},
        {"sections-for-alternating",
         {"alibaba/MNN#4133", "vllm-project/vllm-gaudi#1437"},
         sections_for_alternating},
        {"axes-ignored", {"ml-explore/mlx-lm#1768"}, axes_ignored},
        {"factor-missing", {"NVIDIA/TensorRT-Model-Connect#400"}, factor_missing},
        {"factor-of-plain-yarn", {"vllm-project/vllm#46280"}, factor_of_plain_yarn},
        {"ramp-rounded", {"sgl-project/sglang#14270", "vllm-project/vllm#28244"}, ramp_rounded},
        {"other-list", {"lablup/mlxcel#1358", "ggml-org/llama.cpp#24875"}, other_list},
        {"nope-rotated", {"timtoole02/Camelid#535", "airockchip/rknn-llm#501"}, nope_rotated},
        {"alibi-missing", {"EricLBuehler/mistral.rs#1382"}, alibi_missing},
        {"one-series-of-slopes", {"ml-explore/mlx#3071"}, one_series_of_slopes},
    };
    auto const& of_attention = attention_mistakes();
    list.insert(list.end(), of_attention.begin(), of_attention.end());
    return list;
  }();
  return all;
}

known_mistake const& float_angles() {
  static known_mistake const one{"angles-in-float", {}, angles_in_float};
  return one;
}

double plain_slope(posenc::alibi_bias const& alibi, std::size_t head) {
  return alibi.factor * std::exp2(-alibi.max_bias * static_cast<double>(head + 1) /
                                  static_cast<double>(alibi.heads));
}

std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, number == std::round(number) ? "%.0f" : "%.6g", number);
  return text;
}

std::optional<double> base_of(rotary_description const& rotary) {
  auto const text = setting(rotary, "rope_theta");
  return text.empty() ? std::nullopt : std::optional(std::strtod(text.c_str(), nullptr));
}
bool is_interleaved(rotary_description const& rotary) {
  return std::holds_alternative<posenc::interleaved>(rotary.layout);
}
bool is_standing(double inv_freq) { return inv_freq < 1e-20; }

}  // namespace verdicts
