// The page of results: one section per kind of CPU, compiler and instruction set, each with a
// picture.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "machine.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "section.hpp"

namespace bench {

/// "AMD EPYC 9R45 (family 26, model 2)" -> "amd-epyc-9r45-family-26-model-2"
inline std::string file_name_of(std::string const& title) {
  std::string name;
  for (auto const c : title) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

/// Replaces the section of this title in folder/README.md, or appends it, and writes its picture
/// beside. Returns whether both could be written.
inline bool write_page(std::string const& folder, report const& r) {
  auto const image = file_name_of(section_title()) + ".svg";
  std::ofstream svg(folder + '/' + image);
  picture(r, cpu_model() + architecture(), made_by()).write(svg);

  std::ostringstream section;
  write_section(section, r, image);
  std::ifstream before(folder + "/README.md");
  std::string page{std::istreambuf_iterator<char>(before), {}};
  auto const first = page.find("## " + section_title() + '\n');
  if (first == page.npos) {
    page += '\n' + section.str();
  } else {
    auto const next = page.find("\n## ", first);
    page.replace(first, next == page.npos ? next : next - first, section.str());
  }
  std::ofstream after(folder + "/README.md");
  after << page;
  return svg.good() && after.good();
}

/// Draws the picture of a section, by its title, from its tables of ns · limit · fastest baseline,
/// for one that no bench of today has measured. Returns whether that could be done.
inline bool draw_section(std::string const& folder, std::string const& title) {
  std::ifstream page(folder + "/README.md");
  std::string line;
  while (std::getline(page, line) && line != "## " + title) continue;
  report r;
  table const* in = nullptr;
  std::string made_by;
  std::vector<std::string> columns;
  while (std::getline(page, line) && !line.starts_with("## ")) {
    if (line.empty() || line.starts_with("|---") || line.starts_with("![")) continue;
    if (line.starts_with("### ")) {
      bool const in_place = line.ends_with(", halves") || line.ends_with(", interleaved");
      in = r.add({.path = "", .title = line.substr(4), .in_picture = in_place});
      columns.clear();
    } else if (!line.starts_with("| ")) {
      if (in == nullptr && made_by.empty()) made_by = line;
    } else if (in != nullptr) {
      std::vector<std::string> fields;
      std::istringstream row(line.substr(1));
      for (std::string field; std::getline(row, field, '|');)
        fields.push_back(field.size() < 2 ? "" : field.substr(1, field.size() - 2));
      if (columns.empty()) columns = fields;
      for (std::size_t i = 1; i < std::min(fields.size(), columns.size()); ++i) {
        double ns = 0, limit = 0, baseline = 0;
        if (std::sscanf(fields[i].c_str(), "%lf · %lf · %lf", &ns, &limit, &baseline) < 3) continue;
        report_case c{.in = in,
                      .line = fields[0],
                      .column = columns[i],
                      .by = "limit",
                      .items = 1,
                      .ways = {}};
        c.limit = r.add_measured(c, ns * limit);
        auto theirs = c;
        theirs.by = "fastest baseline", c.by = "posenc";
        c.baselines = {r.add_measured(theirs, ns * baseline)};
        r.add_measured(c, ns);
      }
    }
  }
  std::ofstream svg(folder + '/' + file_name_of(title) + ".svg");
  picture(r, title, made_by).write(svg);
  return !r.is_empty() && svg.good();
}

}  // namespace bench
