#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <sstream>

#include "reading.hpp"
#include "reporting/csv.hpp"
#include "reporting/svg_chart.hpp"
#include "reporting/text.hpp"

namespace ring {
namespace {

constexpr std::size_t most_rows = 16;  // of one split

// A curve a split, of one number for each of so many ranks or steps.
charts::chart by_split(charts::chart c, measurement const& m, std::size_t numbers, auto&& number) {
  double most = 0;
  for (auto const& o : m.outcomes) {
    charts::series s{.name = name_of(o.how)};
    for (std::size_t i = 0; i < numbers; ++i) {
      s.x.push_back(static_cast<double>(i));
      s.y.push_back(number(o, i));
      most = std::max(most, s.y.back());
    }
    c.curves.push_back(std::move(s));
  }
  c.y_range = {0, 1.05 * most};
  return c;
}

double mean_pairs(outcome const& o, std::size_t parts) {
  return static_cast<double>(o.counted.total()) / static_cast<double>(parts);
}

double seconds_of(std::vector<double> const& steps, std::size_t rank, std::size_t ranks) {
  auto const first = steps.begin() + static_cast<std::ptrdiff_t>(rank * ranks);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(ranks), 0.0);
}

charts::chart busiest_ranks(measurement const& m) {
  return by_split({"work of the busiest rank", {"step"}, {"pairs, mean = 1"}}, m, m.ranks,
                  [&](outcome const& o, std::size_t step) {
                    return static_cast<double>(o.counted.longest(step)) /
                           mean_pairs(o, m.ranks * m.ranks);
                  });
}

charts::chart work_of_ranks(measurement const& m) {
  return by_split({"work of each rank", {"rank"}, {"pairs, mean = 1"}}, m, m.ranks,
                  [&](outcome const& o, std::size_t rank) {
                    return static_cast<double>(o.counted.of_rank(rank)) / mean_pairs(o, m.ranks);
                  });
}

charts::chart seconds_of_ranks(measurement const& m) {
  return by_split({"time that each rank computed, as measured", {"rank"}, {"milliseconds"}}, m,
                  m.ranks, [&](outcome const& o, std::size_t rank) {
                    return 1e3 * seconds_of(o.computed, rank, m.ranks);
                  });
}

charts::chart efficiencies(measurement const& m) {
  charts::chart c{"share of time that is work", {"ranks", true}, {"share"}};
  for (auto const& o : m.outcomes) {
    charts::series s{.name = name_of(o.how)};
    for (std::size_t ranks = 1; ranks <= std::min<std::size_t>(m.of.tokens, 64); ranks *= 2) {
      s.x.push_back(static_cast<double>(ranks));
      s.y.push_back(count_work(o.how, m.of.tokens, ranks).efficiency());
    }
    c.curves.push_back(std::move(s));
  }
  c.y_range = {0, 1.05};
  return c;
}

void print_table(std::ostream& out, measurement const& m) {
  char line[128];
  auto const row = [&](auto const*... cells) {
    std::snprintf(line, sizeof line, "%-10s %5s %7s %13s %7s %9s %9s", cells...);
    out << line << '\n';
  };
  row("split", "rank", "tokens", "pairs seen", "of mean", "computed", "waited");
  for (auto const& o : m.outcomes) {
    for (std::size_t rank = 0; rank < m.ranks; ++rank) {
      auto const milliseconds = [&](std::vector<double> const& steps) {
        return fixed(1e3 * seconds_of(steps, rank, m.ranks), 1) + " ms";
      };
      auto const pairs = o.counted.of_rank(rank);
      row(rank == 0 ? name_of(o.how).c_str() : "", std::to_string(rank).c_str(),
          std::to_string(positions_of(o.how, m.of.tokens, rank, m.ranks).size()).c_str(),
          grouped(pairs).c_str(),
          fixed(static_cast<double>(pairs) / mean_pairs(o, m.ranks), 2).c_str(),
          milliseconds(o.computed).c_str(), milliseconds(o.waited).c_str());
      if (rank + 1 < m.ranks && rank + 1 == most_rows) {
        out << std::string(11, ' ') << "... and " << m.ranks - most_rows
            << " ranks more, which --csv writes\n";
        break;
      }
    }
  }
}

}  // namespace

void print(std::ostream& out, measurement const& m, charts::terminal_style style) {
  charts::print_folded(out, title_of(m), style.columns);
  out << '\n';
  print_table(out, m);
  out << '\n';
  if (m.ranks > 1) charts::print_beside(out, busiest_ranks(m), efficiencies(m), style, 7);
  for (auto const& sentence : reading(m)) charts::print_folded(out, sentence, style.columns);
}

void write_csv(std::ostream& out, measurement const& m) {
  charts::csv csv(out, {"split", "rank", "step", "keys_of_rank", "queries", "pairs", "bytes_sent",
                        "computed_seconds", "waited_seconds"});
  for (auto const& o : m.outcomes) {
    auto const tokens_of = [&](std::size_t rank) {
      return positions_of(o.how, m.of.tokens, rank, m.ranks).size();
    };
    for (std::size_t rank = 0; rank < m.ranks; ++rank)
      for (std::size_t step = 0; step < m.ranks; ++step) {
        auto const owner = (rank + m.ranks - step) % m.ranks, at = rank * m.ranks + step;
        auto const sent =
            step + 1 < m.ranks ? tokens_of(owner) * m.of.key_value_size() * sizeof(float) : 0;
        csv.line(name_of(o.how), rank, step, owner, tokens_of(rank), o.counted.pairs[rank][step],
                 sent, o.computed[at], o.waited[at]);
      }
  }
}

std::string to_svg(measurement const& m) {
  std::vector<charts::chart> all{efficiencies(m)};
  if (m.ranks > 1) all = {work_of_ranks(m), busiest_ranks(m), seconds_of_ranks(m), efficiencies(m)};
  return charts::svg(all, {.title = "Ring attention: who waits for whom", .subtitle = title_of(m)});
}

}  // namespace ring
