// Rotation in place of every type, layout and size.
//
// Tried without gain, with the part of the limit unless it says otherwise.
// Zen 5:
//     cosines and sines loaded once for two heads    0.55 in L2 at head_dim 256, as for one head
//     software prefetch within the caches    a third slower in L1 and L2; helps beyond 1 MiB
//     one head per block with 16 registers   0.5 in L3
//     a struct of strides passed by value    30 ns per call: stored in parts, loaded as a whole
//     bfloat16 rounded in integers           twice the time of the CPU's instruction
// Zen 5, ns per head vector of 128 bfloat16 in halves, by a kernel of its own:
//     each word of a register tested         4.2; without a test 3.3
//     one test per head, of all masks        3.9; of the least word 4.1
//     rounded in integers by a dot product of words (VNNI), no test    5.1
//     subnormals made normal before the conversion, no test    6.0
// Zen 4:
//     heads of 512 copied to L1 in order, rotated from there    0.41 to 0.48 in L2 and L3
//     the next head prefetched in order    0.55 in 64 MiB; read in order without, 0.64 to 0.89
//     x' of all groups stored after all y'    as fast
//     interleaved pairs of 128 dims apart     0.80 in L2; side by side 0.87
//     cosines of a row loaded before its sines    1 % faster, of one head a token
//     8 heads of 512 at a time, which stay in L1  0.72 to 0.78 in L2, all 0.81; AVX2 0.77, 0.75
// Zen 4, ns per head vector of 128 bfloat16:
//     1 less than each word tested, so that zeros pass    6.9 with and without zeros; 6.6 and 7.0
//     the least word of a head found, tested once         7.2
//     interleaved pairs with x and y in one register      7.5; as even and odd words 6.8
//     cosines and sines from L1, one loop over groups    7.2; with a tail 1.3 times as long
// Zen 4, ns per head vector of 16 bfloat16:
//     a part of a register written with a mask            14; in two overlapping parts 3 to 5
// Intel Xeon (model 167):
//     a list of the addresses of tokens      3 ns per token; strides and a loop 1
//     no prefetch in 64 MiB          0.62 to 0.93 at head_dim 256 and 512, with it 0.89 to 1.04
//     vfpclassps to tell zeros from subnormals    as fast, and blind where subnormals are zeros
//     one call of the kernel for each head   0.87 in 8 MiB at head_dim 512; one for all: 1.03
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cell.hpp"
#include "posenc/frequency/geometric.hpp"
#include "queries.hpp"
#include "suites.hpp"
#if defined(POSENC_BENCH_GGML)
#include "ggml_rope.hpp"
#endif

namespace bench {
namespace {

using posenc::halves, posenc::interleaved;

#if defined(POSENC_BENCH_GGML)
template <class Layout>
std::vector<measured_case const*> add_ggml(report& r, place const& at,
                                           shared_queries<float> const& q) {
  auto const& shape = q->shape();
  auto const theirs = std::make_shared<ggml_rope>(shape.tokens, shape.heads, shape.head_dim,
                                                  std::same_as<Layout, halves>, q->positions());
  auto c = case_at(at, q, "ggml");
  c.prepare = [=] {
    q->refill();
    theirs->set({q->data(), q->data() + q->count()});
  };
  c.ways = {passes_of([theirs] { theirs->rotate(); })};
  c.max_error = [=] {
    return q->template max_error<Layout>([&] {
      theirs->set({q->data(), q->data() + q->count()});
      theirs->rotate();
      std::ranges::copy(theirs->get(), q->data());
    });
  };
  return {r.add(std::move(c))};
}
#endif

template <class T>
void add_type(report& r, std::string const& type) {
  auto const name = type == "bfloat16" ? "bf16" : type;
  auto const table_of = [&](std::string const& layout) {
    return r.add(table{.path = "rotation/" + type + '/' + layout,
                       .title = type + ", " + layout,
                       .in_picture = layout == "halves" && (type == "float" || type == "bfloat16"),
                       .on_page = type == "double"
                                      ? std::vector<page_line>()
                                      : std::vector<page_line>{{"128", name + ' ' + layout}}});
  };
  auto const *const by_halves = table_of("halves"), *const by_turns = table_of("interleaved");
  for (auto const head_dim : {64u, 128u, 256u, 512u}) {
    for (auto const& set : working_sets) {
      auto const q = make_queries<T>(posenc::geometric(head_dim, 1e4), shape_in<T>(set, head_dim));
      auto const add = [&]<class Layout>(Layout, place const& at, measured_case const* limit) {
        std::vector<measured_case const*> ggml;
#if defined(POSENC_BENCH_GGML)
        if constexpr (std::same_as<T, float>) {
          if (head_dim == 128) ggml = add_ggml<Layout>(r, at, q);
        }
#endif
        add_cell<Layout>(r, at, q, limit, std::move(ggml));
      };
      auto const line = std::to_string(head_dim);
      auto const* const limit = add_limit(r, {by_halves, line, set.name}, q);
      add(halves(), {by_halves, line, set.name}, limit);
      add(interleaved(), {by_turns, line, set.name}, limit);
    }
  }
}

}  // namespace

void add_rotation(report& r) {
  add_type<float>(r, "float");
  add_type<double>(r, "double");
  add_type<posenc::bfloat16>(r, "bfloat16");
  add_type<posenc::half>(r, "half");
}

}  // namespace bench
