// Any text as a config.json is read or refused with std::invalid_argument. Seeds are the files in
// examples/models and tests/model/published, the dictionary is the strings of headers.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "check_model.hpp"
#include "must.hpp"
#include "posenc/model/hugging_face.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try {
    fuzz::check(posenc::read_hugging_face(
        std::string_view(reinterpret_cast<char const*>(data), size), "config.json"));
  } catch (std::invalid_argument const& error) {
    fuzz::must(std::string_view(error.what()).starts_with("posenc: config.json: "),
               "an error that does not name the file");
  }
  return 0;
}
