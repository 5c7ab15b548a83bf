// The keys of a GGUF file under construction.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/gguf/architectures.hpp"
#include "posenc/model/gguf/header.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Sets keys below the name of the architecture, of the types that llama.cpp reads.
class gguf_draft {
 public:
  explicit gguf_draft(gguf_architecture const& architecture) : known(architecture) {
    header.keys.emplace("general.architecture", std::string(architecture.name));
  }

  gguf_architecture const& known;
  gguf_header header = {};

  /// Whether llama.cpp reads a key, or tensors, for this architecture.
  bool reads(std::string_view name) const {
    auto const group = gguf_group_of(name);
    return group == 0 || reads(group);
  }
  bool reads(unsigned group) const { return (known.reads & group) != 0; }

  void set(std::string_view name, gguf_written_value value) {
    header.keys.insert_or_assign(key(name), std::move(value));
  }
  void set_count(std::string_view name, std::size_t count) {
    require(count <= std::numeric_limits<std::uint32_t>::max(), "write_gguf: ", key(name),
            " must be at most 4294967295, got ", count);
    set(name, static_cast<std::uint32_t>(count));
  }
  /// The same for a length that a description has as a number.
  void set_length(std::string_view name, double count) {
    bool const fits = is_finite(count) && count >= 0 && count <= 0x1p53;
    require(fits, "write_gguf: ", key(name), " must be at most 4294967295, got ", count);
    set_count(name, static_cast<std::size_t>(count));
  }
  void set_number(std::string_view name, double number) { set(name, single(key(name), number)); }
  /// The same for a key that is needed only where llama.cpp would take another f32.
  void set_unless(std::string_view name, double number, double by_default) {
    auto const written = single(key(name), number);
    if (written != single(key(name), by_default)) set(name, written);
  }
  /// Says of a key what it is.
  void note(std::string_view name, std::string const& what) {
    header.notes.push_back(key(name) + " is " + what);
  }
  template <std::integral T>
  void set_list(std::string_view name, std::vector<T> list) {
    set(name, std::move(list));
  }
  void set_tensor(std::string const& name, std::vector<double> const& numbers) {
    std::vector<float> list;
    list.reserve(numbers.size());
    for (auto const number : numbers) list.push_back(single(name, number));
    header.tensors.insert_or_assign(name, std::move(list));
  }

 private:
  std::string key(std::string_view name) const {
    return std::string(known.name) + "." + std::string(name);
  }
  static float single(std::string const& name, double number) {
    bool const fits =
        is_finite(number) && std::abs(number) <= double{std::numeric_limits<float>::max()};
    require(fits, "write_gguf: ", name, " must be a finite f32, got ", number);
    return static_cast<float>(number);
  }
};

}  // namespace detail
}  // namespace posenc
