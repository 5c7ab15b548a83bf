#pragma once

/// An engine's own 16-bit type, which one line makes known to posenc.

#include <cstdint>

#include "posenc/heads/storage.hpp"

namespace engine {

class brain_float {
 public:
  brain_float() = default;
  explicit brain_float(std::uint16_t code) : code_(code) {}
  std::uint16_t code() const { return code_; }

 private:
  std::uint16_t code_;
};

}  // namespace engine

template <>
struct posenc::storage_format<engine::brain_float> : posenc::stored_as<posenc::bfloat16> {};
