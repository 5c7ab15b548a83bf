#include "program/run/attend.hpp"

#include <optional>
#include <variant>

#include "posenc/attention/call.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/model/layer_rules.hpp"
#include "posenc/score/key_bias.hpp"

namespace run {
namespace {

using either_bias =
    std::variant<posenc::key_bias<posenc::halves>, posenc::key_bias<posenc::interleaved>>;

either_bias bias_of(attended const& call) {
  auto const& shape = call.k.shape();
  auto const heads = call.q.heads();
  if (call.by.says.rotary.empty())  // keys do not turn: any frequency of 0 says so
    return posenc::key_bias<posenc::halves>(call.key_bias, shape.heads, heads,
                                            posenc::frequencies(std::vector<double>{0}));
  auto const& rotary = call.by.says.rotary.front();
  auto const f = rotary.frequencies.at(call.length);
  return std::visit(
      [&]<class Layout>(Layout) -> either_bias {
        posenc::key_bias<Layout> bias(call.key_bias, shape.heads, heads, f, rotary.block);
        if (call.by.transforms_keys) bias = bias.of_transformed();
        return bias;
      },
      rotary.layout);
}

}  // namespace

void attend(crew const& all, attended const& call, observer& watch,
            std::vector<std::byte>& memory) {
  std::vector<double> slopes;
  auto rules = posenc::rules_of(call.by.says, slopes);
  std::optional<either_bias> bias;
  if (!call.key_bias.empty()) {
    bias = bias_of(call);
    std::visit([&](auto const& one) { rules.key_bias = one; }, *bias);
  }
  if (call.by.rules) call.by.rules(rules, call.at);
  auto const heads = call.q.heads(), key_heads = call.k.heads();
  rules.all_heads = heads;
  bool const shows = watch.asks_for_weights(call.at.layer);
  std::vector<float> weights;

  // Some heads of queries over the key heads from `key_head` on.
  auto const some = [&](std::size_t first, std::size_t count, std::size_t key_head,
                        std::size_t key_count) {
    auto of_these = rules;
    of_these.first_head = first;
    if (shows) weights.resize(count * call.at.queries * call.at.keys);
    auto const q = call.q.slice_heads(first, count);
    auto const k = call.k.slice_heads(key_head, key_count);
    auto const v = call.v.slice_heads(key_head, key_count);
    auto const outputs = call.outputs.slice_heads(first, count);
    posenc::attention_call const one(q, k, v, outputs, of_these, {.keys_are_encoded = true},
                                     {.weights = weights});
    memory.resize(std::max(memory.size(), posenc::attention_bytes(one, all.threads)));
    posenc::attend(posenc::tasks(all.threads, all), one, memory);
    for (std::size_t h = 0; shows && h < count; ++h)
      watch.see_weights(call.at, first + h,
                        std::span(weights).subspan(h * call.at.queries * call.at.keys,
                                                   call.at.queries * call.at.keys));
  };

  auto const group = heads / key_heads;
  if (!call.by.heads.empty() || !call.by.key_heads.empty()) {
    auto const one = [&](std::size_t h) {
      some(h, 1, call.by.key_heads.empty() ? h / group : call.by.key_heads[h], 1);
    };
    if (call.by.heads.empty())
      for (std::size_t h = 0; h < heads; ++h) one(h);
    for (auto const h : call.by.heads) one(h);
  } else if (shows) {  // memory for the weights of a group
    for (std::size_t h = 0; h < key_heads; ++h) some(h * group, group, h, 1);
  } else {
    some(0, heads, 0, key_heads);
  }
}

}  // namespace run
