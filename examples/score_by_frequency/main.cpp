// What each frequency contributes to the scores of a user's own queries and keys, and what the
// weights of a model's heads use each for.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <variant>

#ifdef READS_MODELS
#include "inspect_model/reading.hpp"
#endif
#include "attends_by.hpp"
#include "heads_file.hpp"
#include "posenc/analysis/key_for_distance.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/frequency/geometric.hpp"
#include "report.hpp"
#include "reporting/program.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"
#include "weights.hpp"
#include "weights_report.hpp"

namespace {

constexpr std::size_t usual_context = 8192;

struct options {
  std::string q, k, config, weights, layout = "halves";
  std::size_t head_dim = 0, head = 0, distance = 1, exchanges = 512;
  bool attends_by = false;
  std::optional<std::size_t> query, rotary_dim, layer, context;
  std::optional<double> base;
  reporting::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  auto const* const says =
      ": FILE.npy, of NumPy, [tokens][heads][head_dim] or fewer dimensions; or FILE.gguf:TENSOR, "
      "of F32, F16, BF16, Q8_0 or Q4_K";
  auto* const q = app.add_option("--q", o.q, std::string("queries before they are rotated") + says)
                      ->option_text("FILE");
  auto* const k =
      app.add_option("--k", o.k,
                     "keys, likewise (without files: a head made for the previous token)")
          ->option_text("FILE");
  q->needs(k), k->needs(q);
  auto* const weights =
      app.add_option(
             "--weights", o.weights,
             "the norms of all heads of all layers, by frequency, from a model's GGUF file; "
             "--layer N: of one layer")
          ->excludes(q)
          ->excludes(k)
          ->option_text("FILE");
  auto* const head_dim =
      app.add_option("--head-dim", o.head_dim,
                     "where a row has several heads (that of the model, else all of a row)")
          ->check(CLI::Range(1, 65536))
          ->option_text("N");
  auto* const head = app.add_option("--head", o.head, "of the queries (0)")->option_text("N");
  auto* const query = app.add_option("--query", o.query,
                                     "this token's alone (the mean over all; with --attends-by, "
                                     "over 16)")
                          ->option_text("N");
  auto* const distance =
      app.add_option("--distance", o.distance, "from a query to its key, in tokens (1)")
          ->check(CLI::Range(0, 1 << 30))
          ->option_text("R");
  auto* const attends_by =
      app.add_flag("--attends-by", o.attends_by,
                   "says of each head whether it attends by position or by content")
          ->needs(q)
          ->excludes(head)
          ->excludes(distance);
  app.add_option("--exchanges", o.exchanges, "of two keys' contents, for --attends-by (512)")
      ->check(CLI::Range(1, 1 << 30))
      ->needs(attends_by)
      ->option_text("N");
  app.add_option("--context", o.context,
                 "tokens within which turns are counted, and for rules that go by it (8192; with "
                 "--weights, the model's)")
      ->check(CLI::Range(1, 1 << 30))
      ->option_text("N");
  auto* const base =
      app.add_option("--base", o.base, "of the frequencies (10000)")->option_text("B");
  auto* const rotary =
      app.add_option("--rotary-dim", o.rotary_dim, "the first so many dims rotate (all)")
          ->check(CLI::Range(2, 65536))
          ->option_text("N");
  auto* const layout =
      app.add_option("--layout", o.layout, "of pairs: halves or interleaved (halves)")
          ->check(CLI::IsMember({"halves", "interleaved"}))
          ->option_text("NAME");
  auto* const config =
      app.add_option("--config", o.config,
                     "frequencies and layout of the model of a config.json or GGUF file")
          ->excludes(base)
          ->excludes(rotary)
          ->excludes(layout)
          ->option_text("FILE");
  app.add_option("--layer", o.layer, "of that model (0)")->option_text("N");
  for (auto* const other : {head_dim, head, query, distance, base, rotary, layout, config})
    weights->excludes(other);
  app.callback([&app, &o] {
    reporting::refuse_unread(app, "--layer", !o.config.empty() || !o.weights.empty(),
                             "it is of a model, which --config or --weights names");
    reporting::refuse_unread(app, "--context", !o.attends_by || !o.config.empty(),
                             "with --attends-by it is for the rules of --config");
  });
  reporting::declare_csv(app, o.outputs);
  reporting::declare_svg(app, o.outputs);
  reporting::declare_columns(app, o.outputs);
}

struct rotation {
  posenc::frequencies frequencies;
  std::variant<posenc::halves, posenc::interleaved> layout;
  posenc::rotary_block block = posenc::rotary_block::first();
};

// The rotation of a model's layer; head_dim: of that layer.
rotation rotation_of_model([[maybe_unused]] options const& o,
                           [[maybe_unused]] std::size_t& head_dim) {
#ifdef READS_MODELS
  auto const model = read_model(o.config);
  auto const& kind = model.kind_of(o.layer.value_or(0));
  if (kind.rotary.empty())
    throw std::runtime_error(o.config + ": layer " + std::to_string(o.layer.value_or(0)) +
                             " does not rotate");
  auto const& rotary = kind.rotary.front();
  head_dim = kind.head_dim;
  return {rotary.frequencies.at(o.context.value_or(usual_context)), rotary.layout, rotary.block};
#else
  throw std::runtime_error("this program was built without nlohmann-json, which reads models");
#endif
}

rotation rotated(options const& o, std::size_t head_dim) {
  rotation result{posenc::geometric(o.rotary_dim.value_or(head_dim), o.base.value_or(10'000.0)),
                  posenc::halves{}};
  if (o.layout == "interleaved") result.layout = posenc::interleaved{};
  return result;
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
void measure(result& r, rotation const& how, heads_of_file& q, heads_of_file& k, options const& o) {
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

void show_places(options const& o, rotation const& how, heads_of_file& q, heads_of_file& k,
                 charts::terminal_style const& style) {
  if (q.of_weights || q.tokens < 2)
    throw std::runtime_error("--attends-by needs queries and keys of two tokens or more, got " +
                             (q.of_weights ? "weights" : std::to_string(q.tokens)));
  if (o.query && (*o.query < 1 || *o.query >= q.tokens))
    throw std::runtime_error("--query must be 1 to " + std::to_string(q.tokens - 1) + ", got " +
                             std::to_string(*o.query));
  places_of_heads found{"Heads of " + o.q + ", keys of " + o.k + ", " + std::to_string(q.tokens) +
                        " tokens; weights when two keys exchange contents"};
  std::visit(
      [&]<class Layout>(Layout) {
        found.heads =
            attend_by<Layout>(q.view(), k.view(), posenc::rope<Layout>(how.frequencies, how.block),
                              o.query, o.exchanges);
      },
      how.layout);
  print(std::cout, found, style);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, found); });
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) { file << to_svg(found); });
}

void show_weights(options const& o, charts::terminal_style const& style) {
  auto const found = read_weights(o.weights, o.context, o.layer);
  print(std::cout, found, style);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, found); });
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) { file << to_svg(found); });
}

void run(options const& o) {
  auto const style = reporting::checked(o.outputs);
  if (!o.weights.empty()) return show_weights(o, style);
  auto head_dim = o.head_dim;
  std::optional<rotation> of_model;
  if (!o.config.empty()) {
    of_model = rotation_of_model(o, head_dim);
    if (o.head_dim != 0 && o.head_dim != head_dim)
      throw std::runtime_error("--head-dim must be that of the layer, " + std::to_string(head_dim) +
                               ", got " + std::to_string(o.head_dim));
  }
  heads_of_file q, k;
  std::optional<constructed_head> made;
  auto how = of_model;
  if (o.q.empty()) {
    if (head_dim == 0) head_dim = 128;
    if (!how) how = rotated(o, head_dim);
    made = make_previous_token_head(q, k, *how, head_dim);
  } else {
    q = read_heads(o.q, head_dim);
    k = read_heads(o.k, head_dim != 0 ? head_dim : q.head_dim);
  }
  if (q.tokens != k.tokens || q.head_dim != k.head_dim || q.heads % k.heads != 0 ||
      q.of_weights != k.of_weights) {
    auto const shape = [](heads_of_file const& f) {
      return '[' + std::to_string(f.tokens) + "][" + std::to_string(f.heads) + "][" +
             std::to_string(f.head_dim) + ']';
    };
    throw std::runtime_error(
        "queries and keys must have as many tokens and dims, and queries a multiple of the keys' "
        "heads, got " +
        shape(q) + " and " + shape(k));
  }
  if (o.head >= q.heads)
    throw std::runtime_error("--head must be below " + std::to_string(q.heads) + ", got " +
                             std::to_string(o.head));
  if (!how) how = rotated(o, q.head_dim);
  if (o.attends_by) return show_places(o, *how, q, k, style);
  result r;
  r.context = o.context.value_or(usual_context);
  std::visit([&]<class Layout>(Layout) { measure<Layout>(r, *how, q, k, o); }, how->layout);
  auto const count = r.score.count();
  r.title =
      (made ? "A head made for the previous token, weight " + charts::compact(wanted_weight) +
                  " among " + std::to_string(among) + " keys, of the " +
                  std::to_string(made->pairs) + " fastest pairs"
            : "Head " + std::to_string(o.head) + " of " + o.q + ", keys of " + o.k) +
      "; distance " + std::to_string(o.distance) + ", head_dim " + std::to_string(q.head_dim) +
      ", " +
      (o.config.empty() ? "base " + charts::compact(o.base.value_or(10'000.0))
                        : "layer " + std::to_string(o.layer.value_or(0)) + " of " + o.config) +
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
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, r); });
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) { file << to_svg(r); });
}

}  // namespace

int main(int argc, char** argv) {
  return reporting::run_program<options>(
      argc, argv,
      "Shows what each pair of dims, and so each frequency, adds to the scores of queries and "
      "keys, and what the weights of a model's heads use each for.",
      {{"", "a head that attends to the previous token"},
       {"--weights model.gguf", "all heads of a model, and which may be positional"},
       {"--q q.npy --k k.npy --base 500000 --distance 100", "your own, saved by numpy.save"},
       {"--q q.npy --k k.npy --attends-by --svg plane.svg",
        "whether each head attends by position or by content"},
       {"--q m.gguf:blk.0.attn_q.weight --k m.gguf:blk.0.attn_k.weight --head-dim 128 --config "
        "m.gguf",
        "what the weights of a layer make of inputs that are 1"}},
      declare, run);
}
