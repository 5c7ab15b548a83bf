#pragma once

/// Heads in memory at all kinds of strides, with numbers before, between and after them; and the
/// rotation that the oracle expects.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numbers.hpp"
#include "oracle/rotary.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "rotation/either_layout.hpp"
#include "tolerance.hpp"

/// Where the heads of a token, and the tokens, are.
enum class arrangement { dense, padded, heads_outermost, backwards };

inline constexpr std::array arrangements{arrangement::dense, arrangement::padded,
                                         arrangement::heads_outermost, arrangement::backwards};

/// For two tokens: a far one, and one before 0.
inline std::vector<std::int64_t> const two_positions{131'071, -7};

/// Random numbers in [-1, 1]; some of them are the heads.
template <class T>
class placed_heads {
 public:
  /// `misaligned`: offset of the heads from aligned memory, in elements.
  placed_heads(posenc::heads_shape shape, arrangement arranged, std::size_t misaligned = 0,
               std::uint64_t seed = 1)
      : shape_(shape) {
    auto const tokens = static_cast<std::ptrdiff_t>(shape.tokens),
               heads = static_cast<std::ptrdiff_t>(shape.heads);
    auto const dim = static_cast<std::ptrdiff_t>(shape.head_dim);
    if (arranged == arrangement::dense) strides_ = {heads * dim, dim};
    if (arranged == arrangement::padded) strides_ = {heads * (dim + 3) + 5, dim + 3};
    if (arranged == arrangement::heads_outermost) strides_ = {dim + 1, tokens * (dim + 1)};
    if (arranged == arrangement::backwards) strides_ = {-(heads * dim + 1), -dim};
    auto const span = (tokens - 1) * strides_.token + (heads - 1) * strides_.head;
    first_ = 16 + misaligned + static_cast<std::size_t>(span < 0 ? -span : 0);
    memory = numbers::random<T>(
        16 + misaligned + static_cast<std::size_t>(span < 0 ? -span : span) + shape.head_dim + 16,
        seed);
  }

  posenc::heads_view<T> view() { return {memory.data() + first_, shape_, strides_}; }

  /// The index of that number in memory.
  std::size_t at(std::size_t token, std::size_t head, std::size_t dim) {
    return static_cast<std::size_t>(view()(token, head).data() - memory.data()) + dim;
  }

  std::vector<T> memory;

 private:
  posenc::heads_shape shape_;
  posenc::heads_strides strides_;
  std::size_t first_;
};

/// Calls `test` for float, double, half and bfloat16 with each layout; for tests that other types
/// with the same bits need not repeat.
template <class Test>
void in_every_format_and_layout(Test&& test) {
  numbers::in_every_format([&]<class T>() {
    test.template operator()<T, posenc::halves>();
    test.template operator()<T, posenc::interleaved>();
  });
}

/// The same with one layout each; for tests of what does not depend on both at once.
template <class Test>
void in_every_format_and_a_layout(Test&& test) {
  test.template operator()<float, posenc::halves>();
  test.template operator()<double, posenc::interleaved>();
  test.template operator()<posenc::half, posenc::interleaved>();
  test.template operator()<posenc::bfloat16, posenc::halves>();
}

/// What is done to heads.
struct treatment {
  posenc::frequencies f;
  posenc::rotary_block block = posenc::rotary_block::first();
  std::vector<double> weight = {};  ///< empty for 1
  double eps = 0;                   ///< 0 for no norm
  double scale = 1;
};

/// Whether the heads of `target` are those of `source` after the treatment `t`, each number within
/// its tolerance of the oracle; whether numbers that are only copied have their bits, or are
/// rounded once; and whether the rest of the target is as `before`.
template <class S, class T>
testing::AssertionResult are_treated(either_layout from, either_layout to, placed_heads<S> source,
                                     placed_heads<T> target, std::vector<T> const& before,
                                     std::vector<std::int64_t> const& positions,
                                     treatment const& t) {
  auto const shape = target.view().shape();
  auto const pairs = t.f.pairs(), first_dim = t.block.first_dim(shape.head_dim, 2 * pairs);
  auto const factor = t.f.attention_factor();
  bool const moves_only = t.eps == 0 && t.scale == 1;
  auto unmoved = target.memory;
  for (std::size_t token = 0; token < shape.tokens; ++token)
    for (std::size_t head = 0; head < shape.heads; ++head) {
      std::vector<double> x;
      oracle::wide squares = 0;
      for (std::size_t dim = 0; dim < shape.head_dim; ++dim) {
        x.push_back(static_cast<double>(posenc::load(source.memory[source.at(token, head, dim)])));
        squares += static_cast<oracle::wide>(x[dim]) * x[dim];
      }
      if (!t.weight.empty())
        for (std::size_t dim = 0; dim < shape.head_dim; ++dim) x[dim] *= t.weight[dim];
      auto gain = static_cast<double>(t.scale), gain_error = 0.0;
      if (t.eps != 0) {
        gain = static_cast<double>(
            t.scale / oracle::sqrt(squares / static_cast<oracle::wide>(shape.head_dim) + t.eps));
        gain_error = tolerance::of_gain<T>(shape.head_dim);
      }
      auto rotated = x;
      oracle::rotate(rotated, t.f.inv_freq(), static_cast<oracle::wide>(positions[token]),
                     pairing_of(from), first_dim, factor);

      testing::AssertionResult result = testing::AssertionSuccess();
      auto const check = [&](std::size_t dim, std::size_t at_source, std::size_t other,
                             bool turns) {
        auto const at = target.at(token, head, dim);
        auto const got = static_cast<double>(posenc::load(target.memory[at]));
        unmoved[at] = before[at];
        if (moves_only && !turns) {
          T expected{};
          if constexpr (std::same_as<S, T>) {
            expected = source.memory[source.at(token, head, at_source)];
          } else {
            posenc::store(expected, posenc::load(source.memory[source.at(token, head, at_source)]));
          }
          if (std::memcmp(&expected, &target.memory[at], sizeof(T)) == 0) return;
          result = testing::AssertionFailure()
                   << "not the bits of " << posenc::load(expected) << " but " << got;
        } else {
          auto const expected = gain * rotated[at_source];
          auto const off = moves_only
                               ? tolerance::of_rotated<T>(x[at_source], x[other], expected, factor)
                               : tolerance::of_amplified<T>(x[at_source], turns ? x[other] : 0,
                                                            expected, gain, gain_error, factor);
          if (std::abs(got - expected) <= off) return;
          result = testing::AssertionFailure() << got << ", not " << expected << " but for " << off;
        }
        result << ": token " << token << ", head " << head << ", dim " << dim << " of "
               << shape.head_dim;
      };
      for (std::size_t dim = 0; dim < shape.head_dim; ++dim)
        if (dim < first_dim || dim >= first_dim + 2 * pairs) check(dim, dim, dim, false);
      for (std::size_t i = 0; i < pairs; ++i) {
        bool const turns = t.f.inv_freq()[i] != 0 || factor != 1;
        auto const from_x = first_dim + x_index(from, i, pairs),
                   from_y = first_dim + y_index(from, i, pairs);
        check(first_dim + x_index(to, i, pairs), from_x, from_y, turns);
        check(first_dim + y_index(to, i, pairs), from_y, from_x, turns);
      }
      if (!result) return result;
    }
  return numbers::same_bits(unmoved, before) << ", which should have stayed";
}
