#include "laws/score_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace {

using namespace posenc;

/// Every encoding of scores, in some configurations: one line each, and for how many heads it is.
template <class Law>
void for_every_encoding(Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding, std::size_t heads) {
    SCOPED_TRACE(name);
    law(encoding, heads);
  };
  obey("alibi, 8 heads", alibi(8), 8);
  obey("alibi, 1 head", alibi(1), 1);
  obey("alibi, BLOOM's 112 heads", alibi(112), 112);
  obey("alibi, max_bias 16", alibi(12, 16), 12);
  obey("several", scheme(adaptive_temperature{}, alibi(5)), 5);
  obey("nope", nope(), 4);
}

TEST(score_laws, adjustment_depends_on_distance_alone) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::adjustment_depends_on_distance_alone(e, heads); });
}

TEST(score_laws, a_query_meets_its_own_position_unchanged) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::a_query_meets_its_own_position_unchanged(e, heads); });
}

TEST(score_laws, a_penalty_never_falls_with_distance) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::a_penalty_never_falls_with_distance(e, heads); });
}

TEST(score_laws, adjustment_is_added_whatever_the_score) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::adjustment_is_added(e, heads); });
}

TEST(score_laws, the_order_of_keys_does_not_matter) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::the_order_of_keys_does_not_matter(e, heads); });
}

TEST(score_laws, a_masked_score_stays_masked) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::a_masked_score_stays_masked(e, heads); });
}

TEST(score_laws, a_row_without_keys_stays_empty) {
  for_every_encoding([]<class E>(E const& e, std::size_t heads) { laws::a_row_without_keys_stays_empty(e, heads); });
}

}  // namespace
