// Who takes the heads of a step: views, caches, structs of a user's.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "posenc/cache/encoded_heads.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/core/heads_view.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/rotation/checked.hpp"
#include "posenc/rotation/rotation.hpp"

namespace posenc::inline POSENC_TARGET {

/// Takes the heads of a step: a struct of yours with one function. It is called once per head, in
/// any order, by several threads where a step has tasks. numbers is [head_dim]; the span is valid
/// until write returns. Where the struct has tokens(), heads() and head_dim(), write_step checks
/// them against the source.
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

/// What a sink stands for: a view, or itself.
template <class X>
X const& place_of(X const& x) noexcept {
  return x;
}
template <class View>
View const& place_of(view_sink<View> const& sink) noexcept {
  return sink.view();
}

/// Whether a byte of one place may be one of another. A user's sink has none.
template <class A, class B>
bool may_share(A const& a, B const& b) {
  if constexpr (encoded_source<A>) {
    return a.any_of_bytes([&](auto const& bytes) { return may_share(bytes, b); });
  } else if constexpr (encoded_source<B>) {
    return may_share(b, a);
  } else if constexpr (heads_of_tokens<A> && heads_of_tokens<B>) {
    return may_overlap(a, b);
  } else {
    return false;
  }
}
/// Whether both are the same heads.
template <class A, class B>
bool are_same(A const& a, B const& b) noexcept {
  if constexpr (heads_of_tokens<A> && heads_of_tokens<B>) return same_heads(a, b);
  if constexpr (encoded_source<A> && encoded_source<B>) {
    if constexpr (std::same_as<typename A::format_type, typename B::format_type>) return a.are(b);
  }
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
