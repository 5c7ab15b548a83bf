// What each instruction set gives the C API: plain data and functions of plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "posenc/core/target.hpp"

#define POSENC_KERNELS_TEXT(name) POSENC_KERNELS_TEXT_EXPANDED(name)
#define POSENC_KERNELS_TEXT_EXPANDED(name) #name

#if defined(POSENC_KERNELS_TARGET)
static_assert(std::string_view(POSENC_KERNELS_TEXT(POSENC_TARGET_CPU)) ==
                  POSENC_KERNELS_TEXT(POSENC_KERNELS_TARGET),
              "posenc_add_kernels: the project's flags must not add instructions (as -mavx2 does) "
              "to those of a set, which may run where they are not, or take them away; give them "
              "to your own targets alone");
#endif

namespace posenc_kernels {

/// Heads of tokens, each as far from the next, checked. Strides are in elements.
struct placed_heads {
  char* data;
  std::ptrdiff_t token, head;
};

struct pair_range {
  std::size_t first, last;
};

/// Some heads of some tokens of a posenc1_rotation, checked.
struct rotation_plan {
  placed_heads from, to;
  std::size_t tokens, heads, head_dim, first_dim, pairs;
  void const* cos_sin;  ///< of the first token
  bool in_place;
  pair_range const* rotated;
  std::size_t rotated_count;
  double eps, scale;  ///< eps 0: no norm
  void const* weight;
};

using rotate_function = void(rotation_plan const&) noexcept;

/// Contiguous heads of one token, in place, checked.
struct one_token_plan {
  void* data;
  std::size_t heads, head_dim, first_dim;
  void const* cos_sin;
  std::size_t pairs, rotated_count;
  pair_range const* rotated;
};

using one_token_function = void(one_token_plan const&) noexcept;

inline constexpr std::size_t types = 4, layouts = 2;

/// Heads in memory, checked: numbers of a view, or bytes of a cache. Strides are in bytes.
struct heads_in_bytes {
  char* data;
  std::ptrdiff_t page, token, head;
  std::int64_t const* slots;  ///< null: token t is in slot t
  std::size_t page_tokens;    ///< 0: no pages, no slots

  /// The first head of a token. Null: its slot is negative.
  char* at(std::size_t t) const noexcept {
    if (page_tokens == 0) return data + static_cast<std::ptrdiff_t>(t) * token;
    auto const slot = slots == nullptr ? static_cast<std::int64_t>(t) : slots[t];
    if (slot < 0) return nullptr;
    auto const n = static_cast<std::size_t>(slot);
    return data + static_cast<std::ptrdiff_t>(n / page_tokens) * page +
           static_cast<std::ptrdiff_t>(n % page_tokens) * token;
  }
};

/// The same with their format.
struct stored_heads {
  heads_in_bytes codes, scales;  ///< scales: of formats that have them elsewhere
  std::size_t format;
  float scale, inverse;  ///< of the tensor
};
inline constexpr std::size_t formats = 14;

/// Keys or values, checked.
struct cached_heads {
  stored_heads at;  ///< from the first kv head on
  /// Where the codes of each token are, and its scales. Null: at equal distances.
  char const *const *codes, *const *scales;
};

/// Some kv heads of a posenc1_attention, checked. Strides are in elements.
struct attention_plan {
  void const* queries;
  void* outputs;
  std::ptrdiff_t query_head, output_head;
  std::size_t query_type, output_type;
  cached_heads keys, values;
  std::size_t tokens, kv_heads, group, head_dim, value_dim;
  double scale;
  double const* sinks;  ///< of the first head; null: none
  struct workspace {
    void *queries, *scores, *near, *outputs, *sums;  ///< of a head each, real numbers
    static constexpr std::size_t near_tokens = 64;   ///< near: so many of a head
    float* decoded;  ///< near_tokens heads
    void* few;       ///< near_tokens of a kv head's queries
  } memory;
};

using attend_function = void(attention_plan const&) noexcept;

/// One set of heads of a posenc1_step, checked: those of some tokens.
struct step_plan {
  stored_heads from, to[2];
  std::size_t targets, token, tokens, head, heads, head_dim;
  std::size_t first_dim, pairs;  ///< pairs 0: no rotation
  std::size_t from_layout, to_layout;
  float const* cos_sin;  ///< of token 0
  pair_range const* rotated;
  std::size_t rotated_count;
  struct norm_of_head {
    float eps;  ///< 0: no norm
    bool l2, after, plus_one;
    std::size_t eps_place, weight_type;
    void const* weight;  ///< null: 1
  } norm;
  float scale;
  unsigned rounding;  ///< of posenc1_rounding
  std::size_t rounded_type;
};
/// So many numbers of a head go through L1.
inline constexpr std::size_t most_head_dim = 4096;

using step_function = void(step_plan const&) noexcept;

/// One row maker of one instruction set.
struct rows_of_set;

struct instruction_set {
  char const* name;
  /// Has the functions that this set shares with it; null: none.
  instruction_set const* fewer;
  /// [from type][to type][from layout][to layout][fused]. Null: not here, see function_of.
  rotate_function* const* rotate;
  /// [type][layout]. Null: as `fewer` has it.
  one_token_function* const* rotate_one_token;
  /// Null: as `fewer` has them.
  attend_function* attend;
  step_function* step;
  /// Frequencies as posenc::frequencies has them. The caller destroys the rows.
  struct frequency_list {
    double const *inv_freq, *rest;
    std::size_t pairs;
    double attention_factor;
  };
  rows_of_set* (*make_rows)(frequency_list const& f, std::int64_t table_range);
  rows_of_set* (*make_rerotation)(frequency_list const& from, frequency_list const& to);
  void (*destroy_rows)(rows_of_set*) noexcept;
  /// The pairs that the rows rotate.
  pair_range const* (*rotated_pairs)(rows_of_set const&, std::size_t& count) noexcept;
  void (*write_rows)(rows_of_set const&, std::int64_t const* positions,
                     std::int64_t const* from_positions, std::size_t tokens, bool doubles,
                     void* memory) noexcept;
};

/// The function of a rotation; null if there is none. What changes type or layout is always fused.
inline rotate_function* function_of(instruction_set const& set, std::size_t from_type,
                                    std::size_t to_type, std::size_t from_layout,
                                    std::size_t to_layout, bool fused) noexcept {
  bool const changes = from_type != to_type || from_layout != to_layout;
  auto const i =
      (((from_type * types + to_type) * layouts + from_layout) * layouts + to_layout) * 2 +
      (fused || changes ? 1 : 0);
  if (auto* const found = set.rotate[i]; found != nullptr || set.fewer == nullptr) return found;
  return set.fewer->rotate[i];
}

struct no_instruction_set : std::runtime_error {
  using runtime_error::runtime_error;
};

/// The set in use. Throws no_instruction_set if POSENC_INSTRUCTION_SET names none.
instruction_set const& chosen_set();

}  // namespace posenc_kernels
