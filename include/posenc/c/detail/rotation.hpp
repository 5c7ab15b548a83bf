// posenc.h: the rotation of operands. Checks its arguments, in O(tokens), and hands plans to the
// set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <tuple>
#include <utility>

#include "posenc/c/detail/choice.hpp"
#include "posenc/c/detail/handles.hpp"
#include "posenc/c/detail/plans.hpp"
#include "posenc/c/detail/views.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/detail/slot_search.hpp"
#include "posenc/rotation/detail/checks.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

inline constexpr auto rotate_function_name = "posenc1_rotate";

/// The rows of a call, checked. Not given unless an operand rotates.
struct checked_rows {
  std::size_t tokens, batches, all_tokens, pairs = 0;
  std::size_t heads = 1;   ///< that have their own rows
  bool of_batches = true;  ///< one row per token of each batch; else batches share them
  bool doubles = false;

  std::size_t row_bytes() const noexcept {
    return 2 * pairs * (doubles ? sizeof(double) : sizeof(float));
  }
};

/// An operand, checked by itself.
struct checked_operand {
  posenc1_operand const* given;
  checked_heads from, to[2];
  std::size_t targets = 0, source_block, target_block, first_dim = 0;
  std::size_t group;                     ///< heads that share a row, of heads that rotate
  std::uint32_t from_layout, to_layout;  ///< as posenc1_layout
  bool rotates, in_place;
  bool by_kernel;  ///< numbers become numbers, with the usual norm and a factor at most

  bool overlaps_what_is_written(checked_operand const& other) const {
    for (auto const& target : std::span(other.to, other.targets)) {
      if (target.overlaps(from)) return true;
      for (auto const& mine : std::span(to, targets))
        if (target.overlaps(mine)) return true;
    }
    return false;
  }
};

/// The block of a transform; 1: none.
inline std::size_t block_of(std::size_t head_dim, std::size_t block, auto const&... names) {
  if (block == 0) return 1;
  return hadamard_block(head_dim, block == POSENC1_LARGEST_BLOCK ? 0 : block, names...);
}

/// Throws if a slot of codes is written twice. `seen`: slots that were looked at already.
inline void require_each_code_once(heads_name const& what, checked_heads const& heads,
                                   std::int64_t const*& seen) {
  auto const* const slots = heads.codes.at.slots;
  if (is_of_numbers(heads.format) || slots == nullptr || slots == seen) return;
  seen = slots;
  std::span const all(slots, heads.codes.tokens);
  require_each_slot_once(all, what.function, ": ", what.heads, what.index, what.part);
}

/// Throws unless the norm is one, in the arithmetic of doubles or floats.
inline void check_norm(heads_name const& what, posenc1_norm const& norm, bool doubles) {
  auto const kind = bits_of(norm.kind), place = bits_of(norm.place),
             eps_place = bits_of(norm.eps_place), format = bits_of(norm.weight_format);
  if (is_zero(norm.eps))
    return what.require(
        norm.weight == nullptr && (kind | place | eps_place) == 0 && norm.plus_one == 0,
        "eps of the norm must be given where its weights, kind or places are");
  auto const eps = doubles ? norm.eps : double{static_cast<float>(norm.eps)};
  what.require(norm.plus_one == 0 || norm.weight != nullptr,
               "weights of the norm must be given where plus_one is");
  what.require(is_finite(eps) && eps > 0, "eps of the norm must be finite and positive as ",
               doubles ? "double" : "float", ", or 0 for no norm, got ", norm.eps);
  what.require(
      kind <= POSENC1_L2 && place <= POSENC1_AFTER_ROTATION && eps_place <= POSENC1_EPS_AT_LEAST,
      "kind, place and eps_place of the norm must be ones of the header, got ", kind, ", ", place,
      " and ", eps_place);
  if (norm.weight == nullptr) return;
  what.require(is_of_numbers(format) && (format == POSENC1_F64) == doubles,
               "weight_format of the norm must be one of numbers, doubles for heads of doubles "
               "alone, got ",
               format);
  require_aligned(what.function, "weight", norm.weight, size_of(format));
}

/// As head_norm has it by default.
inline bool is_usual(posenc1_norm const& norm, bool doubles) noexcept {
  return norm.kind == POSENC1_RMS && norm.place == POSENC1_BEFORE_ROTATION &&
         norm.eps_place == POSENC1_EPS_INSIDE && norm.plus_one == 0 &&
         (norm.weight == nullptr || norm.weight_format == (doubles ? POSENC1_F64 : POSENC1_F32));
}

/// index: of an operand, in words.
inline void check(checked_operand& checked_one, char const* index, posenc1_operand const& given,
                  checked_rows const& rows, std::int64_t const*& slots) {
  auto& o = checked_one;
  auto const name = [&](char const* part) {
    return heads_name{rotate_function_name, "operand ", index, part};
  };
  auto const what = name("");
  o.given = &given;
  auto const layout = bits_of(given.layout), to_layout = bits_of(given.to_layout);
  what.require(layout - 1 < POSENC1_UNROTATED,
               "layout must be POSENC1_HALVES, POSENC1_INTERLEAVED or POSENC1_UNROTATED, got ",
               layout);
  o.rotates = layout != POSENC1_UNROTATED;
  what.require(to_layout == 0 || to_layout == layout || (o.rotates && to_layout - 1 < layouts),
               "to_layout must be 0 or, where heads rotate, POSENC1_HALVES or "
               "POSENC1_INTERLEAVED, got ",
               to_layout);
  o.from_layout = layout, o.to_layout = to_layout == 0 ? layout : to_layout;
  what.require(given.heads > 0, "heads must be positive, got 0");
  what.require(given.head_dim > 0 && given.head_dim <= std::numeric_limits<std::uint32_t>::max(),
               "head_dim must be positive and below 2^32, got ", given.head_dim);
  std::size_t all_heads = 0;
  what.require(multiply(rows.all_tokens, given.heads, all_heads),
               "heads must fit into memory, got ", rows.batches, " batches of ", rows.tokens,
               " tokens of ", given.heads, " heads");
  what.require(given.from.data != nullptr, "from must have data, got null");

  call_shape const shape{rows.batches, rows.tokens, given.heads, given.head_dim};
  bool const stays = given.to.data == nullptr;
  check(name(".from"), given.from, shape, stays, o.from);
  if (stays) {
    o.to[o.targets++] = o.from;
  } else {
    check(name(".to"), given.to, shape, true, o.to[o.targets++]);
  }
  if (given.also_to.data != nullptr)
    check(name(".also_to"), given.also_to, shape, true, o.to[o.targets++]);
  auto const are_right = [&](std::uint32_t format) {
    what.require((format == POSENC1_F64) == rows.doubles,
                 "heads of double must be rotated to heads of double, others to others, got "
                 "formats ",
                 o.from.format, " and ", format);
  };
  are_right(o.from.format);
  for (auto const& target : std::span(o.to, o.targets)) are_right(target.format);
  what.require(o.targets < 2 || !o.to[0].overlaps(o.to[1]),
               "targets of one set must not overlap each other");
  what.require(!stays || o.from_layout == o.to_layout,
               "to_layout must be the layout of heads that stay in place, got ", to_layout, " and ",
               layout);
  o.in_place = stays;
  for (auto const& target : std::span(o.to, o.targets).subspan(stays ? 1 : 0)) {
    bool const same = o.from_layout == o.to_layout && o.from.are(target);
    what.require(same || !o.from.overlaps(target),
                 "source and target must not overlap, unless they are the same heads in the same "
                 "layout");
    o.in_place = o.in_place || same;
  }
  for (std::size_t i = 0; i < o.targets; ++i)
    require_each_code_once(name(i == 1 ? ".also_to" : stays ? ".from" : ".to"), o.to[i], slots);

  check_norm(what, given.norm, rows.doubles);
  what.require(is_finite(rows.doubles ? given.factor : double{static_cast<float>(given.factor)}),
               "factor must be finite, got ", given.factor);
  auto const rounded = bits_of(given.rounded_to);
  bool const to_16_bits = rounded == POSENC1_F16 || rounded == POSENC1_BF16;
  what.require(given.rounding <= POSENC1_ROUND_HUGGING_FACE &&
                   (given.rounding == 0 ? rounded == 0 : to_16_bits),
               "rounding must be a sum of points, rounded_to POSENC1_F16 or POSENC1_BF16, got ",
               given.rounding, " and ", rounded);
  o.source_block =
      block_of(given.head_dim, given.from_hadamard, what.function, ": operand ", index);
  o.target_block = block_of(given.head_dim, given.hadamard, what.function, ": operand ", index);
  what.require(o.rotates || given.first_dim == 0,
               "first_dim must be 0 for heads that do not rotate, got ", given.first_dim);
  if (o.rotates) {
    auto const block = given.first_dim == POSENC1_LAST_DIMS ? rotary_block::last()
                                                            : rotary_block::from(given.first_dim);
    auto const rotary = rows.pairs <= given.head_dim / 2 ? 2 * rows.pairs : given.head_dim + 1;
    o.first_dim = named(what, [&] { return block.first_dim(given.head_dim, rotary); });
    what.require(rows.heads == 1 || given.heads % rows.heads == 0,
                 "heads must be a multiple of the heads of rows, got ", given.heads,
                 " heads and rows of ", rows.heads);
  }
  o.group = rows.heads == 1 ? given.heads : given.heads / rows.heads;

  auto const from = o.from.format, to = o.to[0].format;
  o.by_kernel = o.rotates && o.targets == 1 && is_of_numbers(from) && is_of_numbers(to) &&
                (from == to || from == POSENC1_F32 || to == POSENC1_F32) && given.rounding == 0 &&
                o.source_block == 1 && o.target_block == 1 && is_usual(given.norm, rows.doubles);
  what.require(o.by_kernel || !rows.doubles,
               "heads of double must rotate to one target, with the usual norm and a factor at "
               "most");
  what.require(o.by_kernel || given.head_dim <= most_head_dim, "head_dim must be at most ",
               most_head_dim, ", got ", given.head_dim);
}

/// Throws unless rows are for these operands.
inline checked_rows check(posenc1_rows const& given, std::span<posenc1_operand const> operands) {
  constexpr auto function = rotate_function_name;
  checked_rows rows;
  rows.tokens = given.tokens, rows.batches = std::max<std::size_t>(given.batches, 1);
  require(multiply(rows.batches, rows.tokens, rows.all_tokens), function,
          ": tokens must fit into memory, got ", rows.batches, " batches of ", rows.tokens);
  bool rotates = false;
  for (auto const& operand : operands) {
    rotates = rotates || bits_of(operand.layout) - 1 < layouts;  // of no layout: an error later
    rows.doubles = rows.doubles || bits_of(operand.from.format) == POSENC1_F64;
  }
  if (!rotates || rows.tokens == 0) return rows;
  auto const* const maker = given.maker;
  rows.pairs = given.pairs == 0 && maker != nullptr ? maker->rotated.pairs : given.pairs;
  require(rows.pairs > 0 && (maker == nullptr || rows.pairs == maker->rotated.pairs), function,
          ": pairs must be positive, and the maker's if it is given, got ", rows.pairs);
  require_given(function, {{"cos_sin", given.cos_sin}});
  require_aligned(function, "cos_sin", given.cos_sin,
                  rows.doubles ? sizeof(double) : sizeof(float));
  auto const count = given.rows == 0 && rows.batches == 1 ? rows.tokens : given.rows;
  require(count == rows.tokens || count == rows.all_tokens, function,
          ": there must be one row for each of ", rows.tokens, " tokens, or of ", rows.batches,
          " times as many, got ", count);
  rows.of_batches = count == rows.all_tokens;
  rows.heads = given.heads != 0 ? given.heads : maker != nullptr ? maker->heads : 1;
  return rows;
}

/// Rotates the heads [first, last) of those from first_head on, as many tokens at once as lie at
/// equal distances.
inline void rotate_in_parts(rotation_plan const& plan, bool rows_of_batches, std::size_t row_bytes,
                            places const& from, places const& to, rotate_function* kernel,
                            std::size_t first_head, std::size_t first, std::size_t last) noexcept {
  bool const strided = from.slots == nullptr && to.slots == nullptr;
  auto const tokens = plan.tokens;  // of a batch
  auto part = plan;
  for (; first < last; first += part.tokens * part.heads) {
    auto const token = first / plan.heads, head = first % plan.heads;
    bool const whole = head == 0 && last - first >= plan.heads;
    part.heads = whole ? plan.heads : std::min(plan.heads - head, last - first);
    auto const most = whole ? std::min(tokens - token % tokens, (last - first) / plan.heads) : 1;
    part.tokens = strided ? most : 1;
    if (!from.has(token) || !to.has(token)) continue;
    auto *from_last = from.at(token), *to_last = to.at(token);
    auto const at = static_cast<std::ptrdiff_t>(first_head + head);
    part.from.data = from_last + at * plan.from.head;
    part.to.data = to_last + at * plan.to.head;
    for (; part.tokens < most; ++part.tokens) {
      auto const next = token + part.tokens;
      if (!from.has(next) || !to.has(next)) break;
      auto *const from_next = from.at(next), *const to_next = to.at(next);
      auto const from_step = from_next - from_last, to_step = to_next - to_last;
      if (part.tokens == 1) part.from.token = from_step, part.to.token = to_step;
      if (part.from.token != from_step || part.to.token != to_step) break;
      from_last = from_next, to_last = to_next;
    }
    part.rows.cos_sin = static_cast<char const*>(plan.rows.cos_sin) +
                        (rows_of_batches ? token : token % tokens) * row_bytes;
    kernel(part);
  }
}

/// From numbers to numbers, by one row a token: o.group heads of each token, from first_head on,
/// of which this call rotates [first, last), counted token by token. (Inlined twice: a call would
/// take 2 % of the time of a head.)
POSENC_ALWAYS_INLINE inline void run_kernel(instruction_set const& set, checked_operand const& o,
                                            checked_rows const& rows, rows_plan const& of_rows,
                                            std::size_t first_head, std::size_t first,
                                            std::size_t last) noexcept {
  auto const& given = *o.given;
  auto const& from = o.from.codes.at;
  auto const& to = o.to[0].codes.at;
  bool const normalises = !is_zero(given.norm.eps), fused = normalises || !is_zero(given.factor);
  auto* const kernel = function_of(set, o.from.format - 1, o.to[0].format - 1, o.from_layout - 1,
                                   o.to_layout - 1, fused);
  bool const strided = from.slots == nullptr && to.slots == nullptr;
  // One batch of all tokens, if all are at equal distances.
  auto const evenly = [&](places const& at) {
    return at.slots != nullptr || static_cast<std::uint64_t>(at.page) ==
                                      static_cast<std::uint64_t>(at.token) * rows.tokens;
  };
  bool const one_batch = rows.batches == 1 || (rows.of_batches && evenly(from) && evenly(to));
  rotation_plan plan{.from = from,
                     .to = to,
                     .tokens = one_batch ? rows.all_tokens : rows.tokens,
                     .heads = o.group,
                     .head_dim = given.head_dim,
                     .first_dim = o.first_dim,
                     .rows = of_rows,
                     .in_place = o.in_place,
                     .eps = given.norm.eps,
                     .factor = is_zero(given.factor) ? 1 : given.factor,
                     .weight = given.norm.weight};
  for (auto* at : {&plan.from, &plan.to}) at->slots = nullptr, at->page_tokens = 0;
  if (one_batch && strided && first == 0 && last == rows.all_tokens * o.group) {
    for (auto* at : {&plan.from, &plan.to})
      at->data += static_cast<std::ptrdiff_t>(first_head) * at->head;
    return kernel(plan);
  }
  rotate_in_parts(plan, rows.of_batches, rows.row_bytes(), from, to, kernel, first_head, first,
                  last);
}

/// run_kernel by rows that differ by head: [first, last) counts [heads of rows][tokens][heads that
/// share a row].
[[gnu::noinline]] inline void run_kernel_by_heads(instruction_set const& set,
                                                  checked_operand const& o,
                                                  checked_rows const& rows, rows_plan of_rows,
                                                  std::size_t first, std::size_t last) noexcept {
  auto const work = rows.all_tokens * o.group;
  auto const bytes = (rows.of_batches ? rows.all_tokens : rows.tokens) * rows.row_bytes();
  for (std::size_t head = 0, at = 0; head < rows.heads; ++head, at += work) {
    auto const begin = std::max(first, at), end = std::min(last, at + work);
    if (begin < end) run_kernel(set, o, rows, of_rows, head * o.group, begin - at, end - at);
    of_rows.cos_sin = static_cast<char const*>(of_rows.cos_sin) + bytes;
  }
}

/// From and to any format: part i of n, some tokens or, of few tokens, some heads.
inline void run_step(step_function* run, checked_operand const& o, checked_rows const& rows,
                     rows_plan const& of_rows, std::size_t i, std::size_t n) noexcept {
  auto const& given = *o.given;
  step_plan plan;
  plan.from = o.from.stored(), plan.to[0] = o.to[0].stored();
  plan.to[1] = o.to[o.targets - 1].stored();
  if (o.targets == 1) plan.to[1].codes.data = nullptr;
  plan.all_heads = plan.heads = given.heads, plan.head = 0, plan.head_dim = given.head_dim;
  plan.first_dim = o.first_dim;
  plan.from_layout = o.from_layout - 1, plan.to_layout = o.to_layout - 1;
  plan.rows = o.rotates ? of_rows : rows_plan{}, plan.row_heads = rows.heads;
  plan.norm = is_zero(given.norm.eps) ? posenc1_norm{} : given.norm;
  plan.factor = is_zero(given.factor) ? 1 : static_cast<float>(given.factor);
  plan.rounding = given.rounding, plan.rounded_to = bits_of(given.rounded_to);
  plan.source_block = o.source_block, plan.target_block = o.target_block;
  plan.all_tokens = o.rotates && !rows.of_batches ? rows.tokens : rows.all_tokens;
  bool const by_tokens = rows.all_tokens >= n || rows.all_tokens >= given.heads;
  part tokens{0, rows.all_tokens};
  if (by_tokens) {
    tokens = part_of(rows.all_tokens, i, n);
  } else {
    auto const heads = part_of(given.heads, i, n);
    plan.head = heads.first, plan.heads = heads.count;
  }
  if (plan.heads == 0) return;
  for (std::size_t t = tokens.first, last = t + tokens.count; t < last; t += plan.tokens) {
    plan.token = t % plan.all_tokens, plan.first_token = t - plan.token;
    plan.tokens = std::min(plan.all_tokens - plan.token, last - t);
    run(plan);
  }
}

/// Whole heads of one token, contiguous and in place, as a step of decoding has them: rotated after
/// few checks, since all of them would cost as much as a head. False, and nothing done: all else,
/// and all errors.
inline bool rotate_one_token(posenc1_rows const& rows, posenc1_operand const& o) noexcept {
  auto const& h = o.from;
  auto const data = reinterpret_cast<std::uintptr_t>(h.data);
  auto const type = bits_of(h.format) - 1, layout = bits_of(o.layout) - 1,
             to_layout = bits_of(o.to_layout);
  auto const& norm = o.norm;
  auto const of = [](void const* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  auto const pointers = (of(o.to.data) | of(o.also_to.data)) | (of(h.slots) | of(h.scales)) |
                        (h.pages | h.page_tokens) | (o.hadamard | o.from_hadamard) |
                        of(norm.weight);
  auto const strides_of_more =
      (h.head_stride | h.scales_page_stride) | (h.scales_token_stride | h.scales_head_stride);
  auto const more = (bits_of(norm.kind) | bits_of(norm.place)) |
                    (bits_of(norm.eps_place) | bits_of(norm.plus_one)) | o.rounding;
  auto const numbers = (bit_cast<std::uint64_t>(norm.eps) | bit_cast<std::uint64_t>(o.factor)) |
                       (bit_cast<std::uint64_t>(h.scale) | bit_cast<std::uint64_t>(h.inverse));
  if (more != 0 || numbers != 0 || pointers != 0 || strides_of_more != 0 || rows.tokens != 1 ||
      (rows.rows | rows.batches | rows.heads) > 1 || rows.maker == nullptr ||
      rows.maker->heads != 1 || type >= types || layout >= layouts ||
      (to_layout != 0 && to_layout != layout + 1))
    return false;
  auto const pairs = rows.maker->rotated.pairs, rest = o.head_dim - 2 * pairs;
  auto const first_dim = o.first_dim == POSENC1_LAST_DIMS ? rest : o.first_dim;
  auto const strides = static_cast<std::uintptr_t>(h.page_stride | h.token_stride);
  auto const cos_sin = reinterpret_cast<std::uintptr_t>(rows.cos_sin);
  bool const right = data != 0 && cos_sin != 0 && pairs > 0 && 2 * pairs <= o.head_dim &&
                     static_cast<std::uint64_t>(o.head_dim) >> 32 == 0 && first_dim <= rest &&
                     o.heads - 1 < 1u << 24 && (rows.pairs == 0 || rows.pairs == pairs) &&
                     ((data | strides) & (size_of(type + 1) - 1)) == 0 &&
                     (cos_sin & (type + 1 == POSENC1_F64 ? 7u : 3u)) == 0;
  if (!right) return false;
  auto const& set = *rows.maker->set;
  auto const i = std::size_t{type} * layouts + layout;
  auto* const kernel =
      first_of(set, [i](instruction_set const& one) noexcept { return one.rotate_one_token[i]; });
  kernel({h.data, o.heads, o.head_dim, first_dim,
          rows_of(rows.maker, rows.cos_sin, pairs, {0, pairs})});
  return true;
}

inline constexpr char const* indices[] = {"0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                          "8", "9", "10", "11", "12", "13", "14", "15"};

inline void rotate(posenc1_rows const& given, std::span<posenc1_operand const> operands,
                   std::size_t i, std::size_t n) {
  constexpr auto function = rotate_function_name;
  auto const& set = chosen_set();
  require(i < n, function, ": part must be below parts, got ", i, " of ", n);
  require(operands.size() <= std::size(indices), function, ": count must be at most ",
          std::size(indices), ", got ", operands.size());
  auto const rows = check(given, operands);
  if (rows.tokens == 0) return;
  // Only operands that are given are constructed: to clear all would take as long as a head.
  alignas(checked_operand) std::byte memory[std::size(indices) * sizeof(checked_operand)];
  auto* const all = reinterpret_cast<checked_operand*>(memory);
  std::int64_t const* slots = nullptr;  // which keys and values mostly share
  for (std::size_t o = 0; o < operands.size(); ++o)
    check(*::new (all + o) checked_operand, indices[o], operands[o], rows, slots);
  std::span<checked_operand const> const checked_all(all, operands.size());
  for (auto const& a : checked_all)
    for (auto const& b : checked_all)
      require(&a == &b || !a.overlaps_what_is_written(b), function,
              ": heads that one operand writes must not overlap those of another");

  pair_range const every{0, rows.pairs};
  auto const of_rows =
      rows.pairs == 0 ? rows_plan{} : rows_of(given.maker, given.cos_sin, rows.pairs, every);
  auto* const step = first_of(set, [](instruction_set const& one) noexcept { return one.step; });
  for (auto const& o : checked_all) {
    if (o.by_kernel) {
      auto const [first, count] = part_of(rows.all_tokens * o.given->heads, i, n);
      if (rows.heads == 1) {
        run_kernel(set, o, rows, of_rows, 0, first, first + count);
      } else {
        run_kernel_by_heads(set, o, rows, of_rows, first, first + count);
      }
    } else {
      run_step(step, o, rows, of_rows, i, n);
    }
  }
}

/// Not inlined: the way of one token saves no registers for it.
[[gnu::noinline]] inline posenc1_status rotate_guarded(posenc1_rows const* rows,
                                                       posenc1_operand const* operands,
                                                       std::size_t count, std::size_t part,
                                                       std::size_t parts) noexcept {
  return guarded([&] {
    require_given(rotate_function_name, {{"rows", rows}});
    if (count != 0) require_given(rotate_function_name, {{"operands", operands}});
    rotate(*rows, {operands, count}, part, parts);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_rotate(posenc1_rows const* rows,
                                                posenc1_operand const* operands, size_t count,
                                                size_t part, size_t parts) {
  if (count == 1 && part == 0 && parts == 1 && rows != nullptr && operands != nullptr &&
      rotate_one_token(*rows, *operands))
    return POSENC1_OK;
  return rotate_guarded(rows, operands, count, part, parts);
}

POSENC_C_FUNCTION posenc1_status posenc1_format_bytes(posenc1_format format, size_t head_dim,
                                                      size_t* bytes, size_t* scale_bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_format_bytes";
    require_given(function, {{"bytes", bytes}, {"scale_bytes", scale_bytes}});
    require_dim(function, "head_dim", head_dim);
    auto const bits = bits_of(format);
    require(bits - 1 < formats, function, ": head: format must be one of the header, got ", bits);
    std::tie(*bytes, *scale_bytes) =
        is_of_numbers(bits) ? std::pair<std::size_t, std::size_t>(size_of(bits) * head_dim, 0)
                            : sizes_of({function, "head"}, {{}, {}, bits, 1, 1}, head_dim);
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_hadamard(posenc1_heads const* x, size_t tokens,
                                                  size_t heads, size_t head_dim, size_t block) {
  return guarded([&] {
    constexpr auto function = "posenc1_hadamard";
    require_given(function, {{"x", x}});
    require_dim(function, "head_dim", head_dim);
    auto const n = block_of(head_dim, block, function);
    if (tokens == 0 || heads == 0) return;
    heads_name const what{function, "x"};
    checked_heads at;
    check(what, *x, {1, tokens, heads, head_dim}, true, at);
    what.require(is_of_numbers(at.format), "format must be one of numbers, got ", at.format);
    auto const& set = chosen_set();
    auto* const run =
        first_of(set, [](instruction_set const& one) noexcept { return one.hadamard; });
    run({at.codes.at, at.format - 1, tokens, heads, head_dim, n});
  });
}

}}}  // namespace posenc::detail::c
