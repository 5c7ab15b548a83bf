// The processes that compute together, called ranks, by MPI's C interface. All that knows MPI is
// here.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

namespace ring {

/// What one rank could not do, thrown on every rank; all but one have nothing to say.
struct failed_together : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Numbers on their way around the ring. Neither side may be changed, nor what arrives be read,
/// before wait().
class transfer {
 public:
  transfer() = default;
  void wait();

 private:
  friend class ranks;
  std::vector<MPI_Request> under_way_;
};

class ranks {
 public:
  ranks(int* argc, char*** argv);
  ranks(ranks const&) = delete;
  ranks& operator=(ranks const&) = delete;
  ~ranks();

  std::size_t rank() const noexcept { return rank_; }
  std::size_t count() const noexcept { return count_; }

  /// Does `act` on every rank. Throws failed_together on all of them if it throws a std::exception
  /// on one, so that none waits for another.
  void together(std::function<void()> const& act) const;

  /// Begins to send numbers to the next rank, and to receive others from the one before.
  transfer pass_on(std::span<float const> to_next, std::span<float> from_previous) const;

  /// On rank 0 the numbers of all, one rank's after another's; on others nothing.
  std::vector<float> gather(std::span<float const> mine) const;
  std::vector<double> gather(std::span<double const> mine) const;

  /// Until all have come here.
  void meet() const;

  [[noreturn]] void abort() const;

 private:
  std::size_t rank_ = 0, count_ = 1;
};

}  // namespace ring
