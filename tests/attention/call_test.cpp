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
#include "posenc/attention/attention.hpp"
#include "posenc/attention/rules.hpp"
#include "posenc/core/executor.hpp"
#include "posenc/heads/storage.hpp"
#include "rejects.hpp"

namespace { namespace of_calls {

using namespace posenc;

auto const plain = nope();  // which calls view

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
void expect_same_bits(Encoding const& encoding) {
  for (auto const& shape : shapes) {
    attention_options here;
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
  expect_same_bits(plain);
  expect_same_bits(attention_rules{.sees = mask::full, .cap = 3});
}
TEST(attention_call, of_a_rule_that_needs_whole_rows_too) {
  expect_same_bits(attention_rules{.sees = mask::causal & mask::sliding_window(600),
                                   .temperature = {.rule = temperature_rule::adaptive}});
}

/// An engine's workspace has what the last call left in it, or anything.
TEST(attention_call, finds_anything_in_its_memory) {
  for (auto const& shape : {attention_sizes{1, 3000, 2, 1, 8, 8}, {70, 70, 2, 1, 8, 8}}) {
    sequence one(shape), other(shape);
    for (auto& x : other.x.q) x = -2 * x;
    auto const of_one = one.expected(plain).outputs, of_other = other.expected(plain).outputs;
    ASSERT_FALSE(numbers::same_bits(of_one, of_other));
    auto const call = one.call(plain), its = other.call(plain);
    for (std::size_t const workers : {1u, 2u, 3u}) {
      for (auto const before : {std::byte{0}, std::byte{0xff}}) {
        std::vector<std::byte> memory(attention_bytes(call, workers), before);
        executors::on_threads const pool{};
        auto const expect = [&](char const* how, auto const& act) {
          std::ranges::fill(one.outputs, 9.0f), std::ranges::fill(other.outputs, 9.0f);
          act(call), act(its);
          EXPECT_TRUE(numbers::same_bits(one.outputs, of_one)) << workers << how;
          EXPECT_TRUE(numbers::same_bits(other.outputs, of_other)) << workers << how;
        };
        expect(" workers", [&](auto const& of) {
          for (auto const& error : attend_on_threads(workers, of, memory)) EXPECT_EQ(error, "");
        });
        expect(" tasks", [&](auto const& of) { attend(tasks(workers, pool), of, memory); });
      }
    }
  }
}

TEST(attention_call, serves_a_batch_of_sequences_of_their_own_lengths) {
  std::vector<sequence> all;
  for (std::size_t const keys : {1u, 700u, 4000u, 33u, 9000u})
    all.emplace_back(attention_sizes{keys % 3 + 1, keys + 3, 8, 2, 16, 16});
  std::vector<decltype(all[0].call(plain))> calls;
  for (auto& s : all) calls.push_back(s.call(plain));
  for (std::size_t const workers : {1u, 3u, 8u}) {
    std::vector<std::byte> memory(attention_bytes(calls, workers));
    for (auto& s : all) std::ranges::fill(s.outputs, 9.0f);
    attend_on_threads(workers, calls, memory);
    for (auto const& s : all) EXPECT_TRUE(numbers::same_bits(s.outputs, s.expected(plain).outputs));
  }
}

TEST(attention_call, writes_records_and_outputs_of_other_types) {
  sequence s({4, 600, 2, 1, 8, 8});
  auto const expected = s.expected(plain, {.keep_scores = true, .keep_weights = true});
  std::vector<float> scores(expected.scores.size()), weights(scores.size());
  std::vector<bfloat16> narrow(s.outputs.size());
  heads_view<bfloat16> const to(narrow.data(), s.to().shape());
  attention_call const call(s.x.q_view(), s.x.k_view(), s.x.v_view(), to, plain, {},
                            {.scores = scores, .weights = weights});
  std::vector<std::byte> memory(attention_bytes(call, 1));
  attend(detail::one_task(), call, memory);
  EXPECT_TRUE(numbers::same_bits(scores, expected.scores));
  EXPECT_TRUE(numbers::same_bits(weights, expected.weights));
  for (std::size_t i = 0; i < narrow.size(); ++i)
    EXPECT_EQ(float(narrow[i]), float(bfloat16(expected.outputs[i])));
}

/// Also of rows that see nothing, whatever was there before.
TEST(attention_call, writes_every_number_of_its_records) {
  for (bool const some_see : {false, true}) {
    sequence s({2, 600, 2, 1, 8, 8});
    attention_options options{.query_positions = {-1, some_see ? 599 : -1}};
    options.keep_scores = options.keep_weights = true;
    auto const expected = s.expected(plain, options);
    std::vector<float> scores(expected.scores.size(), 9), weights(scores.size(), 9);
    std::vector<double> log_sum_exp(4, 9);
    auto const call =
        s.call(plain, options, {.log_sum_exp = log_sum_exp, .scores = scores, .weights = weights});
    std::vector<std::byte> memory(attention_bytes(call, 2));
    attend_on_threads(2, call, memory);
    for (std::size_t const first : {0u, 1200u})  // of the first query, in each head
      for (std::size_t i = first; i < first + 600; ++i) {
        ASSERT_TRUE(is_masked(scores[i])) << i;
        ASSERT_EQ(weights[i], 0) << i;
      }
    EXPECT_TRUE(is_masked(log_sum_exp[0]) && is_masked(log_sum_exp[1]));
    EXPECT_TRUE(numbers::same_bits(scores, expected.scores));
    EXPECT_TRUE(numbers::same_bits(weights, expected.weights));
    EXPECT_TRUE(numbers::same_bits(log_sum_exp, expected.log_sum_exp));
    EXPECT_TRUE(numbers::same_bits(s.outputs, expected.outputs));
  }
}

TEST(attention_call, needs_memory_that_grows_with_ranges_alone) {
  auto const bytes = [](std::size_t queries, std::size_t keys, std::size_t workers) {
    std::vector<float> q(queries * 4 * 8), kv(keys * 8), to(q.size());
    heads_view<float const> const of_q(q.data(), {queries, 4, 8}), k(kv.data(), {keys, 1, 8});
    attention_call const call(of_q, k, k, heads_view<float>(to.data(), of_q.shape()), plain);
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
    return message_of(
        [&] { attention_call(s.x.q_view(), s.x.k_view(), s.x.v_view(), to, plain, {}, records); });
  };
  EXPECT_EQ(refusal(few, {}), "posenc: attention_call: outputs must be [2][2][8], got [1][2][8]");
  EXPECT_EQ(refusal(over, {}),
            "posenc: attention_call: outputs must not overlap queries, keys or values");
  std::vector<float> numbers(13);
  std::vector<double> sums(5);
  std::string const must = " numbers, or none, got ";
  for (std::size_t const size : {1u, 11u, 13u}) {
    auto const some = std::span(numbers).first(size);
    auto const got = " must have 12" + must + std::to_string(size);
    EXPECT_EQ(refusal(s.to(), {.scores = some}), "posenc: attention_call: scores" + got);
    EXPECT_EQ(refusal(s.to(), {.weights = some}), "posenc: attention_call: weights" + got);
  }
  for (std::size_t const size : {1u, 3u, 5u})
    EXPECT_EQ(refusal(s.to(), {.log_sum_exp = std::span(sums).first(size)}),
              "posenc: attention_call: log_sum_exp must have 4" + must + std::to_string(size));
  auto const call = s.call(plain);
  std::vector<std::byte> memory(attention_bytes(call, 1) - 1);
  EXPECT_EQ(message_of([&] { attend(detail::one_task(), call, memory); }),
            "posenc: attend: memory must have " + std::to_string(memory.size() + 1) +
                " bytes, as attention_bytes says, got " + std::to_string(memory.size()));
  EXPECT_EQ(s.outputs, before);
}

/// All workers return, each with an error.
TEST(attention_workers, that_disagree_are_told_so) {
  sequence s({1, 3000, 2, 1, 8, 8}), other({1, 2000, 2, 1, 8, 8});
  auto const call = s.call(plain), its = other.call(plain);
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

TEST(attention_workers, that_differ_in_one_number_are_told_so) {
  sequence s({2, 3000, 4, 2, 8, 8});
  auto const call = s.call(plain);
  auto const before = s.outputs;
  auto const expect_of = [&]<class Call>(char const* what, Call const& one,
                                         std::span<Call const> others) {
    std::vector<std::byte> memory(1 << 20);
    executors::barrier barrier(2);
    std::vector<std::string> errors(2);
    on_threads(2, [&](std::size_t i) {
      worker const self(i, 2, [&] { barrier.arrive_and_wait(); });
      errors[i] = message_of([&] { attend(self, i == 0 ? std::span(&one, 1) : others, memory); });
    });
    for (auto const& error : errors)
      EXPECT_EQ(error,
                "posenc: attend: workers must be 2, with different indices and equal "
                "arguments without an error, got others")
          << what;
    EXPECT_EQ(s.outputs, before) << what;
  };
  auto const expect = [&](char const* what, std::span<decltype(call)> others) {
    expect_of(what, call, others);
  };
  std::pair<char const*, attention_sizes> const sizes[]{
      {"queries", {1, 3000, 4, 2, 8, 8}},  {"keys", {2, 2999, 4, 2, 8, 8}},
      {"heads", {2, 3000, 2, 2, 8, 8}},    {"kv_heads", {2, 3000, 4, 1, 8, 8}},
      {"head_dim", {2, 3000, 4, 2, 4, 8}}, {"value_dim", {2, 3000, 4, 2, 8, 4}}};
  for (auto const& [what, size] : sizes) {
    sequence other(size);
    auto const its = other.call(plain, {.scale = call.given().scale});
    expect(what, {&its, 1});
  }
  auto const scaled = s.call(plain, {.scale = 0.5});
  expect("scale", {&scaled, 1});
  decltype(s.call(plain)) const twice[]{s.call(plain), s.call(plain)};
  expect("calls", twice);
  auto const masked = s.call(plain, {.mask = mask::full});
  expect("mask", {&masked, 1});
  auto const moved = s.call(plain, {.query_positions = {0, 2999}});
  expect("positions", {&moved, 1});
  attention_rules const rules{.cap = 2}, others{.cap = 2.5}, seen{.sees = mask::full, .cap = 2};
  auto const by_rules = s.call(rules), by_others = s.call(others), by_seen = s.call(seen);
  expect_of("rules", by_rules, std::span(&by_others, 1));
  expect_of("mask of rules", by_rules, std::span(&by_seen, 1));
}

/// One after another in one thread, so that a byte of two parts shows in marks or numbers.
TEST(attention_workers, have_parts_of_the_memory_that_do_not_overlap) {
  // Rows of ranges of which each is a line; panels; and rows that see nothing.
  sequence ranges({1, 5000, 8, 2, 16, 16}), panels({70, 70, 2, 1, 16, 16}),
      none({2, 0, 2, 1, 8, 8});
  attention_options const at{.query_positions = {0, 1}};
  decltype(ranges.call(plain))
      const calls[]{ranges.call(plain), panels.call(plain), none.call(plain, at)};
  for (std::size_t const workers : {1u, 8u, 9u, 64u}) {
    for (std::size_t const first : {std::size_t{0}, workers - 1}) {  // takes every piece
      for (auto* s : {&ranges, &panels, &none}) std::ranges::fill(s->outputs, 9.0f);
      auto const bytes = attention_bytes(calls, workers);
      std::vector<std::byte> memory(bytes + 64, std::byte{0xab});
      detail::shared_memory const shared(detail::calls_of(calls), workers, memory.data());
      auto const hash = shared.hash_of_arguments();
      for (std::size_t i = 0; i < workers; ++i) shared.mark(i, hash);
      shared.begin();
      EXPECT_NO_THROW(shared.require_agreement(first, hash));
      shared.work(first);
      for (std::size_t i = 0; i < workers; ++i) shared.work(i);
      EXPECT_NO_THROW(shared.require_agreement(first, hash))
          << workers << " workers, of whom one wrote a mark";
      for (std::size_t i = 0; i < workers; ++i) shared.unmark(i);
      for (std::size_t i = 0; i < workers; ++i) shared.add_ranges(i, workers);
      for (auto const* s : {&ranges, &panels})
        EXPECT_TRUE(numbers::same_bits(s->outputs, s->expected(plain).outputs)) << workers;
      EXPECT_TRUE(numbers::same_bits(none.outputs, std::vector<float>(none.outputs.size())));
      EXPECT_TRUE(std::ranges::all_of(std::span(memory).subspan(bytes),
                                      [](std::byte b) { return b == std::byte{0xab}; }));
    }
  }
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
  throws_amid const rule;
  auto const call = s.call(rule);
  std::vector<std::byte> memory(attention_bytes(call, 4));
  std::size_t failed = 0;
  for (auto const& error : attend_on_threads(4, call, memory)) failed += error == "amid";
  EXPECT_GE(failed, 1u);
}

}  // namespace of_calls
}  // namespace
