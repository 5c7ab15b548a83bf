// The C API: the rotation. Checks its arguments, in O(tokens), and hands plans to the set.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "checked_heads.hpp"
#include "handles.hpp"
#include "posenc/core/bit_cast.hpp"

namespace posenc_kernels {
namespace {

constexpr auto function = "posenc1_rotate";

/// Rotates the heads [first, last), as many tokens at once as lie at equal distances.
class rotation_in_parts {
 public:
  rotation_in_parts(rotation_plan const& plan, checked_heads const& from, checked_heads const& to,
                    posenc1_type from_type, posenc1_type to_type, bool rows_of_batches) noexcept
      : plan_(plan),
        from_(from),
        to_(to),
        from_shift_(log2_of_size[from_type]),
        to_shift_(log2_of_size[to_type]),
        row_bytes_(2 * plan.pairs << (to_type == POSENC1_F64 ? 3 : 2)),
        rows_of_batches_(rows_of_batches) {}

  void run(rotate_function* kernel, std::size_t first, std::size_t last) const noexcept {
    auto const tokens = plan_.tokens, heads = plan_.heads;
    auto part = plan_;
    while (first < last) {
      auto const token = first / heads % tokens, batch = first / heads / tokens;
      auto const head = first % heads;
      bool const whole = head == 0 && last - first >= heads;
      part.heads = whole ? heads : std::min(heads - head, last - first);
      part.tokens = whole ? std::min(tokens - token, (last - first) / heads) : 1;
      if (place(part, batch, token)) {
        part.from.data += static_cast<std::ptrdiff_t>(head) * from_.head.stride;
        part.to.data += static_cast<std::ptrdiff_t>(head) * to_.head.stride;
        part.cos_sin = static_cast<char const*>(plan_.cos_sin) +
                       ((rows_of_batches_ ? batch * tokens : 0) + token) * row_bytes_;
        kernel(part);
      }
      first += part.tokens * part.heads;
    }
  }

 private:
  // Sets where the part lies, of at most as many tokens as it says. False: its first token is left
  // out, and it is that token.
  bool place(rotation_plan& part, std::size_t batch, std::size_t token) const noexcept {
    auto const from = [&](std::size_t i) { return from_.at(batch, token + i, plan_.tokens); };
    auto const to = [&](std::size_t i) { return to_.at(batch, token + i, plan_.tokens); };
    auto const most = part.tokens;
    part.from.data = from(0), part.to.data = to(0);
    if (from_.slots == nullptr && to_.slots == nullptr) return true;
    part.tokens = 1;
    if (part.from.data == nullptr || part.to.data == nullptr) return false;
    std::ptrdiff_t from_step = 0, to_step = 0;
    auto *last_from = part.from.data, *last_to = part.to.data;
    for (; part.tokens < most; ++part.tokens) {
      auto *const next_from = from(part.tokens), *const next_to = to(part.tokens);
      if (next_from == nullptr || next_to == nullptr) break;
      if (part.tokens == 1) from_step = next_from - last_from, to_step = next_to - last_to;
      if (next_from - last_from != from_step || next_to - last_to != to_step) break;
      last_from = next_from, last_to = next_to;
    }
    part.from.token = from_step >> from_shift_, part.to.token = to_step >> to_shift_;
    return true;
  }

  rotation_plan const& plan_;
  checked_heads const &from_, &to_;
  int from_shift_, to_shift_;
  std::size_t row_bytes_;
  bool rows_of_batches_;
};

/// As the arithmetic has it.
double rounded(double x, bool as_double) noexcept {
  return as_double ? x : static_cast<double>(static_cast<float>(x));
}

// Whole heads of one token, contiguous and in place, as a step of decoding has them: rotated after
// few checks, since all of them would cost as much as a head. False, and nothing done: all else,
// and all errors.
bool rotate_one_token(posenc1_rotation const& r, std::size_t first, std::size_t last) noexcept {
  auto const data = reinterpret_cast<std::uintptr_t>(r.from.data);
  auto const type = bits_of(r.from.type), layout = bits_of(r.from.layout);
  bool const plain = r.to.data == nullptr && r.from.slots == nullptr && r.from.head_stride == 0 &&
                     r.weight == nullptr && first == 0 &&
                     (posenc::detail::bit_cast<std::uint64_t>(r.eps) |
                      posenc::detail::bit_cast<std::uint64_t>(r.scale)) == 0;
  if (!plain || r.tokens != 1 || r.rows != 1 || r.batches > 1 || r.maker == nullptr ||
      type >= types || layout >= layouts)
    return false;
  auto const pairs = r.maker->pairs, rest = r.head_dim - 2 * pairs;
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
  kernel({r.from.data, r.heads, r.head_dim, first_dim, r.cos_sin, pairs, r.maker->rotated_count,
          r.maker->rotated});
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
  heads_shape const shape{batches, r.tokens, r.heads, r.head_dim};
  auto const from = checked({function, "from"}, r.from, shape, !given);
  checked_heads elsewhere;
  if (given) elsewhere = checked({function, "to"}, r.to, shape, true);
  auto const& to = given ? elsewhere : from;
  bool const in_place =
      !given || (r.from.type == r.to.type && r.from.layout == r.to.layout && same(from, to));
  require(in_place || apart(from, to), function,
          ": from and to must not overlap, unless they are the same heads in the same layout");

  auto const pairs = r.pairs == 0 && r.maker != nullptr ? r.maker->pairs : r.pairs;
  require(pairs > 0 && (r.maker == nullptr || pairs == r.maker->pairs), function,
          ": pairs must be positive, and the maker's if it is given, got ", pairs);
  require(r.cos_sin != nullptr, function, ": cos_sin must not be null");
  require(r.rows == r.tokens || r.rows == tokens, function, ": there must be one row for each of ",
          r.tokens, " tokens, or of ", batches, " times as many, got ", r.rows);
  require(pairs <= r.head_dim / 2 &&
              (r.first_dim == POSENC1_LAST_DIMS || r.first_dim <= r.head_dim - 2 * pairs),
          function, ": the rotary block must lie within the head, got ", 2 * pairs,
          " dims from dim ", r.first_dim, " of head_dim ", r.head_dim);

  bool const doubles = target.type == POSENC1_F64;
  require_aligned(function, "cos_sin", r.cos_sin, doubles ? sizeof(double) : sizeof(float));
  require_aligned(function, "weight", r.weight, doubles ? sizeof(double) : sizeof(float));
  bool const normalises = posenc::detail::bit_cast<std::uint64_t>(r.eps) != 0;
  bool const fused = normalises || posenc::detail::bit_cast<std::uint64_t>(r.scale) != 0;
  auto const eps = rounded(r.eps, doubles);
  require(!normalises || (posenc::is_finite(eps) && eps > 0), function,
          ": eps must be finite and positive as ", doubles ? "double" : "float",
          ", or 0 for no norm, got ", r.eps);
  require(normalises || r.weight == nullptr, function, ": eps must be given where weights are");
  require(posenc::is_finite(rounded(r.scale, doubles)), function, ": scale must be finite, got ",
          r.scale);

  auto* const kernel =
      function_of(set, r.from.type, target.type, r.from.layout, target.layout, fused);
  require(kernel != nullptr, function,
          ": doubles rotate to doubles, and half and bfloat16 not to each other, got types ",
          static_cast<int>(r.from.type), " and ", static_cast<int>(target.type));
  if (first == last) return;
  if (from.slots != nullptr || to.slots != nullptr) {
    auto const first_token = first / r.heads, last_token = (last - 1) / r.heads + 1;
    check_slots({function, "from"}, from, first_token, last_token);
    if (given) check_slots({function, "to"}, to, first_token, last_token);
  }

  bool const rows_of_batches = r.rows == tokens;
  // One batch of all tokens, if all are at equal distances.
  auto const evenly = [&](checked_heads const& h) {
    return h.slots != nullptr || static_cast<std::uint64_t>(h.batch.stride) ==
                                     static_cast<std::uint64_t>(h.token.stride) * r.tokens;
  };
  bool const one_batch = batches == 1 || (rows_of_batches && evenly(from) && evenly(to));
  pair_range const all{0, pairs};
  rotation_plan const plan{
      .from = from.in_elements(r.from.type),
      .to = to.in_elements(target.type),
      .tokens = one_batch ? tokens : r.tokens,
      .heads = r.heads,
      .head_dim = r.head_dim,
      .first_dim = r.first_dim == POSENC1_LAST_DIMS ? r.head_dim - 2 * pairs : r.first_dim,
      .pairs = pairs,
      .cos_sin = r.cos_sin,
      .in_place = in_place,
      .rotated = r.maker != nullptr ? r.maker->rotated : &all,
      .rotated_count = r.maker != nullptr ? r.maker->rotated_count : 1,
      .eps = r.eps,
      .scale = posenc::detail::bit_cast<std::uint64_t>(r.scale) != 0 ? r.scale : 1,
      .weight = r.weight};
  bool const strided = from.slots == nullptr && to.slots == nullptr;
  if (one_batch && strided && first == 0 && last == all_heads) return kernel(plan);
  rotation_in_parts(plan, from, to, r.from.type, target.type, rows_of_batches)
      .run(kernel, first, last);
}

}  // namespace posenc_kernels

posenc1_status posenc1_rotate(posenc1_rotation const* rotation, size_t first, size_t last) {
  if (rotation != nullptr && posenc_kernels::rotate_one_token(*rotation, first, last))
    return POSENC1_OK;
  return posenc_kernels::guarded([&] {
    posenc_kernels::require_given("posenc1_rotate", rotation);
    posenc_kernels::rotate(*rotation, first, last);
  });
}
