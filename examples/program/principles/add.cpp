#include <Eigen/Eigenvalues>
#include <array>
#include <bit>
#include <numbers>

#include "posenc/attention/attention.hpp"
#include "posenc/embedding/sinusoidal.hpp"
#include "posenc/query_key/rope.hpp"
#include "posenc/rotation/rotate.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "steps.hpp"
#include "vectors.hpp"

namespace principles {
namespace {

using heads = posenc::heads_view<double const>;

auto attend(doubles const& x, auto const& encoding) {
  heads const tokens(x.data(), {x.size() / dim, 1, dim});
  return posenc::attention(tokens, tokens, tokens, encoding,
                           {.mask = posenc::mask::full, .keep_weights = true});
}

step no_position() {
  constexpr std::size_t tokens = 16;
  posenc::rope<posenc::halves> const rope(posenc::geometric(dim, 1e4));
  auto text = words(tokens, 1);
  for (auto& x : text) x /= 2;  // or each token would attend to itself alone
  auto shuffled = text;         // all but the first token, from the last to the second
  for (std::size_t t = 1; t < tokens; ++t)
    std::copy_n(text.data() + (tokens - t) * dim, dim, shuffled.data() + t * dim);
  auto const change = [&](auto const& encoding) {
    auto of_first = [&](doubles const& x) {
      auto const outputs = attend(x, encoding).outputs;
      return doubles(outputs.begin(), outputs.begin() + dim);
    };
    return largest_difference(of_first(text), of_first(shuffled));
  };

  auto const word = doubles(text.begin(), text.begin() + dim);
  doubles copies;
  for (std::size_t t = 0; t < tokens; ++t) copies.insert(copies.end(), word.begin(), word.end());
  auto const weights = [&](auto const& encoding) {
    return [last = (tokens - 1) * tokens, all = attend(copies, encoding).weights](int place) {
      return all[last + static_cast<std::size_t>(place)];
    };
  };
  return {"No position",
          {{"Weight of 16 copies of a word",
            {"place of the copy"},
            {"weight"},
            {curve("no position", 0, tokens - 1, weights(posenc::nope())),
             curve("RoPE", 0, tokens - 1, weights(rope))}}},
          {"Attention sees a bag of tokens: with 15 tokens in another order, the output of the "
           "first changes by " +
               compact(change(posenc::nope())) + " at most, which is rounding.",
           "With positions, here RoPE's, it changes by " + compact(change(rope)) +
               ". Copies of a word get the same weight, " + compact(weights(posenc::nope())(0)) +
               ", wherever they stand."}};
}

step integers() {
  auto const a = words(1, 3), b = words(1, 4);
  auto const alike = [&](double added) {
    doubles const all(dim, added);
    return cosine(sum(a, all), sum(b, all));
  };
  return {"Integers",
          {{"How alike two words become",
            {"position t"},
            {"cosine of the angle between them"},
            {curve("t added", 0, 100, [&](int t) { return alike(t); }),
             curve("t / 100 added", 0, 100, [&](int t) { return alike(t / 100.0); })}}},
          {"Add the position to every number of a word. Two words whose cosine is " +
               compact(alike(0)) + " have " + compact(alike(10)) + " at position 10 and " +
               compact(alike(1000), 7) + " at 1000: the position drowns the words.",
           "Divide it by the length of the text, and the next token is 0.01 away in 100 tokens and "
           "0.0001 in 10,000: the same distance means something else in every text."}};
}

using code = unsigned (*)(unsigned);
unsigned binary(unsigned t) { return t; }
unsigned gray(unsigned t) { return t ^ t >> 1; }

// Bits that differ between tokens so far apart, of all tokens below 256.
running_moments bits_apart(code of, int distance) {
  running_moments bits;
  auto const r = static_cast<unsigned>(distance);
  for (unsigned t = 0; t + r < 256; ++t) bits.add(std::popcount(of(t) ^ of(t + r)));
  return bits;
}

step codes() {
  auto const next_binary = bits_apart(binary, 1), next_gray = bits_apart(gray, 1);
  int far = 0;  // the largest distance at which some tokens differ by one bit alone
  for (int r = 1; r < 256; ++r)
    if (bits_apart(gray, r).low() <= 1) far = r;
  auto const chart = [](char const* title, code of) {
    return charts::chart{title,
                         {"distance of the tokens"},
                         {"bits that differ"},
                         {band("bits", 0, 128, [of](int r) { return bits_apart(of, r); })}};
  };
  return {"Binary numbers and Gray codes",
          {chart("Binary", binary), chart("Gray code", gray)},
          {"Eight numbers of 0 or 1 stay small. But binary neighbours differ by " +
               extent(next_binary) + " bits, as 127 and 128 do.",
           "Gray codes of neighbours differ by " + compact(next_gray.high()) +
               " bit, always; but so do those of tokens " + std::to_string(far) +
               " apart. In neither does the distance of codes follow that of tokens."}};
}

doubles sinusoid(std::int64_t t) {
  static posenc::sinusoidal<posenc::interleaved> const encoding(posenc::geometric(dim, 1e4));
  doubles p(dim);
  encoding.write(t, p);
  return p;
}

// Of a code whose bits are +1 and -1.
double code_product(unsigned t, unsigned s) { return 1 - 2 * std::popcount(t ^ s) / 8.0; }

step sinusoids() {
  auto const of_codes = [](int r) {
    running_moments m;
    for (unsigned t = 0; t + static_cast<unsigned>(r) < 256; ++t)
      m.add(code_product(t, t + static_cast<unsigned>(r)));
    return m;
  };
  auto const of_sinusoids = [](int r) {
    running_moments m;
    for (int t = 0; t + r < 256; t += 5) m.add(dot(sinusoid(t), sinusoid(t + r)) / (dim / 2.0));
    return m;
  };
  double widest_code = 0, widest = 0;
  for (int r = 0; r <= 100; ++r) {
    widest_code = std::max(widest_code, of_codes(r).high() - of_codes(r).low());
    widest = std::max(widest, of_sinusoids(r).high() - of_sinusoids(r).low());
  }
  return {"Sinusoids",
          {{"Inner product of two positions",
            {"distance"},
            {"of its highest"},
            {band("binary", 0, 100, of_codes), band("sinusoids", 0, 100, of_sinusoids)}}},
          {"A bit is a wave with corners: bit i has a period of 2^(i+1) tokens. Take sine and "
           "cosine of "
           "each wave instead, with wavelengths from 2 pi tokens to 2 pi * 10,000.",
           "Their inner product depends on the distance alone: at one distance it varies by " +
               compact(widest) + " with the place, that of binary codes by up to " +
               compact(widest_code) + ". It is sum cos(r f), and falls with r to begin with."}};
}

// p_t as RoPE has its pairs: the cosine first.
doubles cosines_first(std::int64_t t) {
  static posenc::sinusoidal<posenc::interleaved> const encoding(posenc::geometric(dim, 1e4),
                                                                {.cosine_first = true});
  doubles p(dim);
  encoding.write(t, p);
  return p;
}
doubles rotated_pairs(doubles x, std::int64_t by) {
  static auto const f = posenc::geometric(dim, 1e4);
  posenc::rotate<posenc::interleaved>(posenc::heads_view<double>(x.data(), {1, 1, dim}),
                                      posenc::cos_sin_rows<double>(f, std::array{by}));
  return x;
}

step shifting() {
  constexpr int shift = 10, last = 100;
  constexpr std::size_t number = 16;  // the cosine of pair 8
  doubles constant(dim);
  for (std::size_t i = 0; i < dim; i += 2) constant[i] = 1;
  double by_shift = 0, of_constant = 0;
  for (int t = 0; t <= last; ++t) {
    by_shift = std::max(by_shift, largest_difference(rotated_pairs(cosines_first(t), shift),
                                                     cosines_first(t + shift)));
    of_constant =
        std::max(of_constant, largest_difference(rotated_pairs(constant, t), cosines_first(t)));
  }
  charts::chart chart{"The cosine of pair 8", {"t"}, {"a number of p"}, {}};
  chart.curves = {
      curve("p_t", 0, last, [](int t) { return cosines_first(t)[number]; }),
      curve("p_(t + 10)", 0, last, [](int t) { return cosines_first(t + shift)[number]; }),
      curve("R_10 p_t", 0, last,
            [](int t) { return rotated_pairs(cosines_first(t), shift)[number]; })};
  chart.curves.back().colour = 6;
  chart.curves.back().dashed = true;
  return {"A shift is a rotation",
          {chart},
          {"Going " + std::to_string(shift) +
               " tokens on rotates each pair of cosine and sine by " + std::to_string(shift) +
               " times its frequency, wherever it starts: p_(t+k) = R_k p_t, here to " +
               compact(by_shift) + ".",
           "So p_t = R_t p_0, with p_0 = (1, 0, 1, 0, ...): the positions that are added are "
           "RoPE's rotation of a constant. They differ by " +
               compact(of_constant) + " at most."}};
}

// The best one projection of x + p for two, W_x x + W_p p, leaves this part of its mean square, of
// words from N(0, 1) and matrices of independent weights: where p varies by v (of the words' 1), it
// is (w_x + v w_p) / (1 + v), which leaves (w_x - w_p)^2 v / (1 + v).
double left_by_one_projection(int length) {
  Eigen::MatrixXd positions(length, static_cast<Eigen::Index>(dim));
  for (int t = 0; t < length; ++t)
    positions.row(t) = Eigen::VectorXd::Map(sinusoid(t).data(), positions.cols()).transpose();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(
      positions.transpose() * positions / length, Eigen::EigenvaluesOnly);
  auto const v = solved.eigenvalues().array();
  return 2 * (v / (1 + v)).sum() / (1 + v).sum();
}

step adding() {
  charts::series overlap{.name = "words and positions"}, expected{.name = "sqrt(2 / (pi d))"};
  for (std::size_t d = 4; d <= 4096; d *= 2) {
    posenc::sinusoidal<posenc::interleaved> const encoding(posenc::geometric(d, 1e4));
    running_moments m;
    for (std::size_t i = 0; i < 200; ++i) {
      doubles position(d);
      encoding.write(static_cast<std::int64_t>(7 * i), position);
      m.add(std::abs(cosine(words(1, 100 + i, d), position)));
    }
    auto const dims = static_cast<double>(d);
    overlap.x.push_back(dims), overlap.y.push_back(m.mean());
    expected.x.push_back(dims), expected.y.push_back(std::sqrt(2 / (std::numbers::pi * dims)));
  }
  auto const at_4096 = overlap.y.back();
  constexpr int length = 2048;
  return {
      "Added, or beside",
      {{"Words against positions", {"dims", true}, {"mean |cosine|", true}, {overlap, expected}}},
      {"A position beside the word makes two projections, W (x, p) = W_x x + W_p p: of " +
           std::to_string(dim) + " numbers each, W_q has " + std::to_string(2 * dim * dim) +
           " weights rather than " + std::to_string(dim * dim) +
           ". A sum makes one do for both, W (x + p): the best leaves " +
           std::to_string(std::lround(100 * left_by_one_projection(length))) +
           " % of what two make, in mean square, of random words at " + std::to_string(length) +
           " positions.",
       "So a place beside the word is worth more, and costs more. A sum has room for both all "
       "the same, for random directions are nearly orthogonal: mean |cosine| " +
           compact(overlap.y[4]) + " in 64 dims, " + compact(at_4096) + " in 4096."}};
}

}  // namespace

std::vector<step> positions_to_add() {
  return {no_position(), integers(), codes(), sinusoids(), shifting(), adding()};
}

}  // namespace principles
