#include "facts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

namespace run {
namespace {

constexpr std::size_t distances[]{0, 1, 2, 3, 4, 8, 16, 32};

// Of the first layer that rotates; 0: none does.
std::size_t pairs_of(decoder const& model) {
  for (auto const& kind : model.description().kinds)
    if (!kind.rotary.empty()) return kind.rotary.front().frequencies.at(1).pairs();
  return 0;
}
// Each pair of small heads, eighths of large ones.
std::size_t step_of(std::size_t pairs) { return std::max<std::size_t>(1, pairs / 8); }

std::vector<change> fastest(decoder const& model) {
  std::vector<change> all;
  auto const pairs = pairs_of(model);
  for (std::size_t i = 0; pairs > 0 && i <= pairs; i += step_of(pairs))
    all.push_back(fastest_pairs(i));
  return all;
}

std::string number(double x) {
  char text[40];
  auto const end = std::to_chars(text, text + sizeof text, x).ptr;
  return {text, end};
}

}  // namespace

std::string json_list(std::vector<double> const& numbers) {
  std::string text = "[";
  for (auto const x : numbers) text += (text.size() == 1 ? "" : ", ") + number(x);
  return text + "]";
}

std::string json_text(std::string const& text) {
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return quoted + '"';
}

facts facts_of(measurement const& own, std::vector<std::uint32_t> const& ids) {
  auto const& text = own.of_text;
  auto const mean = text.mean().mean;
  facts all{{"ids", json_list({ids.begin(), ids.end()})},
            {"cross_entropy", number(mean)},
            {"perplexity", number(std::exp(mean))},
            {"token_cross_entropy", json_list(text.cross_entropy)},
            {"thirds", json_list(text.parts(3))},
            {"quarters", json_list(text.parts(4))}};
  if (!text.kl.empty()) {
    all.emplace_back("kl", number(text.mean_kl()));
    all.emplace_back("agreement", number(text.agreement()));
  }
  if (own.layers.empty()) return all;
  std::vector<double> q, k, at, entropy, previous, first, explained;
  for (auto const& layer : own.layers) {
    if (layer.norms) {
      q.insert(q.end(), layer.norms->q.begin(), layer.norms->q.end());
      k.insert(k.end(), layer.norms->k.begin(), layer.norms->k.end());
    }
    for (auto const& head : layer.heads) {
      for (auto const distance : distances) at.push_back(head.at_distance(distance));
      entropy.push_back(head.entropy()), previous.push_back(head.previous());
      first.push_back(head.on_first()), explained.push_back(head.explained_by_distance());
    }
  }
  all.insert(all.end(),
             {{"norms.q", json_list(q)},
              {"norms.k", json_list(k)},
              {"attention.distances", json_list({std::begin(distances), std::end(distances)})},
              {"attention.first_query", number(first_query)},
              {"attention.at_distance", json_list(at)},
              {"attention.entropy", json_list(entropy)},
              {"attention.previous", json_list(previous)},
              {"attention.on_first", json_list(first)},
              {"attention.explained_by_distance", json_list(explained)}});
  return all;
}

void add_top(facts& to, std::vector<top_logits> const& top) {
  std::vector<double> positions, ids, logits;
  for (auto const& one : top) {
    positions.push_back(static_cast<double>(one.position));
    ids.insert(ids.end(), one.ids.begin(), one.ids.end());
    logits.insert(logits.end(), one.logits.begin(), one.logits.end());
  }
  to.emplace_back("top.positions", json_list(positions));
  to.emplace_back("top.ids", json_list(ids));
  to.emplace_back("top.logits", json_list(logits));
}

void add_greedy(facts& to, std::size_t prompt, std::vector<std::uint32_t> const& ids) {
  to.emplace_back("greedy.prompt", std::to_string(prompt));
  to.emplace_back("greedy.ids", json_list({ids.begin(), ids.end()}));
}

void add_change(facts& to, std::string const& name, predictions const& of) {
  to.emplace_back("changed." + name + ".cross_entropy", number(of.mean().mean));
  to.emplace_back("changed." + name + ".kl", number(of.mean_kl()));
  to.emplace_back("changed." + name + ".agreement", number(of.agreement()));
  to.emplace_back("changed." + name + ".quarters", json_list(of.parts(4)));
}

std::vector<change> sweep(decoder const& model) {
  auto all = fastest(model);
  auto const pairs = pairs_of(model), step = step_of(pairs);
  for (std::size_t i = 0; i < pairs; i += step)
    all.push_back(pairs_stopped(i, std::min(i + step, pairs) - 1));
  return all;
}

std::vector<change> standard_changes(decoder const& model) {
  std::vector<change> all{without_rotation(), in_other_layout()};
  for (auto const factor : {50.0, 0.01}) all.push_back(base_times(factor));
  for (auto&& each :
       {backwards(), rotated_twice(), keys_ahead(1), scaled("linear", 2), scaled("linear", 4),
        scaled("ntk", 4), scaled("yarn", 4), scaled("yarn-without-factor", 4)})
    all.push_back(each);
  for (auto const& each : fastest(model)) all.push_back(each);
  using enum posenc::temperature_rule;
  for (auto&& each :
       {with_alibi(), scale_times(std::sqrt(2), "scale_times_sqrt2"),
        scale_times(std::sqrt(0.5), "scale_over_sqrt2"), key_heads_modulo(), mask_one_ahead(),
        mask_one_short(), in_window(16), in_window(64), in_window_with_sinks(4, 64),
        with_temperature("adaptive_temperature", adaptive, 0, 0),
        with_temperature("ssmax", ssmax, 0, 0.43),
        with_temperature("ssmax_without_scale", ssmax, 0, 1),
        with_temperature("log_n_32", log_n, 32, 0),
        with_temperature("half_weight", half_weight, 0, 0),
        with_temperature("critical", critical, 0, 0)})
    all.push_back(each);
  for (auto const as : {stored::f16, stored::bf16, stored::e4m3, stored::int8_per_head,
                        stored::u8_per_head, stored::q8_0, stored::q5_1, stored::q5_0,
                        stored::int4_per_head, stored::q4_1, stored::q4_0, stored::iq4_nl})
    all.push_back(stored_as(as));
  return all;
}

void write_json(std::ostream& out, facts const& all) {
  out << "{";
  for (auto const& [name, value] : all)
    out << (&name == &all.front().first ? "" : ",") << "\n  " << json_text(name) << ": " << value;
  out << "\n}\n";
}

}  // namespace run
