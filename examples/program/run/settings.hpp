// The numbers and words of a model's settings that are not about positions.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "program/tensors/weights.hpp"

namespace run {

/// config.json, or its text_config, or the header of a GGUF file. A key has two names; an empty one
/// is in no file. That of GGUF is behind the architecture's name.
class settings {
 public:
  explicit settings(program::weight_files const& files);
  ~settings();

  struct key {
    std::string hugging_face, gguf;
  };
  /// Throws std::runtime_error for a value that is no finite number. `layer`: of a list.
  std::optional<double> number(key const& k) const;
  std::optional<bool> flag(key const& k) const;
  std::optional<std::string> text(key const& k) const;
  /// Throws std::runtime_error unless it is given, and a whole number from 1 on.
  std::size_t count(key const& k) const;
  /// Throws std::runtime_error: "FILE: KEY must ...".
  [[noreturn]] void refuse(key const& k, std::string const& must) const;
  bool has(key const& k) const;

 private:
  struct parsed;
  std::unique_ptr<parsed> parsed_;
};

}  // namespace run
