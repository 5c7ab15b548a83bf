// A cache of keys and values as a server has it, in each format that engines store: what a token
// takes, what a step takes, and how far outputs are from those of double.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "program/options.hpp"
#include "reporting/csv.hpp"
#include "reporting/svg_drawing.hpp"
#include "reporting/text.hpp"
#include "serving.hpp"

namespace {

struct options {
  std::vector<std::string> formats;
  unsigned seed = 1;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("--format", o.formats, "one of them, or several (all)")
      ->check(program::one_of(format_names()))
      ->option_text("NAME");
  program::add_number(app, "--seed", o.seed, "of the numbers (1)");
  program::declare_outputs(app, o.outputs);
}

std::string rounded(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}
// Two digits that count, at least.
std::string percent(double part) {
  auto const number = 100 * part;
  return rounded(number, number < 0.01 ? 5 : number < 0.1 ? 3 : number < 1 ? 2 : 1) + " %";
}

void print(std::ostream& out, std::vector<outcome> const& all) {
  out << charts::cell("format", 16) << charts::cell("as in", 14) << charts::cell("bytes", 8)
      << charts::cell("ns", 9) << charts::cell("error", 11) << charts::cell("moved", 11) << '\n';
  for (auto const& o : all)
    out << charts::cell(o.format, 16) << charts::cell(o.engine, 14)
        << charts::cell(rounded(o.bytes, 0), 8) << charts::cell(rounded(o.nanoseconds, 0), 9)
        << charts::cell(percent(o.error), 11) << charts::cell(percent(o.moved), 11) << '\n';
}

void write_csv(std::ostream& out, std::vector<outcome> const& all) {
  charts::csv csv(out, {"format", "bytes_per_token", "ns_per_token", "error", "error_after_shift"});
  for (auto const& o : all) csv.line(o.format, o.bytes, o.nanoseconds, o.error, o.moved);
}

// A bar for each format: the error of its outputs, by length; powers of ten are as far apart.
std::string to_svg(std::vector<outcome> const& all) {
  charts::svg_drawing out;
  constexpr double left = 240, width = 380, top = 84, height = 34, least = 1e-7, most = 0.2;
  auto const length = [&](double error) {
    return width * std::log(std::max(error, least) / least) / std::log(most / least);
  };
  out.text({20, 32}, 17, 700, "title", "Cost of an 8-bit cache");
  out.text({20, 54}, 13, 700, "label",
           "error of attention's outputs (rms, a tenfold error is a fixed length more)");
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& o = all[i];
    auto const y = top + static_cast<double>(i) * height;
    out.text({left - 12, y + 16}, 14, left - 20, "end",
             o.format + ", " + rounded(o.bytes, 0) + " bytes");
    out.rectangle({left, y, length(o.error), 22}, o.bytes > 700 ? "f5" : "f0");
    out.text({left + length(o.error) + 8, y + 16}, 14, 100, "", percent(o.error));
  }
  return out.page(740, top + static_cast<double>(all.size()) * height + 12);
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  std::vector<outcome> all;
  for (auto const& name : o.formats.empty() ? format_names() : o.formats)
    all.push_back(serve(name, o.seed));
  charts::print_folded(
      std::cout,
      "Two sequences in pages of 16 tokens, which share a prefix of two pages: prefill, 32 steps "
      "of "
      "decoding; then the oldest page of one leaves, its later keys move up by 16 positions in the "
      "cache, and 16 more steps. 8 query heads, 2 of keys and values, of 128 dims; DeepSeek V4: "
      "one "
      "of 512, keys that are values too, of which 64 rotate. Heads have a norm, or keys a bias. "
      "Bytes and ns are per token: keys and "
      "values, and norm, rotation and write in one call.",
      style.columns);
  std::cout << '\n';
  print(std::cout, all);
  std::cout << '\n';
  auto const find = [&](std::string const& name) {
    return std::ranges::find(all, name, &outcome::format);
  };
  if (auto const best = find("q8_0"), full = find("f32"); best != all.end() && full != all.end())
    charts::print_folded(std::cout,
                         "q8_0 takes " + rounded(100 * best->bytes / full->bytes, 0) +
                             " % of the bytes of float, and its outputs are off by " +
                             percent(best->error) + ".",
                         style.columns);
  if (auto const right = find("e4m3"), truncated = find("e4m3-truncated");
      right != all.end() && truncated != all.end())
    charts::print_folded(std::cout,
                         "E4M3 that is truncated, not rounded, is off by " +
                             rounded(truncated->error / right->error, 1) + " times as much.",
                         style.columns);
  if (auto const in = find("q8_0-biased"), left_out = find("q8_0-bias-out");
      in != all.end() && left_out != all.end())
    charts::print_folded(std::cout,
                         "Keys of a projection with a bias of 300 in one pair: left out of the "
                         "cache, outputs are off by " +
                             percent(left_out->error) + " in place of " + percent(in->error) +
                             ", at the same bytes.",
                         style.columns);
  program::write(
      o.outputs, [&](std::ostream& file) { write_csv(file, all); }, [&] { return to_svg(all); });
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"serving_cache",
       "Serves two sequences from a paged cache, in each format that engines store keys and values "
       "in, and says what it costs.",
       {{{"--svg formats.svg", "every format, drawn"},
         {"--format q8_0 --format bf16", "two of them"}}}},
      declare, run);
}
