// Which rule of frequency/, with which parameters, made a table of frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "posenc/analysis/frequency_explanation.hpp"
#include "posenc/analysis/identify/angles.hpp"
#include "posenc/analysis/identify/explain.hpp"
#include "posenc/analysis/identify/table.hpp"
#include "posenc/core/list_view.hpp"
#include "posenc/core/require.hpp"
#include "posenc/core/storage.hpp"
#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/longrope.hpp"
#include "posenc/rows/cos_sin_view.hpp"
#include "posenc/rows/row_writer.hpp"

namespace posenc::inline POSENC_TARGET {

/// What is known beforehand of a table.
struct identify_options {
  /// A base that is known or suspected, as a file says it: preferred where the table leaves a
  /// choice.
  std::optional<double> base = {};
  /// The largest relative error of rounding a number: for decimals of k digits 0.5 10^(1 - k).
  /// Without, that of the numbers' type; and if no rule explains them, those of float, half and
  /// bfloat16 in turn, where all numbers are of that type (for doubles: computed in float).
  std::optional<double> unit_roundoff = {};
};

namespace detail {

inline double unit_roundoff_of(double) { return 0x1p-53; }
inline double unit_roundoff_of(float) { return 0x1p-24; }
inline double unit_roundoff_of(half) { return 0x1p-11; }
inline double unit_roundoff_of(bfloat16) { return 0x1p-8; }

template <class T>
bool are_all(std::vector<double> const& numbers) {
  return std::ranges::all_of(numbers, [](double x) {
    auto const as_float = static_cast<float>(x);
    return static_cast<double>(static_cast<float>(static_cast<T>(as_float))) == x;
  });
}

/// The roundings that the numbers may have, finest first.
inline std::vector<double> possible_roundoffs(std::vector<double> const& numbers, double finest,
                                              identify_options const& options) {
  if (options.unit_roundoff) return {*options.unit_roundoff};
  std::vector<double> result{finest};
  if (finest < 0x1p-24) result.push_back(0x1p-24);
  if (finest < 0x1p-11 && are_all<half>(numbers)) result.push_back(0x1p-11);
  if (finest < 0x1p-8 && are_all<bfloat16>(numbers)) result.push_back(0x1p-8);
  return result;
}

inline std::vector<double> bases_of(identify_options const& options) {
  if (!options.base) return {};
  require(is_finite(*options.base) && *options.base > 1,
          "identify: base must be finite and above 1, got ", *options.base);
  return {*options.base};
}

/// Whether a rule, not a factor for each pair, explains a table.
inline bool is_explained(std::vector<frequency_explanation> const& list) {
  return list.front().within_rounding && list.front().rule != "divided_by_factors";
}

/// The numbers as frequencies, if the table may be of that form; else none.
inline std::vector<double> in_form(table_form form, std::vector<double> numbers) {
  bool const falls = std::ranges::is_sorted(numbers, std::greater<>()),
             rises = std::ranges::is_sorted(numbers);
  if (form == table_form::inv_freq) return numbers;
  if (form == table_form::each_twice) {
    std::vector<double> result;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      if (numbers[i] != numbers[i + 1]) return {};
      result.push_back(numbers[i]);
    }
    return numbers.size() % 2 == 0 && result.size() > 1 ? result : std::vector<double>();
  }
  if (falls || (rises && form == table_form::shuffled) || (!rises && form != table_form::shuffled))
    return {};
  if (form == table_form::shuffled) std::ranges::sort(numbers, std::greater<>());
  if (form == table_form::reversed) std::ranges::reverse(numbers);
  if (form == table_form::wavelengths) {
    if (numbers.front() < 0x1p-10) return {};
    for (auto& x : numbers) x = 1 / x;
  }
  return numbers;
}

/// The same for any table of finite numbers that are not negative.
inline identification identify_table(std::vector<double> const& numbers,
                                     std::vector<double> const& roundoffs,
                                     std::vector<double> const& bases) {
  identification first;
  for (auto const u : roundoffs) {
    for (auto const form : {table_form::inv_freq, table_form::each_twice, table_form::reversed,
                            table_form::wavelengths, table_form::shuffled}) {
      auto const inv_freq = in_form(form, numbers);
      if (inv_freq.empty()) continue;
      identification found{.form = form, .unit_roundoff = u};
      found.explanations = explain(frequency_table(inv_freq, u, bases));
      if (is_explained(found.explanations)) return found;
      if (first.explanations.empty()) first = std::move(found);
    }
  }
  return first;
}

}  // namespace detail

/// Which rule made a table of frequencies, one number per pair, in radians per position:
///
///     auto const found = identify(inv_freq);                 // std::vector<float>
///     found.best().rule;                                     // "llama3"
///     found.best()["factor"].value;                          // 8
///     found.explanations[1];                                 // the next best: "yarn", off by 12 %
///
/// Every rule of frequency/ is tried, in float as engines compute it: a number may be off by its
/// rounding and by (8 + |ln inv_freq|) unit roundoffs of float (of the storage, if that is finer),
/// the error of base^exponent. `within_rounding` says whether all are. Parameters are the simplest
/// that fit, with the range that fits; rules and parameters that make the same table are said in
/// same_table and remarks. A rule of more than two parameters needs a table of two numbers more.
/// What rounding hides cannot be found: a table of float leaves 5 to 7 digits of a base. A table
/// does not tell head_dim (of which it may rotate a part), the layout or the attention factor.
///
/// Takes tables with each number twice, with the slowest pair first, of 1 / inv_freq, and negative
/// ones; `form` and `negated` say so. Zeros are pairs that do not rotate. Milliseconds to some
/// seconds.
/// Throws std::invalid_argument unless there are 1 to 4096 numbers, all finite, at most 2^64 in
/// magnitude and of one sign, and an option is in range: base above 1, unit_roundoff in (0, 0.1].
template <storable T>
identification identify(std::span<T const> inv_freq, identify_options const& options = {}) {
  detail::require(!inv_freq.empty() && inv_freq.size() <= 4096,
                  "identify: there must be 1 to 4096 numbers, got ", inv_freq.size());
  auto const given = options.unit_roundoff.value_or(0x1p-53);
  detail::require(is_finite(given) && given > 0 && given <= 0.1,
                  "identify: unit_roundoff must be in (0, 0.1], got ", given);
  std::vector<double> numbers;
  bool has_negative = false, has_positive = false;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    auto const x = static_cast<double>(load(inv_freq[i]));
    detail::require(is_finite(x) && std::abs(x) <= 0x1p64,
                    "identify: numbers must be finite and at most 2^64 in magnitude, got ", x,
                    " at ", i);
    has_negative = has_negative || x < 0, has_positive = has_positive || x > 0;
    detail::require(!(has_negative && has_positive), "identify: numbers must be of one sign, got ",
                    x, " at ", i);
    numbers.push_back(std::abs(x));
  }
  auto const finest = detail::unit_roundoff_of(storage_format_t<T>());
  auto found = detail::identify_table(numbers, detail::possible_roundoffs(numbers, finest, options),
                                      detail::bases_of(options));
  found.negated = has_negative;
  return found;
}

/// The same of a container: a vector, an array.
template <class List>
requires storable<detail::span_value_t<List const>> identification
identify(List const& inv_freq, identify_options const& options = {}) {
  using T = std::remove_cv_t<detail::span_value_t<List const>>;
  return identify(std::span<T const>(inv_freq), options);
}

/// The same of factors that divide geometric(2 * factors, base): the tensor rope_freqs of a GGUF
/// file, with the base of its metadata. 1e30 or more is frequency 0. Throws as identify and
/// divided_by_factors do.
template <class List>
requires storable<detail::span_value_t<List const>> identification
identify_factors(List const& factors, double base, identify_options options = {}) {
  using T = std::remove_cv_t<detail::span_value_t<List const>>;
  std::vector<double> divisors;
  for (auto const& x : std::span<T const>(factors))
    divisors.push_back(static_cast<double>(load(x)));
  detail::require(!divisors.empty() && divisors.size() <= 4096,
                  "identify_factors: there must be 1 to 4096 factors, got ", divisors.size());
  auto const made = divided_by_factors(geometric(2 * divisors.size(), base), divisors);
  auto const finest = detail::unit_roundoff_of(storage_format_t<T>());
  options.base = base;
  if (!options.unit_roundoff && finest > 0x1p-53) options.unit_roundoff = finest;
  return identify(made.inv_freq(), options);
}

/// The same of an engine's rows of cosines and sines, at these positions. The angles may have been
/// formed in the rows' type. attention_factor is the length of (cos, sin).
///
/// Frequencies must be below pi over the smallest position other than 0, which must be at most 1 in
/// magnitude; the largest positions tell them best.
/// Throws std::invalid_argument unless there is a position for each row, one of them not 0 and at
/// most 1 in magnitude, all rows are finite and of one length, and as identify does.
template <std::floating_point Real, position_range Positions>
identification identify_rows(cos_sin_view<Real> const& rows, Positions const& positions,
                             identify_options const& options = {}) {
  detail::require(std::size(positions) == rows.tokens() && rows.tokens() > 0,
                  "identify_rows: there must be rows, and a position for each, got ", rows.tokens(),
                  " rows and ", std::size(positions), " positions");
  std::vector<double> at;
  std::vector<std::size_t> order;
  for (auto const p : positions) {
    if (p != 0) order.push_back(at.size());
    at.push_back(static_cast<double>(p));
  }
  std::ranges::sort(order, {}, [&](std::size_t token) { return std::abs(at[token]); });
  detail::require(!order.empty() && std::abs(at[order[0]]) <= 1,
                  "identify_rows: a position other than 0 must be at most 1 in magnitude, the "
                  "smallest is ",
                  order.empty() ? 0.0 : at[order[0]]);
  auto const length = detail::length_of_rows(rows);
  auto const finest = options.unit_roundoff.value_or(detail::unit_roundoff_of(Real()));
  auto const bases = detail::bases_of(options);
  identification found;
  for (auto const u : {finest, std::max(finest, 0x1p-24)}) {
    std::vector<double> numbers, tolerances;
    double sum = 0;
    for (std::size_t pair = 0; pair < rows.pairs(); ++pair) {
      auto const [inv_freq, tolerance] = detail::frequency_of_rows(rows, at, order, pair, u);
      auto const x = std::abs(inv_freq);
      numbers.push_back(x), sum += inv_freq;
      tolerances.push_back(
          x == 0 ? 0 : tolerance + x * detail::error_of_power(x, std::min(u, 0x1p-24)));
    }
    found = {.negated = sum < 0,
             .unit_roundoff = u,
             .attention_factor = length,
             .explanations = detail::explain(detail::frequency_table(numbers, tolerances, bases))};
    if (detail::is_explained(found.explanations)) break;
  }
  return found;
}

}  // namespace posenc
