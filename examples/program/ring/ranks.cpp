#include "ranks.hpp"

#include <cstdlib>
#include <numeric>
#include <string>

namespace ring {
namespace {

// Counts of messages are int in MPI; main.cpp lets none be larger.
int count_of(auto const& numbers) { return static_cast<int>(numbers.size()); }

template <class T>
std::vector<T> gathered(std::span<T const> mine, MPI_Datatype type, std::size_t rank,
                        std::size_t ranks) {
  auto const count = count_of(mine);
  std::vector<int> counts(ranks), starts(ranks);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::vector<T> all(rank == 0 ? static_cast<std::size_t>(starts.back() + counts.back()) : 0);
  MPI_Gatherv(mine.data(), count, type, all.data(), counts.data(), starts.data(), type, 0,
              MPI_COMM_WORLD);
  return all;
}

}  // namespace

ranks::ranks(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  int rank = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  rank_ = static_cast<std::size_t>(rank), count_ = static_cast<std::size_t>(count);
}

ranks::~ranks() { MPI_Finalize(); }

void ranks::together(std::function<void()> const& act) const {
  auto const none = static_cast<int>(count_);
  int failed = none, first = none;
  std::string message;
  try {
    act();
  } catch (std::exception const& error) {
    failed = static_cast<int>(rank_), message = error.what();
  }
  MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first < none) throw failed_together(failed == first ? message : "");
}

transfer ranks::pass_on(std::span<float const> to_next, std::span<float> from_previous) const {
  auto const next = static_cast<int>((rank_ + 1) % count_),
             previous = static_cast<int>((rank_ + count_ - 1) % count_);
  transfer result;
  result.under_way_.resize(2);
  MPI_Irecv(from_previous.data(), count_of(from_previous), MPI_FLOAT, previous, 0, MPI_COMM_WORLD,
            &result.under_way_[0]);
  MPI_Isend(to_next.data(), count_of(to_next), MPI_FLOAT, next, 0, MPI_COMM_WORLD,
            &result.under_way_[1]);
  return result;
}

void transfer::wait() { MPI_Waitall(count_of(under_way_), under_way_.data(), MPI_STATUSES_IGNORE); }

std::vector<float> ranks::gather(std::span<float const> mine) const {
  return gathered(mine, MPI_FLOAT, rank_, count_);
}
std::vector<double> ranks::gather(std::span<double const> mine) const {
  return gathered(mine, MPI_DOUBLE, rank_, count_);
}

void ranks::meet() const { MPI_Barrier(MPI_COMM_WORLD); }

void ranks::abort() const {
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();  // which MPI_Abort does not promise
}

}  // namespace ring
