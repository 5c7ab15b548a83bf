#include <algorithm>
#include <functional>

#include "posenc/model/hugging_face.hpp"
#include "program/text/vocabulary.hpp"

namespace program {
namespace {

using json = nlohmann::json;

// Each object of a Sequence, or the object itself.
void each_of(json const& object, std::string const& list,
             std::function<void(json const&)> const& use) {
  if (!object.is_object()) return;
  if (object.value("type", "") != "Sequence") return use(object);
  for (auto const& one : object.value(list, json::array()))
    if (one.is_object()) each_of(one, list, use);
}

json const& member(json const& object, char const* key) {
  static json const absent;
  auto const found = object.find(key);
  return found == object.end() ? absent : *found;
}

void read_tokens(vocabulary& v, json const& model, json const& added) {
  auto const& vocab = member(model, "vocab");
  if (!vocab.is_object() || vocab.empty()) v.refuse("model.vocab must be an object of tokens");
  auto const add = [&](std::string const& token, json const& id, bool is_text) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= std::uint64_t{1} << 24)
      v.refuse("ids of tokens must be whole numbers below 2^24");
    auto const at = id.get<std::size_t>();
    if (at >= v.tokens.size()) v.tokens.resize(at + 1), v.is_text.resize(at + 1, false);
    v.tokens[at] = token, v.is_text[at] = is_text;
    v.ids.insert_or_assign(token, static_cast<std::uint32_t>(at));
  };
  for (auto const& [token, id] : vocab.items()) add(token, id, true);
  for (auto const& one : added) {
    if (!one.is_object() || !member(one, "content").is_string())
      v.refuse("added_tokens must be objects with a content");
    auto const content = one.at("content").get<std::string>();
    add(content, member(one, "id"), !one.value("special", false));
    if (!content.empty()) v.special.emplace(content, v.ids.at(content));
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

}  // namespace

vocabulary vocabulary_of_json(weight_files const& files, std::string const& text) {
  vocabulary v;
  v.file = files.name() + "/tokenizer.json";
  auto const parsed = posenc::detail::parsed_json(text, v.file);
  if (!parsed.is_object()) v.refuse("must be an object");
  auto const& model = member(parsed, "model");
  if (!model.is_object() || model.value("type", "BPE") != "BPE")
    v.refuse("model must be of type BPE");
  auto const& added = member(parsed, "added_tokens");
  read_tokens(v, model, added.is_array() ? added : json::array());
  read_merges(v, member(model, "merges"));
  v.has_bytes = model.value("byte_fallback", false);
  v.takes_whole_words = model.value("ignore_merges", false);
  if (auto const& unknown = member(model, "unk_token"); unknown.is_string())
    if (auto const found = v.ids.find(unknown.get<std::string>()); found != v.ids.end())
      v.unknown = found->second;

  v.adds_space = v.spaces_are_marked = false;
  auto const unread = [&](char const* what, json const& one) {
    v.refuse(std::string(what) + " " + one.value("type", "without a type") + " is not known");
  };
  each_of(member(parsed, "normalizer"), "normalizers", [&](json const& one) {
    auto const type = one.value("type", "");
    if (type == "Prepend" && one.value("prepend", "") == "\u2581") {
      v.adds_space = true;
    } else if (type == "Replace" && one.value("content", "") == "\u2581" &&
               member(member(one, "pattern"), "String") == " ") {
      v.spaces_are_marked = true;
    } else if (type != "NFC") {  // nothing to do for what is composed, as texts are
      unread("the normalizer", one);
    }
  });
  each_of(member(parsed, "pre_tokenizer"), "pretokenizers", [&](json const& one) {
    auto const type = one.value("type", "");
    if (type == "Metaspace") {
      v.spaces_are_marked = true;
      v.adds_space = one.value("prepend_scheme", "always") != "never" &&
                     one.value("add_prefix_space", true);
    } else if (type == "ByteLevel") {
      v.of = vocabulary::kind::by_bytes;
      if (one.value("add_prefix_space", false)) unread("add_prefix_space of", one);
      if (one.value("use_regex", true)) v.pattern = pattern_named("gpt-2");
    } else if (type == "Split" && member(member(one, "pattern"), "Regex").is_string() &&
               one.value("behavior", "Isolated") == "Isolated") {
      v.pattern = one.at("pattern").at("Regex").get<std::string>();
    } else {
      unread("the pre_tokenizer", one);
    }
  });

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
      if (each.contains("Sequence")) is_behind = true;
      if (each.contains("SpecialToken"))
        (is_behind ? v.behind : v.in_front)
            .push_back(id_of(each.at("SpecialToken").value("id", "")));
    }
  });
  if (has_template) return v;
  auto const settings = files.text("tokenizer_config.json");
  if (!settings) return v;
  auto const of = posenc::detail::parsed_json(*settings, "tokenizer_config.json");
  auto const add = [&](char const* flag, char const* token, std::vector<std::uint32_t>& to) {
    if (!of.is_object() || member(of, flag) != true) return;
    auto const& named = member(of, token);
    auto const& content = named.is_object() ? member(named, "content") : named;
    if (content.is_string()) to.push_back(id_of(content.get<std::string>()));
  };
  add("add_bos_token", "bos_token", v.in_front), add("add_eos_token", "eos_token", v.behind);
  return v;
}

}  // namespace program
