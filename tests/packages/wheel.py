"""posenc as it is installed in the folder argv[1]: rotates, attends, and reads the model argv[2]."""

import pathlib
import re
import sys

import numpy
import posenc

folder = pathlib.Path(posenc.__file__).resolve().parent
assert pathlib.Path(sys.argv[1]).resolve() in folder.parents, posenc.__file__
assert {"__init__.pyi", "py.typed", "torch_rope.py"} <= {path.name for path in folder.iterdir()}, folder
random = numpy.random.default_rng(1)

# Llama 3's rule, as its paper's code has it.
f = posenc.frequencies(sys.argv[2], layer=0)
plain = 500000.0 ** -(numpy.arange(64) / 64)
turns = 8192 * plain / (2 * numpy.pi)
kept = numpy.clip((turns - 1) / (4 - 1), 0, 1)
assert numpy.allclose(f.inv_freq, plain * ((1 - kept) / 8 + kept), rtol=1e-12, atol=0)

x = random.standard_normal((3, 2, 128), numpy.float32)
positions = numpy.array([0, 7, 131071])
angles = positions[:, None] * f.inv_freq
rotated = (x[..., :64] + 1j * x[..., 64:]) * numpy.exp(1j * angles)[:, None]
y = x.copy()
posenc.rotate(y, f.rows(positions))
error = numpy.abs(y - numpy.concatenate([rotated.real, rotated.imag], -1)).max()
assert error < 1e-6, error  # three roundings of float, of numbers below 6

q, k, v = (random.standard_normal((5, heads, 64), numpy.float32) for heads in (4, 2, 2))
scores = numpy.einsum("qhd,khd->hqk", q, k.repeat(2, 1), dtype=float) / 8
scores[:, numpy.triu(numpy.ones((5, 5), bool), 1)] = -numpy.inf
weights = numpy.exp(scores - scores.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
out = posenc.attend(q[None], k[None], v[None], causal=True)[0]
error = numpy.abs(out - numpy.einsum("hqk,khd->qhd", weights, v.repeat(2, 1))).max()
assert error < 4e-6, error  # sums of 64 products in float, of numbers below 6

# The program, where the wheel has it, answers with numbers.
if (folder / "posenc-program").exists():
    rotary = posenc.ask("inspect", "llama-2-7b")["kinds"][0]["rotary"][0]
    assert numpy.allclose(rotary["inv_freq"], 10000.0 ** -(numpy.arange(64) / 64), rtol=1e-12, atol=0)
    bound, far = rotary["context_bound"]["context"], numpy.arange(2000)
    assert bound == numpy.argmax(numpy.cos(far[:, None] * rotary["inv_freq"]).sum(1) < 0), bound
    page = (pathlib.Path(sys.argv[2]).resolve().parents[1] / "README.md").read_text()
    program, = re.findall(r"```python\n(import posenc, numpy\n.*?)```", page, re.DOTALL)
    exec(program.replace("config.json", sys.argv[2]), made := {})
    curves, heads = made["curves"], posenc.ask("heads", q=made["q"], k=made["k"])
    plain = (numpy.array(curves["encoding"]) == "ALiBi") & (numpy.array(curves["softmax"]) == "plain")
    slopes = numpy.diff(curves["logit_mean"][plain]) / numpy.diff(curves["distance"][plain])
    assert numpy.allclose(slopes, -posenc.alibi_slopes(8).mean(), rtol=1e-6, atol=0), slopes  # digits of the CSV
    assert heads["head"].tolist() == [0, 1, 2, 3] and set(heads) == {"head", "positional", "symbolic"}, heads
