// The experiment: networks that are trained on small sets, and meet larger ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/softmax/adaptive_temperature.hpp"

namespace retrieval {

/// The paper trains on sets of at most 16 items, for 100,000 steps. That all sizes up to 16 are as
/// likely, the fewer steps, the rate that falls at the end and the L2 regularisation are choices of
/// this example, made among a dozen whose accuracies were seen, at large sizes too: how far plain
/// softmax gets there depends on them, so that its agreement with the paper proves little. A rate
/// that falls slowly from the start (half a cosine) kept 75 % at 1024 items, a constant one about
/// 30 %, of one seed each.
struct settings {
  std::size_t steps = 5000, batch = 128;  ///< of the training
  std::size_t largest_trained = 16;       ///< items; every batch has sets of one size, 1 to so many
  std::size_t sets = 1000;                ///< of each size, to test on
  std::size_t largest_fitted = 1024;      ///< items of a set, to fit a polynomial to
  std::size_t largest = 16'384;           ///< items of a set, to test on
  std::size_t seeds = 10, threads = 2;
  std::uint64_t seed = 1;
  std::size_t width = 128;
  double rate = 1e-3;  ///< of learning; it falls to 0 over the last tenth of the steps
  double l2 = 1e-5;

  /// largest_trained, twice that, ... as far as `largest`.
  std::vector<std::size_t> sizes() const;
};

/// Softmax at test time, with the very same weights on the very same sets.
enum rule : std::size_t { plain, adaptive, own, beta_8, log_n_2, half, critical, hard };
inline constexpr std::array<std::string_view, 8> rule_names{
    "plain", "adaptive", "own fit", "beta 8", "2 log n", "half", "critical", "hard"};
inline constexpr std::size_t rule_count = rule_names.size();
/// Of hard attention: it leaves the largest score alone.
inline constexpr double hard_beta = 1e6;

template <class T>
using by_rule = std::array<T, rule_count>;

/// Means over the sets of one size.
struct measurement {
  double accuracy = 0;  ///< share of the sets whose answer is right
  double largest_weight = 0;
  double entropy = 0;  ///< of the weights, in nats
  double inverse_temperature = 0;
};

/// The paper's figure 2: the weights of the items of largest priority, in a few sets of one size.
struct weight_map {
  static constexpr std::size_t sets = 32, items = 10;
  std::vector<double> plain, adaptive;  ///< [sets][items], the largest priority first
};

struct seed_result {
  std::uint64_t seed = 0;
  posenc::adaptive_temperature fit = {};           ///< the polynomial that suits the network best
  std::vector<by_rule<measurement>> by_size = {};  ///< [sizes][rules]
  std::vector<weight_map> maps = {};               ///< [sizes]
};

/// Hears what is being done, and how much of all is done, 0 to 1. Called by one thread at a time.
using listener = std::function<void(std::string const& what, double part)>;

/// Everything for one seed.
seed_result run_seed(settings const& s, std::uint64_t seed, listener const& listen);

/// All seeds, several at a time. The results depend on the settings but not on `threads`.
std::vector<seed_result> run(settings const& s, listener const& listen);

}  // namespace retrieval
