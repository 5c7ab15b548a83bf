// The C API: the rotation. Checks its arguments, in O(tokens), and hands a plan to the set.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "handles.hpp"

namespace posenc_kernels {
namespace {

using posenc::detail::require;

constexpr auto function = "posenc1_rotate";
// Divisions would cost more than all else here: sizes are powers of 2.
constexpr int log2_of_size[types] = {2, 3, 1, 1};
constexpr std::size_t size_of(posenc1_type type) noexcept {
  return std::size_t{1} << log2_of_size[type];
}

/// One dimension of heads: so many steps of a stride in bytes.
struct dimension {
  std::size_t steps;
  std::ptrdiff_t stride;

  std::uint64_t magnitude() const noexcept {
    return stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
  }
  /// A single step has no stride that matters.
  bool reaches_below(dimension const& other) const noexcept {
    return steps <= 1 || (other.steps > 1 && magnitude() <= other.magnitude());
  }
};

struct memory {
  std::uintptr_t first = 0, last = 0;
};
bool overlap(memory a, memory b) noexcept { return a.first < b.last && b.first < a.last; }

/// posenc1_heads as they are rotated: with all strides, and where they are in memory.
struct checked_heads {
  char* data;
  dimension batch, token, head;  ///< with slots, `batch` counts pages
  memory all, of_token;
  int64_t const* slots;
  std::size_t page_tokens;

  placed_heads in_elements(posenc1_type type) const noexcept {
    auto const shift = log2_of_size[type];
    return {data, token.stride >> shift, head.stride >> shift};
  }
  /// Token t of batch b, of `tokens` per batch. Null: its slot is negative.
  char* at(std::size_t b, std::size_t t, std::size_t tokens) const noexcept {
    auto const by = [this](std::size_t page, std::size_t step) {
      return data + static_cast<std::ptrdiff_t>(page) * batch.stride +
             static_cast<std::ptrdiff_t>(step) * token.stride;
    };
    if (slots == nullptr) return by(b, t);
    auto const slot = slots[b * tokens + t];
    if (slot < 0) return nullptr;
    auto const n = static_cast<std::size_t>(slot);
    return by(n / page_tokens, n % page_tokens);
  }
};

/// Grows a range of memory by a dimension. Throws unless it fits into memory and, for heads that
/// are written, unless steps are as far apart as what they step over is long.
[[gnu::always_inline]] inline void grow(char const* what, memory& range, dimension const& d,
                                        bool written) {
  if (d.steps <= 1) return;
  auto const length = range.last - range.first;
  require(!written || d.magnitude() >= length, function, ": ", what,
          ": heads that are written must not overlap, got a stride of ", d.stride,
          " bytes for what is ", length, " bytes long");
  std::uint64_t reach = 0, bytes = 0;
  bool const fits = !__builtin_mul_overflow(d.steps - 1, d.magnitude(), &reach) &&
                    !__builtin_add_overflow(reach, length, &bytes) && bytes >> 63 == 0;
  require(fits, function, ": ", what, ": heads must fit into memory, got ", d.steps, " steps of ",
          d.stride, " bytes");
  (d.stride < 0 ? range.first : range.last) += d.stride < 0 ? 0 - reach : reach;
}

checked_heads checked(char const* what, posenc1_heads const& given, posenc1_rotation const& r,
                      std::size_t batches, bool written) {
  // As bits: to C++ an enum has no other value than its own, so that the check would go.
  auto const type = std::bit_cast<std::uint32_t>(given.type),
             layout = std::bit_cast<std::uint32_t>(given.layout);
  require(type < types && layout < layouts, function, ": ", what,
          ": type and layout must be ones of the header, got ", type, " and ", layout);
  require(given.data != nullptr, function, ": ", what, ": data must not be null");
  auto const size = size_of(given.type);
  auto const all_bits = reinterpret_cast<std::uintptr_t>(given.data) |
                        static_cast<std::uintptr_t>(given.batch_stride) |
                        static_cast<std::uintptr_t>(given.token_stride) |
                        static_cast<std::uintptr_t>(given.head_stride);
  require((all_bits & (size - 1)) == 0, function, ": ", what,
          ": data and strides must be multiples of the ", size,
          " bytes of an element, got strides of ", given.batch_stride, ", ", given.token_stride,
          " and ", given.head_stride);
  auto const length = r.head_dim * size;
  bool const paged = given.slots != nullptr;
  checked_heads h{static_cast<char*>(given.data),
                  {paged ? given.pages : batches, given.batch_stride},
                  {paged ? given.page_tokens : r.tokens, given.token_stride},
                  {r.heads, given.head_stride},
                  {},
                  {},
                  given.slots,
                  given.page_tokens};
  auto const contiguous = [](dimension& d, dimension const& inner) {
    if (d.stride == 0)
      d.stride =
          static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(inner.stride) * inner.steps);
  };
  contiguous(h.head, {1, static_cast<std::ptrdiff_t>(length)});
  contiguous(h.token, h.head);
  contiguous(h.batch, h.token);

  auto const data = reinterpret_cast<std::uintptr_t>(given.data);
  h.all = h.of_token = {data, data + length};
  grow(what, h.of_token, h.head, written);
  // Each step must reach over what the smaller ones reach: mostly heads, tokens, batches.
  bool const in_order =
      (h.token.steps <= 1 || h.head.reaches_below(h.token)) &&
      (h.batch.steps <= 1 || (h.token.reaches_below(h.batch) && h.head.reaches_below(h.batch)));
  if (in_order) {
    h.all = h.of_token;
    grow(what, h.all, h.token, written), grow(what, h.all, h.batch, written);
  } else {
    dimension d[] = {h.head, h.token, h.batch};
    std::ranges::sort(d, [](auto const& x, auto const& y) { return !y.reaches_below(x); });
    for (auto const& one : d) grow(what, h.all, one, written);
  }
  return h;
}

void check_slots(char const* what, checked_heads const& h, std::size_t first, std::size_t last) {
  if (h.slots == nullptr) return;
  auto const size = h.batch.steps * h.token.steps;
  for (auto i = first; i < last; ++i) {
    require(h.slots[i] < 0 || static_cast<std::uint64_t>(h.slots[i]) < size, function, ": ", what,
            ": a slot must be below ", size, " (", h.batch.steps, " pages of ", h.token.steps,
            " tokens), got ", h.slots[i], " for token ", i);
  }
}

/// Whether the heads of two sets, at least one of which is written, keep apart: they are elsewhere,
/// or side by side in each token.
bool apart(checked_heads const& a, checked_heads const& b) noexcept {
  if (!overlap(a.all, b.all)) return true;
  auto const period = a.token.stride;
  bool const same_tokens = period > 0 && period == b.token.stride &&
                           (a.batch.steps == 1 || a.batch.stride == b.batch.stride) &&
                           a.batch.steps == b.batch.steps &&
                           a.batch.magnitude() % a.token.magnitude() == 0;
  if (!same_tokens) return false;
  auto const n = static_cast<std::uintptr_t>(period);
  auto const offset = (b.of_token.first % n + n - a.of_token.first % n) % n;
  return offset >= a.of_token.last - a.of_token.first &&
         offset + (b.of_token.last - b.of_token.first) <= n;
}

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

bool finite_as(double x, bool as_double) noexcept {
  return posenc::is_finite(as_double ? x : static_cast<double>(static_cast<float>(x)));
}

void rotate(posenc1_rotation const& r, std::size_t first, std::size_t last) {
  auto const& set = chosen_set();
  auto const batches = std::max<std::size_t>(r.batches, 1);
  require(r.head_dim > 0 && r.head_dim <= std::numeric_limits<std::uint32_t>::max(), function,
          ": head_dim must be positive and below 2^32, got ", r.head_dim);
  if (r.tokens == 0 || r.heads == 0) return;
  std::size_t tokens = 0, all_heads = 0;
  bool const fits = !__builtin_mul_overflow(batches, r.tokens, &tokens) &&
                    !__builtin_mul_overflow(tokens, r.heads, &all_heads);
  require(fits, function, ": heads must fit into memory, got ", batches, " batches of ", r.tokens,
          " tokens of ", r.heads, " heads");
  require(first <= std::min(last, all_heads), function,
          ": first must be at most last and the number of heads, got ", first, " and ", last,
          " of ", all_heads);
  last = std::min(last, all_heads);

  auto const& target = r.to.data == nullptr ? r.from : r.to;
  bool const in_place =
      &target == &r.from ||
      (r.from.data == r.to.data && r.from.type == r.to.type && r.from.layout == r.to.layout &&
       r.from.slots == r.to.slots && r.from.batch_stride == r.to.batch_stride &&
       r.from.token_stride == r.to.token_stride && r.from.head_stride == r.to.head_stride);
  auto const from = checked("from", r.from, r, batches, in_place);
  checked_heads elsewhere;
  if (!in_place) elsewhere = checked("to", target, r, batches, true);
  auto const& to = in_place ? from : elsewhere;
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

  bool const doubles = target.type == POSENC1_F64,
             normalises = std::bit_cast<std::uint64_t>(r.eps) != 0;
  bool const fused = normalises || std::bit_cast<std::uint64_t>(r.scale) != 0;
  require(!normalises || (finite_as(r.eps, doubles) && r.eps > 0), function,
          ": eps must be finite and positive, or 0 for no norm, got ", r.eps);
  require(normalises || r.weight == nullptr, function, ": eps must be given where weights are");
  require(finite_as(r.scale, doubles), function, ": scale must be finite, got ", r.scale);

  auto* const kernel =
      function_of(set, r.from.type, target.type, r.from.layout, target.layout, fused);
  require(kernel != nullptr, function,
          ": doubles rotate to doubles, and half and bfloat16 not to each other, got types ",
          static_cast<int>(r.from.type), " and ", static_cast<int>(target.type));
  if (first == last) return;
  if (from.slots != nullptr || to.slots != nullptr) {
    auto const first_token = first / r.heads, last_token = (last - 1) / r.heads + 1;
    check_slots("from", from, first_token, last_token);
    if (!in_place) check_slots("to", to, first_token, last_token);
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
      .scale = std::bit_cast<std::uint64_t>(r.scale) != 0 ? r.scale : 1,
      .weight = r.weight};
  bool const strided = from.slots == nullptr && to.slots == nullptr;
  if (one_batch && strided && first == 0 && last == all_heads) return kernel(plan);
  rotation_in_parts(plan, from, to, r.from.type, target.type, rows_of_batches)
      .run(kernel, first, last);
}

}  // namespace
}  // namespace posenc_kernels

posenc1_status posenc1_rotate(posenc1_rotation const* rotation, size_t first, size_t last) {
  return posenc_kernels::guarded([&] {
    posenc_kernels::require_given("posenc1_rotate", rotation);
    posenc_kernels::rotate(*rotation, first, last);
  });
}
