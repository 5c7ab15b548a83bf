"""Several sequences whose prefix is shared: one pool of pages, a block table, one call."""

import numpy
import posenc

from plain_loops import DIM, KV_HEADS, is_right, keys_of, queries_of, values_of

PAGE_TOKENS, PREFIX = 8, 16
# Pages 4 and 0 have the prefix, the others belong to one sequence each; -1: no page yet.
table = numpy.array([[4, 0, 2, 6], [4, 0, 5, -1], [4, 0, 3, -1]])
lengths, cached = [27, 20, 17], [0, PREFIX, PREFIX]
k_pool, v_pool = (posenc.Cache("f32", 7, PAGE_TOKENS, KV_HEADS, DIM) for _ in range(2))
f = posenc.frequencies(rotary_dim=DIM, base=10000)

# Slots by sequence and token, [3, 32]; negative where there is no page yet.
slots = (table[:, :, None] * PAGE_TOKENS + numpy.arange(PAGE_TOKENS)).reshape(3, -1)

# The first sequence writes the prefix too, the others what is behind it.
for s, (length, first) in enumerate(zip(lengths, cached)):
    tokens = [t if t < PREFIX else 100 * s + t for t in range(first, length)]
    k, v = (numpy.concatenate([of(t, 1) for t in tokens]) for of in (keys_of, values_of))
    posenc.write_step(f.rows(range(first, length)),
                      keys=posenc.StepHeads(k, cache=k_pool, slots=slots[s, first:length]),
                      values=posenc.StepHeads(v, cache=v_pool, slots=slots[s, first:length]))

# A query of each sequence, [sequences, queries, heads, head_dim], over its own slots.
q = numpy.stack([posenc.rotate(queries_of(100 * s + n - 1, 1), f.rows([n - 1])) for s, n in enumerate(lengths)])
outputs = posenc.attend(q, k_pool, v_pool, slots=slots, lengths=lengths, threads=2)

right = all(is_right(outputs[s, 0], 100 * s + n - 1, n - 1, [t if t < PREFIX else 100 * s + t for t in range(n)], range(n))
            for s, n in enumerate(lengths))
print(f"{outputs[0, 0, 0, 0]:.3f} {outputs[-1, -1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
