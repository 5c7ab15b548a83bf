#include "laws/softmax_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace {

using namespace posenc;

/// Every rule for the temperature that never raises the entropy: one line each. (A rule that may raise it gets a list of its own.)
template <class Law>
void for_every_encoding(Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding) {
    SCOPED_TRACE(name);
    law(encoding);
  };
  obey("adaptive temperature", adaptive_temperature{});
  obey("several", scheme(alibi(2), adaptive_temperature{}));
  obey("twice", scheme(adaptive_temperature{}, scheme(adaptive_temperature{})));
  obey("nope", nope());
}

TEST(softmax_laws, inverse_temperature_is_positive_and_finite) {
  for_every_encoding([]<class E>(E const& e) { laws::inverse_temperature_is_positive_and_finite(e); });
}

TEST(softmax_laws, order_is_kept) {
  for_every_encoding([]<class E>(E const& e) { laws::order_is_kept(e); });
}

TEST(softmax_laws, weights_sum_to_one) {
  for_every_encoding([]<class E>(E const& e) { laws::weights_sum_to_one(e); });
}

TEST(softmax_laws, entropy_is_never_raised) {
  for_every_encoding([]<class E>(E const& e) { laws::entropy_is_never_raised(e); });
}

}  // namespace
