// The page's settings: a value, or a sentence on what must hold.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "explorer.hpp"

namespace explorer {

/// The longest context: its curve takes a second.
inline constexpr double most_tokens = 1 << 20;

/// Six digits.
inline std::string shown(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return digits;
}

/// Refuses what is no number from least to most.
inline double number(nlohmann::json const& settings, char const* key, double least, double most) {
  auto const found = settings.find(key);
  if (found == settings.end() || !found->is_number())
    refuse(std::string(key) + " must be a number");
  auto const value = found->get<double>();
  if (!(value >= least && value <= most))
    refuse(std::string(key) + " must be from " + shown(least) + " to " + shown(most) + ", got " +
           shown(value));
  return value;
}

/// Refuses what is no whole number from least to most.
inline std::size_t count(nlohmann::json const& settings, char const* key, double least,
                         double most) {
  auto const value = number(settings, key, least, most);
  if (value != std::floor(value))
    refuse(std::string(key) + " must be a whole number, got " + shown(value));
  return static_cast<std::size_t>(value);
}

/// Refuses what is no text.
inline std::string text(nlohmann::json const& settings, char const* key) {
  auto const found = settings.find(key);
  if (found == settings.end() || !found->is_string()) refuse(std::string(key) + " must be text");
  return found->get<std::string>();
}

}  // namespace explorer
