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
#include "reporting/program.hpp"
#include "verdict.hpp"

namespace {

using namespace conformance;

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
  std::string folder, dump;
  std::vector<std::string> accepted;
  bool all = false;
};

int check(options const& given) {
  auto const cases = read_cases(given.folder);
  auto const engine = read_dump(given.dump, cases);
  auto const facts = facts_of(cases);
  std::size_t right = 0, accepted = 0, wrong = 0, absent = 0;
  std::map<std::string, std::size_t> counts;
  for (auto const& c : cases) {
    auto const found = engine.cases.find(c.name);
    if (found == engine.cases.end()) {
      ++absent;
      if (given.all) std::printf("-      %s: not in the dump\n", c.name.c_str());
      continue;
    }
    auto const v = judged(c, found->second, engine.stored, facts);
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
  return wrong == 0 ? 0 : 1;
}

int write_self(options const& given, precision stored) {
  auto const cases = read_cases(given.folder);
  dump written{.engine = "posenc", .stored = stored, .cases = {}};
  for (auto const& c : cases) written.cases[c.name] = of_posenc(c, stored);
  write_dump(std::cout, written, cases);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Checks what an engine computes against the conformance set of positional encodings, and "
      "says what it got wrong. Exit code 0: all is right; 1: something is wrong; 2: bad input.",
      "conformance");
  reporting::add_examples(
      app, "conformance",
      {{"tests/conformance/cases --template > dump.json", "to fill in"},
       {"tests/conformance/cases dump.json", "what is wrong in it"},
       {"tests/conformance/cases dump.json --accept angles-in-float", "what else is"},
       {"tests/conformance/cases --self --precision bfloat16 > dump.json", "posenc's own"}});
  options given;
  bool wants_template = false, wants_self = false, wants_list = false, wants_help = false;
  std::string stored = "float64";
  app.add_option("CASES", given.folder, "the folder of the cases, tests/conformance/cases");
  app.add_option("DUMP", given.dump, "what the engine computed; tests/conformance/README.md");
  app.add_option("--accept", given.accepted, "a mistake that is meant, by its name")
      ->allow_extra_args(false);
  app.add_flag("--all", given.all, "print cases that are right, accepted or absent, too");
  app.add_flag("--template", wants_template, "print a dump to fill in");
  auto* const self = app.add_flag("--self", wants_self, "print posenc's own dump");
  app.add_option("--precision", stored, "of --self")
      ->needs(self)
      ->check(CLI::IsMember({"float64", "float32", "float16", "bfloat16"}));
  app.add_flag("--list-mistakes", wants_list, "print the names of all mistakes");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    wants_help = true;
  } catch (CLI::ParseError const& error) {
    auto const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  try {
    reporting::check_standard_output();
    if (wants_help)
      return std::cout << reporting::folded_help(app.help()), reporting::check_written(), 0;
    auto const require = [](bool holds, char const* sentence) {
      if (!holds) throw std::runtime_error(sentence);
    };
    require(wants_list + wants_template + wants_self <= 1,
            "--list-mistakes, --template and --self must not be given together");
    require(!wants_list || given.folder.empty(), "--list-mistakes must be given alone");
    require((given.dump.empty() && given.accepted.empty() && !given.all) ||
                !(wants_list || wants_template || wants_self),
            "DUMP, --accept and --all must be of a check, without --list-mistakes, --template and "
            "--self");
    if (wants_list) return list_mistakes(), reporting::check_written(), 0;
    if (given.folder.empty()) throw std::runtime_error("the folder of the cases must be given");
    for (auto const& name : given.accepted) {
      auto const is = [&](auto const& m) { return name == m.name; };
      if (std::ranges::none_of(rotary_mistakes(), is) && std::ranges::none_of(score_mistakes(), is))
        throw std::runtime_error("--accept: there is no mistake " + name +
                                 "; --list-mistakes has all");
    }
    int code = 0;
    if (wants_template) {
      write_template(std::cout, read_cases(given.folder));
    } else if (wants_self) {
      for (auto const p :
           {precision::float64, precision::float32, precision::float16, precision::bfloat16}) {
        if (stored == name_of(p)) code = write_self(given, p);
      }
    } else {
      if (given.dump.empty())
        throw std::runtime_error("DUMP must be given, or --template or --self");
      code = check(given);
    }
    reporting::check_written();
    return code;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "conformance: %s\n", error.what());
    return 2;
  }
}
