#include "posenc/query_key/remapped.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "laws/query_key_laws.hpp"
#include "numbers.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/xpos.hpp"
#include "query_key/transposed.hpp"
#include "rejects.hpp"
#include "site_2.hpp"

namespace {

using namespace posenc;

auto squashed_and_shifted() {
  return remapped(
      xpos<halves>(geometric(8, 1e4)), [](std::int64_t t) { return t / 4; },
      [](std::int64_t s) { return s + 100; });
}

TEST(remapped, queries_and_keys_stand_where_their_maps_put_them) {
  std::vector<std::int64_t> const positions{0, 7, 1000, -8}, squashed{0, 1, 250, -2},
      shifted{100, 107, 1100, 92};
  auto const encoding = squashed_and_shifted();
  numbers::in_every_format([&]<class T>() {
    auto const x = numbers::random<T>(4 * 8);
    auto q = x, k = x, expected_q = x, expected_k = x;
    site_2::encode_queries(encoding, numbers::view(q, 4, 8), positions);
    site_2::encode_keys(encoding, numbers::view(k, 4, 8), positions);
    site_2::encode_queries(encoding.inner(), numbers::view(expected_q, 4, 8), squashed);
    site_2::encode_keys(encoding.inner(), numbers::view(expected_k, 4, 8), shifted);
    EXPECT_TRUE(numbers::same_bits(q, expected_q));
    EXPECT_TRUE(numbers::same_bits(k, expected_k));
  });
}

TEST(remapped, by_the_identity_is_the_inner_encoding) {
  auto const same = [](std::int64_t p) { return p; };
  auto x = numbers::random<float>(2 * 8), y = x;
  std::vector<std::int64_t> const positions{3, -1'000'000'007};
  site_2::encode_keys(remapped(rope<interleaved>(geometric(8, 1e4)), same, same),
                      numbers::view(x, 2, 8), positions);
  site_2::encode_keys(rope<interleaved>(geometric(8, 1e4)), numbers::view(y, 2, 8), positions);
  EXPECT_TRUE(numbers::same_bits(x, y));
}

template <class M>
constexpr bool taken = requires(M map) {
  remapped(rope<halves>(geometric(8, 1e4)), map, map);
};

TEST(remapped, acts_where_the_inner_encoding_does_and_takes_integers_alone) {
  static_assert(acts_on_queries_and_keys<decltype(squashed_and_shifted())> &&
                !acts_on_scores<decltype(squashed_and_shifted())>);
  static_assert(taken<std::int64_t (*)(std::int64_t)> && taken<int (*)(std::int64_t)>);
  static_assert(!taken<double (*)(std::int64_t)>, "a fraction would be lost");
  static_assert(!taken<unsigned (*)(std::int64_t)>, "and a sign");
}

TEST(remapped, changes_nothing_where_a_map_or_the_inner_encoding_throws) {
  auto const x = numbers::random<float>(2 * 8);
  auto y = x;
  auto const below_ten = [](std::int64_t p) {
    return p < 10 ? p : throw std::invalid_argument("ten");
  };
  remapped const encoding(rope<halves>(geometric(8, 1e4)), below_ten, below_ten);
  EXPECT_EQ(
      message_of([&] {
        site_2::encode_queries(encoding, numbers::view(y, 2, 8), std::vector<std::int64_t>{1, 10});
      }),
      "ten");
  EXPECT_EQ(
      message_of([&] {
        site_2::encode_keys(encoding, numbers::view(y, 2, 8), std::vector<std::int64_t>{10, 1});
      }),
      "ten");
  EXPECT_NE(message_of([&] {
              site_2::encode_keys(encoding, numbers::view(y, 2, 8), std::vector<std::int64_t>{1});
            }),
            "");
  EXPECT_TRUE(numbers::same_bits(x, y));
}

struct of_four_heads : site_2::forward_only {
  std::size_t heads() const { return 4; }
};

TEST(remapped, has_as_many_heads_as_the_inner_encoding) {
  auto const same = [](std::int64_t p) { return p; };
  remapped const encoding(of_four_heads{}, same, same);
  auto const refused = [](auto const& e, std::size_t heads) {
    return message_of([&] { detail::require_heads("attention", e, heads); });
  };
  EXPECT_EQ(refused(encoding, 2), refused(of_four_heads{}, 2));
  EXPECT_EQ(refused(encoding, 2), "posenc: attention: the encoding must have 2 heads, got 4");
  EXPECT_EQ(refused(remapped(encoding, same, same), 2), refused(encoding, 2));
  EXPECT_NO_THROW(detail::require_heads("attention", encoding, 4));
}

// Adds the indices of the first token and head that it is given, each way in another place.
struct adding_indices {
  struct prepared {
    static void add(auto const& x, std::size_t at, std::size_t token, std::size_t head) {
      x(0, 0)[at] += static_cast<std::remove_cvref_t<decltype(x(0, 0)[at])>>(10 * token + head);
    }
    void encode_queries(auto const& q, std::size_t t, std::size_t h) const { add(q, 0, t, h); }
    void encode_keys(auto const& k, std::size_t t, std::size_t h) const { add(k, 1, t, h); }
    void backward_queries(auto const& d, std::size_t t, std::size_t h) const { add(d, 2, t, h); }
    void backward_keys(auto const& d, std::size_t t, std::size_t h) const { add(d, 3, t, h); }
  };
  template <class>
  prepared prepare(positions_view) const {
    return {};
  }
};

TEST(remapped, the_inner_encoding_is_given_the_first_token_and_head) {
  auto const same = [](std::int64_t p) { return p; };
  std::vector<std::int64_t> const positions{0, 1, 2};
  auto const prepared = remapped(adding_indices{}, same, same).prepare<float>(positions);
  std::vector<float> x(4);
  prepared.encode_queries(numbers::view(x, 1, 4), 2, 1);
  prepared.encode_keys(numbers::view(x, 1, 4), 2, 2);
  prepared.backward_queries(numbers::view(x, 1, 4), 2, 3);
  prepared.backward_keys(numbers::view(x, 1, 4), 2, 4);
  EXPECT_EQ(x, (std::vector<float>{21, 22, 23, 24}));
}

TEST(remapped, gradients_are_pulled_back_by_the_transpose_where_the_inner_encoding_can) {
  transposed::pulls_back_by_the_transpose(squashed_and_shifted(), 8, {0, 7, 1000, -8});
  using map = std::int64_t (*)(std::int64_t);
  static_assert(!pulls_back_queries_and_keys<remapped<site_2::forward_only, map, map>>);
  static_assert(detail::encoding_check<remapped<site_2::forward_only, map, map>>::passed);
}

TEST(remapped, obeys_the_laws_of_its_site) {
  auto const by_thousand = [](std::int64_t p) { return p + 1000; };
  laws::obey("moved", remapped(rope<halves>(geometric(64, 1e4)), by_thousand, by_thousand), 64, 1,
             laws::of_distance | laws::norm_kept);
  auto const by_fours = [](std::int64_t p) { return p / 4; };
  laws::obey("squashed", remapped(rope<interleaved>(geometric(64, 1e4)), by_fours, by_fours), 64, 1,
             laws::identity_at_zero | laws::norm_kept);
}

}  // namespace
