#include "posenc/model/gguf/parts.hpp"

#include <gtest/gtest.h>
#if defined(__unix__)
#include <sys/stat.h>
#endif

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face/read_model.hpp"
#include "rejects.hpp"

namespace {
namespace of_gguf_parts {

using namespace posenc;

// Head dim 64 of base 10000: pairs from 16 on turn 8 times slower.
gguf_writer keys() { return gguf_models::common("llama", {2, 8192, 256, 4, 4}); }
std::vector<float> factors() {
  std::vector<float> result(32, 1.0f);
  for (std::size_t i = 16; i < 32; ++i) result[i] = 8;
  return result;
}
gguf_writer numbered(gguf_writer file, std::size_t no, std::size_t count) {
  return file.set("split.no", static_cast<std::uint16_t>(no))
      .set("split.count", static_cast<std::uint16_t>(count));
}
gguf_metadata in_memory(gguf_writer const& file, std::string const& name) {
  auto const bytes = file.str();
  return gguf_metadata(bytes_of(bytes), name);
}
double frequency(model_description const& model, std::size_t pair) {
  return model.kinds.at(0).rotary.at(0).frequencies.at(1).inv_freq()[pair];
}

/// A folder with the files of a model, which end with the test.
class model_folder {
 public:
  model_folder() { std::filesystem::create_directories(path_); }
  ~model_folder() { std::filesystem::remove_all(path_); }
  model_folder(model_folder const&) = delete;
  model_folder& operator=(model_folder const&) = delete;
  std::filesystem::path put(std::string const& name, gguf_writer const& file) const {
    std::ofstream(path_ / name, std::ios::binary) << file.str();
    return path_ / name;
  }
  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("posenc_parts_test_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
};

// What is lost without the other files, whichever of them has it.

TEST(gguf_parts, factors_are_found_in_whichever_file_has_them) {
  auto const plain = frequency(read_gguf(in_memory(keys(), "m.gguf")), 20);
  for (std::size_t const there : {0u, 1u, 2u}) {
    model_folder const folder;
    std::vector<gguf_writer> files{numbered(keys(), 0, 3), numbered(gguf_writer(), 1, 3),
                                   numbered(gguf_writer(), 2, 3)};
    files[there].tensor("rope_freqs.weight", factors());
    files[2].tensor("token_embd.weight", std::vector<float>{1});
    for (std::size_t i = 1; i < 3; ++i)
      folder.put("a b-0000" + std::to_string(i + 1) + "-of-00003.gguf", files[i]);
    auto const first = folder.put("a b-00001-of-00003.gguf", files[0]);
    for (auto const& model : {read_gguf(first), read_model(first)}) {
      EXPECT_EQ(frequency(model, 20), plain / 8) << "in file " << there;
      EXPECT_TRUE(model.kinds[0].rotary[0].has_pair_factors);
      EXPECT_TRUE(model.notes.empty());
    }
  }
}

TEST(gguf_parts, lists_of_longrope_may_be_in_two_files) {
  model_folder const folder;
  auto phi = gguf_models::common("phi3", {2, 131072, 256, 4, 4});
  phi.set("phi3.rope.scaling.original_context_length", std::uint32_t{4096});
  folder.put("phi-00002-of-00002.gguf",
             numbered(gguf_writer(), 1, 2)
                 .tensor("rope_factors_long.weight", std::vector<float>(32, 4.0f)));
  auto const first = folder.put(
      "phi-00001-of-00002.gguf",
      numbered(phi, 0, 2).tensor("rope_factors_short.weight", std::vector<float>(32, 1.0f)));
  auto const model = read_gguf(first);
  auto const& rotary = model.kinds.at(0).rotary.at(0);
  EXPECT_EQ(rotary.rule, "longrope");
  EXPECT_EQ(rotary.frequencies.at(4096).inv_freq()[3],
            4 * rotary.frequencies.at(4097).inv_freq()[3]);
}

TEST(gguf_parts, norms_biases_and_sinks_are_those_of_all_files) {
  model_folder const folder;
  auto glm = gguf_models::common("glm4moe", {2, 8192, 256, 4, 4});
  glm.tensor("token_embd.weight", std::vector<float>{1});
  auto second = numbered(gguf_writer(), 1, 2);
  for (std::string const layer : {"blk.0.attn_", "blk.1.attn_"})
    for (auto const* const name : {"k.weight", "k.bias", "q_norm.weight"})
      second.tensor(layer + name, std::vector<float>{1});
  folder.put("g-00002-of-00002.gguf", second);
  auto const model = read_gguf(folder.put("g-00001-of-00002.gguf", numbered(glm, 0, 2)));
  EXPECT_GT(model.kinds.at(0).query_norm.of, norm_scope::none);
  EXPECT_EQ(model.kinds.at(0).key_bias, true);
  // A file that has tensors, and none of the layers, tells nothing of them.
  auto const alone = read_gguf(in_memory(glm, "m.gguf"));
  EXPECT_EQ(alone.kinds.at(0).query_norm.of, norm_scope::unknown);

  auto const gpt_oss = [&](gguf_writer const& tensors) {
    auto file = gguf_models::common("gpt-oss", {2, 8192, 256, 4, 4});
    file.set("gpt-oss.attention.sliding_window", std::uint32_t{128});
    folder.put("s-00002-of-00002.gguf", tensors);
    return read_gguf(folder.put("s-00001-of-00002.gguf", numbered(file, 0, 2)));
  };
  auto other = numbered(gguf_writer(), 1, 2);
  other.tensor("blk.0.attn_sinks.weight", std::vector<float>{1});
  other.tensor("blk.1.attn_q.weight", std::vector<float>{1});
  auto const sinks = gpt_oss(other);
  EXPECT_TRUE(sinks.kind_of(0).sinks);
  EXPECT_FALSE(sinks.kind_of(1).sinks);
}

TEST(gguf_parts, a_tensor_is_where_its_file_has_it) {
  auto header = in_memory(numbered(keys(), 0, 2).tensor("a", std::vector<float>{1}), "m1");
  auto const second = numbered(gguf_writer(), 1, 2)
                          .tensor("b", std::vector<float>{1})
                          .tensor("rope_freqs.weight", factors());
  header.add_part(in_memory(second, "m2"));
  ASSERT_EQ(header.parts().size(), 2u);
  EXPECT_EQ(header.tensors().at("a").part, 0u);
  auto const& found = header.tensors().at("rope_freqs.weight");
  ASSERT_EQ(found.part, 1u);
  EXPECT_EQ(header.parts()[1].file, "m2");
  gguf_text expected;
  for (auto const x : factors()) expected.number(x);
  EXPECT_EQ(second.str().substr(
                static_cast<std::size_t>(header.parts()[1].data_begin + found.offset), 128),
            expected.str());
  EXPECT_EQ(header.values("rope_freqs.weight")->back(), 8.0);
  EXPECT_EQ(frequency(read_gguf(header), 20), frequency(read_gguf(in_memory(keys(), "m")), 20) / 8);
}

// What cannot be known is refused, by one sentence.

TEST(gguf_parts, one_file_of_several_is_refused) {
  auto const first = numbered(keys(), 0, 3);
  auto const alone =
      "split.count must be 1 where other files of the model are not read: give the path of the "
      "first, with the others beside it, or join them, got 3";
  EXPECT_EQ(message_of([&] { read_gguf(in_memory(first, "m.gguf")); }),
            "posenc: m.gguf: " + std::string(alone));
  EXPECT_EQ(message_of([&] {
              std::istringstream stream(first.str());
              read_gguf(stream, "m.gguf");
            }),
            "posenc: m.gguf: " + std::string(alone));
  model_folder const folder;
  auto const path = folder.put("m-00001-of-00003.gguf", first);
  folder.put("m-00003-of-00003.gguf", numbered(gguf_writer(), 2, 3));
  auto const must =
      "posenc: m-00002-of-00003.gguf, file 2 of the 3 of the model, must be a regular file that "
      "can be read, beside m-00001-of-00003.gguf, ";
  EXPECT_EQ(message_of([&] { read_gguf(path); }), must + std::string("and is absent"));
  auto const second = folder.path() / "m-00002-of-00003.gguf";
  std::filesystem::create_directory(second);
  EXPECT_EQ(message_of([&] { read_gguf(path); }), must + std::string("got a directory"));
  std::filesystem::remove(second);
  std::filesystem::create_symlink("/dev/null", second);
  EXPECT_EQ(message_of([&] { read_gguf(path); }), must + std::string("got a pipe or a device"));
  auto const by_name = [](std::string const& file) {
    return "posenc: " + file +
           ": split.count must be 1 unless the name of the file ends in -00001-of-00003.gguf, by "
           "which the other files of the model are found";
  };
  for (auto const* const name : {"model.gguf", "m-00001-of-00004.gguf"})
    EXPECT_EQ(message_of([&] { read_gguf(folder.put(name, first)); }), by_name(name) + ", got 3");
  std::istringstream stream(first.str());
  EXPECT_EQ(message_of([&] { read_gguf_metadata(stream, "/dev/null"); }),
            by_name("null") + ": several files cannot come from a pipe, got 3");
}

#if defined(__unix__)
// Its writer would be waited for.
TEST(gguf_parts, a_pipe_is_not_opened_as_another_file) {
  model_folder const folder;
  auto const path = folder.put("m-00001-of-00002.gguf", numbered(keys(), 0, 2));
  ASSERT_EQ(mkfifo((folder.path() / "m-00002-of-00002.gguf").c_str(), 0600), 0);
  EXPECT_EQ(message_of([&] { read_gguf(path); }),
            "posenc: m-00002-of-00002.gguf, file 2 of the 2 of the model, must be a regular file "
            "that can be read, beside m-00001-of-00002.gguf, got a pipe or a device");
}
#endif

TEST(gguf_parts, a_number_of_files_is_no_float) {
  auto const message = [](gguf_writer const& file) {
    return message_of([&] { read_gguf(in_memory(file, "m.gguf")); });
  };
  auto const must = "posenc: m.gguf: split.count must be a whole number from 0 to 65535, got ";
  EXPECT_EQ(message(keys().set("split.count", 2.0f)), must + std::string("the float 2"));
  EXPECT_EQ(message(keys().set("split.count", 2.5)), must + std::string("2.5"));
  EXPECT_EQ(message(keys().set("split.count", std::int32_t{-2})), must + std::string("-2"));
}

// By some program that leaves out the keys which say it.
TEST(gguf_parts, the_name_of_a_part_is_told_where_keys_do_not_say_it) {
  auto const notes = [](gguf_writer const& file, std::string const& name) {
    return read_gguf(in_memory(file, name)).notes;
  };
  auto const lost = ": only this file is read, and a tensor of another counts as absent.";
  using sentences = std::vector<std::string>;
  EXPECT_EQ(notes(keys(), "m-00001-of-00002.gguf"),
            sentences{"The name of the file is that of part 1 of 2 of a model, and split.count is "
                      "absent" + std::string(lost)});
  EXPECT_EQ(notes(numbered(keys(), 0, 1), "m-00003-of-00012.gguf"),
            sentences{"The name of the file is that of part 3 of 12 of a model, and split.count is "
                      "1" + std::string(lost)});
  for (auto const* const name :
       {"m-00001-of-00001.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m.gguf",
        "m-00001-of-0000N.gguf", "m-00001-of-00002.gguf.old", "-of-00002.gguf"})
    EXPECT_EQ(notes(keys(), name), sentences()) << name;
}

TEST(gguf_parts, a_file_that_is_not_the_first_names_the_first) {
  model_folder const folder;
  folder.put("m-00001-of-00002.gguf", numbered(keys(), 0, 2));
  auto const second = numbered(gguf_writer(), 1, 2);
  auto const path = folder.put("m-00002-of-00002.gguf", second);
  for (auto const& message :
       {message_of([&] { read_gguf(path); }), message_of([&] { read_model(path); }),
        message_of([&] { read_gguf(in_memory(second, "m-00002-of-00002.gguf")); })})
    EXPECT_EQ(message,
              "posenc: m-00002-of-00002.gguf: split.no must be 0, for the keys of a model are in "
              "its first file: give m-00001-of-00002.gguf, got 1");
  EXPECT_EQ(message_of([&] { read_gguf(in_memory(second, "x.gguf")); }),
            "posenc: x.gguf: split.no must be 0, for the keys of a model are in its first file: "
            "give the first of the 2, got 1");
}

TEST(gguf_parts, the_next_file_must_be_that) {
  auto const add = [](gguf_writer const& second) {
    auto header = in_memory(numbered(keys(), 0, 2).tensor("a", std::vector<float>{1}), "m1");
    auto const message = message_of([&] { header.add_part(in_memory(second, "m2")); });
    EXPECT_EQ(header.parts().size(), 1u);
    EXPECT_EQ(header.tensors().size(), 1u);
    return message;
  };
  EXPECT_EQ(add(numbered(gguf_writer(), 0, 2)),
            "posenc: m2: split.no must be 1, for the part that follows m1, got 0");
  EXPECT_EQ(add(gguf_writer()),
            "posenc: m2: split.no must be 1, for the part that follows m1, and is absent");
  EXPECT_EQ(add(numbered(gguf_writer(), 1, 3)),
            "posenc: m2: split.count must be 2, as in m1, and above split.no, got 3");
  EXPECT_EQ(add(numbered(gguf_writer(), 1, 2).tensor("a", std::vector<float>{1})),
            "posenc: m2: a must be in one file of the model, got it in m1 too");
  constexpr auto architecture = "general.architecture";
  EXPECT_EQ(add(numbered(gguf_writer(), 1, 2).set(architecture, std::string("qwen2"))),
            "posenc: m2: general.architecture must be llama, as in m1, got the string \"qwen2\"");
  auto same = in_memory(numbered(keys(), 0, 2), "m1");
  same.add_part(in_memory(numbered(keys(), 1, 2), "m2"));
  EXPECT_EQ(same.parts().size(), 2u);
  auto whole = in_memory(keys(), "m1");
  EXPECT_EQ(message_of([&] { whole.add_part(in_memory(numbered(gguf_writer(), 1, 1), "m2")); }),
            "posenc: m2: split.count must be 1, as in m1, and above split.no, got 1");
}

TEST(gguf_parts, tensors_that_are_missing_are_told) {
  auto file = keys();
  auto const model =
      read_gguf(in_memory(file.set("split.tensors.count", std::int32_t{9}), "m.gguf"));
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_EQ(model.notes[0],
            "split.tensors.count is 9, and the model's files have 0 tensors: one that is missing "
            "counts as absent.");
  auto const good = read_gguf(in_memory(keys()
                                            .set("split.tensors.count", std::int32_t{1})
                                            .set("split.count", std::uint16_t{0})
                                            .tensor("a", std::vector<float>{1}),
                                        "m.gguf"));
  EXPECT_TRUE(good.notes.empty());
}

}  // namespace of_gguf_parts
}  // namespace
