#include "reporting/plane.hpp"

#include <algorithm>
#include <array>

namespace charts {
namespace {

constexpr double half = 4, size = 14;

bool overlap(box const& a, box const& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

}  // namespace

void draw_unit_axis(svg_drawing& out, box const& at, std::string const& title,
                    std::string const& to_the_right) {
  out.text({at.x, at.y - 14}, 15, at.width, "title", title);
  for (double const tick : {0.0, 0.5, 1.0}) {
    auto const y = at.y + at.height * (1 - tick);
    out.line({at.x, y}, {at.x + at.width, y}, "grid");
    out.text({at.x - 6, y + 4}, 13, 60, "label end", compact(tick));
  }
  out.text({at.x + at.width / 2, at.y + at.height + 42}, 14, at.width, "label middle",
           to_the_right);
}

void draw_plane(svg_drawing& out, box const& at, std::string const& title,
                std::string const& to_the_right, std::vector<dot> const& dots) {
  draw_unit_axis(out, at, title, to_the_right);
  for (double const tick : {0.0, 0.5, 1.0})
    out.text({at.x + at.width * tick, at.y + at.height + 20}, 13, 60, "label middle",
             compact(tick));
  std::vector<box> taken;
  auto const place = [&](dot const& d) {
    return point{at.x + at.width * d.x, at.y + at.height * (1 - d.y)};
  };
  for (auto const& d : dots) {
    auto const [x, y] = place(d);
    taken.push_back({x - half, y - half, 2 * half, 2 * half});
    out.rectangle(taken.back(), "f0");
  }
  for (auto const& d : dots) {
    auto const [x, y] = place(d);
    auto const width = text_width(d.name, size);
    struct side {
      point text;
      bool ends;
    };
    for (auto const& [text, ends] :
         std::array{side{{x + 9, y + 5}, false}, side{{x - 9, y + 5}, true},
                    side{{x + 9, y + 17}, false}, side{{x - 9, y + 17}, true},
                    side{{x + 9, y - 8}, false}, side{{x - 9, y - 8}, true}}) {
      box const room{ends ? text.x - width : text.x, text.y - size + 2, width, size};
      if (room.x < at.x || room.x + width > at.x + at.width + 20 ||
          std::ranges::any_of(taken, [&](box const& b) { return overlap(b, room); }))
        continue;
      taken.push_back(room);
      out.text(text, size, width + 1, ends ? "end" : "", d.name);
      break;
    }
  }
}

}  // namespace charts
