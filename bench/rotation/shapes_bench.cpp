// Rotation in place of other shapes: few heads, small and odd heads, parts of heads; numbers and
// addresses that could be slow; and all layers of a decoding step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cell.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rows/cos_sin_rows.hpp"
#include "posenc/rows/row_maker.hpp"
#include "queries.hpp"
#include "suites.hpp"

namespace bench {
namespace {

using posenc::bfloat16, posenc::geometric, posenc::halves, posenc::heads_view, posenc::interleaved;

struct head_shape {
  std::size_t most_heads, head_dim, rotary_dim;
};

template <class Layout>
void add_shapes_of(report& r, std::string const& layout) {
  auto const* const t =
      r.add(table{.path = "shapes/float/" + layout,
                  .title = "float, " + layout + ": other shapes",
                  .note = "heads x dims. Of some dims: the limit scales these alone."});
  for (auto const& [heads, head_dim, rotary_dim] : {head_shape{1, 64, 64},
                                                    {1, 128, 128},
                                                    {8, 64, 64},
                                                    {8, 128, 128},
                                                    {32, 8, 8},
                                                    {32, 16, 16},
                                                    {32, 32, 32},
                                                    {32, 80, 80},
                                                    {32, 96, 96},
                                                    {32, 100, 100},
                                                    {32, 66, 66},
                                                    {32, 80, 32},
                                                    {32, 128, 64},
                                                    {32, 256, 64}}) {
    auto line = std::to_string(heads) + " x ";
    if (rotary_dim < head_dim) line += std::to_string(rotary_dim) + " of ";
    line += std::to_string(head_dim);
    for (auto set : {in_20_kib, in_256_kib}) {
      set.heads = heads;
      place const at{t, line, set.name};
      auto const q =
          make_queries<float>(geometric(rotary_dim, 1e4), shape_in<float>(set, head_dim));
      add_cell<Layout>(r, at, q, add_limit(r, at, q, rotary_dim));
    }
  }
  // p-RoPE moves the bytes of a head with a quarter of the dims.
  for (auto const& set : {in_20_kib, in_256_kib}) {
    place const at{t, "p = 1/4 of 512", set.name};
    auto const q = make_queries<float>(posenc::truncated(geometric(512, 1e6), 0.25),
                                       shape_in<float>(set, 512));
    add_cell<Layout>(r, at, q, add_limit(r, at, q, 128));
  }
}

// Two pairs of zeros in every head, as weights that were pruned leave them.
void put_zeros(queries<bfloat16> const& q) {
  q.refill();
  auto* head = q.data();
  for (std::size_t i = 0; i < q.vectors(); ++i, head += q.shape().head_dim) {
    for (auto const dim : {10u, 11u, 74u, 75u}) head[dim] = bfloat16(0.0f);
  }
}

void add_costs(report& r) {
  auto const* const t = r.add(table{.path = "cost",
                                    .title = "What numbers and addresses cost",
                                    .note = "head_dim 128; ns · our time / the time without it.",
                                    .shows = cells::cost});
  auto const add = [&]<class Layout>(Layout, std::string const& layout) {
    for (auto const& set : {in_20_kib, in_256_kib}) {
      auto const without = [&](auto const& q, std::string const& line) {
        auto c = rotation_in_place<Layout>({t, line, set.name}, q);
        c.by = "without it";
        return r.add(std::move(c));
      };
      auto const shape = shape_in<bfloat16>(set, 128);
      auto const zeros = make_queries<bfloat16>(geometric(128, 1e4), shape);
      auto c = rotation_in_place<Layout>({t, "bfloat16 zeros, " + layout, set.name}, zeros);
      c.prepare = [zeros] { put_zeros(*zeros); };
      c.max_error = {};
      c.beside = without(zeros, c.line);
      r.add(std::move(c));

      auto const floats = shape_in<float>(set, 128);
      auto off = rotation_in_place<Layout>({t, "float 16 bytes off, " + layout, set.name},
                                           make_queries<float>(geometric(128, 1e4), floats, 16));
      off.max_error = {};
      off.beside = without(make_queries<float>(geometric(128, 1e4), floats), off.line);
      r.add(std::move(off));
    }
  };
  add(halves(), "halves");
  add(interleaved(), "interleaved");
}

// The queries and keys of every layer, one after another in one buffer; one row for all of them.
template <class T>
struct step {
  using real = posenc::arithmetic_t<T>;
  static constexpr std::size_t layers = 32, heads = 32, kv_heads = 8, dim = 128,
                               vectors = layers * (heads + kv_heads), count = vectors * dim;
  posenc::row_maker maker{geometric(dim, 1e4)};
  std::vector<real> memory = std::vector<real>(dim);
  std::int64_t position = 500'000;

  auto next_rows() { return maker.write(std::array{++position}, memory.data()); }
  void for_layers(auto const& rotate) const {
    auto* at = buffer<T>();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (auto const n : {heads, kv_heads}) rotate(at, {1, n, dim}), at += n * dim;
    }
  }
};

template <class Layout, class T>
void add_step(report& r, table const* t, std::string const& line) {
  auto const s = std::make_shared<step<T>>();
  auto const case_of = [&](std::string by) {
    return report_case{.in = t,
                       .line = line,
                       .column = "32 layers x (32 + 8 heads of 128)",
                       .by = std::move(by),
                       .items = step<T>::vectors,
                       .ways = {},
                       .prepare = [] { fill(buffer<T>(), step<T>::count); }};
  };
  auto limit = case_of("limit");
  for (auto const scale : scalings<T>()) {
    limit.ways.push_back(
        passes_of([=] { scale(buffer<T>(), 1, 0, step<T>::count, posenc::arithmetic_t<T>(-1)); }));
  }
  auto loop = case_of("plain loop");
  loop.ways = {passes_of([s] {
    s->next_rows();
    s->for_layers([&](T* at, posenc::heads_shape const& shape) {
      plain_loop<Layout>(at, shape, shape.head_dim / 2, s->memory.data());
    });
  })};
  auto known = case_of("loop of known dims");
  known.ways = {passes_of([s] {
    s->next_rows();
    s->for_layers([&](T* at, posenc::heads_shape const& shape) {
      loop_of<Layout, step<T>::dim>(at, 1, shape.heads, s->memory.data());
    });
  })};
  auto ours = case_of("posenc");
  ours.ways = {passes_of([s] {
    auto const rows = s->next_rows();
    s->for_layers([&](T* at, posenc::heads_shape const& shape) {
      posenc::rotate<Layout>(heads_view<T>(at, shape), rows);
    });
  })};
  ours.limit = r.add(std::move(limit)),
  ours.baselines = {r.add(std::move(loop)), r.add(std::move(known))};
  r.add(std::move(ours));
}

}  // namespace

void add_shapes(report& r) {
  add_shapes_of<halves>(r, "halves");
  add_shapes_of<interleaved>(r, "interleaved");
  add_costs(r);
  auto const* const t = r.add(
      table{.path = "step",
            .title = "A decoding step",
            .note = "Every layer's queries and keys, its one row of cosines and sines made first.",
            .on_page = {{"float, halves", "a step of float halves"},
                        {"float, interleaved", "a step of float interleaved"},
                        {"bfloat16, halves", "a step of bf16 halves"},
                        {"bfloat16, interleaved", "a step of bf16 interleaved"}}});
  add_step<halves, float>(r, t, "float, halves");
  add_step<interleaved, float>(r, t, "float, interleaved");
  add_step<halves, bfloat16>(r, t, "bfloat16, halves");
  add_step<interleaved, bfloat16>(r, t, "bfloat16, interleaved");
}

}  // namespace bench
