// The task: of which class is the item of the largest priority?
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "layers.hpp"

namespace retrieval {

inline constexpr Eigen::Index classes = 10;

/// Random numbers that are the same everywhere: what the distributions of the standard library make
/// of the bits is not.
class random_numbers {
 public:
  random_numbers(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq both{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                       static_cast<std::uint32_t>(stream)};
    bits_.seed(both);
  }
  /// In [0, 1), a multiple of 2^-24.
  float unit() { return static_cast<float>(bits_() >> 40) * 0x1p-24f; }
  std::size_t below(std::size_t bound) { return bits_() % bound; }

 private:
  std::mt19937_64 bits_;
};

/// Sets that all have as many items: item i of set s is row i * sets + s, so that sets are heads of
/// keys, [items][sets][...].
template <class T>
struct item_sets {
  std::size_t sets = 0, size = 0;
  matrix<T> items;    ///< [size * sets][1 + classes]: the priority, and 1 for the class
  matrix<T> queries;  ///< [sets][1]: a random number, which tells nothing
  std::vector<Eigen::Index> answers;  ///< [sets]: the class of the largest priority
};

/// Priorities and queries ~ U(0, 1), classes as likely as one another.
template <class T>
item_sets<T> draw(random_numbers& random, std::size_t sets, std::size_t size) {
  auto const rows = static_cast<Eigen::Index>(sets * size);
  item_sets<T> drawn{sets,
                     size,
                     matrix<T>::Zero(rows, 1 + classes),
                     matrix<T>(static_cast<Eigen::Index>(sets), 1),
                     {}};
  for (std::size_t s = 0; s < sets; ++s) {
    drawn.queries(static_cast<Eigen::Index>(s), 0) = static_cast<T>(random.unit());
    T largest = -1;
    Eigen::Index answer = 0;
    for (std::size_t i = 0; i < size; ++i) {
      auto const row = static_cast<Eigen::Index>(i * sets + s);
      auto const priority = static_cast<T>(random.unit());
      auto const of = static_cast<Eigen::Index>(random.below(classes));
      drawn.items(row, 0) = priority;
      drawn.items(row, 1 + of) = 1;
      if (priority > largest) largest = priority, answer = of;
    }
    drawn.answers.push_back(answer);
  }
  return drawn;
}

}  // namespace retrieval
