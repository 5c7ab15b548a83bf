// The steps from nothing to RoPE: what each is, what is measured of it, and a picture.
#pragma once

#include <string>
#include <vector>

#include "reporting/chart.hpp"

namespace principles {

struct step {
  std::string title;
  std::vector<charts::chart> charts;  ///< one or two
  std::vector<std::string> says;      ///< sentences with numbers
};

/// No position, integers, codes, sinusoids, what a shift of them is, how to join them with words.
std::vector<step> positions_to_add();
/// Rotation, several frequencies, pairs and not triplets, position beside content, two axes.
std::vector<step> positions_to_rotate_by();
/// What RoPE does to attention at long distances, and what would do better.
std::vector<step> left_open();

}  // namespace principles
