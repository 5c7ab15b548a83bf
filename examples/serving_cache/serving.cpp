#include "serving.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "posenc/attention/attention.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/encoding/scheme.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/heads/heads_view.hpp"
#include "posenc/rotation/rotary_block.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_table.hpp"
#include "posenc/rows/rerotation.hpp"
#include "posenc/score/key_bias.hpp"

namespace {

using posenc::heads_view, posenc::halves, posenc::rotated, posenc::rotated, posenc::unrotated;

constexpr std::size_t page_tokens = 16, pages = 24;
constexpr float eps = 1e-6f;

// The bias of a projection of keys: none, in the cache, or left out of it.
enum class key_bias_is { none, stored, left_out };

// The heads of a layer. The last rotary_dim dims rotate. Queries and keys have a norm, or keys have
// a bias.
struct model {
  std::size_t q_heads, kv_heads, head_dim, rotary_dim;
  bool keys_are_values;
  key_bias_is bias = key_bias_is::none;
  constexpr bool has_norm() const { return bias == key_bias_is::none; }
  constexpr posenc::pages_shape shape() const { return {pages, page_tokens, kv_heads, head_dim}; }
};
constexpr model usual{8, 2, 128, 128, false}, deepseek{8, 1, 512, 64, true},
    biased{8, 2, 128, 128, false, key_bias_is::stored},
    bias_out{8, 2, 128, 128, false, key_bias_is::left_out};

// Of norm 300, in a pair that makes a turn in some 30,000 tokens.
std::vector<float> bias_of_keys(model const& m) {
  std::vector<float> b(m.kv_heads * m.head_dim);
  for (std::size_t head = 0; head < m.kv_heads && !m.has_norm(); ++head)
    b[head * m.head_dim + 40] = 240, b[head * m.head_dim + 104] = -180;
  return b;
}

// A token as the model's projections give it, and where it is.
struct token {
  std::vector<float> q, k, v;
  std::int64_t position = 0, slot = 0;
};
using sequence = std::vector<token>;

// Attention of the last token of a sequence, in double and as plain as it gets.
std::vector<double> exact_outputs(model const& m, sequence const& s,
                                  std::vector<float> const& weight, posenc::frequencies const& f) {
  auto const [q_heads, kv_heads, head_dim, rotary_dim, keys_are_values, bias] = m;
  auto const bias_of_k = bias_of_keys(m);
  auto const turned = [&, dim = head_dim, rotary = rotary_dim](std::vector<float> const& heads,
                                                               std::size_t head,
                                                               std::int64_t position) {
    std::vector<double> x(heads.begin() + static_cast<std::ptrdiff_t>(head * dim),
                          heads.begin() + static_cast<std::ptrdiff_t>((head + 1) * dim));
    double squares = 0;
    for (auto const number : x) squares += number * number;
    auto const gain = 1 / std::sqrt(squares / static_cast<double>(dim) + static_cast<double>(eps));
    for (std::size_t i = 0; i < dim && m.has_norm(); ++i)
      x[i] *= static_cast<double>(weight[i]) * gain;
    for (std::size_t i = dim - rotary; i < dim - rotary / 2; ++i) {
      auto const angle = static_cast<double>(position) * f.inv_freq()[i - (dim - rotary)];
      auto const a = x[i], b = x[i + rotary / 2];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + rotary / 2] = a * std::sin(angle) + b * std::cos(angle);
    }
    return x;
  };
  std::vector<double> outputs(q_heads * head_dim);
  for (std::size_t head = 0; head < q_heads; ++head) {
    auto const kv = head / (q_heads / kv_heads);
    auto const q = turned(s.back().q, head, s.back().position);
    double sum = 0;
    auto const out = std::span(outputs).subspan(head * head_dim, head_dim);
    for (auto const& t : s) {
      auto keys = t.k;
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] += bias_of_k[i];
      auto const k = turned(keys, kv, t.position);
      double score = 0;
      for (std::size_t i = 0; i < head_dim; ++i) score += q[i] * k[i];
      auto const weight_of_key = std::exp(score / std::sqrt(static_cast<double>(head_dim)));
      sum += weight_of_key;
      for (std::size_t i = 0; i < head_dim; ++i)
        out[i] +=
            weight_of_key * (keys_are_values ? k[i] : static_cast<double>(t.v[kv * head_dim + i]));
    }
    for (auto& number : out) number /= sum;
  }
  return outputs;
}

// The server's layer: weights, angles, and the pages of keys and of values.
template <class Format, model const& M>
class layer {
  static constexpr auto q_heads = M.q_heads, kv_heads = M.kv_heads, head_dim = M.head_dim;
  static constexpr auto shape = M.shape();
  static constexpr auto block = posenc::rotary_block::last();

 public:
  layer(Format const& keys, Format const& values, unsigned seed)
      : k_format_(keys), v_format_(values), random_(seed), weight_(head_dim) {
    k_pages_.resize(pages * page_tokens * kv_heads * bytes());
    v_pages_ = k_pages_;
    std::uniform_real_distribution<float> near_one(0.5f, 1.5f);
    std::ranges::generate(weight_, [&] { return near_one(random_); });
  }

  std::size_t bytes() const {
    auto result = k_format_.bytes(head_dim);
    if constexpr (posenc::scaled_format<Format>) result += k_format_.scale_bytes(head_dim);
    return result;
  }

  token next(std::int64_t position, std::int64_t slot) {
    std::normal_distribution<float> normal;
    token t{std::vector<float>(q_heads * head_dim), std::vector<float>(kv_heads * head_dim),
            std::vector<float>(kv_heads * head_dim), position, slot};
    for (auto* const x : {&t.q, &t.k, &t.v})
      std::ranges::generate(*x, [&] { return normal(random_); });
    return t;
  }

  // The step: one call for the queries, keys and values of all tokens of a batch, whichever
  // sequences they are of. Returns the queries, for attention.
  std::vector<float> step(std::vector<token const*> const& batch) {
    auto const tokens = batch.size();
    std::vector<float> q, k, v;
    std::vector<std::int64_t> positions, slots;
    for (auto const* t : batch) {
      q.insert(q.end(), t->q.begin(), t->q.end()), k.insert(k.end(), t->k.begin(), t->k.end());
      v.insert(v.end(), t->v.begin(), t->v.end());
      positions.push_back(t->position), slots.push_back(t->slot);
    }
    // The product of keys has its bias, or not. Nothing else of the cache differs.
    for (std::size_t i = 0; M.bias == key_bias_is::stored && i < k.size(); ++i)
      k[i] += bias_[i % bias_.size()];
    auto const normed = [&](auto const& operand) {
      if constexpr (M.has_norm()) {
        return operand.norm({weight_, eps});
      } else {
        return operand;
      }
    };
    auto const rows = table_.rows(positions);  // once per step, for every layer
    auto const start = std::chrono::steady_clock::now();
    auto const queries =
        normed(rotated<halves>(heads_view(q.data(), {tokens, q_heads, head_dim})).block(block));
    auto const keys = normed(rotated<halves>(heads_view(k.data(), {tokens, kv_heads, head_dim}),
                                             heads_view(k_format_, k_pages_.data(), shape, slots))
                                 .block(block));
    if constexpr (M.keys_are_values) {
      posenc::rotate(rows, queries, keys);
    } else {
      posenc::rotate(rows, queries, keys,
                     unrotated(heads_view(v.data(), {tokens, kv_heads, head_dim}),
                               heads_view(v_format_, v_pages_.data(), shape, slots)));
    }
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    written_ += tokens;
    return q;
  }

  // Moves the keys of some tokens where they lie: decoded, rotated, encoded. DeepSeek V4's rotary
  // dims are bfloat16 in the page: they rotate as such, and no code is written anew.
  void shift(std::span<token> some, std::int64_t by) {
    std::vector<std::int64_t> slots;
    for (auto& t : some) slots.push_back(t.slot), t.position += by;
    auto const rows = posenc::shift_rows(f_, std::vector<std::int64_t>(slots.size(), by));
    if constexpr (std::same_as<Format, posenc::deepseek_v4>) {
      auto const plain = head_dim - Format::rotary;
      auto const words = static_cast<std::ptrdiff_t>(bytes() / 2),
                 of_head = static_cast<std::ptrdiff_t>(k_format_.bytes(head_dim) / 2);
      posenc::heads_view<posenc::bfloat16, posenc::in_pages> const view(
          reinterpret_cast<posenc::bfloat16*>(k_pages_.data() + plain),
          {pages, page_tokens, 1, Format::rotary},
          {.page = words * std::ptrdiff_t{page_tokens}, .token = of_head, .head = of_head}, slots);
      posenc::rotate<halves>(view, rows);
    } else {
      posenc::rotate(rows, rotated<halves>(heads_view(k_format_, k_pages_.data(), shape, slots)));
    }
  }

  // Attention of the last token of a sequence, whose query is given, adds to what error() says.
  void attend(sequence const& s, std::span<float const> q) {
    std::vector<std::int64_t> slots;
    for (auto const& t : s) slots.push_back(t.slot);
    auto const k = heads_view(k_format_, k_pages_.data(), shape, slots),
               v = heads_view(v_format_, (M.keys_are_values ? k_pages_ : v_pages_).data(), shape,
                              slots);
    heads_view<float const> const query(q.data(), {1, q_heads, head_dim});
    auto const result = [&] {
      if constexpr (M.bias == key_bias_is::left_out) {
        return posenc::attention(query, k, v, key_bias_, {.keys_are_encoded = true});
      } else {
        return posenc::attention(query, k, v, posenc::nope(), {.keys_are_encoded = true});
      }
    }();
    auto const exact = exact_outputs(M, s, weight_, f_);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      auto const off = static_cast<double>(result.outputs[i]) - exact[i];
      errors_ += off * off, squares_ += exact[i] * exact[i];
    }
  }
  // Since the last call: rms, as a part of the outputs.
  double error() {
    auto const result = std::sqrt(errors_ / squares_);
    errors_ = squares_ = 0;
    return result;
  }
  double nanoseconds() const { return 1e9 * seconds_ / static_cast<double>(written_); }

 private:
  Format k_format_, v_format_;
  std::mt19937_64 random_;
  std::vector<float> weight_;
  posenc::frequencies f_ = posenc::geometric(M.rotary_dim, 5e5);
  posenc::cos_sin_table table_{f_};
  std::vector<float> bias_ = bias_of_keys(M);
  posenc::key_bias<halves> key_bias_{bias_, kv_heads, q_heads, f_, block};  // once per layer
  std::vector<std::byte> k_pages_, v_pages_;
  double seconds_ = 0, errors_ = 0, squares_ = 0;
  std::size_t written_ = 0;
};

template <model const& M = usual, class Format>
outcome served(Format const& keys, Format const& values, unsigned seed) {
  constexpr auto of_queries = M.q_heads * M.head_dim;
  layer<Format, M> server(keys, values, seed);
  // Pages are handed out as they are needed; a sequence's slots follow its pages.
  std::int64_t free_page = 0;
  auto const append = [&](sequence& s) {
    auto const position = s.empty() ? 0 : s.back().position + 1;
    if (s.empty() || s.back().slot % std::int64_t{page_tokens} == page_tokens - 1) {
      s.push_back(server.next(position, free_page++ * std::int64_t{page_tokens}));
    } else {
      s.push_back(server.next(position, s.back().slot + 1));
    }
  };
  auto const write = [&](std::vector<token const*> const& batch) { return server.step(batch); };

  // A prefix of two pages, written once; then 64 tokens of one sequence and 48 of another,
  // together.
  sequence a;
  for (int i = 0; i < 32; ++i) append(a);
  std::vector<token const*> batch;
  for (auto const& t : a) batch.push_back(&t);
  write(batch);
  auto b = a;
  for (int i = 0; i < 64; ++i) append(a);
  for (int i = 0; i < 48; ++i) append(b);
  batch.clear();
  for (std::size_t i = 32; i < a.size(); ++i) batch.push_back(&a[i]);
  for (std::size_t i = 32; i < b.size(); ++i) batch.push_back(&b[i]);
  write(batch);
  auto const prefill = server.nanoseconds();

  auto const decode = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      append(a), append(b);
      auto const q = write({&a.back(), &b.back()});
      server.attend(a, std::span(q).first(of_queries));
      server.attend(b, std::span(q).last(of_queries));
    }
    return server.error();
  };
  outcome result;
  result.bytes = static_cast<double>((M.keys_are_values ? 1 : 2) * M.kv_heads * server.bytes());
  result.nanoseconds = prefill;
  result.error = decode(32);

  // The window of one sequence is full: the oldest page behind the prefix leaves, the later tokens
  // move up. The prefix stays where it is: the other sequence reads it too.
  a.erase(a.begin() + 32, a.begin() + 32 + page_tokens);
  server.shift(std::span(a).subspan(32), -std::int64_t{page_tokens});
  result.moved = decode(16);
  return result;
}

// Keys are normed, up to 1.5 sqrt(head_dim) in one dim; values are normal.
constexpr float most_of_a_key = 6.5f, most_of_a_value = 4.5f;

struct named_format {
  std::string name, engine;
  outcome (*serve)(unsigned);
};
template <class Format>
outcome with_defaults(unsigned seed) {
  return served(Format{}, Format{}, seed);
}
std::vector<named_format> const formats{
    {"f32", "all", with_defaults<posenc::numbers_of<float>>},
    {"f16", "llama.cpp", with_defaults<posenc::numbers_of<posenc::half>>},
    {"bf16", "vLLM", with_defaults<posenc::numbers_of<posenc::bfloat16>>},
    {"q8_0", "llama.cpp", with_defaults<posenc::q8_0>},
    {"u8", "OpenVINO", with_defaults<posenc::u8_per_head>},
    {"int8", "vLLM", with_defaults<posenc::int8_per_head>},
    {"int8-static", "ONNX Runtime",
     [](unsigned seed) {
       return served(posenc::int8_static{most_of_a_key / 127},
                     posenc::int8_static{most_of_a_value / 127}, seed);
     }},
    {"e4m3", "vLLM",
     [](unsigned seed) {
       return served(posenc::e4m3::of_scale(most_of_a_key / 448),
                     posenc::e4m3::of_scale(most_of_a_value / 448), seed);
     }},
    {"e4m3-truncated", "vLLM on CPUs",
     [](unsigned seed) {
       auto const truncates = posenc::e4m3_rounding::towards_zero;
       return served(posenc::e4m3::of_scale(most_of_a_key / 448, truncates),
                     posenc::e4m3::of_scale(most_of_a_value / 448, truncates), seed);
     }},
    {"q8_0-biased", "Qwen 2.5",
     [](unsigned seed) { return served<biased>(posenc::q8_0{}, posenc::q8_0{}, seed); }},
    {"q8_0-bias-out", "key_bias",
     [](unsigned seed) { return served<bias_out>(posenc::q8_0{}, posenc::q8_0{}, seed); }},
    {"deepseek-v4", "vLLM, sglang",
     [](unsigned seed) {
       return served<deepseek>(posenc::deepseek_v4{}, posenc::deepseek_v4{}, seed);
     }},
};

}  // namespace

std::vector<std::string> const& format_names() {
  static auto const names = [] {
    std::vector<std::string> result;
    for (auto const& format : formats) result.push_back(format.name);
    return result;
  }();
  return names;
}

outcome serve(std::string const& format, unsigned seed) {
  auto const found = std::ranges::find(formats, format, &named_format::name);
  auto result = found->serve(seed);
  result.format = found->name, result.engine = found->engine;
  return result;
}
