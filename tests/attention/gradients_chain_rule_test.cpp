/// The gradients of attention as the chain rule has them, in every format; laws and finite differences: gradients_test.cpp.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "attention/chain_rule.hpp"
#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"

namespace {

using namespace posenc;
using textbook::positions;

template <class T>
void expect_chain_rule(textbook::problem const& given) {
  SCOPED_TRACE(given.name);
  chain_rule::comparison<T>(given).expect(nope(), {});
}

TEST(attention_backward_in_every_format, is_the_chain_rule) {
  numbers::in_every_format([]<class T>() {
    expect_chain_rule<T>({"causal", 9, 9, 2, 2, 8, 8});
    expect_chain_rule<T>({"one query", 1, 20, 4, 2, 6, 5});
    expect_chain_rule<T>({"groups", 12, 15, 6, 2, 7, 3});
  });
}

TEST(attention_backward_in_every_format, is_the_chain_rule_of_rotated_queries_and_keys_with_biases) {
  numbers::in_float_and_double([]<class T>() {
    for (auto const& given : {textbook::problem{"causal", 9, 9, 4, 2, 8, 8}, textbook::problem{"two blocks", 140, 145, 4, 2, 4, 3}}) {
      SCOPED_TRACE(given.name);
      scheme const encoding(rope<halves>(geometric(given.head_dim, 1e4)), alibi(given.heads));
      chain_rule::comparison<T>(given).expect(encoding, {oracle::inv_freq(given.head_dim, 1e4), true});
    }
  });
}

TEST(attention_backward_in_every_format, of_more_than_a_block_of_queries_is_that_of_each) {
  positions shuffled(20);
  for (std::size_t s = 0; s < 20; ++s) shuffled[s] = static_cast<std::int64_t>(7 * s % 20);
  numbers::in_float_and_double([&]<class T>() {
    expect_chain_rule<T>({"257", 257, 257, 1, 1, 4, 4});
    expect_chain_rule<T>({"groups", 150, 60, 4, 2, 2, 3, mask::full, positions(150)});
    expect_chain_rule<T>({"in no order", 300, 20, 1, 1, 2, 2, mask::causal, positions(300, 7), shuffled});
    expect_chain_rule<T>({.name = "window",
                          .queries = 260,
                          .keys = 260,
                          .heads = 1,
                          .kv_heads = 1,
                          .head_dim = 3,
                          .value_dim = 2,
                          .visible = mask::causal & mask::sliding_window(20),
                          .sees = [](std::size_t, std::size_t, std::int64_t t, std::int64_t s) { return s <= t && t - s < 20; }});
  });
}

TEST(attention_backward_in_every_format, reads_views_with_any_strides) {
  for (auto const where : {memory::padded, memory::heads_first, memory::backwards}) {
    expect_chain_rule<float>({"some", 5, 7, 4, 2, 8, 6, mask::causal, {}, {}, {}, where});
    expect_chain_rule<float>({"many", 12, 14, 4, 2, 8, 6, mask::full, {}, {}, {}, where});
  }
}

}  // namespace
