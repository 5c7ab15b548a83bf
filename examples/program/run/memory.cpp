#include "program/run/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "program/run/model.hpp"

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace run {
namespace {

std::string gigabytes(std::uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g GB", static_cast<double>(bytes) / 1e9);
  return text;
}

}  // namespace

std::uint64_t bytes_of_pass(decoder const& model, std::vector<layer_plan> const& plans,
                            std::size_t tokens, wanted const& what) {
  auto const& m = model.model();
  constexpr std::uint64_t number = sizeof(float);
  std::uint64_t const all = tokens, block = std::min(tokens, block_tokens);
  std::uint64_t of_token = sizeof(std::uint32_t) + 3 * sizeof(double), widest = 0;
  for (auto const& plan : plans)
    for (auto const& by : plan.ways) {
      auto const dims = by.says.head_dim;
      of_token += m.key_heads *
                  (any_format{by.keys}.bytes(dims) + any_format{by.values}.bytes(m.value_dim));
      widest = std::max<std::uint64_t>(widest, m.heads * std::max(dims, m.value_dim));
    }
  if (what.keeps_states || what.own != nullptr) of_token += m.width * number;
  if (what.measures_heads)  // sums by distance, and the weights of a group of heads
    of_token += m.layers.size() * m.heads * sizeof(double) + m.heads / m.key_heads * block * number;
  auto const logits = std::max<std::uint64_t>(
      m.vocabulary, std::min<std::uint64_t>(m.most_logits, block * m.vocabulary));
  auto bytes = all * of_token + logits * number * (what.own == nullptr ? 1 : 2);
  bytes += block * number * (4 * m.width + 8 * widest);
  return bytes;
}

std::optional<std::uint64_t> free_bytes() {
  std::optional<std::uint64_t> least;
#if __has_include(<sys/resource.h>)
  std::ifstream memory("/proc/meminfo");
  for (std::string key, unit; memory >> key;) {
    std::uint64_t kilobytes = 0;
    memory >> kilobytes;
    std::getline(memory, unit);
    if (key == "MemAvailable:") least = 1024 * kilobytes;
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    auto const used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::uint64_t const most = limit.rlim_cur;
    least = std::min(least.value_or(most), most - std::min(most, used));
  }
#endif
  return least;
}

void require_memory(std::string const& text, std::size_t tokens, std::uint64_t bytes) {
  auto const most = free_bytes();
  if (most && bytes > *most)
    throw std::runtime_error(text + ": " + std::to_string(tokens) + " tokens need " +
                             gigabytes(bytes) + " of memory beside the model's files, and " +
                             gigabytes(*most) + " are free; --tokens N takes the first N");
}

}  // namespace run
