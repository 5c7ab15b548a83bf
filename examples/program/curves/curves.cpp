#include "curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "posenc/model/layer_scheme.hpp"
#include "posenc/posenc.hpp"
#include "reporting/scale.hpp"

namespace curves {
namespace {

using namespace posenc;

// A bias by any rule: one type, so that attention is compiled for it once.
struct any_bias {
  std::function<double(std::size_t head, std::int64_t distance)> of;
  double bias(std::size_t head, std::int64_t distance) const { return of(head, distance); }
};

// CoPE's embeddings, for queries of ones: position p lowers a score by 8 p / 63.
std::vector<float> falling_embeddings(std::size_t head_dim) {
  constexpr std::size_t positions = 64;  // of the paper
  std::vector<float> result;
  for (std::size_t p = 0; p < positions; ++p)
    result.insert(result.end(), head_dim,
                  -8.0f * static_cast<float>(p) / static_cast<float>((positions - 1) * head_dim));
  return result;
}

// Queries all over the context: evenly, in every residue of small groups, and near its start.
std::vector<std::int64_t> some_queries(std::size_t range) {
  auto const last = static_cast<std::int64_t>(range - 1), step = (last / 16) | 1;
  std::vector<std::int64_t> result;
  for (auto t = last; t > 0; t -= step) result.push_back(t);
  for (std::int64_t t = 3; t < step; t *= 3) result.push_back(t);
  return result;
}

// [query * keys + key] of the scores of q = k = (1, ..., 1), of the last head.
std::vector<double> scores_of_ones(auto const& encoding, profile_settings const& settings,
                                   std::vector<std::int64_t> const& queries,
                                   std::vector<std::int64_t> const& keys) {
  auto const [head_dim, heads] = std::pair{settings.head_dim, settings.heads};
  std::vector<double> const q(queries.size() * head_dim, 1.0), k(keys.size() * head_dim, 1.0);
  heads_view<double const> const q_heads(q.data(), {queries.size(), heads, head_dim},
                                         {static_cast<std::ptrdiff_t>(head_dim), 0}),
      k_heads(k.data(), {keys.size(), 1, head_dim});
  attention_options const options{
      .mask = mask::full, .query_positions = queries, .key_positions = keys, .keep_scores = true};
  auto const seen = [&] {
    if constexpr (requires { encoding.distances(); })
      return attention_near_and_far(q_heads, k_heads, k_heads.slice_dims(0, 1), encoding, nope(),
                                    options);
    else
      return attention(q_heads, k_heads, k_heads.slice_dims(0, 1), encoding, options);
  }();
  auto const of_a_head = static_cast<std::ptrdiff_t>(queries.size() * keys.size());
  return {seen.scores.end() - of_a_head, seen.scores.end()};
}

// Whether queries elsewhere have other scores at the same distances.
bool depends_on_query(auto const& encoding, profile_settings const& settings) {
  std::vector<double> first;
  for (auto const t : some_queries(settings.range)) {
    std::vector<std::int64_t> keys;
    for (auto const r : charts::whole_powers(1, static_cast<double>(t), 16))
      keys.push_back(t - static_cast<std::int64_t>(r));
    keys.pop_back();  // the farthest is at no other query's distance
    auto const scores = scores_of_ones(encoding, settings, {t}, keys);
    if (first.empty()) first = scores;  // of the last query, which has every distance
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (std::abs(scores[i] - first[i]) > 1e-6 * (1 + std::abs(first[i]))) return true;
  }
  return false;
}

// By distance, over these queries.
std::vector<running_moments> logits_over(std::vector<std::int64_t> const& queries,
                                         auto const& encoding, profile_settings const& settings) {
  std::vector<running_moments> logit(settings.range);
  for (std::size_t first = 0; first < settings.range; first += settings.keys_at_once) {
    std::vector<std::int64_t> keys(std::min(settings.keys_at_once, settings.range - first));
    std::iota(keys.begin(), keys.end(), static_cast<std::int64_t>(first));
    auto const scores = scores_of_ones(encoding, settings, queries, keys);
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (auto const r = queries[i / keys.size()] - keys[i % keys.size()]; r >= 0)
        logit[static_cast<std::size_t>(r)].add(scores[i]);
  }
  return logit;
}

// The curves to be measured, one after another.
class jobs {
 public:
  jobs(profile_settings const& settings, bool heads_apart,
       std::function<void(double)> const& progress)
      : settings_(settings), heads_apart_(heads_apart), progress_(progress) {}

  template <class Encoding>
  void add(std::string name, bool own, Encoding const& encoding, std::size_t heads = 1,
           std::optional<std::size_t> keys_at_once = {},
           bool compares = !acts_on_scores<Encoding>) {
    auto at = settings_;
    at.heads = heads;
    at.keys_at_once = keys_at_once.value_or(at.keys_at_once);
    add_job(std::move(name), own, encoding, encoding, at, compares);
  }
  // Of the last query, which profiles are of, each key is at one distance.
  template <class Inner>
  void add(std::string name, bool own, distance_remapped<Inner> const& encoding) {
    auto const last = static_cast<std::int64_t>(settings_.range - 1);
    auto const here = [](std::int64_t t) { return t; };
    auto const there = [last, far = encoding.distances()](std::int64_t s) {
      return last - static_cast<std::int64_t>(far.distance(last, s));
    };
    add_job(std::move(name), own, encoding, remapped(encoding.inner(), here, there), settings_,
            true);
  }

  void add_job(std::string name, bool own, auto const& encoding, auto const& of_last_query,
               profile_settings const& at, bool compares) {
    jobs_.push_back([this, name = std::move(name), own, encoding, of_last_query, at, compares] {
      curve c{name, own, compares, measure(of_last_query, at),
              measure(scheme{of_last_query, adaptive_temperature{}}, at)};
      if (depends_on_query(encoding, at)) {
        auto const queries = some_queries(at.range);
        c.queries = queries.size();
        if (std::holds_alternative<all_ones>(at.inputs))
          c.plain.logit = c.adaptive.logit = logits_over(queries, encoding, at);
      }
      curves_.push_back(std::move(c));
    });
  }

  void add_bias(std::string const& name, bool own, auto const& rule, std::size_t heads) {
    if (!heads_apart_) {
      return add(name, own,
                 any_bias{[rule](std::size_t h, std::int64_t r) { return rule.bias(h, r); }},
                 heads);
    }
    auto const shown = std::min<std::size_t>(heads, 8);
    for (std::size_t i = 0; i < shown; ++i) {
      auto const head = shown == 1 ? 0 : i * (heads - 1) / (shown - 1);
      add(name + ", head " + std::to_string(head), own,
          any_bias{[rule, head](std::size_t, std::int64_t r) { return rule.bias(head, r); }});
    }
  }

  // As far as this from here on.
  void set_range(std::size_t range) { settings_.range = range; }

  std::vector<curve> run() {
    for (auto const& job : jobs_) job();
    return std::move(curves_);
  }

 private:
  distance_profile measure(auto const& encoding, profile_settings const& at) {
    auto const before = done_;
    return profile_distances(encoding, at, [&](std::size_t part, std::size_t whole) {
      done_ = before + static_cast<double>(part) / static_cast<double>(whole);
      progress_(done_ / static_cast<double>(2 * jobs_.size()));
    });
  }

  profile_settings settings_;
  bool heads_apart_;
  std::function<void(double)> const& progress_;
  std::vector<std::function<void()>> jobs_ = {};
  std::vector<curve> curves_ = {};
  double done_ = 0;
};

// RoPE, llama3 rule
std::string rule_of(layer_description const& kind) {
  std::string const bias = kind.alibi ? "ALiBi" : "";
  if (kind.rotary.empty()) return bias.empty() ? "NoPE" : bias;
  auto const& rule = kind.rotary.front().rule;
  return (rule == "default" ? "RoPE" : "RoPE, " + rule + " rule") +
         (bias.empty() ? "" : ", " + bias);
}

}  // namespace

std::vector<curve> compute(model const& m, choice const& chosen, profile_settings const& settings,
                           std::function<void(double)> const& progress) {
  auto const& [encodings, fractions, window, group, gates, heads_apart] = chosen;
  jobs all(settings, heads_apart, progress);
  auto const add_p_rope = [&](double p) {
    all.add("p-RoPE " + charts::compact(p), !m.own.empty() && p == m.p,
            rope<halves>(truncated(linear(geometric(settings.head_dim, m.base), m.factor), p)));
  };
  rope<halves> const own_rope(linear(geometric(m.rotary_dim, m.base), m.factor));
  auto const heads = settings.heads;
  for (auto const& name : encodings) {
    auto const own = name == m.own;
    if (name == "rope") all.add("RoPE", own, own_rope);
    if (name == "p-rope") {
      for (auto const p : fractions) add_p_rope(p);
    }
    if (name == "nope") all.add("NoPE", own, nope{});
    if (name == "alibi") all.add_bias("ALiBi", own, alibi(heads), heads);
    if (name == "kerple-log")
      all.add_bias("KERPLE, logarithm", own, kerple_log(std::vector<kerple_log_head>{{1, 1}}), 1);
    if (name == "kerple-power")
      all.add_bias("KERPLE, power", own, kerple_power(std::vector<kerple_power_head>{{1, 1}}), 1);
    if (name == "sandwich") all.add_bias("Sandwich", own, sandwich(heads), heads);
    if (name == "xpos") {  // centred, so that double holds the gains of twice as many tokens
      all.add("xPos", own,
              xpos<halves>(linear(geometric(m.rotary_dim, m.base), m.factor),
                           {.center = static_cast<std::int64_t>(settings.range / 2)}));
    }
    if (name == "forget-gates") {
      for (auto const gate : gates) {
        auto const log_gate = std::log(gate);
        all.add("forget gates " + charts::compact(gate, 6) + ", half-life " +
                    charts::compact(std::log(2.0) / -log_gate),
                own,
                forget_gates(std::vector<float>(settings.range, static_cast<float>(log_gate)), 1));
      }
    }
    if (name == "t5") {  // weights that fall by a quarter from bucket to bucket
      std::vector<float> weights;
      for (int bucket = 0; bucket < 32; ++bucket)
        weights.push_back(-0.25f * static_cast<float>(bucket));
      all.add("T5, 32 buckets", own, t5_bias(relative_buckets(32, 128, false), weights, 1));
    }
    if (name == "cope") {
      all.add("CoPE, 64 positions", own,
              cope(falling_embeddings(settings.head_dim), settings.head_dim), 1, settings.range);
    }
    if (name == "sinusoidal")
      all.add("sinusoidal", own,
              unprojected(sinusoidal<interleaved>(geometric(settings.head_dim, m.base))));
    if (name == "rerope")
      all.add("ReRoPE " + std::to_string(window), own, rerope(own_rope, window));
    if (name == "self-extend") {
      all.add("Self-Extend " + std::to_string(window) + ", " + std::to_string(group), own,
              self_extend(own_rope, window, group));
    }
  }
  // The model's own fraction comes last, so that the others have the same colours for every model.
  if (m.p > 0 && std::ranges::count(encodings, "p-rope") && !std::ranges::count(fractions, m.p))
    add_p_rope(m.p);
  return all.run();
}

std::vector<curve> compute_layers(model_description const& m, bool heads_apart,
                                  profile_settings const& settings,
                                  std::function<void(double)> const& progress) {
  jobs all(settings, heads_apart, progress);
  for (auto const& kind : m.kinds) {
    all.set_range(std::min({settings.range, kind.window.value_or(settings.range),
                            kind.chunk.value_or(settings.range)}));
    bool const only_biases = kind.rotary.empty() && kind.alibi && kind.softmax_factor == 1 &&
                             !kind.temperature && !kind.score_cap;
    auto const name = (m.kinds.size() == 1 ? "" : kind.name + ": ") + rule_of(kind);
    if (only_biases) {
      all.add_bias(name, false, kind.alibi->encoding(), kind.alibi->heads);
    } else {
      all.add(name, false, layer_scheme(kind, settings.range), kind.alibi ? kind.alibi->heads : 1,
              {}, !kind.alibi);
    }
  }
  return all.run();
}

}  // namespace curves
