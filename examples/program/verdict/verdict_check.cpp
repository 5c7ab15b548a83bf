// The verdicts on all models of a folder and on GGUF headers: which mistakes are named, and that
// each does to angles and scores what posenc's own rotation says.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "effects.hpp"
#include "mistakes.hpp"
#include "model/gguf/models.hpp"
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/model/rotate.hpp"
#include "posenc/rows/axis_rows.hpp"
#include "verdict.hpp"

namespace {

using posenc::layer_description;
using posenc::model_description;

int failures = 0;
void expect(bool holds, std::string const& what) {
  if (!holds) std::printf("%s\n", what.c_str()), ++failures;
}

// ---- What a mistake does, by rotating the unit vectors of a head

using matrix = std::vector<double>;  // [dims][dims]: the rotated unit vectors

matrix rotated_units(layer_description const& layer, std::size_t length,
                     std::vector<std::int64_t> const& offset) {
  auto const n = layer.head_dim;
  matrix units(n * n);
  auto factor = layer.softmax_factor;
  if (auto const& t = layer.temperature)  // of the last query
    factor *= 1 + t->scale * std::log1p(std::floor((static_cast<double>(length - 1) + t->offset) /
                                                   t->floor_scale));
  for (std::size_t i = 0; i < n; ++i) units[i * n + i] = factor;
  for (auto const& rotary : layer.rotary) {
    auto const f = rotary.frequencies.at(length);
    auto const axes = rotary.axes ? rotary.axes->axes() : 1;
    std::vector<std::int64_t> at;  // [axes][tokens]
    for (std::size_t axis = 0; axis < axes; ++axis)
      at.insert(at.end(), n, offset.at(std::min<std::size_t>(axis, 2)));
    auto const rows =
        rotary.axes ? posenc::axis_rows<double>(f, *rotary.axes, posenc::axis_positions(axes, at))
                    : posenc::cos_sin_rows<double>(f, at);
    posenc::rotate(rotary, posenc::heads_view(units.data(), {n, 1, n}), rows);
    for (std::size_t pair = 0; pair < f.pairs(); ++pair) {  // the factor of keys
      auto const [x, y] = posenc::dims_of_pair(rotary, n, pair);
      for (std::size_t i = 0; i < n; ++i)
        units[i * n + x] *= f.attention_factor(), units[i * n + y] *= f.attention_factor();
    }
  }
  return units;
}

double change(matrix const& right, matrix const& wrong) {
  double size = 0, change = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    size += right[i] * right[i];
    change += (right[i] - wrong[i]) * (right[i] - wrong[i]);
  }
  return std::sqrt(change / size);
}

void expect_effects(std::string const& name, model_description const& model,
                    layer_description const& kind, verdicts::known_mistake const& known) {
  auto const made = known.make(model, kind);
  if (!made || made->by != verdicts::measure::score) return;
  for (auto const& e : verdicts::effects_of(kind, *made)) {
    if (e.tokens == 32'768) continue;  // for time
    auto const d = static_cast<std::int64_t>(e.distance);
    auto const side =
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(e.tokens)) + 1e-9) - 1;
    std::vector<std::int64_t> const text{d, d, d}, corners{0, side, side};
    using verdicts::place;
    auto const by_rotation =
        change(rotated_units(kind, e.tokens, made->where == place::text ? text : corners),
               rotated_units(made->wrong, e.tokens, made->where == place::image ? corners : text));
    auto const score = e.score.value_or(-1);
    expect(std::abs(by_rotation - score) <= 1e-9,
           name + ", " + std::string(known.name) + ", " + std::to_string(e.tokens) +
               " tokens: a score of " + std::to_string(score) + ", by rotation " +
               std::to_string(by_rotation));
  }
}

// ---- What the mistakes make of frequencies

using numbers = std::vector<double>;

void expect_frequencies(model_description const& model, std::size_t layer,
                        std::string const& mistake, numbers const& expected) {
  auto const known =
      std::ranges::find(verdicts::known_mistakes(), mistake, &verdicts::known_mistake::name);
  auto const made = known->make(model, model.kind_of(layer));
  auto const where = model.type + ", layer " + std::to_string(layer) + ", " + mistake;
  expect(made.has_value(), where + ": must be made");
  if (!made) return;
  auto const f = made->wrong.rotary.at(0).frequencies.at(1024);
  bool is_right = f.pairs() == expected.size();
  for (std::size_t i = 0; is_right && i < expected.size(); ++i)
    is_right = std::abs(f.inv_freq()[i] - expected[i]) <= 1e-6 * expected[i];  // factors are floats
  expect(is_right, where + ": must have other frequencies");
}

numbers kept(numbers series, std::size_t count) {
  std::fill(series.begin() + static_cast<std::ptrdiff_t>(count), series.end(), 0.0);
  return series;
}
numbers first(numbers series, std::size_t count) {
  series.resize(count);
  return series;
}

void expect_frequencies(std::string const& models) {
  auto const read = [&](char const* name) {
    return posenc::read_hugging_face(std::filesystem::path(models) / (std::string(name) + ".json"));
  };
  using oracle::default_rule;
  auto const gemma = read("gemma-4-31b");  // layer 0 slides, layer 5 sees all
  expect_frequencies(gemma, 0, "frequencies-of-other-layers", kept(default_rule(256, 1e6), 32));
  expect_frequencies(gemma, 5, "frequencies-of-other-layers", default_rule(512, 1e4));
  expect_frequencies(gemma, 5, "theta-lost", kept(default_rule(512, 1e4), 64));
  expect_frequencies(gemma, 5, "partial-for-p-rope", default_rule(128, 1e6));
  expect_frequencies(gemma, 5, "pairs-of-partial", first(default_rule(512, 1e6), 64));
  expect_frequencies(gemma, 5, "p-rope-ignored", default_rule(512, 1e6));
  auto const qwen = read("qwen3.5-27b");
  expect_frequencies(qwen, 3, "partial-ignored", default_rule(256, 1e7));
  expect_frequencies(qwen, 3, "p-rope-for-partial", kept(default_rule(256, 1e7), 32));
  auto const llama = read("llama-3.1-8b");
  expect_frequencies(llama, 0, "rule-missing", default_rule(128, 5e5));
  expect_frequencies(llama, 0, "theta-lost",
                     oracle::llama3_rule(default_rule(128, 1e4), 8, 1, 4, 8192));
  // A tensor holds what Llama 3's rule divides by, at its own base.
  std::istringstream in(gguf_models::llama_3_1_8b().str());
  auto const right = default_rule(128, 5e5), divided = oracle::llama3_rule(right, 8, 1, 4, 8192);
  auto expected = default_rule(128, 1e4);
  for (std::size_t i = 0; i < 64; ++i) expected[i] *= divided[i] / right[i];
  expect_frequencies(posenc::read_gguf(in, "gguf"), 0, "theta-lost", expected);
  auto const phi = read("phi-4-mini");
  expect_frequencies(phi, 0, "other-list", numbers([&] {
                       auto const f = phi.kind_of(0).rotary[0].frequencies.at(100'000);
                       return numbers(f.inv_freq().begin(), f.inv_freq().end());
                     }()));
}

// ---- Which mistakes are named

std::string names_of(verdicts::verdict const& found) {
  std::string names;
  for (auto const& one : found.pitfalls)
    if (names.find(one.name) == std::string::npos) (names += names.empty() ? "" : " ") += one.name;
  return names;
}

std::map<std::string, std::string> const expected{
    {"llama-2-7b", ""},
    {"gpt2", ""},
    {"t5-small", "score-factor-missing causal-for-both"},
    {"gpt-j-6b", "p-rope-for-partial partial-ignored halves-for-interleaved"},
    {"llama-3.1-8b", "theta-lost rule-missing groups-modulo"},
    {"llama-3.1-8b.gguf", "theta-lost rule-missing halves-for-interleaved groups-modulo"},
    {"gemma-3-27b",
     "frequencies-of-other-layers score-factor-missing groups-modulo window-missing "
     "window-one-larger window-one-smaller window-on-both-sides masks-of-next-layers "
     "causal-missing both-ways-missing images-beyond-window theta-lost rule-missing "
     "window-in-all-layers"},
    {"gemma-4-31b",
     "frequencies-of-other-layers score-factor-missing groups-modulo window-missing "
     "window-one-larger window-one-smaller window-on-both-sides masks-of-next-layers "
     "causal-missing both-ways-missing images-beyond-window theta-lost partial-for-p-rope "
     "pairs-of-partial p-rope-ignored window-in-all-layers images-in-all-layers"},
    {"gemma-4-31b.gguf",
     "score-factor-missing groups-modulo window-missing window-one-larger window-one-smaller "
     "window-on-both-sides masks-of-next-layers theta-lost frequencies-of-other-layers "
     "partial-for-p-rope pairs-of-partial p-rope-ignored window-in-all-layers"},
    {"gpt-oss-20b",
     "theta-lost rule-missing factor-missing ramp-rounded groups-modulo sinks-missing "
     "sinks-with-values window-missing window-one-larger window-one-smaller window-on-both-sides "
     "masks-of-next-layers window-in-all-layers"},
    {"qwen3.5-27b",
     "theta-lost p-rope-for-partial partial-ignored sections-for-alternating axes-ignored "
     "groups-modulo"},
    {"qwen2-vl-7b", "theta-lost axes-ignored groups-modulo"},
    {"deepseek-v3",
     "rule-missing halves-for-interleaved factor-of-plain-yarn score-factor-missing "
     "scale-of-padded-head scale-of-other-dims"},
    {"deepseek-v3.gguf",
     "rule-missing halves-for-interleaved factor-of-plain-yarn score-factor-missing "
     "scale-of-padded-head scale-of-other-dims"},
    {"phi-4-mini",
     "rule-missing p-rope-for-partial partial-ignored factor-missing other-list groups-modulo "
     "window-on-both-sides"},
    {"smollm3-3b", "theta-lost groups-modulo nope-rotated"},
    {"mpt-7b", "alibi-missing"},
    {"baichuan2-13b", "alibi-missing one-series-of-slopes"},
    {"baichuan2-13b.gguf", "alibi-missing one-series-of-slopes"},
};

void judge(std::string const& name, model_description const& model) {
  auto const found = verdicts::verdict_on(model);
  if (auto const known = expected.find(name); known != expected.end())
    expect(names_of(found) == known->second,
           name + ": expected \"" + known->second + "\", got \"" + names_of(found) + "\"");
  for (auto const& kind : model.kinds)
    for (auto const& mistake : verdicts::known_mistakes())
      expect_effects(name, model, kind, mistake);
}

// ---- Numbers worked out by hand: a head of 4 dims, pairs of frequency 1 and base^(-1/2)

void expect_by_hand() {
  auto const model = posenc::read_hugging_face(
      R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 4, "rope_theta": 1000000.0})",
      "config.json");
  auto const found = verdicts::verdict_on(model);
  auto const& e = found.pitfalls.at(0).effects.at(0);
  // Pair 1 turns by 1023 / 100 in place of 1023 / 1000 radians: 9.207 off, and the score by
  // sqrt(2 (2 - 2 cos 9.207) / 4).
  expect(found.pitfalls.size() == 1 && std::abs(*e.radians - 9.207) < 1e-12, "9.207 radians");
  expect(std::abs(e.score.value_or(0) - std::sqrt(1 - std::cos(9.207))) < 1e-12,
         "sqrt(1 - cos 9.207)");

  // YaRN of a factor of 1 changes nothing, so nobody can miss it.
  auto const idle = posenc::read_hugging_face(
      R"({"model_type": "llama", "num_hidden_layers": 1, "head_dim": 64, "rope_theta": 10000.0,
          "rope_scaling": {"rope_type": "yarn", "factor": 1.0,
                           "original_max_position_embeddings": 4096}})",
      "config.json");
  expect(verdicts::verdict_on(idle).pitfalls.empty(), "YaRN of a factor of 1 has no pitfall");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::size_t models = 0;
  for (auto const& file : std::filesystem::directory_iterator(argv[1])) {
    judge(file.path().stem().string(), posenc::read_hugging_face(file.path()));
    ++models;
  }
  for (auto const& model : gguf_models::all) {
    std::istringstream in(model.file().str());
    auto const name = std::string(model.name) + ".gguf";
    judge(name, posenc::read_gguf(in, name));
  }
  expect(models > 60, "there must be models");
  std::ifstream in(argv[2], std::ios::binary);
  expect(std::string(std::istreambuf_iterator<char>(in), {}) == gguf_models::gemma_4_31b().str(),
         std::string(argv[2]) + " must be the header that tests/model/gguf/models.hpp writes");
  expect_by_hand();
  expect_frequencies(argv[1]);
  return failures == 0 ? 0 : 1;
}
