// The kernels of one instruction set. Compiled once for each, with POSENC_KERNELS_SET as its name.
// Sets share no function: what is not posenc's is in an unnamed namespace.
#include "set.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/storage.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/kernel.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rms_norm.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/phase_lanes.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc_kernels {
namespace {

// ---- Rotation

// The address of a token's first head; null if it has no slot.
template <class T>
T* token_of(placed_heads const& heads, std::size_t batch, std::size_t token, std::size_t tokens) {
  auto* const data = reinterpret_cast<T*>(heads.data);
  if (heads.slots == nullptr) {
    return data + static_cast<std::ptrdiff_t>(batch) * heads.batch +
           static_cast<std::ptrdiff_t>(token) * heads.token;
  }
  auto const slot = heads.slots[batch * tokens + token];
  if (slot < 0) return nullptr;
  auto const n = static_cast<std::size_t>(slot);
  return data + static_cast<std::ptrdiff_t>(n / heads.page_tokens) * heads.batch +
         static_cast<std::ptrdiff_t>(n % heads.page_tokens) * heads.token;
}

// For what is not common, two widths of columns: less code.
template <class S, class T, way Way, bool Common>
struct shape_of : posenc::detail::token_shape<S, T, Way == way::fused, Way == way::ahead> {};
template <class S, class T, way Way>
struct shape_of<S, T, Way, false> : posenc::detail::token_shape<S, T, true, false> {
  using widths = std::index_sequence<4, 1>;
};

template <class S, class T, class From, class To, way Way>
void rotate(rotation_plan const& plan, std::size_t first, std::size_t last) noexcept {
  constexpr bool fused = Way == way::fused;
  using real = posenc::arithmetic_t<T>;
  using shape = shape_of<S, T, Way, std::is_same_v<S, T> && std::is_same_v<From, To>>;
  static_assert(sizeof(pair_range) == sizeof(posenc::pair_range));
  std::span const rotated(reinterpret_cast<posenc::pair_range const*>(plan.rotated),
                          plan.rotated_count);
  auto const* const rows = static_cast<real const*>(plan.cos_sin);
  auto const rotate_heads = [&](std::size_t heads, auto const& at, real const* row) {
    bool const steps = heads > 1;  // else the strides may be anything
    posenc::detail::rotate_token<From, To>(
        shape{{steps ? plan.from.head : 0, steps ? plan.to.head : 0, heads, plan.head_dim,
               plan.first_dim, plan.pairs}},
        at, row, row + plan.pairs, rotated, plan.copies);
  };
  std::size_t head = 0, token = 0, batch = 0;
  if (first != 0) {
    head = first % plan.heads;
    token = first / plan.heads % plan.tokens;
    batch = first / plan.heads / plan.tokens;
  }
  while (first < last) {
    auto const heads = std::min(plan.heads - head, last - first);
    auto const* from = token_of<S>(plan.from, batch, token, plan.tokens);
    auto* to = token_of<T>(plan.to, batch, token, plan.tokens);
    if (from != nullptr && to != nullptr) {
      from += static_cast<std::ptrdiff_t>(head) * plan.from.head;
      to += static_cast<std::ptrdiff_t>(head) * plan.to.head;
      auto const* const row =
          rows + 2 * plan.pairs * ((plan.rows_of_batches ? batch * plan.tokens : 0) + token);
      if constexpr (!fused) {
        rotate_heads(heads, posenc::detail::cursor<S, T, false>{from, to}, row);
      } else {
        auto const* const weight = static_cast<real const*>(plan.weight);
        auto const scale = static_cast<real>(plan.scale);
        if (plan.eps == 0) {
          rotate_heads(heads, posenc::detail::cursor<S, T, true>{from, to, weight, &scale, false},
                       row);
        } else {
          constexpr std::size_t some = 64;  // heads that stay in L1 from norm to rotation
          posenc::detail::head_gains<real, some> gains;
          for (std::size_t i = 0; i < heads; i += some) {
            auto const n = static_cast<std::ptrdiff_t>(i);
            auto const count = std::min(some, heads - i);
            posenc::detail::cursor<S, T, true> const at{
                from + n * plan.from.head, to + n * plan.to.head, weight, gains.values, true};
            gains.compute(at.from, plan.from.head, count, plan.head_dim,
                          static_cast<real>(plan.eps), scale);
            rotate_heads(count, at, row);
          }
        }
      }
    }
    first += heads, head = 0;
    if (++token == plan.tokens) token = 0, ++batch;
  }
}

using posenc::bfloat16, posenc::half, posenc::halves, posenc::interleaved;
template <std::size_t I>
using type_of = std::tuple_element_t<I, std::tuple<float, double, half, bfloat16>>;
template <std::size_t I>
using layout_of = std::tuple_element_t<I, std::tuple<halves, interleaved>>;

#if defined(POSENC_KERNELS_FEWER)
constexpr bool only_bfloat16 = true;
#else
constexpr bool only_bfloat16 = false;
#endif

// What is common has functions of its own. The rest are the fused ones, with a factor of 1: the
// same bits, and half the code.
template <std::size_t Index>
constexpr rotate_function* function_at() noexcept {
  constexpr auto w = static_cast<way>(Index % ways);
  constexpr auto to_layout = Index / ways % layouts, from_layout = Index / ways / layouts % layouts,
                 to_type = Index / ways / layouts / layouts % types,
                 from_type = Index / ways / layouts / layouts / types;
  constexpr bool common = from_type == to_type && from_layout == to_layout;
  using S = type_of<from_type>;
  using T = type_of<to_type>;
  constexpr bool converts = from_type == to_type ||
                            (!std::is_same_v<S, double> && std::is_same_v<T, float>) ||
                            (!std::is_same_v<T, double> && std::is_same_v<S, float>);
  if constexpr (converts && (common || w == way::fused) &&
                (!only_bfloat16 || std::is_same_v<T, bfloat16>)) {
    return rotate<S, T, layout_of<from_layout>, layout_of<to_layout>, w>;
  } else {
    return nullptr;
  }
}

constexpr auto functions = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<rotate_function*, sizeof...(I)>{function_at<I>()...};
}
(std::make_index_sequence<types * types * layouts * layouts * ways>{});

// ---- Rows

struct rows {
  posenc::detail::row_layout layout;
  posenc::phase_steps to;
  std::optional<posenc::phase_steps> from;
  std::optional<posenc::cos_sin_table> table;

  template <class Real>
  void write(std::int64_t const* positions, std::int64_t const* from_positions, std::size_t tokens,
             Real* row) const noexcept {
    if (table) return void(table->write(std::span(positions, tokens), row));
    for (std::size_t t = 0; t < tokens; ++t, row += 2 * layout.pairs) {
      layout.write_unrotated(row);
      if (!from) {
        posenc::detail::write_row_at(positions[t], to, row, layout);
      } else {
        posenc::detail::write_row(
            row, layout,
            [there = to.at(positions[t]),
             here = from->at(from_positions == nullptr ? 0 : from_positions[t])](std::size_t pair) {
              return there(pair) - here(pair);
            });
      }
    }
  }
};

rows const& of(rows_of_set const& opaque) noexcept { return reinterpret_cast<rows const&>(opaque); }
rows_of_set* opaque(rows* made) noexcept { return reinterpret_cast<rows_of_set*>(made); }

using frequency_list = instruction_set::frequency_list;

posenc::phase_steps steps_of(frequency_list const& f) {
  return posenc::phase_steps({f.inv_freq, f.pairs}, {f.rest, f.pairs});
}

rows_of_set* make_rows(frequency_list const& f, std::int64_t table_range) {
  std::unique_ptr<rows> made(new rows{
      {f.pairs, f.attention_factor, [&](std::size_t pair) { return f.inv_freq[pair] != 0; }},
      steps_of(f),
      {},
      {}});
  if (table_range != 0) {
    posenc::frequencies const copy(std::vector(f.inv_freq, f.inv_freq + f.pairs),
                                   std::vector(f.rest, f.rest + f.pairs), f.attention_factor);
    made->table.emplace(copy, table_range);
  }
  return opaque(made.release());
}

rows_of_set* make_rerotation(frequency_list const& from, frequency_list const& to) {
  auto const gain = to.attention_factor == from.attention_factor
                        ? 1
                        : to.attention_factor / from.attention_factor;
  return opaque(new rows{
      {to.pairs, gain,
       [&](std::size_t pair) { return from.inv_freq[pair] != 0 || to.inv_freq[pair] != 0; }},
      steps_of(to),
      steps_of(from),
      {}});
}

void destroy_rows(rows_of_set* made) noexcept { delete reinterpret_cast<rows*>(made); }

pair_range const* rotated_pairs(rows_of_set const& made, std::size_t& count) noexcept {
  count = of(made).layout.rotated_pairs.size();
  return reinterpret_cast<pair_range const*>(of(made).layout.rotated_pairs.data());
}

void write_rows(rows_of_set const& made, std::int64_t const* positions,
                std::int64_t const* from_positions, std::size_t tokens, bool doubles,
                void* memory) noexcept {
  if (doubles)
    return of(made).write(positions, from_positions, tokens, static_cast<double*>(memory));
  of(made).write(positions, from_positions, tokens, static_cast<float*>(memory));
}

}  // namespace

#if defined(POSENC_KERNELS_FEWER)
#define POSENC_KERNELS_FEWER_SET &POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER)
#else
#define POSENC_KERNELS_FEWER_SET nullptr
#endif
#define POSENC_KERNELS_JOINED(prefix, name) POSENC_KERNELS_JOINED_EXPANDED(prefix, name)
#define POSENC_KERNELS_JOINED_EXPANDED(prefix, name) prefix##name
#define POSENC_KERNELS_TEXT(name) POSENC_KERNELS_TEXT_EXPANDED(name)
#define POSENC_KERNELS_TEXT_EXPANDED(name) #name

#if defined(POSENC_KERNELS_FEWER)
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_FEWER);
#endif
extern instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET);
instruction_set const POSENC_KERNELS_JOINED(set_, POSENC_KERNELS_SET) = {
    .name = POSENC_KERNELS_TEXT(POSENC_KERNELS_SET),
    .fewer = POSENC_KERNELS_FEWER_SET,
    .rotate = functions.data(),
    .make_rows = make_rows,
    .make_rerotation = make_rerotation,
    .destroy_rows = destroy_rows,
    .rotated_pairs = rotated_pairs,
    .write_rows = write_rows};

}  // namespace posenc_kernels
