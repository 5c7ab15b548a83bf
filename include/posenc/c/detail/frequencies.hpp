// The C API: frequencies.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/c/detail/handles.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/frequency/ntk.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/rows/pair_axes.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail::c {

/// Numbers from C. (With a count near 2^64, their end would lie anywhere.)
inline std::vector<double> numbers_from(std::string_view function, std::string_view name,
                                        double const* numbers, std::size_t count) {
  require(count <= std::size_t{1} << 24, function, ": ", name, " must be at most 2^24, got ",
          count);
  return {numbers, numbers + count};
}

/// The parameters of one rule. Each is read once; what is left over is an error.
class parameters {
 public:
  /// names: as posenc.h lists them.
  parameters(std::string_view rule, std::string names, std::span<posenc1_parameter const> given)
      : rule_(rule), names_(std::move(names)), given_(given), read_(given.size()) {
    for (auto const& p : given) {
      require_given("posenc1_frequencies_of_rule", {{"a parameter's name", p.name}});
      require_listed(has_name(p.name), p.name);
      require(p.list != nullptr || p.count == 0, rule, ": ", std::string_view(p.name),
              " must have a count of 0 without a list, got ", p.count);
    }
  }

  std::optional<double> maybe(std::string_view name) {
    auto const* const p = find(name);
    if (p == nullptr) return {};
    require(p->list == nullptr, rule_, ": ", name, " must be a number, got a list");
    return p->number;
  }
  double number(std::string_view name, double otherwise) { return maybe(name).value_or(otherwise); }
  double number(std::string_view name) {
    auto const found = maybe(name);
    require(found.has_value(), rule_, ": ", name, " must be given");
    return *found;
  }
  std::size_t as_count(std::string_view name, double n) const {
    require(n >= 0 && n <= 0x1p32 && std::floor(n) == n, rule_, ": ", name,
            " must be a count of at most 2^32, got ", n);
    return static_cast<std::size_t>(n);
  }
  std::size_t count(std::string_view name) { return as_count(name, number(name)); }
  std::vector<double> list(std::string_view name) {
    auto const* const p = find(name);
    require(p != nullptr && p->list != nullptr, rule_, ": ", name, " must be given as a list");
    return numbers_from(rule_, "the count of " + std::string(name), p->list, p->count);
  }
  /// A list, or a number that stands for `count` of them.
  std::vector<double> numbers(std::string_view name, std::size_t count) {
    auto const* const p = find(name);
    if (p != nullptr && p->list != nullptr)
      return numbers_from(rule_, "the count of " + std::string(name), p->list, p->count);
    require(p != nullptr, rule_, ": ", name, " must be given");
    return std::vector(count, p->number);
  }
  void check_all_read() const {
    for (std::size_t i = 0; i < given_.size(); ++i) require_listed(read_[i], given_[i].name);
  }

 private:
  bool has_name(std::string_view name) const {
    auto all = " " + names_ + " ";
    for (auto& c : all)
      if (c == '[' || c == ']') c = ' ';
    return all.find(" " + std::string(name) + " ") != all.npos;
  }
  void require_listed(bool holds, std::string_view name) const {
    require(holds, rule_, ": must have no parameter ", name, ", only ",
            names_.empty() ? std::string_view("frequencies") : std::string_view(names_));
  }
  posenc1_parameter const* find(std::string_view name) {
    posenc1_parameter const* found = nullptr;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].name != name) continue;
      require(found == nullptr, rule_, ": ", name, " must be given once");
      found = &given_[i], read_[i] = true;
    }
    return found;
  }

  std::string_view rule_;
  std::string names_;
  std::span<posenc1_parameter const> given_;
  std::vector<bool> read_;
};

inline ntk_by_parts_scaling parts_of(parameters& p) {
  ntk_by_parts_scaling s{.factor = p.number("factor"),
                         .original_length = p.number("original_length")};
  s.alpha = p.number("alpha", s.alpha), s.beta = p.number("beta", s.beta);
  return s;
}

inline yarn_scaling yarn_of(parameters& p) {
  yarn_scaling s{.factor = p.number("factor"), .original_length = p.number("original_length")};
  s.beta_fast = p.number("beta_fast", s.beta_fast);
  s.beta_slow = p.number("beta_slow", s.beta_slow);
  s.truncate = p.number("truncate", 1) > 0;
  s.mscale = p.maybe("mscale"), s.mscale_all_dim = p.maybe("mscale_all_dim");
  s.attention_factor = p.maybe("attention_factor");
  s.extrapolation = p.number("extrapolation", s.extrapolation);
  return s;
}

inline longrope_scaling longrope_of(parameters& p) {
  longrope_scaling s{.short_factor = p.list("short_factor"),
                     .long_factor = p.list("long_factor"),
                     .original_length = p.number("original_length")};
  s.factor = p.number("factor", s.factor), s.attention_factor = p.maybe("attention_factor");
  return s;
}

/// The rule that says axes too.
inline posenc1_frequencies axial(parameters& p) {
  std::vector<std::size_t> dims;
  for (auto const n : p.list("dims")) dims.push_back(p.as_count("dims", n));
  auto const bases = p.numbers("base", dims.size());
  auto f = posenc::axial(dims, bases);
  return {std::move(f), listed(axial_axes(dims))};
}

/// A rule, and what it makes of its parameters: of the frequencies that it changes, or of none.
struct rule {
  std::string_view name, parameters_of_it;
  frequencies (*change)(parameters&, frequencies const&) = nullptr;
  posenc1_frequencies (*begin)(parameters&) = nullptr;
};
constexpr rule rules[] = {
    {"linear", "factor", [](auto& p, auto& f) { return linear(f, p.number("factor")); }},
    {"ntk", "factor", [](auto& p, auto& f) { return ntk(f, p.number("factor")); }},
    {"dynamic_ntk", "factor trained_length length",
     [](auto& p, auto& f) {
       return dynamic_ntk(
           f, {.factor = p.number("factor"), .trained_length = p.number("trained_length")},
           p.number("length"));
     }},
    {"mixed_ntk", "factor [b]",
     [](auto& p, auto& f) {
       auto const b = p.maybe("b");
       return b ? mixed_ntk(f, p.number("factor"), *b) : mixed_ntk(f, p.number("factor"));
     }},
    {"ntk_by_parts", "factor original_length [alpha beta]",
     [](auto& p, auto& f) { return ntk_by_parts(f, parts_of(p)); }},
    {"yarn_by_rotations", "factor original_length [alpha beta]",
     [](auto& p, auto& f) { return yarn_by_rotations(f, parts_of(p)); }},
    {"yarn",
     "factor original_length [beta_fast beta_slow truncate mscale mscale_all_dim attention_factor "
     "extrapolation]",
     [](auto& p, auto& f) { return yarn(f, yarn_of(p)); }},
    {"llama3", "factor low_freq_factor high_freq_factor original_length",
     [](auto& p, auto& f) {
       return llama3(f, {.factor = p.number("factor"),
                         .low_freq_factor = p.number("low_freq_factor"),
                         .high_freq_factor = p.number("high_freq_factor"),
                         .original_length = p.number("original_length")});
     }},
    {"longrope", "short_factor long_factor original_length length [factor attention_factor]",
     [](auto& p, auto& f) { return longrope(f, longrope_of(p), p.number("length")); }},
    {"divided_by_factors", "factors",
     [](auto& p, auto& f) { return divided_by_factors(f, p.list("factors")); }},
    {"truncated", "p", [](auto& p, auto& f) { return truncated(f, p.number("p")); }},
    {"p_rope", "p", [](auto& p, auto& f) { return truncated(f, p.number("p")); }},
    {"resonance", "", [](auto&, auto& f) { return resonance(f); }},
    {"raised_cosine_clip", "n",
     [](auto& p, auto& f) { return raised_cosine_clip(f, p.count("n")); }},
    {"fope_floor", "trained_length",
     [](auto& p, auto& f) { return fope_floor(f, p.number("trained_length")); }},
    {"geometric", "rotary_dim base", nullptr,
     [](auto& p) -> posenc1_frequencies {
       return {geometric(p.count("rotary_dim"), p.number("base"))};
     }},
    {"geometric_inclusive", "rotary_dim base", nullptr,
     [](auto& p) -> posenc1_frequencies {
       return {geometric_inclusive(p.count("rotary_dim"), p.number("base"))};
     }},
    {"proportional", "head_dim base p [factor]", nullptr,
     [](auto& p) -> posenc1_frequencies {
       return {proportional(p.count("head_dim"), p.number("base"), p.number("p"),
                            p.number("factor", 1))};
     }},
    {"part_ntk", "rotary_dim base factor original_length [ntk extrapolation]", nullptr,
     [](auto& p) -> posenc1_frequencies {
       part_ntk_scaling s{.factor = p.number("factor"),
                          .original_length = p.number("original_length")};
       s.ntk = p.number("ntk", s.ntk), s.extrapolation = p.number("extrapolation", s.extrapolation);
       return {part_ntk(p.count("rotary_dim"), p.number("base"), s)};
     }},
    {"pixel", "rotary_dim [max_freq]", nullptr,
     [](auto& p) -> posenc1_frequencies {
       auto const max = p.maybe("max_freq");
       auto const dim = p.count("rotary_dim");
       return {max ? pixel(dim, *max) : pixel(dim)};
     }},
    {"axial", "dims base", nullptr, axial},
};

inline posenc1_frequencies made(posenc1_frequencies const* of, std::string_view name,
                                std::span<posenc1_parameter const> all) {
  auto const* const found = std::ranges::find(rules, name, &rule::name);
  if (found == std::end(rules)) {
    std::string names;
    for (auto const& one : rules) names += (names.empty() ? "" : ", ") + std::string(one.name);
    require(false, "posenc1_frequencies_of_rule: the rule must be one of ", names, ", got ", name);
  }
  bool const begins = found->begin != nullptr;
  require(!begins || of == nullptr, name, ": must be given no frequencies to change");
  std::string names(found->parameters_of_it);
  if (!begins && of == nullptr) names = "rotary_dim base" + (names.empty() ? "" : " " + names);
  parameters given(name, names, all);
  auto const value = [&]() -> posenc1_frequencies {
    if (begins) return found->begin(given);
    if (of != nullptr) return {found->change(given, of->value), of->axis_of_pair};
    auto const dim = given.count("rotary_dim");
    auto const base = given.number("base");
    // The ramp of YaRN is exact where the base is known.
    if (name == "yarn") return {yarn(dim, base, yarn_of(given))};
    return {found->change(given, geometric(dim, base))};
  }();
  given.check_all_read();
  return value;
}

POSENC_C_FUNCTION posenc1_status posenc1_frequencies_of_base(size_t rotary_dim, double base,
                                                             posenc1_frequencies** result) {
  return guarded([&] {
    require_given("posenc1_frequencies_of_base", {{"result", result}});
    *result = new posenc1_frequencies{geometric(rotary_dim, base)};
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_frequencies_of_numbers(double const* inv_freq,
                                                                size_t pairs,
                                                                double attention_factor,
                                                                posenc1_frequencies** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_frequencies_of_numbers";
    require_given(function, {{"inv_freq", inv_freq}, {"result", result}});
    auto const numbers = numbers_from(function, "pairs", inv_freq, pairs);
    *result = new posenc1_frequencies{frequencies(numbers, attention_factor)};
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_frequencies_of_rule(posenc1_frequencies const* of,
                                                             char const* rule,
                                                             posenc1_parameter const* given,
                                                             size_t count,
                                                             posenc1_frequencies** result) {
  return guarded([&] {
    require_given("posenc1_frequencies_of_rule", {{"rule", rule}, {"result", result}});
    if (count != 0) require_given("posenc1_frequencies_of_rule", {{"parameters", given}});
    require(count <= 64, "posenc1_frequencies_of_rule: count must be at most 64, got ", count);
    *result = new posenc1_frequencies(made(of, rule, {given, count}));
  });
}

POSENC_C_FUNCTION posenc1_status posenc1_frequencies_on_axes(posenc1_frequencies const* of,
                                                             posenc1_axes axes,
                                                             size_t const* numbers, size_t count,
                                                             posenc1_frequencies** result) {
  return guarded([&] {
    constexpr auto function = "posenc1_frequencies_on_axes";
    require_given(function, {{"of", of}, {"numbers", numbers}, {"result", result}});
    require(count <= std::size_t{1} << 24, function, ": count must be at most 2^24, got ", count);
    std::span const given(numbers, count);
    auto const pairs = of->value.pairs();
    auto const four = [&] {
      require(count == 4, function, ": numbers must be of four sections, got ", count);
      std::array<std::size_t, 4> sections;
      std::ranges::copy(given, sections.begin());
      return sections;
    };
    auto const made = [&]() -> pair_axes {
      switch (bits_of(axes)) {
        case POSENC1_AXES_BY_PAIR:
          return pair_axes({given.begin(), given.end()});
        case POSENC1_AXES_CONTIGUOUS:
          return contiguous_axes(given);
        case POSENC1_AXES_INTERLEAVED:
          return interleaved_axes(given);
        case POSENC1_AXES_GGML:
          return ggml_axes(four(), pairs);
        case POSENC1_AXES_GGML_INTERLEAVED:
          return ggml_interleaved_axes(four(), pairs);
        default:
          require(false, function, ": axes must be one of posenc1_axes, got ", bits_of(axes));
          std::abort();
      }
    }();
    require(made.pairs() == pairs, function, ": axes must be given for each of the ", pairs,
            " pairs, got ", made.pairs());
    *result = new posenc1_frequencies{of->value, listed(made)};
  });
}

POSENC_C_FUNCTION size_t posenc1_frequencies_axes(posenc1_frequencies const* f,
                                                  size_t* axis_of_pair) {
  if (f == nullptr) return 0;
  if (axis_of_pair != nullptr) {
    std::fill_n(axis_of_pair, f->value.pairs(), std::size_t{0});
    std::ranges::copy(f->axis_of_pair, axis_of_pair);
  }
  return axes_of(*f);
}

POSENC_C_FUNCTION size_t posenc1_frequencies_read(posenc1_frequencies const* f, double* inv_freq,
                                                  double* attention_factor) {
  if (f == nullptr) return 0;
  if (inv_freq != nullptr) std::ranges::copy(f->value.inv_freq(), inv_freq);
  if (attention_factor != nullptr) *attention_factor = f->value.attention_factor();
  return f->value.pairs();
}

POSENC_C_FUNCTION void posenc1_frequencies_destroy(posenc1_frequencies* f) { delete f; }

}}}  // namespace c
