#pragma once

/// One sequence of a batch, as attention_call_fuzz gives it to a call: right, or spoilt.

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention_call_plans.hpp"
#include "attention_choices.hpp"
#include "attention_plans.hpp"
#include "plain_attention.hpp"
#include "posenc/attention/attention.hpp"

namespace fuzz {

/// What one sequence of a batch is given wrongly.
enum class fault {
  none,
  memory,
  outputs,
  overlap,
  log_sum_exp,
  scores,
  weights,
  cells,
  heads_of_cells,
  slopes,
  positions,
  last = positions
};

template <class Q, class K, class V, class O>
struct sequence {
  using T = typename Q::number;
  problem<Q, K, V> p;
  results_in_memory<O, T> to;
  posenc::attention_options options = {};
  std::vector<float> one = std::vector<float>(1);  // a mask of one cell
  std::vector<double> slopes = {};

  sequence(FuzzedDataProvider& data, heads_shape const& q, heads_shape const& k,
           std::size_t value_dim, bool wild)
      : p{{data, q}, {data, k}, {data, {k.tokens, k.heads, value_dim}},
          {},        {},        any_mask(data, q.tokens, q.heads, k.tokens, wild),
          0,         {}},
        to(data, {q.tokens, q.heads, value_dim}, k.tokens),
        slopes(q.heads + 1, 1.0) {
    auto const seed = data.ConsumeIntegral<std::uint64_t>();
    auto const share = wild ? data.ConsumeIntegralInRange(1, 200) : 0;
    auto const size = std::array{0.5L, 2.0L, 8.0L}[data.ConsumeIntegralInRange<unsigned>(0, 2)];
    p.q.fill(seed, share, size), p.k.fill(seed + 1, share, size), p.v.fill(seed + 2, share, size);
    note_missing(p.k, p.mask.missing), note_missing(p.v, p.mask.missing);
    p.scale =
        static_cast<real>(static_cast<T>(1 / std::sqrt(static_cast<double>(p.q.shape.head_dim))));
    if (data.ConsumeBool()) p.query_positions = any_positions(data, q.tokens, true);
    if (data.ConsumeBool()) p.key_positions = any_positions(data, k.tokens, true);
    options = {.mask = p.mask.made(),
               .query_positions = p.query_positions,
               .key_positions = p.key_positions,
               .keep_scores = to.scores.size != 0,
               .keep_weights = to.weights.size != 0};
  }
  bool is_refused() const {
    return fuzz::is_refused(p.mask, p.query_positions, p.key_positions, p.q.shape.tokens,
                            p.k.shape.tokens);
  }
  posenc::attention_records<T> records() const {
    return {to.log_sum_exp.all(), to.scores.all(), to.weights.all()};
  }
  /// Makes it wrong; false if it cannot be made so here.
  bool spoil(fault f, posenc::heads_view<O>& outputs, posenc::attention_records<T>& records,
             exact<double>& numbers, exact<T>& others) {
    auto const& shape = p.q.shape;
    auto const rows = shape.tokens * shape.heads;
    auto const cells = [&](posenc::given_mask::shape const& of, bool sloped) {
      posenc::given_mask const given(one.data(), of, {0, 0, 0});
      options.mask = posenc::mask::given(sloped ? given.with_slopes(slopes) : given);
    };
    switch (f) {
      case fault::outputs:
        if (rows == 0) return false;
        outputs = outputs.slice_tokens(0, shape.tokens - 1);
        return true;
      case fault::overlap:
        if constexpr (requires { p.q.numbers; } && std::same_as<O, T>) {
          if constexpr (std::same_as<decltype(p.q.numbers), std::vector<O>>) {
            auto const d = to.shape.head_dim;
            if (rows == 0 || p.q.numbers.size() < d) return false;
            outputs = {p.q.numbers.data(), {1, 1, d}};  // which is mostly another shape, too
            return true;
          }
        }
        return false;
      case fault::log_sum_exp:
        numbers = exact<double>(rows + 1, 7), records.log_sum_exp = numbers.all();
        return true;
      case fault::scores:
        others = exact<T>(rows * p.k.shape.tokens + 1, 7), records.scores = others.all();
        return true;
      case fault::weights:
        others = exact<T>(rows * p.k.shape.tokens + 1, 7), records.weights = others.all();
        return true;
      case fault::cells:
        if (shape.tokens == 0 || p.k.shape.tokens == 0) return false;
        one[0] != 0 ? cells({shape.tokens - 1, 1, p.k.shape.tokens}, false)
                    : cells({shape.tokens, 1, p.k.shape.tokens - 1}, false);
        return true;
      case fault::heads_of_cells:
        cells({shape.tokens, shape.heads + 1, p.k.shape.tokens}, false);
        return true;
      case fault::slopes:
        cells({shape.tokens, 1, p.k.shape.tokens}, true);
        return true;
      case fault::positions:
        options.key_positions = positions(p.k.shape.tokens + 1);
        return true;
      default:
        return false;
    }
  }
};

}  // namespace fuzz
