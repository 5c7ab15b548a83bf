#include "posenc/encoding/scheme.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "posenc/encoding/sites.hpp"
#include "rejects.hpp"
#include "site_2.hpp"

namespace {

using posenc::heads_view;
using posenc::nope;
using posenc::positions_view;
using posenc::row_statistics;
using posenc::scheme;
using posenc::score_row;

// Encodings that write down who acted, where, and on what.
struct diary {
  std::string entries;
  void write(std::string const& entry) { entries += entry + "; "; }
};

std::string seen(auto const& x, positions_view positions) {
  return std::to_string(x.head_dim()) + "@" + std::to_string(positions[0]);
}

struct at_embeddings {
  diary* to;
  std::string name;
  void embed(auto const& x, positions_view positions) const {
    to->write(name + ".embed " + seen(x, positions));
  }
};
struct at_queries_and_keys {
  diary* to;
  std::string name;
  template <class>
  auto prepare(positions_view at) const {
    return site_2::remembered(*this, at);
  }
  void queries_at(auto const& q, positions_view positions) const {
    to->write(name + ".queries " + seen(q, positions));
  }
  void keys_at(auto const& k, positions_view positions) const {
    to->write(name + ".keys " + seen(k, positions));
  }
};
struct at_scores {
  double times, plus;
  template <class T>
  void adjust_scores(score_row<T> row) const {
    for (auto& score : row.scores)
      score = static_cast<T>(times * static_cast<double>(score) + plus);
  }
};
struct at_softmax {
  double beta;
  double inverse_temperature(row_statistics const&) const { return beta; }
};
struct per_key {
  double inverse_temperature(row_statistics const& row) const {
    return static_cast<double>(row.keys);
  }
};
struct at_all {
  diary* to;
  std::string name;
  void embed(auto const& x, positions_view p) const { at_embeddings{to, name}.embed(x, p); }
  template <class>
  auto prepare(positions_view at) const {
    return site_2::remembered(at_queries_and_keys{to, name}, at);
  }
  void adjust_scores(auto const& row) const { row.scores[0] += 1; }
  double inverse_temperature(row_statistics const&) const { return 2; }
};

// A view of one head, and its position.
struct one_head {
  std::array<float, 2> numbers{0.5f, -3.0f};
  std::array<std::int64_t, 1> positions{7};
  heads_view<float> view() { return {numbers.data(), {1, 1, 2}}; }
};

double beta_of(auto const& encoding) {
  return encoding.inverse_temperature(row_statistics{.keys = 5});
}

float score_of(auto const& encoding, float score) {
  posenc::adjust_scores(encoding,
                        score_row<float>{.scores = {&score, 1}, .key_positions = {}, .query = {}});
  return score;
}

void run_all_of_sites_1_and_2(auto const& encoding, one_head& x) {
  if constexpr (requires { encoding.embed(x.view(), x.positions); })
    encoding.embed(x.view(), x.positions);
  if constexpr (posenc::acts_on_queries_and_keys<std::remove_cvref_t<decltype(encoding)>>) {
    site_2::encode_queries(encoding, x.view(), x.positions);
    site_2::encode_keys(encoding, x.view(), x.positions);
  }
}

TEST(scheme, acts_at_each_site_with_those_that_can_in_the_order_given) {
  diary acts;
  one_head x;
  run_all_of_sites_1_and_2(
      scheme{at_queries_and_keys{&acts, "a"}, at_embeddings{&acts, "b"}, at_softmax{3},
             at_all{&acts, "c"}, at_scores{1, 0}, at_queries_and_keys{&acts, "d"}},
      x);
  EXPECT_EQ(acts.entries,
            "b.embed 2@7; c.embed 2@7; "
            "a.queries 2@7; c.queries 2@7; d.queries 2@7; "
            "a.keys 2@7; c.keys 2@7; d.keys 2@7; ");
}

TEST(scheme, adjusts_scores_in_the_order_given) {
  EXPECT_EQ(score_of(scheme{at_scores{2, 0}, at_scores{1, 10}}, 1.0f), 12.0f);
  EXPECT_EQ(score_of(scheme{at_scores{1, 10}, at_softmax{9}, at_scores{2, 0}}, 1.0f), 22.0f);
}

TEST(scheme, multiplies_inverse_temperatures) {
  EXPECT_EQ(beta_of(scheme{at_softmax{1.5}, at_scores{1, 0}, at_softmax{4}, per_key{}}), 30);
}

TEST(scheme, is_an_encoding_and_nests) {
  static_assert(posenc::positional_encoding<scheme<at_scores>> &&
                posenc::positional_encoding<nope>);
  diary acts;
  one_head x;
  scheme const inner{at_embeddings{&acts, "b"}, at_softmax{4}, at_scores{2, 0}};
  scheme const outer{at_embeddings{&acts, "a"}, at_softmax{1.5}, inner, at_embeddings{&acts, "c"},
                     at_scores{1, 10}};
  run_all_of_sites_1_and_2(outer, x);
  EXPECT_EQ(acts.entries, "a.embed 2@7; b.embed 2@7; c.embed 2@7; ");
  EXPECT_EQ(beta_of(outer), 6);
  EXPECT_EQ(score_of(outer, 1.0f), 12.0f);
}

TEST(scheme, adjusts_scores_of_any_type) {
  double score = 0.1;
  posenc::adjust_scores(scheme{at_scores{1, 1}},
                        score_row<double>{.scores = {&score, 1}, .key_positions = {}, .query = {}});
  EXPECT_EQ(score, 1.1);
}

// Gradients that write down who pulled them back; those of scores are multiplied by the score
// before, as a square's are.
struct pulling {
  diary* to;
  std::string name;
  template <class>
  auto prepare(positions_view at) const {
    return site_2::remembered(*this, at);
  }
  void queries_at(auto const&, positions_view) const {}
  void keys_at(auto const&, positions_view) const {}
  void d_queries_at(auto const& d, positions_view positions) const {
    to->write(name + ".queries " + seen(d, positions));
  }
  void d_keys_at(auto const& d, positions_view positions) const {
    to->write(name + ".keys " + seen(d, positions));
  }
};
struct squared {
  diary* to;
  template <class T>
  void adjust_scores(score_row<T> row) const {
    to->write("adjusted");
    for (auto& score : row.scores) score *= score;
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    for (std::size_t s = 0; s < d_scores.size(); ++s) d_scores[s] *= 2 * before.scores[s];
    d_query[0] += before.query[0];
  }
};
struct bias_of {
  static constexpr bool is_bias = true;
  double plus;
  template <class T>
  void adjust_scores(score_row<T> row) const {
    at_scores{1, plus}.adjust_scores(row);
  }
};

TEST(scheme, pulls_gradients_back_from_the_last_to_the_first) {
  diary acts;
  one_head x;
  scheme const encoding{pulling{&acts, "a"}, at_softmax{3},
                        scheme{pulling{&acts, "b"}, pulling{&acts, "c"}}, pulling{&acts, "d"}};
  site_2::backward_queries(encoding, x.view(), x.positions);
  site_2::backward_keys(encoding, x.view(), x.positions);
  EXPECT_EQ(acts.entries,
            "d.queries 2@7; c.queries 2@7; b.queries 2@7; a.queries 2@7; "
            "d.keys 2@7; c.keys 2@7; b.keys 2@7; a.keys 2@7; ");
}

/// The gradient of a score of 3, and what was added to that of a query of 5.
std::array<double, 2> gradients_of(auto const& encoding, double d_score) {
  double const score = 3, query = 5;
  double d_query = 0;
  encoding.backward_scores(
      score_row<double const>{.scores = {&score, 1}, .key_positions = {}, .query = {&query, 1}},
      std::span(&d_score, 1), std::span(&d_query, 1));
  EXPECT_EQ(score, 3);
  return {d_score, d_query};
}

TEST(scheme, pulls_gradients_back_through_the_scores_that_each_encoding_saw) {
  using both = std::array<double, 2>;
  diary acts;
  squared const square{&acts};
  bias_of const plus_1{1};
  EXPECT_EQ(gradients_of(scheme{plus_1, square}, 10), (both{10 * 2 * 4, 5}));  // (x + 1)^2
  EXPECT_EQ(gradients_of(scheme{square, plus_1}, 10), (both{10 * 2 * 3, 5}));  // x^2 + 1
  EXPECT_EQ(gradients_of(scheme{square, at_softmax{2}, plus_1, square}, 10),
            (both{10 * 2 * 10 * 6, 10}));  // (x^2 + 1)^2
  EXPECT_EQ(gradients_of(scheme{plus_1, scheme{nope{}, scheme{plus_1, square}}, square}, 10),
            (both{10 * 2 * 25 * 2 * 5, 10}));
  EXPECT_EQ(gradients_of(scheme{plus_1}, 10), (both{10, 0}));
  EXPECT_EQ(gradients_of(scheme{nope{}, plus_1, nope{}}, 10), (both{10, 0}));
}

TEST(scheme, adjusts_scores_for_gradients_only_where_a_later_encoding_is_no_bias) {
  diary acts;
  bias_of const plus_1{1};
  gradients_of(scheme{squared{&acts}, plus_1, scheme{plus_1, nope{}}}, 1);
  EXPECT_EQ(acts.entries, "");
  gradients_of(scheme{squared{&acts}, squared{&acts}}, 1);
  EXPECT_EQ(acts.entries, "adjusted; ");
}

TEST(scheme, lets_gradients_through_where_all_its_encodings_do) {
  using posenc::detail::lets_through;
  static_assert(posenc::adds_bias<bias_of> && !posenc::adds_bias<squared> &&
                !posenc::adds_bias<at_scores>);
  static_assert(posenc::pulls_back_scores<squared> && !posenc::pulls_back_scores<bias_of>);
  static_assert(posenc::pulls_back_queries_and_keys<pulling> &&
                !posenc::pulls_back_queries_and_keys<at_queries_and_keys>);
  static_assert(lets_through<nope>::queries_and_keys && lets_through<nope>::scores &&
                lets_through<nope>::as_biases);
  static_assert(lets_through<at_softmax>::scores && lets_through<at_embeddings>::queries_and_keys);
  static_assert(!lets_through<at_scores>::scores &&
                !lets_through<scheme<nope, scheme<squared, at_scores>>>::scores);
  static_assert(lets_through<scheme<squared, bias_of>>::scores &&
                !lets_through<scheme<squared, bias_of>>::as_biases);
  static_assert(lets_through<scheme<bias_of, pulling, at_softmax>>::as_biases);
  static_assert(!lets_through<scheme<pulling, scheme<at_queries_and_keys>>>::queries_and_keys &&
                !lets_through<at_all>::scores);
}

// ---- at which sites a scheme acts

template <class E>
constexpr bool acts_at(bool embeddings, bool queries_and_keys, bool scores, bool softmax,
                       bool sink) {
  using namespace posenc;
  return acts_on_embeddings<E> == embeddings && acts_on_queries_and_keys<E> == queries_and_keys &&
         acts_on_scores<E> == scores && acts_on_softmax<E> == softmax && adds_sink<E> == sink;
}

struct sinking {
  double sink(std::size_t) const { return 0; }
};

TEST(scheme, acts_where_those_in_it_do_and_nowhere_else) {
  static_assert(acts_at<scheme<at_embeddings>>(true, false, false, false, false));
  static_assert(acts_at<scheme<at_queries_and_keys>>(false, true, false, false, false));
  static_assert(acts_at<scheme<at_scores>>(false, false, true, false, false));
  static_assert(acts_at<scheme<at_softmax>>(false, false, false, true, false));
  static_assert(acts_at<scheme<sinking>>(false, false, false, false, true));
  static_assert(acts_at<scheme<nope, scheme<at_embeddings, nope>, scheme<scheme<sinking>>>>(
      true, false, false, false, true));
  static_assert(acts_at<scheme<at_all, sinking>>(true, true, true, true, true));
}

TEST(scheme, pulls_back_where_all_that_act_in_it_do) {
  using namespace posenc;
  static_assert(pulls_back_queries_and_keys<scheme<pulling, at_softmax, scheme<pulling>>> &&
                !pulls_back_queries_and_keys<scheme<squared>>);
  static_assert(!pulls_back_queries_and_keys<scheme<pulling, scheme<at_queries_and_keys>>>);
  static_assert(adds_bias<scheme<bias_of, pulling, scheme<bias_of>>> &&
                !adds_bias<scheme<bias_of, squared>> && !adds_bias<scheme<pulling>>);
  static_assert(pulls_back_scores<scheme<bias_of, squared>> &&
                !pulls_back_scores<scheme<squared, at_scores>>);
  static_assert(!pulls_back_scores<scheme<at_softmax>>);
}

TEST(nope, acts_nowhere_and_is_an_encoding) {
  using posenc::positional_encoding;
  static_assert(acts_at<nope>(false, false, false, false, false) && positional_encoding<nope> &&
                posenc::acts_nowhere<nope>);
  static_assert(acts_at<scheme<nope, nope>>(false, false, false, false, false) &&
                positional_encoding<scheme<nope, scheme<nope, nope>>>);
  static_assert(!posenc::acts_nowhere<scheme<nope, at_softmax>> &&
                !posenc::acts_nowhere<at_softmax>);
  static_assert(!posenc::adds_bias<nope> && !posenc::pulls_back_scores<nope> &&
                !posenc::pulls_back_queries_and_keys<nope>);
}

TEST(scheme, holds_encodings_by_reference_as_by_value) {
  using namespace posenc;
  static_assert(acts_nowhere<scheme<nope const&>> && positional_encoding<scheme<nope const&>>);
  static_assert(adds_bias<scheme<bias_of const&>> && !adds_bias<scheme<squared const&>>);
}

// ---- heads

struct of_heads : at_softmax {
  std::size_t count = 0;
  std::size_t heads() const { return count; }
};
void require(auto const& encoding, std::size_t heads) {
  posenc::detail::require_heads("attention", encoding, heads);
}
std::string refused(auto const& encoding, std::size_t heads) {
  return message_of([&] { require(encoding, heads); });
}

TEST(scheme, has_as_many_heads_as_attention_or_any_number) {
  of_heads const four{{1}, 4}, five{{1}, 5};
  for (std::size_t const heads : {0u, 1u, 3u, 5u}) {
    auto const must =
        "posenc: attention: the encoding must have " + std::to_string(heads) + " heads, got 4";
    EXPECT_EQ(refused(four, heads), must);
    EXPECT_EQ(refused(scheme{nope{}, scheme{four, five}}, heads), must);
  }
  EXPECT_NO_THROW(require(four, 4));
  EXPECT_NO_THROW(require(scheme{four, nope{}}, 4));
  for (std::size_t const heads : {0u, 1u, 400u})
    EXPECT_NO_THROW(require(scheme{at_softmax{1}, nope{}}, heads));
}

template <class Inner>
struct around {
  static constexpr bool wraps_encodings = true;
  Inner inner;
  double inverse_temperature(row_statistics const& row) const
      requires(posenc::acts_on_softmax<Inner>) {
    return inner.inverse_temperature(row);
  }
  void require_heads(char const* function, std::size_t count) const {
    scheme<Inner const&>(inner).require_heads(function, count);
  }
};

TEST(scheme, asks_for_the_heads_of_what_a_wrapper_wraps) {
  of_heads const four{{1}, 4};
  for (std::size_t const heads : {0u, 3u, 5u}) {
    EXPECT_EQ(refused(around<of_heads>{four}, heads), refused(four, heads));
    EXPECT_EQ(refused(scheme{around<scheme<of_heads>>{scheme{four}}}, heads), refused(four, heads));
  }
  EXPECT_NO_THROW(require(around<of_heads>{four}, 4));
}

namespace encoding_heads {

using namespace posenc;

/// Writes down what it was asked for.
struct by_token {
  std::vector<std::size_t>& asked;
  void encode_queries(heads_view<float> const&, std::size_t token) const { note(1, token); }
  void encode_keys(heads_view<float> const&, std::size_t token) const { note(2, token); }
  void backward_queries(heads_view<float> const&, std::size_t token) const { note(3, token); }
  void backward_keys(heads_view<float> const&, std::size_t token) const { note(4, token); }
  void note(std::size_t what, std::size_t token) const { asked.insert(asked.end(), {what, token}); }
};

struct by_head {
  std::vector<std::size_t>& asked;
  using x = heads_view<float>;
  void encode_queries(x const&, std::size_t token, std::size_t head) const { note(1, token, head); }
  void encode_keys(x const&, std::size_t token, std::size_t head) const { note(2, token, head); }
  void backward_queries(x const&, std::size_t token, std::size_t head) const {
    note(3, token, head);
  }
  void backward_keys(x const&, std::size_t token, std::size_t head) const { note(4, token, head); }
  void note(std::size_t what, std::size_t token, std::size_t head) const {
    asked.insert(asked.end(), {what, token, head});
  }
};

template <class Prepared>
std::vector<std::size_t> asked() {
  std::vector<std::size_t> result;
  Prepared const prepared{result};
  heads_view<float> const none(nullptr, {0, 1, 2});
  detail::encode_queries(prepared, none, 5, 7);
  detail::encode_keys(prepared, none, 6, 8);
  detail::backward_queries(prepared, none, 9, 11);
  detail::backward_keys(prepared, none, 10, 12);
  return result;
}

TEST(encode_heads, asks_for_tokens_and_for_heads_where_these_differ) {
  EXPECT_EQ(asked<by_token>(), (std::vector<std::size_t>{1, 5, 2, 6, 3, 9, 4, 10}));
  EXPECT_EQ(asked<by_head>(), (std::vector<std::size_t>{1, 5, 7, 2, 6, 8, 3, 9, 11, 4, 10, 12}));
}

}  // namespace encoding_heads

namespace backward {

using namespace posenc;

/// Adds to a score all that a row says of itself and its key.
struct adds_facts {
  static constexpr bool is_bias = true;
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (std::size_t s = 0; s < row.scores.size(); ++s) {
      row.scores[s] +=
          static_cast<T>(row.head) + 10 * static_cast<T>(row.query_position) +
          100 * static_cast<T>(row.key_positions[s]) + 1000 * static_cast<T>(row.query[0]) +
          10'000 * static_cast<T>(row.query_index) +
          100'000 * static_cast<T>(row.first_key_index + s) +
          static_cast<T>(row.query_side[0] / 2) + static_cast<T>(row.key_side(s, 0)[0] / 4);
    }
  }
};

/// Squares scores, so that the derivative 2 x shows which scores it was given.
struct squares {
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    for (auto& x : row.scores) x *= x;
  }
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d, std::span<T>) const {
    for (std::size_t s = 0; s < d.size(); ++s) d[s] *= 2 * before.scores[s];
  }
};
static_assert(adds_bias<adds_facts> && !pulls_back_scores<adds_facts>);
static_assert(pulls_back_scores<squares> && !adds_bias<squares>);

TEST(backward_scores, a_rule_goes_backward_from_the_scores_that_the_rules_before_it_made) {
  std::vector<double> const scores{0.125, -0.125}, query{3};
  std::vector<std::int64_t> const keys{4, 5};
  std::vector<float> const query_side{1}, key_side{1, 2};
  score_row<double const> const row{.scores = scores,
                                    .head = 1,
                                    .query_position = 2,
                                    .key_positions = keys,
                                    .query = query,
                                    .query_index = 6,
                                    .first_key_index = 7,
                                    .query_side = query_side,
                                    .key_side = {key_side.data(), {2, 1, 1}}};
  std::vector<double> d{1, 10}, d_query{0};
  scheme{adds_facts(), squares()}.backward_scores<double>(row, d, d_query);
  EXPECT_EQ(d[0], 2 * (763'421 + 0.5 + 0.25 + 0.125));
  EXPECT_EQ(d[1], 20 * (863'521 + 0.5 + 0.5 - 0.125));
  EXPECT_EQ(d_query[0], 0);
}

}  // namespace backward
}  // namespace
