#include "posenc/model/hugging_face.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rejects.hpp"

namespace {
namespace of_hugging_face {

using namespace posenc;
using nlohmann::json;

json llama() {
  return {{"model_type", "llama"},
          {"num_hidden_layers", 2u},
          {"num_attention_heads", 4u},
          {"hidden_size", 256u},
          {"max_position_embeddings", 8192u},
          {"rope_theta", 500000.0}};
}
json with(json config, std::string const& key, json const& value) {
  return config[key] = value, config;
}
std::vector<double> inv_freq(model_description const& model) {
  auto const f = model.kinds.at(0).rotary.at(0).frequencies.at(1);
  return {f.inv_freq().begin(), f.inv_freq().end()};
}
std::string refusal(std::string const& text) {
  return message_of([&] { read_hugging_face(text, "config.json"); });
}

TEST(hugging_face, refuses_keys_that_act_by_their_names_and_were_not_read) {
  auto const plain = inv_freq(read_hugging_face(llama(), "config.json"));
  for (auto const* key :
       {"use_logn_attn", "rotary_emb_new", "rope_new", "new_theta", "alibi_new", "position_new",
        "mla_nope", "window_new", "sliding_new", "attention_multiplier", "query_pre_attn_scalar",
        "qk_scale_factor", "new_softcapping", "sinks", "attn_temperature", "log_scaling_n_floor",
        "use_bidirectional_attention", "attention_chunk_size"}) {
    EXPECT_EQ(refusal(with(llama(), key, 3).dump()),
              "posenc: config.json: " + std::string(key) +
                  " must be a key that is read: its name says that it acts on positions, scores or "
                  "the mask, got 3");
    auto const novel = with(with(llama(), "model_type", "novel"), key, 3);
    auto const taken =
        read_hugging_face(novel, "config.json", {.unknown = unknown_model::as_llama});
    EXPECT_EQ(taken.notes, std::vector{key + std::string(" is not read.")});
    EXPECT_EQ(taken.ignored, (std::vector<model_setting>{{key, "3"}}));
    EXPECT_EQ(inv_freq(read_hugging_face(with(llama(), key, nullptr), "config.json")), plain);
  }
}

TEST(hugging_face, each_layer_has_a_kind) {
  auto const model = read_hugging_face(llama(), "config.json");
  EXPECT_EQ(&model.kind_of(1), &model.kinds[0]);
  EXPECT_EQ(message_of([&] { model.kind_of(2); }),
            "posenc: model_description: layer must be below the number of layers, 2, got 2");
}

TEST(hugging_face, refuses_what_is_no_json) {
  auto const text = llama().dump();
  EXPECT_EQ(refusal(""), "posenc: config.json: is empty");
  for (std::size_t length = 1; length < text.size(); ++length) {
    EXPECT_EQ(refusal(text.substr(0, length)).find("posenc: config.json: must be JSON: "), 0u)
        << length;
  }
  EXPECT_EQ(refusal("[1, 2]"), "posenc: config.json: must be a JSON object, got a list of 2");
  EXPECT_EQ(refusal("17"), "posenc: config.json: must be a JSON object, got 17");
  EXPECT_EQ(
      refusal(R"({"a": 1, "b": {"a": 1}, "a": 2})"),
      "posenc: config.json: each key must appear once in its object, got the string \"a\" twice");
  EXPECT_EQ(refusal(std::string(100'000, '[')),
            "posenc: config.json: must not nest deeper than 64 levels");
  auto const nested = [](std::size_t levels) {
    return R"({"a": )" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(refusal(nested(65)), "posenc: config.json: must not nest deeper than 64 levels");
  EXPECT_EQ(refusal(nested(64)).find("nest"), std::string::npos);
  EXPECT_NE(refusal(R"({"rope_theta": NaN})").find("must be JSON"), std::string::npos);
  EXPECT_NE(refusal(R"({"rope_theta": 1e999})").find("must be JSON"), std::string::npos);
  EXPECT_NE(refusal("{\"\xff\": 1}").find("must be JSON"), std::string::npos);
  std::string garbage(5'000'000, '\0');
  for (std::size_t i = 0; i < garbage.size(); ++i)
    garbage[i] = static_cast<char>(i * 2654435761u >> 13);
  EXPECT_NE(refusal(garbage).find("must be JSON"), std::string::npos);
}

TEST(hugging_face, infinity_as_python_writes_it_is_no_number) {
  std::string const text = R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 64,
      "a": "\"Infinity", "b": [-Infinity, Infinity], "rope_theta": )";
  EXPECT_EQ(read_hugging_face(text + "10000}", "config.json").layers, 1u);
  EXPECT_EQ(refusal(text + "Infinity}"),
            "posenc: config.json: rope_theta must be a finite number, got the string "
            "\"Infinity\"");
}

TEST(hugging_face, refuses_a_file_that_is_not_there_or_too_long) {
  EXPECT_EQ(message_of([] { read_hugging_face(std::filesystem::path("nowhere/config.json")); }),
            "posenc: nowhere/config.json: must be a file that can be read");
  auto const folder = std::filesystem::temp_directory_path();  // as the folder of a model
  EXPECT_EQ(message_of([&] { read_hugging_face(folder); }),
            "posenc: " + folder.string() + ": must be a file that can be read");
  auto const file = std::filesystem::temp_directory_path() / "posenc_hugging_face_test.json";
  std::ofstream(file) << std::string((std::size_t{16} << 20) + 1, ' ');
  EXPECT_EQ(message_of([&] { read_hugging_face(file); }),
            "posenc: " + file.filename().string() + ": must be at most 16 MiB long");
  std::ofstream(file) << llama();
  EXPECT_EQ(read_hugging_face(file).layers, 2u);
  std::filesystem::remove(file);
}

}  // namespace of_hugging_face
}  // namespace
