#include "encodings.hpp"

#include <algorithm>

#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/softmax/constant_temperature.hpp"
#include "posenc/softmax/log_n.hpp"

namespace ring {
namespace {

template <class Encoding>
attention_function attention_with(Encoding const& encoding) {
  return [encoding](auto const& q, auto const& k, auto const& v,
                    posenc::attention_options const& options) {
    return posenc::attention(q, k, v, encoding, options);
  };
}

template <class Rule>
temperature temperature_of(Rule const& rule) {
  return {[rule](posenc::row_statistics const& row) { return rule.inverse_temperature(row); }};
}

}  // namespace

temperature chosen_temperature(std::string const& name, std::size_t tokens) {
  if (name == "constant") return temperature_of(posenc::constant_temperature(1.25));
  if (name == "position")
    return temperature_of(
        posenc::llama4_temperature(0.1, std::max(1.0, static_cast<double>(tokens) / 8)));
  return temperature_of(posenc::constant_temperature(1));
}

attention_function chosen_attention(std::string const& encoding, temperature const& t,
                                    sequence const& s) {
  using namespace posenc;
  if (encoding == "rope")
    return attention_with(scheme(rope<halves>(geometric(s.head_dim, 1e4)), t));
  if (encoding == "alibi") return attention_with(scheme(alibi(s.heads), t));
  return attention_with(scheme(t));
}

}  // namespace ring
