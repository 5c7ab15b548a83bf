// Rotation compared with its limit, scaling the same bytes, and with the code that users would
// write.
//
// Tried without gain (Zen 5; the number is the part of the limit, unless it says otherwise):
//     cosines and sines loaded once for two heads    .55 in L2 at head_dim 256, as for one head
//     software prefetch within the caches    a third slower in L1 and L2; helps beyond 1 MiB
//     one head per block with 16 registers   .5 in L3
//     a struct of strides passed by value    30 ns per call: stored in parts, loaded as a whole
//     std::optional in rotary_block          9 ns per call
//     bfloat16 rounded in integers           twice the time of the CPU's instruction
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "baselines.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/rotate.hpp"
#include "queries.hpp"
#include "suites.hpp"

namespace bench {
namespace {

template <class T>
constexpr char const* name_of = nullptr;
template <>
constexpr char const* name_of<float> = "float";
template <>
constexpr char const* name_of<double> = "double";
template <>
constexpr char const* name_of<posenc::half> = "half";
template <>
constexpr char const* name_of<posenc::bfloat16> = "bfloat16";
template <>
constexpr char const* name_of<posenc::halves> = "halves";
template <>
constexpr char const* name_of<posenc::interleaved> = "interleaved";

template <class T>
using shared_queries = std::shared_ptr<queries<T>>;

template <class T>
shared_queries<T> make_queries(posenc::frequencies const& f, cache_level const& where,
                               std::size_t misaligned_by_bytes = 0) {
  return std::make_shared<queries<T>>(f, where, misaligned_by_bytes);
}

template <class T>
report_case case_of(shared_queries<T> const& q, std::string name) {
  return {.suite = "rotation",
          .name = std::move(name),
          .type = name_of<T>,
          .layout = "",
          .head_dim = q->head_dim(),
          .where = q->where().name,
          .rows = q->vectors(),
          .ways = {},
          .prepare = [q] { q->refill(); }};
}

/// rotate: rotates once.
template <class Layout, class T>
report_case rotation_case(shared_queries<T> const& q, std::string name, auto const& rotate) {
  auto c = case_of(q, std::move(name));
  c.layout = name_of<Layout>;
  c.ways = {passes_of(rotate)};
  c.max_error = [q, rotate] { return q->template max_error<Layout>(rotate); };
  return c;
}

template <class T>
measured_case const* add_limit(report& r, shared_queries<T> const& q, std::string name = "limit") {
  using real = posenc::arithmetic_t<T>;
  auto c = case_of(q, std::move(name));
  auto const by = [&](void (*scale)(T*, std::size_t, real)) {
    return passes_of([q, scale] { scale(q->data(), q->count(), real(-1)); });
  };
  c.ways = {by(scale_by_lanes<T>)};
  if constexpr (sizeof(T) == 2) {
    c.ways.push_back(by(scale_by_pairs<T>));
  } else {
    c.ways.push_back(by(scale_by_loop<T>));
  }
  c.in_table = false;
  return r.add(std::move(c));
}

struct baselines {
  measured_case const *limit = nullptr, *plain_loop = nullptr, *eigen = nullptr;
};

template <class Layout, class T>
baselines add_baselines(report& r, shared_queries<T> const& q, measured_case const* limit,
                        std::string const& prefix = "") {
  auto const add = [&](char const* name, auto const& rotate) {
    auto c = rotation_case<Layout>(q, prefix + name, rotate);
    c.limit = limit;
    c.in_table = false;
    return r.add(std::move(c));
  };
  baselines b{limit};
  b.plain_loop =
      add("plain_loop", [q] { plain_loop<Layout>(q->data(), q->shape(), q->cos_sin()); });
  if constexpr (std::floating_point<T>) {
    if constexpr (std::same_as<Layout, posenc::halves>) {
      b.eigen = add("eigen", [q] { eigen_halves(q->data(), q->shape(), q->cos_sin()); });
    } else {
      b.eigen = add("eigen", [q] { eigen_interleaved(q->data(), q->shape(), q->turns()); });
    }
  }
  return b;
}

template <class Layout, class T>
report_case in_place(shared_queries<T> const& q, baselines const& b, std::string name) {
  auto c = rotation_case<Layout>(q, std::move(name),
                                 [q] { posenc::rotate<Layout>(q->view(), q->rows()); });
  c.limit = b.limit, c.plain_loop = b.plain_loop, c.eigen = b.eigen;
  return c;
}

// llama2.c has interleaved pairs only.
void add_on_the_fly(report& r, shared_queries<float> const& q, baselines const& b) {
  auto c = rotation_case<posenc::interleaved>(
      q, "on_the_fly", [q] { on_the_fly(q->data(), q->shape(), q->positions().data()); });
  c.limit = b.limit, c.plain_loop = b.plain_loop, c.eigen = b.eigen;
  c.in_table = false;
  r.add(std::move(c));
}

// p-RoPE moves the bytes of a head with a quarter of the dims.
template <class Layout>
void add_p_rope(report& r, baselines const& full, measured_case const* rotate,
                measured_case const* limit_of_a_quarter) {
  auto const q = make_queries<float>(posenc::truncated(posenc::geometric(512, 1e6), 0.25), L1);
  auto c = in_place<Layout>(q, {limit_of_a_quarter, full.plain_loop, full.eigen}, "p_rope_0.25");
  c.beside = rotate;
  r.add(std::move(c));
}

template <class Layout>
void add_misaligned(report& r, measured_case const* aligned, measured_case const* limit,
                    shared_queries<float> const& q) {
  auto const b = add_baselines<Layout>(r, q, limit, "misaligned_");
  auto c = in_place<Layout>(q, b, "misaligned");
  c.beside = aligned;
  r.add(std::move(c));
}

template <class T>
void add_type(report& r, std::vector<std::size_t> const& head_dims,
              std::vector<cache_level> const& levels_of_128,
              std::vector<cache_level> const& levels_of_others) {
  using posenc::halves, posenc::interleaved;
  measured_case const* limit_of_128 = nullptr;
  for (auto const head_dim : head_dims) {
    for (auto const& where : head_dim == 128 ? levels_of_128 : levels_of_others) {
      auto const q = make_queries<T>(posenc::geometric(head_dim, 1e4), where);
      auto const* const limit = add_limit(r, q);
      auto const b_halves = add_baselines<halves>(r, q, limit),
                 b_interleaved = add_baselines<interleaved>(r, q, limit);
      auto const *const by_halves = r.add(in_place<halves>(q, b_halves, "rotate")),
                        *const by_pairs = r.add(in_place<interleaved>(q, b_interleaved, "rotate"));
      if constexpr (std::same_as<T, float>) {
        if (where.name != L1.name) continue;
        add_on_the_fly(r, q, b_interleaved);
        if (head_dim == 128) {
          limit_of_128 = limit;
          auto const off = make_queries<float>(posenc::geometric(head_dim, 1e4), where, 16);
          auto const* const limit_off = add_limit(r, off, "misaligned_limit");
          add_misaligned<halves>(r, by_halves, limit_off, off);
          add_misaligned<interleaved>(r, by_pairs, limit_off, off);
        }
        if (head_dim == 512) {
          add_p_rope<halves>(r, b_halves, by_halves, limit_of_128);
          add_p_rope<interleaved>(r, b_interleaved, by_pairs, limit_of_128);
        }
      }
    }
  }
}

}  // namespace

void add_rotation(report& r) {
  std::vector<cache_level> const all{L1, L2, L3, DRAM}, ends{L1, DRAM};
  add_type<float>(r, {64, 128, 256, 512}, all, all);
  add_type<double>(r, {64, 128, 256}, all, all);
  add_type<posenc::half>(r, {64, 128, 256}, all, ends);
  add_type<posenc::bfloat16>(r, {64, 128, 256}, all, ends);
}

}  // namespace bench
