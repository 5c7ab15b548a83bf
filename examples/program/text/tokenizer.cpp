#include "program/text/tokenizer.hpp"

#include <stdexcept>

namespace program {

struct tokenizer::parts {};

tokenizer::tokenizer(weight_files const& files) {
  throw std::runtime_error(files.name() + ": texts are not read yet: give --ids FILE");
}
tokenizer::tokenizer(tokenizer&&) noexcept = default;
tokenizer& tokenizer::operator=(tokenizer&&) noexcept = default;
tokenizer::~tokenizer() = default;
token_ids tokenizer::encode_file(std::string const&) const { return {}; }
std::string tokenizer::decode(std::span<std::uint32_t const>) const { return {}; }

}  // namespace program
