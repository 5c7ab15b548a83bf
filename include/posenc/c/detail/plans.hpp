// The questions of posenc.h's functions to an instruction set: plain data and functions of plain
// data, which are the same types for whatever CPU a file is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "posenc/core/target.hpp"

#include "posenc/posenc.h"

// How a function of posenc.h is defined: of a shared library, these alone are exported.
#if defined(POSENC_KERNELS_SHARED) && !defined(_WIN32)
#define POSENC_C_FUNCTION extern "C" [[gnu::visibility("default")]]
#else
#define POSENC_C_FUNCTION extern "C"
#endif

#define POSENC_KERNELS_TEXT(name) POSENC_KERNELS_TEXT_EXPANDED(name)
#define POSENC_KERNELS_TEXT_EXPANDED(name) #name

#if defined(POSENC_KERNELS_TARGET)
static_assert(std::string_view(POSENC_KERNELS_TEXT(POSENC_TARGET_CPU)) ==
                  POSENC_KERNELS_TEXT(POSENC_KERNELS_TARGET),
              "posenc_add_kernels: the project's flags must not add instructions (as -mavx2 does) "
              "to those of a set, which may run where they are not, or take them away; give them "
              "to your own targets alone");
#endif

namespace posenc_c {

/// The places of heads, checked. Strides are in bytes.
struct places {
  char* data;
  std::ptrdiff_t page, token, head;
  std::int64_t const* slots = nullptr;  ///< null: token t is in slot t
  std::size_t page_tokens = 0;          ///< 0: all tokens are in one page
  int log2 = -1;                        ///< of page_tokens; negative: no integer
  std::int64_t absent = 0;              ///< the slot that is looked at for a token that has none

  /// Not where there is no memory. (Inlined: sets share no function.)
  [[gnu::always_inline]] bool has(std::size_t t) const noexcept {
    return data != nullptr && (slots == nullptr || slots[t] >= 0);
  }
  /// The first head of a token.
  [[gnu::always_inline]] char* at(std::size_t t) const noexcept {
    // Volatile, or clang loads a whole block with a mask, which qemu 7.2 refuses from null.
    auto const volatile* const all = slots;
    auto slot = t;
    if (all != nullptr) {
      auto const given = all[t];
      slot = static_cast<std::size_t>(given < 0 ? absent : given);
    }
    if (page_tokens == 0) return data + static_cast<std::ptrdiff_t>(slot) * token;
    auto const of_page = log2 >= 0 ? slot >> log2 : slot / page_tokens;
    slot -= of_page * page_tokens;
    return data + static_cast<std::ptrdiff_t>(of_page) * page +
           static_cast<std::ptrdiff_t>(slot) * token;
  }
};

/// Heads in a format.
struct stored_heads {
  places codes, scales;              ///< scales: of formats that have them elsewhere
  std::uint32_t format;              ///< a posenc1_format
  float scale, inverse;              ///< of the tensor
  bool rounds_products = false;      ///< as posenc::dot_products does, in attention
  bool multiplies_bfloat16 = false;  ///< they are such numbers, and the CPU is quick at products
};
inline constexpr std::uint32_t formats = POSENC1_IQ4_NL,  ///< from 1 on
    types = POSENC1_BF16;                                 ///< formats of numbers, from 1 on
inline constexpr std::size_t layouts = 2;                 ///< from 1 on

/// Rows of cosines and sines, float or double, and the pairs that they rotate.
struct rows_plan {
  void const* cos_sin;  ///< of the first token
  std::size_t pairs, rotated_count;
  void const* rotated;  ///< of posenc::pair_range, which differs by set
};

/// Some heads of some tokens of an operand of numbers, checked.
struct rotation_plan {
  places from, to;  ///< of tokens in one page
  std::size_t tokens, heads, head_dim, first_dim;
  rows_plan rows;
  bool in_place;
  double eps, factor;  ///< eps 0: no norm
  void const* weight;
};

using rotate_function = void(rotation_plan const&) noexcept;

/// Contiguous heads of one token, in place, checked.
struct one_token_plan {
  void* data;
  std::size_t heads, head_dim, first_dim;
  rows_plan rows;
};

using one_token_function = void(one_token_plan const&) noexcept;

/// Frequencies as posenc::frequencies has them.
struct frequency_list {
  double const *inv_freq, *rest;
  std::size_t pairs;
  double attention_factor;
  std::size_t const* axis_of_pair;  ///< null: one axis
};

/// Frequencies of each head on all axes, [heads][axes][pairs], as posenc::mixed_row_maker has them.
struct mixed_frequencies {
  double const* inv_freq;
  std::size_t heads, axes, pairs;
  double attention_factor;
};

/// Some kv heads of a posenc1_attention, checked but for what posenc's own attention checks.
struct attention_plan {
  posenc1_attention const* given;               ///< what is not below is read here
  stored_heads queries, outputs, keys, values;  ///< of these heads
  std::size_t query_tokens, first_kv_head, kv_heads, group, value_dim;
  double scale, factor;  ///< of scores

  [[gnu::always_inline]] std::size_t first_head() const noexcept { return first_kv_head * group; }
};

/// The gradients of the heads of an attention_plan.
struct gradients_plan {
  stored_heads outputs;                ///< read
  stored_heads queries, keys, values;  ///< written: float or double, without slots
};

/// One of the workers that share plans and memory.
struct attention_team {
  std::size_t index, count;
  void* memory;
  std::size_t memory_bytes;
  void (*wait)(void*);  ///< for all workers; may throw
  void* of_wait;
};

/// A key bias of one instruction set, and what it is made of.
struct key_bias_of_set;
struct key_bias_settings {
  frequency_list f;
  float const* bias;  ///< [kv_heads][head_dim]
  std::size_t kv_heads, heads, head_dim, first_dim, layout, hadamard;
};

/// The functions of a set for attention. Plans are all of doubles, or none is.
struct attention_functions {
  bool rounds_products;  ///< where a call asks for it
  /// The bytes of all workers. Reads nothing that plans point to but what is given.
  std::size_t (*bytes)(attention_plan const* plans, std::size_t count, std::size_t workers);
  /// False, before it waits or writes, if memory is too small for all. Throws std::invalid_argument
  /// before anything is written.
  bool (*attend)(attention_plan const* plans, std::size_t count, attention_team const& team);
  /// The caller destroys it. Throws std::invalid_argument.
  key_bias_of_set* (*make_key_bias)(key_bias_settings const& settings);
  /// The same, of keys at positions [axes][tokens]. Throws std::invalid_argument.
  key_bias_of_set* (*key_bias_at)(key_bias_of_set const&, std::int64_t const* positions,
                                  std::size_t tokens, std::int64_t delta);
  void (*destroy_key_bias)(key_bias_of_set*) noexcept;
  /// The bytes of `backward`.
  std::size_t (*backward_bytes)(attention_plan const& plan);
  /// False, before it writes, if memory is too small. Throws std::invalid_argument before anything
  /// is written.
  bool (*backward)(attention_plan const& plan, gradients_plan const& gradients, void* memory,
                   std::size_t memory_bytes);
};

}  // namespace posenc_c

struct posenc1_key_bias {
  posenc_c::attention_functions const* set;
  posenc_c::key_bias_of_set* bias;
};

namespace posenc_c {

/// An operand, checked: some heads of some tokens.
struct step_plan {
  stored_heads from, to[2];  ///< of all; to[1]: where a second target is
  std::size_t first_token;   ///< token 0 of this plan
  std::size_t all_tokens, all_heads, token, tokens, head, heads, head_dim;
  std::size_t first_dim, from_layout, to_layout;  ///< layouts from 0 on
  rows_plan rows;                                 ///< of no pairs: no rotation
  std::size_t row_heads;                          ///< that have their own rows
  posenc1_norm norm;
  float factor;
  unsigned rounding;                       ///< of posenc1_rounding
  std::uint32_t rounded_to;                ///< a posenc1_format
  std::size_t source_block, target_block;  ///< of transforms; 1: none
};
using step_function = void(step_plan const&) noexcept;

/// Heads of numbers that are transformed in place, checked.
struct hadamard_plan {
  places at;
  std::size_t type, tokens, heads, head_dim, block;  ///< type: from 0 on
};
using hadamard_function = void(hadamard_plan const&) noexcept;

/// One row maker of one instruction set.
struct rows_of_set;

struct instruction_set {
  char const* name;
  /// Has the functions that are null here; null: none.
  instruction_set const* fewer;
  /// Whether it has these of x86, which hypervisors hide from CPUs that have the rest of a level.
  bool lzcnt, movbe;
  /// [from type][to type][from layout][to layout][fused]
  rotate_function* const* rotate;
  one_token_function* const* rotate_one_token;  ///< [type][layout]
  attention_functions const* attention;
  step_function* step;
  hadamard_function* hadamard;
  /// The caller destroys the rows.
  /// to: not null of rows that rotate once more. plan: of no rows, alive as long as these.
  rows_of_set* (*make_rows)(frequency_list const& f, frequency_list const* to,
                            std::int64_t table_range, rows_plan& plan);
  rows_of_set* (*make_mixed_rows)(mixed_frequencies const& f, rows_plan& plan);
  void (*destroy_rows)(rows_of_set*) noexcept;
  /// fractional: positions are doubles, else int64.
  void (*write_rows)(rows_of_set const&, void const* positions, void const* from_positions,
                     bool fractional, std::size_t tokens, bool doubles, void* memory) noexcept;
};

/// Returns of(set), or that of the first set with fewer instructions where it is not null.
/// (Inlined: sets share no function.)
template <class Of>
[[gnu::always_inline]] inline auto first_of(instruction_set const& set, Of const& of) noexcept {
  auto found = of(set);
  for (auto const* other = set.fewer; found == nullptr && other != nullptr; other = other->fewer)
    found = of(*other);
  return found;
}

/// The function of a rotation; null if there is none. Types and layouts are counted from 0 on. A
/// rotation that changes type or layout is always fused.
[[gnu::always_inline]] inline rotate_function* function_of(
    instruction_set const& set, std::size_t from_type, std::size_t to_type, std::size_t from_layout,
    std::size_t to_layout, bool fused) noexcept {
  bool const changes = from_type != to_type || from_layout != to_layout;
  auto const i =
      (((from_type * types + to_type) * layouts + from_layout) * layouts + to_layout) * 2 +
      (fused || changes ? 1 : 0);
  return first_of(set, [i](instruction_set const& one) noexcept { return one.rotate[i]; });
}

}  // namespace posenc_c
