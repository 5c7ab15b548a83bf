#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "mistakes.hpp"

namespace conformance {
namespace {

double base_of(test_case const& c) { return c.setting("rope_theta", 0); }
double factor_of(test_case const& c) { return c.setting("factor", 1); }
double dims_of(test_case const& c) { return 2 * static_cast<double>(c.pairs.size()); }
bool is_axial(test_case const& c) { return c.settings.contains("axis_dims"); }

bool is_unscaled(test_case const& c, numbers const& f) {
  auto const before = unscaled(c);
  if (before.size() != f.size()) return false;
  for (std::size_t i = 0; i < f.size(); ++i)
    if (std::abs(f[i] - before[i]) > 1e-9 * before[i]) return false;
  return true;
}
bool is_scaled(test_case const& c) {
  return base_of(c) != 0 && !is_unscaled(c, c.expected.at("inv_freq"));
}

using change = void (*)(recipe&);
template <change Change>
void always(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  auto r = right;
  Change(r);
  to(r, "");
}

void with_frequencies(recipe const& right, numbers const& inv_freq, propose const& to,
                      std::string const& detail = "") {
  if (inv_freq.size() != right.inv_freq.size()) return;
  auto r = right;
  r.inv_freq = inv_freq;
  to(r, detail);
}

// --- layouts ---

// The dims of pairs, block by block, in one layout.
pair_list laid_out(test_case const& c, bool interleaved, std::size_t blocks) {
  auto const dims = 2 * c.pairs.size() / blocks;
  pair_list result;
  for (std::size_t b = 0; b < blocks; ++b) {
    auto const first = c.first_dim + b * dims;
    for (auto const& pair : interleaved ? interleaved_of(first, dims) : halves_of(first, dims))
      result.push_back(pair);
  }
  return result;
}

void interleaved_for_halves(test_case const& c, recipe const& right, set_facts const&,
                            propose const& to) {
  if (c.is_interleaved) return;
  auto r = right;
  r.pairs = laid_out(c, true, c.blocks);
  to(r, "");
}
void halves_for_interleaved(test_case const& c, recipe const& right, set_facts const&,
                            propose const& to) {
  if (!c.is_interleaved) return;
  auto r = right;
  r.pairs = laid_out(c, false, c.blocks);
  to(r, "");
}
void written_in_the_other_layout(test_case const& c, recipe const& right, set_facts const&,
                                 propose const& to) {
  auto r = right;
  r.written = laid_out(c, !c.is_interleaved, c.blocks);
  to(r, c.is_interleaved ? "interleaved pairs are written as halves"
                         : "halves are written as interleaved pairs");
}
void halves_within_axes(test_case const& c, recipe const& right, set_facts const&,
                        propose const& to) {
  if (!is_axial(c) || c.is_interleaved) return;
  auto const axes = c.settings.at("axis_dims").size();
  auto r = right;
  r.pairs = laid_out(c, false, c.blocks == 1 ? axes : 1);
  to(r, c.blocks == 1 ? "within each axis's block, where those of the whole head are meant"
                      : "of the whole head, where those within each axis's block are meant");
}

// --- parts of a head ---

bool is_part(test_case const& c) { return 2 * c.pairs.size() < c.head_dim && c.blocks == 1; }

void whole_head(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (!is_part(c) || base_of(c) == 0) return;
  auto r = right;
  r.inv_freq = series(base_of(c), static_cast<double>(c.head_dim), c.head_dim / 2);
  r.pairs = c.is_interleaved ? interleaved_of(0, c.head_dim) : halves_of(0, c.head_dim);
  r.axis_of_pair.assign(r.pairs.size(), 0);
  to(r, "");
}
void other_end(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (!is_part(c)) return;
  for (auto const first : {std::size_t{0}, c.head_dim - 2 * c.pairs.size()}) {
    if (first == c.first_dim) continue;
    auto r = right;
    for (auto& pair : r.pairs)
      for (auto& dim : pair) dim = dim - c.first_dim + first;
    to(r, first == 0 ? "the first dims" : "the last dims");
  }
}
void exponents_of_whole_head(test_case const& c, recipe const& right, set_facts const&,
                             propose const& to) {
  if (!is_part(c) || base_of(c) == 0) return;
  with_frequencies(right, series(base_of(c), static_cast<double>(c.head_dim), c.pairs.size()), to);
}
void halves_of_whole_head(test_case const& c, recipe const& right, set_facts const&,
                          propose const& to) {
  if (!is_part(c) || c.is_interleaved || c.first_dim != 0) return;
  auto r = right;
  for (auto& pair : r.pairs) pair[1] = pair[0] + c.head_dim / 2;
  to(r, "");
}
void p_rope_for_partial(test_case const& c, recipe const& right, set_facts const&,
                        propose const& to) {
  if (!is_part(c) || c.is_interleaved || c.first_dim != 0 || base_of(c) == 0) return;
  auto r = right;
  for (auto& pair : r.pairs) pair[1] = pair[0] + c.head_dim / 2;
  r.inv_freq = series(base_of(c), static_cast<double>(c.head_dim), c.pairs.size());
  to(r, "");
}
void partial_for_p_rope(test_case const& c, recipe const& right, set_facts const&,
                        propose const& to) {
  if (c.type != "proportional" && c.type != "truncated") return;
  auto const& f = right.inv_freq;
  auto const kept =
      static_cast<std::size_t>(std::ranges::count_if(f, [](double x) { return x != 0; }));
  auto r = right;
  r.inv_freq = series(base_of(c), static_cast<double>(2 * kept), kept);
  r.inv_freq.resize(f.size());
  auto const dims = c.is_interleaved ? interleaved_of(0, 2 * kept) : halves_of(0, 2 * kept);
  auto const rest = c.is_interleaved ? interleaved_of(2 * kept, c.head_dim - 2 * kept)
                                     : halves_of(2 * kept, c.head_dim - 2 * kept);
  r.pairs = dims;
  r.pairs.insert(r.pairs.end(), rest.begin(), rest.end());
  to(r, "");
}

// --- axes ---

void axes_ignored(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  for (std::size_t axis = 0; c.axes() > 1 && axis < c.axes(); ++axis) {
    auto r = right;
    r.axis_of_pair.assign(r.pairs.size(), axis);
    to(r, "all pairs rotate by axis " + std::to_string(axis));
  }
}
void axes_in_another_order(test_case const& c, recipe const& right, set_facts const&,
                           propose const& to) {
  if (c.axes() < 2) return;
  std::vector<std::size_t> order(c.axes());
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    auto r = right;
    std::string shown;
    for (auto const axis : order) shown += (shown.empty() ? "" : ", ") + std::to_string(axis);
    for (auto& axis : r.axis_of_pair) axis = order[axis];
    to(r, "axes " + shown + " where 0, 1 ... are meant");
  }
}
std::vector<std::size_t> pairs_by_axis(test_case const& c) {
  std::vector<std::size_t> result(c.axes());
  for (auto const axis : c.axis_of_pair) ++result[axis];
  return result;
}
void sections_for_alternating(test_case const& c, recipe const& right, set_facts const&,
                              propose const& to) {
  if (c.axes() < 2 || is_axial(c)) return;
  auto r = right;
  r.axis_of_pair.clear();
  auto const count = pairs_by_axis(c);
  for (std::size_t axis = 0; axis < count.size(); ++axis)
    r.axis_of_pair.insert(r.axis_of_pair.end(), count[axis], axis);
  r.axis_of_pair.resize(r.pairs.size());
  to(r, "");
}
void alternating_for_sections(test_case const& c, recipe const& right, set_facts const&,
                              propose const& to) {
  if (c.axes() != 3 || is_axial(c)) return;
  auto const count = pairs_by_axis(c);
  auto r = right;
  for (std::size_t i = 0; i < r.pairs.size(); ++i)
    r.axis_of_pair[i] = i % 3 != 0 && i < 3 * count[i % 3] ? i % 3 : 0;
  to(r, "");
}
void one_series_over_all_axes(test_case const& c, recipe const& right, set_facts const&,
                              propose const& to) {
  if (is_axial(c)) with_frequencies(right, series(base_of(c), dims_of(c), c.pairs.size()), to);
}
void series_by_axis(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (c.axes() < 2 || is_axial(c)) return;
  numbers inv_freq(c.pairs.size());
  auto const count = pairs_by_axis(c);
  std::vector<std::size_t> seen(c.axes());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    auto const axis = c.axis_of_pair[i];
    inv_freq[i] =
        std::pow(base_of(c), -static_cast<double>(seen[axis]++) / static_cast<double>(count[axis]));
  }
  with_frequencies(right, inv_freq, to);
}

// --- positions ---

template <int Shift>
void shifted(recipe& r) {
  for (auto& token : r.positions)
    for (auto& p : token) p += Shift;
}
void index_for_position(recipe& r) {
  for (std::size_t t = 0; t < r.positions.size(); ++t)
    r.positions[t].assign(r.positions[t].size(), static_cast<double>(t));
}
void positions_in_float(recipe& r) { r.of_positions = precision::float32; }
void positions_in_bfloat16(recipe& r) { r.of_positions = precision::bfloat16; }

// --- the rotation ---

void other_way(recipe& r) { r.sine_into_x = 1, r.sine_into_y = -1; }
void minus_missing(recipe& r) { r.sine_into_x = 1; }
void exchanged(recipe& r) { r.exchanges_cos_sin = true; }
void twice(recipe& r) { r.times = 2; }
void not_at_all(recipe& r) { r.times = 0; }

// --- the attention factor ---

bool has_factor(recipe const& r) { return r.attention_factor != 1; }

void inverse(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  if (!has_factor(right)) return;
  auto r = right;
  other_way(r);
  r.attention_factor = 1 / r.attention_factor;
  to(r, "");
}
void factor_missing(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  if (!has_factor(right)) return;
  auto r = right;
  r.attention_factor = 1;
  to(r, "");
}
void factor_twice(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  if (!has_factor(right)) return;
  auto r = right;
  r.attention_factor *= r.attention_factor;
  to(r, "");
}
template <precision P>
void factor_in(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  auto r = right;
  r.attention_factor = rounded(r.attention_factor, P);
  if (r.attention_factor != right.attention_factor) to(r, "");
}
void factor_on_all_dims(test_case const& c, recipe const& right, set_facts const&,
                        propose const& to) {
  if (!has_factor(right) || !is_part(c)) return;
  auto r = right;
  r.factor_of_rest = r.attention_factor;
  to(r, "");
}
void factor_of_plain_yarn(test_case const& c, recipe const& right, set_facts const&,
                          propose const& to) {
  if (c.type != "yarn" && c.type != "longrope") return;
  auto r = right;
  r.attention_factor = 0.1 * std::log(factor_of(c)) + 1;
  if (std::abs(r.attention_factor - right.attention_factor) > 1e-12) to(r, "");
}

// --- frequencies ---

void scaling_missing(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (is_scaled(c)) with_frequencies(right, unscaled(c), to);
}
void rule_missing(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (!is_scaled(c) || !has_factor(right)) return;
  auto r = right;
  r.attention_factor = 1;
  with_frequencies(r, unscaled(c), to);
}
void linear_for_rule(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (factor_of(c) == 1 || c.type == "linear") return;
  auto inv_freq = unscaled(c);
  for (auto& f : inv_freq) f /= factor_of(c);
  with_frequencies(right, inv_freq, to);
}
void ntk_for_rule(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (factor_of(c) == 1 || c.type == "ntk" || is_axial(c) || c.pairs.size() < 2) return;
  auto const d = dims_of(c);
  with_frequencies(right,
                   series(base_of(c) * std::pow(factor_of(c), d / (d - 2)), d, c.pairs.size()), to);
}
void scaling_twice(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (!is_scaled(c)) return;
  auto inv_freq = unscaled(c);
  for (std::size_t i = 0; i < inv_freq.size(); ++i)
    inv_freq[i] = right.inv_freq[i] * right.inv_freq[i] / inv_freq[i];
  with_frequencies(right, inv_freq, to);
}
void base_of_another(test_case const& c, recipe const& right, set_facts const& facts,
                     propose const& to) {
  if (!is_unscaled(c, right.inv_freq)) return;
  for (auto const base : facts.bases) {
    if (base == base_of(c)) continue;
    auto other = c;
    other.settings["rope_theta"] = {base};
    char text[60];
    std::snprintf(text, sizeof text, "%.15g where %.15g is meant", base, base_of(c));
    with_frequencies(right, unscaled(other), to, text);
  }
}
void both_ends(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (is_scaled(c) || base_of(c) == 0 || is_axial(c) || c.pairs.size() < 2) return;
  with_frequencies(right, series(base_of(c), dims_of(c) - 2, c.pairs.size()), to);
}
void exponents_from_1(test_case const& c, recipe const& right, set_facts const&,
                      propose const& to) {
  if (is_scaled(c) || base_of(c) == 0 || is_axial(c)) return;
  auto inv_freq = series(base_of(c), dims_of(c), c.pairs.size() + 1);
  inv_freq.erase(inv_freq.begin());
  with_frequencies(right, inv_freq, to);
}

// YaRN as coded.
numbers yarn(test_case const& c, bool truncate) {
  auto const d = dims_of(c), base = base_of(c),
             trained = c.setting("original_max_position_embeddings", c.trained);
  auto const pair_of = [&](double turns) {
    return d * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  auto low = pair_of(c.setting("beta_fast", 32)), high = pair_of(c.setting("beta_slow", 1));
  if (truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, d - 1);
  if (low == high) high += 0.001;
  auto inv_freq = unscaled(c);
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    auto const ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    auto const kept = (1 - ramp) * c.setting("extrapolation", 1);
    inv_freq[i] = inv_freq[i] / factor_of(c) * (1 - kept) + inv_freq[i] * kept;
  }
  return inv_freq;
}
numbers by_turns(test_case const& c, double slow, double fast) {
  auto const trained = c.setting("original_max_position_embeddings", c.trained);
  auto inv_freq = unscaled(c);
  for (auto& f : inv_freq) {
    auto const turns = trained * f / (2 * std::numbers::pi);
    auto const kept = std::clamp((turns - slow) / (fast - slow), 0.0, 1.0);
    f = f / factor_of(c) * (1 - kept) + f * kept;
  }
  return inv_freq;
}
void ramp_rounded(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (c.type == "yarn" && c.setting("truncate", 1) == 0) with_frequencies(right, yarn(c, true), to);
}
void ramp_not_rounded(test_case const& c, recipe const& right, set_facts const&,
                      propose const& to) {
  if (c.type == "yarn" && c.setting("truncate", 1) == 1)
    with_frequencies(right, yarn(c, false), to);
}
void published_ramp(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (c.type == "yarn") with_frequencies(right, by_turns(c, 1, 32), to);
}
void coded_ramp(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (c.type == "yarn_by_rotations" || c.type == "ntk_by_parts" || c.type == "llama3")
    with_frequencies(right, yarn(c, true), to);
}
void extrapolation_ignored(test_case const& c, recipe const& right, set_facts const&,
                           propose const& to) {
  if (c.type != "yarn" || c.setting("extrapolation", 1) == 1) return;
  auto other = c;
  other.settings["extrapolation"] = {1};
  with_frequencies(right, yarn(other, c.setting("truncate", 1) == 1), to);
}
void other_list(test_case const& c, recipe const& right, set_facts const&, propose const& to) {
  if (c.type != "longrope") return;
  bool const is_long = c.length > c.setting("original_max_position_embeddings", 0);
  auto inv_freq = unscaled(c);
  auto const& list = c.settings.at(is_long ? "short_factor" : "long_factor");
  for (std::size_t i = 0; i < inv_freq.size() && i < list.size(); ++i) inv_freq[i] /= list[i];
  with_frequencies(right, inv_freq, to, is_long ? "the short one" : "the long one");
}

// --- xPos ---

template <int Power>
void decay(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  if (right.gain_rates.empty()) return;
  auto r = right;
  r.gain_power = Power;
  to(r, "");
}

// --- precision ---

template <precision P>
void frequencies_in(recipe& r) {
  r.of_frequencies = P;
}
template <precision P>
void angles_in(test_case const&, recipe const& right, set_facts const&, propose const& to) {
  auto r = right;
  r.of_positions = r.of_frequencies = r.of_angles = P;
  to(r, "");
}
template <precision P>
void rows_in(recipe& r) {
  r.of_rows = P;
}
void loose_frequencies(recipe& r) { r.loose_frequencies = precision::float32; }
void loose_angles(recipe& r) { r.loose_angles = precision::float32; }
template <precision P>
void arithmetic_in(recipe& r) {
  r.loose_arithmetic = P;
}

}  // namespace

set_facts facts_of(std::vector<test_case> const& cases) {
  set_facts facts;
  for (auto const& c : cases)
    if (auto const base = c.setting("rope_theta", 0); base != 0) facts.bases.push_back(base);
  std::ranges::sort(facts.bases);
  facts.bases.erase(std::unique(facts.bases.begin(), facts.bases.end()), facts.bases.end());
  return facts;
}

std::vector<rotary_mistake> const& rotary_mistakes() {
  using enum precision;
  static std::vector<rotary_mistake> const all{
      {"halves-for-interleaved", "pairs are halves where interleaved dims are meant",
       halves_for_interleaved},
      {"interleaved-for-halves", "pairs are interleaved where halves are meant",
       interleaved_for_halves},
      {"written-in-other-layout", "pairs are read in one layout and written in the other",
       written_in_the_other_layout},
      {"halves-of-other-blocks", "pairs are the wrong halves", halves_within_axes},

      {"partial-ignored", "the whole head rotates where a part of it is meant", whole_head},
      {"partial-at-other-end", "the wrong end of the head rotates", other_end},
      {"exponents-of-whole-head",
       "exponents are of head_dim where those of the rotary dims are meant",
       exponents_of_whole_head},
      {"halves-of-whole-head",
       "pairs are (i, i + head_dim / 2) where halves of the rotary dims are meant",
       halves_of_whole_head},
      {"p-rope-for-partial", "p-RoPE where partial rotary is meant", p_rope_for_partial},
      {"partial-for-p-rope", "partial rotary where p-RoPE is meant", partial_for_p_rope},

      {"axes-ignored", "the axes of positions are ignored", axes_ignored},
      {"axes-in-other-order", "the axes are in another order", axes_in_another_order},
      {"sections-for-alternating", "axes lie in sections where alternating ones are meant",
       sections_for_alternating},
      {"alternating-for-sections",
       "axes alternate where sections are meant, or otherwise than meant",
       alternating_for_sections},
      {"one-series-over-axes", "one series of frequencies where each axis begins anew",
       one_series_over_all_axes},
      {"series-by-axis", "each axis begins its frequencies anew where one series is meant",
       series_by_axis},

      {"positions-from-1", "positions are one too large: they start at 1", always<shifted<1>>},
      {"positions-from-minus-1", "positions are one too small", always<shifted<-1>>},
      {"index-for-position", "the token's index stands for its position",
       always<index_for_position>},
      {"positions-in-float", "positions are rounded to float", always<positions_in_float>},
      {"positions-in-bfloat16", "positions are rounded to bfloat16", always<positions_in_bfloat16>},

      {"rotates-the-other-way", "the sine's sign is turned: the rotation goes the other way",
       always<other_way>},
      {"inverse-applied", "the inverse is applied: the other way, divided by the attention factor",
       inverse},
      {"minus-missing", "x' = x cos + y sin: the minus is missing", always<minus_missing>},
      {"cos-sin-exchanged", "cosine and sine are exchanged", always<exchanged>},
      {"rotated-twice", "the rotation is applied twice", always<twice>},
      {"not-rotated", "nothing rotates", always<not_at_all>},

      {"factor-missing", "the attention factor is not applied", factor_missing},
      {"factor-twice", "the attention factor is applied twice", factor_twice},
      {"factor-on-all-dims", "the attention factor is on the dims that do not rotate, too",
       factor_on_all_dims},
      {"factor-of-plain-yarn", "the attention factor is 0.1 ln(factor) + 1 where another is meant",
       factor_of_plain_yarn},

      {"scaling-missing", "the frequencies are not scaled", scaling_missing},
      {"rule-missing", "neither frequencies nor heads are scaled", rule_missing},
      {"linear-for-rule", "all frequencies are divided by the factor", linear_for_rule},
      {"ntk-for-rule", "the base is changed as by NTK", ntk_for_rule},
      {"scaling-twice", "the frequencies are scaled twice", scaling_twice},
      {"base-of-another", "the base is another", base_of_another},
      {"both-ends-included", "the exponents end at 1: divided by d/2 - 1 where d/2 is meant",
       both_ends},
      {"exponents-from-1", "the exponents start at the second pair's", exponents_from_1},
      {"ramp-rounded", "the ends of YaRN's ramp are rounded where truncate is false", ramp_rounded},
      {"ramp-not-rounded", "the ends of YaRN's ramp are not rounded", ramp_not_rounded},
      {"published-ramp", "YaRN's ramp runs over turns, as published, where the coded one is meant",
       published_ramp},
      {"coded-ramp", "the ramp runs over pairs, as in YaRN's code, where turns are meant",
       coded_ramp},
      {"extrapolation-ignored", "the extrapolation factor is ignored", extrapolation_ignored},
      {"other-list", "LongRoPE's other list of factors", other_list},

      {"decay-missing", "xPos's gain is not applied", decay<0>},
      {"decay-inverted", "xPos's gain is the reciprocal", decay<-1>},

      {"frequencies-in-float", "the frequencies are rounded to float",
       always<frequencies_in<float32>>},
      {"angles-in-float", "angles are formed in float", angles_in<float32>},
      {"frequencies-in-half", "the frequencies are rounded to half",
       always<frequencies_in<float16>>},
      {"frequencies-in-bfloat16", "the frequencies are rounded to bfloat16",
       always<frequencies_in<bfloat16>>},
      {"angles-in-bfloat16", "angles are formed in bfloat16", angles_in<bfloat16>},
      {"factor-in-half", "the attention factor is rounded to half", factor_in<float16>},
      {"factor-in-bfloat16", "the attention factor is rounded to bfloat16", factor_in<bfloat16>},
      {"rows-in-float", "cosines and sines are rounded to float", always<rows_in<float32>>},
      {"rows-in-half", "cosines and sines are rounded to half", always<rows_in<float16>>},
      {"rows-in-bfloat16", "cosines and sines are rounded to bfloat16", always<rows_in<bfloat16>>},
      {"frequencies-in-float", "the frequencies are computed in float", always<loose_frequencies>,
       true},
      {"angles-in-float", "angles are formed in float", always<loose_angles>, true},
      {"arithmetic-in-float", "the arithmetic is float's", always<arithmetic_in<float32>>, true},
      {"arithmetic-in-half", "the arithmetic is half's", always<arithmetic_in<float16>>, true},
      {"arithmetic-in-bfloat16", "the arithmetic is bfloat16's", always<arithmetic_in<bfloat16>>,
       true},
  };
  return all;
}

}  // namespace conformance
