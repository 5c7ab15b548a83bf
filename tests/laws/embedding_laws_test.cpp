#include "laws/embedding_laws.hpp"

#include "posenc/core/scheme.hpp"
#include "posenc/embedding/learned_embedding.hpp"
#include "posenc/embedding/sin_cos_2d.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/embedding/sinusoidal_forms.hpp"
#include "posenc/embedding/timestep.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/truncated.hpp"

namespace {

using namespace posenc;

/// Every encoding of embeddings whose vectors depend on distance, in some configurations: one line
/// each.
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
  obey("sinusoidal, the cosines first",
       sinusoidal<interleaved>(geometric(32, 1e4), {.cosine_first = true}), 32);
  obey("sinusoidal, of all options",
       sinusoidal<halves>(geometric(6, 1e4),
                          {.start = -9, .cosine_first = true, .scale = -0.5, .zeros = 3}),
       9);
  obey("tensor2tensor's, odd", tensor2tensor_sinusoidal(33, 2, 1e5, 1), 33);
  obey("Whisper's", whisper_sinusoidal(64), 64);
  obey("CTranslate2's", ctranslate2_sinusoidal(32), 32);
  obey("x-transformers'", scaled_sinusoidal(64), 64);
  obey("diffusers' timestep", timestep(33, {.scale = 1000}), 33);
  obey("ggml's timestep", ggml_timestep(320), 320);
  obey("several", scheme(nope(), sinusoidal<interleaved>(geometric(16, 1e4))), 16);
}

/// And those with only some positions, or with a special one; each with the positions to test.
template <class Law>
void for_every_table(Law const& law) {
  auto const obey = [&]<class E>(char const* name, E const& encoding, std::size_t dim) {
    SCOPED_TRACE(name);
    law(encoding, dim, std::vector<std::int64_t>{3, 0, 5, 3, 1, 2});
  };
  auto const table = numbers::random<float>(6 * 10);
  auto const halves_table = numbers::random<half>(8 * 10);
  obey("learned embedding", learned_embedding<float>(table, 10), 10);
  obey("learned embedding, in 16 bits, the first two for none",
       learned_embedding<half>(halves_table, 10, 2), 10);
  obey("fairseq's", fairseq_sinusoidal(17, 1), 17);
  obey("a grid of one's own",
       sin_cos_grid<interleaved>({{2, geometric(8, 1e4)}, {3, geometric(10, 100), 0.5, 2}}, {1, 0}),
       18);
  obey("MAE's", mae_sin_cos(2, 3, 16), 16);
  obey("a ViT's", vit_sin_cos(3, 2, 16), 16);
  obey("CogVideoX's", cogvideox_sin_cos(3, 1, 2, 32), 32);
  obey("DETR's", detr_sin_cos(2, 3, 16, {.normalize = true}), 16);
  obey("several", scheme(learned_embedding<float>(table, 10)), 10);
}

TEST(embedding_laws, inner_products_depend_on_distance_alone) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) {
    laws::inner_products_depend_on_distance_alone(e, dim);
  });
}

TEST(embedding_laws, each_token_gets_what_its_position_says_in_any_order) {
  for_every_encoding([]<class E>(E const& e, std::size_t dim) {
    laws::each_token_gets_what_its_position_says(e, dim);
  });
  for_every_table([]<class E>(E const& e, std::size_t dim, auto const& p) {
    laws::each_token_gets_what_its_position_says(e, dim, p);
  });
}

TEST(embedding_laws, the_same_is_added_to_what_is_there_in_every_head) {
  for_every_encoding(
      []<class E>(E const& e, std::size_t dim) { laws::adds_to_what_is_there(e, dim); });
  for_every_table([]<class E>(E const& e, std::size_t dim, auto const& p) {
    laws::adds_to_what_is_there(e, dim, p);
  });
}

TEST(embedding_laws, an_empty_view_stays_empty) {
  for_every_encoding(
      []<class E>(E const& e, std::size_t dim) { laws::an_empty_view_stays_empty(e, dim); });
  for_every_table([]<class E>(E const& e, std::size_t dim, auto const&) {
    laws::an_empty_view_stays_empty(e, dim);
  });
}

}  // namespace
