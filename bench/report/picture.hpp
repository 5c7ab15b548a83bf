// The picture of a report: what rotating one head vector takes, by each way, as bars. An SVG that
// follows the reader's light or dark theme.
#pragma once

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"
#include "section.hpp"

namespace bench {

/// A panel for each pictured table in each of these sizes, of heads of 128.
class picture {
 public:
  /// machine: the CPU; made_by: compiler and commit.
  picture(report const& r, std::string machine, std::string made_by)
      : report_(r), machine_(std::move(machine)), made_by_(std::move(made_by)) {}

  void write(std::ostream& out) const {
    std::vector<measured_case const*> panels;
    for (auto const& [size, what] : sizes)
      for (auto const& c : report_.cases())
        if (c.in->in_picture && c.is_ours() && c.line == "128" && c.column == size &&
            report::has_run(c))
          panels.push_back(&c);
    auto const height = top + (panels.size() + 1) / 2 * panel_height + 12;
    out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << 2 * panel_width << ' '
        << height << "' width='" << 2 * panel_width << "' height='" << height
        << "' font-family='system-ui, sans-serif' font-size='13'>\n"
        << style << "<rect width='100%' height='100%' class='paper'/>\n";
    text(out, 20, 32, finding(), "title");
    text(out, 20, 54, "ns per head vector, in place, on one core of " + machine_);
    text(out, 20, 72, made_by_);
    for (std::size_t i = 0; i < panels.size(); ++i)
      write_panel(out, *panels[i], 20 + i % 2 * panel_width, top + i / 2 * panel_height);
    out << "</svg>\n";
  }

 private:
  static constexpr std::size_t top = 96, panel_width = 450, panel_height = 198, names = 118,
                               longest = 235, pitch = 25;
  static constexpr std::pair<char const*, char const*> sizes[] = {{"20 KiB", "decoding, 20 KiB"},
                                                                  {"8 MiB", "a prompt, 8 MiB"}};
  static constexpr std::pair<char const*, char const*> ways[] = {
      {"posenc", "posenc"},
      {"256-bit row loop", "loop as in vLLM"},
      {"plain loop", "plain loop"},
      {"loop of known dims", "of fixed dims"},
      {"ggml", "ggml, with sines"}};
  static constexpr auto style =
      "<style>.paper{fill:#fff}text{fill:#444}.title{fill:#111;font-size:17px;font-weight:600}"
      ".group{fill:#111;font-weight:600}.other{fill:#9aa4ae}.ours{fill:#0072b2}"
      ".yardstick{fill:none;stroke:#9aa4ae;stroke-dasharray:4 3}\n"
      "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#b0b8c0}"
      ".title,.group{fill:#eee}.other{fill:#57606a}.ours{fill:#58a6ff}}</style>\n";

  static void text(std::ostream& out, std::size_t x, std::size_t y, std::string const& what,
                   char const* kind = "", char const* anchor = "start") {
    out << "<text x='" << x << "' y='" << y << "' class='" << kind << "' text-anchor='" << anchor
        << "'>" << what << "</text>\n";
  }

  /// Of heads of 128 in both layouts and all sizes, as rounded on the page: what the front page
  /// says.
  std::string finding() const {
    std::string text;
    for (std::string const type : {"float", "bfloat16"}) {
      double least = 1e9, most = 0;
      for (auto const& c : report_.cases()) {
        if (!c.in->path.starts_with("rotation/" + type + '/') || !c.is_ours() || c.line != "128")
          continue;
        auto const ratio = report_.ratio(c.limit, c);
        if (!ratio) continue;
        auto const longer = 1 / std::stod(shown_ratio(ratio));
        least = std::min(least, longer), most = std::max(most, longer);
      }
      if (most == 0) continue;
      char words[96];
      std::snprintf(words, sizeof words,
                    text.empty() ? "Rotating takes %.2f to %.2f times as long as scaling for "
                                 : ", %.2f to %.2f for ",
                    least, most);
      text += words + type;
    }
    return text;
  }

  void write_panel(std::ostream& out, measured_case const& ours, std::size_t x,
                   std::size_t y) const {
    auto const* const size =
        std::ranges::find(sizes, ours.column, [](auto const& s) { return s.first; })->second;
    text(out, x, y + 14, ours.in->title.substr(0, ours.in->title.find(',')) + ", " + size, "group");
    std::vector<std::pair<std::string, measured_case const*>> bars;
    for (auto const& [by, name] : ways) {
      if (ours.by == by) bars.emplace_back(name, &ours);
      for (auto const* b : ours.baselines)
        if (b->by == by) bars.emplace_back(name, b);
    }
    if (ours.limit != nullptr) bars.emplace_back("only scaled", ours.limit);
    // A bar of more than three times ours ends early.
    auto const most = 3 * *report_.ns(&ours);
    for (std::size_t i = 0; i < bars.size(); ++i) {
      auto const& [name, of] = bars[i];
      auto const ns = report_.ns(of);
      if (!ns) continue;
      auto const at = y + 26 + i * pitch;
      auto const length =
          static_cast<std::size_t>(std::min(*ns / most, 1.0) * static_cast<double>(longest));
      auto const* const kind = of == &ours ? "ours" : of == ours.limit ? "yardstick" : "other";
      char shown[32];
      std::snprintf(shown, sizeof shown, *ns > most ? "%.0f (cut)" : "%.1f", *ns);
      text(out, x + names - 8, at + 14, name, "", "end");
      out << "<rect x='" << x + names << "' y='" << at << "' width='" << length
          << "' height='18' class='" << kind << "'/>\n";
      text(out, x + names + length + 7, at + 14, shown, of == &ours ? "group" : "");
    }
  }

  report const& report_;
  std::string machine_, made_by_;
};

}  // namespace bench
