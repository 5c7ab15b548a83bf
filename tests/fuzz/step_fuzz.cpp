// Keys of any bits, into pages of any format by any slots, in memory of exactly their size:
// rotate refuses and changes nothing, or writes what rotate and encode would, and nothing else.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include "must.hpp"
#include "posenc/cache/float_formats.hpp"
#include "posenc/cache/int4.hpp"
#include "posenc/cache/integer_formats.hpp"
#include "posenc/cache/iq4_nl.hpp"
#include "posenc/cache/q4_0.hpp"
#include "posenc/cache/q4_1.hpp"
#include "posenc/cache/q5_0.hpp"
#include "posenc/cache/q5_1.hpp"
#include "posenc/frequency/geometric.hpp"
#include "posenc/rotation/rotate_in_tasks.hpp"
#include "posenc/rows/cos_sin_rows.hpp"

namespace {

using fuzz::must, posenc::heads_view, posenc::halves, posenc::heads_view;

// Not in a vector, whose capacity may be more.
template <class T>
struct exact {
  explicit exact(std::size_t n) : size(n), data(new T[n]()) {}
  std::size_t size;
  std::unique_ptr<T[]> data;
  std::vector<T> copy() const { return {data.get(), data.get() + size}; }
};

template <class Format>
void write_in(Format const& format, std::size_t group, FuzzedDataProvider& in) {
  posenc::pages_shape const shape{in.ConsumeIntegralInRange<std::size_t>(0, 3),
                                  in.ConsumeIntegralInRange<std::size_t>(0, 4),
                                  in.ConsumeIntegralInRange<std::size_t>(0, 3),
                                  in.ConsumeIntegralInRange<std::size_t>(0, 5) * group +
                                      (in.ConsumeIntegralInRange(0, 13) == 0)};
  auto const tokens = in.ConsumeIntegralInRange<std::size_t>(0, 6), heads = shape.heads,
             dim = shape.head_dim;
  exact<std::int64_t> slots(tokens);
  auto const size = static_cast<std::int64_t>(shape.pages * shape.page_tokens);
  std::set<std::int64_t> once;
  bool bad_slot = false, again = false;
  for (std::size_t t = 0; t < tokens; ++t) {
    slots.data[t] =
        in.ConsumeIntegralInRange(0, 30) == 0
            ? in.ConsumeIntegral<std::int64_t>()
            : in.ConsumeIntegralInRange<std::int64_t>(-1, std::max<std::int64_t>(0, size - 1));
    bad_slot = bad_slot || slots.data[t] >= size;
    again = again || (slots.data[t] >= 0 && !once.insert(slots.data[t]).second);
  }
  auto const rotary =
      in.ConsumeIntegralInRange<std::size_t>(1, std::max<std::size_t>(1, dim / 2 + 1));
  std::vector<std::int64_t> positions(tokens + (in.ConsumeIntegralInRange(0, 30) == 0));
  for (auto& p : positions) p = in.ConsumeIntegralInRange<std::int64_t>(-1'000'000, 1'000'000);
  posenc::cos_sin_rows const rows(posenc::geometric(2 * rotary, 1e4), positions);
  exact<float> keys(tokens * heads * dim);
  auto const wild = in.ConsumeBool();
  for (std::size_t i = 0; i < keys.size; ++i) {
    if (wild && in.remaining_bytes() > 3) {
      auto const bits = in.ConsumeIntegral<std::uint32_t>();
      std::memcpy(&keys.data[i], &bits, 4);
    } else {
      keys.data[i] = static_cast<float>((i * 37 + tokens) % 101) / 50 - 1;
    }
  }
  std::size_t bytes = 0, scale_bytes = 0;
  bool has_bytes = dim > 0;
  try {
    bytes = format.bytes(dim);
    if constexpr (posenc::scaled_format<Format>) scale_bytes = format.scale_bytes(dim);
  } catch (std::invalid_argument const&) {
    has_bytes = false;
  }
  exact<std::byte> memory(shape.pages * shape.page_tokens * heads * (bytes + scale_bytes));
  std::fill_n(memory.data.get(), memory.size, std::byte{0xee});
  exact<std::byte> expected(memory.size);
  auto const before = memory.copy();
  std::copy(before.begin(), before.end(), expected.data.get());
  auto const cache_in = [&](exact<std::byte>& where) {
    return heads_view(format, static_cast<void*>(where.data.get()), shape,
                      std::span(slots.data.get(), tokens));
  };
  bool right = has_bytes && !bad_slot && !again && positions.size() == tokens && 2 * rotary <= dim;
  // Of numbers alone: NaN of other bits is NaN too.
  std::size_t const before_block = wild ? 1 : in.ConsumeIntegralInRange<std::size_t>(0, 33),
                    after_block = wild ? 1 : in.ConsumeIntegralInRange<std::size_t>(0, 33);
  auto const fits = [dim](std::size_t block) {
    return block == 0 || (std::has_single_bit(block) && dim % block == 0);
  };
  right = right && fits(before_block) && fits(after_block);
  bool refused = false;
  try {
    auto const split = in.ConsumeIntegralInRange<std::size_t>(1, 5);
    auto const here = [](std::size_t n, posenc::task const& run) {
      for (auto i = n; i-- > 0;) run(i);
    };
    heads_view<float const> const source(keys.data.get(), {tokens, heads, dim});
    posenc::rotate(posenc::tasks(split, here), rows,
                   posenc::rotated<halves>(source, cache_in(memory))
                       .scale(0.5f)
                       .from_hadamard(before_block)
                       .hadamard(after_block));
  } catch (std::invalid_argument const&) {
    refused = true;
  }
  must(refused || right, "bad input was taken");
  must(!refused || !right, "good input was refused");
  if (refused) return must(memory.copy() == before, "a refused call changed memory");
  exact<float> rotated(keys.size);
  heads_view<float> const own(keys.data.get(), {tokens, heads, dim}),
      to(rotated.data.get(), {tokens, heads, dim});
  posenc::hadamard(own, before_block);
  posenc::rotate(rows, posenc::rotated<halves>(own.to_read(), to).scale(0.5f));
  posenc::hadamard(to, after_block);
  auto const wanted = cache_in(expected);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h)
      wanted.write(t, h, {rotated.data.get() + (t * heads + h) * dim, dim});
  must(memory.copy() == expected.copy(), "other bytes than those of separate calls");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  FuzzedDataProvider in(data, size);
  switch (in.ConsumeIntegralInRange(0, 9)) {
    case 0:
      write_in(posenc::u8_per_head{}, 16, in);
      break;
    case 1:
      write_in(posenc::q8_0{}, 32, in);
      break;
    case 2:
      write_in(posenc::int8_per_head{in.ConsumeBool()}, 16, in);
      break;
    case 3:
      write_in(posenc::int8_static{0.01f}, 16, in);
      break;
    case 4:
      write_in(posenc::e4m3::of_scale(0.02f), 16, in);
      break;
    case 5:
      write_in(posenc::deepseek_v4{}, 64, in);
      break;
    case 6:
      write_in(posenc::q4_0{}, 32, in);
      break;
    case 7:
      write_in(posenc::int4_per_head{}, 16, in);
      break;
    case 8:
      write_in(posenc::int4_static{0.1f}, 16, in);
      break;
    case 9:
      write_in(posenc::q4_1{}, 32, in);
      break;
    case 10:
      write_in(posenc::q5_0{}, 32, in);
      break;
    case 11:
      write_in(posenc::q5_1{}, 32, in);
      break;
    case 12:
      write_in(posenc::iq4_nl{}, 32, in);
      break;
    default:
      write_in(posenc::numbers_of<posenc::bfloat16>{}, 16, in);
  }
  return 0;
}
