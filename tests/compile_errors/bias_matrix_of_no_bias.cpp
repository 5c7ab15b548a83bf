// posenc: the encoding of a bias matrix must add biases: it must have bias (site 3), or is_bias
// beside adjust_scores
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/soft_cap.hpp"

void use() { posenc::bias_matrix(posenc::soft_cap(5), 1, {0}, {0}); }
