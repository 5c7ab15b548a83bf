// The keys of a JSON object. (nlohmann-json)
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <set>

#include "posenc/core/target.hpp"
#include "posenc/model/detail/settings.hpp"
#include "posenc/model/hugging_face/detail/parsed_json.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// An object and its place in the file. Each error names file, key and value. A key with the value
/// null counts as absent. The JSON must outlive it. These functions read a value and mark its
/// key as read: number, count, flag, text, list, object
/// ...; mark_read marks it without its value. has, peek and is_object mark nothing. A hidden key is
/// absent to all but peek, and an empty name, by which a family says that it lacks a key, is absent
/// whatever the file has. Objects within share the marks.
class json_object : public settings<json_object> {
 public:
  using settings::count, settings::positive;

  json_object(json const& object, std::string where) : object_(&object), where_(std::move(where)) {
    detail::require(object.is_object(), where_, ": must be a JSON object, got ",
                    shown_json(object));
  }

  /// An object with no keys, in the same place.
  json_object emptied() const {
    static json const none = json::object();
    auto result = *this;
    result.object_ = &none;
    return result;
  }

  std::string const& where() const noexcept { return where_; }  ///< "config.json: rope_scaling"
  std::string const& path() const noexcept { return path_; }    ///< "rope_scaling."

  bool has(std::string_view key) const {
    auto const& value = peek(std::string(key));
    return !value.is_discarded() && !value.is_null() && !is_hidden(key);
  }
  void mark_read(std::string_view key) const {
    if (!key.empty()) marks_->read.insert(path_ + std::string(key));
  }
  void hide(std::string_view key) const { marks_->hidden.insert(path_ + std::string(key)); }
  void hide_everywhere(std::string_view key) const { marks_->hidden_everywhere.emplace(key); }
  void hide_nothing() const { marks_->hidden.clear(), marks_->hidden_everywhere.clear(); }
  bool is_hidden(std::string_view key) const {
    return marks_->hidden_everywhere.contains(key) ||
           marks_->hidden.contains(path_ + std::string(key));
  }
  /// Null where the key is absent. Marks it as read.
  json const* value_of(std::string_view key) const {
    if (!is_hidden(key)) mark_read(key);
    return has(key) ? &peek(std::string(key)) : nullptr;
  }
  /// Throws std::invalid_argument: what the value must be, and what it is.
  [[noreturn]] void refuse(std::string_view key, std::string_view must) const {
    auto const& value = peek(std::string(key));
    bool const is_given = !value.is_discarded() && !value.is_null();
    auto const unread = is_hidden(key) && must.starts_with("be given");
    detail::refuse(where_, ": ", shown_key(key), " must ", must,
                   is_given ? ", got " + shown_json(value) : ", and is absent",
                   is_given && unread ? ", which is not read for this model_type" : "");
  }

  // For settings; 8192.0 is a whole number, too.
  static std::optional<double> number_in(json const& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  static std::optional<std::uint64_t> whole_in(json const& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    auto const x = number_in(value).value_or(-1);  // signed, too, if a program made the JSON
    if (x >= 0 && value.is_number_integer()) return value.get<std::uint64_t>();
    return whole_number(x, most_tokens);
  }
  static std::optional<bool> flag_in(json const& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
  }
  static std::optional<std::string> text_in(json const& value) {
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }

  /// A count, or none for 0.
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
    return list<double>(key, "be a list of finite numbers");
  }
  std::optional<std::vector<std::string>> texts(std::string const& key) const {
    return list<std::string>(key, "be a list of strings");
  }
  std::optional<json_object> object(std::string const& key) const {
    auto const* const found = value_of(key);
    if (found == nullptr) return {};
    require(found->is_object(), key, "be an object");
    return within(key, *found);
  }
  std::optional<std::vector<json_object>> objects(std::string const& key) const {
    auto const* const found = value_of(key);
    if (found == nullptr) return {};
    bool const are_objects = found->is_array() && std::ranges::all_of(*found, &json::is_object);
    require(are_objects, key, "be a list of objects");
    std::vector<json_object> result;
    for (auto const& item : *found)
      result.push_back(within(key + "[" + shown(result.size()) + "]", item));
    return result;
  }

  json const& whole() const noexcept { return *object_; }
  /// The value, null too; of no type where the key is absent.
  json const& peek(std::string const& key) const {
    static json const absent(json::value_t::discarded);
    auto const found = key.empty() ? object_->end() : object_->find(key);
    return found == object_->end() ? absent : *found;
  }
  bool is_null(std::string const& key) const { return peek(key).is_null(); }
  bool is_object(std::string const& key) const { return has(key) && peek(key).is_object(); }

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

  std::optional<std::size_t> count(std::initializer_list<char const*> keys,
                                   std::size_t most) const {
    return agreed(keys, [most](auto const& o, auto const& key) { return o.count(key, most); });
  }
  std::optional<double> positive(std::initializer_list<char const*> keys) const {
    return agreed(keys, [](auto const& o, auto const& key) { return o.positive(key); });
  }
  std::optional<double> positive_or_none(std::string_view key) const { return positive(key); }

  bool is_read(std::string const& key) const { return marks_->read.contains(path_ + key); }
  /// The key with its path, and its value.
  model_setting setting(std::string const& key) const {
    return {path_ + key, json_text((*object_)[key])};
  }
  /// The keys that were read and are given, here and in objects within.
  std::vector<model_setting> read() const {
    std::vector<model_setting> result;
    for (auto const& [key, value] : object_->items()) {
      if (value.is_null() || !is_read(key)) continue;
      auto const within = value.is_object() ? object(key)->read() : std::vector{setting(key)};
      result.insert(result.end(), within.begin(), within.end());
    }
    return result;
  }

 private:
  json_object within(std::string const& name, json const& object) const {
    auto result = *this;
    result.object_ = &object;
    result.where_ += ": " + shown_key(name);
    result.path_ += name + '.';
    return result;
  }

  template <class T>
  std::optional<std::vector<T>> list(std::string const& key, std::string_view must) const {
    auto const* const found = value_of(key);
    if (found == nullptr) return {};
    require(found->is_array(), key, must);
    std::vector<T> result;
    for (auto const& item : *found) {
      bool const is_good = std::is_same_v<T, std::string>
                               ? item.is_string()
                               : item.is_number() && is_finite(item.get<double>());
      if (!is_good)
        detail::refuse(where_, ": ", key, " must ", must, ", got ", shown_json(item), " at ",
                       result.size());
      result.push_back(item.template get<T>());
    }
    return result;
  }

  json const* object_;
  std::string where_;
  std::string path_ = {};  // of the object, with a dot at its end; empty for the file's own
  struct marks {
    std::set<std::string> read = {}, hidden = {};  // with their paths
    std::set<std::string, std::less<>> hidden_everywhere = {};
  };
  std::shared_ptr<marks> marks_ = std::make_shared<marks>();
};

}}}  // namespace posenc::detail
