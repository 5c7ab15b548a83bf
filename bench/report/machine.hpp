// The machine, the compiler and the commit that a report was made with: its numbers hold for no
// other.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#if defined(__linux__)
#include <unistd.h>
#endif

namespace bench {

/// What /proc/cpuinfo says of the first CPU.
inline std::map<std::string, std::string> cpu_info() {
  std::map<std::string, std::string> cpu;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && !line.empty();) {
    auto const colon = line.find(':');
    if (colon == line.npos || colon + 2 > line.size()) continue;
    cpu.emplace(line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1),
                line.substr(colon + 2));
  }
  return cpu;
}

/// "AMD EPYC 9R45 (family 26, model 2)". Virtual machines hide names behind ones like "Intel Xeon
/// Processor"; the numbers tell kinds apart.
inline std::string cpu_model() {
  auto cpu = cpu_info();
  if (!cpu.contains("model name")) return "an unknown CPU";
  auto name = cpu["model name"];
  for (auto const* const mark : {"(R)", "(TM)"}) {
    while (name.find(mark) != name.npos) name.erase(name.find(mark), std::string(mark).size());
  }
  return name + " (family " + cpu["cpu family"] + ", model " + cpu["model"] + ")";
}

/// Of AMD's CPUs: "Zen 4".
inline std::string architecture() {
  auto cpu = cpu_info();
  if (cpu["vendor_id"] != "AuthenticAMD") return "";
  bool const has_avx512 = cpu["flags"].find("avx512f") != std::string::npos;
  if (cpu["cpu family"] == "26") return "Zen 5";
  return cpu["cpu family"] == "25" && has_avx512 ? "Zen 4" : "";
}

/// "L1 48 KiB, L2 1 MiB", as the C library knows them: virtual machines hide them in /sys.
inline std::string caches() {
  std::string text;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  for (auto const& [name, which] : {std::pair{"L1 ", _SC_LEVEL1_DCACHE_SIZE},
                                    {"L2 ", _SC_LEVEL2_CACHE_SIZE},
                                    {"L3 ", _SC_LEVEL3_CACHE_SIZE}}) {
    auto const kib = sysconf(which) / 1024;
    if (kib <= 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(name) +
            (kib < 1024 ? std::to_string(kib) + " KiB" : std::to_string(kib / 1024) + " MiB");
  }
#endif
  return text;
}

/// What a section is about: the CPU; the compiler unless it is g++, and what it was asked to
/// compile for unless that is this CPU. "Zen 5: AMD EPYC (family 26, model 2)"
inline std::string section_title() {
  auto const kind = architecture();
  auto title = (kind.empty() ? "" : kind + ": ") + cpu_model();
#if defined(__clang__)
  title += ", clang++";
#endif
  std::string const flags = POSENC_BENCH_FLAGS, march = "-march=";
  auto const from = flags.rfind(march);
  auto const target =
      from == flags.npos
          ? "no -march"
          : flags.substr(from + march.size(), flags.find(' ', from) - from - march.size());
  return target == "native" ? title : title + ", " + target;
}

inline std::string compiler_and_flags() {
#if defined(__clang__)
  return "clang++ " __clang_version__ " " POSENC_BENCH_FLAGS;
#else
  return "g++ " __VERSION__ " " POSENC_BENCH_FLAGS;
#endif
}

/// As git describes it, with -dirty where files differ from it: before the page and the picture are
/// written, which are such files.
inline std::string const& commit() {
  static auto const once = [] {
    std::string text;
    if (auto* const git = popen("git -C " POSENC_BENCH_SOURCE " describe --always --dirty", "r")) {
      std::array<char, 64> line{};
      if (std::fgets(line.data(), line.size(), git) != nullptr) text = line.data();
      pclose(git);
    }
    return text.empty() ? "unknown" : text.substr(0, text.find('\n'));
  }();
  return once;
}

inline std::string made_by() {
  auto const sizes = caches();
  return compiler_and_flags() + ". " + (sizes.empty() ? "" : sizes + ". ") + "Commit " + commit() +
         '.';
}

}  // namespace bench
