// Keys of a model's settings, as both readers look them up.
#pragma once

#include <algorithm>
#include <limits>

#include "posenc/core/target.hpp"
#include "posenc/model/model_description.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// The most dims, heads or layers that a key may give.
inline constexpr std::size_t most_dims = 65'536;
/// The most tokens: what a double counts exactly, and a size.
inline constexpr auto most_tokens = static_cast<std::size_t>(
    std::min<std::uint64_t>(std::uint64_t{1} << 53, std::numeric_limits<std::size_t>::max()));

/// Whether a list holds an item.
bool contains(auto const& list, auto const& item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

/// The words of a list with spaces between them.
inline std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> result;
  while (!list.empty()) {
    result.push_back(list.substr(0, list.find(' ')));
    list.remove_prefix(std::min(list.size(), result.back().size() + 1));
  }
  return result;
}

/// The record of a table with a word in one of its lists; null if there is none.
template <class Record>
Record const* record_of(auto const& table, std::string_view Record::*list, std::string_view word) {
  for (auto const& record : table)
    if (contains(words_of(record.*list), word)) return &record;
  return nullptr;
}

/// A number that JSON or a list of GGUF holds, if it is whole and from 0 to `most`.
inline std::optional<std::size_t> whole_number(double x, std::uint64_t most) {
  bool const fits = x >= 0 && x <= static_cast<double>(most) && x == std::floor(x);
  return fits ? std::optional(static_cast<std::size_t>(x)) : std::nullopt;
}

/// Ends the error for a key that was not read.
inline constexpr auto says_that_it_acts =
    ": its name says that it acts on positions, scores or the mask";

/// Look-ups by type, empty for an absent key. They throw std::invalid_argument for another type.
/// Keys has value_of(key), or null, and refuse(key, must). Values has number_in, whole_in, flag_in
/// and text_in of a value, which are empty for other types.
template <class Keys, class Values = Keys>
class settings {
 public:
  bool has(std::string_view key) const { return self().value_of(key) != nullptr; }

  /// Refuses the key's value unless the condition holds. Throws std::invalid_argument.
  void require(bool holds, std::string_view key, std::string_view must) const {
    if (!holds) self().refuse(key, must);
  }

  /// Refuses an absent value.
  template <class T>
  T needed(std::optional<T> given, std::string_view key, std::string_view must = "be given") const {
    if (!given) self().refuse(key, must);
    return *std::move(given);
  }

  std::optional<double> number(std::string_view key) const {
    auto const finite = [](auto const& value) {
      auto const x = Values::number_in(value);
      return x && is_finite(*x) ? x : std::nullopt;
    };
    return of_type<double>(key, finite, "be a finite number");
  }
  /// A number above 0.
  std::optional<double> positive(std::string_view key,
                                 std::string_view must = "be positive") const {
    auto const given = number(key);
    require(!given || *given > 0, key, must);
    return given;
  }
  /// A base of frequencies.
  std::optional<double> above_one(std::string_view key) const {
    auto const given = number(key);
    require(!given || *given > 1, key, "be above 1");
    return given;
  }
  /// A whole number from least to most.
  std::optional<std::size_t> count(std::string_view key, std::uint64_t least,
                                   std::uint64_t most) const {
    auto const* const value = self().value_of(key);
    if (value == nullptr) return {};
    auto const whole = Values::whole_in(*value);
    require(whole && *whole >= least && *whole <= most, key,
            "be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<std::size_t>(*whole);
  }
  std::optional<std::size_t> count(std::string_view key, std::uint64_t most) const {
    return count(key, 1, most);
  }
  std::optional<bool> flag(std::string_view key) const {
    return of_type<bool>(key, Values::flag_in, "be true or false");
  }
  std::optional<std::string> text(std::string_view key) const {
    return of_type<std::string>(key, Values::text_in, "be a string");
  }

 private:
  Keys const& self() const { return static_cast<Keys const&>(*this); }
  template <class T>
  std::optional<T> of_type(std::string_view key, auto read, std::string_view must) const {
    auto const* const value = self().value_of(key);
    if (value == nullptr) return {};
    std::optional<T> result = read(*value);
    if (!result) self().refuse(key, must);
    return result;
  }
};

}}}  // namespace posenc::detail
