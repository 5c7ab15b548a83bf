#include "laws/score_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/attention_bias.hpp"
#include "posenc/score/cope.hpp"
#include "posenc/score/fire.hpp"
#include "posenc/score/forgetting.hpp"
#include "posenc/score/kerple.hpp"
#include "posenc/score/learned_relative.hpp"
#include "posenc/score/sandwich.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/score/t5_bias.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace {

using namespace posenc;

/// What an encoding promises beyond the laws of all.
enum promise : unsigned {
  of_distance = 1,   ///< depends on query - key, not on the positions themselves
  none_at_zero = 2,  ///< leaves a query's own position alone
  penalty = 4,       ///< never raises a score, and lowers it no less the farther the key
  added = 8,         ///< adds the same whatever the score
};
constexpr unsigned distance_penalty = of_distance | none_at_zero | penalty | added;

std::vector<float> numbers_of(std::size_t count) { return numbers::random<float>(count, 8); }

fire fire_below_threshold() {
  return {{.hidden_weights = numbers_of(32),
           .hidden_biases = numbers_of(32),
           .output_weights = numbers_of(96),
           .output_biases = numbers_of(3)},
          {.c = 0.1, .threshold = 2e6}};
}

/// Gates for all keys and queries of the laws of penalties and of sums.
forgetting forgetting_of_2_heads() {
  constexpr std::int64_t first = -70'000, last = 1000;
  auto log_gates = numbers_of(static_cast<std::size_t>(last - first + 1) * 2);
  for (auto& g : log_gates) g -= 1;
  return {log_gates, 2, first};
}

/// Every encoding of scores, in some configurations: one line each, with its number of heads and
/// what it promises. A law is tested with the encodings that promise all that it needs.
template <class Law>
void for_every_encoding(unsigned promised, Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding, std::size_t heads,
                                 unsigned promises) {
    SCOPED_TRACE(name);
    if ((promises & promised) == promised) law(encoding, heads);
  };
  obey("alibi, 8 heads", alibi(8), 8, distance_penalty);
  obey("alibi, 1 head", alibi(1), 1, distance_penalty);
  std::vector<float> const all_alike(100'000, -0.3f);
  obey("attention_bias", attention_bias(all_alike, 1, 1, all_alike.size()), 1, added);
  obey("alibi, BLOOM's 112 heads", alibi(112), 112, distance_penalty);
  obey("alibi, max_bias 16", alibi(12, 16), 12, distance_penalty);
  obey("kerple_log", kerple_log({{.p = 1.3, .a = 0.7}, {.p = 0, .a = 0}}), 2, distance_penalty);
  obey("kerple_power", kerple_power({{.p = 0.4, .a = 0.7}, {.p = 2, .a = 3}, {.p = 0, .a = 0}}), 3,
       distance_penalty);
  obey("sandwich", sandwich(3), 3, of_distance | none_at_zero | added);
  obey("t5_bias, bidirectional", t5_bias(relative_buckets(32, 128, true), numbers_of(64), 2), 2,
       of_distance | added);
  obey("t5_bias, causal", t5_bias(relative_buckets(32, 128, false), numbers_of(64), 2), 2,
       of_distance | added);
  obey("learned_relative", learned_relative(numbers_of(39), 3, 6), 3, of_distance | added);
  obey("fire, up to its threshold", fire_below_threshold(), 3, of_distance | added);
  obey("forgetting", forgetting_of_2_heads(), 2, penalty | added);
  obey("cope", cope(numbers_of(6 * laws::head_dim), laws::head_dim), 2, of_distance);
  obey("soft_cap", soft_cap(0.5), 2, of_distance);
  obey("several", scheme(adaptive_temperature{}, alibi(5), nope()), 5, distance_penalty);
  obey("several of scores",
       scheme(kerple_log({{.p = 1, .a = 1}}), learned_relative(numbers_of(3), 1, 1)), 1,
       of_distance);  // rounded twice
}

TEST(score_laws, adjustment_depends_on_distance_alone) {
  for_every_encoding(of_distance, []<class E>(E const& e, std::size_t heads) {
    laws::adjustment_depends_on_distance_alone(e, heads);
  });
}

TEST(score_laws, a_query_meets_its_own_position_unchanged) {
  for_every_encoding(none_at_zero, []<class E>(E const& e, std::size_t heads) {
    laws::a_query_meets_its_own_position_unchanged(e, heads);
  });
}

TEST(score_laws, a_penalty_never_falls_with_distance) {
  for_every_encoding(penalty, []<class E>(E const& e, std::size_t heads) {
    laws::a_penalty_never_falls_with_distance(e, heads);
  });
}

TEST(score_laws, adjustment_is_added_whatever_the_score) {
  for_every_encoding(
      added, []<class E>(E const& e, std::size_t heads) { laws::adjustment_is_added(e, heads); });
}

TEST(score_laws, the_order_of_keys_does_not_matter) {
  for_every_encoding(0, []<class E>(E const& e, std::size_t heads) {
    laws::the_order_of_keys_does_not_matter(e, heads);
  });
}

TEST(score_laws, a_masked_score_stays_masked) {
  for_every_encoding(0, []<class E>(E const& e, std::size_t heads) {
    laws::a_masked_score_stays_masked(e, heads);
  });
}

TEST(score_laws, a_row_without_keys_stays_empty) {
  for_every_encoding(0, []<class E>(E const& e, std::size_t heads) {
    laws::a_row_without_keys_stays_empty(e, heads);
  });
}

}  // namespace
