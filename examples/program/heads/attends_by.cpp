#include "attends_by.hpp"

#include <cstdio>
#include <ostream>

#include "reporting/csv.hpp"
#include "reporting/plane.hpp"
#include "reporting/scale.hpp"
#include "reporting/text.hpp"

namespace heads {
namespace {

bool by_position(posenc::positional_symbolic_score const& head) {
  return head.positional > head.symbolic;
}

}  // namespace

void print(std::ostream& out, places_of_heads const& of, charts::terminal_style style) {
  charts::print_folded(out, of.title, style.columns);
  out << "\nhead  positional  symbolic  attends more\n";
  for (std::size_t i = 0; i < of.heads.size(); ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%4zu%12.3f%10.3f  by %s\n", i, of.heads[i].positional,
                  of.heads[i].symbolic, by_position(of.heads[i]) ? "position" : "content");
    out << line;
  }
  out << '\n';
  auto const count = std::ranges::count_if(of.heads, by_position);
  charts::print_folded(out,
                       std::to_string(count) + " of " + std::to_string(of.heads.size()) +
                           " heads hold on to positions more than they follow contents, when two "
                           "keys exchange their contents. Both numbers are 1 where all keys have "
                           "one weight.",
                       style.columns);
}

void write_csv(std::ostream& out, places_of_heads const& of) {
  charts::csv csv(out, {"head", "positional", "symbolic"});
  for (std::size_t i = 0; i < of.heads.size(); ++i)
    csv.line(i, of.heads[i].positional, of.heads[i].symbolic);
}

std::string to_svg(places_of_heads const& of) {
  constexpr double border = 28, side = 420;
  charts::svg_drawing out;
  out.text({border, border + 16}, 20, side + 40, "title", "Position or content?");
  double y = border + 42;
  for (auto const* const line :
       {"up: weights follow contents that", "two keys exchange; right: they stay"})
    out.text({border, y}, 14, side + 40, "label", line), y += 20;
  std::vector<charts::dot> dots;
  for (std::size_t i = 0; i < of.heads.size(); ++i)
    dots.push_back({of.heads[i].positional, of.heads[i].symbolic, "head " + std::to_string(i)});
  charts::box const plane{border + 30, y + 44, side, side};
  charts::draw_plane(out, plane, "symbolic", "positional", dots);
  return out.page(plane.x + side + 2 * border, plane.y + side + 60 + border);
}

}  // namespace heads
