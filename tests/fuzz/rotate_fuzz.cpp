// Heads of any shape, strides, slots, types and layouts, anywhere in one piece of memory: rotate
// refuses and changes nothing, or does what a scalar loop does and touches nothing else.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/own_storage.hpp"
#include "must.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "rotation_plans.hpp"
#include "tolerance.hpp"

namespace {

using posenc::arithmetic_t;
using posenc::heads_shape;
using posenc::heads_strides;

using namespace fuzz;

struct options {
  std::size_t first_dim;
  bool fused, norm, wild;
  double eps, scale;
  bool weighted;
};

// What memory should hold afterwards, number by number.
struct expectation {
  std::vector<std::byte> bytes;
  std::vector<double> off;  // by which a number that begins there may differ; NaN: anything
  footprint touched;

  template <class T>
  T& number(__int128 at) {
    return *reinterpret_cast<T*>(bytes.data() + static_cast<std::size_t>(at));
  }
};

template <class Real>
Real multiply_add(Real a, Real b, Real c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class S, class T, class From, class To>
void rotate_naively(expectation& e, heads_plan const& source, heads_plan const& target,
                    posenc::cos_sin_view<arithmetic_t<T>> const& rows, options const& o,
                    std::span<arithmetic_t<T> const> weights) {
  using real = arithmetic_t<T>;
  if (source.is_nothing()) return;
  auto const dim = source.shape.head_dim, pairs = rows.pairs();
  bool const in_place = source.is(target), copies = o.fused || !in_place;
  std::vector<std::size_t> seen(arena_size);
  for (std::size_t t = 0; t < source.tokens(); ++t) {
    if (!source.has(t) || !target.has(t)) continue;
    for (std::size_t h = 0; h < source.shape.heads; ++h) {
      auto const from = source.address(t, h), to = target.address(t, h);
      std::vector<real> x(dim);
      long double squares = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        x[i] = posenc::load(e.number<S>(from + static_cast<__int128>(i * sizeof(S))));
        squares += static_cast<long double>(x[i]) * static_cast<long double>(x[i]);
      }
      auto gain = static_cast<real>(o.scale);
      if (o.norm)
        gain = static_cast<real>(static_cast<long double>(static_cast<real>(o.scale)) /
                                 std::sqrt(squares / static_cast<long double>(dim) +
                                           static_cast<long double>(static_cast<real>(o.eps))));
      bool const again = o.norm && in_place && seen[static_cast<std::size_t>(to)]++ != 0;
      auto const put = [&](std::size_t i, real value, double magnitude) {
        if (o.fused) value *= gain;
        auto const at = to + static_cast<__int128>(i * sizeof(T));
        T stored{};
        posenc::store(stored, value);
        e.number<T>(at) = stored;
        double off = 0;
        if (o.norm) {
          auto const u = tolerance::unit_roundoff<real>(),
                     size = magnitude * std::abs(static_cast<double>(gain));
          off = (static_cast<double>(dim) + 16) * u * size;
          off += tolerance::of_storing<T>(2 * (std::abs(static_cast<double>(value)) + off));
        }
        if (again || o.wild * o.norm) off = std::numeric_limits<double>::quiet_NaN();
        e.off[static_cast<std::size_t>(at)] = off;
        for (std::size_t b = 0; b < sizeof(T); ++b) e.touched.set(static_cast<std::size_t>(at) + b);
      };
      auto const weighed = [&](std::size_t i) {
        return weights.empty() ? x[i] : x[i] * weights[i];
      };
      for (std::size_t i = 0; i < dim; ++i)
        if (copies && (i < o.first_dim || i >= o.first_dim + 2 * pairs))
          put(i, weighed(i), std::abs(static_cast<double>(weighed(i))));
      for (std::size_t i = 0; i < pairs; ++i) {
        bool const turns = std::ranges::any_of(
            rows.rotated_pairs(), [&](auto range) { return range.first <= i && i < range.last; });
        auto a = weighed(o.first_dim + From::x_index(i, pairs)),
             b = weighed(o.first_dim + From::y_index(i, pairs));
        if (!turns && !copies) continue;
        auto const size = 2 * (std::abs(static_cast<double>(a)) + std::abs(static_cast<double>(b)));
        if (turns) {
          auto const c = rows.cos(t)[i], s = rows.sin(t)[i];
          auto const x_turned = multiply_add(a, c, -(b * s));
          b = multiply_add(b, c, a * s);
          a = x_turned;
        }
        put(o.first_dim + To::x_index(i, pairs), a, size);
        put(o.first_dim + To::y_index(i, pairs), b, size);
      }
    }
  }
}

template <class T>
void compare(std::byte const* arena, expectation& e, heads_plan const& target) {
  for (std::size_t t = 0; !target.is_nothing() && t < target.tokens(); ++t)
    for (std::size_t h = 0; target.has(t) && h < target.shape.heads; ++h)
      for (std::size_t i = 0; i < target.shape.head_dim; ++i) {
        auto const at = static_cast<std::size_t>(target.address(t, h)) + i * sizeof(T);
        if (!e.touched[at]) continue;
        T stored;
        std::memcpy(&stored, arena + at, sizeof(T));
        auto const off = e.off[at];
        auto const got = static_cast<double>(posenc::load(stored)),
                   expected = static_cast<double>(posenc::load(e.number<T>(at)));
        if (std::isnan(off) || (std::isnan(got) && std::isnan(expected))) continue;
        if (off == 0) {
          must(std::memcmp(&stored, &e.number<T>(at), sizeof(T)) == 0,
               "a number is not what the scalar loop makes it");
        } else if (std::isfinite(expected) && std::abs(expected) < 1e4) {
          must(std::abs(got - expected) <= off, "a number is farther off than rounding explains");
        }
      }
}

template <class T>
void fill(std::byte* arena, heads_plan const& p, bool wild, std::uint64_t seed) {
  if (wild || p.is_nothing()) return;  // bits as they are
  for (std::size_t t = 0; t < p.tokens(); ++t)
    for (std::size_t h = 0; p.has(t) && h < p.shape.heads; ++h)
      for (std::size_t i = 0; i < p.shape.head_dim; ++i) {
        T x{};
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        posenc::store(x,
                      static_cast<arithmetic_t<T>>(static_cast<double>(seed >> 11) * 0x1p-52 - 1));
        std::memcpy(arena + static_cast<std::size_t>(p.address(t, h)) + i * sizeof(T), &x,
                    sizeof(T));
      }
}

template <class S, class T, class From, class To, bool FromPages, bool ToPages>
void run(FuzzedDataProvider& data) {
  using real = arithmetic_t<T>;
  auto const seed = data.ConsumeIntegral<std::uint64_t>();
  auto const shape = any_shape(data);
  auto source = any_plan(data, shape, sizeof(S), FromPages);
  auto target = any_plan(data, data.ConsumeIntegralInRange(0, 15) == 0 ? any_shape(data) : shape,
                         sizeof(T), ToPages);
  auto other = any_plan(data, any_shape(data), sizeof(T), false);
  auto const together = data.ConsumeIntegralInRange(0, 3);
  if (together == 0 && FromPages == ToPages && std::same_as<S, T>) target = source;
  if (together == 1 && FromPages && ToPages)
    target.pages = source.pages, target.page_tokens = source.page_tokens;
  if (together == 1 && FromPages == ToPages)
    target.strides = source.strides, target.slots = source.slots;
  if (together == 2) other.strides = source.strides;
  if (!FromPages && ToPages)
    source.shape.tokens = std::min(source.shape.tokens, target.slots.size());
  if (FromPages && !ToPages)
    target.shape.tokens = std::min(target.shape.tokens, source.slots.size());
  bool const two = data.ConsumeBool();
  if (two && data.ConsumeIntegralInRange(0, 7) != 0) other.shape.tokens = source.tokens();

  std::vector<double> inv_freq(
      1 +
      std::min<std::size_t>(data.ConsumeIntegralInRange<std::size_t>(0, 145), shape.head_dim / 2));
  for (auto& f : inv_freq)
    f = std::array{1.0, 0.5, 0.0,
                   1e-3}[static_cast<std::size_t>(data.ConsumeIntegralInRange(0, 3))];
  if (data.ConsumeBool() && inv_freq.size() > 1) inv_freq.pop_back();
  std::vector<std::int64_t> positions(std::min<std::size_t>(source.tokens(), 256));
  if (data.ConsumeIntegralInRange(0, 31) == 0) positions.emplace_back();
  for (auto& p : positions) p = data.ConsumeIntegral<std::int64_t>();
  auto const factors = std::array{1.0, 1.0, 1.25};
  posenc::frequencies const f(inv_freq, factors[data.ConsumeIntegralInRange<std::size_t>(0, 2)]);
  posenc::cos_sin_rows<real> const rows(f, positions);

  options o{};
  o.fused = data.ConsumeBool(), o.norm = o.fused && data.ConsumeBool(),
  o.weighted = o.norm && data.ConsumeBool();
  o.wild = data.ConsumeBool();
  o.eps = o.norm ? 1e-5 : 0, o.scale = o.fused && data.ConsumeBool() ? 0.3 : 1;
  auto const which = data.ConsumeIntegralInRange(0, 2);
  std::size_t const dim = shape.head_dim, rotary = f.rotary_dim();
  auto const from = data.ConsumeIntegralInRange<std::size_t>(0, 300);
  auto const block = which == 0   ? posenc::rotary_block::first()
                     : which == 1 ? posenc::rotary_block::last()
                                  : posenc::rotary_block::from(from);
  o.first_dim = which == 0 ? 0 : which == 1 ? (rotary <= dim ? dim - rotary : 0) : from;
  bool const fits = o.first_dim <= dim && rotary <= dim - o.first_dim;

  // Of exactly this size, that the sanitizer knows its ends; 64 bytes on, as vectors begin.
  std::unique_ptr<std::byte[]> const memory(new std::byte[arena_size]);
  auto* const arena = memory.get();
  auto bits = seed;
  for (std::size_t i = 0; i < arena_size; i += 8) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    auto const mixed = bits ^ (bits >> 29);
    std::memcpy(arena + i, &mixed, 8);
  }

  try {
    auto const source_heads = view_of<S const>(arena, source, std::bool_constant<FromPages>());
    auto const target_heads = view_of<T>(arena, target, std::bool_constant<ToPages>());
    auto const source_bytes = source.bytes(), target_bytes = target.bytes();
    if (!source_bytes || !target_bytes) return;  // not ours to read
    std::optional<posenc::heads_view<T>> other_heads;
    footprint other_bytes;
    if (two) {
      other_heads = view_of<T>(arena, other, std::false_type());
      auto const bytes = other.bytes();
      if (!bytes) return;
      other_bytes = *bytes;
    }
    std::vector<real> weights(o.weighted && dim < 1000 ? dim : 0, real(0.75));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] += static_cast<real>(static_cast<double>(i % 7) * 0.125);
    o.weighted = !weights.empty();
    if (dim < 1000) fill<S>(arena, source, o.wild, seed);
    if (two) fill<T>(arena, other, o.wild, seed + 1);

    expectation e{{arena, arena + arena_size}, std::vector<double>(arena_size), {}};
    auto const before = e.bytes;
    bool const shapes_fit = rows.tokens() == source.tokens() &&
                            target.tokens() == source.tokens() &&
                            source.shape.heads == target.shape.heads &&
                            source.shape.head_dim == target.shape.head_dim && fits;
    bool const other_fits =
        !two || (rows.tokens() == other.tokens() && rotary <= other.shape.head_dim);
    bool const in_place = std::same_as<S, T> && shapes_fit && source.is(target);
    bool const shares =
        (*source_bytes & *target_bytes).any() && !(in_place && std::same_as<From, To>);
    bool const others_share =
        two && ((other_bytes & *source_bytes).any() || (other_bytes & *target_bytes).any());
    bool const one_view =
        source.shape.heads == 1 ||
        source.strides.head == target.strides.head;  // else refused, though all be padding
    bool const near =
        !(in_place && one_view && std::same_as<From, To>)&&envelopes_touch(source, target);
    bool const others_near =
        two && (envelopes_touch(other, source) || envelopes_touch(other, target));
    bool const must_refuse = !shapes_fit || !other_fits || shares || others_share;
    bool const may_refuse = must_refuse || near || others_near;

    bool refused = false;
    try {
      auto const call = [&](auto const& first) {
        two ? posenc::rotate(rows, first, posenc::rotated<To>(*other_heads))
            : posenc::rotate(rows, first);
      };
      auto const plain = posenc::rotated<From, To>(source_heads, target_heads).block(block);
      if (!o.fused) {
        call(plain);
      } else if (!o.norm) {
        call(plain.scale(static_cast<real>(o.scale)));
      } else {
        call(plain.norm({weights, static_cast<real>(o.eps)}).scale(static_cast<real>(o.scale)));
      }
    } catch (std::invalid_argument const& error) {
      if (!may_refuse) std::fprintf(stderr, "%s\n", error.what());
      refused = true;
    }
    if (refused) {
      must(may_refuse, "refused what is right");
      must(std::memcmp(arena, before.data(), arena_size) == 0, "refused, and changed something");
      return;
    }
    must(!must_refuse, "did what is to be refused");
    rotate_naively<S, T, From, To>(e, source, target, rows, o, weights);
    if (two)
      rotate_naively<T, T, To, To>(e, other, other, rows, {0, false, false, o.wild, 0, 1, false},
                                   {});
    for (std::size_t i = 0; i < arena_size; ++i)
      must(e.touched[i] || arena[i] == before[i], "changed what it has no business with");
    compare<T>(arena, e, target);
    if (two) compare<T>(arena, e, other);
  } catch (std::invalid_argument const&) {
    // a view, or a norm, that there cannot be
  }
}

// Heads in one piece of memory or in pages. What refuses and what counts tokens depends on the
// numbers' sizes, not on the layout: from one place to the other in halves, for float and for types
// that differ; another type in pages in one layout, in one piece of memory in the other; so are
// layouts that differ.
template <class S, class T, class From, class To>
void run_in_places(FuzzedDataProvider& data) {
  using posenc::halves;
  auto const places = data.ConsumeIntegralInRange(0, 3);
  constexpr bool in_halves = std::same_as<From, halves>;
  if constexpr (!std::same_as<From, To>) {
    return run<S, T, From, To, in_halves, in_halves>(data);
  } else if constexpr (in_halves && (std::same_as<S, float> || !std::same_as<S, T>)) {
    if (places == 1) return run<S, T, From, To, false, true>(data);
    if (places == 2) return run<S, T, From, To, true, false>(data);
    return places == 0 ? run<S, T, From, To, true, true>(data)
                       : run<S, T, From, To, false, false>(data);
  } else {
    return run<S, T, From, To, !in_halves, !in_halves>(data);
  }
}

template <class S, class T>
void run_in_layouts(FuzzedDataProvider& data) {
  using posenc::halves, posenc::interleaved;
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0:
      return run_in_places<S, T, interleaved, interleaved>(data);
    case 1:
      return run_in_places<S, T, halves, interleaved>(data);
    case 2:
      return run_in_places<S, T, interleaved, halves>(data);
    default:
      return run_in_places<S, T, halves, halves>(data);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 5)) {
    case 0:
      run_in_layouts<double, double>(data);
      break;
    case 1:
      run_in_layouts<posenc::half, posenc::half>(data);
      break;
    case 2:
      run_in_layouts<engine::brain_float, engine::brain_float>(data);
      break;
    case 3:
      run_in_layouts<float, posenc::bfloat16>(data);
      break;
    case 4:
      run_in_layouts<posenc::half, float>(data);
      break;
    default:
      run_in_layouts<float, float>(data);
  }
  return 0;
}
