#include "laws/query_key_laws.hpp"

#include <numeric>

#include "posenc/core/scheme.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/llama3.hpp"
#include "posenc/frequency/resonance.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/query_key/distance_remapping.hpp"
#include "posenc/query_key/m_rope.hpp"
#include "posenc/query_key/remapped.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/query_key/xpos.hpp"
#include "posenc/softmax/adaptive_temperature.hpp"

namespace {

using namespace posenc;

/// What an encoding promises beyond the laws of all.
enum promise : unsigned {
  of_distance = 1,       ///< inner products depend on query - key, not on the positions themselves
  identity_at_zero = 2,  ///< position 0 changes nothing but by the attention factor
  norm_kept = 4,         ///< up to the attention factor
};
constexpr unsigned rotation_by_position = of_distance | identity_at_zero | norm_kept;

/// A multimodal prompt: a word, an image of 2 x 2 patches, a word; 3 axes, of 8, 4 and 4 pairs.
m_rope<halves> m_rope_of_a_prompt() {
  axis_positions<std::int64_t> const prompt(std::vector<std::vector<std::int64_t>>{
      {0, 1, 1, 1, 1, 3}, {0, 1, 1, 2, 2, 3}, {0, 1, 2, 1, 2, 3}});
  return {geometric(32, 1e6), contiguous_axes(std::vector<std::size_t>{8, 4, 4}), prompt, -2};
}

/// Every encoding of queries and keys, in some configurations: one line each, with head_dim; the
/// attention factor; and, unless it is a plain rope, what it promises and at which positions. A law
/// is tested with the encodings that promise all that it needs.
template <class Law>
void for_every_encoding(unsigned promised, Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding, std::size_t head_dim,
                                 double gain = 1, unsigned promises = rotation_by_position,
                                 laws::places const& at = {}) {
    SCOPED_TRACE(name);
    if ((promises & promised) == promised) law(encoding, head_dim, gain, at);
  };
  obey("rope, Llama 2", rope<halves>(geometric(128, 1e4)), 128);
  obey("rope, interleaved", rope<interleaved>(geometric(128, 5e5)), 128);
  obey("rope, GPT-J's block", rope<interleaved>(geometric(64, 1e4)), 256);
  obey("rope, DeepSeek's block", rope<interleaved>(geometric(64, 1e4), rotary_block::last()), 192);
  obey("rope, a block amid", rope<halves>(geometric(22, 1e4), rotary_block::from(3)), 31);
  obey("rope, a single pair", rope<halves>(geometric(2, 1e4)), 2);
  obey("rope, an attention factor",
       rope<halves>(geometric(34, 1e4).with_attention_factor(1.2772588722239781)), 34,
       1.2772588722239781);
  obey("rope, interpolated", rope<interleaved>(linear(geometric(64, 1e4), 16)), 64);
  obey("rope, gpt-oss",
       rope<halves>(yarn(64, 1.5e5, {.factor = 32, .original_length = 4096, .truncate = false})),
       64, 1.3465735902799727);
  obey("rope, Llama 3.1", rope<halves>(llama3(geometric(128, 5e5), {8, 1, 4, 8192})), 128);
  obey("rope, Resonance", rope<halves>(resonance(geometric(64, 1e4))), 64);
  obey("p-RoPE, Gemma 4", p_rope<halves>(512, 1e6, 0.25), 512);
  obey("p-RoPE, interleaved", p_rope<interleaved>(64, 1e4, 0.75), 64);
  obey("p-RoPE of p 0", p_rope<halves>(64, 1e4, 0), 64);
  obey("one after another",
       scheme(rope<halves>(geometric(64, 1e4)), rope<halves>(geometric(64, 1e6)),
              adaptive_temperature{}),
       64);
  obey("beside nope", scheme(nope(), rope<halves>(geometric(64, 1e4))), 64);
  obey("m_rope, an image and the text behind it", m_rope_of_a_prompt(), 32, 1, rotation_by_position,
       {.starts = {9, 10, 17, 1'000'000, 1'234'567}, .positions = {7, 2, 1'000'003, 7, 0, 5, 3}});
  // For a key 3 tokens after its query, the gain is zeta^(-3 / 512) < 1.01.
  laws::places const near{.starts = {0, 1, 17, -5, 2000, -2000},
                          .positions = {7, -2, 1003, 7, 0, 5}};
  obey("xpos", xpos<halves>(geometric(64, 1e4)), 64, 1.01, of_distance, near);
  obey("xpos, interleaved, at its center", xpos<interleaved>(geometric(64, 1e4)), 64, 1,
       identity_at_zero, near);
  auto const by_thousand = [](std::int64_t p) { return p + 1000; };
  obey("remapped, moved", remapped(rope<halves>(geometric(64, 1e4)), by_thousand, by_thousand), 64,
       1, of_distance | norm_kept);
  auto const by_fours = [](std::int64_t p) { return p / 4; };
  obey("remapped, squashed", remapped(rope<interleaved>(geometric(64, 1e4)), by_fours, by_fours),
       64, 1, identity_at_zero | norm_kept);
  obey("unprojected", unprojected(sinusoidal<halves>(geometric(64, 1e4))), 64, 1, 0);
  obey("distance_remapped, near", distance_remapped(rope<halves>(geometric(64, 1e4)), rerope(9)),
       64);
}

TEST(query_key_laws, inner_products_depend_on_distance_alone) {
  for_every_encoding(
      of_distance, [](auto const&... of) { laws::inner_products_depend_on_distance_alone(of...); });
}

TEST(query_key_laws, position_zero_is_the_identity_up_to_the_attention_factor) {
  for_every_encoding(identity_at_zero,
                     [](auto const&... of) { laws::position_zero_is_the_identity(of...); });
}

TEST(query_key_laws, norms_are_kept_up_to_the_attention_factor) {
  for_every_encoding(norm_kept, [](auto const&... of) { laws::norms_are_kept(of...); });
}

TEST(query_key_laws, each_token_is_encoded_by_its_position_in_any_order) {
  for_every_encoding(0,
                     [](auto const&... of) { laws::each_token_is_encoded_by_its_position(of...); });
}

TEST(query_key_laws, layouts_are_equal_up_to_their_permutation) {
  // The block of n pairs starts at dim `first`. Pair i is (2i, 2i + 1) if interleaved, (i, n + i)
  // in halves.
  auto const obey = [](frequencies const& f, rotary_block block, std::size_t first,
                       std::size_t head_dim) {
    std::vector<std::size_t> order(head_dim);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < f.pairs(); ++i)
      order[first + i] = first + 2 * i, order[first + f.pairs() + i] = first + 2 * i + 1;
    laws::are_the_same_but_for_their_order(rope<interleaved>(f, block), rope<halves>(f, block),
                                           order);
  };
  for (std::size_t const pairs : {1u, 2u, 3u, 5u, 8u, 15u, 16u, 17u, 64u}) {
    SCOPED_TRACE(pairs);
    obey(geometric(2 * pairs, 1e4), rotary_block::first(), 0, 2 * pairs);
    obey(geometric(2 * pairs, 1e4), rotary_block::last(), 7, 2 * pairs + 7);
    obey(truncated(geometric(2 * pairs, 1e4), 0.7), rotary_block::from(3), 3, 2 * pairs + 4);
    obey(geometric(2 * pairs, 1e4).with_attention_factor(1.25), rotary_block::first(), 0,
         2 * pairs + 1);
  }
}

TEST(query_key_laws, p_rope_of_p_1_is_rope_bit_for_bit) {
  for (std::size_t const head_dim : {2u, 18u, 128u}) {
    SCOPED_TRACE(head_dim);
    std::vector<std::size_t> order(head_dim);
    std::iota(order.begin(), order.end(), std::size_t{0});
    laws::are_the_same_but_for_their_order(p_rope<halves>(head_dim, 1e4, 1),
                                           rope<halves>(geometric(head_dim, 1e4)), order);
    laws::are_the_same_but_for_their_order(p_rope<interleaved>(head_dim, 1e4, 1),
                                           rope<interleaved>(geometric(head_dim, 1e4)), order);
  }
}

TEST(query_key_laws, p_rope_of_p_0_leaves_every_bit_alone) {
  laws::nothing_is_changed(p_rope<halves>(64, 1e4, 0), 64);
  laws::nothing_is_changed(p_rope<interleaved>(64, 1e4, 0), 64);
  laws::nothing_is_changed(scheme(nope(), p_rope<halves>(64, 1e4, 0), adaptive_temperature{}), 64);
}

}  // namespace
