#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "mistakes.hpp"

namespace verdicts {
namespace {

using posenc::both_ways;
using posenc::layer_description;
using posenc::model_description;
using made = std::optional<made_mistake>;

/// The layer after a change.
made changed(layer_description layer, measure by, std::string says, auto const& change) {
  change(layer);
  return made_mistake{.says = std::move(says), .wrong = std::move(layer), .by = by};
}

/// Another kind of layers with attention for which this holds.
layer_description const* other_kind(model_description const& model, layer_description const& layer,
                                    auto const& holds) {
  for (auto const& other : model.kinds)
    if (other.layers != layer.layers && other.head_dim != 0 && holds(other)) return &other;
  return nullptr;
}

// ---- Scores

made score_factor_missing(model_description const&, layer_description const& layer) {
  if (layer.softmax_factor == 1) return {};
  return changed(layer, measure::score,
                 "scores lack the model's factor " + shown(layer.softmax_factor),
                 [](auto& x) { x.softmax_factor = 1; });
}

bool is_divided(layer_description const& layer) {
  auto const dims = static_cast<double>(layer.head_dim);
  return layer.head_dim != 0 && layer.softmax_factor != std::sqrt(dims);
}

/// Scores divided by the root of another number of dims.
made divided_by(layer_description const& layer, std::size_t dims, std::string const& which) {
  auto const head = layer.head_dim;
  return changed(layer, measure::score,
                 "scores are divided by sqrt(" + std::to_string(dims) + "), " + which +
                     ", where the head has " + std::to_string(head) + " dims",
                 [&](auto& x) {
                   x.softmax_factor *=
                       std::sqrt(static_cast<double>(head) / static_cast<double>(dims));
                 });
}

made scale_of_padded_head(model_description const&, layer_description const& layer) {
  auto const padded = std::bit_ceil(layer.head_dim);
  if (!is_divided(layer) || padded == layer.head_dim) return {};
  return divided_by(layer, padded, "to which a kernel pads");
}

made scale_of_unrotated_dims(model_description const&, layer_description const& layer) {
  if (!is_divided(layer) || layer.rotary.size() != 1) return {};
  auto const& rotary = layer.rotary.front();
  auto const dims = rotary.frequencies.at(1).rotary_dim();
  auto const before = rotary.block.first_dim(layer.head_dim, dims);
  if (before == 0 || before + dims != layer.head_dim) return {};
  return divided_by(layer, before, "the dims that do not rotate");
}

made groups_modulo(model_description const&, layer_description const& layer) {
  auto const keys = layer.key_heads;
  if (keys < 2 || layer.heads <= keys || layer.heads % keys != 0) return {};
  return changed(layer, measure::heads,
                 "head h reads the keys of head h % " + std::to_string(keys) + ", not of h / " +
                     std::to_string(layer.heads / keys),
                 [](auto&) {});
}

made temperature_missing(model_description const&, layer_description const& layer) {
  if (!layer.temperature) return {};
  return changed(layer, measure::score, "scores lack the temperature of the query's position",
                 [](auto& x) { x.temperature.reset(); });
}

made cap_missing(model_description const&, layer_description const& layer) {
  if (!layer.score_cap) return {};
  auto const cap = *layer.score_cap;
  return changed(
      layer, measure::cap,
      "no cap: a score of " + shown(cap) + " stays, where it becomes " + shown(cap * std::tanh(1)),
      [](auto& x) { x.score_cap.reset(); });
}

made cap_after_mask(model_description const&, layer_description const& layer) {
  if (!layer.score_cap) return {};
  return changed(layer, measure::keys,
                 "the cap comes after the mask: a masked key has a score of -" +
                     shown(*layer.score_cap) + ", and is seen",
                 [](auto& x) {
                   x.window.reset(), x.ahead.reset(), x.chunk.reset();
                   x.both_ways = both_ways::none;
                 });
}

made sinks_missing(model_description const&, layer_description const& layer) {
  if (!layer.sinks) return {};
  return changed(layer, measure::sinks, "no sink: the weights of keys sum to 1",
                 [](auto& x) { x.sinks = false; });
}

made sinks_with_values(model_description const&, layer_description const& layer) {
  if (!layer.sinks) return {};
  return changed(layer, measure::sinks, "the sink is a key with a value, where it has none",
                 [](auto& x) { x.sinks = false; });
}

made sinks_in_all_layers(model_description const& model, layer_description const& layer) {
  auto const* const other =
      layer.sinks ? nullptr : other_kind(model, layer, [](auto const& x) { return x.sinks; });
  if (other == nullptr) return {};
  return changed(layer, measure::sinks, "a sink, which " + other->name + " alone has",
                 [](auto& x) { x.sinks = true; });
}

// ---- The mask

bool have_same_mask(layer_description const& a, layer_description const& b) {
  return a.window == b.window && a.ahead == b.ahead && a.chunk == b.chunk &&
         a.both_ways == b.both_ways;
}
void take_mask(layer_description& to, layer_description const& from) {
  to.window = from.window, to.ahead = from.ahead, to.chunk = from.chunk;
  to.both_ways = from.both_ways;
}

/// As many keys after the query as before it, and not all.
bool has_two_sides(layer_description const& layer) {
  return layer.window && layer.ahead && *layer.ahead != 0 && *layer.ahead + 1 == *layer.window;
}

/// Another window; if it has two sides, on both.
made other_window(layer_description const& layer, std::optional<std::size_t> window,
                  std::string const& says) {
  return changed(layer, measure::keys, says, [&](auto& x) {
    if (has_two_sides(x)) x.ahead = window ? std::optional(*window - 1) : std::nullopt;
    x.window = window;
  });
}
std::string shown_window(layer_description const& layer, std::size_t window) {
  return has_two_sides(layer) ? std::to_string(window - 1) + " tokens to either side"
                              : std::to_string(window) + " tokens";
}

made window_missing(model_description const&, layer_description const& layer) {
  if (!layer.window) return {};
  return other_window(layer, {}, "no window, where it is of " + shown_window(layer, *layer.window));
}
made window_of(layer_description const& layer, std::size_t window) {
  return other_window(layer, window,
                      "the window has " + shown_window(layer, window) + ", not " +
                          std::to_string(*layer.window - has_two_sides(layer)));
}
made window_one_larger(model_description const&, layer_description const& layer) {
  return layer.window ? window_of(layer, *layer.window + 1) : std::nullopt;
}
made window_one_smaller(model_description const&, layer_description const& layer) {
  return layer.window && *layer.window > 1 ? window_of(layer, *layer.window - 1) : std::nullopt;
}
made window_doubled(model_description const&, layer_description const& layer) {
  return has_two_sides(layer) ? window_of(layer, 2 * *layer.window - 1) : std::nullopt;
}

made window_on_both_sides(model_description const&, layer_description const& layer) {
  if (!layer.window || layer.ahead != 0) return {};
  return changed(layer, measure::keys, "the window lies on both sides of the query",
                 [](auto& x) { x.ahead = *x.window - 1; });
}

bool is_limited(layer_description const& layer) { return layer.window || layer.chunk; }

made window_in_all_layers(model_description const& model, layer_description const& layer) {
  auto const* const other = is_limited(layer) ? nullptr : other_kind(model, layer, is_limited);
  if (other == nullptr) return {};
  auto const what = other->window ? "a window of " + shown_window(*other, *other->window)
                                  : "chunks of " + std::to_string(*other->chunk) + " tokens";
  return changed(layer, measure::keys, what + ", as in " + other->name,
                 [&](auto& x) { take_mask(x, *other); });
}

/// A pattern of layers that begins one early: each layer has the mask of the next.
made masks_of_next_layers(model_description const& model, layer_description const& layer) {
  made result;
  for (auto const index : layer.layers) {
    if (index + 1 >= model.layers) continue;
    auto const& next = model.kind_of(index + 1);
    bool const is_other = next.head_dim != 0 && !have_same_mask(next, layer) &&
                          (is_limited(next) || is_limited(layer));
    if (!is_other || (result && !have_same_mask(next, result->wrong))) continue;
    if (!result) {
      result = changed(layer, measure::keys,
                       "the pattern of layers begins one early: each sees what the next should",
                       [&](auto& x) { take_mask(x, next); });
      result->wrong.layers.clear();
    }
    result->wrong.layers.push_back(index);
  }
  return result;
}

made chunk_missing(model_description const&, layer_description const& layer) {
  if (!layer.chunk) return {};
  return changed(
      layer, measure::keys,
      "no chunks, where a query sees its own of " + std::to_string(*layer.chunk) + " tokens",
      [](auto& x) { x.chunk.reset(); });
}

made causal_for_both(model_description const&, layer_description const& layer) {
  if (layer.ahead == 0) return {};
  return changed(layer, measure::keys, "later keys are hidden, where these layers see both sides",
                 [](auto& x) { x.ahead = 0; });
}

std::string shown_blocks(both_ways which) {
  return which == both_ways::prefix ? "those of the prompt" : "those of one image";
}

made causal_missing(model_description const&, layer_description const& layer) {
  if (layer.both_ways == both_ways::none || layer.ahead != 0) return {};
  return changed(layer, measure::keys,
                 "all tokens see later ones, where " + shown_blocks(layer.both_ways) + " alone do",
                 [](auto& x) {
                   x.ahead = x.window ? std::optional(*x.window - 1) : std::nullopt;
                   x.both_ways = both_ways::none;
                 });
}

made with_blocks(layer_description const& layer, both_ways which, std::string const& says) {
  return changed(layer, measure::keys, says, [&](auto& x) { x.both_ways = which; });
}
bool sees_images(layer_description const& layer) {
  return layer.both_ways == both_ways::image || layer.both_ways == both_ways::image_within_window;
}
made both_ways_missing(model_description const&, layer_description const& layer) {
  if (layer.both_ways == both_ways::none) return {};
  return with_blocks(layer, both_ways::none,
                     std::string("later tokens of ") +
                         (sees_images(layer) ? "one image" : "the prompt") + " are hidden");
}
made images_beyond_window(model_description const&, layer_description const& layer) {
  if (layer.both_ways != both_ways::image_within_window || !layer.window) return {};
  return with_blocks(layer, both_ways::image, "an image's tokens see each other past the window");
}
made window_cuts_images(model_description const&, layer_description const& layer) {
  if (layer.both_ways != both_ways::image || !layer.window) return {};
  return with_blocks(layer, both_ways::image_within_window,
                     "the window cuts an image, where its tokens all see each other");
}
made images_in_all_layers(model_description const& model, layer_description const& layer) {
  bool const is_causal = layer.both_ways == both_ways::none && layer.ahead == 0;
  auto const* const other = is_causal ? other_kind(model, layer, sees_images) : nullptr;
  if (other == nullptr) return {};
  return with_blocks(layer, both_ways::image,
                     "images see both ways here too, where " + other->name + " alone does so");
}

}  // namespace

std::vector<known_mistake> const& attention_mistakes() {
  static std::vector<known_mistake> const all{
      {"score-factor-missing",
       {"onnxruntime/mobius#548", "antonellof/ferrox#65"},
       score_factor_missing},
      {"scale-of-padded-head", {"intel/ipex-llm#12619"}, scale_of_padded_head},
      {"scale-of-other-dims",
       {"ollama/ollama#13893", "NVIDIA/Megatron-LM#1501"},
       scale_of_unrotated_dims},
      {"groups-modulo", {"onnx/onnx#7274", "HazyResearch/HipKittens#22"}, groups_modulo},
      {"temperature-missing",
       {"antonellof/ferrox#213", "AI-Hypercomputer/maxtext#1611"},
       temperature_missing},
      {"cap-missing",
       {"vllm-project/vllm-metal#665", "AI-Hypercomputer/maxtext#1022"},
       cap_missing},
      {"cap-after-mask", {"ggml-org/llama.cpp#29034", "onnx/onnx#7865"}, cap_after_mask},
      {"sinks-missing", {"vllm-project/vllm#52156", "vllm-project/vllm#49815"}, sinks_missing},
      {"sinks-with-values", {}, sinks_with_values},
      {"sinks-in-all-layers", {}, sinks_in_all_layers},
      {"window-missing", {"Lightning-AI/litgpt#1598", "proger/hippogriff#7"}, window_missing},
      {"window-one-larger",
       {"NVIDIA-NeMo/Megatron-Bridge#2656", "sgl-project/sglang#26147"},
       window_one_larger},
      {"window-one-smaller", {"lightseekorg/tokenspeed#578"}, window_one_smaller},
      {"window-doubled",
       {"keras-team/keras-hub#2518", "huggingface/transformers#39408"},
       window_doubled},
      {"window-on-both-sides", {"ModelTC/LightLLM#1311"}, window_on_both_sides},
      {"window-in-all-layers",
       {"vllm-project/vllm#21863", "InternLM/lmdeploy#3772"},
       window_in_all_layers},
      {"masks-of-next-layers", {"NVIDIA-NeMo/Megatron-Bridge#4875"}, masks_of_next_layers},
      {"chunk-missing", {"vllm-project/vllm-gaudi#809"}, chunk_missing},
      {"causal-for-both",
       {"huggingface/sentence-transformers#3725", "sgl-project/sglang#35434"},
       causal_for_both},
      {"causal-missing",
       {"huggingface/transformers#30918", "unslothai/unsloth-zoo#963"},
       causal_missing},
      {"both-ways-missing",
       {"vllm-project/vllm-gaudi#1797", "huggingface/transformers#39389",
        "ggml-org/llama.cpp#7553"},
       both_ways_missing},
      {"images-beyond-window", {"huggingface/transformers#46850"}, images_beyond_window},
      {"window-cuts-images", {"huggingface/transformers#38295"}, window_cuts_images},
      {"images-in-all-layers",
       {"ggml-org/llama.cpp#28318", "huggingface/transformers#46711"},
       images_in_all_layers},
  };
  return all;
}

}  // namespace verdicts
