#include "posenc/model/gguf/metadata.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "model/gguf/writer.hpp"
#include "non_numbers.hpp"
#include "rejects.hpp"

namespace {
namespace of_gguf_metadata {

using posenc::gguf_metadata;
using doubles = std::vector<double>;

gguf_metadata read(std::string const& file) { return gguf_metadata(bytes_of(file), "m.gguf"); }
gguf_metadata read(gguf_writer const& file) { return read(file.str()); }

std::string refusal(std::string const& file) {
  auto const in_memory = message_of([&] { read(file); });
  std::istringstream stream(file);
  EXPECT_EQ(message_of([&] { gguf_metadata(stream, "m.gguf"); }), in_memory)
      << "a stream is read as memory is";
  return in_memory;
}
std::string refusal(gguf_writer const& file) { return refusal(file.str()); }

/// A stream that cannot seek, like a pipe.
struct pipe : std::streambuf {
  explicit pipe(std::string t) : text(std::move(t)) {
    setg(text.data(), text.data(), text.data() + text.size());
  }
  std::string text;
};

gguf_writer every_type() {
  gguf_writer file;
  file.set("u8", std::uint8_t{250})
      .set("i8", std::int8_t{-5})
      .set("u16", std::uint16_t{65000})
      .set("i16", std::int16_t{-300});
  file.set("u32", std::uint32_t{4000000000})
      .set("i32", std::int32_t{-70000})
      .set("f32", 0.1f)
      .set("yes", true)
      .set("no", false);
  file.set("text", "yarn")
      .set("u64", std::numeric_limits<std::uint64_t>::max())
      .set("i64", std::numeric_limits<std::int64_t>::min());
  file.set("f64", 0.1).set("count", std::int32_t{12});
  file.list("bools", std::vector<bool>{true, false})
      .list("i32s", std::vector<std::int32_t>{16, -24, 24})
      .list("none", doubles{});
  file.list("f32s", std::vector<float>{1.5f, 2.5f})
      .list("u64s", std::vector<std::uint64_t>{7})
      .strings("texts", {"a", "", "bc"});
  return file;
}

TEST(gguf_metadata, reads_each_type_of_values_in_both_versions) {
  auto const text = every_type().str();
  for (char const version : {'\2', '\3'}) {
    auto bytes = text;
    bytes[4] = version;
    auto const file = read(bytes);
    EXPECT_EQ(file.keys().size(), 20u);
    EXPECT_EQ(file.number("u8"), 250);
    EXPECT_EQ(file.number("i8"), -5);
    EXPECT_EQ(file.number("u16"), 65000);
    EXPECT_EQ(file.number("i16"), -300);
    EXPECT_EQ(file.number("u32"), 4e9);
    EXPECT_EQ(file.number("i32"), -70000);
    EXPECT_EQ(file.number("f32"), double{0.1f});
    EXPECT_EQ(file.number("f64"), 0.1);
    EXPECT_EQ(file.number("u64"), 0x1p64);
    EXPECT_EQ(file.number("i64"), -0x1p63);
    EXPECT_EQ(file.count("u64", 0, std::numeric_limits<std::uint64_t>::max()),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(file.count("count", 1, 12), 12u);
    EXPECT_EQ(file.flag("yes"), true);
    EXPECT_EQ(file.flag("no"), false);
    EXPECT_EQ(file.text("text"), "yarn");
    EXPECT_EQ(file.numbers("bools"), (doubles{1, 0}));
    EXPECT_EQ(file.numbers("i32s"), (doubles{16, -24, 24}));
    EXPECT_EQ(file.numbers("f32s"), (doubles{1.5, 2.5}));
    EXPECT_EQ(file.numbers("u64s"), doubles{7});
    EXPECT_EQ(file.numbers("none"), doubles{});
    EXPECT_TRUE(file.is_list("texts"));
    EXPECT_FALSE(file.is_list("text"));
    EXPECT_EQ(file.file(), "m.gguf");
  }
}

TEST(gguf_metadata, of_a_temporary_can_be_read_in_a_loop) {
  std::vector<std::string> names;
  for (auto const& [name, value] : read(gguf_writer().set("a", 0.1f).set("b", true)).keys())
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

TEST(gguf_metadata, has_nothing_for_absent_keys) {
  auto const file = read(gguf_writer());
  EXPECT_FALSE(file.has("a"));
  EXPECT_FALSE(file.number("a"));
  EXPECT_FALSE(file.count("a", 0, 1));
  EXPECT_FALSE(file.flag("a"));
  EXPECT_FALSE(file.text("a"));
  EXPECT_FALSE(file.numbers("a"));
  EXPECT_FALSE(file.is_list("a"));
  EXPECT_FALSE(file.values("rope_freqs.weight"));
}

TEST(gguf_metadata, says_what_a_key_must_be) {
  auto const file = read(every_type()
                             .set("nan", not_a_number())
                             .set("inf", float_of_bits(0xff800000))
                             .list("inf_list", doubles{1, infinity()}));
  EXPECT_EQ(message_of([&] { file.number("text"); }),
            R"(posenc: m.gguf: text must be a finite number, got the string "yarn")");
  EXPECT_EQ(message_of([&] { file.number("yes"); }),
            "posenc: m.gguf: yes must be a finite number, got true");
  EXPECT_EQ(message_of([&] { file.number("nan"); }),
            "posenc: m.gguf: nan must be a finite number, got NaN");
  EXPECT_EQ(message_of([&] { file.number("inf"); }),
            "posenc: m.gguf: inf must be a finite number, got -infinity");
  EXPECT_EQ(message_of([&] { file.number("i32s"); }),
            "posenc: m.gguf: i32s must be a finite number, got a list of 3");
  EXPECT_EQ(message_of([&] { file.count("u8", 1, 249); }),
            "posenc: m.gguf: u8 must be a whole number from 1 to 249, got 250");
  EXPECT_EQ(message_of([&] { file.count("u8", 251, 999); }),
            "posenc: m.gguf: u8 must be a whole number from 251 to 999, got 250");
  EXPECT_EQ(message_of([&] { file.count("i8", 0, 9); }),
            "posenc: m.gguf: i8 must be a whole number from 0 to 9, got -5");
  EXPECT_EQ(message_of([&] { file.count("f64", 0, 9); }),
            "posenc: m.gguf: f64 must be a whole number from 0 to 9, got 0.1");
  EXPECT_EQ(message_of([&] { file.flag("u8"); }),
            "posenc: m.gguf: u8 must be true or false, got 250");
  EXPECT_EQ(message_of([&] { file.text("i64"); }),
            "posenc: m.gguf: i64 must be a string, got -9223372036854775808");
  auto const list = "must be a list of at most 65536 finite numbers, got ";
  EXPECT_EQ(message_of([&] { file.numbers("no"); }),
            std::string("posenc: m.gguf: no ") + list + "false");
  EXPECT_EQ(message_of([&] { file.numbers("texts"); }),
            std::string("posenc: m.gguf: texts ") + list + "a list of 3");
  EXPECT_EQ(message_of([&] { file.numbers("inf_list"); }),
            std::string("posenc: m.gguf: inf_list ") + list + "a list of 2");
  EXPECT_EQ(message_of([&] { file.refuse("b", "be given"); }),
            "posenc: m.gguf: b must be given, and is absent");
}

TEST(gguf_metadata, shows_unprintable_bytes_as_question_marks) {
  auto const file =
      read(gguf_writer().set("k", std::string(" ~\0\n\x80\x7f", 6) + std::string(80, 'b')));
  EXPECT_EQ(message_of([&] { file.number("k"); }),
            "posenc: m.gguf: k must be a finite number, got the string \" ~????" +
                std::string(58, 'b') + "...\"");
}

TEST(gguf_metadata, skips_long_values) {
  gguf_writer file;
  file.list("scores", std::vector<float>(65'537, 1.0f))
      .list("kept", std::vector<std::int8_t>(65'536, -1));
  file.set("long", std::string((1 << 20) + 1, 'x'))
      .set("short", std::string(1 << 20, 'y'))
      .set("last", std::uint8_t{1});
  auto const header = read(file);
  EXPECT_EQ(header.number("last"), 1) << "the next key is found";
  EXPECT_EQ(header.text("short"), std::string(1 << 20, 'y'));
  EXPECT_EQ(header.numbers("kept"), doubles(65'536, -1));
  EXPECT_EQ(message_of([&] { header.text("long"); }),
            "posenc: m.gguf: long must be a string, got a string of 1048577 bytes");
  EXPECT_EQ(
      message_of([&] { header.numbers("scores"); }),
      "posenc: m.gguf: scores must be a list of at most 65536 finite numbers, got a list of 65537");
}

TEST(gguf_metadata, reads_rope_tensors_at_any_alignment) {
  for (std::uint32_t const alignment : {1u, 4u, 32u, 64u, 4096u}) {
    gguf_writer file;
    file.alignment(alignment)
        .tensor("rope_factors_short.weight", {1.0f, 1.5f})
        .tensor("other.weight", {9.0f});
    file.tensor("rope_factors_long.weight", {2.0f, 4.5f, 8.0f})
        .tensor("rope_freqs.weight", {1e30f});
    file.tensor("blk.0.attn_q.weight", {128, 64, 1, 1}, 12, 0);
    pipe buffer("skipped" + file.str());
    std::istream forward_only(&buffer);
    forward_only.ignore(7);
    std::istringstream seekable("skipped" + file.str());
    seekable.ignore(7);
    for (auto const& header :
         {read(file), gguf_metadata(forward_only, "m.gguf"), gguf_metadata(seekable, "m.gguf")}) {
      EXPECT_EQ(header.values("rope_factors_short.weight"), (doubles{1, 1.5}));
      EXPECT_EQ(header.values("rope_factors_long.weight"), (doubles{2, 4.5, 8}));
      EXPECT_EQ(header.values("rope_freqs.weight"), doubles{double{1e30f}});
      EXPECT_FALSE(header.values("other.weight"));
      EXPECT_TRUE(header.has_tensor("other.weight"));
      EXPECT_EQ(header.tensors().at("blk.0.attn_q.weight").dims,
                (std::vector<std::uint64_t>{128, 64, 1, 1}));
      EXPECT_EQ(header.tensors().at("blk.0.attn_q.weight").type, 12u);
      EXPECT_EQ(header.parts().at(0).data_begin % alignment, 0u);
    }
    // The first number of a tensor that the header does not read lies where it says.
    auto const header = read(file);
    auto const at = header.parts().at(0).data_begin + header.tensors().at("other.weight").offset;
    EXPECT_EQ(file.str().substr(at, sizeof(float)), gguf_text().number(9.0f).str());
  }
}

TEST(gguf_metadata, reads_tensors_in_any_order_from_a_pipe) {
  gguf_writer file;
  file.tensor("rope_freqs.weight", {2}, 0, 64).tensor("rope_factors_long.weight", {1}, 0, 0);
  auto text = file.str();
  text.resize((text.size() + 31) / 32 * 32, '\0');
  text += gguf_text().number(7.0f).str() + std::string(60, '\0') +
          gguf_text().number(1.0f).number(2.0f).str();
  pipe buffer(text);
  std::istream stream(&buffer);
  gguf_metadata const header(stream, "m.gguf");
  EXPECT_EQ(header.values("rope_freqs.weight"), (doubles{1, 2}));
  EXPECT_EQ(header.values("rope_factors_long.weight"), doubles{7});
}

// Errors.

TEST(gguf_metadata, refuses_other_files) {
  EXPECT_EQ(
      refusal("PK\3\4and more"),
      "posenc: m.gguf: the file must begin with the letters GGUF, got \"PK??\", bytes 50 4b 03 04");
  EXPECT_EQ(refusal(""),
            "posenc: m.gguf: the file must be complete, got a file that ends within it, at byte 0");
  EXPECT_EQ(refusal("GGU"),
            "posenc: m.gguf: the file must be complete, got a file that ends within it, at byte 3");
  EXPECT_EQ(refusal(gguf_writer(1)), "posenc: m.gguf: version must be 2 or 3, got 1");
  EXPECT_EQ(refusal(gguf_writer(4)), "posenc: m.gguf: version must be 2 or 3, got 4");
  EXPECT_EQ(refusal(gguf_writer(0)), "posenc: m.gguf: version must be 2 or 3, got 0");
  EXPECT_EQ(refusal(gguf_writer(0x03000000)),
            "posenc: m.gguf: version must be little-endian, got a big-endian file");
}

TEST(gguf_metadata, refuses_a_file_that_ends_early_wherever_it_ends) {
  auto const text =
      every_type().tensor("x", {1}, 0, 0).tensor("rope_freqs.weight", {1.0f, 2.0f}).str();
  for (std::size_t size = 0; size < text.size(); ++size) {
    auto const message = refusal(text.substr(0, size));
    EXPECT_TRUE(message.ends_with("must be complete, got a file that ends within it, at byte " +
                                  std::to_string(size)))
        << message;
    EXPECT_TRUE(message.starts_with("posenc: m.gguf: ")) << message;
  }
  EXPECT_EQ(refusal(every_type().str().substr(0, 50)),
            "posenc: m.gguf: i8 must be complete, got a file that ends within it, at byte 50");
  EXPECT_TRUE(refusal(text.substr(0, text.size() - 1))
                  .starts_with("posenc: m.gguf: rope_freqs.weight must be complete"));
}

TEST(gguf_metadata, refuses_absurd_lengths) {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  auto const length = [](std::uint64_t n) { return gguf_text().number(n).str(); };
  auto const list_of = [&](std::uint32_t type, std::uint64_t n) {
    return gguf_text().number(type).number(n).str();
  };
  auto const beyond = [](std::string const& subject, std::string const& got) {
    return "posenc: m.gguf: " + subject +
           " must lie within the first 1073741824 bytes of the file, got " + got;
  };
  EXPECT_EQ(refusal(gguf_writer().raw("k", 8, length(huge))),
            beyond("k", "18446744073709551615 bytes at byte 45"));
  EXPECT_EQ(refusal(gguf_writer().raw("k", 9, list_of(0, huge))),
            beyond("k", "a list of 18446744073709551615"));
  EXPECT_EQ(refusal(gguf_writer().raw("k", 9, list_of(10, huge / 8 + 1))),
            beyond("k", "a list of 2305843009213693952"));
  EXPECT_EQ(refusal(gguf_writer().raw("k", 9, list_of(8, huge) + length(huge))),
            beyond("k", "18446744073709551615 bytes at byte 57"));
  // Lengths that are possible, but lie beyond the end of the file.
  EXPECT_EQ(refusal(gguf_writer().raw("k", 8, length(1 << 29) + "abc")),
            "posenc: m.gguf: k must be complete, got a file that ends within it, at byte 48");
  EXPECT_EQ(refusal(gguf_writer().raw("k", 9, list_of(8, huge))),
            "posenc: m.gguf: k must be complete, got a file that ends within it, at byte 49");
  EXPECT_EQ(refusal(gguf_writer().raw("k", 9, list_of(12, 1 << 27))),
            "posenc: m.gguf: k must lie within the first 1073741824 bytes of the file, got "
            "1073741824 bytes at byte 49");
  EXPECT_EQ(refusal(gguf_writer().count(huge, 0)),
            "posenc: m.gguf: key 1 of 18446744073709551615 must be complete, got a file that ends "
            "within it, at byte 24");
  EXPECT_EQ(refusal(gguf_writer().count(0, huge)),
            "posenc: m.gguf: tensor 1 of 18446744073709551615 must be complete, got a file that "
            "ends within it, at byte 24");
  auto const key = gguf_writer().count(1, 0).str() + length(huge);
  EXPECT_EQ(refusal(key), beyond("key 1 of 1", "18446744073709551615 bytes at byte 32"));
}

TEST(gguf_metadata, refuses_wrong_keys_and_values) {
  EXPECT_EQ(refusal(gguf_writer().set("a", 1.0f).set("a", 1.0f)),
            "posenc: m.gguf: a must appear once in the file, got it twice");
  EXPECT_EQ(refusal(gguf_writer().set("", 1.0f)),
            "posenc: m.gguf: key 1 of 1 must have a name of 1 to 65535 bytes, got 0");
  EXPECT_EQ(refusal(gguf_writer().set(std::string(65'536, 'k'), 1.0f)),
            "posenc: m.gguf: key 1 of 1 must have a name of 1 to 65535 bytes, got 65536");
  EXPECT_EQ(refusal(gguf_writer().raw("a", 13, "")),
            "posenc: m.gguf: a must have one of GGUF's value types, 0 to 12, got type 13");
  EXPECT_EQ(refusal(gguf_writer().raw("a", 9, gguf_text().number(std::uint32_t{77}).str())),
            "posenc: m.gguf: a must have one of GGUF's value types, 0 to 12, got type 77");
  EXPECT_EQ(refusal(gguf_writer().raw("a", 9, gguf_text().number(std::uint32_t{9}).str())),
            "posenc: m.gguf: a must not be a list of lists");
  EXPECT_EQ(refusal(gguf_writer().raw("a", 7, "\2")),
            "posenc: m.gguf: a must be 0 or 1, for it is a bool, got 2");
  EXPECT_EQ(refusal(gguf_writer().raw(
                "a", 9,
                gguf_text().number(std::uint32_t{7}).number(std::uint64_t{2}).bytes("\1\7").str())),
            "posenc: m.gguf: a must be 0 or 1, for it is a bool, got 7");
  EXPECT_EQ(refusal(gguf_writer().set("general.alignment", std::uint32_t{48})),
            "posenc: m.gguf: general.alignment must be a power of 2, got 48");
  EXPECT_EQ(refusal(gguf_writer().set("general.alignment", std::uint32_t{0})),
            "posenc: m.gguf: general.alignment must be a whole number from 1 to 1073741824, got 0");
}

TEST(gguf_metadata, refuses_wrong_tensors) {
  EXPECT_EQ(refusal(gguf_writer().tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 0)),
            "posenc: m.gguf: t must appear once among the tensors, got it twice");
  EXPECT_EQ(refusal(gguf_writer().tensor("t", {1, 1, 1, 1, 1}, 0, 0)),
            "posenc: m.gguf: t must have at most 4 dimensions, got 5");
  EXPECT_EQ(refusal(gguf_writer().tensor("", {1}, 0, 0)),
            "posenc: m.gguf: tensor 1 of 1 must have a name of 1 to 65535 bytes, got 0");
  auto const shape =
      "posenc: m.gguf: rope_freqs.weight must have 1 dimension, of 1 to 65536 numbers, and type 0 "
      "(F32), got ";
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {64}, 1, 0)),
            shape + std::string("1 dimensions, the first of 64 numbers, and type 1"));
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {8, 8}, 0, 0)),
            shape + std::string("2 dimensions, the first of 8 numbers, and type 0"));
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {}, 0, 0)),
            shape + std::string("0 dimensions, the first of 0 numbers, and type 0"));
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {65'537}, 0, 0)),
            shape + std::string("1 dimensions, the first of 65537 numbers, and type 0"));
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {1}, 0, 16)),
            "posenc: m.gguf: rope_freqs.weight must have an offset below 2^62 that is a multiple "
            "of 32, got 16");
  EXPECT_EQ(refusal(gguf_writer().tensor("rope_freqs.weight", {1}, 0, std::uint64_t{1} << 62)),
            "posenc: m.gguf: rope_freqs.weight must have an offset below 2^62 that is a multiple "
            "of 32, got 4611686018427387904");
  for (auto const offset : {std::uint64_t{1} << 20, (std::uint64_t{1} << 62) - 32}) {
    auto const file = gguf_writer().tensor("rope_freqs.weight", {1}, 0, offset).str();
    auto const expected =
        "posenc: m.gguf: rope_freqs.weight must be complete, got a file that ends within it, at "
        "byte ";
    EXPECT_TRUE(message_of([&] { read(file); }).starts_with(expected));
    std::istringstream seekable(file);
    EXPECT_TRUE(message_of([&] { gguf_metadata(seekable, "m.gguf"); }).starts_with(expected));
    pipe buffer(file);
    std::istream forward_only(&buffer);
    EXPECT_TRUE(message_of([&] { gguf_metadata(forward_only, "m.gguf"); }).starts_with(expected));
  }
}

}  // namespace of_gguf_metadata
}  // namespace
