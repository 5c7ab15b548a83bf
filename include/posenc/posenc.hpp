// posenc: positional encodings of transformers. This is the table of contents: include what you
// need, or all of it. Five doors come first, each with its target of CMake and its page; the rest
// stands behind them, room by room. A header includes only headers of its room and of rooms on
// lower floors (.github/CONTRIBUTING.md). A folder detail/, and simd/, is inside: do not
// include it.
#pragma once
// clang-format off

// 1. Rotate queries and keys in your own buffers: posenc::rotation, rotation/README.md
#include "posenc/rotation/rotate.hpp"        // the rotation: q, k, v in one call
#include "posenc/rotation/operand.hpp"       // one set of heads: norm, scale, rounding
#include "posenc/rotation/layout.hpp"        // halves, interleaved
#include "posenc/heads/heads_view.hpp"       // the view of heads, at strides or in pages
#include "posenc/rows/cos_sin_rows.hpp"      // one row per token; as Hugging Face, too
#include "posenc/rows/cos_sin_table.hpp"     // rows from two small tables (angle addition)
#include "posenc/frequency/frequencies.hpp"  // radians per position; wavelengths, turns
#include "posenc/frequency/geometric.hpp"    // base^(-2i / dim)

// 2. Attend over your own cache: posenc::attention, attention/README.md
#include "posenc/attention/call.hpp"       // the call of engines: their outputs, memory and threads
#include "posenc/attention/attention.hpp"  // attention(q, k, v, encoding): results in vectors
#include "posenc/attention/rules.hpp"      // what attention is asked, as one value
#include "posenc/attention/arguments.hpp"  // options of attention, and what it returns
#include "posenc/attention/mask.hpp"       // which keys a query sees
#include "posenc/attention/merge.hpp"      // attention over keys that were split
#include "posenc/core/executor.hpp"        // work in tasks, for your own threads

// 3. Encodings, each a value that acts at one of four sites: posenc::attention, README.md
#include "posenc/encoding/sites.hpp"           // the four sites, and their reverse. Read this first
#include "posenc/encoding/scheme.hpp"          // encodings used together; nope, the empty scheme
#include "posenc/embedding/sinusoidal.hpp"     // site 1: added to embeddings
#include "posenc/query_key/rope.hpp"           // site 2: rope, p_rope
#include "posenc/score/alibi.hpp"              // site 3: a bias by distance
#include "posenc/softmax/attention_sinks.hpp"  // site 4: a logit without a key; softmax-off-by-one

// 4. Models' files, config.json and GGUF: posenc::model, model/README.md. Include these by name
//   posenc/model/hugging_face.hpp       config.json, rope_parameters (nlohmann-json, posenc::model)
//   posenc/model/gguf.hpp               the header of a GGUF file
//   posenc/model/gguf/metadata.hpp      all its keys and values
//   posenc/model/gguf/parts.hpp         reads a model that is split into several GGUF files
//   posenc/model/hugging_face/read_model.hpp  reads a config.json or a GGUF file (nlohmann-json)
//   posenc/model/model_description.hpp  what both give
//   posenc/model/rotate.hpp             heads, rotated as either says
//   posenc/model/layer_rules.hpp        what a layer of either asks of attention
//   posenc/model/layer_scheme.hpp       the same with its rotation, as an encoding
//   posenc/model/layer_mask.hpp         the keys that it sees, as a mask

// 5. Study what an encoding does to attention: posenc::posenc (Eigen), analysis/README.md
#include "posenc/analysis/distance_profile.hpp"   // logits, weights by distance; a map of them
#include "posenc/attention/reference.hpp"         // attention, a paragraph a site, to read
#include "posenc/analysis/context_bound.hpp"      // the context of a base, and back
#include "posenc/analysis/positional_budget.hpp"  // a head that picks one distance: its price
#include "posenc/analysis/dispersion.hpp"         // how sharp softmax can be among n keys

// ---- Behind the doors ----

// core: what every room stands on
#include "posenc/core/positions.hpp"  // positions of tokens
#include "posenc/core/lists.hpp"      // lists as arguments, in braces
#include "posenc/core/require.hpp"    // errors
#include "posenc/core/fast_math.hpp"  // what holds under -ffast-math; is_finite
#include "posenc/core/target.hpp"     // one namespace per instruction set
#include "posenc/core/viewed.hpp"     // numbers that a value keeps by address, of no temporary
#include "posenc/version.hpp"         // POSENC_VERSION_MAJOR, _MINOR, _PATCH

// heads: numbers in a format at an address
#include "posenc/heads/at_strides.hpp"     // an address: strides of tokens and heads
#include "posenc/heads/in_pages.hpp"       // an address: slots in the pages of a cache
#include "posenc/heads/slots.hpp"          // slots from a block table, or in a ring
#include "posenc/heads/page_bounds.hpp"    // the least and the largest keys of each page
#include "posenc/heads/format.hpp"         // what a format is; one of your own
#include "posenc/heads/chosen_format.hpp"  // heads in a format that is chosen at run time
#include "posenc/heads/storage.hpp"        // float, double, half, bfloat16; an engine's own types
#include "posenc/heads/overlap.hpp"        // whether heads of two views share a byte

// encoding: where an encoding acts
#include "posenc/encoding/score_row.hpp"       // the inputs of sites 3 and 4: a row; its statistics
#include "posenc/encoding/adjust_scores.hpp"   // site 3 on a row of scores

// frequency: how fast each pair rotates
#include "posenc/frequency/phase_step.hpp"  // exact angles, in integers
#include "posenc/frequency/axial.hpp"       // one series per axis; even steps: vision, video
#include "posenc/frequency/truncated.hpp"   // p-RoPE, Gemma 4's too; CoPE's clip; FoPE's floor
#include "posenc/frequency/ntk.hpp"         // linear; NTK: plain ... by parts; published YaRN
#include "posenc/frequency/yarn.hpp"        // YaRN as coded
#include "posenc/frequency/llama3.hpp"      // Llama 3
#include "posenc/frequency/longrope.hpp"    // one factor per pair, one or two lists

// rows: from positions to cosines and sines
#include "posenc/rows/phase.hpp"          // the cosine and sine of an exact angle
#include "posenc/rows/row_maker.hpp"      // rows into the caller's memory
#include "posenc/rows/cos_sin_view.hpp"   // a view of rows of cosines and sines
#include "posenc/rows/cos_sin_cache.hpp"  // rows from an engine's own cache
#include "posenc/rows/rerotation.hpp"     // keys to other positions, frequencies
#include "posenc/rows/pair_axes.hpp"      // which axis each pair rotates by
#include "posenc/rows/axis_rows.hpp"      // positions of text, images, video; their rows
#include "posenc/rows/mixed_row_maker.hpp"  // frequencies of each head, on all axes at once
#include "posenc/rows/xpos_rows.hpp"      // rows with xPos decay

// rotation: layouts, and the kernel (xsimd)
#include "posenc/rotation/rotary_block.hpp"       // which dims of a head are rotated
#include "posenc/rotation/hadamard.hpp"           // a transform of heads before few bits
#include "posenc/rotation/head_norm.hpp"          // the norms of engines; where they round
#include "posenc/rotation/head_sink.hpp"          // who takes heads: a struct of your own
#include "posenc/rotation/rotate_in_tasks.hpp"    // rotate in tasks, for an engine's threads
#include "posenc/rotation/prepared_rotation.hpp"  // what an encoding prepares that rotates
#include "posenc/rotation/relayout.hpp"           // heads, caches, weights: to the other layout

// cache: the formats that engines store heads in
#include "posenc/cache/integer_formats.hpp"  // OpenVINO's u8, vLLM's and MLAS's int8
#include "posenc/cache/int4.hpp"             // vLLM's and MLAS's of 4 bits
#include "posenc/cache/q8_0.hpp"             // ggml's
#include "posenc/cache/q4_0.hpp"             // ggml's of 4 bits
#include "posenc/cache/q4_1.hpp"             // the same, from the least number on
#include "posenc/cache/q5_0.hpp"             // ggml's of 5 bits
#include "posenc/cache/q5_1.hpp"             // the same, from the least number on
#include "posenc/cache/iq4_nl.hpp"           // ggml's of 4 bits, of a table
#include "posenc/cache/float_formats.hpp"    // bfloat16 and others, E4M3, DeepSeek V4's page
#include "posenc/decode/dot_products.hpp"    // codes multiplied as integers, if a format says so

// the encodings, by site
#include "posenc/embedding/sinusoidal_forms.hpp"    // by name: Whisper, timesteps ...
#include "posenc/embedding/sin_cos_2d.hpp"          // patches of images and videos
#include "posenc/embedding/learned_embedding.hpp"   // a learned table
#include "posenc/query_key/m_rope.hpp"              // several axes: M-RoPE
#include "posenc/query_key/mixed_rope.hpp"          // frequencies of each head, on all axes
#include "posenc/query_key/xpos.hpp"                // RoPE with decay
#include "posenc/query_key/remapped.hpp"            // other positions for queries, for keys
#include "posenc/query_key/distance_remapping.hpp"  // ReRoPE, Self-Extend
#include "posenc/query_key/unprojected.hpp"         // embeddings, as if W_q = W_k = I
#include "posenc/query_key/hadamard_transform.hpp"  // as keys are stored that are transformed
#include "posenc/score/t5_bias.hpp"                 // T5's, DeBERTa's buckets; clipped table
#include "posenc/score/kerple.hpp"                  // logarithmic and power kernels
#include "posenc/score/fire.hpp"                    // a small network of the distance
#include "posenc/score/dynamic_position_bias.hpp"   // a network of the distance or its log
#include "posenc/score/sandwich.hpp"                // inner products of sinusoidal vectors
#include "posenc/score/cope.hpp"                    // positions counted by the query
#include "posenc/score/forget_gates.hpp"            // learned gates between key and query
#include "posenc/score/query_profiles.hpp"          // made by the query: Inkling's
#include "posenc/score/key_bias.hpp"                // the bias of W_k, left out of a cache
#include "posenc/score/bias_matrix.hpp"             // any bias as table, matrix; matrix as bias
#include "posenc/score/soft_cap.hpp"                // cap tanh(score / cap)
#include "posenc/score/scale_invariant.hpp"         // near and far keys share weight alike
#include "posenc/softmax/adaptive_temperature.hpp"  // by entropy
#include "posenc/softmax/critical_temperature.hpp"  // by a row's scores: critical, half weight
#include "posenc/softmax/log_n.hpp"                 // by keys: log n, SSMax; by position
#include "posenc/softmax/constant_temperature.hpp"  // one for all rows; YaRN's, on scores
#include "posenc/softmax/row_exponentials.hpp"      // masked scores; no sink
#include "posenc/softmax/softmax.hpp"               // from a row of scores to weights; gradients

// adapter: what engines would write to call the above
#include "posenc/adapter/row_cache.hpp"             // rows for ops that have nowhere to keep a step
#include "posenc/adapter/ggml.hpp"                  // ggml's rope op: all modes; its tensors
#include "posenc/adapter/ggml_flash_attention.hpp"  // ggml's flash attention, in its threads
#include "posenc/adapter/ggml_rope_parameters.hpp"  // the parameters of ggml's rope op

// attention: the four sites together
#include "posenc/attention/token_range.hpp"        // neighbouring tokens
#include "posenc/attention/prepared_encoding.hpp"  // an encoding at the positions of a step
#include "posenc/attention/given_mask.hpp"         // visibility that is given
#include "posenc/attention/near_and_far.hpp"  // with near and far scores: ReRoPE, Self-Extend
#include "posenc/attention/gradients.hpp"          // gradients of q, k and v

// analysis: what an encoding does to attention (Eigen)
#include "posenc/analysis/running_moments.hpp"           // mean, deviation, extremes
#include "posenc/analysis/rope_decay.hpp"                // what frequencies alone say
#include "posenc/analysis/semantic_robustness.hpp"       // slow pairs within a context; p of p-RoPE
#include "posenc/analysis/position_slack.hpp"            // how far a key may move, near and far
#include "posenc/analysis/score_by_frequency.hpp"        // what each pair contributes to a score
#include "posenc/analysis/key_for_distance.hpp"          // the key attended to most at a distance
#include "posenc/analysis/positional_symbolic.hpp"  // whether a head attends by place or content
#include "posenc/analysis/gain_for_weight.hpp"           // how much scores must grow for a weight
#include "posenc/analysis/fit_adaptive_temperature.hpp"  // the polynomial of one's own network
#include "posenc/analysis/spread_bound.hpp"              // how far apart weights let scores be
#include "posenc/analysis/precision_budget.hpp"          // what an engine's angles cost
#include "posenc/analysis/precision_wall.hpp"            // which positions numbers tell apart
