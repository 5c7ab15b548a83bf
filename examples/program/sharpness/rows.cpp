#include "rows.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include "posenc/softmax/adaptive_temperature.hpp"
#include "program/tensors/heads_file.hpp"
#include "reporting/csv.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace sharpness {
namespace {

using charts::compact;
using posenc::row_dispersion;

[[noreturn]] void refuse(std::string const& file, std::string const& why) {
  throw std::runtime_error(file + ": " + why);
}

std::vector<std::vector<double>> read_text(std::string const& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse(file, "is a directory");
  std::ifstream in(file);
  if (in && in.peek() == std::ifstream::traits_type::eof()) refuse(file, "is empty");
  if (!in) refuse(file, "cannot be read: " + std::string(std::strerror(errno)));
  std::vector<std::vector<double>> rows;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    constexpr auto between = " \t\r,;";
    std::vector<double> row;
    for (auto at = line.find_first_not_of(between); at != line.npos && line[at] != '#';) {
      auto const end = std::min(line.find_first_of(between, at), line.size());
      auto const word = line.substr(at, end - at);
      char* rest = nullptr;
      row.push_back(std::strtod(word.c_str(), &rest));
      if (*rest != '\0' || (!posenc::is_finite(row.back()) && !posenc::is_masked(row.back())))
        refuse(file, "line " + std::to_string(number) + " must have finite numbers or -inf, got " +
                         charts::fitted(word, 40));
      at = line.find_first_not_of(between, end);
    }
    if (!row.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

posenc::running_moments of(std::vector<row_dispersion> const& rows, auto row_dispersion::*what) {
  posenc::running_moments moments;
  for (auto const& row : rows) moments.add(static_cast<double>(row.*what));
  return moments;
}

std::string extent(posenc::running_moments const& m) {
  auto const low = compact(m.low(), 4), high = compact(m.high(), 4);
  return low == high ? low : low + " to " + high + ", mean " + compact(m.mean());
}

std::string of_rows(std::vector<row_dispersion> const& plain, double eps) {
  auto const keys = of(plain, &row_dispersion::keys), spread = of(plain, &row_dispersion::spread),
             entropy = of(plain, &row_dispersion::entropy);
  auto const whole = [](double x) { return std::to_string(static_cast<std::size_t>(x)); };
  auto const text = "rows: " + std::to_string(plain.size()) + " of " + whole(keys.low()) +
                    (keys.low() < keys.high() ? " to " + whole(keys.high()) : "") +
                    " keys: spread " + extent(spread) + "; entropy " + extent(entropy) +
                    " nats, as of " + compact(std::exp(entropy.mean())) + " keys of equal weight";
  if (spread.high() > 700) return text + ".";
  auto const from = posenc::keys_below(eps, spread.high()).keys;
  return text + ". Within the largest spread, no weight reaches " + compact(eps, 9) + " among " +
         (from < 1e15 ? std::to_string(static_cast<long long>(from)) : compact(from)) +
         " keys or more.";
}

std::string of_adaptive(std::vector<row_dispersion> const& plain,
                        std::vector<row_dispersion> const& adaptive) {
  std::size_t sharpened = 0, diffuse = 0;
  for (auto const& row : adaptive) {
    sharpened += row.inverse_temperature > 1;
    diffuse += row.inverse_temperature == 1 &&
               row.entropy > posenc::adaptive_temperature::entropy_of_maximum;
  }
  auto const [below, above] = posenc::sharpens_between();
  auto const most = of(adaptive, &row_dispersion::inverse_temperature).high();
  return "adaptive: it sharpens " + std::to_string(sharpened) + " of " +
         std::to_string(adaptive.size()) + " rows" +
         (sharpened == 0 ? "" : ", by beta " + compact(most) + " at most") + "; it leaves " +
         std::to_string(adaptive.size() - sharpened - diffuse) +
         " alone as sharp enough (entropy below " + compact(below) + ") and " +
         std::to_string(diffuse) + " as too diffuse (above " + compact(above.value()) +
         "). The mean largest weight goes from " +
         compact(of(plain, &row_dispersion::largest).mean()) + " to " +
         compact(of(adaptive, &row_dispersion::largest).mean()) + ".";
}

}  // namespace

std::vector<std::vector<double>> read_rows(std::string const& file) {
  errno = 0;
  std::vector<std::vector<double>> rows;
  if (file.ends_with(".npy") || file.find(".gguf") != file.npos) {
    auto heads = read_heads(file, 0, true);
    for (auto row = heads.numbers.begin(); row != heads.numbers.end();
         row += static_cast<std::ptrdiff_t>(heads.head_dim))
      rows.emplace_back(row, row + static_cast<std::ptrdiff_t>(heads.head_dim));
  } else {
    rows = read_text(file);
  }
  if (rows.empty()) refuse(file, "must have a row of scores");
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::ranges::all_of(rows[i], [](double x) { return posenc::is_masked(x); }))
      refuse(file, "row " + std::to_string(i + 1) + " must have a key that is not masked");
  return rows;
}

measured_rows measure_rows(std::vector<std::vector<double>> rows, double scale,
                           dispersion::settings const& s) {
  for (auto& row : rows)
    for (auto& score : row)
      if (!posenc::is_masked(score)) score *= scale;
  measured_rows measured{dispersion::rules(s), {}};
  for (auto const& rule : measured.rules) {
    auto& of_rule = measured.rows.emplace_back();
    for (auto const& row : rows) of_rule.push_back(posenc::dispersion(row, rule));
  }
  return measured;
}

void print(std::ostream& out, measured_rows const& measured, double eps,
           charts::terminal_style style) {
  std::size_t names = 4;
  for (auto const& rule : measured.rules) names = std::max(names, rule.name.size());
  out << "mean" << std::string(names - 4, ' ');
  for (auto const* const title : {"beta", "entropy", "largest"}) out << charts::cell(title, 11);
  out << '\n';
  for (std::size_t i = 0; i < measured.rules.size(); ++i) {
    auto const& rows = measured.rows[i];
    out << measured.rules[i].name << std::string(names - measured.rules[i].name.size(), ' ');
    for (auto const what : {&row_dispersion::inverse_temperature,
                            &row_dispersion::sharpened_entropy, &row_dispersion::largest})
      out << charts::cell(compact(of(rows, what).mean(), 4), 11);
    out << '\n';
  }
  out << '\n';
  charts::print_folded(out, of_rows(measured.rows[0], eps), style.columns);
  charts::print_folded(out, of_adaptive(measured.rows[0], measured.rows[1]), style.columns);
}

void write_csv(std::ostream& out, measured_rows const& measured) {
  charts::csv csv(
      out, {"rule", "row", "keys", "spread", "entropy", "beta", "sharpened_entropy", "largest"});
  for (std::size_t i = 0; i < measured.rules.size(); ++i)
    for (std::size_t k = 0; k < measured.rows[i].size(); ++k) {
      auto const& row = measured.rows[i][k];
      csv.line(measured.rules[i].name, k + 1, row.keys, row.spread, row.entropy,
               row.inverse_temperature, row.sharpened_entropy, row.largest);
    }
}

std::string to_svg(measured_rows const& measured, std::string const& subtitle) {
  std::vector<std::size_t> by_entropy(measured.rows[0].size());
  std::iota(by_entropy.begin(), by_entropy.end(), std::size_t{0});
  std::ranges::stable_sort(by_entropy, {},
                           [&](std::size_t i) { return measured.rows[0][i].entropy; });
  charts::axis const entropy{"entropy of the row, in nats"};
  charts::chart largest{"largest weight", entropy, {"weight", true}},
      beta{"inverse temperature", entropy, {"beta"}};
  for (std::size_t r = 0; r < measured.rules.size(); ++r) {
    auto const& name = measured.rules[r].name;
    charts::series weights{.name = name}, betas{.name = name};
    for (auto const i : by_entropy) {
      auto const& row = measured.rows[r][i];
      weights.x.push_back(row.entropy), weights.y.push_back(row.largest);
      betas.x.push_back(row.entropy), betas.y.push_back(row.inverse_temperature);
    }
    largest.curves.push_back(std::move(weights)), beta.curves.push_back(std::move(betas));
  }
  return charts::svg({largest, beta},
                     {.title = "Rows of scores under rules of temperature", .subtitle = subtitle});
}

}  // namespace sharpness
