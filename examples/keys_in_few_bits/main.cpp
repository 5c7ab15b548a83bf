// What keys in few bits do to scores and weights: as they are, transformed by a Hadamard matrix,
// without their mean, without the bias of their projection.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "errors.hpp"
#include "kinds.hpp"
#include "report.hpp"
#include "reporting/program.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace {

struct options {
  few_bits::kind_settings of;
  std::vector<std::string> kinds, formats;
  reporting::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option(
         "--kind", o.kinds,
         "of keys, one or several: none, outlier, evened, shared, slow, turning, wide, qwen")
      ->check(CLI::IsMember(few_bits::kind_names()))
      ->option_text("NAME");
  app.add_option("--format", o.formats, "one of them, or several (all)")
      ->check(CLI::IsMember(few_bits::format_names()))
      ->option_text("NAME");
  app.add_option("--gain", o.of.gain, "of the outlying pair of keys (30)")
      ->check(CLI::Range(1e-3, 1e3))
      ->option_text("G");
  app.add_option("--bias", o.of.pair_bias, "norm of the bias in one pair, or in three (300)")
      ->check(CLI::Range(0.0, 1e4))
      ->option_text("N");
  app.add_option("--wide-bias", o.of.wide_bias, "norm of the bias over all dims (22)")
      ->check(CLI::Range(0.0, 1e4))
      ->option_text("N");
  app.add_option("--head-dim", o.of.head_dim, "a multiple of 32 (128)")
      ->check(CLI::Range(32, 1024))
      ->option_text("N");
  app.add_option("--base", o.of.base, "of the frequencies (1000000)")
      ->check(CLI::Range(2.0, 1e12))
      ->option_text("B");
  app.add_option("--tokens", o.of.sample.tokens, "keys, at random positions (4000)")
      ->check(CLI::Range(2, 1'000'000))
      ->option_text("N");
  app.add_option("--queries", o.of.sample.queries, "for the weights (8)")
      ->check(CLI::Range(1, 10'000))
      ->option_text("N");
  app.add_option("--context", o.of.sample.context, "positions are below (32768)")
      ->check(CLI::Range(2, 1 << 30))
      ->option_text("N");
  app.add_option("--seed", o.of.sample.seed, "of the numbers (1)")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N");
  reporting::declare_csv(app, o.outputs);
  reporting::declare_svg(app, o.outputs);
  reporting::declare_columns(app, o.outputs, 80);
  app.callback([&app, &o] {
    struct scope {
      char const* option;
      std::vector<std::string> kinds;
    };
    for (auto const& [option, kinds] :
         {scope{"--gain", {"outlier", "evened", "shared"}},
          scope{"--bias", {"slow", "turning", "qwen"}}, scope{"--wide-bias", {"wide", "qwen"}}}) {
      auto const shown = [&](auto const& kind) { return std::ranges::count(o.kinds, kind) != 0; };
      std::string names;
      for (auto const& kind : kinds) names += (names.empty() ? "" : ", ") + kind;
      reporting::refuse_unread(app, option, o.kinds.empty() || std::ranges::any_of(kinds, shown),
                               "it is of keys " + names + ", which --kind does not name");
    }
  });
}

std::vector<few_bits::measured_kind> measure(options const& o) {
  reporting::progress_line progress;
  std::vector<few_bits::measured_kind> all;
  auto const& formats = o.formats.empty() ? few_bits::format_names() : o.formats;
  for (auto const& kind : few_bits::kinds_of_keys(o.of)) {
    if (!o.kinds.empty() && std::ranges::find(o.kinds, kind.name) == o.kinds.end()) continue;
    few_bits::sampled_head const head(kind.of, o.of.rotation(), o.of.sample);
    few_bits::measured_kind found{kind.name, kind.title, head.logit()};
    for (auto const& format : formats) {
      auto& row = found.rows.emplace_back(
          few_bits::measured_kind::row{format, few_bits::bytes_of(format, o.of.head_dim), {}});
      for (auto const way : few_bits::ways) row.off.push_back(head.of(format, way));
      progress.show(kind.title,
                    static_cast<double>(found.rows.size()) / static_cast<double>(formats.size()));
    }
    all.push_back(std::move(found));
  }
  return all;
}

void run(options const& o) {
  auto const style = reporting::checked(o.outputs);
  posenc::detail::require(o.of.head_dim % 32 == 0, "--head-dim must be a multiple of 32, got ",
                          o.of.head_dim);
  auto const all = measure(o);
  auto const says = charts::compact(static_cast<double>(o.of.sample.tokens)) + " keys of " +
                    std::to_string(o.of.head_dim) + " dims, base " + charts::compact(o.of.base) +
                    ", positions below " +
                    charts::compact(static_cast<double>(o.of.sample.context));
  charts::print_folded(std::cout,
                       "Errors of scores and weights from keys in few bits. " + says +
                           "; W x and queries are normal, of unit variance unless said. First the "
                           "rms error of a logit <q, k> / sqrt(head_dim), then the share of the "
                           "attention weight that moves to other keys.",
                       style.columns);
  std::cout << '\n';
  print(std::cout, all);
  for (auto const* const sentence :
       {"as it is: the rotated key, with its bias.",
        "Hadamard: transformed before coding, and queries with it.",
        "mean out: less the mean of all rotated keys, which softmax does not see.",
        "bias out: W x rotated; attention adds <q, R(p) b>, known from the position.",
        "both: W x rotated, then transformed."})
    charts::print_folded(std::cout, sentence, style.columns);
  std::cout.flush();
  reporting::write_file(o.outputs.csv, [&](std::ostream& file) { write_csv(file, all); });
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) { file << to_svg(all, says); });
}

}  // namespace

int main(int argc, char** argv) {
  return reporting::run_program<options>(
      argc, argv,
      "Shows what keys in few bits do to scores and weights: stored as they are, transformed by a "
      "Hadamard matrix, without their mean, without the bias of their projection.",
      {{"", "every kind of keys in every format"},
       {"--kind qwen --format q8_0 --format f16", "the bias of Qwen 2.5's keys"},
       {"--kind none --kind outlier --kind shared --kind qwen --svg keys_in_few_bits.svg",
        "four kinds, drawn"}},
      declare, run);
}
