// Runs all cases in one process, in random order, and writes tables and report.csv.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/cpus.hpp"
#include "report/csv.hpp"
#include "report/page.hpp"
#include "report/section.hpp"
#include "suites.hpp"

namespace {

constexpr std::string_view help =
    R"(Measures posenc, prints tables and writes every case into report.csv.

Examples:
  posenc_bench
      all cases: half an hour
  posenc_bench --quick
      fewer samples: 2 to 5 minutes
  posenc_bench --page=bench
      writes what users run into bench/RESULTS.md, with the picture
  posenc_bench --benchmark_filter='/float/.*/20 KiB/'
      some cases; the options of Google Benchmark are:

)";

// Google Benchmark registers, filters, interleaves and repeats the cases, and JSON of it has their
// counters (--benchmark_out). Its reporters see one case at a time; a ratio needs the medians of
// two, without samples at noisy moments, so cases keep their samples and the tables come last.
struct silent : benchmark::BenchmarkReporter {
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  std::string samples = "25", page;
  double patience = 180;
  std::vector<char*> given(argv + 1, argv + argc);
  std::erase_if(given, [&](std::string_view option) {
    auto const is_quick = option == "--quick", is_page = option.starts_with("--page=");
    if (is_quick) samples = "3", patience = 10;
    if (is_page) page = option.substr(7);
    return is_quick || is_page;
  });
  for (std::string_view const option : given)
    if (option == "--help") std::cout << help << std::flush;  // benchmark::Initialize adds its own

  std::string defaults[] = {"--benchmark_enable_random_interleaving=true",
                            "--benchmark_repetitions=" + samples};
  std::vector<char*> arguments{argv[0], defaults[0].data(), defaults[1].data()};
  arguments.insert(arguments.end(), given.begin(), given.end());
  auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;

  auto const cpus = bench::allowed_cpus();
  if (!cpus.empty()) bench::stay_on(cpus.back());
  bench::report report;
  report.set_patience(patience);
  bench::add_rotation(report);
  bench::add_shapes(report);
  bench::add_around(report);
  bench::add_cache(report);
  bench::add_rows(report);
  bench::add_attention(report);
  bench::add_threads(report, cpus);
  bench::add_rules(report);
  silent display;
  benchmark::RunSpecifiedBenchmarks(&display);
  benchmark::Shutdown();
  if (report.is_empty()) return 0;

  bench::write_section(std::cout, report);
  std::ofstream csv("report.csv");
  bench::write_csv(csv, report);
  csv.close();
  if (!csv) return std::cerr << "cannot write report.csv\n", 1;
  if (!page.empty() && !bench::write_page(page, report))
    return std::cerr << "cannot write the page in " << page << '\n', 1;
}
