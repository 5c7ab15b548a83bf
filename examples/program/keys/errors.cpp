#include "errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/core/require.hpp"
#include "posenc/rotation/hadamard.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/score/key_bias.hpp"
#include "random.hpp"

namespace keys {
namespace {

// What a format makes of heads.
template <class Format>
void code(std::vector<float>& heads, std::size_t head_dim) {
  Format const format{};
  std::vector<std::byte> bytes(format.bytes(head_dim)), scales(16);
  for (std::size_t first = 0; first < heads.size(); first += head_dim) {
    auto const head = std::span(heads).subspan(first, head_dim);
    if constexpr (posenc::scaled_format<Format>) {
      format.encode(head, bytes.data(), scales.data());
      format.decode(bytes.data(), scales.data(), head);
    } else {
      format.encode(head, bytes.data());
      format.decode(bytes.data(), head);
    }
  }
}

template <class Format>
std::size_t bytes(std::size_t head_dim) {
  auto const codes = Format().bytes(head_dim);
  if constexpr (posenc::scaled_format<Format>) {
    return codes + Format().scale_bytes(head_dim);
  } else {
    return codes;
  }
}

struct named_format {
  std::string name;
  void (*code)(std::vector<float>& heads, std::size_t head_dim);
  std::size_t (*bytes)(std::size_t head_dim);
};
template <class Format>
named_format named(char const* name) {
  return {name, code<Format>, bytes<Format>};
}
std::vector<named_format> const formats{named<posenc::numbers_of<posenc::half>>("f16"),
                                        named<posenc::numbers_of<posenc::bfloat16>>("bf16"),
                                        named<posenc::e4m3>("e4m3"),
                                        named<posenc::q8_0>("q8_0"),
                                        named<posenc::u8_per_head>("u8"),
                                        named<posenc::int8_per_head>("int8"),
                                        named<posenc::q5_1>("q5_1"),
                                        named<posenc::q5_0>("q5_0"),
                                        named<posenc::q4_1>("q4_1"),
                                        named<posenc::q4_0>("q4_0"),
                                        named<posenc::iq4_nl>("iq4_nl"),
                                        named<posenc::int4_per_head>("int4")};

named_format const& format_of(std::string const& name) {
  auto const found = std::ranges::find(formats, name, &named_format::name);
  posenc::detail::require(found != formats.end(), "format must be known, got ", name);
  return *found;
}

void rotate(std::vector<double>& heads, std::size_t head_dim, head_rotation const& how,
            std::vector<std::int64_t> const& positions) {
  posenc::cos_sin_rows<double> const rows(how.frequencies, positions);
  posenc::heads_view const view(heads.data(), {positions.size(), 1, head_dim});
  std::visit([&]<class Layout>(Layout) { posenc::rotate<Layout>(view, rows, how.block); },
             how.layout);
}

bool is_transformed(way stored) { return stored == way::hadamard || stored == way::both; }
bool has_bias(way stored) { return stored != way::bias_out && stored != way::both; }

void transform(std::vector<double>& heads, std::size_t head_dim) {
  posenc::hadamard(posenc::heads_view(heads.data(), {heads.size() / head_dim, 1, head_dim}));
}

double mean_square(std::vector<double> const& x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size());
}

std::vector<double> softmax(std::span<double const> scores) {
  std::vector<double> weights(scores.begin(), scores.end());
  auto const most = *std::ranges::max_element(weights);
  double sum = 0;
  for (auto& w : weights) sum += w = std::exp(w - most);
  for (auto& w : weights) w /= sum;
  return weights;
}

}  // namespace

std::string name_of(way one) {
  constexpr char const* names[]{"as it is", "Hadamard", "mean out", "bias out", "both"};
  return names[static_cast<std::size_t>(one)];
}

std::vector<std::string> const& format_names() {
  static auto const names = [] {
    std::vector<std::string> result;
    for (auto const& format : formats) result.push_back(format.name);
    return result;
  }();
  return names;
}

std::size_t bytes_of(std::string const& format, std::size_t head_dim) {
  return format_of(format).bytes(head_dim);
}

sampled_head::sampled_head(head_statistics const& of, head_rotation const& how, sampling const& s)
    : head_dim_(of.bias.size()),
      tokens_(s.tokens),
      rotation_(how),
      positions_(tokens_),
      plain_bias_(of.bias.begin(), of.bias.end()) {
  posenc::detail::require(of.keys.size() == head_dim_ && of.queries.size() == head_dim_,
                          "sampled_head: keys and queries must have the head_dim of the bias, ",
                          head_dim_, ", got ", of.keys.size(), " and ", of.queries.size());
  random_numbers random(s.seed);
  for (auto& p : positions_)
    p = static_cast<std::int64_t>(random.uniform() * static_cast<double>(s.context));
  for (std::size_t t = 0; t < tokens_; ++t) {
    for (auto const deviation : of.keys) content_.push_back(deviation * random.normal());
    bias_.insert(bias_.end(), of.bias.begin(), of.bias.end());
  }
  for (std::size_t t = 0; t < s.queries; ++t)
    for (auto const deviation : of.queries) queries_.push_back(deviation * random.normal());
  rotate(content_, head_dim_, how, positions_), rotate(bias_, head_dim_, how, positions_);
  rotate(queries_, head_dim_, how, std::vector<std::int64_t>(s.queries, s.context));

  for (auto const deviation : of.queries) query_variance_.push_back(deviation * deviation);
  auto const dims = how.frequencies.rotary_dim(), first = how.block.first_dim(head_dim_, dims);
  std::visit(
      [&]<class Layout>(Layout) {
        for (std::size_t i = 0; i < dims / 2; ++i) {
          auto &x = query_variance_[first + Layout::x_index(i, dims / 2)],
               &y = query_variance_[first + Layout::y_index(i, dims / 2)];
          x = y = (x + y) / 2;
        }
      },
      how.layout);

  auto const root = std::sqrt(static_cast<double>(head_dim_));
  for (std::size_t q = 0; q < s.queries; ++q) {
    auto const* const query = queries_.data() + q * head_dim_;
    for (std::size_t i = 0; i < content_.size(); i += head_dim_) {
      double score = 0;
      for (std::size_t dim = 0; dim < head_dim_; ++dim)
        score += query[dim] * (content_[i + dim] + bias_[i + dim]);
      scores_.push_back(score / root);
    }
    auto const weights = softmax(std::span(scores_).subspan(q * tokens_));
    weights_.insert(weights_.end(), weights.begin(), weights.end());
  }
}

double sampled_head::logit_of(std::vector<double> const& keys) const {
  double sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    sum += query_variance_[i % head_dim_] * keys[i] * keys[i];
  return std::sqrt(sum / static_cast<double>(keys.size()));
}

double sampled_head::logit() const {
  auto keys = content_;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] += bias_[i];
  return logit_of(keys);
}

// As attention has them of what is read.
std::vector<double> sampled_head::scores_of(std::size_t query, std::vector<double> const& keys,
                                            way stored) const {
  auto const first = queries_.begin() + static_cast<std::ptrdiff_t>(query * head_dim_);
  std::vector<double> q(first, first + static_cast<std::ptrdiff_t>(head_dim_)), scores(tokens_);
  if (is_transformed(stored)) transform(q, head_dim_);
  auto const scale = 1 / std::sqrt(static_cast<double>(head_dim_));
  for (std::size_t t = 0; t < tokens_; ++t)
    scores[t] = scale * std::inner_product(q.begin(), q.end(), &keys[t * head_dim_], 0.0);
  if (has_bias(stored)) return scores;
  std::visit(
      [&]<class Layout>(Layout) {
        posenc::key_bias<Layout> const plain(plain_bias_, 1, 1, rotation_.frequencies,
                                             rotation_.block);
        posenc::adjust_scores(
            is_transformed(stored) ? plain.of_transformed() : plain,
            posenc::score_row<double>{
                .scores = scores, .key_positions = positions_, .query = q, .scale = scale});
      },
      rotation_.layout);
  return scores;
}

errors sampled_head::of(std::string const& format, way stored) const {
  auto keys = content_;
  for (std::size_t i = 0; i < keys.size() && has_bias(stored); ++i) keys[i] += bias_[i];
  if (stored == way::mean_out) {
    std::vector<double> mean(head_dim_);
    for (std::size_t i = 0; i < keys.size(); ++i)
      mean[i % head_dim_] += keys[i] / static_cast<double>(tokens_);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] -= mean[i % head_dim_];
  }
  if (is_transformed(stored)) transform(keys, head_dim_);
  std::vector<float> coded(keys.begin(), keys.end());
  format_of(format).code(coded, head_dim_);
  std::vector<double> const read(coded.begin(), coded.end());
  auto off = read;
  for (std::size_t i = 0; i < off.size(); ++i) off[i] -= keys[i];
  if (is_transformed(stored)) transform(off, head_dim_);  // its own inverse

  errors result{std::sqrt(mean_square(off) / mean_square(keys)), logit_of(off), 0};
  auto const queries = queries_.size() / head_dim_;
  for (std::size_t q = 0; q < queries; ++q) {
    auto const weights = softmax(scores_of(q, read, stored));
    for (std::size_t t = 0; t < tokens_; ++t)
      result.moved += std::abs(weights[t] - weights_[q * tokens_ + t]) / 2;
  }
  result.moved /= static_cast<double>(queries);
  return result;
}

}  // namespace keys
