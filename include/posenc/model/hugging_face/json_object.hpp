// The keys of a JSON object. Each error names file, key and value. (nlohmann-json)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

using json = nlohmann::json;

/// A value in an error: a scalar as it is written, shortened; a container, which may nest deeply,
/// by its size.
inline std::string shown_json(json const& value) {
  if (value.is_object()) return "an object of " + std::to_string(value.size()) + " keys";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  auto text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return value.is_string() ? "the string " + text : text;
}

/// Builds a JSON value from what the parser reads, one function for each kind, as
/// nlohmann::json_sax has them. json::parse with a callback tells less, and compiles the parser
/// twice.
class json_builder {
 public:
  explicit json_builder(std::string const& file) : file_(file) {}
  json built;

  bool null() { return add(nullptr); }
  bool boolean(bool x) { return add(x); }
  bool number_integer(std::int64_t x) { return add(x); }
  bool number_unsigned(std::uint64_t x) { return add(x); }
  bool number_float(double x, std::string const&) { return add(x); }
  bool string(std::string& x) { return add(std::move(x)); }
  bool binary(json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string const& name) {
    auto const [member, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    require(is_new, file_, ": each key must appear once in its object, got ", shown_json(name),
            " twice");
    member_ = &member->second;
    return true;
  }
  [[noreturn]] bool parse_error(std::size_t, std::string const&, json::exception const& error) {
    refuse(file_, ": must be JSON: ", std::string(error.what()).substr(0, 200));
  }

 private:
  json& place_of(json value) {
    if (open_.empty()) return built = std::move(value);
    if (!open_.back()->is_array()) return *member_ = std::move(value);
    return open_.back()->emplace_back(std::move(value));
  }
  bool add(json value) {
    place_of(std::move(value));
    return true;
  }
  bool open(json container) {
    require(open_.size() < 64, file_, ": must not nest deeper than 64 levels");
    open_.push_back(&place_of(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string const& file_;
  std::vector<json*> open_;  // each in the one before, which does not grow meanwhile
  json* member_ = nullptr;   // the value of the last key
};

/// The JSON object that is `text`. Throws std::invalid_argument unless it is one, with no key twice
/// and at most 64 levels.
inline json parsed_json(std::string_view text, std::string const& file) {
  json_builder builder(file);
  json::sax_parse(text, &builder);
  require(builder.built.is_object(), file, ": must be a JSON object, got ",
          shown_json(builder.built));
  return std::move(builder.built);
}

/// An object and its place in the file. A key with the value null counts as absent. A view: the
/// JSON must outlive it.
class json_object {
 public:
  json_object(json const& object, std::string where) : object_(&object), where_(std::move(where)) {}

  std::string const& where() const noexcept { return where_; }  ///< "config.json: rope_scaling"
  bool has(std::string const& key) const { return value(key) != nullptr; }

  /// Throws std::invalid_argument: what the value must be, and what it is.
  [[noreturn]] void refuse(std::string const& key, std::string_view must) const {
    auto const* const found = value(key);
    detail::refuse(
        where_, ": ", key, " must ", must,
        found != nullptr ? ", got " + shown_json(*found) : std::string(", and is absent"));
  }
  void require(bool holds, std::string const& key, std::string_view must) const {
    if (!holds) refuse(key, must);
  }

  std::optional<double> number(std::string const& key) const {
    auto const* const found = value(key);
    if (found == nullptr) return {};
    require(found->is_number() && is_finite(found->get<double>()), key, "be a finite number");
    return found->get<double>();
  }
  /// A whole number from 1 to most.
  std::optional<std::size_t> count(std::string const& key, std::size_t most) const {
    auto const* const found = value(key);
    if (found == nullptr) return {};
    bool const fits = found->is_number_unsigned() && found->get<std::uint64_t>() >= 1 &&
                      found->get<std::uint64_t>() <= most;
    require(fits, key, "be a whole number from 1 to " + std::to_string(most));
    return static_cast<std::size_t>(found->get<std::uint64_t>());
  }
  std::optional<bool> flag(std::string const& key) const {
    auto const* const found = value(key);
    if (found == nullptr) return {};
    require(found->is_boolean(), key, "be true or false");
    return found->get<bool>();
  }
  /// A flag, or a number that stands for one.
  std::optional<bool> truth(std::string const& key) const {
    auto const* const found = value(key);
    return found != nullptr && found->is_number() ? std::optional(*number(key) != 0) : flag(key);
  }
  std::optional<std::string> text(std::string const& key) const {
    auto const* const found = value(key);
    if (found == nullptr) return {};
    require(found->is_string(), key, "be a string");
    return found->get<std::string>();
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
    auto const* const found = value(key);
    if (found == nullptr) return {};
    require(found->is_object(), key, "be an object");
    return json_object(*found, where_ + ": " + key);
  }

  /// These three do not count the key as read.
  bool is_object(std::string const& key) const {
    return object_->contains(key) && (*object_)[key].is_object();
  }
  bool is_text(std::string const& key) const {
    return object_->contains(key) && (*object_)[key].is_string();
  }
  bool is_null(std::string const& key) const {
    return object_->contains(key) && (*object_)[key].is_null();
  }
  json const& whole() const noexcept { return *object_; }

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
  /// The keys that neither this object nor a copy of it was asked for.
  std::vector<std::string> unread() const {
    auto result = keys();
    std::erase_if(result, [&](std::string const& key) { return asked_->contains(key); });
    return result;
  }

 private:
  json const* value(std::string const& key) const {
    asked_->insert(key);
    auto const found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }

  template <class T>
  std::optional<std::vector<T>> list(std::string const& key, std::string_view must,
                                     auto const& is_good) const {
    auto const* const found = value(key);
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
  std::shared_ptr<std::set<std::string>> asked_ = std::make_shared<std::set<std::string>>();
};

}  // namespace detail
}  // namespace posenc
