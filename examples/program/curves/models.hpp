// Real models, as far as their positional encoding goes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace curves {

struct model {
  std::string_view name;  ///< as --model takes it
  std::string_view says;  ///< what the model itself does
  std::string_view own;   ///< and which encoding that is, by its name in --encodings
  std::size_t head_dim, heads;
  std::size_t rotary_dim;  ///< how much of a head RoPE rotates
  double base;             ///< of the geometric series of frequencies
  double factor;           ///< positions are interpolated by it
  double p;             ///< fraction of the frequencies that p-RoPE keeps; 0 if the model is none
  std::size_t context;  ///< in tokens
};

// From the configurations that the models were published with.
inline constexpr std::array models{
    model{"llama-2-7b", "RoPE", "rope", 128, 32, 128, 1e4, 1, 0, 4096},
    model{"gemma-4-31b", "p-RoPE 0.25 in every sixth layer", "p-rope", 512, 32, 512, 1e6, 1, 0.25,
          262144},
    model{"gemma-4-31b-local", "RoPE within a window of 1024, in the other layers", "rope", 256, 32,
          256, 1e4, 1, 0, 1024},
    model{"gemma-4-26b-a4b", "p-RoPE 0.25 in every sixth layer", "p-rope", 512, 16, 512, 1e6, 1,
          0.25, 262144},
    model{"gemma-3-27b", "RoPE, interpolated by 8, in every sixth layer", "rope", 128, 32, 128, 1e6,
          8, 0, 131072},
    model{"gemma-3-27b-local", "RoPE within a window of 1024, in the other layers", "rope", 128, 32,
          128, 1e4, 1, 0, 1024},
    model{"gpt-j-6b", "RoPE on the first 64 of 256 dims", "rope", 256, 16, 64, 1e4, 1, 0, 2048},
    model{"gpt-neox-20b", "RoPE on the first 24 of 96 dims", "rope", 96, 64, 24, 1e4, 1, 0, 2048},
    model{"qwen3-vl-8b", "RoPE (of text; three axes for images)", "rope", 128, 32, 128, 5e6, 1, 0,
          262144},
    model{"qwen3.5-27b", "RoPE on the first 64 of 256 dims", "rope", 256, 24, 64, 1e7, 1, 0,
          262144},
    model{"mimo-v2-flash", "RoPE on the first 64 of 192 dims", "rope", 192, 64, 64, 5e6, 1, 0,
          131072},
    model{"command-r7b", "RoPE in layers of window 4096, NoPE in the others", "rope", 128, 32, 128,
          5e4, 1, 0, 4096},
    model{"bloom-176b", "ALiBi", "alibi", 128, 112, 128, 1e4, 1, 0, 2048},
    model{"baichuan2-13b", "ALiBi", "alibi", 128, 40, 128, 1e4, 1, 0, 4096},
    model{"mpt-7b", "ALiBi", "alibi", 128, 32, 128, 1e4, 1, 0, 2048},
};

}  // namespace curves
