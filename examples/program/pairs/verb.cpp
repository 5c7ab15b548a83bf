// What each frequency contributes to the scores of a user's own queries and keys.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <variant>

#include "posenc/analysis/key_for_distance.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "program/tensors/rotated_heads.hpp"
#include "report.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace pairs {
namespace {

using program::rotation;

struct options {
  program::heads_options of;
  std::size_t head = 0, distance = 1;
  std::optional<std::size_t> query;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  program::declare_heads(app, o.of, " (without files: a head made for the previous token)");
  program::declare_context(
      app, o.of, "tokens within which turns are counted, also for rules that need them (default 8192)");
  program::add_number(app, "--head", o.head, "head of the queries (default 0)");
  program::add_number(app, "--query", o.query, "token whose query is measured (default the mean over all)");
  program::add_number(app, "--distance", o.distance, "tokens from a query to its key", 0,
                      1 << 30);
  program::declare_outputs(app, o.outputs);
}

// What a constructed head is to attend to, and among how many keys.
constexpr double wanted_weight = 0.99;
constexpr std::size_t among = 8192;

// A head that gives the previous token that weight: a query with the same norm in each of the
// fastest pairs, as many as make the score smallest, and the key R q. [Barbero 2024, Theorem 5.3]
struct constructed_head {
  std::size_t pairs;            // that it uses
  posenc::key_at_distance key;  // and which distance comes next
};
constructed_head make_previous_token_head(heads_of_file& q, heads_of_file& k, rotation const& how,
                                          std::size_t head_dim) {
  auto const& f = how.frequencies;
  auto const budget = posenc::positional_budget(f, among, wanted_weight, 1);
  auto const threshold = [&] {
    std::vector<double> fastest(f.inv_freq().begin(), f.inv_freq().end());
    std::ranges::sort(fastest, std::ranges::greater());
    return fastest[budget.cheapest - 1];
  }();
  // <q, R^-1 k> / sqrt(head_dim) is the score; the pairs share it.
  auto const norm = std::sqrt(budget.score * std::sqrt(static_cast<double>(head_dim)) /
                              static_cast<double>(budget.cheapest)) /
                    f.attention_factor();
  q = k = {1, 1, head_dim, false, std::vector<double>(head_dim)};
  constructed_head made{budget.cheapest, {}};
  std::visit(
      [&]<class Layout>(Layout) {
        auto const first = how.block.first_dim(head_dim, f.rotary_dim());
        std::size_t left = budget.cheapest;
        for (std::size_t i = 0; i < f.pairs(); ++i) {
          if (f.inv_freq()[i] < threshold || left == 0) continue;
          q.numbers[first + Layout::x_index(i, f.pairs())] = norm, --left;
        }
        made.key = posenc::key_for_distance<Layout>(q.numbers, f, 1, among, how.block);
      },
      how.layout);
  k.numbers = made.key.key;
  return made;
}

template <posenc::pair_layout Layout>
void measure(result& r, rotation const& how, heads_of_file const& q, heads_of_file const& k,
             options const& o) {
  auto const queries = q.view(), keys = k.view();
  auto const key_head = o.head * k.heads / q.heads;
  // Inputs of a matrix have no order, nor has one token: these are put at that distance.
  auto const back = q.of_weights || q.tokens == 1 ? 0 : o.distance;
  if (back >= q.tokens || (o.query && (*o.query < back || *o.query >= q.tokens)))
    throw std::runtime_error("no query has a key at distance " + std::to_string(o.distance));
  auto const first = o.query.value_or(back), last = o.query ? first + 1 : q.tokens;
  r.pairs.resize(how.frequencies.pairs());
  for (auto t = first; t < last; ++t) {
    auto const score = posenc::score_by_frequency<Layout>(
        queries(t, o.head), keys(t - back, key_head), how.frequencies,
        static_cast<std::int64_t>(o.distance), how.block);
    r.score.add(score.score);
    for (std::size_t i = 0; i < score.pairs.size(); ++i) {
      auto const& pair = score.pairs[i];
      auto& sum = r.pairs[i];
      sum.inv_freq = pair.inv_freq;
      sum.score.add(pair.score), sum.budget.add(pair.budget);
      sum.query_norm.add(pair.query_norm), sum.key_norm.add(pair.key_norm);
    }
    auto const bands = posenc::by_turns(score, r.context);
    for (auto const band :
         {&posenc::score_by_turns::whole_turns, &posenc::score_by_turns::part_of_a_turn,
          &posenc::score_by_turns::less_than_a_quarter, &posenc::score_by_turns::unrotated}) {
      auto const part = 1 / static_cast<double>(last - first);
      (r.bands.*band).pairs = (bands.*band).pairs;
      (r.bands.*band).score += part * (bands.*band).score;
      (r.bands.*band).budget += part * (bands.*band).budget;
    }
  }
}

void run(options o) {
  auto const style = program::checked(o.outputs);
  std::optional<constructed_head> made;
  auto const given = [&]() -> program::rotated_heads {
    if (!o.of.q.empty()) return program::read_rotated_heads(o.of);
    auto const of_model = program::rotation_of_model(o.of);
    auto const head_dim = o.of.head_dim == 0 ? 128 : o.of.head_dim;
    program::rotated_heads result{
        {}, {}, of_model ? *of_model : program::rotation_of_options(o.of, head_dim)};
    made = make_previous_token_head(result.q, result.k, result.how, head_dim);
    return result;
  }();
  auto const &q = given.q, &k = given.k;
  if (o.head >= q.heads)
    throw std::runtime_error("--head must be below " + std::to_string(q.heads) + ", got " +
                             std::to_string(o.head));
  result r;
  r.context = o.of.context.value_or(program::usual_context);
  std::visit([&]<class Layout>(Layout) { measure<Layout>(r, given.how, q, k, o); },
             given.how.layout);
  auto const count = r.score.count();
  r.title = (made ? "A head made for the previous token, weight " + charts::compact(wanted_weight) +
                        " among " + std::to_string(among) + " keys, of the " +
                        std::to_string(made->pairs) + " fastest pairs"
                  : "Head " + std::to_string(o.head) + " of " + o.of.q + ", keys of " + o.of.k) +
            "; distance " + std::to_string(o.distance) + ", head_dim " +
            std::to_string(q.head_dim) + ", " + program::described_rotation(o.of) +
            (count > 1 ? "; means over " + std::to_string(count) +
                             (q.of_weights ? " inputs, each alone and 1" : " queries")
                       : std::string());
  print(std::cout, r, style);
  if (made) {
    auto const next = std::to_string(made->key.runner_up);
    charts::print_folded(std::cout,
                         "Distance " + next + " comes next, with " +
                             charts::compact(made->key.peak - made->key.margin) + ": --distance " +
                             next + " shows which pairs tell it apart.",
                         style.columns);
  }
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, r); }, [&] { return to_svg(r); });
}

}  // namespace

extern "C" int pairs_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc pairs",
       "Shows the part of each pair of dims, and so of each frequency, in the scores of your "
       "queries and keys, or of a head that is made for the previous token.",
       {{{"--base 500k --distance 100", "a head that attends to the previous token"},
         {"--q q.npy --k k.npy --config config.json --svg pairs.svg",
          "your head, saved by numpy.save, rotated as the model does"}}}},
      declare, run);
}

}  // namespace pairs
