// The machine that a report was made on: absolute numbers hold for no other.
#pragma once

#include <benchmark/benchmark.h>

#include <fstream>
#include <ostream>
#include <string>

namespace bench {

inline std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

inline void write_machine(std::ostream& out) {
  auto const& cpu = benchmark::CPUInfo::Get();
  out << cpu_model() << ", " << cpu.num_cpus << " CPUs\n";
  for (auto const& cache : cpu.caches) {
    if (cache.type != "Instruction")
      out << 'L' << cache.level << ' ' << cache.size / 1024 << " KiB  ";
  }
#if defined(__clang__)
  out << "\nclang++ " __clang_version__;
#else
  out << "\ng++ " __VERSION__;
#endif
  out << ' ' << POSENC_BENCH_FLAGS << '\n';
}

}  // namespace bench
