// An encoding of embeddings inside attention, as if nothing projected them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/encoding/detail/encoding_check.hpp"
#include "posenc/encoding/sites.hpp"

namespace posenc { inline namespace POSENC_TARGET {

namespace detail {

/// Adds p_t to queries and keys.
template <class Inner>
struct prepared_unprojected {
  std::shared_ptr<Inner const> inner;
  std::vector<std::int64_t> positions;

  template <class T>
  void encode_queries(heads_view<T> const& q, std::size_t first_token = 0) const {
    require(first_token <= positions.size() && q.tokens() <= positions.size() - first_token,
            "prepare: every token must have a prepared position, got ", positions.size(),
            " positions for ", q.tokens(), " tokens from ", first_token, " on");
    inner->embed(q, positions_view(positions).subspan(first_token, q.tokens()));
  }
  void encode_keys(auto const& k, std::size_t first = 0) const { encode_queries(k, first); }
  /// The added embedding is a constant, so gradients pass.
  void backward_queries(auto const&, std::size_t = 0) const {}
  void backward_keys(auto const&, std::size_t = 0) const {}
};

struct acting_on_embeddings {
  void embed(auto const&, positions_view) const {}
};

}  // namespace detail

/// Site 2: q_t -> q_t + p_t, k_s -> k_s + p_s, which is what an encoding of embeddings (site 1)
/// does where W_q = W_k = I. To study it in attention; in a scheme, before what rotates.
///
///     attention(x, x, x, scheme{unprojected(sinusoidal<interleaved>(geometric(64, 1e4))), ...})
template <class Inner>
class unprojected {
  static_assert(detail::encoding_check<Inner>::passed);
  static_assert(acts_on_embeddings<Inner> ? detail::sites_of<Inner> == 1 : detail::has_embed<Inner>,
                "posenc: what is unprojected must act on embeddings (site 1), and nowhere else");

 public:
  /// inner: of site 1; copies share it.
  explicit unprojected(Inner inner) : inner_(std::make_shared<Inner const>(std::move(inner))) {}

  /// The encoding of embeddings.
  Inner const& inner() const noexcept { return *inner_; }

  /// Encoding throws as the inner one does.
  template <std::floating_point T = float>
  detail::prepared_unprojected<Inner> prepare(positions_view positions) const {
    return {inner_, {positions.begin(), positions.end()}};
  }

 private:
  std::shared_ptr<Inner const> inner_;  // shared with what is prepared
};

static_assert(acts_on_queries_and_keys<unprojected<detail::acting_on_embeddings>> &&
              pulls_back_queries_and_keys<unprojected<detail::acting_on_embeddings>>);

}}  // namespace posenc
