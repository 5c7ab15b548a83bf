// How a model encodes positions, read from its config.json or GGUF file.
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data.hpp"
#include "posenc/frequency/geometric.hpp"
#include "program/models/reading.hpp"
#include "program/models/words.hpp"
#include "program/options.hpp"
#include "report.hpp"

namespace inspect {
namespace {

struct options {
  std::vector<std::string> files;
  std::optional<std::size_t> length;
  std::optional<double> base;
  std::size_t head_dim = 128;
  bool as_llama = false, list = false;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  auto* const files =
      app.add_option("FILE", o.files,
                     "a config.json of Hugging Face, a GGUF file, or the name of a model of --list")
          ->option_text("...");
  auto* const list = app.add_flag("--list", o.list, "print the names of the models that posenc holds")
                         ->excludes(files);
  auto* const base =
      program::add_number(app, "--base", o.base, "base of one head, which stands for a FILE", "B")
          ->excludes(files)
          ->excludes(list);
  program::declare_head_dim(app, o.head_dim, "dims of the head of --base, an even number")
      ->needs(base);
  program::add_number(app, "--length", o.length,
                      "tokens of the sequence (default the model's context, else 4096)",
                      std::int64_t{1}, std::int64_t{1} << 32);
  program::declare_as_llama(app, o.as_llama);
  program::declare_json(app, o.outputs, ": one model");
  program::declare_csv(app, o.outputs,
                       ", or to the standard output with -: one model, a line for each pair");
  app.callback([&o] {
    auto const require = [](bool holds, char const* sentence) {
      if (!holds) throw std::runtime_error(sentence);
    };
    require(!o.files.empty() || o.base || o.list, "FILE or --base must be given, or --list");
    require(!o.outputs.json || o.files.size() <= 1, "--json must be of one model");
    require(o.outputs.csv.empty() || o.files.size() <= 1, "--csv must be of one model");
    require(!(o.outputs.json && !o.outputs.csv.empty()),
            "--json and --csv must not be given together");
  });
}

posenc::model_description head_of(double base, std::size_t head_dim) {
  posenc::model_description model;
  model.type = "RoPE", model.layers = 1;
  model.kinds.push_back({.name = "head",
                         .layers = {0},
                         .head_dim = head_dim,
                         .rotary = {{.rule = "default",
                                     .frequencies = posenc::geometric(head_dim, base),
                                     .layout = posenc::halves{}}}});
  model.kinds[0].query_norm.of = model.kinds[0].key_norm.of = model.kinds[0].value_norm.of =
      posenc::norm_scope::none;
  return model;
}

void show(options const& o, std::string const& name, posenc::model_description const& model) {
  auto const length = o.length.value_or(model.context.value_or(4096));
  if (o.outputs.json) return print_json(std::cout, name, model, length);
  auto const put = [&](std::ostream& file) { print_csv(file, model, length); };
  if (o.outputs.csv == "-") return put(std::cout);
  print(std::cout, name, model, length);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, put);
}

// 1 if a file of several could not be read; the others are printed.
int run(options const& o) {
  if (o.outputs.csv != "-") reporting::check_writable({o.outputs.csv});
  if (o.list) {
    for (auto const& name : program::shipped_models()) std::cout << name << '\n';
    return 0;
  }
  if (o.base) {
    show(o, "base " + program::rounded(*o.base) + ", head_dim " + std::to_string(o.head_dim),
         head_of(*o.base, o.head_dim));
    return 0;
  }
  int status = 0;
  for (auto const& file : o.files) {
    try {
      if (&file != &o.files.front()) std::cout << '\n';
      show(o, std::filesystem::path(file).filename().string(),
           program::read_model(file, o.as_llama));
    } catch (std::exception const& error) {
      std::cerr << "posenc inspect: " << program::message_of(error) << '\n';
      status = 1;
    }
  }
  return status;
}

}  // namespace

extern "C" int inspect_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc inspect",
       "Shows how a model encodes positions, layer by layer: its rotation of queries and keys, its "
       "biases, and how far a head sees.",
       {{{"llama-3.1-8b", "a model that posenc holds; config.json and GGUF files are read too"},
         {"--base 500k --head-dim 128 --length 8k", "a head of a base: how far does it see?"}}}},
      declare, run);
}

}  // namespace inspect
