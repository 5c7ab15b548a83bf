// The pass, its changes and its measures against an oracle in double, on a small model that this
// writes: a Llama of 2 layers, whose weights are a formula. With a folder as argument the model
// stays there, for the verb's own test. It is also what the tokenizer's ids are checked on, which
// were worked out by hand. A second argument is a GGUF file with blocks of all types.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "program/run/changes.hpp"
#include "program/run/facts.hpp"
#include "program/run/measurement.hpp"
#include "program/run/small_model.hpp"
#include "program/text/tokenizer.hpp"
#include "program/text/vocabulary.hpp"

namespace {

constexpr std::size_t width = 32, layers = 2, heads = 4, kv_heads = 2, dims = 8, hidden = 48,
                      words = 64, pairs = dims / 2;
constexpr double base = 1000, eps = 1e-5;

int failures = 0;

void expect(bool holds, std::string const& what) {
  if (!holds) std::cerr << "run_check: " << what << '\n', ++failures;
}
void expect_near(double got, double want, double allowed, std::string const& what) {
  expect(std::abs(got - want) <= allowed,
         what + ": " + std::to_string(got) + " instead of " + std::to_string(want));
}

// ---- The model

using small_model::tensor;

std::vector<tensor> const& tensors() {
  static auto const all = [] {
    std::vector<tensor> result;
    auto const add = [&](std::string const& name, std::vector<std::size_t> const& shape,
                         float scale, float plus) {
      result.push_back({name, shape, scale, plus});
    };
    add("model.embed_tokens.weight", {words, width}, 1, 0);
    for (std::size_t i = 0; i < layers; ++i) {
      auto const prefix = "model.layers." + std::to_string(i) + ".";
      add(prefix + "input_layernorm.weight", {width}, 0.2f, 1);
      add(prefix + "self_attn.q_proj.weight", {heads * dims, width}, 0.6f, 0);
      add(prefix + "self_attn.k_proj.weight", {kv_heads * dims, width}, 0.6f, 0);
      add(prefix + "self_attn.v_proj.weight", {kv_heads * dims, width}, 0.3f, 0);
      add(prefix + "self_attn.o_proj.weight", {width, heads * dims}, 0.3f, 0);
      add(prefix + "post_attention_layernorm.weight", {width}, 0.2f, 1);
      add(prefix + "mlp.gate_proj.weight", {hidden, width}, 0.3f, 0);
      add(prefix + "mlp.up_proj.weight", {hidden, width}, 0.3f, 0);
      add(prefix + "mlp.down_proj.weight", {width, hidden}, 0.3f, 0);
    }
    add("model.norm.weight", {width}, 0.2f, 1);
    add("lm_head.weight", {words, width}, 0.5f, 0);
    return result;
  }();
  return all;
}

std::vector<float> const& numbers_of(std::string const& name) {
  static std::map<std::string, std::vector<float>> all;
  for (auto const& t : tensors())
    if (t.name == name && !all.contains(name)) all[name] = small_model::numbers_of(t);
  return all.at(name);
}

void write_model(std::filesystem::path const& folder) {
  small_model::write(folder,
                     R"({"model_type": "llama", "hidden_size": 32, "intermediate_size": 48,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
 "rope_theta": 1000, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
 "tie_word_embeddings": false, "hidden_act": "silu", "vocab_size": 64})",
                     small_model::stored(tensors()));
  // Tokens 3 to 28 are letters; "ab" merges before "bc", and " ab" behind both.
  std::string vocab = R"("<unk>": 0, "<s>": 1, "▁": 2)";
  for (int i = 0; i < 26; ++i)
    vocab += std::string(", \"") + static_cast<char>('a' + i) + "\": " + std::to_string(3 + i);
  vocab += R"(, "ab": 29, "bc": 30, "▁ab": 31, "abc": 32)";
  small_model::write_text(folder / "tokenizer.json",
                          R"({"added_tokens": [{"id": 1, "content": "<s>", "special": true}],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
  {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "pre_tokenizer": null,
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
  {"Sequence": {"id": "A"}}]},
 "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "vocab": {)" +
                              vocab + R"(}, "merges": ["a b", "b c", "▁ ab", "ab c"]}})");
}

// ---- The oracle

// What a query may see, and how a score and an angle come about.
struct rules {
  std::function<double(std::size_t pair)> frequency = [](std::size_t pair) {
    return std::pow(base, -static_cast<double>(pair) / pairs);
  };
  std::function<bool(std::size_t query, std::size_t key)> sees = [](auto q, auto k) {
    return k <= q;
  };
  std::function<double(double score, std::size_t head, std::size_t query, std::size_t key)> score =
      [](double x, auto, auto, auto) { return x; };
  double key_offset = 0;
  bool interleaved = false, modulo = false;
};

using row = std::vector<double>;
using matrix = std::vector<row>;

matrix times(matrix const& x, std::string const& name, std::size_t outputs) {
  auto const& w = numbers_of(name);
  matrix y(x.size(), row(outputs));
  for (std::size_t t = 0; t < x.size(); ++t)
    for (std::size_t o = 0; o < outputs; ++o)
      for (std::size_t i = 0; i < x[t].size(); ++i)
        y[t][o] += static_cast<double>(w[o * x[t].size() + i]) * x[t][i];
  return y;
}
matrix normed(matrix x, std::string const& name) {
  auto const& w = numbers_of(name);
  for (auto& one : x) {
    double squares = 0;
    for (auto const n : one) squares += n * n;
    auto const by = 1 / std::sqrt(squares / width + eps);
    for (std::size_t i = 0; i < width; ++i) one[i] *= by * static_cast<double>(w[i]);
  }
  return x;
}

struct answer {
  matrix logits;
  // [layer][head][query][key]
  std::vector<std::vector<matrix>> weights;
};

answer oracle(std::vector<std::uint32_t> const& ids, rules const& by) {
  auto const n = ids.size();
  matrix x(n, row(width));
  auto const& embedding = numbers_of("model.embed_tokens.weight");
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t i = 0; i < width; ++i)
      x[t][i] = static_cast<double>(embedding[ids[t] * width + i]);
  auto const turn = [&](row& of, std::size_t count, double position) {
    for (std::size_t h = 0; h < count; ++h)
      for (std::size_t p = 0; p < pairs; ++p) {
        auto& a = of[h * dims + (by.interleaved ? 2 * p : p)];
        auto& b = of[h * dims + (by.interleaved ? 2 * p + 1 : p + pairs)];
        auto const angle = position * by.frequency(p), c = std::cos(angle), s = std::sin(angle);
        auto const before = a;
        a = before * c - b * s, b = before * s + b * c;
      }
  };
  answer found;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    auto const prefix = "model.layers." + std::to_string(layer) + ".";
    auto const y = normed(x, prefix + "input_layernorm.weight");
    auto q = times(y, prefix + "self_attn.q_proj.weight", heads * dims);
    auto k = times(y, prefix + "self_attn.k_proj.weight", kv_heads * dims);
    auto const v = times(y, prefix + "self_attn.v_proj.weight", kv_heads * dims);
    for (std::size_t t = 0; t < n; ++t) {
      turn(q[t], heads, static_cast<double>(t));
      turn(k[t], kv_heads, static_cast<double>(t) + by.key_offset);
    }
    matrix o(n, row(heads * dims));
    found.weights.emplace_back(heads, matrix(n, row(n)));
    for (std::size_t h = 0; h < heads; ++h) {
      auto const kv = by.modulo ? h % kv_heads : h / (heads / kv_heads);
      for (std::size_t t = 0; t < n; ++t) {
        auto& w = found.weights.back()[h][t];
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t s = 0; s < n; ++s) {
          double score = 0;
          for (std::size_t i = 0; i < dims; ++i) score += q[t][h * dims + i] * k[s][kv * dims + i];
          w[s] = by.score(score / std::sqrt(dims), h, t, s);
          if (by.sees(t, s)) top = std::max(top, w[s]);
        }
        for (std::size_t s = 0; s < n; ++s) sum += w[s] = by.sees(t, s) ? std::exp(w[s] - top) : 0;
        for (std::size_t s = 0; s < n; ++s) {
          w[s] /= sum;
          for (std::size_t i = 0; i < dims; ++i) o[t][h * dims + i] += w[s] * v[s][kv * dims + i];
        }
      }
    }
    auto const add = [&](matrix const& more) {
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t i = 0; i < width; ++i) x[t][i] += more[t][i];
    };
    add(times(o, prefix + "self_attn.o_proj.weight", width));
    auto const z = normed(x, prefix + "post_attention_layernorm.weight");
    auto gate = times(z, prefix + "mlp.gate_proj.weight", hidden);
    auto const up = times(z, prefix + "mlp.up_proj.weight", hidden);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < hidden; ++i) gate[t][i] *= up[t][i] / (1 + std::exp(-gate[t][i]));
    add(times(gate, prefix + "mlp.down_proj.weight", width));
  }
  found.logits = times(normed(x, "model.norm.weight"), "lm_head.weight", words);
  return found;
}

row softmax_logs(row const& logits) {
  double top = *std::ranges::max_element(logits), sum = 0;
  for (auto const x : logits) sum += std::exp(x - top);
  row logs;
  for (auto const x : logits) logs.push_back(x - top - std::log(sum));
  return logs;
}

// ---- The comparison

// Float sums of up to 48 products, through 2 layers of numbers near 1: 1e-6 of each, at most 5e-5
// after the softmax's logarithm.
constexpr double allowed = 5e-5;

void compare(run::decoder const& model, std::vector<std::uint32_t> const& ids,
             std::vector<float> const& own, answer const& before, run::change const& one,
             rules const& by) {
  auto const plans = run::changed_plans(model, {one}, {}, ids.size());
  auto const found = run::measure(model, plans, ids, {.own = &model, .own_states = own});
  auto const want = oracle(ids, by);
  double kl = 0;
  for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
    auto const logs = softmax_logs(want.logits[t]), of_own = softmax_logs(before.logits[t]);
    expect_near(found.of_text.cross_entropy[t], -logs[ids[t + 1]], allowed,
                one.name + ", cross-entropy of token " + std::to_string(t + 1));
    for (std::size_t i = 0; i < words; ++i)
      kl += std::exp(of_own[i]) * (of_own[i] - logs[i]) / static_cast<double>(ids.size() - 1);
  }
  expect_near(found.of_text.mean_kl(), kl, allowed, one.name + ", KL");
}

void check_pass(run::decoder const& model) {
  std::vector<std::uint32_t> ids{1};
  while (ids.size() < 80)
    ids.push_back(static_cast<std::uint32_t>((ids.back() * 29 + ids.size()) % words));
  auto const own =
      run::measure(model, model.plans(), ids, {.keeps_states = true, .measures_heads = true});
  auto const logits = model.logits_of(own.states);
  auto const want = oracle(ids, {});
  for (std::size_t t = 0; t < ids.size(); ++t)
    for (std::size_t i = 0; i < words; ++i)
      expect_near(static_cast<double>(logits[t * words + i]), want.logits[t][i], allowed,
                  "logit " + std::to_string(i) + " of token " + std::to_string(t));

  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t h = 0; h < heads; ++h) {
      auto const& found = own.layers[layer].heads[h];
      auto const& w = want.weights[layer][h];
      auto const where = "head " + std::to_string(layer) + "." + std::to_string(h) + ", ";
      double entropy = 0, first = 0, previous = 0;
      std::vector<double> at(ids.size()), all;
      for (std::size_t t = run::first_query; t < ids.size(); ++t) {
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          sum -= w[t][s] > 0 ? w[t][s] * std::log(w[t][s]) : 0;
          at[t - s] += w[t][s];
        }
        entropy += sum / std::log(static_cast<double>(t) + 1);
        first += w[t][0];
        auto const top = std::ranges::max_element(w[t]) - w[t].begin();
        previous += static_cast<std::size_t>(top) + 1 == t ? 1 : 0;
      }
      auto const queries = static_cast<double>(ids.size() - run::first_query);
      expect_near(found.entropy(), entropy / queries, allowed, where + "entropy");
      expect_near(found.on_first(), first / queries, allowed, where + "first");
      expect_near(found.previous(), previous / queries, 1.01 / queries, where + "previous");
      for (std::size_t d = 0; d < 8; ++d)
        expect_near(found.at_distance(d), at[d] / queries, allowed,
                    where + "distance " + std::to_string(d));
      // The variance of the near weights, and that of their means by distance.
      double total = 0, mean = 0, between = 0;
      for (std::size_t t = run::first_query; t < ids.size(); ++t)
        for (std::size_t d = 0; d < run::near_tokens; ++d)
          mean += w[t][t - d] / queries / run::near_tokens;
      for (std::size_t d = 0; d < run::near_tokens; ++d)
        between += std::pow(at[d] / queries - mean, 2) * queries;
      for (std::size_t t = run::first_query; t < ids.size(); ++t)
        for (std::size_t d = 0; d < run::near_tokens; ++d) total += std::pow(w[t][t - d] - mean, 2);
      expect_near(found.explained_by_distance(), between / total, 1e-3, where + "explained");
    }

  auto const changed = [&](run::change const& one, auto const& make) {
    rules by;
    make(by);
    compare(model, ids, own.states, want, one, by);
  };
  auto const plain = rules().frequency;
  changed(run::without_rotation(), [](rules& r) { r.frequency = [](auto) { return 0.0; }; });
  changed(run::fastest_pairs(2),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return p < 2 ? plain(p) : 0; }; });
  changed(run::part_of_pairs(0.75),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return p < 3 ? plain(p) : 0; }; });
  changed(run::slowest_pairs(1),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return p < 3 ? 0 : plain(p); }; });
  changed(run::pairs_stopped(1, 2), [&](rules& r) {
    r.frequency = [plain](std::size_t p) { return p == 1 || p == 2 ? 0 : plain(p); };
  });
  changed(run::with_base(50), [](rules& r) {
    r.frequency = [](std::size_t p) { return std::pow(50, -static_cast<double>(p) / pairs); };
  });
  changed(run::scaled("linear", 4),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return plain(p) / 4; }; });
  changed(run::scaled("ntk", 4), [](rules& r) {
    r.frequency = [](std::size_t p) {
      return std::pow(base * std::pow(4, dims / (dims - 2.0)), -static_cast<double>(p) / pairs);
    };
  });
  changed(run::backwards(),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return -plain(p); }; });
  changed(run::rotated_twice(),
          [&](rules& r) { r.frequency = [plain](std::size_t p) { return 2 * plain(p); }; });
  changed(run::in_other_layout(), [](rules& r) { r.interleaved = true; });
  changed(run::keys_ahead(1), [](rules& r) { r.key_offset = 1; });
  changed(run::queries_ahead(2), [](rules& r) { r.key_offset = -2; });
  changed(run::key_heads_modulo(), [](rules& r) { r.modulo = true; });
  changed(run::in_window(16),
          [](rules& r) { r.sees = [](auto q, auto k) { return k <= q && q - k < 16; }; });
  changed(run::in_window_with_sinks(4, 16), [](rules& r) {
    r.sees = [](auto q, auto k) { return k <= q && (q - k < 16 || k < 4); };
  });
  changed(run::mask_one_ahead(),
          [](rules& r) { r.sees = [](auto q, auto k) { return k <= q + 1; }; });
  changed(run::mask_one_short(),
          [](rules& r) { r.sees = [](auto q, auto k) { return k < q || (q == 0 && k == 0); }; });
  changed(run::scale_times(2, ""),
          [](rules& r) { r.score = [](double x, auto, auto, auto) { return 2 * x; }; });
  changed(run::with_cap(3), [](rules& r) {
    r.score = [](double x, auto, auto, auto) { return 3 * std::tanh(x / 3); };
  });
  changed(run::with_alibi(), [](rules& r) {
    r.frequency = [](auto) { return 0.0; };
    r.score = [](double x, std::size_t h, std::size_t q, std::size_t k) {
      auto const slope = std::pow(2, -8 * static_cast<double>(h + 1) / heads);
      return k > q ? x : x - slope * static_cast<double>(q - k);
    };
  });
  changed(run::with_temperature("ssmax", posenc::temperature_rule::ssmax, 0, 0.43), [](rules& r) {
    r.score = [](double x, auto, std::size_t q, auto) {
      return q == 0 ? x : 0.43 * std::log(static_cast<double>(q) + 1) * x;
    };
  });

  run::wanted const of_own{.own = &model, .own_states = own.states};
  // Moved keys are the same keys, and so are keys of a cache of floats.
  auto const moved = run::changed_plans(model, {run::keys_moved(1000)}, {}, ids.size());
  auto const after = run::measure(model, moved, ids, of_own);
  expect(after.of_text.mean_kl() < 1e-7, "keys that were moved must be the same keys");
  auto const halves = run::changed_plans(model, {run::stored_as(run::stored::f16)}, {}, ids.size());
  auto const rounded = run::measure(model, halves, ids, of_own);
  expect(rounded.of_text.mean_kl() > 0 && rounded.of_text.mean_kl() < 1e-5,
         "a cache of halves must cost little, and something");
  // A change of some heads alone differs from none and from all.
  auto const some = run::changed_plans(model, {run::without_rotation()}, {{1}, {2}}, ids.size());
  auto const of_some = run::measure(model, some, ids, of_own).of_text.mean_kl();
  auto const every = run::changed_plans(model, {run::without_rotation()}, {}, ids.size());
  auto const of_all = run::measure(model, every, ids, of_own).of_text.mean_kl();
  expect(of_some > 0 && of_some < of_all, "one head must cost less than all");

  // Token by token, with a cache, as at once.
  auto const next = run::greedy(model, model.plans(), std::span(ids).first(20), 6);
  std::vector<std::uint32_t> whole(ids.begin(), ids.begin() + 20);
  for (auto const id : next) {
    auto const of_next = oracle(whole, {}).logits.back();
    expect(id == static_cast<std::uint32_t>(std::ranges::max_element(of_next) - of_next.begin()),
           "greedy text must follow the largest logit");
    whole.push_back(id);
  }
}

// A text of several blocks, as in other blocks; and logits that are made some rows at a time.
void check_blocks_of_tokens(run::decoder const& model) {
  std::vector<std::uint32_t> ids{1};
  while (ids.size() < run::block_tokens + 90)
    ids.push_back(static_cast<std::uint32_t>((ids.back() * 29 + ids.size()) % words));
  auto const states = run::measure(model, model.plans(), ids, {.keeps_states = true}).states;
  run::sequence text(model, model.plans(), ids.size());
  for (std::size_t first = 0; first < ids.size();) {
    auto const count = std::min<std::size_t>(first == 0 ? 71 : 300, ids.size() - first);
    auto const last = text.append(std::span(ids).subspan(first, count));
    first += count;
    auto const whole = model.logits_of(std::span(states).subspan((first - 1) * width, width));
    for (std::size_t i = 0; i < words; ++i)
      expect_near(static_cast<double>(last[i]), static_cast<double>(whole[i]), allowed,
                  "logit " + std::to_string(i) + " of token " + std::to_string(first - 1));
  }
}

void check_parts_of_logits(program::weight_files const& files) {
  constexpr std::size_t tokens = 50, rows = 20;
  run::decoder const model(files, 2, rows * words + 1);
  struct : run::observer {
    std::vector<float> states, logits;
    std::vector<std::size_t> firsts;
    void see_states(std::size_t, std::span<float const> all) override {
      states.assign(all.begin(), all.end());
    }
    void see_logits(std::size_t first, std::span<float const> some) override {
      firsts.push_back(first);
      logits.insert(logits.end(), some.begin(), some.end());
    }
  } seen;
  std::vector<std::uint32_t> ids{1};
  while (ids.size() < tokens)
    ids.push_back(static_cast<std::uint32_t>((ids.back() * 29 + ids.size()) % words));
  run::sequence(model, model.plans(), tokens).append(ids, seen);
  expect(seen.firsts == std::vector<std::size_t>{0, rows, 2 * rows}, "logits must come in parts");
  auto const whole = model.logits_of(seen.states);
  for (std::size_t i = 0; i < tokens * words; ++i)
    expect_near(static_cast<double>(seen.logits.at(i)), static_cast<double>(whole[i]), allowed,
                "logit " + std::to_string(i % words) + " of token " + std::to_string(i / words));
  // And the predictions of parts, from those of the model itself.
  auto const own = run::measure(model, model.plans(), ids, {.keeps_states = true, .top = {49, 21}});
  auto const again =
      run::measure(model, model.plans(), ids, {.own = &model, .own_states = own.states}).of_text;
  expect(own.of_text.cross_entropy == again.cross_entropy && again.mean_kl() == 0 &&
             again.agreement() == 1,
         "a model must predict as itself");
  for (auto const& top : own.top) {
    auto const row = std::span(whole).subspan(top.position * words, words);
    auto const largest = std::ranges::max_element(row) - row.begin();
    expect(top.ids.size() == run::top_count && top.ids[0] == static_cast<std::size_t>(largest),
           "the largest logit of " + std::to_string(top.position));
  }
  expect(own.top[0].position == 49 && own.top[1].position == 21, "tops as they were asked for");
}

void check_tokens(program::weight_files const& files) {
  program::tokenizer const tokens(files);
  auto const expect_ids = [&](std::string const& text, program::token_ids const& want) {
    auto const got = tokens.encode(text);
    std::string shown;
    for (auto const id : got) shown += " " + std::to_string(id);
    expect(got == want, "\"" + text + "\" has the ids" + shown);
  };
  expect_ids("", {1});
  expect_ids("ab", {1, 31});          // _ a b -> _ ab -> _ab
  expect_ids("abc", {1, 31, 5});      // ab and then _ab come before abc
  expect_ids("cabc", {1, 2, 5, 32});  // _ c a b c -> _ c ab c -> _ c abc
  expect_ids("bc ab", {1, 2, 30, 31});
  expect_ids("a??b", {1, 2, 3, 0, 4});  // a run of unknown characters is one
  expect_ids("a<s>b", {1, 2, 3, 1, 2, 4});
  expect(tokens.decode(tokens.encode("bc ab")) == " bc ab", "a text must come back");
  try {
    tokens.encode("ab\xFF");
    expect(false, "bytes that are no UTF-8 must be refused");
  } catch (std::runtime_error const& error) {
    expect(
        std::string(error.what()).find("must be UTF-8, got another byte at 2") != std::string::npos,
        error.what());
  }
}

// Every block of a file whose tensors NAME have their numbers beside them, as NAME.expected.
void check_blocks(std::string const& file) {
  program::weight_files const files(file);
  std::size_t read = 0, read_by_caches = 0;
  for (auto const& w : files.all()) {
    auto const* const expected = files.find(w.name + ".expected");
    if (expected == nullptr) continue;
    std::vector<float> got(w.rows() * w.columns()), want(got.size());
    files.at(w.name).decode(0, w.rows(), got.data());
    expected->decode(0, expected->rows(), want.data());
    expect(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0,
           w.name + ": each number must have the bits of " + expected->name);
    // A cache in the format of that name has the same blocks.
    auto const cached = std::ranges::find(run::stored_names, w.name);
    if (cached != std::end(run::stored_names)) {
      run::any_format const format{
          static_cast<run::stored>(cached - std::begin(run::stored_names))};
      std::ranges::fill(got, 0.0f);
      format.decode(reinterpret_cast<std::byte const*>(w.bytes.data()), got);
      expect(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0,
             w.name + ": a cache must read each number of " + expected->name);
      ++read_by_caches;
    }
    ++read;
  }
  expect(read >= 15, file + " has 15 types of blocks");
  expect(read_by_caches >= 8, file + " has blocks of 8 formats of caches");
}

// Bytes within words. "low" and "er" merge by rank, and a space belongs to the word behind it.
void check_words(std::filesystem::path const& folder) {
  small_model::write_text(
      folder / "tokenizer.json",
      R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
   "pattern": {"Regex": "'s| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"}},
  {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
 "model": {"type": "BPE", "vocab": {"l": 0, "o": 1, "w": 2, "e": 3, "r": 4, "Ġ": 5, "Ã": 6, "©": 7,
  "lo": 8, "low": 9, "er": 10, "Ġlow": 11, "Ã©": 12, "1": 13, "Ċ": 14, "'": 15, "s": 16, "'s": 17},
 "merges": ["l o", "lo w", "e r", "Ġ low", "Ã ©", "' s"]}})");
  program::weight_files const files(folder.string());
  if (!program::has_regular_expressions()) {
    try {
      program::tokenizer const tokens(files);
      expect(false, "words must be refused without PCRE2");
    } catch (std::runtime_error const& error) {
      expect(std::string(error.what()).find("built without PCRE2") != std::string::npos,
             error.what());
    }
    return;
  }
  program::tokenizer const tokens(files);
  auto const expect_ids = [&](std::string const& text, program::token_ids const& want) {
    auto const got = tokens.encode(text);
    std::string shown;
    for (auto const id : got) shown += " " + std::to_string(id);
    expect(got == want, "\"" + text + "\" has the ids" + shown);
    expect(tokens.decode(got) == text, "\"" + text + "\" must come back");
  };
  expect_ids("lower low", {9, 10, 11});
  expect_ids("low  low", {9, 5, 11});  // of two spaces the first stands alone
  expect_ids("low1", {9, 13});         // letters and digits are two words
  expect_ids("\u00e9", {12});          // two bytes, one token
  expect_ids("low's\n", {9, 17, 14});
}

}  // namespace

int main(int argc, char** argv) {
  auto const folder = argc > 1 ? std::filesystem::path(argv[1])
                               : std::filesystem::temp_directory_path() / "posenc-run-check";
  write_model(folder);
  try {
    program::weight_files const files(folder.string());
    run::decoder const model(files, 2);
    check_pass(model);
    check_blocks_of_tokens(model);
    check_parts_of_logits(files);
    check_tokens(files);
    auto const beside = folder.string() + "-words";
    write_model(beside);
    check_words(beside);
    std::filesystem::remove_all(beside);
    if (argc > 2) check_blocks(argv[2]);
  } catch (std::exception const& error) {
    expect(false, error.what());
  }
  if (argc == 1) std::filesystem::remove_all(folder);
  return failures == 0 ? 0 : 1;
}
