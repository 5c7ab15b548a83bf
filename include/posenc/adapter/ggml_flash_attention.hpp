// ggml's op GGML_OP_FLASH_ATTN_EXT, from its tensors, in its threads. Needs no ggml.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "posenc/adapter/detail/ggml_attention_parameters.hpp"
#include "posenc/adapter/detail/ggml_tensor.hpp"
#include "posenc/attention/call.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/core/detail/line_memory.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/core/target.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/heads/storage.hpp"

namespace posenc { inline namespace POSENC_TARGET {

/// Options of the op that ggml's tensors cannot say.
struct ggml_flash_attention_options {
  /// Products are rounded, where has_dot_products says that the CPU can: of q8_0 in decoding, of
  /// any type in prompts. dot_products says how far they are off. In decoding this allocates.
  bool dot_products = false;
  /// The factor of scores behind the mask: a rule that looks at no position, because the op has
  /// none. It needs more memory.
  chosen_temperature temperature = {};
};

namespace detail {

/// The op.
template <class Tensor>
class ggml_attention {
  using call = attention_call<heads_view<float const>, ggml_cache_heads, ggml_cache_heads,
                              heads_view<float>, attention_rules>;
  using options = ggml_flash_attention_options;

 public:
  /// Precondition: dst has queries, keys and values.
  ggml_attention(Tensor const& dst, options const& asked) noexcept
      : dst_(dst), parameters_(ggml_attention_parameters::of(dst.op_params)), asked_(asked) {}

  /// The reason why this is left to ggml; null if posenc takes it.
  char const* refusal() const noexcept {
    auto const &q = this->q(), &k = *dst_.src[1], &v = *dst_.src[2];
    auto const divides = [](std::int64_t part, std::int64_t whole) { return whole % part == 0; };
    if (!has_ggml_rows<float>(dst_) || !has_ggml_rows<float>(q))
      return "outputs and queries must be f32, with rows without gaps";
    if (!has_ggml_cache_rows(k) || !has_ggml_cache_rows(v))
      return "keys and values must be f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl, with "
             "rows without gaps";
    if (!parameters_.are_usable())
      return "scale, max_bias and logit_softcap must be finite, and max_bias not negative";
    if (k.ne[0] != q.ne[0] || v.ne[1] != k.ne[1] || v.ne[2] != k.ne[2] ||
        !divides(k.ne[2], q.ne[2]) || !divides(k.ne[3], q.ne[3]) || !divides(v.ne[3], q.ne[3]))
      return "keys must have the queries' head_dim, values as many tokens and heads as keys, and "
             "their heads and batches must divide the queries'";
    std::int64_t const ne[]{v.ne[0], q.ne[2], q.ne[1], q.ne[3]};
    auto dense = sizeof(float);
    for (std::size_t i = 0; i < 4; ++i) {
      if (dst_.ne[i] != ne[i] || dst_.nb[i] != dense)
        return "outputs must be {value_dim, heads, queries, batches}, dense";
      dense *= static_cast<std::size_t>(ne[i]);
    }
    if (auto const* const m = cells())
      if (!has_ggml_rows<half>(*m) || m->ne[0] < k.ne[1] || m->ne[1] < q.ne[1] ||
          (m->ne[2] != 1 && m->ne[2] != q.ne[2]) || !divides(m->ne[3], q.ne[3]))
        return "a mask must be f16, with a cell for each key and query, of one head or of all";
    if (auto const* const s = sinks())
      if (!has_ggml_rows<float>(*s) || s->ne[0] != q.ne[2])
        return "sinks must be f32, one for each head";
    using rule = temperature_rule;
    auto const asked = asked_.temperature.rule;
    if (asked == rule::log_n_by_position || asked == rule::by_position)
      return "temperature must look at no position, of which the op has none";
    auto const to = ggml_bytes_of<float>(dst_);
    if (!to.is_apart(ggml_bytes_of<float>(q)) || !to.is_apart(ggml_cache_bytes_of(k)) ||
        !to.is_apart(ggml_cache_bytes_of(v)))
      return "outputs must not overlap queries, keys or values";
    return nullptr;
  }

  /// That run needs. Precondition: it is not refused.
  std::size_t bytes(std::size_t workers) const {
    scratch of_all;
    places_in(of_all, workers);
    scratch of_one;
    places_in(of_one, 1);
    std::vector<std::byte> memory(of_one.bytes());
    scratch own(memory.data());
    prepared const calls(*this, places_in(own, 1), 0, false);
    of_all.take<std::byte>(attention_bytes(calls.all(), workers));
    return of_all.bytes();
  }

  /// In one of the workers. False, in all of them and with nothing written, if memory is too small.
  /// Precondition: it is not refused.
  template <class Barrier>
  bool run(worker<Barrier> const& self, std::span<std::byte> memory) const {
    scratch counted, all(memory.data());
    places_in(counted, self.count());
    counted.take<std::byte>(1);
    if (memory.size() < counted.bytes()) return false;
    for (std::size_t head = 0; head < sink_count(); ++head)
      if (!is_finite(sink_of(head))) return false;
    auto const places = places_in(all, self.count());
    auto const rest =
        memory.subspan(static_cast<std::size_t>(all.take<std::byte>(1) - memory.data()));
    prepared const calls(*this, places, self.index(), true);
    if (rest.size() < attention_bytes(calls.all(), self.count())) return false;
    attend(self, calls.all(), rest);
    return true;
  }

 private:
  /// The memory of one worker.
  struct own_memory {
    call* calls;              ///< [workers][batches]
    attention_rules* rules;   ///< [workers][batches]
    double* slopes;           ///< [workers][heads]
    double* sinks;            ///< [workers][heads]
    std::int64_t* positions;  ///< [workers][queries], where they outnumber keys
  };
  own_memory places_in(scratch& memory, std::size_t workers) const noexcept {
    return {memory.take<call>(workers, batches()), memory.take<attention_rules>(workers, batches()),
            memory.take<double>(workers, slopes()), memory.take<double>(workers, sink_count()),
            memory.take<std::int64_t>(workers, positions())};
  }

  /// The calls of one worker, one for each batch.
  class prepared {
   public:
    /// sized: as run has it; else for the number of bytes alone, where sinks are not read.
    prepared(ggml_attention const& op, own_memory const& memory, std::size_t worker, bool sized)
        : calls_(memory.calls + worker * op.batches()),
          rules_(memory.rules + worker * op.batches()) {
      std::span const slopes(memory.slopes + worker * op.slopes(), op.slopes());
      std::span const sinks(memory.sinks + worker * op.sink_count(), op.sink_count());
      std::span const positions(memory.positions + worker * op.positions(), op.positions());
      for (std::size_t head = 0; head < slopes.size(); ++head)
        slopes[head] = op.parameters_.slope(head, slopes.size());
      for (std::size_t head = 0; head < sinks.size(); ++head)
        sinks[head] = sized ? op.sink_of(head) : 0;
      std::ranges::fill(positions, 0);
      for (; count_ < op.batches(); ++count_) {
        auto const& rules =
            *::new (rules_ + count_) attention_rules(op.rules_of_batch(count_, slopes, sinks));
        op.prepare(calls_ + count_, count_, rules, positions);
      }
    }
    prepared(prepared const&) = delete;
    prepared& operator=(prepared const&) = delete;
    ~prepared() { std::destroy_n(calls_, count_), std::destroy_n(rules_, count_); }
    std::span<call const> all() const noexcept { return {calls_, count_}; }

   private:
    call* calls_;
    attention_rules* rules_;
    std::size_t count_ = 0;
  };

  attention_rules rules_of_batch(std::size_t batch, std::span<double const> slopes,
                                 std::span<double const> sinks) const {
    attention_rules rules{.sees = mask::full,
                          .scale = static_cast<double>(parameters_.scale),
                          .cap = std::abs(static_cast<double>(parameters_.logit_softcap)),
                          .temperature = asked_.temperature,
                          .sinks = sinks};
    if (auto const* const m = cells()) {
      auto const of_batch = batch % static_cast<std::size_t>(m->ne[3]);
      auto const* const data = static_cast<std::byte const*>(m->data) + of_batch * m->nb[3];
      auto const count = [&](std::size_t i) { return static_cast<std::size_t>(m->ne[i]); };
      auto const step = [&](std::size_t i) {
        return static_cast<std::ptrdiff_t>(m->nb[i] / sizeof(half));
      };
      given_mask const given(reinterpret_cast<half const*>(data), {count(1), count(2), count(0)},
                             {step(1), step(2)});
      rules.sees = mask::given(slopes.empty() ? given : given.with_slopes(slopes));
    }
    return rules;
  }

  void prepare(call* at, std::size_t batch, attention_rules const& rules,
               positions_view positions) const {
    auto const of = [&](Tensor const& t) {
      return batch / static_cast<std::size_t>(q().ne[3] / t.ne[3]);
    };
    auto const &k = *dst_.src[1], &v = *dst_.src[2];
    auto const cache = [&](Tensor const& t) {
      return ggml_batch(t, of(t)).cache(static_cast<int>(t.type), asked_.dot_products);
    };
    ::new (at)
        call(ggml_batch(q(), batch).template floats<float const>(), cache(k), cache(v),
             ggml_batch(dst_, batch, 2).template floats<float>(), rules, {}, {positions, {}, true});
  }

  Tensor const& q() const noexcept { return *dst_.src[0]; }
  Tensor const* cells() const noexcept { return dst_.src[3]; }
  Tensor const* sinks() const noexcept { return dst_.src[4]; }
  std::size_t batches() const noexcept { return static_cast<std::size_t>(q().ne[3]); }
  std::size_t slopes() const noexcept {
    return cells() != nullptr && parameters_.max_bias > 0 ? static_cast<std::size_t>(q().ne[2]) : 0;
  }
  std::size_t sink_count() const noexcept {
    return sinks() == nullptr ? 0 : static_cast<std::size_t>(q().ne[2]);
  }
  double sink_of(std::size_t head) const noexcept {
    return static_cast<double>(static_cast<float const*>(sinks()->data)[head]);
  }
  std::size_t positions() const noexcept {
    return q().ne[1] > dst_.src[1]->ne[1] ? static_cast<std::size_t>(q().ne[1]) : 0;
  }

  Tensor const& dst_;
  ggml_attention_parameters parameters_;
  options asked_;
};

}  // namespace detail

/// Why the op of a tensor dst is left to the engine: what must hold and does not, in a sentence.
/// Null if ggml_flash_attention takes it, given memory.
///
///     if (char const* const why = posenc::ggml_flash_attention_refusal(*dst)) puts(why);
template <class Tensor>
char const* ggml_flash_attention_refusal(
    Tensor const& dst, ggml_flash_attention_options const& options = {}) noexcept {
  for (std::size_t i = 0; i < 3; ++i)
    if (dst.src[i] == nullptr) return "there must be queries, keys and values";
  return detail::ggml_attention<Tensor>(dst, options).refusal();
}

/// The bytes of memory that ggml_flash_attention needs for `workers` threads; 0 if it does not take
/// the op: see ggml_flash_attention_refusal. For the plan of a graph, whose tensors have their
/// memory already.
template <class Tensor>
std::size_t ggml_flash_attention_bytes(Tensor const& dst, std::size_t workers,
                                       ggml_flash_attention_options const& options = {}) {
  if (ggml_flash_attention_refusal(dst, options) != nullptr) return 0;
  return detail::ggml_attention<Tensor>(dst, options).bytes(workers);
}

/// The op of a tensor dst, in one of the threads, all of which call it. params: as
/// ggml_compute_params, of which ith, nth, wdata and wsize are read, and use_ref if it is there.
/// barrier(): waits for all threads. An engine's op is then
///
///     bool posenc_flash_attention(ggml_compute_params const* params, ggml_tensor const* dst) {
///       return posenc::ggml_flash_attention(*params, *dst,
///                                           [&] { ggml_barrier(params->threadpool); });
///     }
///
/// and ggml_compute_forward_flash_attn_ext begins with
///
///     if (posenc_flash_attention(params, dst)) return;
///
/// and ggml_graph_plan asks for ggml_flash_attention_bytes: adapter/README.md, line by line.
///
/// It returns false, in every thread alike, with no barrier and no byte written, for what it leaves
/// to the engine: a run that is to be ggml's reference (use_ref); a type of keys or values other
/// than f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 and iq4_nl (keys may have one, and values
/// another); a mask that is not f16; a mask for some of the heads; rows with gaps; a bias, a scale,
/// a cap or a sink that is not finite; memory that is too small. Everything else it computes as
/// ggml defines it: strides, GQA, MLA with values that are a view of keys, broadcasts over batches,
/// mask, max_bias, logit_softcap, sinks; every sum in float, so that ggml_flash_attn_ext_set_prec
/// changes nothing. Nothing is allocated, unless options say so, nor thrown but by the barrier, and
/// for a temperature with wrong numbers.
template <class Params, class Tensor, class Barrier>
bool ggml_flash_attention(Params const& params, Tensor const& dst, Barrier const& barrier,
                          ggml_flash_attention_options const& options = {}) {
  if constexpr (requires { params.use_ref; })
    if (params.use_ref) return false;
  if (ggml_flash_attention_refusal(dst, options) != nullptr) return false;
  return detail::ggml_attention<Tensor>(dst, options)
      .run(worker(static_cast<std::size_t>(params.ith), static_cast<std::size_t>(params.nth),
                  barrier),
           {static_cast<std::byte*>(params.wdata), params.wsize});
}

}}  // namespace posenc
