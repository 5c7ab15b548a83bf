// Keys and values of the tokens so far, in a format that is chosen as the program runs.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/heads/heads_view.hpp"

namespace run {

enum class stored {
  f32,
  f16,
  bf16,
  e4m3,
  u8_per_head,
  int8_per_head,
  q8_0,
  q5_1,
  q5_0,
  int4_per_head,
  q4_1,
  q4_0,
  iq4_nl
};

/// The names of the formats, in the order of the enumeration.
inline constexpr std::string_view stored_names[]{
    "f32",  "f16",  "bf16",          "e4m3", "u8_per_head", "int8_per_head", "q8_0",
    "q5_1", "q5_0", "int4_per_head", "q4_1", "q4_0",        "iq4_nl"};

/// Calls act(format) with posenc's format.
template <class Act>
auto with_format(stored as, Act const& act) {
  switch (as) {
    case stored::f16:
      return act(posenc::numbers_of<posenc::half>());
    case stored::bf16:
      return act(posenc::numbers_of<posenc::bfloat16>());
    case stored::e4m3:
      return act(posenc::e4m3());
    case stored::u8_per_head:
      return act(posenc::u8_per_head());
    case stored::int8_per_head:
      return act(posenc::int8_per_head());
    case stored::q8_0:
      return act(posenc::q8_0());
    case stored::int4_per_head:
      return act(posenc::int4_per_head());
    case stored::q5_1:
      return act(posenc::q5_1());
    case stored::q5_0:
      return act(posenc::q5_0());
    case stored::q4_1:
      return act(posenc::q4_1());
    case stored::q4_0:
      return act(posenc::q4_0());
    case stored::iq4_nl:
      return act(posenc::iq4_nl());
    default:
      return act(posenc::numbers_of<float>());
  }
}

/// Any of them, with the scales behind the codes of a head.
struct any_format {
  stored as = stored::f32;

  /// Throws std::invalid_argument for a head_dim that the format does not take.
  std::size_t bytes(std::size_t head_dim) const {
    return with_format(as, [&](auto const& format) {
      auto size = format.bytes(head_dim);
      if constexpr (posenc::scaled_format<std::remove_cvref_t<decltype(format)>>)
        size += format.scale_bytes(head_dim);
      return size;
    });
  }
  void encode(std::span<float const> head, std::byte* to) const noexcept {
    with_format(as, [&](auto const& format) {
      if constexpr (posenc::scaled_format<std::remove_cvref_t<decltype(format)>>) {
        format.encode(head, to, to + format.bytes(head.size()));
      } else {
        format.encode(head, to);
      }
    });
  }
  void decode(std::byte const* from, std::span<float> head) const noexcept {
    with_format(as, [&](auto const& format) {
      if constexpr (posenc::scaled_format<std::remove_cvref_t<decltype(format)>>) {
        format.decode(from, from + format.bytes(head.size()), head);
      } else {
        format.decode(from, head);
      }
    });
  }
};

using cached_heads = posenc::heads_view<any_format const>;

/// The heads of one layer's keys, or values, of all tokens: [tokens][heads][dims].
class cache {
 public:
  cache() = default;
  /// Throws std::invalid_argument for dims that the format does not take.
  cache(stored as, std::size_t heads, std::size_t dims)
      : format_{as}, heads_(heads), dims_(dims), token_bytes_(heads * format_.bytes(dims)) {}

  stored as() const { return format_.as; }
  std::size_t tokens() const { return bytes_.size() / token_bytes_; }
  void reserve(std::size_t tokens) { bytes_.reserve(tokens * token_bytes_); }
  /// Appends tokens.
  void append(posenc::heads_view<float const> const& heads) {
    auto const head_bytes = token_bytes_ / heads_;
    auto const first = bytes_.size();
    bytes_.resize(first + heads.tokens() * token_bytes_);
    for (std::size_t t = 0; t < heads.tokens(); ++t)
      for (std::size_t h = 0; h < heads_; ++h)
        format_.encode(heads(t, h), bytes_.data() + first + t * token_bytes_ + h * head_bytes);
  }
  cached_heads heads() const {
    return {format_, bytes_.data(), {.tokens = tokens(), .heads = heads_, .head_dim = dims_}};
  }
  /// Decodes a head.
  void read(std::size_t token, std::size_t head, std::span<float> numbers) const {
    format_.decode(bytes_.data() + token * token_bytes_ + head * (token_bytes_ / heads_), numbers);
  }

 private:
  any_format format_;
  std::size_t heads_ = 0, dims_ = 0, token_bytes_ = 1;
  std::vector<std::byte> bytes_;
};

/// Heads of one format, decoded one by one.
struct decoded_format : any_format {};

/// Calls act(view): floats as they lie, others decoded. (Found by posenc's attention, which is
/// compiled once for all formats.)
template <class Act>
void visit_format(cached_heads const& heads, Act const& act) {
  auto const* const first = heads.codes(0, 0);
  auto const& strides = heads.addresses()[0]->strides();
  if (heads.format().as == stored::f32) {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(float));
    act(posenc::heads_view<float const>(reinterpret_cast<float const*>(first), heads.shape(),
                                        {strides.token / size, strides.head / size}));
  } else {
    act(posenc::heads_view<decoded_format const>(decoded_format{heads.format()}, first,
                                                 heads.shape(), strides));
  }
}

}  // namespace run
