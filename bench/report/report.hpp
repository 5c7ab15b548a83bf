// The cases of a report, how they run, and what they are compared with.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "timing.hpp"

namespace bench {

struct measured_case;

/// One line of the report.
struct report_case {
  std::string suite, name, type, layout;
  std::size_t head_dim;
  std::string where;  ///< a cache level, or another heading of a column
  std::size_t rows;   ///< per pass

  std::vector<work> ways;                     ///< the fastest counts
  std::function<void()> prepare = [] {};      ///< before each repetition
  std::function<double()> max_error = {};     ///< once, before the first repetition
  measured_case const* limit = nullptr;       ///< the lower bound of the time
  measured_case const* plain_loop = nullptr;  ///< what a user would write
  measured_case const* eigen = nullptr;
  measured_case const* beside = nullptr;  ///< the speedup over it gets a sentence below the table
  bool in_table = true;                   ///< false: in report.csv only
};

struct measured_case : report_case {
  struct way {
    std::size_t passes = 0;
    std::vector<sample> samples;
  };
  std::vector<way> measured;
  std::optional<double> error;
};

using number = std::optional<double>;

class report {
 public:
  measured_case const* add(report_case c) {
    auto& added = cases_.emplace_back(measured_case{std::move(c), {}, {}});
    added.measured.resize(added.ways.size());
    for (std::size_t i = 0; i < added.ways.size(); ++i) {
      auto name = added.suite;
      for (auto const& part :
           {added.name, added.type, added.layout, std::to_string(added.head_dim), added.where}) {
        if (!part.empty()) name += '/' + part;
      }
      if (added.ways.size() > 1) name += "/way " + std::to_string(i + 1);
      benchmark::RegisterBenchmark(
          name.c_str(), [this, &added, i](benchmark::State& state) { run(added, i, state); })
          ->UseManualTime()
          ->Iterations(1);
    }
    return &added;
  }

  std::deque<measured_case> const& cases() const { return cases_; }
  bool is_empty() const { return std::ranges::none_of(cases_, has_run); }

  static bool has_run(measured_case const& c) {
    return std::ranges::any_of(c.measured, [](auto const& way) { return !way.samples.empty(); });
  }

  number ns_per_row(measured_case const* c) const {
    if (c == nullptr || !has_run(*c)) return {};
    auto least = std::numeric_limits<double>::max();
    for (auto const& way : c->measured) {
      if (!way.samples.empty()) least = std::min(least, median(way));
    }
    return least * 1e9 / static_cast<double>(c->rows);
  }
  number of_limit(measured_case const& c) const { return ratio(c.limit, c); }
  number times_plain_loop(measured_case const& c) const { return ratio(c.plain_loop, c); }
  number times_eigen(measured_case const& c) const { return ratio(c.eigen, c); }
  number times_beside(measured_case const& c) const { return ratio(c.beside, c); }

  struct repetitions {
    std::size_t all = 0, rerun = 0, left_out = 0, only_slow = 0;
  };
  repetitions count() const {
    repetitions n;
    n.rerun = watch_.rerun();
    for (auto const& c : cases_) {
      for (auto const& way : c.measured) {
        auto const slow = static_cast<std::size_t>(
            std::ranges::count_if(way.samples, [&](auto const& s) { return watch_.is_slow(s); }));
        n.all += way.samples.size();
        if (slow > 0 && slow == way.samples.size()) {
          ++n.only_slow;
        } else {
          n.left_out += slow;
        }
      }
    }
    return n;
  }

 private:
  void run(measured_case& c, std::size_t i, benchmark::State& state) {
    if (c.max_error && !c.error) c.error = c.max_error();
    auto& way = c.measured[i];
    for (auto _ : state) {
      auto const s = watch_.measure(c.prepare, c.ways[i], way.passes);
      way.samples.push_back(s);
      state.SetIterationTime(s.seconds);
      state.counters["ns_per_row"] = s.seconds * 1e9 / static_cast<double>(c.rows);
      state.counters["clock"] = s.clock;
    }
  }

  // Repetitions at full clock; all, if there are none.
  double median(measured_case::way const& way) const {
    std::vector<double> seconds;
    for (auto const& s : way.samples) {
      if (!watch_.is_slow(s)) seconds.push_back(s.seconds);
    }
    if (seconds.empty()) {
      for (auto const& s : way.samples) seconds.push_back(s.seconds);
    }
    std::ranges::sort(seconds);
    auto const middle = seconds.size() / 2;
    return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  }

  number ratio(measured_case const* baseline, measured_case const& c) const {
    auto const theirs = ns_per_row(baseline), ours = ns_per_row(&c);
    if (!theirs || !ours) return {};
    return *theirs / *ours;
  }

  std::deque<measured_case> cases_;
  stopwatch watch_;
};

}  // namespace bench
