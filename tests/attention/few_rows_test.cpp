#include "posenc/attention/few_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "numbers.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc::detail;

// Rows of odd sizes, apart from each other, with one number more between them.
TEST(few_rows, are_the_products_of_their_definition) {
  numbers::in_float_and_double([]<class T>() {
    for (std::size_t const dims : {1u, 7u, 16u, 19u, 66u, 128u}) {
      for (std::size_t const keys : {1u, 5u, 40u}) {
        SCOPED_TRACE(testing::Message() << dims << " dims, " << keys << " keys");
        auto const stride = static_cast<std::ptrdiff_t>(dims + 1), across = static_cast<std::ptrdiff_t>(keys + 1);
        auto const q = numbers::random<T>(4 * (dims + 1), 1), k = numbers::random<T>(keys * (dims + 1), 2),
                   w = numbers::random<T>(4 * (keys + 1), 3);
        std::vector<T> scores(4 * (keys + 1), T{9}), outputs(4 * (dims + 1), T{9});
        few_scores<4, T>({scores.data(), across}, T(0.5), {q.data(), stride}, {k.data(), stride}, keys, dims);
        few_outputs<4, T>({outputs.data(), stride}, {w.data(), across}, {k.data(), stride}, keys, dims);
        for (std::size_t r = 0; r < 4; ++r) {
          for (std::size_t s = 0; s < keys; ++s) {
            long double sum = 0;
            for (std::size_t i = 0; i < dims; ++i)
              sum += static_cast<long double>(q[r * (dims + 1) + i]) * static_cast<long double>(k[s * (dims + 1) + i]);
            EXPECT_NEAR(static_cast<double>(scores[r * (keys + 1) + s]), static_cast<double>(sum / 2),
                        tolerance::of_dot_product<T>(dims, static_cast<double>(dims)));
          }
          for (std::size_t i = 0; i < dims; ++i) {
            long double sum = 0;
            for (std::size_t s = 0; s < keys; ++s)
              sum += static_cast<long double>(w[r * (keys + 1) + s]) * static_cast<long double>(k[s * (dims + 1) + i]);
            EXPECT_NEAR(static_cast<double>(outputs[r * (dims + 1) + i]), static_cast<double>(sum),
                        tolerance::of_dot_product<T>(keys, static_cast<double>(keys)));
          }
          EXPECT_EQ(scores[r * (keys + 1) + keys], 9) << "what lies between rows is left alone";
          EXPECT_EQ(outputs[r * (dims + 1) + dims], 9);
        }
      }
    }
  });
}

}  // namespace
