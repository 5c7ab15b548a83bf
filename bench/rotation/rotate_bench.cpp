// The rotation of a decode step, 1 token x 40 heads of 128, against the physical limit (scaling the same buffer in place) and against
// the loop that a user would have written. Compare medians within one run; absolute numbers do not carry over.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/query_key/rope.hpp"

namespace {

constexpr std::size_t tokens = 1, heads = 40, head_dim = 128;
std::vector<std::int64_t> const positions{123'456};

template <class T>
std::vector<T> numbers() {
  std::vector<T> x(tokens * heads * head_dim);
  for (std::size_t i = 0; i < x.size(); ++i) posenc::store(x[i], static_cast<posenc::arithmetic_t<T>>(static_cast<double>(i % 17) - 8));
  return x;
}

void count(benchmark::State& state, std::size_t bytes) {
  using benchmark::Counter;
  auto const rows = static_cast<double>(tokens * heads);
  state.counters["row"] = Counter(rows, Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["B/s"] = Counter(static_cast<double>(2 * bytes), Counter::kIsIterationInvariantRate, Counter::kIs1000);
}

template <class Layout, class T>
void rotate(benchmark::State& state) {
  posenc::cos_sin_rows<posenc::arithmetic_t<T>> const rows(posenc::geometric(head_dim, 1e4), positions);
  auto x = numbers<T>();
  posenc::heads_view const view(x.data(), {tokens, heads, head_dim});
  for (auto _ : state) {
    posenc::rotate<Layout>(view, rows);
    benchmark::ClobberMemory();
  }
  count(state, x.size() * sizeof(T));
}

// x *= c in place: nothing that reads and writes every number once can be faster.
void limit(benchmark::State& state) {
  auto x = numbers<float>();
  float c = -1;
  benchmark::DoNotOptimize(c);
  for (auto _ : state) {
    for (auto& number : x) number *= c;
    benchmark::ClobberMemory();
  }
  count(state, x.size() * sizeof(float));
}

// The loop of a user who has the table.
void plain_loop(benchmark::State& state) {
  posenc::cos_sin_rows const rows(posenc::geometric(head_dim, 1e4), positions);
  auto const cos = rows.cos(0), sin = rows.sin(0);
  auto x = numbers<float>();
  for (auto _ : state) {
    for (std::size_t h = 0; h < heads; ++h) {
      auto* const head = x.data() + h * head_dim;
      for (std::size_t i = 0; i < head_dim / 2; ++i) {
        auto const a = head[i], b = head[i + head_dim / 2];
        head[i] = a * cos[i] - b * sin[i];
        head[i + head_dim / 2] = a * sin[i] + b * cos[i];
      }
    }
    benchmark::ClobberMemory();
  }
  count(state, x.size() * sizeof(float));
}

// Making the rows, once a step: 64 exact cosines and sines a token.
void make_rows(benchmark::State& state) {
  auto const f = posenc::geometric(head_dim, 1e4);
  std::vector<std::int64_t> many(256);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(4099 * i);
  for (auto _ : state) benchmark::DoNotOptimize(posenc::cos_sin_rows(f, many).cos(0).data());
  state.counters["row"] = benchmark::Counter(256, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(limit);
BENCHMARK(plain_loop);
BENCHMARK(rotate<posenc::halves, float>);
BENCHMARK(rotate<posenc::interleaved, float>);
BENCHMARK(rotate<posenc::halves, posenc::bfloat16>);
BENCHMARK(rotate<posenc::interleaved, posenc::bfloat16>);
BENCHMARK(rotate<posenc::halves, posenc::half>);
BENCHMARK(rotate<posenc::interleaved, posenc::half>);
BENCHMARK(rotate<posenc::halves, double>);
BENCHMARK(make_rows);

}  // namespace
