// The kernel touches the bytes of its heads, rows and weights, and no others. It works between
// protected pages, and in heap blocks of exactly its bytes, whose ends AddressSanitizer watches.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "guarded_buffer.hpp"
#include "numbers.hpp"
#include "posenc/rotation/rotate.hpp"
#include "sanitized.hpp"

#if defined(__linux__)
namespace {

using posenc::arithmetic_t;
using posenc::bfloat16;
using posenc::half;
using posenc::halves;
using posenc::heads_view;
using posenc::interleaved;
using posenc::rotary_block;
using posenc::rotated;
using location = guarded_buffer::location;

// The last two start at an odd byte: an error for UndefinedBehaviorSanitizer, which runs with
// AddressSanitizer here, and other CPUs may refuse it.
#if defined(__x86_64__)
constexpr std::size_t locations = is_sanitized ? 3 : 5;
#else
constexpr std::size_t locations = 3;
#endif

// Calls `test` for each format; under a sanitizer for two, as protected pages watch the others.
template <class Test>
void in_formats(Test&& test) {
  if constexpr (is_sanitized) {
    test.template operator()<float>();
    test.template operator()<bfloat16>();
  } else {
    numbers::in_every_format(test);
  }
}

template <class T>
std::vector<T> numbers_at(T const* from, std::size_t count) {
  std::vector<T> result(count);
  std::memcpy(static_cast<void*>(result.data()), static_cast<void const*>(from), count * sizeof(T));
  return result;
}

constexpr auto least_beyond_cache = std::size_t{1} << 20;  // bytes

// Number of tokens, and which dims of a head are rotated.
struct rotary_case {
  static constexpr std::size_t heads = 2;
  std::size_t tokens, head_dim, pairs;
  rotary_block block;
  std::vector<posenc::pair_range> rotated_pairs;
};

// Every head_dim up to 72, and some beyond, with as many pairs as fit; two of five again with about
// half as many, of which some are not rotated. And more data than a cache holds, in columns and a
// tail.
std::vector<rotary_case> rotary_cases(std::size_t size_of_number) {
  std::vector<rotary_case> result{
      {least_beyond_cache / (rotary_case::heads * 614 * size_of_number) + 1,
       615,
       307,
       rotary_block::last(),
       {{0, 307}}}};
  for (std::size_t head_dim = 2; head_dim <= 140; head_dim += head_dim < 72 ? 1 : 7) {
    auto const all = head_dim / 2, some = (head_dim + 2) / 4;
    result.push_back({2,
                      head_dim,
                      all,
                      head_dim % 4 == 3 ? rotary_block::last() : rotary_block::first(),
                      {{0, all}}});
    if (head_dim % 5 == 0)
      result.push_back(
          {2, head_dim, some, rotary_block::last(), {{0, some / 2}, {some - some / 4, some}}});
    if (head_dim % 5 == 2)
      result.push_back({2, head_dim, some, rotary_block::from(head_dim / 8), {{some / 3, some}}});
  }
  return result;
}

/// In place, source and target are the same. One norm weight per dim, or null for none.
template <class From, class To, class S, class T>
void rotate(rotary_case const& c, S* source, T* target, arithmetic_t<T> const* cos_sin,
            arithmetic_t<T> const* weight) {
  posenc::cos_sin_view<arithmetic_t<T>> const rows(cos_sin, c.tokens, c.pairs, c.rotated_pairs);
  heads_view<S> const from(source, {c.tokens, c.heads, c.head_dim});
  heads_view<T> const to(target, {c.tokens, c.heads, c.head_dim});
  auto const plain = rotated<From, To>(from, to).block(c.block);
  if (weight == nullptr) return posenc::rotate(rows, plain);
  posenc::rotate(rows, plain.norm({{weight, c.head_dim}, arithmetic_t<T>(0x1p-20)}));
}

// Guarded heads get the same bits as heads with room around everything.
template <class S, class T, class Real = arithmetic_t<T>>
void expect_keeps_to_its_bytes(void (*rotate)(rotary_case const&, S*, T*, Real const*, Real const*),
                               bool in_place, bool normed) {
  using real = Real;
  static guarded_buffer sources, targets, rows, weights;
  ASSERT_TRUE(sources.is_open() && targets.is_open() && rows.is_open() && weights.is_open());
  for (auto const& c : rotary_cases(sizeof(S))) {
    auto const count = c.tokens * c.heads * c.head_dim;
    auto const source = numbers::random<S>(count, 1);
    auto const cos_sin = numbers::random<real>(c.tokens * 2 * c.pairs, 2),
               weight = numbers::random<real>(c.head_dim, 3);
    std::vector<T> target(count), expected;
    if constexpr (std::is_same_v<S, T>) target = in_place ? source : target;
    for (std::size_t at = 0; at <= locations; ++at) {
      bool const is_roomy = at == 0;
      constexpr std::size_t room = 64;  // numbers
      auto const put = [&](guarded_buffer& guarded, auto const& numbers, auto& roomy) {
        if (!is_roomy) return guarded.put(static_cast<location>(at - 1), numbers);
        roomy.resize(room), roomy.insert(roomy.end(), numbers.begin(), numbers.end()),
            roomy.resize(roomy.size() + room);
        return roomy.data() + room;
      };
      std::vector<S> roomy_source;
      std::vector<T> roomy_target;
      std::vector<real> roomy_cos_sin, roomy_weight;
      auto* const to = put(targets, target, roomy_target);
      auto* from = put(sources, source, roomy_source);
      if constexpr (std::is_same_v<S, T>) from = in_place ? to : from;
      rotate(c, from, to, put(rows, cos_sin, roomy_cos_sin),
             normed ? put(weights, weight, roomy_weight) : nullptr);
      if (is_roomy) {
        expected = numbers_at(to, count);
        continue;
      }
      ASSERT_TRUE(numbers::same_bits(numbers_at(to, count), expected))
          << "head_dim " << c.head_dim << ", " << c.pairs << " pairs, place " << at - 1;
      ASSERT_TRUE(in_place || numbers::same_bits(numbers_at(from, count), source))
          << "the source changed";
    }
  }
}

TEST(memory, of_others_is_not_touched_in_place_or_elsewhere) {
  in_formats([]<class T>() {
    for (bool const in_place : {true, false}) {
      for (bool const normed : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << (in_place ? "in place" : "elsewhere") << (normed ? ", normed" : ""));
        expect_keeps_to_its_bytes(rotate<halves, halves, T, T>, in_place, normed);
        expect_keeps_to_its_bytes(rotate<interleaved, interleaved, T, T>, in_place, normed);
      }
    }
  });
}

TEST(memory, of_others_is_not_touched_in_another_layout) {
  for (bool const normed : {false, true}) {
    expect_keeps_to_its_bytes(rotate<halves, interleaved, float, float>, false, normed);
    expect_keeps_to_its_bytes(rotate<interleaved, halves, float, float>, false, normed);
    expect_keeps_to_its_bytes(rotate<halves, interleaved, bfloat16, bfloat16>, false, normed);
    expect_keeps_to_its_bytes(rotate<interleaved, halves, bfloat16, bfloat16>, false, normed);
  }
}

TEST(memory, of_others_is_not_touched_in_another_type) {
  for (bool const normed : {false, true}) {
    expect_keeps_to_its_bytes(rotate<halves, halves, float, bfloat16>, false, normed);
    expect_keeps_to_its_bytes(rotate<interleaved, interleaved, bfloat16, half>, false, normed);
    expect_keeps_to_its_bytes(rotate<halves, interleaved, half, float>, false, normed);
  }
}

}  // namespace
#endif
