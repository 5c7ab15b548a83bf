#include "posenc/softmax/constant_temperature.hpp"

#include <gtest/gtest.h>

#include <string>

#include "laws/softmax_laws.hpp"
#include "non_numbers.hpp"
#include "posenc/core/scheme.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

TEST(constant_temperature, is_the_same_for_every_row) {
  constant_temperature const encoding(1.75);
  for (row_statistics const& row :
       {row_statistics{}, row_statistics{.keys = 1},
        row_statistics{.keys = 4096, .max = 9, .entropy = 5, .head = 3, .query_position = -7}})
    EXPECT_EQ(encoding.inverse_temperature(row), 1.75);
}

TEST(constant_temperature, several_multiply) {
  EXPECT_EQ(scheme(constant_temperature(1.5), constant_temperature(0.25)).inverse_temperature({}),
            0.375);
}

TEST(constant_temperature, can_be_known_at_compile_time) {
  static_assert(constant_temperature(2).inverse_temperature({}) == 2);
}

TEST(constant_temperature, beta_must_be_finite_and_positive) {
  auto const message = [](double beta) { return message_of([&] { constant_temperature{beta}; }); };
  std::string const must = "posenc: constant_temperature: beta must be finite and positive, got ";
  EXPECT_EQ(message(0), must + "0");
  EXPECT_EQ(message(-1.5), must + "-1.5");
  EXPECT_EQ(message(not_a_number()), must + "NaN");
  EXPECT_EQ(message(infinity()), must + "infinity");
}

TEST(constant_temperature, obeys_the_laws_of_its_site) {
  laws::obey("sharpening", constant_temperature(2.5), laws::never_flattens);
  laws::obey("flattening", constant_temperature(0.125), laws::may_flatten);
}

}  // namespace
