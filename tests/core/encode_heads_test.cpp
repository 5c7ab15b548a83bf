#include "posenc/core/encode_heads.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace {

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

}  // namespace
