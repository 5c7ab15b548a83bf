// compiles
#include "posenc/analysis/distance_profile.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/bias_matrix.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

// Every function, in words of their own.
struct right {
  static constexpr bool is_bias = false;
  struct prepared {
    void encode_queries(auto const&, std::size_t const&) const {}
    static void encode_keys(auto, std::size_t) {}
    bool backward_queries(auto const&, std::size_t) const noexcept { return true; }
    void backward_keys(auto const&, std::size_t) const {}
  };
  template <std::floating_point>
  static prepared prepare(posenc::positions_view const&) {
    return {};
  }
  void adjust_scores(posenc::score_row<float>) const {}
  void adjust_scores(posenc::score_row<double> const&) const {}
  float inverse_temperature(posenc::row_statistics) const { return 1; }
  int sink(std::size_t) const { return 0; }
  std::size_t heads() const { return 1; }
  template <class T>
  void backward_scores(posenc::score_row<T const> const&, std::span<T>, std::span<T>) const {}
};

struct right_embedding {
  template <class T>
  bool embed(posenc::heads_view<T>, posenc::positions_view) const noexcept {
    return true;
  }
};

void use(auto const& encoding) {
  float x = 1;
  posenc::heads_view const view(&x, {1, 1, 1});
  posenc::attention_backward(view, view, view, encoding,
                             posenc::attention(view, view, view, encoding), view);
  posenc::profile_distances(encoding, {});
}

struct turns {
  struct prepared {
    void encode_queries(auto const&, std::size_t) const {}
    void encode_keys(auto const&, std::size_t) const {}
  };
  template <class>
  prepared prepare(posenc::positions_view) const {
    return {};
  }
};

void use_all() {
  posenc::rope<posenc::halves> const rope(posenc::geometric(2, 10));
  use(right{});
  use(posenc::nope{});
  use(posenc::scheme{posenc::unprojected(right_embedding{})});
  auto const same = [](std::int64_t t) { return t; };
  posenc::scheme{posenc::remapped(turns{}, same, same),
                 posenc::bias_table(posenc::alibi(1), 1, 10)};
  std::vector<float> memory, row(3);
  posenc::softmax(std::span(row), right{}, memory);
  posenc::softmax(std::span(row), posenc::nope{}, memory);
  use(posenc::scheme{right{}, posenc::scheme{posenc::nope{}, rope}, posenc::alibi(1),
                     posenc::soft_cap(1), posenc::adaptive_temperature{}});
}
