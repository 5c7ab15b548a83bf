// Whether the network computes what it says, and its gradients those of that: in double, against
// sums written out and against differences.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>

#include "passes.hpp"

namespace {

using namespace retrieval;
using numbers = std::vector<double>;

constexpr Eigen::Index width = 8;

double gelu_of(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

numbers times(numbers const& x, matrix<double> const& w, matrix<double> const& b) {
  numbers y;
  for (Eigen::Index j = 0; j < w.cols(); ++j) {
    double sum = b(0, j);
    for (Eigen::Index i = 0; i < w.rows(); ++i) sum += x[static_cast<std::size_t>(i)] * w(i, j);
    y.push_back(sum);
  }
  return y;
}

numbers mlp(numbers x, linear<double> const& hidden, linear<double> const& out) {
  x = times(x, hidden.w, hidden.b);
  std::ranges::transform(x, x.begin(), gelu_of);
  return times(x, out.w, out.b);
}

// The loss as the paper has it, item by item, with nothing folded.
double plain_loss(network<double> const& n, item_sets<double> const& batch) {
  matrix<double> const none = matrix<double>::Zero(1, width);
  double loss = 0;
  for (std::size_t s = 0; s < batch.sets; ++s) {
    auto const q =
        times(mlp({batch.queries(static_cast<Eigen::Index>(s), 0)}, n.query_hidden, n.query_out),
              n.w_q, none);
    numbers z(static_cast<std::size_t>(width));
    double all = 0;
    for (std::size_t i = 0; i < batch.size; ++i) {
      auto const item = batch.items.row(static_cast<Eigen::Index>(i * batch.sets + s));
      auto const h = mlp(numbers(item.begin(), item.end()), n.item_hidden, n.item_out);
      auto const k = times(h, n.w_k, none), v = times(h, n.w_v, none);
      double score = 0;
      for (std::size_t x = 0; x < q.size(); ++x) score += q[x] * k[x];
      auto const weight = std::exp(score / std::sqrt(static_cast<double>(width)));
      all += weight;
      for (std::size_t x = 0; x < z.size(); ++x) z[x] += weight * v[x];
    }
    for (auto& x : z) x /= all;
    auto const logits = mlp(z, n.answer_hidden, n.answer_out);
    double sum = 0;
    for (auto const x : logits) sum += std::exp(x);
    loss += (std::log(sum) - logits[static_cast<std::size_t>(batch.answers[s])]) /
            static_cast<double>(batch.sets);
  }
  return loss;
}

// Answers are the classes of the largest priorities; each item has one class.
bool right_answers(item_sets<double> const& batch) {
  for (std::size_t s = 0; s < batch.sets; ++s) {
    std::vector<std::pair<double, Eigen::Index>> items;
    for (std::size_t i = 0; i < batch.size; ++i) {
      auto const item = batch.items.row(static_cast<Eigen::Index>(i * batch.sets + s));
      Eigen::Index of = 0;
      if (item.tail(classes).maxCoeff(&of) != 1 || item.tail(classes).sum() != 1) return false;
      items.emplace_back(item(0), of);
    }
    if (std::ranges::max(items).second != batch.answers[s]) return false;
  }
  return true;
}

bool check(std::size_t sets, std::size_t size) {
  random_numbers random(sets, size);
  auto n = random_network<double>(width, random);
  for_each_tensor(
      [&](matrix<double>& tensor) {
        for (auto& x : tensor.reshaped())
          x = 1.5 * x + static_cast<double>(random.unit()) - 0.5;  // biases too
      },
      n);
  auto const batch = draw<double>(random, sets, size);
  bool right = right_answers(batch);
  if (!right) std::printf("sets %zu x %zu: the answers are wrong\n", sets, size);
  auto gradient = blank_network<double>(width);
  auto const loss = add_gradients(n, batch, gradient);
  constexpr auto rounding = std::numeric_limits<double>::epsilon();
  // A loss of a few units, from some hundred roundings one after another.
  auto const loss_tolerance = 256 * rounding * std::max(loss, 1.0);
  if (std::abs(loss - plain_loss(n, batch)) > loss_tolerance) {
    right = false;
    std::printf("sets %zu x %zu: the loss is %.17g, item by item %.17g\n", sets, size, loss,
                plain_loss(n, batch));
  }

  // Central differences of two widths: their error is h^2 f''' / 6, and so a third of how much that
  // of 2h differs from that of h.
  auto const h = std::cbrt(rounding);
  int tensors = 0;
  for_each_tensor(
      [&](matrix<double>& tensor, matrix<double> const& d) {
        ++tensors;
        for (Eigen::Index i = 0; i < tensor.size(); ++i) {
          auto& x = tensor.data()[i];
          auto const at = x;
          auto const slope = [&](double step) {
            x = at + step;
            auto const above = plain_loss(n, batch);
            x = at - step;
            auto const below = plain_loss(n, batch);
            x = at;
            return (above - below) / (2 * step);
          };
          auto const near = slope(h), far = slope(2 * h);
          if (std::abs(near - d.data()[i]) <= std::abs(far - near) + loss_tolerance / h) continue;
          if (right)
            std::printf("sets %zu x %zu, tensor %d: the gradient is %.9g, by differences %.9g\n",
                        sets, size, tensors, d.data()[i], near);
          right = false;
        }
      },
      n, gradient);
  return right;
}

}  // namespace

int main() {
  bool right = true;
  for (auto const& [sets, size] :
       {std::pair<std::size_t, std::size_t>{5, 4}, {3, 1}, {1, 16}, {7, 11}})
    right = check(sets, size) && right;
  std::puts(right ? "the gradients are right" : "the gradients are wrong");
  return right ? 0 : 1;
}
