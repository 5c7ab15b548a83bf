#include "posenc/core/encoding_check.hpp"

#include <gtest/gtest.h>

#include <string>

// What is refused does not compile: that is for tests/compile_errors/.

namespace {

using namespace posenc::detail;
using posenc::row_statistics;

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
      heads, serves_fewer_heads;
  int backward_queries, backward_keys, backward_scores, is_bias;
};

TEST(encoding_check, tells_the_names_apart) {
  static_assert(has_embed<every_name> && has_bias<every_name> && has_prepare<every_name> &&
                has_encode_queries<every_name> && has_encode_keys<every_name> &&
                has_adjust_scores<every_name>);
  static_assert(has_inverse_temperature<every_name> && has_sink<every_name> &&
                has_heads<every_name>);
  static_assert(has_serves_fewer_heads<every_name> && has_backward_queries<every_name> &&
                has_backward_keys<every_name>);
  static_assert(has_backward_scores<every_name> && has_is_bias<every_name>);
  static_assert(!has_prepare<by_one> && !has_bias<by_one> && !has_encode_queries<by_one> &&
                !has_encode_keys<by_one> && !has_adjust_scores<by_one> && !has_sink<by_one>);
  static_assert(!has_inverse_temperature<by_one> && !has_heads<by_one> &&
                !has_serves_fewer_heads<by_one> && !has_is_bias<by_one>);
  static_assert(!has_backward_queries<by_one> && !has_backward_keys<by_one> &&
                !has_backward_scores<by_one>);
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

}  // namespace
