// The parameters of a rotation, as numbers.
#pragma once

#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

class rope_words {
 public:
  /// The rotation must outlive this.
  explicit rope_words(rotary_description const& rotary) : parameters_(&rotary.parameters) {}

  std::optional<double> number(std::string_view key) const {
    auto const given = numbers(key);
    return given && given->size() == 1 ? std::optional(given->front()) : std::nullopt;
  }
  /// Of a list or of one number.
  std::optional<std::vector<double>> numbers(std::string_view key) const {
    for (auto const& [name, value] : *parameters_) {
      if (name != key) continue;
      auto text = value;
      for (auto& c : text)
        if (c == '[' || c == ']' || c == ',') c = ' ';
      std::istringstream in(text);
      in.imbue(std::locale::classic());
      std::vector<double> result;
      for (double x = 0; in >> x;) result.push_back(x);
      return result;
    }
    return {};
  }

 private:
  std::vector<model_setting> const* parameters_;
};

}  // namespace detail
}  // namespace posenc
