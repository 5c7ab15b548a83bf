#pragma once

/// Memory between pages that must not be touched: who reads or writes beyond an array that ends
/// there stops the program, without a sanitizer.

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

/// Memory for one buffer at a time, of up to 3 MiB.
class guarded_buffer {
 public:
  /// Where a buffer is: next to the guard page above or below it, one byte from either, or in its
  /// own heap block.
  enum class location {
    below_guard,
    above_guard,
    on_the_heap,
    a_byte_below_guard,
    a_byte_above_guard
  };

  guarded_buffer()
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        size_((least_size + page_ - 1) / page_ * page_) {
    auto* const all =
        mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return;
    first_ = static_cast<std::byte*>(all) + page_;
    is_open_ = mprotect(first_, size_, PROT_READ | PROT_WRITE) == 0;
  }
  guarded_buffer(guarded_buffer const&) = delete;
  guarded_buffer& operator=(guarded_buffer const&) = delete;
  ~guarded_buffer() {
    if (first_ != nullptr) munmap(first_ - page_, size_ + 2 * page_);
  }

  bool is_open() const { return is_open_; }
  bool holds(std::size_t bytes) const { return is_open_ && bytes <= size_; }

  /// A copy of the numbers, valid until the next call.
  template <class T>
  T* put(location at, std::vector<T> const& numbers) {
    auto const bytes = numbers.size() * sizeof(T);
    heap_.reset();
    auto* to = first_;
    if (at == location::a_byte_above_guard) to = first_ + 1;
    if (at == location::below_guard) to = first_ + size_ - bytes;
    if (at == location::a_byte_below_guard) to = first_ + size_ - bytes - 1;
    if (at == location::on_the_heap) heap_ = std::make_unique<std::byte[]>(bytes), to = heap_.get();
    std::memcpy(to, numbers.data(), bytes);
    return reinterpret_cast<T*>(to);
  }

 private:
  static constexpr std::size_t least_size = std::size_t{3} << 20;
  std::size_t page_, size_;
  std::byte* first_ = nullptr;
  bool is_open_ = false;
  std::unique_ptr<std::byte[]> heap_;
};

#endif
