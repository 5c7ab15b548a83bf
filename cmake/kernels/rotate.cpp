// The C API: the rotation. Checks its arguments, in O(tokens), and hands plans to the set.
#include <algorithm>
#include <cstdint>

#include "checked.hpp"
#include "handles.hpp"

namespace posenc_kernels {
namespace {

constexpr auto function = "posenc1_rotate";

/// Rotates the heads [first, last), as many tokens at once as lie at equal distances.
void rotate_in_parts(rotation_plan const& plan, bool rows_of_batches, std::size_t row_bytes,
                     places const& from, places const& to, rotate_function* kernel,
                     std::size_t first, std::size_t last) noexcept {
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
    part.from.data = from_last + static_cast<std::ptrdiff_t>(head) * plan.from.head;
    part.to.data = to_last + static_cast<std::ptrdiff_t>(head) * plan.to.head;
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

// Whole heads of one token, contiguous and in place, as a step of decoding has them: rotated after
// few checks, since all of them would cost as much as a head. False, and nothing done: all else,
// and all errors.
bool rotate_one_token(posenc1_rotation const& r, std::size_t first, std::size_t last) noexcept {
  auto const data = reinterpret_cast<std::uintptr_t>(r.from.data);
  auto const type = bits_of(r.from.type), layout = bits_of(r.from.layout);
  bool const plain = r.to.data == nullptr && r.from.slots == nullptr && r.from.head_stride == 0 &&
                     r.weight == nullptr && first == 0 && is_zero(r.eps) && is_zero(r.scale);
  if (!plain || r.tokens != 1 || r.rows != 1 || r.batches > 1 || r.maker == nullptr ||
      type >= types || layout >= layouts)
    return false;
  auto const pairs = r.maker->rotated.pairs, rest = r.head_dim - 2 * pairs;
  auto const first_dim = r.first_dim == POSENC1_LAST_DIMS ? rest : r.first_dim;
  auto const strides = static_cast<std::uintptr_t>(r.from.batch_stride | r.from.token_stride);
  auto const rows = reinterpret_cast<std::uintptr_t>(r.cos_sin);
  bool const right = data != 0 && r.cos_sin != nullptr && pairs > 0 && 2 * pairs <= r.head_dim &&
                     static_cast<std::uint64_t>(r.head_dim) >> 32 == 0 && first_dim <= rest &&
                     r.heads - 1 < 1u << 24 && r.heads <= last &&
                     (r.pairs == 0 || r.pairs == pairs) &&
                     ((data | strides) & (size_of(r.from.type) - 1)) == 0 &&
                     (rows & (type == POSENC1_F64 ? 7u : 3u)) == 0;
  if (!right) return false;
  auto const& set = *r.maker->set;
  auto const i = std::size_t{type} * layouts + layout;
  auto* kernel = set.rotate_one_token[i];
  if (kernel == nullptr) kernel = set.fewer->rotate_one_token[i];
  kernel({r.from.data, r.heads, r.head_dim, first_dim,
          rows_of(r.maker, r.cos_sin, pairs, {0, pairs})});
  return true;
}

}  // namespace

void rotate(posenc1_rotation const& r, std::size_t first, std::size_t last) {
  auto const& set = chosen_set();
  auto const batches = std::max<std::size_t>(r.batches, 1);
  require_dim(function, "head_dim", r.head_dim);
  if (r.tokens == 0 || r.heads == 0) return;
  std::size_t tokens = 0, all_heads = 0;
  bool const fits = multiply(batches, r.tokens, tokens) && multiply(tokens, r.heads, all_heads);
  require(fits, function, ": heads must fit into memory, got ", batches, " batches of ", r.tokens,
          " tokens of ", r.heads, " heads");
  require(first <= std::min(last, all_heads), function,
          ": first must be at most last and the number of heads, got ", first, " and ", last,
          " of ", all_heads);
  last = std::min(last, all_heads);

  bool const given = r.to.data != nullptr;
  auto const& target = given ? r.to : r.from;
  heads_shape const shape{batches,    r.tokens,        r.heads,
                          r.head_dim, first / r.heads, (last - 1) / r.heads + 1};
  auto const from = checked({function, "from"}, r.from, shape, !given);
  checked_heads elsewhere;
  if (given) elsewhere = checked({function, "to"}, r.to, shape, true);
  auto const& to = given ? elsewhere : from;
  bool const in_place = !given || from.are(to);
  require(in_place || !from.overlaps(to), function,
          ": from and to must not overlap, unless they are the same heads in the same layout");

  auto const pairs = pairs_of(r, function);
  require_given(function, {{"cos_sin", r.cos_sin}});
  require(r.rows == r.tokens || r.rows == tokens, function, ": there must be one row for each of ",
          r.tokens, " tokens, or of ", batches, " times as many, got ", r.rows);
  auto const first_dim = first_dim_of(r, pairs, function);

  bool const doubles = target.type == POSENC1_F64;
  require_aligned(function, "cos_sin", r.cos_sin, doubles ? sizeof(double) : sizeof(float));
  require_aligned(function, "weight", r.weight, doubles ? sizeof(double) : sizeof(float));
  bool const normalises = !is_zero(r.eps), fused = normalises || !is_zero(r.scale);
  auto const real = [&](double x) { return doubles ? x : double{static_cast<float>(x)}; };
  auto const eps = real(r.eps);
  require(!normalises || (posenc::is_finite(eps) && eps > 0), function,
          ": eps must be finite and positive as ", doubles ? "double" : "float",
          ", or 0 for no norm, got ", r.eps);
  require(normalises || r.weight == nullptr, function, ": eps must be given where weights are");
  require(posenc::is_finite(real(r.scale)), function, ": scale must be finite, got ", r.scale);

  auto* const kernel =
      function_of(set, r.from.type, target.type, r.from.layout, target.layout, fused);
  require(kernel != nullptr, function,
          ": doubles rotate to doubles, and half and bfloat16 not to each other, got types ",
          from.format, " and ", to.format);
  if (first == last) return;

  bool const rows_of_batches = r.rows == tokens,
             strided = r.from.slots == nullptr && target.slots == nullptr;
  // One batch of all tokens, if all are at equal distances.
  auto const evenly = [&](places const& at) {
    return at.slots != nullptr ||
           static_cast<std::uint64_t>(at.page) == static_cast<std::uint64_t>(at.token) * r.tokens;
  };
  bool const one_batch =
      batches == 1 || (rows_of_batches && evenly(from.codes.at) && evenly(to.codes.at));
  posenc::pair_range const all{0, pairs};
  rotation_plan plan{.from = from.codes.at,
                     .to = to.codes.at,
                     .tokens = one_batch ? tokens : r.tokens,
                     .heads = r.heads,
                     .head_dim = r.head_dim,
                     .first_dim = first_dim,
                     .rows = rows_of(r.maker, r.cos_sin, pairs, all),
                     .in_place = in_place,
                     .eps = r.eps,
                     .scale = is_zero(r.scale) ? 1 : r.scale,
                     .weight = r.weight};
  for (auto* at : {&plan.from, &plan.to}) at->slots = nullptr, at->page_tokens = 0;
  if (one_batch && strided && first == 0 && last == all_heads) return kernel(plan);
  auto const row_bytes = 2 * pairs * (doubles ? sizeof(double) : sizeof(float));
  rotate_in_parts(plan, rows_of_batches, row_bytes, from.codes.at, to.codes.at, kernel, first,
                  last);
}

}  // namespace posenc_kernels

posenc1_status posenc1_rotate(posenc1_rotation const* rotation, size_t first, size_t last) {
  if (rotation != nullptr && posenc_kernels::rotate_one_token(*rotation, first, last))
    return POSENC1_OK;
  return posenc_kernels::guarded([&] {
    posenc_kernels::require_given("posenc1_rotate", {{"rotation", rotation}});
    posenc_kernels::rotate(*rotation, first, last);
  });
}
