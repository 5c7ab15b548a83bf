// The C API: the frequencies of a model's layer, and its slopes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/c/detail/handles.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/score/alibi.hpp"
#if defined(POSENC_KERNELS_MODEL)
#include "posenc/model/hugging_face/read_model.hpp"
#endif

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

#if defined(POSENC_KERNELS_MODEL)

inline void describe(char const* file, size_t layer, size_t length, posenc1_layer* description,
                     posenc1_frequencies** result) {
  auto const model = [&] {
    try {
      return read_model(file);
    } catch (std::invalid_argument const& error) {  // which speaks to C++
      std::string sentence = error.what();
      constexpr std::string_view hint = ", unless unknown_model::as_llama is asked for";
      if (auto const at = sentence.find(hint); at != sentence.npos) sentence.erase(at, hint.size());
      throw std::invalid_argument(sentence);
    }
  }();
  auto const& kind = model.kind_of(layer);
  require(kind.rotary.size() <= 1,
          "posenc1_frequencies_of_model: a layer must rotate one block of each head, got ",
          kind.rotary.size(), "; posenc/model/ in C++ has each");
  auto const separable = kind.key_bias_is_separable();
  posenc1_layer found{.layout = POSENC1_UNROTATED,
                      .first_dim = 0,
                      .rotary_dim = 0,
                      .head_dim = kind.head_dim,
                      .behind = kind.window.value_or(0),
                      .ahead = kind.ahead ? *kind.ahead : POSENC1_ALL_AHEAD,
                      .chunk = kind.chunk.value_or(0),
                      .factor = kind.softmax_factor,
                      .cap = kind.score_cap.value_or(0),
                      .sinks = kind.sinks ? 1 : 0,
                      .depends_on_length = 0,
                      .both_ways = static_cast<posenc1_both_ways>(kind.both_ways),
                      .key_bias_is_separable = separable ? int{*separable} : -1,
                      .temperature_scale = kind.temperature ? kind.temperature->scale : 0,
                      .temperature_length = kind.temperature ? kind.temperature->floor_scale : 0,
                      .temperature_offset = kind.temperature ? kind.temperature->offset : 0,
                      .alibi_heads = kind.alibi ? kind.alibi->heads : 0,
                      .alibi_max_bias = kind.alibi ? kind.alibi->max_bias : 0,
                      .alibi_factor = kind.alibi ? kind.alibi->factor : 0,
                      .learned_bias = kind.buckets ? 1 : 0};
  if (kind.rotary.empty()) {
    *result = nullptr;
  } else {
    auto const& rotary = kind.rotary[0];
    auto frequencies = rotary.frequencies.at(length);
    found.layout =
        std::holds_alternative<halves>(rotary.layout) ? POSENC1_HALVES : POSENC1_INTERLEAVED;
    found.rotary_dim = frequencies.rotary_dim();
    found.first_dim = rotary.block.first_dim(kind.head_dim, found.rotary_dim);
    found.depends_on_length = rotary.frequencies.depends_on_length() ? 1 : 0;
    *result = new posenc1_frequencies{
        std::move(frequencies), rotary.axes ? listed(*rotary.axes) : std::vector<std::size_t>()};
  }
  if (description != nullptr) *description = found;
}

#endif

POSENC_C_FUNCTION posenc1_status posenc1_alibi_slopes(size_t heads, double max_bias, double factor,
                                                      double* slopes) {
  return guarded([&] {
    constexpr auto function = "posenc1_alibi_slopes";
    require_given(function, {{"slopes", slopes}});
    require_positive(function, "factor", factor);
    alibi const plain(heads, max_bias);
    std::ranges::transform(plain.slopes(), slopes, [&](double slope) { return slope * factor; });
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_frequencies_of_model(
    [[maybe_unused]] char const* file, [[maybe_unused]] size_t layer,
    [[maybe_unused]] size_t length, [[maybe_unused]] posenc1_layer* description,
    [[maybe_unused]] posenc1_frequencies** result) {
  return guarded([&] {
#if defined(POSENC_KERNELS_MODEL)
    constexpr auto function = "posenc1_frequencies_of_model";
    require_given(function, {{"file", file}, {"result", result}});
    require(*file != '\0', function, ": file must be a name, got none");
    describe(file, layer, length, description, result);
#else
    throw failure(
        POSENC1_NOT_BUILT,
        "posenc: posenc1_frequencies_of_model must be built with posenc_add_kernels(... MODEL)");
#endif
  });
}

}}}  // namespace posenc::detail::c
