// From a row of scores to attention weights, at any temperature, and back with gradients.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "posenc/core/positions.hpp"
#include "posenc/core/target.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/softmax/row_exponentials.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// A row of scores: a vector, an array, a span ... of float or double.
template <class R>
concept row_of_scores = std::floating_point<detail::span_value_t<R>>;
/// A row of scores that can be changed.
template <class R>
concept writable_row_of_scores =
    row_of_scores<R> && !std::is_const_v<typename detail::span_of<R>::element_type>;

/// The statistics of a row of scores, [keys], with -infinity for masked keys: Z = sum e^(x - max),
/// W = sum (x - max) e^(x - max), ln sum e^x = max + ln Z, H = ln Z - W / Z. Sums in double. Keeps
/// a view of the scores.
template <row_of_scores Row>
row_statistics statistics(Row const& scores, std::size_t head = 0,
                          std::int64_t query_position = 0) noexcept {
  using T = detail::span_value_t<Row>;
  std::span<T const> const x(scores);
  auto const max = detail::largest(x.data(), x.size());
  auto const sums = detail::exponentials<true>(x.data(), static_cast<T*>(nullptr), x.size(), max);
  return detail::statistics_of(sums, x, static_cast<double>(max), head, query_position);
}

/// scores -> softmax(inverse_temperature * scores) in place: weights that sum to 1, 0 where masked;
/// all 0 if every key is masked. row: the statistics of these scores. inverse_temperature: finite
/// and at least 0, not checked. If any score is NaN or +infinity, every weight is NaN. sink: a
/// logit that is added to the denominator; the temperature does not apply to it.
template <writable_row_of_scores Row>
void softmax(Row&& scores, row_statistics const& row, double inverse_temperature = 1,
             double sink = no_sink) noexcept {
  using T = detail::span_value_t<Row>;
  std::span<T> const x(scores);
  auto const sum = detail::exponentials_at(x.data(), x.data(), x.size(), static_cast<T>(row.max),
                                           inverse_temperature);
  if (row.keys == 0) return;
  auto const share =
      static_cast<T>(detail::share_of({inverse_temperature, row.max, sum}, sink).share);
  for (auto& weight : x) weight *= share;
}

/// The same without statistics.
template <writable_row_of_scores Row>
void softmax(Row&& scores, double inverse_temperature = 1) noexcept {
  std::span<detail::span_value_t<Row>> const x(scores);
  auto const max = detail::largest(x.data(), x.size());
  row_statistics const row{.keys = is_masked(max) ? 0u : 1u, .max = static_cast<double>(max)};
  softmax(x, row, inverse_temperature);
}

/// The same with a rule of site 4: one pass if its temperature is 1, else two. memory: scratch that
/// grows if it must; keep it for the next call. Throws as the rule does.
template <writable_row_of_scores Row, class Rule>
void softmax(Row&& scores, Rule const& rule, std::vector<detail::span_value_t<Row>>& memory,
             std::size_t head = 0, std::int64_t query_position = 0) {
  using T = detail::span_value_t<Row>;
  std::span<T> const row(scores);
  static_assert(detail::encoding_check<Rule>::passed);
  static_assert(
      acts_on_softmax<Rule> || acts_nowhere<Rule> || detail::has_inverse_temperature<Rule>,
      "posenc: the rule of softmax must have inverse_temperature: it must act on softmax (site 4), "
      "or nowhere");
  if (acts_on_softmax<Rule> && memory.size() < row.size())
    memory = std::vector<T>(row.size() + row.size() / 2);
  auto const e = detail::exponentiate<acts_on_softmax<Rule>>(
      row, memory.data(), [&](auto const& plain, double max) {
        return detail::inverse_temperature_of(
            rule, detail::statistics_of<T>(plain, row, max, head, query_position));
      });
  double sink = no_sink;
  if constexpr (adds_sink<Rule>) sink = rule.sink(head);
  auto const share = static_cast<T>(detail::share_of(e.sum, sink).share);
  std::transform(e.numbers, e.numbers + row.size(), row.data(), [share](T x) { return x * share; });
}

namespace detail {

/// d_s -> factor * p_s (d_s - mean).
template <class T>
void softmax_gradients(T const* weights, T* gradients, std::size_t count, T mean,
                       T factor) noexcept {
  for (std::size_t s = 0; s < count; ++s) {
    gradients[s] = weights[s] == 0 ? T{0} : factor * weights[s] * (gradients[s] - mean);
  }
}

}  // namespace detail

/// For p = softmax(beta x), dp -> dx in place: dx_s = beta p_s (dp_s - sum_j p_j dp_j), with the
/// sum in double.
///
///     softmax(row, beta);  ...  softmax_backward(row, d_row, beta);
///
/// beta counts as a constant, whatever rule it came from. Also correct with a sink. Keys of weight
/// 0, masked ones among them, get gradient 0, even if their dp is NaN. weights, row: [keys]. Throws
/// std::invalid_argument, before anything is changed, unless they have the same size.
template <class Row>
void softmax_backward(std::span<detail::span_value_t<Row> const> weights, Row&& row,
                      double inverse_temperature = 1) {
  using T = detail::span_value_t<Row>;
  std::span<T> const gradients(row);
  detail::require(weights.size() == gradients.size(),
                  "softmax_backward: there must be one gradient for each of ", weights.size(),
                  " weights, got ", gradients.size());
  double mean = 0;
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s] != 0)
      mean += static_cast<double>(weights[s]) * static_cast<double>(gradients[s]);
  }
  detail::softmax_gradients(weights.data(), gradients.data(), weights.size(), static_cast<T>(mean),
                            static_cast<T>(inverse_temperature));
}

}}  // namespace posenc
