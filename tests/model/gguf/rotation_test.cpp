#include "posenc/model/gguf/detail/rotation.hpp"

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

TEST(gguf_rope_rule, takes_the_newer_of_two_keys_of_one_factor) {
  EXPECT_EQ(rule_of(scaled("linear").set("llama.rope.scale_linear", 2.0f)),
            R"(rope_type="linear" rope_theta=10000 factor=4)");
  EXPECT_EQ(rule_of(small().set("llama.rope.scale_linear", 2.0f)),
            R"(rope_type="linear" rope_theta=10000 factor=2)");
}

TEST(gguf_rope_rule, divides_before_the_lists_of_longrope) {
  auto const with_lists = [](gguf_writer file) {
    return file.tensor("rope_factors_long.weight", std::vector<float>(32, 8.0f))
        .tensor("rope_factors_short.weight", std::vector<float>(32, 2.0f));
  };
  auto const bytes = with_lists(scaled("longrope")).str();
  auto const model = posenc::read_gguf(posenc::gguf_metadata(bytes_of(bytes), "m.gguf"));
  auto const& rotary = model.kinds.at(0).rotary.at(0);
  EXPECT_EQ(rotary.rule, "longrope");
  EXPECT_EQ(rotary.frequencies.at(1).inv_freq()[0], 1.0 / (4 * 2));
  EXPECT_EQ(rotary.frequencies.at(8193).inv_freq()[0], 1.0 / (4 * 8));
  EXPECT_EQ(rotary.parameters.at(2), (posenc::model_setting{"rope.scaling.factor", "4"}));
}

/// With another rule beside it there is no word of rope_parameters for it.
TEST(gguf_rope_rule, has_alpha_under_the_name_that_fits) {
  auto const file = gguf_models::common("hunyuan-dense", {2, 8192, 256, 4, 4})
                        .set("hunyuan-dense.rope.scaling.alpha", 1000.0f);
  EXPECT_EQ(rule_of(file), R"(rope_type="dynamic" rope_theta=10000 alpha=1000)");
  EXPECT_EQ(rule_of(gguf_writer(file).set("hunyuan-dense.rope.scaling.factor", 4.0f)),
            R"(rope_type="linear" rope_theta=10000 rope.scaling.alpha=1000 factor=4)");
}

}  // namespace of_gguf_rotation
}  // namespace
