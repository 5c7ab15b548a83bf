// What a GGUF file needs beside a model_description, and what an architecture needs of both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf/architecture.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc::inline POSENC_TARGET {

/// What a GGUF file must hold and a model_description does not. What is not given is assumed, and a
/// note says so.
struct gguf_surroundings {
  std::size_t heads;                          ///< attention.head_count
  std::optional<std::size_t> kv_heads = {};   ///< attention.head_count_kv: heads
  std::optional<std::size_t> embedding = {};  ///< embedding_length: heads * head_dim
  std::optional<std::size_t> context = {};    ///< context_length: the model's, if that has one
  bool nearest = false;  ///< frequencies and attention factor may differ, and a note says how
};

namespace detail {

inline void require_heads(model_description const& model, gguf_surroundings const& around) {
  constexpr std::size_t most = 65'536;  // as read_gguf has it
  auto const heads = around.heads, kv_heads = around.kv_heads.value_or(heads);
  require(0 < heads && heads <= most, "write_gguf: heads must be from 1 to ", most, ", got ",
          heads);
  require(0 < kv_heads && heads % kv_heads == 0, "write_gguf: kv_heads must divide the ", heads,
          " heads, got ", kv_heads);
  for (auto const& kind : model.kinds) {
    if (!kind.alibi) continue;
    require(kind.alibi->heads == heads, "write_gguf: heads must be the ", kind.alibi->heads,
            " that ALiBi has, got ", heads);
  }
}

/// What llama.cpp requires for an architecture, and a model may lack.
inline void require_what_it_needs(gguf_architecture const& known, model_description const& model) {
  auto const some = [&](auto const& holds) { return std::ranges::any_of(model.kinds, holds); };
  if (!some([](auto const& kind) { return kind.head_dim != 0; })) return;
  auto const have = [&](bool is_needed, std::string_view what, auto const& holds) {
    require(!is_needed || some(holds), "write_gguf: for ", known.name, " the model must have ",
            what, ", got none");
  };
  have(known.rope == gguf_rope_type::mrope || known.rope == gguf_rope_type::imrope,
       "pairs with axes, for rope.dimension_sections",
       [](auto const& kind) { return kind.rotary.size() == 1 && kind.rotary[0].axes; });
  have(known.buckets, "relative buckets",
       [](auto const& kind) { return kind.buckets.has_value(); });
  have(known.index.used && known.index.pooled == 0 && !known.index.after_dense,
       "heads that choose keys", [](auto const& kind) { return kind.index.has_value(); });
}

}  // namespace detail
}  // namespace posenc
