// The way from nothing to RoPE: each step draws and measures why it is taken.
#include <array>
#include <filesystem>

#include "program/options.hpp"
#include "reporting/csv.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"
#include "steps.hpp"

namespace principles {
namespace {

struct options {
  program::outputs outputs;
  std::string strips;
  std::size_t step = 0;
};

// Neighbouring steps with one idea, drawn in one row.
struct strip {
  char const *file, *title;
  std::size_t first, last;
};
constexpr std::array strips{
    strip{"numbers.svg", "Attention sees a bag of words; integers drown them", 1, 2},
    strip{"codes.svg", "The distance of codes is not that of tokens", 3, 3},
    strip{"waves.svg", "Waves keep distances, and a shift rotates them", 4, 5},
    strip{"rotation.svg", "Rotate words, rather than add to them", 6, 7},
    strip{"frequencies.svg", "One frequency comes back, many do not", 8, 8},
    strip{"pairs.svg", "Pairs of dims, not triplets; not all need rotate", 9, 10},
    strip{"shares.svg", "Rows and columns share the pairs", 11, 11},
    strip{"distance.svg", "Scores rise again at long distances", 12, 12}};

std::vector<step> all_steps() {
  auto steps = positions_to_add();
  for (auto const& more : {positions_to_rotate_by(), left_open()})
    steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

void print(step const& s, std::size_t number, charts::terminal_style style) {
  auto const title = std::to_string(number) + ". " + s.title;
  std::cout << title << '\n' << std::string(title.size(), '=') << "\n\n";
  for (auto const& sentence : s.says) charts::print_folded(std::cout, sentence, style.columns);
  std::cout << '\n';
  style.rows = 8;
  if (s.charts.size() > 1)
    return charts::print_beside(std::cout, s.charts[0], s.charts[1], style, style.rows);
  for (auto const& line : draw(s.charts[0], style)) std::cout << line << '\n';
  std::cout << '\n';
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  auto const steps = all_steps();
  if (o.step > steps.size())
    throw std::runtime_error("--step must be at most " + std::to_string(steps.size()) + ", got " +
                             std::to_string(o.step));
  auto const name = [&](strip const& s) {
    return (std::filesystem::path(o.strips) / s.file).string();
  };
  if (!o.strips.empty())
    for (auto const& s : strips) reporting::check_writable({name(s)});
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (o.step == 0 || o.step == i + 1) print(steps[i], i + 1, style);

  auto const charts_of = [&](std::size_t first, std::size_t last) {
    std::vector<charts::chart> all;
    for (auto i = first; i <= last; ++i)
      for (auto chart : steps[i - 1].charts) {
        chart.title = std::to_string(i) + ". " + chart.title;
        all.push_back(std::move(chart));
      }
    return all;
  };
  auto const drawn = [](std::vector<charts::chart> const& row, std::string const& title) {
    return charts::svg(row, {.title = title, .chart_width = 340, .chart_height = 250});
  };
  auto const shown = charts_of(o.step == 0 ? 1 : o.step, o.step == 0 ? steps.size() : o.step);
  auto const write_csv = [&](std::ostream& file) {
    charts::csv csv(file, {"chart", "curve", "x", "y"});
    for (auto const& chart : shown)
      for (auto const& curve : chart.curves)
        for (std::size_t i = 0; i < curve.x.size(); ++i)
          csv.line(chart.title, curve.name, curve.x[i], curve.y[i]);
  };
  program::write(o.outputs, write_csv, [&] { return drawn(shown, "From nothing to RoPE"); });
  if (!o.strips.empty())
    for (auto const& s : strips)
      reporting::write_file(
          name(s), [&](std::ostream& out) { out << drawn(charts_of(s.first, s.last), s.title); });
}

}  // namespace

extern "C" int principles_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc principles",
       "Shows the way from no positions to RoPE: each step with a picture, and with the numbers that "
       "lead to it.",
       {{{"--svg steps.svg", "all steps, as one picture"},
         {"--step 9 --svg triplets.svg", "one step"}}}},
      [](CLI::App& app, options& o) {
        program::add_number(app, "--step", o.step, "step to show (default all)");
        app.add_option("--strips", o.strips, "folder for pictures of all steps, one for each idea")
            ->option_text("FOLDER");
        program::declare_outputs(app, o.outputs);
      },
      run);
}

}  // namespace principles
