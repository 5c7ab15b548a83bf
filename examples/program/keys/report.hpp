// Errors of keys in few bits, shown.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "errors.hpp"
#include "kinds.hpp"

namespace keys {

/// A kind of keys in each format, each way.
struct measured_kind {
  std::string name, title;
  double logit;  ///< rms of its logits

  struct row {
    std::string format;
    std::size_t bytes;        ///< of a head
    std::vector<errors> off;  ///< of each of `ways`
  };
  std::vector<row> rows = {};
};

/// Two digits that count: 0.0054, 1.7.
std::string two_digits(double x);

void print(std::ostream& out, std::vector<measured_kind> const& all);
void write_csv(std::ostream& out, std::vector<measured_kind> const& all);
std::string to_svg(std::vector<measured_kind> const& all, std::string const& says);

}  // namespace keys
