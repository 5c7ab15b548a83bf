// A hash of what a call is given, by which workers see whether their arguments are equal.
#pragma once

#include <cstdint>
#include <span>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// A hash of values, not of addresses: workers may have copies of an array.
class argument_hash {
 public:
  void add(std::uint64_t x) noexcept {
    value_ = (value_ ^ x) * 0xff51'afd7'ed55'8ccdu;
    value_ ^= value_ >> 29;
  }
  void add(double x) noexcept { add(bit_cast<std::uint64_t>(x)); }
  void add(std::span<double const> numbers) noexcept {
    add(std::uint64_t{numbers.size()});
    for (auto const x : numbers) add(x);
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0x9e37'79b9'7f4a'7c15u;
};

}}}  // namespace posenc::detail
