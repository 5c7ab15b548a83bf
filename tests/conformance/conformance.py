"""Checks an engine's rotations against the conformance set. One file, needs NumPy alone.

    def rotate(x, positions, config):
        # x: [tokens, head_dim]; positions: [tokens] or [tokens, axes]; config: rope_parameters,
        # head_dim, rotary_dim, first_dim, layout, and length, max_position_embeddings and blocks
        # where they matter, as README.md says
        return rotated

    python3 conformance.py my_engine.py          # its function rotate; exit status 0: all is right
    python3 conformance.py my_engine.py:other    # another function

or with pytest, a test for each case:

    import conformance, pytest
    @pytest.mark.parametrize("case", conformance.cases(), ids=str)
    def test_rotate(case):
        conformance.check(case, rotate)          # skips what raises NotImplementedError

A case is right if each number is as near as its arithmetic allows (README.md says how near). For a
wrong one the verdict names the mistakes, at most two, that explain all its numbers; the program
`conformance` knows more of them.
"""

import argparse
import dataclasses
import importlib.util
import itertools
import json
import pathlib
import sys
import unittest

import numpy

RAMPS = {"yarn", "yarn_by_rotations", "llama3", "ntk_by_parts", "part_ntk"}
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


class Case:
    """What an engine gets, x, positions and config, and what it must answer, rotated."""

    def __init__(self, text):
        self.data = json.loads(text)
        d = self.data
        self.name = d["name"]
        known = ("rope_parameters", "head_dim", "rotary_dim", "first_dim", "layout", "blocks",
                 "length", "max_position_embeddings")
        self.config = {key: d[key] for key in known if key in d}
        self.x = numpy.array(d["input"])
        self.positions = numpy.array(d["positions"])
        self.rotated = numpy.array(d["rotated"])

    def __str__(self):
        return self.name


def cases(folder=None):
    """The cases about rotation, in the order of their names."""
    folder = pathlib.Path(folder or pathlib.Path(__file__).parent / "cases")
    texts = [file.read_text() for file in sorted(folder.glob("*.json"))]
    if not texts:
        raise FileNotFoundError(f"{folder}: must be the folder of the cases")
    return [Case(text) for text in texts if '"encoding": "rotary"' in text]


# ---- A way to rotate, right or wrong


@dataclasses.dataclass(frozen=True)
class Recipe:
    pairs: numpy.ndarray  # [pairs, 2]: dims
    inv_freq: numpy.ndarray  # [pairs]
    gain: numpy.ndarray  # [tokens, pairs]: the attention factor, and xPos's gain
    at: numpy.ndarray  # [tokens, pairs]: the position by which a pair turns
    sine: float = 1
    rows: str = "float64"  # type of cosines and sines
    angles: float = 2.0**-53  # unit roundoff with which angles are formed
    ramp: numpy.ndarray = 1  # [pairs]: how often the rounding of YaRN's ramp counts

    def rotate(self, x):
        angle = self.at * self.inv_freq
        cos, sin = (rounded(self.gain * of(angle), self.rows) for of in (numpy.cos, numpy.sin))
        first, second = self.pairs.T
        result = x.copy()
        result[:, first] = x[:, first] * cos - x[:, second] * sin * self.sine
        result[:, second] = x[:, first] * sin * self.sine + x[:, second] * cos
        return result

    def bounds(self, x, unit):
        """How far each number may be off."""
        log = numpy.abs(numpy.log(numpy.where(self.inv_freq > 0, self.inv_freq, 1)))
        relative = (4 + 2 * log + 2 * numpy.arange(len(log))) * self.ramp
        of_angle = numpy.minimum(2, numpy.abs(self.at * self.inv_freq) * relative * self.angles)
        first, second = self.pairs.T
        result = 2 * unit * numpy.abs(x) + 1e-40
        size = self.gain * (numpy.abs(x[:, first]) + numpy.abs(x[:, second]))
        result[:, first] = result[:, second] = size * (6 * unit + of_angle) + 1e-40
        return result


def rounded(x, precision):
    if precision == "bfloat16":  # to the nearest, ties to even
        bits = x.astype(numpy.float32).view(numpy.uint32)
        bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
        return bits.astype(numpy.uint32).view(numpy.float32).astype(numpy.float64)
    return x.astype(precision).astype(numpy.float64)


def plain(case):
    """The frequencies before a rule changes them, or None."""
    parameters, count = case.config["rope_parameters"], len(case.data["inv_freq"])
    if "rope_theta" not in parameters or "axis_dims" in parameters:
        return None
    return float(parameters["rope_theta"]) ** (-numpy.arange(count) / count)


def right(case):
    d = case.data
    inv_freq = numpy.array(d["inv_freq"])
    positions = case.positions.astype(float)
    axes = d.get("axis_of_pair", [0] * len(inv_freq))
    ramp, before, factor = 1, plain(case), d["rope_parameters"].get("factor", 1)
    if d["rope_parameters"]["rope_type"] in RAMPS:
        between = (inv_freq < before * (1 - 1e-9)) & (inv_freq > before / factor * (1 + 1e-9))
        ramp = numpy.where(between, before / inv_freq, 1)
    at = positions[:, axes] if positions.ndim == 2 else positions[:, None] + 0 * inv_freq
    gain = numpy.hypot(d["cos"], d["sin"]) if "cos" in d else d["attention_factor"] + 0 * at
    return Recipe(pairs=numpy.array(d["pairs"]), inv_freq=inv_freq, gain=gain, at=at, ramp=ramp)


# ---- Mistakes: each makes a recipe another, or None where it cannot be made. Their names are those
# of the program conformance.


def halves(first, dims):
    return first + numpy.arange(dims).reshape(2, dims // 2).T


def interleaved(first, dims):
    return first + numpy.arange(dims).reshape(dims // 2, 2)


def in_blocks(case, layout):
    blocks, first = case.config.get("blocks", 1), case.config["first_dim"]
    dims = 2 * len(case.data["pairs"]) // blocks
    return numpy.concatenate([layout(first + b * dims, dims) for b in range(blocks)])


def changed(**parts):
    return lambda case, r: dataclasses.replace(
        r, **{key: make(case, r) if callable(make) else make for key, make in parts.items()})


def only_if(holds, mistake):
    return lambda case, r: mistake(case, r) if holds(case, r) else None


def is_part(case, r):
    return case.config["rotary_dim"] < case.config["head_dim"]


def has_plain(case, r):
    return plain(case) is not None and len(plain(case)) == len(r.inv_freq)


def other_end(case, r):
    c = case.config
    return r.pairs + (c["head_dim"] - c["rotary_dim"] - 2 * c["first_dim"])


def partial_of_p_rope(case, r):
    turning = int(numpy.count_nonzero(r.inv_freq))
    if turning == len(r.inv_freq) or not has_plain(case, r):
        return None
    base = case.config["rope_parameters"]["rope_theta"]
    return dataclasses.replace(
        r, pairs=halves(0, 2 * turning), inv_freq=float(base) ** (-numpy.arange(turning) / turning),
        gain=r.gain[:, :turning], at=r.at[:, :turning], ramp=1)


MISTAKES = {
    "halves-for-interleaved": only_if(lambda c, r: c.config["layout"] == "interleaved",
                                      changed(pairs=lambda c, r: in_blocks(c, halves))),
    "interleaved-for-halves": only_if(lambda c, r: c.config["layout"] == "halves",
                                      changed(pairs=lambda c, r: in_blocks(c, interleaved))),
    "partial-at-other-end": only_if(is_part, changed(pairs=other_end)),
    "halves-of-whole-head": only_if(is_part, changed(
        pairs=lambda c, r: halves(0, c.config["head_dim"])[:len(r.pairs)])),
    "exponents-of-whole-head": only_if(lambda c, r: is_part(c, r) and has_plain(c, r), changed(
        inv_freq=lambda c, r: plain(c) ** (c.config["rotary_dim"] / c.config["head_dim"]))),
    "partial-for-p-rope": partial_of_p_rope,
    "axes-ignored": only_if(lambda c, r: c.positions.ndim == 2, changed(
        at=lambda c, r: c.positions[:, :1] + 0.0 * r.inv_freq)),
    "positions-from-1": changed(at=lambda c, r: r.at + 1),
    "index-for-position": changed(at=lambda c, r: numpy.arange(len(r.at))[:, None] + 0 * r.at),
    "rotates-the-other-way": changed(sine=-1),
    "not-rotated": changed(inv_freq=lambda c, r: 0 * r.inv_freq, gain=lambda c, r: 0 * r.gain + 1),
    "factor-missing": changed(gain=lambda c, r: r.gain / c.data["attention_factor"]),
    "factor-twice": changed(gain=lambda c, r: r.gain * c.data["attention_factor"]),
    "scaling-missing": only_if(has_plain, changed(inv_freq=lambda c, r: plain(c))),
    "rows-in-half": changed(rows="float16"),
    "rows-in-bfloat16": changed(rows="bfloat16"),
    "angles-in-float": changed(angles=2.0**-24),
}


# ---- Verdicts


@dataclasses.dataclass(frozen=True)
class Verdict:
    case: str
    status: str  # right, wrong, accepted or skipped
    mistakes: tuple = ()  # their names, where they are known
    says: str = ""

    def __str__(self):
        named = f": {' and '.join(self.mistakes)}" if self.mistakes else ""
        says = f"\n         {self.says}" if self.says else ""
        return f"{self.status.upper():8} {self.case}{named}{says}"


def answer(rotate, case, config, precision):
    dtype = numpy.float32 if precision == "bfloat16" else precision  # NumPy has no bfloat16
    x = case.x.astype(dtype)
    result = rotate(x, case.positions.copy(), config)
    return numpy.asarray(x if result is None else result, dtype=float)  # None: x was changed


def without_effect(rotate, case, key, precision):
    """Whether the answer is the same with another value of a number in rope_parameters."""
    parameters = case.config["rope_parameters"]
    if not isinstance(parameters.get(key), (int, float)):
        return False
    other = {**case.config, "rope_parameters": {**parameters, key: 2 * parameters[key]}}
    try:
        return numpy.array_equal(answer(rotate, case, other, precision),
                                 answer(rotate, case, case.config, precision))
    except Exception:  # the engine refuses the other value, so that it has an effect
        return False


def explained(case, rotate, got, precision):
    """The names of the mistakes that explain all numbers, the fewest."""
    def explain(names):
        recipe = right(case)
        for name in names:
            recipe = recipe and MISTAKES[name](case, recipe)
        if not recipe or recipe.pairs.max() >= case.x.shape[1]:
            return False
        off = numpy.abs(got - recipe.rotate(case.x))
        return (off <= recipe.bounds(case.x, UNITS[precision])).all()

    for name in MISTAKES:
        if explain([name]):
            return (name,)
    if without_effect(rotate, case, "rope_theta", precision):
        return ("theta-lost",)
    for names in itertools.combinations(MISTAKES, 2):
        if explain(names):
            return names
    return tuple(f"{key}-without-effect" for key in case.config["rope_parameters"]
                 if without_effect(rotate, case, key, precision))


def verdict(case, rotate, precision="float32", accept=()):
    """What an engine does in one case. precision: that in which heads are stored."""
    try:
        got = answer(rotate, case, case.config, precision)
    except NotImplementedError as error:
        return Verdict(case.name, "skipped", (), str(error))
    except Exception as error:
        return Verdict(case.name, "wrong", (), f"raises {type(error).__name__}: {error}")
    if got.shape != case.rotated.shape:
        says = f"must be of shape {case.rotated.shape}, is {got.shape}"
        return Verdict(case.name, "wrong", (), says)
    allowed = right(case).bounds(case.x, UNITS[precision])
    off = numpy.where(numpy.isfinite(got), numpy.abs(got - case.rotated), numpy.inf) / allowed
    if (off <= 1).all():
        return Verdict(case.name, "right")
    mistakes = explained(case, rotate, got, precision)
    t, d = numpy.unravel_index(numpy.argmax(off), off.shape)
    says = (f"{numpy.count_nonzero(off > 1)} of {off.size} numbers; rotated[{t}][{d}], position "
            f"{case.positions[t].tolist()} is {got[t, d]:.6g}, must be {case.rotated[t, d]:.6g}")
    taken = mistakes and set(mistakes) <= set(accept)
    return Verdict(case.name, "accepted" if taken else "wrong", mistakes, says)


def check(case, rotate, precision="float32", accept=()):
    """For pytest and unittest: AssertionError if the case is wrong, SkipTest if it is skipped."""
    found = verdict(case, rotate, precision, accept)
    if found.status == "skipped":
        raise unittest.SkipTest(found.says)
    assert found.status != "wrong", str(found)


def main():
    parser = argparse.ArgumentParser(
        description="Checks an engine's rotations against the conformance set.",
        epilog="Exit status 0: all right; 1: something is wrong; 2: bad input.")
    parser.add_argument("engine", metavar="FILE[:FUNCTION]",
                        help="Python, with a function rotate(x, positions, config)")
    parser.add_argument("--cases", help="the folder of the cases (that beside this file)")
    parser.add_argument("--precision", choices=UNITS, default="float32", help="of stored heads")
    parser.add_argument("--accept", action="append", default=[], metavar="MISTAKE",
                        help="the name of a mistake that is meant")
    parser.add_argument("--all", action="store_true", help="print cases that are right, too")
    o = parser.parse_args()
    file, _, function = o.engine.partition(":")
    try:
        spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, file)
        if spec is None:
            parser.error(f"{file}: must be a Python file")
        engine = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(engine)
        rotate, all_cases = getattr(engine, function or "rotate"), cases(o.cases)
    except (OSError, AttributeError) as error:
        parser.error(str(error))
    found = [verdict(case, rotate, o.precision, o.accept) for case in all_cases]
    for one in found:
        if o.all or one.status == "wrong":
            print(one)
    statuses = [one.status for one in found]
    counts = (f"{statuses.count(s)} {s}" for s in ("right", "wrong", "accepted", "skipped"))
    print(f"{o.engine}, {o.precision}: {', '.join(counts)}")
    return 1 if "wrong" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())
