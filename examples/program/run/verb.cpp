// How well a trained model predicts a text, where its heads look, and what a change costs.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "program/options.hpp"
#include "program/run/facts.hpp"
#include "program/run/measurement.hpp"
#include "program/run/memory.hpp"
#include "program/run/mistakes.hpp"
#include "program/run/options.hpp"
#include "program/run/report.hpp"
#include "program/text/tokenizer.hpp"
#include "reporting/progress_line.hpp"

namespace run {
namespace {

std::string title_of(std::string const& file, decoder const& model) {
  auto const& description = model.description();
  auto const& first = description.kinds.front();
  return file + ": " + description.type + ", " + std::to_string(model.layers()) + " layers, " +
         std::to_string(model.heads()) + " heads of " + std::to_string(first.head_dim) + " over " +
         std::to_string(model.key_heads()) + " of keys";
}

std::vector<std::uint32_t> ids_of(options const& o, program::weight_files const& files,
                                  std::size_t vocabulary) {
  std::vector<std::uint32_t> ids;
  if (o.ids.empty()) {
    program::tokenizer const words(files);
    ids = words.encode_file(o.text);
    for (auto const& note : words.notes()) std::cerr << "posenc run: " << note << '\n';
    for (auto const id : ids)
      if (id >= vocabulary)
        throw std::runtime_error(o.text + ": has token " + std::to_string(id) +
                                 ", and the model has " + std::to_string(vocabulary));
  } else {
    ids = program::read_ids(o.ids, vocabulary);
  }
  if (o.tokens) ids.resize(std::min(ids.size(), *o.tokens));
  if (ids.size() < 2)
    throw std::runtime_error((o.ids.empty() ? o.text : o.ids) +
                             ": must have two tokens or more, got " + std::to_string(ids.size()));
  return ids;
}

// The model of --against, and what it makes its logits of the text from.
struct other_model {
  program::weight_files files;
  decoder model;
  std::vector<float> states = {};

  other_model(options const& o, decoder const& own, std::span<std::uint32_t const> ids)
      : files(o.against), model(files, o.threads) {
    if (model.vocabulary() != own.vocabulary())
      throw std::runtime_error("--against must have the vocabulary of the model, of " +
                               std::to_string(own.vocabulary()) + " tokens, got " +
                               std::to_string(model.vocabulary()));
    states = measure(model, model.plans(), ids, {.keeps_states = true}).states;
  }
};

void run(options const& o) {
  if (o.ids.empty() && o.text.empty())
    throw std::runtime_error("--text FILE or --ids FILE must say what the model reads");
  auto const style = program::checked(o.outputs);
  program::weight_files const files(o.model);
  decoder const model(files, o.threads);
  auto const ids = ids_of(o, files, model.vocabulary());
  auto const asked = changes_of(o);
  auto const where = places_of(o);
  if (asked.empty() && !(where.layers.empty() && where.heads.empty()))
    throw std::runtime_error("--layers and --heads say where changes are made: there is none");

  std::vector<named_plans> runs;
  auto const add = [&](change const& one) {
    runs.push_back({one.name, one.says, changed_plans(model, {one}, where, ids.size())});
  };
  auto const add_those_that_can = [&](std::vector<change> const& all) {
    for (auto const& one : all) {
      if (can_change(model, one, ids.size())) add(one);
    }
  };
  if (!asked.empty()) {  // all of them together
    std::string name, says;
    for (auto const& one : asked)
      name += (name.empty() ? "" : "+") + one.name, says += (says.empty() ? "" : "; ") + one.says;
    runs.push_back({name, says, changed_plans(model, asked, where, ids.size())});
  }
  if (o.sweep) add_those_that_can(sweep(model));
  if (o.facts) add_those_that_can(standard_changes(model));
  if (o.mistakes) std::ranges::move(mistaken_plans(model, ids.size()), std::back_inserter(runs));

  wanted of_model{.keeps_states = !runs.empty(), .measures_heads = true};
  wanted const of_change{.own = &model};
  auto bytes = bytes_of_pass(model, model.plans(), ids.size(), of_model);
  for (auto const& one : runs)
    bytes = std::max(bytes, bytes_of_pass(model, one.plans, ids.size(), of_change));
  require_memory(o.ids.empty() ? o.text : o.ids, ids.size(), bytes);

  run_report report{
      .title = title_of(o.model, model), .tokens = ids.size(), .against = o.against};
  reporting::progress_line progress;
  auto const all = static_cast<double>(runs.size() + 1);
  auto const shows = [&](std::string const& what, double done) {
    return [&progress, what, done, all](double part) { progress.show(what, (done + part) / all); };
  };
  std::optional<other_model> other;
  if (!o.against.empty()) other.emplace(o, model, ids);
  if (!o.top.empty()) of_model.top = top_positions(o, ids.size());
  if (other) of_model.own = &other->model, of_model.own_states = other->states;
  report.own = measure(model, model.plans(), ids, of_model, shows("the model", 0));
  std::optional<program::tokenizer> words;
  auto const written = [&](std::vector<layer_plan> const& plans) {
    std::string text;
    auto const next = greedy(model, plans, ids, o.greedy);
    if (o.ids.empty()) {
      if (!words) words.emplace(files);
      return words->decode(next);
    }
    for (auto const id : next) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
  };
  if (o.greedy > 0) report.writes = written(model.plans());
  for (auto const& one : runs) {
    auto const done = static_cast<double>(report.costs.size() + 1);
    report.costs.push_back(
        {one.name, one.says,
         measure(model, one.plans, ids, {.own = &model, .own_states = report.own.states},
                 shows(one.name, done))
             .of_text,
         o.greedy > 0 ? written(one.plans) : std::string()});
  }
  if (o.mistakes)
    std::ranges::stable_sort(report.costs, std::ranges::greater{},
                             [](cost const& c) { return c.of.mean().mean; });
  report.shows_heads = runs.empty();
  report.explains_costs = !o.sweep && !o.facts;
  report.is_sweep = o.sweep;

  if (o.outputs.json) {
    auto found = facts_of(report.own, ids);
    found.insert(found.begin(), {{"model", json_text(o.model)},
                                 {"text", json_text(o.ids.empty() ? o.text : o.ids)}});
    if (!o.top.empty()) add_top(found, report.own.top);
    if (o.greedy > 0) add_greedy(found, ids.size(), greedy(model, model.plans(), ids, o.greedy));
    for (auto const& one : report.costs) add_change(found, one.name, one.of);
    write_json(std::cout, found);
  } else {
    print(std::cout, report, style);
  }
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, report); },
      [&] { return to_svg(report); });
}

}  // namespace

extern "C" int run_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc run",
       "Runs a trained model over a text: how well it predicts the text, which heads look by "
       "position, and what a change of its encoding, mask or cache costs.",
       {{{"model.gguf --text book.txt", "how well it predicts, and where its heads look"},
         {"model.gguf --text book.txt --keys q4_0 --values q4_0", "what such a cache costs"}}}},
      declare, run);
}

}  // namespace run
