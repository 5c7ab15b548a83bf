// Attention of any shapes, strides, storage, masks, positions, scales and encodings over any
// numbers: it refuses and says why, or gives what the reference does, each row by what it sees, and
// changes nothing. Parts of the keys, merged, give it too.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "attention_choices.hpp"
#include "attention_plans.hpp"
#include "must.hpp"
#include "plain_attention.hpp"
#include "posenc/attention/attention.hpp"
#include "posenc/attention/gradients.hpp"
#include "posenc/attention/merge.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/query_key/unprojected.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"

namespace {

using namespace fuzz;

template <class Q, class K, class V, class Encoding>
void check(FuzzedDataProvider& data, problem<Q, K, V>& p, posenc::attention_options options,
           Encoding const& encoding, bool must_refuse) {
  auto const q = p.q.view();
  auto const k = p.k.view();
  auto const v = p.v.view();
  try {
    auto const whole = posenc::attention(q, k, v, encoding, options);
    must(p.is_unchanged(), "changed what it reads");
    must(!must_refuse, "did what is to be refused");
    p.expect(encoding, options);
    p.compare(whole, options, 1);

    // Memory that another call has used, of other queries and options, is as good as new.
    posenc::attention_workspace<typename Q::number> workspace;
    posenc::attention_options other{
        .query_positions = posenc::positions_view(p.query_positions).first(p.q.shape.tokens / 2),
        .keep_scores = true,
        .keep_weights = true};
    if (!other.query_positions.empty())
      posenc::attention(q.slice_tokens(0, p.q.shape.tokens / 2), k, v, encoding, other, workspace);
    p.compare(posenc::attention(q, k, v, encoding, options, workspace), options, 1);

    using through = posenc::detail::lets_through<Encoding>;
    if constexpr (through::queries_and_keys && through::scores) {
      posenc::heads_view const d_outputs(whole.outputs.data(),
                                         {p.q.shape.tokens, p.q.shape.heads, p.v.shape.head_dim});
      p.check_gradients(posenc::attention_backward(q, k, v, encoding, whole, d_outputs, options));
      must(p.is_unchanged(), "changed what it reads, backwards");
    }
  } catch (std::invalid_argument const& error) {
    must(p.is_unchanged(), "refused, and changed something");
    must(std::string_view(error.what()).starts_with("posenc: "), "refused without its name");
    if (!must_refuse) std::fprintf(stderr, "%s\n", error.what());
    must(must_refuse, "refused what is right");
    return;
  }

  // In parts, neighbouring keys or every other one, each with rules that know nothing of the other.
  bool const of_whole_rows = p.acts.softmax && p.acts.softmax->by == tempers::whole_row;
  if (p.mask.packed || p.mask.cells || of_whole_rows || !p.acts.sinks.empty() ||
      p.q.shape.tokens == 0)
    return;
  auto const keys = p.k.shape.tokens;
  options.keep_scores = options.keep_weights = false;
  options.query_positions = p.query_positions;
  auto const part = [&](std::size_t first, std::size_t count, std::size_t step) {
    positions at;
    for (std::size_t i = 0; i < count; ++i) at.push_back(p.key_positions[first + i * step]);
    options.key_positions = at;
    auto const slice = [&]<class S>(posenc::heads_view<S> const& x) {
      auto const stride = x.strides().token * static_cast<std::ptrdiff_t>(step);
      auto* const from = count == 0 || x.heads() == 0 ? nullptr : x.slice_tokens(first, 1).data();
      return posenc::heads_view<S>(from, {count, x.heads(), x.head_dim()},
                                   {stride, x.strides().head});
    };
    return posenc::attention(q, slice(k), slice(v), encoding, options);
  };
  if (data.ConsumeBool()) {
    auto const split = data.ConsumeIntegralInRange<std::size_t>(0, keys);
    p.compare(posenc::merge(part(0, split, 1), part(split, keys - split, 1)), options, 2);
  } else {
    p.compare(posenc::merge(part(0, (keys + 1) / 2, 2), part(1, keys / 2, 2)), options, 2);
  }
  must(p.is_unchanged(), "changed what it reads");
}

template <class Q, class K, class V>
void run(FuzzedDataProvider& data) {
  using T = arithmetic_t<Q>;
  auto const few = [&](std::size_t most) {
    return data.ConsumeIntegralInRange<std::size_t>(0, most);
  };
  auto const which = data.ConsumeIntegralInRange(0, 4);
  auto const wrongly = [&] { return data.ConsumeIntegralInRange(0, 31) == 0; };
  auto kv_heads = few(3), heads = kv_heads * few(4);
  if (wrongly()) heads = few(8);
  auto const queries = data.ConsumeIntegralInRange(0, 7) == 0 ? few(150) : few(12), keys = few(40);
  auto const head_dim = few(19) + 1, value_dim = few(19) + 1;
  heads_shape const q_shape{queries, heads, head_dim};
  heads_shape k_shape{keys, kv_heads, head_dim}, v_shape{keys, kv_heads, value_dim};
  if (wrongly()) k_shape.head_dim = few(19) + 1;
  if (wrongly()) v_shape.tokens = few(40);
  if (wrongly()) v_shape.heads = few(3);
  auto const wild = data.ConsumeBool() ? 0 : data.ConsumeIntegralInRange(1, 200);
  problem<heads_in_memory<Q>, heads_in_memory<K>, heads_in_memory<V>> p{
      {data, q_shape},
      {data, k_shape},
      {data, v_shape},
      {},
      {},
      any_mask(data, queries, heads, keys, wild > 0),
      0,
      {}};
  auto const seed = data.ConsumeIntegral<std::uint64_t>();
  auto const size = std::array{0.5L, 2.0L, 8.0L}[few(2)];
  p.q.fill(seed, data.ConsumeBool() ? wild : 0, size),
      p.k.fill(seed + 1, data.ConsumeBool() ? wild : 0, size);
  p.v.fill(seed + 2, data.ConsumeBool() ? wild : 0, size);

  posenc::attention_options options{
      .mask = p.mask.made(), .keep_scores = data.ConsumeBool(), .keep_weights = data.ConsumeBool()};
  if (data.ConsumeBool()) options.scale = std::array{0.0, -1.0, 0.3, 1e-3}[few(3)];
  if (wrongly()) options.scale = data.ConsumeFloatingPoint<double>();
  if (wrongly())
    options.scale = std::array{std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(), 1e300}[few(2)];
  auto const scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(head_dim)));
  p.scale = static_cast<real>(static_cast<T>(scale));

  bool const moderate = which == 2;  // angles of any position are rotate_fuzz's
  auto query_positions = data.ConsumeBool() ? any_positions(data, queries, moderate) : positions();
  auto key_positions = data.ConsumeBool() ? any_positions(data, keys, moderate) : positions();
  if (wrongly()) query_positions.push_back(0);
  if (wrongly()) key_positions.push_back(0);
  if (data.ConsumeIntegralInRange(0, 3) == 0) std::ranges::sort(key_positions);
  options.query_positions = query_positions, options.key_positions = key_positions;

  bool const must_refuse = k_shape.head_dim != head_dim || v_shape.tokens != keys ||
                           v_shape.heads != kv_heads || heads == 0 || kv_heads == 0 ||
                           heads % kv_heads != 0 || !finite(p.scale) ||
                           is_refused(p.mask, query_positions, key_positions, queries, keys);
  if (!must_refuse)
    p.key_positions = key_positions, p.query_positions = query_positions,
    count_tokens(p.mask, queries, keys, p.query_positions, p.key_positions);

  tempers const softmax{
      std::array{tempers::constant, tempers::position, tempers::whole_row}[few(2)]};
  posenc::soft_cap const cap(5);
  posenc::alibi const biases(std::max<std::size_t>(heads, 1));
  std::vector<double> const slopes(biases.slopes().begin(), biases.slopes().end());
  switch (which) {
    case 0:
      return check(data, p, options, posenc::nope(), must_refuse);
    case 1:
      p.acts = {.slopes = slopes};
      return check(data, p, options, biases, must_refuse);
    case 2: {
      if (head_dim < 2) return;
      auto const f = posenc::geometric(head_dim / 2 * 2, 1e4);
      p.acts = {.rotates = true, .softmax = softmax};
      return check(data, p, options, posenc::scheme(posenc::rope<posenc::halves>(f), softmax),
                   must_refuse);
    }
    case 3: {
      std::vector<double> sinks;
      for (std::size_t head = 0; head < biases.heads(); ++head)
        sinks.push_back(data.ConsumeFloatingPointInRange(-20.0, 20.0));
      p.acts = {.sinks = sinks};
      return check(data, p, options, posenc::attention_sinks(sinks), must_refuse);
    }
    default: {
      std::vector<double> const sinks(biases.heads(), 0.5);
      p.acts = {.lifted = true,
                .doubled = true,
                .slopes = slopes,
                .cap = 5,
                .softmax = softmax,
                .sinks = {}};
      if (data.ConsumeBool())
        return check(data, p, options,
                     posenc::scheme(posenc::unprojected(lifts()), doubles(), biases, cap, softmax),
                     must_refuse);
      p.acts.sinks = sinks;
      return check(
          data, p, options,
          posenc::scheme(posenc::scheme(softmax, biases), cap, posenc::attention_sinks(sinks),
                         posenc::unprojected(lifts()), doubles()),
          must_refuse);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0:
      run<float, float, float>(data);
      break;
    case 1:
      run<double, double, double>(data);
      break;
    case 2:
      run<posenc::half, posenc::bfloat16, float>(data);
      break;
    default:
      run<float, posenc::half, posenc::bfloat16>(data);
  }
  return 0;
}
