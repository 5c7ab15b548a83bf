#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>
#include <string_view>
#include <tuple>

#include "program/models/words.hpp"
#include "reporting/text.hpp"

namespace verdict {
namespace {

using program::grouped;
using program::print_wrapped;
using program::rounded;
using program::screen;
using program::shown_layers;

void print_line(std::ostream& os, std::string const& text) {
  os << text.substr(0, text.find_last_not_of(' ') + 1) << '\n';
}

std::string two_digits(double number) {
  if (number >= 100) return rounded(number);
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", number);
  return text;
}

/// A part, in percent, of at most 8 letters.
std::string percent(double part) {
  char text[32];
  auto const x = 100 * part;
  std::snprintf(text, sizeof text, x > 99 ? "%.3g %%" : x < 1e-3 ? "%.1g %%" : "%.2g %%", x);
  return text;
}

// A letter for each kind of layers, if there are several.
std::string letter_of(std::vector<verdicts::layer_row> const& rows, std::string const& kind) {
  if (rows.size() < 2) return "";
  auto const at = std::ranges::find(rows, kind, &verdicts::layer_row::kind) - rows.begin();
  return at < 26 ? std::string(1, static_cast<char>('a' + at)) : kind;
}

// Two lines for each kind of layers, the second of columns that are as wide as they must be.
void print_rows(std::ostream& os, std::vector<verdicts::layer_row> const& rows) {
  using cells = std::array<std::string, 5>;
  std::vector<cells> table{{"dims rotated", "pairs", "base", "rule", "sees"}};
  for (auto const& row : rows)
    table.push_back({row.dims, row.pairs, row.base ? rounded(*row.base) : "", row.rule,
                     shown_sees(row, grouped(row.sees.value_or(0)))});
  std::array<std::size_t, 5> widths{};
  for (auto const& line : table)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size() + 2);
  auto const line = [&](cells const& shown) {
    std::string text(6, ' ');
    for (std::size_t i = 0; i + 1 < shown.size(); ++i) text += charts::padded(shown[i], widths[i]);
    if (text.size() + shown.back().size() > screen) {
      print_line(os, text);
      text = std::string(8, ' ') + "sees ";
    }
    print_line(os, text + shown.back());
  };
  line(table.front());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& [kind, layers] = std::tie(rows[i].kind, rows[i].layers);
    auto const letter = letter_of(rows, kind);
    print_wrapped(
        os, "  " + charts::padded(letter, 1) + " ",
        grouped(layers.size()) + " " + kind + (rows.size() > 1 ? ": " + shown_layers(layers) : ""));
    line(table[i + 1]);
  }
}

void print_numbers(std::ostream& os, std::string const& name,
                   std::vector<std::string> const& angles, std::vector<std::string> const& scores) {
  auto text = "  " + charts::padded(name, 27);
  for (auto const& x : angles) text += charts::cell(x, 8);
  for (auto const& x : scores) text += charts::cell(x, 9);
  print_line(os, text);
}

void print_pitfall(std::ostream& os, verdicts::pitfall const& one,
                   std::vector<verdicts::layer_row> const& rows) {
  std::vector<std::string> angles, scores;
  for (auto const& e : one.effects) {
    angles.push_back(e.radians ? two_digits(*e.radians) : "-");
    scores.push_back(e.keys ? percent(*e.keys) : e.score ? two_digits(*e.score) : "-");
  }
  print_numbers(os, one.name, angles, scores);
  std::string letters;
  for (auto const& kind : one.kinds)
    if (rows.size() > 1) letters += (letters.empty() ? "" : ", ") + letter_of(rows, kind);
  auto text = (letters.empty() ? "" : letters + ": ") + one.says;
  for (auto const& thread : one.threads)
    text += (&thread == &one.threads.front() ? " [" : ", ") + thread.substr(thread.find('/') + 1);
  print_wrapped(os, "      ", text + (one.threads.empty() ? "" : "]"));
}

}  // namespace

void print(std::ostream& os, std::string const& file, posenc::model_description const& model,
           verdicts::verdict const& found, std::string const& what, std::string const& conclusion) {
  os << file << ": " << model.type << ", " << grouped(model.layers) << " layers";
  if (model.context) os << ", made for " << grouped(*model.context) << " tokens";
  os << "\n\n";
  print_rows(os, found.rows);
  if (!model.embedding.empty()) os << "  Positions are " << model.embedding << " embeddings.\n";
  for (auto const& sentence : model.assumptions) print_wrapped(os, "  Assumed: ", sentence);
  std::vector<verdicts::pitfall> all = found.pitfalls;
  if (found.rounding) all.push_back(*found.rounding);
  auto const has_numbers = [](auto const& one) { return !one.effects.empty(); };
  if (auto const first = std::ranges::find_if(all, has_numbers); first != all.end()) {
    std::vector<std::string> tokens;
    for (auto const& e : first->effects) tokens.push_back(grouped(e.tokens));
    os << '\n';
    print_line(os, std::string(29, ' ') + charts::cell("angle off by, rad", 24) +
                       charts::cell("score off by *", 27));
    print_numbers(os, what + "; tokens:", tokens, tokens);
  }
  for (auto const& one : all) print_pitfall(os, one, found.rows);
  auto const is_of_keys = [&](auto const& one) {
    return has_numbers(one) && one.effects.front().keys;
  };
  auto const is_of_scores = [&](auto const& one) {
    return has_numbers(one) && one.effects.front().score;
  };
  if (std::ranges::any_of(all, is_of_scores))
    print_wrapped(os, "  * ", "Error of a score over a typical score: 1.4 is an unrelated score.");
  if (std::ranges::any_of(all, is_of_keys))
    print_wrapped(os, "  % ",
                  "Wrong or missing keys, among all that queries see or should see.");
  os << '\n';
  print_wrapped(os, "  ", conclusion);
}

std::string conclusion_of(verdicts::verdict const& found) {
  auto const count = found.pitfalls.size();
  if (count == 0)
    return "The file is understood. No engine is known to get more than rounding wrong here.";
  return "The file is understood. Engines have made " + std::to_string(count) +
         (count == 1 ? " mistake" : " mistakes") +
         " on such models; whether yours does, tests/conformance/conformance.py tells.";
}

}  // namespace verdict
