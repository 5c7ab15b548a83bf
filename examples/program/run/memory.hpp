// The memory that a run needs beside the model's files, which are mapped, and what there is of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "program/run/measurement.hpp"

namespace run {

/// Of a pass over so many tokens: caches, what a block of tokens computes, what is measured. Less
/// than a tenth of it is not counted.
std::uint64_t bytes_of_pass(decoder const& model, std::vector<layer_plan> const& plans,
                            std::size_t tokens, wanted const& what);

/// Nothing where the system does not say it.
std::optional<std::uint64_t> free_bytes();

/// Throws std::runtime_error, which begins with `text`, unless so many bytes are free.
void require_memory(std::string const& text, std::size_t tokens, std::uint64_t bytes);

}  // namespace run
