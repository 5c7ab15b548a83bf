// From how layers rotate to the keys of a GGUF file, or to its tensors of factors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/core/target.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/linear.hpp"
#include "posenc/frequency/yarn.hpp"
#include "posenc/model/gguf/draft.hpp"
#include "posenc/model/gguf/rope_words.hpp"
#include "posenc/model/layer_description.hpp"

namespace posenc::inline POSENC_TARGET {
namespace detail {

/// Whether the frequencies of a model are written by the keys of their rule, or as a factor for
/// each pair, in the tensor rope_freqs.
enum class gguf_rope_form { by_keys, by_factors };

/// The layers that the keys of rotation tell of: those that see all keys, and those that slide.
struct gguf_rotating_layers {
  layer_description const* full = nullptr;
  layer_description const* sliding = nullptr;
  std::size_t most_pairs = 0;  ///< of any layer
};

class gguf_rope_writer {
 public:
  gguf_rope_writer(gguf_draft& draft, gguf_rotating_layers const& layers)
      : draft_(draft), known_(draft.known), layers_(layers) {}

  void write(gguf_rope_form form) {
    auto const* const main = layers_.full != nullptr ? layers_.full : layers_.sliding;
    if (main == nullptr || main->rotary.size() != 1) return;
    auto const& rotary = main->rotary[0];
    write_dims(rotary);
    write_bases(rotary);
    if (draft_.reads("rope.dimension_sections") && rotary.axes) write_sections(*rotary.axes);
    if (known_.unscaled) return;
    if (form == gguf_rope_form::by_keys) {
      write_rule(rotary);
    } else {
      write_factors(rotary);
    }
  }

 private:
  static std::size_t dims_of(rotary_description const& rotary) {
    return rotary.frequencies.at(1).rotary_dim();
  }
  rotary_description const* sliding() const {
    return layers_.sliding == nullptr ? nullptr : &layers_.sliding->rotary.at(0);
  }

  void write_dims(rotary_description const& main) {
    if (known_.whole_head) return;
    bool const is_half = known_.half_on_full && layers_.full != nullptr;
    auto const dims = dims_of(main) * (is_half ? 2 : 1);
    draft_.set_count("rope.dimension_count", dims);
    if (sliding() != nullptr && dims_of(*sliding()) != dims) {
      draft_.set_count("rope.dimension_count_swa", dims_of(*sliding()));
    }
  }

  void write_bases(rotary_description const& main) {
    auto const base_of = [](rotary_description const& rotary) {
      return rope_words(rotary).number("rope_theta");
    };
    auto const base = base_of(main);
    auto const local = sliding() == nullptr ? std::nullopt : base_of(*sliding());
    if (known_.compressed && base) {
      if (layers_.full != nullptr) draft_.set_number("attention.compress_rope_freq_base", *base);
      if (local) draft_.set_number("rope.freq_base", *local);
      return;
    }
    if (base) draft_.set_number("rope.freq_base", *base);
    if (local && draft_.reads("rope.freq_base_swa"))
      draft_.set_number("rope.freq_base_swa", *local);
  }

  void write_sections(pair_axes const& axes) {
    std::vector<std::int32_t> sections(std::max<std::size_t>(axes.axes(), 4), 0);
    for (std::size_t i = 0; i < axes.pairs(); ++i) ++sections[axes.axis(i)];
    draft_.set_list("rope.dimension_sections", std::move(sections));
  }

  void write_rule(rotary_description const& rotary) {
    rope_words const words(rotary);
    auto const gain = rotary.frequencies.at(1).attention_factor();
    if (rotary.rule == "yarn") return write_yarn(words, gain);
    if (rotary.rule == "longrope") return write_longrope(words, gain);
    if (auto const factor = words.number("factor").value_or(1);
        factor != 1 && rotary.rule == "linear") {
      draft_.set("rope.scaling.type", std::string("linear"));
      draft_.set_number("rope.scaling.factor", factor);
    }
    write_alpha(words, dims_of(rotary));
    draft_.set_unless("rope.scaling.attn_factor", gain, 1);
  }

  /// NTK by a factor of the base. Where llama.cpp does not read it, the base that it gives.
  void write_alpha(rope_words const& words, std::size_t dims) {
    auto const inside = words.number("alpha");
    auto const alpha = inside ? inside : words.number("rope.scaling.alpha");
    auto const base = words.number("rope_theta");
    if (!alpha || !base) return;
    if (draft_.reads("rope.scaling.alpha")) return draft_.set_number("rope.scaling.alpha", *alpha);
    auto const d = static_cast<double>(dims);
    if (dims > 2) draft_.set_number("rope.freq_base", *base * std::pow(*alpha, d / (d - 2)));
  }

  void write_yarn(rope_words const& words, double gain) {
    auto const factor = words.number("factor").value_or(1);
    auto const original = words.number("original_max_position_embeddings").value_or(1);
    draft_.set("rope.scaling.type", std::string("yarn"));
    draft_.set_number("rope.scaling.factor", factor);
    draft_.set_length("rope.scaling.original_context_length", original);
    if (draft_.reads("rope.scaling.yarn_beta_fast")) {
      draft_.set_number("rope.scaling.yarn_beta_fast", words.number("beta_fast").value_or(32));
      draft_.set_number("rope.scaling.yarn_beta_slow", words.number("beta_slow").value_or(1));
    }
    auto const share = words.number("rope.scaling.yarn_ext_factor");
    if (share && draft_.reads("rope.scaling.yarn_ext_factor")) {
      draft_.set_number("rope.scaling.yarn_ext_factor", *share);
    }
    if (draft_.reads("rope.scaling.alpha")) write_alpha(words, 0);
    if (known_.compressed) return;  // its attention factor is 1
    auto const own = write_mscale(words, factor);
    draft_.set_unless("rope.scaling.attn_factor", gain / own, 1);
  }

  /// Writes mscale_all_dim, and returns the attention factor that llama.cpp then computes.
  double write_mscale(rope_words const& words, double factor) {
    constexpr std::string_view key = "rope.scaling.yarn_log_multiplier";
    auto const all_dim = words.number("mscale_all_dim").value_or(0);
    if (all_dim == 0 || !draft_.reads(key)) return yarn_magnitude(factor);
    auto const unit = known_.mscale_on_scores ? 10.0 : 1.0;
    auto const written = static_cast<float>(all_dim / unit);
    draft_.set(key, written);
    if (known_.mscale_is_all_dim) return 1;
    return yarn_magnitude(factor) / yarn_magnitude(factor, unit * double{written});
  }

  void write_longrope(rope_words const& words, double gain) {
    auto const shorts = words.numbers("short_factor"), longs = words.numbers("long_factor");
    auto const original = words.number("original_max_position_embeddings");
    if (!draft_.reads(gguf_group::length_factors) || !shorts || !longs || !original) return;
    draft_.set("rope.scaling.type", std::string("longrope"));
    draft_.set_length("rope.scaling.original_context_length", *original);
    draft_.set_number("rope.scaling.attn_factor", gain);
    if (auto const factor = words.number("rope.scaling.factor")) {
      draft_.set_number("rope.scaling.factor", *factor);
    }
    draft_.set_tensor("rope_factors_short.weight", *shorts);
    draft_.set_tensor("rope_factors_long.weight", *longs);
  }

  /// What divides the frequencies of the rule where the model has such factors, else what makes the
  /// frequencies of the base into those of the rule. 1e30 leaves none.
  void write_factors(rotary_description const& rotary) {
    auto const f = rotary.frequencies.at(1);
    rope_words const words(rotary);
    auto const base = words.number("rope_theta");
    bool const has_one_size = sliding() == nullptr || known_.local_base != 0 ||
                              known_.shared_factors || dims_of(*sliding()) == f.rotary_dim();
    if (!base || !has_one_size) return;
    auto const undivided = rotary.has_pair_factors ? by_rule(rotary.rule, words, f.rotary_dim())
                                                   : geometric(f.rotary_dim(), *base);
    std::vector<double> factors;
    for (std::size_t i = 0; i < f.pairs(); ++i) {
      auto const inv_freq = f.inv_freq()[i];
      factors.push_back(inv_freq == 0 ? 1e30 : undivided.inv_freq()[i] / inv_freq);
    }
    if (known_.shared_factors && factors.size() < layers_.most_pairs) {
      factors.resize(layers_.most_pairs, 1);
    }
    draft_.set_tensor("rope_freqs.weight", factors);
    if (rotary.has_pair_factors) return write_rule(rotary);
    draft_.set_unless("rope.scaling.attn_factor", f.attention_factor(), 1);
  }

  static frequencies by_rule(std::string_view rule, rope_words const& words, std::size_t dims) {
    auto const number = [&](char const* key, double absent) {
      return words.number(key).value_or(absent);
    };
    auto const base = number("rope_theta", 1e4), factor = number("factor", 1);
    if (rule != "yarn") return linear(geometric(dims, base), factor);
    return yarn(dims, base,
                {.factor = factor,
                 .original_length = number("original_max_position_embeddings", 1),
                 .beta_fast = number("beta_fast", 32),
                 .beta_slow = number("beta_slow", 1),
                 .extrapolation = number("rope.scaling.yarn_ext_factor", 1)});
  }

  gguf_draft& draft_;
  gguf_architecture const& known_;
  gguf_rotating_layers layers_;
};

}  // namespace detail
}  // namespace posenc
