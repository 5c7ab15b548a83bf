#include "posenc/core/sites.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <string>

namespace {

using posenc::acts_nowhere;
using posenc::acts_on_embeddings;
using posenc::acts_on_queries_and_keys;
using posenc::acts_on_scores;
using posenc::acts_on_softmax;
using posenc::heads_view;
using posenc::positional_encoding;
using posenc::positions_view;
using posenc::row_statistics;
using posenc::score_row;

struct at_embeddings {
  void embed(auto const&, positions_view) const {}
};
struct at_queries_and_keys {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(positions_view) const {
    return {};
  }
};
struct at_scores {
  void adjust_scores(score_row<float>) const {}
  void adjust_scores(score_row<double>) const {}
};
struct at_softmax {
  float inverse_temperature(row_statistics const&) const { return 1; }
};
struct at_two : at_embeddings, at_scores {};

TEST(sites, are_told_by_what_an_encoding_can_do) {
  static_assert(acts_on_embeddings<at_embeddings> && !acts_on_queries_and_keys<at_embeddings> &&
                !acts_on_scores<at_embeddings> && !acts_on_softmax<at_embeddings>);
  static_assert(!acts_on_embeddings<at_queries_and_keys> &&
                acts_on_queries_and_keys<at_queries_and_keys> &&
                !acts_on_scores<at_queries_and_keys> && !acts_on_softmax<at_queries_and_keys>);
  static_assert(!acts_on_embeddings<at_scores> && !acts_on_queries_and_keys<at_scores> &&
                acts_on_scores<at_scores> && !acts_on_softmax<at_scores>);
  static_assert(!acts_on_embeddings<at_softmax> && !acts_on_queries_and_keys<at_softmax> &&
                !acts_on_scores<at_softmax> && acts_on_softmax<at_softmax>);
}

TEST(sites, an_encoding_may_act_at_several) {
  static_assert(acts_on_embeddings<at_two> && acts_on_scores<at_two> && !acts_on_softmax<at_two> &&
                positional_encoding<at_two>);
}

struct nowhere {};
struct misspelt {
  void adjust_score(score_row<float>) const {}
};
struct queries_only {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(positions_view) const {
    return {};
  }
};
struct changes_itself {
  void embed(auto const&, positions_view) {}
};
struct embeds_floats {
  void embed(heads_view<float>, positions_view) const {}
};
struct turns_floats {
  struct prepared {
    void encode_queries(heads_view<float>, std::size_t) const {}
    void encode_keys(heads_view<float>, std::size_t) const {}
  };
  template <class>
  prepared prepare(positions_view) const {
    return {};
  }
};
struct adjusts_floats {
  void adjust_scores(score_row<float>) const {}
};
struct adjusts_what_it_may_keep {
  void adjust_scores(auto&) const {}
  void adjust_scores(auto const&) const = delete;
};
struct takes_other_arguments {
  void adjust_scores(float*, int) const {}
};
struct answers_nothing {
  void inverse_temperature(row_statistics const&) const {}
};
struct answers_text {
  std::string inverse_temperature(row_statistics const&) const { return "1"; }
};

TEST(sites, what_matches_none_is_no_positional_encoding) {
  static_assert(positional_encoding<at_embeddings> && positional_encoding<at_queries_and_keys> &&
                positional_encoding<at_scores> && positional_encoding<at_softmax>);
  static_assert(!positional_encoding<nowhere> && !positional_encoding<int> &&
                !positional_encoding<misspelt>);
  static_assert(!positional_encoding<queries_only> && !positional_encoding<changes_itself> &&
                !positional_encoding<takes_other_arguments>);
  static_assert(!positional_encoding<answers_nothing> && !positional_encoding<answers_text>);
  static_assert(!positional_encoding<adjusts_what_it_may_keep>);
}

TEST(sites, call_in_float_and_in_double) {
  static_assert(!positional_encoding<embeds_floats> && !positional_encoding<turns_floats> &&
                !positional_encoding<adjusts_floats>);
}

struct at_home {
  static constexpr bool is_nowhere = true;
};
struct at_home_and_at_softmax : at_home {
  double inverse_temperature(posenc::row_statistics const&) const { return 1; }
};
struct astray {
  static constexpr bool is_nowhere = false;
};
struct unsure {
  bool is_nowhere = true;
};

TEST(sites, know_an_encoding_that_acts_nowhere_on_purpose) {
  static_assert(acts_nowhere<at_home> && !acts_nowhere<at_home_and_at_softmax>);
  static_assert(positional_encoding<at_home> && !positional_encoding<astray> &&
                !positional_encoding<unsure>);
}

}  // namespace
