#include "posenc/model/findings.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using sentences = std::vector<std::string>;

struct reader : posenc::detail::findings {
  reader() { take_defaults_from("the tests have it"); }
};

TEST(findings, records_a_sentence_once) {
  reader r;
  for (auto const* sentence : {"A.", "B.", "A."}) r.assume(sentence), r.note(sentence);
  EXPECT_EQ(r.found.assumptions, (sentences{"A.", "B."}));
  EXPECT_EQ(r.found.notes, (sentences{"A.", "B."}));
}

TEST(findings, says_which_default_it_takes_and_from_where) {
  reader r;
  EXPECT_EQ(r.assumed("head_dim", std::size_t{128}), 128u);
  EXPECT_EQ(r.assumed("rope_theta", 2.5e5), 2.5e5);
  EXPECT_EQ(r.found.assumptions,
            (sentences{"head_dim is not given: 128, as the tests have it.",
                       "rope_theta is not given: 250000, as the tests have it."}));
}

TEST(findings, lists_defaults_and_ignored_keys_for_programs) {
  using settings = std::vector<posenc::model_setting>;
  reader r;
  r.assumed("head_dim", std::size_t{128});
  r.assumed("head_dim", std::size_t{128});
  r.assume("layer_types", "sliding_attention", "All slide.");
  r.ignore({"rope_new", "3"});
  EXPECT_EQ(r.found.assumed, (settings{{"head_dim", "128"}, {"layer_types", "sliding_attention"}}));
  EXPECT_EQ(r.found.assumptions.back(), "All slide.");
  EXPECT_EQ(r.found.ignored, (settings{{"rope_new", "3"}}));
}

}  // namespace
