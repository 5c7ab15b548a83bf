"""An engine for conformance.py: RoPE in NumPy, right, and with mistakes on demand."""

import math

import numpy


def yarn(plain, p):
    dims, base, length = 2 * len(plain), p["rope_theta"], p["original_max_position_embeddings"]

    def magnitude(m):
        return 0.1 * m * math.log(p["factor"]) + 1

    def pair(turns):
        return dims * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    if "attention_factor" in p:
        attention = p["attention_factor"]
    elif p.get("mscale") and p.get("mscale_all_dim"):
        attention = magnitude(p["mscale"]) / magnitude(p["mscale_all_dim"])
    else:
        attention = magnitude(1)
    low, high = pair(p.get("beta_fast", 32)), pair(p.get("beta_slow", 1))
    if p.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    ramp = numpy.clip((numpy.arange(len(plain)) - low) / (high - low or 0.001), 0, 1)
    return plain / p["factor"] * ramp + plain * (1 - ramp), attention


def llama3(plain, p):
    turns = p["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = p["low_freq_factor"], p["high_freq_factor"]
    if low == high:
        return numpy.where(turns < low, plain / p["factor"], plain)
    kept = numpy.clip((turns - low) / (high - low), 0, 1)
    return (1 - kept) * plain / p["factor"] + kept * plain


def longrope(plain, p, config):
    length = p["original_max_position_embeddings"]
    factors = p["long_factor" if config["length"] > length else "short_factor"]
    attention = math.sqrt(1 + math.log(p["factor"]) / math.log(length))
    return plain / factors, p.get("attention_factor", attention)


ORIGINAL = "original_max_position_embeddings"
KEYS_OF_ALL = {"rope_type", "rope_theta", "partial_rotary_factor", "mrope_section",
               "mrope_interleaved"}
KEYS = {
    "default": set(),
    "linear": {"factor"},
    "ntk": {"factor"},
    "dynamic": {"factor"},
    "proportional": {"factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor", ORIGINAL},
    "yarn": {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor",
             "truncate", ORIGINAL},
    "longrope": {"factor", "short_factor", "long_factor", "attention_factor", ORIGINAL},
}


def frequencies(config, theta=None):
    """inv_freq of each pair, and the attention factor."""
    p = dict(config["rope_parameters"])
    rule = p["rope_type"]
    unknown = sorted(set(p) - KEYS_OF_ALL - KEYS.get(rule, set()))
    if rule not in KEYS or unknown:
        raise NotImplementedError(" ".join([rule, *unknown]))
    if theta:
        p["rope_theta"] = theta
    dims, base = config["rotary_dim"], float(p["rope_theta"])
    if rule == "ntk":
        base *= p["factor"] ** (dims / (dims - 2))
    if rule == "dynamic" and config["length"] > config["max_position_embeddings"]:
        ratio = config["length"] / config["max_position_embeddings"]
        base *= (p["factor"] * ratio - (p["factor"] - 1)) ** (dims / (dims - 2))
    plain = base ** (-numpy.arange(0, dims, 2) / dims)
    if rule == "linear":
        return plain / p["factor"], 1
    if rule == "proportional":
        kept = int(p.get("partial_rotary_factor", 1) * config["head_dim"] // 2)
        return numpy.where(numpy.arange(len(plain)) < kept, plain / p.get("factor", 1), 0), 1
    if rule == "llama3":
        return llama3(plain, p), 1
    if rule == "yarn":
        return yarn(plain, p)
    if rule == "longrope":
        return longrope(plain, p, config)
    return plain, 1


def axis_of_pair(p, pairs):
    t, h, w = p["mrope_section"]
    if not p.get("mrope_interleaved"):
        return numpy.repeat([0, 1, 2], [t, h, w])
    axis = numpy.zeros(pairs, int)
    axis[1:3 * h:3], axis[2:3 * w:3] = 1, 2
    return axis


def engine(layout=None, theta=None, angles=numpy.float64):
    """rotate(x, positions, config): right, or with one layout, one base, or angles in float32."""

    def rotate(x, positions, config):
        inv_freq, factor = frequencies(config, theta)
        if "blocks" in config:
            raise NotImplementedError("pairs within blocks")
        at = positions[:, None]
        if "mrope_section" in config["rope_parameters"]:
            at = positions[:, axis_of_pair(config["rope_parameters"], len(inv_freq))]
        angle = (at.astype(angles) * inv_freq.astype(angles)).astype(numpy.float64)
        first, dims = config["first_dim"], config["rotary_dim"]
        if (layout or config["layout"]) == "halves":
            a, b = slice(first, first + dims // 2), slice(first + dims // 2, first + dims)
        else:
            a, b = slice(first, first + dims, 2), slice(first + 1, first + dims, 2)
        result = x.copy()
        cos = (factor * numpy.cos(angle)).astype(x.dtype)
        sin = (factor * numpy.sin(angle)).astype(x.dtype)
        result[:, a] = x[:, a] * cos - x[:, b] * sin
        result[:, b] = x[:, a] * sin + x[:, b] * cos
        return result

    return rotate


rotate = engine()
all_halves = engine(layout="halves")
theta_lost = engine(theta=10000)
float_angles = engine(angles=numpy.float32)
