// Head vectors to rotate, and what the compared ways to rotate them need: made on first use.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exact.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "report/buffer.hpp"

namespace bench {

/// So many bytes of head vectors: whether they fit a cache depends on the CPU.
struct working_set {
  char const* name;
  std::size_t bytes, heads;  ///< heads: of a token, at most
};
inline constexpr working_set in_20_kib{"20 KiB", std::size_t{20} << 10, 40},
    in_256_kib{"256 KiB", std::size_t{256} << 10, 32}, in_8_mib{"8 MiB", std::size_t{8} << 20, 32},
    in_64_mib{"64 MiB", std::size_t{64} << 20, 32};
inline constexpr std::array working_sets{in_20_kib, in_256_kib, in_8_mib, in_64_mib};

template <class T>
posenc::heads_shape shape_in(working_set const& set, std::size_t head_dim) {
  auto const vectors = std::max<std::size_t>(1, set.bytes / (head_dim * sizeof(T)));
  auto const heads = std::min(set.heads, vectors);
  return {vectors / heads, heads, head_dim};
}

template <class T>
class queries {
 public:
  using real = posenc::arithmetic_t<T>;

  /// The first dims of each head are rotated, as many as the frequencies are for.
  queries(posenc::frequencies f, posenc::heads_shape const& shape,
          std::size_t misaligned_by_bytes = 0)
      : shape_(shape), frequencies_(std::move(f)), offset_(misaligned_by_bytes / sizeof(T)) {
    for (std::size_t t = 0; t < shape.tokens; ++t)
      positions_.push_back(static_cast<std::int64_t>(100'003 + t));
  }

  posenc::heads_shape const& shape() const { return shape_; }
  std::size_t pairs() const { return frequencies_.pairs(); }
  std::size_t vectors() const { return shape_.tokens * shape_.heads; }
  std::size_t count() const { return vectors() * shape_.head_dim; }
  T* data() const { return buffer<T>() + offset_; }
  posenc::heads_view<T> view() const { return {data(), shape_}; }
  std::vector<std::int64_t> const& positions() const { return positions_; }

  posenc::cos_sin_rows<real> const& rows() {
    if (!rows_) rows_.emplace(frequencies_, positions_);
    return *rows_;
  }
  real const* cos_sin() { return rows().cos(0).data(); }

  /// cos + i sin: [tokens][pairs].
  std::complex<real> const* turns() {
    if (turns_.empty()) {
      for (std::size_t t = 0; t < shape_.tokens; ++t) {
        for (std::size_t i = 0; i < pairs(); ++i)
          turns_.emplace_back(rows().cos(t)[i], rows().sin(t)[i]);
      }
    }
    return turns_.data();
  }

  /// Restores the numbers, since repeated rotation accumulates rounding errors. The big ones have
  /// too few passes for that.
  void refill() const {
    if (count() * sizeof(T) < in_64_mib.bytes) fill(data(), count());
  }

  /// The largest error of `rotate`, which rotates these numbers once, over about 64 tokens. The
  /// numbers are within [-1, 1].
  template <class Layout>
  double max_error(auto&& rotate) {
    fill(data(), count());
    auto const pairs = this->pairs(), each = std::max<std::size_t>(1, shape_.tokens / 64);
    std::vector<T> before;
    for (std::size_t t = 0; t < shape_.tokens; t += each) {
      for (std::size_t h = 0; h < shape_.heads; ++h)
        before.insert(before.end(), view()(t, h).begin(), view()(t, h).end());
    }
    rotate();
    double error = 0;
    T const* old = before.data();
    for (std::size_t t = 0; t < shape_.tokens; t += each) {
      std::vector<exact_turn> turns;
      for (auto const f : frequencies_.inv_freq()) turns.emplace_back(positions_[t], f);
      for (std::size_t h = 0; h < shape_.heads; ++h, old += shape_.head_dim) {
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
  posenc::heads_shape shape_;
  posenc::frequencies frequencies_;
  std::size_t offset_;
  std::vector<std::int64_t> positions_;
  std::optional<posenc::cos_sin_rows<real>> rows_;
  std::vector<std::complex<real>> turns_;
};

}  // namespace bench
