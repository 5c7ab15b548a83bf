#include <cstddef>
#include <string>

#include "figures.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/frequency/truncated.hpp"
#include "posenc/rotation/layout.hpp"
#include "reporting/scale.hpp"
#include "reporting/svg_drawing.hpp"

namespace {

using charts::svg_drawing;

constexpr double border = 28, cell = 44;

// A head of 16 dims: under each dim its pair, in the colour of the pair; dims that are not rotated
// are empty.
void draw_head(svg_drawing& out, double top, std::string const& title, std::string const& says,
               auto const& pair_of) {
  out.text({border, top + 14}, 14, 900, "title", title);
  out.text({border, top + 33}, 12, 900, "label", says);
  for (int dim = 0; dim < 16; ++dim) {
    charts::box const at{border + cell * dim, top + 44, cell - 4, 34};
    int const pair = pair_of(dim);
    auto const colour = pair % 6;
    if (pair >= 0) out.rectangle(at, "f" + std::to_string(colour), pair < 6 ? 0.55 : 0.25);
    out.rectangle(at, "frame");
    charts::point const middle{at.x + at.width / 2, at.y + 22};
    if (pair >= 0) out.text(middle, 13, 60, "middle", "f" + std::to_string(pair));
    out.text({middle.x, at.y + 50}, 11, 60, "label middle", std::to_string(dim));
  }
}

figure layouts() {
  constexpr std::size_t pairs = 8;
  // The pair of a dim of a block of so many pairs that starts at dim `first`, or -1.
  auto const pair_in = [](auto layout, std::size_t count, std::size_t first) {
    return [=](int dim) {
      using layout_type = decltype(layout);
      for (std::size_t i = 0; i < count; ++i)
        for (auto const index : {layout_type::x_index(i, count), layout_type::y_index(i, count)})
          if (first + index == static_cast<std::size_t>(dim)) return static_cast<int>(i);
      return -1;
    };
  };
  svg_drawing out;
  out.text({border, border + 16}, 20, 900, "title", "Which dims make a pair, and which rotate");
  out.text(
      {border, border + 40}, 13, 900, "label",
      "a head of 16 dims; f0 is the fastest frequency, f7 the slowest; empty dims stand still");
  double top = border + 64;
  auto const add = [&](char const* title, char const* says, auto const& pair_of) {
    draw_head(out, top, title, says, pair_of);
    top += 112;
  };
  using posenc::halves;
  using posenc::interleaved;
  auto const whole_halves = pair_in(halves(), pairs, 0);
  add("halves", "dim i with dim i + 8: Hugging Face, most models", whole_halves);
  add("interleaved", "dim 2i with dim 2i + 1: RoFormer, GPT-J, llama.cpp's Llama",
      pair_in(interleaved(), pairs, 0));
  add("partial rotary: halves of the first 8 dims",
      "a series of four, f3 is its slowest: GPT-NeoX, Qwen3.5", pair_in(halves(), 4, 0));
  auto const kept = posenc::truncated(posenc::geometric(2 * pairs, 1e4), 0.5);
  add("p-RoPE, p = 0.5: halves",
      "the four fastest of eight frequencies: the end of each half stands still (Gemma 4: p = "
      "0.25)",
      [&](int dim) {
        int const pair = whole_halves(dim);
        return kept.inv_freq()[static_cast<std::size_t>(pair)] > 0 ? pair : -1;
      });
  add("the last 8 dims: interleaved", "DeepSeek: the first dims carry no position",
      pair_in(interleaved(), 4, 8));
  return {"layouts.svg", out.page(2 * border + 16 * cell - 4, top + border - 24)};
}

}  // namespace

std::vector<figure> figures_of_layouts() { return {layouts()}; }
