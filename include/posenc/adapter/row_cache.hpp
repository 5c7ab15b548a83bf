// Rows kept from call to call and found by their content: for engines whose ops have nowhere to
// keep what belongs to a step.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// The key of a value: the bytes that determine it, one part after another. They do not say
/// where a part ends: let the first say what the value is, and the sizes of parts that vary.
using content_parts = std::span<std::span<std::byte const> const>;

namespace detail {

/// The last values, each with its key: at most 16, and at most `bytes` unless the last one alone
/// has more.
template <class Value>
class content_cache {
 public:
  explicit content_cache(std::size_t bytes) noexcept : most_bytes_(bytes) {}

  Value const* find(content_parts content) noexcept {
    auto const found = std::find_if(entries_.rbegin(), entries_.rend(),
                                    [&](entry const& e) { return is(e.content, content); });
    if (found == entries_.rend()) return nullptr;
    if (found != entries_.rbegin()) std::rotate(found.base() - 1, found.base(), entries_.end());
    return &entries_.back().value;
  }

  /// Keeps the value of a content that is not kept yet. Drops the least recently used values.
  Value const& keep(content_parts content, Value value, std::size_t bytes) {
    entry made{{}, std::move(value), bytes};
    for (auto const part : content)
      made.content.insert(made.content.end(), part.begin(), part.end());
    made.bytes += made.content.size();
    entries_.reserve(most_entries + 1);
    bytes_ += made.bytes;  // from here on nothing throws
    entries_.push_back(std::move(made));
    while (entries_.size() > 1 && (entries_.size() > most_entries || bytes_ > most_bytes_)) {
      bytes_ -= entries_.front().bytes;
      entries_.erase(entries_.begin());
    }
    return entries_.back().value;
  }

  std::size_t size() const noexcept { return entries_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t most_entries = 16;
  struct entry {
    std::vector<std::byte> content;
    Value value;
    std::size_t bytes;
  };

  static bool is(std::vector<std::byte> const& kept, content_parts content) noexcept {
    auto const* at = kept.data();
    auto left = kept.size();
    for (auto const part : content) {
      if (part.size() > left) return false;
      if (!part.empty() && std::memcmp(at, part.data(), part.size()) != 0) return false;
      at += part.size();
      left -= part.size();
    }
    return left == 0;
  }

  std::vector<entry> entries_;  // the last used is the last
  std::size_t most_bytes_, bytes_ = 0;
};

}  // namespace detail

/// Rows of the last calls, and makers of rows, each found by the bytes that determine it.
///
///     thread_local posenc::row_cache cache;                  one per thread, nothing is locked
///     auto const rows = cache.rows(frequencies, positions);  in each call, of queries or of keys
///     rotate<halves>(q, rows);
///
/// A search compares what frequencies and positions say, never where they lie. For one token at
/// head_dim 128 it takes as long as rotating one float head, 22 and 19 ns on an Intel Xeon (model
/// 167); rows that are missing take 0.5 us. The least recently used rows leave when there are more
/// than 16, or more than `bytes` of them and their keys; the last ones, and 16 makers, stay.
class row_cache {
 public:
  /// bytes: as above, for makers and again for rows.
  explicit row_cache(std::size_t bytes = std::size_t{1} << 22) noexcept
      : makers_(bytes), rows_(bytes) {}

  /// The rows of cos_sin_rows(f, positions), bit for bit. positions: what std::span takes. Valid
  /// until the next call. Throws as cos_sin_rows does, and then keeps what it kept.
  template <class Positions>
  requires position<detail::span_value_t<Positions const>> cos_sin_view<float> rows(
      frequencies const& f, Positions const& positions) {
    std::span const all = positions;
    using number = typename decltype(all)::value_type;
    constexpr std::uint64_t tag = 0x6672'6571'7565'6e63;
    std::array<std::uint64_t, 4> const sizes{tag, f.pairs(), all.size(), kind_of<number>};
    double const factor = f.attention_factor();
    std::array<std::span<std::byte const>, 5> const parts{
        std::as_bytes(std::span(sizes)), std::as_bytes(f.inv_freq()), std::as_bytes(f.rest()),
        std::as_bytes(std::span(&factor, 1)), std::as_bytes(all)};
    return rows(parts, [&] { return cos_sin_rows<float>(f, all); });
  }

  /// The rows of any maker: make() returns cos_sin_rows<float>, a function of `content` alone. It
  /// is called if they are not kept. Valid until the next call.
  template <std::invocable Make>
  cos_sin_view<float> rows(content_parts content, Make const& make) {
    if (auto const* kept = find(content)) return *kept;
    cos_sin_rows<float> made = make();
    auto const bytes = made.tokens() * made.rotary_dim() * sizeof(float);
    return rows_.keep(content, std::move(made), bytes);
  }
  /// The rows of `content` if they are kept, else null.
  cos_sin_rows<float> const* find(content_parts content) noexcept { return rows_.find(content); }

  /// A maker, for ops that have nowhere to keep a model's frequencies either: it takes about ten
  /// microseconds to make. make() returns axis_row_maker. Valid until the next call of this
  /// function.
  template <std::invocable Make>
  axis_row_maker const& maker(content_parts content, Make const& make) {
    if (auto const* kept = makers_.find(content)) return *kept;
    constexpr std::size_t of_a_pair = 128;
    axis_row_maker made = make();
    auto const bytes = made.pairs() * of_a_pair;
    return makers_.keep(content, std::move(made), bytes);
  }

  std::size_t size() const noexcept { return rows_.size(); }    ///< how many sets of rows it keeps
  std::size_t bytes() const noexcept { return rows_.bytes(); }  ///< of these and their contents

 private:
  // Equal bytes are equal numbers only if the types are alike; their size follows from the sizes.
  template <class Number>
  static constexpr std::uint64_t kind_of =
      std::floating_point<Number> ? 2 : std::is_signed_v<Number>;

  detail::content_cache<axis_row_maker> makers_;
  detail::content_cache<cos_sin_rows<float>> rows_;
};

}}  // namespace posenc
