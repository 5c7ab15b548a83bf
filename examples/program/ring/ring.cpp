#include "ring.hpp"

#include <chrono>
#include <utility>

#include "posenc/attention/merge.hpp"

namespace ring {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ring_result ring_attention(ranks const& all, split how, sequence const& s, shard const& mine,
                           attention_function const& attention) {
  posenc::heads_view const queries(mine.queries.data(),
                                   {mine.positions.size(), s.heads, s.head_dim});
  auto in_hand = mine.key_values, arriving = in_hand;
  auto const positions_at =
      [&](std::size_t step) {  // of the keys in hand: they began so many ranks back
        return positions_of(how, s.tokens, (all.rank() + all.count() - step) % all.count(),
                            all.count());
      };
  ring_result sum;
  for (std::size_t step = 0; step < all.count(); ++step) {
    auto const begin = seconds();
    transfer moving;
    if (step + 1 < all.count()) {
      arriving.resize(positions_at(step + 1).size() * s.key_value_size());
      moving = all.pass_on(in_hand, arriving);
    }

    // Meanwhile: where the keys stand in the whole sequence is all that encodings and masks ask
    // for.
    auto const key_positions = positions_at(step);
    keys_and_values const part(s, in_hand);
    auto result = attention(queries, part.keys, part.values,
                            {.query_positions = mine.positions, .key_positions = key_positions});
    sum.result = step == 0 ? std::move(result) : posenc::merge(sum.result, result);

    auto const done = seconds();
    moving.wait();
    std::swap(in_hand, arriving);
    sum.computed.push_back(done - begin), sum.waited.push_back(seconds() - done);
  }
  return sum;
}

}  // namespace ring
