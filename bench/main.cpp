// Runs all cases in one process, in random order, and writes a table and report.csv.
//
//     posenc_bench                                      some minutes
//     posenc_bench --quick                              fewer repetitions
//     posenc_bench --benchmark_filter='/float/.*/L1'    and whatever else Google Benchmark knows
#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/csv.hpp"
#include "report/machine.hpp"
#include "report/table.hpp"
#include "suites.hpp"

namespace {

// Google Benchmark registers, filters, interleaves and repeats the cases, and JSON of it has their
// counters (--benchmark_out). Its reporters see one case at a time; a ratio needs the medians of
// two, without repetitions at a slow clock, so cases keep their samples and the table comes last.
struct quiet : benchmark::BenchmarkReporter {
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const&) override {}
};

void write_repetitions(std::ostream& out, bench::report::repetitions const& n) {
  out << n.all << " repetitions; at a clock more than 10 % slower than the fastest: " << n.rerun
      << " rerun at once, " << n.left_out << " left out of the medians\n";
  if (n.only_slow > 0)
    out << n.only_slow
        << " cases were never seen at full clock: theirs are medians of slow repetitions\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::string repetitions = "25";
  std::vector<char*> given(argv + 1, argv + argc);
  if (std::erase_if(given, [](char const* a) { return std::string_view(a) == "--quick"; }) > 0)
    repetitions = "5";

  std::string defaults[] = {"--benchmark_enable_random_interleaving=true",
                            "--benchmark_repetitions=" + repetitions};
  std::vector<char*> arguments{argv[0], defaults[0].data(), defaults[1].data()};
  arguments.insert(arguments.end(), given.begin(), given.end());
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;

  bench::report report;
  bench::add_rotation(report);
  bench::add_around(report);
  bench::add_rows(report);
  bench::add_attention(report);
  quiet display;
  benchmark::RunSpecifiedBenchmarks(&display);
  benchmark::Shutdown();
  if (report.is_empty()) return 0;

  bench::write_table(std::cout, report);
  std::cout << '\n';
  bench::write_machine(std::cout);
  write_repetitions(std::cout, report.count());
  std::ofstream csv("report.csv");
  bench::write_csv(csv, report);
  csv.close();
  if (!csv) return std::cerr << "cannot write report.csv\n", 1;
}
