// The C API's rotation, to and from caches, and attention over them: any shapes, formats, strides
// and slots, in memory of exactly their size, codes at odd addresses. What is right is done, and
// what is refused changes no byte.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "must.hpp"
#include "posenc/posenc.h"

namespace {

using fuzz::must;

// Memory of exact sizes, and what it was.
class arena {
 public:
  explicit arena(FuzzedDataProvider& in) : in_(in) {}

  /// So many bytes at a multiple of `aligned`; the address after them is not ours.
  char* bytes(std::size_t n, std::size_t aligned) {
    auto const before = in_.ConsumeIntegralInRange<std::size_t>(0, 3) * aligned;
    blocks_.push_back({std::make_unique<char[]>(before + n), before + n, {}});
    auto* const first = blocks_.back().data.get();
    bool const wild = in_.ConsumeIntegralInRange(0, 3) == 0;
    for (std::size_t i = 0; i < before + n; ++i)
      first[i] = static_cast<char>(wild ? i * 151 + i / 7 * 89 : i % 2 == 0 ? i / 8 : 60 + i % 3);
    return first + before;
  }
  void keep() {
    for (auto& b : blocks_) b.was.assign(b.data.get(), b.data.get() + b.size);
  }
  bool is_as_it_was() const {
    return std::ranges::all_of(blocks_, [](auto const& b) {
      return std::equal(b.was.begin(), b.was.end(), b.data.get());
    });
  }

 private:
  struct block {
    std::unique_ptr<char[]> data;
    std::size_t size;
    std::vector<char> was;
  };
  FuzzedDataProvider& in_;
  std::vector<block> blocks_;
};

std::size_t few(FuzzedDataProvider& in, std::size_t least, std::size_t most) {
  return in.ConsumeIntegralInRange(least, most);
}

constexpr std::array<std::size_t, 5> sizes{0, 4, 8, 2, 2};  // of formats of numbers
constexpr std::array types{POSENC1_F32, POSENC1_F16, POSENC1_BF16};

struct shape {
  std::size_t tokens, heads, head_dim;
};

posenc1_layout any_layout(FuzzedDataProvider& in) {
  return in.ConsumeBool() ? POSENC1_HALVES : POSENC1_INTERLEAVED;
}

posenc1_heads view(FuzzedDataProvider& in, arena& memory, shape const& s) {
  posenc1_heads h{};
  h.format = types[few(in, 0, 2)];
  auto const head = s.head_dim * sizes[h.format];
  h.data = memory.bytes(s.tokens * s.heads * head, sizes[h.format]);
  if (in.ConsumeBool() && s.tokens * s.heads != 0) {  // heads outside tokens, tokens backwards
    auto const of_tokens = static_cast<std::ptrdiff_t>((s.tokens - 1) * head);
    h.head_stride = static_cast<std::ptrdiff_t>(s.tokens * head);
    h.token_stride = -static_cast<std::ptrdiff_t>(head);
    h.data = static_cast<char*>(h.data) + of_tokens;
  }
  return h;
}

posenc1_heads cache(FuzzedDataProvider& in, arena& memory, shape const& s, posenc1_format format) {
  posenc1_heads c{};
  std::size_t codes = 0, scales = 0;
  must(posenc1_format_bytes(format, s.head_dim, &codes, &scales) == POSENC1_OK, "has bytes");
  c.format = format;
  auto const aligned = format <= POSENC1_BF16 ? sizes[format] : 1;
  bool const paged = in.ConsumeBool(), strided = in.ConsumeBool();
  c.page_tokens = paged ? few(in, 1, 4) : s.tokens;
  c.pages = paged ? (s.tokens + c.page_tokens - 1) / c.page_tokens : 1;
  if (paged) c.pages += few(in, c.pages == 0 ? 1 : 0, 2);
  auto const all = c.pages * c.page_tokens, heads = all * s.heads;
  if (strided && heads != 0) {  // heads outside tokens, pages backwards
    auto const head = static_cast<std::ptrdiff_t>(codes * c.page_tokens),
               page = static_cast<std::ptrdiff_t>(s.heads) * head;
    c.data = memory.bytes(heads * codes, aligned) + static_cast<std::ptrdiff_t>(c.pages - 1) * page;
    c.page_stride = -page, c.token_stride = static_cast<std::ptrdiff_t>(codes);
    c.head_stride = head;
  } else {
    c.data = memory.bytes(heads * (codes + (paged ? scales : 0)), aligned);
  }
  if (scales != 0 && ((strided && heads != 0) || !paged))
    c.scales = memory.bytes(heads * scales, 1);
  if (!paged) c.pages = c.page_tokens = 0;
  if (paged) {
    std::vector<std::int64_t> free(all);
    for (std::size_t i = 0; i < all; ++i) free[i] = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> slots(s.tokens);
    for (auto& slot : slots) {
      auto const at = free.begin() + static_cast<std::ptrdiff_t>(few(in, 0, free.size() - 1));
      slot = in.ConsumeIntegralInRange(0, 4) == 0 ? -1 : *at;
      free.erase(at);
    }
    auto* const at = memory.bytes(s.tokens * sizeof(std::int64_t), 8);
    if (s.tokens != 0) std::memcpy(at, slots.data(), s.tokens * sizeof(std::int64_t));
    c.slots = reinterpret_cast<std::int64_t const*>(at);
  }
  if ((format >= POSENC1_INT8_STATIC && format <= POSENC1_E4M3_TRUNCATED) ||
      format == POSENC1_INT4_STATIC)
    c.scale = 0.02;
  return c;
}

posenc1_format any_format(FuzzedDataProvider& in) {
  auto const n = few(in, 1, 20);
  return static_cast<posenc1_format>(n == 1 ? 1 : n + 1);
}
std::size_t any_dim(FuzzedDataProvider& in, posenc1_format a, posenc1_format b) {
  auto const is = [&](posenc1_format x, posenc1_format y) {
    return a == x || a == y || b == x || b == y;
  };
  if (is(POSENC1_DEEPSEEK_V4, POSENC1_DEEPSEEK_V4_CPU)) return 64 * few(in, 2, 3);
  if (is(POSENC1_Q8_0, POSENC1_Q8_0_AVX2) || is(POSENC1_Q4_0, POSENC1_Q4_1) ||
      is(POSENC1_Q5_0, POSENC1_Q5_1) || is(POSENC1_IQ4_NL, POSENC1_IQ4_NL))
    return 32 * few(in, 1, 3);
  if (is(POSENC1_INT4_PER_HEAD, POSENC1_INT4_STATIC)) return 2 * few(in, 1, 35);
  return few(in, 1, 70);
}

// What no size, pointer, code or number of the API may break.
std::size_t wild_size(FuzzedDataProvider& in) {
  return in.ConsumeBool() ? SIZE_MAX - few(in, 0, 9) : SIZE_MAX / 2 - few(in, 0, 9);
}
double wild_number(FuzzedDataProvider& in) {
  std::array const all{std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity(), -1.0, 1e300, 1e-300};
  return all[few(in, 0, all.size() - 1)];
}
template <class Enum>
void set_wild(FuzzedDataProvider& in, Enum& code) {
  auto const bits = in.ConsumeBool() ? in.ConsumeIntegral<std::uint32_t>() | 0x20
                                     : static_cast<std::uint32_t>(few(in, 0, 31));
  std::memcpy(&code, &bits, sizeof bits);
}
template <class Enum>
void set_unknown(FuzzedDataProvider& in, Enum& code) {
  auto const bits = in.ConsumeIntegral<std::uint32_t>() | 0x20;
  std::memcpy(&code, &bits, sizeof bits);
}
void break_cache(FuzzedDataProvider& in, posenc1_heads& c, std::size_t tokens) {
  switch (few(in, 0, 9)) {
    case 0:
      c.data = nullptr;
      break;
    case 1:
      c.page_tokens = in.ConsumeBool() ? 0 : wild_size(in);
      break;
    case 2:
      c.pages = in.ConsumeBool() ? 0 : wild_size(in);
      break;
    case 3:
      set_wild(in, c.format);
      break;
    case 4:
      c.scale = wild_number(in);
      break;
    case 5:
      c.inverse = wild_number(in);
      break;
    case 6:
      c.page_stride = std::numeric_limits<std::ptrdiff_t>::min() + (in.ConsumeBool() ? 0 : 1);
      break;
    case 7:
      c.scales = in.ConsumeBool() ? c.data : nullptr;
      break;
    default:
      if (c.slots == nullptr || tokens == 0) break;
      auto* const slots = const_cast<std::int64_t*>(c.slots);
      slots[few(in, 0, tokens - 1)] =
          in.ConsumeBool() ? std::numeric_limits<std::int64_t>::max() - 1 : slots[0];
  }
}
void break_operand(FuzzedDataProvider& in, posenc1_operand& h, std::size_t tokens) {
  switch (few(in, 0, 15)) {
    case 0:
      h.from.data = nullptr;
      break;
    case 1:
      if (h.to.data != nullptr) h.to.data = h.from.data;
      break;
    case 2:
      h.heads = wild_size(in);
      break;
    case 3:
      h.head_dim = in.ConsumeBool() ? 0 : wild_size(in);
      break;
    case 4:
      h.first_dim = wild_size(in);
      break;
    case 5:
      h.norm.eps = wild_number(in);
      break;
    case 6:
      set_wild(in, h.norm.kind), set_wild(in, h.norm.place), set_wild(in, h.norm.eps_place);
      break;
    case 7:
      h.factor = wild_number(in);
      break;
    case 8:
      h.rounding = in.ConsumeIntegral<unsigned>();
      break;
    case 9:
      h.from.token_stride = in.ConsumeBool() ? 1 : std::numeric_limits<std::ptrdiff_t>::min();
      break;
    case 10:
      if (h.also_to.data != nullptr) h.also_to.data = h.from.data;
      break;
    case 11:
      (in.ConsumeBool() ? h.hadamard : h.from_hadamard) = wild_size(in);
      break;
    case 12:
      set_wild(in, in.ConsumeBool() ? h.layout : h.to_layout);
      break;
    default:
      if (h.to.data != nullptr) break_cache(in, h.to, tokens);
      if (h.also_to.data != nullptr) break_cache(in, h.also_to, tokens);
  }
}

void refused(arena const& memory) {
  must(memory.is_as_it_was(), "refused, and changed something");
  must(std::string_view(posenc1_error()).starts_with("posenc: posenc1_") ||
           std::string_view(posenc1_error()).find("head_dim") != std::string_view::npos,
       "refused without its name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  FuzzedDataProvider in(data, size);
  arena memory(in);
  auto const k = any_format(in), v = any_format(in);
  auto const dim = any_dim(in, k, v), heads = few(in, 1, 3), tokens = few(in, 0, 9),
             group = few(in, 1, 3);
  shape const of_keys{tokens, heads, dim};

  posenc1_rows rows{};
  rows.tokens = tokens, rows.pairs = few(in, 1, std::max<std::size_t>(dim / 2, 1));
  auto const pairs = rows.pairs;
  rows.heads = in.ConsumeBool() ? heads : 0;
  rows.cos_sin = memory.bytes(std::max<std::size_t>(rows.heads, 1) * tokens * 2 * pairs * 4, 4);
  bool const rotates = dim > 1;
  std::array<posenc1_operand, 3> operands{};
  std::size_t count = 0;
  auto const add = [&](std::size_t of_each, posenc1_format format, bool values) {
    auto& h = operands[count++];
    h.heads = of_each, h.head_dim = dim;
    shape const s{tokens, of_each, dim};
    h.layout = values ? POSENC1_UNROTATED : any_layout(in);
    bool const encoded = in.ConsumeBool();
    h.from = encoded ? cache(in, memory, s, v) : view(in, memory, s);
    if (!values && in.ConsumeBool()) h.first_dim = POSENC1_LAST_DIMS;
    if (in.ConsumeBool()) h.factor = 0.5;
    if (in.ConsumeBool()) {
      h.norm.eps = 1e-6;
      h.norm.place = in.ConsumeBool() ? POSENC1_BEFORE_ROTATION : POSENC1_AFTER_ROTATION;
      if (in.ConsumeBool()) {
        h.norm.weight_format = types[few(in, 0, 2)];
        auto const bytes = sizes[h.norm.weight_format];
        h.norm.weight = memory.bytes(dim * bytes, bytes);
        h.norm.plus_one = in.ConsumeBool() ? 1 : 0;
      }
    }
    if (in.ConsumeBool())
      h.rounding = static_cast<unsigned>(few(in, 1, 31)), h.rounded_to = POSENC1_BF16;
    if (in.ConsumeBool()) {
      std::size_t const block = in.ConsumeBool() ? POSENC1_LARGEST_BLOCK : dim & (0 - dim);
      (in.ConsumeBool() ? h.hadamard : h.from_hadamard) = block;
    }
    if (in.ConsumeBool()) h.to = view(in, memory, s);
    if (in.ConsumeBool()) h.also_to = cache(in, memory, s, format);
    if (!values && h.to.data != nullptr && in.ConsumeBool()) h.to_layout = any_layout(in);
  };
  bool right = true;
  if (rotates && in.ConsumeBool()) add(heads * group, v, false);
  if (rotates && in.ConsumeBool()) add(heads, k, false);
  if (in.ConsumeBool()) add(heads, v, true);
  std::size_t part = 0, parts = few(in, 1, 4);
  for (auto wrongs = few(in, 0, 2); wrongs > 0; --wrongs) {
    right = false;
    auto const what = few(in, 0, 10);
    if (what == 0) rows.cos_sin = nullptr;
    if (what == 1) rows.pairs = in.ConsumeBool() ? 0 : wild_size(in);
    if (what == 2) part = wild_size(in);
    if (what == 3) parts = 0;
    if (what == 4) (in.ConsumeBool() ? rows.batches : rows.rows) = wild_size(in);
    if (what == 5) rows.heads = wild_size(in);
    if (what == 6 && count > 1) operands[1].also_to = operands[0].also_to;
    if (what > 6 && count > 0) break_operand(in, operands[few(in, 0, count - 1)], tokens);
  }
  memory.keep();
  bool done = true;
  for (auto i = part; i == part || (right && i < parts); ++i) {
    auto const status = posenc1_rotate(&rows, operands.data(), count, i, parts);
    must(status == POSENC1_OK || !right, posenc1_error());
    done = done && status == POSENC1_OK;
  }
  if (!done) refused(memory);

  // What caches have, right or wrong, is read and attended to.
  posenc1_attention a{};
  a.tokens = tokens, a.heads = heads * group, a.kv_heads = heads;
  a.head_dim = a.value_dim = dim, a.query_tokens = 1;
  a.queries = view(in, memory, {1, a.heads, dim});
  a.outputs = view(in, memory, {1, a.heads, dim});
  auto const keys = cache(in, memory, of_keys, k), values = cache(in, memory, of_keys, v);
  a.keys = in.ConsumeBool() ? view(in, memory, of_keys) : keys;
  a.values = in.ConsumeBool() ? view(in, memory, of_keys) : values;
  if (in.ConsumeBool())
    a.sinks = reinterpret_cast<double const*>(memory.bytes(a.heads * sizeof(double), 8));
  right = true;
  for (auto wrongs = few(in, 0, 2); wrongs > 0; --wrongs) {
    right = false;
    auto const what = few(in, 0, 9);
    if (what == 0) a.heads = wild_size(in);
    if (what == 1) a.kv_heads = wild_size(in);
    if (what == 2) a.head_dim = in.ConsumeBool() ? 0 : wild_size(in);
    if (what == 3) a.scale = wild_number(in);
    if (what == 4) set_unknown(in, a.queries.format);  // a known one would reach farther
    if (what == 5) a.outputs.data = in.ConsumeBool() ? nullptr : a.queries.data;
    if (what == 6 && a.keys.slots == nullptr && a.values.slots == nullptr) a.tokens = wild_size(in);
    if (what == 7) a.queries.data = nullptr;
    if (what > 7) break_cache(in, in.ConsumeBool() ? a.keys : a.values, tokens);
  }
  auto const first = few(in, 0, heads), last = few(in, first, heads);
  auto const asked = posenc1_attention_memory(&a, first, last, &a.memory_bytes);
  must(asked == POSENC1_OK || !right, posenc1_error());
  bool const fits = asked == POSENC1_OK && a.memory_bytes < (std::size_t{1} << 24);
  // Scratch memory may be written before it is found too small.
  std::unique_ptr<std::byte[]> const scratch(new std::byte[fits ? a.memory_bytes : 0]);
  if (fits && a.memory_bytes > 0) a.memory = scratch.get();
  bool const lacks = fits && a.memory_bytes > 0 && in.ConsumeIntegralInRange(0, 9) == 0;
  if (lacks) --a.memory_bytes;
  auto* const numbers = memory.bytes(tokens * heads * dim * 4, 4);
  memory.keep();
  auto const attended = posenc1_attend(&a, first, last);
  must(attended == POSENC1_OK || !right || lacks, posenc1_error());
  must(attended != POSENC1_OK || (fits && !lacks), "attended without memory");
  if (attended != POSENC1_OK) refused(memory);

  auto other = keys;
  bool const breaks = in.ConsumeBool();
  if (breaks) break_cache(in, other, tokens);
  memory.keep();
  auto const is_wild = breaks && in.ConsumeBool();
  posenc1_operand decoded{};
  decoded.from = other, decoded.to.data = numbers, decoded.to.format = POSENC1_F32;
  decoded.heads = heads, decoded.head_dim = is_wild ? wild_size(in) : dim;
  decoded.layout = POSENC1_UNROTATED;
  posenc1_rows none{};
  none.tokens = tokens;
  auto const read = posenc1_rotate(&none, &decoded, 1, 0, 1);
  must(read == POSENC1_OK || breaks || !right, posenc1_error());
  if (read != POSENC1_OK) refused(memory);
  return 0;
}
