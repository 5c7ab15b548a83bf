"""Checks an engine's rotations, norms and caches against the conformance set. One file, needs
NumPy alone. An engine has some of these functions; the cases of the others are skipped.

    def rotate(x, positions, config):
        # x: [tokens, head_dim]; positions: [tokens] or [tokens, axes]; config: rope_parameters,
        # head_dim, rotary_dim, first_dim, layout, and length, max_position_embeddings and blocks
        # where they matter, as README.md says
        return rotated
    def norm_and_rotate(x, positions, config):
        # config: norm, weight, rope_theta, layout, opposite, and rounding where it rounds
        return rotated
    def encode(x, config):
        # x: [head_dim]; config: format, and tensor_scale where the format has one
        return bytes_of_head                 # and the bytes of its scales if they are elsewhere

    python3 conformance.py my_engine.py          # exit status 0: all is right
    python3 conformance.py my_engine.py:other    # another function as rotate

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

try:
    import numpy
except ImportError as error:
    if __name__ != "__main__":
        raise
    print(f"conformance.py: NumPy must be installed, got: {error}", file=sys.stderr)
    sys.exit(2)

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
    of = step_verdict if isinstance(case, StepCase) else verdict
    found = of(case, rotate, precision, accept)
    if found.status == "skipped":
        raise unittest.SkipTest(found.says)
    assert found.status != "wrong", str(found)


# ---- Steps: norms with a rotation, rounded or not, and the formats of caches


class StepCase:
    """What norm_and_rotate or encode gets, x, positions and config, and what it must answer."""

    def __init__(self, text):
        self.data = d = json.loads(text)
        self.name = d["name"]
        self.function = "encode" if d["encoding"] == "cache_format" else "norm_and_rotate"
        known = ("norm", "weight", "rope_theta", "layout", "opposite", "rounding", "format",
                 "tensor_scale", "head_dim")
        self.config = {key: d[key] for key in known if key in d}
        self.x = numpy.array(d["input"])

    def __str__(self):
        return self.name


def step_cases(folder=None):
    """The cases of norm_and_rotate and of encode, in the order of their names."""
    folder = pathlib.Path(folder or pathlib.Path(__file__).parent / "steps")
    return [StepCase(file.read_text()) for file in sorted(folder.glob("*.json"))]


POINTS = {
    "none": (), "separate-calls": ("norm", "rotated"), "vllm-fused": ("cosines", "rotated"),
    "hugging-face": ("normalised", "norm", "cosines", "products", "rotated"),
    "sglang-fused": ("norm", "cosines", "products", "rotated")}


def norm_and_rotated(case, opposite=None, weight=None, points=None, **other):
    """The answer of a case, with other settings."""
    c = case.config
    norm = {**c["norm"], **other}
    points = c.get("rounding", ()) if points is None else points

    def at(point, x):
        return rounded(x, "bfloat16") if point in points else x

    def normed(x):
        r = (x * x).sum(1, keepdims=True) / (x.shape[1] if norm["kind"] == "rms" else 1)
        root = {"inside": numpy.sqrt(r + norm["eps"]), "outside": numpy.sqrt(r) + norm["eps"],
                "at_least": numpy.maximum(numpy.sqrt(r), norm["eps"])}[norm["eps_place"]]
        w = numpy.array(c.get("weight", 1) if weight is None else weight)
        return at("norm", at("normalised", x / root) * (w + norm["plus_one"]))

    count = case.x.shape[1] // 2
    pairs = {"halves": halves, "interleaved": interleaved}[c["layout"]](0, 2 * count)
    angle = numpy.outer(case.data["positions"], c["rope_theta"] ** (-numpy.arange(count) / count))
    if c["opposite"] if opposite is None else opposite:
        angle = -angle
    cos, sin = at("cosines", numpy.cos(angle)), at("cosines", numpy.sin(angle))
    x = normed(case.x) if norm["place"] == "before" else case.x.copy()
    u, v = x[:, pairs[:, 0]], x[:, pairs[:, 1]]
    for which, first, second in ((0, u * cos, v * -sin), (1, u * sin, v * cos)):
        both = at("products", first) + at("products", second)
        x[:, pairs[:, which]] = at("rotated", at("products", both))
    x = normed(x) if norm["place"] == "after" else x
    return rounded(x, "bfloat16") if "rounding" in c else x


def norm_mistakes(case):
    """By name, what an engine with that mistake answers."""
    c, norm = case.config, case.config["norm"]
    other_place = "after" if norm["place"] == "before" else "before"
    changes = {
        f"norm-{other_place}-rotation": {"place": other_place},
        "l2-for-rms" if norm["kind"] == "rms" else "rms-for-l2":
            {"kind": "l2" if norm["kind"] == "rms" else "rms"},
        "plus-one-missing" if norm["plus_one"] else "plus-one": {"plus_one": not norm["plus_one"]},
        "opposite-missing" if c["opposite"] else "rotates-the-other-way":
            {"opposite": not c["opposite"]},
        "weights-missing": {"weight": 1 - norm["plus_one"]},
        **{f"eps-{place.replace('_', '-')}": {"eps_place": place}
           for place in ("inside", "outside", "at_least") if place != norm["eps_place"]}}
    if "rounding" in c:
        changes = {**{f"rounds-as-{name}": {"points": points} for name, points in POINTS.items()
                      if points != tuple(c["rounding"])}, **changes}
    return {name: norm_and_rotated(case, **change) for name, change in changes.items()}


def norm_bounds(case, precision):
    """What arithmetic in a precision may lose: of norm and rotation, of a head's numbers."""
    if "rounding" in case.config:
        return numpy.zeros(case.x.shape)  # far from where a rounding turns: the same bits
    result = numpy.abs(case.data["result"]).max(1, keepdims=True)
    return (8 + case.x.shape[1] / 2) * UNITS[precision] * result + 0 * case.x


E4M3 = numpy.array([(8 + f) * 2.0 ** (e - 10) if e else f * 2.0**-9
                    for e in range(16) for f in range(8)][:127])


def format_mistakes(case, head):
    """By name, the codes that an encoder with that mistake gives."""
    first, group, _ = case.data["code_at"]
    scale = numpy.array(case.data["scale"][head]).repeat(group)
    x = case.x[head][:len(scale)] / numpy.where(scale > 0, scale, 1)
    if "e4m3" in case.config["format"] or "deepseek" in case.config["format"]:
        size = numpy.minimum(numpy.abs(x), 448)
        below = numpy.searchsorted(E4M3, size, "right") - 1
        above = numpy.minimum(below + 1, 126)
        down, up = size - E4M3[below], E4M3[above] - size
        nearest = numpy.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
        sign = numpy.where(x < 0, 128, 0)
        return {"rounds-to-zero": sign + below, "rounds-to-even": sign + nearest,
                "ties-away": sign + numpy.where(up <= down, above, below),
                "small-codes-are-0": sign + numpy.where(size < 2.0**-6, 0, nearest)}
    x += numpy.array(case.data["zero"][head]).repeat(group) if "zero" in case.data else 0
    least, most = (0, 255) if "zero" in case.data else (-128, 127)
    away = numpy.copysign(numpy.floor(numpy.abs(x) + 0.5), x)
    codes = {"rounds-to-zero": numpy.trunc(x), "rounds-to-even": numpy.rint(x), "ties-away": away}
    codes = {name: numpy.clip(code, least, most) for name, code in codes.items()}
    codes["least-code-is-127"] = numpy.maximum(codes["rounds-to-even"], -127)
    return {name: code.astype(int) & 255 for name, code in codes.items()}


def encoded(encode, case, x):
    answer = encode(x.astype(numpy.float32), case.config)
    return [bytes(part).hex() for part in (answer if isinstance(answer, tuple) else (answer,))]


def format_verdict(case, encode, precision):
    keys = [key for key in ("bytes", "scale_bytes") if key in case.data]
    got = [encoded(encode, case, x) for x in case.x]
    if any(len(parts) != len(keys) for parts in got):
        return Verdict(case.name, "wrong", (), f"must give {' and '.join(keys)} of a head")
    wrong = [(head, key, parts[i], case.data[key][head]) for head, parts in enumerate(got)
             for i, key in enumerate(keys) if parts[i] != case.data[key][head]]
    if not wrong:
        return Verdict(case.name, "right")
    head, key, mine, wanted = wrong[0]
    at = next((i for i in range(0, len(wanted), 2) if mine[i:i + 2] != wanted[i:i + 2]),
              len(wanted))
    says = (f"{len({w[0] for w in wrong})} of {len(got)} heads; byte {at // 2} of the {key} of "
            f"head {head} is {mine[at:at + 2] or 'missing'}, must be {wanted[at:at + 2] or 'none'}")

    def explains(name, of=got):
        first, group, stride = case.data["code_at"]
        for head, (mine, *scales) in enumerate(of):
            if scales and scales != [case.data["scale_bytes"][head]]:
                return False
            for i, code in enumerate(format_mistakes(case, head)[name]):
                place = 2 * (first + i // group * stride + i % group)
                is_code = int(mine[place:place + 2] or "0", 16)
                # The largest number is 127, or a little less, which is truncated.
                largest = name == "rounds-to-zero" and code in (126, 127, 129, 130)
                if is_code != code and not largest:
                    return False
        return True

    right = list(zip(*(case.data[key] for key in keys)))
    names = format_mistakes(case, 0) if "code_at" in case.data else ()
    names = [name for name in names if explains(name) and not explains(name, right)]
    return Verdict(case.name, "wrong", tuple(names[:1]), says)


def norm_verdict(case, norm_and_rotate, precision):
    dtype = numpy.float32 if precision == "bfloat16" else precision
    got = numpy.asarray(norm_and_rotate(case.x.astype(dtype), numpy.array(case.data["positions"]),
                                        case.config), dtype=float)
    wanted, bounds = numpy.array(case.data["result"]), norm_bounds(case, precision)
    if got.shape != wanted.shape:
        return Verdict(case.name, "wrong", (), f"must be of shape {wanted.shape}, is {got.shape}")
    off = numpy.where(numpy.isfinite(got), numpy.abs(got - wanted), numpy.inf)
    if (off <= bounds).all():
        return Verdict(case.name, "right")
    mistakes = [name for name, other in norm_mistakes(case).items()
                if (numpy.abs(got - other) <= bounds * (1 + numpy.abs(other).max())).all()]
    t, d = numpy.unravel_index(numpy.argmax(off - bounds), off.shape)
    says = (f"{numpy.count_nonzero(off > bounds)} of {off.size} numbers; result[{t}][{d}], "
            f"position {case.data['positions'][t]} is {got[t, d]:.8g}, must be {wanted[t, d]:.8g}")
    return Verdict(case.name, "wrong", tuple(mistakes[:1]), says)


def step_verdict(case, function, precision="float32", accept=()):
    """What an engine does in one case of a step. function: its encode or norm_and_rotate."""
    if function is None:
        return Verdict(case.name, "skipped", (), f"{case.function} is not given")
    try:
        found = {"encode": format_verdict, "norm_and_rotate": norm_verdict}[case.function](
            case, function, precision)
    except NotImplementedError as error:
        return Verdict(case.name, "skipped", (), str(error))
    except Exception as error:
        return Verdict(case.name, "wrong", (), f"raises {type(error).__name__}: {error}")
    taken = found.status == "wrong" and found.mistakes and set(found.mistakes) <= set(accept)
    return dataclasses.replace(found, status="accepted") if taken else found


def main():
    parser = argparse.ArgumentParser(
        description="Checks an engine's rotations, norms and caches against the conformance set.",
        epilog="Exit status 0: all right; 1: something is wrong; 2: bad input.")
    parser.add_argument("engine", metavar="FILE[:FUNCTION]",
                        help="Python, with rotate, norm_and_rotate or encode")
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
        functions = {name: getattr(engine, name, None) for name in ("norm_and_rotate", "encode")}
        rotate = getattr(engine, function) if function else getattr(engine, "rotate", None)
        if rotate is None and not any(functions.values()):
            parser.error(f"{file}: must have rotate, norm_and_rotate or encode")
        steps = pathlib.Path(o.cases).parent / "steps" if o.cases else None
        all_cases, all_steps = cases(o.cases), step_cases(steps)
    except (OSError, AttributeError) as error:
        parser.error(str(error))
    not_given = "rotate is not given"
    found = [verdict(case, rotate, o.precision, o.accept) if rotate else
             Verdict(case.name, "skipped", (), not_given) for case in all_cases]
    found += [step_verdict(case, functions[case.function], o.precision, o.accept)
              for case in all_steps]
    for one in found:
        if o.all or one.status == "wrong":
            print(one)
    statuses = [one.status for one in found]
    counts = (f"{statuses.count(s)} {s}" for s in ("right", "wrong", "accepted", "skipped"))
    print(f"{o.engine}, {o.precision}: {', '.join(counts)}")
    return 1 if "wrong" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())
