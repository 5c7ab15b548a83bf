#pragma once

/// An encoding of every site of attention that changes nothing and counts how often it is copied or
/// moved.

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "posenc/encoding/scheme.hpp"
#include "posenc/encoding/sites.hpp"

struct counts_copies {
  explicit counts_copies(std::size_t& count) : copies(&count) {}
  counts_copies(counts_copies const& other) : copies(other.copies) { ++*copies; }
  counts_copies(counts_copies&& other) noexcept : copies(other.copies) { ++*copies; }
  counts_copies& operator=(counts_copies const&) = delete;
  ~counts_copies() = default;

  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
    void backward_queries(auto const&, std::size_t) const {}
    void backward_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
  void adjust_scores(auto const&) const {}
  double inverse_temperature(posenc::row_statistics const&) const { return 1; }
  double sink(std::size_t) const { return 0; }
  void backward_scores(auto const&, auto const&, auto const&) const {}

  std::size_t* copies;
};

/// `call` takes an encoding, which it must not copy, alone nor in schemes.
void expect_no_copy(auto const& call) {
  std::size_t copies = 0;
  counts_copies const alone(copies);
  call(alone);
  EXPECT_EQ(copies, 0u) << "alone";
  posenc::scheme const several{posenc::scheme{counts_copies(copies), posenc::nope()},
                               counts_copies(copies)};
  EXPECT_GT(std::exchange(copies, 0), 0u) << "a scheme holds those in it";
  call(several);
  EXPECT_EQ(copies, 0u) << "in schemes";
}
