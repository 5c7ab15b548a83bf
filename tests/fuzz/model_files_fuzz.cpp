// Any bytes as a GGUF file with its tensors, as a safetensors file, as the index of several, and as
// a tokenizer.json: they are read, or refused by an error that names the file. Whatever is read can
// be decoded, and a text becomes ids and comes back. This program writes seeds into the first
// folder among its arguments if that is empty. Files are read into memory of their size, so that
// the sanitizer sees whoever reads beyond.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/gguf/writer.hpp"
#include "must.hpp"
#include "program/tensors/weights.hpp"
#include "program/text/tokenizer.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

void write(fs::path const& file, std::string_view text) {
  std::ofstream(file, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string with_length(std::string_view header, std::string_view data) {
  return gguf_text().number(std::uint64_t{header.size()}).bytes(header).bytes(data).str();
}

// Two tensors of four floats.
constexpr std::string_view two_tensors =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})";

void write_seeds(fs::path const& folder) {
  auto const words =
      gguf_writer()
          .set("general.architecture", "llama")
          .set("tokenizer.ggml.model", "llama")
          .strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "\u2581", "a", "b", "ab"})
          .list<float>("tokenizer.ggml.scores", {0, 0, -1, -2, -3, -4})
          .list<std::int32_t>("tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1})
          .set("tokenizer.ggml.bos_token_id", std::uint32_t{1})
          .set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  write(folder / "llama", words.str());
  write(folder / "gpt2", gguf_writer()
                             .set("tokenizer.ggml.model", "gpt2")
                             .set("tokenizer.ggml.pre", "llama-bpe")
                             .strings("tokenizer.ggml.tokens", {"a", "b", "ab", "\u0120"})
                             .strings("tokenizer.ggml.merges", {"a b"})
                             .str());
  // Types by their number, the numbers and the bytes of a block.
  std::uint64_t const types[][3]{{0, 1, 4},      {1, 1, 2},      {2, 32, 18},    {3, 32, 20},
                                 {6, 32, 22},    {7, 32, 24},    {8, 32, 34},    {10, 256, 84},
                                 {11, 256, 110}, {12, 256, 144}, {13, 256, 176}, {14, 256, 210},
                                 {20, 32, 18},   {23, 256, 136}, {30, 1, 2},     {39, 32, 17}};
  for (auto const& [type, numbers, bytes] : types)
    write(folder / ("type-" + std::to_string(type)),
          gguf_writer()
              .set("general.architecture", "llama")
              .tensor("t", {numbers, 2}, static_cast<std::uint32_t>(type),
                      std::string(2 * static_cast<std::size_t>(bytes), '\x5a'))
              .str());
  write(folder / "safetensors", "S" + std::string(two_tensors) + "\0"s + std::string(24, '\x3f'));
  write(folder / "plan",
        "N\x01"s + "\x01\x04\x01\x08\x01" + "\x02\x02\x03\x10\x01" + std::string(28, '\x3f'));
  write(folder / "raw", "s" + with_length(two_tensors, std::string(24, '\x3f')));
  write(folder / "index", R"(I{"weight_map": {"a": "part.safetensors", "b": "part.safetensors"}})");
  write(folder / "characters", R"({"added_tokens": [{"id": 1, "content": "<s>", "special": true,
 "normalized": true}], "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend",
 "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
 "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first", "split": true},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
 {"Sequence": {"id": "A"}}]}, "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
 "fuse_unk": true, "vocab": {"<unk>": 0, "<s>": 1, "▁": 2, "a": 3, "b": 4, "ab": 5, "<0xC3>": 6},
 "merges": ["a b"]}})");
  write(folder / "bytes", R"({"added_tokens": [], "normalizer": {"type": "NFC"}, "pre_tokenizer":
 {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated", "pattern":
 {"Regex": "\\p{L}+|\\s+(?!\\S)|\\s+"}}, {"type": "Digits", "individual_digits": true},
 {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}, "model": {"ignore_merges":
 true, "unk_token": null, "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": [["a", "b"]]}})");
}

// A safetensors file whose shapes and places are the bytes of a plan.
std::string planned(std::string_view plan) {
  auto const next = [&]() -> std::uint64_t {
    if (plan.empty()) return 0;
    auto const byte = static_cast<unsigned char>(plan.front());
    plan.remove_prefix(1);
    return byte < 0xF0 ? byte : std::uint64_t{1} << 4 * (byte & 15);  // some are large
  };
  std::string header = "{";
  constexpr std::pair<char const*, std::uint64_t> dtypes[]{
      {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}};
  auto const tensors = 1 + next() % 4;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    auto const& [dtype, bytes] = dtypes[next() % 4];
    auto const rows = next(), columns = next(), begin = next(), size = next();
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":")" + dtype +
              R"(","shape":[)" + std::to_string(rows) + "," + std::to_string(columns) +
              R"(],"data_offsets":[)" + std::to_string(begin) + "," +
              // Mostly as many as there must be: else nothing behind that check is tried.
              std::to_string(begin + (size < 0x80 ? rows * columns * bytes : size)) + "]}";
  }
  return with_length(header + "}", plan);
}

// Calls read(), whose error, if it has one, must be a sentence about a file.
void read_or_refuse(std::string_view file, auto const& read) {
  try {
    read();
  } catch (std::invalid_argument const& error) {
    fuzz::must(std::string_view(error.what()).find(file) != std::string_view::npos,
               "an error that does not name the file");
  } catch (std::runtime_error const& error) {
    std::string_view const what = error.what();
    fuzz::must(what.find(file) != what.npos || what.starts_with("the tokenizer's expression"),
               "an error that does not name the file");
  }
}

void decode_all(program::weight_files const& files) {
  for (auto const& w : files.all()) {
    if (w.format == nullptr || w.columns() == 0) continue;
    std::vector<float> row(w.columns());
    for (std::size_t i = 0; i < w.rows(); ++i) w.decode(i, 1, row.data());
  }
}

void try_words(program::weight_files const& files) {
  program::tokenizer const words(files);
  for (auto const text : {"ab a<s>b  \u00e9 12\n", "", " ", "'s\u65e5\r\n\u2581ab"})
    words.decode(words.encode(text));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (auto const* const folder : {"files", "files/one", "files/several", "files/words"})
    fs::create_directory(folder);
  auto const whole = with_length(two_tensors, std::string(24, '\x3f'));
  write("files/several/part.safetensors", whole);
  write("files/words/model.safetensors", whole);
  for (int i = 1; i < *argc; ++i) {
    fs::path const folder((*argv)[i]);
    if (!fs::is_directory(folder)) continue;
    if (fs::is_empty(folder)) write_seeds(folder);
    return 0;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const input(reinterpret_cast<char const*>(data), size);
  if (input.empty()) return 0;
  auto const text = input.substr(1);
  if (input[0] == 'G') {
    write("files/m.gguf", input);
    read_or_refuse("m.gguf", [] {
      program::weight_files const files("files/m.gguf");
      decode_all(files);
      try_words(files);
    });
  } else if (input[0] == 'S' || input[0] == 's' || input[0] == 'N') {
    auto const end = std::min(text.find('\0'), text.size());
    write("files/one/model.safetensors",
          input[0] == 's' ? std::string(text)
          : input[0] == 'N'
              ? planned(text)
              : with_length(text.substr(0, end), text.substr(std::min(end + 1, text.size()))));
    read_or_refuse("model.safetensors", [] { decode_all(program::weight_files("files/one")); });
  } else if (input[0] == 'I') {
    write("files/several/model.safetensors.index.json", text);
    read_or_refuse("files/several", [] { decode_all(program::weight_files("files/several")); });
  } else {
    write("files/words/tokenizer.json", input);
    read_or_refuse("tokenizer.json", [] { try_words(program::weight_files("files/words")); });
  }
  return 0;
}
