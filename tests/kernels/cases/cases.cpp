// The cases of attention.txt by posenc's headers: a line each, its name and a hash of all bits, or
// the error.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "posenc/attention/call.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/page_bounds.hpp"
#include "posenc/heads/slots.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/mixed_row_maker.hpp"
#include "posenc/score/key_bias.hpp"

namespace {

using namespace posenc;

struct one_case {
  std::map<std::string, std::string> fields;

  std::string text(char const* name, char const* otherwise = "") const {
    auto const found = fields.find(name);
    return found == fields.end() ? otherwise : found->second;
  }
  double number(char const* name, double otherwise = 0) const {
    auto const given = text(name);
    return given.empty() ? otherwise : std::stod(given);
  }
  std::size_t size(char const* name, std::size_t otherwise) const {
    return static_cast<std::size_t>(number(name, static_cast<double>(otherwise)));
  }
  bool is(char const* name) const { return text(name, "0") != "0"; }
};

/// The rules of temperature, in the order of their values from 1 on.
std::vector<std::string> temperatures;

double number_at(std::size_t i, std::size_t n) {
  auto const mixed = (13 * std::uint64_t{i} + 7 * n + std::uint64_t{i} * i * (n + 2)) % 97;
  return (static_cast<double>(mixed) - 48) / 32;
}
template <class T>
std::vector<T> numbers(std::size_t count, std::size_t n) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(T(static_cast<arithmetic_t<T>>(number_at(i, n))));
  return result;
}
std::vector<double> of_heads(one_case const& c, char const* name, std::size_t n, auto const& of) {
  auto result = numbers<double>(c.size("heads", 4), n);
  for (auto& x : result) x = of(x);
  if (c.text(name) == "nan") result[0] = std::numeric_limits<double>::quiet_NaN();
  return result;
}

class hash {
 public:
  template <class T>
  void add(std::vector<T> const& values) {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i)
      value_ = (value_ ^ bytes[i]) * 0x100000001b3u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// Cells of a type.
struct cells {
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<half> halves;
  std::vector<bfloat16> bfloat16s;
  std::vector<unsigned char> bytes;
  std::vector<double> slopes;

  given_mask make(one_case const& c, std::string const& type, std::size_t n, std::size_t tokens) {
    auto const queries = c.size("queries", 1), heads = c.size("mask_heads", 1);
    given_mask::shape const shape{queries, heads, tokens};
    auto const hidden = [&](std::size_t i) { return number_at(i, n) < -0.75; };
    auto const made = [&]<class T>(std::vector<T>& all) {
      all = numbers<T>(queries * heads * tokens, n);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (hidden(i)) all[i] = T(-std::numeric_limits<arithmetic_t<T>>::infinity());
      given_mask const mask(all.data(), shape);
      if (!c.is("mask_slopes")) return mask;
      slopes = of_heads(c, "mask_slopes", 9, [](double x) { return x; });
      return mask.with_slopes(slopes);
    };
    if (type == "f64") return made(doubles);
    if (type == "f32") return made(floats);
    if (type == "f16") return made(halves);
    if (type == "bf16") return made(bfloat16s);
    auto const row = type == "bit" ? (tokens + 7) / 8 : tokens;
    bytes.assign(queries * heads * row, 0);
    for (std::size_t i = 0; i < queries * heads * tokens; ++i) {
      auto const key = i % tokens;
      auto& byte = bytes[i / tokens * row + (type == "bit" ? key / 8 : key)];
      byte =
          static_cast<unsigned char>(byte | (hidden(i) ? 0 : 1 << (type == "bit" ? key % 8 : 0)));
    }
    if (type != "bit") return given_mask(bytes.data(), shape);
    return given_mask::bits(
        reinterpret_cast<std::byte const*>(bytes.data()), shape,
        {static_cast<std::ptrdiff_t>(row), static_cast<std::ptrdiff_t>(row * queries)});
  }
};

std::vector<std::size_t> lengths_of(one_case const& c) {
  std::istringstream list(c.text("lengths"));
  std::vector<std::size_t> lengths;
  for (std::string one; std::getline(list, one, ',');) lengths.push_back(std::stoul(one));
  if (lengths.empty()) lengths.push_back(c.size("tokens", 37));
  return lengths;
}

constexpr std::size_t page_tokens = 16;

/// Keys or values of a sequence: numbers, or a cache in pages.
template <class Stored>
struct source {
  std::vector<std::byte> memory;
  std::vector<std::int64_t> slots;
  std::vector<Stored> stored;

  auto make(one_case const& c, std::size_t tokens, std::size_t dim, std::size_t n) {
    auto const heads = c.size("kv_heads", 2);
    if constexpr (storable<Stored> && !cache_format<Stored>) {
      stored = numbers<Stored>(tokens * heads * dim, n);
      return heads_view<Stored const>(stored.data(), {tokens, heads, dim});
    } else {
      auto const pages = (tokens + page_tokens - 1) / page_tokens;
      for (std::size_t t = 0; t < tokens; ++t)
        slots.push_back(c.is("slots") && t % 6 == 5
                            ? -1
                            : static_cast<std::int64_t>(
                                  (pages - 1 - t / page_tokens) * page_tokens + t % page_tokens));
      Stored const format = [] {
        if constexpr (std::is_same_v<Stored, q8_0>)
          return q8_0{q8_0_writer::reference};
        else if constexpr (std::is_same_v<Stored, dot_products<q8_0>>)
          return Stored(q8_0{});
        else
          return Stored();
      }();
      pages_shape const shape{pages, page_tokens, heads, dim};
      auto of_head = format.bytes(dim);
      if constexpr (scaled_format<Stored>) of_head += format.scale_bytes(dim);
      memory.resize(pages * page_tokens * heads * of_head);
      heads_view<Stored, in_pages> const cache(format, memory.data(), shape, slots);
      auto all = numbers<float>(tokens * heads * dim, n);
      if (c.is("hadamard"))
        hadamard(heads_view(all.data(), {tokens, heads, dim}), c.size("hadamard", 0));
      for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t h = 0; h < heads; ++h)
          cache.write(t, h, std::span(all).subspan((t * heads + h) * dim, dim));
      return heads_view<Stored const, in_pages>(format, memory.data(), shape, slots);
    }
  }
};

/// What rotates, and the axis of each pair.
struct frequencies_of_case {
  frequencies f;
  pair_axes axes;

  explicit frequencies_of_case(one_case const& c)
      : f(geometric(c.size("dim", 32), 1e4)), axes(contiguous_axes({f.pairs()})) {
    auto const given = c.text("axes"), kind = given.substr(0, given.find(':'));
    auto const all = list<std::size_t>(given.substr(kind.size() + (given.empty() ? 0 : 1)));
    std::array<std::size_t, 4> four{};
    std::copy_n(all.begin(), std::min<std::size_t>(all.size(), 4), four.begin());
    if (kind == "contiguous") axes = contiguous_axes(all);
    if (kind == "interleaved") axes = interleaved_axes(all);
    if (kind == "by_pair") axes = pair_axes(all);
    if (kind == "ggml") axes = ggml_axes(four, f.pairs());
    if (kind == "ggml_interleaved") axes = ggml_interleaved_axes(four, f.pairs());
    if (kind == "axial") {
      auto const bases = list<double>(c.text("bases"));
      f = bases.size() == 1 ? axial(all, bases[0]) : axial(all, bases), axes = axial_axes(all);
    }
  }

  template <class T>
  static std::vector<T> list(std::string const& text) {
    std::istringstream in(text);
    std::vector<T> result;
    for (std::string part; std::getline(in, part, ',');)
      result.push_back(static_cast<T>(std::stod(part)));
    return result;
  }
};

/// The bias of keys that a case asks for.
key_bias<halves> key_bias_of(one_case const& c) {
  auto const dim = c.size("dim", 32), kv_heads = c.size("kv_heads", 2);
  auto const of = [&](auto const&... axes_and_positions) {
    return key_bias<halves>(numbers<float>(kv_heads * dim, 11), kv_heads, c.size("heads", 4),
                            geometric(dim, 1e4), axes_and_positions...)
        .of_transformed(c.size("key_bias", 0));
  };
  if (!c.is("axes")) return of();
  std::vector<std::int64_t> at;
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (std::int64_t t = 0; t < 60; ++t)
      at.push_back(t / 12 + (axis == 0 ? 0 : axis == 1 ? t % 12 / 4 : t % 4));
  return of(frequencies_of_case(c).axes, axis_positions(3, at), std::int64_t{-40});
}

/// What attention is asked in a case; what its rules view.
struct rules_of_case {
  attention_rules rules;
  cells mask, biases;
  std::vector<double> slopes, sinks, scales;
  std::vector<float> profiles, side;
  std::optional<key_bias<halves>> bias;

  /// Of sequence b, of so many tokens.
  void make(one_case const& c, std::size_t b, std::size_t tokens) {
    auto const queries = c.size("queries", 1), heads = c.size("heads", 4);
    auto const limit = [&](char const* name) {
      auto const n = c.size(name, 0);
      return n == 0 ? mask::any : static_cast<std::int64_t>(n) - 1;
    };
    auto& seen = rules.sees;
    seen = mask::window(limit("behind"), c.is("causal") ? 0 : limit("ahead"));
    if (c.is("chunk")) seen = seen & mask::chunked(static_cast<std::int64_t>(c.size("chunk", 0)));
    if (!c.text("mask").empty())
      seen = seen & posenc::mask::given(mask.make(c, c.text("mask"), 4 + 10 * b, tokens));
    if (!c.text("bias").empty()) rules.biases = biases.make(c, c.text("bias"), 5 + 10 * b, tokens);
#define NUMBER(name) \
  if (!c.text(#name).empty()) rules.name = c.number(#name);
#include "numbers_of_attention.h"
    auto const set = [&](viewed<double>& of_rules, std::vector<double>& all, char const* name,
                         std::size_t n, auto const& of) {
      if (!c.text(name).empty()) all = of_heads(c, name, n, of), of_rules = all;
    };
    set(rules.slopes, slopes, "slopes", 6, [](double x) { return std::abs(x) / 4; });
    set(rules.sinks, sinks, "sinks", 7, [](double x) { return x; });
    std::istringstream given(c.text("temperature"));
    std::string rule, part;
    std::getline(given, rule, ':');
    auto& t = rules.temperature;
    for (double* number : {&t.length, &t.scale, &t.offset})
      if (std::getline(given, part, ':')) *number = std::stod(part);
    if (auto const found = std::ranges::find(temperatures, rule); found != temperatures.end())
      t.rule = static_cast<temperature_rule>(found - temperatures.begin() + 1);
    if (t.rule == temperature_rule::ssmax)
      set(t.scales, scales, "temperature", 8, [](double x) { return std::abs(x) + 0.125; });
    if (c.is("key_bias")) rules.key_bias = bias.emplace(key_bias_of(c));
    if (!c.is("profiles")) return;
    profiles = numbers<float>(3 * 20, 12);
    side = numbers<float>(queries * heads * 3, 13 + 10 * b);
    rules.profiles = {profiles.data(), 3, 20,
                      heads_view(std::as_const(side).data(), {queries, heads, 3})};
  }
};

/// Few types, as each is compiled.
template <class Number, class Stored>
inline constexpr bool has_gradients =
    std::is_same_v<Number, Stored> && !std::is_same_v<Number, half>;

template <class Number, class Stored>
std::uint64_t run(one_case const& c) {
  using real = arithmetic_t<Number>;
  auto const queries = c.size("queries", 1), heads = c.size("heads", 4), dim = c.size("dim", 32),
             value_dim = c.size("value_dim", 32);
  auto const lengths = lengths_of(c);
  using keys_type = decltype(source<Stored>().make(c, 0, 0, 0));
  using call = attention_call<heads_view<Number const>, keys_type, keys_type, heads_view<Number>,
                              attention_rules>;
  std::vector<call> calls;
  struct sequence {
    std::vector<Number> q, o;
    source<Stored> k, v;
    rules_of_case asked;
    std::vector<std::int64_t> of_queries, of_keys;
    std::vector<double> sums;
    std::vector<real> scores, weights;
  };
  std::vector<sequence> all(lengths.size());
  for (std::size_t b = 0; b < all.size(); ++b) {
    auto& s = all[b];
    auto const tokens = lengths[b];
    s.q = numbers<Number>(queries * heads * dim, 1 + 10 * b);
    if (c.is("hadamard"))
      hadamard(heads_view(s.q.data(), {queries, heads, dim}), c.size("hadamard", 0));
    s.o.resize(queries * heads * value_dim);
    if (!c.text("first").empty()) {
      for (std::size_t t = 0; t < queries; ++t)
        s.of_queries.push_back(static_cast<std::int64_t>(c.number("first")) +
                               static_cast<std::int64_t>(t));
      for (std::size_t t = 0; t < tokens; ++t)
        s.of_keys.push_back(static_cast<std::int64_t>(t * c.size("stretch", 1)));
    }
    s.asked.make(c, b, tokens);
    attention_options const options{.query_positions = s.of_queries, .key_positions = s.of_keys};
    if (c.is("records") || c.is("gradients")) s.sums.resize(queries * heads);
    if (c.is("records")) {
      s.scores.resize(queries * heads * tokens);
      s.weights.resize(s.scores.size());
    }
    calls.emplace_back(heads_view<Number const>(s.q.data(), {queries, heads, dim}),
                       s.k.make(c, tokens, dim, 2 + 10 * b),
                       s.v.make(c, tokens, value_dim, 3 + 10 * b),
                       heads_view<Number>(s.o.data(), {queries, heads, value_dim}), s.asked.rules,
                       options, attention_records<real>{s.sums, s.scores, s.weights});
  }
  std::span const whole(std::as_const(calls));
  std::vector<std::byte> memory(attention_bytes(whole, 1));
  attend(worker(0, 1, [] {}), whole, memory);
  hash result;
  for (std::size_t b = 0; b < all.size(); ++b) {
    auto& s = all[b];
    result.add(s.o), result.add(s.sums), result.add(s.scores), result.add(s.weights);
    if constexpr (has_gradients<Number, Stored>) {
      if (!c.is("gradients")) continue;
      auto const d_outputs = numbers<Number>(s.o.size(), 16 + 10 * b);
      attention_result<real> forward{{}, s.sums, {}, {}};
      for (auto const& x : s.o) forward.outputs.push_back(load(x));
      auto const d =
          attention_backward(calls[b].queries(), calls[b].keys(), calls[b].values(), s.asked.rules,
                             forward, heads_view(d_outputs.data(), {queries, heads, value_dim}),
                             {.query_positions = s.of_queries, .key_positions = s.of_keys});
      result.add(d.q), result.add(d.k), result.add(d.v);
    }
  }
  return result.value();
}

template <class Real>
void add_rows(hash& result, cos_sin_view<Real> const& all) {
  for (std::size_t head = 0; head < all.heads(); ++head) {
    auto const rows = all.of_head(head);
    for (std::size_t t = 0; t < rows.tokens(); ++t) {
      auto const cos = rows.cos(t), sin = rows.sin(t);
      result.add(std::vector(cos.begin(), cos.end()));
      result.add(std::vector(sin.begin(), sin.end()));
    }
  }
}

void add_mixed_rows(hash& result, one_case const& c, mixed_row_maker const& maker,
                    auto const& positions) {
  cos_sin_rows const rows(maker, positions);
  add_rows(result, rows.view());
  heads_shape const shape{rows.tokens(), c.size("heads", 4), c.size("dim", 32)};
  auto q = numbers<float>(shape.tokens * shape.heads * shape.head_dim, 1);
  rotate<halves>(heads_view(q.data(), shape), rows);
  result.add(q);
  add_rows(result, cos_sin_rows<double>(maker, positions).view());
}

std::uint64_t rows_of(one_case const& c) {
  hash result;
  auto const add = [&](std::size_t axes, auto const& add_at) {
    auto const at = [&]<class P>(P divisor) {
      std::vector<P> positions;
      for (std::size_t axis = 0; axis < axes; ++axis)
        for (std::size_t t = 0; t < c.size("rows", 0); ++t)
          positions.push_back(static_cast<P>(1000 * t + 7 * axis * t + 5 * axis) / divisor);
      add_at(positions);
    };
    c.text("fraction").empty() ? at(std::int64_t{1}) : at(c.number("fraction"));
  };
  if (auto const mixed = c.text("mixed"); !mixed.empty()) {
    auto const heads = std::stoul(mixed), axes = std::stoul(mixed.substr(mixed.find(':') + 1));
    mixed_row_maker const maker(heads, axes,
                                numbers<double>(heads * axes * c.size("dim", 32) / 2, 14));
    add(axes, [&](auto const& at) { add_mixed_rows(result, c, maker, at); });
    return result.value();
  }
  frequencies_of_case const made(c);
  axis_row_maker const maker(made.f, made.axes);
  add(made.axes.axes(), [&](auto const& at) {
    axis_positions const positions(made.axes.axes(), at);
    auto const floats = axis_rows<float>(maker, positions);
    auto const doubles = axis_rows<double>(maker, positions);
    add_rows(result, floats.view()), add_rows(result, doubles.view());
  });
  return result.value();
}

std::uint64_t ring_of(one_case const& c) {
  auto const all = frequencies_of_case::list<std::size_t>([&, text = c.text("ring")]() mutable {
    return std::ranges::replace(text, ':', ','), text;
  }());
  hash result;
  result.add(ring_slots(all.at(0), all.at(1), all.at(2)));
  return result.value();
}

template <class Stored>
std::uint64_t bounds_of(one_case const& c) {
  source<Stored> stored;
  auto const keys = stored.make(c, c.size("tokens", 37), c.size("dim", 32), 2);
  auto const page = c.size("bounds", 1), pages = page == 0 ? 0 : (keys.tokens() + page - 1) / page;
  std::vector<arithmetic_t<typename decltype(keys)::element_type>> bounds(pages * keys.heads() * 2 *
                                                                          keys.head_dim());
  page_bounds(keys, page, bounds);
  hash result;
  result.add(bounds);
  return result.value();
}

template <class Number, class Stored>
std::uint64_t run_or_bounds(one_case const& c) {
  return c.text("bounds").empty() ? run<Number, Stored>(c) : bounds_of<Stored>(c);
}

std::uint64_t of(one_case const& c) {
  if (c.is("rows")) return rows_of(c);
  if (c.is("ring")) return ring_of(c);
  auto const type = c.text("type", "f32"), keys = c.text("keys", "f32");
  if (type == "f64") return run_or_bounds<double, double>(c);
  if (type == "f16" && keys == "bf16") return run_or_bounds<half, bfloat16>(c);
  if (type == "f16") return run_or_bounds<half, half>(c);
  if (type == "bf16") return run_or_bounds<bfloat16, bfloat16>(c);
  if (keys == "q8_0" && c.is("dots")) return run_or_bounds<float, dot_products<q8_0>>(c);
  if (keys == "q8_0") return run_or_bounds<float, q8_0>(c);
  if (keys == "q4_0") return run_or_bounds<float, q4_0>(c);
  if (keys == "q5_1") return run_or_bounds<float, q5_1>(c);
  if (keys == "iq4_nl") return run_or_bounds<float, iq4_nl>(c);
  if (keys == "int4_per_head") return run_or_bounds<float, int4_per_head>(c);
  if (keys == "int8_per_head") return run_or_bounds<float, int8_per_head>(c);
  if (keys == "u8_per_head") return run_or_bounds<float, u8_per_head>(c);
  if (keys == "cached_f16") return run_or_bounds<float, numbers_of<half>>(c);
  return run_or_bounds<float, float>(c);
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "attention.txt");
  for (std::string line; std::getline(file, line);) {
    if (auto const name = std::string("=temperature "); line.starts_with(name))
      temperatures.push_back(line.substr(name.size(), line.find(' ', name.size()) - name.size()));
    if (line.empty() || line[0] == '#' || line[0] == '=') continue;
    std::istringstream words(line.substr(0, line.find(" error ")));
    std::string name, word;
    words >> name;
    one_case c;
    while (words >> word)
      c.fields[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    std::cout << name << ' ';
    try {
      auto const value = of(c);
      std::cout << std::hex << value << std::dec << '\n';
    } catch (std::invalid_argument const& error) {
      std::cout << "error " << error.what() << '\n';
    }
  }
}
