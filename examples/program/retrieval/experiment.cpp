#include "experiment.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "adam.hpp"
#include "evaluation.hpp"
#include "passes.hpp"

namespace retrieval {
namespace {

network<float> train(settings const& s, random_numbers& random, listener const& listen) {
  auto const width = static_cast<Eigen::Index>(s.width);
  auto weights = random_network<float>(width, random), gradient = blank_network<float>(width);
  adam<float> optimiser(width);
  double recent = 0;
  for (std::size_t step = 0; step < s.steps; ++step) {
    auto const batch = draw<float>(random, s.batch, 1 + random.below(s.largest_trained));
    for_each_tensor([](matrix<float>& tensor) { tensor.setZero(); }, gradient);
    auto const loss = add_gradients(weights, batch, gradient);
    auto const left = static_cast<double>(s.steps - step) / static_cast<double>(s.steps);
    optimiser.step(weights, gradient, s.rate * std::min(1.0, 10 * left), s.l2);

    recent += 0.01 * (loss - recent);
    if (step % 50 == 49)
      listen("step " + std::to_string(step + 1) + ", loss " + std::to_string(recent).substr(0, 6),
             1 - left);
  }
  return weights;
}

}  // namespace

seed_result run_seed(settings const& s, std::uint64_t seed, listener const& listen) {
  seed_result result{.seed = seed};
  random_numbers to_train(seed, 0), to_test(seed, 1), to_fit(seed, 2);
  constexpr double training = 0.5;  // of the time, about
  auto const weights = train(
      s, to_train, [&](std::string const& what, double part) { listen(what, training * part); });
  double tested = 0;
  auto const sizes = s.sizes();
  auto fitted = sizes;
  std::erase_if(fitted, [&](std::size_t size) { return size > s.largest_fitted; });
  result.fit = fit_to(weights, to_fit, std::max<std::size_t>(s.sets / 10, 1), fitted);
  for (auto const size : sizes) {
    auto [measured, map] = evaluate(weights, result.fit, to_test, s.sets, size);
    result.by_size.push_back(measured);
    result.maps.push_back(std::move(map));
    tested += static_cast<double>(size);
    listen("sets of " + std::to_string(size),
           training + (1 - training) * tested / static_cast<double>(2 * sizes.back()));
  }
  return result;
}

std::vector<seed_result> run(settings const& s, listener const& listen) {
  std::vector<seed_result> results(s.seeds);
  std::vector<double> parts(s.seeds);
  std::atomic<std::size_t> next = 0;
  std::mutex one_at_a_time;
  std::exception_ptr failure;
  auto const work = [&] {
    try {
      for (std::size_t i; (i = next++) < s.seeds;) {
        results[i] = run_seed(s, s.seed + i, [&](std::string const& what, double part) {
          std::lock_guard const lock(one_at_a_time);
          parts[i] = part;
          double all = 0;
          for (auto const p : parts) all += p / static_cast<double>(s.seeds);
          listen("seed " + std::to_string(s.seed + i) + ", " + what, all);
        });
      }
    } catch (...) {
      std::lock_guard const lock(one_at_a_time);
      failure = std::current_exception();
      next = s.seeds;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < std::min(s.threads, s.seeds); ++thread)
      others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

std::vector<std::size_t> settings::sizes() const {
  std::vector<std::size_t> all;
  for (auto size = largest_trained; size <= largest; size *= 2) all.push_back(size);
  return all;
}

}  // namespace retrieval
