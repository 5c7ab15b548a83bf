#include "posenc/core/cpu.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

// The value of the first line of /proc/cpuinfo that begins with `key`.
std::string of_cpuinfo(std::string const& key) {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    auto const colon = line.find(": ");
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

TEST(is_zen, says_what_the_system_says) {
  auto const vendor = of_cpuinfo("vendor_id"), family = of_cpuinfo("cpu family");
  if (vendor.empty() || family.empty()) GTEST_SKIP() << "/proc/cpuinfo names no vendor and family";
#if defined(__x86_64__)
  bool const zen = vendor == "AuthenticAMD" && family == "25";
  EXPECT_EQ(posenc::detail::is_zen_3_or_4(), zen);
  EXPECT_EQ(posenc::detail::is_zen_4(),
            zen && of_cpuinfo("flags").find(" avx512f ") != std::string::npos);
#else
  EXPECT_FALSE(posenc::detail::is_zen_3_or_4() || posenc::detail::is_zen_4());
#endif
}

}  // namespace
