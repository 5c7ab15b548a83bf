"""As plain_loops.h: the heads of a model, and attention by its definition, by plain loops in double."""

import math

import numpy

HEADS, KV_HEADS, DIM = 8, 2, 64
MLA_HEADS, MLA_LATENT, MLA_ROPE, MLA_DIM = 16, 512, 64, 576


def _number(kind, token, i):
    x = ((numpy.uint64(kind * 1_000_003) + token) * numpy.uint64(8191) + i) * numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(29))) * numpy.uint64(0xBF58476D1CE4E5B9)
    return (x >> numpy.uint64(56)).astype(numpy.float32) / 128 - 1


def _heads(of, first, tokens, heads, dim):
    """Of tokens from `first` on: float32 [tokens, heads, dim]."""
    token, i = numpy.arange(first, first + tokens, dtype=numpy.uint64), numpy.arange(heads * dim, dtype=numpy.uint64)
    return of(token[:, None], i[None]).astype(numpy.float32).reshape(tokens, heads, dim)


def queries_of(first, tokens, heads=HEADS, dim=DIM):
    return _heads(lambda t, i: 4 * _number(0, t, i), first, tokens, heads, dim)


def keys_of(first, tokens, heads=KV_HEADS, dim=DIM):
    return _heads(lambda t, i: (3 * _number(1, t // numpy.uint64(16), i) + _number(2, t, i)) / 4, first, tokens, heads, dim)


def values_of(first, tokens, heads=KV_HEADS, dim=DIM):
    return _heads(lambda t, i: _number(3, t, i), first, tokens, heads, dim)


def _rotated(head, position, first, dims, step, apart):
    x = head.astype(float)
    for i in range(dims // 2):
        angle = position * 1e4 ** (-2 * i / dims)
        a, b = first + i * step, first + i * step + apart
        x[a], x[b] = x[a] * math.cos(angle) - x[b] * math.sin(angle), x[a] * math.sin(angle) + x[b] * math.cos(angle)
    return x


def _attention(q, keys, values, scale):
    outputs, total = 0, 0
    for k, v in zip(keys, values):
        weight = math.exp(scale * float(q @ k))
        outputs, total = outputs + weight * v.astype(float), total + weight
    return outputs / total


def _close(found, wanted):
    return float(((found - wanted) ** 2).sum()) <= 4e-12 * float((wanted ** 2).sum())


def is_right(outputs, query, position, seen, positions=None):
    """Whether outputs, [HEADS, DIM], are those of the query of a token at a position, which sees the
    tokens `seen`, at `positions` (None: a token's number is its position)."""
    q, at = queries_of(query, 1)[0], seen if positions is None else positions
    right = True
    for kv in range(KV_HEADS):
        keys = [_rotated(keys_of(int(t), 1)[0, kv], int(p), 0, DIM, 1, DIM // 2) for t, p in zip(seen, at)]
        values = [values_of(int(t), 1)[0, kv] for t in seen]
        for h in range(kv * HEADS // KV_HEADS, (kv + 1) * HEADS // KV_HEADS):
            wanted = _attention(_rotated(q[h], position, 0, DIM, 1, DIM // 2), keys, values, DIM ** -0.5)
            right = right and _close(outputs[h], wanted)
    return right


def is_right_over(outputs, q, k, v):
    """The same over cached heads, [tokens, KV_HEADS, DIM], as they were read back: of a rotated query."""
    return all(_close(outputs[h], _attention(q[h].astype(float), k[:, h * KV_HEADS // HEADS], v[:, h * KV_HEADS // HEADS], DIM ** -0.5))
               for h in range(HEADS))


def is_right_of_mla(outputs, query, scale):
    """The same of MLA, [MLA_HEADS, MLA_LATENT], of a query that sees all tokens up to its own."""
    keys = [_rotated(keys_of(t, 1, 1, MLA_DIM)[0, 0], t, MLA_LATENT, MLA_ROPE, 2, 1) for t in range(query + 1)]
    values = [k[:MLA_LATENT] for k in keys]
    return all(_close(outputs[h], _attention(_rotated(q, query, MLA_LATENT, MLA_ROPE, 2, 1), keys, values, scale))
               for h, q in enumerate(queries_of(query, 1, MLA_HEADS, MLA_DIM)[0]))
