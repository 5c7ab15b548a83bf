#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <utility>

#include "reporting/csv.hpp"
#include "reporting/svg_drawing.hpp"
#include "reporting/text.hpp"

namespace keys {

std::string two_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", x);
  auto const digits = 1 - std::stoi(std::string(text).substr(4));  // of its power of ten, rounded
  std::snprintf(text, sizeof text, "%.*f", std::max(0, digits), x);
  return text;
}

namespace {

std::string percent(double part) { return part < 1e-6 ? "<0.0001%" : two_digits(100 * part) + "%"; }

std::string power_of_ten(double power) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", power < 0 ? static_cast<int>(-power) : 0,
                std::pow(10, power));
  return text;
}

}  // namespace

void print(std::ostream& out, std::vector<measured_kind> const& all) {
  constexpr std::size_t name = 10, column = 9;
  constexpr way moved[]{way::as_it_is, way::bias_out};
  for (auto const& kind : all) {
    out << kind.title << ": logits of rms " << two_digits(kind.logit) << '\n'
        << charts::cell("rms error of a logit", name + 5 * column)
        << charts::cell("weight that moves", 2 * column + 1) << '\n'
        << charts::cell("bytes", name);
    for (auto const way : ways) out << charts::cell(name_of(way), column);
    for (auto const way : moved) out << charts::cell(name_of(way), column + (way == moved[0]));
    out << '\n';
    for (auto const& [format, bytes, off] : kind.rows) {
      out << "  " << format << charts::cell(std::to_string(bytes), name - 2 - format.size());
      for (auto const& one : off) out << charts::cell(two_digits(one.logit), column);
      for (auto const way : moved)
        out << charts::cell(percent(off[static_cast<std::size_t>(way)].moved),
                            column + (way == moved[0]));
      out << '\n';
    }
    out << '\n';
  }
}

void write_csv(std::ostream& out, std::vector<measured_kind> const& all) {
  charts::csv csv(out, {"kind", "logit_rms", "format", "bytes", "way", "key_error", "logit_error",
                        "moved_weight"});
  for (auto const& kind : all)
    for (auto const& row : kind.rows)
      for (std::size_t i = 0; i < row.off.size(); ++i)
        csv.line(kind.name, kind.logit, row.format, row.bytes, name_of(ways[i]), row.off[i].key,
                 row.off[i].logit, row.off[i].moved);
}

// For each kind a panel, for each format a line with a mark for each way.
std::string to_svg(std::vector<measured_kind> const& all, std::string const& says) {
  constexpr double width = 480, left = 116, right = 20, lane = 5, line = 27, size = 7;
  constexpr std::pair<way, char const*> drawn[]{
      {way::as_it_is, "0"}, {way::hadamard, "1"}, {way::bias_out, "2"}, {way::both, "3"}};
  double least = 1e300, most = 0;
  for (auto const& kind : all)
    for (auto const& row : kind.rows)
      for (auto const& off : row.off)
        if (off.logit > 0) least = std::min(least, off.logit), most = std::max(most, off.logit);
  auto const low = std::floor(std::log10(least)), high = std::ceil(std::log10(most));
  auto const x_of = [&](double error) {
    return left + (width - left - right) * (std::log10(error) - low) / (high - low);
  };

  charts::svg_drawing out;
  out.text({20, 32}, 18, width - 40, "title", "Errors of scores from keys in few bits");
  out.text({20, 54}, 13, width - 40, "label",
           "rms error of a logit; an error of 0.1 changes a weight by 10 %");
  out.text({20, 72}, 13, width - 40, "label", says);
  double x = 20;
  for (auto const& [way, colour] : drawn) {
    out.rectangle({x, 86, 10, 10}, std::string("f") + colour);
    out.text({x + 15, 96}, 13, 110, "", name_of(way));
    x += 36 + charts::text_width(name_of(way), 13);
  }
  double y = 116;
  for (auto const& kind : all) {
    out.text({20, y + 14}, 14, width - 40, "title", kind.title);
    y += 28;
    auto const height = line * static_cast<double>(kind.rows.size());
    for (auto power = low; power <= high; ++power) {
      auto const at = x_of(std::pow(10, power));
      out.line({at, y}, {at, y + height}, "grid");
      out.text({at, y + height + 15}, 12, 60, "label middle", power_of_ten(power));
    }
    for (std::size_t i = 0; i < kind.rows.size(); ++i) {
      auto const& row = kind.rows[i];
      auto const top = y + line * static_cast<double>(i);
      out.text({left - 10, top + line / 2 + 5}, 13, left - 20, "end",
               row.format + ", " + std::to_string(row.bytes) + " B");
      if (i != 0) out.line({left, top}, {width - right, top}, "grid");
      for (std::size_t j = 0; j < std::size(drawn); ++j) {
        auto const error = row.off[static_cast<std::size_t>(drawn[j].first)].logit;
        if (error <= 0) continue;
        out.rectangle({x_of(error) - size / 2, top + 3 + lane * static_cast<double>(j), size, size},
                      std::string("f") + drawn[j].second);
      }
    }
    y += height + 34;
  }
  return out.page(width, y);
}

}  // namespace keys
