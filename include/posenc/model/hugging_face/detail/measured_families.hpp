// What further families do by default, as it was measured.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/detail/families.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// From classes of models in Hugging Face transformers 5.12 that were run with random weights. For
/// names that are also in a record of model_families, that record is what was measured.
struct measured_families : family_words {
  static constexpr std::string_view of_encoder =
      "The encoder's layers; queries of the decoder see no later keys.";
  static constexpr std::string_view of_decoder =
      "The decoder's layers; queries of the encoder see some keys on both sides.";

  // clang-format off
  static constexpr model_family all[]{
      family("ernie data2vec-text roberta-prelayernorm roc_bert xmod dpr bert-generation"
       " bridgetower_text_model",
       none, {.positions = learned_absolute, .sides = both_unless_decoder}),
      family("blip_text_model", none, {.positions = learned_absolute, .sides = both_unless_decoder,
       .note = "That is of captions; for retrieval queries see both sides, whatever is_decoder."}),
      family("albert megatron-bert rembert splinter squeezebert luke markuplm layoutlm ibert"
       " align_text_model altclip_text_model chinese_clip_text_model clap_text_model"
       " flava_text_model visual_bert tapas",
       none, {.positions = learned_absolute, .sides = both,
       .without_effect = "max_2d_position_embeddings reset_position_index_per_cell"
       " aggregation_temperature"}),
      family("siglip_text_model siglip2_text_model", none, {.positions = learned, .sides = both}),
      family("clip_text_model clipseg_text_model metaclip_2_text_model groupvit_text_model"
       " owlvit_text_model owlv2_text_model xclip_text_model aimv2_text_model biogpt openai-gpt"
       " semantic coarse_acoustics",
       none, {.positions = learned}),
      family("git", none, {.positions = learned, .note = "Tokens of the image, which come first,"
       " see each other both ways."}),
      family("gpt-sw3 imagegpt", none, {.positions = learned, .flag_undivides = true}),
      family("blenderbot blenderbot-small mvp plbart", none, {.positions = learned,
       .is_decoder = true}),
      family("bigbird_pegasus led", none, {.positions = learned, .note = of_decoder,
       .is_decoder = true, .without_effect = "attention_type attention_window"
       " max_decoder_position_embeddings max_encoder_position_embeddings"}),
      family("m2m_100 nllb-moe marian pegasus fsmt speech_to_text", none, {.positions = sinusoidal,
       .is_decoder = true, .without_effect = "max_source_positions"}),
      family("pegasus_x", none, {.positions = sinusoidal, .note = of_decoder, .is_decoder = true}),
      family("ctrl xglm kosmos_2_text_model kosmos_2_5_text_model", none,
       {.positions = sinusoidal}),
      family("mpnet", none, {.positions = learned_buckets, .sides = both}),
      family("pop2piano", none, {.positions = buckets, .sides = both, .note = of_encoder,
       .undivided = true}),
      family("switch_transformers", none, {.positions = buckets, .sides = both, .note = "The"
       " encoder's layers. transformers 5.12 adds the bias in the first layer alone, the model was"
       " trained with it in all.", .undivided = true}),
      family("longt5", none, {.positions = buckets, .note = of_decoder, .is_decoder = true,
       .undivided = true, .without_effect = "encoder_attention_type"}),
      // Positions are rotations.
      family("jetmoe", none), family("higgs_audio_v2", none, {.needs_rope = true}),
      family("deepseek_ocr2_text", none, {.lacks = "head_dim"}),
      family("gpt_neox_japanese", none, {.keys = "partial_rotary_factor rotary_pct rotary_emb_base",
       .lacks = "head_dim", .base_key = "rotary_emb_base"}),
      family("diffllama", none, {.note = "Each head is the difference of two softmaxes."}),
      family("jina_embeddings_v3", none, {.sides = both, .base = 2e4}),
      family("roformer", none, {.lacks = "head_dim", .sides = both, .interleaved = true}),
      family("esm", none, {.keys = "position_embedding_type", .positions = learned_or_rotary,
       .sides = both_unless_decoder}),
      family("mllama_text_model", none, {.keys = "cross_attention_layers", .base = 5e5,
       .needs_layer_types = true}), family("olmo_hybrid", token, {.needs_layer_types = true}),
      family("moonshine", none, {.note = "The decoder's layers; those of the encoder rotate alike"
       " and see both sides.", .is_decoder = true, .interleaved = true, .partial = 0.9}),
      family("phi4_multimodal", none, {.keys = "partial_rotary_factor", .slides = true,
       .without_effect = "original_max_position_embeddings"}),
      family("granite4_vision_text", none, {.scale_key = "attention_multiplier",
       .scale_default = 1}),
      family("glm_ocr_text", none, {.keys = "partial_rotary_factor", .interleaved = true,
       .has_axes = true, .sections = {8, 12, 12}}),
      family("glm_image_text", none, {.partial = 0.5, .has_axes = true, .sections = {8, 12, 12}}),
      // Of models of more than text, whose text_config is read.
      family("granite_speech granite_speech_plus musicflamingo fuyu align grounding-dino"
       " mm-grounding-dino omdet-turbo",
       unknown, {.refusal = "be with a text_config", .without_effect = "window_size"
       " max_position_embeddings rope_parameters temperature_init_value position_embedding_type"
       " positional_encoding_temperature positional_embedding_temperature"}),
  };
  // clang-format on
};

}}}  // namespace posenc::detail
