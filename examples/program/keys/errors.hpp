// How far off scores and weights are when keys are stored in few bits, in five ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "posenc/frequency/frequencies.hpp"
#include "posenc/rotation/layout.hpp"
#include "posenc/rotation/rotary_block.hpp"

namespace keys {

/// Of a head, before the rotation. Keys are W x + b; W x and queries are normal, each dim by
/// itself.
struct head_statistics {
  std::vector<double> bias;           ///< b [head_dim]
  std::vector<double> keys, queries;  ///< standard deviations of W x and of queries [head_dim]
};

/// How a head rotates.
struct head_rotation {
  posenc::frequencies frequencies;
  std::variant<posenc::halves, posenc::interleaved> layout;
  posenc::rotary_block block = posenc::rotary_block::first();
};

/// What is stored of the rotated key k = R(p) (W x + b).
enum class way {
  as_it_is,  ///< k
  hadamard,  ///< H k, orthonormal; queries are transformed, too
  mean_out,  ///< k less the mean of all keys, which softmax does not see
  bias_out,  ///< R(p) W x; attention adds <q, R(p) b> to the score
  both       ///< H R(p) W x
};
inline constexpr way ways[]{way::as_it_is, way::hadamard, way::mean_out, way::bias_out, way::both};

/// As tables name it.
std::string name_of(way one);

/// Formats by their names, the widest first.
std::vector<std::string> const& format_names();
/// Of a head.
std::size_t bytes_of(std::string const& format, std::size_t head_dim);

struct errors {
  double key;    ///< rms of what is read less what was stored, as a part of the rms of keys
  double logit;  ///< rms of <q, off> / sqrt(head_dim)
  double moved;  ///< share of the attention weight that moves to other keys, mean over queries
};

struct sampling {
  std::size_t tokens = 4000, queries = 8;
  std::int64_t context = 32'768;  ///< keys are at random positions below, queries at this one
  std::uint64_t seed = 1;
};

/// Keys and queries of one head, drawn and rotated.
class sampled_head {
 public:
  /// Throws std::invalid_argument unless the three lists have head_dim numbers, and as posenc does.
  sampled_head(head_statistics const& of, head_rotation const& how, sampling const& s);

  errors of(std::string const& format, way stored) const;
  /// Of scores <q, k> / sqrt(head_dim): the root of their mean square.
  double logit() const;

 private:
  double logit_of(std::vector<double> const& keys) const;
  std::vector<double> scores_of(std::size_t query, std::vector<double> const& keys,
                                way stored) const;

  std::size_t head_dim_, tokens_;
  head_rotation rotation_;
  std::vector<std::int64_t> positions_;   // of keys
  std::vector<float> plain_bias_;         // b
  std::vector<double> content_, bias_;    // R(p) W x, R(p) b: [tokens][head_dim]
  std::vector<double> queries_;           // rotated, [queries][head_dim]
  std::vector<double> scores_, weights_;  // exact, [queries][tokens]
  std::vector<double> query_variance_;    // of each dim, averaged over all angles
};

}  // namespace keys
