#pragma once

/// Writes a case as one line of JSON, doubles with 17 digits.

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exact.hpp"

namespace text {

/// A number that was computed: 17 digits, which give the same double everywhere.
inline std::string digits(double x) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", x == 0 ? 0.0 : x);
  return buffer;
}
inline std::string digits(exact::number const& x) { return digits(exact::nearest(x)); }

/// A setting, as short as it can be written.
inline std::string setting(double x) {
  std::array<char, 40> buffer;
  auto const whole = x == std::floor(x) && std::abs(x) < 1e15;
  auto const result = whole ? std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                            static_cast<std::int64_t>(x))
                            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), result.ptr};
}
inline std::string setting(std::size_t n) { return std::to_string(n); }
inline std::string setting(int n) { return std::to_string(n); }
inline std::string setting(bool b) { return b ? "true" : "false"; }
inline std::string setting(std::string_view s) { return '"' + std::string(s) + '"'; }
inline std::string setting(char const* s) { return setting(std::string_view(s)); }

/// "[a,b,c]".
template <class T, class Shown>
std::string list(std::vector<T> const& values, Shown const& shown) {
  std::string result = "[";
  for (std::size_t i = 0; i < values.size(); ++i) result += (i == 0 ? "" : ",") + shown(values[i]);
  return result + "]";
}
template <class T>
std::string settings(std::vector<T> const& values) {
  return list(values, [](T const& x) { return setting(x); });
}
inline std::string numbers(exact::series const& values) {
  return list(values, [](exact::number const& x) { return digits(x); });
}

/// Members in the order in which they were added.
class object {
 public:
  object& raw(std::string_view key, std::string const& value) {
    members_.emplace_back(key, value);
    return *this;
  }
  template <class T>
  object& add(std::string_view key, T const& value) {
    return raw(key, setting(value));
  }
  std::vector<std::pair<std::string, std::string>> const& members() const { return members_; }
  /// {"key": value, "key": value}
  std::string inner() const {
    std::string result = "{";
    for (auto const& [key, value] : members_)
      result += (&key == &members_.front().first ? "\"" : ", \"") + key + "\": " + value;
    return result + "}";
  }
  /// A whole case.
  std::string line() const { return inner() + '\n'; }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace text
