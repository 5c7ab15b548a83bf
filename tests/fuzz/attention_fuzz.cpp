// Attention of any shapes, strides, storage, masks, positions, scales and encodings over any
// numbers: it refuses and says why, or gives what a plain loop over all keys does, each row by what
// it sees, and changes nothing. Parts of the keys, merged, give it too.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "oracle/wide.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "site_2.hpp"
#include "tolerance.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::heads_shape;
using posenc::heads_strides;
using real = long double;
using positions = std::vector<std::int64_t>;

// Exceptions and aborts, but no assert: NDEBUG may be defined.
void must(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "attention_fuzz: %s\n", what);
  std::abort();
}

bool finite(real x) { return std::isfinite(x); }
std::int64_t remainder(std::int64_t position, std::int64_t size) {
  return (position % size + size) % size;
}

// Encodings whose arithmetic is plain, so that what is tested is who is asked, with what, and when.
struct lifts {  // site 1
  static float lift(std::int64_t position) {
    return 0.25f * static_cast<float>(remainder(position, 5));
  }
  template <class T>
  void embed(posenc::heads_view<T> x, posenc::positions_view at) const {
    for (std::size_t t = 0; t < x.tokens(); ++t)
      for (std::size_t h = 0; h < x.heads(); ++h)
        for (auto& number : x(t, h)) number += lift(at[t]);
  }
};

struct doubles {  // site 2
  static float of_query(std::int64_t position) {
    return remainder(position, 2) == 0 ? 2.0f : -1.0f;
  }
  static float of_key(std::int64_t position) { return remainder(position, 3) == 0 ? 0.5f : 1.0f; }
  template <class>
  auto prepare(posenc::positions_view at) const {
    return site_2::remembered(*this, at);
  }
  template <class T>
  void queries_at(posenc::heads_view<T> x, posenc::positions_view at) const {
    multiply(x, [&](std::size_t t) { return of_query(at[t]); });
  }
  template <class T>
  void keys_at(posenc::heads_view<T> x, posenc::positions_view at) const {
    multiply(x, [&](std::size_t t) { return of_key(at[t]); });
  }
  template <class T>
  void multiply(posenc::heads_view<T> x, auto const& factor) const {
    for (std::size_t t = 0; t < x.tokens(); ++t)
      for (std::size_t h = 0; h < x.heads(); ++h)
        for (auto& number : x(t, h)) number *= factor(t);
  }
};

struct tempers {  // site 4
  enum { constant, position, whole_row } by;
  template <class Real>
  Real beta(std::size_t keys, Real entropy, std::size_t head, std::int64_t query_position) const {
    if (by == constant) return Real(1.25);
    if (by == position) return 1 + Real(0.25) * static_cast<Real>(remainder(query_position, 3));
    return 1 + entropy / 8 + Real(0.5) / static_cast<Real>(std::max<std::size_t>(keys, 1)) +
           static_cast<Real>(head % 3) / 16;
  }
  double inverse_temperature(posenc::row_statistics const& row) const {
    return beta(row.keys, row.entropy, row.head, row.query_position);
  }
};

// What acts, as the plain loop has it.
struct acting {
  bool lifted = false, doubled = false;
  std::vector<double> inv_freq = {}, slopes = {};
  double cap = 0;
  std::optional<tempers> softmax = {};
  std::vector<double> sinks = {};
};

struct mask_plan {
  bool causal = false, packed = false;
  std::int64_t window = 0, chunk = 0;
  std::vector<std::size_t> query_lengths = {}, key_lengths = {};

  posenc::mask made() const {
    auto m = causal ? posenc::mask::causal : posenc::mask::full;
    if (window > 0) m = m & posenc::mask::sliding_window(window);
    if (chunk > 0) m = posenc::mask::chunked(chunk) & m;
    if (packed) m = m & posenc::mask::packed(query_lengths, key_lengths);
    return m;
  }
  static std::size_t sequence_of(std::vector<std::size_t> const& lengths, std::size_t token) {
    std::size_t sequence = 0;
    for (; token >= lengths[sequence]; ++sequence) token -= lengths[sequence];
    return sequence;
  }
  bool shows(std::size_t t, std::size_t s, std::int64_t query, std::int64_t key) const {
    using wide = __int128;
    auto const distance = static_cast<wide>(query) - static_cast<wide>(key);
    auto const floor = [&](wide x) { return (x - ((x % chunk + chunk) % chunk)) / chunk; };
    return (!causal || distance >= 0) &&
           (window == 0 || (distance < window && -distance < window)) &&
           (chunk == 0 || floor(query) == floor(key)) &&
           (!packed || sequence_of(query_lengths, t) == sequence_of(key_lengths, s));
  }
};

// Heads in memory that ends where they end, whatever their strides.
template <class S>
struct heads_in_memory {
  heads_shape shape;
  heads_strides strides;
  std::vector<S> numbers, before;
  std::ptrdiff_t origin = 0;

  heads_in_memory(FuzzedDataProvider& data, heads_shape given) : shape(given) {
    auto const d = static_cast<std::ptrdiff_t>(shape.head_dim),
               h = static_cast<std::ptrdiff_t>(shape.heads),
               t = static_cast<std::ptrdiff_t>(shape.tokens),
               pad = data.ConsumeIntegralInRange<std::ptrdiff_t>(0, 3);
    switch (data.ConsumeIntegralInRange(0, 7)) {
      case 0:
        strides = {d + pad, t * (d + pad)};
        break;
      case 1:
        strides = {-h * (d + pad), -(d + pad)};
        break;
      case 2:
        strides = {h * d + pad, -d};
        break;
      case 3:
        strides = {0, d};
        break;
      case 4:
        strides = {h * d, 0};
        break;
      case 5:
        strides = {data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9),
                   data.ConsumeIntegralInRange<std::ptrdiff_t>(-9, 9)};
        break;
      default:
        strides = {h * d, d};
    }
    if (shape.tokens == 0 || shape.heads == 0) return;
    auto const way_t = (t - 1) * strides.token, way_h = (h - 1) * strides.head,
               zero = std::ptrdiff_t{0};
    origin = -(std::min(way_t, zero) + std::min(way_h, zero));
    numbers = std::vector<S>(
        static_cast<std::size_t>(origin + std::max(way_t, zero) + std::max(way_h, zero) + d));
  }
  void fill(std::uint64_t seed, int wild, real size) {
    for (auto& x : numbers) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      auto const bits = seed >> 11;
      if (wild > 0 && static_cast<int>(bits % 1024) < wild) {
        auto const any = bits * 0x9e3779b97f4a7c15u;
        std::memcpy(&x, reinterpret_cast<std::byte const*>(&any) + 8 - sizeof(S), sizeof(S));
        auto const special = std::array{std::numeric_limits<arithmetic_t<S>>::infinity(),
                                        -std::numeric_limits<arithmetic_t<S>>::infinity(),
                                        std::numeric_limits<arithmetic_t<S>>::quiet_NaN(),
                                        std::numeric_limits<arithmetic_t<S>>::max()};
        if (any % 3 != 0) posenc::store(x, special[any % 4]);
      } else {
        posenc::store(
            x, static_cast<arithmetic_t<S>>((static_cast<real>(bits) * 0x1p-52L - 1) * size));
      }
    }
    before = numbers;
  }
  posenc::heads_view<S const> view() const {
    return {numbers.empty() ? nullptr : numbers.data() + origin, shape, strides};
  }
  real at(std::size_t t, std::size_t h, std::size_t i) const {
    auto const from = origin + static_cast<std::ptrdiff_t>(t) * strides.token +
                      static_cast<std::ptrdiff_t>(h) * strides.head;
    return static_cast<real>(posenc::load(numbers[static_cast<std::size_t>(from) + i]));
  }
  bool is_unchanged() const {
    return numbers.empty() ||
           std::memcmp(numbers.data(), before.data(), numbers.size() * sizeof(S)) == 0;
  }
};

// A row of the plain loop, and by how much roundings may move it.
struct row {
  std::vector<std::size_t> seen;
  std::vector<real> scores, errors, weights;  // of what is seen
  std::vector<real> outputs;
  real beta = 1, log_sum_exp = 0, of_log_sum_exp = 0, of_weight = 0,
       of_output = 0;    // of_weight: relative
  bool is_plain = true;  // all that it sees is finite and of a size that scores in T resolve
};

template <class Q, class K, class V>
struct problem {
  using T = arithmetic_t<Q>;
  heads_in_memory<Q> q;
  heads_in_memory<K> k;
  heads_in_memory<V> v;
  positions query_positions, key_positions;  // of all
  mask_plan mask;
  real scale;
  acting acts;

  static constexpr real u = static_cast<real>(tolerance::unit_roundoff<T>());
  static constexpr real most = 1e4;

  std::vector<real> encoded(auto const& x, std::size_t t, std::size_t head, std::int64_t position,
                            auto const& factor) const {
    std::vector<real> numbers(x.shape.head_dim);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = x.at(t, head, i);
      if (acts.lifted) numbers[i] += static_cast<real>(lifts::lift(position));
      if (acts.doubled) numbers[i] *= static_cast<real>(factor(position));
    }
    auto const pairs = acts.inv_freq.size();
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const [angle, lost] =
          oracle::angle_at(static_cast<real>(position), static_cast<real>(acts.inv_freq[i]));
      auto const c = std::cos(angle) - lost * std::sin(angle),
                 s = std::sin(angle) + lost * std::cos(angle);
      auto const a = numbers[i], b = numbers[i + pairs];
      numbers[i] = a * c - b * s, numbers[i + pairs] = b * c + a * s;
    }
    return numbers;
  }

  // x and what it is off by, at most: a dot product of encoded numbers, scaled; a bias; a cap.
  std::array<real, 2> score(std::vector<real> const& of_query, std::vector<real> const& of_key,
                            std::size_t head, std::int64_t query, std::int64_t key) const {
    real sum = 0, size = 0;
    for (std::size_t i = 0; i < of_query.size(); ++i) sum += of_query[i] * of_key[i];
    for (auto const a : of_query) size += a * a;
    real key_size = 0;
    for (auto const b : of_key) key_size += b * b;
    size = std::sqrt(size) * std::sqrt(key_size);
    if (std::abs(scale) > 1e25L)
      return {0, std::numeric_limits<real>::infinity()};  // what is scaled may overflow
    auto const rotated =
        acts.inv_freq.empty() ? 0 : 4 * (static_cast<real>(tolerance::of_cosine<T>()) + 5 * u);
    auto x = scale * sum;
    auto off = std::abs(scale) * size * ((static_cast<real>(of_query.size()) + 10) * u + rotated) +
               8 * std::numeric_limits<T>::min();
    if (!acts.slopes.empty()) {
      auto const distance = static_cast<__int128>(query) - static_cast<__int128>(key);
      constexpr __int128 farthest =
          std::numeric_limits<std::int64_t>::max();  // see distance_between
      x -= static_cast<real>(acts.slopes[head]) *
           static_cast<real>(std::min(distance < 0 ? -distance : distance, farthest));
      off += 2 * u * std::abs(x);
    }
    if (acts.cap > 0) {
      auto const cap = static_cast<real>(acts.cap);
      off = cap * (std::tanh((x + off) / cap) - std::tanh((x - off) / cap)) + 4 * u * cap;
      x = cap * std::tanh(x / cap);
    }
    return {x, off};
  }

  row expected(std::size_t t, std::size_t head) const {
    row r;
    auto const group = q.shape.heads / k.shape.heads, kv_head = head / group;
    auto const of_query = encoded(q, t, head, query_positions[t], doubles::of_query);
    auto const plain = [&](std::vector<real> const& numbers) {
      return std::ranges::all_of(numbers, [](real x) { return finite(x) && std::abs(x) <= most; });
    };
    real largest_value = 0;
    r.outputs.resize(v.shape.head_dim);
    for (std::size_t s = 0; s < key_positions.size(); ++s) {
      if (!mask.shows(t, s, query_positions[t], key_positions[s])) continue;
      r.seen.push_back(s);
      auto const of_key = encoded(k, s, kv_head, key_positions[s], doubles::of_key);
      r.is_plain = r.is_plain && plain(of_key) && plain(of_query);
      for (std::size_t i = 0; i < v.shape.head_dim; ++i) {
        auto const value = v.at(s, kv_head, i);
        r.is_plain = r.is_plain && finite(value) && std::abs(value) <= most;
        largest_value = std::max(largest_value, std::abs(value));
      }
      auto const [x, off] = score(of_query, of_key, head, query_positions[t], key_positions[s]);
      r.scores.push_back(x), r.errors.push_back(off);
    }
    auto const sink = acts.sinks.empty() ? -std::numeric_limits<real>::infinity()
                                         : static_cast<real>(acts.sinks[head]);
    r.log_sum_exp = sink;
    if (r.seen.empty() || !r.is_plain) return r;

    auto const n = static_cast<real>(r.seen.size()), logarithm = std::log(n + 1);
    auto const max = std::ranges::max(r.scores);
    real sum = 0, exponents = 0, off = 0;
    for (std::size_t i = 0; i < r.seen.size(); ++i) {
      auto const e = std::exp(r.scores[i] - max);
      sum += e, exponents += e * (r.scores[i] - max);
      // Far below the largest it may be off by anything that leaves it far below.
      if (r.scores[i] + r.errors[i] > max - 800) off = std::max(off, r.errors[i]);
    }
    auto const entropy = std::log(sum) - exponents / sum;
    real of_beta = 0;
    if (acts.softmax) {
      r.beta = acts.softmax->beta(r.seen.size(), entropy, head, query_positions[t]);
      if (acts.softmax->by == tempers::whole_row)
        of_beta = (8 * off * (logarithm + 2) +
                   static_cast<real>(tolerance::of_entropy<T>(1, r.seen.size()))) /
                  8;
    }
    r.is_plain = r.beta * off < 0.05L && std::abs(max) < (off > 0 ? 1e15L : 1e30L);
    if (!r.is_plain) return r;

    auto const top = std::max(r.beta * max, sink);
    sum = std::exp(sink - top);
    for (auto const x : r.scores) sum += std::exp(r.beta * x - top);
    r.log_sum_exp = top + std::log(sum);
    // Exponentials of exponents that average ln n under the weights, and their sum; the scores; the
    // temperature.
    auto const of_sum = u * (24 + 5 * logarithm) + n * 0x1p-53L + 0x1p-50L * (1 + std::abs(top));
    auto const of_scores = std::expm1(r.beta * off);
    r.of_log_sum_exp = of_sum + of_scores + of_beta * (std::abs(max) + logarithm + 1);
    r.of_weight = 2 * (of_sum + of_scores + of_beta * (logarithm + 1));
    r.of_output = largest_value * (2 * r.of_weight + (n + 8) * u +
                                   n * static_cast<real>(std::numeric_limits<T>::min()) * 4) +
                  n * std::numeric_limits<T>::min();
    for (std::size_t i = 0; i < r.seen.size(); ++i) {
      r.weights.push_back(std::exp(r.beta * r.scores[i] - r.log_sum_exp));
      for (std::size_t j = 0; j < r.outputs.size(); ++j)
        r.outputs[j] += r.weights[i] * v.at(r.seen[i], kv_head, j);
    }
    return r;
  }

  void compare(posenc::attention_result<T> const& actual, posenc::attention_options const& options,
               int parts) const {
    auto const queries = q.shape.tokens, heads = q.shape.heads, keys = k.shape.tokens,
               dims = v.shape.head_dim;
    must(actual.outputs.size() == queries * heads * dims &&
             actual.log_sum_exp.size() == queries * heads,
         "results of another shape");
    must(actual.scores.size() == (options.keep_scores ? heads * queries * keys : 0),
         "scores of another shape");
    must(actual.weights.size() == (options.keep_weights ? heads * queries * keys : 0),
         "weights of another shape");
    for (std::size_t t = 0; t < queries; ++t) {
      for (std::size_t head = 0; head < heads; ++head) {
        auto const r = expected(t, head);
        auto const* const output = actual.outputs.data() + (t * heads + head) * dims;
        auto const lse = static_cast<real>(actual.log_sum_exp[t * heads + head]);
        auto const near = [&](real a, real b, real by) { return std::abs(a - b) <= by; };
        if (r.seen.empty()) {
          must(std::all_of(output, output + dims, [](T x) { return x == 0; }),
               "a row that sees nothing is not 0");
          must(lse == r.log_sum_exp ||
                   near(lse, r.log_sum_exp, 1e-12L * (1 + std::abs(r.log_sum_exp))),
               "log_sum_exp of a row that sees nothing");
        } else if (r.is_plain) {
          auto const merged = static_cast<real>(parts - 1) * 2 * u;
          must(near(lse, r.log_sum_exp, r.of_log_sum_exp),
               "log_sum_exp farther off than rounding explains");
          for (std::size_t i = 0; i < dims; ++i) {
            must(near(static_cast<real>(output[i]), r.outputs[i],
                      r.of_output + merged * std::abs(r.outputs[i])),
                 "an output farther off than rounding explains");
          }
        }
        auto const at = (head * queries + t) * keys;
        std::size_t next = 0;
        for (std::size_t s = 0; s < keys; ++s) {
          bool const is_seen = next < r.seen.size() && r.seen[next] == s;
          if (options.keep_scores && !is_seen)
            must(actual.scores[at + s] == -std::numeric_limits<T>::infinity(),
                 "a masked score is not -infinity");
          if (options.keep_weights && !is_seen && r.is_plain)
            must(actual.weights[at + s] == 0, "a masked weight is not 0");
          if (is_seen && r.is_plain) {
            if (options.keep_scores)
              must(near(static_cast<real>(actual.scores[at + s]), r.scores[next], r.errors[next]),
                   "a score is off");
            auto const weight = r.weights[next];
            // Numerator off by its own exponent.
            auto const own = u * (24 + 5 * std::abs(std::log(std::max(weight, 1e-4930L)))) +
                             std::expm1(std::min(r.beta * r.errors[next], 1.0L));
            if (options.keep_weights)
              must(near(static_cast<real>(actual.weights[at + s]), weight,
                        weight * (r.of_weight * 2 + own) + 4 * std::numeric_limits<T>::min()),
                   "a weight is off");
          }
          next += is_seen ? 1 : 0;
        }
      }
    }
  }

  /// What is not seen gets none, and what is seen by rows of finite numbers alone gets finite ones.
  /// (Their values: gradients_test.)
  void check_gradients(posenc::attention_gradients<T> const& d) const {
    auto const group = q.shape.heads / k.shape.heads;
    std::vector<bool> seen(k.shape.tokens * k.shape.heads), wild(seen.size());
    auto const all = [](T const* numbers, std::size_t count, auto const& is) {
      return std::all_of(numbers, numbers + count, is);
    };
    auto const is_zero = [](T x) { return x == 0; };
    auto const is_finite = [](T x) { return posenc::is_finite(static_cast<double>(x)); };
    for (std::size_t t = 0; t < q.shape.tokens; ++t) {
      for (std::size_t head = 0; head < q.shape.heads; ++head) {
        auto const r = expected(t, head);
        auto const* const d_query = d.q.data() + (t * q.shape.heads + head) * q.shape.head_dim;
        if (r.seen.empty())
          must(all(d_query, q.shape.head_dim, is_zero),
               "the gradient of a query that sees nothing is not 0");
        if (r.is_plain && std::abs(scale) <= 1)
          must(all(d_query, q.shape.head_dim, is_finite), "the gradient of a finite row is not");
        for (auto const s : r.seen) {
          auto const key = s * k.shape.heads + head / group;
          seen[key] = true, wild[key] = wild[key] || !r.is_plain || std::abs(scale) > 1;
        }
      }
    }
    for (std::size_t key = 0; key < seen.size(); ++key) {
      auto const *const d_key = d.k.data() + key * k.shape.head_dim, *const d_value =
                                                                         d.v.data() +
                                                                         key * v.shape.head_dim;
      if (!seen[key])
        must(all(d_key, k.shape.head_dim, is_zero) && all(d_value, v.shape.head_dim, is_zero),
             "a key that is not seen has a gradient");
      if (!wild[key])
        must(all(d_key, k.shape.head_dim, is_finite) && all(d_value, v.shape.head_dim, is_finite),
             "finite rows make a gradient that is not");
    }
  }

  bool is_unchanged() const { return q.is_unchanged() && k.is_unchanged() && v.is_unchanged(); }
};

std::vector<std::size_t> any_lengths(FuzzedDataProvider& data, std::size_t tokens,
                                     std::size_t sequences) {
  std::vector<std::size_t> lengths;
  auto rest = tokens;
  for (std::size_t i = 0; i + 1 < sequences; ++i) {
    lengths.push_back(data.ConsumeIntegralInRange<std::size_t>(0, rest));
    rest -= lengths.back();
  }
  lengths.push_back(rest);
  if (data.ConsumeIntegralInRange(0, 31) == 0)
    lengths.back() += data.ConsumeIntegralInRange<std::size_t>(0, 2);
  return lengths;
}

mask_plan any_mask(FuzzedDataProvider& data, std::size_t queries, std::size_t keys) {
  mask_plan m;
  m.causal = data.ConsumeBool();
  auto const any_size = [&] {
    return data.ConsumeIntegralInRange(0, 7) == 0
               ? data.ConsumeIntegralInRange<std::int64_t>(1,
                                                           std::numeric_limits<std::int64_t>::max())
               : data.ConsumeIntegralInRange<std::int64_t>(1, 20);
  };
  if (data.ConsumeIntegralInRange(0, 2) == 0) m.window = any_size();
  if (data.ConsumeIntegralInRange(0, 2) == 0) m.chunk = any_size();
  m.packed = data.ConsumeIntegralInRange(0, 3) == 0;
  if (m.packed) {
    auto const sequences = data.ConsumeIntegralInRange<std::size_t>(1, 4);
    m.query_lengths = any_lengths(data, queries, sequences),
    m.key_lengths = any_lengths(data, keys, sequences);
  }
  return m;
}

positions any_positions(FuzzedDataProvider& data, std::size_t tokens, bool moderate) {
  positions at(tokens);
  auto const how = data.ConsumeIntegralInRange(0, 4);
  auto const first = moderate ? data.ConsumeIntegralInRange<std::int64_t>(-1000, 1'000'000)
                              : data.ConsumeIntegral<std::int64_t>();
  for (std::size_t i = 0; i < tokens; ++i) {
    if (how == 0) at[i] = data.ConsumeIntegralInRange<std::int64_t>(-30, 30);
    if (how == 1) at[i] = static_cast<std::int64_t>(i * 2);
    if (how == 2)
      at[i] = moderate ? data.ConsumeIntegralInRange<std::int64_t>(-1'000'000, 1'000'000)
                       : data.ConsumeIntegral<std::int64_t>();
    if (how >= 3) at[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + i);
  }
  return at;
}

bool sums_to(std::vector<std::size_t> const& lengths, std::size_t tokens) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) == tokens;
}

/// How many queries and keys each sequence has.
std::vector<std::pair<std::size_t, std::size_t>> sequences_of(mask_plan const& mask,
                                                              std::size_t queries,
                                                              std::size_t keys) {
  if (!mask.packed) return {{queries, keys}};
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t i = 0; i < mask.query_lengths.size(); ++i)
    all.emplace_back(mask.query_lengths[i], mask.key_lengths[i]);
  return all;
}

bool queries_outnumber_keys(mask_plan const& mask, std::size_t queries, std::size_t keys) {
  return std::ranges::any_of(sequences_of(mask, queries, keys),
                             [](auto const& lengths) { return lengths.first > lengths.second; });
}

template <class Q, class K, class V, class Encoding>
void check(FuzzedDataProvider& data, problem<Q, K, V>& p, posenc::attention_options options,
           Encoding const& encoding, bool must_refuse) {
  auto const q = p.q.view();
  auto const k = p.k.view();
  auto const v = p.v.view();
  try {
    auto const whole = posenc::attention(q, k, v, encoding, options);
    must(p.is_unchanged(), "changed what it reads");
    must(!must_refuse, "did what is to be refused");
    p.compare(whole, options, 1);

    // Memory that another call has used, of other queries and options, is as good as new.
    posenc::attention_workspace<arithmetic_t<Q>> workspace;
    posenc::attention_options other{
        .query_positions = posenc::positions_view(p.query_positions).first(p.q.shape.tokens / 2),
        .keep_scores = true,
        .keep_weights = true};
    if (!other.query_positions.empty())
      posenc::attention(q.slice_tokens(0, p.q.shape.tokens / 2), k, v, encoding, other, workspace);
    p.compare(posenc::attention(q, k, v, encoding, options, workspace), options, 1);

    using through = posenc::detail::lets_through<Encoding>;
    if constexpr (through::queries_and_keys && through::scores) {
      posenc::heads_view const d_outputs(whole.outputs.data(),
                                         {p.q.shape.tokens, p.q.shape.heads, p.v.shape.head_dim});
      p.check_gradients(posenc::attention_backward(q, k, v, encoding, whole, d_outputs, options));
      must(p.is_unchanged(), "changed what it reads, backwards");
    }
  } catch (std::invalid_argument const& error) {
    must(p.is_unchanged(), "refused, and changed something");
    must(std::string_view(error.what()).starts_with("posenc: "), "refused without its name");
    if (!must_refuse) std::fprintf(stderr, "%s\n", error.what());
    must(must_refuse, "refused what is right");
    return;
  }

  // In parts, neighbouring keys or every other one, each with rules that know nothing of the other.
  bool const of_whole_rows = p.acts.softmax && p.acts.softmax->by == tempers::whole_row;
  if (p.mask.packed || of_whole_rows || !p.acts.sinks.empty() || p.q.shape.tokens == 0) return;
  auto const keys = p.k.shape.tokens;
  options.keep_scores = options.keep_weights = false;
  options.query_positions = p.query_positions;
  auto const part = [&](std::size_t first, std::size_t count, std::size_t step) {
    positions at;
    for (std::size_t i = 0; i < count; ++i) at.push_back(p.key_positions[first + i * step]);
    options.key_positions = at;
    auto const slice = [&]<class S>(posenc::heads_view<S> const& x) {
      auto const stride = x.strides().token * static_cast<std::ptrdiff_t>(step);
      auto* const from = count == 0 || x.heads() == 0 ? nullptr : x.slice_tokens(first, 1).data();
      return posenc::heads_view<S>(from, {count, x.heads(), x.head_dim()},
                                   {stride, x.strides().head});
    };
    return posenc::attention(q, slice(k), slice(v), encoding, options);
  };
  if (data.ConsumeBool()) {
    auto const split = data.ConsumeIntegralInRange<std::size_t>(0, keys);
    p.compare(posenc::merge(part(0, split, 1), part(split, keys - split, 1)), options, 2);
  } else {
    p.compare(posenc::merge(part(0, (keys + 1) / 2, 2), part(1, keys / 2, 2)), options, 2);
  }
  must(p.is_unchanged(), "changed what it reads");
}

template <class Q, class K, class V>
void run(FuzzedDataProvider& data) {
  using T = arithmetic_t<Q>;
  auto const few = [&](std::size_t most) {
    return data.ConsumeIntegralInRange<std::size_t>(0, most);
  };
  auto const which = data.ConsumeIntegralInRange(0, 4);
  auto const wrongly = [&] { return data.ConsumeIntegralInRange(0, 31) == 0; };
  auto kv_heads = few(3), heads = kv_heads * few(4);
  if (wrongly()) heads = few(8);
  auto const queries = data.ConsumeIntegralInRange(0, 7) == 0 ? few(150) : few(12), keys = few(40);
  auto const head_dim = few(19) + 1, value_dim = few(19) + 1;
  heads_shape const q_shape{queries, heads, head_dim};
  heads_shape k_shape{keys, kv_heads, head_dim}, v_shape{keys, kv_heads, value_dim};
  if (wrongly()) k_shape.head_dim = few(19) + 1;
  if (wrongly()) v_shape.tokens = few(40);
  if (wrongly()) v_shape.heads = few(3);
  problem<Q, K, V> p{{data, q_shape},
                     {data, k_shape},
                     {data, v_shape},
                     {},
                     {},
                     any_mask(data, queries, keys),
                     0,
                     {}};

  auto const wild = data.ConsumeBool() ? 0 : data.ConsumeIntegralInRange(1, 200);
  auto const seed = data.ConsumeIntegral<std::uint64_t>();
  auto const size = std::array{0.5L, 2.0L, 8.0L}[few(2)];
  p.q.fill(seed, data.ConsumeBool() ? wild : 0, size),
      p.k.fill(seed + 1, data.ConsumeBool() ? wild : 0, size);
  p.v.fill(seed + 2, data.ConsumeBool() ? wild : 0, size);

  posenc::attention_options options{
      .mask = p.mask.made(), .keep_scores = data.ConsumeBool(), .keep_weights = data.ConsumeBool()};
  if (data.ConsumeBool()) options.scale = std::array{0.0, -1.0, 0.3, 1e-3}[few(3)];
  if (wrongly()) options.scale = data.ConsumeFloatingPoint<double>();
  if (wrongly())
    options.scale = std::array{std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(), 1e300}[few(2)];
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(head_dim)));
  p.scale = static_cast<real>(static_cast<T>(scale));

  bool const moderate = which == 2;  // angles of any position are rotate_fuzz's
  auto query_positions = data.ConsumeBool() ? any_positions(data, queries, moderate) : positions();
  auto key_positions = data.ConsumeBool() ? any_positions(data, keys, moderate) : positions();
  if (wrongly()) query_positions.push_back(0);
  if (wrongly()) key_positions.push_back(0);
  if (data.ConsumeIntegralInRange(0, 3) == 0) std::ranges::sort(key_positions);
  options.query_positions = query_positions, options.key_positions = key_positions;

  bool const must_refuse =
      k_shape.head_dim != head_dim || v_shape.tokens != keys || v_shape.heads != kv_heads ||
      heads == 0 || kv_heads == 0 || heads % kv_heads != 0 || !finite(p.scale) ||
      (query_positions.empty() && queries_outnumber_keys(p.mask, queries, keys)) ||
      (!query_positions.empty() && query_positions.size() != queries) ||
      (!key_positions.empty() && key_positions.size() != keys) ||
      (p.mask.packed &&
       (!sums_to(p.mask.query_lengths, queries) || !sums_to(p.mask.key_lengths, keys)));
  if (!must_refuse) {
    p.key_positions = key_positions, p.query_positions = query_positions;
    std::size_t first_key = 0;  // beyond those of a sequence
    for (auto const& [of_queries, of_keys] : sequences_of(p.mask, queries, keys)) {
      if (key_positions.empty()) {
        for (std::size_t s = 0; s < of_keys; ++s)
          p.key_positions.push_back(static_cast<std::int64_t>(s));
      }
      first_key += of_keys;
      if (query_positions.empty()) {
        for (std::size_t t = 0; t < of_queries; ++t)
          p.query_positions.push_back(p.key_positions[first_key - of_queries + t]);
      }
    }
  }

  tempers const softmax{
      std::array{tempers::constant, tempers::position, tempers::whole_row}[few(2)]};
  posenc::soft_cap const cap(5);
  posenc::alibi const biases(std::max<std::size_t>(heads, 1));
  std::vector<double> const slopes(biases.slopes().begin(), biases.slopes().end());
  switch (which) {
    case 0:
      return check(data, p, options, posenc::nope(), must_refuse);
    case 1:
      p.acts = {.slopes = slopes};
      return check(data, p, options, biases, must_refuse);
    case 2: {
      if (head_dim < 2) return;
      auto const series = posenc::geometric(head_dim / 2 * 2, 1e4);
      p.acts = {.inv_freq = {series.inv_freq().begin(), series.inv_freq().end()},
                .softmax = softmax};
      posenc::frequencies const f(p.acts.inv_freq);  // as doubles alone, which the oracle takes
      return check(data, p, options, posenc::scheme(posenc::rope<posenc::halves>(f), softmax),
                   must_refuse);
    }
    case 3: {
      std::vector<double> sinks;
      for (std::size_t head = 0; head < biases.heads(); ++head)
        sinks.push_back(data.ConsumeFloatingPointInRange(-20.0, 20.0));
      p.acts = {.sinks = sinks};
      return check(data, p, options, posenc::attention_sinks(sinks), must_refuse);
    }
    default: {
      std::vector<double> const sinks(biases.heads(), 0.5);
      p.acts = {.lifted = true,
                .doubled = true,
                .slopes = slopes,
                .cap = 5,
                .softmax = softmax,
                .sinks = {}};
      if (data.ConsumeBool())
        return check(data, p, options,
                     posenc::scheme(posenc::unprojected(lifts()), doubles(), biases, cap, softmax),
                     must_refuse);
      p.acts.sinks = sinks;
      return check(
          data, p, options,
          posenc::scheme(posenc::scheme(softmax, biases), cap, posenc::attention_sinks(sinks),
                         posenc::unprojected(lifts()), doubles()),
          must_refuse);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0:
      run<float, float, float>(data);
      break;
    case 1:
      run<double, double, double>(data);
      break;
    case 2:
      run<posenc::half, posenc::bfloat16, float>(data);
      break;
    default:
      run<float, posenc::half, posenc::bfloat16>(data);
  }
  return 0;
}
