// std::bit_cast, also where the standard library lacks it (Debian 11: g++ 10, clang).
#pragma once

#include <bit>
#include <version>

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

#if defined(__cpp_lib_bit_cast)
using std::bit_cast;
#else
template <class To, class From>
requires(sizeof(To) == sizeof(From)) constexpr To bit_cast(From const& from) noexcept {
#if defined(__clang__)
  return __builtin_bit_cast(To, from);
#else  // of which g++ 10 makes no constant
  To to{};
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
#endif
}
#endif

}}}  // namespace posenc::detail
