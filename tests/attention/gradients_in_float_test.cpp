/// The gradients of attention in float, of everything that is computed with as float. In double,
/// and laws: gradients_test.cpp.
#include <gtest/gtest.h>

#include "attention/chain_rule.hpp"
#include "oracle/rotary.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"

namespace {

using namespace posenc;

TEST(attention_backward_in_float, is_the_chain_rule) {
  for (auto const& given : chain_rule::every_shape()) chain_rule::expect<float>(given, nope(), {});
}

TEST(attention_backward_in_float, is_the_chain_rule_of_numbers_that_are_stored_in_two_bytes) {
  for (auto const& given : {textbook::problem{"some", 4, 6, 2, 1, 6, 5},
                            textbook::problem{"many", 12, 15, 4, 2, 7, 3}}) {
    chain_rule::expect<half>(given, nope(), {});
    chain_rule::expect<bfloat16>(given, nope(), {});
  }
}

TEST(attention_backward_in_float, is_the_chain_rule_of_rotated_queries_and_keys_with_biases) {
  for (auto const& given : {textbook::problem{"some", 3, 9, 4, 2, 8, 8},
                            textbook::problem{"two blocks", 140, 145, 4, 2, 4, 3}}) {
    scheme const encoding(rope<halves>(geometric(given.head_dim, 1e4)), alibi(given.heads));
    chain_rule::expect<float>(given, encoding, {oracle::inv_freq(given.head_dim, 1e4), true});
  }
}

}  // namespace
