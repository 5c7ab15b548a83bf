// The page of results: one section per kind of CPU, compiler and instruction set, each with a
// picture.
#pragma once

#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "machine.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "section.hpp"

namespace bench {

/// "Zen 5: AMD EPYC (family 26, model 2)" -> "zen-5-amd-epyc-family-26-model-2"
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

/// Replaces the section of this title in folder/RESULTS.md, or puts it before those of other CPUs,
/// and writes its picture beside. Returns whether both could be written.
inline bool write_page(std::string const& folder, report const& r) {
  auto const image = file_name_of(section_title()) + ".svg";
  std::ofstream svg(folder + '/' + image);
  picture(r, section_title(), made_by()).write(svg);

  std::ostringstream section;
  write_page_section(section, r, image);
  std::ifstream before(folder + "/RESULTS.md");
  std::string page{std::istreambuf_iterator<char>(before), {}};
  auto const first = page.find("## " + section_title() + '\n');
  if (first == page.npos) {
    auto const other = page.find(" (family ");  // of the first CPU's title
    auto const at = other == page.npos ? other : page.rfind("## ", other);
    if (at == page.npos)
      page += '\n' + section.str();
    else
      page.insert(at, section.str() + '\n');
  } else {
    auto const next = page.find("\n## ", first);
    page.replace(first, next == page.npos ? next : next - first, section.str());
  }
  std::ofstream after(folder + "/RESULTS.md");
  after << page;
  return svg.good() && after.good();
}

}  // namespace bench
