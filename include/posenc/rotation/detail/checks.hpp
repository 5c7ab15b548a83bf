// Checks before heads are rotated: of their types, and of source and target.
#pragma once

#include <concepts>
#include <cstddef>

#include "posenc/core/detail/compiler.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/overlap.hpp"
#include "posenc/heads/storage.hpp"
#include "posenc/rotation/head_sink.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rows/cos_sin_view.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// How many numbers of a token a step keeps in L1.
inline constexpr std::size_t most_head_dim = 4096;

/// tasks, or a worker.
template <class S>
concept splits_work = requires(S const& split) {
  split.count();
};

/// The type of arithmetic on the heads of a view, or of an operand.
template <class Heads>
struct real_of {
  using type = typename Heads::real;
};
template <any_heads V>
struct real_of<V> {
  using type = arithmetic_t<typename V::element_type>;
};
/// A view of a type that cannot be stored: heads_view has the error for it.
template <class Heads>
concept unstorable = requires {
  typename Heads::element_type;
}
&&!storable<typename Heads::element_type> && !head_sink<Heads>;
/// Rows for Heads, a view or an operand.
template <class Rows, class Heads>
concept rows_for = !unstorable<Heads> &&
                   std::convertible_to<Rows const&, cos_sin_view<typename real_of<Heads>::type>>;
/// Heads of double, which go with no others.
template <class V>
concept heads_of_double = any_heads<V> && std::same_as < arithmetic_t<typename V::element_type>,
double > ;
/// Takes what arithmetic on Source gives.
template <class Target, class Source>
concept takes_heads_of = head_sink<Target> && any_heads<Source> && heads_of_double<Target>
== heads_of_double<Source>;

/// Says what is wrong with the types of an operand, if anything is.
template <class From, class To, class Source, class Target>
consteval bool are_right() noexcept {
  static_assert(pair_layout<From> && pair_layout<To>,
                "posenc: a rotation must be told its pair layout: rotate<halves>(...) or "
                "rotate<interleaved>(...)");
  static_assert(head_sink<Target> || unstorable<Target>,
                "posenc: heads that a rotation writes must not be const");
  static_assert(!head_sink<Target> || unstorable<Source> || takes_heads_of<Target, Source>,
                "posenc: heads of double must be rotated to heads of double, others to others");
  return pair_layout<From> && pair_layout<To> && takes_heads_of<Target, Source>;
}
template <class Rows, class Heads>
consteval bool are_right() noexcept {
  constexpr bool some = rows_for<Rows, heads_view<float>> || rows_for<Rows, heads_view<double>>;
  static_assert(some || unstorable<Heads>,
                "posenc: this is no rows: make them by cos_sin_rows(frequencies, positions)");
  static_assert(!some || rows_for<Rows, Heads> || unstorable<Heads>,
                "posenc: rows must be of double for heads of double, and of float for all others");
  return rows_for<Rows, Heads>;
}
/// Rows as a view: themselves if they are one, since a copy would wait for the caller's stores.
template <class Heads, rows_for<Heads> Rows>
POSENC_ALWAYS_INLINE inline decltype(auto) view_of(Rows const& rows) noexcept {
  using view = cos_sin_view<typename real_of<Heads>::type>;
  if constexpr (std::same_as<Rows, view>) {
    return (rows);
  } else {
    return static_cast<view>(rows);
  }
}

/// Throws unless each head of a view has a row.
template <class Real>
POSENC_ALWAYS_INLINE inline void check_heads_of_rows(cos_sin_view<Real> const& rows,
                                                     std::size_t heads) {
  require(rows.heads() == 1 || (rows.heads() != 0 && heads % rows.heads() == 0),
          "rotate: heads must be a multiple of the heads of rows, got ", heads,
          " heads and rows of ", rows.heads());
}
/// Whether source and target are the same heads. Throws std::invalid_argument as rotate says.
template <bool SameLayout, class Source, class Target>
POSENC_ALWAYS_INLINE inline bool check_heads(Source const& source, Target const& target,
                                             std::size_t rows, bool by_kernel) {
  auto const tokens = source.tokens(), heads = source.heads(), dim = source.head_dim();
  require(rows == tokens, "rotate: there must be one row per token, got ", rows, " rows for ",
          tokens, " tokens");
  require(by_kernel || dim <= most_head_dim, "rotate: head_dim must be at most ", most_head_dim,
          ", got ", dim);
  bool in_place = false;
  for_each_sink(target, [&]<class Sink>(Sink const& to) POSENC_INLINED {
    if constexpr (requires { to.tokens(), to.heads(), to.head_dim(); })
      require(to.tokens() == tokens && to.heads() == heads && to.head_dim() == dim,
              "rotate: source and target must have the same shape, got ", tokens, " tokens x ",
              heads, " heads of ", dim, " and ", to.tokens(), " x ", to.heads(), " of ",
              to.head_dim());
    bool const same = same_heads(source, to);
    require((same && SameLayout) || !may_overlap(source, to),
            "rotate: source and target must not overlap, unless they are the same heads in the "
            "same layout");
    in_place = in_place || same;
    if constexpr (!std::same_as<Sink, Target>)
      for_each_sink(target, [&](auto const& other) {
        bool const is_it = static_cast<void const*>(&other) == &to;
        require(is_it || !may_overlap(to, other),
                "rotate: targets of one set must not overlap each other");
      });
  });
  return in_place;
}

}}}  // namespace posenc::detail
