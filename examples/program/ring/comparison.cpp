#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "posenc/core/require.hpp"

namespace ring {
namespace {

constexpr double unit = 0x1p-24;

double longest(std::span<float const> numbers, std::size_t dims) {
  double most = 0;
  for (std::size_t at = 0; at < numbers.size(); at += dims) {
    double squares = 0;
    for (auto const x : numbers.subspan(at, dims))
      squares += static_cast<double>(x) * static_cast<double>(x);
    most = std::max(most, std::sqrt(squares));
  }
  return most;
}

// As far as can be where one of the two is no number.
double apart(double a, double b) {
  return posenc::is_finite(a) && posenc::is_finite(b) ? std::abs(a - b)
                                                      : std::numeric_limits<double>::max();
}

}  // namespace

rounding::rounding(sequence const& s, shard const& whole, temperature const& t, std::size_t parts)
    : temperature_(t), dims_(static_cast<double>(s.head_dim)), parts_(static_cast<double>(parts)) {
  auto const numbers = std::span(whole.key_values);
  auto const keys = numbers.first(numbers.size() / 2), values = numbers.last(numbers.size() / 2);
  largest_score_ =
      longest(whole.queries, s.head_dim) * longest(keys, s.head_dim) / std::sqrt(dims_);
  for (auto const v : values)
    largest_value_ = std::max(largest_value_, static_cast<double>(std::abs(v)));
}

double rounding::of_log_sum_exp(std::int64_t query_position) const {
  auto const n = static_cast<double>(query_position + 1), beta = temperature_.at(query_position);
  return 2 * (unit * (beta * (dims_ + 3) * largest_score_ + 5 * std::log(n) + 20) + n * 0x1p-53);
}

double rounding::of_outputs(std::int64_t query_position) const {
  auto const n = static_cast<double>(query_position + 1);
  return largest_value_ * (2 * of_log_sum_exp(query_position) + (2 * (n + 4) + parts_) * unit);
}

difference compare(posenc::attention_result<float> const& gathered,
                   std::span<std::int64_t const> positions,
                   posenc::attention_result<float> const& whole, rounding const& allowed) {
  difference result;
  auto const heads = whole.log_sum_exp.size() / positions.size(),
             dims = whole.outputs.size() / whole.log_sum_exp.size();
  for (std::size_t token = 0; token < positions.size(); ++token) {
    auto const position = positions[token];
    for (std::size_t head = 0; head < heads; ++head) {
      auto const here = token * heads + head,
                 there = static_cast<std::size_t>(position) * heads + head;
      auto const of_sum = apart(gathered.log_sum_exp[here], whole.log_sum_exp[there]);
      double of_output = 0;
      for (std::size_t i = 0; i < dims; ++i) {
        auto const a = static_cast<double>(gathered.outputs[here * dims + i]),
                   b = static_cast<double>(whole.outputs[there * dims + i]);
        of_output = std::max(of_output, apart(a, b));
      }
      result.log_sum_exp = std::max(result.log_sum_exp, of_sum);
      result.outputs = std::max(result.outputs, of_output);
      result.part_of_log_sum_exp =
          std::max(result.part_of_log_sum_exp, of_sum / allowed.of_log_sum_exp(position));
      result.part_of_outputs =
          std::max(result.part_of_outputs, of_output / allowed.of_outputs(position));
    }
  }
  return result;
}

}  // namespace ring
