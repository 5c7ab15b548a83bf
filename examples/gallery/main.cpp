// Makes the figures of the gallery, or checks that they are as these would be.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "figures.hpp"
#include "program/options.hpp"

namespace {

struct options {
  std::string folder;
  bool check = false;
};

bool begins_number(char const* text) {
  if (*text == ' ') ++text;
  if (*text == '-') ++text;
  if (*text == '.') ++text;
  return *text >= '0' && *text <= '9';
}

// Whether two files differ by nothing but numbers, and these by 0.25 at most: another libm may
// round a place by a tenth of a pixel.
bool alike(std::string const& a, std::string const& b) {
  char const *p = a.c_str(), *q = b.c_str();
  while (*p != 0 && *q != 0) {
    if (begins_number(p) && begins_number(q)) {
      char *p_end = nullptr, *q_end = nullptr;
      auto const x = std::strtod(p, &p_end), y = std::strtod(q, &q_end);
      if (x != y && !(std::abs(x - y) <= 0.25)) return false;  // a colour may read as infinite
      p = p_end, q = q_end;
    } else if (*p++ != *q++) {
      return false;
    }
  }
  return *p == *q;
}

std::string text_of(std::filesystem::path const& file) {
  std::ifstream in(file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// With one blank for each line's end.
std::string unfolded(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void run(options const& o) {
  for (auto const& make : {figures_of_scores, figures_of_frequencies, figures_of_distances,
                           figures_of_softmax, figures_of_heads, figures_of_layouts}) {
    for (auto const& made : make()) {
      auto const name = (std::filesystem::path(o.folder) / made.file).string();
      if (o.check) {
        auto const page = std::filesystem::path(o.folder) / ".." / ".." / made.page;
        if (unfolded(text_of(page)).find(made.caption) == std::string::npos)
          throw std::runtime_error(page.string() + " must say of " + made.file + ": " +
                                   made.caption);
        if (!alike(text_of(name), made.svg))
          throw std::runtime_error(name + " must be made anew, by the target gallery");
      } else {
        reporting::check_writable({name});
        reporting::write_file(name, [&](std::ostream& out) { out << made.svg; });
      }
      std::cout << name << ": " << made.svg.size() << " bytes\n"
                << made.caption << (made.caption.empty() ? "" : "\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"gallery_figures",
       "Makes the figures of the gallery as SVG.",
       {{{"examples/gallery", "makes them anew"},
         {"--check examples/gallery", "says whether they are as they would be made"}}}},
      [](CLI::App& app, options& o) {
        app.add_option("FOLDER", o.folder, "where the figures are")->required();
        app.add_flag("--check", o.check, "compare with what is there, write nothing");
      },
      run);
}
