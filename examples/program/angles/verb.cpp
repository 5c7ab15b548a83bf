// How far off the angles of RoPE are at long positions, by the way in which an engine forms them,
// and what that does to a score and to weights.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "engines.hpp"
#include "program/options.hpp"
#include "reporting/chart.hpp"
#include "reporting/csv.hpp"
#include "reporting/progress_line.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace angles {

namespace {

struct options {
  setting of;
  std::int64_t last = 4'000'000;
  std::int64_t around = 64;
  program::outputs outputs;
};

struct measured {
  engine of;
  std::vector<std::int64_t> positions = {};
  std::vector<errors> worst = {};
};

void declare(CLI::App& app, options& o) {
  program::declare_head_dim(app, o.of.head_dim, "rotary dims of a head, an even number");
  program::declare_base(app, o.of.base);
  program::add_number(app, "--last", o.last, "last position", 1000,
                      std::int64_t{1} << 31);
  program::add_number(app, "--around", o.around, "positions of which each point shows the worst",
                      1, 100'000);
  program::declare_outputs(app, o.outputs);
}

// Eight to a factor of ten, and the last.
std::vector<std::int64_t> positions_until(std::int64_t last) {
  std::vector<std::int64_t> result;
  for (int step = 8; std::pow(10, step / 8.0) < static_cast<double>(last); ++step)
    result.push_back(std::llround(std::pow(10, step / 8.0)));
  result.push_back(last);
  return result;
}

std::vector<measured> measure(options const& o) {
  reporting::progress_line progress;
  std::vector<measured> all;
  auto const positions = positions_until(o.last);
  for (auto const& e : engines()) {
    measured m{e, positions};
    for (auto const position : positions) {
      m.worst.push_back(errors_between(e, o.of, position, position + o.around - 1));
      progress.show(std::string(e.name),
                    static_cast<double>(m.worst.size()) / static_cast<double>(positions.size()));
    }
    all.push_back(std::move(m));
  }
  return all;
}

charts::chart chart_of(std::vector<measured> const& all, double errors::*what, char const* title,
                       char const* label) {
  charts::chart chart{title, {"position", true}, {label, true}};
  for (auto const& m : all) {
    charts::series s{.name = std::string(m.of.name)};
    for (std::size_t i = 0; i < m.positions.size(); ++i) {
      s.x.push_back(static_cast<double>(m.positions[i]));
      s.y.push_back(m.worst[i].*what);
    }
    chart.curves.push_back(std::move(s));
  }
  return chart;
}

void run(options const& o) {
  auto const style = program::checked(o.outputs);
  auto const subtitle = "head_dim " + std::to_string(o.of.head_dim) + ", base " +
                        charts::compact(o.of.base) + "; each point is the worst of " +
                        std::to_string(o.around) + " positions";
  auto const all = measure(o);
  auto angle = chart_of(all, &errors::angle, "Error of an angle", "radians, at most, in any pair");
  auto weight = chart_of(all, &errors::weight, "Ratio of two attention weights, at worst",
                         "error as a part of it, for scores up to 10");

  charts::print_folded(std::cout,
                       "RoPE's angles at long positions, against exact ones; " + subtitle + ".",
                       style.columns);
  std::cout << '\n';
  for (auto const& line : draw(angle, style)) std::cout << line << '\n';
  std::cout << "\nposition                     ";
  std::vector<std::int64_t> const landmarks{1000, 10'000, 100'000, 1'000'000};
  for (auto const position : landmarks)
    if (position <= o.last)
      std::cout << charts::cell(charts::compact(static_cast<double>(position)), 10);
  std::cout << '\n';
  for (auto const& m : all) {
    for (auto const& [what, name] :
         {std::pair{&errors::angle, "angle "}, std::pair{&errors::score, "score "},
          std::pair{&errors::weight, "weight"}}) {
      auto const first = what == &errors::angle ? std::string(m.of.name) : std::string();
      std::cout << charts::padded(first, 24) << name << "    ";
      for (auto const position : landmarks) {
        auto const at = std::ranges::find(m.positions, position) - m.positions.begin();
        if (position > o.last) break;
        char number[32];
        std::snprintf(number, sizeof number, "%.1e", m.worst[static_cast<std::size_t>(at)].*what);
        std::cout << charts::cell(number, 10);
      }
      std::cout << '\n';
    }
  }
  std::cout << '\n';
  for (auto const& m : all)
    charts::print_folded(std::cout, std::string(m.of.name) + ": " + std::string(m.of.says) + ".",
                         style.columns);
  angle.marks = weight.marks = {{131'072, "Llama 3.1's context"}};
  auto const write_csv = [&](std::ostream& file) {
    charts::csv csv(file, {"engine", "position", "angle", "score", "weight"});
    for (auto const& m : all)
      for (std::size_t i = 0; i < m.positions.size(); ++i)
        csv.line(m.of.name, m.positions[i], m.worst[i].angle, m.worst[i].score, m.worst[i].weight);
  };
  program::write(o.outputs, write_csv, [&] {
    return charts::svg({angle, weight},
                       {.title = "Float angles drift with position, posenc's do not",
                        .subtitle = "formulas of engines, none is run; " + subtitle});
  });
}

}  // namespace

extern "C" int angles_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc angles",
       "Shows the errors of RoPE's angles at long positions, for four ways in which engines form "
       "angles, and what the errors do to a score.",
       {{{"--base 500k", "the frequencies of Llama 3, to position 4,000,000"},
         {"--base 10k --last 1M --svg angles.svg", "another base and last position, as a picture"}}}},
      declare, run);
}

}  // namespace angles
