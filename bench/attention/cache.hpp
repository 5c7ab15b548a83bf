// What a step of decoding attends to, and its limit: to read that once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "posenc/attention/attention.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/decode/dot_products.hpp"
#include "posenc/heads/format.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/simd/lanes.hpp"
#include "prompt.hpp"
#include "report/buffer.hpp"

namespace bench {

/// One query or some of 32 heads; keys and values of 8, or of fewer.
template <class T>
struct cache {
  static constexpr std::size_t heads = 32;
  std::size_t keys, queries, kv_heads;
  matrix q = some_numbers(queries, heads* attended_dim, 1);
  std::vector<T> k, v;
  std::vector<std::int64_t> slots;
  posenc::attention_workspace<float> workspace;

  explicit cache(std::size_t n, std::size_t its_queries = 1, std::size_t its_kv_heads = 8)
      : keys(n),
        queries(its_queries),
        kv_heads(its_kv_heads),
        k(n * kv_heads * attended_dim),
        v(k),
        slots(slots_of_pages(n)) {
    fill(k.data(), k.size()), fill(v.data(), v.size());
  }
  std::array<std::span<T const>, 2> parts() const { return {k, v}; }
  posenc::heads_view<float const> query() const {
    return {q.data(), {queries, heads, attended_dim}};
  }
  posenc::heads_view<T const> view(std::vector<T> const& of) const {
    return {of.data(), {keys, kv_heads, attended_dim}};
  }
  posenc::heads_view<T const, posenc::in_pages> paged(std::vector<T> const& of) const {
    return {of.data(), {keys / page_tokens, page_tokens, kv_heads, attended_dim}, slots};
  }
  void decode() { posenc::attention(query(), view(k), view(v), posenc::nope(), {}, workspace); }
  void decode_paged() {
    posenc::attention(query(), paged(k), paged(v), posenc::nope(), {}, workspace);
  }
};

/// Four sequences, a quarter of the keys each, attended to in one call.
template <class T>
struct batch : cache<T> {
  static constexpr std::size_t sequences = 4;
  using cache<T>::cache;
  std::vector<float> outputs = std::vector<float>(sequences * cache<T>::heads * attended_dim);
  std::vector<std::byte> memory;

  void decode() {
    auto const each = this->keys / sequences;
    using heads_of_cache = posenc::heads_view<T const>;
    std::vector<posenc::attention_call<posenc::heads_view<float const>, heads_of_cache,
                                       heads_of_cache, posenc::heads_view<float>, posenc::nope>>
        calls;
    for (std::size_t i = 0; i < sequences; ++i) {
      posenc::heads_view<float> const to(outputs.data() + i * this->heads * attended_dim,
                                         {1, this->heads, attended_dim});
      calls.emplace_back(this->query(), this->view(this->k).slice_tokens(i * each, each),
                         this->view(this->v).slice_tokens(i * each, each), to, encoding);
    }
    memory.resize(posenc::attention_bytes(calls, 1));
    static constexpr auto here = [](std::size_t, posenc::task const& run) { run(0); };
    posenc::attend(posenc::tasks(1, here), calls, memory);
  }
  posenc::nope encoding;
};

/// The same, of keys and values in a format, in pages.
template <class Format>
struct encoded_cache {
  static constexpr std::size_t heads = cache<float>::heads, kv_heads = 8;
  Format format;
  posenc::pages_shape shape;
  std::vector<std::byte> k, v;
  std::vector<std::int64_t> slots;
  matrix q = some_numbers(1, heads* attended_dim, 1);
  posenc::attention_workspace<float> workspace;

  encoded_cache(std::size_t n, Format const& f)
      : format(f),
        shape{n / page_tokens, page_tokens, kv_heads, attended_dim},
        k(n * kv_heads * bytes()),
        v(k),
        slots(slots_of_pages(n)) {
    auto const& all = tile<float>();
    for (auto* const part : {&k, &v}) {
      posenc::heads_view const to(format, static_cast<void*>(part->data()), shape, slots);
      for (std::size_t i = 0; i < n * kv_heads; ++i)
        to.write(i / kv_heads, i % kv_heads,
                 std::span(all).subspan(i * 31 % (all.size() - attended_dim), attended_dim));
    }
  }
  std::size_t bytes() const {
    if constexpr (posenc::scaled_format<Format>)
      return format.bytes(attended_dim) + format.scale_bytes(attended_dim);
    else
      return format.bytes(attended_dim);
  }
  std::array<std::span<std::byte const>, 2> parts() const { return {k, v}; }
  void decode(auto const& encoding) { attend(format, encoding); }
  void decode() { decode(posenc::nope()); }
  void decode_by_dots() requires(requires { Format::codes_are; }) {
    attend(posenc::dot_products(format), posenc::nope());
  }

 private:
  void attend(auto const& as, auto const& encoding) {
    auto const view = [&](std::vector<std::byte> const& of) {
      return posenc::heads_view(as, static_cast<void const*>(of.data()), shape, slots);
    };
    posenc::attention(posenc::heads_view<float const>(q.data(), {1, heads, attended_dim}), view(k),
                      view(v), encoding, {}, workspace);
  }
};

using floats = posenc::detail::lanes<float>;

template <std::size_t N>
float sum(std::array<floats::number, N> const& registers) {
  return std::accumulate(registers.begin(), registers.end(), 0.0f,
                         [](float all, auto const& x) { return all + floats::sum(x); });
}

/// Streams: parts that are read side by side, which some CPUs prefetch faster than one. In
/// registers by hand: compilers read words, or gather them.
template <std::size_t Streams, class T>
[[gnu::noinline]] float read(std::span<T const> numbers) {
  constexpr std::size_t each_time = 2;  // a register alone would wait for itself
  auto const* const first = reinterpret_cast<float const*>(numbers.data());
  auto const each = numbers.size() * sizeof(T) / sizeof(float) / Streams;
  std::array<floats::number, Streams * each_time> most;
  most.fill(floats::number(0.0f));
  for (std::size_t i = 0; i < each; i += each_time * floats::size) {
    for (std::size_t s = 0; s < Streams; ++s) {
      for (std::size_t j = 0; j < each_time; ++j) {
        auto& x = most[s * each_time + j];
        x = floats::larger(x, floats::load(first + s * each + i + j * floats::size));
      }
    }
  }
  return sum(most);
}

}  // namespace bench
