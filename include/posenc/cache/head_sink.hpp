// Who takes the heads of a step: views, caches, structs of a user's.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "posenc/cache/encoded_heads.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked.hpp"
#include "posenc/rotation/rotation.hpp"

namespace posenc::inline POSENC_TARGET {

/// Takes the heads of a step, each once, in any order, from several threads if there are: a struct
/// of yours with one function. numbers is [head_dim], in L1, and over when write returns. If it has
/// tokens(), heads() and head_dim(), they are checked.
///
///     struct columns {                              vLLM's page of keys, [page][head][dim][token]
///       void write(std::size_t token, std::size_t head, std::span<float const> numbers) const;
///     };
template <class S>
concept head_sink = requires(S const& sink, std::size_t token, std::size_t head,
                             std::span<float const> numbers) {
  sink.write(token, head, numbers);
};

/// A sink: heads of float, half, bfloat16 or a type of one's own, in a view, rounded once. Tokens
/// without a slot are left out.
template <writable_heads View>
class view_sink {
 public:
  using element_type = typename View::element_type;  ///< what is written
  static_assert(std::same_as<arithmetic_t<element_type>, float>,
                "posenc: a step computes in float; heads of double are rotated by rotate");

  explicit view_sink(View const& view) : view_(view) {}  ///< copies the view

  View const& view() const noexcept { return view_; }                 ///< where they go
  std::size_t tokens() const noexcept { return view_.tokens(); }      ///< of the view
  std::size_t heads() const noexcept { return view_.heads(); }        ///< of the view
  std::size_t head_dim() const noexcept { return view_.head_dim(); }  ///< of the view
  /// Stores a head.
  void write(std::size_t token, std::size_t head, std::span<float const> numbers) const noexcept {
    auto* const first = view_.token(token);
    if (first == nullptr) return;
    auto* const to = first + static_cast<std::ptrdiff_t>(head) * view_.head_stride();
    numbers_of<element_type>().encode(numbers, reinterpret_cast<std::byte*>(to));
  }

 private:
  View view_;
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

/// Calls each(range) for the memory that a view or sink has; none of a sink of a user's.
void for_each_memory(heads_of_tokens auto const& view, auto const& each) {
  each(paged_memory{view.memory()});
}
template <class View>
void for_each_memory(view_sink<View> const& sink, auto const& each) {
  each(paged_memory{sink.view().memory()});
}
template <class Format>
void for_each_memory(encoded_heads<Format> const& heads, auto const& each) {
  for (auto const& memory : heads.memory()) each(memory);
}
void for_each_memory(head_sink auto const&, auto const&) {}

/// Whether a byte that a view or sink has may be one of another.
bool may_share(auto const& a, auto const& b) {
  bool shared = false;
  for_each_memory(a, [&](auto const& x) {
    for_each_memory(b, [&](auto const& y) { shared = shared || may_overlap(x, y); });
  });
  return shared;
}
template <class A, class B>
bool may_share(view_sink<A> const& a, view_sink<B> const& b) {
  return may_overlap(a.view(), b.view());
}
template <heads_of_tokens A, class B>
bool may_share(A const& a, view_sink<B> const& b) {
  return may_overlap(a, b.view());
}
bool are_same(auto const&, auto const&) noexcept { return false; }
template <heads_of_tokens A, class B>
bool are_same(A const& a, view_sink<B> const& b) noexcept {
  return same_heads(a, b.view());
}
template <class A, class B>
bool are_same(encoded_heads<A> const& a, encoded_heads<B> const& b) noexcept {
  if constexpr (std::same_as<std::remove_const_t<A>, B>) return a.are(b);
  return false;
}

template <class Target>
auto sink_of(Target const& target) {
  if constexpr (head_sink<Target>) {
    return target;
  } else {
    return view_sink(target);
  }
}
template <class S>
concept step_source = heads_of_tokens<S> || encoded_source<S>;
template <class Target>
concept step_target = head_sink<Target> || writable_heads<Target>;
}  // namespace detail
}  // namespace posenc
