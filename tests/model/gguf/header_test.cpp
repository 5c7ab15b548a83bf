#include "posenc/model/gguf/header.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace posenc;
using namespace std::string_literals;

std::string text_of(std::vector<std::byte> const& bytes) {
  std::string text;
  for (auto const b : bytes) text += static_cast<char>(b);
  return text;
}
std::string value(gguf_written_value const& of) {
  detail::gguf_output out;
  out.value(of);
  return text_of(out.take());
}

// Types and layout as ggml's docs/gguf.md has them.
TEST(gguf_output, values_follow_their_types) {
  EXPECT_EQ(value(std::uint32_t{0x01020304}), "\x04\0\0\0\x04\x03\x02\x01"s);
  EXPECT_EQ(value(1.0f), "\x06\0\0\0\0\0\x80\x3f"s);
  EXPECT_EQ(value(true), "\x07\0\0\0\x01"s);
  EXPECT_EQ(value("ab"s), "\x08\0\0\0\x02\0\0\0\0\0\0\0ab"s);
  EXPECT_EQ(value(std::vector<std::int32_t>{-2}),
            "\x09\0\0\0\x05\0\0\0\x01\0\0\0\0\0\0\0\xfe\xff\xff\xff"s);
  EXPECT_EQ(value(std::vector<bool>{true, false}), "\x09\0\0\0\x07\0\0\0\x02\0\0\0\0\0\0\0\x01\0"s);
}

TEST(gguf_header, without_keys_has_magic_version_and_counts) {
  EXPECT_EQ(text_of(gguf_header{}.bytes()), "GGUF\x03\0\0\0"s + std::string(16, '\0'));
}

TEST(gguf_header, tensors_begin_at_multiples_of_32_from_the_end_of_their_list) {
  gguf_header header;
  header.tensors["a"] = {1.0f};
  header.tensors["b"] = {2.0f};
  auto const text = text_of(header.bytes());
  auto const entry = [](char name, char offset) {
    return "\x01\0\0\0\0\0\0\0"s + name + "\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0"s + offset +
           std::string(7, '\0');
  };
  auto const list = entry('a', 0) + entry('b', 32);
  ASSERT_EQ(text.substr(24, list.size()), list);
  std::size_t const data = (24 + list.size() + 31) / 32 * 32;
  ASSERT_EQ(text.size(), data + 32 + 4);
  EXPECT_EQ(text.substr(data, 4), "\0\0\x80\x3f"s);
  EXPECT_EQ(text.substr(data + 32), "\0\0\0\x40"s);
}

}  // namespace
