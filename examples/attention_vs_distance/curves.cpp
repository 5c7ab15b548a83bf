#include "curves.hpp"

#include <algorithm>

#include "posenc/posenc.hpp"
#include "reporting/scale.hpp"

std::vector<curve> compute(model const& m, choice const& chosen,
                           posenc::profile_settings const& settings,
                           std::function<void(double)> const& progress) {
  using namespace posenc;
  std::vector<std::function<void()>> jobs;
  std::vector<curve> curves;
  double done = 0;
  auto const measure = [&](auto const& encoding, posenc::profile_settings const& at) {
    auto const before = done;
    auto profile = profile_distances(encoding, at, [&](std::size_t part, std::size_t whole) {
      done = before + static_cast<double>(part) / static_cast<double>(whole);
      progress(done / static_cast<double>(2 * jobs.size()));
    });
    return profile;
  };
  auto const add = [&](std::string name, bool own, auto const& encoding, std::size_t heads) {
    jobs.push_back([&, name, own, encoding, heads] {
      auto at = settings;
      at.heads = heads;
      auto plain = measure(encoding, at);
      curves.push_back(
          {name, own, std::move(plain), measure(scheme{encoding, adaptive_temperature{}}, at)});
    });
  };

  auto const add_p_rope = [&](double p) {
    add("p-RoPE " + charts::compact(p), m.p > 0 && p == m.p,
        rope<halves>(truncated(linear(geometric(settings.head_dim, m.base), m.factor), p)), 1);
  };

  auto const& [encodings, fractions, window, group] = chosen;
  rope<halves> const own_rope(linear(geometric(m.rotary_dim, m.base), m.factor));
  for (auto const& name : encodings) {
    auto const own = name == m.own;
    if (name == "rope") add("RoPE", own, own_rope, 1);
    if (name == "p-rope") {
      for (auto const p : fractions) add_p_rope(p);
    }
    if (name == "nope") add("NoPE", own, nope{}, 1);
    if (name == "alibi") add("ALiBi", own, alibi(settings.heads), settings.heads);
    if (name == "sinusoidal")
      add("sinusoidal", own,
          unprojected(sinusoidal<interleaved>(geometric(settings.head_dim, m.base))), 1);
    if (name == "rerope") add("ReRoPE " + std::to_string(window), own, rerope(own_rope, window), 1);
    if (name == "self-extend") {
      add("Self-Extend " + std::to_string(window) + ", " + std::to_string(group), own,
          self_extend(own_rope, window, group), 1);
    }
  }
  // The model's own fraction comes last, so that the others have the same colours for every model.
  if (m.p > 0 && std::ranges::count(encodings, "p-rope") && !std::ranges::count(fractions, m.p))
    add_p_rope(m.p);
  for (auto const& job : jobs) job();
  return curves;
}
