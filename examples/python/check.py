"""Compares posenc.py with formulas in NumPy's double, and its errors with their sentences."""

import _thread
import ast
import contextlib
import copy
import ctypes
import importlib.util
import inspect
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings
import weakref

import numpy

import curve
import every_call
import model
import posenc

try:
    import torch
    import torch_rope
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "examples" / "models"
TRAINED = ROOT.parent / "shared" / "models"  # beside the checkout, where there are some
DRAWS = importlib.util.find_spec("matplotlib") is not None
POSITIONS = [0, 1, 7, 4096, 1_000_000, -3]
# inv_freq is rounded to double, the rows are not made of the rounded ones.
ANGLE = 1_000_000 * 2.0**-53


def angles(inv_freq, positions):
    return numpy.asarray(positions, dtype=numpy.longdouble)[:, None] * inv_freq


def rotated(x, inv_freq, positions, layout, first_dim):
    x, pairs = x.astype(numpy.float64), len(inv_freq)
    c = numpy.cos(angles(inv_freq, positions)).astype(numpy.float64)[:, None]
    s = numpy.sin(angles(inv_freq, positions)).astype(numpy.float64)[:, None]
    block = slice(first_dim, first_dim + 2 * pairs)
    step = {"halves": (slice(0, pairs), slice(pairs, None)),
            "interleaved": (slice(0, None, 2), slice(1, None, 2))}[layout]
    result = x.copy()
    a, b = (x[..., block][..., part] for part in step)
    result[..., block][..., step[0]] = a * c - b * s
    result[..., block][..., step[1]] = a * s + b * c
    return result


class Header(unittest.TestCase):
    """What posenc.py says of C once more is what posenc.h says."""

    def setUp(self):
        text = (ROOT / "include" / "posenc" / "posenc.h").read_text()
        self.text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)

    def test_has_these_structs(self):
        c = {"size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t, "double": ctypes.c_double, "int": ctypes.c_int,
             "unsigned": ctypes.c_int}
        enums = re.findall(r"typedef enum (\w+)", self.text)
        structs = re.findall(r"typedef struct (posenc1_(\w+)) \{(.*?)\} \1;", self.text, re.DOTALL)
        self.assertEqual(len(structs), 12)
        for name, short, fields in structs:
            made = getattr(posenc, "_" + short.capitalize())
            declared = []
            for line in filter(None, map(str.strip, fields.split(";"))):
                pointer = re.fullmatch(r".*\(\*(\w+)\)\(.*\)|.*\*\s*(\w+)", line)
                type, of = (None, pointer[1] or pointer[2]) if pointer else line.split()
                declared.append((of, ctypes.c_void_p if pointer else ctypes.c_int if type in enums else c.get(type) or getattr(
                    posenc, "_" + type.removeprefix("posenc1_").capitalize())))
            with self.subTest(name):
                self.assertEqual([of for of, _ in declared], [of.rstrip("_") for of, _ in made._fields_])
                for (of, wanted), (_, found) in zip(declared, made._fields_):
                    if wanted is not ctypes.c_void_p:
                        self.assertIs(found, wanted, of)
                    self.assertEqual(ctypes.sizeof(found), ctypes.sizeof(wanted), of)
            c[name] = made

    def test_has_these_numbers(self):
        said = {name: int(number) for name, number in re.findall(r"\bPOSENC1_(\w+) = (\d+)", self.text)}
        cells = {"b": "BOOL", "bits": "BIT", "f4": "F32", "f8": "F64", "f2": "F16", "bf16": "BF16"}
        for prefix, numbers in (("", posenc._FORMATS), ("", posenc._TYPES), ("", posenc._LAYOUTS), ("", posenc._NORMS), ("EPS_", posenc._EPS_PLACES),
                                ("ROUND_", posenc._ROUNDINGS), ("AXES_", posenc._AXES), ("", posenc._TEMPERATURES),
                                ("CELL_", {cells[name]: number for name, number in posenc._CELLS.items()}),
                                ("", {name: i for i, name in enumerate(posenc._BOTH_WAYS)}), ("", {"unrotated": posenc._UNROTATED})):
            for name, number in numbers.items():
                if name is not None:
                    self.assertEqual(said[prefix + name.upper()], number, name)


class Version(unittest.TestCase):
    def test_is_that_of_the_library(self):
        self.assertEqual(posenc.__version__, posenc.version())


class Frequencies(unittest.TestCase):
    def test_of_a_rule(self):
        f = posenc.frequencies(rotary_dim=128, base=500000)
        numpy.testing.assert_allclose(f.inv_freq, 500000.0 ** (-numpy.arange(64) / 64), rtol=1e-15)
        self.assertEqual(f.attention_factor, 1)
        half = posenc.frequencies(rule="truncated", of=f, p=0.5)
        self.assertEqual(numpy.count_nonzero(half.inv_freq), 32)
        yarn = posenc.frequencies(rule="yarn", rotary_dim=64, base=150000, factor=32, original_length=4096)
        self.assertAlmostEqual(yarn.attention_factor, 0.1 * numpy.log(32) + 1, places=14)
        divided = posenc.frequencies(rule="divided_by_factors", of=posenc.frequencies(rotary_dim=4, base=100),
                                     factors=[2, 4])
        numpy.testing.assert_allclose(divided.inv_freq, [0.5, 0.025], rtol=1e-15)
        dims = {"rotary_dim": 4, "base": 100}
        given = posenc.frequencies(rule="yarn", **dims, factor=4, original_length=4096, attention_factor=5)
        self.assertEqual(given.attention_factor, 5)
        for length, expected in ((100, [1, 0.1]), (101, [0.5, 0.05])):
            longrope = posenc.frequencies(rule="longrope", **dims, short_factor=[1, 1], long_factor=[2, 2],
                                          original_length=100, length=length)
            numpy.testing.assert_allclose(longrope.inv_freq, expected, rtol=1e-15)

    def test_has_the_rules_and_parameters_that_the_header_lists(self):
        header = (ROOT / "include" / "posenc" / "posenc.h").read_text()
        listed = header.split("[] marks parameters that may be left out.\n")[1].split(" *\n * Frequencies of axial")[0]
        of_help = inspect.getdoc(posenc.frequencies).split("sources.\n\n")[1]
        self.assertEqual(textwrap.dedent(of_help), re.sub("^ \\*( {3})?", "", listed, flags=re.MULTILINE).strip("\n"))
        listed = re.sub(r" \([^)]*\)| {4,}the same by its other name$", "", listed, flags=re.MULTILINE)
        rules = re.findall(r"^ \*   (\w+) *(.*(?:\n \* {10,}.*)*)$", listed, re.MULTILINE)
        self.assertGreaterEqual(len(rules), 20)
        with self.assertRaisesRegex(posenc.Error, f"must be one of {', '.join(name for name, _ in rules)}, got none$"):
            posenc.frequencies(rule="none")
        of, changes = posenc.frequencies(rotary_dim=8, base=100), True
        for name, parameters in rules:
            changes = changes and name != "geometric"  # the first that begins
            parameters = re.sub(r"[\s*]+", " ", parameters)
            for given, before in ((of, ""), (None, "rotary_dim base ")) if changes else ((None, ""),):
                with self.subTest(name), self.assertRaises(posenc.Error) as caught:
                    posenc.frequencies(rule=name, of=given, nonsense=1)
                only = before + parameters or "frequencies"
                self.assertEqual(str(caught.exception), f"posenc: {name}: must have no parameter nonsense, only {only.strip()}")

    def test_of_a_model(self):
        f = posenc.frequencies(MODELS / "llama-3.1-8b.json", layer=5)
        self.assertEqual((len(f.inv_freq), f.layout, f.head_dim, f.window, f.ahead),
                         (64, "halves", 128, None, 1))
        self.assertEqual((f.chunk, f.cap, f.sinks, f.both_ways), (None, 0, False, None))
        self.assertIs(f.key_bias_is_separable, False)
        self.assertIs(posenc.frequencies(MODELS / "qwen2.5-7b.json").key_bias_is_separable, True)
        self.assertIsNone(posenc.frequencies(MODELS / "mimo-v2-flash.json").key_bias_is_separable)
        self.assertAlmostEqual(f.inv_freq[-1], 500000.0 ** (-63 / 64) / 8, places=20)
        sliding = posenc.frequencies(MODELS / "gemma-3-27b.json", layer=0)
        self.assertEqual((sliding.window, sliding.ahead, sliding.both_ways), (1024, 1, "image_within_window"))
        self.assertIsNone(posenc.frequencies(MODELS / "command-r7b.json", layer=3))

    def test_given(self):
        f = posenc.frequencies(inv_freq=[1, 0.25], attention_factor=2)
        self.assertEqual((f.inv_freq.tolist(), f.attention_factor), ([1, 0.25], 2))
        with self.assertRaises(ValueError):
            f.inv_freq[0] = 2

    def test_are_copied_as_one(self):
        f = posenc.frequencies(rotary_dim=8, base=100)
        expected = f.rows([3])
        for copied in (copy.copy(f), copy.deepcopy([f])[0]):
            del copied
        self.assertTrue((f.rows([3]) == expected).all())
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(f)


class Rows(unittest.TestCase):
    def test_are_cosines_and_sines(self):
        f = posenc.frequencies(rotary_dim=128, base=500000)
        for dtype, bound in ((numpy.float32, 3.1e-8), (numpy.float64, 1.1 * ANGLE)):
            for table_range in (0, 1 << 20):
                rows = f.rows(POSITIONS, dtype, table_range)
                self.assertEqual((rows.shape, rows.dtype), ((6, 2, 64), dtype))
                numpy.testing.assert_allclose(rows[:, 0], numpy.cos(angles(f.inv_freq, POSITIONS)), 0, bound)
                numpy.testing.assert_allclose(rows[:, 1], numpy.sin(angles(f.inv_freq, POSITIONS)), 0, bound)
        self.assertEqual(f.rows([]).shape, (0, 2, 64))
        self.assertTrue((f.rows(numpy.uint8([3])) == f.rows([3])).all())

    def test_of_fractional_positions(self):
        f, at = posenc.frequencies(rotary_dim=128, base=500000), [0.5, -2.25, 7, 100000 / 24, 2.0**40 + 0.5]
        rows = f.rows(at, numpy.float64)
        angle = angles(f.inv_freq, at)
        numpy.testing.assert_allclose(rows[:4, 0], numpy.cos(angle)[:4], 0, 1.1 * ANGLE)
        numpy.testing.assert_allclose(rows[:4, 1], numpy.sin(angle)[:4], 0, 1.1 * ANGLE)
        self.assertTrue((f.rows(numpy.float32([3, 7])) == f.rows([3, 7])).all())
        self.assertTrue((f.rows([3.0, 7.5], table_range=8) == f.rows([3, 7.5])).all())

    def test_on_several_axes(self):
        f, sections = posenc.frequencies(rotary_dim=128, base=1e6), [16, 24, 24]
        at = numpy.array([[5, 7, 100000], [5, 9, 3], [5, 8, 4]])  # [axes, tokens]
        turns = numpy.arange(64)
        for kind, numbers, axis in (("contiguous", sections, numpy.repeat([0, 1, 2], sections)),
                                    ("interleaved", [24, 20, 20], numpy.where(turns < 60, turns % 3, 0)),
                                    ("by_pair", turns % 3, turns % 3),
                                    ("ggml", [16, 24, 24, 0], numpy.repeat([0, 1, 2], sections)),
                                    ("ggml_interleaved", [24, 20, 20, 0], None)):
            of = f.on_axes(kind, numbers)
            axis = of.axis_of_pair if axis is None else axis
            numpy.testing.assert_array_equal(of.axis_of_pair, axis)
            where = numpy.concatenate([at, at[:1] + 1])[:of.axes]
            bound = 3e-16 + 100000 * 2.0**-53
            for given in (where, where / 24):
                angle = numpy.array([angles([w], [p])[0, 0] for t in given.T for w, p in zip(f.inv_freq, t[axis.astype(int)])])
                rows = of.rows(given, numpy.float64)
                numpy.testing.assert_allclose(rows[:, 0].ravel(), numpy.cos(angle), 0, bound)
                numpy.testing.assert_allclose(rows[:, 1].ravel(), numpy.sin(angle), 0, bound)
            self.assertTrue((of.rows([3, 9]) == f.rows([3, 9])).all())  # text
            self.assertTrue((posenc.profile(of, [3, 9]) == posenc.profile(f, [3, 9])).all())
        self.assertEqual((f.axes, f.axis_of_pair), (1, None))

    def test_on_axes_of_their_own_series(self):
        bases = [1e4, 2e4, 3e4]  # Cosmos: a base per axis, and times in seconds
        f = posenc.frequencies(rule="axial", dims=[44, 42, 42], base=bases)
        series = [base ** (-2 * numpy.arange(d // 2) / d) for d, base in zip((44, 42, 42), bases)]
        numpy.testing.assert_allclose(f.inv_freq, numpy.concatenate(series), 1e-15)
        self.assertEqual(f.axis_of_pair.tolist(), [0] * 22 + [1] * 21 + [2] * 21)
        rows = f.rows([[0.5], [3], [4]], numpy.float64)[0, 0]
        numpy.testing.assert_allclose(rows[[1, 23, 44]], numpy.cos([0.5 * series[0][1], 3 * series[1][1], 4 * series[2][1]]), 0, 3e-16)

    def test_of_a_model_on_axes(self):
        f = posenc.frequencies(MODELS / "qwen2-vl-7b.json")
        self.assertEqual((f.axes, f.axis_of_pair.tolist()), (3, [0] * 16 + [1] * 24 + [2] * 24))
        changed = posenc.frequencies(rule="linear", of=f, factor=2)
        self.assertEqual((changed.axes, changed.inv_freq[0]), (3, 0.5))


class MixedFrequencies(unittest.TestCase):
    """Of each head, on all axes at once."""

    def setUp(self):
        random = numpy.random.default_rng(7)
        self.f = posenc.MixedFrequencies(random.standard_normal((2, 3, 8)), 1.25)
        self.at = random.integers(-50, 50, (3, 7))
        self.q, self.k, self.v = (random.standard_normal((7, heads, 20)).astype(numpy.float32) for heads in (4, 2, 2))

    def turned(self, x, layout, at=None):
        angle = numpy.einsum("at,hai->thi", self.at if at is None else at, self.f.inv_freq).repeat(x.shape[1] // 2, axis=1)
        step = {"halves": (slice(0, 8), slice(8, 16)), "interleaved": (slice(0, 16, 2), slice(1, 16, 2))}[layout]
        result, (a, b) = x.astype(float), (x[..., part].astype(float) for part in step)
        result[..., step[0]] = 1.25 * (a * numpy.cos(angle) - b * numpy.sin(angle))
        result[..., step[1]] = 1.25 * (a * numpy.sin(angle) + b * numpy.cos(angle))
        return result

    def test_rotate_and_attend(self):
        f, at, q, k, v = self.f, self.at, self.q, self.k, self.v
        self.assertEqual((f.heads, f.axes, f.inv_freq.shape, f.attention_factor, f.rows(at).shape), (2, 3, (2, 3, 8), 1.25, (2, 7, 2, 8)))
        for layout in ("halves", "interleaved"):
            for x in (q, k):
                numpy.testing.assert_allclose(posenc.rope(x, at, f, layout=layout), self.turned(x, layout), 0, 2e-6)
            numpy.testing.assert_allclose(posenc.rope(q, at / 24, f, layout=layout), self.turned(q, layout, at / 24), 0, 2e-6)
            found = posenc.attention(q, k, v, encoding=f, query_positions=at, key_positions=at, layout=layout, causal=True)
            wanted = posenc.attend(self.turned(q, layout), self.turned(k, layout), v.astype(float), causal=True)
            numpy.testing.assert_allclose(found, wanted, 0, 5e-6)
        doubles = posenc.rope(q.astype(float), at, f)
        numpy.testing.assert_allclose(doubles, self.turned(q, "halves"), 0, 1e-13)
        both = posenc.rope(numpy.stack([q, q]), numpy.stack([at, at + 1], axis=1), f)
        self.assertTrue((both == numpy.stack([posenc.rope(q, at, f), posenc.rope(q, at + 1, f)])).all())
        self.assertTrue((posenc.rotate(numpy.stack([q, q]), f.rows(at)) == both[0]).all())
        self.assertTrue((f.rows(at[0]) == f.rows([at[0]] * 3)).all())
        cache, slots = posenc.Cache("q8_0", pages=2, page_tokens=4, heads=2, head_dim=32), numpy.arange(7)
        wide = numpy.concatenate([k, k[..., :12]], axis=-1)
        posenc.write_step(f.rows(at), keys=posenc.StepHeads(wide, cache=cache, slots=slots))
        numpy.testing.assert_allclose(posenc.read_cache(cache, slots), posenc.rope(wide, at, f), 0, 0.03)
        one = posenc.MixedFrequencies(numpy.ones((1, 1, 3)))
        self.assertTrue((one.rows([5, 7])[0] == posenc.frequencies(inv_freq=[1, 1, 1]).rows([5, 7])).all())
        self.assertTrue((copy.deepcopy(f).rows(at) == f.rows(at)).all())

    @unittest.skipUnless(torch, "PyTorch (Debian: python3-torch) is not installed")
    def test_have_the_gradient_of_rope(self):
        x, seed = torch.from_numpy(self.q).requires_grad_(), torch.from_numpy(self.q[::-1].copy())
        (posenc.rope(x, self.at, self.f) * seed).sum().backward()
        numpy.testing.assert_allclose(x.grad, posenc.rope(seed, -self.at, self.f), 0, 2e-6)

    def test_have_the_gradient_of_attention(self):
        q, k, v, like = (x.astype(float) for x in (self.q, self.k, self.v, self.q))
        how = {"encoding": self.f, "query_positions": self.at, "key_positions": self.at, "causal": True}
        outputs, sums = posenc.attention(q, k, v, log_sum_exp=True, **how)
        found = posenc.attention_backward(q, k, v, outputs, sums, like, **how)
        for x, gradient in zip((q, k, v), found):
            x[3, 1, 5] += 1e-5
            more = posenc.attention(q, k, v, **how)
            x[3, 1, 5] -= 2e-5
            less = posenc.attention(q, k, v, **how)
            x[3, 1, 5] += 1e-5
            self.assertAlmostEqual(gradient[3, 1, 5], ((more - less) * like).sum() / 2e-5, places=7)

    def test_are_refused_where_they_are_wrong(self):
        f, at, q = self.f, self.at, self.q
        before = q.copy()
        for said, call in {
                "MixedFrequencies: inv_freq must be [heads, axes, pairs] of real numbers, got float64 [3]": lambda: posenc.MixedFrequencies([1.0, 2, 3]),
                "MixedFrequencies: inv_freq must be [heads, axes, pairs] of real numbers, got float64 [0]": lambda: posenc.MixedFrequencies(None),
                "mixed_row_maker: there must be a head and an axis at least, got 0 heads and 2 axes":
                    lambda: posenc.MixedFrequencies(numpy.ones((0, 2, 4))),
                "mixed_row_maker: inv_freq must be in [-2^64, 2^64] radians per position, got NaN at pair 1 of head 0 on axis 0":
                    lambda: posenc.MixedFrequencies([[[1, numpy.nan]]]),
                "mixed_row_maker: attention_factor must be finite and positive, got 0": lambda: posenc.MixedFrequencies([[[1]]], 0),
                "rows: positions must be integers or floats, [3 axes, tokens] or [tokens], got int64 [2, 7]": lambda: f.rows(at[:2]),
                "rotate: array: heads must be a multiple of the heads of rows, got 3 heads and rows of 2":
                    lambda: posenc.rotate(q[:, :3], f.rows(at)),
                "rope: x: heads must be a multiple of the heads of rows, got 3 heads and rows of 2": lambda: posenc.rope(q[:, :3], at, f),
                "rotate: rows must be of a head at least, got 0": lambda: posenc.rotate(q, f.rows(at)[:0]),
                "rotate: there must be one row for each of 7 tokens, or of 1 times as many, got 0": lambda: posenc.rotate(q, f.rows(at)[:, :0]),
                "rotate: rows must be float32 [tokens, 2, pairs], or [heads, tokens, 2, pairs], got float32 [2, 7, 1, 8]":
                    lambda: posenc.rotate(q, f.rows(at)[:, :, :1]),
                "rotate: rows must be float32 [tokens, 2, pairs], or [heads, tokens, 2, pairs], got float32 [1, 2, 7, 2, 8]":
                    lambda: posenc.rotate(q, f.rows(at)[None]),
                "KeyBias: frequencies must be of type Frequencies, got posenc.MixedFrequencies": lambda: posenc.KeyBias(f, numpy.zeros((2, 20)), 4)}.items():
            with self.subTest(said):
                with self.assertRaises(posenc.Error) as caught:
                    call()
                self.assertEqual(str(caught.exception), "posenc: " + said)
        self.assertTrue((q == before).all())
        with self.assertRaisesRegex(ValueError, "read-only"):
            f.inv_freq[0] = 2

    def test_have_the_heads_of_two_go_nets(self):
        for net, heads in (("learned", 3), ("axial", 1)):
            file = TRAINED / "katago" / f"katago-{net}-heads.safetensors"
            if not file.exists():
                self.skipTest(f"{file} is not there")
            data = file.read_bytes()
            end = 8 + int.from_bytes(data[:8], "little")
            types = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}
            of = {name: numpy.frombuffer(data[end:][slice(*x["data_offsets"])], types[x["dtype"]]).reshape(x["shape"])
                  for name, x in json.loads(data[8:end]).items() if name != "__metadata__"}
            at, asked = of["positions"].T, of["queries"]
            for layer in sorted({name.rsplit(".", 1)[0] for name in of if name.startswith("layers.")}):
                if net == "learned":
                    inv_freq = of[layer + ".frequencies"].swapaxes(1, 2)  # [kv heads, x and y, pairs]
                else:  # pairs 0 to 7 rotate by y, the others by x
                    series = 100 ** (-numpy.arange(8) / 8)
                    inv_freq = numpy.array([[[*0 * series, *series], [*series, *0 * series]]])
                f = posenc.MixedFrequencies(inv_freq)
                q, k, v = (of[f"{layer}.{name}"] for name in "qkv")
                self.assertEqual(f.heads, heads)
                found = posenc.attention(q, k, v, encoding=f, layout="interleaved", query_positions=at[:, asked], key_positions=at)
                numpy.testing.assert_allclose(found, of[layer + ".outputs"], 0, 2e-6 * abs(v).max())


class Rotate(unittest.TestCase):
    def test_any_type_layout_and_strides(self):
        random = numpy.random.default_rng(1)
        f = posenc.frequencies(rotary_dim=24, base=10000)
        for dtype, bound in ((numpy.float16, 2e-3), (numpy.float32, 1e-6), (numpy.float64, 6 * ANGLE)):
            rows = f.rows(POSITIONS, numpy.float64 if dtype == numpy.float64 else numpy.float32)
            for layout in ("halves", "interleaved"):
                for first_dim in (0, 3, -24):
                    whole = random.standard_normal((2, 5, 6, 40)).astype(dtype)
                    x = whole.transpose(0, 2, 1, 3)[:, ::-1, 1:]  # batches, tokens backwards, 4 heads
                    expected = rotated(x, f.inv_freq, POSITIONS, layout, first_dim % 40)
                    before = whole.copy()
                    out = numpy.empty(x.shape, dtype)
                    self.assertIs(posenc.rotate(x, rows, layout=layout, first_dim=first_dim, out=out), out)
                    numpy.testing.assert_allclose(out, expected, 0, bound)
                    self.assertTrue((whole == before).all())
                    self.assertIs(posenc.rotate(x, rows, layout=layout, first_dim=first_dim), x)
                    self.assertTrue((x == out).all())
                    self.assertTrue((whole[:, 0] == before[:, 0]).all())

    def test_bfloat16(self):
        f = posenc.frequencies(rotary_dim=8, base=100)
        x = numpy.random.default_rng(2).standard_normal((6, 2, 8)).astype(numpy.float32)
        words = (x.view(numpy.uint32) >> 16).astype(numpy.uint16)
        cut = (words.astype(numpy.uint32) << 16).view(numpy.float32)
        posenc.rotate(words, f.rows(POSITIONS), type="bf16")
        found = (words.astype(numpy.uint32) << 16).view(numpy.float32)
        numpy.testing.assert_allclose(found, rotated(cut, f.inv_freq, POSITIONS, "halves", 0), 2**-8, 2**-9)

    def test_nothing(self):
        rows = posenc.frequencies(rotary_dim=8, base=100).rows([1, 2])
        for shape in ((0, 1, 8), (2, 0, 8), (2, 1, 0), (0, 2, 1, 8)):
            x = numpy.empty(shape, numpy.float32)
            self.assertIs(posenc.rotate(x, rows), x)

    def test_norm_and_scale(self):
        f = posenc.frequencies(rotary_dim=8, base=100)
        x = numpy.random.default_rng(3).standard_normal((6, 2, 8)).astype(numpy.float32)
        weight = numpy.arange(1, 9)
        normed = x / numpy.sqrt((x.astype(numpy.float64) ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weight
        found = posenc.rotate(x, f.rows(POSITIONS), eps=1e-5, weight=weight, scale=0.5)
        numpy.testing.assert_allclose(found, 0.5 * rotated(normed, f.inv_freq, POSITIONS, "halves", 0), 1e-5, 1e-5)


class Caches(unittest.TestCase):
    def test_take_a_step_and_are_attended_to(self):
        random = numpy.random.default_rng(5)
        f = posenc.frequencies(rotary_dim=128, base=10000)
        rows, slots = f.rows(POSITIONS), numpy.array([7, -1, 0, 3, 11, 8])
        there = slots >= 0
        q, k, v = (random.standard_normal((6, heads, 128)).astype(numpy.float32) for heads in (4, 2, 2))
        k, v = k.clip(-2.5, 2.5), v.clip(-2.5, 2.5)  # as far as the scales of tensors reach
        weight = random.standard_normal(128)
        # Half a step of codes of at most 4: of E4M3 relative, of DeepSeek V4 E4M3 and bfloat16; a
        # whole one opposite the extreme of q4_0 and q5_0, and of int4 where 8 steps are stored as 7.
        bounds = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2, "u8_per_head": 0.02, "q8_0": 0.02, "q8_0_avx2": 0.02,
                  "int8_per_head": 0.02, "int8_per_head_truncated": 0.04, "int8_static": 0.02, "e4m3": 0.3,
                  "e4m3_truncated": 0.6, "deepseek_v4": 0.3, "deepseek_v4_cpu": 0.3, "q4_0": 0.51, "int4_per_head": 0.5,
                  "int4_static": 0.51, "q4_1": 0.3, "q5_0": 0.26, "q5_1": 0.15, "iq4_nl": 0.6}
        self.assertEqual(set(bounds), set(posenc._FORMATS))
        normed = q / numpy.sqrt((q.astype(numpy.float64) ** 2).mean(axis=-1, keepdims=True) + 1e-6) * weight
        for format, bound in bounds.items():
            with self.subTest(format):
                scale = (4 / 127 if format == "int8_static" else 0.5 if format == "int4_static"
                         else 4 / 448 if "e4m3" in format else 0)
                k_cache, v_cache = (posenc.Cache(format, 3, 4, 2, 128, scale=scale) for _ in range(2))
                in_place = q.copy()
                posenc.write_step(rows, queries=posenc.StepHeads(in_place, eps=1e-6, weight=weight),
                                  keys=posenc.StepHeads(k, cache=k_cache, slots=slots),
                                  values=posenc.StepHeads(v, cache=v_cache, slots=slots))
                numpy.testing.assert_allclose(in_place, rotated(normed, f.inv_freq, POSITIONS, "halves", 0), 0, 2e-5)
                keys, values = posenc.read_cache(k_cache, slots), posenc.read_cache(v_cache, slots)
                self.assertTrue((keys[~there] == 0).all())
                expected = rotated(k, f.inv_freq, POSITIONS, "halves", 0)
                numpy.testing.assert_allclose(keys[there], expected[there], 0, bound)
                numpy.testing.assert_allclose(values[there], v[there], 0, bound)
                sinks = [0.5, -1, 2, 0]
                scores = numpy.einsum("hd,thd->ht", in_place[5], keys[there].repeat(2, axis=1).astype(numpy.float64))
                weights = numpy.exp(scores / numpy.sqrt(128))
                weights /= weights.sum(axis=1, keepdims=True) + numpy.exp(sinks)[:, None]
                wanted = numpy.einsum("ht,thd->hd", weights, values[there].repeat(2, axis=1))
                found = posenc.attend(in_place[5], k_cache, v_cache, slots=slots, sinks=sinks)
                numpy.testing.assert_allclose(found, wanted, 0, 1e-5)
                mixed = posenc.attend(in_place[5], k_cache, values[there], slots=slots[there], sinks=sinks)
                numpy.testing.assert_allclose(mixed, wanted, 0, 1e-5)

    def test_move_and_are_dense_without_slots(self):
        f = posenc.frequencies(rotary_dim=64, base=10000)
        cache = posenc.Cache("f32", 2, 3, 1, 64)
        x = numpy.random.default_rng(6).standard_normal((6, 1, 64)).astype(numpy.float32)
        posenc.write_step(values=posenc.StepHeads(x, cache=cache))
        self.assertTrue((cache.memory.view(numpy.float32).reshape(x.shape) == x).all())
        posenc.write_step(f.rows([3] * 6), keys=posenc.StepHeads(cache))
        numpy.testing.assert_allclose(posenc.read_cache(cache), rotated(x, f.inv_freq, [3] * 6, "halves", 0), 0, 1e-6)
        out = numpy.empty((6, 1, 64), numpy.uint16)
        posenc.write_step(values=posenc.StepHeads(cache, out=out, type="bf16"))
        self.assertTrue((out == posenc.read_cache(cache).view(numpy.uint32) + 0x8000 >> 16).mean() > 0.99)
        self.assertEqual(posenc.format_bytes("q8_0", 128), (136, 0))
        self.assertEqual(posenc.format_bytes("deepseek_v4", 512), (576, 8))
        self.assertEqual(posenc.format_bytes("q4_0", 128), (72, 0))
        self.assertEqual(posenc.format_bytes("q5_1", 128), (96, 0))
        self.assertEqual(posenc.format_bytes("int4_per_head", 128), (64, 4))
        self.assertEqual(posenc.format_bytes("int4_static", 128), (64, 0))

    def test_keep_the_last_tokens_in_a_ring(self):
        ring, tokens = [None] * 5, 0
        for step in (1, 3, 5, 2, 4):
            for slot in posenc.ring_slots(tokens, step, 5):
                ring[slot] = tokens = tokens + 1
        kept = posenc.ring_slots(tokens - 5, 5, 5)
        self.assertEqual([ring[slot] for slot in kept], list(range(tokens - 4, tokens + 1)))
        self.assertEqual((kept.dtype, posenc.ring_slots(3, 0, 5).shape), (numpy.int64, (0,)))
        for sentence, wrong in {
            "ring_slots: count must be at most the capacity 4, got 5$": lambda: posenc.ring_slots(0, 5, 4),
            "ring_slots: capacity must be positive and below 2.63, got 0$": lambda: posenc.ring_slots(0, 0, 0),
            "ring_slots: first must be an integer in .0, 2.63., got -1$": lambda: posenc.ring_slots(-1, 1, 4),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()

    def test_have_bounds_by_page(self):
        x = numpy.random.default_rng(9).standard_normal((11, 2, 64))
        for dtype in numpy.float64, numpy.float32, numpy.float16:
            keys = x.astype(dtype)
            bounds = posenc.page_bounds(keys, 4)
            self.assertEqual((bounds.shape, bounds.dtype), ((3, 2, 2, 64), numpy.float64 if dtype == numpy.float64 else numpy.float32))
            for p, page in enumerate((keys[:4], keys[4:8], keys[8:])):
                numpy.testing.assert_array_equal(bounds[p, :, 0], page.min(axis=0))
                numpy.testing.assert_array_equal(bounds[p, :, 1], page.max(axis=0))
        cache, slots = posenc.Cache("q8_0", 4, 4, 2, 64), [9, 2, 15, -1, 4, 7]
        posenc.write_step(values=posenc.StepHeads(x[:6].astype(numpy.float32), cache=cache, slots=slots))
        kept = posenc.read_cache(cache, [9, 2, 15]), posenc.read_cache(cache, [4, 7])
        bounds = posenc.page_bounds(cache, 4, slots)
        for p, page in enumerate(kept):
            numpy.testing.assert_array_equal(bounds[p], numpy.stack([page.min(axis=0), page.max(axis=0)], axis=1))
        self.assertEqual(posenc.page_bounds(cache, 16).shape, (1, 2, 2, 64))
        for sentence, wrong in {
            "page_bounds: pages must have a token, got 0$": lambda: posenc.page_bounds(cache, 0),
            "page_bounds: keys must be of one sequence, got 2$": lambda: posenc.page_bounds(numpy.stack([x, x]), 4),
            "page_bounds: slots must not be given without a Cache": lambda: posenc.page_bounds(x, 4, [0]),
            "page_bounds: keys: a slot must be below 16": lambda: posenc.page_bounds(cache, 4, [16]),
            "page_bounds: page_tokens must be an integer": lambda: posenc.page_bounds(cache, 1.5),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()

    def test_are_transformed_and_move(self):
        x = numpy.random.default_rng(8).standard_normal((2, 6, 3, 96)).astype(numpy.float32)
        matrix = numpy.array([[(-1) ** (i & j).bit_count() for j in range(32)] for i in range(32)]) / 32 ** 0.5
        wanted = (x.reshape(2, 6, 3, 3, 32).astype(float) @ matrix).reshape(x.shape)
        padded = numpy.zeros((2, 6, 4, 96), numpy.float32)[:, :, :3]
        padded[:] = x
        self.assertIs(posenc.hadamard(padded), padded)
        numpy.testing.assert_allclose(padded, wanted, 0, 1e-6)
        numpy.testing.assert_allclose(posenc.hadamard(padded), x, 0, 2e-6)
        halves = posenc.hadamard(x.astype(numpy.float16), 32)
        numpy.testing.assert_allclose(halves, wanted, 0, 4e-3)
        f = posenc.frequencies(rotary_dim=64, base=10000)
        cache = posenc.Cache("f32", 2, 3, 3, 96)
        posenc.write_step(f.rows([7] * 6), keys=posenc.StepHeads(x[0], cache=cache, hadamard=32))
        posenc.write_step(f.rows([-7] * 6), keys=posenc.StepHeads(cache, from_hadamard=32, hadamard="largest"))
        numpy.testing.assert_allclose(posenc.read_cache(cache), wanted[0], 0, 3e-6)
        with self.assertRaisesRegex(posenc.Error, "power of two, at most 4096, that divides head_dim 96, got 64"):
            posenc.hadamard(x, 64)
        with self.assertRaisesRegex(posenc.Error, "keys: the block .* divides head_dim 96, got 3"):
            posenc.write_step(f.rows([7] * 6), keys=posenc.StepHeads(x[0], hadamard=3))

    def test_refuse_what_is_not_read(self):
        f = posenc.frequencies(rotary_dim=64, base=100)
        rows, x, cache = f.rows([0, 1]), numpy.zeros((2, 1, 64), numpy.float32), posenc.Cache("f32", 1, 2, 1, 64)
        for sentence, wrong in {
            "type must not be given without an array as source, or uint16 as out, got 'bf16'": lambda: posenc.StepHeads(cache, type="bf16"),
            "source_slots must not be given without a Cache": lambda: posenc.StepHeads(x, source_slots=[0, 1]),
            "slots must not be given without cache, got .0, 1.": lambda: posenc.StepHeads(x, slots=[0, 1]),
            "out_layout must not be given without out or cache": lambda: posenc.StepHeads(x, out_layout="halves"),
            "rows must not be given without queries or keys": lambda: posenc.write_step(rows, values=posenc.StepHeads(x)),
            "values: first_dim must be 0 for heads that do not rotate": lambda: posenc.write_step(values=posenc.StepHeads(x, first_dim=2)),
            **{f"keys: {sentence}": lambda given=given: posenc.write_step(rows, keys=posenc.StepHeads(x, **given))
               for sentence, given in (("eps of the norm must be given", {"norm": "l2"}),
                                       ("eps of .* must be given", {"after": True}),
                                       ("eps of .* where its weights, kind or places are", {"eps_place": "outside"}),
                                       ("weights of the norm must be given where plus_one is", {"eps": 1, "plus_one": True}))},
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()
        self.assertTrue((x == 0).all())

    def test_errors_change_nothing(self):
        f = posenc.frequencies(rotary_dim=64, base=10000)
        rows, x = f.rows([0, 1]), numpy.ones((2, 1, 64), numpy.float32)
        cache = posenc.Cache("q8_0", 2, 2, 1, 64)
        heads = posenc.StepHeads(x)
        fixed = posenc.Cache("q8_0", 2, 2, 1, 64)
        fixed.memory.flags.writeable = False
        for sentence, wrong in {
            "a slot must be below 4": lambda: self.write(rows, x, cache, [0, 4]),
            "written once": lambda: self.write(rows, x, cache, [1, 1]),
            "cache and slots must have": lambda: self.write(rows, x, cache, [1]),
            "slots must be integers": lambda: self.write(rows, x, cache, [0.5, 1]),
            "writeable": lambda: self.write(rows, x, fixed, [0, 1]),
            "multiple of 32, got 40": lambda: posenc.format_bytes("q8_0", 40),
            "format must be one of f32, .* got 'q4'": lambda: posenc.format_bytes("q4", 64),
            "memory must be a contiguous array of uint8 .2, 136.": lambda: posenc.Cache("q8_0", 2, 2, 1, 64, memory=x),
            "pages must be an integer in": lambda: posenc.Cache("q8_0", -1, 2, 1, 64),
            "scale must be 0 for this format": lambda: posenc.read_cache(posenc.Cache("q8_0", 1, 1, 1, 64, scale=2)),
            "one row for each of 2 tokens.* got 3": lambda: posenc.write_step(f.rows([1, 2, 3]), keys=heads),
            "queries, keys must have the same tokens, got 1 x 2 and 1 x 1": lambda: posenc.write_step(rows, queries=heads, keys=posenc.StepHeads(x[:1])),
            "rows must be float32": lambda: posenc.write_step(keys=heads),
            "keys must be of type StepHeads, got float32 .2, 1, 64.": lambda: posenc.write_step(rows, keys=x),
            "norm must be one of": lambda: posenc.StepHeads(x, norm="l3"),
            r"weight must be \[64\]": lambda: posenc.StepHeads(x, eps=1, weight=[1]),
            "eps of the norm must be finite": lambda: posenc.write_step(rows, keys=posenc.StepHeads(x, eps=-1)),
            "out must have the shape": lambda: posenc.StepHeads(x, out=x[:1]),
            "alike, keys with the 32 dims": lambda: posenc.attend(x[0][:, :32], cache, cache),
            "queries must be an array": lambda: posenc.attend(x[0, 0], cache, cache),
            "kv_heads must divide heads, got 2 kv heads for 1 heads": lambda: posenc.attend(x[0], posenc.Cache("f32", 1, 1, 2, 64), posenc.Cache("f32", 1, 1, 2, 64)),
            "doubles alone or not at all": lambda: posenc.attend(x[0].astype(numpy.float64), cache, cache),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()
        self.assertTrue((x == 1).all() and (cache.memory == 0).all())

    def write(self, rows, x, cache, slots):
        posenc.write_step(rows, keys=posenc.StepHeads(x, cache=cache, slots=slots))


class Attention(unittest.TestCase):  # tests/kernels/cases has the rest
    def setUp(self):
        made = numpy.random.default_rng(7).standard_normal
        self.q, self.k, self.v = (made(shape).astype(numpy.float32) for shape in ((2, 5, 4, 36), (2, 9, 2, 36), (2, 9, 2, 20)))

    def test_is_the_same_in_batches_and_alone_and_in_threads(self):
        outputs, sums, weights = posenc.attend(self.q, self.k, self.v, causal=True, log_sum_exp=True, weights=True, threads=3)
        for b in range(2):
            alone = posenc.attend(self.q[b], self.k[b], self.v[b], causal=True, log_sum_exp=True, weights=True)
            for whole, one in zip((outputs[b], sums[b], weights[b]), alone):
                self.assertTrue((whole == one).all())
        last = posenc.attend(self.q[1, 4], self.k[1], self.v[1], weights=True)
        self.assertEqual([x.shape for x in last], [(4, 20), (4, 9)])
        self.assertTrue((last[0] == outputs[1, 4]).all() and (last[1] == weights[1, :, 4]).all())

    def test_rounds_products_where_that_is_asked_for(self):
        q, k, v = numpy.random.default_rng(3).normal(size=(3, 80, 2, 64)).astype(numpy.float32)
        exact, rounded = (posenc.attend(q, k, v, causal=True, dot_products=asked) for asked in (False, True))
        error = numpy.sqrt(((rounded - exact) ** 2).mean() / (exact ** 2).mean())
        self.assertLess(error, 7e-4)
        self.assertEqual(error > 0, posenc.has_dot_products())
        with self.assertRaisesRegex(posenc.Error, "dot_products must not be of doubles"):
            posenc.attend(q.astype(float), k.astype(float), v.astype(float), dot_products=True)

    def test_hides_tokens_of_arrays(self):
        slots = [-1, -1, 2, 3, 4, 5, 6, 7, 8]
        cut = posenc.attend(self.q[0], self.k[0, 2:], self.v[0, 2:])
        for hidden in ({"slots": slots}, {"value_slots": slots}, {"mask": numpy.arange(9) >= 2},
                       {"mask": numpy.where(numpy.arange(9) < 2, -numpy.inf, 0)}):
            found = posenc.attend(self.q[0], self.k[0], self.v[0], **hidden)
            numpy.testing.assert_allclose(found, cut, 0, 1e-6)
        lengths = posenc.attend(self.q, self.k, self.v, lengths=[9, 6])
        self.assertTrue((lengths[1] == posenc.attend(self.q[1], self.k[1, :6], self.v[1, :6])).all())

    def test_errors_change_nothing(self):
        out = numpy.zeros((5, 4, 20), numpy.float32)
        for sentence, wrong in {
            "mask must be .* got int64": {"mask": numpy.ones((5, 9), int)},
            r"mask must be cells \[batches, heads, queries, keys\] \[1, 4, 5, 9\]": {"mask": numpy.ones((5, 8), bool)},
            "slopes must be of numbers": {"mask": posenc.Cells(numpy.ones((5, 9), bool), slopes=[1] * 4)},
            r"sinks must be \[4\]": {"sinks": [1]},
            "slopes must be finite": {"slopes": [0, numpy.inf, 0, 0]},
            "cap must be finite and positive": {"cap": -1},
            "rule of temperature must be one of": {"temperature": {"rule": "cold"}},
            "temperature must have a rule and its numbers, got size": {"temperature": {"rule": "log_n", "length": 4, "size": 1}},
            "length must be 0 for this rule, got 4": {"temperature": {"rule": "adaptive", "length": 4}},
            "temperature must be a dict of a rule and its numbers, got .critical": {"temperature": "critical"},
            "scale must be finite": {"scale": numpy.inf},
            "lengths must be in": {"lengths": [10]},
            "slots of keys must be of 9 tokens": {"slots": [1]},
            "query_positions must be of 5 tokens": {"query_positions": [1]},
            "behind must be an integer in": {"behind": -1},
            "out must be a writeable array": {"out": out[1:]},
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                posenc.attend(self.q[0], self.k[0], self.v[0], **{"out": out, **wrong})
        self.assertTrue((out == 0).all())


class Biases(unittest.TestCase):  # tests/kernels/cases has their numbers
    def test_must_fit(self):
        q, k = numpy.ones((3, 4, 64), numpy.float32), numpy.ones((1, 9, 2, 64), numpy.float32)
        f = posenc.frequencies(rotary_dim=64, base=10000)
        b = posenc.KeyBias(f, numpy.zeros((2, 64)), 4)
        plain = posenc.attend(q[None], k, k)
        self.assertTrue((posenc.attend(q[None], k, k, key_bias=b) == plain).all())
        for sentence, make in (
                ("bias must be .kv_heads, head_dim. of real numbers, got float64 .64.", lambda: posenc.KeyBias(f, numpy.zeros(64), 4)),
                ("frequencies must be of type Frequencies, got int", lambda: posenc.KeyBias(7, numpy.zeros((2, 64)), 4)),
                ("kv_heads must divide heads, got 2 kv heads for 3", lambda: posenc.KeyBias(f, numpy.zeros((2, 64)), 3)),
                ("key_bias must be of type KeyBias, got int", lambda: posenc.attend(q[None], k, k, key_bias=7)),
                ("key_bias must be of 2 heads over 2 of 64 dims, got 4 over 2 of 64",
                 lambda: posenc.attend(q[None, :, :2], k, k, key_bias=b)),
                ("the block .* divides head_dim 64, got 3", lambda: posenc.KeyBias(f, numpy.zeros((2, 64)), 4, hadamard=3)),
                ("profiles must be .*, got .5, 8. and .1, 3, 4, 4.",
                 lambda: posenc.attend(q[None], k, k, profiles=(numpy.ones((5, 8)), numpy.ones((1, 3, 4, 4)))))):
            with self.assertRaisesRegex(posenc.Error, sentence):
                make()


class Views(unittest.TestCase):
    """Heads are one view in C, and a rotation one call: of arrays and caches, numbers and codes, a tensor and a step."""

    def setUp(self):
        self.f = posenc.frequencies(rotary_dim=32, base=100)
        self.x = numpy.random.default_rng(14).standard_normal((2, 3, 4, 32))

    def test_store_in_the_layout_of_the_source(self):
        x, at = self.x[0].astype(numpy.float32), [4, 5, 6]
        rows, cache = self.f.rows(at), posenc.Cache("f32", 1, 3, 4, 32)
        for layout in ("halves", "interleaved"):
            wanted = rotated(x, self.f.inv_freq, at, layout, 0)
            posenc.write_step(rows, keys=posenc.StepHeads(x, layout=layout, cache=cache))
            numpy.testing.assert_allclose(posenc.read_cache(cache), wanted, 0, 1e-6)
            posenc.write_step(self.f.rows([-p for p in at]), keys=posenc.StepHeads(cache, layout=layout))
            numpy.testing.assert_allclose(posenc.read_cache(cache), x, 0, 1e-6)
        posenc.write_step(rows, keys=posenc.StepHeads(x, layout="interleaved", out_layout="halves", cache=cache))
        parted = numpy.concatenate([wanted[..., ::2], wanted[..., 1::2]], -1)
        numpy.testing.assert_allclose(posenc.read_cache(cache), parted, 0, 1e-6)
        with self.assertRaisesRegex(posenc.Error, "values: to_layout must be 0 or, where heads rotate, "):
            posenc.write_step(values=posenc.StepHeads(x, out_layout="halves", cache=cache))

    def test_of_batches(self):
        at, slots = [4, 5, 6], [6, 1, 3, 0, 7, 4]
        wanted = numpy.stack([rotated(x, self.f.inv_freq, at, "halves", 0) for x in self.x])
        for dtype, format, bound in ((numpy.float32, "f32", 1e-6), (numpy.float16, "f16", 4e-3)):
            with self.subTest(format):
                k_cache, v_cache = (posenc.Cache(format, 2, 4, 4, 32) for _ in range(2))
                given, q = (self.x.astype(dtype) for _ in range(2))
                posenc.write_step(self.f.rows(at), queries=posenc.StepHeads(q, scale=2),
                                  keys=posenc.StepHeads(given, cache=k_cache, slots=slots),
                                  values=posenc.StepHeads(given, cache=v_cache, slots=slots))
                numpy.testing.assert_allclose(q, 2 * wanted, 0, 2 * bound)
                k, v = (posenc.read_cache(cache, slots).reshape(2, 3, 4, 32) for cache in (k_cache, v_cache))
                numpy.testing.assert_allclose(k, wanted, 0, bound)
                self.assertTrue((v == given).all())
                found = posenc.attend(q, k_cache, v_cache, slots=numpy.reshape(slots, (2, 3)))
                self.assertTrue((found == posenc.attend(q, k.astype(dtype), v.astype(dtype))).all())

    def test_of_doubles_in_a_step(self):
        x, at = self.x[0].copy(), [4, 5, 6]
        rows, wanted = self.f.rows(at, numpy.float64), rotated(x, self.f.inv_freq, at, "halves", 0)
        posenc.write_step(rows, keys=posenc.StepHeads(x, out=(out := numpy.empty_like(x))), queries=posenc.StepHeads(q := x.copy()))
        for found in (q, out):
            numpy.testing.assert_allclose(found, wanted, 0, 6 * ANGLE)
        with self.assertRaisesRegex(posenc.Error, "values: heads of double must rotate to one target"):
            posenc.write_step(values=posenc.StepHeads(x))
        with self.assertRaisesRegex(posenc.Error, "keys: heads of double must be rotated to heads of double"):
            posenc.write_step(rows, keys=posenc.StepHeads(x, cache=posenc.Cache("f32", 1, 3, 4, 32)))

    def test_of_a_whole_cache_rotate_where_they_lie(self):
        cache, x = posenc.Cache("f32", 2, 3, 4, 32), self.x.reshape(6, 4, 32).astype(numpy.float32)
        posenc.write_step(values=posenc.StepHeads(x, cache=cache))
        self.assertIs(posenc.rotate(cache, self.f.rows([7] * 6)), cache)
        numpy.testing.assert_allclose(posenc.read_cache(cache), rotated(x, self.f.inv_freq, [7] * 6, "halves", 0), 0, 1e-6)


class Zeros(unittest.TestCase):
    """What to C would be a default, though it was not said here, is said, or refused."""

    def setUp(self):
        made = numpy.random.default_rng(15).standard_normal
        self.q, self.k, self.v = (made(shape).astype(numpy.float32) for shape in ((7, 4, 32), (7, 2, 32), (7, 2, 32)))

    def outputs(self, seen, factor=1):
        k, v = (x.repeat(2, axis=1).astype(float) for x in (self.k, self.v))
        scores = numpy.where(seen, factor * numpy.einsum("qhd,khd->hqk", self.q.astype(float), k) / numpy.sqrt(32), -numpy.inf)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        return numpy.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)

    def test_of_later_keys(self):
        distance = numpy.arange(7)[:, None] - numpy.arange(7)
        for given, seen in (({}, distance < 7), ({"causal": False, "ahead": None}, distance < 7), ({"ahead": 0}, distance < 7),
                            ({"ahead": 1}, distance >= 0), ({"causal": True}, distance >= 0), ({"ahead": 3}, distance > -3),
                            ({"causal": True, "ahead": 3}, distance >= 0), ({"behind": 2, "ahead": 2}, abs(distance) < 2)):
            with self.subTest(given):
                numpy.testing.assert_allclose(posenc.attend(self.q, self.k, self.v, **given), self.outputs(seen), 0, 1e-6)

    def test_of_a_factor(self):
        found = posenc.attend(self.q, self.k, self.v, factor=2.5)
        numpy.testing.assert_allclose(found, self.outputs(True, 2.5), 0, 2e-6)
        with self.assertRaisesRegex(posenc.Error, "attend: factor must not be 0, got 0.0"):
            posenc.attend(self.q, self.k, self.v, factor=0.0)

    def test_of_slots(self):
        cache = posenc.Cache("q8_0", 2, 4, 2, 32)
        for tokens in (1, 7):
            with self.assertRaisesRegex(posenc.Error, rf"slots must be given where tokens are not all 8 of the cache, got None for {tokens}$"):
                posenc.write_step(values=posenc.StepHeads(self.v[:tokens], cache=cache))
        self.assertTrue((cache.memory == 0).all())

    def test_of_scales(self):
        for format in ("int8_static", "int4_static"):
            with self.assertRaisesRegex(posenc.Error, "scale must be finite and positive as float, with a finite inverse, got 0"):
                posenc.read_cache(posenc.Cache(format, 1, 4, 2, 32))


class Sizes(unittest.TestCase):
    """To C, a size of 0 stands for a default; an array of that size does not."""

    def setUp(self):
        made = numpy.random.default_rng(9).standard_normal
        self.q, self.k, self.v = (made(shape).astype(numpy.float32) for shape in ((3, 4, 32), (11, 2, 32), (11, 2, 32)))

    def test_of_values_without_dims(self):
        q, k, v = self.q, self.k, self.v
        for given, outputs, lead in ((q, (3, 4, 0), ()), (q[0], (4, 0), ()), (q[None], (1, 3, 4, 0), (None,))):
            for type in (numpy.float32, numpy.float16):
                for threads in (1, 3):
                    wanted = posenc.attend(given, k[lead], v[lead], causal=True, log_sum_exp=True, scores=True, weights=True)
                    found = posenc.attend(given, k[lead], v[lead][..., :0].astype(type), causal=True, log_sum_exp=True,
                                          scores=True, weights=True, threads=threads)
                    self.assertEqual((found[0].shape, found[0].dtype), (outputs, numpy.float32))
                    for a, b in zip(found[1:], wanted[1:]):
                        self.assertTrue((a == b).all())
        around = numpy.full((3, 4, 2), 7, numpy.float32)
        self.assertEqual(posenc.attend(q, k, v[..., :0], out=around[..., 1:1]).shape, (3, 4, 0))
        self.assertTrue((around == 7).all())
        hidden = [-1] * 11
        self.assertTrue((posenc.attend(q, k, v[..., :0], value_slots=hidden, weights=True)[1] == 0).all())
        with self.assertRaisesRegex(posenc.Error, r"out must be a writeable array \[3, 4, 0\], got float32 \[3, 4, 2\]"):
            posenc.attend(q, k, v[..., :0], out=around)

    def test_without_kv_heads_are_refused(self):
        q, k, v = self.q, self.k, self.v
        none = posenc.Cache("q8_0", 1, 11, heads=0, head_dim=32)
        for keys, values in ((k[:, :0], v[:, :0]), (k[:, :0], v[:, :0, :0]), (none, none), (none, v[:, :0]), (k[:0, :0], v[:0, :0])):
            for given in (q, q[0]):
                with self.assertRaisesRegex(posenc.Error, "must have kv heads for the 4 heads of queries, got 0"):
                    posenc.attend(given, keys, values)
        with self.assertRaisesRegex(posenc.Error, "alike, keys with the 32 dims of queries, got .11, 2, 32. and .11, 0, 0."):
            posenc.attend(q, k, v[:, :0, :0])

    def test_of_all_else(self):
        q, k, v = self.q, self.k, self.v
        f = posenc.frequencies(rotary_dim=32, base=100)
        nothing = numpy.empty(0)
        self.assertTrue((posenc.attend(q, k[:0], v[:0]) == 0).all())
        self.assertTrue((posenc.attend(q, k, v, lengths=[0]) == 0).all())
        self.assertEqual(posenc.attend(q[:0], k, v, query_positions=[], mask=numpy.ones((0, 11), bool)).shape, (0, 4, 32))
        self.assertEqual(posenc.attend(q[:, :0], k[:, :0], v[:, :0], sinks=[], weights=True)[1].shape, (0, 3, 11))
        self.assertEqual(posenc.attend(q[None][:0], k[None][:0], v[None][:0], lengths=[]).shape, (0, 3, 4, 32))
        self.assertTrue((posenc.attend(q, k[:0], v[:0], key_positions=[], slots=[], mask=numpy.ones((3, 0), bool),
                                       bias=numpy.ones((4, 3, 0), numpy.float32)) == 0).all())
        for shape in ((0, 4, 32), (3, 0, 32), (3, 4, 0)):
            x = numpy.empty(shape, numpy.float32)
            self.assertIs(posenc.hadamard(x), x)
        for pages, tokens, heads in ((0, 4, 2), (2, 0, 2), (2, 4, 0)):
            cache = posenc.Cache("q8_0", pages, tokens, heads, 32)
            self.assertEqual(posenc.read_cache(cache).shape, (pages * tokens, heads, 32))
            self.assertEqual(posenc.read_cache(cache, []).shape, (0, heads, 32))
            posenc.write_step(f.rows([]), keys=posenc.StepHeads(numpy.empty((0, heads, 32), numpy.float32), cache=cache, slots=[]))
        self.assertEqual((f.rows([]).shape, posenc.profile(f, []).shape), ((0, 2, 16), (0,)))
        axes = f.on_axes("contiguous", [8, 8])
        self.assertEqual(axes.rows(numpy.empty((2, 0))).shape, (0, 2, 16))
        posenc.KeyBias(axes, numpy.zeros((2, 32)), 4).at(numpy.empty((2, 0), int))
        cache = posenc.Cache("f32", 1, 3, 4, 32)
        for sentence, wrong in {
            "head_dim must be positive .*, got 0": lambda: posenc.attend(q[..., :0], k[..., :0], v),
            "pairs must be positive.*, got 0": lambda: posenc.rotate(q.copy(), numpy.empty((3, 2, 0), numpy.float32)),
            "pairs must be positive": lambda: posenc.write_step(numpy.empty((3, 2, 0), numpy.float32), keys=posenc.StepHeads(q)),
            "rows must be .tokens, 2, pairs|one row for each of 3": lambda: posenc.rotate(q.copy(), f.rows([])),
            "one row for each of 3 tokens, or of 1 times as many, got 0": lambda: posenc.write_step(f.rows([]), keys=posenc.StepHeads(q)),
            "keys: heads must be positive, got 0": lambda: posenc.write_step(
                f.rows([1, 2, 3]), keys=posenc.StepHeads(q[:, :0])),
            "got .0, 4, 32.": lambda: posenc.StepHeads(q, cache=cache, slots=[]),
            "keys: head_dim must be positive": lambda: posenc.write_step(f.rows([1, 2, 3]), keys=posenc.StepHeads(q[..., :0])),
            "there must be at least one pair, got none": lambda: posenc.frequencies(inv_freq=nothing),
            "pair_axes: there must be at least one pair, got none": lambda: f.on_axes("by_pair", []),
            "the dimension must be even and positive, got 0": lambda: posenc.frequencies(rotary_dim=0, base=100),
            "factors": lambda: posenc.frequencies(rule="divided_by_factors", of=f, factors=[]),
            "kv_heads must be positive": lambda: posenc.KeyBias(f, numpy.empty((0, 32)), 4),
            "heads must be positive": lambda: posenc.KeyBias(f, numpy.empty((2, 32)), 0),
            "head_dim must be positive": lambda: posenc.format_bytes("f32", 0),
            "rank and extent must be positive": lambda: posenc.attend(q, k, v, profiles=(numpy.empty((2, 0)), numpy.empty((3, 4, 2)))),
            "rank and extent must be positive .* got 0 and 8": lambda: posenc.attend(
                q, k, v, profiles=(numpy.empty((0, 8)), numpy.empty((3, 4, 0)))),
            "threads must be an integer in .1, 2.63., got 0": lambda: posenc.attend(q, k, v, threads=0),
            "slots of keys must be of 11 tokens, got 0": lambda: posenc.attend(q, k, v, slots=[]),
            "lengths must be of 1 sequences, got 0": lambda: posenc.attend(q, k, v, lengths=[]),
            "sinks must be .4. of real numbers, got float64 .0.": lambda: posenc.attend(q, k, v, sinks=[]),
            r"mask must be cells .*, got \[3, 0\]": lambda: posenc.attend(q, k, v, mask=numpy.ones((3, 0), bool)),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()

    def test_of_a_memory_that_was_changed(self):
        cache = posenc.Cache("f32", 1, 3, 4, 32)
        cache.memory = cache.memory[:, :100]
        for use in (lambda: posenc.read_cache(cache), lambda: posenc.attend(self.q, cache, cache),
                    lambda: posenc.StepHeads(self.q, cache=cache)):
            with self.assertRaisesRegex(posenc.Error, r"memory must be a contiguous array of uint8 \[1, 1536\], got uint8 \[1, 100\]"):
                use()


class Fixed(unittest.TestCase):
    """What sizes and addresses of C hang on does not change behind its back."""

    def setUp(self):
        self.x = numpy.random.default_rng(11).standard_normal((3, 4, 32)).astype(numpy.float32)

    def test_memory_that_is_replaced_after_step_heads_is_what_a_step_uses(self):
        f, cache = posenc.frequencies(rotary_dim=32, base=100), posenc.Cache("f32", 1, 3, 4, 32)
        to, before = posenc.StepHeads(self.x, cache=cache), cache.memory
        moved, read = posenc.StepHeads(cache), numpy.empty_like(self.x)
        reads = posenc.StepHeads(cache, out=read)
        cache.memory = numpy.zeros_like(before)
        posenc.write_step(values=to)
        self.assertTrue((before == 0).all() and (posenc.read_cache(cache) == self.x).all())
        cache.memory = cache.memory.copy()
        posenc.write_step(values=reads)
        self.assertTrue((read == self.x).all())
        posenc.write_step(f.rows([3, 3, 3]), keys=moved)
        numpy.testing.assert_allclose(posenc.read_cache(cache), rotated(self.x, f.inv_freq, [3, 3, 3], "halves", 0), 0, 1e-6)

    def test_memory_that_is_replaced_is_freed_once_no_step_uses_it(self):
        cache = posenc.Cache("f32", 1, 3, 4, 32)
        to, freed = posenc.StepHeads(self.x, cache=cache), weakref.ref(cache.memory)
        cache.memory = numpy.zeros_like(cache.memory)
        self.assertIsNotNone(freed())  # its address has been taken
        posenc.write_step(values=to)
        self.assertIsNone(freed())

    def test_memory_that_is_replaced_must_fit(self):
        cache, fixed = posenc.Cache("f32", 1, 3, 4, 32), numpy.zeros((1, 1536), numpy.uint8)
        fixed.flags.writeable = False
        to, read = posenc.StepHeads(self.x, cache=cache), posenc.StepHeads(cache, out=self.x.copy())
        before = cache.memory
        for memory, sentence in ((before[:, :100], "memory must be .* .1, 1536., got uint8 .1, 100."),
                                 (None, "memory must be .* got None"), (fixed, "what is written must be writeable")):
            cache.memory = memory
            with self.assertRaisesRegex(posenc.Error, sentence):
                posenc.write_step(values=to)
            self.assertTrue((before == 0).all())
        posenc.write_step(values=read)  # which writes no cache

    def test_attributes_cannot_be_set(self):
        f = posenc.frequencies(MODELS / "qwen2-vl-7b.json")
        for thing, names in (
                (f, [name[1:] for name in vars(f) if name not in ("_handle", "_makers", "_pairs", "_layer")] + ["temperature"]),
                (posenc.Cache("f32", 1, 3, 4, 32), ("format", "pages", "page_tokens", "heads", "head_dim", "scale", "inverse")),
                (posenc.StepHeads(self.x), ("tokens",)), (posenc.Cells(self.x), ("array", "bits", "slopes"))):
            for name in names:
                with self.subTest(name):
                    before = getattr(thing, name)
                    with self.assertRaises(AttributeError):
                        setattr(thing, name, before)
            self.assertEqual([name for name in vars(thing) if name[0] != "_"], ["memory"] if isinstance(thing, posenc.Cache) else [])

    def test_arrays_cannot_be_changed(self):
        f = posenc.frequencies(rotary_dim=128, base=100).on_axes("contiguous", [32, 32])
        rows = f.rows([7])
        for array in (lambda: f.inv_freq, lambda: f.axis_of_pair):
            with self.assertRaises(ValueError):
                array()[0] = 1
            with self.assertRaises(ValueError):
                array().flags.writeable = True
            array().shape = (1, 64)
            with self.assertRaises(ValueError):
                array().resize(2, refcheck=False)
        self.assertTrue((f.rows([7]) == rows).all())
        self.assertEqual((f.inv_freq.shape, f.axis_of_pair.shape), ((64,), (64,)))
        bias = numpy.zeros((1, 1, 3), numpy.float32)
        cells = posenc.Cells(bias)
        for array in (bias, cells.array):
            array.dtype = numpy.uint8
        self.assertEqual((cells.array.dtype, cells.array.shape), (numpy.float32, (1, 1, 3)))
        self.assertTrue((posenc.attend(self.x[:1], self.x, self.x, bias=cells) == posenc.attend(self.x[:1], self.x, self.x)).all())

    def test_sizes_of_caches_fit(self):
        for sizes in ((2**62, 1, 1), (1, 2**62, 4), (1, 1, 2**62), (2**31, 2**31, 1), (2**62, 2, 0), (2**40, 2**40, 0), (0, 2**40, 2**40)):
            for format in ("f32", "q8_0"):
                for memory in (None, numpy.zeros((1, 1), numpy.uint8)):
                    with self.subTest(sizes), self.assertRaisesRegex(
                            posenc.Error, r"^posenc: Cache: pages, page_tokens and heads must make fewer than 2\^63 tokens and bytes, got "
                            + re.escape(str(list(sizes))) + "$"):
                        posenc.Cache(format, *sizes, 32, memory=memory)


class Overlap(unittest.TestCase):
    """What is read does not lie in what is written; side by side is right."""

    def setUp(self):
        self.f = posenc.frequencies(rotary_dim=32, base=100)
        self.rows = self.f.rows([1, 2, 3])
        self.x = numpy.random.default_rng(12).standard_normal((3, 4, 32)).astype(numpy.float32)
        self.memory = numpy.zeros(2000, numpy.int64)

    def placed(self, array, first=0):
        """The array at a byte of memory."""
        there = self.memory.view(numpy.uint8)[first:first + array.nbytes].view(array.dtype).reshape(array.shape)
        there[...] = array
        return there

    def refused(self, name, call):
        before = self.memory.copy()
        with self.subTest(name), self.assertRaisesRegex(posenc.Error, rf"^posenc: \w+: {re.escape(name)} must not overlap what is written$"):
            call()
        self.assertTrue((self.memory == before).all())

    def test_of_rotate(self):
        rotate, weight = posenc.rotate, numpy.arange(1, 33, dtype=numpy.float32)
        wanted = rotate(self.x.copy(), self.rows, eps=1, weight=weight)
        for first in (4, 8, self.rows.nbytes - 4):
            out, rows = self.placed(self.x, first), self.placed(self.rows)
            self.refused("rows", lambda: rotate(self.x, rows, out=out))
            self.refused("rows", lambda: rotate(out, rows))
        out, place = self.placed(self.x, 64), self.placed(weight)
        self.refused("weight", lambda: rotate(self.x, self.rows, out=out, eps=1, weight=place))
        out, rows = self.placed(self.x, self.rows.nbytes), self.placed(self.rows)
        self.assertTrue((rotate(self.x, rows, out=out, eps=1, weight=weight) == wanted).all())
        whole = numpy.zeros((3, 2, 16 + 128), numpy.float32)  # rows beside heads, token by token
        whole[..., :16] = self.rows
        out = whole[:, 0, 16:].reshape(3, 4, 32)
        self.assertTrue(numpy.shares_memory(out, whole))
        self.assertTrue((rotate(self.x, whole[..., :16], out=out, eps=1, weight=weight) == wanted).all())

    def test_of_a_step(self):
        weight, slots = numpy.ones(32, numpy.float32), numpy.arange(3)
        for name in ("rows", "weight", "slots", "source_slots"):
            for target in ("out", "in place", "cache"):
                for of in ("the same", "another"):
                    with self.subTest(f"{name} {target} {of}"):
                        array = {"rows": self.rows, "weight": weight}.get(name, slots)
                        there = self.placed(self.x, 16)
                        cache = posenc.Cache("f32", 1, 3, 4, 32, memory=self.memory.view(numpy.uint8)[16:16 + self.x.nbytes].reshape(1, -1))
                        array = self.placed(array)
                        rows, given = (array, {}) if name == "rows" else (self.rows, {name: array})
                        if name == "weight":
                            given["eps"] = 1
                        if name == "slots":
                            given["cache"] = posenc.Cache("f32", 1, 3, 4, 32)
                        source = posenc.Cache("f32", 1, 3, 4, 32) if name == "source_slots" else self.x.copy()
                        to = {"out": {"out": there}, "in place": {}, "cache": {"cache": cache}}[target]
                        if of == "the same":
                            if target == "in place" and name in ("slots", "source_slots"):
                                continue
                            keys = posenc.StepHeads(there if target == "in place" else source, **{**given, **to})
                            self.refused(name, lambda: posenc.write_step(rows, keys=keys))
                        else:
                            queries = posenc.StepHeads(there if target == "in place" else self.x, **to)
                            keys = posenc.StepHeads(source, **given)
                            self.refused(name, lambda: posenc.write_step(rows, queries=queries, keys=keys))

    def test_of_what_is_written_last(self):
        rows, there = self.placed(self.rows), self.placed(self.x, 16)
        self.refused("rows", lambda: posenc.write_step(
            rows, queries=posenc.StepHeads(self.x.copy()), keys=posenc.StepHeads(self.x, out=there)))

    def test_of_memory_of_others(self):  # which says nothing of its owner
        rows = numpy.frombuffer(self.memory, numpy.float32, self.rows.size).reshape(self.rows.shape)
        rows[...] = self.rows
        for of in (self.memory, memoryview(self.memory).cast("B")):
            out = numpy.frombuffer(of, numpy.float32, self.x.size, 4).reshape(self.x.shape)
            self.refused("rows", lambda: posenc.rotate(self.x, rows, out=out))
        self.refused("rows", lambda: posenc.rotate(self.x, rows, out=self.memory.view(numpy.float32)[1:385].reshape(self.x.shape)))

    def test_of_attend(self):
        k, q = numpy.ones((11, 4, 32), numpy.float32), numpy.ones((2, 3, 4, 32), numpy.float32)
        made = {"queries": self.x, "keys": k, "values": k, "mask": numpy.ones((3, 11), bool),
                "bias": numpy.zeros((3, 11)), "sinks": numpy.zeros(4), "slopes": numpy.zeros(4),
                "profiles[0]": numpy.zeros((2, 8), numpy.float32), "profiles[1]": numpy.zeros((3, 4, 2), numpy.float32),
                "scales of temperature": numpy.ones(4), "slopes of bias": numpy.ones(4)}
        for name, array in made.items():
            out, array = self.placed(self.x, 24), self.placed(array)
            given = {"profiles[0]": {"profiles": (array, made["profiles[1]"])}, "profiles[1]": {"profiles": (made["profiles[0]"], array)},
                     "scales of temperature": {"temperature": {"rule": "ssmax", "scales": array}}, "slopes of bias": {"bias": posenc.Cells(made["bias"], slopes=array)}}.get(name, {name: array})
            self.refused(name, lambda: posenc.attend(**{"queries": self.x, "keys": k, "values": k, "out": out, **given}))
        wanted = posenc.attend(self.x, k, k, slots=range(11), query_positions=[3, 4, 5])
        for given in ({"slots": self.placed(numpy.arange(11))}, {"query_positions": self.placed(numpy.array([3, 4, 5]))}):  # are copied
            out = self.memory.view(numpy.float32)[:self.x.size].reshape(self.x.shape)
            self.assertTrue((posenc.attend(self.x, k, k, **given, out=out) == wanted).all())
        out = self.placed(q)
        for name in ("keys", "values"):  # of another sequence
            place = self.memory.view(numpy.float32)[384:384 + 2 * 3 * 128].reshape(2, 3, 4, 32)
            self.refused(name, lambda: posenc.attend(**{"queries": q, "keys": q.copy(), "values": q.copy(), name: place, "out": out}))
        memory = self.memory.view(numpy.uint8)[8:8 + 11 * 512].reshape(1, -1)
        self.refused("keys", lambda: posenc.attend(self.x, posenc.Cache("f32", 1, 11, 4, 32, memory=memory), k, out=out[0]))
        both = numpy.zeros((3, 8, 32), numpy.float32)  # side by side in each token
        both[:, :4] = self.x
        posenc.attend(both[:, :4], k, k, out=both[:, 4:])
        self.assertTrue((both[:, 4:] == posenc.attend(self.x, k, k)).all())


class Tensor:  # as PyTorch calls it
    __module__ = "torch"


class Arguments(unittest.TestCase):
    """Each argument of each function: what NumPy or ctypes would turn into something else is refused by its name."""

    def setUp(self):
        x = lambda *shape: numpy.ones(shape, numpy.float32)
        f = self.f = posenc.frequencies(rotary_dim=32, base=100)
        on_axes = f.on_axes("contiguous", [8, 8])
        q, k, v, rows = x(3, 4, 32), x(11, 2, 32), x(11, 2, 32), f.rows([1, 2, 3])
        bias = posenc.KeyBias(on_axes, numpy.zeros((2, 32)), 4)

        def attend(**given):
            return posenc.attend(**{"queries": q, "keys": k, "values": v, **given})

        def of_temperature(rule, **more):
            return lambda **given: attend(temperature={"rule": rule, **more, **{n.split(" of ")[0]: v for n, v in given.items()}})

        def step(source=q, cache_slots=None, **given):
            if "slots" in given:
                given["cache"] = posenc.Cache("f32", 1, 3, 4, 32)
            if "source_slots" in given:
                source = posenc.Cache("f32", 1, 3, 4, 32)
            return posenc.write_step(rows, keys=posenc.StepHeads(source.copy() if source is q else source, **given))

        def make(function, *first, **named):
            return lambda **given: function(*first, **{**named, **given})

        def cache(**given):
            return posenc.Cache(**{"format": "f32", "pages": 1, "page_tokens": 3, "heads": 4, "head_dim": 32, **given})

        rotate, numbers = make(posenc.rotate, **{"rows": rows}), make(posenc.frequencies)
        profiles = lambda i: lambda **given: attend(profiles=[
            given.popitem()[1] if j == i else other for j, other in enumerate((x(2, 8), x(3, 4, 2)))])
        at = lambda **given: bias.at(**{"positions": numpy.zeros((2, 1), int), **given})
        # What is given right; then how it is called.
        self.arrays = [  # numbers, and whether they are real ones that NumPy converts
            (attend, "queries", q, False), (attend, "keys", k, False), (attend, "values", v, False),
            (attend, "out", x(3, 4, 32), False), (attend, "mask", x(3, 11), False), (attend, "bias", x(3, 11), False),
            (make(posenc.Cells), "array", x(3, 11), False),
            (attend, "sinks", x(4), True), (attend, "slopes", x(4), True),
            (lambda slopes: attend(mask=posenc.Cells(x(3, 11), slopes=slopes)), "slopes", x(4), True),
            (of_temperature("ssmax"), "scales of temperature", x(4), True),
            (of_temperature("ssmax", scales=x(4)), "biases of temperature", x(4), True),
            (profiles(0), "profiles[0]", x(2, 8), True), (profiles(1), "profiles[1]", x(3, 4, 2), True),
            (rotate, "array", q.copy(), False), (make(posenc.rotate, q.copy(), rows), "out", x(3, 4, 32), False),
            (make(posenc.rotate, q.copy()), "rows", rows, False), (make(posenc.rotate, q.copy(), rows, eps=1), "weight", x(32), True),
            (make(posenc.hadamard), "array", q.copy(), False),
            (step, "source", q, False), (step, "out", x(3, 4, 32), False), (lambda weight: step(weight=weight, eps=1), "weight", x(32), True),
            (make(posenc.write_step, keys=posenc.StepHeads(q.copy())), "rows", rows, False),
            (make(posenc.KeyBias, f, heads=4), "bias", x(2, 32), True), (numbers, "inv_freq", x(4), True),
            (make(posenc.frequencies, rule="divided_by_factors", of=f), "factors", x(16), True),
            (cache, "memory", numpy.zeros((1, 3 * 4 * 128), numpy.uint8), False)]
        ints = numpy.arange(3)
        self.integers = [
            (f.rows, "positions", ints), (at, "positions", numpy.zeros((2, 1), int)), (make(posenc.profile, f), "distances", ints),
            (make(f.on_axes, "contiguous"), "numbers", numpy.array([16])),
            (step, "slots", ints), (step, "source_slots", ints), (make(posenc.read_cache, cache()), "slots", ints),
            (attend, "slots", numpy.arange(11)), (attend, "value_slots", numpy.arange(11)), (attend, "lengths", numpy.array([11])),
            (attend, "query_positions", ints), (attend, "key_positions", numpy.arange(11))]
        self.flags = [(attend, name) for name in ("causal", "dot_products", "log_sum_exp", "scores", "weights")] + [
            (lambda **given: step(eps=1, weight=x(32), **given), name) for name in ("after", "plus_one")] + [
            (make(posenc.Cells, numpy.ones((3, 2), numpy.uint8)), "bits")]
        self.reals = [(attend, "scale"), (attend, "factor"), (attend, "cap"), (attend, "tau"), (make(posenc.rotate, q.copy(), rows), "eps"),
                      (make(posenc.rotate, q.copy(), rows), "scale"), (step, "eps"), (step, "scale"),
                      (make(cache, format="e4m3"), "scale"), (make(cache, format="e4m3"), "inverse"),
                      (of_temperature("log_n"), "length of temperature"),
                      (of_temperature("critical"), "scale of temperature"),
                      (of_temperature("by_position", length=2), "offset of temperature"),
                      (make(posenc.profile, f, ints), "rho"), (make(posenc.frequencies, rule="linear", of=f), "factor"),
                      (make(posenc.frequencies, rotary_dim=8), "base"), (make(posenc.frequencies, base=8), "rotary_dim")]
        self.counts = [(attend, name) for name in ("behind", "ahead", "chunk", "threads")] + [
            (cache, name) for name in ("pages", "page_tokens", "heads", "head_dim")] + [
            (make(f.rows, [1]), "table_range"), (rotate_dim := make(posenc.rotate, q.copy(), rows), "first_dim"), (step, "first_dim"),
            (make(posenc.KeyBias, f, x(2, 32)), "heads"), (make(posenc.KeyBias, f, x(2, 32), 4), "first_dim"), (at, "delta"),
            (make(posenc.format_bytes, "f32"), "head_dim"), (make(posenc.ring_slots, count=1, capacity=4), "first"),
            (make(posenc.page_bounds, x(4, 2, 32)), "page_tokens"), (make(posenc.frequencies, MODELS / "gpt-j-6b.json"), "layer"),
            (make(posenc.frequencies, MODELS / "gpt-j-6b.json"), "length")]
        self.names = [(rotate_dim, "layout"), (step, "layout"), (lambda **given: step(out=x(3, 4, 32), **given), "out_layout"),
                      (step, "norm"), (step, "eps_place"), (step, "rounding"), (cache, "format"),
                      (make(posenc.KeyBias, f, x(2, 32), 4), "layout"), (of_temperature("ssmax"), "rule"),
                      (make(f.on_axes, numbers=[16]), "axes"), (make(posenc.frequencies, base=100, rotary_dim=8), "rule"),
                      (attend, "type"), (rotate_dim, "type"), (make(posenc.hadamard, q.copy()), "type"), (make(posenc.page_bounds, q, 4), "type"), (step, "type"),
                      (make(posenc.Cells, x(3, 11)), "type")]
        self.things = [(make(posenc.profile, distances=ints), "f"), (make(posenc.read_cache), "cache"), (step, "cache"),
                       (make(posenc.write_step, rows), "queries"), (make(posenc.write_step), "values"), (attend, "key_bias"),
                       (attend, "profiles"), (attend, "temperature"), (make(posenc.frequencies), "file"),
                       (make(posenc.frequencies, rule="linear", factor=2), "of"), (make(posenc.KeyBias, bias=x(2, 32), heads=4), "frequencies")]

    def refuses(self, call, name, given):
        with self.subTest(f"{name}={given!r}"[:80]), warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(posenc.Error) as caught:
                call(**{name: given})
            self.assertRegex(str(caught.exception), rf"^posenc: [^:]+: .*\b{re.escape(name.split('[')[0])}.* must [^\n]*$")

    def test_are_taken_where_they_are_right(self):
        for call, name, right, *_ in self.arrays + self.integers:
            with self.subTest(name):
                call(**{name: right})
        for call, name in self.flags:
            for right in (True, numpy.bool_(False), 1, 0):
                call(**{name: right})

    def test_have_no_mask(self):
        for call, name, right, *_ in self.arrays + self.integers:
            self.refuses(call, name, numpy.ma.masked_array(right))
            if not right.ndim > 1:
                self.refuses(call, name, [numpy.ma.masked, *right[1:]])
        bias = numpy.ma.masked_array(numpy.ones(11, numpy.float32))
        self.refuses(self.arrays[4][0], "mask", [bias, bias, bias])

    def test_are_real_numbers(self):
        for call, name, right, converts in self.arrays:
            self.refuses(call, name, right.astype(complex))
            self.refuses(call, name, right.astype("U"))
            self.refuses(call, name, right.astype(object))
            self.refuses(call, name, "nonsense")
            self.refuses(call, name, [[1.0], [1.0, 2.0]])
            if name not in ("out", "mask", "bias", "weight", "memory", "sinks", "slopes", "biases of temperature", "scales of temperature", "inv_freq"):
                self.refuses(call, name, None)
            if converts:
                for same in (right.tolist(), right.astype(">f8"), right.astype(numpy.float16), right.astype(numpy.int8)):
                    call(**{name: same})
        for call, name in self.reals:
            for wrong in (None, "1", b"1", 1j, numpy.complex64(1), [1.0], {}, numpy.ones(1), 10**400, Tensor()):
                self.refuses(call, name, wrong)
            for wrong in (True, False, numpy.bool_(True)):
                self.refuses(call, name, wrong)

    def test_fit_where_they_are_floats(self):
        for call, name, right, converts in self.arrays:
            if name in ("profiles[0]", "weight") and converts or name == "bias" and converts:
                wide = right.astype(float)
                wide.flat[1] = 1e300
                self.refuses(call, name, wide)

    def test_in_lists_are_no_bools(self):
        numbers = [(call, name, right) for call, name, right, converts in self.arrays if converts]
        for call, name, right in numbers + self.integers:
            for boolean in (True, numpy.bool_(False)):
                wrong = right.astype(object)
                wrong.flat[-1] = boolean
                if right.size > 1:
                    self.refuses(call, name, wrong.tolist())
                    self.refuses(call, name, tuple(wrong.tolist()))

    def test_of_uint16_are_bfloat16_where_the_type_says_so(self):
        x = numpy.random.default_rng(13).standard_normal((3, 4, 32)).astype(numpy.float32)
        words = (x.view(numpy.uint32) >> 16).astype(numpy.uint16)
        cut, rows = (words.astype(numpy.uint32) << 16).view(numpy.float32), self.f.rows([1, 2, 3])
        cache = lambda: posenc.Cache("f32", 1, 3, 4, 32)

        def step(source, **given):
            posenc.write_step(rows, keys=posenc.StepHeads(source, **given))

        for name, call in {
            "queries": lambda **t: posenc.attend(words, x, x, **t), "keys": lambda **t: posenc.attend(x, words, x, **t),
            "values": lambda **t: posenc.attend(x, x, words, **t), "out": lambda **t: posenc.attend(x, x, x, out=words.copy(), **t),
            "array": lambda **t: posenc.rotate(words.copy(), rows, **t), "source": lambda **t: step(words.copy(), **t),
        }.items():
            with self.subTest(name), self.assertRaisesRegex(
                    posenc.Error, f"{name} must be float16, float32 or float64, or uint16 with type='bf16', got uint16 and type=None"):
                call()
            call(type="bf16")
        for call in (lambda **t: posenc.rotate(x, rows, out=words.copy(), **t), lambda **t: step(x, out=words.copy(), **t),
                     lambda **t: step(cache(), out=words.copy(), **t)):
            with self.assertRaisesRegex(posenc.Error, "out must be .* uint16 with type='bf16', got uint16 and type=None"):
                call()
            call(type="bf16")
        for call in (lambda **t: posenc.attend(x, x, x, **t), lambda **t: posenc.attend(x, cache(), cache(), **t),
                     lambda **t: posenc.rotate(x.copy(), rows, **t), lambda **t: step(x.copy(), **t), lambda **t: step(cache(), **t)):
            with self.assertRaisesRegex(posenc.Error, "type"):  # of nothing there
                call(type="bf16")
        mixed = posenc.attend(x, words, words, type="bf16")
        self.assertTrue((mixed == posenc.attend(x, cut, cut)).all())
        out = posenc.rotate(x, rows, out=numpy.zeros_like(words), type="bf16")
        found = (out.astype(numpy.uint32) << 16).view(numpy.float32)
        numpy.testing.assert_allclose(found, rotated(x, self.f.inv_freq, [1, 2, 3], "halves", 0), 2**-8, 1e-6)

    def test_are_masks_of_the_keys(self):
        q, k = numpy.ones((3, 4, 32), numpy.float32), numpy.ones((11, 2, 32), numpy.float32)
        for wide in (numpy.ones((3, 12), bool), numpy.ones(16, bool), numpy.zeros((4, 3, 64), numpy.float16)):
            for given in (wide, posenc.Cells(wide)):
                for name in ("mask", "bias"):
                    with self.assertRaisesRegex(posenc.Error, rf"{name} must be cells .*\[1, 4, 3, 11\].*, got {re.escape(str(list(wide.shape)))}"):
                        posenc.attend(q, k, k, **{name: given})
                    posenc.attend(q, k, k, **{name: wide[..., :11]})
        for count, right in ((1, False), (2, True), (3, False)):
            bits = posenc.Cells(numpy.full((3, count), 255, numpy.uint8), bits=True)
            with contextlib.nullcontext() if right else self.assertRaisesRegex(posenc.Error, "mask must be cells"):
                posenc.attend(q, k, k, mask=bits)

    def test_are_choices_of_rules(self):
        f, given = self.f, {"factor": 4, "original_length": 64}
        yarn = lambda **more: posenc.frequencies(rule="yarn", of=f, **given, **more).inv_freq
        self.assertTrue((yarn(truncate=True) == yarn()).all() and (yarn(truncate=False) != yarn()).any())
        self.assertTrue((yarn(truncate=1) == yarn()).all() and (yarn(truncate=0) == yarn(truncate=False)).all())
        for wrong in (2, 0.5, "no", None):
            with self.assertRaisesRegex(posenc.Error, "truncate must be True or False"):
                yarn(truncate=wrong)

    def test_are_integers(self):
        for call, name, right in self.integers:
            for wrong in (right.astype(complex), right.astype("U"), right.astype(bool), "nonsense", [[0], [1, 2]], {0}, right.astype(object)):
                self.refuses(call, name, wrong)
            if name not in ("positions", "distances"):
                self.refuses(call, name, right.astype(float))
        for call, name in self.counts:
            for wrong in ("1", 1.0, True, numpy.bool_(True), 1j, [1], numpy.ones(2, int), 2**64, Tensor()):
                self.refuses(call, name, wrong)
            if name not in ("behind", "ahead", "chunk", "layer", "length") and not (name == "first_dim"):
                self.refuses(call, name, None)

    def test_are_true_or_false(self):
        for call, name in self.flags:
            for wrong in ("false", "no", "", None, 2, -1, 0.0, [], [True], numpy.ones(2, bool), Tensor()):
                self.refuses(call, name, wrong)

    def test_are_names(self):
        for call, name in self.names:
            for wrong in ("nonsense", 1, ["halves"], {}, numpy.array(["halves", "x"]), b"bf16"):
                self.refuses(call, name, wrong)

    def test_are_of_their_types(self):
        for call, name in self.things:
            for wrong in (1, 0.5, numpy.ones(2), Tensor(), [1, 2, 3], object()):
                self.refuses(call, name, wrong)

    def test_say_what_was_given(self):
        q, k = numpy.ones((3, 4, 32), numpy.float32), numpy.ones((11, 2, 32), numpy.float32)
        for sentence, wrong in {
            "queries must be an array of NumPy .*, got torch.Tensor$": lambda: posenc.attend(Tensor(), k, k),
            "keys must be a Cache or an array of NumPy, got torch.Tensor$": lambda: posenc.attend(q, Tensor(), k),
            "array must be an array of NumPy, .*, got torch.Tensor$": lambda: posenc.rotate(Tensor(), self.f.rows([1, 2, 3])),
            "keys must be an array of NumPy, .* of 3 or 4 axes, got float32 .32.$": lambda: posenc.attend(q, k[0, 0], k),
            "distances must be integers or floats, .tokens., got int64 ..$": lambda: posenc.profile(self.f, 10),
            "profile: f must be frequencies, got None, which a layer that does not rotate has$": lambda: posenc.profile(
                posenc.frequencies(MODELS / "command-r7b.json", layer=3), [1]),
            "the file must be a path, or a dict, got int$": lambda: posenc.frequencies(5),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()

    def test_that_are_not_aligned_are_copied(self):
        def moved(x):
            return numpy.frombuffer(b"x" + x.tobytes(), numpy.uint8)[1:].view(x.dtype).reshape(x.shape)
        made = numpy.random.default_rng(3).standard_normal
        x = lambda *shape: made(shape).astype(numpy.float32)
        q, k, v, bias = x(3, 4, 32), x(11, 2, 32), x(11, 2, 32), x(3, 11)
        for given in ({"mask": bias}, {"bias": bias.astype(float)}, {"mask": bias.T.copy().T}, {"sinks": made(4)}, {"slopes": made(4)},
                      {"query_positions": numpy.array([3, 9, 4])}, {"key_positions": numpy.arange(11)}, {"lengths": numpy.array([7])},
                      {"slots": numpy.arange(11) - 2}, {"temperature": {"rule": "ssmax", "scales": made(4) ** 2 + 2}}):
            (name, right), = given.items()
            off = {n: moved(array) if isinstance(array, numpy.ndarray) else array for n, array in right.items()} \
                if isinstance(right, dict) else moved(right)
            self.assertTrue((posenc.attend(q, k, v, **{name: off}) == posenc.attend(q, k, v, **given)).all(), name)
        bank, side = x(2, 8), x(3, 4, 2)
        self.assertTrue((posenc.attend(q, k, v, profiles=(moved(bank), moved(side))) == posenc.attend(q, k, v, profiles=(bank, side))).all())
        rows, weight = self.f.rows([1, 2, 3]), x(32)
        self.assertTrue((posenc.rotate(q.copy(), moved(rows), eps=1, weight=moved(weight)) == posenc.rotate(q.copy(), rows, eps=1, weight=weight)).all())
        a, b = q.copy(), q.copy()
        posenc.write_step(moved(rows), keys=posenc.StepHeads(a, eps=1, weight=moved(weight)))
        posenc.write_step(rows, keys=posenc.StepHeads(b, eps=1, weight=weight))
        self.assertTrue((a == b).all())
        with self.assertRaisesRegex(posenc.Error, "queries: data must begin at a multiple of the 4 bytes of an element, got a remainder of [123]"):
            posenc.attend(moved(q), k, v)


class Exported:
    """Memory of an array of NumPy as another library exports it, by DLPack 1."""

    def __init__(self, array, code=2, device=1, read_only=False, dtype_bits=None, lanes=1):
        shape, strides = (((ctypes.c_int64 * array.ndim)(*numbers)) for numbers in (
            array.shape, [stride // array.itemsize for stride in array.strides]))
        if array.flags.c_contiguous:
            strides = None  # which DLPack allows
        first = array.ctypes.data
        tensor = posenc._DLTensor(first - 24, device, 0, array.ndim, code, dtype_bits or 8 * array.itemsize, lanes, shape, strides, 24)
        self.kept = array, shape, strides, ctypes.create_string_buffer(bytes(24) + bytes(ctypes.c_uint64(read_only)) + bytes(tensor))
        self.device = device

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, max_version=None):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.kept[-1]), b"dltensor_versioned", None)


class Interface:  # what __array_interface__ says, and no more
    def __init__(self, array):
        self.__array_interface__, self.kept = array.__array_interface__, array


class Arrays(unittest.TestCase):
    """Arrays of other libraries are read and written where they lie."""

    def setUp(self):
        made = numpy.random.default_rng(17).standard_normal
        self.x, self.k = (made(shape).astype(numpy.float32) for shape in ((6, 4, 32), (9, 2, 32)))
        self.f = posenc.frequencies(rotary_dim=32, base=100)
        self.rows = self.f.rows(range(6))
        self.turned = posenc.rope(self.x, range(6), self.f)

    def test_are_written_where_they_lie(self):
        for export in Exported, Interface:
            for view in (lambda a: a, lambda a: a[::-1], lambda a: a.transpose(1, 0, 2).copy().transpose(1, 0, 2)):
                array = self.x.copy()
                there = view(array)
                wanted, given = posenc.rope(there, range(6), self.f), export(there)
                self.assertIs(posenc.rotate(given, self.rows), given)
                self.assertTrue((there == wanted).all())
            out = numpy.empty_like(self.x)
            posenc.rotate(export(self.x), export(self.rows), out=export(out))
            self.assertTrue((out == self.turned).all())
            posenc.write_step(self.rows, keys=posenc.StepHeads(export(self.x), out=export(out := numpy.empty_like(self.x)), weight=export(numpy.ones(32)), eps=1e-6))
            self.assertTrue((out == posenc.rotate(self.x.copy(), self.rows, eps=1e-6)).all())
            once = self.x.copy()
            posenc.hadamard(export(once))
            self.assertTrue((once == posenc.hadamard(self.x.copy())).all())
            memory = numpy.zeros((1, 6 * 4 * 128), numpy.uint8)
            of_bytes = Exported(memory, code=1) if export is Exported else export(memory)
            posenc.write_step(values=posenc.StepHeads(self.x, cache=posenc.Cache("f32", 1, 6, 4, 32, memory=of_bytes)))
            self.assertTrue((memory.view(numpy.float32) == self.x.reshape(1, -1)).all())

    def test_are_attended_to(self):
        wanted = posenc.attend(self.x, self.k, self.k, sinks=[0, 1, 2, 3])
        for export in Exported, Interface:
            out = numpy.empty_like(self.x)
            given = export(out)
            found = posenc.attend(export(self.x), export(self.k), export(self.k), sinks=export(numpy.arange(4.0)), out=given)
            self.assertIs(found, given)
            self.assertTrue((out == wanted).all())
            found = posenc.attention(export(self.x), export(self.k), export(self.k), encoding=self.f)
            self.assertTrue((found == posenc.attention(self.x, self.k, self.k, encoding=self.f)).all())
            self.assertTrue((posenc.page_bounds(export(self.k), 4) == posenc.page_bounds(self.k, 4)).all())
        self.assertTrue((posenc.attend(self.x, self.k, self.k, mask=Exported(numpy.ones(9, bool), code=6), slots=Exported(numpy.arange(9), code=0))
                         == posenc.attend(self.x, self.k, self.k)).all())

    def test_of_bfloat16_need_no_type(self):
        def cut(x):
            return (x.view(numpy.uint32) >> 16).astype(numpy.uint16)

        exported = lambda words: Exported(words, code=4)
        x, k, out = cut(self.x), cut(self.k), numpy.empty((6, 4, 32), numpy.uint16)
        wanted = posenc.rope(x, range(6), self.f, type="bf16")
        posenc.rope(exported(x), range(6), self.f, out=exported(out))
        self.assertTrue((out == wanted).all())
        self.assertTrue((posenc.attend(exported(x), exported(k), exported(k)) == posenc.attend(x, k, k, type="bf16")).all())
        self.assertTrue((posenc.attend(self.x, k, k, type="bf16") == posenc.attend(self.x, exported(k), exported(k))).all())
        self.assertTrue((posenc.attend(x, k, k, type="bf16", out=out) == posenc.attend(exported(x), k, k, type="bf16", out=out.copy())).all())
        with self.assertRaisesRegex(posenc.Error, "keys must be .* uint16 with type='bf16', got uint16 and type=None"):
            posenc.attend(exported(x), k, k)
        bits = numpy.uint16([0x3f80, 0x4000] * 16)  # 1 and 2, a weight of a norm
        self.assertTrue((posenc.rotate(self.x.copy(), self.rows, eps=1, weight=exported(bits))
                         == posenc.rotate(self.x.copy(), self.rows, eps=1, weight=[1, 2] * 16)).all())
        found = posenc.attend(self.x, self.k, self.k, bias=exported(cut(numpy.ones((6, 9), numpy.float32))), sinks=exported(bits[:4]))
        self.assertTrue((found == posenc.attend(self.x, self.k, self.k, bias=numpy.ones((6, 9)), sinks=[1, 2, 1, 2])).all())

    @unittest.skipUnless(importlib.util.find_spec("ml_dtypes"), "ml_dtypes is not installed")
    def test_of_ml_dtypes(self):
        import ml_dtypes
        x = self.x.astype(ml_dtypes.bfloat16)
        found = posenc.rope(x, range(6), self.f)
        self.assertEqual(found.dtype, ml_dtypes.bfloat16)
        self.assertTrue((found.view(numpy.uint16) == posenc.rope(x.view(numpy.uint16), range(6), self.f, type="bf16")).all())
        posenc.rotate(x, self.rows)
        self.assertTrue((x == found).all())

    def test_must_have_memory_of_the_cpu_and_their_numbers(self):
        class Fails(Exported):
            def __dlpack__(self, **_):
                raise BufferError("it is locked")

        class Old(Exported):  # it does not say whether memory is only read, and NumPy takes it so
            def __dlpack__(self):
                return self.kept[0].__dlpack__()

        x = self.x.copy()
        for sentence, wrong in {
            "array must be an array of NumPy, or one in memory of the CPU that DLPack exports, got .*Exported on a device of type 2$":
                lambda: posenc.rotate(Exported(x, device=2), self.rows),
            "got .*Fails: it is locked$": lambda: posenc.rotate(Fails(x), self.rows),
            "got .*Exported of numbers of 8 bits that NumPy does not have": lambda: posenc.rotate(Exported(x, dtype_bits=8), self.rows),
            "got .*Exported of numbers of 32 bits that NumPy does not have": lambda: posenc.rotate(Exported(x, code=3), self.rows),
            "got .*Exported of vectors of 4 numbers": lambda: posenc.rotate(Exported(x, lanes=4), self.rows),
            "what is written must be writeable": lambda: posenc.rotate(Exported(x, read_only=True), self.rows),
            "written must be writeable": lambda: posenc.rotate(Old(x), self.rows),
            "out must be a writeable array": lambda: posenc.attend(self.x, self.k, self.k, out=Old(x)),
            "x must be float16, float32 or float64": lambda: posenc.rope(Exported(x, code=0), range(6), self.f),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()
        self.assertTrue((x == self.x).all())
        self.assertTrue((posenc.rope(Old(x), range(6), self.f) == self.turned).all())

    def test_keep_their_memory_and_free_it(self):
        class Once:
            def __dlpack__(self):
                return self.capsules.pop()

        x, given = self.k[..., 0].copy(), Once()
        given.capsules, there = [x.__dlpack__()], weakref.ref(x)
        cells = posenc.Cells(given)
        del x
        self.assertTrue(there() is not None and (cells.array == self.k[..., 0]).all())
        del cells
        self.assertIsNone(there())

    @unittest.skipUnless(torch, "PyTorch (Debian: python3-torch) is not installed")
    def test_are_tensors(self):
        for dtype, bound in ((torch.float32, 2e-6), (torch.float64, 2e-6), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)):
            with self.subTest(dtype):
                whole = torch.from_numpy(self.x).to(dtype).repeat(1, 2, 1)
                x, k = whole[:, 2:6], torch.from_numpy(self.k).to(dtype)
                before = whole.clone()
                found = posenc.rope(x, torch.arange(6), self.f)
                self.assertIsInstance(found, torch.Tensor)
                self.assertEqual((found.dtype, found.shape), (dtype, x.shape))
                wanted = rotated(x.double().numpy(), self.f.inv_freq, range(6), "halves", 0)
                numpy.testing.assert_allclose(found.double().numpy(), wanted, 0, bound)
                self.assertTrue(torch.equal(whole, before))
                rows = torch.from_numpy(self.f.rows(range(6), numpy.float64 if dtype == torch.float64 else numpy.float32))
                self.assertIs(posenc.rotate(x, rows), x)
                self.assertTrue(torch.equal(x, found) and torch.equal(whole[:, :2], before[:, :2]))
                mask = torch.ones(6, 9, dtype=torch.bool).tril(3)
                outputs, weights = posenc.attend(x, k, k, mask=mask, weights=True)
                again = posenc.attend(x.double().numpy(), k.double().numpy(), k.double().numpy(), causal=True)
                self.assertEqual(outputs.dtype, torch.float64 if dtype == torch.float64 else torch.float32)
                numpy.testing.assert_allclose(outputs.numpy(), again, 0, 2e-6)
                self.assertEqual(tuple(weights.shape), (4, 6, 9))
                out = torch.empty_like(x)
                self.assertIs(posenc.attention(x, k, k, encoding=self.f, causal=True, out=out), out)
                numpy.testing.assert_allclose(out.double().numpy(), posenc.attention(x, k, k, encoding=self.f, causal=True).double().numpy(), 0, bound)
        learned = torch.from_numpy(self.x).requires_grad_()
        for call in (lambda x: posenc.rope(x, range(6), self.f, out=torch.empty_like(x)), lambda x: posenc.attend(x, self.k, self.k),
                     lambda x: posenc.rotate(x, self.rows)):
            with self.assertRaisesRegex(posenc.Error, "(x|queries|array) must be .*, got torch.Tensor: .*gradient"):
                call(learned)

    @unittest.skipUnless(torch, "PyTorch (Debian: python3-torch) is not installed")
    def test_are_tensors_with_a_gradient(self):
        f = posenc.frequencies(rotary_dim=6, base=100)
        half = posenc.frequencies(inv_freq=f.inv_freq[:2], attention_factor=1.5)
        x, at = torch.from_numpy(self.x[:3, :2, :6]).double().repeat(2, 1, 1, 1).requires_grad_(), torch.tensor([[0, 1, 2], [5, 4, 9]])
        for of, layout in ((f, "halves"), (half, "interleaved"), (MODELS / "command-r7b.json", None)):
            turn = lambda x: posenc.rope(x, at, of, layout=layout, layer=3 if layout is None else None)
            self.assertTrue(torch.autograd.gradcheck(turn, x) and torch.autograd.gradgradcheck(turn, x))
            with torch.no_grad():
                self.assertFalse(turn(x).requires_grad)
        (posenc.rope(x, at, f).sum(2) * x.detach()[:, :, 0]).sum().backward()  # whose gradient is expanded
        wanted = posenc.rope(x.detach()[:, :, :1].expand_as(x).contiguous(), -at, f)
        numpy.testing.assert_allclose(x.grad.numpy(), wanted.numpy(), 0, 1e-12)
        transposed = x.detach().transpose(1, 2).contiguous().transpose(1, 2)
        self.assertTrue(torch.equal(posenc.rope(transposed, at, f), posenc.rope(x, at, f).detach()))
        posenc.rope(x, at, f).sum().backward()  # whose gradient is expanded
        self.assertEqual(x.grad.shape, x.shape)


class Types(unittest.TestCase):
    """posenc.pyi says what posenc.py takes, and a program with every call of it runs and passes mypy --strict."""

    FOLDER = pathlib.Path(posenc.__file__).parent

    def test_have_every_call(self):
        program = (self.FOLDER / "every_call.py").read_text()
        self.assertEqual([name for name in posenc.__all__ if not re.search(rf"\bposenc\.{name}\b", program)], [])
        with contextlib.redirect_stdout(io.StringIO()) as said:
            every_call.main([str(MODELS / "gemma-3-27b.json")])
        self.assertEqual(said.getvalue(), "True True True (3, 4, 128) (2, 4, 64)\n3 [2.449 1.949 0.818] True\n")

    def test_have_the_names_that_posenc_takes(self):
        stub = ast.parse((self.FOLDER / "posenc.pyi").read_text())
        names = {node.targets[0].id: ast.literal_eval(node.value.slice) for node in stub.body
                 if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and getattr(node.value.value, "id", "") == "Literal"}
        with self.assertRaises(posenc.Error) as rules:
            posenc.frequencies(rule="none")
        said = {"_Layout": posenc._LAYOUTS, "_Type": posenc._TYPES, "_Format": posenc._FORMATS, "_Axes": posenc._AXES, "_NormKind": posenc._NORMS,
                "_EpsPlace": posenc._EPS_PLACES, "_Rounding": posenc._ROUNDINGS, "_BothWays": posenc._BOTH_WAYS,
                "_Rule": re.search("one of (.*), got", str(rules.exception))[1].split(", ")}
        self.assertEqual(names, {name: tuple(one for one in values if one is not None) for name, values in said.items()})

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy (Debian: mypy) is not installed")
    def test_pass_mypy(self):
        with tempfile.TemporaryDirectory() as folder:
            allowed = pathlib.Path(folder) / "allowed"
            allowed.write_text("posenc.frequencies\n")  # whose overloads have no None that nobody writes
            wrong = pathlib.Path(folder) / "wrong.py"
            wrong.write_text("import posenc\nposenc.ring_slots(1, 2, 'x')\nposenc.frequencies(rule='yarm')\nposenc.frequencies('a').rows([1])\n")
            here = dict(os.environ, MYPYPATH=str(self.FOLDER), PYTHONPATH=str(self.FOLDER))
            for program, *arguments, errors in (("mypy.stubtest", "posenc", "--allowlist", str(allowed), 0),
                                                ("mypy", "--strict", "--cache-dir", folder, str(self.FOLDER / "every_call.py"), 0),
                                                ("mypy", "--strict", "--cache-dir", folder, str(wrong), 3)):
                ran = subprocess.run([sys.executable, "-m", program, *arguments], capture_output=True, text=True, cwd=folder, env=here)
                self.assertEqual((ran.returncode, ran.stdout.count(" error: ")), (bool(errors), errors), ran.stdout + ran.stderr)


class Program(unittest.TestCase):
    """What the program is asked, and what is made of its answer; tests/packages/wheel.py asks the program itself."""

    STAND_IN = """
        import json, pathlib, sys
        verb, *words = sys.argv[1:]
        if words == ["--help"]:
            print("  --json   print JSON, for programs" if verb in ("inspect", "verdict") else "  --csv FILE")
        elif "none" in words:
            sys.exit("posenc inspect: there is no model none")
        elif verb in ("inspect", "verdict"):
            files = [pathlib.Path(word).read_bytes().decode("latin1") for word in words if pathlib.Path(word).is_file()]
            print(json.dumps([words, files]))
            sys.exit(verb == "verdict")
        else:
            pathlib.Path(words[words.index("--csv") + 1]).write_text("distance,name,score\\n0,a,0.5\\n7,b,\\n")
    """

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program"
        self.program.write_text(f"#!{sys.executable}\n" + textwrap.dedent(self.STAND_IN).lstrip())
        self.program.chmod(0o700)
        self.enterContext(unittest.mock.patch.dict(os.environ, {"POSENC_PROGRAM": str(self.program)}))

    def test_is_asked(self):
        words, _ = posenc.ask("inspect", "llama-2-7b", base=10000, layer=[1, 2], as_llama=True, path=MODELS)
        self.assertEqual(words, ["llama-2-7b", "--base", "10000", "--layer", "1", "2", "--as-llama", "--path", str(MODELS), "--json"])
        words, (config,) = posenc.ask("verdict", {"model_type": "llama"})
        self.assertTrue(json.loads(config) == {"model_type": "llama"} and not pathlib.Path(words[0]).exists())
        for array in (numpy.arange(6.0).reshape(1, 2, 3), Exported(numpy.arange(6.0).reshape(1, 2, 3))):
            words, (stored,) = posenc.ask("inspect", q=array)
            self.assertTrue(words[0] == "--q" and (numpy.load(io.BytesIO(stored.encode("latin1"))).ravel() == range(6)).all())
        columns = posenc.ask("curves")
        self.assertEqual((columns["distance"].tolist(), columns["name"], columns["score"][0]), ([0, 7], ["a", "b"], 0.5))
        self.assertTrue(numpy.isnan(columns["score"][1]))

    def test_is_run_as_a_module(self):
        ran = subprocess.run([sys.executable, "-m", "posenc", "inspect", "a b"], capture_output=True, text=True, cwd=pathlib.Path(posenc.__file__).parent)
        self.assertEqual(json.loads(ran.stdout)[0], ["a b"])
        with unittest.mock.patch.dict(os.environ, {"POSENC_PROGRAM": "/no/such"}):
            ran = subprocess.run([sys.executable, "-m", "posenc"], capture_output=True, text=True, cwd=pathlib.Path(posenc.__file__).parent)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertRegex(ran.stderr, "^posenc: the program must be at /no/such, found none; cmake --workflow .* builds it in a checkout$")
            with self.assertRaisesRegex(posenc.Error, "the program must be at /no/such, found none"):
                posenc.ask("inspect")

    def test_says_what_is_wrong(self):
        with self.assertRaisesRegex(posenc.Error, "^posenc: ask: posenc inspect: there is no model none$"):
            posenc.ask("inspect", "none")
        for wrong in (None, False, 1j, {1: {2}}, object()):
            with self.assertRaisesRegex(posenc.Error, "posenc: ask: (layer|the dict) must"):
                posenc.ask("inspect", layer=wrong)
        with self.assertRaisesRegex(posenc.Error, "posenc: ask: the verb must be a name, got None"):
            posenc.ask(None)


class Layers(unittest.TestCase):
    def test_say_what_attention_takes(self):
        made = numpy.random.default_rng(4).standard_normal
        for model, layer in (("llama-3.1-8b.json", 0), ("gemma-3-27b.json", 0), ("gemma-3-27b.json", 5)):
            f = posenc.frequencies(MODELS / model, layer)
            q, k = (made((1100, heads, 16)).astype(numpy.float32) for heads in (2, 1))
            found = posenc.attend(q[-1], k, k, behind=f.window, ahead=f.ahead, chunk=f.chunk, cap=f.cap)
            first = 0 if f.window is None else 1100 - f.window
            seen = k[first:, 0].astype(float)
            scores = q[-1].astype(float) @ seen.T / 4
            weights = numpy.exp(scores - scores.max(-1, keepdims=True))
            numpy.testing.assert_allclose(found, weights / weights.sum(-1, keepdims=True) @ seen, 0, 2e-6)
        self.assertEqual((f.window, f.cap), (None, 0))

    def test_of_a_dict(self):
        file = MODELS / "gemma-3-27b.json"
        settings = json.loads(file.read_text())
        for layer in (0, 5):
            f, g = posenc.frequencies(settings, layer, 100), posenc.frequencies(file, layer, 100)
            self.assertTrue((f.inv_freq == g.inv_freq).all())
            self.assertEqual((f.window, f.layout, f.head_dim), (g.window, g.layout, g.head_dim))
        for sentence, wrong in (("the dict must have what a config.json has, got set$", {"model_type": {1}}),
                                ("the dict.* must be one that is known .tables of 2026-11., got the string .llamb.$", {"model_type": "llamb"}),
                                ("layer must be below", settings)):
            with self.assertRaisesRegex(posenc.Error, sentence):
                posenc.frequencies(wrong, 1000 if wrong is settings else 0)


class PlainArrays(unittest.TestCase):
    """rope and attention do all that a layer does by position, and change nothing that they are given."""

    def setUp(self):
        self.made = numpy.random.default_rng(16).standard_normal

    def floats(self, *shape):
        return self.made(shape).astype(numpy.float32)

    def test_are_rotated_as_their_config_has_it(self):
        for model, layout, first_dim, head_dim in (("llama-2-7b", "halves", 0, 128), ("gpt-j-6b", "interleaved", 0, 256),
                                                   ("deepseek-v3", "interleaved", 128, 192)):
            f = posenc.frequencies(MODELS / f"{model}.json")
            x = self.floats(2, 6, 3, head_dim)
            before, wanted = x.copy(), rotated(x, f.inv_freq, POSITIONS, layout, first_dim)
            for config in (f, MODELS / f"{model}.json", json.loads((MODELS / f"{model}.json").read_text())):
                with self.subTest(model, config=type(config)):
                    found = posenc.rope(x, POSITIONS, config)
                    numpy.testing.assert_allclose(found, wanted, 0, 2e-6)
                    self.assertTrue(found.dtype == numpy.float32 and (x == before).all())
            at = [POSITIONS, POSITIONS[::-1]]
            found = posenc.rope(x, at, f)
            for i in range(2):
                self.assertTrue((found[i] == posenc.rope(x[i], at[i], f)).all())
            self.assertTrue((posenc.rope(x, POSITIONS, f, out=(out := numpy.empty_like(x))) == out).all() and (out[0] == found[0]).all())
        other = posenc.rope(x[..., -64:], POSITIONS, posenc.frequencies(inv_freq=f.inv_freq), layout="interleaved")
        numpy.testing.assert_allclose(other, wanted[..., -64:], 0, 2e-6)

    def test_keep_their_type(self):
        f = posenc.frequencies(rule="p_rope", rotary_dim=32, base=100, p=0.5)
        self.assertEqual(numpy.count_nonzero(f.inv_freq), 8)
        x = self.made((6, 2, 40))
        for given, bound, more in ((x, 6 * ANGLE, {}), (x.astype(numpy.float16), 4e-3, {}),
                                   ((x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16), 3e-2, {"type": "bf16"})):
            found = posenc.rope(given, POSITIONS, f, **more)
            self.assertEqual(found.dtype, given.dtype)
            number = (lambda a: (a.astype(numpy.uint32) << 16).view(numpy.float32)) if more else lambda a: a
            numpy.testing.assert_allclose(number(found), rotated(number(given), f.inv_freq, POSITIONS, "halves", 0), 0, bound)

    def test_rotate_by_a_length_that_positions_say(self):
        file = MODELS / "phi-3.5-mini.json"
        x = self.floats(2, 1, 96)
        for at, length in (([0, 4095], 4096), ([4096, 1], 4097)):
            wanted = posenc.rope(x, at, posenc.frequencies(file, length=length))
            self.assertTrue((posenc.rope(x, at, file) == wanted).all())
            self.assertTrue((posenc.rope(x, at, file, length=1) == wanted).all() == (length == 4096))
        last = numpy.full(x.shape[-3], 2**63 - 1)  # no length has this position
        self.assertTrue((posenc.rope(x, last, file) == posenc.rope(x, last, file, length=2**63 - 1)).all())

    def test_are_left_by_a_layer_that_does_not_rotate(self):
        x = self.floats(6, 2, 128)
        found = posenc.rope(x, POSITIONS, MODELS / "command-r7b.json", layer=3)
        self.assertTrue((found == x).all() and not numpy.shares_memory(found, x))
        out = numpy.empty_like(x)
        self.assertIs(posenc.rope(x, POSITIONS, MODELS / "command-r7b.json", layer=3, out=out), out)
        self.assertTrue((out == x).all())

    def test_rotate_on_axes(self):
        file, at = MODELS / "qwen2-vl-7b.json", [[0, 5, 5, 5], [0, 1, 1, 2], [0, 1, 2, 1]]
        f, q, k = posenc.frequencies(file), self.floats(4, 4, 128), self.floats(4, 2, 128)
        turned = [posenc.rotate(x.copy(), f.rows(at)) for x in (q, k)]
        self.assertTrue((posenc.rope(q, at, file) == turned[0]).all())
        found = posenc.attention(q, k, k, encoding=file, query_positions=at, key_positions=at)
        self.assertTrue((found == posenc.attend(*turned, k, causal=True)).all())
        both = numpy.stack([at, numpy.array(at)[:, ::-1]], axis=1)  # [axes, batches, tokens]
        found = posenc.rope(numpy.stack([q, q]), both, file)
        for i in range(2):
            self.assertTrue((found[i] == posenc.rope(q, both[:, i], file)).all())

    def wanted(self, q, k, v, at, layer):
        """In double: layer has inv_freq, layout, first_dim, scale, near (of query and key positions), cap, slopes, beta."""
        if "inv_freq" in layer:
            q, k = (rotated(x, layer["inv_freq"], at, layer.get("layout", "halves"), layer.get("first_dim", 0)) for x in (q, k))
        group, at = q.shape[1] // k.shape[1], numpy.array(at)
        scores = numpy.einsum("qhd,khd->hqk", q.astype(float), k.repeat(group, 1)) * layer.get("scale", q.shape[2] ** -0.5)
        scores *= numpy.array([layer.get("beta", lambda p: 1)(p) for p in at])[:, None]
        scores -= numpy.array(layer.get("slopes", [0] * q.shape[1]))[:, None, None] * abs(at[:, None] - at)
        if "cap" in layer:
            scores = layer["cap"] * numpy.tanh(scores / layer["cap"])
        scores[:, ~layer.get("near", lambda q, k: q >= k)(at[:, None], at)] = -numpy.inf
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        return numpy.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v.repeat(group, 1))

    def test_attend_as_layers_of_models_do(self):
        series = lambda dim, base: base ** (-2 * numpy.arange(dim // 2) / dim)
        slopes = lambda heads: 2.0 ** (-8 * numpy.arange(1, heads + 1) / heads)
        near = lambda window: lambda q, k: (q >= k) & (q - k < window)
        at = [0, 1, 2, 500, 9000, 9001, 20000]
        for model, layer, heads, kv_heads, head_dim, said in (
                ("llama-2-7b", 0, 4, 2, 128, {"inv_freq": series(128, 1e4)}),
                ("gemma-3-27b", 0, 4, 2, 128, {"inv_freq": series(128, 1e4), "near": near(1024), "scale": 168**-0.5}),
                ("gemma-3-27b", 5, 4, 2, 128, {"inv_freq": series(128, 1e6) / 8, "scale": 168**-0.5}),
                ("gemma-2-27b", 1, 4, 2, 128, {"inv_freq": series(128, 1e4), "cap": 50, "scale": 144**-0.5}),
                ("command-r7b", 3, 4, 2, 128, {}),
                ("llama-4-scout", 3, 4, 2, 128, {"beta": lambda p: 1 + 0.1 * numpy.log1p((p + 1) // 8192)}),
                ("ministral-3-8b", 0, 4, 2, 128, {"inv_freq": posenc.frequencies(MODELS / "ministral-3-8b.json").inv_freq,
                                                  "beta": lambda p: 1 + 0.1 * numpy.log1p(p // 16384)}),
                ("mpt-7b", 0, 32, 32, 128, {"slopes": slopes(32)}),
                ("bloom-176b", 0, 112, 112, 128, {"slopes": [*slopes(64), *slopes(128)[:96:2]]}),
                ("modernbert-base", 1, 4, 4, 64, {"inv_freq": series(64, 1e4), "near": lambda q, k: abs(q - k) <= 64})):
            with self.subTest(model, layer=layer):
                q, k, v = self.floats(7, heads, head_dim), self.floats(7, kv_heads, head_dim), self.floats(7, kv_heads, 8)
                before, wanted = (q.copy(), k.copy()), self.wanted(q, k, v, at, said)
                found = posenc.attention(q, k, v, encoding=MODELS / f"{model}.json", layer=layer, query_positions=at, key_positions=at)
                numpy.testing.assert_allclose(found, wanted, 0, 4e-6)
                self.assertTrue((q == before[0]).all() and (k == before[1]).all())
                if "inv_freq" in said:
                    f = posenc.frequencies(MODELS / f"{model}.json", layer)
                    self.assertTrue((posenc.attention(q, k, v, encoding=f, query_positions=at, key_positions=at) == found).all())

    def test_attend_by_rules(self):
        q, k, v = self.floats(2, 5, 4, 32), self.floats(2, 9, 2, 32), self.floats(2, 9, 2, 8)
        f = posenc.frequencies(rotary_dim=32, base=100)
        self.assertTrue((posenc.attention(q, k, v) == posenc.attend(q, k, v)).all())
        self.assertTrue((posenc.attention(q, k, v, encoding="nope", causal=True) == posenc.attend(q, k, v, causal=True)).all())
        slopes = [0.25, 0.0625, 2**-6, 2**-8]
        self.assertEqual(posenc.alibi_slopes(4).tolist(), slopes)
        self.assertEqual(posenc.alibi_slopes(2, 4).tolist(), [0.25, 0.0625])
        self.assertTrue((posenc.attention(q, k, v, encoding="alibi") == posenc.attend(q, k, v, slopes=slopes)).all())
        turned = posenc.rope(q, range(4, 9), f), posenc.rope(k, range(9), f)
        for more in ({}, {"causal": True, "weights": True}, {"causal": True, "cap": 5}):
            found, wanted = posenc.attention(q, k, v, encoding=f, **more), posenc.attend(*turned, v, **more)
            for a, b in zip(found, wanted) if "weights" in more else ((found, wanted),):
                self.assertTrue((a == b).all())
        found = posenc.attention(q, k, v, encoding=f, lengths=[9, 7])
        alone = posenc.attention(q[1], k[1, :7], v[1, :7], encoding=f)
        self.assertTrue((found[1] == alone).all())

    def test_options_stand_before_the_layer(self):
        q, k = self.floats(5, 4, 128), self.floats(5, 2, 128)
        file = MODELS / "llama-2-7b.json"
        turned = posenc.rope(q, range(5), file), posenc.rope(k, range(5), file)
        for options, same in (({"causal": False}, {}), ({"behind": 2}, {"causal": True, "behind": 2}), ({"factor": 3.0}, {"causal": True, "factor": 3.0})):
            self.assertTrue((posenc.attention(q, k, k, encoding=file, **options) == posenc.attend(*turned, k, **same)).all())
        with_sinks = posenc.attention(self.floats(5, 4, 64), self.floats(5, 2, 64), self.floats(5, 2, 64),
                                      encoding=MODELS / "gpt-oss-20b.json", sinks=[0, 1, 2, 3])
        self.assertEqual(with_sinks.shape, (5, 4, 64))

    def test_errors(self):
        q, k = self.floats(2, 5, 4, 64), self.floats(2, 5, 2, 64)
        f = posenc.frequencies(rotary_dim=64, base=100)
        cache = posenc.Cache("f32", 1, 5, 2, 64)
        for sentence, wrong in {
            "attention: sinks must be given for this layer, which has a learned sink": lambda: posenc.attention(q, k, k, encoding=MODELS / "gpt-oss-20b.json"),
            "attention: bias must be given for this layer, which has a bias by distance": lambda: posenc.attention(q, k, k, encoding=MODELS / "t5-small.json"),
            "attention: layer must not be given with Frequencies": lambda: posenc.attention(q, k, k, encoding=f, layer=1),
            "attention: layout must not be given without an encoding that rotates, got .halves.": lambda: posenc.attention(q, k, k, layout="halves"),
            "attention: keys must be an array of NumPy, .*, got posenc.Cache": lambda: posenc.attention(q, cache, cache, encoding=f),
            r"attention: query_positions must be \[5\] or \[2, 5\], got int64 \[3, 5\]": lambda: posenc.attention(
                q, k, k, encoding=f, query_positions=numpy.zeros((3, 5), int)),
            r"rope: positions must be \[5\] or \[1, 5\], got int64 \[2, 5\]": lambda: posenc.rope(q[0], numpy.zeros((2, 5), int), f),
            "rope: there must be one row for each of 5 tokens": lambda: posenc.rope(q, [1, 2], f),
            "rope: positions must be integers or floats": lambda: posenc.rope(q, ["1"], f),
            "rope: positions must fit int64, got 9223372036854775808": lambda: posenc.rope(
                q, numpy.array([0, 1, 2, 3, 2**63], numpy.uint64), MODELS / "phi-3.5-mini.json"),
            "rope: the file must be a path, or a dict, got int": lambda: posenc.rope(q, range(5), 5),
            "rope: x must be an array of NumPy": lambda: posenc.rope([[1]], range(5), f),
            "rope: out must have the shape": lambda: posenc.rope(q, range(5), f, out=q[0].copy()),
            "alibi_slopes: heads must be an integer in": lambda: posenc.alibi_slopes(0),
            "alibi: max_bias must be finite and positive, got 0": lambda: posenc.alibi_slopes(4, 0),
            r"slopes must be \[4\] of real numbers, got float64 \[32\]": lambda: posenc.attention(q, k, k, encoding=MODELS / "mpt-7b.json"),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()


class Gradients(unittest.TestCase):  # tests/kernels/cases has the rules
    @staticmethod
    def arrays(dtype=float, batches=(2,), dims=(8, 6)):
        rng = numpy.random.default_rng(5)
        return [rng.standard_normal((*batches, tokens, heads, dim)).astype(dtype) for tokens, heads, dim in
                ((4, 4, dims[0]), (7, 2, dims[0]), (7, 2, dims[1]), (4, 4, dims[1]))]

    def check(self, arrays, **how):
        """Each number's gradient against differences of attention, in double."""
        *given, d = arrays
        outputs, sums = posenc.attention(*given, log_sum_exp=True, **how)
        found = posenc.attention_backward(*given, outputs, sums, d, **how)
        for threads in (2, 9):
            for x, y in zip(found, posenc.attention_backward(*given, outputs, sums, d, threads=threads, **how)):
                self.assertEqual(x.tobytes(), y.tobytes())

        def loss(n, way):
            moved = [x + way if i == n else x for i, x in enumerate(given)]
            return (d * posenc.attention(*moved, **how)).sum()

        for n, (x, gradient) in enumerate(zip(given, found)):
            self.assertEqual((x.shape, x.dtype), (gradient.shape, gradient.dtype))
            for at in numpy.ndindex(x.shape):
                if sum(at) % 5 == 0:
                    step = numpy.zeros_like(x)
                    step[at] = 2.0**-17
                    self.assertAlmostEqual(gradient[at], (loss(n, step) - loss(n, -step)) / 2.0**-16, 7, (n, at))
        return found

    def test_are_differences(self):
        f = posenc.frequencies(rotary_dim=6, base=100)
        scaled = posenc.frequencies(inv_freq=f.inv_freq, attention_factor=1.5)
        one = self.arrays(batches=())
        self.check(one)
        self.check(one, encoding=scaled, layout="interleaved", causal=True)
        self.check(one, encoding="alibi", mask=numpy.arange(28).reshape(4, 7) % 5 != 2, cap=1.5, sinks=[0, 1, 2, 3])
        self.check(self.arrays(), encoding=f, query_positions=[[3, 4, 9, 5], [6, 0, 1, 2]], causal=True, scale=0.7)
        self.check(self.arrays(), encoding=f.on_axes("contiguous", [1, 1, 1]), query_positions=numpy.arange(12).reshape(3, 4),
                   key_positions=numpy.arange(21).reshape(3, 7)[:, ::-1])
        *_, d_v = self.check(self.arrays(), encoding=f, lengths=[7, 3], causal=True, query_positions=[3, 4, 5, 6])
        self.assertTrue(d_v[1, :3].all() and not d_v[1, 3:].any())
        wide = [numpy.concatenate([x] * 32, axis=-1) / 6 for x in self.arrays(batches=(), dims=(8, 8))]
        self.check(wide, encoding=MODELS / "gemma-3-27b.json", layer=0)

    def test_are_of_the_types_of_arithmetic(self):
        doubles = self.arrays()
        *given, d = doubles
        outputs, sums = posenc.attention(*given, causal=True, log_sum_exp=True)
        wanted = posenc.attention_backward(*given, outputs, sums, d, causal=True)
        for dtype, bound in ((numpy.float32, 2e-6), (numpy.float16, 5e-3), (numpy.uint16, 4e-2)):
            named = {"type": "bf16", "causal": True} if dtype == numpy.uint16 else {"causal": True}
            *given, d = [(x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(dtype) if dtype == numpy.uint16 else x.astype(dtype) for x in doubles]
            outputs, sums = posenc.attention(*given, log_sum_exp=True, **named)
            for x, y in zip(wanted, posenc.attention_backward(*given, outputs, sums, d, **named)):
                self.assertEqual(y.dtype, numpy.float32)
                numpy.testing.assert_allclose(x, y, 0, bound * numpy.abs(x).max())
        for shape in ((0, 2, 8), (3, 2, 8)):  # of no tokens, of no dims
            k, v = numpy.ones(shape), numpy.ones((*shape[:2], 0))
            outputs, sums = posenc.attention(numpy.ones((2, 4, 8)), k, v, log_sum_exp=True, query_positions=[0, 1])
            found = posenc.attention_backward(numpy.ones((2, 4, 8)), k, v, outputs, sums, numpy.ones((2, 4, 0)), query_positions=[0, 1])
            self.assertEqual([x.shape for x in found], [(2, 4, 8), k.shape, v.shape])
            self.assertFalse(any(x.any() for x in found))

    def test_refuse(self):
        *given, d = self.arrays()
        outputs, sums = posenc.attention(*given, log_sum_exp=True)
        before = [x.copy() for x in (*given, outputs, sums, d)]
        with self.assertRaises(TypeError):
            posenc.attention_backward(*given, outputs, sums, d, window=3)
        for sentence, arrays, named in (
                (r"d_outputs must be an array of NumPy \[2, 4, 4, 6\], got float64 \[2, 4, 4, 5\]$", (outputs, sums, d[..., :5]), {}),
                (r"outputs must be an array of NumPy \[2, 4, 4, 6\], got list$", (outputs.tolist(), sums, d), {}),
                (r"d_outputs must be an array of NumPy .*, got numpy.ma.core.MaskedArray$|d_outputs must not be masked", (outputs, sums, numpy.ma.array(d)), {}),
                (r"log_sum_exp must be \[2, 4, 4\] of real numbers, got float64 \[4, 4\]$", (outputs, sums[0], d), {}),
                (r"log_sum_exp must be .*, got float64 \[0\]$", (outputs, None, d), {}),
                ("weights must not be given, which only attention has$", (outputs, sums, d), {"weights": True}),
                ("out must not be given, which only attention has$", (outputs, sums, d), {"out": outputs}),
                ("gradients of outputs must be doubles, got format 1$", (outputs, sums, d.astype(numpy.float32)), {}),
                ("queries, keys, values and outputs must be doubles alone or not at all", (outputs.astype(numpy.float32), sums, d), {}),
                ("keys and values must all have a slot$", (outputs, sums, d), {"slots": [0, 1, -1, 3, 4, 5, 6]}),
                ("cap must be finite and positive, got -1$", (outputs, sums, d), {"cap": -1.0}),
                ("threads must be an integer in", (outputs, sums, d), {"threads": 0})):
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, f"^posenc: attention_backward: ({sentence})"):
                posenc.attention_backward(*given, *arrays, **named)
        for x, y in zip(before, (*given, outputs, sums, d)):
            self.assertTrue((x == y).all())

    @unittest.skipUnless(torch, "PyTorch (Debian: python3-torch) is not installed")
    def test_are_those_of_tensors(self):
        f = posenc.frequencies(inv_freq=[1, 0.1, 0.01], attention_factor=1.25)
        q, k, v, d = (torch.from_numpy(x).requires_grad_() for x in self.arrays(batches=()))
        for how in ({}, {"encoding": f, "causal": True, "cap": 1.5, "sinks": [0, 1, 2, 3]}, {"encoding": "alibi", "behind": 3, "scale": 0.7, "threads": 2}):
            self.assertTrue(torch.autograd.gradcheck(lambda q, k, v: posenc.attention(q, k, v, **how), (q, k, v)))
        outputs, sums, weights = posenc.attention(q, k.detach(), v, encoding=f, log_sum_exp=True, weights=True)
        self.assertTrue(outputs.requires_grad and not sums.requires_grad and not weights.requires_grad)
        self.assertEqual((tuple(sums.shape), tuple(weights.shape)), ((4, 4), (4, 4, 7)))
        outputs.sum().backward()  # whose gradient is expanded
        wanted = posenc.attention_backward(q.detach(), k.detach(), v.detach(), outputs.detach(), sums, torch.ones_like(outputs), encoding=f)
        self.assertTrue(all(isinstance(x, torch.Tensor) for x in wanted))
        self.assertTrue(torch.equal(q.grad, wanted[0]) and torch.equal(v.grad, wanted[2]) and k.grad is None)
        with torch.no_grad():
            self.assertFalse(posenc.attention(q, k, v, encoding=f).requires_grad)
        transposed = q.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
        posenc.attention(transposed, k, v, encoding=f).sum().backward()
        self.assertTrue(torch.equal(transposed.grad, q.grad))
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            narrow = [x.detach().to(dtype).requires_grad_() for x in (q, k, v)]
            found = posenc.attention(*narrow, encoding=f)
            (found * d.detach().float()).sum().backward()
            exact = [x.detach().double().requires_grad_() for x in narrow]
            (posenc.attention(*exact, encoding=f) * d.detach()).sum().backward()
            for x, y in zip(narrow, exact):
                self.assertEqual(x.grad.dtype, dtype)
                bound = 3e-2 if dtype == torch.bfloat16 else 4e-3 if dtype == torch.float16 else 2e-6
                numpy.testing.assert_allclose(x.grad.double().numpy(), y.grad.numpy(), 0, bound * y.grad.abs().max().item())
        for sentence, call in (
                ("keys must be a tensor where another one requires a gradient, got float64", lambda: posenc.attention(q, k.detach().numpy(), v)),
                ("out must not be given where a tensor requires a gradient, got torch.Tensor", lambda: posenc.attention(q, k, v, out=torch.empty_like(d))),
                (r"bias must not require a gradient, which it would not get, got torch.Tensor.*; use bias.detach\(\)$",
                 lambda: posenc.attention(q, k, v, bias=torch.zeros(4, 4, 7).requires_grad_()))):
            with self.assertRaisesRegex(posenc.Error, f"^posenc: attention: {sentence}"):
                call()
        with self.assertRaises(RuntimeError):  # of gradients there are none
            again, = torch.autograd.grad(posenc.attention(q, k, v).sum(), q, create_graph=True)
            again.sum().backward()


class Page(unittest.TestCase):
    """The example of examples/README.md is the layer of the model, as its config.json says in its own words."""

    def test_is_the_layer_of_a_model(self):
        page = (ROOT / "examples" / "README.md").read_text()
        program, = re.findall(r"```python\n(import numpy, posenc\n.*?)```", page, re.DOTALL)
        at = [0, 7, 1_000_000]
        # 1 / scale squared, what hides the keys of other positions, cap, and whether later keys are seen.
        for model, per_score, near, cap, later in (
                ("gemma-3-27b.json", 168, lambda q, k: q - k < 1024, None, False), ("llama-3.1-8b.json", 128, None, None, False),
                ("gemma-2-27b.json", 144, lambda q, k: q - k < 4096, 50, False),
                ("llama-4-scout.json", 128, lambda q, k: q // 8192 == k // 8192, None, False),
                ("modernbert-base.json", 64, None, None, True)):
            with self.subTest(model):
                made = {}
                exec(program.replace("examples/models/llama-3.1-8b.json", str(MODELS / model)), made)
                k, v = made["k"].astype(float), made["v"].astype(float)
                turned = numpy.ones((3, 8, k.shape[2]))
                numpy.testing.assert_allclose(k, rotated(turned, made["f"].inv_freq, at, made["f"].layout, 0), 0, 2e-7)
                scores = numpy.einsum("qhd,khd->hqk", k, k) / per_score ** 0.5
                if cap is not None:
                    scores = cap * numpy.tanh(scores / cap)
                seen = [[(later or p <= q) and (near is None or near(q, p)) for p in at] for q in at]
                weights = numpy.where(seen, numpy.exp(scores - scores.max(-1, keepdims=True)), 0)
                wanted = numpy.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)
                numpy.testing.assert_allclose(made["outputs"], wanted, 0, 1e-5)
                self.assertTrue((made["same"] == made["outputs"]).all())


class Threads(unittest.TestCase):
    def setUp(self):
        made = numpy.random.default_rng(5).standard_normal
        self.q, self.k = made((64, 4, 32)).astype(numpy.float32), made((2000, 2, 32)).astype(numpy.float32)

    def test_that_cannot_start_end_the_call(self):
        start, out = _thread.start_new_thread, numpy.full((64, 4, 32), 7, numpy.float32)
        before = _thread._count()
        for most in (0, 1, 3):
            calls = []

            def fails(*work):
                calls.append(work)
                if len(calls) > most:
                    raise RuntimeError("can't start new thread")
                return start(*work)

            with unittest.mock.patch.object(_thread, "start_new_thread", fails), \
                    self.assertRaisesRegex(posenc.Error, "threads must be as many as can be started, got 9 .can't start new thread.$"):
                posenc.attend(self.q, self.k, self.k, threads=9, out=out)
            self.assertEqual(len(calls), most + 1)
            self.assertTrue((out == 7).all())
        self.end(before)

    def end(self, before):
        for _ in range(1000):
            if _thread._count() == before:
                return
            time.sleep(0.01)
        self.assertEqual(_thread._count(), before)

    def test_do_not_outnumber_the_work(self):
        wanted = posenc.attend(self.q, self.k, self.k, causal=True)
        started = []
        start = _thread.start_new_thread
        with unittest.mock.patch.object(_thread, "start_new_thread", lambda *work: (started.append(work), start(*work))):
            for threads in (1, 2, 5, 16):
                self.assertTrue((posenc.attend(self.q, self.k, self.k, causal=True, threads=threads) == wanted).all())
            self.assertEqual(len(started), 2 + 5 + 16)
            started.clear()
            one = posenc.attend(self.q[0], self.k[:512], self.k[:512], threads=2**40)  # two heads
            self.assertEqual(len(started), 2)
        self.assertTrue((one == posenc.attend(self.q[0], self.k[:512], self.k[:512])).all())

    def test_raise_an_interrupt_when_all_have_left(self):
        def interrupted(barrier, timeout=None):
            barrier.abort()
            raise KeyboardInterrupt

        before = _thread._count()
        with unittest.mock.patch.object(threading.Barrier, "wait", interrupted), self.assertRaises(KeyboardInterrupt):
            posenc.attend(self.q, self.k, self.k, threads=3)
        self.end(before)


    def ends(self, program):
        """What a program prints that would wait for good if an exception were lost."""
        head = f"""
            import os, signal, sys, threading, time
            sys.path.insert(0, {str(pathlib.Path(posenc.__file__).parent)!r})
            import numpy, posenc
            class Late(Exception):
                pass
            def late(*_):
                raise Late
            q, k = numpy.ones((600, 8, 64), numpy.float32), numpy.ones((4000, 2, 64), numpy.float32)
        """
        program = textwrap.dedent(head) + textwrap.dedent(program)
        ran = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.stderr, "", ran.stderr)
        return ran.stdout

    def test_leave_when_a_signal_handler_raises(self):
        for number, made, raised in (("SIGALRM", "signal.signal(signal.SIGALRM, late)", "Late"), ("SIGINT", "", "KeyboardInterrupt")):
            with self.subTest(number):
                self.assertEqual(self.ends(f"""
                    {made}
                    out, k = numpy.zeros(q.shape, numpy.float32), numpy.repeat(k, 6, axis=0)
                    def kick():
                        time.sleep(0.02)
                        os.kill(os.getpid(), signal.{number})
                    threading.Thread(target=kick).start()
                    try:
                        posenc.attend(q, k, k, threads=2, out=out)
                    except {raised}:
                        print("raised", (out == 1).all())
                """), "raised True\n")

    def test_leave_whenever_a_signal_handler_raises(self):
        self.assertEqual(self.ends("""
            signal.signal(signal.SIGALRM, late)
            ends = {"Late": 0, "none": 0}
            for i in range(400):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 5e-6 * (i + 1))
                    posenc.attend(q[:1], k[:512], k[:512], threads=2)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    ends["none"] += 1
                except Late:
                    ends["Late"] += 1
            print(sum(ends.values()), ends["Late"] > 0)
        """), "400 True\n")

    def test_leave_when_a_barrier_fails(self):
        self.assertEqual(self.ends("""
            wait, waits = threading.Barrier.wait, []
            def fails(barrier, timeout=None):
                waits.append(barrier)
                if len(waits) == 2:
                    raise MemoryError
                return wait(barrier, timeout)
            threading.Barrier.wait = fails
            try:
                posenc.attend(q, k, k, threads=3)
            except MemoryError:
                print("raised")
        """), "raised\n")


@unittest.skipUnless(torch, "PyTorch (Debian: python3-torch) is not installed")
class Torch(unittest.TestCase):
    def setUp(self):
        self.f = posenc.frequencies(rotary_dim=24, base=10000)
        torch.manual_seed(4)

    def test_rotates_every_type_layout_and_strides(self):
        for dtype, bound in ((torch.float32, 2e-6), (torch.float64, 6 * ANGLE), (torch.float16, 4e-3),
                             (torch.bfloat16, 3e-2)):
            rows = torch_rope.rows(self.f, POSITIONS, dtype)
            for layout in ("halves", "interleaved"):
                for first_dim in (0, 3, -24):
                    whole = torch.randn(2, 4, 7, 40).to(dtype)
                    x = whole.transpose(1, 2)[:, 1:]  # batches, tokens, heads, as Hugging Face has them
                    expected = rotated(x.double().numpy(), self.f.inv_freq, POSITIONS, layout, first_dim % 40)
                    before = whole.clone()
                    found = torch.ops.posenc.rotate(x, rows, layout, first_dim)
                    numpy.testing.assert_allclose(found.double().numpy(), expected, 0, bound)
                    self.assertTrue(torch.equal(whole, before))
                    torch.ops.posenc.rotate_(x, rows, layout, first_dim)
                    self.assertTrue(torch.equal(x, found))
                    self.assertTrue(torch.equal(whole[:, :, 0], before[:, :, 0]))

    def test_has_positions_of_each_batch(self):
        positions = torch.tensor([POSITIONS, POSITIONS[::-1]])
        x = torch.randn(2, 6, 3, 24)
        found = torch.ops.posenc.rotate(x, torch_rope.rows(self.f, positions), "halves", 0)
        for batch in range(2):
            alone = torch.ops.posenc.rotate(x[batch], torch_rope.rows(self.f, positions[batch]), "halves", 0)
            self.assertTrue(torch.equal(found[batch], alone))

    def test_has_a_gradient(self):
        rows = torch_rope.rows(self.f, POSITIONS, torch.float64)
        x = torch.randn(6, 2, 32, dtype=torch.float64, requires_grad=True)
        for layout in ("halves", "interleaved"):
            self.assertTrue(torch.autograd.gradcheck(
                lambda x: torch.ops.posenc.rotate(x, rows, layout, 5), x))

    def test_agrees_with_hugging_face_at_small_positions(self):
        positions = torch.arange(4)
        for layout in ("halves", "interleaved"):
            x = torch.randn(4, 2, 24)
            cos, sin = torch_rope.hugging_face_rows(torch.from_numpy(self.f.inv_freq.copy()), positions, x.dtype, layout)
            numpy.testing.assert_allclose(torch.ops.posenc.rotate(x, torch_rope.rows(self.f, positions), layout, 0),
                                          torch_rope.hugging_face_rotate(x, cos, sin, layout), 0, 4e-6)

    def test_errors_change_nothing(self):
        x, rows = torch.zeros(2, 1, 24), torch_rope.rows(self.f, [1, 2])
        for sentence, wrong in {
            "got torch.int32": (x.int(), rows, "halves", 0),
            "tokens, heads, head_dim": (x[0], rows, "halves", 0),
            "layout must be": (x, rows, "half", 0),
            "rows must be torch.float32 .2, 2. by pairs": (x, rows.double(), "halves", 0),
            r"got torch.float32 \[1, 2, 12\]": (x, rows[:1], "halves", 0),
            r"got torch.float32 \[2, 2, 0\]": (x, rows[..., :0], "halves", 0),
            "first_dim must be": (x, rows, "halves", 24),
            "rotary block": (x, rows, "halves", 1),
            "contiguous": (torch.zeros(2, 24, 2).transpose(1, 2), rows, "halves", 0),
            "heads must not repeat memory": (torch.zeros(2, 1, 24).expand(2, 3, 24), rows, "halves", 0),
            "use rotate": (x.clone().requires_grad_(), rows, "halves", 0),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                torch.ops.posenc.rotate_(*wrong)
        self.assertTrue((x == 0).all())
        with self.assertRaisesRegex(posenc.Error, "heads must not repeat memory"):
            torch.ops.posenc.rotate(x.expand(2, 3, 24), rows, "halves", 0)


class Profile(unittest.TestCase):
    def test_is_the_mean_score(self):
        f = posenc.frequencies(MODELS / "gpt-j-6b.json")
        found = posenc.profile(f, range(100), rho=0.5)
        expected = 0.5 * (2 * numpy.cos(angles(f.inv_freq, range(100))).sum(axis=1) + 192) / 16
        numpy.testing.assert_allclose(found, expected.astype(numpy.float64), rtol=1e-13)


class Curve(unittest.TestCase):
    def drawn(self, model):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            curve.main([str(MODELS / model)] + [str(pathlib.Path(folder) / "curve.svg")] * DRAWS)
        return said.getvalue()

    def test_is_drawn_or_printed(self):
        self.assertRegex(self.drawn("gemma-3-27b.json"),
                         r"curve\.svg" if DRAWS else r"layer 0, window 1024\ndistance +score\n +0 ")

    @unittest.skipIf(DRAWS, "matplotlib is there")
    def test_needs_matplotlib_for_a_file(self):
        with self.assertRaisesRegex(SystemExit, "curve.svg: is not drawn without matplotlib"):
            curve.main([str(MODELS / "gemma-3-27b.json"), "curve.svg"])

    def test_says_why_there_is_none(self):
        for model, why in (("gpt2.json", "no layer rotates"), ("no.such.json", "can be read")):
            with self.subTest(model), self.assertRaisesRegex(SystemExit, why):
                self.drawn(model)


class Errors(unittest.TestCase):
    def test_say_what_must_hold(self):
        f = posenc.frequencies(rotary_dim=8, base=100)
        on_axes = f.on_axes("contiguous", [2, 1, 1])
        rows, x = f.rows([1, 2]), numpy.zeros((2, 1, 8), numpy.float32)
        fixed = x.copy()
        fixed.flags.writeable = False
        for sentence, wrong in {
            "rule must be one of linear, ntk, .*, truncated, .*, axial, got yarm$": lambda: posenc.frequencies(rule="yarm", rotary_dim=8, base=100),
            "even": lambda: posenc.frequencies(rotary_dim=7, base=100),
            "no.such|file": lambda: posenc.frequencies("no.such.json"),
            "layer must be below": lambda: posenc.frequencies(MODELS / "gpt2.json", layer=99),
            "give a file, inv_freq": lambda: posenc.frequencies(),
            "positions must be integers or floats": lambda: f.rows(["1"]),
            "position must be finite and within .*, got NaN at token 1": lambda: f.rows([0.5, numpy.nan]),
            "position must be finite and within .*, got 1e\\+30": lambda: f.rows([1e30]),
            r"\[3 axes, tokens\] or \[tokens\], got int64 \[2, 2\]": lambda: on_axes.rows([[1, 2], [3, 4]]),
            "table_range must be 0 for frequencies on several axes, got 8": lambda: on_axes.rows([1], table_range=8),
            "axes must be given for each of the 4 pairs, got 3": lambda: f.on_axes("contiguous", [1, 2]),
            "axes must be one of by_pair, contiguous": lambda: f.on_axes("thw", [1, 2, 1]),
            "numbers must not be negative, got -1": lambda: f.on_axes("by_pair", [-1, 0, 0, 0]),
            "four sections, got 3": lambda: f.on_axes("ggml", [1, 2, 1]),
            "a base for each of the 2 axes, got 3": lambda: posenc.frequencies(rule="axial", dims=[2, 2], base=[1, 2, 3]),
            "table_range must be in \\[0, 2\\^32\\], got 8589934592": lambda: f.rows([1], table_range=2**33),
            "rho must be finite, got nan": lambda: posenc.profile(f, [0], rho=float("nan")),
            "the block must be an integer or 'largest', got 'x'": lambda: posenc.hadamard(x, "x"),
            "dtype must be float32": lambda: f.rows([1], numpy.float16),
            "dtype must be float32 or float64, got None": lambda: f.rows([1], None),
            "dtype must be float32 or float64, got .x.": lambda: f.rows([1], "x"),
            "positions must fit int64": lambda: f.rows(numpy.uint64([2**63])),
            "rows must be float64": lambda: posenc.rotate(x.astype(numpy.float64), rows),
            "one row for each of 2": lambda: posenc.rotate(x, f.rows([1, 2, 3])),
            "one row for each of": lambda: posenc.rotate(x, f.rows([])),
            "rotary block": lambda: posenc.rotate(x, rows, first_dim=1),
            "layout must be": lambda: posenc.rotate(x, rows, layout="half"),
            "3 or 4 axes": lambda: posenc.rotate(x[0], rows),
            "uint16 with": lambda: posenc.rotate(x.astype(numpy.int32), rows),
            "contiguous": lambda: posenc.rotate(numpy.zeros((2, 8, 1), numpy.float32).transpose(0, 2, 1)[..., ::-1], rows),
            "must not repeat": lambda: posenc.rotate(numpy.broadcast_to(x[:, :1], (2, 3, 8)), rows),
            "writeable": lambda: posenc.rotate(fixed, rows),
            "have the shape": lambda: posenc.rotate(x, rows, out=numpy.zeros((1, 1, 8), numpy.float32)),
            "overlap": lambda: self.overlapping(rows),
            r"first_dim must be an integer in \[-8, 8\), got -9": lambda: posenc.rotate(x, rows, first_dim=-9),
            "got 18446744073709551616": lambda: posenc.rotate(x, rows, first_dim=2**64),
            "out must be an array": lambda: posenc.rotate(x, rows, out=[[[0.0]]]),
            "table_range must be an integer in .*, got 18446744073709551621": lambda: f.rows([1], table_range=2**64 + 5),
            "layer must be an integer in .*, got -1": lambda: posenc.frequencies(MODELS / "gpt2.json", -1),
            "length must be an integer in .*, got -5": lambda: posenc.frequencies(MODELS / "gpt2.json", 0, -5),
            "null character": lambda: posenc.frequencies(f"{MODELS / 'gpt2.json'}\0"),
            "layer must not be given": lambda: posenc.frequencies(rotary_dim=8, base=100, layer=1),
            "attention_factor must not be given": lambda: posenc.frequencies(MODELS / "gpt2.json", attention_factor=2),
            "no parameter attention_factor": lambda: posenc.frequencies(rotary_dim=8, base=100, attention_factor=2),
            "factors must be \\[count\\] of real numbers, got int64 \\[1, 2\\]": lambda: posenc.frequencies(rule="divided_by_factors", of=f, factors=[[1, 2]]),
            "of must be of type Frequencies, got str": lambda: posenc.frequencies(rule="linear", of="f", factor=2),
        }.items():
            with self.subTest(sentence), self.assertRaisesRegex(posenc.Error, sentence):
                wrong()
        self.assertTrue((x == 0).all())

    def test_of_an_unknown_model_does_not_speak_of_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "c.json"
            file.write_text('{"model_type": "llamb"}')
            with self.assertRaisesRegex(posenc.Error, "must be one that is known .tables of 2026-11., got the string .llamb.$"):
                posenc.frequencies(file)

    def test_name_files_of_any_bytes(self):
        for file in (b"/no/such/\xff.json", "/no/such/\udcff.json", b"/no/such/\xe9\n.gguf"):
            with self.subTest(file), self.assertRaisesRegex(posenc.Error, r"/no/such/.x(ff|e9)"):
                posenc.frequencies(file)

    def overlapping(self, rows):
        memory = numpy.zeros(17, numpy.float32)
        posenc.rotate(memory[:16].reshape(2, 1, 8), rows, out=memory[1:].reshape(2, 1, 8))

    def test_belong_to_their_thread(self):
        found = []

        def fail(dim):
            for _ in range(200):
                try:
                    posenc.frequencies(rotary_dim=dim, base=100)
                except posenc.Error as error:
                    found.append(str(dim) in str(error))

        threads = [threading.Thread(target=fail, args=(dim,)) for dim in (7, 9, 11)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 600)


class Models(unittest.TestCase):
    CONFIG = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
              "hidden_size": 24, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}

    def write(self, folder):
        random, tensors = numpy.random.default_rng(1), {"model.embed_tokens.weight": (11, 24), "model.norm.weight": (24,)}
        for layer in range(2):
            of_layer = {"self_attn.q_proj": (32, 24), "self_attn.k_proj": (16, 24), "self_attn.v_proj": (16, 24),
                        "self_attn.o_proj": (24, 32), "mlp.gate_proj": (40, 24), "mlp.up_proj": (40, 24),
                        "mlp.down_proj": (24, 40), "input_layernorm": (24,), "post_attention_layernorm": (24,)}
            tensors |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in of_layer.items()}
        header, data = {"__metadata__": {"format": "pt"}}, b""
        for name, shape in tensors.items():
            tensors[name] = random.normal(size=shape).astype(numpy.float32)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + tensors[name].nbytes]}
            data += tensors[name].tobytes()
        text = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
        (folder / "config.json").write_text(json.dumps(self.CONFIG))
        return tensors

    def logits(self, tensors, ids):
        """The same in double, a token and a head at a time."""
        def norm(x, name):
            return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * tensors[name + ".weight"]

        tensors = {name: t.astype(float) for name, t in tensors.items()}
        x = tensors["model.embed_tokens.weight"][ids]
        angles = numpy.arange(len(ids))[:, None] * 10000.0 ** (-numpy.arange(4) / 4)
        for layer in ("model.layers.0.", "model.layers.1."):
            seen, heads = norm(x, layer + "input_layernorm"), []
            q, k, v = (seen @ tensors[f"{layer}self_attn.{name}_proj.weight"].T for name in "qkv")
            for head in range(4):
                def turned(all_heads, i):
                    a, b = all_heads[:, 8 * i:8 * i + 4], all_heads[:, 8 * i + 4:8 * i + 8]
                    return numpy.hstack((a * numpy.cos(angles) - b * numpy.sin(angles), b * numpy.cos(angles) + a * numpy.sin(angles)))

                kv = head // 2
                scores = turned(q, head) @ turned(k, kv).T / 8**0.5
                scores[numpy.triu_indices(len(ids), 1)] = -numpy.inf
                weights = numpy.exp(scores - scores.max(-1, keepdims=True))
                heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, 8 * kv:8 * kv + 8])
            x = x + numpy.hstack(heads) @ tensors[layer + "self_attn.o_proj.weight"].T
            seen = norm(x, layer + "post_attention_layernorm")
            gate, up = (seen @ tensors[f"{layer}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
            x = x + gate / (1 + numpy.exp(-gate)) * up @ tensors[layer + "mlp.down_proj.weight"].T
        return norm(x, "model.norm") @ tensors["model.embed_tokens.weight"].T

    def test_are_computed_as_formulas_have_them(self):
        ids = numpy.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            right = self.logits(self.write(folder), ids)
            config, tensors = model.read(folder)
            f = posenc.frequencies(folder / "config.json")
            self.assertLess(abs(model.logits(config, tensors, ids, f) - right).max(), 2e-4)  # of 20
            self.assertGreater(abs(model.logits(config, tensors, ids, None) - right).max(), 0.1)
            file, out = folder / "text.ids", io.StringIO()
            file.write_text(" ".join(map(str, ids)))
            with contextlib.redirect_stdout(out):
                model.main([name, str(file)])
            self.assertRegex(out.getvalue(), r"^as trained  +[\d.]+\nNoPE  +[\d.]+\nALiBi")

    @unittest.skipUnless(TRAINED.is_dir(), "no trained models")
    def test_cost_what_they_are_known_to(self):
        facts = {"as trained": "cross_entropy", **{name: f"changed.{fact}.cross_entropy" for name, fact in (
            ("NoPE", "no_rotation"), ("ALiBi", "alibi"), ("base x 50", "base_times_50"), ("base / 100", "base_over_100"),
            ("window 16", "window_16"))}}
        for name in "stories260K", "babyllama105", "tinystories656K":
            golden = json.loads((TRAINED / name / "golden.json").read_text())["texts"]["tim"]
            for change, cost in model.costs(TRAINED / name / "hf", numpy.array(golden["ids"])):
                with self.subTest(name, change=change):
                    self.assertAlmostEqual(cost, golden[facts[change]], delta=2e-5)


if __name__ == "__main__":
    print(f"posenc {posenc.version()}, {posenc.instruction_set()}", file=sys.stderr)
    unittest.main()
