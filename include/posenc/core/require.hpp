// Errors, thrown as std::invalid_argument; without exceptions, they end the program.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/fast_math.hpp"
#include "posenc/core/target.hpp"

#if !defined(__cpp_exceptions) && (defined(__ELF__) || defined(__wasm__))
/// A program without exceptions (-fno-exceptions) may define it, as [[noreturn]], to be called on
/// an error with the text of std::invalid_argument. If it is not defined, and on systems without
/// weak symbols (macOS, Windows), the text goes to stderr and the program aborts. If a library
/// defines it, link with -Wl,-u,posenc_on_error.
extern "C" [[noreturn, gnu::weak]] void posenc_on_error(char const* sentence);
#endif

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

inline std::string shown(std::string_view text) { return std::string(text); }

// By the C library, and strings below by their members: files for several instruction sets would
// share templates of the standard library with instructions of one of them (g++ 16).
inline std::string shown(std::integral auto number) {
  char digits[24];
  auto const size =
      number < 0
          ? std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number))
          : std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number));
  return {digits, static_cast<std::size_t>(size)};
}

inline std::string shown(double number) {
  if (!is_finite(number)) {
    auto const bits = detail::bit_cast<std::uint64_t>(number);
    return bits << 12 != 0 ? "NaN" : bits >> 63 != 0 ? "-infinity" : "infinity";
  }
  char digits[32];
#if defined(__cpp_lib_to_chars) || defined(_LIBCPP_VERSION) || defined(_MSC_VER)
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
#else  // g++ 10
  for (int count = 6; std::snprintf(digits, sizeof digits, "%.*g", count, number) > 0; ++count)
    if (count == 17 || std::strtod(digits, nullptr) == number) break;
  return digits;
#endif
}

// Appends a part of a sentence. Not inlined: every error has its own kinds of parts.
[[gnu::cold, gnu::noinline]] inline void append(std::string& sentence, std::string_view text) {
  sentence += text;
}
template <class Number>
requires std::is_arithmetic_v<Number>
[[gnu::cold, gnu::noinline]] void append(std::string& sentence, Number number) {
  sentence += shown(number);
}

/// While it lives, errors of this thread are prefixed with `where` (a file, an object in it),
/// unless they name it or an enclosing context themselves.
class error_context {
 public:
  explicit error_context(std::string where) : where_(std::move(where)), outer_(innermost) {
    innermost = this;
  }
  error_context(error_context const&) = delete;
  error_context& operator=(error_context const&) = delete;
  ~error_context() { innermost = outer_; }

  static std::string placed(std::string const& sentence) {
    for (auto const* context = innermost; context != nullptr; context = context->outer_)
      if (sentence.find(context->where_) != std::string::npos) return sentence;
    if (innermost == nullptr) return sentence;
    return std::string(innermost->where_).append(": ").append(sentence);
  }

 private:
  static inline constinit thread_local error_context const* innermost = nullptr;
  std::string where_;
  error_context const* outer_;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void raise(std::string const& sentence) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
  throw std::invalid_argument(sentence);
#else
#if defined(__ELF__) || defined(__wasm__)
  if (posenc_on_error != nullptr) posenc_on_error(sentence.c_str());
#endif
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::abort();
#endif
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(Parts... parts) {
  std::string sentence;
  (append(sentence, parts), ...);
  raise(error_context::placed(sentence).insert(0, "posenc: "));
}

/// Unless `holds`, throws the parts joined, numbers in their shortest exact form.
template <class... Parts>
POSENC_ALWAYS_INLINE constexpr void require(bool holds, Parts const&... parts) {
  if (!holds) [[unlikely]]
    // Numbers by value: the address of a variable would keep it in memory wherever it is checked.
    refuse<std::conditional_t<std::is_arithmetic_v<Parts>, Parts, Parts const&>...>(parts...);
}

/// Each throws std::invalid_argument, "`what`: `name` must be ..., got x", unless x is so.
constexpr void require_positive(char const* what, char const* name, double x) {
  require(is_finite(x) && x > 0, what, ": ", name, " must be finite and positive, got ", x);
}
constexpr void require_not_negative(char const* what, char const* name, double x) {
  require(is_finite(x) && x >= 0, what, ": ", name, " must be finite and not negative, got ", x);
}
constexpr void require_above_1(char const* what, char const* name, double x) {
  require(is_finite(x) && x > 1, what, ": ", name, " must be finite and above 1, got ", x);
}
constexpr void require_within(char const* what, char const* name, double x, double least,
                              double most) {
  require(is_finite(x) && least <= x && x <= most, what, ": ", name, " must be in [", least, ", ",
          most, "], got ", x);
}

/// Unless all numbers are finite, throws "`what` must be finite, got " and the first that is not,
/// followed by `where` and the index of its group of `group`.
void require_finite(char const* what, auto const& numbers, char const* where = nullptr,
                    std::size_t group = 1) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_finite(static_cast<double>(numbers[i]))) continue;
    if (where == nullptr) refuse(what, " must be finite, got ", static_cast<double>(numbers[i]));
    refuse(what, " must be finite, got ", static_cast<double>(numbers[i]), where, i / group);
  }
}

}}}  // namespace posenc::detail
