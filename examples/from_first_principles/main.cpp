// The way from nothing to RoPE: each step draws and measures why it is taken.
#include "reporting/program.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"
#include "steps.hpp"

namespace {

struct options {
  reporting::outputs outputs;
  std::size_t step = 0;
};

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
  auto half = style;
  half.columns = (style.columns - 2) / 2;
  auto const lines = s.charts.size() == 1
                         ? draw(s.charts[0], style)
                         : charts::beside(draw(s.charts[0], half), draw(s.charts[1], half), 2);
  for (auto const& line : lines) std::cout << line << '\n';
  std::cout << '\n';
}

void run(options const& o) {
  auto const style = reporting::checked(o.outputs);
  auto const steps = all_steps();
  if (o.step > steps.size())
    throw std::runtime_error("--step must be at most " + std::to_string(steps.size()) + ", got " +
                             std::to_string(o.step));
  std::vector<charts::chart> all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (o.step != 0 && o.step != i + 1) continue;
    print(steps[i], i + 1, style);
    for (auto chart : steps[i].charts) {
      chart.title = std::to_string(i + 1) + ". " + chart.title;
      all.push_back(std::move(chart));
    }
  }
  reporting::write_file(o.outputs.svg, [&](std::ostream& file) {
    file << charts::svg(all, {.title = "From nothing to RoPE",
                              .subtitle = "each step, and what is measured of it",
                              .charts_per_row = 3,
                              .chart_width = 400,
                              .chart_height = 260});
  });
}

}  // namespace

int main(int argc, char** argv) {
  return reporting::run_program<options>(
      argc, argv,
      "The way from no positions to RoPE: draws each step, and measures why it is taken.",
      {{"", "all steps"}, {"--step 8 --svg triplets.svg", "one of them, drawn"}},
      [](CLI::App& app, options& o) {
        app.add_option("--step", o.step, "this step alone")->option_text("N");
        reporting::declare_svg(app, o.outputs);
        reporting::declare_columns(app, o.outputs);
      },
      run);
}
