// What keys in few bits do to scores and weights: as they are, transformed by a Hadamard matrix,
// without their mean, without the bias of their projection.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "errors.hpp"
#include "kinds.hpp"
#include "program/options.hpp"
#include "report.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace keys {
namespace {

struct options {
  kind_settings of;
  std::vector<std::string> kinds, formats;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option(
         "--kind", o.kinds,
         "kinds of keys: none, outlier, evened, shared, slow, turning, wide, qwen (default all)")
      ->check(program::one_of(kind_names()))
      ->option_text("NAME");
  app.add_option("--format", o.formats, "formats of keys: " + charts::joined(format_names()) + " (default all)")
      ->check(program::one_of(format_names()))
      ->option_text("NAME");
  program::add_number(app, "--gain", o.of.gain, "gain of the outlying pair of keys", 1e-3, 1e3,
                      "G");
  program::add_number(app, "--bias", o.of.pair_bias,
                      "norm of the bias in one pair, or in three", 0.0, 1e4);
  program::add_number(app, "--wide-bias", o.of.wide_bias, "norm of the bias over all dims",
                      0.0, 1e4);
  program::add_number(app, "--head-dim", o.of.head_dim, "dims of a head, a multiple of 32", 32, 1024);
  program::add_number(app, "--base", o.of.base, "base of the frequencies", 2.0, 1e12, "B");
  program::add_number(app, "--tokens", o.of.sample.tokens, "number of keys, which lie at random positions", 2,
                      1'000'000);
  program::add_number(app, "--queries", o.of.sample.queries, "queries, whose weights are averaged", 1, 10'000);
  program::add_number(app, "--context", o.of.sample.context, "end of the positions", 2,
                      1 << 30);
  program::declare_seed(app, o.of.sample.seed);
  program::declare_csv(app, o.outputs);
  program::declare_svg(app, o.outputs);
  program::declare_columns(app, o.outputs, 80);
  app.callback([&app, &o] {
    struct scope {
      char const* option;
      std::vector<std::string> kinds;
    };
    for (auto const& [option, kinds] :
         {scope{"--gain", {"outlier", "evened", "shared"}},
          scope{"--bias", {"slow", "turning", "qwen"}}, scope{"--wide-bias", {"wide", "qwen"}}}) {
      auto const shown = [&](auto const& kind) { return std::ranges::count(o.kinds, kind) != 0; };
      program::refuse_unread(app, option, o.kinds.empty() || std::ranges::any_of(kinds, shown),
                             "it is of keys " + charts::joined(kinds) + ", which --kind does not name");
    }
  });
}

std::vector<measured_kind> measure(options const& o) {
  reporting::progress_line progress;
  std::vector<measured_kind> all;
  auto const& formats = o.formats.empty() ? format_names() : o.formats;
  for (auto const& kind : kinds_of_keys(o.of)) {
    if (!o.kinds.empty() && std::ranges::find(o.kinds, kind.name) == o.kinds.end()) continue;
    sampled_head const head(kind.of, o.of.rotation(), o.of.sample);
    measured_kind found{kind.name, kind.title, head.logit()};
    for (auto const& format : formats) {
      auto& row =
          found.rows.emplace_back(measured_kind::row{format, bytes_of(format, o.of.head_dim), {}});
      for (auto const way : ways) row.off.push_back(head.of(format, way));
      progress.show(kind.title,
                    static_cast<double>(found.rows.size()) / static_cast<double>(formats.size()));
    }
    all.push_back(std::move(found));
  }
  return all;
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  posenc::detail::require(o.of.head_dim % 32 == 0, "--head-dim must be a multiple of 32, got ",
                          o.of.head_dim);
  auto const all = measure(o);
  auto const says = charts::compact(static_cast<double>(o.of.sample.tokens)) + " keys of " +
                    std::to_string(o.of.head_dim) + " dims, base " + charts::compact(o.of.base) +
                    ", positions below " +
                    charts::compact(static_cast<double>(o.of.sample.context));
  charts::print_folded(std::cout,
                       "Errors of scores and weights from keys in few bits. " + says +
                           "; W x and queries are normal, of unit variance unless said. A logit is "
                           "<q, k> / sqrt(head_dim).",
                       style.columns);
  std::cout << '\n';
  print(std::cout, all);
  for (auto const* const sentence :
       {"as it is: the rotated key, with its bias.",
        "Hadamard: transformed before coding, and queries with it.",
        "mean out: the rotated key less the mean of all, which softmax does not see.",
        "bias out: W x rotated; attention adds <q, R(p) b>, known from the position.",
        "both: W x rotated, then transformed."})
    charts::print_folded(std::cout, sentence, style.columns);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, all); },
      [&] { return to_svg(all, says); });
}

}  // namespace

extern "C" int keys_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc keys",
       "Shows the errors of scores and weights from keys in few bits. Keys are stored as they are, "
       "after a Hadamard transform, less their mean, or less the bias of their projection.",
       {{{"--kind qwen --format q8_0 --format f16", "keys with a bias as Qwen 2.5 has it"},
         {"--kind outlier --kind shared --svg keys.svg", "two kinds in every format, drawn"}}}},
      declare, run);
}

}  // namespace keys
