// posenc: this type acts nowhere: an encoding must have embed (site 1), prepare (2), bias or
// adjust_scores (3), inverse_temperature or sink (4)
#include "posenc/core/scheme.hpp"

template <class Inner>
struct around {
  static constexpr bool wraps_encodings = true;
  void adjust_scores(auto const& row) const requires(posenc::acts_on_scores<Inner>) {
    Inner().adjust_scores(row);
  }
};

void use() { posenc::scheme{around<posenc::nope>{}}; }
