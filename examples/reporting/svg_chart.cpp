#include "reporting/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "reporting/scale.hpp"
#include "reporting/svg_drawing.hpp"

namespace charts {
namespace {

constexpr double left = 56, right = 16, above = 54, below = 50, gap = 28, border = 24;
constexpr double small = 13, medium = 14, large = 16;  // texts

// Keeps the lowest and the highest point of every half pixel, and places them in the box.
std::vector<point> thinned(std::vector<point> const& stroke, box const& in) {
  std::vector<point> result;
  std::ptrdiff_t kept = 0;  // of the present half pixel
  for (point const p : stroke) {
    point const next{p.x * in.width, (1 - p.y) * in.height};
    if (kept > 0 && std::floor(2 * result.back().x) != std::floor(2 * next.x)) kept = 0;
    result.push_back(next);
    if (++kept < 3) continue;
    auto const three = result.end() - 3;
    auto const [low, high] =
        std::minmax_element(three, result.end(), [](point a, point b) { return a.y < b.y; });
    result.erase(three + (3 - (low - three) - (high - three)));
    kept = 2;
  }
  return result;
}

std::string pen_of(series const& curve, std::size_t i) {
  return pen_style(curve.colour.value_or(i)) + (curve.dashed ? " dashed" : "");
}

void add_band(svg_drawing& out, series const& curve, std::size_t i, plane const& axes,
              box const& in) {
  auto low = curve.low, high = curve.high;
  for (std::size_t k = 0; k < std::min(low.size(), high.size());
       ++k)  // A band with one edge is a gap, too.
    if (std::isnan(axes.y(low[k]) + axes.y(high[k]))) low[k] = high[k] = NAN;
  auto const floors = axes.strokes(curve.x, low), ceilings = axes.strokes(curve.x, high);
  for (std::size_t k = 0; k < std::min(floors.size(), ceilings.size()); ++k) {
    auto outline = thinned(floors[k], in), ceiling = thinned(ceilings[k], in);
    outline.insert(outline.end(), ceiling.rbegin(), ceiling.rend());
    out.path(outline, band_style(curve.colour.value_or(i)));
  }
}

void add_curve(svg_drawing& out, series const& curve, std::size_t i, plane const& axes,
               box const& in) {
  for (auto const& stroke : axes.strokes(curve.x, curve.y))
    out.path(thinned(stroke, in), pen_of(curve, i));
}

void add_axes(svg_drawing& out, chart const& c, plane const& axes, box const& in) {
  double const end = in.x + in.width, bottom = in.y + in.height;
  for (auto const& [place, label] : axes.y.ticks(std::max(3, static_cast<int>(in.height / 30)))) {
    double const y = bottom - place * in.height;
    out.line({in.x, y}, {end, y}, label == "0" ? "zero" : "grid");
    out.text({in.x - 8, y + 5}, small, in.width, "label end", label);
  }
  for (auto const& [place, label] : axes.x.ticks(std::max(3, static_cast<int>(in.width / 70)))) {
    double const x = in.x + place * in.width;
    out.line({x, in.y}, {x, bottom + 4}, "grid");
    out.text({x, bottom + 18}, small, in.width, "label middle", label);
  }
  out.line({in.x, bottom}, {end, bottom}, "axis");
  out.text({in.x + in.width / 2, bottom + 38}, medium, in.width, "label middle", c.x.label);
}

// Rows of names, of the curves that have one; returns where they end.
double add_legend(svg_drawing& out, chart const& c, point const start, double width) {
  constexpr double sample = 22, indent = 28, space = 16, row = 19;
  point at = start;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    if (c.curves[i].name.empty()) continue;
    double const room = std::min(text_width(c.curves[i].name, small), width - indent);
    if (at.x > start.x && at.x + indent + room > start.x + width) at = {start.x, at.y + row};
    out.line({at.x, at.y - 5}, {at.x + sample, at.y - 5}, pen_of(c.curves[i], i));
    out.text({at.x + indent, at.y}, small, room + 1, "", c.curves[i].name);
    at.x += indent + room + space;
  }
  return at.y + row;
}

// Over curves, which show through a little; style ends with "end" where the text ends at the point.
void add_note(svg_drawing& out, point at, std::string const& style, std::string const& text) {
  double const width = 0.9 * text_width(text, small),
               left_end = style.ends_with("end") ? at.x - width : at.x;
  out.rectangle({left_end, at.y - 11, width, 14}, "paper", 0.7);
  out.text(at, small, 2 * width, style, text);
}

// Dashed lines, each named below the names of those before it, over all lines.
void add_marks(svg_drawing& out, chart const& c, plane const& axes, box const& in) {
  auto const places = [&](auto const& use) {
    for (auto const& [value, label] : c.marks)
      if (double const at = axes.x(value); at >= 0 && at <= 1) use(in.x + at * in.width, label);
  };
  places([&](double x, auto const&) { out.line({x, in.y}, {x, in.y + in.height}, "axis dashed"); });
  double y = in.y;
  places([&](double x, auto const& label) {
    bool const fits = x + 4 + text_width(label, small) < in.x + in.width;
    add_note(out, {x + (fits ? 4 : -4), y += 15}, fits ? "" : "end", label);
  });
}

// What a curve takes of each column of pixels: from low to high, downwards.
struct columns {
  explicit columns(double width)
      : low(static_cast<std::size_t>(width) + 1, INFINITY), high(low.size(), -INFINITY) {}

  void add(point const& a, point const& b) {
    auto const last = static_cast<double>(low.size()) - 1;
    auto const put = [&](double x, double y) {
      auto const at = static_cast<std::size_t>(std::clamp(std::round(x), 0.0, last));
      low[at] = std::min(low[at], y), high[at] = std::max(high[at], y);
    };
    put(a.x, a.y), put(b.x, b.y);
    for (auto i = std::lround(std::ceil(a.x)); static_cast<double>(i) < b.x; ++i) {
      auto const x = static_cast<double>(i);
      put(x, a.y + (x - a.x) / (b.x - a.x) * (b.y - a.y));
    }
  }

  std::vector<double> low, high;
};

struct name_at {
  point at;
  std::size_t curve;
};

// A place beside each curve for its name, above or below it: over no other curve, if possible over
// no other text, and nearer to its own curve than to another; none if a name has no place. Places
// count from the plot.
std::optional<std::vector<name_at>> places_of_names(chart const& c, plane const& axes,
                                                    box const& plot,
                                                    std::vector<box> const& texts) {
  std::vector<columns> drawn;
  for (auto const& curve : c.curves) {
    drawn.emplace_back(plot.width);
    for (auto const& stroke : axes.strokes(curve.x, curve.y)) {
      auto const points = thinned(stroke, {0, 0, plot.width, plot.height});
      for (std::size_t k = 0; k + 1 < points.size(); ++k)
        drawn.back().add(points[k], points[k + 1]);
    }
  }
  std::vector<box> taken = texts;
  std::vector<name_at> names;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    if (c.curves[i].name.empty()) continue;
    auto const width = 0.9 * text_width(c.curves[i].name, small);
    double best = 1000;
    box place{};
    for (int step = 0; 2 + 4 * step + width < plot.width; ++step) {
      auto const x = 2.0 + 4 * step;
      auto const first = static_cast<std::size_t>(x), last = static_cast<std::size_t>(x + width);
      double low = INFINITY, high = -INFINITY, sum = 0, count = 0;
      for (auto k = first; k <= last; ++k) {
        if (drawn[i].low[k] > drawn[i].high[k]) continue;
        low = std::min(low, drawn[i].low[k]), high = std::max(high, drawn[i].high[k]);
        sum += (drawn[i].low[k] + drawn[i].high[k]) / 2, ++count;
      }
      if (count < (width + 1) / 2) continue;
      for (bool const over : {true, false}) {
        box const room{x, over ? low - 17 : high + 4, width, small};
        if (room.y < 0 || room.y + room.height > plot.height) continue;
        auto const own = over ? sum / count - room.y - room.height : room.y - sum / count;
        double other = 40, crossed = 0, shared = 0;
        for (std::size_t j = 0; j < drawn.size(); ++j)
          for (auto k = first; j != i && k <= last; ++k) {
            auto const apart =
                std::max(drawn[j].low[k] - room.y - room.height, room.y - drawn[j].high[k]);
            other = std::min(other, std::max(apart, 0.0)), crossed += apart < 0;
            shared += std::abs(drawn[j].low[k] - drawn[i].low[k]) < 3;
          }
        bool const covers = std::ranges::any_of(taken, [&](box const& b) {
          return b.x < room.x + room.width && room.x < b.x + b.width &&
                 b.y < room.y + room.height && room.y < b.y + b.height;
        });
        if (crossed > 0) continue;  // a name covers no other curve: a legend has it
        auto const cost = own - other / 2 + (other < own + 2 ? 120 : 0) + shared +
                          40 * (1 - count / (width + 1)) + (covers ? 2000 : 0);
        if (cost < best - 1e-3) best = cost, place = room;  // whatever the rounding
      }
    }
    if (place.width == 0) return {};
    taken.push_back(place);
    names.push_back({{place.x, place.y + small - 2}, i});
  }
  return names;
}

// Returns where the chart ends, which is below `in` if it has a legend.
double add_chart(svg_drawing& out, chart c, box in) {
  plane const axes(c);
  if (c.title.empty()) in.y -= 24;
  box const plot{in.x + left, in.y + above, in.width - left - right, in.height - above - below};
  c.curves = gathered(c, axes, static_cast<int>(plot.width / 3));
  out.text({in.x, in.y + 14}, large, in.width, "title", c.title);
  out.text({in.x, in.y + 36}, small, in.width, "label",
           has_band(c) ? c.y.label + "; band: " + c.band : c.y.label);
  add_axes(out, c, axes, plot);

  out.begin_clip(plot);
  for (std::size_t i = 0; i < c.curves.size(); ++i) add_band(out, c.curves[i], i, axes, plot);
  for (std::size_t i = 0; i < c.curves.size(); ++i) add_curve(out, c.curves[i], i, axes, plot);
  out.end_clip();
  add_marks(out, c, axes, plot);
  std::vector<box> texts;
  for (auto const& [x, y, text, colour, ends] : c.notes) {
    point const at{axes.x(x) * plot.width, (1 - axes.y(y)) * plot.height};
    auto const width = 0.9 * text_width(text, small);
    add_note(out, {plot.x + at.x, plot.y + at.y},
             (colour ? "f" + std::to_string(*colour) : "") + (ends ? " end" : ""), text);
    texts.push_back({ends ? at.x - width : at.x, at.y - small, width, small});
  }
  for (auto const& m : c.marks) {
    auto const x = axes.x(m.x) * plot.width, width = text_width(m.label, small);
    texts.push_back({x, 0, 1, plot.height});
    texts.push_back({x + 4 + width < plot.width ? x : x - width, 0, width,
                     15.0 * static_cast<double>(c.marks.size())});
  }

  double const end = in.y + in.height;
  if (c.curves.size() < 2) return end;
  auto const names = places_of_names(c, axes, plot, texts);
  if (!names) return add_legend(out, c, {plot.x, end + 14}, plot.width);
  for (auto const& [at, curve] : *names) {
    auto const colour = c.curves[curve].colour.value_or(curve);
    add_note(out, {plot.x + at.x, plot.y + at.y}, "f" + std::to_string(colour % 7),
             c.curves[curve].name);
  }
  return end;
}

}  // namespace

std::string svg(std::vector<chart> const& charts, svg_page const& page) {
  auto const length = [](double least, double wanted) {
    return std::min(std::max(least, wanted), 5000.0);
  };
  auto widest = page.chart_width;  // no title is cut
  for (auto const& c : charts) widest = std::max(widest, text_width(c.title, large) + 1);
  double const width = length(200, widest), height = length(160, page.chart_height);
  auto const most = static_cast<std::size_t>(std::max(1, page.charts_per_row));
  std::size_t const across = std::clamp<std::size_t>(charts.size(), 1, most);
  double const inner =
      std::max({static_cast<double>(across) * (width + gap) - gap, text_width(page.title, 22) + 1,
                text_width(page.subtitle, medium) + 1, page.above_width});

  svg_drawing out;
  double bottom = border;
  if (!page.title.empty()) out.text({border, bottom += 16}, 22, inner, "title", page.title);
  if (!page.subtitle.empty())
    out.text({border, bottom += 24}, medium, inner, "label", page.subtitle);

  double top = bottom > border ? bottom += gap : bottom;
  if (page.draw_above) {
    page.draw_above(out, {border, top});
    top = bottom = top + page.above_height;
  }
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i > 0 && i % across == 0) top = bottom + gap;
    double const x = border + static_cast<double>(i % across) * (width + gap);
    bottom = std::max(bottom, add_chart(out, charts[i], {x, top, width, height}));
  }

  return out.page(inner + 2 * border, bottom + border);
}

}  // namespace charts
