// What a model's files say, and how they are refused: safetensors and their index, tensors of GGUF,
// blocks of each type against a decoder that finds each number by its bits, and tokenizers whose
// ids were worked out by hand. All files are written here.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "model/gguf/writer.hpp"
#include "program/options.hpp"
#include "program/tensors/weights.hpp"
#include "program/text/tokenizer.hpp"
#include "program/text/vocabulary.hpp"

namespace {

namespace fs = std::filesystem;

int failures = 0;

void expect(bool holds, std::string const& what) {
  if (!holds) std::cerr << "files_check: " << what << '\n', ++failures;
}
// The sentence must be the error's, with the folder left out.
void expect_refused(fs::path const& folder, std::string const& sentence, auto const& read) {
  std::string said;
  try {
    read();
  } catch (std::exception const& error) {
    said = program::message_of(error);
  }
  auto const beside = folder.string() + "/";
  for (auto at = said.find(beside); at != said.npos; at = said.find(beside))
    said.erase(at, beside.size());
  expect(said == sentence, "must be refused by \"" + sentence + "\", got \"" + said + "\"");
}

void write(fs::path const& file, std::string const& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string with_length(std::string const& header, std::string const& data) {
  return gguf_text().number(std::uint64_t{header.size()}).bytes(header).bytes(data).str();
}

// ---- Safetensors

std::string entry(std::string const& name, std::string const& dtype, std::string const& shape,
                  std::string const& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

void check_safetensors(fs::path const& folder) {
  auto const file = folder / "m.safetensors";
  std::string const data(16, '\x3f');
  auto const refused = [&](std::string const& entries, std::string const& sentence) {
    write(file, with_length("{" + entries + "}", data));
    expect_refused(folder, sentence, [&] { program::weight_files const files(file.string()); });
  };
  refused(entry("t", "F32", "[2,3]", "[0,24]"),
          "m.safetensors:t: must end within the file, which has 16 bytes of numbers, got byte 24");
  refused(entry("t", "F32", "[2,3]", "[0,16]"),
          "m.safetensors:t: must have 24 bytes, for F32 [2, 3], got 16");
  refused(entry("t", "F32", "[2]", "[8,0]"),
          "m.safetensors:t: must have data_offsets, where its bytes begin and end");
  refused(entry("t", "F32", "[-2]", "[0,8]"),
          "m.safetensors:t: must have a shape, a list of whole numbers");
  refused(entry("t", "F32", "[1048576,1048577]", "[0,16]"),
          "m.safetensors:t: must have at most 2^40 numbers");
  refused(R"("t":{"shape":[2],"data_offsets":[0,8]})",
          "m.safetensors:t: must have a dtype, a string");
  refused(R"("t":7)", "m.safetensors:t: must have a shape, a list of whole numbers");
  refused(entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[2]", "[4,12]"),
          "m.safetensors:b: must not overlap another tensor, got one that overlaps a");
  refused(entry("t", "F32", "[2]", "[0,8]") + "," + entry("t", "F32", "[2]", "[8,16]"),
          "m.safetensors: each key must appear once in its object, got the string \"t\" twice");

  write(file, with_length("{", ""));
  try {
    program::weight_files const files(file.string());
    expect(false, "half an object must be refused");
  } catch (std::exception const& error) {
    expect(program::message_of(error).find("m.safetensors: must be JSON: ") != std::string::npos,
           error.what());
  }
  for (auto const& [bytes, sentence] :
       {std::pair<std::string, char const*>{
            "abc", "m.safetensors: must begin with the length of its header, 8 bytes"},
        {with_length("{}", "").substr(0, 9),
         "m.safetensors: must have a header of at most 1 bytes, got one of 2"},
        {std::string(8, '\xff'),
         "m.safetensors: must have a header of at most 0 bytes, got one of 18446744073709551615"},
        {with_length("[]", ""), "m.safetensors: must have a header that is a JSON object"}}) {
    write(file, bytes);
    expect_refused(folder, sentence, [&] { program::weight_files const files(file.string()); });
  }

  // Three types, one of them not known; a tensor that lies at an odd byte; __metadata__.
  write(file,
        with_length(R"({"__metadata__":{"format":"pt"},)" + entry("bytes", "U8", "[1]", "[0,1]") +
                        "," + entry("bf16", "BF16", "[1,2]", "[1,5]") + "," +
                        entry("f32", "F32", "[]", "[5,9]") + "," +
                        entry("none", "F32", "[0,4]", "[9,9]") + "}",
                    std::string("\x07\x80\x3f\x00\xc0\x00\x00\x00\x3f", 9)));
  program::weight_files const files(file.string());
  float numbers[2] = {};
  files.at("bf16").decode(0, 1, numbers);
  expect(numbers[0] == 1 && numbers[1] == -2, "a BF16 tensor must be 1, -2");
  files.at("f32").decode(0, 1, numbers);
  expect(numbers[0] == 0.5f, "a scalar of F32 must be 0.5");
  expect(!files.is_gguf() && files.all().size() == 4 && files.find("other") == nullptr,
         "a file of four tensors");
  expect_refused(folder, "m.safetensors: has no tensor other", [&] { files.at("other"); });
  expect_refused(folder, "m.safetensors:bytes: must be " + program::format_names() + ", got U8",
                 [&] { files.find("bytes"); });
  expect_refused(
      folder, "m.safetensors:none: must be " + program::format_names() + ", got F32 of no numbers",
      [&] { files.find("none"); });
  expect_refused(folder, "m.safetensors:bf16: must have rows 1 to 1, has 1",
                 [&] { files.at("bf16").each_row(1, 1, [](auto, auto) {}); });
  expect_refused(folder, "m.safetensors: has no config.json beside it",
                 [&] { files.description(); });
}

void check_index(fs::path const& folder) {
  fs::create_directories(folder);
  auto const index = folder / "model.safetensors.index.json";
  auto const part = [&](std::string const& name) {
    return with_length("{" + entry(name, "F32", "[1]", "[0,4]") + "}", std::string(4, '\0'));
  };
  auto const refused = [&](std::string const& text, std::string const& sentence) {
    write(index, text);
    expect_refused(folder, sentence, [&] { program::weight_files const files(folder.string()); });
  };
  expect_refused(folder.parent_path(),
                 folder.filename().string() +
                     ": has no model.safetensors, and no model.safetensors.index.json",
                 [&] { program::weight_files const files(folder.string()); });
  write(folder / "1.safetensors", part("a"));
  write(folder / "2.safetensors", part("b"));
  auto const map = [](std::string const& a, std::string const& b) {
    return R"({"weight_map":{"a":")" + a + R"(","b":")" + b + R"("}})";
  };
  write(index, map("1.safetensors", "2.safetensors"));
  for (auto const& name : {folder.string(), index.string(), (folder / "config.json").string()})
    expect(program::weight_files(name).all().size() == 2, name + " must have two tensors");
  std::string const name = "model.safetensors.index.json";
  refused("{}",
          name + ": must have a weight_map, an object of tensors and the files that have them");
  refused(map("1.safetensors", "1.safetensors"),
          name + ": must be right about tensor b, which is not in 1.safetensors");
  refused(map("1.safetensors", "../2.safetensors"),
          name + ": must name a file beside it for tensor b");
  refused(map("1.safetensors", "3.safetensors"),
          "3.safetensors: cannot be read: No such file or directory");
  write(folder / "2.safetensors", part("a"));
  refused(map("1.safetensors", "2.safetensors"),
          "1.safetensors:a: must be there once, and is in 2.safetensors, too");
}

// ---- GGUF

void check_gguf(fs::path const& folder) {
  auto const file = folder / "m.gguf";
  std::string const data(36, '\x11');  // two blocks of Q4_0
  auto const refused = [&](gguf_writer const& writer, std::string const& sentence) {
    write(file, writer.str());
    expect_refused(folder, sentence, [&] { program::weight_files const files(file.string()); });
  };
  auto const with = [&](std::vector<std::uint64_t> const& dims, std::uint32_t type) {
    return gguf_writer().tensor("t", dims, type, data);
  };
  auto const size = with({32, 2}, 2).str().size();
  refused(with({32, 3}, 2), "m.gguf:t: must end within the file, of " + std::to_string(size) +
                                " bytes, got byte " + std::to_string(size + 18));
  refused(with({16, 4}, 2),
          "m.gguf:t: must have rows of whole blocks, a multiple of 32 numbers of Q4_0, got 16");
  refused(with({32, 0}, 2), "m.gguf:t: must have 1 to 2^40 numbers");
  refused(with({std::uint64_t{1} << 32, 512}, 2), "m.gguf:t: must have 1 to 2^40 numbers");
  refused(gguf_writer().tensor("t", {32, 2}, 2, std::uint64_t{1} << 62),
          "m.gguf:t: must have an offset below 2^62");
  refused(
      gguf_writer().tensor("a", {32, 2}, 2, data).tensor("b", {32}, 2, std::uint64_t{0}),
      "m.gguf:" + std::string("b") + ": must not overlap another tensor, got one that overlaps a");
  write(file, with({7}, 19).str());
  expect_refused(folder, "m.gguf:t: must be " + program::format_names() + ", got ggml's type 19",
                 [&] { program::weight_files(file.string()).at("t"); });
  write(file,
        gguf_writer().tensor("t", {1, 2}, 0, std::string("\0\0\x80\x3f\0\0\xc0\x7f", 8)).str());
  expect_refused(folder, "m.gguf:t: must have finite numbers, got another in row 1", [&] {
    program::weight_files(file.string()).at("t").each_row(0, 2, [](auto, auto) {});
  });
}

// ---- Blocks

// A block of random bytes, and its numbers by the places of their bits.
class random_block {
 public:
  random_block(std::size_t size, std::uint64_t seed) : bytes(size, '\0'), state_(seed) {
    for (auto& byte : bytes) byte = static_cast<char>(next());
  }
  // A half that is finite.
  void tame(std::size_t at) { bytes[at + 1] = static_cast<char>(bytes[at + 1] & ~0x40); }

  unsigned bits(std::size_t first_bit, std::size_t count) const {
    unsigned result = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const bit = first_bit + i;
      result |= (static_cast<unsigned char>(bytes[bit / 8]) >> bit % 8 & 1u) << i;
    }
    return result;
  }
  double half(std::size_t at) const {
    auto const fraction = bits(8 * at, 10), exponent = bits(8 * at + 10, 5);
    auto const magnitude = exponent == 0
                               ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    return bits(8 * at + 15, 1) != 0 ? -magnitude : magnitude;
  }
  int signed_byte(std::size_t at) const { return static_cast<signed char>(bytes[at]); }

  std::string bytes;

 private:
  unsigned next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state_ >> 56);
  }
  std::uint64_t state_;
};

// The scale or the least value of a part of Q4_K and Q5_K.
unsigned six_bits(random_block const& b, std::size_t part, bool least) {
  auto const of_first = 8 * (4 + (least ? 4 : 0) + part % 4);
  if (part < 4) return b.bits(of_first, 6);
  return b.bits(8 * (8 + part) + (least ? 4 : 0), 4) | b.bits(of_first + 6, 2) << 4;
}

double of_table(unsigned code) {
  constexpr int table[]{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return table[code];
}

// E2M1: a sign, 2 bits of exponent with the bias 1, 1 bit of fraction.
double e2m1(unsigned code) {
  auto const exponent = static_cast<int>(code >> 1 & 3), fraction = static_cast<int>(code & 1);
  auto const magnitude = exponent == 0 ? fraction / 2.0 : std::ldexp(2 + fraction, exponent - 2);
  return code >= 8 ? -magnitude : magnitude;
}

struct block_case {
  std::uint32_t type;
  std::vector<std::size_t> halves;  // where they lie
  std::function<double(random_block const&, std::size_t i)> number;
};

std::vector<block_case> const& block_cases() {
  // Number i's 4 bits among bytes from `at` on, where a byte has i and i + half.
  static auto const nibble = [](random_block const& b, std::size_t at, std::size_t i,
                                std::size_t half) {
    return b.bits(8 * (at + i / (2 * half) * half + i % half) + 4 * (i / half % 2), 4);
  };
  static auto const pair_of_bits = [](random_block const& b, std::size_t at, std::size_t i) {
    return b.bits(8 * (at + 32 * (i / 128) + i % 32) + 2 * (i / 32 % 4), 2);
  };
  static std::vector<block_case> const all{
      {2, {0}, [](auto const& b, auto i) { return b.half(0) * (int(nibble(b, 2, i, 16)) - 8); }},
      {3,
       {0, 2},
       [](auto const& b, auto i) { return b.half(0) * nibble(b, 4, i, 16) + b.half(2); }},
      {6,
       {0},
       [](auto const& b, auto i) {
         return b.half(0) * (int(nibble(b, 6, i, 16) | b.bits(16 + i, 1) << 4) - 16);
       }},
      {7,
       {0, 2},
       [](auto const& b, auto i) {
         return b.half(0) * (nibble(b, 8, i, 16) | b.bits(32 + i, 1) << 4) + b.half(2);
       }},
      {8, {0}, [](auto const& b, auto i) { return b.half(0) * b.signed_byte(2 + i); }},
      {10,
       {80, 82},
       [](auto const& b, auto i) {
         auto const part = 8 * (i / 16);
         return b.half(80) * b.bits(part, 4) * pair_of_bits(b, 16, i) -
                b.half(82) * b.bits(part + 4, 4);
       }},
      {11,
       {108},
       [](auto const& b, auto i) {
         auto const part = i / 16;
         auto const scale = b.bits(8 * (96 + part % 8) + 4 * (part / 8), 4) |
                            b.bits(8 * (104 + part % 4) + 2 * (part / 4), 2) << 4;
         auto const code = pair_of_bits(b, 32, i) | b.bits(8 * (i % 32) + i / 32, 1) << 2;
         return b.half(108) * (int(scale) - 32) * (int(code) - 4);
       }},
      {12,
       {0, 2},
       [](auto const& b, auto i) {
         return b.half(0) * six_bits(b, i / 32, false) * nibble(b, 16, i, 32) -
                b.half(2) * six_bits(b, i / 32, true);
       }},
      {13,
       {0, 2},
       [](auto const& b, auto i) {
         auto const code = nibble(b, 48, i, 32) | b.bits(8 * (16 + i % 32) + i / 32, 1) << 4;
         return b.half(0) * six_bits(b, i / 32, false) * code -
                b.half(2) * six_bits(b, i / 32, true);
       }},
      {14,
       {208},
       [](auto const& b, auto i) {
         auto const code = nibble(b, 0, i, 64) | pair_of_bits(b, 128, i) << 4;
         return b.half(208) * b.signed_byte(192 + i / 16) * (int(code) - 32);
       }},
      {20, {0}, [](auto const& b, auto i) { return b.half(0) * of_table(nibble(b, 2, i, 16)); }},
      {23,
       {0},
       [](auto const& b, auto i) {
         auto const part = i / 32;
         auto const scale =
             b.bits(8 * (4 + part / 2) + 4 * (part % 2), 4) | b.bits(16 + 2 * part, 2) << 4;
         return b.half(0) * (int(scale) - 32) * of_table(nibble(b, 8, i, 16));
       }},
      {39, {}, [](auto const& b, auto i) {
         return std::ldexp(e2m1(nibble(b, 1, i, 16)), int(b.bits(0, 8)) - 127);
       }}};
  return all;
}

void check_blocks() {
  for (auto const& one : block_cases()) {
    auto const* const format = program::format_of(one.type);
    if (format == nullptr) {
      expect(false, "type " + std::to_string(one.type) + " must be known");
      continue;
    }
    std::size_t wrong = 0;
    for (std::uint64_t seed = 1; seed <= 64; ++seed) {
      random_block block(format->bytes, seed);
      for (auto const at : one.halves) block.tame(at);
      if (one.type == 39) block.bytes[0] = static_cast<char>(seed < 3 ? seed - 1 : seed * 3);
      std::vector<float> numbers(format->numbers);
      format->decode(reinterpret_cast<unsigned char const*>(block.bytes.data()), 1, numbers.data());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto const want = static_cast<float>(one.number(block, i));
        wrong += std::bit_cast<std::uint32_t>(want) != std::bit_cast<std::uint32_t>(numbers[i]) &&
                 !(want == 0 && numbers[i] == 0);
      }
    }
    expect(wrong == 0,
           std::string(format->name) + ": " + std::to_string(wrong) + " numbers have other bits");
  }
}

// ---- Tokenizers

std::string shown(program::token_ids const& ids) {
  std::string text;
  for (auto const id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

void expect_ids(program::tokenizer const& words, std::string const& text, std::string const& want) {
  auto const got = shown(words.encode(text));
  expect(got == want, "\"" + text + "\" must have the ids " + want + ", got " + got);
}

// A folder with tensors and this tokenizer.
program::tokenizer words_of(fs::path const& folder, std::string const& json) {
  fs::create_directories(folder);
  write(folder / "model.safetensors", with_length("{}", ""));
  write(folder / "tokenizer.json", json);
  return program::tokenizer(program::weight_files(folder.string()));
}

void check_characters(fs::path const& folder) {
  // Ranks: "ab" before " a" before two spaces.
  std::string const model = R"("model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
 "vocab": {"<unk>": 0, "<s>": 1, "▁": 2, "a": 3, "b": 4, "ab": 5, "▁a": 6, "▁▁": 7, "<x>": 8,
 "<0xC3>": 9, "<0xA9>": 10}, "merges": ["a b", ["▁", "a"], "▁ ▁"]})";
  auto const added = [](std::string const& normalized) {
    return R"("added_tokens": [{"id": 8, "content": "<x>", "special": true, "normalized": )" +
           normalized + "}], ";
  };
  std::string const marks =
      R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
 {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, )";
  auto const metaspace = [](std::string const& scheme, std::string const& split) {
    return R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" +
           scheme + R"(", "split": )" + split + "}, ";
  };
  auto const of = [&](std::string const& settings) {
    return words_of(folder, "{" + settings + model + "}");
  };
  auto const before = of(added("false") + marks);
  expect_ids(before, "ab", "2 5");         // _ a b: "ab" first, and "_ab" is no token
  expect_ids(before, "a<x>b", "6 8 2 4");  // a space in front of each part
  expect_ids(before, " a", "2 6");         // _ _a: " a" merges before two spaces
  expect_ids(before, "??", "2 0 0");       // each unknown character by itself
  expect_ids(before, "\u00e9", "2 9 10");  // by its bytes
  auto const behind = of(added("true") + marks);
  expect_ids(behind, "<x>", "8");  // which is looked for as "_<x>"
  expect_ids(behind, "a<x>", "6 0 0 0");
  expect_ids(behind, "a <x>b", "6 8 4");
  auto const first = of(added("false") + metaspace("first", "false"));
  expect_ids(first, "a<x>b", "6 8 4");
  expect_ids(first, " a", "6");  // a space is there
  expect_ids(first, "a  ", "6 7");
  expect_ids(of(metaspace("always", "true")), "a  ", "6 2 2");  // each space begins a word
  expect_ids(of(added("false") + metaspace("always", "true")), "a<x>b", "6 8 2 4");
  expect_ids(of(metaspace("never", "true")), "ab", "5");
  // Spaces are marked before words are split at them: none is left.
  expect_ids(of(R"("normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
 "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}, )"),
             "a  a", "3 2 6");

  // BOS and EOS as the settings beside say.
  write(folder / "tokenizer_config.json",
        R"({"add_bos_token": true, "bos_token": {"content": "<s>"},
 "add_eos_token": true, "eos_token": "<x>"})");
  expect_ids(of(""), "ab", "1 5 8");
  fs::remove(folder / "tokenizer_config.json");

  auto const refused = [&](std::string const& json, std::string const& sentence) {
    expect_refused(folder.parent_path(),
                   folder.filename().string() + "/tokenizer.json: " + sentence +
                       "; --ids FILE takes ids in place of a text",
                   [&] { words_of(folder, json); });
  };
  refused(R"({"model": {"type": "WordPiece"}})", "model must be of type BPE");
  refused(R"({"model": {"vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"}})",
          "model.end_of_word_suffix must be empty");
  refused(R"({"model": {"vocab": {"a": 1048576}, "merges": []}})",
          "the id of token a must be a whole number below 1048576, got 1048576");
  refused(R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})",
          "tokens must have different ids, got 0 of a and b");
  refused(R"({"model": {"vocab": {"a": 0}, "merges": [7]}})",
          "model.merges must be pairs of tokens");
  refused(R"({"model": {"vocab": {"a": 0}}})", "model.merges must be a list");
  refused("{" + std::string(R"("normalizer": {"type": "Lowercase"}, )") + model + "}",
          "the normalizer Lowercase is not known, or not as it is set");
  refused("{" + std::string(R"("pre_tokenizer": {"type": 7}, )") + model + "}",
          "the pre_tokenizer  is not known, or not as it is set");
}

void check_bytes(fs::path const& folder) {
  if (!program::has_regular_expressions()) return;
  auto const of = [&](std::string const& pre_tokenizers, std::string const& settings = "") {
    return words_of(folder, "{" + settings +
                                R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                                pre_tokenizers + R"(]}, "model": {"vocab": {"1": 0, "2": 1, "12": 2,
 "a": 3, "b": 4, "Ġ": 5, "ab": 6}, "merges": ["1 2", "a b"]}})");
  };
  std::string const bytes = R"({"type": "ByteLevel", "add_prefix_space": false})";
  expect_ids(of(bytes), "ab12 12", "6 2 5 2");
  expect_ids(of(R"({"type": "Digits", "individual_digits": true}, )" + bytes), "ab12", "6 0 1");
  expect_ids(of(R"({"type": "Digits"}, )" + bytes), "a1212b", "3 2 2 4");
  expect_refused(folder.parent_path(),
                 folder.filename().string() +
                     "/tokenizer.json: composes letters and marks (NFC), which posenc does not: "
                     "byte 1 of the text must be a letter that has its mark; --ids FILE takes ids "
                     "in place of a text",
                 [&] { of(bytes, R"("normalizer": {"type": "NFC"}, )").encode("be\u0301"); });
  expect_refused(folder, "the tokenizer's expression for words cannot be read at character 1", [&] {
    of(R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "("}}, )" + bytes)
        .encode("a");
  });
}

void check_vocabularies_of_gguf(fs::path const& folder) {
  auto const file = folder / "m.gguf";
  auto const of = [&](gguf_writer const& writer) {
    write(file, writer.str());
    return program::tokenizer(program::weight_files(file.string()));
  };
  auto const refused = [&](gguf_writer const& writer, std::string const& sentence) {
    expect_refused(folder, "m.gguf: " + sentence + "; --ids FILE takes ids in place of a text",
                   [&] { of(writer); });
  };
  auto const llama = [](std::vector<float> const& scores) {
    return gguf_writer()
        .set("tokenizer.ggml.model", "llama")
        .strings("tokenizer.ggml.tokens",
                 {"<unk>", "<s>", "\u2581", "a", "b", "ab", "ba", "<0x3F>"})
        .list<float>("tokenizer.ggml.scores", scores)
        .list<std::int32_t>("tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1, 1, 6})
        .set("tokenizer.ggml.bos_token_id", std::uint32_t{1})
        .set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  };
  auto const words = of(llama({0, 0, -1, -2, -3, -5, -4, 0}));
  expect_ids(words, "aba?", "1 2 3 6 7");  // "ba" has the higher score
  expect(words.notes().empty(), "a vocabulary with scores has no note");
  auto const equal = of(llama(std::vector<float>(8, -1000)));
  expect_ids(equal, "aba", "1 2 5 3");  // from the left
  expect(equal.notes().size() == 1 && equal.notes()[0].find("the same score") != std::string::npos,
         "equal scores must be said");
  refused(gguf_writer(), "has no tokenizer");
  refused(gguf_writer().set("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", {"a"}),
          "tokenizer.ggml.model must be llama or gpt2, got bert");
  refused(llama({0}), "tokenizer.ggml.scores must be one for each of the 8 tokens");

  auto const gpt2 = [](char const* pre) {
    auto writer = gguf_writer()
                      .set("tokenizer.ggml.model", "gpt2")
                      .strings("tokenizer.ggml.tokens", {"a", "b", "ab", "bb", "<s>"})
                      .strings("tokenizer.ggml.merges", {"a b"})
                      .set("tokenizer.ggml.bos_token_id", std::uint32_t{4});
    return pre == nullptr ? writer : writer.set("tokenizer.ggml.pre", pre);
  };
  if (!program::has_regular_expressions()) return;
  expect_ids(of(gpt2("gpt-2")), "bb", "1 1");
  expect_ids(of(gpt2("llama-bpe")), "bb", "4 3");  // BOS, and a word that is a token
  expect_ids(of(gpt2("qwen2")), "abb", "2 1");
  expect(of(gpt2(nullptr)).notes().size() == 1, "words that no key says must be said");
  refused(gpt2("other"), "tokenizer.ggml.pre must be gpt-2, llama-bpe or qwen2, got other");
}

}  // namespace

int main() {
  auto const folder = fs::temp_directory_path() / "posenc-files-check";
  fs::remove_all(folder);
  fs::create_directories(folder);
  try {
    check_safetensors(folder);
    check_index(folder / "several");
    check_gguf(folder);
    check_blocks();
    check_characters(folder / "characters");
    check_bytes(folder / "bytes");
    check_vocabularies_of_gguf(folder);
  } catch (std::exception const& error) {
    expect(false, error.what());
  }
  fs::remove_all(folder);
  return failures == 0 ? 0 : 1;
}
