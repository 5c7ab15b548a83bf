#include "program/run/products.hpp"

#include <Eigen/Core>

#include <algorithm>

namespace run {
namespace {

using numbers = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using strided = Eigen::OuterStride<>;
using numbers_in = Eigen::Map<numbers const, 0, strided>;
using numbers_out = Eigen::Map<numbers, 0, strided>;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

// A tile has about so many numbers: it stays in the second cache, and a product of many tokens
// packs their vectors once for each tile.
constexpr std::size_t tile_numbers = std::size_t{1} << 19;
// A product below so many multiplications is not worth a thread.
constexpr std::size_t worth_a_thread = std::size_t{1} << 18;

// Outputs [first, first + count) of all tokens.
void multiply_rows(matrix const& by, std::size_t first, std::size_t count, numbers_in const& from,
                   numbers_out to) {
  auto const most = std::clamp<std::size_t>(tile_numbers / by.columns, 1, count);
  std::vector<float> tile(most * by.columns);
  for (std::size_t done = 0; done < count; done += most) {
    auto const rows = std::min(most, count - done);
    by.tensor->decode(by.first_row + first + done, rows, tile.data());
    Eigen::Map<numbers const> const w(tile.data(), index(rows), index(by.columns));
    auto part = to.middleCols(index(first + done), index(rows));
    if (from.rows() == 1) {
      part.row(0).transpose().noalias() = w * from.row(0).transpose();
    } else {
      part.noalias() = from * w.transpose();
    }
  }
}

// All outputs of some tokens.
void multiply_transposed(matrix const& by, numbers_in const& from, numbers_out to) {
  auto const most = std::clamp<std::size_t>(tile_numbers / by.columns, 1, by.rows);
  std::vector<float> tile(most * by.columns);
  to.setZero();
  for (std::size_t done = 0; done < by.rows; done += most) {
    auto const rows = std::min(most, by.rows - done);
    by.tensor->decode(by.first_row + done, rows, tile.data());
    Eigen::Map<numbers const> const w(tile.data(), index(rows), index(by.columns));
    to.noalias() += from.middleCols(index(done), index(rows)) * w;
  }
}

}  // namespace

void multiply(crew const& all, matrix const& by, float const* from, std::size_t tokens, float* to,
              std::size_t to_stride) {
  if (tokens == 0) return;
  auto const shared = by.is_transposed ? tokens : by.outputs();
  auto const worth = std::max<std::size_t>(1, tokens * by.rows * by.columns / worth_a_thread);
  auto const parts = std::min({all.threads, worth, shared});
  auto const in = [&](std::size_t first, std::size_t count) {
    return numbers_in(from + first * by.inputs(), index(count), index(by.inputs()),
                      strided(index(by.inputs())));
  };
  auto const out = [&](std::size_t first, std::size_t count) {
    return numbers_out(to + first * to_stride, index(count), index(by.outputs()),
                       strided(index(to_stride)));
  };
  auto const part = [&](std::size_t i) noexcept {
    auto const first = shared * i / parts, count = shared * (i + 1) / parts - first;
    if (by.is_transposed) {
      multiply_transposed(by, in(first, count), out(first, count));
    } else {
      multiply_rows(by, first, count, in(0, tokens), out(0, tokens));
    }
    if (by.bias.empty()) return;
    auto const begin = by.is_transposed ? std::size_t{0} : first;
    auto const size = by.is_transposed ? by.outputs() : count;
    Eigen::Map<Eigen::RowVectorXf const> const bias(by.bias.data() + begin, index(size));
    auto some = by.is_transposed ? out(first, count) : out(0, tokens);
    some.middleCols(index(begin), index(size)).rowwise() += bias;
  };
  posenc::tasks(parts, all)(posenc::task(part));
}

}  // namespace run
