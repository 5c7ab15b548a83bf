// How engines come from a position to the cosine and sine of each pair, and what that loses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace angles {

struct setting {
  std::size_t head_dim = 128;
  double base = 500'000;  // Llama 3
};

// Cosines and sines at one position, by pair. Floats, as all engines rotate with, or their values
// in bfloat16.
struct row {
  std::vector<float> cos, sin;
};

struct engine {
  std::string_view name, says;
  row (*at)(setting const&, std::int64_t position);
};

// From the most exact to the least.
std::vector<engine> const& engines();

struct errors {
  double angle = 0;   // the largest |cos - exact| or |sin - exact|, of any pair: in radians
  double score = 0;   // what the score of random heads is off by, root mean square, in its spread
  double weight = 0;  // what the ratio of two attention weights is off by at worst: 1 is 100 %
};

// The worst of the positions from `first` to `last`, of a query there and a key at position 0. Of
// Gaussian numbers, with errors of cosines and sines
//
//     spread of the change / spread of the score = sqrt(mean over pairs of dcos^2 + dsin^2)
//
// Weights are e^score, of scores in [-10, 10] before the error. At worst all of q and k is in the
// pair that is the furthest off: e^(2 * 10 * max over pairs of |(dcos, dsin)|) - 1
errors errors_between(engine const& e, setting const& s, std::int64_t first, std::int64_t last);

}  // namespace angles
