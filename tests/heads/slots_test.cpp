#include "posenc/heads/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rejects.hpp"

// slots_of is tested in in_pages_test.cpp.
namespace of_slots { namespace {

using slots = std::vector<std::int64_t>;

// A ring kept by hand: which token is in each slot.
TEST(ring_slots, find_the_last_tokens_after_any_steps) {
  for (std::size_t const capacity : {1u, 2u, 5u, 8u}) {
    std::vector<std::size_t> ring(capacity);
    std::size_t tokens = 0;
    for (std::size_t const step : {1u, 1u, 3u, 0u, 5u, 2u, 8u, 1u, 7u, 4u}) {
      auto const count = std::min(step, capacity);
      for (auto const slot : posenc::ring_slots(tokens, count, capacity))
        ring[static_cast<std::size_t>(slot)] = tokens++;
      auto const kept = std::min(tokens, capacity);
      auto token = tokens - kept;
      for (auto const slot : posenc::ring_slots(token, kept, capacity))
        EXPECT_EQ(ring[static_cast<std::size_t>(slot)], token++) << capacity;
      EXPECT_EQ(token, tokens);
    }
  }
}

TEST(ring_slots, are_those_of_the_remainders) {
  EXPECT_EQ(posenc::ring_slots(0, 3, 4), (slots{0, 1, 2}));
  EXPECT_EQ(posenc::ring_slots(10, 4, 4), (slots{2, 3, 0, 1}));
  EXPECT_EQ(posenc::ring_slots(7, 0, 4), slots());
  // 2^64 - 1 is 15 modulo 16; the token after it would have no number.
  EXPECT_EQ(posenc::ring_slots(std::numeric_limits<std::size_t>::max(), 2, 16), (slots{15, 0}));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(posenc::ring_slots(std::size_t{most} - 1, 2, std::size_t{most}), (slots{most - 1, 0}));
}

TEST(ring_slots, refuse_more_tokens_than_the_ring_keeps) {
  auto const expect = [](std::size_t count, std::size_t capacity, std::string const& message) {
    EXPECT_EQ(message_of([&] { posenc::ring_slots(0, count, capacity); }),
              "posenc: ring_slots: " + message);
  };
  expect(5, 4, "count must be at most the capacity 4, got 5");
  expect(0, 0, "capacity must be positive and below 2^63, got 0");
  expect(1, std::size_t{1} << 63,
         "capacity must be positive and below 2^63, got 9223372036854775808");
}

}  // namespace
}  // namespace of_slots
