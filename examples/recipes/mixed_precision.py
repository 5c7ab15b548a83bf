"""Sinks and a window in full precision, the rest in few bits: two calls and a merge."""

import numpy
import posenc

from plain_loops import DIM, KV_HEADS, is_right_over, keys_of, queries_of, values_of

SINKS, WINDOW, TOKENS = 4, 16, 100
FULL, FEW = SINKS + WINDOW, TOKENS - SINKS - WINDOW
k_full, v_full = (posenc.Cache("f32", 1, FULL, KV_HEADS, DIM) for _ in range(2))
k_few, v_few = (posenc.Cache("q4_0", 1, FEW, KV_HEADS, DIM) for _ in range(2))
f = posenc.frequencies(rotary_dim=DIM, base=10000)
for t in range(TOKENS):
    q, k, v = queries_of(t, 1), keys_of(t, 1), values_of(t, 1)
    # Slots 0 to 3 are the sinks; behind them the window is a ring.
    slot = [t] if t < SINKS else SINKS + posenc.ring_slots(t - SINKS, 1, WINDOW)
    if t >= FULL:  # the token that leaves the window goes into few bits
        for full, few in (k_full, k_few), (v_full, v_few):
            posenc.write_step(values=posenc.StepHeads(full, source_slots=slot, cache=few, slots=[t - FULL]))
    posenc.write_step(f.rows([t]), queries=posenc.StepHeads(q), keys=posenc.StepHeads(k, cache=k_full, slots=slot),
                      values=posenc.StepHeads(v, cache=v_full, slots=slot))

a, sum_a = posenc.attend(q, k_full, v_full, log_sum_exp=True)
b, sum_b = posenc.attend(q, k_few, v_few, log_sum_exp=True)
share = 1 / (1 + numpy.exp(sum_b - sum_a))[..., None]  # of the weights, [queries, heads, 1]
outputs = share * a + (1 - share) * b

# The same keys and values as numbers.
read_k, read_v = (numpy.concatenate([posenc.read_cache(full), posenc.read_cache(few)])
                  for full, few in ((k_full, k_few), (v_full, v_few)))
right = is_right_over(outputs[0], q[0], read_k, read_v)
print(f"{outputs[0, 0, 0]:.3f} {outputs[-1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
