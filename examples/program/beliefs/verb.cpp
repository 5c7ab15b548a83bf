// Which beliefs about RoPE are true: prints examples/beliefs/README.md, with every number.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <sstream>

#include "posenc/analysis/key_for_distance.hpp"
#include "posenc/analysis/positional_budget.hpp"
#include "posenc/analysis/precision_wall.hpp"
#include "posenc/analysis/rope_decay.hpp"
#include "posenc/analysis/semantic_robustness.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "program/options.hpp"
#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace beliefs {

namespace {

using charts::compact;
using charts::fixed;
using doubles = std::vector<double>;
using posenc::geometric;

struct belief {
  std::string says, so;
};

constexpr std::size_t dim = 128, pairs = dim / 2, length = 8192;

posenc::frequencies const& llama_2() {
  static auto const f = geometric(dim, 1e4);
  return f;
}

// 17156.2 as 17,156.
std::string whole(auto number) {
  return charts::grouped(static_cast<std::uint64_t>(std::llround(static_cast<double>(number))));
}
// Says that numbers are equal but for rounding, whose last digits each CPU has its own.
std::string equal_to(double bound, double difference) {
  if (!(difference <= bound)) throw std::runtime_error("expected equal numbers");
  return "to " + compact(bound);
}

doubles word(double phase) {
  doubles x(dim);
  for (std::size_t i = 0; i < dim; ++i) x[i] = std::sin(phase + 1.7 * static_cast<double>(i));
  return x;
}
doubles rotated(doubles x, std::int64_t by) {
  posenc::rotate<posenc::halves>(posenc::heads_view<double>(x.data(), {1, 1, dim}),
                                 posenc::cos_sin_rows<double>(llama_2(), std::array{by}));
  return x;
}
double dot(doubles const& a, doubles const& b) {
  double all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) all += a[i] * b[i];
  return all;
}

std::vector<belief> of_distance() {
  constexpr int far = 50'000, base = 10'000;
  doubles curve;
  for (int r = 0; r <= far; ++r) curve.push_back(mean_cosine(llama_2(), r));
  int first_rise = 0, rises = 0;
  for (int r = base; r > 0; --r)
    if (curve[static_cast<std::size_t>(r)] > curve[static_cast<std::size_t>(r) - 1])
      first_rise = r, ++rises;
  auto const lowest = std::ranges::min_element(curve) - curve.begin();
  auto const far_mean = correlated_score(llama_2(), 0, far, dim);
  // Root mean square of what one token more or less changes, around a distance.
  auto const step = [&](std::size_t around) {
    double squares = 0;
    for (auto r = around - 50; r < around + 50; ++r)
      squares += std::pow(curve[r + 1] - curve[r], 2);
    return std::sqrt(squares / 100);
  };
  constexpr std::size_t chosen = 5000;
  auto const key = posenc::key_for_distance<posenc::halves>(word(1), llama_2(), chosen, length);
  return {
      {"Attention falls with distance",
       "It depends on queries and keys, which are learned. If both are all ones, the score falls "
       "at first, rises again at " +
           whole(first_rise) + " tokens, is below 0 from " +
           whole(first_negative_distance(llama_2(), far).value_or(0)) +
           " tokens on, and has its minimum, " + compact(*std::ranges::min_element(curve)) +
           " of its maximum, at " + whole(lowest) + " (looking at " + whole(far) +
           " tokens). If both are independent and Gaussian, the mean is " + compact(far_mean.mean) +
           " and the deviation " + compact(std::sqrt(far_mean.variance)) +
           " at every distance: nothing falls "
           "([figure](../README.md#does-rope-make-scores-fall-with-distance))."},
      {"The curve is well behaved until the distance exceeds the base",
       "It rises in " + whole(rises) + " of the first " + whole(base) + " steps."},
      {"RoFormer's curve shows how attention falls",
       "It is an upper bound, and a loose one: at 100 tokens it is " +
           compact(roformer_bound(llama_2(), 100) / mean_cosine(llama_2(), 100)) +
           " times the score of all ones."},
      {"Rotated in so many dims, a far key hardly ever points where the query does",
       "Each pair rotates in a separate plane, and a key can undo any rotation: R^r q scores "
       "highest at distance r. For q_i = sin(1 + 1.7 i), the key for distance " +
           whole(chosen) + " scores " + compact(key.peak) + " there, and at most " +
           compact(key.peak - key.margin) + " at the other distances below " + whole(length) +
           " ([figure](../README.md#the-key-for-a-distance))."},
      {"The further away a key is, the less its exact place matters",
       "It depends on the pairs that a head uses. With queries and keys of all ones, one token "
       "more or less changes the score by " +
           fixed(step(100), 3) + " of its maximum around a distance of 100, and by " +
           fixed(step(base), 3) + " around " + whole(base) + " (root mean square)."},
  };
}

std::vector<belief> of_frequencies() {
  constexpr double text = 128'000;
  auto const slowest = [](std::size_t head_dim, double base) {
    return geometric(head_dim, base).inv_freq()[head_dim / 2 - 1];
  };
  auto const turns = [&](double base) {
    return text * slowest(dim, base) / (2 * std::numbers::pi);
  };
  auto const above = [&](std::size_t head_dim) {
    return fixed(100 * (slowest(head_dim, 1e4) * 1e4 - 1), 0) + " %";
  };
  auto const one = slowest(dim, 1e4);
  auto const budget = posenc::positional_budget(llama_2(), length, 0.99);
  auto const back = posenc::near_recurrences(1, length);
  auto const& last = *std::ranges::find(back, std::size_t{710}, &posenc::near_recurrence::distance);
  auto const robust = [](posenc::frequencies const& f) {
    return whole(posenc::semantic_robustness(f, length, 0.9).robust);
  };
  auto const p_rope = posenc::truncated(llama_2(), 0.75);
  // The weights of eight words, and those with a large norm in a pair that stands still.
  auto const weights_with = [&](double norm) {
    doubles x;
    for (std::size_t t = 0; t < 8; ++t) {
      auto const start = x.size();
      for (auto const entry : word(0.7 * static_cast<double>(t * t))) x.push_back(entry / 2);
      x[start + pairs - 1] = x[start + dim - 1] = norm / std::sqrt(2.0);
    }
    posenc::heads_view<double const> const view(x.data(), {8, 1, dim});
    return posenc::attention(view, view, view, posenc::rope<posenc::halves>(p_rope),
                             {.keep_weights = true})
        .weights;
  };
  auto const without = weights_with(0), with = weights_with(30);
  double changed = 0;
  for (std::size_t i = 0; i < with.size(); ++i)
    changed = std::max(changed, std::abs(with[i] - without[i]));
  auto const still = std::ranges::count(p_rope.inv_freq(), 0.0);
  return {
      {"At base 10,000 the slowest pair makes 2.04 turns in 128,000 tokens; midway attention is 0",
       "It makes " + fixed(turns(1e4), 2) + " turns. Its frequency is base^(-(d - 2) / d), " +
           above(dim) + " above 1 / base (" + above(64) + " in heads of 64). Its cosine is 0 at " +
           whole(posenc::distance_of_cosine(one, 0)) + " tokens and -1 at " +
           whole(posenc::distance_of_cosine(one, -1)) + ", and it is only one pair of " +
           whole(pairs) + ". At base 500,000 it makes " + fixed(turns(5e5), 2) + " turns."},
      {"Frequencies follow from the width of the model",
       "They follow from the width of a head. Pair 1 rotates by " +
           fixed(llama_2().inv_freq()[1], 3) +
           " radians per token; by the model's width of 4096 it would rotate by " +
           fixed(geometric(4096, 1e4).inv_freq()[1], 3) + "."},
      {"Fast pairs are noise", "They make positional heads. To give one of " + whole(length) +
                                   " tokens a weight of 0.99 takes a score of " +
                                   compact(budget.score) + " from the " + whole(budget.cheapest) +
                                   " fastest pairs, " +
                                   compact(budget.by_pairs.back().score.value()) +
                                   " from all ([figure](../README.md#fast-pairs-and-slow-pairs))."},
      {"A head for the previous token uses the fastest pair",
       "The fastest pair is not enough: " + whole(last.distance) +
           " tokens are whole turns of it except for " + compact(last.angle) +
           " radians, so that pair needs a score of " +
           fixed(budget.by_pairs.front().score.value() / 1e9, 1) + " billion."},
      {"The pairs with the largest norms get the attention",
       "A norm bounds a pair's score and is no weight: softmax ignores a score that all keys "
       "share. A norm of 30 in a pair that does not rotate, the same in 8 words, adds " +
           compact(30 * 30 / std::sqrt(dim)) + " to each score and changes no weight, " +
           equal_to(1e-12, changed) + "."},
      {"Slow pairs carry meaning over any distance",
       "They carry it over some distance. With base 10,000, " + robust(llama_2()) + " pairs of " +
           whole(pairs) + " keep 0.9 of their score over " + whole(length) +
           " tokens; with base 500,000, " + robust(geometric(dim, 5e5)) +
           " pairs; with p-RoPE and p = 0.75, " + robust(p_rope) + " pairs, which do not rotate."},
      {"p-RoPE uses more low frequencies, and does not hurt",
       "It uses fewer: with p = 0.75 the slowest " + whole(still) +
           " pairs do not rotate, and the others rotate as before. Whether it hurts depends on p: "
           "published perplexities are 4.463 for RoPE, 4.441 for p = 0.75 and 4.530 for p = 0.25 "
           "[Barbero 2024, table 2: a model of 2B, one run each]. A model that was trained with "
           "RoPE can "
           "stop its slowest pairs at little cost if they are hardly used [Oka 2026]; that holds "
           "for two "
           "of three small models ([run](../program/run/README.md#which-pairs-a-model-needs))."},
  };
}

std::vector<belief> of_contexts() {
  // The denominator of softmax, of tokens that are all alike, at places 10 and 4096.
  constexpr std::size_t last = 4096;
  doubles const ones(dim, 1);
  auto const grows = [&](auto const& encoding) {
    std::vector<std::int64_t> const queries{9, last - 1};
    std::vector<std::int64_t> keys(last);
    std::iota(keys.begin(), keys.end(), std::int64_t{0});
    posenc::heads_view<double const> const q(ones.data(), {2, 1, dim}, {0, 0}),
        k(ones.data(), {last, 1, dim}, {0, 0});
    auto const sums = posenc::attention(q, k, k.slice_dims(0, 1), encoding,
                                        {.query_positions = queries, .key_positions = keys})
                          .log_sum_exp;
    return std::exp(sums[1] - sums[0]);
  };
  // How much of its length the mean of a word keeps, rotated to each of so many places.
  auto const centre = [](posenc::frequencies const& f, std::size_t tokens) {
    std::vector<std::int64_t> places(tokens);
    std::iota(places.begin(), places.end(), std::int64_t{0});
    posenc::cos_sin_rows<double> const rows(f, places);
    double squares = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      double cos = 0, sin = 0;
      for (std::size_t t = 0; t < tokens; ++t) cos += rows.cos(t)[i], sin += rows.sin(t)[i];
      squares += (cos * cos + sin * sin) / static_cast<double>(tokens * tokens);
    }
    return fixed(std::sqrt(squares / pairs), 2);
  };
  auto const p_rope = posenc::truncated(llama_2(), 0.75);
  constexpr double trained = 8192, times = 16;
  auto const large = geometric(dim, 5e5),
             yarn = posenc::yarn(dim, 5e5, {.factor = times, .original_length = trained});
  auto const robust = [](posenc::frequencies const& f, double tokens) {
    return posenc::semantic_robustness(f, static_cast<std::size_t>(tokens), 0.9).robust;
  };
  auto const change = [&](std::size_t pair) {
    double most = 0;
    for (double r = 0; r < trained; ++r)
      most = std::max(most, std::abs(std::cos(r * yarn.inv_freq()[pair]) -
                                     std::cos(r * large.inv_freq()[pair])));
    return most;
  };
  auto const of_slow = pairs - robust(large, trained);
  auto const factor = yarn.attention_factor();
  double most_of_all = 0;
  for (std::size_t i = 0; i < pairs; ++i) most_of_all = std::max(most_of_all, change(i));
  return {
      {"RoPE tells distances, and nothing tells a query its place",
       "RoPE's scores tell only distances, but the causal mask tells the place: softmax divides by "
       "a sum over all earlier keys. If all tokens are equal, that sum is " +
           compact(grows(posenc::nope())) +
           " times as large at place 4,096 as at place 10 with NoPE, and " +
           compact(grows(posenc::rope<posenc::halves>(llama_2()))) +
           " times with RoPE [Ruscio "
           "2026, arXiv 2606.06160] ([figure](../README.md#where-a-query-is))."},
      {"A cluster of keys stays a cluster",
       "Rotation keeps norms, and not the centre of a cluster. The mean of one key, rotated to "
       "each of 4,096 places, keeps " +
           centre(llama_2(), 4096) + " of its length; over 65,536 places it keeps " +
           centre(llama_2(), 65'536) + ". With p-RoPE and p = 0.75 it keeps " +
           centre(p_rope, 65'536) +
           ", the part that does not rotate. Sinks need that centre [Wertheimer 2026, arXiv "
           "2603.18017] ([figure](../README.md#clusters-of-keys-under-rotation))."},
      {"YaRN squeezes the pairs that carry meaning",
       "It hardly does. With base 500,000, trained to 8,192 tokens, " +
           whole(robust(large, trained)) +
           " pairs keep 0.9 of their score. In 16 times the context " +
           whole(robust(large, times * trained)) + " pairs keep it, and " +
           whole(robust(yarn, times * trained)) + " with YaRN. Besides YaRN's factor of " +
           fixed(factor * factor, 2) +
           " on every score, the scores of these pairs in the trained context move by at most " +
           fixed(change(of_slow), 2) +
           " of the score at distance 0. The scores of pairs in the middle move "
           "by up to " +
           fixed(most_of_all, 2) + " ([figure](../README.md#slow-pairs-of-yarn))."},
  };
}

std::vector<belief> of_rotation() {
  auto const q = word(1), k = word(2);
  double apart = 0;
  for (std::int64_t const t : {10, 1000, 1'000'000})
    apart =
        std::max(apart, std::abs(dot(rotated(q, t), rotated(k, t - 10)) - dot(rotated(q, 10), k)));
  auto const of_query = std::abs(dot(rotated(q, 1000), rotated(k, 900)) - dot(rotated(q, 100), k));
  auto const norm = std::abs(dot(rotated(q, 1000), rotated(q, 1000)) / dot(q, q) - 1);

  constexpr std::size_t tokens = 8;
  doubles text, reversed;
  for (std::size_t t = 0; t < tokens; ++t)
    for (auto const x : word(0.7 * static_cast<double>(t * t))) text.push_back(x / 4);
  for (std::size_t t = 0; t < tokens; ++t) {
    auto const from = text.begin() + static_cast<std::ptrdiff_t>((tokens - 1 - t) * dim);
    reversed.insert(reversed.end(), from, from + dim);
  }
  auto const outputs = [](doubles const& x) {
    posenc::heads_view<double const> const view(x.data(), {tokens, 1, dim});
    return posenc::attention(view, view, view, posenc::nope(), {.mask = posenc::mask::full})
        .outputs;
  };
  auto const a = outputs(text), b = outputs(reversed);
  double moved = 0, in_place = 0;
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < dim; ++i) {
      moved = std::max(moved, std::abs(a[t * dim + i] - b[(tokens - 1 - t) * dim + i]));
      in_place = std::max(in_place, std::abs(a[t * dim + i] - b[t * dim + i]));
    }
  return {
      {"The distance counts relative to the longest text",
       "No length enters. Two words that are ten tokens apart score the same at 10, 1000 and "
       "1,000,000, " +
           equal_to(1e-12, apart) + "."},
      {"Rotating the query alone, by the distance, is the same",
       "One score is the same, " + equal_to(1e-12, of_query) +
           ". But every key needs the query rotated anew, and RoPE is for a cache of keys that are "
           "rotated once."},
      {"Meaning is in the norm, which a rotation keeps",
       "It keeps norms, " + equal_to(1e-14, norm) +
           ", but a score depends on directions too: the word of all ones has a cosine of " +
           compact(mean_cosine(llama_2(), 100)) + " with itself 100 tokens later."},
      {"If nothing encodes positions, the output is the same in any order",
       "The output of each token is the same, " + equal_to(1e-14, moved) +
           ", but it moves with its token: in reversed order the outputs of " + whole(tokens) +
           " tokens differ place by place by up to " + compact(in_place) +
           ". With a causal mask neither holds."},
      {"For images, rotate triplets",
       "Rotations of three dims do not commute, so scores would depend on the place and not only "
       "on the distance. Rows and columns share the pairs instead (steps 9 and 11 of "
       "[the way to RoPE](../README.md#principles))."},
      {"Nobody clips the angle",
       "ReRoPE [Su 2023] and Self-Extend [Jin 2024] clip the distance: "
       "[distance_remapping.hpp](../../include/posenc/query_key/distance_remapping.hpp). A cached "
       "key cannot be clipped (step 12 of [the way to RoPE](../README.md#principles))."},
      {"A closed form extends to any length",
       "It is defined at any length, and posenc computes it exactly "
       "([accuracy](../../include/posenc/rows/README.md#accuracy"
       ")). A model need not work there: Llama 2 13B, trained on 4096 tokens, has a published loss "
       "of 1.497 at 4096 and of 8.862 at 8192 [Su 2023, kexue 9708]."},
      {"Beyond a million tokens precision ends",
       "It ends for angles that are formed in float [Liu 2026, arXiv 2602.10959, says it of all]. "
       "They move a pair by up to " +
           fixed(posenc::float_angles{}.bound(1, 1'000'000), 2) +
           " tokens at a million tokens, and by a whole token at " +
           whole(posenc::precision_wall(0.5, 1).base) +
           ", with any base. With exact angles a rotated pair is off by at most " +
           compact(posenc::rotation_bound<float>(posenc::exact_angles{}.bound(1, 1'000'000'000)),
                   2) +
           " of its length, also at a billion tokens. bfloat16 values lose more, at every "
           "position: " +
           whole(posenc::neighbours_told_apart<posenc::bfloat16>(llama_2())) +
           " of 64 pairs tell neighbours apart "
           "([figure](../README.md#is-there-a-wall-of-precision))."},
  };
}

// In lines of at most 100 columns.
void print_paragraph(std::string const& text) {
  std::istringstream words(text);
  std::string word, line;
  while (words >> word) {
    if (!line.empty() && line.size() + 1 + word.size() > 100)
      std::cout << std::exchange(line, {}) << '\n';
    line += (line.empty() ? "" : " ") + word;
  }
  std::cout << line << "\n";
}

struct options {
  program::outputs outputs;
};

void print_page(std::vector<std::vector<belief>> const& all) {
  std::cout << "# Which beliefs about RoPE are true?\n\n";
  print_paragraph(
      "The frequencies are Llama 2's (head_dim 128, base 10,000), unless a belief names others. "
      "`posenc beliefs` prints this page and computes its numbers anew; numbers of trained models "
      "are cited.");
  for (auto const& part : all)
    for (auto const& [says, so] : part) {
      std::cout << '\n';
      print_paragraph("**\"" + says + ".\"** " + so);
    }
}

void run(options const& o) {
  std::vector const all{of_distance(), of_frequencies(), of_contexts(), of_rotation()};
  if (!o.outputs.csv.empty()) program::checked(o.outputs);
  print_page(all);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) {
    charts::csv csv(file, {"belief", "so"});
    for (auto const& part : all)
      for (auto const& [says, so] : part) csv.line(says, so);
  });
}

}  // namespace

extern "C" int beliefs_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc beliefs",
       "Prints beliefs about RoPE, and which of them are true, as a page in Markdown.",
       {{{"posenc beliefs | less", "the page, with numbers that are computed anew"},
         {"--csv beliefs.csv > beliefs.md",
          "the page in one file, a line for each belief in another"}}}},
      [](CLI::App& app, options& o) { program::declare_csv(app, o.outputs); }, run);
}

}  // namespace beliefs
