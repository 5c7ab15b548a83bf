#include <algorithm>

#include "program/text/vocabulary.hpp"

namespace program {
namespace {

// GGUF's types of tokens.
constexpr double normal_token = 1, unknown_token = 2, control_token = 3, byte_token_type = 6;
constexpr double user_token = 4;

}  // namespace

vocabulary vocabulary_of_gguf(weight_files const& files) {
  vocabulary v;
  v.file = files.name();
  auto const& header = files.gguf();
  auto const model = header.text("tokenizer.ggml.model").value_or("");
  auto tokens = files.strings("tokenizer.ggml.tokens");
  if (model.empty() || !tokens || tokens->empty()) v.refuse("has no tokenizer");
  v.tokens = std::move(*tokens);
  auto const count = v.tokens.size();
  auto const types =
      files.numbers("tokenizer.ggml.token_type").value_or(std::vector<double>(count, normal_token));
  if (types.size() != count)
    v.refuse("tokenizer.ggml.token_type must be one for each of the " + std::to_string(count) +
             " tokens, got " + std::to_string(types.size()));
  for (std::size_t id = 0; id < count; ++id) {
    v.ids.emplace(v.tokens[id], static_cast<std::uint32_t>(id));
    v.is_text.push_back(types[id] != control_token && types[id] != unknown_token);
    if (types[id] == user_token) v.special.emplace(v.tokens[id], static_cast<std::uint32_t>(id));
    v.has_bytes = v.has_bytes || types[id] == byte_token_type;
  }
  auto const id_of = [&](std::string const& name) -> std::optional<std::uint32_t> {
    auto const id = header.count("tokenizer.ggml." + name + "_token_id", 0, count - 1);
    if (!id) return {};
    return static_cast<std::uint32_t>(*id);
  };
  auto const says = [&](std::string const& name, bool otherwise) {
    return header.flag("tokenizer.ggml." + name).value_or(otherwise);
  };
  bool const is_llama = model == "llama";
  bool is_llama_3 = false;
  if (is_llama) {
    auto const scores = files.numbers("tokenizer.ggml.scores");
    if (!scores || scores->size() != count)
      v.refuse("tokenizer.ggml.scores must be one for each of the " + std::to_string(count) +
               " tokens");
    v.by_score = true;
    for (std::size_t id = 0; id < count; ++id)
      if (types[id] == normal_token || types[id] == user_token)
        v.order.emplace(v.tokens[id], -(*scores)[id]);
    if (count > 1 && std::ranges::all_of(v.order, [&](auto const& one) {
          return one.second == v.order.begin()->second;
        }))
      v.notes.push_back(v.file +
                        ": all tokens have the same score, as converters write where a "
                        "tokenizer.json has merges: pairs merge from the left, and a text has "
                        "other ids than in training");
    v.adds_space = says("add_space_prefix", true);
  } else if (model == "gpt2") {
    v.of = vocabulary::kind::by_bytes;
    auto const merges = files.strings("tokenizer.ggml.merges");
    if (!merges) v.refuse("has no tokenizer.ggml.merges");
    for (std::size_t rank = 0; rank < merges->size(); ++rank)
      v.order.emplace((*merges)[rank], static_cast<double>(rank));
    auto const pre = header.text("tokenizer.ggml.pre").value_or("default");
    auto const pattern = pattern_named(pre);
    if (pattern.empty())
      v.refuse("tokenizer.ggml.pre must be gpt-2, llama-bpe or qwen2, got " + pre);
    v.patterns = {pattern};
    if (pre == "default")
      v.notes.push_back(
          v.file + ": tokenizer.ggml.pre does not say what words are: those of GPT-2 are taken");
    is_llama_3 = pattern == pattern_named("llama-bpe");
    v.takes_whole_words = is_llama_3;
  } else {
    v.refuse("tokenizer.ggml.model must be llama or gpt2, got " + model);
  }
  v.unknown = id_of("unknown");
  auto const bos = id_of("bos"), eos = id_of("eos");
  if (bos && says("add_bos_token", is_llama || is_llama_3)) v.in_front = {*bos};
  if (eos && says("add_eos_token", false)) v.behind = {*eos};
  return v;
}

}  // namespace program
