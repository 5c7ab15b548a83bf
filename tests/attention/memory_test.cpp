#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/core/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "sanitized.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

using namespace posenc;

constexpr double mib = 1024.0 * 1024.0;

/// A line of Linux's /proc/self/status, in bytes; 0 where there is none.
double status(std::string const& name) {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return 1024 * std::stod(line.substr(name.size() + 1));
  }
  return 0;
}

/// Makes the memory that the process holds now its peak, as Linux does where it is told so. Whether
/// it did.
bool forget_peak() {
#if defined(__GLIBC__)
  malloc_trim(0);  // what was freed but is still held could be had again unnoticed
#endif
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  auto const held = status("VmRSS");
  return held > 0 && status("VmHWM") < held + mib;  // some kernels count pages in lots
}

/// What the last `queries` of 16384 tokens take at most while they attend to all before them, one
/// head of 128 numbers in float, in bytes: beside inputs and outputs.
double memory_of(std::size_t queries, auto const& encoding, attention_options const& options = {}) {
  constexpr std::size_t n = 16384, head_dim = 128;
  auto q = numbers::random<float>(queries * head_dim, 1),
       k = numbers::random<float>(n * head_dim, 2), v = numbers::random<float>(n * head_dim, 3);
  EXPECT_TRUE(forget_peak());
  auto const before = status("VmRSS");
  auto const result = attention(numbers::view(q, queries, head_dim), numbers::view(k, n, head_dim),
                                numbers::view(v, n, head_dim), encoding, options);
  auto const outputs =
      result.outputs.size() * sizeof(float) + result.log_sum_exp.size() * sizeof(double);
  return status("VmHWM") - before - static_cast<double>(outputs);
}

class attention_memory : public testing::Test {
 protected:
  void SetUp() override {
    if (is_sanitized) GTEST_SKIP() << "a sanitizer holds memory of its own";
    if (!forget_peak())
      GTEST_SKIP() << "the peak of memory cannot be measured: it takes Linux and a writable "
                      "/proc/self/clear_refs";
  }
};

TEST_F(attention_memory, of_16384_tokens_is_below_64_mib_beside_inputs_and_outputs) {
  EXPECT_LT(memory_of(16384, nope()), 64 * mib);
}

TEST_F(attention_memory, does_not_grow_with_the_number_of_queries_whatever_the_encoding) {
  scheme const encoding(rope<halves>(geometric(128, 1e4)), alibi(1), adaptive_temperature{});
  auto const few = memory_of(256, encoding), many = memory_of(640, encoding);
  EXPECT_LT(many, 64 * mib);
  EXPECT_LT(many - few, 8 * mib) << "a row of scores for each of 384 more queries would be 24 MiB";
}

TEST_F(attention_memory, is_seen_by_these_tests_where_scores_are_kept) {
  auto const none = memory_of(640, nope()), all = memory_of(640, nope(), {.keep_scores = true});
  EXPECT_NEAR(all - none, 40 * mib, 8 * mib);
}

}  // namespace
