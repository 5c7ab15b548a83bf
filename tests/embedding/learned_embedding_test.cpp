#include "posenc/embedding/learned_embedding.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "numbers.hpp"
#include "posenc/embedding/detail/add_rows.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/heads/storage.hpp"
#include "rejects.hpp"
#include "tolerance.hpp"

namespace {

using namespace posenc;

TEST(learned_embedding, adds_the_vector_of_the_position_to_every_head) {
  numbers::in_every_format([]<class T>() {
    constexpr std::size_t dim = 6, heads = 2;
    auto const table = numbers::random<T>(5 * dim, 3);
    for (std::int64_t const offset : {0, 2, -4}) {
      learned_embedding<T> const encoding(table, dim, offset);
      std::vector<std::int64_t> const vectors{4, 0, 0, 3};
      std::vector<std::int64_t> positions;
      for (auto const v : vectors) positions.push_back(v - offset);
      auto x = numbers::random<T>(4 * heads * dim);
      auto const before = x;
      encoding.embed(numbers::view(x, 4, dim), positions);
      for (std::size_t i = 0; i < x.size(); ++i) {
        auto expected = before[i];
        store(
            expected,
            load(before[i]) +
                load(table[static_cast<std::size_t>(vectors[i / (heads * dim)]) * dim + i % dim]));
        EXPECT_EQ(load(x[i]), load(expected)) << i;
      }
    }
  });
}

TEST(learned_embedding, a_table_of_any_format_goes_with_embeddings_of_any) {
  auto const table = numbers::random<bfloat16>(8);
  learned_embedding<bfloat16> const encoding(table, 4);
  std::vector<double> x(4, 1);
  encoding.embed(numbers::view(x, 1, 4), std::vector<std::int64_t>{1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(x[i], 1 + static_cast<double>(load(table[4 + i])));
}

TEST(learned_embedding, keeps_a_copy) {
  std::vector<float> table(4, 0.5F);
  learned_embedding<float> const encoding(table, 4);
  table.assign(4, 9);
  std::vector<float> x(4);
  encoding.embed(numbers::view(x, 1, 4), std::vector<std::int64_t>{0});
  EXPECT_EQ(x, std::vector<float>(4, 0.5F));
  EXPECT_EQ(encoding.dim(), 4u);
  EXPECT_EQ(encoding.vectors(), 1u);
}

TEST(learned_embedding, a_position_beyond_the_table_is_rejected_before_anything_is_changed) {
  auto const table = numbers::random<float>(5 * 4);
  auto const before = numbers::random<float>(3 * 4);
  auto x = before;
  auto const message = [&](std::int64_t offset, std::int64_t position) {
    learned_embedding<float> const encoding(table, 4, offset);
    std::vector<std::int64_t> const positions{1, 1 - offset, position};
    return message_of([&] { encoding.embed(numbers::view(x, 3, 4), positions); });
  };
  EXPECT_EQ(message(0, 5),
            "posenc: learned_embedding: positions must be within [0, 5), got 5 at token 2");
  EXPECT_EQ(message(0, -1),
            "posenc: learned_embedding: positions must be within [0, 5), got -1 at token 2");
  EXPECT_EQ(message(2, 3),
            "posenc: learned_embedding: positions must be within [-2, 3), got 3 at token 2");
  EXPECT_EQ(message(2, -3),
            "posenc: learned_embedding: positions must be within [-2, 3), got -3 at token 2");
  EXPECT_EQ(message(-1, 0),
            "posenc: learned_embedding: positions must be within [1, 6), got 0 at token 2");
  for (auto const far :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    for (std::int64_t const offset : {0, 2, -1})
      EXPECT_NE(message(offset, far).find("got " + std::to_string(far) + " at token 2"),
                std::string::npos);
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(learned_embedding, embeddings_of_another_shape_are_rejected_and_left_alone) {
  learned_embedding<float> const encoding(numbers::random<float>(5 * 4), 4);
  auto const before = numbers::random<float>(24);
  auto x = before;
  std::vector<std::int64_t> const two{0, 1}, three{0, 1, 2}, four{0, 1, 2, 3};
  EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 8), three); }),
            "posenc: learned_embedding: embeddings must have 4 numbers, got 8");
  for (auto const& positions : {two, four})
    EXPECT_EQ(message_of([&] { encoding.embed(numbers::view(x, 3, 4), positions); }),
              "posenc: learned_embedding: there must be one position per token, got " +
                  std::to_string(positions.size()) + " positions for 3 tokens");
  EXPECT_TRUE(numbers::same_bits(x, before));
}

TEST(learned_embedding, a_table_must_be_whole_vectors_of_finite_numbers) {
  auto const message = [](std::vector<double> const& table, std::size_t dim) {
    return message_of([&] { learned_embedding<double>(table, dim); });
  };
  EXPECT_EQ(message({1, 2}, 0), "posenc: learned_embedding: dim must be positive, got 0");
  EXPECT_EQ(message({}, 2),
            "posenc: learned_embedding: the table must be one or more vectors of 2 numbers, got 0 "
            "numbers");
  EXPECT_EQ(message({1, 2, 3}, 2),
            "posenc: learned_embedding: the table must be one or more vectors of 2 numbers, got 3 "
            "numbers");
  EXPECT_EQ(message({1, 2, 3, not_a_number()}, 2),
            "posenc: learned_embedding: the table must be finite, got NaN in vector 1");
  EXPECT_EQ(message({minus_infinity(), 2, 3, 4}, 2),
            "posenc: learned_embedding: the table must be finite, got -infinity in vector 0");
}

TEST(learned_embedding, obeys_the_laws_of_its_site) {
  auto const table = numbers::random<float>(6 * 10);
  auto const halves_table = numbers::random<half>(8 * 10);
  laws::obey_at_its_positions("float", learned_embedding<float>(table, 10), 10);
  laws::obey_at_its_positions("in 16 bits, the first two for none",
                              learned_embedding<half>(halves_table, 10, 2), 10);
  laws::obey_at_its_positions("in a scheme", scheme(learned_embedding<float>(table, 10)), 10);
}

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
