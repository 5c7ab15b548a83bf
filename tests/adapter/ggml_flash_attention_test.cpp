#include "posenc/adapter/ggml_flash_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <ostream>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "executors.hpp"
#include "numbers.hpp"
#include "oracle/ggml_flash_attention.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/encoding/scheme.hpp"
#include "sanitized.hpp"

namespace flash { namespace {

using namespace posenc;

// What an engine's op has.
struct tensor {
  int type;
  std::int64_t ne[4];
  std::size_t nb[4];
  std::int32_t op_params[16];
  tensor* src[10];
  void* data;
};

// What an op of ggml's is given, and what an older one was.
struct older_params {
  int ith, nth;
  std::size_t wsize;
  void* wdata;
};
struct params : older_params {
  bool use_ref = false;
};
params in_worker(std::size_t i, std::size_t workers, std::span<std::byte> memory) {
  return {{static_cast<int>(i), static_cast<int>(workers), memory.size(), memory.data()}};
}

enum type {
  f32 = 0,
  f16 = 1,
  q4 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8 = 8,
  iq4_nl = 20,
  bf16 = 30
};
struct block {
  std::size_t numbers, bytes;
};
block block_of(int type) {
  switch (type) {
    case q4:
    case iq4_nl:
      return {32, 18};
    case q4_1:
      return {32, 20};
    case q5_0:
      return {32, 22};
    case q5_1:
      return {32, 24};
    case q8:
      return {32, 34};
    default:
      return {1, type == f32 ? 4u : 2u};
  }
}

// Whether ggml's own lengths are computed within seconds; else shorter ones stand for them.
#if defined(__OPTIMIZE__) && defined(__FMA__)
constexpr bool is_fast = !is_sanitized;
#else
constexpr bool is_fast = false;
#endif

// Numbers that tensors of all cases lie in, as a type stores them and as they are read.
struct pool {
  std::vector<std::byte> bytes;
  std::vector<double> numbers;

  template <class T>
  void store(std::vector<T> const& stored) {
    bytes.resize(stored.size() * sizeof(T));
    std::memcpy(bytes.data(), stored.data(), bytes.size());
    numbers = numbers::exact(stored);
  }
  static pool of(int type, std::size_t count) {
    pool p;
    if (type == f32) p.store(numbers::random<float>(count));
    if (type == f16) p.store(numbers::random<half>(count));
    if (type == bf16) p.store(numbers::random<bfloat16>(count));
    if (type == q8) p.encode(posenc::q8_0(), count);
    if (type == q4) p.encode(posenc::q4_0(), count);
    if (type == q4_1) p.encode(posenc::q4_1(), count);
    if (type == q5_0) p.encode(posenc::q5_0(), count);
    if (type == q5_1) p.encode(posenc::q5_1(), count);
    if (type == iq4_nl) p.encode(posenc::iq4_nl(), count);
    return p;
  }

 private:
  void encode(auto const& format, std::size_t count) {
    auto all = numbers::random<float>(count);
    bytes.resize(format.bytes(count));
    format.encode(all, bytes.data());
    format.decode(bytes.data(), all);
    numbers.assign(all.begin(), all.end());
  }
};
pool const& pool_of(int type) {
  constexpr std::size_t few = is_fast ? 3'500'000 : 2'000'000,
                        many = is_fast ? 9'300'000 : 3'200'000;
  static std::map<int, pool> all;
  auto const at = all.try_emplace(type).first;
  if (at->second.bytes.empty())
    at->second = pool::of(type, type == f16 || type == q8 || type == q4 ? many : few);
  return at->second;
}

// Biases of [-1, 1], and runs of -infinity, some longer than a row.
pool const& pool_of_masks() {
  static pool const masks = [] {
    auto numbers = numbers::random<half>(350'000, 3);
    auto const random = numbers::random<float>(numbers.size(), 4);
    for (std::size_t i = 0, n = 0; i < numbers.size(); ++n) {
      auto const length = static_cast<std::size_t>(std::exp2(9 + 2 * random[n]));
      for (auto const end = std::min(i + length, numbers.size()); i < end; ++i)
        if (n % 2 == 0) numbers[i] = half::from_bits(0xfc00);
    }
    pool p;
    p.store(numbers);
    return p;
  }();
  return masks;
}

// ne = {dim, tokens, heads, batches} from number `first` of a pool on. Of a cache twice as large,
// as ggml's tests have it; permuted: with heads before tokens.
struct in_pool {
  pool const* numbers;
  tensor t{};
  block of;

  in_pool(pool const& all, int type, std::size_t first, std::array<std::size_t, 4> ne,
          bool of_cache = false, bool permuted = false)
      : numbers(&all), of(block_of(type)) {
    t.type = type;
    auto const dim = ne[0] / of.numbers * of.bytes, whole = std::size_t{of_cache ? 2u : 1u};
    t.nb[0] = of.bytes;
    t.nb[permuted ? 2 : 1] = dim;
    t.nb[permuted ? 1 : 2] = dim * whole * (permuted ? ne[2] : ne[1]);
    t.nb[3] = dim * whole * ne[1] * ne[2];
    for (std::size_t i = 0; i < 4; ++i) t.ne[i] = static_cast<std::int64_t>(ne[i]);
    auto const begin = first / of.numbers * of.bytes;
    t.data = const_cast<std::byte*>(all.bytes.data()) + begin;
    if (begin + ne[3] * t.nb[3] > all.bytes.size())
      throw std::out_of_range("the pool is too small");
  }
  double const* row(std::size_t batch, std::size_t head, std::size_t token) const {
    auto const* const at =
        static_cast<std::byte const*>(t.data) + batch * t.nb[3] + head * t.nb[2] + token * t.nb[1];
    return numbers->numbers.data() +
           static_cast<std::size_t>(at - numbers->bytes.data()) / of.bytes * of.numbers;
  }
};

// As test-backend-ops of ggml has its cases.
struct sizes {
  std::size_t hsk, hsv, nh, nr2, nr3, kv, nb;
  bool mask, sinks;
  float max_bias, logit_softcap;
  int type;
  bool permuted = false, of_cache = true, v_is_view_of_k = false;
  // Broadcasts that ggml's op has and its tests have not.
  std::size_t batches_of_kv = 0, heads_of_mask = 1, batches_of_mask = 0;
  int type_of_values = -1;  // or that of keys

  int value_type() const { return type_of_values == -1 ? type : type_of_values; }
  friend std::ostream& operator<<(std::ostream& to, sizes const& s) {
    return to << "hsk " << s.hsk << " hsv " << s.hsv << " nh " << s.nh << " nr " << s.nr2 << ' '
              << s.nr3 << " kv " << s.kv << " nb " << s.nb << " mask " << s.mask << " sinks "
              << s.sinks << " max_bias " << s.max_bias << " cap " << s.logit_softcap << " type "
              << s.type << ' ' << s.value_type() << " permuted " << s.permuted << " view "
              << s.v_is_view_of_k;
  }
};

struct op {
  sizes size;
  std::size_t heads, batches;
  in_pool q, k, v, m;
  std::vector<float> logits, outputs;
  tensor s{}, dst{};

  static std::size_t padded(std::size_t dim, int type) {
    auto const n = block_of(type).numbers;
    return (dim + n - 1) / n * n;
  }
  static std::size_t or_else(std::size_t x, std::size_t y) { return x == 0 ? y : x; }

  explicit op(sizes const& x)
      : size(x),
        heads(x.nh * x.nr2),
        batches(x.nr3),
        q(pool_of(f32), f32, 5, {padded(x.hsk, x.type), x.nb, heads, x.nr3}, false, x.permuted),
        k(pool_of(x.type), x.type, 64,
          {padded(x.hsk, x.type), x.kv, x.nh, or_else(x.batches_of_kv, x.nr3)}, x.of_cache,
          x.permuted),
        v(pool_of(x.value_type()), x.value_type(), x.v_is_view_of_k ? 64 : 32 * 32 * 777,
          {padded(x.hsv, x.value_type()), x.kv, x.nh, or_else(x.batches_of_kv, x.nr3)}, x.of_cache,
          x.permuted),
        m(pool_of_masks(), f16, 9 * x.nb,
          {x.kv, x.nb, x.heads_of_mask, or_else(x.batches_of_mask, x.nr3)}),
        logits(numbers::random<float>(heads, 7)) {
    if (x.v_is_view_of_k) std::copy_n(k.t.nb, 4, v.t.nb);
    for (auto& logit : logits) logit *= 10;
    auto const dim = static_cast<std::size_t>(v.t.ne[0]);
    outputs.assign(dim * heads * x.nb * x.nr3, std::numeric_limits<float>::quiet_NaN());
    s = {f32,
         {static_cast<std::int64_t>(heads), 1, 1, 1},
         {4, 4 * heads, 4 * heads, 4 * heads},
         {},
         {},
         logits.data()};
    dst = {f32,
           {v.t.ne[0], static_cast<std::int64_t>(heads), q.t.ne[1], q.t.ne[3]},
           {4, 4 * dim, 4 * dim * heads, 4 * dim * heads * x.nb},
           {std::bit_cast<std::int32_t>(scale()), std::bit_cast<std::int32_t>(x.max_bias),
            std::bit_cast<std::int32_t>(x.logit_softcap), 10},
           {&q.t, &k.t, &v.t, x.mask ? &m.t : nullptr, x.sinks ? &s : nullptr},
           outputs.data()};
  }
  op(op const&) = delete;
  op& operator=(op const&) = delete;

  float scale() const { return 1 / std::sqrt(static_cast<float>(size.hsk)); }

  oracle::ggml_flash_attention formula() const {
    auto const of_kv = [per = q.t.ne[3] / k.t.ne[3]](std::size_t batch) {
      return batch / static_cast<std::size_t>(per);
    };
    oracle::ggml_flash_attention f{
        .head_dim = static_cast<std::size_t>(k.t.ne[0]),
        .value_dim = static_cast<std::size_t>(v.t.ne[0]),
        .heads = heads,
        .kv_heads = size.nh,
        .keys = size.kv,
        .scale = static_cast<double>(scale()),
        .max_bias = static_cast<double>(size.max_bias),
        .logit_softcap = static_cast<double>(size.logit_softcap),
        .q = [this](auto b, auto h, auto t) { return q.row(b, h, t); },
        .k = [this, of_kv](auto b, auto h, auto t) { return k.row(of_kv(b), h, t); },
        .v = [this, of_kv](auto b, auto h, auto t) { return v.row(of_kv(b), h, t); }};
    if (size.mask)
      f.mask = [this](auto b, auto h, auto t) {
        return m.row(b % static_cast<std::size_t>(m.t.ne[3]), h % size.heads_of_mask, t);
      };
    if (size.sinks) f.sinks.assign(logits.begin(), logits.end());
    return f;
  }
  std::span<float const> row(std::size_t batch, std::size_t head, std::size_t query) const {
    auto const dim = static_cast<std::size_t>(v.t.ne[0]);
    return {outputs.data() + ((batch * size.nb + query) * heads + head) * dim, dim};
  }
};

// In the memory that the op asks for, on threads.
bool run(op& x, std::size_t workers, ggml_flash_attention_options const& options = {}) {
  std::vector<std::byte> whole(ggml_flash_attention_bytes(x.dst, workers, options) + 1);
  auto const memory = std::span(whole).subspan(1);  // at any address
  executors::barrier barrier(workers);
  std::vector<char> taken(workers);
  auto const act = [&](std::size_t i) {
    taken[i] = ggml_flash_attention(
        in_worker(i, workers, memory), x.dst, [&] { barrier.arrive_and_wait(); }, options);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(act, i);
  act(0);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::ranges::count(taken, taken[0]), static_cast<std::ptrdiff_t>(workers));
  return taken[0] != 0;
}

// The errors of a sum of n numbers of both signs, one after another, are u sqrt(n / 6) of its size,
// in the root of the mean square: partial sums grow as sqrt(n), and each is rounded. Values are
// summed in parts of 512. The bound is twice that, and 4 roundings of weights.
double bound_of_row(std::size_t keys) {
  auto const n = static_cast<double>(std::min<std::size_t>(keys, 512));
  return 0x1p-24 * (2 * std::sqrt(n / 6) + 4);
}

// Errors of rows, in parts of the row's size: of many rows, these are to be small on average.
struct row_errors {
  double squares = 0;
  std::size_t rows = 0;
  double average() const { return std::sqrt(squares / static_cast<double>(rows)); }
};

// Compares some rows with the formula, or all.
void is_the_formula(sizes const& size, std::size_t most_rows, row_errors& all,
                    std::size_t workers = 1) {
  op x(size);
  ASSERT_TRUE(ggml_flash_attention_refusal(x.dst) == nullptr) << size;
  ASSERT_TRUE(run(x, workers)) << size;
  for (auto const y : x.outputs) ASSERT_TRUE(is_finite(static_cast<double>(y))) << size;
  auto const formula = x.formula();
  auto const rows = x.batches * x.heads * size.nb,
             step = std::max<std::size_t>(rows / most_rows, 1);
  for (std::size_t n = 0; n < rows; n += step) {
    auto const i = rows - 1 - n, head = i / size.nb % x.heads, batch = i / size.nb / x.heads;
    auto const expected = formula.row(batch, head, i % size.nb);
    auto const got = x.row(batch, head, i % size.nb);
    double error = 0, square = 0;
    for (std::size_t j = 0; j < got.size(); ++j) {
      auto const difference = static_cast<double>(got[j]) - expected[j];
      error += difference * difference, square += expected[j] * expected[j];
    }
    ASSERT_LE(std::sqrt(error), bound_of_row(size.kv) * std::sqrt(square)) << size << " row " << i;
    if (square != 0) all.squares += error / square, ++all.rows;
  }
}

// Their lengths. Where they are not ggml's, heads of 128 alone have more keys than a part: they
// have every switch.
constexpr std::array<std::size_t, 3> keys_of_cases =
    is_fast ? std::array<std::size_t, 3>{113, 512, 1024} : std::array<std::size_t, 3>{9, 33, 530};
constexpr std::array<std::size_t, 4> queries_of_cases =
    is_fast ? std::array<std::size_t, 4>{1, 3, 32, 75} : std::array<std::size_t, 4>{1, 3, 5, 7};

// The loops of test-backend-ops, but for prec, which is a parameter that changes nothing here.
void for_ggmls_cases(auto const& act) {
  for (std::size_t const hsk : {40u, 64u, 72u, 80u, 96u, 128u, 192u, 256u, 320u, 512u, 576u}) {
    for (std::size_t const hsv : {40u, 64u, 72u, 80u, 96u, 128u, 192u, 256u, 512u}) {
      if (hsk == 576   ? hsv != 512
          : hsk == 320 ? hsv != 256
          : hsk == 192 ? hsv != 128 && hsv != 192
                       : hsv != hsk)
        continue;
      for (unsigned switches = 0; switches < 16; ++switches) {
        bool const mask = switches & 1, sinks = switches & 2, biased = switches & 4,
                   capped = switches & 8;
        if ((biased && !mask) || (capped && hsk != 128)) continue;
        for (std::size_t const nh : {1u, 4u}) {
          if (nh == 1 && hsk != 320 && hsk != 576) continue;
          for (std::size_t const nr3 : {1u, 3u}) {
            if (hsk > 64 && nr3 > 1) continue;
            for (std::size_t const nr2 : {1u, 4u, 8u, 12u, 16u, 20u, 32u}) {
              if ((nr2 == 8 && hsk != 192) || (nr2 == 12 && hsk != 128) ||
                  (nr2 == 16 && hsk != 192) || (nr2 == 20 && (nh != 1 || hsk != 576)) ||
                  (nr2 == 32 && (nh != 1 || hsk != 320)))
                continue;
              for (auto const kv : keys_of_cases) {
                if (nr2 != 1 && kv != keys_of_cases[1]) continue;
                auto const keys = is_fast || hsk == 128 ? kv : std::min<std::size_t>(kv, 70);
                for (auto const nb : queries_of_cases) {
                  for (auto const type : {f32, f16, bf16, q8, q4, q4_1, q5_0, q5_1, iq4_nl}) {
                    if (type != f16 && hsk != 64 && hsk != 72) continue;
                    sizes x{hsk,
                            hsv,
                            nh,
                            nr2,
                            nr3,
                            keys,
                            nb,
                            mask,
                            sinks,
                            biased ? 8.0f : 0,
                            capped ? 10.0f : 0,
                            type,
                            false,
                            true,
                            hsk == 576};
                    act(x);
                    x.permuted = true;
                    if (mask && !biased && !capped && kv == keys_of_cases[1]) act(x);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(ggml_flash_attention, is_ggmls_formula_in_ggmls_cases) {
  std::size_t cases = 0;
  row_errors errors;
  for_ggmls_cases([&](sizes const& x) {
    if (testing::Test::HasFatalFailure()) return;
    cases += x.hsk == 128 ? 2 : 1;
    is_the_formula(x, 4, errors);
  });
  EXPECT_EQ(cases, 5088);
  EXPECT_LE(errors.average(), 4e-7);
}

// Those that test-backend-ops lists one by one, but for the longest four.
TEST(ggml_flash_attention, is_ggmls_formula_in_ggmls_other_cases) {
  row_errors errors;
  auto const check = [&](sizes const& x) { is_the_formula(x, is_fast ? 4 : 2, errors); };
  auto const plain = [](std::size_t hsk, std::size_t hsv, std::size_t nh, std::size_t nr2,
                        std::size_t kv, std::size_t nb, int type, bool permuted = false,
                        bool of_cache = true, bool v_is_view_of_k = false) {
    return sizes{hsk,  hsv,      nh,       nr2,           1, kv, nb, true, false, 0, 0,
                 type, permuted, of_cache, v_is_view_of_k};
  };
  for (std::size_t const kv : {1024u, 2048u}) {
    for (std::size_t const hs : {64u, 128u, 256u}) {
      for (std::size_t const nb : {32u, 64u}) {
        for (auto const type : {f16, q8, q4})
          if (is_fast || (hs == 64 && nb == 32 && kv == 1024))
            check(plain(hs, hs, is_fast ? 8 : 1, 4, kv, nb, type));
      }
    }
  }
  check(plain(256, 256, 2, 16, 113, 1, q8));
  check(plain(256, 256, 2, 16, 1024, 1, q8));
  check(plain(256, 256, 2, 16, 1024, 1, q8, true));
  check({256, 256, 2, 16, 2, 1025, 1, true, true, 8, 30, q8});
  check(plain(576, 512, 1, 20, 113, 1, q8, false, true, true));
  check(plain(576, 512, 1, 20, 1024, 1, q8, false, true, true));
  check(plain(320, 256, 1, 32, 512, 1, f16, false, true, true));
  check(plain(192, 128, 4, 8, 512, 1, f16, false, true, true));
  check(plain(64, 64, 4, 1, 512, 1, q8, false, true, true));
  if (is_fast) {
    check(plain(256, 256, 2, 16, 1025, 64, q8, true));
    check(plain(256, 256, 2, 16, 4096, 1, q8));
    check(plain(576, 512, 1, 20, 1024, 64, q8, false, true, true));
    check(plain(128, 128, 8, 4, 512, 8, f16, false, true, true));
    for (std::size_t const nr2 : {1u, 4u}) check(plain(64, 64, 4, nr2, 512, 75, q8, true, false));
    check(plain(64, 64, 4, 1, 1024, 75, q8, true, false));
    check(plain(64, 64, 4, 1, 512, 75, q8, false, false));
  }
  EXPECT_LE(errors.average(), 4e-7);
}

TEST(ggml_flash_attention, broadcasts_as_ggml_does) {
  row_errors errors;
  sizes x{.hsk = 40,
          .hsv = 24,
          .nh = 2,
          .nr2 = 3,
          .nr3 = 4,
          .kv = 60,
          .nb = 5,
          .mask = true,
          .sinks = true,
          .max_bias = 8,
          .logit_softcap = 3,
          .type = f16};
  for (std::size_t const batches_of_kv : {1u, 2u, 4u}) {
    for (std::size_t const batches_of_mask : {1u, 2u, 4u}) {
      for (std::size_t const heads_of_mask : {1u, 6u}) {
        x.batches_of_kv = batches_of_kv, x.batches_of_mask = batches_of_mask;
        x.heads_of_mask = heads_of_mask;
        is_the_formula(x, 1000, errors);
      }
    }
  }
}

TEST(ggml_flash_attention, may_have_more_queries_than_keys) {
  row_errors errors;
  for (auto const mask : {true, false})
    is_the_formula({32, 32, 2, 2, 2, 7, 40, mask, false, 0, 0, bf16}, 1000, errors);
}

TEST(ggml_flash_attention, takes_keys_of_one_type_and_values_of_another) {
  row_errors errors;
  for (int const keys : {f32, f16, bf16, q8, q4, q5_1, iq4_nl}) {
    for (int const values : {f32, f16, bf16, q8, q4, q5_0, q4_1}) {
      for (std::size_t const queries : {1u, 3u, 40u}) {
        sizes x{64, 64, 2, 2, 1, 600, queries, true, true, 0, 0, keys};
        x.type_of_values = values;
        is_the_formula(x, 20, errors);
      }
    }
  }
  EXPECT_LE(errors.average(), 4e-7);
}

// As attention() with views of dot_products, bit for bit, which rounds where the CPU can.
TEST(ggml_flash_attention, rounds_products_where_that_is_asked_for) {
  for (std::size_t const queries : {1u, 2u, 40u}) {
    sizes const size{128, 64, 2, 2, 1, 700, queries, false, false, 0, 0, q8};
    op exact(size), rounded(size);
    ASSERT_TRUE(run(exact, 1));
    for (std::size_t const workers : {1u, 3u}) {
      ASSERT_TRUE(run(rounded, workers, {.dot_products = true}));
      auto const heads = [&](tensor const& t) {
        return heads_view(
            dot_products(posenc::q8_0()), static_cast<std::byte const*>(t.data),
            {static_cast<std::size_t>(t.ne[1]), 2, static_cast<std::size_t>(t.ne[0])},
            {static_cast<std::ptrdiff_t>(t.nb[1]), static_cast<std::ptrdiff_t>(t.nb[2])});
      };
      heads_view const q(static_cast<float const*>(rounded.q.t.data), {queries, 4, 128},
                         {128, static_cast<std::ptrdiff_t>(128 * queries)});
      auto const expected =
          attention(q, heads(rounded.k.t), heads(rounded.v.t), nope(),
                    {.mask = mask::full, .scale = static_cast<double>(rounded.scale())})
              .outputs;
      EXPECT_TRUE(numbers::same_bits(rounded.outputs, expected)) << size << ' ' << workers;
    }
    bool const is_rounded = queries < 3 ? detail::multiplies_bytes : has_dot_products;
    EXPECT_EQ(numbers::same_bits(rounded.outputs, exact.outputs), !is_rounded) << size;
  }
}

// log n of 10, of 100 keys: scores times 2.
TEST(ggml_flash_attention, has_the_temperature_that_is_asked_for) {
  for (std::size_t const queries : {1u, 40u}) {
    op x({64, 64, 2, 2, 1, 100, queries, false, false, 0, 0, f16});
    ASSERT_TRUE(run(x, 1, {.temperature = {.rule = temperature_rule::log_n, .length = 10}}));
    auto formula = x.formula();
    formula.scale *= 2;
    for (std::size_t head = 0; head < x.heads; ++head) {
      auto const expected = formula.row(0, head, queries - 1);
      auto const got = x.row(0, head, queries - 1);
      for (std::size_t j = 0; j < got.size(); ++j)
        ASSERT_NEAR(got[j], expected[j], 2 * bound_of_row(100)) << queries << " dim " << j;
    }
  }
  op x({64, 64, 2, 2, 1, 100, 1, false, false, 0, 0, f16});
  for (auto const rule : {temperature_rule::log_n_by_position, temperature_rule::by_position}) {
    ggml_flash_attention_options const options{.temperature = {.rule = rule, .length = 10}};
    EXPECT_STREQ(ggml_flash_attention_refusal(x.dst, options),
                 "temperature must look at no position, of which the op has none");
    EXPECT_EQ(ggml_flash_attention_bytes(x.dst, 1, options), 0);
    EXPECT_FALSE(run(x, 1, options));
  }
}

TEST(ggml_flash_attention, leaves_ggmls_reference_run_to_ggml) {
  op x({64, 64, 2, 2, 1, 100, 1, true, false, 0, 0, f16});
  std::vector<std::byte> memory(ggml_flash_attention_bytes(x.dst, 1));
  auto given = in_worker(0, 1, memory);
  given.use_ref = true;
  EXPECT_FALSE(ggml_flash_attention(given, x.dst, [] {}));
  for (auto const y : x.outputs) EXPECT_FALSE(is_finite(static_cast<double>(y)));
  older_params const without = given;  // of a ggml that has no such run
  EXPECT_TRUE(ggml_flash_attention(without, x.dst, [] {}));
}

TEST(ggml_flash_attention, has_the_same_bits_on_any_threads) {
  for (sizes const& x : {sizes{64, 64, 2, 4, 1, 1500, 1, true, true, 0, 0, q8},
                         {64, 40, 2, 2, 3, 700, 3, true, false, 8, 10, f16},
                         {64, 64, 2, 2, 1, 700, 3, true, false, 0, 0, q4},
                         {40, 40, 2, 1, 2, 300, 90, true, false, 0, 0, f32}}) {
    op one(x);
    ASSERT_TRUE(run(one, 1));
    for (std::size_t const workers : {2u, 3u, 7u}) {
      op several(x);
      ASSERT_TRUE(run(several, workers));
      EXPECT_TRUE(numbers::same_bits(several.outputs, one.outputs)) << x << ' ' << workers;
    }
  }
}

TEST(ggml_flash_attention, leaves_to_the_engine_what_it_cannot_do_and_says_why) {
  auto const is_left = [](auto const& change, char const* why) {
    op x({64, 64, 2, 4, 2, 100, 3, true, true, 8, 0, f16});
    std::vector<std::byte> memory(ggml_flash_attention_bytes(x.dst, 1) + 1000);
    change(x, memory);
    bool waited = false;
    EXPECT_FALSE(ggml_flash_attention(in_worker(0, 1, memory), x.dst, [&] { waited = true; }))
        << why;
    EXPECT_FALSE(waited) << why;
    for (auto const y : x.outputs) EXPECT_FALSE(is_finite(static_cast<double>(y))) << why;
  };
  char const* must = nullptr;
  auto const of_op = [&](char const* why, auto const& change) {
    is_left(
        [&](op& x, auto&) {
          EXPECT_EQ(ggml_flash_attention_refusal(x.dst), nullptr);
          change(x);
          EXPECT_STREQ(ggml_flash_attention_refusal(x.dst), must) << why;
          EXPECT_EQ(ggml_flash_attention_bytes(x.dst, 1), 0) << why;
        },
        why);
  };
  must =
      "keys and values must be f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl, with rows "
      "without gaps";
  of_op("another type of keys", [](op& x) { x.k.t.type = 39; });
  of_op("another type of values", [](op& x) { x.v.t.type = 39; });
  of_op("rows with gaps", [](op& x) { x.k.t.nb[0] = 4; });
  of_op("no key", [](op& x) { x.k.t.ne[1] = x.v.t.ne[1] = 0; });
  of_op("no memory of values", [](op& x) { x.v.t.data = nullptr; });
  must = "outputs and queries must be f32, with rows without gaps";
  of_op("queries are not f32", [](op& x) { x.q.t.type = f16; });
  of_op("outputs are not f32", [](op& x) { x.dst.type = f16; });
  of_op("strides that are no multiple of a number", [](op& x) { x.q.t.nb[1] += 2; });
  must = "outputs must be {value_dim, heads, queries, batches}, dense";
  of_op("outputs with gaps", [](op& x) { x.dst.nb[2] += 4; });
  of_op("outputs of another shape", [](op& x) { x.dst.ne[1] = 7; });
  must =
      "keys must have the queries' head_dim, values as many tokens and heads as keys, and their "
      "heads and batches must divide the queries'";
  of_op("keys of another head_dim", [](op& x) { x.k.t.ne[0] = 32; });
  of_op("fewer values than keys", [](op& x) { x.v.t.ne[1] = 50; });
  of_op("values of other heads than keys", [](op& x) { x.v.t.ne[2] = 1; });
  of_op("kv heads that do not divide heads", [](op& x) { x.k.t.ne[2] = x.v.t.ne[2] = 3; });
  of_op("batches of keys that do not divide", [](op& x) { x.k.t.ne[3] = 3; });
  of_op("batches of values that do not divide", [](op& x) { x.v.t.ne[3] = 3; });
  must = "a mask must be f16, with a cell for each key and query, of one head or of all";
  of_op("a mask of floats", [](op& x) { x.m.t.type = f32; });
  of_op("a mask of fewer keys", [](op& x) { x.m.t.ne[0] = 99; });
  of_op("a mask of fewer queries", [](op& x) { x.m.t.ne[1] = 2; });
  of_op("a mask of some heads", [](op& x) { x.m.t.ne[2] = 2; });
  of_op("a mask of other batches", [](op& x) { x.m.t.ne[3] = 3; });
  must = "sinks must be f32, one for each head";
  of_op("sinks of fewer heads", [](op& x) { x.s.ne[0] = 7; });
  of_op("sinks of more heads", [](op& x) { x.s.ne[0] = 9; });
  of_op("sinks of halves", [](op& x) { x.s.type = f16; });
  must = "outputs must not overlap queries, keys or values";
  of_op("outputs over queries", [](op& x) { x.q.t.data = x.outputs.data() + 100; });
  of_op("outputs over keys", [](op& x) { x.k.t.data = x.outputs.data() + 100; });
  of_op("outputs over values", [](op& x) { x.v.t.data = x.outputs.data() + 100; });
  must = "scale, max_bias and logit_softcap must be finite, and max_bias not negative";
  for (int const i : {0, 1, 2}) of_op("no number", [=](op& x) { x.dst.op_params[i] = 0x7f800000; });
  for (auto const max_bias : {-8.0f, -0.5f, -0x1p-120f})
    of_op("a negative bias",
          [=](op& x) { x.dst.op_params[1] = std::bit_cast<std::int32_t>(max_bias); });
  must = "there must be queries, keys and values";
  for (std::size_t const i : {0u, 1u, 2u})
    of_op("one is missing", [=](op& x) { x.dst.src[i] = nullptr; });
  for (auto const sink :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})
    is_left([=](op& x, auto&) { x.logits[1] = sink; }, "a sink that is no number");
  for (std::size_t const bytes : {128u, 1000u})
    is_left(
        [=](op& x, auto& memory) {
          memory.resize(ggml_flash_attention_bytes(x.dst, 1) - bytes);
          if (bytes > 500) memory.resize(100);
        },
        "too little memory");
}

}  // namespace
}  // namespace flash
