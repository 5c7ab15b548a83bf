// Who takes the heads of a rotation: views, or a struct of your own.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Takes heads: a heads_view that is written, or a struct of yours with one function. rotate calls
/// it once per head, in any order, from several threads if the rotation has tasks. numbers is
/// [head_dim]; the span is valid until write returns. If the struct has tokens(), heads() and
/// head_dim(), rotate checks them against the source.
///
///     struct columns {                              vLLM's page of keys, [page][head][dim][token]
///       void write(std::size_t token, std::size_t head, std::span<float const> numbers) const;
///     };
template <class S>
concept head_sink = writable_heads<S> ||
    requires(S const& sink, std::size_t token, std::size_t head, std::span<float const> numbers) {
  sink.write(token, head, numbers);
};

/// Two sinks, which both take every head: keys that go to a cache and stay in place too, or caches
/// of two formats.
template <head_sink First, head_sink Second>
struct both {
  First first;    ///< writes first
  Second second;  ///< writes then

  /// To both.
  void write(std::size_t token, std::size_t head, std::span<float const> numbers) const {
    first.write(token, head, numbers), second.write(token, head, numbers);
  }
};
template <class First, class Second>
both(First, Second) -> both<First, Second>;

namespace detail {

/// Calls each(sink) for the sinks that a sink is made of.
template <class Sink>
void for_each_sink(Sink const& sink, auto const& each) {
  each(sink);
}
template <class First, class Second>
void for_each_sink(both<First, Second> const& sinks, auto const& each) {
  for_each_sink(sinks.first, each), for_each_sink(sinks.second, each);
}

}  // namespace detail
}}  // namespace posenc
