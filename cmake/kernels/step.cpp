// The C API: a step, and caches. Checks its arguments, in O(tokens), and hands plans to the set.
#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>

#include "checked.hpp"
#include "handles.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/heads/detail/slot_search.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/operand.hpp"

namespace posenc_kernels {
namespace {

/// What errors call the heads of a step: those of a set have parts, or not.
struct names_of_step {
  char const *function, *sets[3];
  bool have_parts;

  heads_name name(std::size_t set, char const* part) const noexcept {
    return {function, sets[set], have_parts ? part : ""};
  }
};
constexpr names_of_step step_names{"posenc1_write_step", {"queries", "keys", "values"}, true};
constexpr names_of_step reading_names{"posenc1_read_cache", {"", "", "cache"}, false};

/// A view or a cache; a view of doubles is refused.
checked_heads source_or_target(heads_name view_name, posenc1_heads const& view,
                               heads_name cache_name, posenc1_cache const& cache,
                               heads_shape const& shape, bool written) {
  if (view.data == nullptr) return checked(cache_name, cache, shape, written);
  view_name.require(bits_of(view.type) != POSENC1_F64,
                    "type must be float or of 16 bits, got double, which posenc1_rotate takes");
  return checked(view_name, view, shape, written);
}

/// Throws if a slot of a cache is written twice. `seen`: slots that were looked at already.
void require_each_slot_once(heads_name what, posenc1_cache const& cache, std::size_t tokens,
                            std::int64_t const*& seen) {
  if (cache.data == nullptr || cache.slots == nullptr || cache.slots == seen) return;
  seen = cache.slots;
  std::span const slots(cache.slots, tokens);
  if (!posenc::detail::ascend(slots))
    named(what, [&] { posenc::detail::require_each_slot_once(slots); });
}

/// One set of heads, checked by itself.
struct checked_set {
  posenc1_step_heads const* given;
  checked_heads from, to[2];
  std::size_t targets = 0;
  bool rotates;
  step_plan plan;
};

/// The block of a transform; 1: none.
std::size_t block_of(std::size_t head_dim, std::size_t block, auto const&... names) {
  if (block == 0) return 1;
  return posenc::detail::hadamard_block(head_dim, block == POSENC1_LARGEST_BLOCK ? 0 : block,
                                        names...);
}

void check_norm(heads_name what, posenc1_norm const& norm) {
  auto const kind = bits_of(norm.kind), place = bits_of(norm.place),
             eps_place = bits_of(norm.eps_place), type = bits_of(norm.weight_type);
  auto const eps = static_cast<float>(norm.eps);
  if (is_zero(norm.eps))
    return what.require(
        norm.weight == nullptr && (kind | place | eps_place) == 0 && norm.plus_one == 0,
        "eps of the norm must be given where its weights, kind or places are");
  what.require(norm.plus_one == 0 || norm.weight != nullptr,
               "weights of the norm must be given where plus_one is");
  what.require(posenc::is_finite(static_cast<double>(eps)) && eps > 0,
               "eps of the norm must be finite and positive as float, or 0 for no norm, got ",
               norm.eps);
  what.require(
      kind <= POSENC1_L2 && place <= POSENC1_AFTER_ROTATION && eps_place <= POSENC1_EPS_AT_LEAST,
      "kind, place and eps_place of the norm must be ones of the header, got ", kind, ", ", place,
      " and ", eps_place);
  what.require(norm.weight == nullptr || (type < types && type != POSENC1_F64),
               "weights of the norm must be float or of 16 bits, got type ", type);
  require_aligned(what.function, "weight", norm.weight,
                  norm.weight == nullptr ? 1 : size_of(norm.weight_type));
}

void check(checked_set& set, names_of_step const& names, std::size_t which,
           posenc1_step_heads const& heads, posenc1_step const& step, std::size_t pairs,
           std::int64_t const*& slots) {
  auto const what = names.name(which, "");
  set.given = &heads, set.rotates = which < 2;
  what.require(heads.head_dim > 0 && heads.head_dim <= posenc::detail::most_head_dim,
               "head_dim must be positive and at most ", posenc::detail::most_head_dim, ", got ",
               heads.head_dim);
  what.require((heads.from.data != nullptr) != (heads.from_cache.data != nullptr),
               "there must be one source, from or from_cache, got ",
               heads.from.data != nullptr ? "both" : "null for both");
  heads_shape const shape{1, step.tokens, heads.heads, heads.head_dim};
  bool const stays = heads.to.data == nullptr && heads.to_cache.data == nullptr;
  set.from = source_or_target(names.name(which, ".from"), heads.from,
                              names.name(which, ".from_cache"), heads.from_cache, shape, stays);
  if (heads.to.data != nullptr)
    set.to[set.targets++] =
        source_or_target(names.name(which, ".to"), heads.to, {}, {}, shape, true);
  if (heads.to_cache.data != nullptr)
    set.to[set.targets++] = checked(names.name(which, ".to_cache"), heads.to_cache, shape, true);
  require_each_slot_once(names.name(which, ".to_cache"), heads.to_cache, step.tokens, slots);
  if (stays)
    require_each_slot_once(names.name(which, ".from_cache"), heads.from_cache, step.tokens, slots);
  what.require(
      set.targets < 2 || (!set.to[0].overlaps(set.to[1]) && set.to[0].layout == set.to[1].layout),
      "to and to_cache must have one layout and not overlap");
  if (stays) set.to[set.targets++] = set.from;
  for (std::size_t i = 0; i < set.targets && !stays; ++i)
    what.require(!set.from.overlaps(set.to[i]) || set.from.are(set.to[i]),
                 "source and target must not overlap, unless they are the same heads");

  what.require(set.rotates || heads.first_dim == 0,
               "first_dim must be 0 for values, which do not rotate, got ", heads.first_dim);

  auto& plan = set.plan;
  check_norm(what, heads.norm);
  plan.norm = is_zero(heads.norm.eps) ? posenc1_norm{} : heads.norm;
  auto const scale = static_cast<float>(heads.scale);
  what.require(posenc::is_finite(static_cast<double>(scale)), "scale must be finite, got ",
               heads.scale);
  auto const rounded = bits_of(heads.rounded_type);
  what.require(heads.rounding <= POSENC1_ROUND_HUGGING_FACE &&
                   (heads.rounding == 0 || rounded == POSENC1_F16 || rounded == POSENC1_BF16),
               "rounding must be a sum of points, to a type of 16 bits, got ", heads.rounding,
               " to type ", rounded);
  plan.from = set.from.stored();
  plan.to[0] = set.to[0].stored();
  plan.to[1] = set.to[set.targets - 1].stored();
  if (set.targets == 1) plan.to[1].codes.data = nullptr;
  plan.all_tokens = plan.tokens = step.tokens, plan.all_heads = plan.heads = heads.heads;
  plan.token = plan.head = 0, plan.rows = {};
  plan.head_dim = heads.head_dim;
  plan.from_layout = set.from.layout, plan.to_layout = set.to[0].layout;
  plan.scale = is_zero(heads.scale) ? 1 : scale;
  plan.rounding = heads.rounding, plan.rounded_type = heads.rounded_type;
  auto const of_block = [&](std::size_t block) {
    return block_of(heads.head_dim, block, what.function, ": ", what.heads);
  };
  plan.source_block = of_block(heads.from_hadamard), plan.target_block = of_block(heads.hadamard);
  plan.first_dim = set.rotates ? first_dim_of(heads, pairs, what.function, ": ", what.heads) : 0;
}

/// From one view to another, of types that rotate has, as rotate does; false: not so.
bool rotates_alone(checked_set const& set, posenc1_step const& step, std::size_t i, std::size_t n) {
  auto const& h = *set.given;
  auto const& norm = set.plan.norm;
  auto const from = set.from.format, to = set.to[0].format;
  bool const plain = set.rotates && set.targets == 1 && h.from.data != nullptr &&
                     h.to_cache.data == nullptr &&
                     (from == to || from == POSENC1_F32 || to == POSENC1_F32) && h.rounding == 0 &&
                     set.plan.source_block == 1 && set.plan.target_block == 1 &&
                     norm.kind == POSENC1_RMS && norm.place == POSENC1_BEFORE_ROTATION &&
                     norm.plus_one == 0 && norm.eps_place == POSENC1_EPS_INSIDE &&
                     (norm.weight == nullptr || norm.weight_type == POSENC1_F32);
  if (!plain) return false;
  posenc1_rotation r{};
  r.from = h.from, r.to = h.to;
  r.tokens = step.tokens, r.heads = h.heads, r.head_dim = h.head_dim, r.first_dim = h.first_dim;
  r.cos_sin = step.cos_sin, r.rows = step.tokens, r.pairs = step.pairs, r.maker = step.maker;
  r.eps = h.norm.eps, r.weight = norm.weight, r.scale = h.scale;
  auto const [first, count] = posenc::detail::part_of(step.tokens * h.heads, i, n);
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
    pairs = pairs_of(step, function);
    require_given(function, {{"cos_sin", step.cos_sin}});
    require_aligned(function, "cos_sin", step.cos_sin, sizeof(float));
  }
  checked_set sets[3];
  std::size_t count = 0;
  std::int64_t const* slots = nullptr;  // which keys and values mostly share
  for (std::size_t which = 0; which < 3; ++which) {
    auto const& set = *all[which];
    bool const has_data = set.from.data != nullptr || set.from_cache.data != nullptr ||
                          set.to.data != nullptr || set.to_cache.data != nullptr;
    names.name(which, "").require(set.heads != 0 || !has_data,
                                  "heads must be positive where there is data, got 0");
    if (set.heads != 0) check(sets[count++], names, which, set, step, pairs, slots);
  }
  for (auto const& a : std::span(sets, count)) {
    for (auto const& b : std::span(sets, count)) {
      for (auto const& target : std::span(a.to, &a == &b ? 0 : a.targets)) {
        bool overlaps = target.overlaps(b.from);
        for (auto const& other : std::span(b.to, b.targets))
          overlaps = overlaps || target.overlaps(other);
        require(!overlaps, function,
                ": heads that one set writes must not overlap those of another");
      }
    }
  }

  posenc::pair_range const every{0, pairs};
  auto* const run = chosen.step != nullptr ? chosen.step : chosen.fewer->step;
  for (auto& set : std::span(sets, count)) {
    if (rotates_alone(set, step, i, n)) continue;
    auto& plan = set.plan;
    if (set.rotates) plan.rows = rows_of(step.maker, step.cos_sin, pairs, every);
    bool const by_tokens = plan.tokens >= n || plan.tokens >= plan.heads;
    auto const [first, size] = posenc::detail::part_of(by_tokens ? plan.tokens : plan.heads, i, n);
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
    require_given(function, {{"bytes", bytes}, {"scale_bytes", scale_bytes}});
    require_dim(function, "head_dim", head_dim);
    std::tie(*bytes, *scale_bytes) =
        sizes_of({function, "head"}, {{}, {}, bits_of(format), 1, 1}, head_dim);
  });
}

posenc1_status posenc1_write_step(posenc1_step const* step, size_t part, size_t parts) {
  return guarded([&] {
    require_given(step_names.function, {{"step", step}});
    posenc_kernels::write_step(step_names, *step, part, parts);
  });
}

posenc1_status posenc1_read_cache(posenc1_cache const* cache, size_t tokens, size_t heads,
                                  size_t head_dim, float* numbers) {
  return guarded([&] {
    require_given(reading_names.function, {{"cache", cache}, {"numbers", numbers}});
    if (tokens == 0 || heads == 0) return;
    require_given(reading_names.function, {{"data of the cache", cache->data}});
    posenc1_step step{};
    step.tokens = tokens;
    step.values.from_cache = *cache, step.values.to.data = numbers;
    step.values.heads = heads, step.values.head_dim = head_dim;
    posenc_kernels::write_step(reading_names, step, 0, 1);
  });
}

posenc1_status posenc1_hadamard(posenc1_heads const* x, size_t tokens, size_t heads,
                                size_t head_dim, size_t block) {
  return guarded([&] {
    constexpr auto function = "posenc1_hadamard";
    require_given(function, {{"x", x}});
    require_dim(function, "head_dim", head_dim);
    auto const n = block_of(head_dim, block, function);
    if (tokens == 0 || heads == 0) return;
    auto const at = checked({function, "x"}, *x, {1, tokens, heads, head_dim}, true);
    auto const& chosen = chosen_set();
    auto* const run = chosen.hadamard != nullptr ? chosen.hadamard : chosen.fewer->hadamard;
    run({at.codes.at, at.format, tokens, heads, head_dim, n});
  });
}
