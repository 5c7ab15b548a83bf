#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "program/text/tokenizer.hpp"

namespace program {

token_ids read_ids(std::string const& file, std::size_t vocabulary) {
  auto const refuse = [&](std::string const& why) {
    throw std::runtime_error((file == "-" ? "the standard input" : file) + ": " + why);
  };
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) refuse("cannot be read");
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  token_ids ids;
  auto const* at = text.data();
  auto const* const end = at + text.size();
  while (at != end) {
    if (std::string_view(" \t\r\n,[]").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    std::uint32_t id = 0;
    auto const [behind, error] = std::from_chars(at, end, id);
    if (error == std::errc::invalid_argument)
      refuse("must be whole numbers with spaces, commas or brackets between them, got \"" +
             std::string(at, at + std::min<std::ptrdiff_t>(end - at, 12)) + "\"");
    if (error != std::errc() || id >= vocabulary)
      refuse("ids must be below " + std::to_string(vocabulary) + ", the size of the vocabulary, " +
             "got " + std::string(at, behind));
    ids.push_back(id);
    at = behind;
  }
  return ids;
}

}  // namespace program
