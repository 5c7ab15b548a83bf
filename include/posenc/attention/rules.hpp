// The rules of attention as one value: plain data, which a program fills in as it runs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "posenc/attention/detail/argument_hash.hpp"
#include "posenc/attention/given_mask.hpp"
#include "posenc/attention/mask.hpp"
#include "posenc/core/detail/bit_cast.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/target.hpp"
#include "posenc/core/viewed.hpp"
#include "posenc/encoding/adjust_scores.hpp"
#include "posenc/encoding/sites.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/score/query_profiles.hpp"
#include "posenc/score/scale_invariant.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/critical_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// A rule of site 4, by name. Values are those of the C interface.
enum class temperature_rule : std::uint32_t {
  none,
  log_n,              ///< posenc::log_n, of `length`
  log_n_by_position,  ///< posenc::log_n_by_position, of `length`
  ssmax,              ///< posenc::ssmax, of `scales` and `biases`
  by_position,        ///< position_temperature, of `scale`, `length` and `offset`
  adaptive,           ///< adaptive_temperature, as published
  half_weight,        ///< half_weight_temperature, of `scale`; 0: 1/2
  critical            ///< critical_temperature, `scale` times; 0: 2
};

/// A rule of site 4 and its numbers. Numbers that the rule does not have must be 0 and empty.
struct chosen_temperature {
  temperature_rule rule = temperature_rule::none;  ///< what scores are multiplied by
  double length = 0;           ///< in tokens; of logarithms above 1, of by_position positive
  double scale = 0;            ///< of by_position, half_weight and critical
  double offset = 0;           ///< of by_position, in tokens
  viewed<double> scales = {};  ///< of ssmax, [heads], positive
  viewed<double> biases = {};  ///< of ssmax, [heads]; empty: 0
};

/// A key_bias of either layout, viewed. It must outlive this.
class key_bias_view {
 public:
  key_bias_view() = default;
  /// bias: key_bias, or what has its functions.
  template <class KeyBias>
  requires requires(KeyBias const& bias) { bias.kv_heads(); }
  key_bias_view(KeyBias const& bias) noexcept
      : bias_(&bias),
        of_floats_(functions_of<KeyBias, float>),
        of_doubles_(functions_of<KeyBias, double>),
        heads_(bias.heads()),
        kv_heads_(bias.kv_heads()),
        head_dim_(bias.head_dim()) {}
  template <class KeyBias>
  requires requires(KeyBias const& bias) { bias.kv_heads(); }
  key_bias_view(KeyBias const&&) = delete;  // posenc: what is viewed must have a name

  bool is_given() const noexcept { return bias_ != nullptr; }  ///< or keys have no bias
  std::size_t heads() const noexcept { return heads_; }        ///< of queries
  std::size_t kv_heads() const noexcept { return kv_heads_; }  ///< that have a bias
  std::size_t head_dim() const noexcept { return head_dim_; }  ///< of queries and keys
  /// Site 3.
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    of<T>().adjust(bias_, row);
  }
  /// Site 3, backward.
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    of<T>().backward(bias_, before, d_scores, d_query);
  }

 private:
  template <class T>
  struct functions {
    void (*adjust)(void const*, score_row<T> const&) = nullptr;
    void (*backward)(void const*, score_row<T const> const&, std::span<T>, std::span<T>) = nullptr;
  };
  template <class KeyBias, class T>
  static constexpr functions<T> functions_of = {
      [](void const* bias, score_row<T> const& row) {
        static_cast<KeyBias const*>(bias)->adjust_scores(row);
      },
      [](void const* bias, score_row<T const> const& before, std::span<T> d_scores,
         std::span<T> d_query) {
        static_cast<KeyBias const*>(bias)->backward_scores(before, d_scores, d_query);
      }};
  template <class T>
  functions<T> const& of() const noexcept {
    if constexpr (std::same_as<T, float>) {
      return of_floats_;
    } else {
      return of_doubles_;
    }
  }

  void const* bias_ = nullptr;
  functions<float> of_floats_;
  functions<double> of_doubles_;
  std::size_t heads_ = 0, kv_heads_ = 0, head_dim_ = 0;
};

/// Inkling's profiles, and what the queries make of them: see query_profiles.
struct profiles_view {
  float const* profiles = nullptr;                            ///< [rank][extent]; null: none
  std::size_t rank = 0;                                       ///< numbers of a query and head
  std::size_t extent = 0;                                     ///< distances
  heads_view<float const> query_side = {nullptr, {0, 1, 1}};  ///< [queries][heads][rank]
};

/// The rules of attention as one value, for a program that reads them from a model's file, a graph
/// or a caller:
///
///     attention_rules const rules{.sees = mask::causal & mask::sliding_window(4096), .cap = 50};
///     attention(q, k, v, rules);
///
///     x = scale <q, k> + key bias       if keys are stored without their bias
///     x = factor beta_t x               factor, and temperature of the query
///     x = a(distance) x + m(distance)   tau
///     x + profiles + biases             given cell by cell
///     x - slope distance, then cap      or the cap first
///     mask                              sees
///     softmax(beta x), with a sink      temperature, sinks
///
/// It is an encoding of sites 3 and 4, and has the mask and the scale in place of attention's
/// options, which then must have neither. The order, the bits and the errors are the same as with
/// the encodings that it names. It is one type, so attention is compiled once for all rules. Site 2
/// stands beside it: scheme{rope<halves>(f), rules}. The viewed arrays must outlive it; they get no
/// gradients.
struct attention_rules {
  mask sees = mask::causal;          ///< which keys a query sees
  std::optional<double> scale = {};  ///< on <q, k>, as attention_options has it
  double factor = 1;                 ///< on scores, behind the scale
  /// On scores, by the query's position: Llama 4's, Ministral 3's. As published: before the cap.
  position_temperature of_queries = {0, 1, 0};
  double cap = 0;                         ///< soft_cap; 0: none
  double tau = 0;                         ///< scale_invariant, in tokens; 0: none
  chosen_temperature temperature = {};    ///< behind the mask
  viewed<double> slopes = {};             ///< alibi's, [heads]; empty: none
  bool caps_first = false;                ///< before the slopes, as models do that have both
  viewed<double> sinks = {};              ///< attention_sinks' logits, [heads]; empty: none
  key_bias_view key_bias = {};            ///< that the keys were made without
  profiles_view profiles = {};            ///< made by the queries
  std::optional<given_mask> biases = {};  ///< cell by cell, before the cap

  /// A call of some of the heads: which is its first among all, that arrays, key bias, profiles and
  /// biases are of. The mask is of the call's heads.
  std::size_t first_head = 0;
  std::size_t all_heads = 0;  ///< of queries; 0: as many as the call has

  static constexpr bool is_pointwise = true;  ///< see adjusts_each_score

  /// The mask and the scale, in place of attention's options.
  attention_rules const& asked() const noexcept { return *this; }

  /// Throws std::invalid_argument, in the name of a function, unless all numbers are as the
  /// encodings have them, and arrays are of the heads of the call.
  void check(char const* function, heads_shape const& queries, heads_shape const& keys) const {
    auto const heads = all_heads == 0 ? queries.heads : all_heads;
    detail::require(first_head <= heads && queries.heads <= heads - first_head, function,
                    ": first_head must be within the ", heads, " heads, got ", first_head, " of ",
                    queries.heads, " more");
    auto const each = [&](char const* what, std::span<double const> numbers) {
      detail::require(numbers.empty() || numbers.size() == heads, function, ": ", what,
                      " must be one for each of the ", heads, " heads, got ", numbers.size());
    };
    each("sinks", sinks), each("slopes", slopes), each("scales", temperature.scales);
    each("biases", temperature.biases);
    finite(function, "sinks: logits", sinks), finite(function, "slopes", slopes);
    detail::require(is_finite(factor), function, ": factor must be finite, got ", factor);
    if (is_given(cap)) detail::require_positive(function, "cap", cap);
    if (is_given(tau)) scale_invariant::check(function, tau);
    check_position(function, "of_queries", of_queries);
    check_temperature(function);
    check_profiles(function, queries.tokens, heads);
    if (key_bias.is_given()) {
      auto const kv_heads = keys.heads * (heads / std::max<std::size_t>(queries.heads, 1));
      detail::require(key_bias.heads() == heads && key_bias.kv_heads() == kv_heads &&
                          key_bias.head_dim() == queries.head_dim,
                      function, ": key_bias must be of ", heads, " heads over ", kv_heads, " of ",
                      queries.head_dim, " dims, got ", key_bias.heads(), " over ",
                      key_bias.kv_heads(), " of ", key_bias.head_dim());
    }
    if (biases) biases->check(function, queries.tokens, heads, keys.tokens);
  }

  /// Site 3, see acts_on_scores. Precondition: check().
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    adjust_before_cap(row);
    if (cap > 0) soft_cap(cap).adjust_scores(row);
    if (caps_first) add_slopes(row);
  }
  /// Whether site 3 only adds, so that gradients pass, see may_only_add_bias.
  bool only_adds_bias() const noexcept {
    return !key_bias.is_given() && !multiplies() && !(tau > 0) && !(cap > 0);
  }
  /// Site 3, backward, see pulls_back_scores. Allocates no row. Precondition: check().
  template <class T>
  void backward_scores(score_row<T const> const& before, std::span<T> d_scores,
                       std::span<T> d_query) const {
    if (cap > 0) backward_cap(before, d_scores);
    if (tau > 0) scale_invariant(tau).backward_scores(before, d_scores, d_query);
    if (multiplies()) multiply(d_scores, before.query_position);
    if (key_bias.is_given()) key_bias.backward_scores(of_all_heads(before), d_scores, d_query);
  }

  /// Site 4, see may_act_on_softmax.
  bool changes_temperature() const noexcept { return temperature.rule != temperature_rule::none; }
  /// Site 4, see acts_on_softmax.
  double inverse_temperature(row_statistics const& row) const {
    auto const& t = temperature;
    switch (t.rule) {
      case temperature_rule::log_n:
        return log_n(t.length).inverse_temperature(row);
      case temperature_rule::log_n_by_position:
        return log_n_by_position(t.length).inverse_temperature(row);
      case temperature_rule::by_position:
        return position_temperature{t.scale, t.length, t.offset}.inverse_temperature(row);
      case temperature_rule::adaptive:
        return adaptive_temperature().inverse_temperature(row);
      case temperature_rule::half_weight:
        return half_weight_temperature(t.scale > 0 ? t.scale : 0.5).inverse_temperature(row);
      case temperature_rule::critical:
        return critical_temperature(t.scale > 0 ? t.scale : 2).inverse_temperature(row);
      case temperature_rule::ssmax: {
        if (row.keys < 2) return 1;
        auto const head = first_head + row.head;
        return t.scales[head] * std::log(static_cast<double>(row.keys)) +
               (t.biases.empty() ? 0 : t.biases[head]);
      }
      default:
        return 1;
    }
  }
  /// Site 4, see adds_sink.
  double sink(std::size_t head) const noexcept {
    return sinks.empty() ? no_sink : sinks[first_head + head];
  }

  /// A hash of all numbers, for workers that compare their arguments; the call adds the mask.
  std::uint64_t hash() const noexcept {
    detail::argument_hash all;
    for (double const x : {factor, of_queries.scale, of_queries.floor_scale, of_queries.offset, cap,
                           tau, temperature.length, temperature.scale, temperature.offset})
      all.add(x);
    for (std::size_t const n :
         {static_cast<std::size_t>(temperature.rule), std::size_t{caps_first}, key_bias.heads(),
          key_bias.head_dim(), profiles.rank, profiles.extent, first_head, all_heads})
      all.add(std::uint64_t{n});
    for (auto const& numbers : {temperature.scales, temperature.biases, slopes, sinks})
      all.add(std::span<double const>(numbers));
    all.add(biases ? biases->hash() : 0);
    return all.value();
  }

 private:
  template <class Row>
  Row of_all_heads(Row row) const noexcept {
    row.head += first_head;
    return row;
  }
  bool multiplies() const noexcept { return factor != 1 || of_queries.scale != 0; }
  template <class T>
  void multiply(std::span<T> scores, std::int64_t query_position) const {
    auto const by = factor * of_queries.inverse_temperature({.query_position = query_position});
    for (auto& score : scores) score = static_cast<T>(by * static_cast<double>(score));
  }
  template <class T>
  void add_slopes(score_row<T> const& row) const {
    if (slopes.empty()) return;
    detail::add_bias(row, [slope = slopes[first_head + row.head], &row](std::int64_t key) {
      return -slope * std::abs(static_cast<double>(distance_between(row.query_position, key)));
    });
  }
  template <class T>
  void adjust_before_cap(score_row<T> const& row) const {
    auto of_all = of_all_heads(row);
    if (key_bias.is_given()) key_bias.adjust_scores(of_all);
    if (multiplies()) multiply(row.scores, row.query_position);
    if (tau > 0) scale_invariant(tau).adjust_scores(row);
    if (profiles.profiles != nullptr) {
      of_all.query_side = profiles.query_side(row.query_index, of_all.head);
      detail::add_profile(std::span(profiles.profiles, profiles.rank * profiles.extent),
                          profiles.rank, of_all);
    }
    if (biases)
      biases->apply(row.query_index, of_all.head,
                    {row.first_key_index, row.first_key_index + row.scores.size()}, row.scores);
    if (!caps_first) add_slopes(row);
  }
  // The slope of the cap is that at the scores before it, which are made again, some at a time.
  template <class T>
  void backward_cap(score_row<T const> const& before, std::span<T> d_scores) const {
    std::array<T, 256> numbers;
    for (std::size_t first = 0, count; first < d_scores.size(); first += count) {
      count = std::min(numbers.size(), d_scores.size() - first);
      std::ranges::copy(before.scores.subspan(first, count), numbers.begin());
      auto some = before.with_scores(std::span<T>(numbers.data(), count));
      some.key_positions = before.key_positions.subspan(first, count);
      some.first_key_index += first;
      adjust_before_cap(some);
      soft_cap(cap).backward_scores(some.with_scores(std::span<T const>(some.scores)),
                                    d_scores.subspan(first, count), {});
    }
  }
  // By bits: under -ffast-math, NaN may compare equal to 0.
  static bool is_given(double x) noexcept { return detail::bit_cast<std::uint64_t>(x) != 0; }
  // The beginning of an error: "function: name". (By hand: instruction sets share no function, and
  // nothing is allocated.)
  class part {
   public:
    part(char const* function, char const* name) noexcept {
      for (auto const* from : {function, ": ", name})
        for (; *from != 0 && size_ + 1 < sizeof text_; ++from) text_[size_++] = *from;
      text_[size_] = 0;
    }
    char const* c_str() const noexcept { return text_; }

   private:
    char text_[128];
    std::size_t size_ = 0;
  };
  static void finite(char const* function, char const* what, std::span<double const> numbers) {
    if (!std::ranges::all_of(numbers, [](double x) { return is_finite(x); })) [[unlikely]]
      detail::require_finite(part(function, what).c_str(), numbers, " for head ");
  }
  static void check_position(char const* function, char const* name,
                             position_temperature const& t) {
    bool const right = is_finite(t.scale) && t.scale >= 0 && is_finite(t.floor_scale) &&
                       t.floor_scale > 0 && is_finite(t.offset);
    if (!right) [[unlikely]]
      t.check(part(function, name).c_str());
  }
  void check_temperature(char const* function) const {
    using rules = temperature_rule;
    auto const& t = temperature;
    auto const rule = t.rule;
    if (rule == rules::none && !is_given(t.length) && !is_given(t.scale) && !is_given(t.offset) &&
        t.scales.empty() && t.biases.empty())
      return;
    part const name(function, "temperature");
    auto const require = [&](bool holds, auto const&... parts) {
      detail::require(holds, name.c_str(), ": ", parts...);
    };
    bool const logarithm = rule == rules::log_n || rule == rules::log_n_by_position,
               position = rule == rules::by_position, ssmax = rule == rules::ssmax,
               of_row = rule == rules::half_weight || rule == rules::critical;
    require(rule <= rules::critical, "rule must be one of the header, got ",
            static_cast<std::uint32_t>(rule));
    require(logarithm || position || !is_given(t.length), "length must be 0 for this rule, got ",
            t.length);
    require(position || of_row || !is_given(t.scale), "scale must be 0 for this rule, got ",
            t.scale);
    require(position || !is_given(t.offset), "offset must be 0 for this rule, got ", t.offset);
    require(ssmax || (t.scales.empty() && t.biases.empty()),
            "scales and biases must be null for this rule");
    require(!ssmax || !t.scales.empty(), "scales must not be null for this rule");
    if (logarithm) detail::require_above_1(name.c_str(), "trained_length", t.length);
    if (rule == rules::half_weight && is_given(t.scale))
      half_weight_temperature::check(name.c_str(), t.scale);
    if (rule == rules::critical && is_given(t.scale))
      detail::require_positive(name.c_str(), "times", t.scale);
    if (position) position_temperature{t.scale, t.length, t.offset}.check(name.c_str());
    if (ssmax) posenc::ssmax::check(name.c_str(), t.scales, t.biases);
  }
  void check_profiles(char const* function, std::size_t queries, std::size_t heads) const {
    auto const& p = profiles;
    auto const& side = p.query_side.shape();
    if (p.profiles == nullptr)
      return detail::require(p.rank == 0 && p.extent == 0 && side.tokens == 0, function,
                             ": profiles: without profiles, all else must be 0 and null");
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    detail::require(p.rank > 0 && p.extent > 0 && p.rank <= std::size_t{1} << 24 &&
                        p.extent <= most / sizeof(float) / p.rank,
                    function,
                    ": profiles: rank and extent must be positive and fit into memory, got ",
                    p.rank, " and ", p.extent);
    detail::require(side == heads_shape{queries, heads, p.rank}, function,
                    ": profiles: query_side must be [", queries, "][", heads, "][", p.rank,
                    "], got [", side.tokens, "][", side.heads, "][", side.head_dim, "]");
  }
};

}}  // namespace posenc
