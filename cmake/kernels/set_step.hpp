// A step into caches, compiled for each instruction set: the library's step, from and to heads
// whose type, format and place are known at run time. (Included by set.cpp alone.)
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "posenc/cache/float_formats.hpp"
#include "posenc/rotation/head_norm.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/rotation/rotate.hpp"
#include "set.hpp"

namespace posenc_kernels {
namespace {

// ---- Formats: a function of each for one head, which is floats in L1.

template <std::size_t I>
auto format_of(stored_heads const& s) noexcept {
  using namespace posenc;
  if constexpr (I == 0) return numbers_of<float>();
  if constexpr (I == 2) return numbers_of<half>();
  if constexpr (I == 3) return numbers_of<bfloat16>();
  if constexpr (I == 4) return u8_per_head();
  if constexpr (I == 5) return q8_0{q8_0_writer::reference};
  if constexpr (I == 6) return q8_0{q8_0_writer::avx2};
  if constexpr (I == 7) return int8_per_head{false};
  if constexpr (I == 8) return int8_per_head{true};
  if constexpr (I == 9) return int8_static{s.scale};
  if constexpr (I == 10) return e4m3{s.scale, s.inverse, e4m3_rounding::nearest};
  if constexpr (I == 11) return e4m3{s.scale, s.inverse, e4m3_rounding::towards_zero};
  if constexpr (I == 12) return deepseek_v4::of_cuda();
  if constexpr (I == 13) return deepseek_v4::of_cpus();
}

using decode_function = void(stored_heads const&, char const* codes, char const* scales,
                             float* head, std::size_t head_dim) noexcept;
using encode_function = void(stored_heads const&, std::span<float const>, std::byte* codes,
                             std::byte* scales) noexcept;

template <std::size_t I>
void encode(stored_heads const& s, std::span<float const> head, std::byte* codes,
            std::byte* scales) noexcept {
  auto const format = format_of<I>(s);
  if constexpr (posenc::scaled_format<decltype(format_of<I>(s))>) {
    format.encode(head, codes, scales);
  } else {
    format.encode(head, codes);
  }
}

// By registers: compilers do not, with -O2, where the source may be what is written.
template <class T>
void load_numbers(char const* codes, float* head, std::size_t head_dim) noexcept {
  using numbers = posenc::detail::lanes<T>;
  using floats = typename numbers::arithmetic_lanes;
  auto const* const bytes = reinterpret_cast<std::byte const*>(codes);
  auto const* const from = reinterpret_cast<T const*>(codes);
  auto const whole = floats::size > 1 ? head_dim / floats::size * floats::size : 0;
  for (std::size_t i = 0; i < whole; i += floats::size)
    floats::store(head + i, numbers::load(from + i));
  for (auto i = whole; i < head_dim; ++i)
    head[i] = posenc::load(posenc::detail::number_at<T>(bytes + i * sizeof(T)));
}

template <std::size_t I>
void decode(stored_heads const& s, char const* codes, char const* scales, float* head,
            std::size_t head_dim) noexcept {
  if constexpr (I == 0) return load_numbers<float>(codes, head, head_dim);
  if constexpr (I == 2) return load_numbers<posenc::half>(codes, head, head_dim);
  if constexpr (I == 3) return load_numbers<posenc::bfloat16>(codes, head, head_dim);
  auto const format = format_of<I>(s);
  auto const* const from = reinterpret_cast<std::byte const*>(codes);
  if constexpr (posenc::scaled_format<decltype(format_of<I>(s))>) {
    format.decode(from, reinterpret_cast<std::byte const*>(scales), {head, head_dim});
  } else {
    format.decode(from, {head, head_dim});
  }
}

constexpr auto for_formats(auto const& each) noexcept {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{each.template operator()<I>()...};
  }
  (std::make_index_sequence<formats>{});
}
constexpr auto encoders = for_formats([]<std::size_t I>() -> encode_function* {
  if constexpr (I == 1) {
    return nullptr;
  } else {
    return encode<I>;
  }
});
constexpr auto decoders = for_formats([]<std::size_t I>() -> decode_function* {
  if constexpr (I == 1) {
    return nullptr;
  } else {
    return decode<I>;
  }
});

// ---- What a step asks of a source and of a sink.

class any_source {
 public:
  using element_type = float const;
  static constexpr bool is_encoded = true;
  explicit any_source(step_plan const& plan) noexcept
      : plan_(plan), decode_(decoders[plan.from.format]) {}

  std::size_t tokens() const noexcept { return plan_.tokens; }
  std::size_t heads() const noexcept { return plan_.heads; }
  std::size_t head_dim() const noexcept { return plan_.head_dim; }
  bool has(std::size_t token) const noexcept {
    return plan_.from.codes.at(plan_.token + token) != nullptr;
  }
  void read(std::size_t token, std::size_t head, std::span<float> numbers) const noexcept {
    auto const& from = plan_.from;
    auto const at = [&](heads_in_bytes const& heads) {
      return heads.at(plan_.token + token) +
             static_cast<std::ptrdiff_t>(plan_.head + head) * heads.head;
    };
    decode_(from, at(from.codes), from.scales.data == nullptr ? nullptr : at(from.scales),
            numbers.data(), numbers.size());
  }
  bool any_of_bytes(auto const&) const noexcept { return false; }  // were compared before

 private:
  step_plan const& plan_;
  decode_function* decode_;
};

class any_sink {
 public:
  explicit any_sink(step_plan const& plan) noexcept : plan_(plan) {}

  void write(std::size_t token, std::size_t head, std::span<float const> numbers) const noexcept {
    for (std::size_t i = 0; i < plan_.targets; ++i) {
      auto const& to = plan_.to[i];
      auto const at = [&](heads_in_bytes const& heads) {
        auto* const first = heads.at(plan_.token + token);
        return reinterpret_cast<std::byte*>(
            first == nullptr ? nullptr
                             : first + static_cast<std::ptrdiff_t>(plan_.head + head) * heads.head);
      };
      auto* const codes = at(to.codes);
      if (codes == nullptr) continue;
      encoders[to.format](to, numbers, codes, to.scales.data == nullptr ? nullptr : at(to.scales));
    }
  }

 private:
  step_plan const& plan_;
};

// ---- The step

// Weights as floats, where they are something else.
class weights {
 public:
  explicit weights(step_plan const& plan) noexcept {
    auto const& norm = plan.norm;
    if (norm.weight == nullptr) return;
    if (norm.weight_type == 0 && !norm.plus_one) {
      all = {static_cast<float const*>(norm.weight), plan.head_dim};
      return;
    }
    decoders[norm.weight_type]({}, static_cast<char const*>(norm.weight), nullptr, numbers_,
                               plan.head_dim);
    if (norm.plus_one)
      for (std::size_t i = 0; i < plan.head_dim; ++i) numbers_[i] += 1;
    all = {numbers_, plan.head_dim};
  }
  std::span<float const> all;

 private:
  float numbers_[most_head_dim];
};

template <class From, class To, bool Normalises, class Round>
void run_step(step_plan const& plan) {
  using posenc::norm_eps, posenc::norm_kind, posenc::norm_place;
  static_assert(most_head_dim == posenc::detail::most_head_dim);
  posenc::cos_sin_view<float> const rows(
      plan.cos_sin + 2 * plan.pairs * plan.token, plan.tokens, plan.pairs,
      {reinterpret_cast<posenc::pair_range const*>(plan.rotated), plan.rotated_count});
  auto const rounded = [&](auto const& heads) {
    if constexpr (std::is_void_v<Round>) {
      posenc::write_step(rows, heads);
    } else {
      auto const at = [&](unsigned point) { return (plan.rounding & point) != 0; };
      posenc::write_step(rows, heads.template round<Round>({.normalised = at(1),
                                                            .norm = at(2),
                                                            .cosines = at(4),
                                                            .products = at(8),
                                                            .rotated = at(16)}));
    }
  };
  auto const normalised = [&](auto const& heads) {
    if constexpr (Normalises) {
      weights const given(plan);
      auto const& norm = plan.norm;
      // Heads without a norm have none in either place.
      rounded(heads.norm(
          posenc::head_norm<float>{.weight = given.all,
                                   .eps = norm.eps > 0 ? norm.eps : 1,
                                   .kind = norm.l2 ? norm_kind::l2 : norm_kind::rms,
                                   .place = norm.eps > 0 ? norm_place{norm.after} : norm_place{2},
                                   .eps_place = static_cast<norm_eps>(norm.eps_place)}));
    } else {
      rounded(heads);
    }
  };
  any_source const from(plan);
  any_sink const to(plan);
  if constexpr (std::is_void_v<From>) {
    normalised(posenc::unrotated(from, to).scale(plan.scale));
  } else {
    normalised(posenc::rotated<From, To>(from, to)
                   .block(posenc::rotary_block::from(plan.first_dim))
                   .scale(plan.scale));
  }
}

void step(step_plan const& plan) noexcept {
  using posenc::halves, posenc::interleaved;
  auto const with = [&]<class From, class To>(From*, To*) {
    if (plan.rounding != 0) {
      return plan.rounded_type == 2 ? run_step<From, To, true, posenc::half>(plan)
                                    : run_step<From, To, true, posenc::bfloat16>(plan);
    }
    return plan.norm.eps > 0 ? run_step<From, To, true, void>(plan)
                             : run_step<From, To, false, void>(plan);
  };
  constexpr halves* h = nullptr;
  constexpr interleaved* i = nullptr;
  constexpr void* none = nullptr;
  if (plan.pairs == 0) return with(none, none);
  if (plan.from_layout == 0) return plan.to_layout == 0 ? with(h, h) : with(h, i);
  return plan.to_layout == 0 ? with(i, h) : with(i, i);
}

}  // namespace
}  // namespace posenc_kernels
