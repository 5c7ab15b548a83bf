// Slots that come twice, or in two lists.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Looks for a slot that comes again, in any order of slots. The time is linear for up to 16,384
/// slots; beyond, all are read once more for each further 16,384, or for each further 2^18 slots
/// between which they lie, if those are fewer. Needs 44 KB of stack, and allocates nothing.
///
/// Slots are divided into parts, and in a part each of 2^18 neighbours has a bit of 32 KB. If a bit
/// is set already, by this slot or by a far slot with the same bit, the token is kept. Up to 512
/// kept tokens are looked for among all.
class slot_search {
  using list = std::span<std::int64_t const>;

 public:
  static constexpr auto none = std::numeric_limits<std::size_t>::max();

  /// A token of `later` whose slot is not negative and is one of `earlier` too; if they are one
  /// list, that of a token before it.
  [[gnu::noinline]] static std::size_t find(list earlier, list later, bool is_one_list) noexcept {
    slot_search search(earlier, later, is_one_list);
    for (std::uint64_t part = 0; part < search.parts_; ++part)
      if (auto const token = search.find_in(part); token != none) return token;
    return none;
  }

 private:
  static constexpr std::size_t most_of_part = 1 << 14, most_kept = 512;
  static constexpr int most_bits = 18, bits_of_table = 10;

  slot_search(list earlier, list later, bool is_one_list) noexcept
      : earlier_(earlier), later_(later), is_one_list_(is_one_list) {
    auto const tokens = std::max(earlier.size(), later.size());
    for (auto const slot : later) highest_bits_ |= slot < 0 ? 0 : static_cast<std::uint64_t>(slot);
    log2_ = std::min(static_cast<int>(std::bit_width(tokens)) + 6, most_bits);
    auto const most_parts = std::bit_ceil(std::uint64_t{tokens} / most_of_part + 1),
               all_neighbours = std::bit_ceil((highest_bits_ >> log2_) + 1);
    parts_ = std::min(most_parts, all_neighbours);
    shares_parts_ = all_neighbours > most_parts;
  }

  // A hash of the 2^log2_ neighbours of a slot: slots at any stride differ in its upper bits.
  std::uint64_t hash_of(std::uint64_t slot) const noexcept {
    return (slot >> log2_) * 0x9e3779b97f4a7c15u;
  }
  bool is_in(std::int64_t slot, std::uint64_t part) const noexcept {
    auto const n = static_cast<std::uint64_t>(slot);
    auto const of_slot = shares_parts_ ? hash_of(n) >> (44 - log2_) : n >> log2_;
    return slot >= 0 && (of_slot & (parts_ - 1)) == part;
  }
  struct bit {
    std::uint64_t& word;
    std::uint64_t mask;
  };
  // 2^log2_ neighbouring slots have different bits; the hash says where each neighbourhood begins.
  bit bit_of(std::int64_t slot) noexcept {
    auto const n = static_cast<std::uint64_t>(slot);
    auto const place = (n + (hash_of(n) >> (64 - log2_))) & ((std::uint64_t{1} << log2_) - 1);
    return {bits_[place / 64], std::uint64_t{1} << place % 64};
  }
  std::size_t find_in(std::uint64_t part) noexcept {
    std::fill_n(bits_, std::size_t{1} << log2_ >> 6, 0);
    if (!is_one_list_)
      for (auto const slot : earlier_)
        if (is_in(slot, part)) {
          auto const [word, mask] = bit_of(slot);
          word |= mask;
        }
    kept_count_ = 0;
    for (std::size_t t = 0; t < later_.size(); ++t) {
      if (!is_in(later_[t], part)) continue;
      auto const [word, mask] = bit_of(later_[t]);
      if ((word & mask) != 0) kept_[kept_count_++] = t;
      if (is_one_list_) word |= mask;
      if (kept_count_ == most_kept)
        if (auto const token = find_kept(part); token != none) return token;
    }
    return find_kept(part);
  }

  // The entry of a kept token of the slot in the table, or an empty entry.
  std::size_t& entry(std::int64_t slot) noexcept {
    auto at = static_cast<std::size_t>(static_cast<std::uint64_t>(slot) * 0x9e3779b97f4a7c15u >>
                                       (64 - bits_of_table));
    while (table_[at] != none && later_[table_[at]] != slot)
      at = (at + 1) % (std::size_t{1} << bits_of_table);
    return table_[at];
  }
  // Looks for the slots of kept tokens, which it drops.
  std::size_t find_kept(std::uint64_t part) noexcept {
    if (kept_count_ == 0) return none;
    std::fill_n(table_, std::size_t{1} << bits_of_table, none);
    for (std::size_t i = 0; i < kept_count_; ++i) {
      auto& place = entry(later_[kept_[i]]);
      if (place != none && is_one_list_) return kept_[i];
      place = kept_[i];
    }
    kept_count_ = 0;
    for (std::size_t t = 0; t < earlier_.size(); ++t) {
      if (!is_in(earlier_[t], part)) continue;
      auto const token = entry(earlier_[t]);
      if (token != none && !(is_one_list_ && token == t))
        return std::max(token, is_one_list_ ? t : token);
    }
    return none;
  }

  list earlier_, later_;
  bool is_one_list_, shares_parts_ = false;
  int log2_ = 0;
  std::uint64_t highest_bits_ = 0, parts_ = 1;
  std::size_t kept_count_ = 0;
  std::uint64_t bits_[(std::size_t{1} << most_bits) / 64];
  std::size_t kept_[most_kept], table_[std::size_t{1} << bits_of_table];
};

/// Whether a slot that is not negative is in both.
inline bool share_a_slot(std::span<std::int64_t const> a,
                         std::span<std::int64_t const> b) noexcept {
  struct range {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -1;
  };
  auto const range_of = [](std::span<std::int64_t const> slots) {
    range all;
    for (auto const slot : slots) {
      all.most = std::max(all.most, slot);
      all.least = std::min(all.least, slot < 0 ? all.least : slot);
    }
    return all;
  };
  auto const x = range_of(a), y = range_of(b);
  if (x.most < y.least || y.most < x.least) return false;
  return slot_search::find(a, b, false) != slot_search::none;
}

/// Whether each slot is above those before it, but for negative ones.
inline bool ascend(std::span<std::int64_t const> slots) noexcept {
  std::int64_t last = -1;
  bool ascends = true;
  for (auto const slot : slots) {
    if (slot < 0) continue;
    ascends = ascends && slot > last;
    last = slot;
  }
  return ascends;
}

/// Throws if a slot that is not negative comes twice. Quickest where slots ascend. whose: what the
/// error begins with.
void require_each_slot_once(std::span<std::int64_t const> slots, auto const&... whose) {
  if (ascend(slots)) return;
  auto const token = slot_search::find(slots, slots, true);
  if (token != slot_search::none)
    refuse(whose..., ": a slot must be written once, got slot ", slots[token], " again for token ",
           token);
}

}}}  // namespace posenc::detail
