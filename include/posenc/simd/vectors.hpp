// Registers by the vector types of g++ and clang, for builds without xsimd: what posenc uses of
// xsimd, by the same names. x86.hpp and neon.hpp have what these types cannot say.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/target.hpp"
#include "posenc/simd/neon.hpp"
#include "posenc/simd/x86.hpp"

#if defined(POSENC_WITHOUT_XSIMD) && !defined(POSENC_NO_REGISTERS)

POSENC_QUIET_BEGIN

namespace posenc { inline namespace POSENC_TARGET { namespace detail::vectors {

/// A register of so many bytes.
template <std::size_t Bytes>
struct width {};
#if defined(__AVX512F__)
using widest = width<64>;
#elif defined(__AVX__)
using widest = width<32>;
#else
using widest = width<16>;
#endif

template <class T, class Width = widest>
struct batch;

template <class T>
using has_simd_register = std::is_arithmetic<T>;

/// The lanes of a register, and the CPU's own type of it, which x86.hpp and neon.hpp take.
template <class T, std::size_t Bytes>
struct lanes_of {
  typedef T lanes __attribute__((vector_size(Bytes)));
#if defined(__SSE2__)
  typedef std::conditional_t<std::integral<T>, long long, T> type
      __attribute__((vector_size(Bytes)));
#else
  using type = lanes;
#endif
};
#if defined(__ARM_NEON)
template <>
struct lanes_of<float, 16> {
  typedef float lanes __attribute__((vector_size(16)));
  using type = float32x4_t;
};
template <>
struct lanes_of<double, 16> {
  typedef double lanes __attribute__((vector_size(16)));
  using type = float64x2_t;
};
#endif

/// Lanes whose bits are all ones, or all zeros.
template <class T, class Width>
struct batch_bool {
  using integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using bits = batch<integer, Width>;
  typename bits::lanes all;

  bits integers() const noexcept { return bits::of(all); }

  friend batch_bool operator&(batch_bool const& a, batch_bool const& b) noexcept {
    return {a.all & b.all};
  }
};

template <class T, std::size_t Bytes>
requires std::is_arithmetic_v<T>
struct batch<T, width<Bytes>> {
  using value_type = T;
  using arch_type = width<Bytes>;
  using batch_bool_type = batch_bool<T, arch_type>;
  using lanes = typename lanes_of<T, Bytes>::lanes;
  using register_type = typename lanes_of<T, Bytes>::type;
  static constexpr std::size_t size = Bytes / sizeof(T);

  register_type data;

  /// The same at any address. (By memcpy, g++ would move it as integers, and keep less of it in
  /// registers.)
  struct [[gnu::packed, gnu::may_alias]] unaligned {
    register_type data;
  };

  batch() = default;
  batch(T x) noexcept : data(reinterpret_cast<register_type>(x - lanes{})) {}  // of -0 too
  batch(register_type x) noexcept : data(x) {}
  static batch of(lanes const& x) noexcept { return reinterpret_cast<register_type>(x); }
  lanes all() const noexcept { return reinterpret_cast<lanes>(data); }

  static batch load_unaligned(T const* from) noexcept {
    return reinterpret_cast<unaligned const*>(from)->data;
  }
  void store_unaligned(T* to) const noexcept { reinterpret_cast<unaligned*>(to)->data = data; }

  friend batch operator+(batch const& a, batch const& b) noexcept { return of(a.all() + b.all()); }
  friend batch operator-(batch const& a, batch const& b) noexcept { return of(a.all() - b.all()); }
  friend batch operator*(batch const& a, batch const& b) noexcept { return of(a.all() * b.all()); }
  friend batch operator/(batch const& a, batch const& b) noexcept { return of(a.all() / b.all()); }
  friend batch operator&(batch const& a, batch const& b) noexcept { return of(a.all() & b.all()); }
  friend batch operator|(batch const& a, batch const& b) noexcept { return of(a.all() | b.all()); }
  friend batch operator^(batch const& a, batch const& b) noexcept { return of(a.all() ^ b.all()); }
  friend batch operator<<(batch const& a, int n) noexcept { return of(a.all() << n); }
  friend batch operator>>(batch const& a, int n) noexcept { return of(a.all() >> n); }
  batch operator-() const noexcept { return of(-all()); }
  batch operator~() const noexcept { return of(~all()); }
  friend batch_bool_type operator<(batch const& a, batch const& b) noexcept {
    return {a.all() < b.all()};
  }
  friend batch_bool_type operator>=(batch const& a, batch const& b) noexcept {
    return {a.all() >= b.all()};
  }
  friend batch_bool_type operator==(batch const& a, batch const& b) noexcept {
    return {a.all() == b.all()};
  }
  friend batch_bool_type operator!=(batch const& a, batch const& b) noexcept {
    return {a.all() != b.all()};
  }
};

template <class To, class From, class Width>
batch<To, Width> bitwise_cast(batch<From, Width> const& x) noexcept {
  return batch<To, Width>::of(reinterpret_cast<typename batch<To, Width>::lanes>(x.data));
}

/// As compilers and x86 have it: y where either is NaN.
template <class T, class Width>
batch<T, Width> max(batch<T, Width> const& x, batch<T, Width> const& y) noexcept {
  return batch<T, Width>::of(x.all() > y.all() ? x.all() : y.all());
}
template <class T, class Width>
batch<T, Width> min(batch<T, Width> const& x, batch<T, Width> const& y) noexcept {
  return batch<T, Width>::of(x.all() < y.all() ? x.all() : y.all());
}
template <class T, class Width>
batch<T, Width> select(batch_bool<T, Width> const& first, batch<T, Width> const& a,
                       batch<T, Width> const& b) noexcept {
  return batch<T, Width>::of(first.all ? a.all() : b.all());
}

template <class T, class Width>
bool any(batch_bool<T, Width> const& x) noexcept {
  return any_bit(bitwise_cast<std::uint32_t>(x.integers()).data);
}
template <class T, class Width>
bool all(batch_bool<T, Width> const& x) noexcept {
  return !any_bit(bitwise_cast<std::uint32_t>(~x.integers()).data);
}

template <class T, class Width>
auto to_float(batch<T, Width> const& x) noexcept {
  using result = batch<std::conditional_t<sizeof(T) == 4, float, double>, Width>;
  return result::of(__builtin_convertvector(x.all(), typename result::lanes));
}
/// Towards zero.
template <class Width>
batch<std::int32_t, Width> to_int(batch<float, Width> const& x) noexcept {
  using result = batch<std::int32_t, Width>;
  if constexpr (requires { truncated(x.data); }) {
    return truncated(x.data);
  } else {
    return result::of(__builtin_convertvector(x.all(), typename result::lanes));
  }
}

/// x y + z, and x y - z, rounded twice: registers.hpp asks for fused() before.
template <class T, class Width>
batch<T, Width> fma(batch<T, Width> const& x, batch<T, Width> const& y,
                    batch<T, Width> const& z) noexcept {
  return x * y + z;
}
template <class T, class Width>
batch<T, Width> fms(batch<T, Width> const& x, batch<T, Width> const& y,
                    batch<T, Width> const& z) noexcept {
  return x * y - z;
}

/// Lane i of the result: lane From::get(i, size) of x and y, one after the other.
template <class From, class T, class Width>
batch<T, Width> shuffled(batch<T, Width> const& x, batch<T, Width> const& y) noexcept {
  using result = batch<T, Width>;
  return [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) POSENC_INLINED {
    constexpr auto n = static_cast<unsigned>(result::size);
#if defined(__clang__)
    return result::of(__builtin_shufflevector(x.all(), y.all(), From::get(i, n)...));
#else
    using index = batch_bool<T, Width>::integer;
    return result::of(__builtin_shuffle(
        x.all(), y.all(), typename batch<index, Width>::lanes{index{From::get(i, n)}...}));
#endif
  }
  (std::make_integer_sequence<unsigned, static_cast<unsigned>(result::size)>());
}

template <class Order>
struct batch_constant {};
template <class Index, class Order, class Width>
batch_constant<Order> make_batch_constant() noexcept {
  return {};
}
template <class T, class Width, class Order>
batch<T, Width> swizzle(batch<T, Width> const& x, batch_constant<Order>) noexcept {
  return shuffled<Order>(x, x);
}

/// Pairs in memory, their first and their second numbers in registers.
template <class T, std::size_t Bytes>
struct batch<std::complex<T>, width<Bytes>> {
  using part = batch<T, width<Bytes>>;
  part x, y;

  template <unsigned Odd>
  struct every_second {
    static constexpr unsigned get(unsigned i, unsigned) noexcept { return 2 * i + Odd; }
  };
  template <unsigned Half>
  struct alternating {
    static constexpr unsigned get(unsigned i, unsigned n) noexcept {
      return (Half * n + i) / 2 + i % 2 * n;
    }
  };

  batch(part const& real, part const& imag) noexcept : x(real), y(imag) {}
  static batch load_unaligned(std::complex<T> const* from) noexcept {
    auto const* const at = reinterpret_cast<T const*>(from);
    auto const first = part::load_unaligned(at), last = part::load_unaligned(at + part::size);
    return {shuffled<every_second<0>>(first, last), shuffled<every_second<1>>(first, last)};
  }
  void store_unaligned(std::complex<T>* to) const noexcept {
    auto* const at = reinterpret_cast<T*>(to);
    shuffled<alternating<0>>(x, y).store_unaligned(at);
    shuffled<alternating<1>>(x, y).store_unaligned(at + part::size);
  }
  part real() const noexcept { return x; }
  part imag() const noexcept { return y; }
};

/// The register of so many numbers, or void.
template <class T, std::size_t Size>
struct make_sized_batch {
  static constexpr std::size_t bytes = Size * sizeof(T);
  using type = std::conditional_t<bytes >= 16, batch<T, width<bytes>>, void>;
};

}}}  // namespace posenc::detail::vectors

POSENC_QUIET_END

#endif
