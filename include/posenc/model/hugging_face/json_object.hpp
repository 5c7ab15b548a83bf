// The keys of a JSON object. Each error names file, key and value. (nlohmann-json)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/parsed_json.hpp"
#include "posenc/model/model_description.hpp"
#include "posenc/model/settings.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// An object and its place in the file. A key with the value null counts as absent. A view: the
/// JSON must outlive it. Objects within share with it what they were asked for.
class json_object : public settings<json_object> {
 public:
  json_object(json const& object, std::string where) : object_(&object), where_(std::move(where)) {}

  /// Other keys and values in the same place.
  json_object replaced(json const& other) const {
    auto result = *this;
    result.object_ = &other;
    return result;
  }

  std::string const& where() const noexcept { return where_; }  ///< "config.json: rope_scaling"
  std::string const& path() const noexcept { return path_; }    ///< "rope_scaling."

  /// Null where the key is absent. From here on it counts as asked for.
  json const* value_of(std::string_view key) const {
    asked_->insert(path_ + std::string(key));
    auto const found = object_->find(std::string(key));
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }
  /// Throws std::invalid_argument: what the value must be, and what it is.
  [[noreturn]] void refuse(std::string_view key, std::string_view must) const {
    auto const* const value = value_of(key);
    detail::refuse(where_, ": ", key, " must ", must,
                   value == nullptr ? ", and is absent" : ", got " + shown_json(*value));
  }

  // For settings; 8192.0 is a whole number, too.
  static std::optional<double> number_in(json const& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  static std::optional<std::uint64_t> whole_in(json const& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    auto const x = number_in(value).value_or(-1);  // signed, too, if a program made the JSON
    if (x >= 0 && value.is_number_integer()) return value.get<std::uint64_t>();
    return x >= 0 && x <= 0x1p53 && x == std::floor(x)
               ? std::optional(static_cast<std::uint64_t>(x))
               : std::nullopt;
  }
  static std::optional<bool> flag_in(json const& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
  }
  static std::optional<std::string> text_in(json const& value) {
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }

  /// The same, or none for 0.
  std::optional<std::size_t> count_or_zero(std::string const& key, std::size_t most) const {
    auto const* const found = value_of(key);
    if (found != nullptr && found->is_number() && found->get<double>() == 0) return {};
    return count(key, most);
  }
  /// A flag, or a number that stands for one.
  std::optional<bool> truth(std::string const& key) const {
    auto const* const found = value_of(key);
    return found != nullptr && found->is_number() ? std::optional(*number(key) != 0) : flag(key);
  }
  std::optional<std::vector<double>> numbers(std::string const& key) const {
    return list<double>(key, "be a list of finite numbers",
                        [](json const& x) { return x.is_number() && is_finite(x.get<double>()); });
  }
  std::optional<std::vector<std::string>> texts(std::string const& key) const {
    return list<std::string>(key, "be a list of strings",
                             [](json const& x) { return x.is_string(); });
  }
  std::optional<json_object> object(std::string const& key) const {
    auto const* const found = value_of(key);
    if (found == nullptr) return {};
    require(found->is_object(), key, "be an object");
    auto result = *this;
    result.object_ = found;
    result.where_ += ": " + key;
    result.path_ += key + '.';
    return result;
  }

  /// These do not count the key as read.
  bool is_object(std::string const& key) const { return peek(key).is_object(); }
  bool is_text(std::string const& key) const { return peek(key).is_string(); }
  bool is_list(std::string const& key) const { return peek(key).is_array(); }
  bool is_null(std::string const& key) const {
    return object_->contains(key) && peek(key).is_null();
  }
  json const& whole() const noexcept { return *object_; }
  bool holds(std::string const& key, json const& value) const {
    return object_->contains(key) && peek(key) == value;
  }

  /// The value under the one of these keys that is given, by get(object, key). Throws
  /// std::invalid_argument if two are given and differ.
  template <class Get>
  auto agreed(std::initializer_list<char const*> keys, Get const& get) const
      -> decltype(get(*this, "")) {
    decltype(get(*this, "")) result;
    std::string first;
    for (std::string const key : keys) {
      auto next = get(*this, key);
      if (!next) continue;
      if (!result) {
        result = std::move(next);
        first = key;
        continue;
      }
      require(*result == *next, key,
              "agree with " + first + ", which is " + shown_json((*object_)[first]));
    }
    return result;
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (auto const& item : object_->items()) result.push_back(item.key());
    return result;
  }
  /// The keys with a value that nobody asked for.
  std::vector<std::string> unread() const {
    auto result = keys();
    std::erase_if(result, [&](std::string const& key) {
      return asked_->contains(path_ + key) || is_null(key);
    });
    return result;
  }
  /// The keys of objects that were asked for.
  std::vector<std::string> asked_objects() const {
    auto result = keys();
    std::erase_if(result, [&](std::string const& key) {
      return !asked_->contains(path_ + key) || !is_object(key);
    });
    return result;
  }
  /// The key with its path, and its value.
  model_setting setting(std::string const& key) const {
    auto value = (*object_)[key].dump(-1, ' ', false, json::error_handler_t::replace);
    return {path_ + key, std::move(value)};
  }
  /// What was asked for and is given, here and in objects within.
  std::vector<model_setting> read() const {
    std::vector<model_setting> result;
    for (auto const& key : keys()) {
      if (is_null(key) || !asked_->contains(path_ + key)) continue;
      if (!is_object(key)) {
        result.push_back(setting(key));
        continue;
      }
      auto const within = object(key)->read();
      result.insert(result.end(), within.begin(), within.end());
    }
    return result;
  }

 private:
  json const& peek(std::string const& key) const {
    static json const none;
    auto const found = object_->find(key);
    return found == object_->end() ? none : *found;
  }

  template <class T>
  std::optional<std::vector<T>> list(std::string const& key, std::string_view must,
                                     auto const& is_good) const {
    auto const* const found = value_of(key);
    if (found == nullptr) return {};
    require(found->is_array(), key, must);
    std::vector<T> result;
    for (auto const& item : *found) {
      if (!is_good(item)) {
        detail::refuse(where_, ": ", key, " must ", must, ", got ", shown_json(item), " at ",
                       result.size());
      }
      result.push_back(item.template get<T>());
    }
    return result;
  }

  json const* object_;
  std::string where_;
  std::string path_ = {};  // of the object, with a dot at its end; empty for the file's own
  std::shared_ptr<std::set<std::string>> asked_ = std::make_shared<std::set<std::string>>();
};

}  // namespace posenc::detail
