"""A window cache as a ring: a layer that sees the last 16 tokens keeps 20 of them, for steps of up to
5 tokens."""

import posenc
from plain_loops import DIM, KV_HEADS, is_right, keys_of, queries_of, values_of

WINDOW, CAPACITY, TOKENS = 16, 20, 64  # WINDOW + 5 - 1 = 20
k_ring, v_ring = (posenc.Cache("f32", pages=5, page_tokens=4, heads=KV_HEADS, head_dim=DIM) for _ in range(2))
f = posenc.frequencies(rotary_dim=DIM, base=10000)
right, first = True, 0
while first < TOKENS:
    count = 5 if first < 60 else 1  # a prompt in pieces of 5 tokens, then steps of one
    q, k, v = queries_of(first, count), keys_of(first, count), values_of(first, count)

    kept = min(first + count, CAPACITY)
    written = posenc.ring_slots(first, count, CAPACITY)
    read = posenc.ring_slots(first + count - kept, kept, CAPACITY)
    posenc.write_step(f.rows(range(first, first + count)), queries=posenc.StepHeads(q),
                      keys=posenc.StepHeads(k, cache=k_ring, slots=written),
                      values=posenc.StepHeads(v, cache=v_ring, slots=written))
    outputs = posenc.attend(q, k_ring, v_ring, slots=read, causal=True, behind=WINDOW)

    for t in range(first, first + count):
        right = right and is_right(outputs[t - first], t, t, range(max(0, t + 1 - WINDOW), t + 1))
    first += count
print(f"{outputs[0, 0, 0]:.3f} {outputs[-1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
