#pragma once

/// Every type that numbers are stored in, posenc's own and others'.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <type_traits>

#include "core/own_storage.hpp"
#include "numbers.hpp"
#include "posenc/heads/storage.hpp"

/// Calls `test` for each type that is stored in 16 bits.
template <class Test>
void in_every_16_bit_type(Test&& test) {
  auto const in = [&]<class T>(std::type_identity<T>, char const* name) {
    SCOPED_TRACE(name);
    test.template operator()<T>();
  };
  in(std::type_identity<posenc::half>(), "half");
  in(std::type_identity<posenc::bfloat16>(), "bfloat16");
  in(std::type_identity<Eigen::half>(), "Eigen::half");
  in(std::type_identity<Eigen::bfloat16>(), "Eigen::bfloat16");
  in(std::type_identity<engine::brain_float>(), "engine::brain_float");
}

/// Calls `test` for each type.
template <class Test>
void in_every_type(Test&& test) {
  numbers::in_float_and_double(test);
  in_every_16_bit_type(test);
}
