#include "reporting/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reporting/scale.hpp"
#include "reporting/svg_drawing.hpp"

namespace charts {
namespace {

constexpr double left = 52, right = 16, above = 50, below = 46, gap = 28, border = 28;

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
  for (auto const& [place, label] : axes.y.ticks(std::max(3, static_cast<int>(in.height / 25)))) {
    double const y = bottom - place * in.height;
    out.line({in.x, y}, {end, y}, label == "0" ? "zero" : "grid");
    out.text({in.x - 8, y + 4}, 11, in.width, "label end", label);
  }
  for (auto const& [place, label] : axes.x.ticks(std::max(3, static_cast<int>(in.width / 60)))) {
    double const x = in.x + place * in.width;
    out.line({x, in.y}, {x, bottom + 4}, "grid");
    out.text({x, bottom + 18}, 11, in.width, "label middle", label);
  }
  out.line({in.x, bottom}, {end, bottom}, "axis");
  out.text({in.x + in.width / 2, bottom + 36}, 12, in.width, "label middle", c.x.label);
}

// Rows of names, of the curves that have one; returns where they end.
double add_legend(svg_drawing& out, chart const& c, point const start, double width) {
  constexpr double sample = 22, indent = 28, space = 16, row = 19;
  point at = start;
  for (std::size_t i = 0; i < c.curves.size(); ++i) {
    if (c.curves[i].name.empty()) continue;
    double const room = std::min(text_width(c.curves[i].name, 12), width - indent);
    if (at.x > start.x && at.x + indent + room > start.x + width) at = {start.x, at.y + row};
    out.line({at.x, at.y - 4}, {at.x + sample, at.y - 4}, pen_of(c.curves[i], i));
    out.text({at.x + indent, at.y}, 12, room + 1, "", c.curves[i].name);
    at.x += indent + room + space;
  }
  if (has_band(c)) {
    double const room = text_width(band_name, 12);
    if (at.x > start.x && at.x + indent + room > start.x + width) at = {start.x, at.y + row};
    out.rectangle({at.x, at.y - 9, sample, 10}, band_style(6));
    out.text({at.x + indent, at.y}, 12, room + 1, "", band_name);
  }
  return at.y + row;
}

// Over curves, which show through a little; style: "end" where the text ends at the point.
void add_note(svg_drawing& out, point at, std::string const& style, std::string const& text) {
  double const width = 0.9 * text_width(text, 11), left_end = style == "end" ? at.x - width : at.x;
  out.rectangle({left_end, at.y - 10, width, 13}, "paper", 0.7);
  out.text(at, 11, 2 * width, style, text);
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
    bool const fits = x + 4 + text_width(label, 11) < in.x + in.width;
    add_note(out, {x + (fits ? 4 : -4), y += 13}, fits ? "" : "end", label);
  });
}

// Returns where the chart ends, which is below `in` if it has a legend.
double add_chart(svg_drawing& out, chart c, box in) {
  plane const axes(c);
  if (c.title.empty()) in.y -= 24;
  box const plot{in.x + left, in.y + above, in.width - left - right, in.height - above - below};
  c.curves = gathered(c, axes, static_cast<int>(plot.width / 3));
  out.text({in.x, in.y + 14}, 14, in.width, "title", c.title);
  out.text({in.x, in.y + 34}, 12, in.width, "label", c.y.label);
  add_axes(out, c, axes, plot);

  out.begin_clip(plot);
  for (std::size_t i = 0; i < c.curves.size(); ++i) add_band(out, c.curves[i], i, axes, plot);
  for (std::size_t i = 0; i < c.curves.size(); ++i) add_curve(out, c.curves[i], i, axes, plot);
  out.end_clip();
  add_marks(out, c, axes, plot);
  for (auto const& [x, y, text, colour] : c.notes)
    add_note(out, {plot.x + axes.x(x) * plot.width, plot.y + (1 - axes.y(y)) * plot.height},
             colour ? "f" + std::to_string(*colour) : "", text);

  double const end = in.y + in.height;
  bool const named = std::ranges::any_of(c.curves, [](auto const& s) { return !s.name.empty(); });
  return (named && c.curves.size() > 1) || has_band(c)
             ? add_legend(out, c, {plot.x, end + 14}, plot.width)
             : end;
}

}  // namespace

std::string svg(std::vector<chart> const& charts, svg_page const& page) {
  auto const length = [](double least, double wanted) {
    return std::min(std::max(least, wanted), 5000.0);
  };
  double const width = length(200, page.chart_width), height = length(160, page.chart_height);
  auto const most = static_cast<std::size_t>(std::max(1, page.charts_per_row));
  std::size_t const across = std::clamp<std::size_t>(charts.size(), 1, most);
  double const inner = static_cast<double>(across) * (width + gap) - gap;

  svg_drawing out;
  double bottom = border;
  if (!page.title.empty()) out.text({border, bottom += 16}, 20, inner, "title", page.title);
  if (!page.subtitle.empty()) out.text({border, bottom += 24}, 13, inner, "label", page.subtitle);

  double top = bottom > border ? bottom += gap : bottom;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i > 0 && i % across == 0) top = bottom + gap;
    double const x = border + static_cast<double>(i % across) * (width + gap);
    bottom = std::max(bottom, add_chart(out, charts[i], {x, top, width, height}));
  }

  return out.page(inner + 2 * border, bottom + border);
}

}  // namespace charts
