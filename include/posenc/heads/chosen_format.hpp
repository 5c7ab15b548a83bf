// Heads in a format that is chosen as the program runs.
#pragma once

#include "posenc/core/target.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

struct takes_any_view {
  void operator()(auto const&) const noexcept {}
};

}  // namespace detail

/// A view of heads whose format is a value: visit_format(heads, act), a function in the namespace
/// of the view or of its format, calls act(view) once, with a view of the same heads in the format
/// that they have. Attention asks it, so that it reads each format in place; heads that have no
/// such function are read as they are.
///
///     void visit_format(heads_view<any_cache const, in_pages> const& heads, auto const& act) {
///       if (heads.format().type == my_type::q8_0) act(as_q8_0(heads)); else ...
///     }
template <class Heads>
concept chooses_format = requires(Heads const& heads) {
  visit_format(heads, detail::takes_any_view());
};

}}  // namespace posenc
