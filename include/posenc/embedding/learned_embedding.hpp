// Learned embeddings: a table of one vector per position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/embedding/detail/add_rows.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// p_t = table[t + offset]: GPT-2, BERT, ViT (offset 0), OPT and BART (2), RoBERTa (padding_idx +
/// 1). [Devlin 2018; Radford 2019] Keeps a copy of the table in its storage type T. Throws
/// std::invalid_argument unless dim is positive and the table consists of whole vectors, at least
/// one, of finite numbers.
template <writable T>
class learned_embedding {
 public:
  /// table: [positions][dim], as models store it.
  learned_embedding(std::span<T const> table, std::size_t dim, std::int64_t offset = 0)
      : dim_(dim), offset_(offset) {
    detail::require(dim > 0, "learned_embedding: dim must be positive, got 0");
    detail::require(!table.empty() && table.size() % dim == 0,
                    "learned_embedding: the table must be one or more vectors of ", dim,
                    " numbers, got ", table.size(), " numbers");
    for (std::size_t i = 0; i < table.size(); ++i) {
      auto const number = static_cast<double>(load(table[i]));
      detail::require(is_finite(number), "learned_embedding: the table must be finite, got ",
                      number, " in vector ", i / dim);
    }
    table_.assign(table.begin(), table.end());
  }

  std::size_t dim() const noexcept { return dim_; }  ///< numbers in a vector
  /// Positions that have one.
  std::size_t vectors() const noexcept { return table_.size() / dim_; }

  /// Site 1: x[t] += p_t. x: [tokens][1][dim]; with several heads, each gets the same p_t.
  /// Throws, before anything is changed, unless x has heads of dim() and one position per token,
  /// each within [-offset, vectors() - offset).
  template <class U>
  void embed(heads_view<U> const& x, token_positions const& positions) const {
    detail::require_embeddings("learned_embedding", x, dim_, positions);
    for (std::size_t token = 0; token < positions.size(); ++token) {
      detail::require(index(positions[token]) < vectors(),
                      "learned_embedding: positions must be within [", position_of(0), ", ",
                      position_of(vectors()), "), got ", positions[token], " at token ", token);
    }
    detail::add_rows(x, [&](std::size_t token, auto vector) {
      auto const* from = table_.data() + index(positions[token]) * dim_;
      for (auto& number : vector) number = static_cast<arithmetic_t<U>>(load(*from++));
    });
  }

 private:
  // Unsigned: a position before the table gets an index far beyond it.
  std::uint64_t index(std::int64_t position) const noexcept {
    return static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(offset_);
  }
  std::int64_t position_of(std::size_t vector) const noexcept {
    return static_cast<std::int64_t>(vector - static_cast<std::uint64_t>(offset_));
  }

  std::vector<T> table_;
  std::size_t dim_;
  std::int64_t offset_;
};

static_assert(acts_on_embeddings<learned_embedding<float>>);

}}  // namespace posenc
