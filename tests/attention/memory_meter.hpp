#pragma once

/// How many bytes operator new has given to the program: now, and at most since `peak` was set.
/// For one file of a program; not under a sanitizer, which watches the ends of such memory.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sanitized.hpp"

namespace memory_meter {

inline std::atomic<std::size_t> held = 0, peak = 0;
inline constexpr std::size_t room = alignof(std::max_align_t);  // for a size, before the memory

}  // namespace memory_meter

#if !defined(POSENC_TEST_SANITIZED)
void* operator new(std::size_t bytes) {
  using namespace memory_meter;
  auto* const all = static_cast<std::byte*>(std::malloc(room + bytes));
  if (all == nullptr) throw std::bad_alloc();
  std::memcpy(all, &bytes, sizeof bytes);
  auto const now = held += bytes;
  for (auto most = peak.load(); most < now && !peak.compare_exchange_weak(most, now);) {
  }
  return all + room;
}
void operator delete(void* memory) noexcept {
  using namespace memory_meter;
  if (memory == nullptr) return;
  auto* const all = static_cast<std::byte*>(memory) - room;
  std::size_t bytes;
  std::memcpy(&bytes, all, sizeof bytes);
  held -= bytes;
  std::free(all);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
#endif
