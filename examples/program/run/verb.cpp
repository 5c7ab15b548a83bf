// How well a trained model predicts a text.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "program/options.hpp"
#include "program/run/decoder.hpp"

namespace run {
namespace {

struct options {
  std::string model, ids;
  std::size_t threads = 2;
};

void declare(CLI::App& app, options& o) {
  app.add_option("MODEL", o.model, "a folder of Hugging Face, or a GGUF file")->required();
  app.add_option("--ids", o.ids, "a file of token ids")->required();
  program::add_number(app, "--threads", o.threads, "threads", 1, 256);
}

std::vector<std::uint32_t> read_ids(std::string const& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + " cannot be read");
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; in >> id;) ids.push_back(id);
  if (!in.eof()) throw std::runtime_error(file + ": must be whole numbers with spaces between");
  if (ids.size() < 2) throw std::runtime_error(file + ": must have two ids or more");
  return ids;
}

// The mean of -ln p over the tokens that are predicted.
class cross_entropy : public observer {
 public:
  explicit cross_entropy(std::vector<std::uint32_t> const& ids) : ids_(ids) {}

  void see_logits(std::size_t first, std::span<float const> logits) override {
    auto const rows = logits.size() / vocabulary;
    for (std::size_t t = 0; t < rows && first + t + 1 < ids_.size(); ++t) {
      auto const row = logits.subspan(t * vocabulary, vocabulary);
      double largest = -INFINITY, sum = 0;
      for (auto const x : row) largest = std::max(largest, static_cast<double>(x));
      for (auto const x : row) sum += std::exp(static_cast<double>(x) - largest);
      sum_ += largest + std::log(sum) - static_cast<double>(row[ids_[first + t + 1]]);
    }
  }
  double mean() const { return sum_ / static_cast<double>(ids_.size() - 1); }

  std::size_t vocabulary = 0;

 private:
  std::vector<std::uint32_t> const& ids_;
  double sum_ = 0;
};

void run(options const& o) {
  auto const ids = read_ids(o.ids);
  program::weight_files const files(o.model);
  decoder const model(files, o.threads);
  cross_entropy seen(ids);
  seen.vocabulary = model.vocabulary();
  sequence text(model, model.plans(), ids.size());
  text.append(ids, seen);
  std::cout << std::setprecision(9) << "cross-entropy " << seen.mean() << '\n';
}

}  // namespace

int verb(int argc, char** argv) {
  return program::run_verb<options>(
      argc, argv,
      {"posenc run",
       "Runs a trained model over a text, and shows how well it predicts the text.",
       {{{"model.gguf --ids text.ids", "the cross-entropy of a text"},
         {"folder --ids text.ids --threads 4", "of a folder of Hugging Face, on 4 threads"}}}},
      declare, run);
}

}  // namespace run
