// The mask of a layer of a model: which keys its queries see, as attention takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/attention/mask.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The mask of text: window, later keys and chunk. Positions decide.
///
///     attention(q, k, v, layer_scheme(layer, length), {.mask = mask_of(layer)});
///
/// Index heads and pooled keys are left out: they choose keys by their contents.
inline mask mask_of(layer_description const& layer) {
  auto const limit = [](std::size_t n) {
    return n < static_cast<std::size_t>(mask::any) ? static_cast<std::int64_t>(n) : mask::any;
  };
  auto seen = mask::window(layer.window ? limit(*layer.window - 1) : mask::any,
                           layer.ahead ? limit(*layer.ahead) : mask::any);
  return layer.chunk ? seen & mask::chunked(limit(*layer.chunk)) : seen;
}

/// The mask of the last `queries` tokens of a sequence with images, or with a prompt that sees both
/// ways. `blocks` has a number for each token, the keys: 0 for text, else that of its image, or any
/// for the prompt. Tokens are at the positions 0, 1, ....
///
///     std::vector<unsigned char> cells;
///     auto const seen = mask_of(layer, blocks, queries, cells);
///
/// `cells`, which the mask views, become bytes [queries][keys], or empty where the layer has no
/// both_ways: the mask is then that of text. Throws std::invalid_argument if queries outnumber
/// keys.
inline mask mask_of(layer_description const& layer, std::span<std::int64_t const> blocks,
                    std::size_t queries, std::vector<unsigned char>& cells) {
  auto const keys = blocks.size();
  detail::require(queries <= keys, "mask_of: queries must be the last of the ", keys,
                  " tokens, got ", queries);
  auto of_text = mask_of(layer);  // returned as it is without both_ways
  cells.clear();
  if (layer.both_ways == both_ways::none) return of_text;
  bool const is_cut = layer.both_ways == both_ways::image_within_window && layer.window;
  cells.resize(queries * keys);
  for (std::size_t i = 0; i < queries; ++i) {
    auto const t = keys - queries + i;
    auto const seen = of_text.positions(static_cast<std::int64_t>(t));
    for (std::size_t s = 0; s < keys; ++s) {
      auto const at = static_cast<std::int64_t>(s);
      bool const is_far = is_cut && s <= t && t - s >= *layer.window;
      bool const is_together = blocks[t] != 0 && blocks[t] == blocks[s] && !is_far;
      cells[i * keys + s] = (seen.first <= at && at <= seen.last) || is_together;
    }
  }
  return mask::given(given_mask(cells.data(), {queries, 1, keys}));
}

}}  // namespace posenc
