// Rows of cosines and sines, as an instruction set makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "posenc/c/detail/plans.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/mixed_row_maker.hpp"
#include "posenc/rows/rerotation.hpp"
#include "posenc/rows/row_maker.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c_set {

using namespace posenc_c;

template <class Real>
cos_sin_view<Real> rows_of(rows_plan const& rows, std::size_t tokens,
                           std::size_t heads = 1) noexcept {
  return {static_cast<Real const*>(rows.cos_sin),
          tokens,
          rows.pairs,
          {static_cast<pair_range const*>(rows.rotated), rows.rotated_count},
          heads};
}

// One of four makers.
struct rows {
  std::optional<row_maker> maker;
  std::optional<mixed_row_maker> mixed;
  std::optional<cos_sin_table> table;
  std::optional<rerotation> again;

  /// positions: [axes][tokens].
  template <class P, class Real>
  void write(P const* positions, P const* from_positions, std::size_t tokens,
             Real* row) const noexcept {
    if (maker) {
      maker->write(std::span(positions, maker->axes() * tokens), row);
    } else if (mixed) {
      mixed->write(std::span(positions, mixed->axes() * tokens), row);
    } else if (table) {
      table->write(std::span(positions, tokens), row);
    } else {
      for (std::size_t t = 0; t < tokens; ++t, row += 2 * again->to.pairs()) {
        again->layout().write_unrotated(row);
        again->write_row(from_positions == nullptr ? P{} : from_positions[t], positions[t], row);
      }
    }
  }
};

inline frequencies frequencies_of(frequency_list const& f) {
  return {std::vector(f.inv_freq, f.inv_freq + f.pairs), std::vector(f.rest, f.rest + f.pairs),
          f.attention_factor};
}

/// Nothing where there is one axis.
inline std::optional<pair_axes> axes_of(frequency_list const& f) {
  if (f.axis_of_pair == nullptr) return {};
  return pair_axes(std::vector(f.axis_of_pair, f.axis_of_pair + f.pairs));
}

inline rows_of_set* make_rows(frequency_list const& f, frequency_list const* to,
                              std::int64_t table_range, rows_plan& plan) {
  auto made = std::make_unique<rows>();
  auto const of = [](auto const& maker) {
    return maker.write(std::span<std::int64_t const>(), static_cast<float*>(nullptr))
        .rotated_pairs();
  };
  auto const axes = axes_of(f);
  std::span<pair_range const> const rotated =
      to != nullptr
          ? made->again.emplace(frequencies_of(f), frequencies_of(*to), false).rotated_pairs
      : axes             ? of(made->maker.emplace(frequencies_of(f), *axes))
      : table_range == 0 ? of(made->maker.emplace(frequencies_of(f)))
                         : of(made->table.emplace(frequencies_of(f), table_range));
  plan = {nullptr, f.pairs, rotated.size(), rotated.data()};
  return reinterpret_cast<rows_of_set*>(made.release());
}

inline rows_of_set* make_mixed_rows(mixed_frequencies const& f, rows_plan& plan) {
  auto made = std::make_unique<rows>();
  auto const& maker = made->mixed.emplace(
      f.heads, f.axes, std::vector(f.inv_freq, f.inv_freq + f.heads * f.axes * f.pairs),
      f.attention_factor);
  auto const rotated = maker.layout().rotated_pairs;
  plan = {nullptr, f.pairs, rotated.size(), rotated.data()};
  return reinterpret_cast<rows_of_set*>(made.release());
}

inline void destroy_rows(rows_of_set* made) noexcept { delete reinterpret_cast<rows*>(made); }

inline void write_rows(rows_of_set const& made, void const* positions, void const* from_positions,
                       bool fractional, std::size_t tokens, bool doubles, void* memory) noexcept {
  auto const write_at = [&]<class P>(P const* at, auto* to) {
    reinterpret_cast<rows const&>(made).write(at, static_cast<P const*>(from_positions), tokens,
                                              to);
  };
  auto const write = [&](auto* to) {
    fractional ? write_at(static_cast<double const*>(positions), to)
               : write_at(static_cast<std::int64_t const*>(positions), to);
  };
  doubles ? write(static_cast<double*>(memory)) : write(static_cast<float*>(memory));
}

}}}  // namespace c_set
