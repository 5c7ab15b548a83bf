// How one kind of layers rotates queries and keys, by the keys of a GGUF file.
#pragma once

#include "posenc/model/gguf/rope_keys.hpp"

namespace posenc::inline POSENC_TARGET::detail {

class gguf_rotation : gguf_rope_rule {
 public:
  using gguf_rope_rule::gguf_rope_rule;

  void read() {
    dim_ = rotary_dim();
    auto rotary = read_rule();
    rotary.axes = axes();
    if (known_.rope == gguf_rope_type::norm && !rotary.axes) rotary.layout = interleaved();
    if (known_.last_dims) rotary.block = rotary_block::last();
    kind_.rotary.push_back(std::move(rotary));
  }

 private:
  std::size_t rotary_dim() const {
    if (known_.whole_head) return kind_.head_dim;
    auto const all = config_.count("rope.dimension_count", most_dims);
    auto const local = config_.count("rope.dimension_count_swa", most_dims);
    bool const is_local = slides_ && local;
    auto const given = is_local ? *local : all.value_or(kind_.head_dim);
    auto const dim = known_.half_on_full && !slides_ ? given / 2 : given;
    config_.require(
        dim % 2 == 0 && dim <= kind_.head_dim,
        is_local ? "rope.dimension_count_swa"
        : all    ? "rope.dimension_count"
                 : "attention.key_length",
        "give an even number of rotary dims within the " + shown(kind_.head_dim) + " of a head");
    return dim;
  }

  /// The axis of each pair, where rope.dimension_sections are given or needed.
  std::optional<pair_axes> axes() {
    constexpr auto name = "rope.dimension_sections";
    auto const pairs = dim_ / 2;
    bool const interleave = known_.rope == gguf_rope_type::imrope;
    bool const needed = interleave || known_.rope == gguf_rope_type::mrope;
    if (!config_.reads(name)) return {};
    auto const given = config_.file.numbers(config_.key(name));
    config_.require(given || !needed, name, "be given");
    if (!given) return {};
    auto const where = config_.file.file() + ": " + config_.key(name);
    auto sections = axis_sections(where, *given);
    config_.require(sections.size() == 3 || sections.size() == 4, name, "have 3 or 4 sections");
    bool const has_axes = sections[0] != 0 && sections[1] != 0;  // llama_hparams::use_mrope
    if (!has_axes && !needed) return {};
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
};

}  // namespace posenc::detail
