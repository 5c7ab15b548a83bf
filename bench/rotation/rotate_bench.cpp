// Rotation in place of every type, layout and size.
// What was tried and gained nothing: .github/DESIGN.md.
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
