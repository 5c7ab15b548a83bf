// Heads in a format that is chosen as the program runs.
#pragma once

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

struct takes_any_view {
  void operator()(auto const&) const noexcept {}
};

}  // namespace detail

/// A view of heads whose format is a value: visit_format(heads, act), a function in the namespace of
/// the view or of its format, calls act(view) once, with a view of the same heads in the format that
/// they have. Attention asks it, so that it reads each format in place; heads that have no such
/// function are read as they are.
///
///     struct any_cache { my_type type; std::size_t bytes(std::size_t) const; ... };   a format
///     void visit_format(heads_view<any_cache const, in_pages> const& heads, auto const& act) {
///       if (heads.format().type == my_type::q8_0) return act(in_format(q8_0(), heads)); ...
///     }
template <class Heads>
concept chooses_format = requires(Heads const& heads) {
  visit_format(heads, detail::takes_any_view());
};

}}  // namespace posenc
