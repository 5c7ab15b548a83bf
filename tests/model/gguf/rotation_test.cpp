#include "posenc/model/gguf/rotation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/gguf/models.hpp"
#include "posenc/model/gguf.hpp"

namespace {
namespace of_gguf_rotation {

gguf_writer small() { return gguf_models::common("llama", {2, 8192, 256, 4, 4}); }
gguf_writer scaled(char const* type) {
  return small().set("llama.rope.scaling.type", type).set("llama.rope.scaling.factor", 4.0f);
}

/// The rule's parameters, in their order.
std::string rule_of(gguf_writer const& file) {
  auto const bytes = file.str();
  auto const model = posenc::read_gguf(posenc::gguf_metadata(bytes_of(bytes), "m.gguf"));
  auto const& rotary = model.kinds.at(0).rotary.at(0);
  std::string result;
  for (auto const& [key, value] : rotary.parameters)
    result += (result.empty() ? "" : " ") + key + "=" + value;
  return result;
}

TEST(gguf_rope_rule, has_the_numbers_that_it_was_read_from) {
  EXPECT_EQ(rule_of(small()), R"(rope_type="default" rope_theta=10000)");
  EXPECT_EQ(rule_of(scaled("none")), R"(rope_type="default" rope_theta=10000)");
  EXPECT_EQ(rule_of(scaled("linear")), R"(rope_type="linear" rope_theta=10000 factor=4)");
  EXPECT_EQ(rule_of(scaled("yarn").set("llama.rope.scaling.original_context_length",
                                       std::uint32_t{2048})),
            R"(rope_type="yarn" rope_theta=10000 factor=4 original_max_position_embeddings=2048 )"
            "beta_fast=32 beta_slow=1 truncate=true attention_factor=1.138629436111989");
}

TEST(gguf_rope_rule, has_the_factor_beside_a_tensor_of_factors) {
  std::vector<float> const ones(32, 1.0f);
  EXPECT_EQ(rule_of(small().tensor("rope_freqs.weight", ones)),
            R"(rope_type="default" rope_theta=10000 rope_freqs.weight=true)");
  EXPECT_EQ(rule_of(scaled("linear").tensor("rope_freqs.weight", ones)),
            R"(rope_type="linear" rope_theta=10000 factor=4 rope_freqs.weight=true)");
}

}  // namespace of_gguf_rotation
}  // namespace
