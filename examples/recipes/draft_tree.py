"""Verify a draft: a tree of tokens (EAGLE, Medusa), of which one path is kept; then a block of tokens
that all see each other (DFlash)."""

import numpy
import posenc

from plain_loops import DIM, is_right, keys_of, queries_of, values_of

CACHED, DRAFTS, BLOCK = 20, 6, 4
TREE = CACHED + DRAFTS
parent = [19, 20, 20, 21, 21, 22]  # slots: 19 is the last token
q, k, v = queries_of(CACHED, DRAFTS + BLOCK), keys_of(0, TREE + BLOCK), values_of(0, TREE + BLOCK)

# A draft is one position after its parent, and sees itself and what its parent sees.
sees, positions = numpy.zeros((DRAFTS, TREE), bool), list(range(CACHED))
for d in range(DRAFTS):
    positions.append(positions[parent[d]] + 1)
    sees[d, :CACHED] = True
    if parent[d] >= CACHED:
        sees[d] = sees[parent[d] - CACHED]
    sees[d, CACHED + d] = True
path = [20, 22, 25]  # what the target model accepts, by slot
positions += range(CACHED + len(path), CACHED + len(path) + BLOCK)
f = posenc.frequencies(rotary_dim=DIM, base=10000)
posenc.rotate(k, f.rows(positions)), posenc.rotate(q, f.rows(positions[CACHED:]))
verified = posenc.attend(q[:DRAFTS], k[:TREE], v[:TREE], mask=sees)

# The next step reads the slots of the path. No key is copied or rotated again.
read = [*range(CACHED), *path, *range(TREE, TREE + BLOCK)]
k_cache, v_cache = (posenc.Cache("f32", 1, *x.shape, memory=x.view(numpy.uint8).reshape(1, -1)) for x in (k, v))
drafted = posenc.attend(q[DRAFTS:], k_cache, v_cache, slots=read)

right = True
for i, outputs in enumerate((*verified, *drafted)):
    seen = numpy.flatnonzero(sees[i]) if i < DRAFTS else read
    right = right and is_right(outputs, CACHED + i, positions[CACHED + i], seen, [positions[t] for t in seen])
print(f"{verified[0, 0, 0]:.3f} {drafted[-1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
