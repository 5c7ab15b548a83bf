#include "posenc/encoding/sites.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <string>

#include "posenc/encoding/detail/encoding_check.hpp"
#include "site_2.hpp"

namespace of_sites { namespace {

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
using at_queries_and_keys = site_2::forward_only;
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

namespace checking {

using namespace posenc::detail;

struct by_one {
  void embed(int) {}
};
struct by_two {
  void embed(int) {}
  void embed(float) const {}
};
struct by_templates {
  void embed(auto const&) {}
  template <int>
  void embed() {}
};
class privately {
  [[maybe_unused]] void embed(int) {}
};
struct by_number {
  int embed;
};
struct by_no_object {
  static void embed(int) {}
};
struct by_type {
  using embed = int;
};
struct inherited : by_two {};
struct not_to_be_made {
  not_to_be_made() = delete;
  virtual ~not_to_be_made() = 0;
  virtual void embed() = 0;
};
struct by_one_in_the_end final {
  void embed(int) {}
};
struct by_a_template_in_the_end final {
  void embed(auto const&) {}
};
union one_of_two {
  int number;
  float embed;
};

TEST(encoding_check, sees_a_name_whatever_it_stands_for) {
  static_assert(has_embed<by_one> && has_embed<by_two> && has_embed<by_templates> &&
                has_embed<privately>);
  static_assert(has_embed<by_number> && has_embed<by_no_object> && has_embed<by_type> &&
                has_embed<inherited>);
  static_assert(has_embed<not_to_be_made> && has_embed<by_one_in_the_end> &&
                has_embed<by_a_template_in_the_end> && has_embed<one_of_two>);
}

struct misspelt {
  void embeds(int) const {}
};
struct nothing final {};
union neither {
  int number;
};

TEST(encoding_check, sees_no_name_where_there_is_none) {
  static_assert(!has_embed<misspelt> && !has_embed<nothing> && !has_embed<neither> &&
                !has_embed<std::string>);
  static_assert(!has_embed<int> && !has_embed<int*> && !has_embed<void(int)> &&
                !has_embed<int[2]> && !has_embed<void>);
}

struct embed {};
template <class>
struct sink : embed {};
struct named_by_a_base_and_more : sink<int> {
  void sink(int) {}
};

TEST(encoding_check, tells_the_name_of_a_class_from_that_of_a_member) {
  static_assert(!has_embed<embed> && !has_embed<sink<int>> && !has_sink<sink<int>>);
  static_assert(has_sink<named_by_a_base_and_more> && !has_embed<named_by_a_base_and_more>);
}

template <bool Has>
struct with_constraints {
  static constexpr bool wraps_encodings = true;
  void embed(auto const&) requires(Has) {}
  void adjust_scores(int) requires(Has) {}
};
struct with_more : with_constraints<false> {
  void embed(auto const&) {}
};

TEST(encoding_check, sees_of_a_wrapper_the_functions_whose_constraints_hold) {
  static_assert(has_embed<with_constraints<true>> && has_adjust_scores<with_constraints<true>>);
  static_assert(!has_embed<with_constraints<false>> && !has_adjust_scores<with_constraints<false>>);
  static_assert(has_embed<with_more> && !has_adjust_scores<with_more>);
}

struct every_name {
  int embed, prepare, bias, encode_queries, encode_keys, adjust_scores, inverse_temperature, sink,
      heads;
  int backward_queries, backward_keys, backward_scores, is_bias, is_pointwise;
  int kv_heads, require_heads, changes_temperature, asked, check, hash;
};

TEST(encoding_check, tells_the_names_apart) {
  static_assert(has_embed<every_name> && has_bias<every_name> && has_prepare<every_name> &&
                has_encode_queries<every_name> && has_encode_keys<every_name> &&
                has_adjust_scores<every_name>);
  static_assert(has_inverse_temperature<every_name> && has_sink<every_name> &&
                has_heads<every_name>);
  static_assert(has_backward_queries<every_name> && has_backward_keys<every_name>);
  static_assert(has_backward_scores<every_name> && has_is_bias<every_name> &&
                has_is_pointwise<every_name>);
  static_assert(has_kv_heads<every_name> && has_require_heads<every_name> &&
                has_changes_temperature<every_name> && has_asked<every_name> &&
                has_check<every_name> && posenc::detail::has_hash<every_name>);
  static_assert(!has_prepare<by_one> && !has_bias<by_one> && !has_encode_queries<by_one> &&
                !has_encode_keys<by_one> && !has_adjust_scores<by_one> && !has_sink<by_one>);
  static_assert(!has_inverse_temperature<by_one> && !has_heads<by_one> && !has_is_bias<by_one>);
  static_assert(!has_backward_queries<by_one> && !has_backward_keys<by_one> &&
                !has_backward_scores<by_one>);
  static_assert(!has_kv_heads<by_one> && !has_require_heads<by_one> &&
                !has_changes_temperature<by_one> && !has_asked<by_one> && !has_check<by_one> &&
                !posenc::detail::has_hash<by_one>);
}

// In other words than the library's, and all of them right.
struct by_value_and_with_more {
  static float inverse_temperature(row_statistics) noexcept { return 1; }
  int sink(unsigned long, int = 0) const { return 0; }
  void adjust_scores(posenc::score_row<float>) const {}
  bool adjust_scores(posenc::score_row<double> const&) const { return true; }
};
template <class Inner>
struct around {
  static constexpr bool wraps_encodings = true;
  Inner inner;
  void adjust_scores(auto const& row) const requires(posenc::acts_on_scores<Inner>) {
    inner.adjust_scores(row);
  }
  double inverse_temperature(row_statistics const& row) const {
    return inner.inverse_temperature(row);
  }
};
struct at_softmax final {
  double inverse_temperature(row_statistics const&) const { return 1; }
};

TEST(encoding_check, lets_through_what_can_be_called_in_any_words) {
  static_assert(encoding_check<by_value_and_with_more>::passed &&
                encoding_check<at_softmax>::passed);
  static_assert(encoding_check<around<at_softmax>>::passed &&
                encoding_check<around<by_value_and_with_more>>::passed);
}

}  // namespace checking
}  // namespace
}  // namespace of_sites
