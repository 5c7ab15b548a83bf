// How one kind of layers rotates queries and keys, by the keys of a GGUF file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "posenc/core/target.hpp"
#include "posenc/model/axis_sections.hpp"
#include "posenc/model/gguf/config.hpp"
#include "posenc/model/gguf/rope_rule.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

class gguf_rotation {
 public:
  /// `kind` has its head_dim already.
  gguf_rotation(gguf_config& config, bool slides, layer_description& kind)
      : config_(config), known_(config.architecture), slides_(slides), kind_(kind) {}

  void read() {
    auto const dim = rotary_dim();
    auto result = gguf_rope_rule(config_, slides_, dim).read();
    kind_.softmax_factor *= result.mscale_factor;
    rotary_description rotary{.rule = std::move(result.rule),
                              .frequencies = std::move(result.frequencies),
                              .layout = halves(),
                              .has_pair_factors = result.has_pair_factors,
                              .axes = axes(dim / 2),
                              .parameters = std::move(result.parameters)};
    if (known_.rope == gguf_rope_type::norm && !rotary.axes) rotary.layout = interleaved();
    if (known_.last_dims) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
  }

 private:
  std::size_t rotary_dim() {
    if (known_.whole_head) return kind_.head_dim;
    auto const all = config_.count("rope.dimension_count", 1, gguf_most_dims);
    auto const local = config_.count("rope.dimension_count_swa", 1, gguf_most_dims);
    auto const name = slides_ && local ? "rope.dimension_count_swa"
                      : all            ? "rope.dimension_count"
                                       : "attention.key_length";
    auto const given = slides_ && local ? *local : all.value_or(kind_.head_dim);
    auto const dim = known_.half_on_full && !slides_ ? given / 2 : given;
    config_.file.require(
        dim % 2 == 0 && dim <= kind_.head_dim, config_.key(name),
        "give an even number of rotary dims within the " + shown(kind_.head_dim) + " of a head");
    return dim;
  }

  std::optional<pair_axes> axes(std::size_t pairs) {
    bool const interleave = known_.rope == gguf_rope_type::imrope;
    bool const needs_sections = interleave || known_.rope == gguf_rope_type::mrope;
    if (!config_.reads("rope.dimension_sections")) return {};
    auto const key = config_.key("rope.dimension_sections");
    auto const given = config_.file.numbers(key);
    if (needs_sections && !given) config_.file.refuse(key, "be given");
    if (!given) return {};

    auto const where = config_.file.file() + ": " + key;
    auto sections = axis_sections(where, *given);
    bool const has_all = sections.size() == 3 || sections.size() == 4;
    config_.file.require(has_all, key, "have 3 or 4 sections");
    bool const has_axes = sections[0] != 0 && sections[1] != 0;  // llama_hparams::use_mrope
    if (!has_axes && !needs_sections) return {};
    if (sections.size() == 4 && sections.back() == 0) sections.pop_back();
    auto result = axes_of(where, sections, pairs, interleave);

    bool differs = false;
    for (std::size_t i = 0; interleave && i < pairs; ++i) differs |= i >= 3 * sections[i % 3];
    if (differs) {
      config_.note(
          "Pairs beyond the section of their axis take the first axis, as in the model's own code. "
          "ggml has a fourth axis for them.");
    }
    return result;
  }

  gguf_config& config_;
  gguf_architecture const& known_;
  bool slides_;
  layer_description& kind_;
};

}  // namespace detail
}  // namespace posenc
