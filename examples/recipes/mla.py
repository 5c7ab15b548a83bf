"""MLA, absorbed (DeepSeek, Kimi, GLM): a token has one latent of 512 dims and one rotated key of 64,
which all heads share. The cache has them side by side: the latent is the key's first part, and the
value."""

import numpy
import posenc

from plain_loops import MLA_DIM, MLA_HEADS, MLA_LATENT, MLA_ROPE, is_right_of_mla, keys_of, queries_of

TOKENS = 40
f = posenc.frequencies(rotary_dim=MLA_ROPE, base=10000)
scale = (128 + MLA_ROPE) ** -0.5  # by the dims of a query before absorption
cache = numpy.zeros((TOKENS, 1, MLA_DIM), numpy.float32)  # bfloat16 takes half
right = True
for first, count in (0, 38), (38, 1), (39, 1):
    q = queries_of(first, count, MLA_HEADS, MLA_DIM)  # of each head: W_uk^T q, then q_pe
    k = keys_of(first, count, 1, MLA_DIM)  # the latent, then k_pe
    rows, seen = f.rows(range(first, first + count)), cache[:first + count]
    posenc.rotate(q, rows, layout="interleaved", first_dim=-MLA_ROPE)
    posenc.rotate(k, rows, layout="interleaved", first_dim=-MLA_ROPE, out=seen[first:])
    outputs = posenc.attend(q, seen, seen[..., :MLA_LATENT], scale=scale, causal=True)

    for t in range(count):
        right = right and is_right_of_mla(outputs[t], first + t, scale)
print(f"{outputs[0, 0, 0]:.3f} {outputs[-1, -1, -1]:.3f} {'right' if right else 'wrong'}")
raise SystemExit(not right)
