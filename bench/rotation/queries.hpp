// Head vectors to rotate, and what the compared ways to rotate them need: made on first use.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "report/buffer.hpp"

namespace bench {

struct cache_level {
  char const* name;
  std::size_t tokens, heads;
};
inline constexpr cache_level L1{"L1", 1, 40}, L2{"L2", 16, 32}, L3{"L3", 512, 32},
    DRAM{"DRAM", 4096, 32};

template <class T>
class queries {
 public:
  using real = posenc::arithmetic_t<T>;

  queries(posenc::frequencies f, cache_level const& where, std::size_t misaligned_by_bytes = 0)
      : where_(where), frequencies_(std::move(f)), offset_(misaligned_by_bytes / sizeof(T)) {
    for (std::size_t t = 0; t < where.tokens; ++t)
      positions_.push_back(static_cast<std::int64_t>(100'003 + t));
  }

  cache_level const& where() const { return where_; }
  posenc::heads_shape shape() const {
    return {where_.tokens, where_.heads, frequencies_.rotary_dim()};
  }
  std::size_t head_dim() const { return frequencies_.rotary_dim(); }
  std::size_t vectors() const { return where_.tokens * where_.heads; }
  std::size_t count() const { return vectors() * head_dim(); }
  T* data() const { return buffer<T>() + offset_; }
  posenc::heads_view<T> view() const { return {data(), shape()}; }
  std::vector<std::int64_t> const& positions() const { return positions_; }

  posenc::cos_sin_rows<real> const& rows() {
    if (!rows_) rows_.emplace(frequencies_, positions_);
    return *rows_;
  }
  real const* cos_sin() { return rows().cos(0).data(); }

  /// cos + i sin: [tokens][pairs].
  std::complex<real> const* turns() {
    if (turns_.empty()) {
      for (std::size_t t = 0; t < where_.tokens; ++t) {
        for (std::size_t i = 0; i < frequencies_.pairs(); ++i)
          turns_.emplace_back(rows().cos(t)[i], rows().sin(t)[i]);
      }
    }
    return turns_.data();
  }

  /// Restores the numbers, since repeated rotation accumulates rounding errors. The big ones have
  /// too few passes for that.
  void refill() const {
    if (where_.tokens < DRAM.tokens) fill(data(), count());
  }

  /// The largest error of `rotate`, which rotates these numbers once, over about 64 tokens. The
  /// numbers are within [-1, 1].
  template <class Layout>
  double max_error(auto&& rotate) {
    fill(data(), count());
    auto const pairs = frequencies_.pairs(), each = std::max<std::size_t>(1, where_.tokens / 64);
    std::vector<T> before;
    for (std::size_t t = 0; t < where_.tokens; t += each) {
      for (std::size_t h = 0; h < where_.heads; ++h)
        before.insert(before.end(), view()(t, h).begin(), view()(t, h).end());
    }
    rotate();
    double error = 0;
    T const* old = before.data();
    for (std::size_t t = 0; t < where_.tokens; t += each) {
      std::vector<exact_turn> turns;
      for (auto const f : frequencies_.inv_freq()) turns.emplace_back(positions_[t], f);
      for (std::size_t h = 0; h < where_.heads; ++h, old += head_dim()) {
        auto const head = view()(t, h);
        for (std::size_t i = 0; i < pairs; ++i) {
          auto const x = Layout::x_index(i, pairs), y = Layout::y_index(i, pairs);
          long double const a = posenc::load(old[x]), b = posenc::load(old[y]);
          auto const difference = [&](std::size_t at, long double exact) {
            auto const d = std::abs(static_cast<double>(posenc::load(head[at]) - exact));
            error = d < error || std::isnan(error) ? error : d;  // NaN stays
          };
          difference(x, a * turns[i].cos - b * turns[i].sin);
          difference(y, a * turns[i].sin + b * turns[i].cos);
        }
      }
    }
    return error;
  }

 private:
  cache_level where_;
  posenc::frequencies frequencies_;
  std::size_t offset_;
  std::vector<std::int64_t> positions_;
  std::optional<posenc::cos_sin_rows<real>> rows_;
  std::vector<std::complex<real>> turns_;
};

}  // namespace bench
