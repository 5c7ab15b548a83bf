// What further families do by default, as it was measured.
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/model/hugging_face/families.hpp"

namespace posenc::inline POSENC_TARGET::detail {

/// From classes of models in Hugging Face transformers 5.12 that were run with random weights. For
/// names that are also in a record of model_families, that record is what was measured.
struct measured_families : family_words {
  static constexpr std::string_view of_encoder =
      "The encoder's layers; queries of the decoder see no later keys.";

  // clang-format off
  static constexpr model_family all[]{
      family("ernie megatron-bert rembert data2vec-text roberta-prelayernorm roc_bert xmod"
       " bert-generation bridgetower_text_model", none, {.positions = learned_absolute,
       .sides = both_unless_decoder}),
      family("blip_text_model", none, {.positions = learned_absolute, .sides = both_unless_decoder,
       .note = "That is of captions; for retrieval queries see both sides, whatever is_decoder."}),
      family("albert splinter squeezebert luke markuplm layoutlm ibert dpr align_text_model"
       " altclip_text_model chinese_clip_text_model clap_text_model flava_text_model", none,
       {.positions = learned_absolute, .sides = both,
       .without_effect = "max_2d_position_embeddings"}),
      family("siglip_text_model siglip2_text_model", none, {.positions = learned, .sides = both}),
      family("clip_text_model clipseg_text_model metaclip_2_text_model groupvit_text_model"
       " owlvit_text_model owlv2_text_model xclip_text_model aimv2_text_model biogpt openai-gpt",
       none, {.positions = learned}),
      family("blenderbot blenderbot-small mvp plbart", none, {.positions = learned,
       .is_decoder = true}),
      family("m2m_100 nllb-moe marian pegasus fsmt", none, {.positions = sinusoidal,
       .is_decoder = true}), family("ctrl", none, {.positions = sinusoidal}),
      family("mpnet", none, {.positions = learned_buckets, .sides = both}),
      family("pop2piano", none, {.positions = buckets, .sides = both, .note = of_encoder,
       .undivided = true}), family("switch_transformers", none, {.positions = buckets,
       .sides = both, .note = "The encoder's layers. transformers 5.12 adds the bias in the first"
       " layer alone, the model was trained with it in all.", .undivided = true}),
      // Of models of more than text, whose text_config is read.
      family("granite_speech granite_speech_plus musicflamingo fuyu align grounding-dino"
       " mm-grounding-dino omdet-turbo", unknown, {.refusal = "be with a text_config",
       .without_effect = "window_size max_position_embeddings rope_parameters"
       " temperature_init_value position_embedding_type positional_encoding_temperature"
       " positional_embedding_temperature"}),
  };
  // clang-format on
};

}  // namespace posenc::detail
