#include "laws/softmax_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"
#include "posenc/softmax/attention_sinks.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/log_n.hpp"
#include "posenc/softmax/position_temperature.hpp"
#include "posenc/softmax/ssmax.hpp"
#include "posenc/softmax/yarn_temperature.hpp"

namespace {

using namespace posenc;

template <class Law>
auto obeying(Law const& law) {
  return [&law]<class E>(char const* name, E const& encoding) {
    SCOPED_TRACE(name);
    law(encoding);
  };
}

/// Every temperature rule that never raises the entropy: one line each.
template <class Law>
void for_every_sharpening_encoding(Law const& law) {
  auto const obey = obeying(law);
  obey("adaptive temperature", adaptive_temperature{});
  obey("adaptive temperature, held", adaptive_temperature{adaptive_temperature::held_at_maximum});
  obey("constant temperature", constant_temperature(2.5));
  obey("YaRN's temperature", yarn_temperature(32));
  obey("log n, trained with 3 tokens", log_n(3));
  obey("log n, trained with 1024 tokens", log_n(1024));
  obey("log n by position", log_n_by_position(1024));
  obey("Llama 4", llama4_temperature());
  obey("a temperature by position",
       position_temperature{.scale = 0.2, .floor_scale = 3, .offset = 10});
  obey("Mistral", mistral_temperature(0.1, 16'384));
  obey("several", scheme(alibi(2), adaptive_temperature{}, log_n(100)));
  obey("twice", scheme(adaptive_temperature{}, nope(), scheme(adaptive_temperature{})));
}

/// And the rules that may raise it.
template <class Law>
void for_every_encoding(Law const& law) {
  for_every_sharpening_encoding(law);
  auto const obey = obeying(law);
  obey("constant temperature, flattening", constant_temperature(0.125));
  obey("SSMax", ssmax({0.43}));
  obey("SSMax with a bias", ssmax({0.43}, {-0.25}));
  obey("SSMax without scale", ssmax_without_scale{});
}

TEST(softmax_laws, inverse_temperature_is_positive_and_finite) {
  for_every_encoding(
      []<class E>(E const& e) { laws::inverse_temperature_is_positive_and_finite(e); });
}

TEST(softmax_laws, order_is_kept) {
  for_every_encoding([]<class E>(E const& e) { laws::order_is_kept(e); });
}

TEST(softmax_laws, weights_sum_to_one) {
  for_every_encoding([]<class E>(E const& e) { laws::weights_sum_to_one(e); });
}

TEST(softmax_laws, entropy_is_never_raised) {
  for_every_sharpening_encoding([]<class E>(E const& e) { laws::entropy_is_never_raised(e); });
}

/// Every encoding that adds a sink, with its number of heads.
TEST(softmax_laws, sinks_take_their_share) {
  auto const obey = [](char const* name, auto const& encoding, std::size_t heads = 1) {
    SCOPED_TRACE(name);
    for (std::size_t head = 0; head < heads; ++head) laws::sinks_take_their_share(encoding, head);
  };
  obey("sinks", attention_sinks({-1000, -5, 0, 0.7, 4, 1000}), 6);
  obey("softmax off by one", softmax_off_by_one{});
  obey("several", scheme(attention_sinks({1, -2}), softmax_off_by_one{}, alibi(2)), 2);
}

}  // namespace
