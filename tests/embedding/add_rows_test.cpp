#include "posenc/embedding/add_rows.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/storage.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

template <class T>
void adds_a_vector_to_each_head_of_a_token() {
  std::vector<T> numbers(2 * 2 * 3 + 2);  // two tokens of two heads, 7 numbers apart
  for (auto& x : numbers) store(x, arithmetic_t<T>(0.5));
  heads_view<T> const x(numbers.data(), {2, 2, 3}, {.token = 7, .head = 3});
  detail::add_rows(x, [](std::size_t token, auto vector) {
    for (std::size_t i = 0; i < vector.size(); ++i)
      vector[i] = static_cast<arithmetic_t<T>>(10 * token + i);
  });
  std::vector<double> actual;
  for (auto const& number : numbers) actual.push_back(static_cast<double>(load(number)));
  EXPECT_EQ(actual, (std::vector<double>{.5, 1.5, 2.5, .5, 1.5, 2.5, .5, 10.5, 11.5, 12.5, 10.5,
                                         11.5, 12.5, .5}));
}

TEST(add_rows, adds_a_vector_to_each_head_of_a_token_whatever_is_stored) {
  adds_a_vector_to_each_head_of_a_token<float>();
  adds_a_vector_to_each_head_of_a_token<double>();
  adds_a_vector_to_each_head_of_a_token<half>();
}

TEST(add_rows, needs_the_dims_of_the_encoding_and_a_position_per_token) {
  std::vector<float> numbers(2 * 3);
  heads_view const x(numbers.data(), {.tokens = 2, .heads = 1, .head_dim = 3});
  std::vector<std::int64_t> const positions{0, 1, 2};
  EXPECT_EQ(message_of([&] { detail::require_embeddings("rule", x, 4, positions); }),
            "posenc: rule: embeddings must have 4 numbers, got 3");
  EXPECT_EQ(message_of([&] { detail::require_embeddings("rule", x, 3, positions); }),
            "posenc: rule: there must be one position per token, got 3 positions for 2 tokens");
  EXPECT_NO_THROW(detail::require_embeddings("rule", x, 3, positions_view(positions).first(2)));
}

}  // namespace
