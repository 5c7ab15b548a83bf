// What the readers make of settings: the files of model/cases/, by one loop.
//
// A file has groups of cases. The settings of a case are `config`, a config.json, or `gguf`, the
// keys of a GGUF file (gguf/encoded.hpp): those of its file, then of its group, then those `with`
// it, and not those that it is `without`. A list in `with` has settings that are read alike.
// A case is refused with the sentence `error`, or is `expected` to be what posenc inspect --json
// prints, in brief (see below).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "../examples/program/inspect/model_json.hpp"
#include "model/gguf/encoded.hpp"
#include "oracle/frequency_rules.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "rejects.hpp"

namespace {
namespace of_cases {

using namespace posenc;
using nlohmann::json;

std::vector<std::filesystem::path> case_files() {
  std::vector<std::filesystem::path> files;
  for (auto const& file :
       std::filesystem::directory_iterator(std::filesystem::path(__FILE__).parent_path() / "cases"))
    files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

// In brief: what is plain is left out.

/// Without null, false, what is empty, and these values.
json without_plain(json const& object) {
  static json const plain{{"name", "full_attention"},
                          {"rule", "default"},
                          {"layout", "halves"},
                          {"first_dim", 0},
                          {"attention_factor", 1},
                          {"softmax_factor", 1},
                          {"pooled", 0},
                          {"ahead", 0},
                          {"factor", 1},
                          {"block", 1},
                          {"local_blocks", 0},
                          {"key_stride", 1},
                          {"offset", 0},
                          {"weights", 0},
                          {"place", "before"}};
  auto result = json::object();
  for (auto const& [key, value] : object.items()) {
    bool const is_empty = value.is_null() || value == false || value == "" ||
                          (value.is_structured() && value.empty());
    if (is_empty || (plain.contains(key) && plain[key] == value)) continue;
    result[key] = value.is_object() && key != "parameters" ? without_plain(value) : value;
  }
  return result;
}

json runs_of(json const& numbers) {
  auto runs = json::array();
  for (auto const& x : numbers) {
    if (runs.empty() || runs.back()[0] != x) runs.push_back({x, 0});
    runs.back()[1] = runs.back()[1].get<int>() + 1;
  }
  return runs;
}

/// `rotary_dim` only if a part of the head rotates; the axes of pairs as digits, long lists in
/// runs; `inv_freq` only where it has no parameters, from which the oracle computes it.
json brief_rotary(json rotary, json const& head_dim) {
  auto& parameters = rotary["parameters"];
  if (rotary["rotary_dim"] == head_dim) rotary.erase("rotary_dim");
  if (parameters.value("rope_type", json()) == rotary["rule"]) parameters.erase("rope_type");
  if (parameters.value("attention_factor", json()) == rotary["attention_factor"])
    rotary.erase("attention_factor");
  static json const usual{{"truncate", true}, {"beta_fast", 32}, {"beta_slow", 1}};
  for (auto const& [key, value] : usual.items())
    if (parameters.value(key, json()) == value) parameters.erase(key);
  for (auto& value : parameters)
    if (value.is_array() && value.size() > 8) value = runs_of(value);
  if (!parameters.empty()) rotary.erase("inv_freq");
  if (!rotary["axes"].is_null()) {
    std::string digits;
    for (auto const& axis : rotary["axes"]) digits += std::to_string(axis.get<int>());
    rotary["axes"] = digits;
  }
  return without_plain(rotary);
}

/// `schedule` has the kind of each layer: a, b, ... in their order. `type`, `context`, sentences
/// and lists of keys are there if they are asked for, and norms if that of queries is.
json brief(json model, json const& asked) {
  std::string schedule(model["layers"].get<std::size_t>(), 'a');
  auto kinds = json::array();
  for (auto kind : model["kinds"]) {
    auto const letter = static_cast<char>('a' + kinds.size());
    for (auto const& layer : kind["layers"]) schedule[layer.get<std::size_t>()] = letter;
    for (auto const* other : {"layers", "key_bias", "key_bias_is_separable"}) kind.erase(other);
    if (kind["ahead"].is_null()) kind["ahead"] = "all";
    for (auto& rotary : kind["rotary"]) rotary = brief_rotary(rotary, kind["head_dim"]);
    if (auto& index = kind["index"]; index.is_object())
      index["rotary"] = brief_rotary(index["rotary"], index["head_dim"]);
    auto const& all = asked.at("kinds");
    for (auto const* heads : {"heads", "key_heads"})
      if (all.size() <= kinds.size() || !all[kinds.size()].contains(heads)) kind.erase(heads);
    bool const has_norms = all.size() > kinds.size() && all[kinds.size()].contains("query_norm");
    for (auto const* norm : {"value_norm", "key_norm", "query_norm"}) {
      bool const is_none = kind[norm]["of"] == "none" && norm != std::string("query_norm");
      if (is_none || !has_norms) kind.erase(norm);
    }
    kinds.push_back(without_plain(kind));
  }
  if (kinds.size() > 1) model["schedule"] = schedule;
  model["kinds"] = kinds, model.erase("length");
  auto result = without_plain(model);
  for (auto const* key :
       {"type", "context", "assumptions", "notes", "read", "assumed", "ignored"}) {
    result.erase(key);
    if (asked.contains(key)) result[key] = model[key];
  }
  return result;
}

/// Where they differ, or nothing. A number may be rounded to float, as in a GGUF file, or be off by
/// 1e-14.
std::string difference(json const& actual, json const& expected, std::string const& at = "") {
  if (actual.is_number() && expected.is_number()) {
    auto const a = actual.get<double>(), b = expected.get<double>();
    bool const is_near = std::abs(a - b) <= 1e-14 * std::abs(b);
    return is_near || a == static_cast<double>(static_cast<float>(b)) ? "" : at;
  }
  if (actual.type() != expected.type() || !actual.is_structured())
    return actual == expected ? "" : at;
  if (actual.size() != expected.size()) return at + ", in size";
  for (auto const& [key, value] : expected.items()) {
    auto const place = at + "/" + key;
    if (expected.is_object() && !actual.contains(key)) return place;
    auto const& other = expected.is_object() ? actual[key] : actual[std::stoul(key)];
    if (auto const found = difference(other, value, place); !found.empty()) return found;
  }
  return "";
}

// Frequencies.

/// Of the numbers that a reader says it made them of.
std::vector<double> by_oracle(json const& rotary, std::size_t head_dim, json const& context,
                              std::size_t length, json const& tensors) {
  auto const& p = rotary["parameters"];
  auto const number = [&](char const* key) { return p.at(key).get<double>(); };
  auto const dim = rotary["rotary_dim"].get<std::size_t>();
  auto const type = p["rope_type"].get<std::string>();
  auto base = static_cast<long double>(number("rope_theta"));
  if (p.contains("rope.scaling.alpha"))
    base = oracle::ntk_base(dim, base, number("rope.scaling.alpha"));
  auto f = oracle::default_rule(dim, base);
  if (type == "linear") {
    f = oracle::linear_rule(f, number("factor"));
  } else if (type == "dynamic") {
    f = p.contains("alpha")
            ? oracle::ntk_rule(dim, base, number("alpha"))
            : oracle::dynamic_ntk_rule(dim, base, number("factor"),
                                       p.contains("original_max_position_embeddings")
                                           ? number("original_max_position_embeddings")
                                           : context.get<double>(),
                                       length);
  } else if (type == "llama3") {
    f = oracle::llama3_rule(f, number("factor"), number("low_freq_factor"),
                            number("high_freq_factor"), number("original_max_position_embeddings"));
  } else if (type == "yarn") {
    auto const scaled = oracle::linear_rule(f, number("factor"));
    f = oracle::yarn_rule(dim, base, number("factor"), number("original_max_position_embeddings"),
                          number("beta_fast"), number("beta_slow"), p["truncate"].get<bool>());
    auto const share = p.value("rope.scaling.yarn_ext_factor", 1.0);
    for (std::size_t i = 0; i < f.size(); ++i) f[i] = share * f[i] + (1 - share) * scaled[i];
  } else if (type == "longrope") {
    f = oracle::longrope_rule(dim, base, p["short_factor"], p["long_factor"],
                              number("original_max_position_embeddings"), length);
    f = oracle::linear_rule(f, p.value("rope.scaling.factor", 1.0));
  } else if (type == "proportional") {
    f = oracle::proportional_rule(head_dim, base, number("partial_rotary_factor"),
                                  number("factor"));
  }
  if (!p.contains("rope_freqs.weight")) return f;
  auto const factors = numbers_of_runs(tensors.at("rope_freqs.weight"));
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = factors.at(i) >= 1e30 ? 0 : f[i] / static_cast<double>(static_cast<float>(factors[i]));
  return f;
}

void expect_frequencies(json const& rotary, json const& head_dim, json const& model,
                        json const& settings) {
  auto const& p = rotary["parameters"];
  if (p.empty()) return;
  auto const length = model["length"].get<std::size_t>();
  auto const expected = by_oracle(rotary, head_dim.get<std::size_t>(), model["context"], length,
                                  settings.value("tensors", json()));
  auto const& actual = rotary["inv_freq"];
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i].get<double>(), expected[i], 1e-13 * expected[i]) << "pair " << i;
  if (!p.contains("short_mscale")) return;
  bool const is_long = length > p["original_max_position_embeddings"];
  EXPECT_EQ(rotary["attention_factor"], p[is_long ? "long_mscale" : "short_mscale"]);
}

void expect_frequencies(json const& model, json const& settings) {
  for (auto const& kind : model["kinds"]) {
    for (auto const& rotary : kind["rotary"])
      expect_frequencies(rotary, kind["head_dim"], model, settings);
    if (auto const& index = kind["index"]; index.is_object())
      expect_frequencies(index["rotary"], index["head_dim"], model, settings);
  }
}

/// Lengths on both sides of each at which frequencies change.
std::set<std::size_t> lengths_of(model_description const& model) {
  auto const context = model.context.value_or(4096);
  std::set<std::size_t> lengths{context};
  for (auto const& kind : model.kinds) {
    for (auto const& rotary : kind.rotary) {
      if (!rotary.frequencies.depends_on_length()) continue;
      std::set<std::size_t> ends{context};
      for (auto const& [key, value] : rotary.parameters)
        if (key == "original_max_position_embeddings") ends.insert(std::stoul(value));
      for (auto const end : ends) lengths.insert({end, end + 1, 4 * end});
    }
  }
  return lengths;
}

// Cases.

json settings_of(json const& file, json const& group, json const& with, std::string const& format) {
  auto settings = file.value(format, json::object());
  settings.update(group[format]), settings.update(with), settings.erase("without");
  for (auto const& from : {group, with})
    for (auto const& key : from.value("without", json::array())) settings.erase(key);
  return settings;
}

model_description read(json const& settings, std::string const& format, json const& one) {
  auto const unknown = one.contains("unknown") ? unknown_model::as_llama : unknown_model::refused;
  if (format == "config")
    return read_hugging_face(settings.dump(), "config.json", {.unknown = unknown});
  auto const file = encoded_gguf(settings).str();
  gguf_options options{.unknown = unknown};
  if (one.contains("layout")) {
    options.layout = halves();
    if (one["layout"] == "interleaved") options.layout = interleaved();
  }
  return read_gguf(gguf_metadata(bytes_of(file), "m.gguf"), options);
}

void expect(json const& settings, std::string const& format, json const& one) {
  if (one.contains("error")) {
    auto const file = format == "config" ? "config.json: " : "m.gguf: ";
    EXPECT_EQ(message_of([&] { read(settings, format, one); }),
              "posenc: " + std::string(file) + one["error"].get<std::string>());
    return;
  }
  try {
    auto const model = read(settings, format, one);
    json const full = model_json::json_of<json>(model, model.context.value_or(4096));
    auto const actual = brief(full, one.at("expected"));
    EXPECT_EQ(difference(actual, one["expected"]), "") << "is read as " << actual;
    for (auto const length : lengths_of(model))
      expect_frequencies(model_json::json_of<json>(model, length), settings);
  } catch (std::exception const& error) {
    ADD_FAILURE() << error.what();
  }
}

class cases : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(cases, are_read_as_they_say) {
  auto const file = json::parse(std::ifstream(GetParam()));
  for (auto const& group : file.at("groups")) {
    auto const format = group.contains("config") ? "config" : "gguf";
    for (auto one : group.value("cases", json::array({group}))) {
      auto const given = one.value("with", json::object());
      for (auto with : given.is_array() ? given : json::array({given})) {
        if (one.contains("without")) with["without"] = one["without"];
        auto const settings = settings_of(file, group, with, format);
        SCOPED_TRACE(group.at("name").get<std::string>() + ": " + settings.dump());
        expect(settings, format, one);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(readers, cases, testing::ValuesIn(case_files()),
                         [](auto const& tested) { return tested.param.stem().string(); });

}  // namespace of_cases
}  // namespace
