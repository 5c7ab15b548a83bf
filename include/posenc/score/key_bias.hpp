// The bias of a key projection, left out of the cache and added to scores: its rotation is known.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "posenc/rows/pair_axes.hpp"
#include "posenc/rows/row_maker.hpp"
#include "posenc/score/detail/wave_sums.hpp"

namespace posenc { inline namespace POSENC_TARGET {
namespace detail {

// Runs of keys that follow one another: their positions, on one axis or several.

/// The position of each key on each axis. On several axes a key is given by its index, as in
/// m_rope: the index of a token of `positions` or, beyond them, index + delta on every axis.
template <built_position P>
class key_runs {
 public:
  static constexpr std::size_t most_axes = 8;
  using place = std::array<P, most_axes>;  ///< of a key, on each axis

  /// Keys whose positions differ by a whole number, below a length, which is the same on all axes
  /// that move; on the others they are equal.
  struct run {
    place begin = {};                            ///< of the position at offset 0
    std::array<bool, most_axes> moves = {true};  ///< the axes on which they differ
    std::size_t offset = 0;                      ///< of the first key
    std::size_t count = 1;                       ///< of keys
    bool is_dense = true;                        ///< each offset is the one before plus 1
  };

  key_runs() = default;
  key_runs(axis_positions<P> positions, P delta)
      : positions_(std::move(positions)), delta_(delta), axes_(positions_->axes()) {
    require(axes_ <= most_axes, "key_bias: there must be at most ", most_axes, " axes, got ",
            axes_);
    require(is_finite(static_cast<double>(delta)), "key_bias: delta must be finite, got ", delta);
  }

  std::size_t axes() const noexcept { return axes_; }

  /// Throws if a key has no position.
  void check(positions_view keys) const {
    if (!positions_) return;
    for (auto const index : keys) {
      require(index >= 0, "key_bias: an index must not be negative, got ", index);
      if constexpr (std::integral<P>)
        require(delta_ <= 0 || index <= std::numeric_limits<P>::max() - delta_,
                "key_bias: an index plus delta must fit int64, got ", index, " plus ", delta_);
    }
  }

  place at(std::int64_t key) const noexcept {
    if (!positions_) return {static_cast<P>(key)};
    place result{};
    auto const index = static_cast<std::size_t>(key);
    for (std::size_t axis = 0; axis < axes_; ++axis)
      result[axis] =
          index < positions_->tokens() ? positions_->of(axis)[index] : static_cast<P>(key) + delta_;
    return result;
  }

  /// The run that keys[0] begins, of offsets below `length`. On one axis, offset 0 is at a multiple
  /// of it, so that a key's offset depends on its position alone.
  run first_of(positions_view keys, std::size_t length) const noexcept {
    auto const count_while = [&](auto const& belongs) {
      return static_cast<std::size_t>(std::ranges::find_if_not(keys, belongs) - keys.begin());
    };
    run result{at(keys[0])};
    if (!positions_) {
      result.offset = static_cast<std::size_t>(static_cast<std::uint64_t>(keys[0]) % length);
      result.begin[0] -= static_cast<P>(result.offset);
      result.count = std::min(keys.size(), length - result.offset);
      result.is_dense = follow_one_another(keys.first(result.count));
      if (!result.is_dense)
        result.count = count_while([&](std::int64_t key) {
          return distance(result.begin[0], static_cast<P>(key)) < length;
        });
      return result;
    }
    result.moves.fill(true);
    bool is_known = false;  // which axes move
    std::uint64_t n = 0;
    result.count = count_while([&](std::int64_t key) {
      auto const next = at(key);
      std::array<bool, most_axes> moves{};
      std::uint64_t moved = 0;
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        auto const by = distance(result.begin[axis], next[axis]);
        if (by >= length || (by != 0 && moved != 0 && by != moved)) return false;
        moves[axis] = by != 0;
        moved = std::max(moved, by);
      }
      if (moved != 0 && is_known && moves != result.moves) return false;
      if (moved != 0) {
        result.moves = moves;
        is_known = true;
      }
      result.is_dense = result.is_dense && moved == n++;
      return true;
    });
    return result;
  }

  /// The offset of a key of the run.
  std::size_t offset(run const& of, std::int64_t key) const noexcept {
    auto const axis = positions_ ? std::ranges::find(of.moves, true) - of.moves.begin() : 0;
    auto const i = static_cast<std::size_t>(axis);
    return static_cast<std::size_t>(
        distance(of.begin[i], positions_ ? at(key)[i] : static_cast<P>(key)));
  }

 private:
  // b - a if that is a whole number, else more than any length.
  static std::uint64_t distance(P a, P b) noexcept {
    if constexpr (std::integral<P>) {
      return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    } else {
      auto const by = b - a;
      bool const is_whole = by >= 0 && by < 0x1p31 && by == std::floor(by) && a + by == b;
      return is_whole ? static_cast<std::uint64_t>(by) : std::numeric_limits<std::uint64_t>::max();
    }
  }

  std::optional<axis_positions<P>> positions_;
  P delta_ = 0;
  std::size_t axes_ = 1;
};

// The bias of one kv head: what turns with the position of a key, and what does not.

/// At most 64 pairs whose bias is not 0.
struct biased_pairs {
  struct pair {
    std::size_t x_dim, y_dim, axis;
    double x, y;  ///< of the bias
  };
  std::vector<pair> pairs;
  row_maker rows;  ///< of these pairs
  wave_sums sums;  ///< of these pairs
};

struct biased_head {
  std::vector<std::pair<std::size_t, double>> constants;  ///< dims that no frequency turns; bias
  std::vector<biased_pairs> parts;

  /// b: [head_dim]. axes: null, or of each pair. first_dim: of the rotary block.
  template <pair_layout Layout>
  static biased_head of(std::span<float const> b, frequencies const& f, pair_axes const* axes,
                        std::size_t first_dim) {
    biased_head result;
    auto const add_constant = [&](std::size_t dim, double factor) {
      if (b[dim] != 0) result.constants.push_back({dim, static_cast<double>(b[dim]) * factor});
    };
    for (std::size_t dim = 0; dim < b.size(); ++dim)
      if (dim < first_dim || dim - first_dim >= f.rotary_dim()) add_constant(dim, 1);
    auto const x_dim = [&](std::size_t i) { return first_dim + Layout::x_index(i, f.pairs()); };
    auto const y_dim = [&](std::size_t i) { return first_dim + Layout::y_index(i, f.pairs()); };
    std::vector<std::size_t> turned;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      if (f.inv_freq()[i] == 0)
        add_constant(x_dim(i), f.attention_factor()), add_constant(y_dim(i), f.attention_factor());
      else if (b[x_dim(i)] != 0 || b[y_dim(i)] != 0)
        turned.push_back(i);
    }
    for (std::size_t from = 0; from < turned.size(); from += wave_sums::most) {
      auto const some =
          std::span(turned).subspan(from, std::min(wave_sums::most, turned.size() - from));
      std::vector<biased_pairs::pair> pairs;
      std::vector<std::size_t> axis_of;
      for (auto const i : some) {
        axis_of.push_back(axes == nullptr ? 0 : axes->axis(i));
        pairs.push_back({x_dim(i), y_dim(i), axis_of.back(), static_cast<double>(b[x_dim(i)]),
                         static_cast<double>(b[y_dim(i)])});
      }
      auto of_some = for_pairs(some.size(), f.attention_factor(),
                               [&](std::size_t n) { return with_rest(f, some[n]); });
      auto rows = axes == nullptr ? row_maker(std::move(of_some))
                                  : row_maker(std::move(of_some), pair_axes(std::move(axis_of)));
      result.parts.push_back({std::move(pairs), std::move(rows), wave_sums(f, some)});
    }
    return result;
  }
};

}  // namespace detail

/// A key with a bias is R(p) (W x + b) = R(p) W x + R(p) b, and R(p) b depends on its position p
/// alone. A cache of R(p) W x, the engine's keys made without b, is enough:
///
///     score += scale <q, R(p) b> = scale sum_i A_i cos(p w_i) + B_i sin(p w_i)
///     A = q_x b_x + q_y b_y,   B = q_y b_x - q_x b_y      of pair i, (q_x, q_y) rotated; made once
///                                                         per row, for pairs where b is not 0
///
/// Dims that no frequency turns add scale q b. It is useful if b is large and keys are stored in
/// few bits, as with Qwen 2. Cached keys move like all others: R(p) W x has no b in it. It is wrong
/// if a norm of keys follows the bias. Angles are exact, sums in the type of scores, like products
/// with keys. On one axis, the bits of a key do not depend on the keys beside it. If positions
/// leave gaps, a key costs more: three times as much if every second position has one, 500 times if
/// it has no other within 512 positions.
///
///     scheme{rope<halves>(f), key_bias<halves>(k_proj_bias, kv_heads, heads, f)}
///
/// The encoding that rotates queries must come before it in a scheme, and rotate as the keys were:
/// the same frequencies, layout and block. P: the type of positions on several axes.
template <pair_layout Layout, built_position P = std::int64_t>
class key_bias {
 public:
  static constexpr bool is_pointwise = true;  ///< a score of its query and its key's position

  /// bias: b, [kv_heads][head_dim], 0 where it stays in the keys. heads: of queries. Throws
  /// std::invalid_argument unless kv_heads divides heads and b, b is finite, and the block lies
  /// within the head.
  key_bias(std::span<float const> bias, std::size_t kv_heads, std::size_t heads,
           posenc::frequencies const& f, rotary_block block = rotary_block::first())
      : key_bias(bias, kv_heads, heads, f, nullptr, block) {}

  /// On several axes, as m_rope has them: a key's position is its index, of a token of `positions`
  /// or, beyond, index + delta on every axis. Throws too unless axes has each pair, positions every
  /// axis that a pair has, at most 8, and delta is finite.
  key_bias(std::span<float const> bias, std::size_t kv_heads, std::size_t heads,
           posenc::frequencies const& f, pair_axes const& axes, axis_positions<P> positions,
           P delta, rotary_block block = rotary_block::first())
      : key_bias(bias, kv_heads, heads, f, &axes, block) {
    detail::require(axes.axes() <= positions.axes(), "key_bias: positions must have each of the ",
                    axes.axes(), " axes of the pairs, got ", positions.axes());
    keys_ = detail::key_runs<P>(std::move(positions), delta);
  }

  /// The bias for queries under a Walsh-Hadamard transform, with the block of hadamard(): in a
  /// scheme behind hadamard_transform, or for queries that rotate(...).hadamard() has written.
  /// Throws as hadamard does.
  key_bias of_transformed(std::size_t block = 0) const {
    detail::require(head_dim_ <= detail::most_head_dim, "key_bias: head_dim must be at most ",
                    detail::most_head_dim, " for transformed queries, got ", head_dim_);
    auto result = *this;
    result.block_ = detail::hadamard_block(head_dim_, block, "key_bias");
    return result;
  }

  std::size_t heads() const noexcept { return heads_; }              ///< of queries
  std::size_t kv_heads() const noexcept { return of_head_.size(); }  ///< that have a bias
  std::size_t head_dim() const noexcept { return head_dim_; }        ///< of queries and keys

  /// Site 3, see acts_on_scores. Allocates nothing. Throws, before anything is changed, unless the
  /// row's head is one of heads(), its query has head_dim() numbers and each key a position; on
  /// axes, unless no index is negative.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    check(row);
    if (block_ <= 1) return add_to(row);
    std::array<T, detail::most_head_dim> numbers;
    std::span const query(numbers.data(), head_dim_);
    std::ranges::copy(row.query, query.begin());
    detail::transform_blocks(query, block_);
    auto plain = row;
    plain.query = query;
    add_to(plain);
  }

  /// Gradients of scores pass as they are; that of the query gets scale sum_s d_s R(p_s) b. b gets
  /// none. Throws as adjust_scores does and unless there is a gradient for each score and each
  /// number of the query.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    check(before);
    detail::require(d_scores.size() == before.scores.size() && d_query.size() == head_dim_,
                    "key_bias: there must be one gradient for each of ", before.scores.size(),
                    " scores and ", head_dim_, " numbers of the query, got ", d_scores.size(),
                    " and ", d_query.size());
    auto const& of = of_head_[before.head * kv_heads() / heads_];
    std::vector<double> d(head_dim_);
    double sum = 0;
    for (auto const d_score : d_scores) sum += static_cast<double>(d_score);
    for (auto const& [dim, b] : of.constants) d[dim] = sum * b;
    for (auto const& part : of.parts) {
      waves::numbers cosines{}, sines{};
      for (std::size_t n = 0; n < d_scores.size(); ++n) {
        if (d_scores[n] == 0) continue;
        auto const row = row_of(part, keys_.at(before.key_positions[n]));
        for (std::size_t i = 0; i < part.pairs.size(); ++i) {
          cosines[i] += static_cast<double>(d_scores[n]) * row[i];
          sines[i] += static_cast<double>(d_scores[n]) * row[part.pairs.size() + i];
        }
      }
      for (std::size_t i = 0; i < part.pairs.size(); ++i) {
        auto const& p = part.pairs[i];
        d[p.x_dim] = cosines[i] * p.x - sines[i] * p.y;
        d[p.y_dim] = sines[i] * p.x + cosines[i] * p.y;
      }
    }
    detail::transform_blocks(std::span(d), block_);
    for (std::size_t i = 0; i < head_dim_; ++i)
      d_query[i] = static_cast<T>(static_cast<double>(d_query[i]) + before.scale * d[i]);
  }

 private:
  using waves = detail::wave_sums;

  key_bias(std::span<float const> bias, std::size_t kv_heads, std::size_t heads,
           posenc::frequencies const& f, pair_axes const* axes, rotary_block block)
      : heads_(heads), table_(f) {
    detail::require(kv_heads > 0 && heads > 0 && heads % kv_heads == 0,
                    "key_bias: kv_heads must divide heads, got ", kv_heads, " kv heads for ", heads,
                    " heads");
    detail::require(!bias.empty() && bias.size() % kv_heads == 0,
                    "key_bias: the bias must be a vector for each of the ", kv_heads,
                    " kv heads, got ", bias.size(), " numbers");
    head_dim_ = bias.size() / kv_heads;
    detail::require_finite("key_bias: the bias", bias, " of kv head ", head_dim_);
    detail::require(axes == nullptr || axes->pairs() == f.pairs(),
                    "key_bias: axes must be given for each of the ", f.pairs(), " pairs, got ",
                    axes == nullptr ? 0 : axes->pairs());
    auto const first_dim = block.first_dim(head_dim_, f.rotary_dim());
    for (std::size_t head = 0; head < kv_heads; ++head)
      of_head_.push_back(detail::biased_head::of<Layout>(bias.subspan(head * head_dim_, head_dim_),
                                                         f, axes, first_dim));
  }

  template <class T>
  void check(score_row<T> const& row) const {
    detail::require_row("key_bias", row, heads_);
    detail::require(row.query.size() == head_dim_, "key_bias: the query must have ", head_dim_,
                    " numbers, got ", row.query.size());
    keys_.check(row.key_positions);
  }

  template <class T>
  void add_to(score_row<T> const& row) const noexcept {
    auto const& of = of_head_[row.head * kv_heads() / heads_];
    double same = 0;
    for (auto const& [dim, b] : of.constants) same += static_cast<double>(row.query[dim]) * b;
    if (same != 0) add(static_cast<T>(row.scale * same), row.scores);
    for (auto const& part : of.parts) {
      auto const [a, b] = factors(part, row);
      for (std::size_t n = 0; n < row.scores.size();) {
        auto const keys = row.key_positions.subspan(n);
        auto const run = keys_.first_of(keys, detail::stretch_length);
        add_run(part, run, keys, a, b, row.scores.subspan(n, run.count));
        n += run.count;
      }
    }
  }

  /// scale A and scale B of each pair.
  template <class T>
  static std::pair<waves::numbers, waves::numbers> factors(detail::biased_pairs const& part,
                                                           score_row<T> const& row) noexcept {
    std::pair<waves::numbers, waves::numbers> result{};
    for (std::size_t i = 0; i < part.pairs.size(); ++i) {
      auto const& p = part.pairs[i];
      auto const x = row.scale * static_cast<double>(row.query[p.x_dim]),
                 y = row.scale * static_cast<double>(row.query[p.y_dim]);
      result.first[i] = x * p.x + y * p.y;
      result.second[i] = y * p.x - x * p.y;
    }
    return result;
  }

  template <class T>
  void add_run(detail::biased_pairs const& part, typename detail::key_runs<P>::run const& run,
               positions_view keys, waves::numbers const& a, waves::numbers const& b,
               std::span<T> scores) const noexcept {
    auto const at = row_of(part, run.begin);
    auto const count = part.pairs.size();
    waves::numbers turned_a{}, turned_b{};
    double same = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const c = at[i], s = at[count + i], x = a[i] * c + b[i] * s;
      if (run.moves[part.pairs[i].axis])
        turned_a[i] = x, turned_b[i] = b[i] * c - a[i] * s;
      else
        same += x;
    }
    if (same != 0) add(static_cast<T>(same), scores);
    auto const offset = [&](std::size_t n) { return keys_.offset(run, keys[n]); };
    part.sums.add(table_, turned_a, turned_b, offset, run.is_dense, scores);
  }

  template <class T>
  static void add(T x, std::span<T> scores) noexcept {
    for (auto& score : scores) score += x;
  }

  /// Cosines, then sines, times the attention factor.
  static auto row_of(detail::biased_pairs const& part,
                     typename detail::key_runs<P>::place const& at) noexcept {
    std::array<double, 2 * waves::most> row;
    part.rows.write(std::span<P const>(at.data(), part.rows.axes()), row.data());
    return row;
  }

  std::size_t heads_, head_dim_ = 0;
  std::vector<detail::biased_head> of_head_;  // [kv_heads]
  detail::wave_table table_;
  detail::key_runs<P> keys_;
  std::size_t block_ = 1;  // of transformed queries
};

static_assert(acts_on_scores<key_bias<halves>> && adjusts_each_score<key_bias<halves>> &&
              pulls_back_scores<key_bias<halves>> && !adds_bias<key_bias<halves>>);

}}  // namespace posenc
