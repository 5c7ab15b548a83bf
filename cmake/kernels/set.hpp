// What each instruction set gives the C API: plain data and functions of plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace posenc_kernels {

/// posenc1_heads, checked, in elements.
struct placed_heads {
  char* data;
  std::ptrdiff_t batch, token, head;  ///< strides; with slots, `batch` is the stride of pages
  std::int64_t const* slots;
  std::size_t page_tokens;
};

struct pair_range {
  std::size_t first, last;
};

/// posenc1_rotation, checked.
struct rotation_plan {
  placed_heads from, to;
  std::size_t tokens, heads, head_dim, first_dim, pairs;
  void const* cos_sin;
  bool rows_of_batches, copies;
  pair_range const* rotated;
  std::size_t rotated_count;
  double eps, scale;  ///< eps 0: no norm
  void const* weight;
};

/// Rotates the heads [first, last) of all batches x tokens x heads.
using rotate_function = void(rotation_plan const&, std::size_t first, std::size_t last) noexcept;

enum class way { plain, ahead, fused };
inline constexpr std::size_t types = 4, layouts = 2, ways = 3;

/// One row maker of one instruction set.
struct rows_of_set;

struct instruction_set {
  char const* name;
  /// Has the functions that this set shares with it; null: none.
  instruction_set const* fewer;
  /// [from type][to type][from layout][to layout][way]. Null: not here, see function_of.
  rotate_function* const* rotate;
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

/// The function of a rotation; null if there is none. What lacks a way of its own is fused.
inline rotate_function* function_of(instruction_set const& set, std::size_t from_type,
                                    std::size_t to_type, std::size_t from_layout,
                                    std::size_t to_layout, way w) noexcept {
  bool const common = from_type == to_type && from_layout == to_layout;
  auto const i =
      (((from_type * types + to_type) * layouts + from_layout) * layouts + to_layout) * ways +
      static_cast<std::size_t>(common ? w : way::fused);
  if (auto* const found = set.rotate[i]; found != nullptr || set.fewer == nullptr) return found;
  return set.fewer->rotate[i];
}

struct no_instruction_set : std::runtime_error {
  using runtime_error::runtime_error;
};

/// The set in use. Throws no_instruction_set if POSENC_INSTRUCTION_SET names none.
instruction_set const& chosen_set();

}  // namespace posenc_kernels
