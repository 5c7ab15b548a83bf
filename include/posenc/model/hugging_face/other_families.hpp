// Families without RoPE, or with it at times.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/family.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

// clang-format off
/// From the classes of the models in Hugging Face transformers 4.57 and 5.16; those of Baichuan and
/// DroPE from the authors' own code.
inline constexpr model_family other_families[]{
    {.types = {"llama_drope", "qwen2_drope"}, .rotation = rotation_rule::no_layer,
     .scale = score_scale::softmax_scale},
    {.types = {"inkling_text"}, .positions = position_rule::refused,
     .refusal = "be another: Inkling's bias is made of each query, which is not read"},
    {.types = {"falcon"}, .positions = position_rule::alibi_if_flagged,
     .alibi_note = "Falcon rounds the bias to bfloat16."},
    {.types = {"baichuan"}, .positions = position_rule::alibi_without_context},
    {.types = {"bloom"}, .positions = position_rule::alibi,
     .without_effect = {"offset_alibi"}},
    {.types = {"mpt"}, .positions = position_rule::alibi_or_learned,
     .without_effect = {"attn_type"}},
    {.types = {"t5", "mt5", "umt5"}, .positions = position_rule::buckets,
     .scale = score_scale::none},
    {.types = {"opt", "distilbert"}, .positions = position_rule::learned,
     .without_effect = {"sinusoidal_pos_embds"}},
    {.types = {"gpt2", "gpt_bigcode"}, .positions = position_rule::learned,
     .scale = score_scale::head_dim_if_flagged},
    {.types = {"bart", "mbart"}, .positions = position_rule::learned, .is_decoder = true,
     .without_effect = {"static_position_embeddings", "extra_pos_embeddings"}},
    {.types = {"whisper"}, .positions = position_rule::learned,
     .note = "The decoder's layers; the encoder adds sinusoidal embeddings to its frames.",
     .is_decoder = true, .without_effect = {"max_source_positions"}},
    {.types = {"gpt_neo"}, .positions = position_rule::learned,
     .rotation = rotation_rule::no_layer, .sliding = sliding_rule::by_pattern,
     .window_key = "window_size", .window = 256, .full_every = 2,
     .full_at = full_place::first_of_each, .scale = score_scale::none,
     .without_effect = {"attention_types"}},
    {.types = {"bert", "roberta", "electra", "xlm-roberta", "xlm-roberta-xl", "camembert"},
     .positions = position_rule::learned_absolute},
};
// clang-format on

}  // namespace detail
}  // namespace posenc
