// All families of models, and the one that has a model_type.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/family.hpp"
#include "posenc/model/hugging_face/hybrid_families.hpp"
#include "posenc/model/hugging_face/other_families.hpp"
#include "posenc/model/hugging_face/rope_families.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

inline constexpr std::array<std::span<model_family const>, 3> model_families{
    rope_families, hybrid_families, other_families};

/// The family with this model_type, if it is known.
inline std::optional<model_family> family_of(std::string_view type) {
  if (type.empty()) return {};  // places in `types` that are not used
  for (auto const families : model_families) {
    for (auto const& family : families) {
      if (std::ranges::find(family.types, type) != family.types.end()) return family;
    }
  }
  return {};
}

}  // namespace detail
}  // namespace posenc
