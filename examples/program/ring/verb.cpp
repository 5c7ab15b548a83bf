// Attention of a sequence that no process has as a whole: keys and values go around a ring of
// ranks, and each rank joins what its queries saw of them by posenc::merge. Positions are those in
// the whole sequence, so that any split of it gives the same attention.
#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "program/options.hpp"
#include "reading.hpp"
#include "report.hpp"
#include "ring.hpp"

namespace ring {
namespace {

struct options {
  sequence of{1024, 8, 2, 64, 1};
  std::vector<std::string> splits;
  std::string encoding = "rope", temperature = "none";
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  for (auto const how : all_splits) o.splits.push_back(name_of(how));
  auto const one_of = [](auto const& names) {
    return program::one_of({std::begin(names), std::end(names)});
  };
  program::add_number(app, "--tokens", o.of.tokens, "tokens of the whole sequence", 1, 1 << 20);
  program::add_number(app, "--heads", o.of.heads, "heads of queries", 1, 1024);
  program::add_number(app, "--kv-heads", o.of.kv_heads,
                      "heads of keys and values, which divide the heads of queries", 1, 1024);
  program::add_number(app, "--head-dim", o.of.head_dim, "dims of a head", 1, 1024);
  app.add_option("--split", o.splits,
                 "splits of the tokens over ranks: contiguous, striped, zig-zag (default all)")
      ->check(one_of(o.splits))
      ->delimiter(',')
      ->option_text("NAME ...");
  app.add_option("--encoding", o.encoding, "encoding: rope, alibi or nope (default rope)")
      ->check(one_of(all_encodings))
      ->option_text("NAME");
  app.add_option("--temperature", o.temperature,
                 "temperature of the softmax: none, constant (1.25) or position (Llama 4's, a step "
                 "each eighth of the sequence) (default none)")
      ->check(one_of(all_temperatures))
      ->option_text("NAME");
  program::declare_seed(app, o.of.seed);
  program::declare_outputs(app, o.outputs);
}

// False if people only asked for help.
bool parse(ranks const& all, int argc, char** argv, options& o) {
  program::verb_help const help{
      "posenc ring",
      "Splits a sequence over the processes of mpiexec, compares the attention with that of one "
      "process, and shows the work of each.",
      {{{"--tokens 4k --svg work.svg", "all splits, in one process"},
        {"mpiexec -n 4 posenc ring --encoding alibi --split zig-zag", "in four processes"}}}};
  CLI::App app(help.says, help.name);
  declare(app, o);
  return program::parse(app, help, argc, argv, all.rank() == 0);
}

// Refuses what the rings would, before any begins: an attention to nothing has the shapes of all
// others.
attention_function checked_attention(options const& o) {
  auto const& s = o.of;
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (s.tokens * std::max(s.query_size(), s.key_value_size()) > most) {
    throw std::invalid_argument("MPI counts at most " + std::to_string(most) + " numbers, got " +
                                std::to_string(s.tokens) + " tokens of " +
                                std::to_string(std::max(s.query_size(), s.key_value_size())));
  }
  auto attention = chosen_attention(o.encoding, chosen_temperature(o.temperature, s.tokens), s);
  posenc::heads_view<float const> const queries(nullptr, {0, s.heads, s.head_dim}),
      keys(nullptr, {0, s.kv_heads, s.head_dim});
  attention(queries, keys, keys, {});
  return attention;
}

// A ring's results as rank 0 has them, one rank's after another's.
struct gathered {
  split how;
  posenc::attention_result<float> result;
  std::vector<double> computed, waited;
};

gathered run_ring(ranks const& all, split how, sequence const& s,
                  attention_function const& attention) {
  auto const mine = shard_at(s, positions_of(how, s.tokens, all.rank(), all.count()));
  all.meet();
  auto const ring = ring_attention(all, how, s, mine, attention);
  return {how,
          {all.gather(ring.result.outputs), all.gather(ring.result.log_sum_exp), {}, {}},
          all.gather(ring.computed),
          all.gather(ring.waited)};
}

measurement compared(options const& o, std::size_t ranks, std::vector<gathered> const& rings,
                     attention_function const& attention) {
  auto const whole = shard_at(o.of, positions_of(split::contiguous, o.of.tokens, 0, 1));
  posenc::heads_view const queries(whole.queries.data(), {o.of.tokens, o.of.heads, o.of.head_dim});
  keys_and_values const all(o.of, whole.key_values);
  auto const begin = std::chrono::steady_clock::now();
  auto const expected = attention(queries, all.keys, all.values, {});
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;

  measurement result{o.of, ranks, o.encoding, o.temperature, seconds.count(), {}};
  rounding const allowed(o.of, whole, chosen_temperature(o.temperature, o.of.tokens), ranks);
  for (auto const& ring : rings) {
    std::vector<std::int64_t> positions;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      auto const of_rank = positions_of(ring.how, o.of.tokens, rank, ranks);
      positions.insert(positions.end(), of_rank.begin(), of_rank.end());
    }
    result.outcomes.push_back({ring.how, count_work(ring.how, o.of.tokens, ranks), ring.computed,
                               ring.waited, compare(ring.result, positions, expected, allowed)});
  }
  return result;
}

void report(options const& o, measurement const& m) {
  auto style = charts::detect(stdout);
  if (o.outputs.columns > 0) style.columns = o.outputs.columns;
  print(std::cout, m, style);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, m); }, [&] { return to_svg(m); });
  reporting::check_written();
  if (auto const differs = what_differs(m); !differs.empty()) throw std::runtime_error(differs);
}

void run(ranks const& all, int argc, char** argv) {
  options o;
  attention_function attention;
  bool wanted = false;
  all.together([&] {
    wanted = parse(all, argc, argv, o);
    if (!wanted) return;
    attention = checked_attention(o);
    if (all.rank() == 0) reporting::check_writable({o.outputs.csv, o.outputs.svg});
  });
  if (!wanted) return;
  std::vector<gathered> rings;
  for (auto const how : all_splits) {
    if (std::ranges::count(o.splits, name_of(how)) > 0)
      rings.push_back(run_ring(all, how, o.of, attention));
  }
  all.together([&] {
    if (all.rank() == 0) report(o, compared(o, all.count(), rings, attention));
  });
}

// One line, by the rank that has something to say.
int complain(std::exception const& error) {
  if (*error.what() != '\0')
    std::cerr << (std::string("posenc ring: ") + program::message_of(error) + '\n');
  return 1;
}

}  // namespace

// A separate program, which the verb starts: nothing else is linked with MPI.
static int run(int argc, char** argv) {
  try {
    reporting::check_standard_output();  // before MPI opens files of its own, which would take its
                                         // place
  } catch (std::exception const& error) {
    return complain(error);
  }
  ranks const all(&argc, &argv);
  try {
    run(all, argc, argv);
    return 0;
  } catch (failed_together const& error) {
    return complain(error);
  } catch (std::exception const& error) {
    complain(error);
    all.abort();  // others may be waiting
  }
}

}  // namespace ring

int main(int argc, char** argv) { return ring::run(argc, argv); }
