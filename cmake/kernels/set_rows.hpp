// Rows of cosines and sines, compiled for each instruction set. (Included by set.cpp alone.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/rerotation.hpp"
#include "posenc/rows/row_maker.hpp"
#include "set.hpp"

namespace posenc_kernels {
namespace {

// One of three makers.
struct rows {
  std::optional<posenc::row_maker> maker;
  std::optional<posenc::cos_sin_table> table;
  std::optional<posenc::detail::rerotation> again;

  template <class Real>
  void write(std::int64_t const* positions, std::int64_t const* from_positions, std::size_t tokens,
             Real* row) const noexcept {
    std::span const at(positions, tokens);
    if (maker) {
      maker->write(at, row);
    } else if (table) {
      table->write(at, row);
    } else {
      for (std::size_t t = 0; t < tokens; ++t, row += 2 * again->to.pairs()) {
        again->layout().write_unrotated(row);
        again->write_row(from_positions == nullptr ? 0 : from_positions[t], positions[t], row);
      }
    }
  }
};

rows const& of(rows_of_set const& opaque) noexcept { return reinterpret_cast<rows const&>(opaque); }
rows_of_set* opaque(rows* made) noexcept { return reinterpret_cast<rows_of_set*>(made); }

using frequency_list = instruction_set::frequency_list;

posenc::frequencies frequencies_of(frequency_list const& f) {
  return {std::vector(f.inv_freq, f.inv_freq + f.pairs), std::vector(f.rest, f.rest + f.pairs),
          f.attention_factor};
}

rows_of_set* make_rows(frequency_list const& f, std::int64_t table_range) {
  auto made = std::make_unique<rows>();
  if (table_range == 0) {
    made->maker.emplace(frequencies_of(f));
  } else {
    made->table.emplace(frequencies_of(f), table_range);
  }
  return opaque(made.release());
}

rows_of_set* make_rerotation(frequency_list const& from, frequency_list const& to) {
  auto made = std::make_unique<rows>();
  made->again.emplace(frequencies_of(from), frequencies_of(to), false);
  return opaque(made.release());
}

void destroy_rows(rows_of_set* made) noexcept { delete reinterpret_cast<rows*>(made); }

pair_range const* rotated_pairs(rows_of_set const& made, std::size_t& count) noexcept {
  auto const& rows = of(made);
  std::span<std::int64_t const> const none;
  auto const pairs =
      rows.maker   ? rows.maker->write(none, static_cast<float*>(nullptr)).rotated_pairs()
      : rows.table ? rows.table->write(none, static_cast<float*>(nullptr)).rotated_pairs()
                   : std::span<posenc::pair_range const>(rows.again->rotated_pairs);
  count = pairs.size();
  return reinterpret_cast<pair_range const*>(pairs.data());
}

void write_rows(rows_of_set const& made, std::int64_t const* positions,
                std::int64_t const* from_positions, std::size_t tokens, bool doubles,
                void* memory) noexcept {
  if (doubles)
    return of(made).write(positions, from_positions, tokens, static_cast<double*>(memory));
  of(made).write(positions, from_positions, tokens, static_cast<float*>(memory));
}

}  // namespace
}  // namespace posenc_kernels
