#include "measurement.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "posenc/analysis/score_by_frequency.hpp"
#include "program/run/model.hpp"

namespace run {
namespace {

class reader : public observer {
 public:
  reader(decoder const& model, std::vector<layer_plan> const& plans,
         std::span<std::uint32_t const> ids, wanted const& what,
         std::function<void(double)> const& progress)
      : model_(model), plans_(plans), ids_(ids), what_(what), progress_(progress) {
    auto const count = ids.size() - 1;
    found.of_text.cross_entropy.resize(count);
    if (what.own != nullptr) found.of_text.kl.resize(count), found.of_text.agrees.resize(count);
    found.top.resize(what.top.size());
    if (what.keeps_states) found.states.reserve(ids.size() * model.width());
    if (!what.measures_heads) return;
    found.layers.resize(model.layers());
    for (auto& layer : found.layers) layer.heads.assign(model.heads(), head_record(ids.size()));
  }

  bool asks_for_heads(std::size_t layer) const override {
    return what_.measures_heads && !plans_[layer].ways.front().says.rotary.empty();
  }
  void see(heads const& of) override {
    auto const& rotary = plans_[of.at.layer].ways.front().says.rotary.front();
    auto const f = rotary.frequencies.at(ids_.size());
    auto& norms = found.layers[of.at.layer].norms;
    if (!norms) norms = pair_norms{{}, {}, f.pairs()};
    auto const add = [&](posenc::heads_view<float const> const& from, std::vector<double>& sums) {
      sums.resize(from.heads() * f.pairs());
      auto const by_head = std::visit(
          [&]<class Layout>(Layout) {
            return posenc::norms_by_frequency<Layout>(from, f, rotary.block);
          },
          rotary.layout);
      for (std::size_t head = 0; head < by_head.size(); ++head)
        for (std::size_t pair = 0; pair < f.pairs(); ++pair)
          sums[head * f.pairs() + pair] += by_head[head][pair].mean() *
                                           static_cast<double>(from.tokens()) /
                                           static_cast<double>(ids_.size());
    };
    add(of.q, norms->q), add(of.k, norms->k);
  }

  bool asks_for_weights(std::size_t) const override { return what_.measures_heads; }
  void see_weights(query_block const& at, std::size_t head,
                   std::span<float const> weights) override {
    for (std::size_t i = 0; i < at.queries; ++i)
      found.layers[at.layer].heads[head].add(at.first + i, weights.subspan(i * at.keys, at.keys));
    if (head + 1 == model_.heads())
      report(at.first, at.queries, static_cast<double>(at.layer + 1) /
                                       static_cast<double>(model_.layers() + 1));
  }

  void see_states(std::size_t, std::span<float const> states) override {
    if (what_.keeps_states) found.states.insert(found.states.end(), states.begin(), states.end());
  }
  void see_logits(std::size_t first, std::span<float const> logits) override {
    auto const words = model_.vocabulary(), rows = logits.size() / words;
    for (std::size_t i = 0; i < what_.top.size(); ++i)
      if (auto const at = what_.top[i]; at >= first && at - first < rows)
        found.top[i] = top_of(at, logits.subspan((at - first) * words, words), top_count);
    std::vector<float> own;
    if (what_.own != nullptr) {
      auto const width = what_.own->width();
      own = what_.own->logits_of(what_.own_states.subspan(first * width, rows * width));
    }
    auto const predicted = std::min(rows, ids_.size() - 1 - first);
    auto const see = [&](std::size_t t) noexcept {
      auto& text = found.of_text;
      auto const row = logits.subspan(t * words, words);
      auto const sum = log_sum_exp(row);
      auto const at = first + t;
      text.cross_entropy[at] = sum - static_cast<double>(row[ids_[at + 1]]);
      if (own.empty()) return;
      auto const of_own = std::span(own).subspan(t * words, words);
      text.kl[at] = divergence(of_own, row, sum);
      text.agrees[at] = largest(of_own) == largest(row);
    };
    model_.model().threads(predicted, posenc::task(see));
    report(first, rows, 1);
  }

  measurement found = {};

 private:
  void report(std::size_t first, std::size_t count, double part) const {
    if (progress_)
      progress_((static_cast<double>(first) + part * static_cast<double>(count)) /
                static_cast<double>(ids_.size()));
  }

  decoder const& model_;
  std::vector<layer_plan> const& plans_;
  std::span<std::uint32_t const> ids_;
  wanted const& what_;
  std::function<void(double)> const& progress_;
};

}  // namespace

measurement measure(decoder const& model, std::vector<layer_plan> plans,
                    std::span<std::uint32_t const> ids, wanted const& what,
                    std::function<void(double)> const& progress) {
  reader watch(model, plans, ids, what, progress);
  sequence text(model, plans, ids.size());
  text.append(ids, watch);
  return std::move(watch.found);
}

std::vector<std::uint32_t> greedy(decoder const& model, std::vector<layer_plan> plans,
                                  std::span<std::uint32_t const> ids, std::size_t count) {
  sequence text(model, std::move(plans), ids.size() + count);
  std::vector<std::uint32_t> result;
  auto logits = text.append(ids);
  while (result.size() < count) {
    result.push_back(static_cast<std::uint32_t>(largest(logits)));
    if (result.size() < count) logits = text.append(std::span(result).last(1));
  }
  return result;
}

}  // namespace run
