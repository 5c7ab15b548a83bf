#include "posenc/embedding/sinusoidal_forms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "embedding/rows_of_forms.hpp"
#include "golden/sinusoidal.hpp"
#include "laws/embedding_laws.hpp"
#include "non_numbers.hpp"
#include "rejects.hpp"

namespace {

using namespace posenc;
using rows_of_forms::expect_row;
using rows_of_forms::written;

/// The numbers of the paper, in either order.
oracle::sinusoidal_forms_row of_the_paper(std::int64_t position, std::size_t dim,
                                          bool alternating) {
  auto row = oracle::forms::zeros(dim);
  oracle::put_axis(row, 0, dim, position, alternating, static_cast<long double>(dim) / 2);
  return row;
}

TEST(sinusoidal_forms, vaswani_roformer_whisper_and_ctranslate2_follow_their_definitions) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {4u, 6u, 64u, 768u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        expect_row<T>(vaswani_sinusoidal(dim), position, of_the_paper(position, dim, true));
        expect_row<T>(roformer_sinusoidal(dim), position, of_the_paper(position, dim, false));
        expect_row<T>(whisper_sinusoidal(dim), position,
                      oracle::timing_signal(position, dim, 1, 1e4L));
        expect_row<T>(ctranslate2_sinusoidal(dim), position,
                      oracle::timing_signal(position + 1, dim, 1, 1e4L));
      }
    }
  });
}

// [transformers, modeling_roformer.py and modeling_xlm.py: angles of 10000^(-2 (j // 2) / dim), the
// sines of even j, the cosines of odd ones]
TEST(sinusoidal_forms, vaswani_and_roformer_leave_out_the_last_cosine_of_odd_dims) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {1u, 3u, 7u, 129u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        auto blocks = oracle::forms::zeros(dim), alternating = blocks;
        std::size_t const sines = dim / 2 + 1;
        for (std::size_t j = 0; j < dim; ++j) {
          auto const frequency = std::pow(oracle::wide(1e4), -2 * static_cast<oracle::wide>(j / 2) /
                                                                 static_cast<oracle::wide>(dim));
          auto const [c, s] = oracle::direction_at(static_cast<oracle::wide>(position), frequency);
          auto const angle = frequency * static_cast<oracle::wide>(position);
          oracle::forms::put(alternating, j, j % 2 == 0 ? s : c, angle);
          oracle::forms::put(blocks, j % 2 == 0 ? j / 2 : sines + j / 2, j % 2 == 0 ? s : c, angle);
        }
        expect_row<T>(vaswani_sinusoidal(dim), position, alternating);
        expect_row<T>(roformer_sinusoidal(dim), position, blocks);
      }
    }
  });
  // sin(2), sin(2 / 10000^(2/3)), cos(2).
  auto const row = written<double>(roformer_sinusoidal(3), std::int64_t{2});
  ASSERT_EQ(row.size(), 3u);
  EXPECT_NEAR(row[0], 0.90929742682568170, 1e-15);
  EXPECT_NEAR(row[1], 0.0043088560467428125, 1e-17);
  EXPECT_NEAR(row[2], -0.41614683654714239, 1e-15);
}

TEST(sinusoidal_forms, have_the_published_rows) {
  auto const expect = [](auto const& encoding, auto const& rows) {
    for (auto const& [position, values] : rows) {
      auto const row = written<double>(encoding, std::int64_t{position});
      for (std::size_t i = 0; i < 8; ++i)
        EXPECT_NEAR(
            row[i], values[i],
            tolerance::of_angle(static_cast<double>(position), 1) + tolerance::of_cosine<double>());
    }
  };
  expect(vaswani_sinusoidal(8), golden::sinusoidal_interleaved_half);
  expect(roformer_sinusoidal(8), golden::sinusoidal_concatenated_half);
  expect(whisper_sinusoidal(8), golden::sinusoidal_concatenated_half_minus_one);
}

TEST(sinusoidal_forms, tensor2tensor_follows_its_definition_odd_dims_included) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {2u, 3u, 4u, 5u, 31u, 64u}) {
      for (std::int64_t const position : {0, 1, -3, 511, 1'000'003}) {
        expect_row<T>(tensor2tensor_sinusoidal(dim), position,
                      oracle::timing_signal(position, dim, 1, 1e4L));
        expect_row<T>(tensor2tensor_sinusoidal(dim, 2, 5e5, 7), position,
                      oracle::timing_signal(position + 7, dim, 2, 5e5L));
      }
    }
  });
}

TEST(sinusoidal_forms, fairseq_follows_its_definition_and_pads_with_zeros) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {4u, 5u, 31u, 64u}) {
      auto const encoding = fairseq_sinusoidal(dim, 1);
      for (std::int64_t const position : {0, 2, 3, 1025, 1'000'003})
        expect_row<T>(encoding, position, oracle::timing_signal(position, dim, 1, 1e4L));
      EXPECT_TRUE(
          numbers::same_bits(written<T>(encoding, std::int64_t{1}), std::vector<T>(dim, T(0.0F))));
    }
  });
}

TEST(sinusoidal_forms, fairseq_has_the_published_row) {
  for (auto const& [position, values] : golden::sinusoidal_concatenated_half_minus_one) {
    auto const row = written<double>(fairseq_sinusoidal(8, 1'000'000), std::int64_t{position});
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(
          row[i], values[i],
          tolerance::of_angle(static_cast<double>(position), 1) + tolerance::of_cosine<double>());
  }
}

TEST(sinusoidal_forms, fairseq_counts_tokens_from_behind_its_padding_index) {
  using positions = std::vector<std::int64_t>;
  EXPECT_EQ(fairseq_positions(positions{5, 9, 9, 2}, 1), (positions{2, 3, 4, 5}));
  EXPECT_EQ(fairseq_positions(positions{1, 1, 5, 1, 9, 1}, 1), (positions{1, 1, 2, 1, 3, 1}));
  EXPECT_EQ(fairseq_positions(positions{0, 0}, 0), (positions{0, 0}));
  EXPECT_EQ(fairseq_positions(positions{7}, 0), (positions{1}));
  EXPECT_EQ(fairseq_positions({}, 1), positions());
}

TEST(sinusoidal_forms, scaled_multiplies_by_its_scale) {
  numbers::in_every_format([]<class T>() {
    for (std::size_t const dim : {2u, 64u, 100u}) {
      for (std::int64_t const position : {0, 5, 1'000'003}) {
        auto expected = oracle::forms::zeros(dim);
        oracle::put_axis(expected, 0, dim, position, false, static_cast<long double>(dim) / 2);
        expect_row<T>(scaled_sinusoidal(dim, 0.3), position, expected, 0.3);
        expect_row<T>(scaled_sinusoidal(dim), position, expected,
                      1 / std::sqrt(static_cast<double>(dim)));
      }
    }
  });
}

TEST(sinusoidal_forms, reject_what_has_no_rows) {
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(1); }),
            "posenc: tensor2tensor_sinusoidal: dim must be at least 2, got 1");
  std::string const scales =
      "posenc: tensor2tensor_sinusoidal: timescales must be finite and positive, got ";
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, 0); }), scales + "0");
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, 1, infinity()); }), scales + "infinity");
  EXPECT_EQ(message_of([] { tensor2tensor_sinusoidal(8, not_a_number()); }), scales + "NaN");
  EXPECT_EQ(message_of([] { fairseq_sinusoidal(0, 1); }),
            "posenc: fairseq_sinusoidal: dim must be at least 2, got 0");
  EXPECT_EQ(message_of([] { vaswani_sinusoidal(0); }),
            "posenc: vaswani_sinusoidal: dim must be positive, got 0");
  EXPECT_EQ(message_of([] { roformer_sinusoidal(0); }),
            "posenc: roformer_sinusoidal: dim must be positive, got 0");
  EXPECT_EQ(message_of([] { whisper_sinusoidal(2); }),
            "posenc: whisper_sinusoidal: dim must be even and at least 4, got 2");
  EXPECT_EQ(message_of([] { whisper_sinusoidal(7); }),
            "posenc: whisper_sinusoidal: dim must be even and at least 4, got 7");
  EXPECT_EQ(message_of([] { ctranslate2_sinusoidal(5); }),
            "posenc: ctranslate2_sinusoidal: dim must be even and at least 4, got 5");
  EXPECT_EQ(message_of([] { ctranslate2_sinusoidal(0); }),
            "posenc: ctranslate2_sinusoidal: dim must be even and at least 4, got 0");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(7); }),
            "posenc: scaled_sinusoidal: the dimension must be even and positive, got 7");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(0); }),
            "posenc: scaled_sinusoidal: the dimension must be even and positive, got 0");
  EXPECT_EQ(message_of([] { scaled_sinusoidal(8, infinity()); }),
            "posenc: sinusoidal: the scale must be finite, got infinity");
}

TEST(sinusoidal_forms, obey_the_laws_of_their_site) {
  laws::obey("tensor2tensor's, odd", tensor2tensor_sinusoidal(33, 2, 1e5, 1), 33);
  laws::obey_at_its_positions("RoFormer's, odd", roformer_sinusoidal(33), 33);
  laws::obey("Whisper's", whisper_sinusoidal(64), 64);
  laws::obey("CTranslate2's", ctranslate2_sinusoidal(32), 32);
  laws::obey("x-transformers'", scaled_sinusoidal(64), 64);
  laws::obey_at_its_positions("fairseq's", fairseq_sinusoidal(17, 1), 17);
}

}  // namespace
