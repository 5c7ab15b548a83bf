// How heads of images rotate, by the keys of a config.json. (nlohmann-json)
#pragma once

#include "posenc/core/target.hpp"
#include "posenc/frequency/axial.hpp"
#include "posenc/model/hugging_face/detail/rope_parameters.hpp"

namespace posenc { inline namespace POSENC_TARGET { namespace detail {

/// Heads of images rotate by the coordinates of their patch. Pairs are halves, each of one axis.
class image_rotation : protected rope_rule {
 public:
  using rope_rule::rope_rule;

 protected:
  /// Each half of a head rotates by one coordinate.
  void read_two_axes(double base) {
    auto const half = kind_.head_dim / 2;
    config_.require(kind_.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
    add("default", geometric(half, base), {half / 2});
    add("default", geometric(half, base), {0, half / 2}, half);
  }

  /// Each axis has a series of frequencies of its own; halves are those of the whole block.
  void read_axial(double base) {
    auto const count = family_.axial_axes;
    std::vector<std::size_t> const dims(count, kind_.head_dim / count / 2 * 2);
    config_.require(dims[0] > 0, "head_dim", "have room for a pair of each axis");
    add("axial", axial(dims, base), std::vector(count, dims[0] / 2));
  }

  /// One series across both axes: rows take its even frequencies, then columns the odd ones.
  void read_alternating(double base) {
    auto const pairs = kind_.head_dim / 2;
    config_.require(kind_.head_dim % 4 == 0, "head_dim", "be a multiple of 4");
    auto const series = geometric(kind_.head_dim, base);
    std::vector<double> inv_freq, rest;
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const from = 2 * i % pairs + 2 * i / pairs;
      inv_freq.push_back(series.inv_freq()[from]);
      rest.push_back(series.rest()[from]);
    }
    add("alternating", {std::move(inv_freq), std::move(rest), 1}, {pairs / 2, pairs / 2});
  }

 private:
  void add(std::string rule, frequencies f, std::vector<std::size_t> const& sections,
           std::size_t first_dim = 0) {
    kind_.rotary.push_back({.rule = std::move(rule),
                            .frequencies = std::move(f),
                            .layout = halves(),
                            .block = rotary_block::from(first_dim),
                            .axes = contiguous_axes(sections)});
  }
};

}}}  // namespace posenc::detail
