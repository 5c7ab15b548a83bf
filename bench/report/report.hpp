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

/// A cell of a table shows its nanoseconds, the time of its limit / ours, the time of its fastest
/// baseline / ours, and of the case beside it:
enum class cells {
  speedup,  ///< its time / ours
  cost,     ///< our time / its
};

/// A line of a table that is on the page, and its name there.
struct page_line {
  std::string line, name;
};

struct table {
  std::string path, title;  ///< path: in names of cases
  std::string note = "";
  cells shows = cells::speedup;
  std::string error = "Largest error";  ///< what max_error of its cases is
  bool in_picture = false;
  std::vector<page_line> on_page = {};  ///< its lines on the page: what users run
};

struct measured_case;

/// What one way to do it costs: a cell of a table if it is posenc's, or what that is compared with.
struct report_case {
  table const* in;
  std::string line, column;  ///< of the table
  std::string by;            ///< "posenc", or the name of a baseline
  std::size_t items;         ///< per pass: what the nanoseconds are for

  std::vector<work> ways;                            ///< the fastest counts
  std::function<void()> prepare = [] {};             ///< before each sample
  std::function<double()> max_error = {};            ///< once, before the first sample
  measured_case const* limit = nullptr;              ///< a lower bound of the time
  std::vector<measured_case const*> baselines = {};  ///< what users would call or write instead
  measured_case const* beside = nullptr;             ///< the same without one difference
};

struct measured_case : report_case {
  struct way {
    std::size_t passes = 0;
    std::vector<sample> samples;
  };
  std::vector<way> measured;
  std::optional<double> error;

  bool is_ours() const { return by == "posenc"; }
};

using number = std::optional<double>;

class report {
 public:
  table const* add(table t) { return &tables_.emplace_back(std::move(t)); }

  measured_case const* add(report_case c) {
    auto& added = cases_.emplace_back(measured_case{std::move(c), {}, {}});
    added.measured.resize(added.ways.size());
    for (std::size_t i = 0; i < added.ways.size(); ++i) {
      auto name = added.in->path + '/' + added.line + '/' + added.column + '/' + added.by;
      if (added.ways.size() > 1) name += "/way " + std::to_string(i + 1);
      benchmark::RegisterBenchmark(
          name.c_str(), [this, &added, i](benchmark::State& state) { run(added, i, state); })
          ->UseManualTime()
          ->Iterations(1);
    }
    return &added;
  }

  void set_patience(double seconds) { watch_.set_patience(seconds); }

  std::deque<table> const& tables() const { return tables_; }
  std::deque<measured_case> const& cases() const { return cases_; }
  bool is_empty() const { return std::ranges::none_of(cases_, has_run); }

  static bool has_run(measured_case const& c) {
    return std::ranges::any_of(c.measured, [](auto const& way) { return !way.samples.empty(); });
  }

  number ns(measured_case const* c) const {
    if (c == nullptr || !has_run(*c)) return {};
    auto least = std::numeric_limits<double>::max();
    for (auto const& way : c->measured) {
      if (!way.samples.empty()) least = std::min(least, median(way));
    }
    return least * 1e9 / static_cast<double>(c->items);
  }
  /// Time of `theirs` / time of c.
  number ratio(measured_case const* theirs, measured_case const& c) const {
    auto const a = ns(theirs), b = ns(&c);
    if (!a || !b) return {};
    return *a / *b;
  }
  /// No sample of c was taken at a quiet moment: its time is the median of the others.
  bool is_noisy(measured_case const& c) const {
    return std::ranges::any_of(c.measured, [&](auto const& way) {
      return !way.samples.empty() && quiet_samples(way) == 0;
    });
  }
  measured_case const* fastest_baseline(measured_case const& c) const {
    measured_case const* fastest = nullptr;
    for (auto const* b : c.baselines) {
      if (ns(b) && (fastest == nullptr || *ns(b) < *ns(fastest))) fastest = b;
    }
    return fastest;
  }

  struct samples {
    std::size_t all = 0, repeated = 0, left_out = 0, noisy_cases = 0;
  };
  samples count() const {
    samples n;
    n.repeated = watch_.repeated();
    for (auto const& c : cases_) {
      n.noisy_cases += is_noisy(c);
      for (auto const& way : c.measured) {
        n.all += way.samples.size();
        n.left_out += way.samples.size() - quiet_samples(way);
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
      state.counters["ns"] = s.seconds * 1e9 / static_cast<double>(c.items);
    }
  }

  std::size_t quiet_samples(measured_case::way const& way) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(way.samples, [&](auto const& s) { return watch_.is_quiet(s); }));
  }

  double median(measured_case::way const& way) const {
    auto const any = quiet_samples(way) == 0;
    std::vector<double> seconds;
    for (auto const& s : way.samples) {
      if (any || watch_.is_quiet(s)) seconds.push_back(s.seconds);
    }
    std::ranges::sort(seconds);
    auto const middle = seconds.size() / 2;
    return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  }

  std::deque<table> tables_;
  std::deque<measured_case> cases_;
  stopwatch watch_;
};

}  // namespace bench
