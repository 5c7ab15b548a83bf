// Attention as an engine calls it: its outputs, its memory, its threads, batches of sequences.
#include "posenc/attention/call.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attention/random_heads.hpp"
#include "attention/same_results.hpp"
#include "executors.hpp"
#include "numbers.hpp"
#include "posenc/posenc.hpp"
#include "rejects.hpp"

namespace {
namespace of_calls {

using namespace posenc;

/// Queries, keys and values of one sequence, and where its outputs go.
struct sequence {
  attention_sizes sizes;
  random_heads<float> x;
  std::vector<float> outputs;

  explicit sequence(attention_sizes const& given)
      : sizes(given), x(given), outputs(given.queries * given.heads * given.value_dim, 9) {}
  heads_view<float> to() { return {outputs.data(), {sizes.queries, sizes.heads, sizes.value_dim}}; }
  auto call(auto const& encoding, attention_options const& options = {},
            attention_records<float> const& records = {}) {
    return attention_call(x.q_view(), x.k_view(), x.v_view(), to(), encoding, options, records);
  }
  attention_result<float> expected(auto const& encoding,
                                   attention_options const& options = {}) const {
    return attention(x.q_view(), x.k_view(), x.v_view(), encoding, options);
  }
};

std::string error_of(auto const& act) {
  try {
    act();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}

/// Runs act(i) on `count` threads.
void on_threads(std::size_t count, auto const& act) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { act(i); });
  for (auto& thread : threads) thread.join();
}

/// Every worker attends to the calls, whose sentences of errors are returned, one for each worker.
std::vector<std::string> attend_on_threads(std::size_t workers, auto const& calls,
                                           std::span<std::byte> memory) {
  executors::barrier barrier(workers);
  std::vector<std::string> errors(workers);
  on_threads(workers, [&](std::size_t i) {
    worker const self(i, workers, [&] { barrier.arrive_and_wait(); });
    errors[i] = error_of([&] { attend(self, calls, memory); });
  });
  return errors;
}

// Decoding in ranges, few rows, a prompt in blocks and parts, no query, no key.
attention_sizes const shapes[]{{1, 5000, 8, 2, 16, 24},  {3, 1300, 4, 4, 20, 8},
                               {700, 700, 2, 1, 16, 16}, {5, 40000, 2, 2, 4, 4},
                               {0, 9, 2, 1, 8, 8},       {2, 0, 2, 1, 8, 8}};

template <class Encoding>
void expect_same_bits(Encoding const& encoding, attention_options const& options) {
  for (auto const& shape : shapes) {
    auto here = options;
    if (shape.queries > shape.keys) here.query_positions = {0, 1};
    SCOPED_TRACE(testing::Message() << shape.queries << " queries, " << shape.keys << " keys");
    sequence s(shape);
    auto const expected = s.expected(encoding, here);
    std::vector<double> log_sum_exp(shape.queries * shape.heads, 5);
    for (std::size_t const workers : {1u, 2u, 3u, 16u}) {
      auto const call = s.call(encoding, here, {.log_sum_exp = log_sum_exp});
      std::span const view(&call, 1);
      std::vector<std::byte> memory(attention_bytes(view, workers) + 7);
      auto const unaligned = std::span(memory).subspan(7);
      for (auto const& error : attend_on_threads(workers, view, unaligned)) EXPECT_EQ(error, "");
      EXPECT_TRUE(numbers::same_bits(s.outputs, expected.outputs)) << workers;
      EXPECT_TRUE(numbers::same_bits(log_sum_exp, expected.log_sum_exp)) << workers;
      std::ranges::fill(s.outputs, 9.0f), std::ranges::fill(log_sum_exp, 9.0);
      executors::on_threads const pool{};
      attend(tasks(workers, pool), view, unaligned);
      EXPECT_TRUE(numbers::same_bits(s.outputs, expected.outputs)) << workers;
      EXPECT_TRUE(numbers::same_bits(log_sum_exp, expected.log_sum_exp)) << workers;
    }
  }
}

TEST(attention_call, has_the_same_bits_by_workers_and_by_tasks) {
  attention_options const causal{}, full{.mask = mask::full};
  expect_same_bits(nope(), causal);
  expect_same_bits(soft_cap(3), full);
}
TEST(attention_call, of_a_rule_that_needs_whole_rows_too) {
  expect_same_bits(adaptive_temperature(), {.mask = mask::causal & mask::sliding_window(600)});
}

TEST(attention_call, serves_a_batch_of_sequences_of_their_own_lengths) {
  std::vector<sequence> all;
  for (std::size_t const keys : {1u, 700u, 4000u, 33u, 9000u})
    all.emplace_back(attention_sizes{keys % 3 + 1, keys + 3, 8, 2, 16, 16});
  std::vector<decltype(all[0].call(nope()))> calls;
  for (auto& s : all) calls.push_back(s.call(nope()));
  for (std::size_t const workers : {1u, 3u, 8u}) {
    std::vector<std::byte> memory(attention_bytes(calls, workers));
    for (auto& s : all) std::ranges::fill(s.outputs, 9.0f);
    attend_on_threads(workers, calls, memory);
    for (auto const& s : all)
      EXPECT_TRUE(numbers::same_bits(s.outputs, s.expected(nope()).outputs));
  }
}

TEST(attention_call, writes_records_and_outputs_of_other_types) {
  sequence s({4, 600, 2, 1, 8, 8});
  auto const expected = s.expected(nope(), {.keep_scores = true, .keep_weights = true});
  std::vector<float> scores(expected.scores.size()), weights(scores.size());
  std::vector<bfloat16> narrow(s.outputs.size());
  heads_view<bfloat16> const to(narrow.data(), s.to().shape());
  nope const encoding;
  attention_call const call(s.x.q_view(), s.x.k_view(), s.x.v_view(), to, encoding, {},
                            {.scores = scores, .weights = weights});
  std::vector<std::byte> memory(attention_bytes(call, 1));
  attend(detail::one_task(), call, memory);
  EXPECT_TRUE(numbers::same_bits(scores, expected.scores));
  EXPECT_TRUE(numbers::same_bits(weights, expected.weights));
  for (std::size_t i = 0; i < narrow.size(); ++i)
    EXPECT_EQ(float(narrow[i]), float(bfloat16(expected.outputs[i])));
}

TEST(attention_call, needs_memory_that_grows_with_ranges_alone) {
  auto const bytes = [](std::size_t queries, std::size_t keys, std::size_t workers) {
    std::vector<float> q(queries * 4 * 8), kv(keys * 8), to(q.size());
    heads_view<float const> const of_q(q.data(), {queries, 4, 8}), k(kv.data(), {keys, 1, 8});
    nope const encoding;
    attention_call const call(of_q, k, k, heads_view<float>(to.data(), of_q.shape()), encoding);
    return attention_bytes(call, workers);
  };
  EXPECT_EQ(bytes(1000, 1000, 1),
            bytes(1000, 100'000, 1) - (bytes(1000, 100'000, 0) - bytes(1000, 1000, 0)))
      << "a worker's part";
  EXPECT_LT(bytes(1, 1'000'000, 1), 500'000u) << "at most 64 ranges";
}

TEST(attention_call, refuses_what_does_not_fit_before_anything_is_written) {
  sequence s({2, 3, 2, 1, 8, 8});
  auto const before = s.outputs;
  heads_view<float> const few(s.outputs.data(), {1, 2, 8}), over(s.x.q.data(), {2, 2, 8});
  auto const refusal = [&](heads_view<float> const& to, attention_records<float> const& records) {
    nope const encoding;
    return message_of([&] {
      attention_call(s.x.q_view(), s.x.k_view(), s.x.v_view(), to, encoding, {}, records);
    });
  };
  EXPECT_EQ(refusal(few, {}), "posenc: attention_call: outputs must be [2][2][8], got [1][2][8]");
  EXPECT_EQ(refusal(over, {}),
            "posenc: attention_call: outputs must not overlap queries, keys or values");
  std::vector<float> scores(5);
  EXPECT_EQ(refusal(s.to(), {.scores = scores}),
            "posenc: attention_call: scores must have 12 numbers, or none, got 5");
  auto const call = s.call(nope());
  std::vector<std::byte> memory(attention_bytes(call, 1) - 1);
  EXPECT_EQ(message_of([&] { attend(detail::one_task(), call, memory); }),
            "posenc: attend: memory must have " + std::to_string(memory.size() + 1) +
                " bytes, as attention_bytes says, got " + std::to_string(memory.size()));
  EXPECT_EQ(s.outputs, before);
}

/// All workers return, each with an error.
TEST(attention_workers, that_disagree_are_told_so) {
  sequence s({1, 3000, 2, 1, 8, 8}), other({1, 2000, 2, 1, 8, 8});
  auto const call = s.call(nope()), its = other.call(nope());
  std::span const view(&call, 1);
  constexpr std::size_t count = 3;
  std::vector<std::byte> memory(attention_bytes(view, count + 1));
  auto const errors_of = [&](auto const& run) {
    executors::barrier barrier(count);
    std::vector<std::string> errors(count);
    auto const wait = [&] { barrier.arrive_and_wait(); };
    on_threads(count, [&](std::size_t i) { errors[i] = message_of([&] { run(i, wait); }); });
    return errors;
  };
  auto const before = s.outputs;
  auto const expect = [&](auto const& run) {
    for (auto const& error : errors_of(run))
      EXPECT_TRUE(error.starts_with("posenc: attend: workers must be") ||
                  error.starts_with("posenc: attend: memory must have"))
          << error;
    EXPECT_EQ(s.outputs, before);
  };
  for (int again = 0; again < 2; ++again) {
    expect([&](std::size_t i, auto const& wait) {  // twice the same index
      attend(worker(i / 2, count, wait), view, memory);
    });
    expect([&](std::size_t i, auto const& wait) {  // one counts more of them
      attend(worker(i, i == 1 ? count + 1 : count, wait), view, memory);
    });
    expect([&](std::size_t i, auto const& wait) {  // one has another sequence
      attend(worker(i, count, wait), i == 2 ? std::span(&its, 1) : view, memory);
    });
    expect([&](std::size_t i, auto const& wait) {  // one has no memory
      attend(worker(i, count, wait), view, i == 0 ? std::span<std::byte>() : std::span(memory));
    });
    for (auto const& error : attend_on_threads(count, view, memory)) EXPECT_EQ(error, "");
    EXPECT_NE(s.outputs, before);
    s.outputs = before;
  }
  EXPECT_EQ(message_of([] { worker(2, 2, [] {}); }),
            "posenc: worker: index must be below count, got 2 of 2");
}

struct throws_amid {
  static constexpr bool is_bias = true;
  template <class T>
  void adjust_scores(score_row<T> const& row) const {
    if (row.first_key_index > 1000) throw std::invalid_argument("amid");
  }
};
TEST(attention_workers, do_not_wait_for_one_that_throws_amid_the_work) {
  sequence s({1, 6000, 2, 1, 8, 8});
  auto const call = s.call(throws_amid());
  std::vector<std::byte> memory(attention_bytes(call, 4));
  std::size_t failed = 0;
  for (auto const& error : attend_on_threads(4, call, memory)) failed += error == "amid";
  EXPECT_GE(failed, 1u);
}

}  // namespace of_calls
}  // namespace
