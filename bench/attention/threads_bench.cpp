// Rotation, attention of a prompt and of a step of decoding on two threads, which have a CPU each.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/score/alibi.hpp"
#include "prompt.hpp"
#include "rotation/cell.hpp"
#include "suites.hpp"
#include "two_threads.hpp"

namespace bench {
namespace {

using posenc::halves, posenc::tasks;

class threads_table {
 public:
  threads_table(report& r, int second_cpu)
      : report_(r),
        table_(r.add(
            {.path = "threads",
             .title = "Two threads",
             .note = "ns per head vector, query and visible key, or head and key · "
                     "time of two threads that only scale or read the same bytes / ours · "
                     "time of one / time of two. RoPE and ALiBi, 128 dims; rotation and "
                     "attention get an executor, but for a step split by keys, whose two "
                     "results are merged. Else two threads must give the bits of one. Noise on "
                     "the second core is not seen.",
             .error = "Largest difference from one thread"})),
        pool_(std::make_shared<two_threads>(second_cpu)) {}

  /// act(split) does the work in the tasks of `split`; results() are its numbers.
  void add(
      std::string line, std::size_t items, auto const& act, auto const& results,
      std::vector<work> limits = {}, std::function<void()> prepare = [] {}) {
    auto const in_two = [pool = pool_, act] {
      auto const run = [&](std::size_t n, posenc::task const& task) { (*pool)(n, task); };
      act(tasks(2, run));
    };
    auto const alone = [act] { act(posenc::detail::one_task()); };
    auto const difference = [=] {
      prepare(), alone();
      std::span<float const> const once = results();
      std::vector<float> const of_one(once.begin(), once.end());
      prepare(), in_two();
      std::span<float const> const of_two = results();
      double most = 0;
      for (std::size_t i = 0; i < of_one.size(); ++i)
        most = std::max(most, std::abs(double{of_one[i]} - double{of_two[i]}));
      return most;
    };
    add_both(std::move(line), items, alone, in_two, difference, std::move(limits),
             std::move(prepare));
  }
  /// The two threads do something else than one.
  void add_both(
      std::string line, std::size_t items, auto const& alone, auto const& in_two,
      std::function<double()> difference, std::vector<work> limits,
      std::function<void()> prepare = [] {}) {
    report_case c{.in = table_,
                  .line = std::move(line),
                  .column = "two threads",
                  .by = "one thread",
                  .items = items,
                  .ways = {passes_of(alone)},
                  .prepare = std::move(prepare)};
    auto two = c;
    two.by = "posenc", two.ways = {passes_of(in_two)}, two.max_error = std::move(difference);
    if (!limits.empty()) {
      auto limit = c;
      limit.by = "limit of two", limit.ways = std::move(limits);
      two.limit = report_.add(std::move(limit));
    }
    two.beside = report_.add(std::move(c));
    report_.add(std::move(two));
  }

  /// half(0) and half(1), a thread each.
  work halves_of(auto const& half) const {
    return passes_of([half, pool = pool_] {
      auto const each = [&](std::size_t i) { half(i); };
      (*pool)(2, posenc::task(each));
    });
  }

 private:
  report& report_;
  table const* table_;
  std::shared_ptr<two_threads> pool_;
};

void add_rotation_of(threads_table& t, std::size_t tokens) {
  auto const q =
      make_queries<float>(posenc::geometric(attended_dim, 1e4), {tokens, 32, attended_dim});
  std::vector<work> limits;
  for (auto const scale : scalings<float>()) {
    limits.push_back(t.halves_of([=](std::size_t i) {
      auto const half = q->count() / 2;
      scale(q->data() + i * half, 1, 0, half, -1.0f);
    }));
  }
  t.add(
      "rotate " + std::to_string(tokens) + " tokens x 32 heads", q->vectors(),
      [q](auto const& split) { posenc::rotate<halves>(split, q->view(), q->rows()); },
      [q] { return std::span<float const>(q->data(), q->count()); }, std::move(limits),
      [q] { fill(q->data(), q->count()); });
}

auto scheme_of(std::size_t heads) {
  return posenc::scheme(posenc::rope<halves>(posenc::geometric(attended_dim, 5e5)),
                        posenc::alibi(heads));
}

// `queries`: the last of the tokens, as in a part of a prompt.
void add_prompt(threads_table& t, std::string const& line, std::size_t queries, std::size_t tokens,
                std::size_t heads, std::size_t kv_heads) {
  auto const p = std::make_shared<prompt>(tokens, heads, kv_heads);
  auto const visible = p->visible() - heads * (tokens - queries) * (tokens - queries + 1) / 2;
  t.add(
      line, visible,
      [p, queries, encoding = scheme_of(heads)](auto const& split) {
        posenc::attention(split, p->q().slice_tokens(p->tokens - queries, queries), p->k(), p->v(),
                          encoding, {}, p->workspace);
      },
      [p] { return std::span<float const>(p->workspace.result.outputs); });
}

void add_steps(threads_table& t) {
  using keys_and_values = cache<float>;
  constexpr std::size_t keys = 4096;
  auto const x = std::make_shared<keys_and_values>(keys);
  auto const by = [&](auto read_one) {
    return t.halves_of([x, read_one](std::size_t i) {
      for (auto const part : x->parts())
        benchmark::DoNotOptimize(read_one(part.subspan(i * (part.size() / 2), part.size() / 2)));
    });
  };
  std::vector<work> const limits{by(read<1, float>), by(read<4, float>)};
  auto const items = keys * x->heads;
  auto const step = [x, encoding = scheme_of(x->heads)](auto const& split) {
    posenc::attention(split, x->query(), x->view(x->k), x->view(x->v), encoding,
                      {.keys_are_encoded = true}, x->workspace);
  };
  t.add(
      "a step by heads: 4096 keys, 32 heads over 8", items, step,
      [x] { return std::span<float const>(x->workspace.result.outputs); }, limits);

  struct half {
    std::vector<std::int64_t> positions;
    posenc::attention_workspace<float> workspace;
  };
  auto const parts = std::make_shared<std::array<half, 2>>();
  for (std::size_t i = 0; i < 2; ++i) {
    (*parts)[i].positions.resize(keys / 2);
    std::iota((*parts)[i].positions.begin(), (*parts)[i].positions.end(),
              static_cast<std::int64_t>(i * keys / 2));
  }
  auto const attend_half = [x, parts, encoding = scheme_of(x->heads)](std::size_t i) {
    auto& [positions, workspace] = (*parts)[i];
    auto const of = [&](auto const& all) { return all.slice_tokens(i * keys / 2, keys / 2); };
    std::array<std::int64_t, 1> const last{keys - 1};
    posenc::attention(
        x->query(), of(x->view(x->k)), of(x->view(x->v)), encoding,
        {.query_positions = last, .key_positions = positions, .keys_are_encoded = true}, workspace);
  };
  auto const merged = [parts] {
    return posenc::merge((*parts)[0].workspace.result, (*parts)[1].workspace.result);
  };
  auto const by_keys = [both = t.halves_of(attend_half), merged]() mutable {
    both(1);
    benchmark::DoNotOptimize(merged());
  };
  t.add_both(
      "a step by keys: the same in two halves, merged", items,
      [step] { step(posenc::detail::one_task()); }, by_keys, {}, limits);
}

}  // namespace

void add_threads(report& r, std::vector<int> const& cpus) {
  if (cpus.size() < 2) return;
  threads_table t(r, cpus[cpus.size() - 2]);
  for (auto const tokens : {std::size_t{512}, std::size_t{4096}}) add_rotation_of(t, tokens);
  add_prompt(t, "prompt by tokens: 4096, 1 head", 4096, 4096, 1, 1);
  add_prompt(t, "prompt by heads: the last 64 of 1024, 32 heads over 8", 64, 1024, 32, 8);
  add_prompt(t, "prompt by both: 1024, 8 heads over 2", 1024, 1024, 8, 2);
  add_steps(t);
}

}  // namespace bench
