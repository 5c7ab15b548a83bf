// compiles
#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"

// What it returns is known only once its body is compiled.
struct deduced final {
  auto adjust_scores(auto row) const {
    for (auto& score : row.scores) score += 1;
  }
};

// Classes that have the name of a function.
struct sink {
  void adjust_scores(auto const&) const {}
};
template <class>
struct heads {
  void embed(auto const&, posenc::positions_view) const {}
};
struct derived : sink, heads<int> {};

struct scheme_of_its_own : posenc::scheme<posenc::alibi> {
  scheme_of_its_own() : scheme(posenc::alibi(1)) {}
  double inverse_temperature(posenc::row_statistics const&) const { return 2; }
};
struct named : posenc::nope {
  named() : scheme() {}
};

void use(posenc::alibi const& alibi, posenc::nope const& nope) {
  posenc::scheme{deduced{}, sink{}, heads<int>{}, derived{}, scheme_of_its_own{}, named{}};
  posenc::scheme{posenc::scheme<posenc::alibi const&, posenc::nope const&>{alibi, nope}};
  posenc::scheme{posenc::scheme<posenc::nope const&>{nope}};
  posenc::scheme{posenc::bias_table<posenc::alibi const&>(alibi, 1, 10)};
}
