"""Every call of posenc.py once, as mypy --strict and pyright take it: python3 every_call.py config.json [ask]"""

from __future__ import annotations

import sys

import numpy
from numpy.typing import NDArray

import posenc

Floats = NDArray[numpy.float32]


def of_config(config: str, heads: int = 4) -> Floats:
    """A layer of a model on plain arrays: [tokens, heads, head_dim]."""
    f = posenc.frequencies(config, layer=0)
    if f is None:
        raise posenc.Error("posenc: every_call: layer 0 must rotate")
    q: Floats = numpy.ones((3, heads, f.head_dim), numpy.float32)
    positions = [0, 7, 1_000_000]
    k: Floats = posenc.rope(q, positions, config, layer=0)
    same = posenc.rotate(q.copy(), f.rows(positions), layout=f.layout, first_dim=f.first_dim)
    assert (k == same).all()
    outputs = posenc.attention(q, q, q, encoding=config, layer=0, query_positions=positions, key_positions=positions)
    steps, weights = posenc.attend(k, k, q, query_positions=positions, key_positions=positions, behind=f.window, ahead=f.ahead,
                                   chunk=f.chunk, cap=f.cap, factor=f.softmax_factor, temperature=f.temperature, weights=True)
    assert (outputs == steps).all() and weights.shape == (heads, 3, 3)
    attended, sums = posenc.attention(q, q, q, encoding=f, causal=True, log_sum_exp=True)
    d_q, d_k, d_v = posenc.attention_backward(q, q, q, attended, sums, outputs, encoding=f, causal=True, threads=2)
    assert d_q.shape == d_k.shape == d_v.shape == q.shape
    return outputs


def of_caches() -> Floats:
    """A step of an engine: queries in place, keys and values into caches of 8 bits, in a ring of 4 tokens."""
    plain = posenc.frequencies(rotary_dim=64, base=10000)
    f = posenc.frequencies(rule="yarn", of=plain, factor=4, original_length=4096)
    q, k, v = (numpy.ones((2, heads, 64), numpy.float32) for heads in (4, 2, 2))
    keys, values = (posenc.Cache("q8_0", pages=2, page_tokens=2, heads=2, head_dim=64) for _ in range(2))
    slots = posenc.ring_slots(3, 2, 4)
    posenc.write_step(f.rows([3, 4]), queries=posenc.StepHeads(q, hadamard=64), keys=posenc.StepHeads(k, cache=keys, slots=slots, hadamard=64),
                      values=posenc.StepHeads(v, cache=values, slots=slots))
    bias = posenc.KeyBias(plain, numpy.zeros((2, 64)), heads=4, hadamard=64)
    mask = posenc.Cells(numpy.ones((2, 2), bool))
    outputs = posenc.attend(q, keys, values, slots=slots, mask=mask, key_bias=bias, slopes=posenc.alibi_slopes(4), causal=True)
    assert posenc.page_bounds(keys, 2, slots).shape == (1, 2, 2, 64)
    assert keys.memory.shape == (2, 2 * 2 * sum(posenc.format_bytes("q8_0", 64)))
    posenc.hadamard(q, 64)
    numpy.testing.assert_allclose(posenc.read_cache(values, slots), v, 0, 0.01)
    return outputs


def main(arguments: list[str]) -> None:
    print(posenc.__version__ == posenc.version(), posenc.instruction_set() != "", posenc.has_dot_products() in (True, False), of_config(arguments[0]).shape, of_caches().shape)
    three: posenc.Frequencies = posenc.frequencies(inv_freq=[1.0, 0.5, 0.25]).on_axes("contiguous", [1, 1, 1])
    scores: NDArray[numpy.float64] = posenc.profile(three, [0, 1, 2])
    mixed, x = posenc.MixedFrequencies(numpy.ones((2, 2, 4))), numpy.ones((3, 2, 8), numpy.float32)
    assert (posenc.rope(x, [[0, 1, 2], [5, 6, 7]], mixed) == posenc.rotate(x.copy(), mixed.rows([[0, 1, 2], [5, 6, 7]]))).all()
    print(three.axes, scores.round(3), len(arguments) < 2 or posenc.ask("inspect", arguments[0])["layers"])


if __name__ == "__main__":
    main(sys.argv[1:])
