// Max retrieval: a network learns to find the item of the largest priority among 16, and loses it
// among 16384, for softmax disperses. How much of that does adaptive temperature, at test time
// alone, bring back? [Velickovic 2024, "softmax is not enough"]
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "program/options.hpp"
#include "report.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/text.hpp"

namespace retrieval {
namespace {

struct options {
  settings experiment;
  std::optional<std::size_t> sets;
  bool quick = false;
  program::outputs outputs;
  std::string maps, table;
};

void declare(CLI::App& app, options& o) {
  auto& e = o.experiment;
  using program::add_number;
  auto* const steps = add_number(app, "--steps", e.steps, "steps of training", 1, 10'000'000);
  add_number(app, "--batch", e.batch, "sets of a step", 1, 65'536);
  auto* const seeds = add_number(app, "--seeds", e.seeds, "networks to train", 2, 1000);
  add_number(app, "--sets", o.sets,
             "sets of each size to test on" + program::default_of(static_cast<double>(e.sets)), 1,
             1'000'000);
  auto* const largest =
      add_number(app, "--largest", e.largest,
                 "items of the largest sets; the sizes are 16, 32, 64 and so on", 16, 262'144);
  add_number(app, "--threads", e.threads, "networks to train at a time", 1, 256);
  add_number(app, "--seed", e.seed, "first of the seeds", 0, std::int64_t{1'000'000'000'000});
  app.add_flag("--quick", o.quick,
               "take a first look, in seconds: --steps 1000 --seeds 3 --sets 600 --largest 1024")
      ->excludes(steps)
      ->excludes(seeds)
      ->excludes(largest);
  program::declare_csv(app, o.outputs);
  program::declare_svg(app, o.outputs);
  program::declare_columns(app, o.outputs, 78);
  app.add_option("--maps", o.maps, "write a picture of the weights of the largest items to FILE")
      ->option_text("FILE");
  auto* const table =
      app.add_option("--table", o.table,
                     "file that --csv wrote, whose tables are printed; nothing is trained")
          ->option_text("FILE");
  for (auto* const other : app.get_options())
    if (other != table && other != app.get_help_ptr()) table->excludes(other);
}

std::string duration(std::chrono::duration<double> time) {
  auto const seconds = std::llround(time.count());
  return seconds < 60
             ? std::to_string(seconds) + " s"
             : std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

// Every step frees what the next one asks for again: that shall not go back to the system each
// time.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  reporting::check_writable({o.outputs.csv, o.outputs.svg, o.maps});
  auto const& e = o.experiment;
  if (!o.table.empty()) {
    auto const summary = read_csv(o.table);
    print_accuracies(std::cout, summary, style.utf8);
    return print_below_hard(std::cout, summary, style.utf8);
  }

  auto const start = std::chrono::steady_clock::now();
  auto const results = [&] {
    reporting::progress_line progress;
    return retrieval::run(e,
                          [&](std::string const& what, double part) { progress.show(what, part); });
  }();
  auto const summary = summarise(e.sizes(), results);
  auto const took = std::chrono::steady_clock::now() - start;

  charts::print_folded(std::cout, "Max retrieval: " + description(e) + ".", style.columns);
  std::cout << '\n';
  print(std::cout, summary, style);
  std::cout << "It took " << duration(took) << " on " << std::min(e.threads, e.seeds)
            << (std::min(e.threads, e.seeds) == 1 ? " thread.\n" : " threads.\n");
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, e.sizes(), results); },
      [&] { return to_svg(summary, results, description(e)); });
  reporting::write_file(o.maps,
                        [&](std::ostream& file) { file << map_svg(e.sizes(), results.front()); });
}

}  // namespace

extern "C" int retrieval_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc retrieval",
       "Trains networks to find the item of the largest priority in small sets, and tests rules of "
       "softmax on large ones. A run with the defaults takes minutes.",
       {{{"--quick --svg retrieval.svg", "a first look, in seconds, as a picture"},
         {"--quick --seed 4 --csv retrieval.csv", "other networks, for programs"}}}},
      declare, [](options& o) {
        auto& e = o.experiment;
        if (o.quick) e.steps = 1000, e.seeds = 3, e.sets = 600, e.largest = 1024;
        e.sets = o.sets.value_or(e.sets);
        keep_freed_memory();
        run(o);
      });
}

}  // namespace retrieval
