#include "posenc/core/scheme.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

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

std::string seen(heads_view<float> x, positions_view positions) {
  return std::to_string(x.head_dim()) + "@" + std::to_string(positions[0]);
}

struct at_embeddings {
  diary* to;
  std::string name;
  void embed(heads_view<float> x, positions_view positions) const { to->write(name + ".embed " + seen(x, positions)); }
};
struct at_queries_and_keys {
  diary* to;
  std::string name;
  void encode_queries(heads_view<float> q, positions_view positions) const { to->write(name + ".queries " + seen(q, positions)); }
  void encode_keys(heads_view<float> k, positions_view positions) const { to->write(name + ".keys " + seen(k, positions)); }
};
struct at_scores {
  double times, plus;
  template <class T>
  void adjust_scores(score_row<T> row) const {
    for (auto& score : row.scores) score = static_cast<T>(times * static_cast<double>(score) + plus);
  }
};
struct at_softmax {
  double beta;
  double inverse_temperature(row_statistics const&) const { return beta; }
};
struct per_key {
  double inverse_temperature(row_statistics const& row) const { return static_cast<double>(row.keys); }
};
struct at_all {
  diary* to;
  std::string name;
  void embed(heads_view<float> x, positions_view p) const { at_embeddings{to, name}.embed(x, p); }
  void encode_queries(heads_view<float> x, positions_view p) const { at_queries_and_keys{to, name}.encode_queries(x, p); }
  void encode_keys(heads_view<float> x, positions_view p) const { at_queries_and_keys{to, name}.encode_keys(x, p); }
  void adjust_scores(score_row<float> row) const { row.scores[0] += 1; }
  double inverse_temperature(row_statistics const&) const { return 2; }
};

// A view of one head, and its position.
struct one_head {
  std::array<float, 2> numbers{0.5f, -3.0f};
  std::array<std::int64_t, 1> positions{7};
  heads_view<float> view() { return {numbers.data(), {1, 1, 2}}; }
};

double beta_of(auto const& encoding) { return encoding.inverse_temperature(row_statistics{.keys = 5}); }

float score_of(auto const& encoding, float score) {
  encoding.adjust_scores(score_row<float>{.scores = {&score, 1}, .key_positions = {}, .query = {}});
  return score;
}

void run_all_of_sites_1_and_2(auto const& encoding, one_head& x) {
  encoding.embed(x.view(), x.positions);
  encoding.encode_queries(x.view(), x.positions);
  encoding.encode_keys(x.view(), x.positions);
}

TEST(scheme, acts_at_each_site_with_those_that_can_in_the_order_given) {
  diary acts;
  one_head x;
  run_all_of_sites_1_and_2(scheme{at_queries_and_keys{&acts, "a"}, at_embeddings{&acts, "b"}, at_softmax{3}, at_all{&acts, "c"},
                                  at_scores{1, 0}, at_queries_and_keys{&acts, "d"}},
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
  EXPECT_EQ(beta_of(scheme{at_scores{1, 0}}), 1);
}

TEST(scheme, is_an_encoding_and_nests) {
  static_assert(posenc::positional_encoding<scheme<at_scores>> && posenc::positional_encoding<nope>);
  diary acts;
  one_head x;
  scheme const inner{at_embeddings{&acts, "b"}, at_softmax{4}, at_scores{2, 0}};
  scheme const outer{at_embeddings{&acts, "a"}, at_softmax{1.5}, inner, at_embeddings{&acts, "c"}, at_scores{1, 10}};
  run_all_of_sites_1_and_2(outer, x);
  EXPECT_EQ(acts.entries, "a.embed 2@7; b.embed 2@7; c.embed 2@7; ");
  EXPECT_EQ(beta_of(outer), 6);
  EXPECT_EQ(score_of(outer, 1.0f), 12.0f);
}

TEST(scheme, adjusts_scores_of_any_type) {
  double score = 0.1;
  scheme{at_scores{1, 1}}.adjust_scores(score_row<double>{.scores = {&score, 1}, .key_positions = {}, .query = {}});
  EXPECT_EQ(score, 1.1);
}

TEST(nope, acts_nowhere) {
  one_head x;
  auto const before = x.numbers;
  run_all_of_sites_1_and_2(nope{}, x);
  EXPECT_EQ(x.numbers, before);
  EXPECT_EQ(score_of(nope{}, 0.1f), 0.1f);
  EXPECT_EQ(beta_of(nope{}), 1);
}

// clang-format off
template <class E>
concept goes_into_a_scheme = requires { typename scheme<at_scores, E>; };
// clang-format on

struct nowhere {};

TEST(scheme, refuses_at_compile_time_what_acts_nowhere) {
  static_assert(goes_into_a_scheme<at_softmax> && goes_into_a_scheme<nope>);
  static_assert(!goes_into_a_scheme<nowhere> && !goes_into_a_scheme<int>);
}

}  // namespace
