#pragma once

/// Test numbers in every storage format; comparison bit for bit.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace numbers {

/// Uniform in [-1, 1], stored as T; the same for the same seed.
template <posenc::storable T>
std::vector<T> random(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 bits(seed);
  std::vector<T> result(count);
  for (auto& x : result)
    posenc::store(
        x, static_cast<posenc::arithmetic_t<T>>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1));
  return result;
}

/// The stored numbers, exactly.
template <posenc::storable T>
std::vector<double> exact(std::vector<T> const& stored) {
  std::vector<double> result;
  for (auto const& x : stored) result.push_back(static_cast<double>(posenc::load(x)));
  return result;
}

template <posenc::storable T>
posenc::heads_view<T> view(std::vector<T>& stored, std::size_t tokens, std::size_t head_dim) {
  return {stored.data(), {tokens, stored.size() / (tokens * head_dim), head_dim}};
}

/// Compares bits: -0 is not 0, and NaN equals itself; under -ffast-math too.
template <posenc::storable T>
testing::AssertionResult same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  if (a.size() != b.size())
    return testing::AssertionFailure() << a.size() << " numbers and " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    return testing::AssertionFailure() << posenc::load(a[i]) << " and " << posenc::load(b[i])
                                       << " at " << i << " of " << a.size();
  }
  return testing::AssertionSuccess();
}

/// Calls `test` for float, double, half and bfloat16.
template <class Test>
void in_every_format(Test&& test) {
  auto const in = [&]<class T>(std::type_identity<T>, char const* name) {
    SCOPED_TRACE(name);
    test.template operator()<T>();
  };
  in(std::type_identity<float>(), "float");
  in(std::type_identity<double>(), "double");
  in(std::type_identity<posenc::half>(), "half");
  in(std::type_identity<posenc::bfloat16>(), "bfloat16");
}

/// Calls `test` for float and double.
template <class Test>
void in_float_and_double(Test&& test) {
  {
    SCOPED_TRACE("float");
    test.template operator()<float>();
  }
  {
    SCOPED_TRACE("double");
    test.template operator()<double>();
  }
}

}  // namespace numbers
