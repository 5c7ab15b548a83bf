// How attention falls, or does not fall, with distance: the curves of real models' positional
// encodings.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include "program/models/reading.hpp"
#include "program/options.hpp"
#include "report.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace curves {
namespace {

using charts::grouped;
using charts::joined;

struct options {
  std::vector<std::string> models, configs;
  choice chosen;
  std::optional<std::size_t> head_dim, heads, range;
  std::optional<double> base;
  std::optional<double> rho;
  std::size_t samples = 16;
  std::uint64_t seed = 1;
  program::outputs outputs;
  bool together = false, every_distance = false;
};

// Read once: a file may be a pipe.
posenc::model_description const& model_in(std::string const& file) {
  static std::map<std::string, posenc::model_description> all;
  auto found = all.find(file);
  if (found == all.end()) found = all.emplace(file, program::read_model(file)).first;
  return found->second;
}

// A model in several GGUF files is read by its first.
bool is_further_part(std::string const& name) {
  auto const at = name.rfind("-of-");
  return name.ends_with(".gguf") && at != name.npos && at >= 6 && name[at - 6] == '-' &&
         name.substr(at - 5, 5).find_first_not_of("0123456789") == name.npos &&
         name.substr(at - 5, 5) != "00001";
}

// The settings in a directory: its config.json, or all there are.
std::vector<std::string> settings_in(std::filesystem::path const& path) {
  if (!std::filesystem::is_directory(path)) return {path.string()};
  if (auto const one = path / "config.json"; std::filesystem::exists(one)) return {one.string()};
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(path))
    if ((entry.path().extension() == ".json" || entry.path().extension() == ".gguf") &&
        !is_further_part(entry.path().filename().string()))
      files.push_back(entry.path().string());
  if (files.empty())
    throw std::runtime_error(path.string() + ": has no config.json, .json or .gguf");
  std::ranges::sort(files);
  return files;
}

// Says which name is near the one that is unknown.
CLI::Validator known_model(std::vector<std::string> const& names) {
  return CLI::Validator(
      [names](std::string& given) -> std::string {
        if (std::ranges::count(names, given)) return {};
        return program::there_is_no("model", given, names, "posenc inspect --list has all");
      },
      "", "known_model");
}

// The encodings that each option is about.
struct scope {
  char const* option;
  std::vector<std::string> encodings;
};
std::vector<scope> const scopes{
    {"--p", {"p-rope"}},
    {"--window", {"rerope", "self-extend"}},
    {"--group", {"self-extend"}},
    {"--gate", {"forget-gates"}},
    {"--heads", {"alibi", "sandwich"}},
    {"--heads-apart", {"alibi", "sandwich"}},
    {"--base", {"rope", "p-rope", "sinusoidal", "rerope", "self-extend", "xpos"}}};

bool is_in_table(std::string const& name) {
  return std::ranges::find(models, name, &model::name) != models.end();
}

// Options that nothing would read: of models read from files, and of encodings that are not shown.
void refuse_unread(CLI::App const& app, options const& o) {
  auto files = o.configs;
  std::ranges::copy_if(o.models, std::back_inserter(files), std::not_fn(is_in_table));
  if (!files.empty()) {
    for (auto const* option :
         {"--encodings", "--p", "--window", "--group", "--gate", "--heads", "--base", "--head-dim"})
      program::refuse_unread(app, option, false,
                             "the layers of " + files.front() +
                                 " have their own encoding; for another one, leave that model "
                                 "out, and give --head-dim and --base");
    return;
  }
  for (auto const& one : scopes) {
    auto const shown = std::ranges::any_of(o.chosen.encodings, [&](auto const& name) {
      return std::ranges::count(one.encodings, name) != 0;
    });
    program::refuse_unread(app, one.option, shown,
                           "it is of " + joined(one.encodings) +
                               ", which --encodings does not name");
  }
}

void declare(CLI::App& app, options& o) {
  std::vector<std::string> names;
  for (auto const& m : models) names.emplace_back(m.name);
  auto const in_table = joined(names);
  for (auto const& name : program::shipped_models()) names.push_back(name);
  std::vector<std::string> const encodings(std::begin(all_encodings), std::end(all_encodings));
  app.add_option(
         "--model", o.models,
         "models whose settings encodings take: " + in_table +
             "; or any other of posenc inspect --list, whose layers are shown (default llama-2-7b, "
             "gemma-4-31b)")
      ->check(known_model(names))
      ->delimiter(',')
      ->option_text("NAME ...");
  app.add_option("--config", o.configs,
                 "files whose layers are shown: a config.json, a GGUF file, or a directory of them")
      ->option_text("FILE|DIR ...");
  app.add_option("--encodings", o.chosen.encodings,
                 "encodings to show, of " + joined(encodings) +
                     " (default the first five). Learned weights are made up: T5's fall by 1/4 "
                     "from bucket to bucket, CoPE's by 8/63 from position to position")
      ->check(program::one_of(encodings))
      ->delimiter(',')
      ->option_text("NAME ...");
  app.add_option("--p", o.chosen.fractions,
                 "fractions of the frequencies that p-RoPE keeps (default 0.75, and the model's)")
      ->check(CLI::Range(0.0, 1.0))
      ->delimiter(',')
      ->option_text("P ...");
  program::add_number(app, "--window", o.chosen.window,
                      "distances that ReRoPE and Self-Extend leave as they are", 1, 1 << 22);
  program::add_number(app, "--group", o.chosen.group,
                      "tokens that share a position beyond the window of Self-Extend", 1,
                      1 << 22);
  app.add_option("--gate", o.chosen.gates,
                 "constant gates of forget-gates, between 0 and 1: each token multiplies a key's "
                 "weight by G, and ln 2 / -ln G tokens halve it (default 0.999)")
      ->check(CLI::Range(1e-6, 0.9999999))
      ->delimiter(',')
      ->option_text("G ...");
  program::add_number(app, "--head-dim", o.head_dim, "dims of a head, an even number (default the model's)", 2, 4096);
  program::add_number(app, "--base", o.base, "base of the frequencies (default the model's)", "B");
  program::add_number(app, "--heads", o.heads, "heads of ALiBi and Sandwich (default the model's)", 1,
                      1024);
  program::add_number(app, "--range", o.range, "distances to show (default the model's context)",
                      2, 1 << 22);
  auto* const rho = program::add_number(app, "--rho", o.rho,
                                        "correlation of Gaussian queries and keys, -1 to 1 (default "
                                        "queries and keys (1, ..., 1))",
                                        -1.0, 1.0, "RHO");
  program::add_number(app, "--samples", o.samples, "Gaussian queries to average over", 1,
                      100000)
      ->needs(rho);
  program::declare_seed(app, o.seed)->needs(rho);
  app.add_flag("--heads-apart", o.chosen.heads_apart,
               "draw a curve for each of up to eight heads, where heads differ");
  program::declare_csv(app, o.outputs,
                       ", or to the standard output with -: distances below 64, then 48 to each "
                       "factor of ten");
  app.add_flag("--every-distance", o.every_distance, "write all distances to --csv")->needs("--csv");
  program::declare_svg(app, o.outputs);
  app.add_flag("--together", o.together, "draw all models in the same charts")->needs("--svg");
  program::declare_columns(app, o.outputs);
  app.callback([&app, &o] { refuse_unread(app, o); });
}

void drop_repeats(auto& list) {
  for (auto at = list.begin(); at != list.end();)
    at = std::find(list.begin(), at, *at) != at ? list.erase(at) : at + 1;
}

// Of no model: the settings are those of the options.
constexpr model nameless{"", "", "", 128, 32, 128, 1e4, 1, 0, 4096};

measured_model measure(options const& o, std::string const& name) {
  auto m = name.empty() ? nameless : *std::ranges::find(models, name, &model::name);
  if (o.head_dim) m.head_dim = m.rotary_dim = *o.head_dim;
  m.base = o.base.value_or(m.base);
  m.heads = o.heads.value_or(m.heads);
  if (o.head_dim || o.base || o.heads) m.own = "";
  posenc::profile_settings settings{
      .head_dim = m.head_dim, .heads = m.heads, .range = o.range.value_or(m.context)};
  if (o.rho) settings.inputs = posenc::gaussian{*o.rho, o.samples, o.seed};
  reporting::progress_line progress;
  auto const progressed = [&](double part) { progress.show(name, part); };
  auto const head = "head_dim " + std::to_string(m.head_dim),
             base = "base " + charts::compact(m.base),
             rest = std::to_string(m.heads) + " heads, " + grouped(settings.range) + " tokens";
  if (name.empty())
    return {head + ", " + base, rest, compute(m, o.chosen, settings, progressed), {}};
  auto says = (m.own.empty() ? "with settings that are given" : std::string(m.says)) + "; " + head +
              ", " + base + ", " + rest;
  bool const is_window = m.says.find("window") != m.says.npos;
  return {name, std::move(says), compute(m, o.chosen, settings, progressed),
          charts::mark{static_cast<double>(m.context - 1),
                       (is_window ? "window: " : "trained: ") + grouped(m.context)}};
}

// What a model is called: its file, or the folder of its config.json; by more folders where models
// of the same name are there already.
std::string name_of(std::filesystem::path path, std::vector<measured_model> const& there) {
  if (path.filename() == "config.json" && path.has_parent_path())
    path = path.parent_path();
  else
    path.replace_extension();
  auto name = path.filename().string();
  while (std::ranges::count(there, name, &measured_model::name) && path.has_relative_path()) {
    path = path.parent_path();
    name = path.filename().string() + "/" + name;
  }
  return name;
}

measured_model measure_layers(options const& o, std::string const& name, std::string const& file) {
  auto const& m = model_in(file);
  posenc::profile_settings settings{.head_dim = m.kinds.front().head_dim,
                                    .range = o.range.value_or(m.context.value_or(4096))};
  if (o.rho) settings.inputs = posenc::gaussian{*o.rho, o.samples, o.seed};
  reporting::progress_line progress;
  measured_model result{name,
                        m.type + ", " + std::to_string(m.layers) + " layers; head_dim " +
                            std::to_string(settings.head_dim) + ", " + grouped(settings.range) +
                            " tokens",
                        compute_layers(m, o.chosen.heads_apart, settings,
                                       [&](double part) { progress.show(name, part); }),
                        {}};
  if (m.context)
    result.known = {static_cast<double>(*m.context - 1), "made for: " + grouped(*m.context)};
  return result;
}

// Of models that are read, only ALiBi differs by head.
void refuse_heads_apart(options const& o) {
  std::vector<std::string> files;
  for (auto const& name : o.models)
    if (!name.empty() && !is_in_table(name)) files.push_back(name);
  for (auto const& path : o.configs)
    for (auto const& file : settings_in(path)) files.push_back(file);
  if (!o.chosen.heads_apart || files.empty()) return;
  for (auto const& file : files)
    for (auto const& kind : model_in(file).kinds)
      if (kind.alibi) return;
  throw std::runtime_error("--heads-apart is not read: no layer of " + files.front() +
                           (files.size() == 1 ? "" : " and the others") + " has heads that differ");
}

void run(options o) {
  if (o.models.empty() && o.configs.empty()) {
    if (o.head_dim || o.base || o.heads)
      o.models = {""};
    else
      o.models = {"llama-2-7b", "gemma-4-31b"};
  }
  refuse_heads_apart(o);
  auto const to_standard_output = o.outputs.csv == "-";
  auto checked_files = o.outputs;
  if (to_standard_output) checked_files.csv.clear();
  auto const style = program::checked(checked_files);
  auto const inputs =
      o.rho ? "queries and keys: Gaussian, correlation " + charts::compact(*o.rho) + ", " +
                  std::to_string(o.samples) + " queries, seed " + std::to_string(o.seed) +
                  "; curves show the mean, bands the extremes"
            : std::string("queries and keys: all ones, so that the curves show the encoding alone");
  std::vector<measured_model> measured;
  auto const add = [&](measured_model m) {
    measured.push_back(std::move(m));
    if (to_standard_output) return;
    if (measured.size() == 1)
      charts::print_folded(std::cout, "Attention against distance; " + inputs + ".", style.columns);
    print(std::cout, measured.back(), style, o.rho.has_value());
  };
  for (auto const& name : o.models) {
    if (name.empty() || is_in_table(name))
      add(measure(o, name));
    else
      add(measure_layers(o, name, name));
  }
  for (auto const& path : o.configs)
    for (auto const& file : settings_in(path))
      add(measure_layers(o, name_of(file, measured), file));
  auto const put = [&](std::ostream& file) { write_csv(file, measured, o.every_distance); };
  if (to_standard_output)
    put(std::cout);
  else if (!o.outputs.csv.empty() && !o.every_distance)
    std::cout << '\n' << o.outputs.csv << " has some distances; --every-distance writes all.\n";
  std::cout.flush();
  reporting::write_file(checked_files.csv, put);
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) {
    file << to_svg(measured, inputs, o.rho.has_value(), o.together);
  });
}

}  // namespace

extern "C" int curves_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc curves",
       "Shows the logit and the weight of attention against distance, under the encodings of real "
       "models, of your model or of your choice.",
       {{{"--model qwen3-8b --svg layers.svg", "the layers of a model, as a picture"},
         {"--encodings rope,p-rope --base 500k --together --svg curves.svg",
          "encodings of your choice, in one picture"}}}},
      declare, [](options& o) {
        drop_repeats(o.models), drop_repeats(o.chosen.encodings), drop_repeats(o.chosen.fractions);
        drop_repeats(o.chosen.gates);
        run(o);
      });
}

}  // namespace curves
