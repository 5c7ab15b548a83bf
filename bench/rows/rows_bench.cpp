// Making rows: 64 cosines and sines per position, for one token and for 256 scattered ones,
// compared with what users call.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "posenc/frequency/geometric.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/row_maker.hpp"
#include "rotation/exact.hpp"
#include "suites.hpp"

namespace bench {
namespace {

constexpr std::size_t head_dim = 128, pairs = head_dim / 2;

struct scattered {
  posenc::frequencies f = posenc::geometric(head_dim, 1e4);
  std::vector<std::int64_t> positions;

  explicit scattered(std::size_t tokens) : positions(tokens) {
    for (std::size_t i = 0; i < tokens; ++i)
      positions[i] = static_cast<std::int64_t>(100'003 + 4099 * i);
  }

  /// rows: [tokens][2][pairs].
  template <class Real>
  double max_error(Real const* rows) const {
    double error = 0;
    for (auto const position : positions) {
      for (std::size_t i = 0; i < pairs; ++i) {
        exact_turn const exact(position, f.inv_freq()[i]);
        error = std::max({error, std::abs(static_cast<double>(rows[i] - exact.cos)),
                          std::abs(static_cast<double>(rows[i + pairs] - exact.sin))});
      }
      rows += head_dim;
    }
    return error;
  }
};

// Angles, cosines and sines in Angle: float as in PyTorch code, or double as in careful code.
template <class Angle, class Real>
[[gnu::noinline]] void library_calls(scattered const& of, Real* row) {
  for (auto const position : of.positions) {
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const angle = static_cast<Angle>(position) * static_cast<Angle>(of.f.inv_freq()[i]);
      row[i] = static_cast<Real>(std::cos(angle)),
      row[i + pairs] = static_cast<Real>(std::sin(angle));
    }
    row += head_dim;
  }
}

template <class Real>
void add_rows_of(report& r, table const* t, std::string const& type, std::size_t tokens) {
  auto const of = std::make_shared<scattered>(tokens);
  auto const memory = std::make_shared<std::vector<Real>>(tokens * head_dim);
  auto const add = [&](std::string line, char const* by, auto const& baselines, auto const& make) {
    return r.add({.in = t,
                  .line = std::move(line),
                  .column = tokens == 1 ? "1 token" : std::to_string(tokens) + " tokens",
                  .by = by,
                  .items = tokens,
                  .ways = {passes_of([make] { benchmark::DoNotOptimize(make()); })},
                  .prepare = [] {},
                  .max_error = [of, make] { return of->max_error(make()); },
                  .limit = nullptr,
                  .baselines = baselines});
  };
  std::vector<measured_case const*> const none;
  auto library = none;
  auto const by_library = [&]<class Angle>(char const* by, Angle) {
    library.push_back(add(type, by, none, [=] {
      library_calls<Angle>(*of, memory->data());
      return static_cast<Real const*>(memory->data());
    }));
  };
  by_library("libm, double angles", 0.0);
  if (sizeof(Real) == 4) by_library("libm, float angles", 0.0f);
  add(type + ", row_maker", "posenc", library, [of, memory, maker = posenc::row_maker(of->f)] {
    maker.write(of->positions, memory->data());
    return static_cast<Real const*>(memory->data());
  });
  auto const rows = std::make_shared<posenc::cos_sin_rows<Real>>(of->f, of->positions);
  add(type + ", cos_sin_table", "posenc", library,
      [of, rows, table = posenc::cos_sin_table(of->f)] {
        table.write(of->positions, *rows);
        return rows->cos(0).data();
      });
  add(type + ", cos_sin_rows", "posenc", library, [of, rows] {
    *rows = posenc::cos_sin_rows<Real>(of->f, of->positions);
    return rows->cos(0).data();
  });
}

}  // namespace

void add_rows(report& r) {
  auto const* const t = r.add(
      table{.path = "rows",
            .title = "Rows of cosines and sines",
            .note = "ns per row of 64 pairs. Baselines: std::cos and std::sin of angles in double, "
                    "and in float (whose errors grow with the position).",
            .on_page = {{"float, row_maker", "rows by row_maker"},
                        {"float, cos_sin_table", "rows by cos_sin_table"}}});
  for (auto const tokens : {std::size_t{1}, std::size_t{256}}) {
    add_rows_of<float>(r, t, "float", tokens);
    add_rows_of<double>(r, t, "double", tokens);
  }
}

}  // namespace bench
