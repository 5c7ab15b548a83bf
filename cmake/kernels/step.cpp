// The C API: a step, and caches. Checks its arguments, in O(tokens), and hands plans to the set.
#include <algorithm>
#include <cstdint>
#include <span>

#include "checked_cache.hpp"
#include "checked_heads.hpp"
#include "handles.hpp"

namespace posenc_kernels {
namespace {

/// What errors call the heads of a step.
struct names_of_set {
  char const *set, *from, *from_cache, *to, *to_cache;
};
struct names_of_step {
  char const* function;
  names_of_set sets[3];
};
constexpr names_of_step step_names{
    "posenc1_write_step",
    {{"queries", "queries.from", "queries.from_cache", "queries.to", "queries.to_cache"},
     {"keys", "keys.from", "keys.from_cache", "keys.to", "keys.to_cache"},
     {"values", "values.from", "values.from_cache", "values.to", "values.to_cache"}}};
constexpr names_of_step reading_names{"posenc1_read_cache",
                                      {{}, {}, {"cache", "", "cache", "numbers", ""}}};

checked_place view_of(heads_name what, posenc1_heads const& given, heads_shape const& shape,
                      bool written) {
  require(bits_of(given.type) != POSENC1_F64, what.function, ": ", what.heads,
          ": type must be float or of 16 bits, got double, which posenc1_rotate takes");
  return place_of(what, given, shape, written);
}

/// One set of heads, checked by itself.
struct checked_set {
  posenc1_step_heads const* given;
  checked_place from, to[2];
  std::size_t targets;
  bool rotates;
  step_plan plan;
};

void check_norm(heads_name what, posenc1_norm const& norm, step_plan& plan) {
  auto const kind = bits_of(norm.kind), place = bits_of(norm.place),
             eps_place = bits_of(norm.eps_place), type = bits_of(norm.weight_type);
  auto const eps = static_cast<float>(norm.eps);
  if (is_zero(norm.eps)) {
    require(norm.weight == nullptr, what.function, ": ", what.heads,
            ": eps of the norm must be given where weights are");
    return;
  }
  require(posenc::is_finite(static_cast<double>(eps)) && eps > 0, what.function, ": ", what.heads,
          ": eps of the norm must be finite and positive as float, or 0 for no norm, got ",
          norm.eps);
  require(
      kind <= POSENC1_L2 && place <= POSENC1_AFTER_ROTATION && eps_place <= POSENC1_EPS_AT_LEAST,
      what.function, ": ", what.heads,
      ": kind, place and eps_place of the norm must be ones of the header, got ", kind, ", ", place,
      " and ", eps_place);
  require(norm.weight == nullptr || (type < types && type != POSENC1_F64), what.function, ": ",
          what.heads, ": weights of the norm must be float or of 16 bits, got type ", type);
  require_aligned(what.function, "weight", norm.weight,
                  norm.weight == nullptr ? 1 : size_of(norm.weight_type));
  plan.norm = {
      eps,  kind == POSENC1_L2, place == POSENC1_AFTER_ROTATION, norm.plus_one != 0, eps_place,
      type, norm.weight};
}

checked_set checked(names_of_step const& names, std::size_t which, posenc1_step_heads const& heads,
                    posenc1_step const& step, std::size_t pairs) {
  auto const& name = names.sets[which];
  auto const* const function = names.function;
  checked_set set{&heads, {}, {}, 0, which < 2, {}};
  require(heads.head_dim > 0 && heads.head_dim <= most_head_dim, function, ": ", name.set,
          ": head_dim must be positive and at most ", most_head_dim, ", got ", heads.head_dim);
  require((heads.from.data != nullptr) != (heads.from_cache.data != nullptr), function, ": ",
          name.set, ": there must be one source, from or from_cache");
  heads_shape const shape{1, step.tokens, heads.heads, heads.head_dim};
  bool const stays = heads.to.data == nullptr && heads.to_cache.data == nullptr;
  set.from = heads.from.data != nullptr
                 ? view_of({function, name.from}, heads.from, shape, stays)
                 : place_of({function, name.from_cache}, heads.from_cache, shape, stays);
  if (heads.to.data != nullptr)
    set.to[set.targets++] = view_of({function, name.to}, heads.to, shape, true);
  if (heads.to_cache.data != nullptr)
    set.to[set.targets++] = place_of({function, name.to_cache}, heads.to_cache, shape, true);
  require(
      set.targets < 2 || (set.to[0].is_apart(set.to[1]) && set.to[0].layout == set.to[1].layout),
      function, ": ", name.set, ": to and to_cache must have one layout and not overlap");
  if (stays) set.to[set.targets++] = set.from;
  for (std::size_t i = 0; i < set.targets; ++i)
    require(set.from.is(set.to[i]) || set.from.is_apart(set.to[i]), function, ": ", name.set,
            ": source and target must not overlap, unless they are the same heads");

  auto& plan = set.plan;
  check_norm({function, name.set}, heads.norm, plan);
  auto const scale = static_cast<float>(heads.scale);
  require(posenc::is_finite(static_cast<double>(scale)), function, ": ", name.set,
          ": scale must be finite, got ", heads.scale);
  auto const rounded = bits_of(heads.rounded_type);
  require(heads.rounding <= POSENC1_ROUND_HUGGING_FACE &&
              (heads.rounding == 0 || rounded == POSENC1_F16 || rounded == POSENC1_BF16),
          function, ": ", name.set,
          ": rounding must be a sum of points, to a type of 16 bits, got ", heads.rounding,
          " to type ", rounded);
  plan.from = set.from.stored(), plan.targets = set.targets;
  for (std::size_t i = 0; i < set.targets; ++i) plan.to[i] = set.to[i].stored();
  plan.tokens = step.tokens, plan.heads = heads.heads, plan.head_dim = heads.head_dim;
  plan.from_layout = set.from.layout, plan.to_layout = set.to[0].layout;
  plan.scale = is_zero(heads.scale) ? 1 : scale;
  plan.rounding = heads.rounding, plan.rounded_type = rounded;
  if (set.rotates) {
    require(pairs <= heads.head_dim / 2 && (heads.first_dim == POSENC1_LAST_DIMS ||
                                            heads.first_dim <= heads.head_dim - 2 * pairs),
            function, ": ", name.set, ": the rotary block must lie within the head, got ",
            2 * pairs, " dims from dim ", heads.first_dim, " of head_dim ", heads.head_dim);
    plan.first_dim =
        heads.first_dim == POSENC1_LAST_DIMS ? heads.head_dim - 2 * pairs : heads.first_dim;
    plan.pairs = pairs, plan.cos_sin = step.cos_sin;
  }
  return set;
}

struct part {
  std::size_t first, count;
};
/// Part i of n of some things.
part part_of(std::size_t things, std::size_t i, std::size_t n) noexcept {
  auto const least = things / n, more = things % n;
  return {least * i + std::min(i, more), least + (i < more ? 1 : 0)};
}

/// From one view to another, of types that rotate has, as rotate does; false: not so.
bool rotates_alone(checked_set const& set, posenc1_step const& step, std::size_t i, std::size_t n) {
  auto const& h = *set.given;
  auto const& norm = set.plan.norm;
  auto const from = set.from.format, to = set.to[0].format;
  bool const plain = set.rotates && set.targets == 1 && !set.from.is_cache && !set.to[0].is_cache &&
                     (from == to || from == POSENC1_F32 || to == POSENC1_F32) && h.rounding == 0 &&
                     !norm.l2 && !norm.after && !norm.plus_one &&
                     norm.eps_place == POSENC1_EPS_INSIDE &&
                     (norm.weight == nullptr || norm.weight_type == POSENC1_F32);
  if (!plain) return false;
  posenc1_rotation r{};
  r.from = h.from, r.to = h.to;
  r.tokens = step.tokens, r.heads = h.heads, r.head_dim = h.head_dim, r.first_dim = h.first_dim;
  r.cos_sin = step.cos_sin, r.rows = step.tokens, r.pairs = set.plan.pairs, r.maker = step.maker;
  r.eps = h.norm.eps, r.weight = norm.weight, r.scale = h.scale;
  auto const [first, count] = part_of(step.tokens * h.heads, i, n);
  rotate(r, first, first + count);
  return true;
}

void write_step(names_of_step const& names, posenc1_step const& step, std::size_t i,
                std::size_t n) {
  auto const* const function = names.function;
  auto const& chosen = chosen_set();
  require(i < n, function, ": part must be below parts, got ", i, " of ", n);
  posenc1_step_heads const* const all[] = {&step.queries, &step.keys, &step.values};
  bool const rotates = step.queries.heads != 0 || step.keys.heads != 0;
  if (step.tokens == 0) return;
  std::size_t pairs = 0;
  if (rotates) {
    pairs = step.pairs == 0 && step.maker != nullptr ? step.maker->pairs : step.pairs;
    require(pairs > 0 && (step.maker == nullptr || pairs == step.maker->pairs), function,
            ": pairs must be positive, and the maker's if it is given, got ", pairs);
    require(step.cos_sin != nullptr, function, ": cos_sin must not be null");
    require_aligned(function, "cos_sin", step.cos_sin, sizeof(float));
  }
  checked_set sets[3];
  std::size_t count = 0;
  for (std::size_t which = 0; which < 3; ++which) {
    auto const& set = *all[which];
    require(set.heads != 0 || set.from.data == nullptr, function, ": ", names.sets[which].set,
            ": heads must be positive where there is data, got 0");
    if (set.heads != 0) sets[count++] = checked(names, which, set, step, pairs);
  }
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      for (std::size_t t = 0; a != b && t < sets[a].targets; ++t) {
        auto const& target = sets[a].to[t];
        bool is_apart = target.is_apart(sets[b].from);
        for (std::size_t u = 0; u < sets[b].targets; ++u)
          is_apart = is_apart && target.is_apart(sets[b].to[u]);
        require(is_apart, function,
                ": heads that one set writes must not overlap those of another");
      }
    }
  }

  pair_range const every{0, pairs};
  auto* const run = chosen.step != nullptr ? chosen.step : chosen.fewer->step;
  for (std::size_t s = 0; s < count; ++s) {
    auto& set = sets[s];
    if (rotates_alone(set, step, i, n)) continue;
    auto& plan = set.plan;
    plan.rotated = step.maker != nullptr ? step.maker->rotated : &every;
    plan.rotated_count = step.maker != nullptr ? step.maker->rotated_count : 1;
    bool const by_tokens = plan.tokens >= n || plan.tokens >= plan.heads;
    auto const [first, size] = part_of(by_tokens ? plan.tokens : plan.heads, i, n);
    (by_tokens ? plan.token : plan.head) = first, (by_tokens ? plan.tokens : plan.heads) = size;
    if (size != 0) run(plan);
  }
}

}  // namespace
}  // namespace posenc_kernels

using namespace posenc_kernels;

posenc1_status posenc1_format_bytes(posenc1_format format, size_t head_dim, size_t* bytes,
                                    size_t* scale_bytes) {
  return guarded([&] {
    constexpr auto function = "posenc1_format_bytes";
    require_given(function, bytes, scale_bytes);
    require_dim(function, "head_dim", head_dim);
    auto const sizes = sizes_of({function, "head"}, format, head_dim);
    *bytes = sizes.codes, *scale_bytes = sizes.scales;
  });
}

posenc1_status posenc1_write_step(posenc1_step const* step, size_t part, size_t parts) {
  return guarded([&] {
    require_given(step_names.function, step);
    posenc_kernels::write_step(step_names, *step, part, parts);
  });
}

posenc1_status posenc1_read_cache(posenc1_cache const* cache, size_t tokens, size_t heads,
                                  size_t head_dim, float* numbers) {
  return guarded([&] {
    require_given(reading_names.function, cache, numbers);
    posenc1_step step{};
    step.tokens = tokens;
    step.values.from_cache = *cache, step.values.to.data = numbers;
    step.values.heads = heads, step.values.head_dim = head_dim;
    posenc_kernels::write_step(reading_names, step, 0, 1);
  });
}
