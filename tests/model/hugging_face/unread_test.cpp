// Keys that no code asks for: which are without effect, and which are errors.
#include "posenc/model/hugging_face/detail/unread.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <vector>

#include "posenc/model/hugging_face.hpp"
#include "rejects.hpp"

namespace { namespace of_unread_keys {

using nlohmann::json;

/// A model, a key of it that has no effect by its value, and values with which it is an error.
struct key_case {
  char const* key;
  std::vector<json> without_effect, errors;
};

bool is_read(json const& config) {
  try {
    posenc::read_hugging_face(config, "config.json");
    return true;
  } catch (std::exception const&) {
    return false;
  }
}

/// `at` is the place of the keys in the config.
void expect(json const& config, std::string const& at, std::vector<key_case> const& cases) {
  ASSERT_TRUE(is_read(config));
  for (auto const& one : cases) {
    auto const is_read_with = [&](json const& value) {
      auto changed = config;
      changed[json::json_pointer(at)][one.key] = value;
      return is_read(changed);
    };
    EXPECT_TRUE(is_read_with(nullptr)) << one.key;
    for (auto const& value : one.without_effect)
      EXPECT_TRUE(is_read_with(value)) << one.key << value;
    for (auto const& value : one.errors) EXPECT_FALSE(is_read_with(value)) << one.key << value;
  }
}

json const llama{
    {"model_type", "llama"},     {"num_hidden_layers", 2u},          {"head_dim", 64u},
    {"num_attention_heads", 4u}, {"max_position_embeddings", 8192u}, {"rope_theta", 500000.0}};

json with(json config, std::string const& patch) {
  config.merge_patch(json::parse(patch));
  return config;
}

TEST(unread_keys, are_without_effect_if_what_they_switch_is_off_or_on_anyway) {
  expect(llama, "",
         {{"use_logn_attn", {false, 0}, {true, 1}},
          {"use_dynamic_ntk", {false}, {true}},
          {"use_rope", {true}, {false, 0, "yes"}},
          {"use_rotary_pos_emb", {true}, {false}},
          {"rope_3d", {false}, {true}},
          {"rotary_emb_new", {}, {true, false, 1, 64}},
          {"rope_interleaved", {false}, {true}},
          {"mla_use_nope", {false}, {true}},
          {"causal", {true}, {false}},
          {"use_bidirectional_new", {false}, {true}},
          {"attention_sinks", {false, 0}, {true, 4}},
          {"new_softcap", {false, 0}, {30}},
          {"use_sparse_attention", {false}, {true}},
          {"use_new_window", {false}, {true, 128}},
          {"learned_position", {false}, {true, 3}},
          {"scale_attn_weights", {true}, {false}},
          {"layer_type_new", {}, {true, false, 0, 1}},
          {"full_attention_new", {}, {false, json::array()}}});
  expect(with(llama, R"({"model_type": "nomic_bert"})"), "", {{"causal", {false}, {true}}});
  expect(with(llama, R"({"model_type": "gpt_oss", "sliding_window": 128,
                         "rope_parameters": {"rope_theta": 500000.0}})"),
         "",
         {{"attention_sinks", {}, {false}},
          {"use_sliding_window_new", {}, {false, true, 128}},
          {"local_attention_window", {128}, {127, 0, false}}});
}

TEST(unread_keys, are_without_effect_if_they_are_the_number_that_was_used) {
  expect(llama, "",
         {{"new_rope_theta", {500000}, {10000, 0}},
          {"swa_rope_theta", {10000}, {}},  // no layer slides
          {"rotary_ndims", {64}, {32}},
          {"text_rope_dim", {64}, {32}},
          {"rotary_dim_offset", {}, {64, 32}},
          {"rope_scaling_factor", {1}, {2, 0.5}},
          {"rope_scaling_type", {"default"}, {"linear", 1}},
          {"scaling_factor", {1}, {0.5}},
          {"attention_multiplier", {0.125}, {1, 0.0625}},
          {"query_pre_attn_scalar", {64}, {256}},
          {"attn_scale", {}, {1, 0.125}},
          {"original_max_position_embeddings", {8192}, {4096}},
          {"text_max_position_embeddings", {8192}, {4096}},
          {"mtp_rope_theta", {10000}, {}}});
  expect(with(llama, R"({"rope_scaling": {"type": "linear", "factor": 2}})"), "/rope_scaling",
         {{"original_max_position_embeddings", {4096}, {8192}},
          {"mscale", {1}, {2}},
          {"attention_factor", {1}, {2, 0}},
          {"beta_fast", {32}, {}},
          {"interleaved", {false}, {true}}});
  expect(with(llama, R"({"rope_scaling": {"type": "yarn", "factor": 2}})"), "",
         {{"rope_scaling_factor", {2}, {1, false}}, {"rope_scaling_type", {"yarn"}, {"linear"}}});
}

// 0.58 times 100 is below 58 in doubles; 0.585 times 100 leaves half a dim.
TEST(unread_keys, are_without_effect_if_they_are_the_fraction_of_dims_that_rotate) {
  expect(with(llama, R"({"model_type": "minimax_m2", "head_dim": 100, "rotary_dim": 58})"), "",
         {{"new_rotary_pct", {0.58, 0.585}, {0.57, 0.59, 0.5, 1}}});
}

TEST(unread_keys, are_about_the_layers_that_their_names_say) {
  auto const gemma = with(llama, R"({"model_type": "gemma3_text", "rope_theta": null,
      "num_hidden_layers": 6, "sliding_window": 512, "rope_parameters": {"full_attention":
      {"rope_theta": 1000000.0, "rope_type": "default"}, "sliding_attention": {"rope_theta": 10000.0,
      "rope_type": "default"}}})");
  expect(gemma, "",
         {{"rope_theta", {1000000}, {10000}}, {"rope_local_base_freq", {10000}, {1000000}}});
  auto const v4 = with(llama, R"({"model_type": "deepseek_v4", "rope_theta": null,
      "head_dim": 512, "sliding_window": 128, "compress_ratios": [4, 128]})");
  expect(v4, "", {{"rope_theta", {10000}, {}}});
  expect(with(v4, R"({"compress_ratios": [0, 128], "rope_parameters": {"main":
      {"rope_theta": 10000}, "compress": {"rope_theta": 160000}}})"),
         "", {{"rope_theta", {10000}, {160000}}, {"compress_rope_theta", {160000}, {10000}}});
}

TEST(unread_keys, may_be_about_axes_or_index_heads) {
  auto const omni = with(llama, R"({"model_type": "qwen3_omni_moe_text", "head_dim": 128,
      "rope_scaling": {"mrope_interleaved": true, "mrope_section": [24, 20, 20]}})");
  expect(omni, "/rope_scaling", {{"interleaved", {true}, {false}}});
  expect(omni, "", {{"rope_3d", {true}, {false}}, {"use_3d_rope", {true}, {false}}});
  auto const glm = with(llama, R"({"model_type": "glm_moe_dsa", "qk_nope_head_dim": 192,
      "qk_rope_head_dim": 64})");
  expect(glm, "",
         {{"indexer_rope_interleave", {true}, {false}}, {"index_new", {}, {true, false, 0}}});
  expect(with(glm, R"({"model_type": "deepseek_v32"})"), "",
         {{"indexer_rope_interleave", {false}, {true}}});
  expect(with(llama, R"({"model_type": "qwen3_5_text", "head_dim": 256, "num_hidden_layers": 4,
      "rope_parameters": {"rope_theta": 500000.0, "partial_rotary_factor": 0.25}})"),
         "", {{"partial_rotary_factor", {0.25}, {0.5, 1}}});
}

TEST(json_object, marks_a_key_as_read_where_its_value_is_read_or_it_is_told_so) {
  json const config{{"a", 1}, {"b", 2}, {"c", {{"d", 3}}}};
  posenc::detail::json_object const keys(config, "config.json");
  EXPECT_TRUE(keys.has("a"));
  EXPECT_EQ(keys.peek("a"), 1);
  EXPECT_FALSE(keys.has("e"));
  for (auto const* key : {"a", "b", "c", "e"}) EXPECT_FALSE(keys.is_read(key)) << key;
  keys.number("a"), keys.mark_read("b"), keys.object("c")->number("d");
  for (auto const* key : {"a", "b", "c"}) EXPECT_TRUE(keys.is_read(key)) << key;
  EXPECT_EQ(keys.read(),
            (std::vector<posenc::model_setting>{{"a", "1"}, {"b", "2"}, {"c.d", "3"}}));
}

// A family says by an empty name that it lacks a key, such as the one for dynamic NTK's factor.
TEST(json_object, has_no_key_whose_name_is_empty) {
  json const config{{"", 1}};
  posenc::detail::json_object const keys(config, "config.json");
  EXPECT_EQ(keys.number(""), std::nullopt);
  EXPECT_FALSE(keys.has("") || keys.is_read(""));
  EXPECT_TRUE(keys.read().empty());
  expect(llama, "", {{"", {1, true, "a", json::object()}, {}}});
}

// A name of a file could otherwise end the sentence (0), add a line, or command a terminal (27).
TEST(json_object, writes_names_in_errors_as_json_does) {
  auto const error = [](std::string const& key) {
    auto config = llama;
    config[key] = 1;
    return message_of([&] { posenc::read_hugging_face(config, "config.json"); });
  };
  auto const read =
      " must be a key that is read: its name says that it acts on positions, scores "
      "or the mask, got 1";
  using namespace std::string_literals;
  EXPECT_EQ(error("rope_\0\n\x1b[2J"s), "posenc: config.json: rope_\\u0000\\n\\u001b[2J"s + read);
  EXPECT_EQ(error("rope_" + std::string(99, 'x')),
            "posenc: config.json: rope_" + std::string(55, 'x') + "..." + read);
}

TEST(shown_json, does_not_cut_a_character) {
  std::string smiles;
  for (int i = 0; i < 20; ++i) smiles += "\xf0\x9f\x98\x80";
  for (std::string const start : {"", "a", "aa", "aaa"})
    EXPECT_EQ(posenc::detail::shown_json(start + smiles),
              "the string \"" + start + smiles.substr(0, (59 - start.size()) / 4 * 4) + "...");
}

}  // namespace of_unread_keys
}  // namespace
