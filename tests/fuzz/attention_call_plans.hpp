#pragma once

/// What attention_call_fuzz calls attention with: heads in pages, and outputs in memory of exactly
/// their size.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "attention_plans.hpp"
#include "given_cells.hpp"
#include "posenc/attention/arguments.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace fuzz {

/// Keys or values in pages, of numbers or in a format, whose slots are in any order; some tokens
/// have none.
template <class Format>
struct heads_in_pages {
  using number = std::conditional_t<std::is_same_v<Format, double>, double, float>;
  heads_shape shape;
  posenc::pages_shape pages;
  exact<std::byte> memory{0};
  exact<std::int64_t> slots;
  std::vector<std::byte> before = {};
  std::vector<number> decoded = {};  // 0 without a slot

  heads_in_pages(FuzzedDataProvider& data, heads_shape given)
      : shape(given), slots(given.tokens, -1) {
    auto const page = data.ConsumeIntegralInRange<std::size_t>(1, 5),
               used = data.ConsumeIntegralInRange<std::size_t>(0, 4);
    pages = {(shape.tokens + page - 1) / page + (used == 0), page, shape.heads, shape.head_dim};
    auto const count = pages.pages * page;
    if (count == 0) return;
    auto const seed = data.ConsumeIntegral<std::uint32_t>();
    for (std::size_t t = 0; t < shape.tokens; ++t) {
      auto const x = (seed ^ t * 0x9e37'79b9u) * 0x85eb'ca6bu >> 7;
      slots.data[t] = used == 1 && x % 3 == 0 ? -static_cast<std::int64_t>(x % 5 + 1)
                                              : static_cast<std::int64_t>((t + seed) % count);
    }
    if (used == 2) std::fill_n(slots.data.get(), shape.tokens, -1);
    memory = exact<std::byte>(count * shape.heads * bytes_of_head());
  }
  std::size_t bytes_of_head() const {
    if constexpr (posenc::storable<Format>) {
      return shape.head_dim * sizeof(Format);
    } else {
      return Format().bytes(shape.head_dim);
    }
  }
  void fill(std::uint64_t seed, int wild, real size) {
    if (memory.size != 0) {
      heads_in_memory<number> numbers(shape);
      numbers.fill(seed, posenc::storable<Format> ? wild : 0, size);
      auto const to = view_of<Format>(memory.data.get());
      for (std::size_t t = 0; t < shape.tokens; ++t)
        for (std::size_t h = 0; h < shape.heads; ++h) to.write(t, h, numbers.view()(t, h));
    }
    before = memory.copy();
    decoded.resize(shape.tokens * shape.heads * shape.head_dim);
    auto const read = view();
    auto const d = shape.head_dim;
    for (std::size_t t = 0; t < shape.tokens; ++t)
      for (std::size_t h = 0; h < shape.heads && slots.data[t] >= 0; ++h)
        read.read(t, h, std::span(&decoded[(t * shape.heads + h) * d], d));
  }
  auto view() const { return view_of<Format const>(memory.data.get()); }
  real at(std::size_t t, std::size_t h, std::size_t i) const {
    return static_cast<real>(decoded[(t * shape.heads + h) * shape.head_dim + i]);
  }
  bool is_unchanged() const { return memory.holds(before); }

 private:
  template <class F>
  posenc::heads_view<F, posenc::in_pages> view_of(std::byte* data) const {
    if constexpr (posenc::storable<Format>) {
      return {reinterpret_cast<F*>(data), pages, slots.all()};
    } else {
      return {Format(), static_cast<void*>(data), pages, slots.all()};
    }
  }
};

template <class Heads>
void note_missing(Heads const& heads, std::vector<bool>& missing) {
  if constexpr (requires { heads.slots; }) {
    missing.resize(heads.shape.tokens);
    for (std::size_t t = 0; t < missing.size(); ++t)
      missing[t] = missing[t] || heads.slots.data[t] < 0;
  }
}

/// Outputs at strides, and records; bytes between heads must stay as they are.
template <class O, class T>
struct results_in_memory {
  heads_shape shape;
  heads_strides strides;
  exact<O> outputs{0};
  std::vector<O> before;
  exact<double> log_sum_exp{0};
  exact<T> scores{0}, weights{0};

  results_in_memory(FuzzedDataProvider& data, heads_shape given, std::size_t keys) : shape(given) {
    auto const pad = data.ConsumeIntegralInRange<std::ptrdiff_t>(0, 2);
    auto const d = static_cast<std::ptrdiff_t>(shape.head_dim) + pad,
               h = static_cast<std::ptrdiff_t>(shape.heads),
               t = static_cast<std::ptrdiff_t>(shape.tokens);
    strides = data.ConsumeBool() ? heads_strides{h * d, d} : heads_strides{d, t * d};
    auto const rows = shape.tokens * shape.heads;
    if (rows != 0)
      outputs = exact<O>(
          static_cast<std::size_t>((h - 1) * strides.head + (t - 1) * strides.token + d - pad));
    if (data.ConsumeBool()) log_sum_exp = exact<double>(rows, 7);
    if (data.ConsumeIntegralInRange(0, 3) == 0) scores = exact<T>(rows * keys, 7);
    if (data.ConsumeIntegralInRange(0, 3) == 0) weights = exact<T>(rows * keys, 7);
    std::memset(static_cast<void*>(outputs.data.get()), 0x5a, outputs.size * sizeof(O));
    before = outputs.copy();
  }
  posenc::heads_view<O> view() const {
    return {shape.tokens * shape.heads == 0 ? nullptr : outputs.data.get(), shape, strides};
  }
  bool is_unchanged() const {
    auto const all_7 = [](auto const& x) {
      return std::ranges::all_of(x.all(), [](auto each) { return each == 7; });
    };
    return outputs.holds(before) && all_7(log_sum_exp) && all_7(scores) && all_7(weights);
  }
  /// Whether they are another result, rounded, and nothing but its bytes was written.
  bool are(posenc::attention_result<T> const& all) const {
    exact<O> wanted(outputs.size);
    std::ranges::copy(before, wanted.data.get());
    posenc::heads_view<O> const to(view().data() == nullptr ? nullptr : wanted.data.get(), shape,
                                   strides);
    for (std::size_t t = 0; t < shape.tokens; ++t)
      for (std::size_t h = 0; h < shape.heads; ++h)
        to.write(t, h,
                 std::span<T const>(&all.outputs[(t * shape.heads + h) * shape.head_dim],
                                    shape.head_dim));
    return same(wanted, outputs) && (log_sum_exp.size == 0 || is(log_sum_exp, all.log_sum_exp)) &&
           (scores.size == 0 || is(scores, all.scores)) &&
           (weights.size == 0 || is(weights, all.weights));
  }

 private:
  static bool same(exact<O> const& a, exact<O> const& b) { return is(a, b.copy()); }
  /// Same numbers; NaN is any NaN.
  template <class E>
  static bool is(exact<E> const& a, std::vector<E> const& b) {
    if (a.size != b.size()) return false;
    for (std::size_t i = 0; i < a.size; ++i) {
      auto const x = static_cast<double>(posenc::load(a.data[i])),
                 y = static_cast<double>(posenc::load(b[i]));
      if (std::memcmp(&a.data[i], &b[i], sizeof(E)) != 0 && !(x != x && y != y)) return false;
    }
    return true;
  }
};

}  // namespace fuzz
