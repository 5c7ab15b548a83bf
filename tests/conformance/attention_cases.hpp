#pragma once

/// The cases of attention: what multiplies a score, what is added, which keys a query sees, and in
/// which order.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "rotary_case.hpp"
#include "score_cases.hpp"
#include "text.hpp"

namespace conformance {

using whole_numbers = std::vector<std::int64_t>;
inline constexpr auto minus_infinity = -std::numeric_limits<double>::infinity();

struct attention_case {
  std::string name, covers;
  std::vector<std::string> source;
  std::size_t queries = 8, keys = 8, heads = 4, kv_heads = 2, head_dim = 8, value_dim = 8;
  exact::number scale = exact::power(exact::whole(8), exact::ratio(-1, 2));
  text::object said = {};                   ///< the same settings in a model's words
  std::optional<std::int64_t> behind = {};  ///< so many keys before the query's own; none: all
  std::optional<std::int64_t> ahead = 0;    ///< after it
  std::optional<std::int64_t> chunk = {};
  std::string both_ways = {};
  whole_numbers blocks = {};                   ///< [keys]: 0, or the number of an image
  whole_numbers documents = {};                ///< lengths of packed sequences
  std::vector<bool> valid = {};                ///< [keys]; empty: all
  std::vector<std::vector<double>> bias = {};  ///< [queries][keys]
  std::optional<double> cap = {};
  std::optional<std::size_t> alibi_heads =
      {};  ///< of the model, of which these begin at first_head
  std::size_t first_head = 0;
  std::vector<double> sinks = {};
  std::optional<std::int64_t> trained = {};  ///< L of max(1, ln n / ln L)
};

/// The document of a token, and its place there.
inline std::pair<std::size_t, std::int64_t> document_of(attention_case const& c,
                                                        std::size_t token) {
  auto left = static_cast<std::int64_t>(token);
  for (std::size_t i = 0; i < c.documents.size(); ++i) {
    if (left < c.documents[i]) return {i, left};
    left -= c.documents[i];
  }
  return {0, left};
}
/// Positions count from the first valid key, and in each document anew.
inline std::int64_t position_of(attention_case const& c, std::size_t token) {
  std::int64_t padding = 0;
  while (padding < static_cast<std::int64_t>(c.valid.size()) &&
         !c.valid[static_cast<std::size_t>(padding)])
    ++padding;
  return document_of(c, token).second - padding;
}
inline std::size_t token_of(attention_case const& c, std::size_t query) {
  return c.keys - c.queries + query;
}

inline bool sees(attention_case const& c, std::size_t query, std::size_t key) {
  auto const token = token_of(c, query);
  auto const p = position_of(c, token), s = position_of(c, key);
  bool seen = (!c.behind || p - s <= *c.behind) && (!c.ahead || s - p <= *c.ahead);
  if (c.chunk) seen = seen && p / *c.chunk == s / *c.chunk;
  bool const is_far = c.both_ways == "image_within_window" && c.behind && p - s > *c.behind;
  if (!c.blocks.empty() && c.blocks[token] != 0 && c.blocks[token] == c.blocks[key] && !is_far)
    seen = true;
  if (document_of(c, token).first != document_of(c, key).first) seen = false;
  if (!c.bias.empty() && c.bias[query][key] == minus_infinity) seen = false;
  return seen && (c.valid.empty() || c.valid[key]);
}

inline text::object written(attention_case const& c) {
  using namespace exact;
  using heads_of_token = std::vector<std::vector<int>>;
  auto const drawn = [](std::size_t tokens, std::size_t first, std::size_t heads, std::size_t dim) {
    std::vector<heads_of_token> result;
    for (std::size_t t = 0; t < tokens; ++t) {
      auto const all = input_of(first + t, heads * dim);
      heads_of_token token;
      for (std::size_t h = 0; h < heads; ++h)
        token.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(h * dim),
                           all.begin() + static_cast<std::ptrdiff_t>((h + 1) * dim));
      result.push_back(token);
    }
    return result;
  };
  auto const q = drawn(c.queries, 0, c.heads, c.head_dim),
             k = drawn(c.keys, 100, c.kv_heads, c.head_dim),
             v = drawn(c.keys, 200, c.kv_heads, c.value_dim);
  auto const slopes = c.alibi_heads ? alibi_slopes(*c.alibi_heads, 8) : series();
  std::vector<std::vector<series>> output(c.queries);
  for (std::size_t t = 0; t < c.queries; ++t) {
    for (std::size_t h = 0; h < c.heads; ++h) {
      auto const group = h / (c.heads / c.kv_heads);
      series scores(c.keys), result(c.value_dim);
      std::int64_t seen = 0;
      for (std::size_t s = 0; s < c.keys; ++s) {
        if (!sees(c, t, s)) continue;
        ++seen;
        std::int64_t dot = 0;
        for (std::size_t d = 0; d < c.head_dim; ++d) dot += q[t][h][d] * k[s][group][d];
        auto& score = scores[s];
        score = c.scale * ratio(dot, 256);
        if (c.cap) score = capped(score, *c.cap);
        auto const distance = position_of(c, token_of(c, t)) - position_of(c, s);
        if (c.alibi_heads) score = score - slopes[c.first_head + h] * whole(std::abs(distance));
        if (!c.bias.empty()) score = score + number(c.bias[t][s]);
      }
      auto beta = whole(1);
      if (c.trained && seen > *c.trained)
        beta = oracle::log(whole(seen)) / oracle::log(whole(*c.trained));
      auto sum = c.sinks.empty() ? number() : oracle::exp(number(c.sinks[h]));
      for (std::size_t s = 0; s < c.keys; ++s) {
        if (!sees(c, t, s)) continue;
        auto const e = oracle::exp(beta * scores[s]);
        sum = sum + e;
        for (std::size_t d = 0; d < c.value_dim; ++d)
          result[d] = result[d] + e * ratio(v[s][group][d], 16);
      }
      for (auto& x : result) x = seen == 0 ? number() : x / sum;
      output[t].push_back(result);
    }
  }

  text::object file;
  file.add("name", c.name).add("covers", c.covers);
  file.raw("source", text::list(c.source, [](std::string const& s) { return text::setting(s); }));
  file.add("encoding", "attention");
  auto const limit = [](std::optional<std::int64_t> n) { return n ? std::to_string(*n) : "null"; };
  file.raw("scale", text::digits(c.scale));
  file.raw("behind", limit(c.behind)).raw("ahead", limit(c.ahead));
  if (c.chunk) file.raw("chunk", limit(c.chunk));
  if (!c.both_ways.empty()) file.add("both_ways", c.both_ways).raw("blocks", ints(c.blocks));
  if (!c.documents.empty()) file.raw("documents", ints(c.documents));
  if (!c.valid.empty())
    file.raw("valid", text::list(std::vector<int>(c.valid.begin(), c.valid.end()),
                                 [](int is) { return text::setting(is != 0); }));
  if (c.cap) file.add("cap", *c.cap);
  if (c.alibi_heads)
    file.raw("alibi", text::object()
                          .add("heads", *c.alibi_heads)
                          .add("first_head", c.first_head)
                          .add("max_bias", 8)
                          .inner());
  if (!c.sinks.empty()) file.raw("sinks", text::settings(c.sinks));
  if (c.trained) file.raw("log_n", text::object().raw("trained_length", limit(c.trained)).inner());
  for (auto const& [key, value] : c.said.members()) file.raw(key, value);
  if (!c.bias.empty())
    file.raw("bias", text::list(c.bias, [](std::vector<double> const& row) {
               return text::list(row, [](double x) {
                 return x == minus_infinity ? std::string("null") : text::setting(x);
               });
             }));
  whole_numbers of_queries, of_keys;
  for (std::size_t t = 0; t < c.queries; ++t) of_queries.push_back(position_of(c, token_of(c, t)));
  for (std::size_t s = 0; s < c.keys; ++s) of_keys.push_back(position_of(c, s));
  file.raw("query_positions", ints(of_queries)).raw("key_positions", ints(of_keys));
  auto const sixteenths = [](heads_of_token const& token) {
    return text::list(token, [](std::vector<int> const& head) {
      return text::list(head, [](int x) { return text::setting(x / 16.0); });
    });
  };
  file.raw("query", text::list(q, sixteenths)).raw("key", text::list(k, sixteenths));
  file.raw("value", text::list(v, sixteenths));
  file.raw("output", text::list(output, [](std::vector<series> const& token) {
             return text::list(token, text::numbers);
           }));
  return file;
}

inline std::vector<score_case> attention_cases() {
  using exact::ratio;
  using exact::whole;
  using said = text::object;
  auto const root_of = [](exact::number const& x) { return exact::power(x, ratio(1, 2)); };
  auto const mscale = whole(1) + oracle::log(whole(40)) / 10;
  std::vector<std::vector<double>> tree(4, std::vector<double>(8, 0)), finite(8), hidden(8);
  // Drafts 4 and 5 follow 3; 6 follows 4; 7 follows 5.
  for (auto const& [query, key] :
       {std::pair{0, 5}, {0, 6}, {0, 7}, {1, 4}, {1, 6}, {1, 7}, {2, 5}, {2, 7}, {3, 4}, {3, 6}})
    tree[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)] = minus_infinity;
  for (int t = 0; t < 8; ++t)
    for (int s = 0; s < 8; ++s) {
      finite[static_cast<std::size_t>(t)].push_back(s > t ? minus_infinity : (3 * t + s) % 5 - 2.5);
      hidden[static_cast<std::size_t>(t)].push_back(t % 3 == 1 || s > t ? minus_infinity : 0);
    }
  std::vector<bool> last_five(8, true), first_five(8, true);
  for (std::size_t i = 0; i < 3; ++i) last_five[i] = first_five[7 - i] = false;
  whole_numbers const images{0, 0, 1, 1, 1, 1, 0, 2, 2, 2}, prompt{1, 1, 1, 1, 1, 0, 0, 0};
  std::vector<attention_case> const all{
      {.name = "causal",
       .covers = "grouped queries: head h reads kv head h / (heads / kv_heads)",
       .source = {"Ainslie 2023, arXiv:2305.13245, 2.2", "transformers, repeat_kv"},
       .heads = 6},
      {.name = "one-kv-head",
       .covers = "all heads read one kv head; values are wider than keys",
       .source = {"Shazeer 2019, arXiv:1911.02150"},
       .kv_heads = 1,
       .value_dim = 12},
      {.name = "scale-of-gemma",
       .covers = "1 / sqrt(query_pre_attn_scalar), not of head_dim",
       .source = {"transformers, modeling_gemma2.py"},
       .scale = root_of(ratio(1, 24)),
       .said = said().add("query_pre_attn_scalar", 24)},
      {.name = "scale-of-one",
       .covers = "scores are not divided",
       .source = {"transformers, modeling_gemma4.py, modeling_t5.py"},
       .scale = whole(1)},
      {.name = "scale-of-mla",
       .covers = "YaRN's magnitude of mscale_all_dim, squared, over sqrt(head_dim)",
       .source = {"transformers, modeling_deepseek_v3.py"},
       .heads = 4,
       .kv_heads = 4,
       .head_dim = 12,
       .scale = mscale * mscale * root_of(ratio(1, 12)),
       .said = said().raw(
           "rope_parameters",
           said().add("rope_type", "yarn").add("factor", 40).add("mscale_all_dim", 1).inner())},
      {.name = "cap-causal",
       .covers = "scores are capped, then hidden",
       .source = {"Gemma 2, arXiv:2408.00118, 2", "transformers, modeling_gemma2.py"},
       .cap = 1.5},
      {.name = "cap-with-bias",
       .covers = "scores are capped, then the mask's numbers are added, -infinity among them",
       .source = {"transformers, modeling_gemma2.py", "ONNX, Attention-24"},
       .ahead = std::nullopt,
       .bias = finite,
       .cap = 1.5},
      {.name = "cap-65-keys",
       .covers = "keys that fill no tile, capped, without a mask",
       .source = {"Gemma 2, arXiv:2408.00118, 2"},
       .queries = 1,
       .keys = 65,
       .heads = 2,
       .kv_heads = 1,
       .head_dim = 4,
       .value_dim = 4,
       .scale = ratio(1, 2),
       .cap = 1.5},
      {.name = "window",
       .covers = "a window of 4: the query's own key and the 3 before it",
       .source = {"Mistral, arXiv:2310.06825, 2", "transformers, masking_utils.py"},
       .said = said().add("sliding_window", 4),
       .behind = 3},
      {.name = "window-decode",
       .covers = "a step of one query: a window of 4",
       .source = {"transformers, masking_utils.py"},
       .queries = 1,
       .said = said().add("sliding_window", 4),
       .behind = 3},
      {.name = "window-both-sides",
       .covers = "local_attention 4: 2 keys to either side",
       .source = {"transformers, modeling_modernbert.py"},
       .said = said().add("local_attention", 4),
       .behind = 2,
       .ahead = 2},
      {.name = "window-uneven",
       .covers = "3 keys before the query's own and 1 after it: FlashAttention's (3, 1)",
       .source = {"flash-attention, flash_attn_interface.py"},
       .behind = 3,
       .ahead = 1},
      {.name = "decode",
       .covers = "a step of 3 queries, the last of 8 tokens",
       .source = {"flash-attention, README: causal masks are aligned to the bottom right"},
       .queries = 3},
      {.name = "encoder",
       .covers = "queries see all keys",
       .source = {"transformers, modeling_bert.py"},
       .ahead = std::nullopt},
      {.name = "chunks",
       .covers = "chunks of 4: keys of the query's own chunk",
       .source = {"transformers, modeling_llama4.py, masking_utils.py"},
       .queries = 10,
       .keys = 10,
       .said = said().add("attention_chunk_size", 4),
       .chunk = 4},
      {.name = "images",
       .covers = "tokens of an image see each other both ways",
       .source = {"transformers, modeling_gemma3.py"},
       .queries = 10,
       .keys = 10,
       .both_ways = "image",
       .blocks = images},
      {.name = "images-and-window",
       .covers = "tokens of an image see each other both ways, also beyond a window of 3",
       .source = {"transformers, modeling_gemma3.py"},
       .queries = 10,
       .keys = 10,
       .said = said().add("sliding_window", 3),
       .behind = 2,
       .both_ways = "image",
       .blocks = images},
      {.name = "images-within-window",
       .covers = "tokens of an image see each other both ways, no farther back than a window of 3",
       .source = {"transformers, modeling_gemma4.py"},
       .queries = 10,
       .keys = 10,
       .said = said().add("sliding_window", 3),
       .behind = 2,
       .both_ways = "image_within_window",
       .blocks = images},
      {.name = "prefix",
       .covers = "tokens of the prompt see each other both ways",
       .source = {"Raffel 2020, arXiv:1910.10683, 3.2", "transformers, modeling_paligemma.py"},
       .both_ways = "prefix",
       .blocks = prompt},
      {.name = "padding-on-the-right",
       .covers = "5 of 8 keys are valid",
       .source = {"ONNX, Attention-24, nonpad_kv_seqlen"},
       .ahead = std::nullopt,
       .valid = first_five},
      {.name = "padding-on-the-left",
       .covers = "3 keys are padding, positions begin behind it; its queries see nothing: zeros",
       .source = {"transformers, masking_utils.py"},
       .valid = last_five},
      {.name = "rows-that-see-nothing",
       .covers = "a mask hides all keys of queries 1, 4 and 7: zeros",
       .source = {"flash-attention"},
       .bias = hidden},
      {.name = "tree",
       .covers = "drafts of two branches: a mask by query and key",
       .source = {"Cai 2024, arXiv:2401.10774, 2.2"},
       .queries = 4,
       .ahead = std::nullopt,
       .bias = tree},
      {.name = "documents",
       .covers = "packed sequences of 3 and 5 tokens, whose positions begin anew",
       .source = {"flash-attention, flash_attn_varlen_func"},
       .documents = {3, 5}},
      {.name = "log-n",
       .covers = "scores times max(1, ln n / ln 3), n being the keys that a query sees",
       .source = {"Su 2021, kexue.fm 8823"},
       .trained = 3},
      {.name = "log-n-of-documents",
       .covers = "n counts the keys of the query's own document",
       .source = {"Su 2021, kexue.fm 8823"},
       .documents = {3, 5},
       .trained = 2},
      {.name = "log-n-in-window",
       .covers = "n counts the keys within the window",
       .source = {"Su 2021, kexue.fm 8823"},
       .said = said().add("sliding_window", 4),
       .behind = 3,
       .trained = 2},
      {.name = "sinks",
       .covers = "a logit of each head in the denominator alone, neither scaled nor with a value",
       .source = {"transformers, modeling_gpt_oss.py"},
       .sinks = {-1, 0.5, 2, 3.25}},
      {.name = "sinks-and-window",
       .covers = "sinks count whatever the window",
       .source = {"transformers, modeling_gpt_oss.py"},
       .said = said().add("sliding_window", 3),
       .behind = 2,
       .sinks = {-1, 0.5, 2, 3.25}},
      {.name = "alibi",
       .covers = "slopes of 4 heads, on scores that are scaled",
       .source = {"Press 2021, arXiv:2108.12409, 3"},
       .alibi_heads = 4},
      {.name = "alibi-of-a-rank",
       .covers = "heads 4 to 7 of 12: their own slopes",
       .source = {"Press 2021, arXiv:2108.12409, 3", "vLLM: slopes of a tensor-parallel rank"},
       .alibi_heads = 12,
       .first_head = 4},
      {.name = "alibi-both-sides",
       .covers = "an encoder: keys on both sides lose by their distance",
       .source = {"Press 2021, arXiv:2108.12409, 3", "jina-bert-v2"},
       .ahead = std::nullopt,
       .alibi_heads = 4},
  };
  std::vector<score_case> result;
  for (auto const& one : all) result.push_back({one.name, written(one)});
  return result;
}

}  // namespace conformance
