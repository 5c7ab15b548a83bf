// The reference attention: one head of 128 dims under a causal mask, one decoding step, one row of
// softmax. A row of the report is one query and one visible key: 4 head_dim flops.
#include "posenc/attention/attention.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "baselines.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_table.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "report/buffer.hpp"
#include "suites.hpp"

namespace bench {
namespace {

using posenc::heads_view;

constexpr std::size_t head_dim = 128;

matrix numbers(std::size_t tokens, std::size_t dims, std::size_t seed) {
  matrix x(static_cast<Eigen::Index>(tokens), static_cast<Eigen::Index>(dims));
  auto const& all = tile<float>();
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = all[(static_cast<std::size_t>(i) + 1000 * seed) % all.size()];
  return x;
}

struct prompt {
  explicit prompt(std::size_t n)
      : x{numbers(n, head_dim, 1), numbers(n, head_dim, 2), numbers(n, head_dim, 3)},
        scores(),
        outputs(x.q) {}
  heads_view<float const> view(matrix const& m) const {
    return {m.data(), {static_cast<std::size_t>(x.tokens()), 1, head_dim}};
  }
  matrix& all_scores() {
    if (scores.size() == 0) scores.resize(x.tokens(), x.tokens());
    return scores;
  }

  qkv x;
  matrix scores, outputs;
  posenc::attention_workspace<float> workspace;
};

report_case case_of(std::string name, std::string where, std::size_t rows) {
  return {.suite = "attention",
          .name = std::move(name),
          .type = "float",
          .layout = "causal",
          .head_dim = head_dim,
          .where = std::move(where),
          .rows = rows,
          .ways = {}};
}

// The largest error of the outputs, compared with sums in long double, over some queries.
double max_error(prompt& p) {
  auto const n = p.x.tokens();
  auto const& result = posenc::attention(p.view(p.x.q), p.view(p.x.k), p.view(p.x.v),
                                         posenc::nope(), {}, p.workspace);
  double error = 0;
  for (Eigen::Index t = 0; t < n; t += 97) {
    std::vector<long double> outputs(head_dim);
    long double all = 0;
    for (Eigen::Index s = 0; s <= t; ++s) {
      long double score = 0;
      for (Eigen::Index i = 0; i < p.x.head_dim(); ++i)
        score += static_cast<long double>(p.x.q(t, i)) * static_cast<long double>(p.x.k(s, i));
      auto const weight = std::exp(score / std::sqrt(static_cast<long double>(head_dim)));
      all += weight;
      for (std::size_t i = 0; i < head_dim; ++i)
        outputs[i] += weight * static_cast<long double>(p.x.v(s, static_cast<Eigen::Index>(i)));
    }
    for (std::size_t i = 0; i < head_dim; ++i) {
      auto const ours =
          static_cast<long double>(result.outputs[static_cast<std::size_t>(t) * head_dim + i]);
      error = std::max(error, static_cast<double>(std::abs(outputs[i] / all - ours)));
    }
  }
  return error;
}

void add_prompt(report& r, std::size_t n) {
  auto const p = std::make_shared<prompt>(n);
  auto const where = "n = " + std::to_string(n);
  auto const seen = n * (n + 1) / 2;
  auto const add_baseline = [&](char const* name, std::size_t rows, auto const& pass) {
    auto c = case_of(name, where, rows);
    c.ways = {passes_of(pass)};
    c.in_table = false;
    return r.add(std::move(c));
  };
  auto const* const product =
      add_baseline("eigen_product", n * n, [p] { multiply(p->x, p->all_scores(), p->outputs); });
  auto const* const loops =
      add_baseline("three_loops", seen, [p] { attend_by_loops(p->x, p->outputs); });
  auto const* const textbook = add_baseline(
      "two_matrices", seen, [p] { attend_by_matrices(p->x, p->all_scores(), p->outputs); });
  auto const add = [&]<class Encoding>(char const* name, Encoding const& encoding,
                                       measured_case const* plain) {
    auto c = case_of(name, where, seen);
    c.ways = {passes_of([p, encoding] {
      posenc::attention(p->view(p->x.q), p->view(p->x.k), p->view(p->x.v), encoding, {},
                        p->workspace);
    })};
    c.limit = product, c.plain_loop = loops, c.eigen = textbook, c.beside = plain;
    if (plain == nullptr) c.max_error = [p] { return max_error(*p); };
    return r.add(std::move(c));
  };
  auto const longest = static_cast<std::int64_t>(n);
  auto const* const plain = add("plain", posenc::nope(), nullptr);
  add("adaptive", posenc::adaptive_temperature{}, plain);
  add("alibi", posenc::alibi(1), plain);
  add("kerple_log, table", posenc::bias_table(posenc::kerple_log({{1, 1}}), 1, longest), plain);
  add("kerple_power, table", posenc::bias_table(posenc::kerple_power({{1, 0.5}}), 1, longest),
      plain);
  add("sandwich, table", posenc::bias_table(posenc::sandwich(1), 1, longest), plain);
  add("t5, table",
      posenc::bias_table(posenc::t5_bias(posenc::relative_buckets(32, 128, false),
                                         std::vector<float>(32, 0.5f), 1),
                         1, longest),
      plain);
  add("soft_cap", posenc::soft_cap(50), plain);
  if (n > 2000) return;  // the slow ones, without a table
  add("kerple_log", posenc::kerple_log({{1, 1}}), plain);
  add("kerple_power", posenc::kerple_power({{1, 0.5}}), plain);
  std::vector<float> const hidden(32, 0.1f);
  add("fire, 32 hidden", posenc::fire({hidden, hidden, hidden, {0.1f}}, {.c = 1, .threshold = 512}),
      plain);
}

// One query of 32 heads and a cache of 4096 keys of 8 heads. Limit: reading the cache once.
void add_decode(report& r) {
  constexpr std::size_t keys = 4096, heads = 32, kv_heads = 8;
  struct cache {
    matrix q = numbers(1, heads*head_dim, 1), k = numbers(keys, kv_heads*head_dim, 2),
           v = numbers(keys, kv_heads*head_dim, 3);
    posenc::attention_workspace<float> workspace;
  };
  auto const x = std::make_shared<cache>();
  auto read = case_of("read_cache", "decode", keys * heads);
  read.ways = {passes_of([x] {
    auto sum = x->k.sum() + x->v.sum();
    benchmark::DoNotOptimize(sum);
  })};
  read.in_table = false;
  auto c = case_of("plain", "decode", keys * heads);
  c.limit = r.add(std::move(read));
  c.ways = {passes_of([x] {
    posenc::attention(heads_view<float const>(x->q.data(), {1, heads, head_dim}),
                      heads_view<float const>(x->k.data(), {keys, kv_heads, head_dim}),
                      heads_view<float const>(x->v.data(), {keys, kv_heads, head_dim}),
                      posenc::nope(), {}, x->workspace);
  })};
  r.add(std::move(c));
}

// Rows of 1024 scores at a temperature that depends on their entropy: rows that it sharpens (two
// passes), and rows that are sharp enough (one).
void add_softmax(report& r) {
  static constexpr std::size_t keys = 1024, count = 64;
  for (bool const sharp : {false, true}) {
    struct rows {
      std::vector<float> before, x;
      std::vector<float> memory;
    };
    auto const x = std::make_shared<rows>();
    x->before.resize(keys * count);
    fill(x->before.data(), x->before.size());
    for (std::size_t i = 0; i < x->before.size(); ++i) x->before[i] *= sharp ? 3000.f : 4.f;
    auto const add = [&](std::string const& name, measured_case const* plain, auto const& softmax) {
      auto c =
          case_of(name + (sharp ? ", rows it leaves" : ", rows it sharpens"), "", keys * count);
      c.suite = "softmax", c.layout = "";
      c.ways = {passes_of([x, softmax] {
        x->x = x->before;
        for (std::size_t i = 0; i < count; ++i)
          softmax(std::span(x->x).subspan(i * keys, keys), x->memory);
      })};
      c.beside = plain;
      return r.add(std::move(c));
    };
    auto const* const plain = add(
        "plain", nullptr, [](std::span<float> row, std::vector<float>&) { posenc::softmax(row); });
    add("adaptive", plain, [](std::span<float> row, std::vector<float>& memory) {
      posenc::softmax(row, posenc::adaptive_temperature{}, memory);
    });
  }
}

}  // namespace

void add_attention(report& r) {
  add_prompt(r, 1024);
  add_prompt(r, 4096);
  add_decode(r);
  add_softmax(r);
}

}  // namespace bench
