// Attention in tasks gives the bits of attention in one, whoever takes which piece and when.

#include "posenc/attention/block_attention.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "attention/random_heads.hpp"
#include "attention/same_results.hpp"
#include "executors.hpp"
#include "numbers.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/query_key/distance_remapping.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;

/// Decoding, up to few_rows and beyond, blocks and more, products that Eigen takes for small ones.
constexpr attention_sizes split_problems[] = {
    {1, 77, 8, 2, 32, 32}, {2, 40, 4, 1, 19, 33},  {1, 30, 9, 9, 16, 3},  {9, 9, 1, 1, 4, 4},
    {9, 9, 3, 3, 4, 4},    {140, 150, 2, 1, 8, 8}, {70, 80, 16, 2, 8, 8}, {3, 0, 2, 1, 8, 8}};

template <class S, class Encoding>
void expect_same_in_tasks(attention_sizes const& p, Encoding const& encoding,
                          attention_options options = {}) {
  SCOPED_TRACE(testing::Message() << p.queries << " queries, " << p.keys << " keys, " << p.heads
                                  << " heads over " << p.kv_heads);
  random_heads<S> const x(p);
  options.keep_scores = options.keep_weights = true;
  if (p.queries > p.keys) options.query_positions = std::vector<std::int64_t>(p.queries, 3);
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
  attention_workspace<arithmetic_t<S>> workspace;
  executors::in_every_split([&](auto const& split) {
    expect_same_results(
        attention(split, x.q_view(), x.k_view(), x.v_view(), encoding, options, workspace),
        expected);
  });
}

TEST(attention_in_tasks, gives_the_bits_of_one_under_encodings_of_every_site) {
  for (auto const& p : split_problems) {
    expect_same_in_tasks<float>(p, nope());
    expect_same_in_tasks<float>(p, scheme(soft_cap(2)), {.mask = mask::sliding_window(5)});
    if (p.head_dim % 2 != 0) continue;
    rope<halves> const turning(geometric(p.head_dim, 1e4));
    expect_same_in_tasks<float>(p, scheme(turning, alibi(p.heads), adaptive_temperature{}));
    expect_same_in_tasks<float>(p, self_extend(turning, 8, 4));
  }
}

TEST(attention_in_tasks, gives_the_bits_of_one_in_other_formats) {
  for (auto const& p : split_problems) {
    expect_same_in_tasks<double>(p, alibi(p.heads));
    expect_same_in_tasks<bfloat16>(p, alibi(p.heads));
  }
}

TEST(attention_in_tasks, takes_a_prepared_encoding_and_pages) {
  constexpr attention_sizes p{40, 40, 4, 2, 8, 8};
  random_heads<float> const x(p);
  std::vector<std::int64_t> at(p.keys);
  for (std::size_t t = 0; t < at.size(); ++t) at[t] = static_cast<std::int64_t>(t);
  paged_heads const k(x.k.data(), {10, 4, p.kv_heads, p.head_dim}, at),
      v(x.v.data(), {10, 4, p.kv_heads, p.value_dim}, at);
  rope<halves> const encoding(geometric(p.head_dim, 1e4));
  prepared_encoding<float, rope<halves>> const step(encoding, at, at);
  auto const expected = attention(x.q_view(), x.k_view(), x.v_view(), encoding);
  executors::in_every_split([&](auto const& split) {
    attention_workspace<float> workspace;
    expect_same_results(attention(split, x.q_view(), k, v, step, {}, workspace), expected);
  });
}

/// Throws amid the work.
struct fails {
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    if (row.head == 1) throw std::invalid_argument("head 1 fails");
  }
};

TEST(attention_in_tasks, throws_what_an_encoding_throws_when_all_have_ended) {
  random_heads<float> const x({9, 9, 3, 3, 4, 4});
  executors::in_every_split([&](auto const& split) {
    EXPECT_EQ(message_of([&] { attention(split, x.q_view(), x.k_view(), x.v_view(), fails()); }),
              "head 1 fails");
  });
}

TEST(attention_in_tasks, refuses_what_attention_does_before_any_task) {
  random_heads<float> const x({9, 9, 3, 3, 4, 4});
  auto const never = [](std::size_t, task const&) { ADD_FAILURE() << "a task was begun"; };
  EXPECT_EQ(
      message_of([&] { attention(tasks(2, never), x.q_view(), x.k_view(), x.v_view(), alibi(2)); }),
      message_of([&] { attention(x.q_view(), x.k_view(), x.v_view(), alibi(2)); }));
}

}  // namespace
