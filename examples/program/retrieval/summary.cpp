#include "summary.hpp"

#include <algorithm>

namespace retrieval {
namespace {

struct published_row {
  std::size_t size;
  double plain, adaptive;
};

constexpr published_row paper[] = {{16, 98.6, 98.6},   {32, 97.1, 97.1},    {64, 94.3, 94.5},
                                   {128, 89.7, 89.9},  {256, 81.3, 82.1},   {512, 70.1, 72.5},
                                   {1024, 53.8, 57.7}, {2048, 35.7, 39.4},  {4096, 22.6, 24.9},
                                   {8192, 15.7, 17.5}, {16'384, 12.4, 14.0}};

std::vector<double> by_seed(std::vector<seed_result> const& results, std::size_t size, rule which,
                            double measurement::*what, double unit) {
  std::vector<double> values;
  for (auto const& result : results) values.push_back(unit * (result.by_size[size][which].*what));
  return values;
}

}  // namespace

std::optional<double> published(rule which, std::size_t size) {
  auto const* const row = std::ranges::find(paper, size, &published_row::size);
  if (row == std::end(paper) || (which != plain && which != adaptive)) return std::nullopt;
  return which == plain ? row->plain : row->adaptive;
}

std::vector<size_summary> summarise(std::vector<std::size_t> const& sizes,
                                    std::vector<seed_result> const& results) {
  std::vector<size_summary> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    size_summary s;
    s.size = sizes[i];
    auto const accuracy = [&](std::size_t size, rule which) {
      return by_seed(results, size, which, &measurement::accuracy, 100);
    };
    for (std::size_t r = 0; r < rule_count; ++r) {
      auto const which = static_cast<rule>(r);
      s.accuracy[which] = interval_of(accuracy(i, which));
      s.of_hard[which] = interval_of_difference(accuracy(i, hard), accuracy(i, which));
      s.paper[which] = published(which, sizes[i]);
      for (auto const what : {&measurement::accuracy, &measurement::largest_weight,
                              &measurement::entropy, &measurement::inverse_temperature})
        s.mean[which].*what = interval_of(by_seed(results, i, which, what, 1)).mean;
    }
    all.push_back(s);
  }
  return all;
}

}  // namespace retrieval
