// The C API: errors, the version, the instruction set, and rows.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "posenc/c/detail/choice.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/target.hpp"
#include "posenc/version.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

inline void make(posenc1_frequencies const& f, frequencies const* to, std::int64_t table_range,
                 posenc1_row_maker** result) {
  auto const& set = chosen_set();
  auto made = std::make_unique<posenc1_row_maker>(
      posenc1_row_maker{&set, {}, 1, nullptr, axes_of(f), to != nullptr});
  auto const target = list_of(to == nullptr ? f.value : *to);
  made->rows =
      set.make_rows(list_of(f), to == nullptr ? nullptr : &target, table_range, made->rotated);
  *result = made.release();
}

/// Positions and old ones as int64, or fractional.
template <class P>
void write_rows(char const* function, posenc1_row_maker const* maker, P const* positions,
                P const* from_positions, std::size_t tokens, posenc1_format format, void* memory) {
  require_given(function, {{"maker", maker}});
  if (tokens != 0) require_given(function, {{"positions", positions}, {"memory", memory}});
  require(maker->rerotates || from_positions == nullptr, function,
          ": from_positions must be null for a maker that does not rerotate");
  auto const bits = bits_of(format);
  bool const doubles = bits == 0u + POSENC1_F64;
  require(bits == 0u + POSENC1_F32 || doubles, function,
          ": format must be POSENC1_F32 or POSENC1_F64, got ", bits);
  require_aligned(function, "memory", memory, doubles ? 8 : 4);
  if constexpr (std::floating_point<P>) {
    for (auto const* all : {positions, from_positions})
      for (std::size_t i = 0; all != nullptr && i < maker->axes * tokens; ++i)
        require(is_finite(all[i]) && all[i] >= -0x1p63 && all[i] < 0x1p63, function,
                ": a position must be finite and within [-2^63, 2^63), got ", all[i], " at token ",
                i % tokens);
  }
  maker->set->write_rows(*maker->rows, positions, from_positions, std::floating_point<P>, tokens,
                         doubles, memory);
}

POSENC_C_FUNCTION char const* posenc1_error() { return sentence_of_thread; }

POSENC_C_FUNCTION char const* posenc1_version() {
  return POSENC_KERNELS_TEXT(POSENC_VERSION_MAJOR) "." POSENC_KERNELS_TEXT(
      POSENC_VERSION_MINOR) "." POSENC_KERNELS_TEXT(POSENC_VERSION_PATCH);
}

POSENC_C_FUNCTION char const* posenc1_instruction_set() {
  char const* name = nullptr;
  guarded([&] { name = chosen_set().name; });
  return name;
}

POSENC_C_FUNCTION posenc1_status posenc1_row_maker_create(posenc1_frequencies const* f,
                                                          int64_t table_range,
                                                          posenc1_row_maker** result) {
  return guarded([&] {
    require_given("posenc1_row_maker_create", {{"f", f}, {"result", result}});
    constexpr auto function = "posenc1_row_maker_create";
    require(table_range >= 0 && table_range <= std::int64_t{1} << 32, function,
            ": table_range must be in [0, 2^32], got ", table_range);
    require(table_range == 0 || axes_of(*f) == 1, function,
            ": table_range must be 0 for frequencies on several axes, got ", table_range);
    make(*f, nullptr, table_range, result);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_mixed_row_maker_create(double const* inv_freq,
                                                                size_t heads, size_t axes,
                                                                size_t pairs,
                                                                double attention_factor,
                                                                posenc1_row_maker** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_mixed_row_maker_create";
    require_given(function, {{"inv_freq", inv_freq}, {"result", result}});
    constexpr auto most = std::size_t{1} << 24;
    std::size_t count = 0;
    require(multiply(heads, axes, count) && multiply(count, pairs, count) && count <= most,
            function, ": inv_freq must have at most 2^24 numbers, got ", heads, " heads of ", axes,
            " axes of ", pairs, " pairs");
    auto const& set = chosen_set();
    auto made = std::make_unique<posenc1_row_maker>(
        posenc1_row_maker{&set, {}, heads, nullptr, axes, false});
    made->rows =
        set.make_mixed_rows({inv_freq, heads, axes, pairs, attention_factor}, made->rotated);
    *result = made.release();
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_rerotation_create(posenc1_frequencies const* from,
                                                           posenc1_frequencies const* to,
                                                           posenc1_row_maker** result) {
  return guarded([&] {
    require_given("posenc1_rerotation_create", {{"from", from}, {"result", result}});
    auto const axes = std::max(axes_of(*from), to == nullptr ? 1 : axes_of(*to));
    require(axes == 1, "posenc1_rerotation_create: frequencies must be on one axis, got ", axes,
            "; rows of a row maker, at the distances, move keys on several");
    auto const pairs = from->value.pairs();
    auto const target = to != nullptr ? to->value : frequencies(std::vector(pairs, 0.0));
    require(target.pairs() == pairs,
            "posenc1_rerotation_create: both frequencies must have the same number "
            "of pairs, got ",
            pairs, " and ", target.pairs());
    make(*from, &target, 0, result);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_write_rows(posenc1_row_maker const* maker,
                                                    int64_t const* positions,
                                                    int64_t const* from_positions, size_t tokens,
                                                    posenc1_format format, void* memory) {
  return guarded([&] {
    write_rows("posenc1_write_rows", maker, positions, from_positions, tokens, format, memory);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_write_fractional_rows(posenc1_row_maker const* maker,
                                                               double const* positions,
                                                               double const* from_positions,
                                                               size_t tokens, posenc1_format format,
                                                               void* memory) {
  return guarded([&] {
    write_rows("posenc1_write_fractional_rows", maker, positions, from_positions, tokens, format,
               memory);
  });
}

POSENC_C_FUNCTION void posenc1_row_maker_destroy(posenc1_row_maker* maker) {
  if (maker == nullptr) return;
  maker->set->destroy_rows(maker->rows);
  delete maker;
}

}}}  // namespace c
