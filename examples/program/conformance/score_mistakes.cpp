#include <algorithm>
#include <cmath>
#include <cstddef>

#include "mistakes.hpp"

namespace conformance {
namespace {

numbers slopes_of(double heads, double max_bias) {
  auto const power = std::exp2(std::floor(std::log2(heads)));
  numbers result;
  for (int head = 0; head < static_cast<int>(heads); ++head) {
    auto const h = static_cast<double>(head), steps = h < power ? h + 1 : h - power + 0.5;
    result.push_back(std::exp2(-max_bias * steps / power));
  }
  return result;
}

double bucket_of(double distance, double buckets, double farthest, bool on_both_sides) {
  auto const side = on_both_sides ? buckets / 2 : buckets, exact = std::floor(side / 2);
  auto const far = on_both_sides ? std::abs(distance) : std::max(distance, 0.0);
  auto const step =
      far < exact
          ? far
          : std::min(side - 1, exact + std::floor(std::log(far / exact) /
                                                      std::log(farthest / exact) * (side - exact) +
                                                  1e-9));
  return step + (on_both_sides && distance < 0 ? side : 0);
}

answers with_slopes(test_case const& c, numbers const& slopes) {
  answers result{{"slopes", slopes}, {"bias", {}}};
  for (auto const slope : slopes)
    for (auto const d : c.distances) result["bias"].push_back(-slope * std::abs(d));
  return result;
}

bool is(test_case const& c, char const* type) { return c.type == type; }

test_case with(test_case c, char const* key, double value) {
  c.settings[key] = {value};
  return c;
}

answers sign_turned(test_case const& c) {
  if (!c.expected.contains("bias")) return {};
  auto result = c.expected;
  for (auto& x : result["bias"]) x = -x;
  return result;
}
answers slopes_from_1(test_case const& c) {
  if (!is(c, "alibi")) return {};
  auto slopes = slopes_of(c.setting("heads", 1), c.setting("max_bias", 8));
  auto const ratio =
      std::exp2(c.setting("max_bias", 8) / std::exp2(std::floor(std::log2(c.setting("heads", 1)))));
  for (auto& x : slopes) x *= ratio;
  return with_slopes(c, slopes);
}
answers one_series_of_slopes(test_case const& c) {
  auto const heads = c.setting("heads", 1);
  if (!is(c, "alibi") || std::exp2(std::floor(std::log2(heads))) == heads) return {};
  numbers slopes;
  for (int h = 0; h < static_cast<int>(heads); ++h)
    slopes.push_back(std::exp2(-c.setting("max_bias", 8) * (h + 1) / heads));
  return with_slopes(c, slopes);
}
answers max_bias_ignored(test_case const& c) {
  if (!is(c, "alibi") || c.setting("max_bias", 8) == 8) return {};
  return scores_of(with(c, "max_bias", 8));
}
answers other_direction(test_case const& c) {
  if (!is(c, "t5_buckets")) return {};
  auto turned = c;
  for (auto& d : turned.distances) d = -d;
  return scores_of(turned);
}
answers sides_mistaken(test_case const& c) {
  if (!is(c, "t5_buckets")) return {};
  return scores_of(with(c, "bidirectional", 1 - c.setting("bidirectional", 0)));
}
answers parameters_exchanged(test_case const& c) {
  auto turned = c;
  if (is(c, "kerple_log")) std::swap(turned.settings["coefficient"], turned.settings["rate"]);
  if (is(c, "kerple_power")) std::swap(turned.settings["coefficient"], turned.settings["exponent"]);
  return is(c, "kerple_log") || is(c, "kerple_power") ? scores_of(turned) : answers{};
}
answers cap_missing(test_case const& c) {
  return is(c, "soft_cap") ? answers{{"capped", c.scores}} : answers{};
}
answers cap_clips(test_case const& c) {
  if (!is(c, "soft_cap")) return {};
  auto result = c.scores;
  for (auto& x : result) x = std::clamp(x, -c.setting("cap", 1), c.setting("cap", 1));
  return {{"capped", result}};
}
answers position_shifted(test_case const& c) {
  if (!is(c, "position_temperature")) return {};
  return scores_of(with(c, "offset", 1 - c.setting("offset", 0)));
}
answers temperature_missing(test_case const& c) {
  if (!is(c, "position_temperature")) return {};
  return {{"factors", numbers(c.positions.front().size(), 1)}};
}
answers distance_shifted(test_case const& c) {
  if (c.distances.empty() || is(c, "t5_buckets")) return {};
  auto shifted = c;
  for (auto& d : shifted.distances) d += 1;
  return scores_of(shifted);
}

}  // namespace

answers scores_of(test_case const& c) {
  answers result;
  if (is(c, "alibi"))
    return with_slopes(c, slopes_of(c.setting("heads", 1), c.setting("max_bias", 8)));
  if (is(c, "t5_buckets")) {
    for (auto const d : c.distances) {
      result["buckets"].push_back(bucket_of(d, c.setting("buckets", 32),
                                            c.setting("max_distance", 128),
                                            c.setting("bidirectional", 0) == 1));
    }
  }
  if (is(c, "kerple_log") || is(c, "kerple_power")) {
    bool const is_log = is(c, "kerple_log");
    auto const &coefficient = c.settings.at("coefficient"),
               &shape = c.settings.at(is_log ? "rate" : "exponent");
    for (std::size_t h = 0; h < coefficient.size(); ++h) {
      for (auto const d : c.distances) {
        auto const far = std::abs(d);
        result["bias"].push_back(-coefficient[h] *
                                 (is_log ? std::log1p(shape[h] * far) : std::pow(far, shape[h])));
      }
    }
  }
  if (is(c, "soft_cap")) {
    auto const cap = c.setting("cap", 1);
    for (auto const x : c.scores) result["capped"].push_back(cap * std::tanh(x / cap));
  }
  if (is(c, "position_temperature")) {
    for (auto const p : c.positions.front()) {
      auto const floors = std::floor((p + c.setting("offset", 0)) / c.setting("floor_scale", 1));
      result["factors"].push_back(1 + c.setting("scale", 0) * std::log1p(floors));
    }
  }
  return result;
}

std::vector<score_mistake> const& score_mistakes() {
  static std::vector<score_mistake> const all{
      {"bias-sign-turned", "the sign of the bias is turned: far keys gain", sign_turned},
      {"slopes-from-1", "the slopes start at 1, one head early", slopes_from_1},
      {"one-series-of-slopes", "the slopes are one series where heads are no power of two",
       one_series_of_slopes},
      {"max-bias-ignored", "max_bias is ignored: the slopes are those of 8", max_bias_ignored},
      {"distance-shifted", "distances are one too large", distance_shifted},
      {"direction-turned", "the direction is turned: key - query where query - key is meant",
       other_direction},
      {"sides-mistaken", "buckets for one side where both sides are meant, or the reverse",
       sides_mistaken},
      {"parameters-exchanged", "the two learned numbers of a head are exchanged",
       parameters_exchanged},
      {"cap-missing", "scores are not capped", cap_missing},
      {"cap-clips", "scores are clipped where tanh is meant", cap_clips},
      {"position-shifted", "the position is one off", position_shifted},
      {"temperature-missing", "the temperature is not applied", temperature_missing},
  };
  return all;
}

}  // namespace conformance
