// The blocks of attention in reverse, in four steps: softmax, scores, products, and the sums over
// blocks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "posenc/attention/arguments.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/detail/block_memory.hpp"
#include "posenc/attention/detail/checked_arguments.hpp"
#include "posenc/attention/detail/finish_outputs.hpp"
#include "posenc/attention/detail/products.hpp"
#include "posenc/attention/detail/score_blocks.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/softmax/softmax.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// sums += factors^T rows, of one kv head. Factors are 0 where a row does not see a key; the row
/// may be NaN there, and is then left out.
template <std::floating_point T>
void add_transposed_product(heads_view<T> const& sums, T const* factors, T const* rows,
                            block_shape const& b) {
  auto const dims = sums.head_dim(), seen = b.seen();
  if (!all_finite(std::span(rows, b.rows() * dims))) {
    for (std::size_t row = 0; row < b.rows(); ++row) {
      for (std::size_t s = 0; s < seen; ++s) {
        auto const factor = factors[row * seen + s];
        if (factor == 0) continue;
        auto const sum = sums(b.keys.first + s, 0);
        for (std::size_t i = 0; i < dims; ++i)
          sum[i] = multiply_add(factor, rows[row * dims + i], sum[i]);
      }
    }
    return;
  }
  tile_panels<T> panels(heads_view<T const>(rows, {b.rows(), 1, dims}));
  in_parts(0, b.rows(), tile_terms, [&](std::size_t row, std::size_t terms) {
    auto const hull = b.seen_by(row, terms);
    in_parts(0, dims, tile_columns<T>, [&](std::size_t dim, std::size_t columns) {
      auto const* const panel = panels.of_values(row, terms, dim, columns);
      for (auto key = hull.first; key < hull.last; key += tile_rows) {
        auto const keys = std::min(tile_rows, hull.last - key);
        multiply(tile<T>{sums(key, 0).data() + dim, static_cast<std::size_t>(sums.strides().token),
                         rows_of_tile(factors + row * seen + key - b.keys.first, 1, keys), seen,
                         panel, terms, 1, true},
                 keys, columns);
      }
    });
  });
}

/// The blocks of one call in reverse. Gradients of encoded queries and keys come out as those of q
/// and k.
/// Workspace: a gradients_workspace.
template <std::floating_point T, class Encoding, class Workspace>
struct backward_blocks {
  using through = lets_through<Encoding>;
  Encoding const& encoding;
  attention_arguments const& given;
  attention_result<T> const& forward;
  Workspace& memory;
  score_blocks<T, Encoding> scores;

  /// How large the blocks are.
  static block_sizes sizes_of(attention_arguments const& given) noexcept {
    return {std::min(given.queries, queries_of_block(given.group)), 1, 1, given.keys, given.keys};
  }

  /// k and v: as to_read makes them.
  void add_all(auto const& q, auto const& k, auto const& v, auto const& d_outputs) {
    memory.keys.resize(given.keys * given.head_dim);
    memory.values.resize(given.keys * given.value_dim);
    memory.exponentials.resize(given.keys);
    auto const each = scores.sizes().queries;
    for (std::size_t kv_head = 0; kv_head < given.kv_heads; ++kv_head) {
      tile_panels<T> keys(
          scores.encoded_keys(memory.keys.data(), k.slice_heads(kv_head, 1), 0, kv_head)),
          values(as_computed<T>(memory.values.data(), v.slice_heads(kv_head, 1))),
          summed_keys(keys.head());
      for (std::size_t first = 0; first < given.queries; first += each) {
        auto const count = std::min(each, given.queries - first);
        scores.encode(0, q, first, count, kv_head, 1);
        if (!scores.see(0, first, count, kv_head, 1, {0, given.keys})) continue;
        scores.multiply(scores.data(), keys);
        scores.adjust();
        auto const& block = scores.shape();
        copied<T>(memory.d_outputs, d_outputs.slice_tokens(first, block.queries())
                                        .slice_heads(kv_head * given.group, given.group));
        resize(memory.d_scores);
        multiply_scores(memory.d_scores.data(), T{1}, std::as_const(memory.d_outputs).data(),
                        values, block);
        for (std::size_t i = 0; i < block.rows(); ++i) through_softmax(i);
        add_transposed_product<T>(
            heads_view<T>(memory.result.v.data(), v.shape()).slice_heads(kv_head, 1), scores.data(),
            memory.d_outputs.data(), block);
        if constexpr (!through::as_biases) through_scores(keys);
        through_products(summed_keys, kv_head);
      }
    }
  }

  /// (4) Of row i: scores become weights, and gradients of weights those of scores.
  void through_softmax(std::size_t i) {
    auto const row = scores[i];
    auto const at = row.query * given.heads + row.head, dims = given.value_dim;
    double beta = 1, mean = 0;
    auto const [e, sum] = exponentiate<acts_on_softmax<Encoding>>(
        row.scores, memory.exponentials.data(), [&](auto const& plain, auto max) {
          return beta = inverse_temperature_of(encoding,
                                               statistics_of<T>(plain, row.scores, max, row.head,
                                                                given.query_positions[row.query]));
        });
    auto const share = static_cast<T>(share_within(sum, forward.log_sum_exp[at]));
    std::transform(e, e + row.scores.size(), row.scores.data(),
                   [share](T weight) { return weight * share; });
    if (!is_finite(sum.sum) || !is_finite(static_cast<double>(share))) scores.clear_hidden(row);
    for (std::size_t j = 0; j < dims; ++j) {
      mean += static_cast<double>(memory.d_outputs[i * dims + j]) *
              static_cast<double>(forward.outputs[at * dims + j]);
    }
    auto* const weights = scores.data();
    auto const seen = scores.shape().seen(), from = index_of(row), to = from + row.scores.size();
    auto const factor = static_cast<T>(through::as_biases ? beta * given.scale : beta);
    softmax_gradients(weights + from, memory.d_scores.data() + from, to - from,
                      static_cast<T>(mean), factor);
    for (auto* const numbers : {weights, memory.d_scores.data()}) {
      std::fill(numbers + i * seen, numbers + from, T{0});
      std::fill(numbers + to, numbers + (i + 1) * seen, T{0});
    }
  }

  /// (3) Of rules that are no biases, from the scores before them.
  void through_scores(tile_panels<T>& keys) {
    auto const rows = scores.shape().rows(), dims = given.head_dim;
    resize(memory.scores_before);
    memory.d_encoded_queries.assign(rows * dims, T{0});
    scores.multiply(memory.scores_before.data(), keys);
    auto const positions = scores.listed_positions();
    for (std::size_t i = 0; i < rows; ++i) {
      auto const row = scores[i];
      auto const from = index_of(row), count = row.scores.size();
      auto const d_row = std::span<T>(memory.d_scores).subspan(from, count);
      encoding.backward_scores(
          scores.score_row_of(i, std::span<T const>(memory.scores_before).subspan(from, count),
                              positions),
          d_row, std::span<T>(memory.d_encoded_queries).subspan(i * dims, dims));
      for (auto& x : d_row) x *= static_cast<T>(given.scale);
    }
  }

  /// From scores to encoded queries and keys.
  void through_products(tile_panels<T>& keys, std::size_t kv_head) {
    auto const& block = scores.shape();
    auto const& d_scores = memory.d_scores;
    auto& d = memory.result;
    auto const dims = given.head_dim;
    heads_view<T> const d_keys(d.k.data(), {given.keys, given.kv_heads, dims});
    add_transposed_product<T>(d_keys.slice_heads(kv_head, 1), d_scores.data(),
                              scores.encoded_queries(), block);
    memory.d_queries.assign(block.rows() * dims, T{0});
    multiply_outputs(memory.d_queries.data(), d_scores.data(), keys, block);
    finish_outputs<T>(memory.d_queries.data(), d_scores.data(), keys.head(), block, nullptr);
    for (std::size_t i = 0; i < block.rows(); ++i) {
      auto const row = scores[i];
      auto* const to = d.q.data() + (row.query * given.heads + row.head) * dims;
      std::copy_n(memory.d_queries.data() + i * dims, dims, to);
      if (through::as_biases) continue;
      for (std::size_t j = 0; j < dims; ++j) to[j] += memory.d_encoded_queries[i * dims + j];
    }
  }

  void resize(std::vector<T>& numbers) {
    numbers.resize(std::max(numbers.size(), scores.shape().rows() * scores.shape().seen()));
  }
  /// In [rows][seen].
  std::size_t index_of(block_row<T> const& row) {
    return static_cast<std::size_t>(row.scores.data() - scores.data());
  }
};

}}}  // namespace posenc::detail
