// Batches of attention_call, of any shapes, masks, slots, records and workers, in memory of exactly
// the size that attention_bytes says, at an odd address: each call is refused and nothing is
// written, or gives the bits of attention(), which are what the reference gives.

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "attention_call_plans.hpp"
#include "attention_call_sequence.hpp"
#include "attention_choices.hpp"
#include "must.hpp"
#include "plain_attention.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/cache/q8_0.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/score/alibi.hpp"
#include "posenc/score/soft_cap.hpp"
#include "posenc/softmax/attention_sinks.hpp"

namespace {

using namespace fuzz;

bool refuses(auto const& act, bool wrong = true) {
  try {
    act();
  } catch (std::invalid_argument const& error) {
    must(std::string_view(error.what()).starts_with("posenc: "), "refused without its name");
    if (!wrong) std::fprintf(stderr, "%s\n", error.what());
    return true;
  }
  return false;
}

/// Runs the calls with `bytes` of memory, by tasks or by one worker of one.
template <class Call>
void run(std::span<Call const> calls, std::size_t workers, bool by_worker, std::size_t bytes) {
  exact<std::byte> const memory(bytes + 1, std::byte{0xff});
  auto const odd = memory.all().subspan(1);
  if (by_worker) return posenc::attend(posenc::worker(0, 1, [] {}), calls, odd);
  auto const backwards = [](std::size_t n, posenc::task const& each) {
    for (auto i = n; i-- > 0;) each(i);
  };
  posenc::attend(posenc::tasks(workers, backwards), calls, odd);
}

template <class Sequence, class Encoding>
void check(FuzzedDataProvider& data, std::vector<Sequence>& all, Encoding const& encoding) {
  auto const f =
      data.ConsumeIntegralInRange(0, 3) == 0
          ? static_cast<fault>(data.ConsumeIntegralInRange(0, static_cast<int>(fault::last)))
          : fault::none;
  using Q = decltype(all[0].p.q.view());
  using K = decltype(all[0].p.k.view());
  using V = decltype(all[0].p.v.view());
  using O = decltype(all[0].to.view());
  using T = typename Sequence::T;
  std::vector<posenc::attention_call<Q, K, V, O, Encoding>> calls;
  auto const at = data.ConsumeIntegralInRange<std::size_t>(0, all.size());  // or none
  bool must_refuse = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& s = all[i];
    auto records = s.records();
    auto outputs = s.to.view();
    exact<double> numbers{0};
    exact<T> others{0};
    bool const wrong = s.is_refused() || (i == at && s.spoil(f, outputs, records, numbers, others));
    must_refuse = must_refuse || wrong;
    bool const refused = refuses(
        [&] {
          calls.emplace_back(s.p.q.view(), s.p.k.view(), s.p.v.view(), outputs, encoding, s.options,
                             records);
        },
        wrong);
    must(refused == wrong, wrong ? "did what is to be refused" : "refused what is right");
  }
  std::span<typename decltype(calls)::value_type const> const whole(calls);
  bool const by_worker = data.ConsumeBool();
  auto const workers = by_worker ? 1 : data.ConsumeIntegralInRange<std::size_t>(1, 9);
  auto const bytes = posenc::attention_bytes(whole, workers);
  auto const unchanged = [&] {
    for (auto const& s : all) must(s.p.is_unchanged(), "changed what it reads");
  };
  if (must_refuse || f == fault::memory) {
    must(must_refuse || refuses([&] { run(whole, workers, by_worker, bytes - 1); }),
         "attended in memory that is too small");
    for (auto const& s : all) must(s.to.is_unchanged(), "refused, and wrote something");
    return unchanged();
  }
  for (int again = data.ConsumeBool(); again >= 0; --again) {
    run(whole, workers, by_worker, bytes);
    unchanged();
    for (auto& s : all) {
      auto const result =
          posenc::attention(s.p.q.view(), s.p.k.view(), s.p.v.view(), encoding, s.options);
      must(s.to.are(result), "a call has other bits than attention");
      if (again > 0) continue;
      count_tokens(s.p.mask, s.p.q.shape.tokens, s.p.k.shape.tokens, s.p.query_positions,
                   s.p.key_positions);
      s.p.expect(encoding, s.options);
      s.p.compare(result, s.options, 1);
    }
  }
}

template <class Q, class K, class V, class O>
void run(FuzzedDataProvider& data, std::size_t dims) {
  auto const few = [&](std::size_t most) {
    return data.ConsumeIntegralInRange<std::size_t>(0, most);
  };
  auto const kv_heads = few(2) + 1, heads = kv_heads * (few(3) + 1),
             head_dim = dims == 1 ? few(11) + 1 : dims;
  bool const wild = data.ConsumeBool();
  auto const size = few(15);
  std::vector<sequence<Q, K, V, O>> all;
  all.reserve(3);
  for (auto i = few(3); i > 0; --i) {
    auto const keys = size == 0   ? few(1700)
                      : size == 1 ? few(600)
                                  : few(40),
               queries = size == 0   ? few(5)
                         : size == 1 ? few(80)
                                     : few(12);
    all.emplace_back(data, heads_shape{queries, heads, head_dim},
                     heads_shape{keys, kv_heads, head_dim}, dims == 1 ? few(11) + 1 : dims, wild);
  }
  posenc::alibi const biases(heads);
  std::vector<double> const slopes(biases.slopes().begin(), biases.slopes().end());
  std::vector<double> const sinks(heads, 0.5);
  auto const each = [&](acting const& acts) {
    for (auto& s : all) s.p.acts = acts;
  };
  switch (few(2)) {
    case 0:
      return check(data, all, posenc::nope());
    case 1:
      each({.slopes = slopes, .cap = 5, .sinks = sinks});
      return check(data, all,
                   posenc::scheme(biases, posenc::soft_cap(5), posenc::attention_sinks(sinks)));
    default: {
      if (head_dim < 2) return;
      tempers const softmax{
          std::array{tempers::constant, tempers::position, tempers::whole_row}[few(2)]};
      each({.rotates = true, .softmax = softmax});
      return check(
          data, all,
          posenc::scheme(posenc::rope<posenc::halves>(posenc::geometric(head_dim / 2 * 2, 1e4)),
                         softmax));
    }
  }
}

/// What cannot be made.
void refuse_parts(FuzzedDataProvider& data) {
  using posenc::given_mask, posenc::mask;
  auto const far = data.ConsumeIntegralInRange<std::ptrdiff_t>(
      std::numeric_limits<std::ptrdiff_t>::max() / 2, std::numeric_limits<std::ptrdiff_t>::max());
  auto const below =
      data.ConsumeIntegralInRange<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1);
  float const cell = 0;
  std::byte const bits{};
  std::array<double, 1> const slope{std::numeric_limits<double>::quiet_NaN()};
  auto const n = data.ConsumeIntegralInRange<std::size_t>(3, 9);
  must(refuses([&] {
         given_mask(static_cast<float const*>(nullptr), {n, 1, n});
       }) &&
           refuses([&] {
             given_mask(&cell, {n, 0, n});
           }) &&
           refuses([&] {
             given_mask(&cell, {n, 1, 1}, {far});
           }) &&
           refuses([&] {
             given_mask(&cell, {n, n, 1}, {0, -far});
           }) &&
           refuses([&] {
             given_mask(&cell, {1, 1, n}, {0, 0, far});
           }) &&
           refuses([&] {
             given_mask::bits(&bits, {1, 1, n}, {0, 0, 2});
           }) &&
           refuses([&] {
             given_mask(&cell, {1, 1, 1}).with_slopes(slope);
           }) &&
           refuses([&] { mask::window(below, 0); }) && refuses([&] { mask::window(0, below); }) &&
           refuses([&] {
             mask::given({&cell, {1, 1, 1}}) & mask::given({&cell, {1, 1, 1}});
           }),
       "made what is to be refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  using posenc::half, posenc::bfloat16;
  switch (data.ConsumeIntegralInRange(0, 12)) {
    case 0:
      refuse_parts(data);
      break;
    case 1:
    case 2:
      run<heads_in_memory<double>, heads_in_pages<double>, heads_in_memory<double>, double>(data,
                                                                                            1);
      break;
    case 3:
    case 4:
    case 5:
      run<heads_in_memory<half>, heads_in_pages<half>, heads_in_pages<bfloat16>, half>(data, 1);
      break;
    case 6:
    case 7:
      run<heads_in_memory<float>, heads_in_pages<posenc::q8_0>, heads_in_pages<posenc::q8_0>,
          bfloat16>(data, 32);
      break;
    default:
      run<heads_in_memory<float>, heads_in_memory<float>, heads_in_memory<float>, float>(data, 1);
  }
  return 0;
}
