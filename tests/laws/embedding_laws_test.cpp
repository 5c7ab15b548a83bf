#include "laws/embedding_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/truncated.hpp"

namespace {

using namespace posenc;

/// Every encoding of embeddings, in some configurations: one line each.
template <class Law>
void for_every_encoding(Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding, std::size_t dim) {
    SCOPED_TRACE(name);
    law(encoding, dim);
  };
  obey("sinusoidal, interleaved", sinusoidal<interleaved>(geometric(64, 1e4)), 64);
  obey("sinusoidal, concatenated", sinusoidal<halves>(geometric(10, 1e4)), 10);
  obey("sinusoidal, both ends included", sinusoidal<halves>(geometric_inclusive(512, 1e4)), 512);
  obey("sinusoidal, a single pair", sinusoidal<interleaved>(geometric_inclusive(2, 1e4)), 2);
  obey("sinusoidal, starting at 2", sinusoidal<interleaved>(geometric(32, 1e4), 2), 32);
  obey("sinusoidal, some pairs still", sinusoidal<halves>(truncated(geometric(32, 1e4), 0.5)), 32);
  obey("sinusoidal, interpolated", sinusoidal<interleaved>(linear(geometric(32, 1e4), 4)), 32);
  obey("several", scheme(sinusoidal<interleaved>(geometric(16, 1e4))), 16);
  obey("nope", nope(), 16);
}

TEST(embedding_laws, inner_products_depend_on_distance_alone) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) { laws::inner_products_depend_on_distance_alone(e, dim); });
}

TEST(embedding_laws, each_token_gets_what_its_position_says_in_any_order) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) { laws::each_token_gets_what_its_position_says(e, dim); });
}

TEST(embedding_laws, the_same_is_added_to_what_is_there_in_every_head) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) { laws::adds_to_what_is_there(e, dim); });
}

TEST(embedding_laws, an_empty_view_stays_empty) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) { laws::an_empty_view_stays_empty(e, dim); });
}

}  // namespace
