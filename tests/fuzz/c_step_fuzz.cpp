// The C API's step, the reading of caches and attention over them: any shapes, formats, strides and
// slots, in memory of exactly their size, some of it at odd addresses. What is right is done, and
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

constexpr std::array<std::size_t, 4> sizes{4, 8, 2, 2};
constexpr std::array types{POSENC1_F32, POSENC1_F16, POSENC1_BF16};

struct shape {
  std::size_t tokens, heads, head_dim;
};

posenc1_layout any_layout(FuzzedDataProvider& in) {
  return in.ConsumeBool() ? POSENC1_HALVES : POSENC1_INTERLEAVED;
}

posenc1_heads view(FuzzedDataProvider& in, arena& memory, shape const& s, posenc1_layout layout) {
  posenc1_heads h{};
  h.type = types[few(in, 0, 2)], h.layout = layout;
  auto const head = s.head_dim * sizes[h.type];
  h.data = memory.bytes(s.tokens * s.heads * head, sizes[h.type]);
  if (in.ConsumeBool() && s.tokens * s.heads != 0) {  // heads outside tokens, tokens backwards
    auto const of_tokens = static_cast<std::ptrdiff_t>((s.tokens - 1) * head);
    h.head_stride = static_cast<std::ptrdiff_t>(s.tokens * head);
    h.token_stride = -static_cast<std::ptrdiff_t>(head);
    h.data = static_cast<char*>(h.data) + of_tokens;
  }
  return h;
}

posenc1_cache cache(FuzzedDataProvider& in, arena& memory, shape const& s, posenc1_format format,
                    posenc1_layout layout) {
  posenc1_cache c{};
  std::size_t codes = 0, scales = 0;
  must(posenc1_format_bytes(format, s.head_dim, &codes, &scales) == POSENC1_OK, "has bytes");
  c.format = format, c.layout = layout;
  c.page_tokens = few(in, 1, 4), c.pages = (s.tokens + c.page_tokens - 1) / c.page_tokens;
  c.pages += few(in, c.pages == 0 ? 1 : 0, 2);
  auto const all = c.pages * c.page_tokens, heads = all * s.heads;
  if (in.ConsumeBool()) {  // heads outside tokens, pages backwards
    auto const head = static_cast<std::ptrdiff_t>(codes * c.page_tokens),
               page = static_cast<std::ptrdiff_t>(s.heads) * head;
    c.data = memory.bytes(heads * codes, 1) + static_cast<std::ptrdiff_t>(c.pages - 1) * page;
    c.page_stride = -page, c.token_stride = static_cast<std::ptrdiff_t>(codes);
    c.head_stride = head;
    if (scales != 0) c.scales = memory.bytes(heads * scales, 1);
  } else {
    c.data = memory.bytes(heads * (codes + scales), 1);
  }
  if (in.ConsumeBool()) {
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
  if ((format >= POSENC1_FORMAT_INT8_STATIC && format <= POSENC1_FORMAT_E4M3_TRUNCATED) ||
      format == POSENC1_FORMAT_INT4_STATIC)
    c.scale = in.ConsumeBool() ? 0.02 : 0;
  return c;
}

posenc1_format any_format(FuzzedDataProvider& in) {
  auto const n = few(in, 0, 15);
  return static_cast<posenc1_format>(n == 0 ? 0 : n + 1);
}
std::size_t any_dim(FuzzedDataProvider& in, posenc1_format a, posenc1_format b) {
  auto const is = [&](posenc1_format x, posenc1_format y) {
    return a == x || a == y || b == x || b == y;
  };
  if (is(POSENC1_FORMAT_DEEPSEEK_V4, POSENC1_FORMAT_DEEPSEEK_V4_CPU)) return 64 * few(in, 2, 3);
  if (is(POSENC1_FORMAT_Q8_0, POSENC1_FORMAT_Q8_0_AVX2) ||
      is(POSENC1_FORMAT_Q4_0, POSENC1_FORMAT_Q4_0))
    return 32 * few(in, 1, 3);
  if (is(POSENC1_FORMAT_INT4_PER_HEAD, POSENC1_FORMAT_INT4_STATIC)) return 2 * few(in, 1, 35);
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
void break_cache(FuzzedDataProvider& in, posenc1_cache& c, std::size_t tokens) {
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
      set_wild(in, c.layout);
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
void break_set(FuzzedDataProvider& in, posenc1_step_heads& h, std::size_t tokens) {
  switch (few(in, 0, 14)) {
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
      h.scale = wild_number(in);
      break;
    case 8:
      h.rounding = in.ConsumeIntegral<unsigned>();
      break;
    case 9:
      h.from.token_stride = in.ConsumeBool() ? 1 : std::numeric_limits<std::ptrdiff_t>::min();
      break;
    case 10:
      if (h.to_cache.data != nullptr) h.to_cache.data = h.from.data;
      break;
    case 11:
      (in.ConsumeBool() ? h.hadamard : h.from_hadamard) = wild_size(in);
      break;
    default:
      if (h.from_cache.data != nullptr) break_cache(in, h.from_cache, tokens);
      if (h.to_cache.data != nullptr) break_cache(in, h.to_cache, tokens);
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

  posenc1_step step{};
  step.tokens = tokens, step.pairs = few(in, 1, std::max<std::size_t>(dim / 2, 1));
  auto const pairs = step.pairs;
  step.cos_sin = reinterpret_cast<float const*>(memory.bytes(tokens * 2 * pairs * 4, 4));
  auto const layout = any_layout(in);
  bool const rotates = dim > 1;
  auto const fill = [&](posenc1_step_heads& h, std::size_t count, posenc1_format format) {
    h.heads = count, h.head_dim = dim;
    h.from = view(in, memory, {tokens, count, dim}, any_layout(in));
    if (&h != &step.values && in.ConsumeBool()) h.first_dim = POSENC1_LAST_DIMS;
    if (in.ConsumeBool()) h.scale = 0.5;
    if (in.ConsumeBool()) {
      h.norm.eps = 1e-6, h.norm.weight_type = types[few(in, 0, 2)];
      h.norm.place = in.ConsumeBool() ? POSENC1_BEFORE_ROTATION : POSENC1_AFTER_ROTATION;
      auto const bytes = sizes[h.norm.weight_type];
      if (in.ConsumeBool()) {
        h.norm.weight = memory.bytes(dim * bytes, bytes);
        h.norm.plus_one = in.ConsumeBool() ? 1 : 0;
      }
    }
    if (in.ConsumeBool())
      h.rounding = static_cast<unsigned>(few(in, 0, 31)), h.rounded_type = POSENC1_BF16;
    if (in.ConsumeBool()) {
      std::size_t const block = in.ConsumeBool() ? POSENC1_LARGEST_BLOCK : dim & (0 - dim);
      (in.ConsumeBool() ? h.hadamard : h.from_hadamard) = block;
    }
    auto const other = any_layout(in);
    if (in.ConsumeBool()) h.to = view(in, memory, {tokens, count, dim}, other);
    if (in.ConsumeBool()) h.to_cache = cache(in, memory, {tokens, count, dim}, format, other);
  };
  bool right = true;
  if (rotates && in.ConsumeBool()) fill(step.queries, heads * group, v);
  if (rotates && in.ConsumeBool()) fill(step.keys, heads, k);
  if (in.ConsumeBool()) fill(step.values, heads, v);
  // In place, heads lie in one layout.
  for (auto* const h : {&step.queries, &step.keys, &step.values})
    if (h->to.data == nullptr && h->to_cache.data == nullptr && h->heads != 0 && in.ConsumeBool())
      h->from_cache = cache(in, memory, {tokens, h->heads, dim}, v, any_layout(in)),
      h->from.data = nullptr;
  std::size_t part = 0, parts = few(in, 1, 4);
  for (auto wrongs = few(in, 0, 2); wrongs > 0; --wrongs) {
    right = false;
    std::array const sets{&step.queries, &step.keys, &step.values};
    auto const what = few(in, 0, 9);
    if (what == 0) step.cos_sin = nullptr;
    if (what == 1) step.pairs = in.ConsumeBool() ? 0 : wild_size(in);
    if (what == 2) part = wild_size(in);
    if (what == 3) parts = 0;
    if (what == 4) step.values.to_cache = step.keys.to_cache;
    auto* const h = sets[few(in, 0, 2)];
    if (what > 4 && h->heads != 0) break_set(in, *h, tokens);
  }
  memory.keep();
  bool done = true;
  for (auto i = part; i == part || (right && i < parts); ++i) {
    auto const status = posenc1_write_step(&step, i, parts);
    must(status == POSENC1_OK || !right, posenc1_error());
    done = done && status == POSENC1_OK;
  }
  if (!done) refused(memory);

  // What caches have, right or wrong, is read and attended to.
  posenc1_attention a{};
  a.tokens = tokens, a.heads = heads * group, a.kv_heads = heads;
  a.head_dim = a.value_dim = dim;
  a.queries = view(in, memory, {1, a.heads, dim}, layout);
  a.outputs = view(in, memory, {1, a.heads, dim}, layout);
  auto const keys = cache(in, memory, of_keys, k, layout),
             values = cache(in, memory, of_keys, v, layout);
  if (in.ConsumeBool()) a.keys = view(in, memory, of_keys, layout);
  if (in.ConsumeBool()) a.values = view(in, memory, of_keys, layout);
  if (a.keys.data == nullptr) a.key_cache = keys;
  if (a.values.data == nullptr) a.value_cache = values;
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
    if (what == 4) set_unknown(in, a.queries.type);  // a known one would reach farther
    if (what == 5) a.outputs.data = in.ConsumeBool() ? nullptr : a.queries.data;
    if (what == 6 && a.key_cache.slots == nullptr && a.value_cache.slots == nullptr)
      a.tokens = wild_size(in);
    if (what == 7) a.queries.data = nullptr;
    if (what > 7 && a.key_cache.data != nullptr) break_cache(in, a.key_cache, tokens);
    if (what > 7 && a.value_cache.data != nullptr) break_cache(in, a.value_cache, tokens);
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
  auto* const numbers = reinterpret_cast<float*>(memory.bytes(tokens * heads * dim * 4, 4));
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
  auto const read =
      posenc1_read_cache(&other, tokens, heads, is_wild ? wild_size(in) : dim, numbers);
  must(read == POSENC1_OK || breaks || !right, posenc1_error());
  if (read != POSENC1_OK) refused(memory);
  return 0;
}
