#include "program/run/decoder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <variant>

#include "posenc/model/rotate.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "program/run/attend.hpp"
#include "program/run/model.hpp"

namespace run {
namespace {

using view = posenc::heads_view<float>;
using read_view = posenc::heads_view<float const>;

// Norms of vectors.

void rms_norm(std::span<float> x, std::span<float const> weights, double eps, double added) {
  double squares = 0;
  for (auto const number : x) squares += static_cast<double>(number) * static_cast<double>(number);
  auto const by = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const w = weights.empty() ? 1 : added + static_cast<double>(weights[i]);
    x[i] = static_cast<float>(static_cast<double>(x[i]) * by * w);
  }
}

void layer_norm(std::span<float> x, std::span<float const> weights, std::span<float const> bias,
                double eps) {
  double sum = 0, squares = 0;
  for (auto const number : x) sum += static_cast<double>(number);
  auto const mean = sum / static_cast<double>(x.size());
  for (auto const number : x) {
    auto const centred = static_cast<double>(number) - mean;
    squares += centred * centred;
  }
  auto const by = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const added = bias.empty() ? 0 : static_cast<double>(bias[i]);
    x[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * by *
                                  static_cast<double>(weights[i]) +
                              added);
  }
}

void normalise(token_norm const& norm, std::span<float> x) {
  if (!norm) return;
  if (norm.kind == norm_kind::layer) return layer_norm(x, norm.weights, norm.bias, norm.eps);
  rms_norm(x, norm.weights, norm.eps, norm.kind == norm_kind::rms_plus_one ? 1 : 0);
}

void activate(activation act, std::span<float> x) {
  constexpr double root_half = 0.70710678118654752440, root_2_pi = 0.79788456080286535588;
  for (auto& number : x) {
    auto const n = number;
    switch (act) {
      case activation::silu:
        number = n / (1 + std::exp(-n));
        break;
      case activation::gelu:
        number = 0.5f * n * (1 + std::erf(n * static_cast<float>(root_half)));
        break;
      case activation::gelu_tanh:
        number = 0.5f * n *
                 (1 + std::tanh(static_cast<float>(root_2_pi) * (n + 0.044715f * n * n * n)));
        break;
      case activation::relu:
        number = std::max(n, 0.0f);
        break;
    }
  }
}

}  // namespace

// Numbers [tokens][width].
struct rows {
  std::vector<float> numbers;
  std::size_t width = 0;

  void resize(std::size_t tokens, std::size_t columns) {
    width = columns;
    numbers.resize(tokens * columns);
  }
  std::span<float> operator[](std::size_t token) { return {numbers.data() + token * width, width}; }
  std::size_t tokens() const { return width == 0 ? 0 : numbers.size() / width; }
};

namespace {

void make_logits(loaded_model const& m, float const* states, std::size_t tokens,
                 std::span<float> logits) {
  multiply(m.threads, m.output, states, tokens, logits.data(), m.vocabulary);
  auto const scale = static_cast<float>(m.logit_scale), cap = static_cast<float>(m.logit_cap);
  if (scale == 1 && cap == 0) return;
  for (auto& number : logits) {
    number *= scale;
    if (cap > 0) number = cap * std::tanh(number / cap);
  }
}

}  // namespace

decoder::decoder(program::weight_files const& files, std::size_t threads, std::size_t most_logits)
    : model_(new loaded_model(files, threads)) {
  model_->most_logits = most_logits;
}
decoder::~decoder() = default;
decoder::decoder(decoder&&) noexcept = default;

posenc::model_description const& decoder::description() const { return model_->description; }
std::size_t decoder::vocabulary() const { return model_->vocabulary; }
std::size_t decoder::width() const { return model_->width; }
std::size_t decoder::layers() const { return model_->layers.size(); }
std::size_t decoder::heads() const { return model_->heads; }
std::size_t decoder::key_heads() const { return model_->key_heads; }

std::vector<layer_plan> decoder::plans() const {
  std::vector<layer_plan> all;
  for (std::size_t i = 0; i < layers(); ++i)
    all.push_back({{way{.says = description().kind_of(i)}}});
  return all;
}

std::vector<float> decoder::logits_of(std::span<float const> states) const {
  auto const tokens = states.size() / width();
  std::vector<float> logits(tokens * vocabulary());
  make_logits(*model_, states.data(), tokens, logits);
  return logits;
}

struct sequence::state {
  loaded_model const& m;
  std::vector<layer_plan> plans;
  std::size_t length;
  std::size_t tokens = 0;
  struct cached {
    cache keys, values;
  };
  std::vector<std::vector<cached>> caches = {};  // of each layer's ways
  // Of a block.
  rows x = {}, normed = {}, q = {}, k = {}, v = {}, joined = {}, latent = {}, expanded = {},
       plain_q = {}, plain_k = {}, turned_q = {}, turned_k = {}, outputs = {}, added = {},
       gate = {}, up = {}, logits = {};
  std::vector<std::byte> memory = {};

  std::size_t dims(std::size_t layer) const { return plans[layer].ways.front().says.head_dim; }

  void check();
  void embed(std::span<std::uint32_t const> ids);
  void block(std::span<std::uint32_t const> ids, observer& watch);
  void add_attention(std::size_t layer, observer& watch);
  void add_network(std::size_t layer);
  void make_heads(std::size_t layer, view& q_heads, view& k_heads, view& v_heads);
  void attend_by(std::size_t layer, std::size_t which, view const& q_heads, view const& k_heads,
                 view const& v_heads, observer& watch);
  void run_network(network const& one, rows& from, rows& to);
  void run_experts(expert_networks const& all, rows& to);
  void see_logits(observer& watch);
  void multiply_to(matrix const& by, rows& from, rows& to) {
    to.resize(from.tokens(), by.outputs());
    multiply(m.threads, by, from.numbers.data(), from.tokens(), to.numbers.data(), to.width);
  }
  void add(rows& from) {
    auto const by = static_cast<float>(m.residual);
    for (std::size_t i = 0; i < x.numbers.size(); ++i) x.numbers[i] += by * from.numbers[i];
  }
  void norm_to(token_norm const& norm, rows& to) {
    to = x;
    normalise_all(norm, to);
  }
  void normalise_all(token_norm const& norm, rows& of) {
    for (std::size_t t = 0; t < of.tokens(); ++t) normalise(norm, of[t]);
  }
};

void sequence::state::check() {
  auto const refuse = [](std::string const& why) { throw std::invalid_argument(why); };
  if (plans.size() != m.layers.size())
    refuse("there must be a plan for each of the " + std::to_string(m.layers.size()) +
           " layers, got " + std::to_string(plans.size()));
  if (m.positions != nullptr && length + m.of.first_position > m.positions->rows())
    throw std::runtime_error("the model has learned positions for " +
                             std::to_string(m.positions->rows() - m.of.first_position) +
                             " tokens, got " + std::to_string(length));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    auto const of_layer = " in layer " + std::to_string(i);
    std::vector<std::size_t> ways_of(m.heads, 0);
    caches.emplace_back();
    for (auto const& one : plans[i].ways) {
      for (std::size_t h = 0; one.heads.empty() && h < m.heads; ++h) ++ways_of[h];
      for (auto const head : one.heads) {
        if (head >= m.heads)
          refuse("heads must be below " + std::to_string(m.heads) + ", got " +
                 std::to_string(head) + of_layer);
        ++ways_of[head];
      }
      if (!one.key_heads.empty() &&
          (one.key_heads.size() != m.heads || std::ranges::max(one.key_heads) >= m.key_heads))
        refuse("each query head must have one of the " + std::to_string(m.key_heads) +
               " heads of keys" + of_layer);
      if (one.says.head_dim != m.description.kind_of(i).head_dim)
        refuse("head_dim must stay as the model has it" + of_layer);
      caches.back().push_back({cache(one.keys, m.key_heads, one.says.head_dim),
                               cache(one.values, m.key_heads, m.value_dim)});
      caches.back().back().keys.reserve(length), caches.back().back().values.reserve(length);
    }
    if (std::ranges::any_of(ways_of, [](auto n) { return n != 1; }))
      refuse("each head must go by one way" + of_layer);
  }
}

void sequence::state::embed(std::span<std::uint32_t const> ids) {
  x.resize(ids.size(), m.width);
  std::vector<float> position(m.width);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    auto const row = x[t];
    m.embedding->decode(ids[t], 1, row.data());
    for (auto& number : row) number *= static_cast<float>(m.embedding_scale);
    if (m.positions != nullptr) {
      m.positions->decode(tokens + t + m.of.first_position, 1, position.data());
      for (std::size_t i = 0; i < m.width; ++i) row[i] += position[i];
    }
    normalise(m.embedding_norm, row);
  }
}

// Queries, keys and values of the block, from `normed`. Keys are without their bias.
void sequence::state::make_heads(std::size_t layer, view& q_heads, view& k_heads, view& v_heads) {
  auto const& l = m.layers[layer];
  auto const n = x.tokens(), d = dims(layer);
  auto const stride = [](std::size_t s) { return static_cast<std::ptrdiff_t>(s); };
  posenc::heads_shape const of_q{n, m.heads, d}, of_k{n, m.key_heads, d},
      of_v{n, m.key_heads, m.value_dim};
  if (l.joined.tensor != nullptr) {
    multiply_to(l.joined, normed, joined);
    auto* const first = joined.numbers.data();
    bool const by_head = m.of.joined == joined_heads::by_head;
    posenc::heads_strides const by{stride(joined.width), stride(by_head ? 3 * d : d)};
    q_heads = view(first, of_q, by);
    k_heads = view(first + (by_head ? d : m.heads * d), of_k, by);
    v_heads = view(first + (by_head ? 2 * d : (m.heads + m.key_heads) * d), of_v, by);
    return;
  }
  if (!l.latent) {
    multiply_to(l.q, normed, q), multiply_to(l.k, normed, k), multiply_to(l.v, normed, v);
  } else {
    auto const& by = *l.latent;
    if (by.q_a.tensor == nullptr) {
      multiply_to(l.q, normed, q);
    } else {
      multiply_to(by.q_a, normed, latent);
      normalise_all(by.q_a_norm, latent);
      multiply_to(by.q_b, latent, q);
    }
    multiply_to(by.kv_a, normed, joined);
    auto const width = by.kv_a_norm.weights.size(), rotated = joined.width - width,
               plain = d - rotated;
    latent.resize(n, width);
    for (std::size_t t = 0; t < n; ++t)
      std::ranges::copy(joined[t].first(width), latent[t].begin());
    normalise_all(by.kv_a_norm, latent);
    expanded.resize(n, m.heads * (plain + m.value_dim));
    auto const expand = [&](matrix const& some, std::size_t to) {
      multiply(m.threads, some, latent.numbers.data(), n, expanded.numbers.data() + to,
               expanded.width);
    };
    if (by.kv_b.tensor != nullptr) expand(by.kv_b, 0);
    for (std::size_t h = 0; h < by.k_b.size(); ++h) {
      expand(by.k_b[h], h * (plain + m.value_dim));
      expand(by.v_b[h], h * (plain + m.value_dim) + plain);
    }
    k.resize(n, m.heads * d), v.resize(n, m.heads * m.value_dim);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t h = 0; h < m.heads; ++h) {
        auto const both = expanded[t].subspan(h * (plain + m.value_dim));
        auto const key = k[t].subspan(h * d);
        std::ranges::copy(both.first(plain), key.begin());
        std::ranges::copy(joined[t].last(rotated), key.subspan(plain).begin());
        std::ranges::copy(both.subspan(plain, m.value_dim), v[t].subspan(h * m.value_dim).begin());
      }
  }
  q_heads = view(q.numbers.data(), of_q), k_heads = view(k.numbers.data(), of_k);
  v_heads = view(v.numbers.data(), of_v);
}

namespace {

// A copy of heads, one behind the other.
view copied(view const& heads, rows& to) {
  auto const& shape = heads.shape();
  to.resize(shape.tokens, shape.heads * shape.head_dim);
  for (std::size_t t = 0; t < shape.tokens; ++t)
    for (std::size_t h = 0; h < shape.heads; ++h)
      std::ranges::copy(heads(t, h), to[t].subspan(h * shape.head_dim).begin());
  return {to.numbers.data(), shape};
}

// The norm of queries or keys that stands at this place; heads lie one behind the other.
void norm_heads(view const& heads, posenc::norm_description norm, std::vector<float> const& weights,
                posenc::norm_place place, double eps) {
  using enum posenc::norm_scope;
  if (norm.of <= none || norm.how.place != place) return;
  if (norm.how.eps == 0) norm.how.eps = static_cast<float>(eps);
  if (norm.of == head)
    return posenc::rotate(posenc::unrotated(heads, heads).norm(
        posenc::head_norm_of<float>(norm, posenc::viewed<float>(weights))));
  auto const& shape = heads.shape();
  auto const all = shape.heads * shape.head_dim;
  for (std::size_t t = 0; t < shape.tokens; ++t) {
    std::span const row(heads(t, 0).data(), all);
    if (norm.of == token)
      rms_norm(row, weights, static_cast<double>(norm.how.eps), norm.how.plus_one ? 1 : 0);
    for (std::size_t h = 0; norm.of == centred && h < shape.heads; ++h)
      layer_norm(row.subspan(h * shape.head_dim, shape.head_dim),
                 std::span(weights).subspan(h * shape.head_dim, shape.head_dim), {},
                 static_cast<double>(norm.how.eps));
  }
}

// The positions of n tokens from `first` on.
std::vector<std::int64_t> positions_from(std::int64_t first, std::size_t n) {
  std::vector<std::int64_t> all(n);
  std::iota(all.begin(), all.end(), first);
  return all;
}

}  // namespace

// Attention of one way: its queries and keys rotate as it says, and its keys join its cache.
void sequence::state::attend_by(std::size_t layer, std::size_t which, view const& q_heads,
                                view const& k_heads, view const& v_heads, observer& watch) {
  auto const& l = m.layers[layer];
  auto const& by = plans[layer].ways[which];
  auto const n = x.tokens();
  auto const rq = copied(q_heads, turned_q), rk = copied(k_heads, turned_k);
  bool const has_bias = !l.key_bias.empty();
  for (std::size_t t = 0; has_bias && !by.key_bias_is_apart && t < n; ++t)
    for (std::size_t i = 0; i < turned_k.width; ++i) turned_k[t][i] += l.key_bias[i];
  auto const norm_at = [&](posenc::norm_place place) {
    norm_heads(rq, by.says.query_norm, l.q_norm, place, m.eps);
    norm_heads(rk, by.says.key_norm, l.k_norm, place, m.eps);
  };
  norm_at(posenc::norm_place::before);
  if (m.clip) {
    auto const most = static_cast<float>(*m.clip);
    for (auto* const each : {&turned_q, &turned_k})
      for (auto& number : each->numbers) number = std::clamp(number, -most, most);
    for (std::size_t t = 0; which == 0 && t < n; ++t)
      for (std::size_t h = 0; h < m.key_heads; ++h)
        for (auto& number : v_heads(t, h))
          number = std::clamp(number, -most, most);
  }
  bool const shows = which == 0 && watch.asks_for_heads(layer);
  if (shows) plain_q = turned_q, plain_k = turned_k;

  auto const first = static_cast<std::int64_t>(tokens);
  auto const turn = [&](view const& heads, std::int64_t from, bool all_by_same = false) {
    for (auto const& rotary : by.says.rotary) {
      auto const at = all_by_same ? std::vector<std::int64_t>(n, from) : positions_from(from, n);
      posenc::rotate(rotary, heads, posenc::rows_of(rotary, length, at));
    }
  };
  turn(rq, first + by.query_offset), turn(rk, first + by.key_offset + by.keys_moved);
  norm_at(posenc::norm_place::after);
  auto const transform = [&](view const& heads) {
    if (by.transforms_keys) posenc::hadamard(heads);
  };
  transform(rq), transform(rk);
  auto& of = caches[layer][which];
  if (by.keys_moved != 0) {  // stored, read, rotated back and stored again
    cache before(by.keys, m.key_heads, turned_k.width / m.key_heads);
    before.append(rk);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t h = 0; h < m.key_heads; ++h)
        before.read(t, h, rk(t, h));
    transform(rk), turn(rk, -by.keys_moved, true), transform(rk);
  }
  of.keys.append(rk), of.values.append(v_heads);
  query_block const at{layer, tokens, n, tokens + n};
  if (shows)
    watch.see({at, read_view(plain_q.numbers.data(), rq.shape()),
               read_view(plain_k.numbers.data(), rk.shape()), rq, rk, v_heads});
  attend(m.threads,
         {.by = by,
          .at = at,
          .q = rq,
          .k = of.keys.heads(),
          .v = of.values.heads(),
          .outputs = view(outputs.numbers.data(), {n, m.heads, m.value_dim}),
          .key_bias = by.key_bias_is_apart ? std::span(l.key_bias) : std::span<float const>(),
          .length = length},
         watch, memory);
}

// Writes the layer's attention of `normed` to `added`.
void sequence::state::add_attention(std::size_t layer, observer& watch) {
  auto const& l = m.layers[layer];
  view q_heads(nullptr, {0, 1, 1}), k_heads = q_heads, v_heads = q_heads;
  make_heads(layer, q_heads, k_heads, v_heads);
  outputs.resize(x.tokens(), m.heads * m.value_dim);
  for (std::size_t which = 0; which < plans[layer].ways.size(); ++which)
    attend_by(layer, which, q_heads, k_heads, v_heads, watch);
  multiply_to(l.output, outputs, added);
  normalise_all(l.behind_attention, added);
}

void sequence::state::run_network(network const& one, rows& from, rows& to) {
  auto const n = from.tokens();
  multiply_to(one.up, from, up);
  auto const hidden = one.down.inputs();
  if (one.gate.tensor != nullptr) {
    multiply_to(one.gate, from, gate);
    activate(m.of.act, gate.numbers);
    for (std::size_t i = 0; i < up.numbers.size(); ++i) up.numbers[i] *= gate.numbers[i];
  } else if (m.of.joins_gate) {  // the gate's numbers come first
    gate.resize(n, hidden);
    for (std::size_t t = 0; t < n; ++t) {
      activate(m.of.act, up[t].first(hidden));
      for (std::size_t i = 0; i < hidden; ++i) gate[t][i] = up[t][i] * up[t][hidden + i];
    }
    return multiply_to(one.down, gate, to);
  } else {
    activate(m.of.act, up.numbers);
  }
  multiply_to(one.down, up, to);
}

// Each expert runs for the tokens that choose it.
void sequence::state::run_experts(expert_networks const& all, rows& to) {
  auto const n = normed.tokens(), count = all.all.size();
  rows scores;
  multiply_to(all.router, normed, scores);
  struct chosen {
    std::size_t token;
    double weight;
  };
  std::vector<std::vector<chosen>> tokens_of(count);
  for (std::size_t t = 0; t < n; ++t) {
    auto const row = scores[t];
    auto const largest = static_cast<double>(std::ranges::max(row));
    std::vector<double> weights(count);
    for (std::size_t e = 0; e < count; ++e)
      weights[e] = std::exp(static_cast<double>(row[e]) - largest);
    auto const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t e) { return weights[e]; });
    double of_used = 0;
    for (std::size_t i = 0; i < all.used; ++i) of_used += weights[order[i]];
    auto const by = all.factor / (all.renormalises ? of_used : sum);
    for (std::size_t i = 0; i < all.used; ++i)
      tokens_of[order[i]].push_back({t, by * weights[order[i]]});
  }
  rows from, result;
  if (all.shared) {
    run_network(*all.shared, normed, to);
  } else {
    to.resize(n, m.width);
    std::ranges::fill(to.numbers, 0.0f);
  }
  for (std::size_t e = 0; e < count; ++e) {
    auto const& some = tokens_of[e];
    if (some.empty()) continue;
    from.resize(some.size(), m.width);
    for (std::size_t i = 0; i < some.size(); ++i)
      std::ranges::copy(normed[some[i].token], from[i].begin());
    run_network(all.all[e], from, result);
    for (std::size_t i = 0; i < some.size(); ++i)
      for (std::size_t c = 0; c < m.width; ++c)
        to[some[i].token][c] += static_cast<float>(some[i].weight) * result[i][c];
  }
}

// Writes the layer's network of `normed` to `added`.
void sequence::state::add_network(std::size_t layer) {
  auto const& l = m.layers[layer];
  if (l.experts) {
    run_experts(*l.experts, added);
  } else {
    run_network(l.dense, normed, added);
  }
  normalise_all(l.behind_network, added);
}

void sequence::state::see_logits(observer& watch) {
  normalise_all(m.output_norm, x);
  watch.see_states(tokens, x.numbers);
  auto const most = std::clamp<std::size_t>(m.most_logits / m.vocabulary, 1, x.tokens());
  for (std::size_t first = 0; first < x.tokens(); first += most) {
    auto const n = std::min(most, x.tokens() - first);
    logits.resize(n, m.vocabulary);
    make_logits(m, x[first].data(), n, logits.numbers);
    watch.see_logits(tokens + first, logits.numbers);
  }
}

void sequence::state::block(std::span<std::uint32_t const> ids, observer& watch) {
  embed(ids);
  for (std::size_t i = 0; i < m.layers.size(); ++i) {
    auto const& l = m.layers[i];
    norm_to(l.before_attention, normed);
    add_attention(i, watch);
    if (m.of.order == block_order::in_turn) {
      add(added);
      norm_to(l.before_network, normed);
      add_network(i);
    } else {
      auto const of_attention = added;
      if (m.of.order == block_order::parallel) norm_to(l.before_network, normed);
      add_network(i);
      add(const_cast<rows&>(of_attention));
    }
    add(added);
  }
  see_logits(watch);
  tokens += ids.size();
}

sequence::sequence(decoder const& of, std::vector<layer_plan> plans, std::size_t length)
    : state_(new state{of.model(), std::move(plans), length}) {
  state_->check();
}
sequence::~sequence() = default;

std::size_t sequence::tokens() const { return state_->tokens; }

void sequence::append(std::span<std::uint32_t const> ids, observer& watch) {
  auto const most = state_->length - state_->tokens;
  if (ids.size() > most)
    throw std::runtime_error("the sequence was begun for " + std::to_string(state_->length) +
                             " tokens, got " + std::to_string(state_->tokens + ids.size()));
  for (auto const id : ids)
    if (id >= state_->m.vocabulary)
      throw std::runtime_error("ids must be below the vocabulary, " +
                               std::to_string(state_->m.vocabulary) + ", got " +
                               std::to_string(id));
  for (std::size_t first = 0; first < ids.size(); first += block_tokens)
    state_->block(ids.subspan(first, std::min(block_tokens, ids.size() - first)), watch);
}

std::span<float const> sequence::append(std::span<std::uint32_t const> ids) {
  observer none;
  append(ids, none);
  return state_->logits[state_->logits.tokens() - 1];
}

}  // namespace run
