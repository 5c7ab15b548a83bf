// A layer's step: 32 query heads in place, 8 heads of keys and 8 of values to a cache, of 128 dims.
//
// Tried, ns per head of 128 floats in L1, Zen 4, g++ -O3:
//     codes written where they belong, number by number    u8 67, q8_0 550: bytes may be anyone's
//     limits compared as floats      static int8 48; as integers 13: NaN forbids to vectorise them
//     the largest magnitude found by a compiled loop of 16 numbers    u8 66; in registers 33
// Zen 5, the same by compiled blocks of 32 -> in registers, with the CPU's stores of low bytes:
//     E4M3 29 -> 14, u8 36 -> 21, q8_0 48 -> 26, static int8 14 -> 10, int8 with its scale 12.6
//     -> 11.7 decoding: E4M3 25 -> 13, u8 8.7 -> 4.6, int8 6.4 -> 4.2
//     sums of squares of 16 heads together, not one by one    3.3 -> 1.8 per head
// Zen 5, kernels of their own with intrinsics:
//     E4M3 rounded by one sum for normal and subnormal codes    13.3 -> 10.1
//     its codes packed from four registers by three instructions    10.8
//     bfloat16 by one conversion for two registers    4.8 -> 2.7; without its guard 1.6; rounded in
//     integers without a branch (VNNI) 4.4, subnormals made normal before the conversion 3.9
//     norm and rotation of 32 heads of a token in two passes, the second in L1    6.5; of 512
//     tokens 9.8, if the next token is asked for while this one rotates 7.2; its squares summed
//     between the rotations of this one 7.3; norm and rotation in one pass, a head in registers,
//     8.1 and 9.3
//     all of a step, 1 token: bfloat16 5.9, int8 7.6, E4M3 8.5, q8_0 9.3, u8 10.0; 512 tokens 11.4,
//     11.2, 12.2, 13.4, 14.4 of 6 to 7 for their bytes; token by token over all three sets, no
//     faster than set by set; without the norm 7.7 to 10
//     queries written past the caches: of 1 token 3 times as long, of 512 as without prefetch, of
//     4096 5 % faster to 25 % slower than with
//     u8 with the minimum and maximum compared as floats 12.5, ordered integers 15.6; of 8 heads at
//     once 9.3, 4 13.2; of three orders of bits, not two of ordered ones, 9.8; packed with
//     saturation 9.3, clamped 9.8
//     q8_0 of 4 groups at once 13.0, 16 9.5; int8 of a head 7.2, of 4 8.9, of 8 6.0
//     E4M3 without a look for NaN 7.3, with 8.4; bfloat16 with one test per head 2.0, four 2.7
// Zen 5, posenc:
//     squares of a head by a loop of four turns or at once; 1 / head_dim as a factor; a gain
//     loaded once per head                                    0 to 5 % faster
//     values of the next token prefetched                     8 % slower
//     of one token: the hulls of all sets compared before their views 2 % faster; no division where
//     there is one task, no faster
//     the scales of 16 heads in an array, divided one by one    a head of int8 47, in registers 14
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation/limits.hpp"
#include "suites.hpp"

namespace bench {
namespace {

using posenc::heads_view, posenc::halves, posenc::rotated, posenc::unrotated;

constexpr std::size_t head_dim = 128, q_heads = 32, kv_heads = 8, page_tokens = 16;
constexpr float eps = 1e-6f;

std::vector<std::int64_t> in_order(std::size_t count, std::int64_t first) {
  std::vector<std::int64_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

template <class S, class Format>
struct layer {
  Format format;
  std::size_t tokens;
  // From the start of a cache line: 16 bytes off, floats take 1.4 times as long, posenc's or not.
  template <class T>
  using line_vector = std::vector<T, posenc::detail::line_allocator<T>>;
  line_vector<S> q, k, v;
  std::vector<float> weight = std::vector<float>(head_dim, 1.01f);
  line_vector<float> rotated_keys;
  std::vector<std::int64_t> slots;
  line_vector<std::byte> k_pages, v_pages;
  posenc::cos_sin_rows<float> rows{posenc::geometric(head_dim, 1e4), in_order(tokens, 100'003)};

  layer(Format const& f, std::size_t n)
      : format(f), tokens(n), q(n * q_heads * head_dim), k(n * kv_heads * head_dim), v(k.size()) {
    for (auto* const x : {&q, &k, &v})
      for (std::size_t i = 0; i < x->size(); ++i)
        posenc::store((*x)[i], static_cast<float>(i * 37 % 101) / 50 - 1);
    rotated_keys.resize(k.size());
    slots = in_order(n, 0);
    for (auto& slot : slots) slot ^= 16;  // pages in another order
    auto bytes = format.bytes(head_dim);
    if constexpr (posenc::scaled_format<Format>) bytes += format.scale_bytes(head_dim);
    k_pages.resize(pages().pages * page_tokens * kv_heads * bytes);
    v_pages = k_pages;
  }
  posenc::pages_shape pages() const {
    return {tokens / page_tokens + 2, page_tokens, kv_heads, head_dim};
  }
  heads_view<S> view(line_vector<S>& x, std::size_t heads) {
    return {x.data(), {tokens, heads, head_dim}};
  }
  heads_view<Format, posenc::in_pages> cache(line_vector<std::byte>& memory) {
    return {format, memory.data(), pages(), slots};
  }
  std::size_t heads() const { return tokens * (q_heads + 2 * kv_heads); }

  void step() {
    posenc::rotate(rows, rotated<halves>(view(q, q_heads)).norm({weight, eps}),
                   rotated<halves>(view(k, kv_heads), cache(k_pages)).norm({weight, eps}),
                   unrotated(view(v, kv_heads), cache(v_pages)));
  }
  void rotate_alone() {
    posenc::rotate(rows, rotated<halves>(view(q, q_heads)).norm({weight, eps}),
                   rotated<halves>(view(k, kv_heads)).norm({weight, eps}));
  }
  // Norm, rotation and encoding one after another, each posenc's.
  void separate_passes() {
    auto const queries = view(q, q_heads);
    heads_view<float> const keys(rotated_keys.data(), {tokens, kv_heads, head_dim});
    posenc::rotate(rows, unrotated(queries, queries).norm({weight, eps}));
    posenc::rotate<halves>(queries, rows);
    posenc::rotate(rows, unrotated(view(k, kv_heads), keys).norm({weight, eps}));
    posenc::rotate<halves>(keys, rows);
    posenc::rotate(rows, unrotated(keys, cache(k_pages)));
    posenc::rotate(rows, unrotated(view(v, kv_heads), cache(v_pages)));
  }
  // What a compiler makes of the formula, head by head.
  void plain_loop() {
    float x[head_dim];
    auto const turn = [&](S const* from, std::size_t t) {
      float squares = 0;
      for (std::size_t i = 0; i < head_dim; ++i)
        x[i] = posenc::load(from[i]), squares += x[i] * x[i];
      auto const gain = 1 / std::sqrt(squares / head_dim + eps);
      auto const *const cos = rows.cos(t).data(), *const sin = rows.sin(t).data();
      for (std::size_t i = 0; i < head_dim / 2; ++i) {
        auto const a = x[i] * weight[i] * gain,
                   b = x[i + head_dim / 2] * weight[i + head_dim / 2] * gain;
        x[i] = a * cos[i] - b * sin[i], x[i + head_dim / 2] = a * sin[i] + b * cos[i];
      }
    };
    auto const k_cache = cache(k_pages), v_cache = cache(v_pages);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t h = 0; h < q_heads; ++h) {
        auto* const head = q.data() + (t * q_heads + h) * head_dim;
        turn(head, t);
        for (std::size_t i = 0; i < head_dim; ++i) posenc::store(head[i], x[i]);
      }
      for (std::size_t h = 0; h < kv_heads; ++h) {
        auto const at = (t * kv_heads + h) * head_dim;
        turn(k.data() + at, t), k_cache.write(t, h, x);
        for (std::size_t i = 0; i < head_dim; ++i) x[i] = posenc::load(v[at + i]);
        v_cache.write(t, h, x);
      }
    }
  }
  // The same bytes, read once and written once.
  void read_and_write() {
    scalings<S>().back()(q.data(), 1, 0, q.size(), -1.0f);
    auto const copy = [&](line_vector<S> const& from, line_vector<std::byte>& to) {
      auto const written = to.size() / pages().pages / page_tokens / kv_heads;
      auto const* source = reinterpret_cast<std::byte const*>(from.data());
      for (std::size_t i = 0; i < tokens * kv_heads; ++i, source += head_dim * sizeof(S)) {
        std::uint64_t rest = 0, word;
        for (auto at = std::min(written, head_dim * sizeof(S)) / 8 * 8; at < head_dim * sizeof(S);
             at += 8)
          std::memcpy(&word, source + at, 8), rest ^= word;
        auto* const target = to.data() + i * written;
        std::memcpy(target, source, std::min(written, head_dim * sizeof(S)));
        std::memcpy(target, &rest, 1);
      }
    };
    copy(k, k_pages), copy(v, v_pages);
  }
};

template <class S, class Format>
void add_step(report& r, table const* t, std::string const& line, Format const& format) {
  for (std::size_t const tokens : {1u, 512u}) {
    auto const x = std::make_shared<layer<S, Format>>(format, tokens);
    report_case c{.in = t,
                  .line = line,
                  .column = std::to_string(tokens) + (tokens == 1 ? " token" : " tokens"),
                  .by = "posenc",
                  .items = x->heads(),
                  .ways = {passes_of([x] { x->step(); })}};
    auto const add = [&](std::string const& by, work const& way) {
      auto other = c;
      other.by = by, other.ways = {way};
      return r.add(std::move(other));
    };
    auto const* const limit = add("limit", passes_of([x] { x->read_and_write(); }));
    std::vector<measured_case const*> const baselines{
        add("separate passes", passes_of([x] { x->separate_passes(); })),
        add("plain loop", passes_of([x] { x->plain_loop(); }))};
    add("rotate alone", passes_of([x] { x->rotate_alone(); }));
    c.limit = limit, c.baselines = baselines;
    r.add(std::move(c));
  }
}

template <class S>
void add_formats(report& r, table const* t, std::string const& from) {
  add_step<S>(r, t, from + " to bf16", posenc::numbers_of<posenc::bfloat16>{});
  add_step<S>(r, t, from + " to E4M3", posenc::e4m3::of_scale(0.01f));
  add_step<S>(r, t, from + " to u8", posenc::u8_per_head{});
  add_step<S>(r, t, from + " to int8", posenc::int8_per_head{});
  add_step<S>(r, t, from + " to q8_0", posenc::q8_0{});
  add_step<S>(r, t, from + " to q4_0", posenc::q4_0{});
}

}  // namespace

void add_cache(report& r) {
  auto const* const t = r.add(
      table{.path = "cache",
            .title = "A step into a cache",
            .note = "32 query heads in place, 8 of keys and 8 of values to pages, of 128 dims; ns "
                    "per head. The limit reads and writes the same bytes; the baselines do norm, "
                    "rotation and encoding one after another, and in a plain loop over heads."});
  add_formats<float>(r, t, "float");
  add_formats<posenc::bfloat16>(r, t, "bf16");
}

}  // namespace bench
