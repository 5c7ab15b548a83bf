// What attention reads keys and values of: a view with strides, or tokens anywhere in memory, as
// paged caches hold them.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/core/heads_view.hpp"
#include "posenc/core/paged_heads.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"

namespace posenc::inline POSENC_TARGET {

// clang-format off

/// Where keys and values may be: heads_view or paged_heads.
template <class V>
concept attended_heads =
    requires(V const& v) { []<class S>(heads_view<S> const&) {}(v); } ||
    requires(V const& v) { []<class S>(paged_heads<S> const&) {}(v); };

// clang-format on

namespace detail {

/// A view of heads whose tokens are anywhere: offsets[t] elements from `numbers`.
template <class S>
class scattered_heads {
 public:
  using element_type = S;

  scattered_heads(S* numbers, std::span<std::ptrdiff_t const> offsets, std::ptrdiff_t head_stride,
                  std::size_t heads, std::size_t head_dim) noexcept
      : numbers_(numbers),
        offsets_(offsets),
        head_stride_(head_stride),
        heads_(heads),
        head_dim_(head_dim) {}

  std::size_t tokens() const noexcept { return offsets_.size(); }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t head_dim() const noexcept { return head_dim_; }
  heads_shape shape() const noexcept { return {tokens(), heads_, head_dim_}; }

  std::span<S> operator()(std::size_t token, std::size_t head) const noexcept {
    return {of_head(head) + offsets_[token], head_dim_};
  }
  /// The numbers of a head, to which offsets are added; the offset of a token and of those after.
  S* of_head(std::size_t head) const noexcept {
    return numbers_ + static_cast<std::ptrdiff_t>(head) * head_stride_;
  }
  std::ptrdiff_t const* offsets(std::size_t token) const noexcept {
    return offsets_.data() + token;
  }

  /// Precondition, not checked: they lie within this view.
  scattered_heads slice_tokens(std::size_t first, std::size_t count) const noexcept {
    return {numbers_, offsets_.subspan(first, count), head_stride_, heads_, head_dim_};
  }
  scattered_heads slice_heads(std::size_t first, std::size_t count) const noexcept {
    return {of_head(first), offsets_, head_stride_, count, head_dim_};
  }

 private:
  S* numbers_;
  std::span<std::ptrdiff_t const> offsets_;
  std::ptrdiff_t head_stride_;
  std::size_t heads_, head_dim_;
};

/// The type of arithmetic on what a view shows.
template <class View>
using arithmetic_of = arithmetic_t<typename View::element_type>;

heads_shape shape_of(auto const& x) noexcept { return {x.tokens(), x.heads(), x.head_dim()}; }

/// Keys or values to be read. Those of paged_heads need memory for the offset of each token, so
/// that a slot is looked up once and not in each head and pass. Throws std::invalid_argument, in
/// the name of a function, unless each has a slot.
template <class S>
heads_view<S const> to_read(char const*, char const*, heads_view<S> const& x,
                            std::vector<std::ptrdiff_t>&) noexcept {
  return x;
}
template <class S>
scattered_heads<S const> to_read(char const* function, char const* what, paged_heads<S> const& x,
                                 std::vector<std::ptrdiff_t>& offsets) {
  offsets.resize(x.tokens());
  auto const* const first = x.tokens() == 0 ? nullptr : x.token(0);
  for (std::size_t t = 0; t < x.tokens(); ++t) {
    auto const* const token = x.token(t);
    require(token != nullptr, function, ": ", what, " must all have a slot, got none for token ",
            t);
    offsets[t] = token - first;
  }
  return {first, offsets, x.head_stride(), x.heads(), x.head_dim()};
}

}  // namespace detail
}  // namespace posenc
