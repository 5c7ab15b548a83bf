// posenc: attention must not embed (site 1): embed before W_q and W_k, or let unprojected(encoding)
#include "posenc/attention/attention.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/score/alibi.hpp"

void use() {
  float x[2] = {};
  posenc::heads_view const view(x, {1, 1, 2});
  posenc::attention(view, view, view,
                    posenc::scheme{posenc::sinusoidal<posenc::halves>(posenc::geometric(2, 10)),
                                   posenc::alibi(1)});
}
