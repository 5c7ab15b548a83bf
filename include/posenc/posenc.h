/** @file
 * posenc in C (C11, or C++17): rows of cosines and sines, the rotation of queries and keys, their
 * write to a cache, and attention over it, on the best instruction set of the CPU that the program
 * runs on.
 *
 *     find_package(posenc REQUIRED COMPONENTS kernels)
 *     posenc_add_kernels(NAME engine_rope)               a library that has these functions
 *     target_link_libraries(engine PRIVATE engine_rope)
 *
 *     posenc1_frequencies *f;
 *     posenc1_row_maker *maker;
 *     posenc1_frequencies_of_base(128, 500000.0, &f);             once per model
 *     posenc1_row_maker_create(f, 0, &maker);
 *     posenc1_write_rows(maker, positions, NULL, tokens, POSENC1_F32, memory);    once per step
 *     posenc1_rows rows = {.cos_sin = memory, .tokens = tokens, .maker = maker};
 *     posenc1_operand q = {.from = {.data = queries, .format = POSENC1_BF16},
 *                          .heads = 32, .head_dim = 128, .layout = POSENC1_HALVES};
 *     if (posenc1_rotate(&rows, &q, 1, 0, 1) != POSENC1_OK) puts(posenc1_error());  once per layer
 *
 * Errors: functions return a status; posenc1_error() says what must hold and what was given.
 * Arguments are checked before a byte is changed. No exception leaves a function. Arrays begin at
 * a multiple of their elements' size.
 * Memory: write_rows, rotate, hadamard, attend and attention_backward allocate nothing.
 * Threads: handles are immutable, and threads may share them.
 * Names: the 1 is the version of this interface; a program may contain several, each in a separate
 * shared library.
 * Zeros: a field that is zero has the default that its comment names. A field that models differ in
 * has none: a format, a layout, a number of heads or queries that is omitted is an error. */
#ifndef POSENC_POSENC_H
#define POSENC_POSENC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of functions. */
typedef enum posenc1_status {
  POSENC1_OK = 0,
  POSENC1_INVALID_ARGUMENT = 1,
  POSENC1_OUT_OF_MEMORY = 2,
  POSENC1_NO_INSTRUCTION_SET = 3, /**< this CPU cannot run what POSENC_INSTRUCTION_SET names */
  POSENC1_NOT_BUILT = 4,          /**< the library was built without this function */
  POSENC1_FAILED = 5
} posenc1_status;

/** The error of the last call of this thread that did not return POSENC1_OK, as a sentence. Valid
 * until the next such call. */
char const* posenc1_error(void);

/** The version of posenc that the library was built from, as in "0.1.0". */
char const* posenc1_version(void);

/** The instruction set in use: base, v3, v4, v4_vnni, v4_bf16 (x86) or bf16 (ARM). Chosen at first
 * use: the last of the library's sets that the CPU and the operating system support, or the one
 * that the environment variable POSENC_INSTRUCTION_SET names. Null, with an error, if that names
 * none. */
char const* posenc1_instruction_set(void);

/** 1 if the instruction set in use has the products that dot_products of posenc1_attention asks
 * for; 0 if calls that ask for them are exact, or if no set is in use. */
int posenc1_has_dot_products(void);

/* ---- Frequencies: how fast each pair rotates, in radians per position ---- */

/** Frequencies of all pairs: a handle. */
typedef struct posenc1_frequencies posenc1_frequencies;

/** base^(-2i / rotary_dim) for pair i: rotary_dim even and positive, base finite and positive. */
posenc1_status posenc1_frequencies_of_base(size_t rotary_dim, double base,
                                           posenc1_frequencies** result);

/** Given ones, from 1 to 2^24, each in [0, 2^64], and a factor on rotated queries and keys (finite,
 * positive). */
posenc1_status posenc1_frequencies_of_numbers(double const* inv_freq, size_t pairs,
                                              double attention_factor,
                                              posenc1_frequencies** result);

/** A number, or a list of numbers, of a rule. */
typedef struct posenc1_parameter {
  char const* name;   /**< as the rule lists it */
  double number;      /**< unless list is given */
  double const* list; /**< null: a number */
  size_t count;       /**< of the list */
} posenc1_parameter;

/** The frequencies of a rule of posenc/frequency/, where its formula and source stand. A rule of
 * the first group changes the frequencies `of`; if `of` is null, it changes geometric frequencies,
 * whose parameters rotary_dim and base are then given too.
 * [] marks parameters that may be left out.
 *
 *   linear               factor
 *   ntk                  factor
 *   dynamic_ntk          factor trained_length length
 *   mixed_ntk            factor [b]
 *   ntk_by_parts         factor original_length [alpha beta]
 *   yarn_by_rotations    factor original_length [alpha beta]
 *   yarn                 factor original_length [beta_fast beta_slow truncate mscale
 *                        mscale_all_dim attention_factor extrapolation]
 *   llama3               factor low_freq_factor high_freq_factor original_length
 *   longrope             short_factor (list) long_factor (list) original_length length
 *                        [factor attention_factor]
 *   divided_by_factors   factors (list)
 *   truncated            p
 *   p_rope               p                            the same by its other name
 *   resonance
 *   raised_cosine_clip   n
 *   fope_floor           trained_length
 *
 *   geometric            rotary_dim base
 *   geometric_inclusive  rotary_dim base
 *   proportional         head_dim base p [factor]
 *   part_ntk             rotary_dim base factor original_length [ntk extrapolation]
 *   pixel                rotary_dim [max_freq]
 *   axial                dims (list) base (or a list, one per axis)
 *
 * Frequencies of axial are on as many axes as there are dims; rules that change frequencies keep
 * axes. A parameter that the rule does not have is an error, and so is one that is given twice. */
posenc1_status posenc1_frequencies_of_rule(posenc1_frequencies const* of, char const* rule,
                                           posenc1_parameter const* parameters, size_t count,
                                           posenc1_frequencies** result);

/** Which two dims of a head are a pair, d being its rotated dims. It must be said: 0 is an error,
 * as half of all engines have the other one. */
typedef enum posenc1_layout {
  POSENC1_HALVES = 1,      /**< pairs (i, i + d/2): Hugging Face, GPT-NeoX */
  POSENC1_INTERLEAVED = 2, /**< pairs (2i, 2i + 1): Meta's Llama, GPT-J, llama.cpp's Llama */
  POSENC1_UNROTATED = 3    /**< no pairs: values, and what layers without a rotation have (NoPE) */
} posenc1_layout;

/** As first_dim of a rotary block: the last dims of a head. */
#define POSENC1_LAST_DIMS SIZE_MAX

/** As `ahead`: all keys, which an encoder's queries see. */
#define POSENC1_ALL_AHEAD SIZE_MAX

/** Tokens that see each other both ways where queries see no later keys else. */
typedef enum posenc1_both_ways {
  POSENC1_NO_BLOCK = 0,
  POSENC1_IMAGE = 1,               /**< of one image (full layers of Gemma 3) */
  POSENC1_IMAGE_WITHIN_WINDOW = 2, /**< the same, no farther back than the window (Gemma 3, 4) */
  POSENC1_PREFIX = 3               /**< of the prompt (PaliGemma) */
} posenc1_both_ways;

/** The settings that posenc1_frequencies_of_model gives besides a layer's frequencies. layout and
 * first_dim are fields of posenc1_operand; behind, ahead, chunk, factor and cap are fields of
 * posenc1_attention, which also takes the temperature, and ALiBi as slopes. */
typedef struct posenc1_layer {
  posenc1_layout layout; /**< of the pairs; POSENC1_UNROTATED: the layer does not rotate (NoPE) */
  size_t first_dim;      /**< of the rotary block; or POSENC1_LAST_DIMS */
  size_t rotary_dim;     /**< 0: the layer does not rotate */
  size_t head_dim;       /**< of queries and keys */
  size_t behind;         /**< a query sees keys behind it at distances below this; 0: all */
  size_t ahead;          /**< and so many ahead of it: 0 is causal; POSENC1_ALL_AHEAD: all */
  size_t chunk;          /**< a query sees only keys in its chunk of this many positions; 0: all */
  double factor;         /**< on scores, beside 1 / sqrt(head_dim) */
  double cap;            /**< of scores; 0: none */
  int sinks;             /**< not 0: each head has a learned sink logit */
  int depends_on_length; /**< not 0: frequencies differ by the length of the sequence */
  posenc1_both_ways both_ways; /**< which tokens see each other beside these */

  /** 1: keys can be stored without their bias, which key_bias of posenc1_attention adds to scores;
   * 0: they have none, or a norm stands behind it; -1: not known. */
  int key_bias_is_separable;

  double temperature_scale;  /**< of the queries' temperature POSENC1_BY_POSITION; 0: none */
  double temperature_length; /**< its length */
  double temperature_offset; /**< its offset */
  size_t alibi_heads;        /**< posenc1_alibi_slopes makes ALiBi's slopes of these; 0: none */
  double alibi_max_bias;     /**< minus log2 of the last slope of a power of two of heads */
  double alibi_factor;       /**< on slopes */
  int learned_bias;          /**< not 0: scores get a bias by distance from the model's weights,
                              * which `bias` of posenc1_attention takes (T5's buckets) */
} posenc1_layer;

/** ALiBi's slopes, [heads], as posenc/score/alibi.hpp has them, times the factor. heads: from 1 to
 * 65536. max_bias, 8 in most models, and factor, 1 in most: finite and positive. */
posenc1_status posenc1_alibi_slopes(size_t heads, double max_bias, double factor, double* slopes);

/** The frequencies of a layer of a model, for sequences of `length` tokens, from a file, which may
 * be a pipe: GGUF if its name ends in .gguf or it begins with a G, else config.json. A model in
 * several GGUF files is read by the first, with the others beside it. A layer that does not rotate
 * gives null. The frequencies are on the model's axes (Qwen2-VL, Qwen2.5-VL: time, row, column). An
 * error: a file of an unknown model, and a layer with several rotary blocks.
 * POSENC1_NOT_BUILT unless the library was added with MODEL. */
posenc1_status posenc1_frequencies_of_model(char const* file, size_t layer, size_t length,
                                            posenc1_layer* description,
                                            posenc1_frequencies** result);

/** Copies inv_freq into `inv_freq` unless that is null, and the attention factor; returns the
 * number of pairs. */
size_t posenc1_frequencies_read(posenc1_frequencies const* f, double* inv_freq,
                                double* attention_factor);

void posenc1_frequencies_destroy(posenc1_frequencies* f); /**< null: nothing */

/** How pairs are given to the axes of a position: time, row, column. numbers, of
 * posenc1_frequencies_on_axes, are: */
typedef enum posenc1_axes {
  POSENC1_AXES_BY_PAIR = 0,         /**< the axis of each pair, from 0, below 256 */
  POSENC1_AXES_CONTIGUOUS = 1,      /**< the pairs of each axis, ttt...hhh...www: Qwen2-VL */
  POSENC1_AXES_INTERLEAVED = 2,     /**< three axes in turn, thwthw...tt: Qwen3-VL */
  POSENC1_AXES_GGML = 3,            /**< four sections, as of GGML_ROPE_TYPE_MROPE */
  POSENC1_AXES_GGML_INTERLEAVED = 4 /**< four, as of GGML_ROPE_TYPE_IMROPE */
} posenc1_axes;

/** The same frequencies, in which each pair rotates by one of several axes. */
posenc1_status posenc1_frequencies_on_axes(posenc1_frequencies const* of, posenc1_axes axes,
                                           size_t const* numbers, size_t count,
                                           posenc1_frequencies** result);

/** Copies the axis of each pair into `axis_of_pair`, [pairs], unless that is null; returns the
 * number of axes, 1 unless frequencies are on more. */
size_t posenc1_frequencies_axes(posenc1_frequencies const* f, size_t* axis_of_pair);

/* ---- Rows: the cosines and sines of each token ---- */

/** A maker of rows: a handle. */
typedef struct posenc1_row_maker posenc1_row_maker;

/** Makes rows of cos and sin of position x inv_freq, times the attention factor, right to 3e-8 at
 * any position up to 2^31. table_range: 0 computes each row, as frequencies on several axes want;
 * from 1 to 2^32, rows at positions of at most that magnitude come from a table, 1.5 MiB for 2^20
 * and head_dim 128. The maker keeps nothing of f. */
posenc1_status posenc1_row_maker_create(posenc1_frequencies const* f, int64_t table_range,
                                        posenc1_row_maker** result);

/** Makes rows of frequencies that differ by head, in which a pair rotates by all axes at once: pair
 * i of head h by the sum over axes of position[axis] inv_freq[h][axis][i]: RoPE-Mixed of vision
 * transformers, KataGo's learned nets; on one axis, AdaRoPE. inv_freq: [heads][axes][pairs], at
 * most 2^24, each in [-2^64, 2^64]. attention_factor: finite, positive. */
posenc1_status posenc1_mixed_row_maker_create(double const* inv_freq, size_t heads, size_t axes,
                                              size_t pairs, double attention_factor,
                                              posenc1_row_maker** result);

/** Makes rows that rotate rotated keys once more: from the frequencies `from` at one position to
 * the frequencies `to` at another. from = to shifts keys (K-shift); to = null undoes a rotation.
 * Both on one axis: on several, rows of a maker at the distances shift keys (attention factor 1).
 */
posenc1_status posenc1_rerotation_create(posenc1_frequencies const* from,
                                         posenc1_frequencies const* to, posenc1_row_maker** result);

/** How heads are stored: as numbers, or as codes. posenc/cache/README.md says whose bytes the codes
 * are, what they round, and what they make of zeros, NaN and infinity. It must be said: 0 is an
 * error. */
typedef enum posenc1_format {
  POSENC1_F32 = 1,
  POSENC1_F64 = 2,
  POSENC1_F16 = 3, /**< IEEE binary16 */
  POSENC1_BF16 = 4,
  POSENC1_U8_PER_HEAD = 5,             /**< OpenVINO's default */
  POSENC1_Q8_0 = 6,                    /**< ggml's, as its reference rounds */
  POSENC1_Q8_0_AVX2 = 7,               /**< as its code for AVX2 rounds */
  POSENC1_INT8_PER_HEAD = 8,           /**< vLLM's */
  POSENC1_INT8_PER_HEAD_TRUNCATED = 9, /**< by its store that truncates */
  POSENC1_INT8_STATIC = 10,            /**< ONNX Runtime's, with one scale per tensor */
  POSENC1_E4M3 = 11,                   /**< vLLM's, with one scale per tensor */
  POSENC1_E4M3_TRUNCATED = 12,         /**< by its writer for CPUs */
  POSENC1_DEEPSEEK_V4 = 13,            /**< as CUDA writes it */
  POSENC1_DEEPSEEK_V4_CPU = 14,        /**< as the writers for CPUs do */
  POSENC1_Q4_0 = 15,                   /**< ggml's of 4 bits */
  POSENC1_INT4_PER_HEAD = 16,          /**< vLLM's of 4 bits */
  POSENC1_INT4_STATIC = 17,            /**< ONNX Runtime's of 4 bits, one scale per tensor */
  POSENC1_Q4_1 = 18,                   /**< ggml's of 4 bits, from the least number on */
  POSENC1_Q5_0 = 19,                   /**< ggml's of 5 bits */
  POSENC1_Q5_1 = 20,                   /**< ggml's of 5 bits, from the least number on */
  POSENC1_IQ4_NL = 21                  /**< ggml's of 4 bits, of a table */
} posenc1_format;

/** The bytes of one head, and those of its scales if the format has them elsewhere, else 0. An
 * error where the format has no such head_dim. */
posenc1_status posenc1_format_bytes(posenc1_format format, size_t head_dim, size_t* bytes,
                                    size_t* scale_bytes);

/** Writes one row per token to `memory`, [tokens][2][pairs], cosines before sines; with a maker
 * from posenc1_mixed_row_maker_create one per head and token, [heads][tokens][2][pairs]. positions:
 * [tokens], or [axes][tokens] of frequencies on several axes. format: POSENC1_F32, or POSENC1_F64
 * to rotate heads of doubles. With a maker from posenc1_rerotation_create, `positions` are the new
 * positions and `from_positions` the old ones; null means 0, so that positions are then distances
 * to move by. With other makers, from_positions must be null. */
posenc1_status posenc1_write_rows(posenc1_row_maker const* maker, int64_t const* positions,
                                  int64_t const* from_positions, size_t tokens,
                                  posenc1_format format, void* memory);

/** The same at positions that need not be whole (times of frames, coordinates): finite, within
 * int64. */
posenc1_status posenc1_write_fractional_rows(posenc1_row_maker const* maker,
                                             double const* positions, double const* from_positions,
                                             size_t tokens, posenc1_format format, void* memory);

void posenc1_row_maker_destroy(posenc1_row_maker* maker); /**< null: nothing */

/* ---- Heads: where they lie ---- */

/** The address and the format of heads: [batches][tokens][heads] of numbers or codes. Strides are
 * in bytes, of either sign, and 0 stands for contiguous heads, tokens, batches. The numbers or
 * codes of a head are contiguous; numbers begin at multiples of their size, codes anywhere.
 * With slots, the heads lie in pages of page_tokens tokens: token t of batch b is in slot
 * slots[b tokens + t] = page x page_tokens + token within the page. Tokens of a negative slot are
 * not read or written. Then token_stride is the stride within a page, and page_stride the stride of
 * pages. Pages without slots are an error; heads without both are contiguous but for their strides.
 * Slots may repeat in heads that are only read. Codes are written to a slot once. If numbers are
 * written elsewhere, the last token of a slot stays. Not checked: numbers in place, in a slot that
 * is given twice, are rotated twice; and two threads must not write one slot. */
typedef struct posenc1_heads {
  void* data;             /**< null: no heads. A source is only read */
  posenc1_format format;  /**< of all heads; it must be said */
  ptrdiff_t page_stride;  /**< bytes, of pages; without slots of batches */
  ptrdiff_t token_stride; /**< bytes, within a page or batch */
  ptrdiff_t head_stride;  /**< bytes */
  int64_t const* slots;   /**< [batches x tokens]; null: no pages */
  size_t pages;           /**< in memory; with slots alone */
  size_t page_tokens;     /**< of each page; with slots alone */

  void* scales;                  /**< of formats that have them elsewhere. Null: behind all codes of
                                  * their page, whose memory has both; without slots an error */
  ptrdiff_t scales_page_stride;  /**< bytes; the page_stride if scales is null */
  ptrdiff_t scales_token_stride; /**< bytes */
  ptrdiff_t scales_head_stride;  /**< bytes */

  double scale;   /**< what codes are multiplied by: of INT8_STATIC and INT4_STATIC, which must have
                   * one, and of E4M3 and E4M3_TRUNCATED, 0: 1 */
  double inverse; /**< of E4M3, E4M3_TRUNCATED: what numbers are multiplied by; 0: 1 / scale */
} posenc1_heads;

/** Writes the slots of `count` tokens from token `first` on in a cache that keeps the last
 * `capacity` tokens, as a ring: token t is in slot t % capacity, where it replaces token
 * t - capacity.
 *
 *     posenc1_ring_slots(first, count, capacity, written);              what the step adds
 *     size_t const kept = first + count < capacity ? first + count : capacity;
 *     posenc1_ring_slots(first + count - kept, kept, capacity, read);   what attention reads
 *
 * Slots are in the order of tokens, so that positions need not be given. With a window of w tokens
 * and steps of up to n tokens, capacity must be at least w + n - 1: the first query of a step sees
 * w - 1 tokens before it, which the step must not replace. capacity: positive, below 2^63. count:
 * at most capacity. slots: [count]. */
posenc1_status posenc1_ring_slots(size_t first, size_t count, size_t capacity, int64_t* slots);

/** Writes the bounds of pages, [pages][heads][2][head_dim], float, or double for doubles: for each
 * head the least number of each dim over the tokens of the page, then the largest. Page p has the
 * tokens from p page_tokens on; the last page may have fewer. They bound a query's product with
 * every key of the page (Quest, arXiv 2406.10774):
 *
 *     <q, k>  <=  sum over dims of max(q[i] least[i], q[i] largest[i])
 *
 * Codes are bounded as posenc1_rotate decodes them. Tokens of a negative slot are left out; a page
 * that has no other has bounds of 0. page_tokens: positive. Allocates one head. Not checked:
 * numbers are not NaN, and bounds overlap no keys. */
posenc1_status posenc1_page_bounds(posenc1_heads const* keys, size_t tokens, size_t heads,
                                   size_t head_dim, size_t page_tokens, void* bounds);

/* ---- Rotation: norm, rotation, factor, rounding, and the write to a cache, in one pass ---- */

/** The rows that operands are rotated by, one per token; or, if they differ by head, one per head
 * and token. */
typedef struct posenc1_rows {
  void const* cos_sin; /**< [heads][rows][2][pairs]; float, or double for doubles; null where no
                        * operand rotates */
  size_t tokens;       /**< of each batch */
  size_t batches;      /**< 0 and 1: one */
  size_t rows;         /**< tokens, which batches share, or batches x tokens. 0: tokens, of one
                        * batch; several batches must say it */
  size_t pairs;        /**< 0: the maker's */
  posenc1_row_maker const* maker; /**< of the rows: pairs of frequency 0 are skipped; or null */
  size_t heads; /**< that have their own rows: of H heads of an operand, head h has those of head
                 * h / (H / heads). 0: the maker's; 1 without one, which all heads share */
} posenc1_rows;

/** The root of the mean of squares, or of their sum. */
typedef enum posenc1_norm_kind {
  POSENC1_RMS = 0, /**< of the mean */
  POSENC1_L2 = 1   /**< of the sum */
} posenc1_norm_kind;

/** Before the rotation (Qwen 3, Gemma 3), or after it (HunYuan, Llama 4, nanochat). */
typedef enum posenc1_norm_place {
  POSENC1_BEFORE_ROTATION = 0, /**< norm, then rotation */
  POSENC1_AFTER_ROTATION = 1   /**< rotation, then norm */
} posenc1_norm_place;

/** The root, with r the mean or the sum. */
typedef enum posenc1_eps_place {
  POSENC1_EPS_INSIDE = 0,  /**< sqrt(r + eps) */
  POSENC1_EPS_OUTSIDE = 1, /**< sqrt(r) + eps */
  POSENC1_EPS_AT_LEAST = 2 /**< max(sqrt(r), eps) */
} posenc1_eps_place;

/** x weight / root, where the place of eps says what the root is. */
typedef struct posenc1_norm {
  double eps;                   /**< 0: no norm */
  posenc1_norm_kind kind;       /**< RMS unless said */
  posenc1_norm_place place;     /**< before the rotation unless said */
  posenc1_eps_place eps_place;  /**< inside the root unless said */
  void const* weight;           /**< [head_dim]; null: 1 */
  posenc1_format weight_format; /**< of weights: numbers, doubles for heads of doubles alone */
  int plus_one;                 /**< not 0: the weight is 1 + this (Gemma) */
} posenc1_norm;

/** The points where heads are rounded to 16 bits, besides their storage: a sum of points. The last
 * values are the sums of engines, as posenc/cache/README.md has them. */
enum posenc1_rounding {
  POSENC1_ROUND_NORMALISED = 1,       /**< x / root, before the weights */
  POSENC1_ROUND_NORM = 2,             /**< what the norm gives */
  POSENC1_ROUND_COSINES = 4,          /**< of the rows, and sines */
  POSENC1_ROUND_PRODUCTS = 8,         /**< each product of the rotation, and their sum */
  POSENC1_ROUND_ROTATED = 16,         /**< what the rotation gives, and what the factor gives */
  POSENC1_ROUND_FLASHINFER_FUSED = 2, /**< norm */
  POSENC1_ROUND_SEPARATE_CALLS = 18,  /**< norm, rotated */
  POSENC1_ROUND_VLLM_FUSED = 20,      /**< cosines, rotated */
  POSENC1_ROUND_SGLANG_FUSED = 30,    /**< all but normalised */
  POSENC1_ROUND_HUGGING_FACE = 31     /**< all */
};

/** One set of heads of a rotation: queries, keys, or values. Arithmetic is in float. Doubles are
 * rotated in double, to doubles, and have a factor, and the usual norm: RMS before the rotation,
 * eps inside the root. */
typedef struct posenc1_operand {
  posenc1_heads from;    /**< decoded: keys that move, or were stored unrotated, come from codes */
  posenc1_heads to;      /**< encoded; data null: in place */
  posenc1_heads also_to; /**< a second target, of heads in place too; data null: none */
  size_t heads;          /**< of each token */
  size_t head_dim;       /**< at most 4096, unless numbers of one format, or from or to float,
                          * rotate to one target, with the usual norm and a factor at most */
  posenc1_layout layout; /**< of the pairs; POSENC1_UNROTATED: values */
  posenc1_layout to_layout;  /**< of the targets' pairs; 0: layout */
  size_t first_dim;          /**< of the rotary block of 2 pairs; or POSENC1_LAST_DIMS */
  posenc1_norm norm;         /**< of each head */
  double factor;             /**< on each head after rotation and norm; 0: none */
  unsigned rounding;         /**< of posenc1_rounding; 0: none */
  posenc1_format rounded_to; /**< POSENC1_F16 or POSENC1_BF16, with rounding; else 0 */
  size_t hadamard;           /**< block of posenc1_hadamard, on each head at last; 0: none */
  size_t from_hadamard;      /**< the same, before all else: the source is stored transformed, and
                              * keys that move have both; 0: none */
} posenc1_operand;

/** Rotates pairs (x, y) of each head: x' = x cos - y sin, y' = x sin + y cos, in one pass over each
 * operand: a layer's step is one call, of queries in place, keys into a cache, and values:
 *
 *     posenc1_operand const all[] = {
 *         {.from = q, .heads = 32, .head_dim = 128, .layout = POSENC1_HALVES},
 *         {.from = k, .to = k_cache, .heads = 8, .head_dim = 128, .layout = POSENC1_HALVES},
 *         {.from = v, .to = v_cache, .heads = 8, .head_dim = 128, .layout = POSENC1_UNROTATED}};
 *     posenc1_rotate(&rows, all, 3, 0, 1);
 *
 * count: of operands, at most 16. Does part `part` of `parts`: 0 and 1 are all of it; a pool of
 * threads gives each its part. The split changes no bit. Each head is read once, and numbers are
 * rounded once. Dims that are not rotated are left alone in place, and else normed, scaled and
 * copied. The target of an operand must not overlap memory that this operand or another one reads
 * or writes, unless it stays in place; heads side by side in each token, page or head, as in one
 * buffer of q, k and v, do not overlap, whatever is padded, nor do other slots. Each part looks for
 * a slot of codes that is written twice, quickest where slots ascend, in linear time and 44 KB of
 * stack where they do not. Not checked: rows, weights and slots must not overlap what is written
 * either. */
posenc1_status posenc1_rotate(posenc1_rows const* rows, posenc1_operand const* operands,
                              size_t count, size_t part, size_t parts);

/** As block: the largest power of two that divides head_dim, at most 4096. */
#define POSENC1_LARGEST_BLOCK SIZE_MAX

/** Transforms each block of n dims of heads, in place, by the orthonormal Walsh-Hadamard matrix in
 * Sylvester's order: x'_i = sum over j of (-1)^(ones in i & j) x_j / sqrt(n). Once more undoes it.
 * For queries against keys that were stored transformed, and for outputs of such values.
 * block: n, a power of two up to 4096 that divides head_dim, or POSENC1_LARGEST_BLOCK; 0 and 1
 * leave heads alone. x: [tokens][heads][head_dim] of numbers; tokens without a slot are skipped. */
posenc1_status posenc1_hadamard(posenc1_heads const* x, size_t tokens, size_t heads,
                                size_t head_dim, size_t block);

/* ---- Attention ---- */

/** The type of a cell of posenc1_cells. It must be said: 0 is an error. */
typedef enum posenc1_cell_type {
  POSENC1_CELL_BOOL = 1, /**< a byte: not 0 shows a key */
  POSENC1_CELL_BIT = 2,  /**< key s is bit s % 8, the lowest being 0, of byte s / 8 of its row */
  POSENC1_CELL_F32 = 3,  /**< numbers: what is added to a score; -infinity hides a key */
  POSENC1_CELL_F64 = 4,
  POSENC1_CELL_F16 = 5, /**< ggml's mask */
  POSENC1_CELL_BF16 = 6
} posenc1_cell_type;

/** Cells [heads][queries][tokens], in the order of queries and tokens, whatever their positions.
 * Strides are in bytes, of either sign, and 0 stands for dense rows. */
typedef struct posenc1_cells {
  void const* data;       /**< null: no cells */
  posenc1_cell_type type; /**< of each */
  int one_row;            /**< not 0: one row of each head, which all queries share */
  size_t heads;           /**< those of the call; 0 and 1: all heads share the cells */
  ptrdiff_t query_stride; /**< bytes */
  ptrdiff_t head_stride;  /**< bytes */
  ptrdiff_t key_stride;   /**< bytes; of bits 0 */
  double const* slopes;   /**< [heads of the call], on numbers: ggml's max_bias; null: 1 */
} posenc1_cells;

/** The factor of scores before the softmax: beta, by the query's position p and the number n of
 * keys that it sees. posenc/softmax/ has formulas and sources. */
typedef enum posenc1_temperature_rule {
  POSENC1_NO_TEMPERATURE = 0,
  POSENC1_LOG_N = 1,             /**< max(1, ln n / ln length) */
  POSENC1_LOG_N_BY_POSITION = 2, /**< max(1, ln(p + 1) / ln length): Qwen 1 */
  POSENC1_SSMAX = 3,             /**< scales[h] ln n + biases[h] of query head h; of one key 1 */
  POSENC1_BY_POSITION = 4,       /**< 1 + scale ln(1 + floor((p + offset) / length)): Llama 4 with
                                  * an offset of 1, Ministral 3 with 0 */
  POSENC1_ADAPTIVE = 5,          /**< by the entropy of the weights, as published in 2024: within
                                  * 2.6e-9 for each key, so within 2.6e-3 for a million */
  POSENC1_HALF_WEIGHT = 6,       /**< the least from 1 on where the largest weight is `scale` */
  POSENC1_CRITICAL = 7           /**< `scale` times the row's critical one, at least 1. Allocates a
                                  * copy of the row, as no other rule does */
} posenc1_temperature_rule;

/** A rule and its numbers. Numbers that the rule does not have must be 0 and null. */
typedef struct posenc1_temperature {
  posenc1_temperature_rule rule; /**< none unless said */
  double length;                 /**< in tokens; of logarithms above 1, of BY_POSITION positive */
  double scale;                  /**< of BY_POSITION, not negative; of HALF_WEIGHT, below 1 (0:
                                  * 1/2); of CRITICAL, positive (0: 2) */
  double offset;                 /**< of BY_POSITION, in tokens */
  double const* scales;          /**< of SSMAX, [heads], positive */
  double const* biases;          /**< of SSMAX, [heads]; null: 0 */
} posenc1_temperature;

/** The bias b of a key projection that keys were made without: R(p) (W x + b) is R(p) W x + R(p) b
 * at position p, and scores get scale <q, R(p) b> from the positions alone. Caches then hold W x
 * rotated, and keep it in few bits where b is large. See posenc/score/key_bias.hpp. A handle. */
typedef struct posenc1_key_bias posenc1_key_bias;

/** bias: [kv_heads][head_dim], 0 where it stays in the keys. f, layout and first_dim: as keys are
 * rotated. heads: of queries. hadamard: the block of posenc1_hadamard on queries; 0: none. Keeps
 * nothing of f and bias. */
posenc1_status posenc1_key_bias_create(posenc1_frequencies const* f, float const* bias,
                                       size_t kv_heads, size_t heads, size_t head_dim,
                                       posenc1_layout layout, size_t first_dim, size_t hadamard,
                                       posenc1_key_bias** result);

/** The bias for one sequence on several axes: a key's position in attention is then the index of a
 * token of positions, [axes][tokens], or, beyond them, index + delta on every axis. If this is not
 * called, keys have attention's position on every axis: text. Keeps nothing of either argument. */
posenc1_status posenc1_key_bias_at(posenc1_key_bias const* bias, int64_t const* positions,
                                   size_t tokens, int64_t delta, posenc1_key_bias** result);

void posenc1_key_bias_destroy(posenc1_key_bias* bias); /**< null: nothing */

/** Inkling's bias: sum over k of query_side[k] profiles[k][distance], of keys that are less than
 * `extent` behind the query. */
typedef struct posenc1_profiles {
  float const* profiles;   /**< [rank][extent]; null: none */
  size_t rank;             /**< numbers of a query and head */
  size_t extent;           /**< distances */
  float const* query_side; /**< [query_tokens][heads][rank] */
} posenc1_profiles;

/** One sequence: weights = softmax(scale <q, k[t]>), outputs = sum weights[t] v[t], where
 * the query head h reads the kv head h kv_heads / heads. A query sees every token whose slots, of
 * key and value, are not negative, that is not ahead of it, and that the window, the chunk and the
 * mask let it see. One that sees none has outputs of 0. Arithmetic is in float, or in double where
 * queries, keys, values and outputs are double, which all or none are; else each has its own
 * format. Codes are read as posenc1_rotate decodes them, and tokens that no query sees are not
 * read. Products of queries and keys that are all BF16 may be made by AVX512-BF16, where subnormal
 * numbers count as 0.
 *
 *     x = factor (scale <q, k> + key bias)   with tau: x = a(distance) x + m(distance)
 *     x + profiles + bias - slope distance   then the cap, + mask, times the temperature, softmax
 */
typedef struct posenc1_attention {
  posenc1_heads queries; /**< no slots */
  posenc1_heads outputs; /**< no slots */
  posenc1_heads keys;    /**< tokens of kv_heads */
  posenc1_heads values;  /**< tokens of kv_heads */
  size_t tokens;         /**< of keys and values */
  size_t query_tokens;   /**< of queries and outputs; it must be said, and is 1 in decoding */
  size_t heads;          /**< of queries */
  size_t kv_heads;       /**< of keys and values; it must be said, and divides heads */
  size_t head_dim;       /**< of queries and keys */
  size_t value_dim;      /**< of values and outputs; 0: head_dim */
  double scale;          /**< 0: 1 / sqrt(head_dim); 1 where queries have it already */
  double factor;         /**< on scores, beside the scale; 0: 1 */

  double const* sinks; /**< [heads], a logit that takes its share of the weights; null: none */
  void* memory;        /**< of posenc1_attend, for this call alone */
  size_t memory_bytes; /**< at least posenc1_attention_memory */

  int64_t const* query_positions; /**< [query_tokens]; null: those of the last tokens */
  int64_t const* key_positions;   /**< [tokens]; null: 0, 1, ... */

  size_t behind;    /**< keys at fewer positions behind the query are seen: 1 is itself; 0: all */
  size_t ahead;     /**< keys at most so many positions ahead of it: 0 is causal; all are
                     * POSENC1_ALL_AHEAD */
  size_t chunk;     /**< a query sees only keys in its chunk of this many positions; 0: all */
  int dot_products; /**< not 0: products are rounded, where posenc1_has_dot_products says so, and
                     * faster. More than 32 rows per kv head: to integers of 16 bits; the rms error
                     * is 3e-4 of the outputs' rms. Fewer: keys and values of Q8_0, U8_PER_HEAD
                     * and INT8, by codes of 8 bits; others are exact. Not of doubles. See
                     * posenc/decode/dot_products.hpp */

  posenc1_cells mask;              /**< shows keys, or adds to scores behind the cap */
  posenc1_cells bias;              /**< the same, before the cap */
  double const* slopes;            /**< [heads], ALiBi's: less slope times the distance; null: 0 */
  double cap;                      /**< cap tanh(score / cap), as Gemma 2 has it; 0: none */
  posenc1_temperature temperature; /**< what scores are multiplied by, behind the mask */

  double* log_sum_exp; /**< [query_tokens][heads], of what each query sees, or null */
  void* scores;        /**< [heads][query_tokens][tokens], float or for doubles double, behind the
                        * mask, before the temperature: -infinity where hidden; or null */
  void* weights;       /**< the weights likewise, 0 if hidden; or null */

  posenc1_key_bias const* key_bias; /**< that keys were made without; null: none */
  posenc1_profiles profiles;        /**< made by the queries */

  double tau; /**< scale-invariant attention's, in tokens: a = sqrt(1 + 2 ln(1 + distance / tau)),
               * m = -2 ln(1 + distance / tau); 0: none */
} posenc1_attention;

/** The bytes of memory, of any alignment, that posenc1_attend needs with the same arguments: from
 * 60 KiB for a token to some MiB for a prompt. A call over more tokens needs little more memory, or
 * none, unless there is a temperature, or scores or weights are asked for: ask at each step, and
 * keep the largest. Reads neither memory nor what the arguments point to, which may be null. */
posenc1_status posenc1_attention_memory(posenc1_attention const* attention, size_t first,
                                        size_t last, size_t* bytes);

/** Attention of the queries of kv heads [first, last): all are 0 and SIZE_MAX; a pool of threads
 * gives each its part and its memory. The split changes no bit, but where the cells of the mask
 * differ by head. Outputs, what is recorded, and memory must overlap nothing. */
posenc1_status posenc1_attend(posenc1_attention const* attention, size_t first, size_t last);

/** The gradients of a loss with respect to the heads of a posenc1_attention: numbers of the same
 * shapes, without slots. */
typedef struct posenc1_gradients {
  posenc1_heads outputs; /**< read: doubles where outputs are; else F32, F16 or BF16 */
  posenc1_heads queries; /**< written: F32, or F64 of doubles; so are the next two */
  posenc1_heads keys;    /**< [tokens][kv_heads][head_dim] */
  posenc1_heads values;  /**< [tokens][kv_heads][value_dim] */
} posenc1_gradients;

/** The bytes of memory, of any alignment, that posenc1_attention_backward needs with the same
 * arguments: some 1200 bytes and the size of 3 keys and 2 values for a token, in float. As
 * posenc1_attention_memory else. */
posenc1_status posenc1_attention_backward_memory(posenc1_attention const* attention, size_t first,
                                                 size_t last, size_t* bytes);

/** Attention in reverse, for training: from the gradients of outputs to those of queries, keys and
 * values.
 *
 *     posenc1_attend(&a, 0, SIZE_MAX);                    a.log_sum_exp is given, and written
 *     posenc1_attention_backward(&a, &d, 0, SIZE_MAX);    a.memory as the function above says
 *
 * attention: all that posenc1_attend was asked, and the outputs and log_sum_exp that it wrote,
 * which are now read; scores and weights are not looked at. Keys and values may be of any format,
 * and must all have a slot. Gradients are those of the numbers as they are stored, and products are
 * exact, whatever dot_products says. A temperature counts as constant; sinks, biases, slopes,
 * profiles and the key bias get no gradient. Rows at the negative of the positions take gradients
 * of rotated queries and keys back, by posenc1_rotate.
 *
 * Does kv heads [first, last), as posenc1_attend has them: writes all gradients of their heads, and
 * no others, in the calling thread. The split changes no bit. A temperature POSENC1_CRITICAL
 * allocates a row, and a key bias 8 head_dim bytes; all else allocates nothing. Gradients of
 * queries, keys and values, and memory must overlap nothing. */
posenc1_status posenc1_attention_backward(posenc1_attention const* attention,
                                          posenc1_gradients const* gradients, size_t first,
                                          size_t last);

/** One of the threads that are all inside an op, and its memory. */
typedef struct posenc1_worker {
  size_t index;           /**< of this thread, below count */
  size_t count;           /**< of all threads, at least 1 */
  void (*barrier)(void*); /**< returns when all workers have called it; one worker needs none */
  void* barrier_argument; /**< what it is given */
  void* memory;           /**< the same for all workers, and only for this call */
  size_t memory_bytes;    /**< at least posenc1_attention_memory_of */
} posenc1_worker;

/** The bytes of memory, of any alignment, that all `workers` of posenc1_attend_as share. Each
 * worker's part follows the rule of posenc1_attention_memory. */
posenc1_status posenc1_attention_memory_of(posenc1_attention const* attentions, size_t count,
                                           size_t workers, size_t* bytes);

/** Attention to a batch of sequences, each with its own lengths, slots and all else, by threads
 * that all make this call, with equal arguments but for the index:
 *
 *     posenc1_worker w = {.index = ith, .count = nth, .barrier = engine_barrier,
 *                         .barrier_argument = pool, .memory = shared, .memory_bytes = bytes};
 *     posenc1_attend_as(sequences, count, &w);
 *
 * Work is divided by heads, queries and ranges of tokens, as threads are free. Neither the number
 * of workers nor the batch changes a bit. Sequences are all of doubles, or none is; their fields
 * `memory` are not read. Call the barrier between the step that writes the cache and this call.
 * Outputs are whole when all workers have returned: call the barrier once more before they are
 * read. All workers call the barrier equally often: three times, or once or twice if there is an
 * error. If one worker's arguments are invalid, all workers return an error and no output is
 * written: that worker has its sentence, and the others say that workers must have equal arguments.
 * (Workers compare all numbers that decide the work, and the addresses of heads. If only one worker
 * has no barrier, the others wait for it.) Not checked: the outputs of one sequence must not
 * overlap memory that another one reads or writes. */
posenc1_status posenc1_attend_as(posenc1_attention const* attentions, size_t count,
                                 posenc1_worker const* worker);

#ifdef __cplusplus
}
#endif

#endif
