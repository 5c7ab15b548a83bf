#include "curves.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "posenc/model/layer_scheme.hpp"
#include "posenc/posenc.hpp"
#include "reporting/scale.hpp"

namespace {

using namespace posenc;

// A bias by any rule: one type, so that attention is compiled for it once.
struct any_bias {
  std::function<double(std::size_t head, std::int64_t distance)> of;
  double bias(std::size_t head, std::int64_t distance) const { return of(head, distance); }
};

// The curves to be measured, one after another.
class jobs {
 public:
  jobs(profile_settings const& settings, bool heads_apart,
       std::function<void(double)> const& progress)
      : settings_(settings), heads_apart_(heads_apart), progress_(progress) {}

  void add(std::string name, bool own, auto const& encoding, std::size_t heads = 1) {
    auto at = settings_;
    at.heads = heads;
    jobs_.push_back([this, name = std::move(name), own, encoding, at] {
      auto plain = measure(encoding, at);
      curves_.push_back(
          {name, own, std::move(plain), measure(scheme{encoding, adaptive_temperature{}}, at)});
    });
  }

  void add_bias(std::string const& name, bool own, auto const& rule, std::size_t heads) {
    if (!heads_apart_) {
      return add(name, own,
                 any_bias{[rule](std::size_t h, std::int64_t r) { return rule.bias(h, r); }},
                 heads);
    }
    auto const shown = std::min<std::size_t>(heads, 8);
    for (std::size_t i = 0; i < shown; ++i) {
      auto const head = shown == 1 ? 0 : i * (heads - 1) / (shown - 1);
      add(name + ", head " + std::to_string(head), own,
          any_bias{[rule, head](std::size_t, std::int64_t r) { return rule.bias(head, r); }});
    }
  }

  // As far as this from here on.
  void set_range(std::size_t range) { settings_.range = range; }

  std::vector<curve> run() {
    for (auto const& job : jobs_) job();
    return std::move(curves_);
  }

 private:
  distance_profile measure(auto const& encoding, profile_settings const& at) {
    auto const before = done_;
    return profile_distances(encoding, at, [&](std::size_t part, std::size_t whole) {
      done_ = before + static_cast<double>(part) / static_cast<double>(whole);
      progress_(done_ / static_cast<double>(2 * jobs_.size()));
    });
  }

  profile_settings settings_;
  bool heads_apart_;
  std::function<void(double)> const& progress_;
  std::vector<std::function<void()>> jobs_ = {};
  std::vector<curve> curves_ = {};
  double done_ = 0;
};

}  // namespace

std::vector<curve> compute(model const& m, choice const& chosen, profile_settings const& settings,
                           std::function<void(double)> const& progress) {
  auto const& [encodings, fractions, window, group, heads_apart] = chosen;
  jobs all(settings, heads_apart, progress);
  auto const add_p_rope = [&](double p) {
    all.add("p-RoPE " + charts::compact(p), m.p > 0 && p == m.p,
            rope<halves>(truncated(linear(geometric(settings.head_dim, m.base), m.factor), p)));
  };
  rope<halves> const own_rope(linear(geometric(m.rotary_dim, m.base), m.factor));
  auto const heads = settings.heads;
  for (auto const& name : encodings) {
    auto const own = name == m.own;
    if (name == "rope") all.add("RoPE", own, own_rope);
    if (name == "p-rope") {
      for (auto const p : fractions) add_p_rope(p);
    }
    if (name == "nope") all.add("NoPE", own, nope{});
    if (name == "alibi") all.add_bias("ALiBi", own, alibi(heads), heads);
    if (name == "kerple-log")
      all.add_bias("KERPLE, logarithm", own, kerple_log(std::vector<kerple_log_head>{{1, 1}}), 1);
    if (name == "kerple-power")
      all.add_bias("KERPLE, power", own, kerple_power(std::vector<kerple_power_head>{{1, 1}}), 1);
    if (name == "sandwich") all.add_bias("Sandwich", own, sandwich(heads), heads);
    if (name == "xpos") {  // centred, so that double holds the gains of twice as many tokens
      all.add("xPos", own,
              xpos<halves>(linear(geometric(m.rotary_dim, m.base), m.factor),
                           {.center = static_cast<std::int64_t>(settings.range / 2)}));
    }
    if (name == "sinusoidal")
      all.add("sinusoidal", own,
              unprojected(sinusoidal<interleaved>(geometric(settings.head_dim, m.base))));
    if (name == "rerope")
      all.add("ReRoPE " + std::to_string(window), own, rerope(own_rope, window));
    if (name == "self-extend") {
      all.add("Self-Extend " + std::to_string(window) + ", " + std::to_string(group), own,
              self_extend(own_rope, window, group));
    }
  }
  // The model's own fraction comes last, so that the others have the same colours for every model.
  if (m.p > 0 && std::ranges::count(encodings, "p-rope") && !std::ranges::count(fractions, m.p))
    add_p_rope(m.p);
  return all.run();
}

std::vector<curve> compute_layers(model_description const& m, bool heads_apart,
                                  profile_settings const& settings,
                                  std::function<void(double)> const& progress) {
  jobs all(settings, heads_apart, progress);
  for (auto const& kind : m.kinds) {
    all.set_range(std::min({settings.range, kind.window.value_or(settings.range),
                            kind.chunk.value_or(settings.range)}));
    bool const only_biases = kind.rotary.empty() && kind.alibi && kind.softmax_factor == 1 &&
                             !kind.temperature && !kind.score_cap;
    if (only_biases) {
      all.add_bias(kind.name, true, kind.alibi->encoding(), kind.alibi->heads);
    } else {
      all.add(kind.name, true, layer_scheme(kind, settings.range),
              kind.alibi ? kind.alibi->heads : 1);
    }
  }
  return all.run();
}
