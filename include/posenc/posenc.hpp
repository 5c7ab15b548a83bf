// posenc: positional encodings of transformers. A table of contents; include what you need, or all of it.
// A header includes only its own floor and those before it.
#pragma once
// clang-format off

// core: the vocabulary
#include "posenc/core/sites.hpp"           // where an encoding acts: the four sites. Read this first
#include "posenc/core/scheme.hpp"          // the encodings used together; nope, the empty scheme
#include "posenc/core/gradient_sites.hpp"  // the sites in reverse, for training
#include "posenc/core/encoding_check.hpp"  // a function that its site cannot call is an error of one sentence
#include "posenc/core/heads_view.hpp"      // strided views of [tokens][heads][head_dim]
#include "posenc/core/paged_heads.hpp"     // and of a paged cache
#include "posenc/core/positions.hpp"       // where the tokens stand
#include "posenc/core/score_row.hpp"       // what site 3 works on
#include "posenc/core/row_statistics.hpp"  // what site 4 sees
#include "posenc/core/half.hpp"            // IEEE binary16 in two bytes
#include "posenc/core/bfloat16.hpp"        // bfloat16 in two bytes
#include "posenc/core/storage.hpp"         // and an engine's own 16-bit types
#include "posenc/core/require.hpp"         // finite or not, under -ffast-math too; how errors are worded
#include "posenc/core/target.hpp"          // the inline namespace, named by the target: one program for several instruction sets

// frequency: how fast each pair turns
#include "posenc/frequency/frequencies.hpp"         // radians per position, and the attention factor
#include "posenc/frequency/geometric.hpp"           // base^(-2i / dim)
#include "posenc/frequency/axial.hpp"               // a series for each axis: vision, video
#include "posenc/frequency/truncated.hpp"           // p-RoPE: only the highest fraction p
#include "posenc/frequency/proportional.hpp"        // Gemma 4's p-RoPE
#include "posenc/frequency/linear.hpp"              // position interpolation
#include "posenc/frequency/ntk.hpp"                 // NTK-aware; dynamic NTK
#include "posenc/frequency/mixed_ntk.hpp"           // NTK, growing smoothly
#include "posenc/frequency/part_ntk.hpp"            // linear, NTK and unscaled, blended
#include "posenc/frequency/ntk_by_parts.hpp"        // by turns within the trained context
#include "posenc/frequency/yarn_by_rotations.hpp"   // YaRN as published
#include "posenc/frequency/yarn.hpp"                // YaRN as coded
#include "posenc/frequency/llama3.hpp"              // Llama 3
#include "posenc/frequency/longrope.hpp"            // a short and a long list of factors
#include "posenc/frequency/per_pair.hpp"            // a factor for each pair, as in ggml
#include "posenc/frequency/resonance.hpp"           // wavelengths of whole tokens
#include "posenc/frequency/raised_cosine_clip.hpp"  // the slowest pairs fade out
#include "posenc/frequency/fope_floor.hpp"          // those of no whole turn stand still
#include "posenc/frequency/describe.hpp"            // wavelengths, turns, last angles

// rotation: from positions to rotated heads (xsimd)
#include "posenc/rotation/phase.hpp"                  // exact angles, in integers
#include "posenc/rotation/phase_lanes.hpp"            // those of a register of pairs
#include "posenc/rotation/row_writer.hpp"             // what may be a position
#include "posenc/rotation/cos_sin_view.hpp"           // rows of cosines and sines that somebody owns
#include "posenc/rotation/cos_sin_rows.hpp"           // a row of cosines and sines a token
#include "posenc/rotation/cos_sin_table.hpp"          // rows for the price of reading them
#include "posenc/rotation/rerotation.hpp"             // rows that move rotated keys: to other positions, or other frequencies
#include "posenc/rotation/float_angles.hpp"           // rows as Hugging Face computes them
#include "posenc/rotation/pair_axes.hpp"              // which axis of a position each pair turns by
#include "posenc/rotation/axis_positions.hpp"         // positions of several axes
#include "posenc/rotation/axis_position_builder.hpp"  // of text, images and video
#include "posenc/rotation/axis_rows.hpp"              // rows for them
#include "posenc/rotation/xpos_rows.hpp"              // rows that fade
#include "posenc/rotation/layout.hpp"                 // halves, interleaved
#include "posenc/rotation/rotary_block.hpp"           // which dims of a head are rotated
#include "posenc/rotation/rms_norm.hpp"               // a norm of the head before it
#include "posenc/rotation/rotation.hpp"               // one set of heads: from where to where, norm and scale on the way
#include "posenc/rotation/rotate.hpp"                 // the rotation itself
#include "posenc/rotation/relayout.hpp"               // from one layout to the other: heads, caches, weights

// the encodings, by site
#include "posenc/embedding/sinusoidal.hpp"          // (1)
#include "posenc/embedding/sinusoidal_forms.hpp"    //     as tensor2tensor, fairseq and others order it
#include "posenc/embedding/timestep.hpp"            //     of a diffusion model's timestep
#include "posenc/embedding/sin_cos_2d.hpp"          //     of patches of images and videos
#include "posenc/embedding/learned.hpp"             //     a learned table
#include "posenc/query_key/rope.hpp"                // (2) rope, p_rope
#include "posenc/query_key/m_rope.hpp"              //     several axes: M-RoPE
#include "posenc/query_key/xpos.hpp"                //     with decay
#include "posenc/query_key/remapped.hpp"            //     other positions for queries, for keys
#include "posenc/query_key/distance_remapping.hpp"  //     ReRoPE, Self-Extend
#include "posenc/score/alibi.hpp"                   // (3)
#include "posenc/score/t5_bias.hpp"                 //     T5's buckets
#include "posenc/score/kerple.hpp"                  //     logarithmic and power kernels
#include "posenc/score/fire.hpp"                    //     a small network of the interpolated distance
#include "posenc/score/sandwich.hpp"                //     what sinusoids have in common
#include "posenc/score/learned_relative.hpp"        //     a learned table of clipped distances
#include "posenc/score/cope.hpp"                    //     positions that the query counts
#include "posenc/score/forgetting.hpp"              //     learned gates between key and query
#include "posenc/score/bias_table.hpp"              //     any of these by distance, worked out once
#include "posenc/score/soft_cap.hpp"                //     not beyond a cap
#include "posenc/softmax/adaptive_temperature.hpp"  // (4) by entropy
#include "posenc/softmax/ssmax.hpp"                 //     by the number of keys, learned
#include "posenc/softmax/log_n.hpp"                 //     by the number of keys, or by position
#include "posenc/softmax/position_temperature.hpp"  //     Llama 4, Mistral
#include "posenc/softmax/yarn_temperature.hpp"      //     YaRN's, on scores
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"       //     a learned logit of no value; softmax-off-by-one
#include "posenc/softmax/softmax.hpp"               // a row of scores to weights
#include "posenc/softmax/softmax_gradient.hpp"      // and back

// attention: the four sites together (Eigen)
#include "posenc/attention/mask.hpp"       // which keys a query sees
#include "posenc/attention/arguments.hpp"  // its options
#include "posenc/attention/attention.hpp"  // the reference
#include "posenc/attention/merge.hpp"      // of keys that were split
#include "posenc/attention/gradients.hpp"  // of q, k and v

// analysis: what an encoding does to attention
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/analysis/moments.hpp"
#include "posenc/analysis/rope_decay.hpp"

// model: what a model's files say of it. Not included here, for they parse files:
//   posenc/model/hugging_face.hpp   config.json (nlohmann-json, target posenc::model)
//   posenc/model/gguf.hpp           the header of a GGUF file
//   posenc/model/gguf/metadata.hpp  all its keys and values
//   posenc/model/layer_scheme.hpp   a layer of either, for the reference attention
