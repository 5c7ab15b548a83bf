"""Checks an engine's rotations, attention, norms and caches against the conformance set. One file,
needs NumPy alone. An engine has some of these functions; the cases of the others are skipped.

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
    def attend(q, k, v, config):
        # q: [queries, heads, head_dim]; k and v: [keys, kv_heads, ...]; config: scale, behind,
        # ahead, positions, and what else a case has
        return output                        # [queries, heads, value_dim]
    def layout_of(name, kind):
        # kind: general.architecture of GGUF, or model_type of config.json
        return "halves"                      # or "interleaved", or None of what it does not know

    python3 conformance.py my_engine.py                # exit status 0: all is right
    python3 conformance.py my_engine.py:other          # another function as rotate
    python3 conformance.py my_engine.py:attend=other
    python3 conformance.py my_engine.py --architecture qwen3
    python3 conformance.py --list-mistakes             # what can be named

or with pytest, a test for each case:

    import conformance, pytest
    @pytest.mark.parametrize("case", conformance.cases(), ids=str)
    def test_rotate(case):
        conformance.check(case, rotate)          # skips what raises NotImplementedError

A case is right if each number is as near as its arithmetic allows (README.md says how near). For a
wrong one the verdict names the mistakes, at most two, that explain all its numbers.
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
FUNCTIONS = ("rotate", "norm_and_rotate", "encode", "attend", "layout_of")
KINDS = ("model_type", "general.architecture")
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


class Case:
    """What rotate gets, x, positions and config, and what it must answer, rotated."""

    function = "rotate"

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
        self.others = ()  # the cases of the set
        self.hidden = ()  # what the engine must know by itself

    def __str__(self):
        return self.name


def cases(folder=None):
    """The cases about rotation, in the order of their names."""
    folder = pathlib.Path(folder or pathlib.Path(__file__).parent / "cases")
    texts = [file.read_text() for file in sorted(folder.glob("*.json"))]
    if not texts:
        raise FileNotFoundError(f"{folder}: must be the folder of the cases")
    found = [Case(text) for text in texts if '"encoding": "rotary"' in text]
    for case in found:
        case.others = found
    return found


# ---- A way to rotate, right or wrong


@dataclasses.dataclass(frozen=True)
class Recipe:
    pairs: numpy.ndarray  # [pairs, 2]: dims
    inv_freq: numpy.ndarray  # [pairs]
    gain: numpy.ndarray  # [tokens, pairs]: the attention factor, and xPos's gain
    at: numpy.ndarray  # [tokens, pairs]: the position by which a pair turns
    written: numpy.ndarray = None  # [pairs, 2]: dims, if not those that were read
    into_x: float = -1  # sign of y sin in x
    into_y: float = 1
    exchanged: bool = False  # cosine for sine
    times: int = 1
    rest: float = 1  # multiplies dims that do not rotate
    of_positions: str = "float64"  # types to which parts are rounded
    of_frequencies: str = "float64"
    of_angles: str = "float64"
    rows: str = "float64"
    frequency_unit: float = 2.0**-53  # unit roundoff with which angles are formed
    unit: float = 0  # of the arithmetic
    ramp: numpy.ndarray = 1  # [pairs]: how often the rounding of YaRN's ramp counts

    def rotate(self, x):
        angle = rounded(rounded(self.at, self.of_positions) *
                        rounded(self.inv_freq, self.of_frequencies), self.of_angles)
        cos, sin = (rounded(self.gain * of(angle), self.rows) for of in (numpy.cos, numpy.sin))
        if self.exchanged:
            cos, sin = sin, cos
        u, v = x[:, self.pairs[:, 0]], x[:, self.pairs[:, 1]]
        for _ in range(self.times):
            u, v = u * cos + self.into_x * v * sin, self.into_y * u * sin + v * cos
        first, second = (self.pairs if self.written is None else self.written).T
        result = self.rest * x
        result[:, first], result[:, second] = u, v
        return result

    def bounds(self, x, unit):
        """How far each number may be off."""
        unit = max(unit, self.unit)
        log = numpy.abs(numpy.log(numpy.where(self.inv_freq > 0, self.inv_freq, 1)))
        relative = (4 + 2 * log + 2 * numpy.arange(len(log))) * self.ramp
        of_angle = numpy.minimum(2, numpy.abs(self.at * self.inv_freq) * relative *
                                 self.frequency_unit)
        size = self.gain ** max(1, self.times) * max(1, self.times) * (
            numpy.abs(x[:, self.pairs[:, 0]]) + numpy.abs(x[:, self.pairs[:, 1]]))
        first, second = (self.pairs if self.written is None else self.written).T
        result = 2 * unit * numpy.abs(x) * self.rest + 1e-40
        result[:, first] = result[:, second] = size * (6 * unit + of_angle) + 1e-40
        return result


def rounded(x, precision):
    if precision == "float64":
        return x
    if precision == "bfloat16":  # to the nearest, ties to even
        bits = numpy.asarray(x, numpy.float32).view(numpy.uint32)
        bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
        return bits.astype(numpy.uint32).view(numpy.float32).astype(numpy.float64)
    with numpy.errstate(over="ignore"):
        return numpy.asarray(x).astype(precision).astype(numpy.float64)


# ---- The frequencies of the rules that models use


def series(base, dims, count):
    return float(base) ** (-2 * numpy.arange(count) / dims)


def plain(config, dims=None):
    """The frequencies before a rule changes them, or None."""
    parameters, dims = config["rope_parameters"], dims or config["rotary_dim"]
    if "rope_theta" not in parameters:
        return None
    if "axis_dims" in parameters:
        return numpy.concatenate([series(parameters["rope_theta"], d, d // 2)
                                  for d in parameters["axis_dims"]])
    return series(parameters["rope_theta"], dims, dims // 2)


def on_turns(config, before, slow, fast):
    p = config["rope_parameters"]
    turns = p["original_max_position_embeddings"] * before / (2 * numpy.pi)
    kept = (turns >= slow) * 1.0 if slow == fast else numpy.clip((turns - slow) / (fast - slow),
                                                               0, 1)
    return before / p["factor"] * (1 - kept) + before * kept


def on_pairs(config, before, truncate):
    p, dims = config["rope_parameters"], 2 * len(before)

    def pair(turns):
        length = p["original_max_position_embeddings"]
        return dims * numpy.log(length / (2 * numpy.pi * turns)) / (2 * numpy.log(p["rope_theta"]))

    low, high = pair(p.get("beta_fast", 32)), pair(p.get("beta_slow", 1))
    if truncate:
        low, high = numpy.floor(low), numpy.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    kept = 1 - numpy.clip((numpy.arange(len(before)) - low) / (high - low or 0.001), 0, 1)
    kept *= p.get("extrapolation", 1)
    return before / p["factor"] * (1 - kept) + before * kept


def longrope_list(config, is_long):
    return numpy.array(config["rope_parameters"]["long_factor" if is_long else "short_factor"])


def is_long(config):
    return config["length"] > config["rope_parameters"]["original_max_position_embeddings"]


def ntk(config, factor):
    dims, p = config["rotary_dim"], config["rope_parameters"]
    return series(p["rope_theta"] * factor ** (dims / (dims - 2)), dims, dims // 2)


def magnitude(p, m=1):
    return 0.1 * m * numpy.log(p["factor"]) + 1


def by_rule(config):
    """The frequencies and the attention factor of a rule, or None of one that is not known here."""
    p, before = config["rope_parameters"], plain(config)
    rule, attention = p["rope_type"], 1
    if before is None:
        return None
    if rule == "default":
        return before, 1
    if rule == "linear":
        return before / p["factor"], 1
    if rule == "ntk":
        return ntk(config, p["factor"]), 1
    if rule == "dynamic":
        ratio = max(1, config["length"] / config["max_position_embeddings"])
        return ntk(config, p["factor"] * ratio - (p["factor"] - 1)), 1
    if rule == "proportional":
        kept = int(p.get("partial_rotary_factor", 1) * config["head_dim"] // 2)
        return (numpy.arange(len(before)) < kept) * before / p.get("factor", 1), 1
    if rule == "llama3":
        return on_turns(config, before, p["low_freq_factor"], p["high_freq_factor"]), 1
    if rule == "yarn":
        if p.get("mscale") and p.get("mscale_all_dim"):
            attention = p.get("attention_factor", magnitude(p, p["mscale"]) /
                              magnitude(p, p["mscale_all_dim"]))
        else:
            attention = p.get("attention_factor", magnitude(p))
        return on_pairs(config, before, p.get("truncate", True)), attention
    if rule == "longrope" and len(p["short_factor"]) == len(before):
        length = p["original_max_position_embeddings"]
        attention = p.get("attention_factor", (1 + numpy.log(p["factor"]) / numpy.log(length))**.5)
        return before / longrope_list(config, is_long(config)), attention
    return None


def right(case):
    d = case.data
    inv_freq = numpy.array(d["inv_freq"])
    positions = case.positions.astype(float)
    axes = d.get("axis_of_pair", [0] * len(inv_freq))
    ramp, before, factor = 1, plain(case.config), d["rope_parameters"].get("factor", 1)
    if d["rope_parameters"]["rope_type"] in RAMPS:
        between = (inv_freq < before * (1 - 1e-9)) & (inv_freq > before / factor * (1 + 1e-9))
        ramp = numpy.where(between, before / inv_freq, 1)
    at = positions[:, axes] if positions.ndim == 2 else positions[:, None] + 0 * inv_freq
    gain = numpy.hypot(d["cos"], d["sin"]) if "cos" in d else d["attention_factor"] + 0 * at
    return Recipe(pairs=numpy.array(d["pairs"]), inv_freq=inv_freq, gain=gain, at=at, ramp=ramp)


# ---- Mistakes: each makes a recipe another, or others, or None where it cannot be made. They have
# the names that the programs conformance and verdict give them.


def halves(first, dims):
    return first + numpy.arange(dims).reshape(2, dims // 2).T


def interleaved(first, dims):
    return first + numpy.arange(dims).reshape(dims // 2, 2)


def in_blocks(case, layout, blocks=None):
    blocks, first = blocks or case.config.get("blocks", 1), case.config["first_dim"]
    dims = 2 * len(case.data["pairs"]) // blocks
    return numpy.concatenate([layout(first + b * dims, dims) for b in range(blocks)])


def parameters(case):
    return case.config["rope_parameters"]


def is_halves(case):
    return case.config["layout"] == "halves"


def is_part(case):
    return case.config["rotary_dim"] < case.config["head_dim"] and case.config.get("blocks", 1) == 1


def is_first_halves(case):
    return is_part(case) and is_halves(case) and case.config["first_dim"] == 0


def has_base(case):
    return plain(case.config) is not None


def has_one_series(case):
    return has_base(case) and "axis_dims" not in parameters(case)


def is_scaled(case):
    return has_base(case) and not numpy.allclose(case.data["inv_freq"], plain(case.config), 1e-9, 0)


def has_factor(case):
    return case.data["attention_factor"] != 1


def has_axes(case):
    return case.positions.ndim == 2


def has_rule(*names):
    return lambda case: parameters(case)["rope_type"] in names


def changes(*holds, **parts):
    """A mistake that changes parts of a recipe, where all of `holds` are so."""
    def make(case, r):
        if all(hold(case) for hold in holds):
            return dataclasses.replace(r, **{
                key: part(case, r) if callable(part) else part for key, part in parts.items()})
    return make


def resized(case, r, inv_freq, pairs, at=None):
    """Other pairs, by the first axis, as many as there are frequencies."""
    tokens, factor = numpy.ones((len(r.at), len(pairs))), case.data["attention_factor"]
    at = r.at[:, :1] * tokens if at is None else at
    return dataclasses.replace(r, inv_freq=inv_freq, pairs=pairs, at=at, gain=factor * tokens,
                               ramp=1)


def partial_ignored(case, r):
    if not is_part(case) or not has_base(case):
        return
    dims = case.config["head_dim"]
    pairs = (halves if is_halves(case) else interleaved)(0, dims)
    yield resized(case, r, plain(case.config, dims), pairs)
    other = by_rule({**case.config, "rotary_dim": dims})
    if other is None or "axis_dims" in parameters(case):
        return
    axes = numpy.zeros(dims // 2, int)
    axes[:len(r.inv_freq)] = case.data.get("axis_of_pair", 0)
    at = case.positions.reshape(len(r.at), -1)[:, axes].astype(float)
    yield resized(case, r, other[0], pairs, at)


def other_ends(case, r):
    c = case.config
    for first in {0, c["head_dim"] - c["rotary_dim"]} - {c["first_dim"]} if is_part(case) else ():
        yield dataclasses.replace(r, pairs=r.pairs - c["first_dim"] + first)


def of_whole_head(case, r):
    return halves(0, case.config["head_dim"])[:len(r.pairs)]


def exponents_of_head(case, r):
    return series(parameters(case)["rope_theta"], case.config["head_dim"], len(r.inv_freq))


def turning(case, r, standing):
    """p-RoPE's turning pairs on the first dims: with their frequencies, or those of a part."""
    count = numpy.count_nonzero(r.inv_freq)
    if has_rule("proportional", "truncated")(case) and 0 < count < len(r.inv_freq):
        base, layout = parameters(case)["rope_theta"], halves if is_halves(case) else interleaved
        inv_freq = r.inv_freq[:count] if standing else series(base, 2 * count, count)
        return resized(case, r, inv_freq, layout(0, 2 * count))


def axes_ignored(case, r):
    for axis in range(case.positions.shape[1]) if has_axes(case) else ():
        yield dataclasses.replace(r, at=case.positions[:, [axis]] + 0.0 * r.inv_freq)


def axes_in_other_order(case, r):
    if has_axes(case):
        for order in list(itertools.permutations(range(case.positions.shape[1])))[1:]:
            at = case.positions[:, order][:, case.data["axis_of_pair"]].astype(float)
            yield dataclasses.replace(r, at=at)


def of_axes(case, axis_of_pair):
    return case.positions[:, axis_of_pair].astype(float)


def in_sections(case, r):
    return of_axes(case, numpy.sort(case.data["axis_of_pair"]))


def alternating(case, r):
    counts = numpy.bincount(case.data["axis_of_pair"], minlength=3)
    i = numpy.arange(len(r.inv_freq))
    return of_axes(case, numpy.where(i < 3 * counts[i % 3], i % 3, 0))


def series_by_axis(case, r):
    axes = numpy.array(case.data["axis_of_pair"])
    before = numpy.array([numpy.count_nonzero(axes[:i] == axis) for i, axis in enumerate(axes)])
    return float(parameters(case)["rope_theta"]) ** (-before / numpy.bincount(axes)[axes])


def bases_of_others(case, r):
    if not has_one_series(case) or is_scaled(case):
        return
    for base in sorted({parameters(c).get("rope_theta", 0) for c in case.others} - {0}):
        if base != parameters(case)["rope_theta"]:
            yield dataclasses.replace(r, inv_freq=series(base, case.config["rotary_dim"],
                                                         len(r.inv_freq)))


def frequencies_of_others(case, r):
    """Of the other layers of the same model, whose case has another letter."""
    for other in case.others:
        same = other.name[:-1] == case.name[:-1] and case.name[-2] == "-"
        inv_freq = numpy.array(other.data["inv_freq"])
        if same and inv_freq.shape == r.inv_freq.shape and (inv_freq != r.inv_freq).any():
            yield dataclasses.replace(r, inv_freq=inv_freq)


def of(values, *holds):
    return changes(has_base, *holds, inv_freq=values, ramp=1)


def rule_missing(case, r):
    return plain(case.config)


AXES = (has_axes, lambda case: "axis_dims" not in parameters(case))
MISTAKES = {
    "halves-for-interleaved": changes(lambda c: not is_halves(c),
                                      pairs=lambda c, r: in_blocks(c, halves)),
    "interleaved-for-halves": changes(is_halves, pairs=lambda c, r: in_blocks(c, interleaved)),
    "written-in-other-layout": changes(
        written=lambda c, r: in_blocks(c, interleaved if is_halves(c) else halves)),
    "halves-of-other-blocks": changes(
        is_halves, lambda c: "axis_dims" in parameters(c), pairs=lambda c, r: in_blocks(
            c, halves, len(parameters(c)["axis_dims"]) if c.config.get("blocks", 1) == 1 else 1)),
    "partial-ignored": partial_ignored,
    "partial-at-other-end": other_ends,
    "exponents-of-whole-head": changes(is_part, has_one_series, inv_freq=exponents_of_head, ramp=1),
    "halves-of-whole-head": changes(is_first_halves, pairs=of_whole_head),
    "p-rope-for-partial": changes(is_first_halves, has_one_series, pairs=of_whole_head,
                                  inv_freq=exponents_of_head, ramp=1),
    "partial-for-p-rope": lambda c, r: turning(c, r, False),
    "pairs-of-partial": lambda c, r: turning(c, r, True),
    "p-rope-ignored": changes(has_rule("proportional", "truncated"), inv_freq=rule_missing),
    "axes-ignored": axes_ignored,
    "axes-in-other-order": axes_in_other_order,
    "sections-for-alternating": changes(*AXES, at=in_sections),
    "alternating-for-sections": changes(*AXES, lambda c: c.positions.shape[1] == 3, at=alternating),
    "one-series-over-axes": of(
        lambda c, r: series(parameters(c)["rope_theta"], 2 * len(r.inv_freq), len(r.inv_freq)),
        lambda c: "axis_dims" in parameters(c)),
    "series-by-axis": of(series_by_axis, *AXES),
    "positions-from-1": changes(at=lambda c, r: r.at + 1),
    "positions-from-minus-1": changes(at=lambda c, r: r.at - 1),
    "index-for-position": changes(at=lambda c, r: numpy.arange(len(r.at))[:, None] + 0 * r.at),
    "positions-in-float": changes(of_positions="float32"),
    "positions-in-bfloat16": changes(of_positions="bfloat16"),
    "rotates-the-other-way": changes(into_x=1, into_y=-1),
    "inverse-applied": changes(has_factor, into_x=1, into_y=-1, gain=lambda c, r: 1 / r.gain),
    "minus-missing": changes(into_x=1),
    "cos-sin-exchanged": changes(exchanged=True),
    "rotated-twice": changes(times=2),
    "not-rotated": changes(times=0),
    "factor-missing": changes(has_factor, gain=lambda c, r: r.gain / c.data["attention_factor"]),
    "factor-twice": changes(has_factor, gain=lambda c, r: r.gain * c.data["attention_factor"]),
    "factor-on-all-dims": changes(has_factor, is_part,
                                  rest=lambda c, r: c.data["attention_factor"]),
    "factor-of-plain-yarn": changes(
        has_rule("yarn", "longrope"),
        lambda c: abs(magnitude(parameters(c)) - c.data["attention_factor"]) > 1e-12,
        gain=lambda c, r: magnitude(parameters(c)) + 0 * r.gain),
    "scaling-missing": of(rule_missing, is_scaled),
    "rule-missing": changes(is_scaled, has_factor, inv_freq=rule_missing, ramp=1,
                            gain=lambda c, r: 1 + 0 * r.gain),
    "linear-for-rule": of(lambda c, r: plain(c.config) / parameters(c)["factor"],
                          lambda c: "factor" in parameters(c), lambda c: not has_rule("linear")(c)),
    "ntk-for-rule": of(lambda c, r: ntk(c.config, parameters(c)["factor"]), has_one_series,
                       lambda c: "factor" in parameters(c), lambda c: not has_rule("ntk")(c)),
    "scaling-twice": of(lambda c, r: numpy.array(c.data["inv_freq"])**2 / plain(c.config),
                        is_scaled),
    "frequencies-of-other-layers": frequencies_of_others,  # before a base that gives the same
    "base-of-another": bases_of_others,
    "both-ends-included": of(
        lambda c, r: series(parameters(c)["rope_theta"], c.config["rotary_dim"] - 2,
                            len(r.inv_freq)), has_one_series, lambda c: not is_scaled(c)),
    "exponents-from-1": of(
        lambda c, r: series(parameters(c)["rope_theta"], c.config["rotary_dim"],
                            len(r.inv_freq) + 1)[1:], has_one_series, lambda c: not is_scaled(c)),
    "ramp-rounded": changes(has_rule("yarn"), lambda c: not parameters(c).get("truncate", True),
                            inv_freq=lambda c, r: on_pairs(c.config, plain(c.config), True)),
    "ramp-not-rounded": changes(has_rule("yarn"), lambda c: parameters(c).get("truncate", True),
                                inv_freq=lambda c, r: on_pairs(c.config, plain(c.config), False)),
    "published-ramp": changes(has_rule("yarn"),
                              inv_freq=lambda c, r: on_turns(c.config, plain(c.config), 1, 32)),
    "coded-ramp": changes(has_rule("yarn_by_rotations", "ntk_by_parts", "llama3"),
                          inv_freq=lambda c, r: on_pairs(c.config, plain(c.config), True)),
    "extrapolation-ignored": changes(
        lambda c: "extrapolation" in parameters(c), inv_freq=lambda c, r: on_pairs(
            {**c.config, "rope_parameters": {**parameters(c), "extrapolation": 1}},
            plain(c.config), parameters(c).get("truncate", True))),
    "other-list": changes(has_rule("longrope"), inv_freq=lambda c, r: plain(c.config) /
                          longrope_list(c.config, not is_long(c.config))),
    "decay-missing": changes(has_rule("xpos"), gain=lambda c, r: 1 + 0 * r.gain),
    "decay-inverted": changes(has_rule("xpos"), gain=lambda c, r: 1 / r.gain),
    "angles-in-float": changes(of_positions="float32", of_frequencies="float32",
                               of_angles="float32"),
    "angles-in-bfloat16": changes(of_positions="bfloat16", of_frequencies="bfloat16",
                                  of_angles="bfloat16"),
    "frequencies-in-float": changes(of_frequencies="float32"),
    "frequencies-in-half": changes(of_frequencies="float16"),
    "frequencies-in-bfloat16": changes(of_frequencies="bfloat16"),
    "factor-in-half": changes(has_factor, gain=lambda c, r: rounded(r.gain, "float16")),
    "factor-in-bfloat16": changes(has_factor, gain=lambda c, r: rounded(r.gain, "bfloat16")),
    "rows-in-float": changes(rows="float32"),
    "rows-in-half": changes(rows="float16"),
    "rows-in-bfloat16": changes(rows="bfloat16"),
}
# These allow errors and predict none, so that others go before them.
LOOSE = {
    "angles-in-float": changes(frequency_unit=2.0**-24),
    "arithmetic-in-float": changes(unit=2.0**-24),
    "arithmetic-in-half": changes(unit=2.0**-11),
    "arithmetic-in-bfloat16": changes(unit=2.0**-8),
}


def made(mistake, case, recipe):
    """The sound recipes with a mistake in them."""
    found = mistake(case, recipe)
    for r in () if found is None else (found,) if isinstance(found, Recipe) else found:
        counts = {len(r.pairs), len(r.inv_freq), r.at.shape[1], r.gain.shape[1],
                  len(r.pairs if r.written is None else r.written), numpy.size(r.ramp)} - {1}
        if len(counts) == 1 and r.pairs.max() < case.x.shape[1]:
            yield r


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
    given = {key: value for key, value in config.items() if key not in case.hidden}
    result = rotate(x, case.positions.copy(), given)
    return numpy.asarray(x if result is None else result, dtype=float)  # None: x was changed


def without_effect(rotate, case, changed, precision):
    """Whether the answer is the same where a right one is another."""
    try:
        return numpy.array_equal(answer(rotate, case, {**case.config, **changed}, precision),
                                 answer(rotate, case, case.config, precision))
    except Exception:  # the engine refuses the other value, so that it has an effect
        return False


def keys_without_effect(rotate, case, precision):
    """Keys of rope_parameters on which the right answer depends, and this one does not. Where the
    rule is not known here, nothing is said."""
    known = by_rule(case.config)
    if known is None or not numpy.allclose(known[0], case.data["inv_freq"], 1e-9, 0):
        return
    for key, value in parameters(case).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if key == "partial_rotary_factor" and not has_rule("proportional")(case):
            continue  # rotary_dim says the same
        changed = {"rope_parameters": {**parameters(case), key: 2 * value}}
        other = by_rule({**case.config, **changed})
        differs = not numpy.allclose(other[0], known[0], 1e-6, 0) or other[1] != known[1]
        if differs and without_effect(rotate, case, changed, precision):
            yield key


def explained(case, rotate, got, allowed, precision):
    """The names of the mistakes that explain all numbers, the fewest."""
    unit, start = UNITS[precision], right(case)

    def misfit(recipe):
        return numpy.max(numpy.abs(got - recipe.rotate(case.x)) / recipe.bounds(case.x, unit))

    def best(mistakes, start):
        """Place among the mistakes that allow errors, misfit and name of the best."""
        fits = [(list(LOOSE).index(name) + 1 if mistakes is LOOSE else 0, misfit(r), name)
                for name, mistake in mistakes.items() for r in made(mistake, case, start)]
        return min((fit for fit in fits if fit[1] <= 1), key=lambda fit: fit[:2], default=None)

    with numpy.errstate(over="ignore", invalid="ignore"):
        found = best(MISTAKES, start)
        blamed = tuple(keys_without_effect(rotate, case, precision))
        if "rope_theta" in blamed and (not found or found[2] in ("base-of-another",
                                                                 "frequencies-of-other-layers")):
            return ("theta-lost",)
        if found:
            return (found[2],)
        whole = {"rotary_dim": case.config["head_dim"], "first_dim": 0, "rope_parameters": {
            key: value for key, value in parameters(case).items() if key != "partial_rotary_factor"
            or has_rule("proportional")(case)}}
        if is_part(case) and without_effect(rotate, case, whole, precision):
            return ("partial-ignored",)
        is_slip = numpy.count_nonzero(numpy.abs(got - case.rotated) > allowed) == 1
        if not is_slip and (found := best(LOOSE, start)):
            return (found[2],)
        pairs, names = [], list(MISTAKES)
        for i, first in enumerate(names):
            rest = {name: MISTAKES[name] for name in names[i + 1:]}
            for r in made(MISTAKES[first], case, start):
                seconds = best(rest, r), None if is_slip else best(LOOSE, r)
                pairs += [(*second[:2], first, second[2]) for second in seconds if second]
        if pairs:
            return min(pairs, key=lambda pair: pair[:2])[2:]
    return tuple(f"{key}-without-effect" for key in blamed)


def rotary_verdict(case, rotate, precision):
    got = answer(rotate, case, case.config, precision)
    if got.shape != case.rotated.shape:
        says = f"must be of shape {case.rotated.shape}, is {got.shape}"
        return Verdict(case.name, "wrong", (), says)
    allowed = right(case).bounds(case.x, UNITS[precision])
    off = numpy.where(numpy.isfinite(got), numpy.abs(got - case.rotated), numpy.inf) / allowed
    if (off <= 1).all():
        return Verdict(case.name, "right")
    mistakes = explained(case, rotate, got, allowed, precision)
    t, d = numpy.unravel_index(numpy.argmax(off), off.shape)
    says = (f"{numpy.count_nonzero(off > 1)} of {off.size} numbers; rotated[{t}][{d}], position "
            f"{case.positions[t].tolist()} is {got[t, d]:.6g}, must be {case.rotated[t, d]:.6g}")
    return Verdict(case.name, "wrong", mistakes, says)


def verdict(case, function, precision="float32", accept=()):
    """What an engine does in one case. function: that of the engine which the case is for, or None
    if it has none. precision: that in which heads are stored."""
    if function is None:
        return Verdict(case.name, "skipped", (), f"{case.function} is not given")
    judge = {"rotate": rotary_verdict, "norm_and_rotate": norm_verdict, "encode": format_verdict,
             "attend": attention_verdict, "layout_of": layout_verdict}[case.function]
    try:
        found = judge(case, function, precision)
    except NotImplementedError as error:
        return Verdict(case.name, "skipped", (), str(error))
    except Exception as error:
        return Verdict(case.name, "wrong", (), f"raises {type(error).__name__}: {error}")
    taken = found.status == "wrong" and found.mistakes and set(found.mistakes) <= set(accept)
    return dataclasses.replace(found, status="accepted") if taken else found


def check(case, function, precision="float32", accept=()):
    """For pytest and unittest: AssertionError if the case is wrong, SkipTest if it is skipped."""
    found = verdict(case, function, precision, accept)
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


# ---- Attention


class AttentionCase:
    """What attend gets, q, k, v and config, and what it must answer, output."""

    function = "attend"

    def __init__(self, text):
        self.data = d = json.loads(text)
        self.name = d["name"]
        rest = {"name", "covers", "source", "encoding", "query", "key", "value", "output"}
        self.config = {key: d[key] for key in d if key not in rest}
        for key in {"query_positions", "key_positions", "blocks", "valid", "sinks"} & set(d):
            self.config[key] = numpy.array(d[key])
        if "bias" in d:
            self.config["bias"] = numpy.array([[-numpy.inf if x is None else x for x in row]
                                               for row in d["bias"]])
        self.q, self.k, self.v, self.output = (
            numpy.array(d[key]) for key in ("query", "key", "value", "output"))

    def __str__(self):
        return self.name


def attention_cases(folder=None):
    """The cases of attend, in the order of their names."""
    folder = pathlib.Path(folder or pathlib.Path(__file__).parent / "attention")
    return [AttentionCase(file.read_text()) for file in sorted(folder.glob("*.json"))]


def visible(c):
    """Which keys a query sees, [queries, keys], but for those that the bias hides."""
    queries, keys = len(c["query_positions"]), len(c["key_positions"])
    distance = c["query_positions"][:, None] - c["key_positions"]
    sees = numpy.ones((queries, keys), bool)
    if c["behind"] is not None:
        sees &= distance <= c["behind"]
    if c["ahead"] is not None:
        sees &= distance >= -c["ahead"]
    if c.get("chunk"):
        chunk = c["chunk"]
        sees &= c["query_positions"][:, None] // chunk == c["key_positions"] // chunk
    if c.get("blocks") is not None:
        of_queries = c["blocks"][keys - queries:, None]
        together = (of_queries == c["blocks"]) & (of_queries != 0)
        if c["both_ways"] == "image_within_window" and c["behind"] is not None:
            together &= distance <= c["behind"]
        sees |= together
    if c.get("documents"):
        of_tokens = numpy.repeat(numpy.arange(len(c["documents"])), c["documents"])
        sees &= of_tokens[keys - queries:, None] == of_tokens
    if c.get("valid") is not None:
        sees &= c["valid"]
    return sees


def slopes_of(model_heads, max_bias=8, first=1, series=False):
    power = model_heads if series else 1 << model_heads.bit_length() - 1
    steps = [h + first if h < power else h - power + 0.5 * first for h in range(model_heads)]
    return 2.0 ** (-max_bias * numpy.array(steps) / power)


def attended(case, unit=0, **change):
    """The outputs of a case with changed settings, or computed in another way, and how far each
    may be off where arithmetic has a unit roundoff."""
    c, q, k, v = {**case.config, **change}, case.q, case.k, case.v
    heads, kv_heads = q.shape[1], k.shape[1]
    kv_head = c.get("kv_head", lambda h: h // (heads // kv_heads))(numpy.arange(heads))
    sees = visible(c)
    bias = 0 if c.get("bias") is None else c["bias"]
    if c.get("alibi"):
        a = c["alibi"]
        slopes = a["slopes"] if "slopes" in a else slopes_of(a["heads"], a["max_bias"])[
            a["first_head"]:a["first_head"] + heads]
        distance = c["query_positions"][:, None] - c["key_positions"]
        distance = distance if a.get("signed") else numpy.abs(distance)
        bias = bias - slopes[:, None, None] * distance

    def capped(x):
        if not c.get("cap"):
            return x
        cap = c["cap"]
        return numpy.clip(x, -cap, cap) if c.get("clips") else cap * numpy.tanh(x / cap)

    scale, hidden = c["scale"], numpy.where(sees, 0, -numpy.inf)
    dots = numpy.einsum("thd,shd->hts", q, k[:, kv_head])
    if c.get("caps") == "after the mask":
        x = capped(scale * dots + bias + hidden)
    elif c.get("caps") == "before the scale":
        x = scale * capped(dots) + bias + hidden
    else:
        x = capped(scale * dots) + bias + hidden
    n = numpy.isfinite(x).sum(2, keepdims=True)
    if c.get("log_n"):
        length = c["log_n"]["trained_length"]
        counted = numpy.maximum(c["log_n"].get("n", n), 1)
        x = x * numpy.maximum(c["log_n"].get("least", 1), numpy.log(counted) / numpy.log(length))
    others = numpy.full((heads, 1, 1), -numpy.inf)  # what has a weight and no value
    if c.get("sinks") is not None:
        others = c["sinks"][:, None, None]
    if c.get("padded") and c.get("cap"):
        others = numpy.logaddexp(others, numpy.log(c["padded"]) - c["cap"])
    largest = numpy.maximum(x.max(2, keepdims=True), others)
    largest = numpy.where(numpy.isfinite(largest), largest, 0)
    e = numpy.exp(x - largest)
    total = e.sum(2, keepdims=True) + numpy.exp(others - largest)
    weights = numpy.where(n > 0, e / numpy.where(total > 0, total, 1), c.get("empty", 0))
    sizes = numpy.einsum("thd,shd->hts", numpy.abs(q), numpy.abs(k[:, kv_head]))
    of_score = abs(scale) * sizes * (q.shape[2] + 8) + 8 * numpy.abs(numpy.where(n > 0, bias, 0))
    of_score = numpy.where(numpy.isfinite(of_score) & numpy.isfinite(x), of_score, 0).max(2)
    most = numpy.abs(v).max(0)[kv_head].max(1)  # of each head
    bounds = (2 * of_score + 16 + len(k) / 2) * unit * most[:, None]
    return numpy.einsum("hts,shd->thd", weights, v[:, kv_head]), bounds.T[:, :, None] + 1e-40


def if_has(key, change):
    return lambda c: change(c) if c.config.get(key) is not None else None


def slopes_changed(factor=1, **how):
    """ALiBi with other slopes of the model's heads."""
    def change(case):
        a = case.config["alibi"]
        slopes = slopes_of(a["heads"], **how)[a["first_head"]:][:case.q.shape[1]]
        return {"alibi": {**a, "slopes": slopes * (factor(case) if callable(factor) else factor)}}
    return if_has("alibi", change)


def windows(change):
    """Of a window's length, behind and on both sides."""
    def make(c):
        behind, ahead = c.config["behind"], c.config["ahead"]
        if behind is not None and change(behind) >= 0:
            yield {"behind": change(behind)}
            if ahead:
                yield {"behind": change(behind), "ahead": max(0, change(ahead))}
    return make


def log_n_changed(case, **change):
    return {"log_n": {**case.config["log_n"], **change}}


def is_causal(c):
    return c.config["ahead"] == 0


def tiles(c):
    for tile in (2**i for i in range(2, 10)):
        if len(c.k) % tile:
            yield {"padded": tile - len(c.k) % tile}


def mixed(c):
    queries, keys = len(c.q), len(c.k)
    yield {"documents": None}
    yield {"documents": None, "key_positions": numpy.arange(keys),
           "query_positions": numpy.arange(keys - queries, keys)}


# Each gives what is changed, or several changes, or None where the mistake cannot be made.
ATTENTION_MISTAKES = {
    "scale-missing": lambda c: {"scale": 1},
    "score-factor-missing": lambda c: {"scale": c.q.shape[2] ** -0.5},
    "scale-twice": lambda c: {"scale": c.config["scale"] ** 2},
    "mscale-once": if_has("rope_parameters", lambda c: {
        "scale": (c.config["scale"] * c.q.shape[2] ** -0.5) ** 0.5}),
    "cap-missing": if_has("cap", lambda c: {"cap": None}),
    "cap-clips": if_has("cap", lambda c: {"clips": True}),
    "cap-after-mask": if_has("cap", lambda c: {"caps": "after the mask"}),
    "cap-before-scale": if_has("cap", lambda c: {"caps": "before the scale"}),
    "cap-on-padding": if_has("cap", tiles),
    "groups-modulo": lambda c: {"kv_head": lambda h: h % c.k.shape[1]},
    "first-kv-head": lambda c: {"kv_head": lambda h: 0 * h},
    "causal-missing": lambda c: {"ahead": None} if is_causal(c) else None,
    "causal-for-both": lambda c: None if is_causal(c) else {"ahead": 0},
    "causal-from-top-left": lambda c: {"query_positions": numpy.arange(len(c.q))},
    "own-key-hidden": lambda c: {"ahead": -1} if is_causal(c) else None,
    "next-key-seen": lambda c: {"ahead": 1} if is_causal(c) else None,
    "window-missing": if_has("behind", lambda c: {
        "behind": None, "ahead": None if c.config["ahead"] else c.config["ahead"]}),
    "window-one-larger": windows(lambda n: n + 1),
    "window-one-smaller": windows(lambda n: n - 1),
    "window-on-both-sides": if_has("behind", lambda c: {"ahead": c.config["behind"]}),
    "window-doubled": windows(lambda n: 2 * n),
    "window-halved": windows(lambda n: n // 2),
    "chunk-missing": if_has("chunk", lambda c: {"chunk": None}),
    "window-for-chunk": if_has("chunk", lambda c: {"behind": c.config["chunk"] - 1, "chunk": None}),
    "both-ways-missing": if_has("blocks", lambda c: {"blocks": None}),
    "images-joined": if_has("blocks", lambda c: {"blocks": numpy.minimum(c.config["blocks"], 1)}),
    "window-cuts-images": if_has("behind", lambda c: {"both_ways": "image_within_window"}),
    "images-beyond-window": if_has("blocks", lambda c: {"both_ways": "image"}),
    "padding-seen": if_has("valid", lambda c: {"valid": None}),
    "documents-mixed": if_has("documents", mixed),
    "mask-missing": if_has("bias", lambda c: {"bias": None}),
    "mask-as-booleans": if_has("bias", lambda c: {
        "bias": numpy.where(c.config["bias"] == -numpy.inf, -numpy.inf, 0)}),
    "empty-rows-mean": lambda c: {"empty": 1 / len(c.k)},
    "empty-rows-nan": lambda c: {"empty": numpy.nan},
    "temperature-missing": if_has("log_n", lambda c: {"log_n": None}),
    "log-n-of-batch": if_has("log_n", lambda c: [
        log_n_changed(c, n=n) for n in (len(c.k), numpy.arange(len(c.q))[:, None] + 1)
        if numpy.ndim(n) == 0 or c.config.get("documents")]),
    "log-n-of-position": if_has("log_n", lambda c: log_n_changed(
        c, n=c.config["query_positions"][:, None] + 1)),
    "log-n-flattens": if_has("log_n", lambda c: log_n_changed(c, least=1e-9)),
    "sinks-missing": if_has("sinks", lambda c: {"sinks": None}),
    "sinks-scaled": if_has("sinks", lambda c: {"sinks": c.config["scale"] * c.config["sinks"]}),
    "sinks-of-kv-heads": if_has("sinks", lambda c: {"sinks": c.config["sinks"][
        numpy.arange(c.q.shape[1]) // (c.q.shape[1] // c.k.shape[1])]}),
    "alibi-missing": if_has("alibi", lambda c: {"alibi": None}),
    "bias-sign-turned": slopes_changed(-1),
    "slopes-of-first-heads": if_has("alibi", lambda c: {
        "alibi": {**c.config["alibi"], "first_head": 0}}),
    "slopes-of-rank": if_has("alibi", lambda c: {
        "alibi": {**c.config["alibi"], "heads": c.q.shape[1], "first_head": 0}}),
    "one-series-of-slopes": slopes_changed(series=True),
    "slopes-from-1": slopes_changed(first=0),
    "alibi-scaled": slopes_changed(lambda c: c.config["scale"]),
    "distances-signed": if_has("alibi", lambda c: {
        "alibi": {**c.config["alibi"], "signed": True}}),
}


def attention_changes(case, name):
    found = ATTENTION_MISTAKES[name](case)
    return [] if found is None else [found] if isinstance(found, dict) else list(found)


def attention_verdict(case, attend, precision):
    dtype = numpy.float32 if precision == "bfloat16" else precision
    got = attend(*(x.astype(dtype) for x in (case.q, case.k, case.v)), dict(case.config))
    got = numpy.asarray(got, dtype=float)
    if got.shape != case.output.shape:
        says = f"must be of shape {case.output.shape}, is {got.shape}"
        return Verdict(case.name, "wrong", (), says)
    unit = UNITS[precision]

    def misfit(output, bounds):
        both_nan = numpy.isnan(got) & numpy.isnan(output)
        off = numpy.where(both_nan, 0, numpy.abs(got - output)) / bounds
        return numpy.where(numpy.isnan(off), numpy.inf, off)

    off = misfit(case.output, attended(case, unit)[1])
    if (off <= 1).all():
        return Verdict(case.name, "right")
    t, h, d = numpy.unravel_index(numpy.argmax(off), off.shape)
    says = (f"{numpy.count_nonzero(off > 1)} of {off.size} numbers; output[{t}][{h}][{d}], "
            f"position {case.config['query_positions'][t]} is {got[t, h, d]:.6g}, must be "
            f"{case.output[t, h, d]:.6g}")
    made = [((name,), change) for name in ATTENTION_MISTAKES
            for change in attention_changes(case, name)]
    for twice in (False, True):
        tried = made if not twice else (
            (a + b, {**first, **second}) for (a, first), (b, second)
            in itertools.combinations(made, 2) if a != b and not set(first) & set(second))
        fits = [(fit, names) for names, change in tried
                if (fit := misfit(*attended(case, unit, **change)).max()) <= 1]
        if fits:
            return Verdict(case.name, "wrong", min(fits, key=lambda fit: fit[0])[1], says)
    return Verdict(case.name, "wrong", (), says)


# ---- Architectures


def architectures(file=None):
    """What is known of each, by kind and name: architectures.json."""
    file = pathlib.Path(file or pathlib.Path(__file__).parent / "architectures.json")
    return json.loads(file.read_text())


class LayoutCase:
    """What layout_of gets, the name of an architecture and its kind, and what it must answer."""

    function = "layout_of"

    def __init__(self, kind, architecture, layout):
        self.kind, self.architecture, self.layout = kind, architecture, layout
        self.name = f"{kind} {architecture}"

    def __str__(self):
        return self.name


def layout_cases(file=None):
    """The cases of layout_of: all architectures that rotate."""
    return [LayoutCase(kind, name, record["layout"])
            for kind, records in architectures(file).items()
            for name, record in records.items() if "layout" in record]


def layout_verdict(case, layout_of, precision):
    got = layout_of(case.architecture, case.kind)
    if got is None:
        return Verdict(case.name, "skipped", (), "layout_of gives None")
    if got == case.layout:
        return Verdict(case.name, "right")
    known = got in ("halves", "interleaved")
    says = f"layout_of gives {got}, must be {case.layout}"
    return Verdict(case.name, "wrong", (f"{got}-for-{case.layout}",) if known else (), says)


def architecture_case(kind, name, file=None):
    """Plain RoPE as an architecture has it, which rotate is told by name alone."""
    record = architectures(file)[kind].get(name)
    if record is None or "layout" not in record:
        raise KeyError(f"{name} must be the {kind} of an architecture that rotates")
    dims = record["rotary_dims"]
    rotary = dims.get("dims") or (2 * int(16 * dims["part"]) if "part" in dims else 16)
    head = 2 * rotary if "part" not in dims else 32
    if record["block"] not in ("first", "last"):
        raise KeyError(f"{name} must rotate one block of a head")
    first = head - rotary if record["block"] == "last" else 0
    base = record["base"]["default"] or 10000
    positions = [0, 1, 2, 7, 1000]
    pairs = (halves if record["layout"] == "halves" else interleaved)(first, rotary)
    x = numpy.random.default_rng(1).integers(1, 32, (len(positions), head)) / 16
    data = {"name": f"{kind} {name}", kind: name, "head_dim": head, "rotary_dim": rotary,
            "rope_parameters": {"rope_type": "default", "rope_theta": base},
            "first_dim": first, "layout": record["layout"], "pairs": pairs.tolist(),
            "inv_freq": series(base, rotary, rotary // 2).tolist(), "attention_factor": 1,
            "positions": positions, "input": x.tolist(), "rotated": x.tolist()}
    case = Case(json.dumps(data))
    case.rotated, case.hidden = right(case).rotate(x), ("layout", "first_dim")
    case.config[kind] = name
    return case


# What each mistake is.
SAYS = {
    "theta-lost": "another rope_theta changes nothing",
    "KEY-without-effect": "another value of KEY in rope_parameters changes nothing",
    "halves-for-interleaved": "pairs are halves where interleaved dims are meant",
    "interleaved-for-halves": "pairs are interleaved where halves are meant",
    "written-in-other-layout": "pairs are read in one layout and written in the other",
    "halves-of-other-blocks": "pairs are the wrong halves",
    "partial-ignored": "the whole head rotates where a part of it is meant",
    "partial-at-other-end": "the wrong end of the head rotates",
    "exponents-of-whole-head": "exponents are of head_dim where those of the rotary dims are meant",
    "halves-of-whole-head":
        "pairs are (i, i + head_dim / 2) where halves of the rotary dims are meant",
    "p-rope-for-partial": "p-RoPE where partial rotary is meant",
    "partial-for-p-rope": "partial rotary where p-RoPE is meant",
    "pairs-of-partial": "p-RoPE's frequencies are on the first dims alone",
    "p-rope-ignored": "all pairs rotate where p-RoPE lets the slow ones stand",
    "axes-ignored": "the axes of positions are ignored",
    "axes-in-other-order": "the axes are in another order",
    "sections-for-alternating": "axes lie in sections where alternating ones are meant",
    "alternating-for-sections": "axes alternate where sections are meant, or otherwise than meant",
    "one-series-over-axes": "one series of frequencies where each axis begins anew",
    "series-by-axis": "each axis begins its frequencies anew where one series is meant",
    "positions-from-1": "positions are one too large: they start at 1",
    "positions-from-minus-1": "positions are one too small",
    "index-for-position": "the token's index stands for its position",
    "positions-in-float": "positions are rounded to float",
    "positions-in-bfloat16": "positions are rounded to bfloat16",
    "rotates-the-other-way": "the sine's sign is turned: the rotation goes the other way",
    "inverse-applied": "the inverse is applied: the other way, divided by the attention factor",
    "minus-missing": "x' = x cos + y sin: the minus is missing",
    "cos-sin-exchanged": "cosine and sine are exchanged",
    "rotated-twice": "the rotation is applied twice",
    "not-rotated": "nothing rotates",
    "factor-missing": "the attention factor is not applied",
    "factor-twice": "the attention factor is applied twice",
    "factor-on-all-dims": "the attention factor is on the dims that do not rotate, too",
    "factor-of-plain-yarn": "the attention factor is 0.1 ln(factor) + 1 where another is meant",
    "scaling-missing": "the frequencies are not scaled",
    "rule-missing": "neither frequencies nor heads are scaled",
    "linear-for-rule": "all frequencies are divided by the factor",
    "ntk-for-rule": "the base is changed as by NTK",
    "scaling-twice": "the frequencies are scaled twice",
    "base-of-another": "the base is another",
    "frequencies-of-other-layers": "the frequencies are those of other layers of the model",
    "both-ends-included": "the exponents end at 1: divided by d/2 - 1 where d/2 is meant",
    "exponents-from-1": "the exponents start at the second pair's",
    "ramp-rounded": "the ends of YaRN's ramp are rounded where truncate is false",
    "ramp-not-rounded": "the ends of YaRN's ramp are not rounded",
    "published-ramp": "YaRN's ramp runs over turns, as published, where the coded one is meant",
    "coded-ramp": "the ramp runs over pairs, as in YaRN's code, where turns are meant",
    "extrapolation-ignored": "the extrapolation factor is ignored",
    "other-list": "LongRoPE's other list of factors",
    "decay-missing": "xPos's gain is not applied",
    "decay-inverted": "xPos's gain is the reciprocal",
    "angles-in-float": "angles are formed in float",
    "angles-in-bfloat16": "angles are formed in bfloat16",
    "frequencies-in-float": "the frequencies are rounded to float",
    "frequencies-in-half": "the frequencies are rounded to half",
    "frequencies-in-bfloat16": "the frequencies are rounded to bfloat16",
    "factor-in-half": "the attention factor is rounded to half",
    "factor-in-bfloat16": "the attention factor is rounded to bfloat16",
    "rows-in-float": "cosines and sines are rounded to float",
    "rows-in-half": "cosines and sines are rounded to half",
    "rows-in-bfloat16": "cosines and sines are rounded to bfloat16",
    "arithmetic-in-float": "the arithmetic is float's",
    "arithmetic-in-half": "the arithmetic is half's",
    "arithmetic-in-bfloat16": "the arithmetic is bfloat16's",
    "norm-before-rotation": "the norm is before the rotation where it is meant after it",
    "norm-after-rotation": "the norm is after the rotation where it is meant before it",
    "l2-for-rms": "the root of the sum of squares where that of their mean is meant",
    "rms-for-l2": "the root of the mean of squares where that of their sum is meant",
    "plus-one": "1 is added to the weights of the norm",
    "plus-one-missing": "the weights of the norm lack their 1",
    "weights-missing": "the norm has no weights",
    "opposite-missing": "the rotation goes the usual way where the opposite is meant",
    "eps-inside": "eps is added within the root",
    "eps-outside": "eps is added to the root",
    "eps-at-least": "eps is the least that the root is taken for",
    "rounds-as-none": "nothing is rounded to bfloat16 but the result",
    "rounds-as-separate-calls": "norm and rotation round to bfloat16, each",
    "rounds-as-vllm-fused": "cosines and sines are bfloat16, the rest is float",
    "rounds-as-hugging-face": "every operation rounds to bfloat16",
    "rounds-as-sglang-fused": "after the norm every operation rounds to bfloat16",
    "rounds-to-zero": "codes are rounded to zero",
    "rounds-to-even": "codes are rounded to the nearest, ties to even",
    "ties-away": "codes are rounded to the nearest, ties away from zero",
    "small-codes-are-0": "codes below the least normal number are 0",
    "least-code-is-127": "the code -128 is not used",
    "scale-missing": "scores are not scaled",
    "score-factor-missing":
        "scores are divided by sqrt(head_dim) where the model has another scale",
    "scale-twice": "scores are scaled twice",
    "mscale-once": "YaRN's factor multiplies scores once where its square is meant",
    "cap-missing": "scores are not capped",
    "cap-clips": "scores are clipped where tanh is meant",
    "cap-after-mask": "scores are capped after the mask: what it hides counts as -cap",
    "cap-before-scale": "scores are capped before they are scaled",
    "cap-on-padding": "keys that fill up a tile count as scores of -cap",
    "groups-modulo": "head h reads kv head h % kv_heads where h / (heads / kv_heads) is meant",
    "first-kv-head": "all heads read the first kv head",
    "causal-missing": "queries see later keys",
    "causal-for-both": "queries see no later keys where they must",
    "causal-from-top-left": "queries are taken for the first tokens where they are the last",
    "own-key-hidden": "a query does not see its own key",
    "next-key-seen": "a query sees the key after its own",
    "window-missing": "the window is ignored",
    "window-one-larger":
        "the window is one key too long: its length counts keys beside the query's own",
    "window-one-smaller": "the window is one key too short",
    "window-on-both-sides": "the window has its length on both sides of the query",
    "window-doubled": "the window is twice as long: its length counts each side",
    "window-halved": "the window is half as long: its length counts both sides",
    "chunk-missing": "chunks are ignored",
    "window-for-chunk": "a sliding window where chunks are meant",
    "both-ways-missing": "tokens of an image, or of the prompt, do not see its later ones",
    "images-joined": "tokens of all images see each other",
    "window-cuts-images": "tokens of an image do not see it beyond the window",
    "images-beyond-window": "tokens of an image see it beyond the window",
    "padding-seen": "padding is seen",
    "documents-mixed": "packed sequences see each other",
    "mask-missing": "the given mask is ignored",
    "mask-as-booleans": "the given mask hides and adds nothing",
    "empty-rows-mean": "a query that sees nothing gets the mean of the values",
    "empty-rows-nan": "a query that sees nothing gets NaN",
    "temperature-missing": "the temperature is not applied",
    "log-n-of-batch":
        "n counts all keys of the batch where those of the query's document are meant",
    "log-n-of-position": "n is the position + 1 where the keys that are seen are meant",
    "log-n-flattens": "short rows are flattened: max(1, ...) is missing",
    "sinks-missing": "sinks are ignored",
    "sinks-scaled": "sinks are scaled as scores are",
    "sinks-of-kv-heads": "each head has the sink of its kv head's number",
    "alibi-missing": "ALiBi's bias is left out",
    "bias-sign-turned": "the sign of the bias is turned: far keys gain",
    "slopes-of-first-heads": "a rank has the slopes of the model's first heads",
    "slopes-of-rank": "a rank has slopes as if the model had no other heads",
    "one-series-of-slopes": "the slopes are one series where heads are no power of two",
    "slopes-from-1": "the slopes start at 1, one head early",
    "alibi-scaled": "the bias is scaled as scores are",
    "distances-signed": "later keys gain by their distance",
}


def functions_of(engine, parser):
    """The functions of FILE, FILE:ROTATE or FILE:attend=NAME,encode=NAME."""
    file, _, chosen = engine.partition(":")
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, file)
    if spec is None:
        parser.error(f"{file}: must be a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = {name: getattr(module, name, None) for name in FUNCTIONS}
    for one in chosen.split(",") if chosen else ():
        kind, is_named, name = one.rpartition("=")
        if is_named and kind not in FUNCTIONS:
            parser.error(f"{engine}: {kind} must be one of {', '.join(FUNCTIONS)}")
        functions[kind or "rotate"] = getattr(module, name)
    if not any(functions.values()):
        parser.error(f"{file}: must have one of {', '.join(FUNCTIONS)}")
    return functions


def main():
    parser = argparse.ArgumentParser(
        description="Checks an engine against the conformance set.",
        epilog="Exit status 0: all right; 1: something is wrong; 2: bad input.")
    parser.add_argument("engine", metavar="FILE[:FUNCTION]", nargs="?",
                        help=f"Python, with some of {', '.join(FUNCTIONS)}; FUNCTION stands for "
                        "rotate, attend=FUNCTION for attend, and so on")
    parser.add_argument("--cases", help="the folder of the cases (that beside this file)")
    parser.add_argument("--precision", choices=UNITS, default="float32", help="of stored heads")
    parser.add_argument("--accept", action="append", default=[], metavar="MISTAKE",
                        help="the name of a mistake that is meant")
    parser.add_argument("--architecture", action="append", default=[], metavar="NAME",
                        help="check rotate as this general.architecture of GGUF has it, instead")
    parser.add_argument("--model-type", action="append", default=[], metavar="NAME",
                        help="the same of a model_type of config.json")
    parser.add_argument("--all", action="store_true", help="print cases that are right, too")
    parser.add_argument("--list-mistakes", action="store_true", help="print what can be named")
    o = parser.parse_args()
    if o.list_mistakes:
        for name, says in SAYS.items():
            print(f"{name:28} {says}")
        return 0
    if o.engine is None:
        parser.error("must have an engine: FILE[:FUNCTION]")
    for name in o.accept:
        if name not in SAYS and not name.endswith("-without-effect"):
            parser.error(f"--accept must be a name of --list-mistakes, got {name}")
    try:
        functions = functions_of(o.engine, parser)
        folders = [pathlib.Path(o.cases).parent / name if o.cases else None
                   for name in ("steps", "attention")]
        table = pathlib.Path(o.cases).parent / "architectures.json" if o.cases else None
        found = [architecture_case(kind, name, table)
                 for kind, names in zip(KINDS, (o.model_type, o.architecture)) for name in names]
        if not found:
            found = cases(o.cases) + step_cases(folders[0]) + attention_cases(folders[1])
            found += layout_cases(table) if functions["layout_of"] else []
    except (ImportError, SyntaxError) as error:
        parser.error(f"{o.engine}: {type(error).__name__}: {error}")
    except (OSError, AttributeError, KeyError) as error:
        parser.error(str(error.args[0] if isinstance(error, KeyError) else error))
    found = [verdict(case, functions[case.function], o.precision, o.accept) for case in found]
    for one in found:
        if o.all or one.status == "wrong":
            print(one)
    statuses = [one.status for one in found]
    counts = (f"{statuses.count(s)} {s}" for s in ("right", "wrong", "accepted", "skipped"))
    print(f"{o.engine}, {o.precision}: {', '.join(counts)}")
    in_float = sum(one.status == "wrong" and list(one.mistakes) == ["angles-in-float"] for one in found)
    if in_float:
        print(f"{in_float} of the wrong form angles in float, as Hugging Face does, and are right but "
              "for that: --accept angles-in-float")
    if set(statuses) <= {"skipped"}:
        parser.error(f"{o.engine} must have a function that a case can be checked by, all were skipped")
    return 1 if "wrong" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())
