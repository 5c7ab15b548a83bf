#include "posenc/model/gguf/detail/keys.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace {
namespace of_gguf_keys {

using namespace posenc::detail;

TEST(gguf_keys, are_of_one_group_or_of_all) {
  EXPECT_EQ(gguf_key_of("rope.freq_base_swa")->group, gguf_group::local_base);
  EXPECT_EQ(gguf_key_of("rope.scaling.yarn_beta_slow")->group, gguf_group::yarn_betas);
  EXPECT_EQ(gguf_key_of("rope.freq_base")->group, 0u);
  EXPECT_EQ(gguf_key_of("block_count"), nullptr);
  std::set<std::string_view> seen;
  for (auto const& key : gguf_keys) {
    for (auto const name : words_of(key.names)) EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(key.group & (key.group - 1), 0u) << key.names;
  }
}

TEST(gguf_keys, speak_of_positions_by_name) {
  EXPECT_TRUE(gguf_key_speaks("rope.new"));
  EXPECT_TRUE(gguf_key_speaks("attention.scaling"));
  EXPECT_FALSE(gguf_key_speaks("embedding_scale"));
  EXPECT_FALSE(gguf_key_speaks("attention.head_count"));
}

}  // namespace of_gguf_keys
}  // namespace
