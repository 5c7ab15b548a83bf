#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "figures.hpp"
#include "posenc/analysis/position_slack.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/analysis/semantic_robustness.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace {

using charts::chart;
using charts::curve;
using charts::steps;
using charts::whole_powers;

constexpr std::size_t head_dim = 128, all_pairs = head_dim / 2;

struct family {
  char const* name;
  posenc::frequencies f;
  double trained;  // tokens; 0: of no model
};

std::vector<family> families() {
  auto const large = posenc::geometric(head_dim, 5e5);
  return {{"base 10k", posenc::geometric(head_dim, 1e4), 4096},
          {"base 500k", large, 8192},
          {"Llama 3.1",
           posenc::llama3(
               large,
               {.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_length = 8192}),
           131'072},
          {"p-RoPE 0.75", posenc::truncated(posenc::geometric(head_dim, 1e4), 0.75), 0}};
}

// 1234567.8 as 1,234,567.
std::string tokens(double number) { return charts::grouped(static_cast<std::uint64_t>(number)); }
std::string percent(double share) { return charts::compact(100 * share, 3) + " %"; }

// cos(r f) of the pair that a head has for meaning, for two turns and a half at most.
figure how_far() {
  chart cosine{"", {"distance, in tokens", true}, {"cosine of the slowest pair"}, {}};
  auto const all = families();
  std::vector<charts::series> lines;
  std::string below, keeps, turns;  // rows of a table
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const slowest = all[i].f.inv_freq().back(),
               end = std::min(1e7, 5 * std::numbers::pi / slowest);
    cosine.curves.push_back(
        curve("", whole_powers(100, end, 100), [&](double r) { return std::cos(slowest * r); }));
    if (all[i].trained == 0) continue;
    auto const kept = charts::compact(std::cos(slowest * all[i].trained), 4),
               trained = tokens(all[i].trained);
    auto const flips = posenc::distance_of_cosine(slowest, 0);
    below += tokens(static_cast<double>(
                 posenc::first_negative_distance(all[i].f, 100'000).value_or(0))) +
             " | ";
    keeps += kept + " | ";
    turns += tokens(std::ceil(flips)) + " | ";
    bool const above = i == 2;  // where curves are below
    lines.push_back(
        {.x = {all[i].trained, all[i].trained},
         .y = {std::cos(slowest * all[i].trained), above ? 1.12 : 0.4 - 0.3 * double(i)},
         .colour = i,
         .dashed = true});
    cosine.notes.push_back({1.15 * all[i].trained, above ? 1.15 : 0.3 - 0.3 * double(i),
                            kept + " at the trained length, " + trained, i, !above});
    cosine.notes.push_back({flips / 2.2, -0.6, all[i].name, i});
  }
  cosine.notes.push_back({120, 1.07, all.back().name + std::string(": 1 for good"), 3});
  cosine.curves.insert(cosine.curves.end(), lines.begin(), lines.end());
  cosine.y_range = {-1.1, 1.3};
  return {"how_far.svg",
          charts::svg({cosine}, {"How far is too far for meaning?",
                                 "Cosine of the slowest pair's angle, by the distance of the key; "
                                 "head_dim 128",
                                 1, 760, 380}),
          "| first distance at which a key like the query scores below a random key | " + below +
              "| cosine of the slowest pair's angle at the trained length | " + keeps +
              "| first distance at which that cosine is below 0 | " + turns,
          "include/posenc/analysis/HOW_FAR.md"};
}

// Of the slowest pairs, each with the same budget.
figure slack() {
  constexpr double share = 0.1;
  auto const of = [](posenc::frequencies const& f, std::size_t used) {
    std::vector<double> budgets(all_pairs);
    std::fill_n(budgets.rbegin(), used, 1.0);
    return posenc::position_slack(f, budgets, share);
  };
  chart c{"", {"slowest pairs that the head uses"}, {"tokens that a key may move", true}, {}};
  auto const all = families();
  for (std::size_t i = 0; i < all.size(); ++i) {
    c.curves.push_back(curve("", steps(1, all_pairs), [&](double used) {
      auto const found = of(all[i].f, static_cast<std::size_t>(used));
      return std::isfinite(found) ? found : NAN;
    }));
    auto const& drawn = c.curves.back().y;
    auto const first = static_cast<std::size_t>(
        std::ranges::find_if(drawn, [](double y) { return !std::isnan(y); }) - drawn.begin());
    if (first > 0)
      c.notes.push_back(
          {2, 1.1 * drawn[first], "no limit up to " + std::to_string(first) + " (p-RoPE)", i});
    else
      c.notes.push_back({10.8, 1.25 * drawn[9], all[i].name, i});
  }
  auto const of_16 = [&](std::size_t i) { return tokens(of(all[i].f, 16)); };
  auto const of_all = [&](std::size_t i) { return tokens(of(all[i].f, all_pairs)); };
  return {"position_slack.svg",
          charts::svg({c}, {"How far a key may move before its score changes by a tenth",
                            "by the pairs that a head uses, from the slowest; at any distance; "
                            "head_dim 128",
                            1, 760, 380}),
          "| the slowest 16 of 64 pairs | " + of_16(0) + " | " + of_16(1) + " | " + of_16(2) +
              " | | all 64 pairs | " + of_all(0) + " | " + of_all(1) + " | " + of_all(2) + " |"};
}

// Su et al. 2021, 3.4.3, whose figure shows the bound alone.
figure bound_and_curve() {
  auto const f = posenc::geometric(head_dim, 1e4);
  auto const distances = steps(0, 256);
  chart c{"", {"distance, in tokens"}, {"of the score at distance 0", true}, {}};
  c.curves = {
      curve("", distances,
            [&](double r) { return roformer_bound(f, static_cast<std::int64_t>(r)); }),
      curve("", distances, [&](double r) { return mean_cosine(f, static_cast<std::int64_t>(r)); })};
  c.notes = {{60, 1.35 * c.curves[0].y[60], "RoFormer's bound", 0},
             {60, 1.25 * c.curves[1].y[60], "the score of all ones", 1}};
  c.y_range = {0.1, 50};
  auto const rises = [](std::vector<double> const& y) {
    return static_cast<std::size_t>(std::ranges::is_sorted_until(y, std::greater()) - y.begin());
  };
  return {"roformer_bound.svg",
          charts::svg({c}, {"RoFormer's bound is no proof of decay",
                            "Su et al. 2021, 3.4.3; head_dim 128, base 10,000", 1, 760, 340}),
          "At distance 100 it is " + charts::compact(c.curves[0].y[100] / c.curves[1].y[100]) +
              " times the score of all ones. It does not fall steadily: its first rise is at "
              "distance " +
              std::to_string(rises(c.curves[0].y)) + "."};
}

// Keys of an instruction correlate with the query, those of the rest are independent of it.
figure squeezed_prompt() {
  constexpr std::size_t instruction = 50, samples = 64;
  constexpr double rho = 0.45;
  auto const f = posenc::geometric(head_dim, 1e4);
  auto const stay = [](std::int64_t t) { return t; };
  auto const squeezed = [](std::int64_t s) {
    return s < std::int64_t{instruction} ? std::int64_t{0} : s;
  };
  posenc::rope<posenc::halves> const rope(f);
  posenc::remapped const at_0(rope, stay, squeezed);

  std::vector<double> in_place(instruction), at_start(instruction);
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  constexpr std::size_t keys = 1024;
  std::vector<std::int64_t> positions(keys);
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  std::int64_t const query_at = keys - 1;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::vector<double> q(head_dim), k(keys * head_dim), shared(head_dim);
    for (auto& x : q) x = normal(bits);
    for (auto& x : shared) x = normal(bits);
    for (std::size_t i = 0; i < k.size(); ++i)  // one instruction: its keys are alike
      k[i] = i < instruction * head_dim
                 ? rho * q[i % head_dim] + std::sqrt(1 - rho * rho) * shared[i % head_dim]
                 : normal(bits);
    auto const add = [&](auto const& encoding, std::vector<double>& to) {
      posenc::heads_view<double const> const q_heads(q.data(), {1, 1, head_dim}),
          k_heads(k.data(), {keys, 1, head_dim});
      auto const seen = posenc::attention(q_heads, k_heads, k_heads.slice_dims(0, 1), encoding,
                                          {.mask = posenc::mask::full,
                                           .query_positions = std::span(&query_at, 1),
                                           .key_positions = positions,
                                           .keep_weights = true});
      for (std::size_t s = 0; s < instruction; ++s) to[s] += seen.weights[s] / samples;
    };
    add(rope, in_place), add(at_0, at_start);
  }
  auto const at = [](std::vector<double> const& values) {
    return [&](double s) { return 100 * values[static_cast<std::size_t>(s)]; };
  };
  chart c{"", {"token of the instruction"}, {"weight, in percent"}, {}};
  c.curves = {curve("", steps(0, instruction - 1), at(in_place)),
              curve("", steps(0, instruction - 1), at(at_start))};
  auto const [low, high] = std::ranges::minmax(in_place);
  auto const sum = [](std::vector<double> const& w) { return std::reduce(w.begin(), w.end()); };
  c.y_range = {0, 110 * high};
  c.notes = {{8.5, 100 * high, "in place", 0}, {7, 88 * at_start[7], "all at position 0", 1}};
  return {"squeezed_prompt.svg",
          charts::svg({c}, {"An instruction with all its tokens at one position",
                            "50 equal keys far before a query that correlates with them; mean of "
                            "64 Gaussian draws",
                            1, 760, 340}),
          "| one token, least to most | " + percent(low) + " to " + percent(high) + " | " +
              percent(at_start[0]) + " | | all 50 tokens together | " + percent(sum(in_place)) +
              " | " + percent(sum(at_start)) + " |"};
}

// So many whole numbers of [first, last), spread by the golden ratio: at equal steps fast pairs
// would show but a few of their angles.
std::vector<double> places_between(double first, double last, int count) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) {
    auto const part = i * std::numbers::phi;
    result.push_back(std::floor(first + (last - first) * (part - std::floor(part))));
  }
  return result;
}

// Of one query and its own image as the key, with the same norm in each pair: how often a distance
// of the farther half of a context scores more than one of the nearer half.
double position_inversion(posenc::frequencies const& f, double context, int count) {
  auto const scores = [&](double first, double last) {
    std::vector<double> result;
    for (auto const r : places_between(first, last, count))
      result.push_back(mean_cosine(f, static_cast<std::int64_t>(r)));
    std::ranges::sort(result);
    return result;
  };
  auto const near = scores(0, context / 2), far = scores(context / 2, context);
  double inverted = 0;
  for (auto const score : far)
    inverted += static_cast<double>(std::ranges::lower_bound(near, score) - near.begin());
  return inverted / static_cast<double>(near.size() * far.size());
}

// Of such a query and two independent Gaussian keys: how often the one that scores more at distance
// 0 scores less at another. <R^r q, k - k'> is Gaussian, with mean_cosine as its correlation with
// that at 0, so that signs differ with the probability arccos(mean_cosine) / pi.
double token_inversion(posenc::frequencies const& f, double context, int count) {
  auto const distances = places_between(0, context, count);
  double sum = 0;
  for (auto const r : distances)
    sum += std::acos(std::min(mean_cosine(f, static_cast<std::int64_t>(r)), 1.0));
  return sum / std::numbers::pi / static_cast<double>(distances.size());
}

// How many distances below `context` score, as bfloat16, what another one does: of one query and
// its own image.
double position_aliasing(posenc::frequencies const& f, double context) {
  std::vector<float> scores;
  for (auto const r : steps(0, context - 1))
    scores.push_back(posenc::load(
        posenc::bfloat16(static_cast<float>(mean_cosine(f, static_cast<std::int64_t>(r))))));
  std::ranges::sort(scores);
  double shared = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    shared += (i > 0 && scores[i] == scores[i - 1]) ||
              (i + 1 < scores.size() && scores[i] == scores[i + 1]);
  return shared / context;
}

// Du et al. 2026, theorems 1 to 3.
figure inversions() {
  struct rule {
    char const* name;
    posenc::frequencies f;
  };
  std::vector<rule> const rules{
      {"base 10k", posenc::geometric(head_dim, 1e4)},
      {"base 500k", posenc::geometric(head_dim, 5e5)},
      {"base 10M", posenc::geometric(head_dim, 1e7)},
      {"p-RoPE 0.75", posenc::truncated(posenc::geometric(head_dim, 1e4), 0.75)}};
  chart positions{
      "A farther place scores more", {"context, in tokens", true}, {"of pairs of places"}, {}},
      words{"The better key scores less", {"context, in tokens", true}, {"of pairs of keys"}, {}};
  std::vector<std::string> at;
  for (auto* const c : {&positions, &words}) {
    auto const of = c == &positions ? position_inversion : token_inversion;
    for (auto const& [name, f] : rules) {
      c->curves.push_back(curve(name, whole_powers(64, 1'048'576, 8),
                                [&, &f = f](double n) { return of(f, n, 256); }));
      for (double const n : {4096.0, 65'536.0}) at.push_back(charts::compact(of(f, n, 8192), 2));
    }
    c->curves.push_back(
        {.name = "chance", .x = {64, 1'048'576}, .y = {0.5, 0.5}, .colour = 6, .dashed = true});
    c->y_range = {0, 0.62};
  }
  auto const row = [&](std::string const& what, std::size_t i) {
    return "| pairs of " + what + " tokens | " + at[i] + " | " + at[i + 2] + " | " + at[i + 4] +
           " | " + at[i + 6] + " | ";
  };
  return {"inversions.svg",
          charts::svg({positions, words},
                      {"Long contexts lose the order of places, and of tokens",
                       "Du et al. 2026, with a query of the same norm in each pair; head_dim 128"}),
          row("places, 4,096", 0) + row("keys, 4,096", 8) + row("places, 65,536", 1) +
              row("keys, 65,536", 9) + " In bfloat16, " +
              percent(position_aliasing(rules[1].f, 4096)) +
              " of the first 4,096 distances have the same score as another distance (base 500k)."};
}

// Length of the mean of R_t x over t < n, of an x with the same norm in each pair, of its own
// length: each pair keeps |sin(n f / 2) / (n sin(f / 2))|.
double kept_centre(posenc::frequencies const& f, double n) {
  double squares = 0;
  for (auto const inv_freq : f.inv_freq()) {
    auto const half = inv_freq / 2,
               kept = half == 0 ? 1 : std::sin(n * half) / (n * std::sin(half));
    squares += kept * kept;
  }
  return std::sqrt(squares / static_cast<double>(f.pairs()));
}

// Keys of a head, or its queries, lie around a centre. Wertheimer et al. 2026 have the clusters;
// what their rotated centres keep is worked out here.
figure frayed() {
  chart c{"", {"tokens", true}, {"of the centre's length"}, {}};
  auto const all = {
      std::pair{"base 10k", posenc::geometric(head_dim, 1e4)},
      std::pair{"base 500k", posenc::geometric(head_dim, 5e5)},
      std::pair{"p-RoPE 0.75", posenc::truncated(posenc::geometric(head_dim, 1e4), 0.75)},
      std::pair{"p-RoPE 0.25", posenc::truncated(posenc::geometric(head_dim, 1e4), 0.25)}};
  std::vector<std::string> at;
  for (auto const& [name, f] : all) {
    auto const& of = f;
    c.curves.push_back(
        curve(name, whole_powers(1, 1'048'576, 24), [&](double n) { return kept_centre(of, n); }));
    for (double const n : {4096.0, 65'536.0}) at.push_back(charts::compact(kept_centre(f, n), 2));
  }
  c.y_range = {0, 1.05};
  return {"frayed_clusters.svg",
          charts::svg({c}, {"Rotation spreads a cluster of keys: length of its centre",
                            "length of the mean of one key rotated to each of so many positions; "
                            "head_dim 128",
                            1, 760, 360}),
          "| 4,096 tokens | " + at[0] + " | " + at[2] + " | " + at[4] + " | " + at[6] +
              " | | 65,536 tokens | " + at[1] + " | " + at[3] + " | " + at[5] + " | " + at[7] +
              " |"};
}

// DroPE [Gelberg et al. 2025] drops all rotation after training.
figure slow_pairs() {
  constexpr double trained = 8192, base = 5e5, longest = 16;
  auto const plain = posenc::geometric(head_dim, base), p_rope = posenc::truncated(plain, 0.75),
             none = posenc::truncated(plain, 0);
  auto const yarn = [&](double factor) {
    return posenc::yarn(head_dim, base, {.factor = factor, .original_length = trained});
  };
  auto const robust = [](posenc::frequencies const& f, double factor) {
    auto const length = static_cast<std::size_t>(trained * factor);
    return static_cast<double>(posenc::semantic_robustness(f, length, 0.9).robust);
  };
  chart meaning{
      "Pairs that keep 0.9 of a score", {"context / trained context"}, {"pairs of 64"}, {}},
      moved{"Change within the trained context",
            {"pair"},
            {"largest, of the score at distance 0"},
            {}};
  auto const factors = steps(1, longest);
  meaning.curves = {
      curve("", factors, [&](double s) { return robust(plain, s); }),
      curve("", factors, [&](double s) { return robust(s > 1 ? yarn(s) : plain, s); }),
      curve("", factors, [&](double s) { return robust(p_rope, s); }),
      curve("", factors, [&](double s) { return robust(none, s); })};
  meaning.curves[2].dashed = true;
  meaning.notes = {
      {9, 6.5, "RoPE", 0}, {9, 18, "YaRN, and p-RoPE 0.75", 1}, {9, 59, "DroPE: none rotates", 3}};
  meaning.y_range = {0, 68};
  auto const change = [&](posenc::frequencies const& f, std::size_t i) {
    double most = 0;
    for (double r = 0; r < trained; r += 8)
      most = std::max(most,
                      std::abs(std::cos(r * f.inv_freq()[i]) - std::cos(r * plain.inv_freq()[i])));
    return most;
  };
  for (double const s : {2.0, 4.0, longest})
    moved.curves.push_back(
        curve("YaRN " + charts::compact(s), steps(0, all_pairs - 1),
              [&, f = yarn(s)](double i) { return change(f, static_cast<std::size_t>(i)); }));
  auto const at = [&](std::size_t i, double s) {
    return charts::compact(meaning.curves[i].y[static_cast<std::size_t>(s) - 1]);
  };
  auto const first = all_pairs - static_cast<std::size_t>(meaning.curves[1].y.back());
  auto const& of_16 = moved.curves.back().y;
  auto const factor = yarn(longest).attention_factor();
  return {
      "slow_pairs.svg",
      charts::svg({meaning, moved},
                  {"YaRN keeps slow pairs slow, and changes pairs in the middle",
                   "base 500k, trained to 8,192 tokens; head_dim 128", 2, 430, 300}),
      "In the trained context, " + at(0, 1) +
          " pairs of RoPE keep 0.9 of a score at any distance. In a context 16 times as long, this "
          "many pairs keep it:  | RoPE | YaRN by 16 | p-RoPE, p = 0.75 | DroPE | |---|---|---|---| "
          "| " +
          at(0, longest) + " pairs | " + at(1, longest) + " pairs | " + at(2, longest) +
          " pairs | all " + at(3, longest) +
          " pairs |  YaRN also changes scores in the trained context. Its attention factor "
          "multiplies them by " +
          charts::compact(factor * factor, 3) +
          ". Apart from that, it changes the score of each pair by up to:  | the " +
          at(1, longest) + " slowest pairs | pairs in the middle | |---|---| | " +
          charts::compact(of_16[first], 2) + " of the score at distance 0 | " +
          charts::compact(std::ranges::max(of_16), 2) + " times the score at distance 0 |"};
}

}  // namespace

std::vector<figure> figures_of_distances() {
  return {how_far(),    slack(),  bound_and_curve(), squeezed_prompt(),
          inversions(), frayed(), slow_pairs()};
}
