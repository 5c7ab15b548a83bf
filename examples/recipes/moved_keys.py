"""Join, evict, renumber: cached keys move to other positions, where they lie."""

import numpy
import posenc

from plain_loops import DIM, KV_HEADS, is_right, keys_of, queries_of, values_of

f = posenc.frequencies(rotary_dim=DIM, base=10000)
k_cache, v_cache = (posenc.Cache("f32", pages=13, page_tokens=4, heads=KV_HEADS, head_dim=DIM) for _ in range(2))

# A sequence of 40 tokens in slots 0 to 39, and another of 12 in slots 40 to 51.
slot = numpy.arange(52)
posenc.write_step(f.rows(numpy.where(slot < 40, slot, slot - 40)),
                  keys=posenc.StepHeads(keys_of(0, 52), cache=k_cache, slots=slot),
                  values=posenc.StepHeads(values_of(0, 52), cache=v_cache, slots=slot))

# Tokens 10 to 19 go; what follows closes the gap, and the second sequence joins behind it. The rows
# of a move have no attention factor, which the keys have already.
left, moved = numpy.flatnonzero((slot < 10) | (slot >= 20)), slot[20:]
moves = posenc.frequencies(inv_freq=f.inv_freq).rows(numpy.where(moved < 40, -10, 30))
posenc.write_step(moves, keys=posenc.StepHeads(k_cache, source_slots=moved))

q = posenc.rotate(queries_of(52, 1), f.rows([42]))
outputs = posenc.attend(q, k_cache, v_cache, slots=left)

right = is_right(outputs[0], 52, 42, left, range(42))
print(f"{outputs[0, 0, 0]:.3f} {outputs[-1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
