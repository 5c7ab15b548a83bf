#include "posenc/heads/detail/slot_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "rejects.hpp"

namespace of_slot_search {
namespace {

using posenc::detail::require_each_slot_once;
using posenc::detail::share_a_slot;
using posenc::detail::slot_search;

using slots = std::vector<std::int64_t>;
constexpr auto most = std::numeric_limits<std::int64_t>::max();

TEST(share_a_slot, compares_every_slot_but_negative_ones) {
  std::mt19937 random(2);
  int shared = 0;
  for (int i = 0; i < 20'000; ++i) {
    slots a, b;
    auto const draw = [&](slots& to) {
      for (auto n = random() % 5; n != 0; --n) {
        to.push_back(static_cast<std::int64_t>(random() % 24) - 2);
        for (auto run = random() % 4; run != 0; --run) to.push_back(to.back() + 1);
      }
    };
    draw(a), draw(b);
    bool share = false;
    for (auto const x : a)
      for (auto const y : b) share = share || (x >= 0 && x == y);
    ASSERT_EQ(posenc::detail::share_a_slot(a, b), share);
    ASSERT_EQ(posenc::detail::share_a_slot(b, a), share);
    shared += share;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_LT(shared, 19'000);
}

slots shuffled(slots some, unsigned seed) {
  std::shuffle(some.begin(), some.end(), std::mt19937(seed));
  return some;
}
// As many slots, one after another by a rule.
slots made(std::size_t tokens, std::function<std::int64_t(std::int64_t)> const& of) {
  slots all(tokens);
  std::iota(all.begin(), all.end(), 0);
  std::ranges::transform(all, all.begin(), of);
  return all;
}
// Slots in the orders that engines have them, and such as share bits of every table: neighbours,
// runs, pools far larger than the step, strides of powers of two, the largest slots.
std::vector<slots> distinct(std::size_t tokens) {
  auto const n = static_cast<std::int64_t>(tokens);
  std::vector<slots> all;
  all.push_back(made(tokens, [&](auto t) { return n - 1 - t; }));
  all.push_back(shuffled(made(tokens, [](auto t) { return t; }), 1));
  all.push_back(made(tokens, [&](auto t) { return (n / 16 - t / 16) * 16 + t % 16; }));
  all.push_back(shuffled(made(tokens, [](auto t) { return t * 97 + t % 5; }), 2));
  for (int const log2 : {6, 12, 17, 18, 19, 30, 45})
    all.push_back(shuffled(made(tokens, [=](auto t) { return t << log2; }), 3));
  for (int const log2 : {18, 20, 22})  // a few in each window
    all.push_back(shuffled(made(tokens, [=](auto t) { return (t / 3 << log2) + t % 3; }), 4));
  all.push_back(shuffled(made(tokens, [](auto t) { return most - t; }), 5));
  // Those that a hash of the lowest bits and of the window gives one bit.
  all.push_back(shuffled(
      made(tokens,
           [](auto t) { return (t << 18) + ((0x40000 - t * 0x9e3779b1ll % 0x40000) & 0x3ffff); }),
      6));
  return all;
}

TEST(require_each_slot_once, finds_one_that_comes_twice_wherever_it_is) {
  std::mt19937 random(7);
  for (std::size_t const tokens : {2u, 3u, 5u, 17u, 64u, 300u, 4096u, 16'383u, 16'384u, 40'000u}) {
    auto const cases = distinct(tokens);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ASSERT_NO_THROW(require_each_slot_once(cases[i])) << tokens << ", case " << i;
      for (int k = 0; k < (tokens > 1000 ? 3 : 20); ++k) {
        auto twice = cases[i];
        auto const from = random() % tokens, to = (from + 1 + random() % (tokens - 1)) % tokens;
        twice[to] = twice[from];
        if (random() % 2 == 0 && tokens > 2) {  // padding anywhere else
          auto const gap = random() % tokens;
          if (gap != from && gap != to) twice[gap] = -1 - static_cast<std::int64_t>(random() % 9);
        }
        ASSERT_EQ(message_of([&] { require_each_slot_once(twice, "rotate"); }),
                  "posenc: rotate: a slot must be written once, got slot " +
                      std::to_string(twice[to]) + " again for token " +
                      std::to_string(std::max(from, to)))
            << tokens << ", case " << i;
      }
    }
  }
}

TEST(require_each_slot_once, names_a_token_whose_slot_an_earlier_one_has) {
  std::mt19937 random(8);
  for (int i = 0; i < 5000; ++i) {
    slots some(2 + random() % 40);
    for (auto& slot : some) slot = static_cast<std::int64_t>(random() % 60) * 9999 - 9999;
    auto const found = slot_search::find(some, some, true);
    std::map<std::int64_t, std::size_t> counts;
    for (auto const slot : some) counts[slot] += slot >= 0;
    bool const twice = std::ranges::any_of(counts, [](auto& x) { return x.second > 1; });
    ASSERT_EQ(found != slot_search::none, twice);
    if (twice) {
      ASSERT_LT(found, some.size());
      ASSERT_GE(some[found], 0);
      auto const end = some.begin() + static_cast<std::ptrdiff_t>(found);
      ASSERT_NE(std::find(some.begin(), end, some[found]), end);
    }
  }
}

TEST(share_a_slot, finds_one_of_many_wherever_it_is) {
  std::mt19937 random(9);
  for (std::size_t const tokens : {2u, 17u, 300u, 4096u, 40'000u}) {
    for (auto const& all : distinct(2 * tokens)) {
      slots const a(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(tokens));
      slots b(all.begin() + static_cast<std::ptrdiff_t>(tokens), all.end());
      ASSERT_FALSE(share_a_slot(a, b));
      b.resize(1 + random() % tokens);
      ASSERT_FALSE(share_a_slot(b, a));
      b[random() % b.size()] = a[random() % tokens];
      ASSERT_TRUE(share_a_slot(a, b));
      ASSERT_TRUE(share_a_slot(b, a));
    }
  }
}

}  // namespace
}  // namespace of_slot_search
