#pragma once

/// A second reading of a GGUF file, from the description of the format [ggml, docs/gguf.md] alone,
/// and what a description of the model must have of it. It knows no architecture: a value must be
/// one of those that the keys can mean.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/model/model_description.hpp"

/// The keys of a valid file; numbers of any type as double.
class plain_gguf {
 public:
  explicit plain_gguf(std::string_view file) : rest_(file.substr(8)) {
    whole(8);  // tensors
    for (auto keys = whole(8); keys > 0; --keys) {
      auto const key = text();
      auto const type = whole(4);
      if (type == 8) {
        texts[key] = text();
      } else if (type == 9) {
        auto const of = whole(4);
        auto& list = lists[key];
        for (auto n = whole(8); n > 0; --n) of == 8 ? void(text()) : list.push_back(number(of));
      } else {
        numbers[key] = number(type);
      }
    }
  }

  std::map<std::string, std::string> texts = {};
  std::map<std::string, double> numbers = {};
  std::map<std::string, std::vector<double>> lists = {};

  /// A number of the architecture.
  std::optional<double> of(std::string_view name) const {
    auto const found = numbers.find(texts.at("general.architecture") + '.' + std::string(name));
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::string_view bytes(std::size_t size) {
    auto const result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }
  std::uint64_t whole(std::size_t size) {
    auto const raw = bytes(size);
    std::uint64_t result = 0;
    for (auto i = size; i > 0; --i) result = result << 8 | static_cast<unsigned char>(raw[i - 1]);
    return result;
  }
  std::string text() { return std::string(bytes(whole(8))); }
  double number(std::uint64_t type) {
    constexpr std::size_t sizes[]{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    auto const size = sizes[type];
    auto const raw = whole(size);
    if (type == 6) return double{std::bit_cast<float>(static_cast<std::uint32_t>(raw))};
    if (type == 12) return std::bit_cast<double>(raw);
    bool const is_signed = type == 1 || type == 3 || type == 5 || type == 11;
    auto const shift = 64 - 8 * size;
    return is_signed ? static_cast<double>(static_cast<std::int64_t>(raw << shift) >> shift)
                     : static_cast<double>(raw);
  }

  std::string_view rest_;
};

/// What the description has and the file cannot mean; empty if there is nothing.
inline std::string contradiction(plain_gguf const& file, posenc::model_description const& model) {
  auto const is_one_of = [](double x, std::initializer_list<std::optional<double>> given) {
    return std::ranges::find(given, std::optional(x)) != given.end();
  };
  auto const of = [&](char const* name) { return file.of(name); };
  auto const size = [](std::size_t n) { return static_cast<double>(n); };
  if (model.type != file.texts.at("general.architecture")) return "the architecture";
  auto const blocks = of("block_count").value_or(0) * std::max(1.0, of("num_loops").value_or(1));
  if (size(model.layers) > blocks) return "more layers than block_count";
  if (!of("nextn_predict_layers") && !of("num_loops") && size(model.layers) != blocks)
    return "fewer layers than block_count";
  if (model.context && !is_one_of(size(*model.context), {of("context_length")})) return "context";

  for (auto const& kind : model.kinds) {
    auto const head_dim = size(kind.head_dim);
    auto const rotated = of("rope.dimension_count");
    if (of("attention.key_length") &&
        !is_one_of(head_dim, {0, of("attention.key_length_mla"), of("attention.key_length"),
                              of("attention.key_length_swa"), of("attention.key_length_mla_swa")}))
      return "head_dim";
    auto const window = of("attention.sliding_window");
    if (window && kind.window &&
        !is_one_of(size(*kind.window), {window, std::floor(*window / 2) + 1}))
      return "window";
    auto const cap = of("attn_logit_softcapping");
    if (kind.score_cap && cap.value_or(0) != 0 && kind.score_cap != cap) return "cap";
    if (kind.alibi) {
      auto const heads = of("attention.head_count");
      if (heads && size(kind.alibi->heads) != heads) return "heads";
      auto const bias = of("attention.max_alibi_bias").value_or(0);
      if (bias != 0 && kind.alibi->max_bias != bias && kind.alibi->max_bias != 8) return "max_bias";
    }
    for (auto const& rotary : kind.rotary) {
      auto const f = rotary.frequencies.at(1);
      auto const dim = size(f.rotary_dim());
      auto const half = rotated ? std::optional(std::floor(*rotated / 2)) : std::nullopt;
      if (!is_one_of(dim, {head_dim, rotated, half, of("rope.dimension_count_swa")}))
        return "rotary_dim";
      auto const base = of("rope.freq_base");
      auto const others = {base, of("rope.freq_base_swa"), of("attention.compress_rope_freq_base"),
                           std::optional(1e4)};
      auto const is_theta = [](auto const& p) { return p.key == "rope_theta"; };
      auto const theta = std::ranges::find_if(rotary.parameters, is_theta);
      if (theta == rotary.parameters.end()) return "no rope_theta";
      auto const value = std::stod(theta->value);
      if (!is_one_of(value, others)) return "rope_theta";
      if (rotary.rule != "default" || rotary.has_pair_factors || f.pairs() < 2) continue;
      if (of("rope.scaling.alpha").value_or(0) != 0) continue;  // changes the base
      auto const second = std::pow(value, -2 / dim);
      if (!(std::abs(f.inv_freq()[1] - second) <= 1e-9 * second)) return "inv_freq of pair 1";
    }
  }
  return "";
}
