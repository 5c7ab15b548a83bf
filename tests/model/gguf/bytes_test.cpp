#include "posenc/model/gguf/metadata.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include "rejects.hpp"

namespace {
namespace of_gguf_bytes {

using posenc::detail::gguf_bytes;

/// Runs a test on the same bytes in memory and in a stream that begins before them.
void in_memory_and_in_a_stream(std::string const& bytes, auto const& test) {
  gguf_bytes memory(std::as_bytes(std::span(bytes)), "m.gguf");
  test(memory);
  std::istringstream stream("before" + bytes);
  stream.seekg(6);
  gguf_bytes file(stream, "m.gguf");
  test(file);
}

using namespace std::string_literals;

TEST(gguf_bytes, numbers_are_little_endian) {
  in_memory_and_in_a_stream("\x01\x02\xff\xff\xff\xff\x00\x00\x80\x3f\x80"s, [](auto& bytes) {
    EXPECT_EQ(bytes.template number<std::uint16_t>(), 0x0201);
    EXPECT_EQ(bytes.template number<std::int32_t>(), -1);
    EXPECT_EQ(bytes.template number<float>(), 1.0f);
    EXPECT_EQ(bytes.at(), 10u);
    EXPECT_EQ(bytes.template number<std::int8_t>(), -128);
  });
}

TEST(gguf_bytes, a_text_is_kept_up_to_a_length_and_read_whole) {
  in_memory_and_in_a_stream("\x05\0\0\0\0\0\0\0rope.x"s, [](auto& bytes) {
    auto const [text, size] = bytes.text(3);
    EXPECT_EQ(text, "rop");
    EXPECT_EQ(size, 5u);
    EXPECT_EQ(bytes.template number<char>(), 'x');
  });
}

TEST(gguf_bytes, a_long_text_is_cut_at_the_length_too) {
  in_memory_and_in_a_stream("\x28\x23\0\0\0\0\0\0"s + std::string(9000, 'a'), [](auto& bytes) {
    auto const [text, size] = bytes.text(5000);
    EXPECT_EQ(text, std::string(5000, 'a'));
    EXPECT_EQ(size, 9000u);
  });
}

TEST(gguf_bytes, moves_within_the_file) {
  in_memory_and_in_a_stream("abcdef", [](auto& bytes) {
    bytes.move_to(4);
    EXPECT_EQ(bytes.template number<char>(), 'e');
    EXPECT_EQ(bytes.at(), 5u);
  });
}

TEST(gguf_bytes, an_end_within_a_number_is_an_error_that_says_where) {
  in_memory_and_in_a_stream("abc", [](auto& bytes) {
    bytes.skip(1);
    bytes.subject("a count");
    EXPECT_EQ(
        message_of([&] { bytes.template number<std::uint32_t>(); }),
        "posenc: m.gguf: a count must be complete, got a file that ends within it, at byte 3");
  });
}

TEST(gguf_bytes, a_length_beyond_the_longest_header_is_an_error) {
  in_memory_and_in_a_stream("\xff\xff\xff\xff\xff\xff\xff\xff"s, [](auto& bytes) {
    bytes.subject("a text");
    EXPECT_EQ(message_of([&] { bytes.text(10); }),
              "posenc: m.gguf: a text must lie within the first 1073741824 bytes of the file, got "
              "18446744073709551615 bytes at byte 8");
  });
}

}  // namespace of_gguf_bytes
}  // namespace
