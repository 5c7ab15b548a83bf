#include "posenc/model/hugging_face/read_model.hpp"

#include <gtest/gtest.h>
#if defined(__unix__)
#include <sys/stat.h>
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "model/gguf/models.hpp"
#include "model/gguf/writer.hpp"
#include "rejects.hpp"

namespace {
namespace of_read_model {

using namespace posenc;

auto const& config = R"({"model_type": "llama", "num_hidden_layers": 2, "head_dim": 64,
    "num_attention_heads": 8, "rope_theta": 500000.0, "max_position_embeddings": 8192})";

std::filesystem::path temporary(std::string const& name) {
  return std::filesystem::temp_directory_path() / ("posenc_read_model_test_" + name);
}

TEST(read_model, tells_a_file_by_its_first_letter_or_its_name) {
  auto const bytes = gguf_models::llama_3_1_8b().str();
  std::istringstream gguf(bytes), json(config), named(config);
  EXPECT_EQ(read_model(gguf, "without a name").layers, 32u);
  EXPECT_EQ(read_model(json, "without a name").layers, 2u);
  EXPECT_EQ(message_of([&] { read_model(named, "folder/x.gguf"); }),
            "posenc: x.gguf: the file must begin with the letters GGUF, got \"{\"mo\", bytes 7b 22 "
            "6d 6f");
  EXPECT_EQ(message_of([] { read_model(std::filesystem::path("nowhere/config.json")); }),
            "posenc: nowhere/config.json: must be a file that can be read");
  std::istringstream empty;
  EXPECT_EQ(message_of([&] { read_model(empty, "folder/empty"); }), "posenc: empty: is empty");
}

TEST(read_model, takes_unknown_models_as_asked) {
  std::string text = config;
  text.replace(text.find("llama"), 5, "llamb");
  std::istringstream one(text), other(text);
  EXPECT_TRUE(
      message_of([&] { read_model(one, "c.json"); }).starts_with("posenc: c.json: model_type"));
  EXPECT_EQ(read_model(other, "c.json", unknown_model::as_llama).layers, 2u);
}

#if defined(__unix__)
// A named pipe gives its bytes once, in pieces: a reader that opens it twice waits forever.
TEST(read_model, reads_a_pipe_once) {
  auto const pipe = temporary("pipe");
  for (auto const& [bytes, layers] :
       {std::pair{std::string(config), std::size_t{2}},
        std::pair{gguf_models::llama_3_1_8b().str(), std::size_t{32}}}) {
    std::filesystem::remove(pipe);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&, text = bytes] {
      std::ofstream out(pipe, std::ios::binary);
      for (std::size_t i = 0; i < text.size(); i += 3)
        out.write(&text[i], static_cast<std::streamsize>(std::min<std::size_t>(3, text.size() - i)))
            .flush();
    });
    auto const model = read_model(pipe);
    writer.join();
    EXPECT_EQ(model.layers, layers);
  }
  std::filesystem::remove(pipe);
}
#endif

}  // namespace of_read_model
}  // namespace
