#include <algorithm>
#include <functional>

#include "posenc/model/hugging_face.hpp"
#include "program/text/vocabulary.hpp"

namespace program {
namespace {

using json = nlohmann::json;

json const& member(json const& object, char const* key) {
  static json const absent;
  if (!object.is_object()) return absent;
  auto const found = object.find(key);
  return found == object.end() ? absent : *found;
}
// What is absent, null or of another type is the other value, as in tokenizers' own reader.
std::string text_in(json const& object, char const* key, std::string const& otherwise = "") {
  auto const& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}
bool flag_in(json const& object, char const* key, bool otherwise = false) {
  auto const& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// Each object of a Sequence, or the object itself.
void each_of(json const& object, char const* list, std::function<void(json const&)> const& use) {
  if (!object.is_object()) return;
  if (text_in(object, "type") != "Sequence") return use(object);
  for (auto const& one : member(object, list)) each_of(one, list, use);
}

void read_tokens(vocabulary& v, json const& model, json const& added) {
  auto const& vocab = member(model, "vocab");
  if (!vocab.is_object() || vocab.empty()) v.refuse("model.vocab must be an object of tokens");
  constexpr std::size_t most = std::size_t{1} << 20;
  std::vector<bool> is_given;
  auto const add = [&](std::string const& token, json const& id, bool is_text) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= most)
      v.refuse("the id of token " + token + " must be a whole number below " +
               std::to_string(most) + ", got " + posenc::detail::shown_json(id));
    auto const at = id.get<std::size_t>();
    if (at >= v.tokens.size())
      v.tokens.resize(at + 1), v.is_text.resize(at + 1, false), is_given.resize(at + 1, false);
    if (is_given[at] && v.tokens[at] != token)
      v.refuse("tokens must have different ids, got " + std::to_string(at) + " of " + v.tokens[at] +
               " and " + token);
    v.tokens[at] = token, v.is_text[at] = is_text, is_given[at] = true;
    v.ids.insert_or_assign(token, static_cast<std::uint32_t>(at));
  };
  for (auto const& [token, id] : vocab.items()) add(token, id, true);
  for (auto const& one : added) {
    if (!member(one, "content").is_string())
      v.refuse("added_tokens must be objects with a content");
    auto const content = text_in(one, "content");
    add(content, member(one, "id"), !flag_in(one, "special"));
  }
}

void read_merges(vocabulary& v, json const& merges) {
  if (!merges.is_array()) v.refuse("model.merges must be a list");
  double rank = 0;
  for (auto const& one : merges) {
    std::string pair;
    if (one.is_string()) {
      pair = one.get<std::string>();
    } else if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
      pair = one[0].get<std::string>() + " " + one[1].get<std::string>();
    } else {
      v.refuse("model.merges must be pairs of tokens");
    }
    v.order.emplace(std::move(pair), rank++);
  }
}

void read_normalizer(vocabulary& v, json const& normalizer) {
  each_of(normalizer, "normalizers", [&](json const& one) {
    auto const type = text_in(one, "type");
    if (type == "Prepend" && text_in(one, "prepend") == "\u2581") {
      v.adds_space = true;
    } else if (type == "Replace" && text_in(one, "content") == "\u2581" &&
               text_in(member(one, "pattern"), "String") == " ") {
      v.spaces_are_marked = true;
    } else if (type == "NFC") {
      v.composes = true;
    } else {
      v.refuse("the normalizer " + type + " is not known, or not as it is set");
    }
  });
}

void read_words(vocabulary& v, json const& pre_tokenizer) {
  each_of(pre_tokenizer, "pretokenizers", [&](json const& one) {
    auto const type = text_in(one, "type"), scheme = text_in(one, "prepend_scheme", "always");
    auto const &pattern = member(one, "pattern"), &regex = member(pattern, "Regex");
    if (type == "Metaspace" && text_in(one, "replacement", "\u2581") == "\u2581") {
      v.spaces_are_marked = v.unless_there = true;
      v.adds_space = scheme != "never" && flag_in(one, "add_prefix_space", true);
      v.only_at_beginning = scheme == "first";
      v.splits_at_spaces = flag_in(one, "split", true);
    } else if (type == "ByteLevel" && !flag_in(one, "add_prefix_space", true)) {
      v.of = vocabulary::kind::by_bytes;
      if (flag_in(one, "use_regex", true)) v.patterns.push_back(pattern_named("gpt-2"));
    } else if (type == "Digits") {
      v.patterns.push_back(flag_in(one, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    } else if (type == "Split" && regex.is_string() && text_in(one, "behavior") == "Isolated") {
      v.patterns.push_back(regex.get<std::string>());
    } else if (type != "Split" || text_in(pattern, "String") != " " || !v.spaces_are_marked) {
      v.refuse("the pre_tokenizer " + type + " is not known, or not as it is set");
    }  // else there is no space left that could split
  });
  if (v.of == vocabulary::kind::by_characters && !v.patterns.empty())
    v.refuse("a pre_tokenizer that splits words must be of bytes (ByteLevel)");
  if (v.of == vocabulary::kind::by_bytes && (v.spaces_are_marked || v.adds_space))
    v.refuse("must either mark spaces or be of bytes (ByteLevel), has both");
}

// After the rest, as these may be looked for behind the normalizer.
void read_added(vocabulary& v, json const& added, bool normalizer_marks) {
  for (auto const& one : added) {
    auto const content = text_in(one, "content");
    if (content.empty()) continue;
    if (flag_in(one, "lstrip") || flag_in(one, "rstrip") || flag_in(one, "single_word"))
      v.notes.push_back(v.file + ": " + content + " is found in a text as it is written: its " +
                        "lstrip, rstrip and single_word are left out");
    auto const id = v.ids.at(content);
    if (normalizer_marks && flag_in(one, "normalized", !flag_in(one, "special")))
      v.special_marked.emplace(v.marked(content, true), id);
    else
      v.special.emplace(content, id);
  }
}

}  // namespace

vocabulary vocabulary_of_json(weight_files const& files, std::string const& text) {
  vocabulary v;
  v.file = files.name() + "/tokenizer.json";
  auto const parsed = posenc::detail::parsed_json(text, v.file);
  if (!parsed.is_object()) v.refuse("must be an object");
  auto const &model = member(parsed, "model"), &listed = member(parsed, "added_tokens");
  if (!model.is_object() || text_in(model, "type", "BPE") != "BPE")
    v.refuse("model must be of type BPE");
  for (auto const* const key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text_in(model, key).empty()) v.refuse("model." + std::string(key) + " must be empty");
  auto const& added = listed.is_array() ? listed : json::array();
  read_tokens(v, model, added);
  read_merges(v, member(model, "merges"));
  v.has_bytes = flag_in(model, "byte_fallback");
  v.takes_whole_words = flag_in(model, "ignore_merges");
  v.joins_unknown = flag_in(model, "fuse_unk");
  if (auto const found = v.ids.find(text_in(model, "unk_token")); found != v.ids.end())
    v.unknown = found->second;
  v.adds_space = v.spaces_are_marked = false;
  read_normalizer(v, member(parsed, "normalizer"));
  bool const normalizer_marks = v.adds_space || v.spaces_are_marked;
  read_words(v, member(parsed, "pre_tokenizer"));
  read_added(v, added, normalizer_marks);

  auto const id_of = [&](std::string const& name) {
    auto const found = v.ids.find(name);
    if (found == v.ids.end()) v.refuse("the post_processor's " + name + " must be a token");
    return found->second;
  };
  bool has_template = false;
  each_of(member(parsed, "post_processor"), "processors", [&](json const& one) {
    auto const& single = member(one, "single");
    if (!single.is_array()) return;
    has_template = true;
    bool is_behind = false;
    for (auto const& each : single) {
      if (member(each, "Sequence").is_object()) is_behind = true;
      if (auto const& token = member(each, "SpecialToken"); token.is_object())
        (is_behind ? v.behind : v.in_front).push_back(id_of(text_in(token, "id")));
    }
  });
  if (has_template) return v;
  auto const settings = files.text("tokenizer_config.json");
  if (!settings) return v;
  auto const of = posenc::detail::parsed_json(*settings, "tokenizer_config.json");
  auto const add = [&](char const* flag, char const* token, std::vector<std::uint32_t>& to) {
    if (!flag_in(of, flag)) return;
    auto const& named = member(of, token);
    auto const& content = named.is_object() ? member(named, "content") : named;
    if (content.is_string()) to.push_back(id_of(content.get<std::string>()));
  };
  add("add_bos_token", "bos_token", v.in_front), add("add_eos_token", "eos_token", v.behind);
  return v;
}

}  // namespace program
