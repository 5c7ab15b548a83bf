// Each family of decoders on a small model, against logits of the class in transformers.
//
//     families_check FAMILIES
//
// FAMILIES is families.txt, which says how it was made. A tensor's name may have ranges, {0-3}, for
// names that differ in a number.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "program/run/converted.hpp"
#include "program/run/measurement.hpp"
#include "program/run/small_model.hpp"

namespace {

struct logit {
  std::size_t position, id;
  double value;
};

struct model {
  std::string name, config;
  std::vector<small_model::tensor> tensors = {};
  double cross_entropy = 0;
  std::vector<logit> logits = {};
};

// Adds the tensors that a name with ranges stands for.
void add(model& to, small_model::tensor const& t) {
  auto const open = t.name.find('{'), dash = t.name.find('-', open), end = t.name.find('}', open);
  if (open == t.name.npos) return to.tensors.push_back(t);
  auto const number = [&](std::size_t first, std::size_t last) {
    return std::stoul(t.name.substr(first, last - first));
  };
  for (auto i = number(open + 1, dash); i <= number(dash + 1, end); ++i) {
    auto one = t;
    one.name = t.name.substr(0, open) + std::to_string(i) + t.name.substr(end + 1);
    add(to, one);
  }
}

std::vector<model> read(std::string const& file) {
  std::ifstream in(file);
  std::vector<model> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || kind == "#") continue;
    if (kind == "family") {
      all.emplace_back();
      words >> all.back().name;
    } else if (kind == "config") {
      std::getline(words, all.back().config);
    } else if (kind == "tensor") {
      small_model::tensor t;
      std::string shape;
      words >> t.name >> shape >> t.scale >> t.plus;
      std::istringstream dims(shape);
      for (std::string dim; std::getline(dims, dim, ',');) t.shape.push_back(std::stoul(dim));
      add(all.back(), t);
    } else if (kind == "cross_entropy") {
      words >> all.back().cross_entropy;
    } else if (kind == "logit") {
      logit one{};
      words >> one.position >> one.id >> one.value;
      all.back().logits.push_back(one);
    } else {
      throw std::runtime_error(file + ": no line begins with " + kind);
    }
    if (words.fail() && !words.eof()) throw std::runtime_error(file + ": cannot read " + line);
  }
  return all;
}

// Float sums of up to 48 products, through at most 6 layers of numbers near 1.
constexpr double allowed = 1e-4;

int check(model const& m, std::string const& file, std::string const& form) {
  std::vector<std::uint32_t> ids{1};
  while (ids.size() < 48)
    ids.push_back(static_cast<std::uint32_t>((ids.back() * 29 + ids.size()) % 64));
  int failures = 0;
  auto const expect = [&](double got, double want, std::string const& what) {
    if (std::abs(got - want) <= allowed * std::max(1.0, std::abs(want))) return;
    std::cerr << m.name << form << ": " << what << " is " << got << " instead of " << want << '\n';
    ++failures;
  };
  try {
    program::weight_files const files(file);
    run::decoder const decoder(files, 1);
    auto const found = run::measure(decoder, decoder.plans(), ids, {.keeps_states = true});
    auto const logits = decoder.logits_of(found.states);
    for (auto const& [position, id, value] : m.logits)
      expect(static_cast<double>(logits[position * decoder.vocabulary() + id]), value,
             "logit " + std::to_string(id) + " at " + std::to_string(position));
    expect(found.of_text.mean().mean, m.cross_entropy, "cross-entropy");
  } catch (std::exception const& error) {
    std::cerr << m.name << form << ": " << error.what() << '\n';
    ++failures;
  }
  return failures;
}

// As a folder of Hugging Face, and as GGUF.
int check(model const& m) {
  auto const folder = std::filesystem::temp_directory_path() / ("posenc-family-" + m.name);
  auto const tensors = small_model::stored(m.tensors);
  small_model::write(folder, m.config, tensors);
  auto failures = check(m, folder.string(), "");
  auto const by = std::ranges::find_if(small_model::conversions, [&](auto const& one) {
    return m.config.find("\"model_type\": \"" + std::string(one.type) + "\"") != std::string::npos;
  });
  // llama.cpp has no windows for Mistral, no OPT, and no other eps for latents.
  bool const has_gguf = m.name != "mistral" && m.name != "opt" && m.name != "deepseek_v2_eps";
  if (has_gguf && by == small_model::conversions.end()) {
    std::cerr << m.name << ": there must be a conversion to GGUF\n";
    ++failures;
  } else if (has_gguf) {
    auto const file = folder / "model.gguf";
    for (auto const splits_latent : {false, true}) {
      if (splits_latent && by->type != "deepseek_v2") continue;
      small_model::write_text(file,
                              small_model::converter(*by, m.config, splits_latent).file(tensors));
      failures += check(m, file.string(), splits_latent ? " as GGUF, kv_b in two" : " as GGUF");
    }
  }
  std::filesystem::remove_all(folder);
  return failures;
}

// What the pass must not compute as if it were another thing: a family's config with one value
// changed.
struct refusal {
  char const *family, *key, *value, *sentence;
};
constexpr refusal refusals[]{
    {"deepseek_v2", "topk_method", R"("group_limited_greedy")",
     R"(config.json: topk_method must be greedy, got "group_limited_greedy")"},
    {"deepseek_v2", "norm_topk_prob", "true",
     "config.json: norm_topk_prob must be false for deepseek_v2, got true"},
    {"qwen3_moe", "num_experts_per_tok", "5",
     "config.json: num_experts_per_tok must be at most the 4 experts, got 5"},
    {"bloom", "apply_residual_connection_post_layernorm", "true",
     "config.json: apply_residual_connection_post_layernorm must be false, got true"},
    {"opt", "do_layer_norm_before", "false",
     "config.json: do_layer_norm_before must be true, got false"},
    {"gpt2", "activation_function", R"("quick_gelu")",
     "config.json: activation_function must be silu, gelu, gelu_new, gelu_pytorch_tanh or relu, "
     "got "
     R"("quick_gelu")"},
};

int check(refusal const& one, std::vector<model> const& all) {
  auto const found = std::ranges::find(all, one.family, &model::name);
  auto config = found->config;
  auto const key = "\"" + std::string(one.key) + "\": ";
  auto const at = config.find(key) + key.size();
  config.replace(at, config.find_first_of(",}", at) - at, one.value);
  auto const folder = std::filesystem::temp_directory_path() / "posenc-family-refused";
  small_model::write(folder, config, small_model::stored(found->tensors));
  std::string said = "nothing";
  try {
    program::weight_files const files(folder.string());
    run::decoder const decoder(files, 1);
  } catch (std::exception const& error) {
    said = error.what();
  }
  std::filesystem::remove_all(folder);
  if (said == one.sentence) return 0;
  std::cerr << one.family << ": must be refused by \"" << one.sentence << "\", got \"" << said
            << "\"\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int failures = 0;
  auto const all = read(argv[1]);
  for (auto const& one : all) failures += check(one);
  for (auto const& one : refusals) failures += check(one, all);
  return failures == 0 && !all.empty() ? 0 : 1;
}
