#include "posenc_engine.hpp"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <posenc/model/hugging_face.hpp>
#include <posenc/posenc.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace conformance {
namespace {

using posenc::frequencies;

double get(test_case const& c, char const* key) { return c.settings.at(key).front(); }
double trained(test_case const& c) { return get(c, "original_max_position_embeddings"); }

// The rules that have no words in rope_parameters.
frequencies rule_of(test_case const& c) {
  auto const dims = 2 * c.pairs.size();
  auto const& type = c.type;
  if (type == "pixel") return posenc::pixel(dims, get(c, "max_freq"));
  auto const base = get(c, "rope_theta");
  auto plain = posenc::geometric(dims, base);
  if (type == "geometric_inclusive") return posenc::geometric_inclusive(dims, base);
  if (type == "ntk") return posenc::ntk(plain, get(c, "factor"));
  if (type == "mixed_ntk") return posenc::mixed_ntk(plain, get(c, "factor"), get(c, "b"));
  if (type == "resonance") return posenc::resonance(plain);
  if (type == "raised_cosine_clip")
    return posenc::raised_cosine_clip(plain, static_cast<std::size_t>(get(c, "clipped_pairs")));
  if (type == "truncated") return posenc::truncated(plain, get(c, "p"));
  if (type == "fope_floor") return posenc::fope_floor(plain, trained(c));
  if (type == "divided_by_factors")
    return posenc::divided_by_factors(plain, c.settings.at("factors"));
  if (type == "yarn_by_rotations")
    return posenc::yarn_by_rotations(plain,
                                     {.factor = get(c, "factor"), .original_length = trained(c)});
  if (type == "ntk_by_parts")
    return posenc::ntk_by_parts(plain, {.factor = get(c, "factor"),
                                        .original_length = trained(c),
                                        .alpha = get(c, "alpha"),
                                        .beta = get(c, "beta")});
  if (type == "part_ntk")
    return posenc::part_ntk(dims, base,
                            {.factor = get(c, "factor"), .original_length = trained(c)});
  if (type == "yarn")  // with ggml's ext_factor
    return posenc::yarn(dims, base,
                        {.factor = get(c, "factor"),
                         .original_length = trained(c),
                         .extrapolation = get(c, "extrapolation")});
  if (type == "axial") {
    std::vector<std::size_t> axes;
    for (auto const d : c.settings.at("axis_dims")) axes.push_back(static_cast<std::size_t>(d));
    return posenc::axial(axes, base);
  }
  return plain;
}

frequencies frequencies_of(test_case const& c) {
  static char const* const of_hugging_face[]{"default", "linear",   "dynamic",     "yarn",
                                             "llama3",  "longrope", "proportional"};
  bool is_known = false;
  for (auto const* name : of_hugging_face) is_known = is_known || c.type == name;
  if (!is_known || c.settings.contains("extrapolation")) return rule_of(c);
  auto around = posenc::rope_surroundings{.head_dim = c.head_dim};
  if (c.trained != 0) around.context = static_cast<std::size_t>(c.trained);
  auto const reading = posenc::read_rope_parameters(c.parameters, c.name, around);
  return reading.kinds.front().rotary.front().frequencies.at(static_cast<std::size_t>(c.length));
}

posenc::pair_axes axes_of(test_case const& c) { return posenc::pair_axes(c.axis_of_pair); }

template <class Real>
posenc::cos_sin_rows<Real> rows_of(test_case const& c, frequencies const& f) {
  if (c.type == "xpos") {
    std::vector<double> positions;
    for (auto const& token : c.positions) positions.push_back(token.front());
    bool const is_keys = c.parameters.find("keys") != std::string::npos;
    return is_keys ? posenc::xpos_key_rows<Real>(f, positions)
                   : posenc::xpos_query_rows<Real>(f, positions);
  }
  std::vector<std::vector<double>> of_axis(c.axes());
  for (auto const& token : c.positions)
    for (std::size_t axis = 0; axis < c.axes(); ++axis) of_axis[axis].push_back(token[axis]);
  return posenc::axis_rows<Real>(f, axes_of(c), posenc::axis_positions<double>(of_axis));
}

template <class Layout, class T>
void rotate(test_case const& c, frequencies const& f, posenc::heads_view<T> const& heads) {
  using real = posenc::arithmetic_t<T>;
  if (c.blocks == 1) {
    return posenc::rotate<Layout>(heads, rows_of<real>(c, f),
                                  posenc::rotary_block::from(c.first_dim));
  }
  auto const pairs = c.pairs.size() / c.blocks;
  for (std::size_t b = 0; b < c.blocks; ++b) {
    auto one = c;
    one.axis_of_pair.assign(c.axis_of_pair.begin() + static_cast<std::ptrdiff_t>(b * pairs),
                            c.axis_of_pair.begin() + static_cast<std::ptrdiff_t>((b + 1) * pairs));
    auto const part = [&](std::span<double const> all) {
      return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(b * pairs),
                                 all.begin() + static_cast<std::ptrdiff_t>((b + 1) * pairs));
    };
    frequencies const of_block(part(f.inv_freq()), part(f.rest()), f.attention_factor());
    posenc::rotate<Layout>(heads, rows_of<real>(one, of_block),
                           posenc::rotary_block::from(c.first_dim + 2 * pairs * b));
  }
}

template <class T>
answers rotary_answers(test_case const& c, precision stored) {
  using real = posenc::arithmetic_t<T>;
  auto const f = frequencies_of(c);
  answers result;
  auto const of_settings = stored == precision::float64 ? stored : precision::float32;
  for (auto const x : f.inv_freq()) result["inv_freq"].push_back(rounded(x, of_settings));
  result["attention_factor"] = {rounded(f.attention_factor(), of_settings)};
  if (c.expected.contains("cos")) {
    auto const rows = rows_of<real>(c, f);
    posenc::cos_sin_view<real> const view = rows;
    auto const standing = [&](std::size_t i) { return f.inv_freq()[i] == 0 && c.type != "xpos"; };
    for (std::size_t t = 0; t < view.tokens(); ++t) {
      for (std::size_t i = 0; i < view.pairs(); ++i) {
        // Pairs that stand are not read from the rows, but left alone.
        result["cos"].push_back(standing(i) ? f.attention_factor()
                                            : static_cast<double>(view.cos(t)[i]));
        result["sin"].push_back(standing(i) ? 0 : static_cast<double>(view.sin(t)[i]));
      }
    }
  }
  std::vector<T> heads;
  for (auto const& token : c.input)
    for (auto const x : token) heads.push_back(static_cast<T>(static_cast<real>(x)));
  posenc::heads_view<T> const view(heads.data(),
                                   {.tokens = c.input.size(), .heads = 1, .head_dim = c.head_dim});
  if (c.is_interleaved) {
    rotate<posenc::interleaved>(c, f, view);
  } else {
    rotate<posenc::halves>(c, f, view);
  }
  for (auto const x : heads) result["rotated"].push_back(static_cast<double>(static_cast<real>(x)));
  return result;
}

answers score_answers(test_case const& c, precision stored) {
  answers result;
  auto const bias = [&](auto const& encoding) {
    for (std::size_t h = 0; h < encoding.heads(); ++h)
      for (auto const d : c.distances)
        result["bias"].push_back(encoding.bias(h, static_cast<std::int64_t>(d)));
  };
  auto const two = [&](char const* first, char const* second, auto head) {
    std::vector<decltype(head)> heads;
    for (std::size_t h = 0; h < c.settings.at(first).size(); ++h)
      heads.push_back({c.settings.at(first)[h], c.settings.at(second)[h]});
    return heads;
  };
  if (c.type == "alibi") {
    posenc::alibi const alibi(static_cast<std::size_t>(get(c, "heads")), get(c, "max_bias"));
    result["slopes"].assign(alibi.slopes().begin(), alibi.slopes().end());
    bias(alibi);
  } else if (c.type == "kerple_log") {
    bias(posenc::kerple_log(two("coefficient", "rate", posenc::kerple_log_head{})));
  } else if (c.type == "kerple_power") {
    bias(posenc::kerple_power(two("exponent", "coefficient", posenc::kerple_power_head{})));
  } else if (c.type == "t5_buckets") {
    posenc::relative_buckets const buckets(static_cast<std::size_t>(get(c, "buckets")),
                                           static_cast<std::size_t>(get(c, "max_distance")),
                                           get(c, "bidirectional") == 1);
    for (auto const d : c.distances)
      result["buckets"].push_back(static_cast<double>(buckets(static_cast<std::int64_t>(d))));
  } else if (c.type == "soft_cap") {
    auto scores = c.scores;
    posenc::score_row<double> row{};
    row.scores = scores;
    posenc::soft_cap(get(c, "cap")).adjust_scores(row);
    result["capped"] = scores;
  } else if (c.type == "position_temperature") {
    posenc::position_temperature const temperature{get(c, "scale"), get(c, "floor_scale"),
                                                   get(c, "offset")};
    for (auto const p : c.positions.front())
      result["factors"].push_back(temperature.inverse_temperature(
          posenc::row_statistics{.query_position = static_cast<std::int64_t>(p)}));
  } else {
    throw std::runtime_error(c.name + ": posenc's answers to " + c.type + " are not known here");
  }
  for (auto& [field, values] : result) {
    for (auto& x : values) {
      x = rounded(x, stored);
      if (stored == precision::float16 && std::abs(x) > 65504) x = not_given;
    }
  }
  return result;
}

}  // namespace

answers of_posenc(test_case const& c, precision stored) {
  if (!c.is_rotary) return score_answers(c, stored);
  switch (stored) {
    case precision::float64:
      return rotary_answers<double>(c, stored);
    case precision::float32:
      return rotary_answers<float>(c, stored);
    case precision::float16:
      return rotary_answers<posenc::half>(c, stored);
    case precision::bfloat16:
      return rotary_answers<posenc::bfloat16>(c, stored);
  }
  return {};
}

}  // namespace conformance
