#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace run {
namespace {

constexpr auto most_tokens = std::size_t{1} << 20;

std::size_t whole_number(std::string const& option, std::string_view text) {
  std::size_t number = 0;
  auto const end = text.data() + text.size();
  auto const [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || text.empty())
    throw std::runtime_error(option + " must be whole numbers like 3 or 0-5, got " +
                             std::string(text));
  return number;
}

struct from_to {
  std::size_t first, last;
};

// "3" or "0-5".
from_to range_of(std::string const& option, std::string_view text) {
  auto const dash = text.find('-');
  auto const first = whole_number(option, text.substr(0, dash));
  auto const last =
      dash == text.npos ? first : whole_number(option, text.substr(dash + 1));
  if (first > last)
    throw std::runtime_error(option + " must be from the smaller to the larger, got " +
                             std::string(text));
  return {first, last};
}

// "0-3,7": each of them.
std::vector<std::size_t> list_of(std::string const& option, std::string_view text) {
  std::vector<std::size_t> all;
  while (!text.empty()) {
    auto const comma = std::min(text.find(','), text.size());
    auto const [first, last] = range_of(option, text.substr(0, comma));
    if (last - first >= most_tokens)
      throw std::runtime_error(option + " must be at most a million numbers");
    for (auto i = first; i <= last; ++i) all.push_back(i);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

stored format_of(std::string const& name) {
  auto const found = std::ranges::find(stored_names, name);
  return static_cast<stored>(found - std::begin(stored_names));
}

std::vector<std::string> format_list() {
  return {std::begin(stored_names), std::end(stored_names)};
}

std::string text_of(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

// "yarn:4".
change scaling_of(std::string const& text) {
  auto const colon = text.find(':');
  auto const rule = text.substr(0, colon);
  auto const& rules = scaling_rules();
  double factor = 0;
  if (colon != text.npos)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), factor);
  if (std::ranges::find(rules, rule) == rules.end() || !(factor >= 1)) {
    std::string names;
    for (auto const& each : rules) names += (names.empty() ? "" : ", ") + each;
    throw std::runtime_error("--scaling must be RULE:FACTOR, as yarn:4, with one of " + names +
                             " and a factor of 1 or more, got " + text);
  }
  return scaled(rule, factor);
}

}  // namespace

void declare(CLI::App& app, options& o) {
  using program::add_number;
  app.add_option("MODEL", o.model, "a folder of Hugging Face, or a GGUF file")->required();
  app.add_option("--text", o.text, "a file of text, in UTF-8");
  app.add_option("--ids", o.ids, "a file of token ids, in place of a text")->excludes("--text");
  add_number(app, "--tokens", o.tokens, "the first N tokens alone", 2, most_tokens);
  add_number(app, "--threads", o.threads, "threads (2)", 1, 256);

  auto const rotation = "Rotation, changed";
  add_number(app, "--p", o.p, "p of p-RoPE: the part of pairs that rotate", 0.0, 1.0)->group(rotation);
  add_number(app, "--fastest", o.fastest, "the N fastest pairs alone rotate")->group(rotation);
  add_number(app, "--slowest", o.slowest, "the N slowest pairs alone rotate")->group(rotation);
  app.add_option("--pairs", o.pairs, "these pairs alone rotate, as 2-5; 0 is the fastest")
      ->group(rotation);
  app.add_option("--without-pairs", o.without_pairs, "these pairs do not rotate")->group(rotation);
  add_number(app, "--base", o.base, "the base")->group(rotation);
  app.add_option("--scaling", o.scaling, "RULE:FACTOR, as linear:2, ntk:4, yarn:4, llama3:8")
      ->group(rotation);
  app.add_option("--rope-parameters", o.parameters, "a JSON file with rope_parameters")
      ->group(rotation);
  app.add_flag("--nope", o.nope, "nothing rotates")->group(rotation);
  app.add_flag("--alibi", o.alibi, "ALiBi takes the place of rotation")->group(rotation);
  app.add_option("--layout", o.layout, "of pairs: halves or interleaved")
      ->check(program::one_of({"halves", "interleaved"}))
      ->group(rotation);
  app.add_flag("--backwards", o.backwards, "by the opposite angle")->group(rotation);
  app.add_flag("--twice", o.twice, "by twice the angle")->group(rotation);
  add_number(app, "--keys-ahead", o.keys_ahead, "keys rotate N positions further")
      ->group(rotation);
  add_number(app, "--queries-ahead", o.queries_ahead, "queries rotate N positions further")
      ->group(rotation);

  auto const scores = "Scores, masks and softmax, changed";
  add_number(app, "--window", o.window, "a query sees the last N keys", 1, most_tokens)
      ->group(scores);
  add_number(app, "--sinks", o.sinks, "beside the window, the first N keys", 1, most_tokens)
      ->needs("--window")
      ->group(scores);
  app.add_flag("--one-ahead", o.one_ahead, "a query sees the next key")
      ->excludes("--sinks")
      ->group(scores);
  app.add_flag("--one-short", o.one_short, "a query does not see its own key")
      ->excludes("--one-ahead")
      ->excludes("--sinks")
      ->group(scores);
  app.add_flag("--kv-heads-modulo", o.modulo, "query head h reads kv head h mod kv heads")
      ->group(scores);
  add_number(app, "--scale", o.scale, "scores times X", "X")->group(scores);
  add_number(app, "--cap", o.cap, "a soft cap on scores; 0: none", "X")->group(scores);
  std::vector<CLI::Option*> const temperatures{
      add_number(app, "--log-n", o.log_n, "scores times log n / log X", "X"),
      add_number(app, "--ssmax", o.ssmax, "scores times X ln n", "X"),
      add_number(app, "--critical", o.critical, "X times the critical temperature", "X"),
      add_number(app, "--half-weight", o.half_weight, "the temperature of half the weight, X", "X"),
      app.add_flag("--adaptive", o.adaptive, "adaptive temperature, by the entropy")};
  for (auto* const each : temperatures) {
    each->group(scores);
    for (auto* const other : temperatures)
      if (other != each) each->excludes(other);
  }

  auto const caches = "Caches, changed";
  app.add_option("--keys", o.keys, "the format of keys")
      ->check(program::one_of(format_list()))
      ->group(caches);
  app.add_option("--values", o.values, "the format of values")
      ->check(program::one_of(format_list()))
      ->group(caches);
  app.add_flag("--hadamard", o.hadamard, "queries and keys by Hadamard before they are stored")
      ->group(caches);
  app.add_flag("--without-key-bias", o.bias_apart, "keys are stored without their bias")
      ->group(caches);
  add_number(app, "--keys-moved", o.keys_moved, "keys were written N positions later")
      ->group(caches);

  auto const where = "Places of the changes";
  app.add_option("--layers", o.layers, "these layers, as 0-3,7")->group(where);
  app.add_option("--heads", o.heads, "these heads of queries")->group(where);

  auto const shown = "Results";
  add_number(app, "--greedy", o.greedy, "writes N more tokens, always the likeliest", 1, 65'536)
      ->group(shown);
  app.add_option("--against", o.against, "another file of the model, as it was before rounding")
      ->group(shown);
  app.add_flag("--mistakes", o.mistakes, "the cost of each mistake that engines make")
      ->group(shown);
  app.add_flag("--sweep", o.sweep, "the cost of each p of p-RoPE, and of each band of pairs")
      ->group(shown);
  app.add_flag("--facts", o.facts, "the cost of each change that this program knows")
      ->group(shown);
  program::declare_json(app, o.outputs);
  app.add_option("--top", o.top, "positions whose five largest logits --json has, as 0,25,51")
      ->needs("--json")
      ->group(shown);
  program::declare_outputs(app, o.outputs);
}

std::vector<change> changes_of(options const& o) {
  std::vector<change> all;
  auto const add = [&](bool is_asked, auto const& make) {
    if (is_asked) all.push_back(make());
  };
  auto const within = [](std::string const& option, std::string const& text, auto const& make) {
    auto const [first, last] = range_of(option, text);
    return make(first, last);
  };
  // These two come first, so that a change of what they take away finds nothing to change.
  add(o.nope, without_rotation);
  add(o.alibi, with_alibi);
  add(o.base.has_value(), [&] { return with_base(*o.base); });
  add(!o.scaling.empty(), [&] { return scaling_of(o.scaling); });
  add(!o.parameters.empty(), [&] { return by_parameters(o.parameters, text_of(o.parameters)); });
  add(o.p.has_value(), [&] { return part_of_pairs(*o.p); });
  add(o.fastest.has_value(), [&] { return fastest_pairs(*o.fastest); });
  add(o.slowest.has_value(), [&] { return slowest_pairs(*o.slowest); });
  add(!o.pairs.empty(), [&] { return within("--pairs", o.pairs, pairs_between); });
  add(!o.without_pairs.empty(),
      [&] { return within("--without-pairs", o.without_pairs, pairs_stopped); });
  add(o.twice, rotated_twice);
  add(o.backwards, backwards);
  add(!o.layout.empty(), [&] { return in_layout(o.layout == "interleaved"); });
  add(o.keys_ahead.has_value(), [&] { return keys_ahead(*o.keys_ahead); });
  add(o.queries_ahead.has_value(), [&] { return queries_ahead(*o.queries_ahead); });
  add(o.window && !o.sinks, [&] { return in_window(*o.window); });
  add(o.sinks.has_value(), [&] { return in_window_with_sinks(*o.sinks, *o.window); });
  add(o.one_ahead, mask_one_ahead);
  add(o.one_short, mask_one_short);
  add(o.modulo, key_heads_modulo);
  add(o.scale.has_value(), [&] { return scale_times(*o.scale, ""); });
  add(o.cap.has_value(), [&] { return with_cap(*o.cap); });
  using enum posenc::temperature_rule;
  auto const temperature = [&](bool is_asked, std::string const& name, auto rule, double length,
                               double scale) {
    add(is_asked, [&] { return with_temperature(name, rule, length, scale); });
  };
  temperature(o.log_n.has_value(), "log_n", log_n, o.log_n.value_or(0), 0);
  temperature(o.ssmax.has_value(), "ssmax", ssmax, 0, o.ssmax.value_or(0));
  temperature(o.critical.has_value(), "critical", critical, 0, o.critical.value_or(0));
  temperature(o.half_weight.has_value(), "half_weight", half_weight, 0,
              o.half_weight.value_or(0));
  temperature(o.adaptive, "adaptive_temperature", adaptive, 0, 0);
  add(!o.keys.empty(), [&] { return keys_stored(format_of(o.keys)); });
  add(!o.values.empty(), [&] { return values_stored(format_of(o.values)); });
  add(o.hadamard, with_hadamard);
  add(o.bias_apart, key_bias_apart);
  add(o.keys_moved.has_value(), [&] { return keys_moved(*o.keys_moved); });
  return all;
}

std::vector<std::size_t> top_positions(options const& o, std::size_t tokens) {
  auto all = list_of("--top", o.top);
  for (auto const position : all)
    if (position >= tokens)
      throw std::runtime_error("--top must be below the " + std::to_string(tokens) +
                               " tokens of the text, got " + std::to_string(position));
  return all;
}

places places_of(options const& o) {
  return {list_of("--layers", o.layers), list_of("--heads", o.heads)};
}

}  // namespace run
