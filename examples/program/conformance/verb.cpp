// Checks what an engine computes against the conformance set, and says what it got wrong.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.hpp"
#include "mistakes.hpp"
#include "posenc_engine.hpp"
#include "program/options.hpp"
#include "reporting/csv.hpp"
#include "verdict.hpp"

namespace conformance {
namespace {

// What a verdict says first.
std::string sentence(verdict const& v) {
  if (!v.mistakes.empty()) return v.says;
  if (v.wrong == 1 && v.given > 1) return "1 of " + std::to_string(v.given) + " numbers is wrong";
  return "unlike every mistake that is known";
}

std::string shown(double x, int digits = 6) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", x == std::round(x) ? 17 : digits, x);
  return text;
}

// Of errors over what is allowed, which is next to nothing where 0 is right.
std::string times(double x) { return x < 1e15 ? shown(x, 3) + " times" : "far more than"; }

// Where a number is: cos[2][5], at position 7.
std::string place(test_case const& c, std::string const& field, std::size_t index) {
  if (field == "attention_factor") return field;
  auto const columns = c.columns.find(field);
  if (columns == c.columns.end()) return field + '[' + std::to_string(index) + ']';
  auto const row = index / columns->second;
  auto text =
      field + '[' + std::to_string(row) + "][" + std::to_string(index % columns->second) + ']';
  if (!c.is_rotary) return text;
  text += ", position ";
  for (std::size_t axis = 0; axis < c.axes(); ++axis)
    text += (axis == 0 ? "" : "/") + shown(c.positions[row][axis]);
  return text;
}

// Up to which position, in the order of the case, answers are right.
std::string reach(test_case const& c, answers const& given, precision stored) {
  auto const part = [&](answers const& all, std::size_t token) {
    auto result = all;
    for (auto& [field, values] : result) {
      auto const columns = c.columns.find(field);
      if (columns == c.columns.end()) continue;
      auto const begin =
          all.at(field).begin() + static_cast<std::ptrdiff_t>(token * columns->second);
      values = numbers(begin, begin + static_cast<std::ptrdiff_t>(columns->second));
    }
    return result;
  };
  auto const has_rows = [](answers const& all, test_case const& of) {
    return std::ranges::any_of(all, [&](auto const& field) {
      return of.columns.contains(field.first) &&
             std::ranges::count(field.second, not_given) !=
                 static_cast<std::ptrdiff_t>(field.second.size());
    });
  };
  std::optional<double> right;
  for (std::size_t t = 0; t < c.positions.size(); ++t) {
    auto one = c;
    one.positions = {c.positions[t]}, one.input = {c.input[t]};
    one.expected = part(c.expected, t);
    if (!has_rows(part(given, t), c)) continue;
    if (!is_right(one, part(given, t), stored)) break;
    right = c.positions[t].front();
  }
  return right ? "; right up to position " + shown(*right) : "";
}

// Whether its only mistake grows with the position.
bool grows(verdict const& v) {
  return v.mistakes.size() == 1 &&
         (v.mistakes[0].starts_with("angles-in") || v.mistakes[0].starts_with("frequencies-in") ||
          v.mistakes[0].starts_with("positions-in"));
}

void list_mistakes() {
  for (auto const& m : rotary_mistakes()) {
    bool const is_first = &m == &*std::ranges::find_if(rotary_mistakes(), [&](auto const& other) {
      return std::string(other.name) == m.name;
    });
    if (is_first) std::printf("%-26s %s\n", m.name, m.says);
  }
  for (auto const& m : score_mistakes()) std::printf("%-26s %s\n", m.name, m.says);
}

struct options {
  std::string folder, dump, stored = "float64";
  std::vector<std::string> accepted;
  bool all = false, wants_template = false, wants_self = false, wants_list = false;
  program::outputs outputs;
};

void declare(CLI::App& app, options& o) {
  app.add_option("CASES", o.folder, "folder of the cases, tests/conformance/cases");
  app.add_option("DUMP", o.dump, "file of what the engine computed; tests/conformance/README.md has its form");
  app.add_option("--accept", o.accepted, "name of a mistake that is meant")
      ->allow_extra_args(false)
      ->option_text("NAME");
  app.add_flag("--all", o.all, "print also the cases that are right, accepted or absent");
  app.add_flag("--template", o.wants_template, "print a dump to fill in");
  auto* const self = app.add_flag("--self", o.wants_self, "print posenc's own dump");
  app.add_option("--precision", o.stored, "precision of --self: float64, float32, float16 or bfloat16 (default float64)")
      ->needs(self)
      ->check(program::one_of({"float64", "float32", "float16", "bfloat16"}))
      ->option_text("NAME");
  app.add_flag("--list-mistakes", o.wants_list, "print the names of all mistakes");
  program::declare_csv(app, o.outputs);
}

int check(options const& given) {
  auto const cases = read_cases(given.folder);
  auto const engine = read_dump(given.dump, cases);
  auto const facts = facts_of(cases);
  std::size_t right = 0, accepted = 0, wrong = 0, absent = 0;
  std::map<std::string, std::size_t> counts;
  struct line {
    std::string name, verdict, mistakes;
    double times_allowed;
  };
  std::vector<line> lines;
  for (auto const& c : cases) {
    auto const found = engine.cases.find(c.name);
    if (found == engine.cases.end()) {
      ++absent;
      lines.push_back({c.name, "absent", "", 0});
      if (given.all) std::printf("-      %s: not in the dump\n", c.name.c_str());
      continue;
    }
    auto const v = judged(c, found->second, engine.stored, facts);
    std::string mistakes;
    for (auto const& m : v.mistakes) mistakes += (mistakes.empty() ? "" : " ") + m;
    lines.push_back({c.name, v.is_right ? "right" : "wrong", mistakes, v.times_allowed});
    if (v.is_right) {
      ++right;
      if (given.all)
        std::printf("right  %s: errors up to %s of what is allowed\n", c.name.c_str(),
                    shown(v.times_allowed).c_str());
      continue;
    }
    auto const is_accepted =
        !v.mistakes.empty() && std::ranges::all_of(v.mistakes, [&](auto const& m) {
          return std::ranges::count(given.accepted, m) != 0;
        });
    ++(is_accepted ? accepted : wrong);
    if (is_accepted) lines.back().verdict = "accepted";
    if (is_accepted && !given.all) continue;
    for (auto const& m : v.mistakes) ++counts[m];
    std::printf("%s %s: %s%s\n", is_accepted ? "taken " : "WRONG ", c.name.c_str(),
                sentence(v).c_str(),
                grows(v) ? reach(c, found->second, engine.stored).c_str() : "");
    std::printf("         %s is %s, must be %s: %s what is allowed",
                place(c, v.field, v.index).c_str(), shown(v.got).c_str(), shown(v.expected).c_str(),
                times(v.times_allowed).c_str());
    if (!v.mistakes.empty() || !v.closest.empty())
      std::printf(", %s with the %smistake", times(v.with_mistake).c_str(),
                  v.mistakes.empty() ? "closest " : "");
    if (!v.closest.empty()) std::printf(" (%s)", v.closest.c_str());
    std::printf("\n");
  }
  std::printf("%s, %s: %zu right, %zu wrong",
              engine.engine.empty() ? "engine" : engine.engine.c_str(), name_of(engine.stored),
              right, wrong);
  if (!given.accepted.empty()) std::printf(", %zu accepted", accepted);
  std::printf(", %zu not in the dump\n", absent);
  for (auto const& [name, count] : counts) std::printf("  %zu times %s\n", count, name.c_str());
  std::fflush(stdout);
  reporting::write_file(given.outputs.csv, [&](std::ostream& file) {
    charts::csv csv(file, {"case", "verdict", "mistakes", "times_allowed"});
    for (auto const& l : lines) csv.line(l.name, l.verdict, l.mistakes, l.times_allowed);
  });
  return wrong == 0 ? 0 : 1;
}

int write_self(options const& given, precision stored) {
  auto const cases = read_cases(given.folder);
  dump written{.engine = "posenc", .stored = stored, .cases = {}};
  for (auto const& c : cases) written.cases[c.name] = of_posenc(c, stored);
  write_dump(std::cout, written, cases);
  return 0;
}

int run(options const& o) {
  auto const require = [](bool holds, char const* sentence) {
    if (!holds) throw std::runtime_error(sentence);
  };
  require(o.wants_list + o.wants_template + o.wants_self <= 1,
          "--list-mistakes, --template and --self must not be given together");
  require(!o.wants_list || o.folder.empty(), "--list-mistakes must be given alone");
  require((o.dump.empty() && o.accepted.empty() && !o.all && o.outputs.csv.empty()) ||
              !(o.wants_list || o.wants_template || o.wants_self),
          "DUMP, --accept, --all and --csv need a check: --list-mistakes, --template and --self make "
          "none");
  if (o.wants_list) return list_mistakes(), 0;
  require(!o.folder.empty(), "the folder of the cases must be given");
  for (auto const& name : o.accepted) {
    auto const is = [&](auto const& m) { return name == m.name; };
    if (std::ranges::none_of(rotary_mistakes(), is) && std::ranges::none_of(score_mistakes(), is))
      throw std::runtime_error("--accept: there is no mistake " + name +
                               "; --list-mistakes has all");
  }
  if (o.wants_template) return write_template(std::cout, read_cases(o.folder)), 0;
  if (o.wants_self) {
    for (auto const p :
         {precision::float64, precision::float32, precision::float16, precision::bfloat16})
      if (o.stored == name_of(p)) return write_self(o, p);
  }
  require(!o.dump.empty(), "DUMP must be given, or --template or --self");
  reporting::check_writable({o.outputs.csv});
  return check(o);
}

}  // namespace

extern "C" int conformance_verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc conformance",
       "Checks the numbers of an engine against the conformance set of positional encodings, and "
       "names the engine's mistakes. Exit status 0: all is right. 1: something is wrong. 2: bad "
       "input.",
       {{{"tests/conformance/cases --template > dump.json", "a dump to fill in"},
         {"tests/conformance/cases dump.json --accept angles-in-float",
          "the mistakes in it, but for one that is meant"}}},
       2},
      declare, run);
}

}  // namespace conformance
