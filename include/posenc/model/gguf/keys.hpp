// Keys of GGUF files that llama.cpp reads for some architectures and not for others.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Groups of such keys, as bits: gguf_architecture::reads.
enum gguf_group : unsigned {
  yarn_betas = 1u << 0,
  yarn_ext_factor = 1u << 1,
  yarn_log_multiplier = 1u << 2,
};

struct gguf_key {
  std::string_view name;
  unsigned group;
};

/// From llama.cpp @ 1425386f: the calls of get_key in load_arch_hparams.
inline constexpr std::array gguf_keys_of_some{
    gguf_key{"rope.scaling.yarn_beta_fast", yarn_betas},
    gguf_key{"rope.scaling.yarn_beta_slow", yarn_betas},
    gguf_key{"rope.scaling.yarn_ext_factor", yarn_ext_factor},
    gguf_key{"rope.scaling.yarn_attn_factor", yarn_ext_factor},
    gguf_key{"rope.scaling.yarn_log_multiplier", yarn_log_multiplier},
};

/// The group of a key; 0: each architecture reads it, or none does.
constexpr unsigned gguf_group_of(std::string_view name) {
  auto const* const found = std::ranges::find(gguf_keys_of_some, name, &gguf_key::name);
  return found == gguf_keys_of_some.end() ? 0 : found->group;
}

}  // namespace detail
}  // namespace posenc
