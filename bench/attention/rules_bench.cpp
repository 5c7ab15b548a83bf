// What encodings of scores and of softmax cost within attention.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/key_bias.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "prompt.hpp"
#include "suites.hpp"

namespace bench {
namespace {

void add_rules_for(report& r, table const* t, std::size_t n) {
  auto const p = std::make_shared<prompt>(n);
  auto const add = [&]<class Encoding>(std::string line, Encoding const& encoding,
                                       measured_case const* plain) {
    return r.add({.in = t,
                  .line = std::move(line),
                  .column = "n = " + std::to_string(n),
                  .by = plain == nullptr ? "plain" : "posenc",
                  .items = p->visible(),
                  .ways = {passes_of([p, encoding] {
                    posenc::attention(p->q(), p->k(), p->v(), encoding, {}, p->workspace);
                  })},
                  .prepare = [] {},
                  .max_error = {},
                  .limit = nullptr,
                  .baselines = {},
                  .beside = plain});
  };
  auto const longest = static_cast<std::int64_t>(n);
  auto const* const plain = add("plain", posenc::nope(), nullptr);
  add("adaptive temperature", posenc::adaptive_temperature{}, plain);
  add("alibi", posenc::alibi(1), plain);
  add("kerple_log, table", posenc::bias_table(posenc::kerple_log({{1, 1}}), 1, longest), plain);
  add("sandwich, table", posenc::bias_table(posenc::sandwich(1), 1, longest), plain);
  posenc::t5_bias const t5(posenc::relative_buckets(32, 128, false), std::vector<float>(32, 0.5f),
                           1);
  add("t5, table", posenc::bias_table(t5, 1, longest), plain);
  add("soft_cap", posenc::soft_cap(50), plain);
  std::vector<float> const hidden(32, 0.1f);
  add("fire, 32 hidden", posenc::fire({hidden, hidden, hidden, {0.1f}}, {.c = 1, .threshold = 512}),
      plain);
  std::vector<float> embeddings(64 * attended_dim);
  fill(embeddings.data(), embeddings.size());
  add("cope, 64 positions", posenc::cope(embeddings, attended_dim), plain);
  if (n > 1024) return;  // the slow ones, without a table
  add("kerple_log", posenc::kerple_log({{1, 1}}), plain);
  add("kerple_power", posenc::kerple_power({{1, 0.5}}), plain);
}

/// A step of 4096 q8_0 keys, with a bias in some pairs of each kv head.
void add_key_bias(report& r) {
  auto const* const t = r.add(
      table{.path = "attention/key_bias",
            .title = "The bias of keys, left out of a cache, within a step",
            .note = "ns per head and key; 32 heads of 128 dims over 8, 4096 keys of q8_0 · our "
                    "time / that of a step without a bias.",
            .shows = cells::cost,
            .on_page = {{"3 pairs", "a step with 3 pairs of a key bias"},
                        {"64 pairs", "the same with all 64"}}});
  constexpr std::size_t keys = 4096, kv_heads = 8;
  auto const x = std::make_shared<encoded_cache<posenc::q8_0>>(keys, posenc::q8_0{});
  auto const add = [&](std::string line, auto const& encoding, measured_case const* plain) {
    return r.add({.in = t,
                  .line = std::move(line),
                  .column = "4096 keys",
                  .by = plain == nullptr ? "plain" : "posenc",
                  .items = keys * x->heads,
                  .ways = {passes_of([x, encoding] { x->decode(encoding); })},
                  .prepare = [] {},
                  .max_error = {},
                  .limit = nullptr,
                  .baselines = {},
                  .beside = plain});
  };
  auto const* const plain = add("plain", posenc::nope(), nullptr);
  for (auto const pairs : {std::size_t{3}, attended_dim / 2}) {
    std::vector<float> bias(kv_heads * attended_dim);
    for (std::size_t i = 0; i < kv_heads * pairs; ++i)
      bias[i / pairs * attended_dim + attended_dim / 2 - 1 - i % pairs] = 30;
    add(std::to_string(pairs) + " pairs",
        posenc::key_bias<posenc::halves>(bias, kv_heads, x->heads,
                                         posenc::geometric(attended_dim, 1e6)),
        plain);
  }
}

}  // namespace

void add_rules(report& r) {
  auto const* const t =
      r.add(table{.path = "attention/rules",
                  .title = "Encodings of scores, within attention",
                  .note = "ns per query and visible key · our time / that of "
                          "attention without an encoding.",
                  .shows = cells::cost,
                  .on_page = {{"adaptive temperature", "attention with adaptive temperature"},
                              {"alibi", "attention with ALiBi"},
                              {"soft_cap", "attention with a soft cap"}}});
  for (auto const n : {std::size_t{1024}, std::size_t{4096}}) add_rules_for(r, t, n);
  add_key_bias(r);
}

}  // namespace bench
