"""An engine for conformance.py: RoPE, attention, norms and formats of caches in NumPy, right, and
with mistakes on demand."""

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


LAYOUTS = {
    "model_type": dict.fromkeys(("llama", "qwen2", "qwen3", "gemma3_text", "gpt_oss"), "halves"),
    # llama.cpp writes the rows of Llama's projections in another order, so that its pairs are
    # neighbours.
    "general.architecture": {"llama": "interleaved", **dict.fromkeys(
        ("qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "gemma4", "phi3", "gptneox", "falcon",
         "mellum", "gpt-oss"), "halves")},
}


def layout_of(name, kind):
    return LAYOUTS[kind].get(name)


def all_interleaved(name, kind):  # ik_llama.cpp#2290, for 39 architectures
    return "interleaved" if name in LAYOUTS[kind] else None


def architecture_of(config):
    return next((config[kind], kind) for kind in LAYOUTS if kind in config)


def engine(layout=None, theta=None, angles=numpy.float64, table=layout_of):
    """rotate(x, positions, config): right, or with one layout, one base, or angles in float32."""

    def rotate(x, positions, config):
        inv_freq, factor = frequencies(config, theta)
        if "blocks" in config:
            raise NotImplementedError("pairs within blocks")
        at = positions[:, None]
        if "mrope_section" in config["rope_parameters"]:
            at = positions[:, axis_of_pair(config["rope_parameters"], len(inv_freq))]
        angle = (at.astype(angles) * inv_freq.astype(angles)).astype(numpy.float64)
        first, dims = config.get("first_dim", 0), config["rotary_dim"]
        of_case = config.get("layout") or table(*architecture_of(config))
        if of_case is None:
            raise NotImplementedError(architecture_of(config)[0])
        if (layout or of_case) == "halves":
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
other_table = engine(table=all_interleaved)


# ---- Attention


def alibi_slopes(heads, max_bias):
    power = 2 ** int(math.log2(heads))
    steps = [h + 1 if h < power else h - power + 0.5 for h in range(heads)]
    return numpy.array([2 ** (-max_bias * step / power) for step in steps])


def seen(config):
    """[queries, keys]: whether a query sees a key."""
    at, of_keys = config["query_positions"][:, None], config["key_positions"]
    tokens = numpy.arange(len(of_keys))
    queries = tokens[-len(at):, None]  # the last tokens
    sees = numpy.full((len(at), len(of_keys)), True)
    if config["behind"] is not None:
        sees &= of_keys >= at - config["behind"]
    if config["ahead"] is not None:
        sees &= of_keys <= at + config["ahead"]
    if "chunk" in config:
        sees &= at // config["chunk"] == of_keys // config["chunk"]
    if "blocks" in config:  # images, or a prompt
        block = config["blocks"]
        both = (block[queries] == block) & (block > 0)
        if config["both_ways"] == "image_within_window":
            both &= of_keys >= at - config["behind"]
        sees |= both
    if "documents" in config:
        ends = numpy.cumsum(config["documents"])
        sees &= numpy.searchsorted(ends, queries, "right") == numpy.searchsorted(ends, tokens,
                                                                                 "right")
    return sees & config.get("valid", True)


def attention(tile=1, window_is_behind=False):
    """attend(q, k, v, config): right, or with the cap on keys that fill up a tile, or with a window
    that counts keys beside the query's own."""

    def attend(q, k, v, config):
        if window_is_behind and "sliding_window" in config:
            config = {**config, "behind": config["sliding_window"]}
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat(share, 1), v.repeat(share, 1)
        scores = config["scale"] * numpy.einsum("thd,shd->hts", q, k)
        filling = numpy.full(-len(k) % tile, -numpy.inf)
        if "cap" in config:
            scores = config["cap"] * numpy.tanh(scores / config["cap"])
            filling = config["cap"] * numpy.tanh(filling)
        if "alibi" in config:
            a = config["alibi"]
            slopes = alibi_slopes(a["heads"], a["max_bias"])[a["first_head"]:][:q.shape[1]]
            far = abs(config["query_positions"][:, None] - config["key_positions"])
            scores = scores - slopes[:, None, None] * far
        scores = scores + config.get("bias", 0)
        scores = numpy.where(seen(config), scores, -numpy.inf)
        count = numpy.isfinite(scores).sum(-1, keepdims=True)
        if "log_n" in config:
            length = config["log_n"]["trained_length"]
            scores = scores * numpy.log(numpy.maximum(count, length)) / math.log(length)
        sinks = config.get("sinks", numpy.full(q.shape[1], -numpy.inf))[:, None, None]
        largest = numpy.maximum(scores.max(-1, keepdims=True), sinks)
        largest = numpy.where(numpy.isfinite(largest), largest, 0)
        weights = numpy.exp(scores - largest)
        total = (weights.sum(-1, keepdims=True) + numpy.exp(sinks - largest)
                 + numpy.exp(filling - largest).sum(-1, keepdims=True))
        weights = weights / numpy.where(count > 0, total, 1)
        return numpy.einsum("hts,shd->thd", weights.astype(q.dtype), v)

    return attend


attend = attention()
cap_on_padding = attention(tile=64)  # llama.cpp#29034
window_is_behind = attention(window_is_behind=True)  # Megatron-Bridge#2656


# ---- Norm and rotation, as float32 computes them


def to_bfloat16(x):
    bits = numpy.asarray(x, numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def through_bfloat16(x):
    return (to_bfloat16(x).astype(numpy.uint32) << 16).view(numpy.float32)


def norm_and_rotate(x, positions, config):
    norm, points = config["norm"], config.get("rounding", [])

    def at(point, y):
        return through_bfloat16(y) if point in points else y

    def normed(y):
        squares = (y * y).sum(1, keepdims=True)
        r = squares / y.dtype.type(y.shape[1]) if norm["kind"] == "rms" else squares
        eps = y.dtype.type(norm["eps"])
        root = (numpy.sqrt(r + eps) if norm["eps_place"] == "inside" else
                numpy.sqrt(r) + eps if norm["eps_place"] == "outside" else
                numpy.maximum(numpy.sqrt(r), eps))
        y = at("normalised", y / root)
        if "weight" in config:
            y = y * (numpy.array(config["weight"], y.dtype) + y.dtype.type(norm["plus_one"]))
        return at("norm", y)

    half = x.shape[1] // 2
    angle = positions[:, None] * config["rope_theta"] ** (-numpy.arange(half) / half)
    cos = at("cosines", numpy.cos(angle).astype(x.dtype))
    sin = at("cosines", numpy.sin(angle).astype(x.dtype)) * (-1 if config["opposite"] else 1)
    y = normed(x) if norm["place"] == "before" else x.copy()
    a, b = ((slice(0, half), slice(half, None)) if config["layout"] == "halves" else
            (slice(0, None, 2), slice(1, None, 2)))
    u, v = y[:, a].copy(), y[:, b].copy()
    for to, first, second in ((a, u * cos, v * -sin), (b, u * sin, v * cos)):
        y[:, to] = at("rotated", at("products", at("products", first) + at("products", second)))
    y = normed(y) if norm["place"] == "after" else y
    return through_bfloat16(y) if "rounding" in config else y


# ---- Formats


def e4m3(x, truncates=False, flushes=False):
    size = numpy.minimum(numpy.abs(x), numpy.float32(448))
    exponent = numpy.where(size > 0, numpy.maximum(numpy.frexp(size)[1] - 1, -6), -6)
    units = numpy.ldexp(size, 3 - exponent)  # of the last place
    units = numpy.trunc(units) if truncates else numpy.rint(units)
    code = ((exponent + 6) * 8 + units).astype(int)
    if flushes:
        code = numpy.where(size < 2.0**-6, 0, code)
    return (code | numpy.where(x < 0, 128, 0)).astype(numpy.uint8).tobytes()


def away(x):
    return numpy.copysign(numpy.floor(numpy.abs(x) + 0.5), x)


def encode(x, config):
    name, one = config["format"], numpy.float32(1)
    largest = numpy.abs(x).max()
    if name == "u8_per_head":
        scale = (x.max() - x.min()) / numpy.float32(255) or numpy.float32(1e-4)
        zero = -x.min() / scale
        codes = numpy.clip(numpy.rint(x * (one / scale) + zero), 0, 255).astype(numpy.uint8)
        return scale.tobytes() + zero.tobytes() + codes.tobytes()
    if name in ("q8_0", "q8_0_avx2"):
        result = b""
        for group in x.reshape(-1, 32):
            most = numpy.abs(group).max()
            d = most / numpy.float32(127)
            inverse = 0 if d == 0 else numpy.float32(127) / most if name == "q8_0_avx2" else one / d
            codes = (numpy.rint if name == "q8_0_avx2" else away)(group * inverse)
            result += d.astype(numpy.float16).tobytes() + codes.astype(numpy.int8).tobytes()
        return result
    if name in ("int8_per_head", "int8_per_head_truncated"):
        scale = max(largest / numpy.float32(127), numpy.float32(1e-6))
        codes = (numpy.rint if name == "int8_per_head" else numpy.trunc)(x * (one / scale))
        return codes.astype(numpy.int8).tobytes(), scale.tobytes()
    if name == "int8_static":
        codes = numpy.rint(x * (one / numpy.float32(config["tensor_scale"])))
        return numpy.clip(codes, -128, 127).astype(numpy.int8).tobytes()
    if name in ("e4m3", "e4m3_truncated"):
        return e4m3(x / numpy.float32(config["tensor_scale"]), name == "e4m3_truncated")
    if name in ("deepseek_v4", "deepseek_v4_cpu"):
        cpu, codes, scales = name == "deepseek_v4_cpu", b"", b""
        for group in through_bfloat16(x[:-64]).reshape(-1, 64):
            least = 1e-4 if cpu else 1e-4 / 448
            exponent = math.ceil(math.log2(max(float(numpy.abs(group).max()) / 448, least)))
            codes += e4m3(numpy.ldexp(group, -exponent), flushes=cpu)
            scales += bytes([exponent + 127])
        return codes + to_bfloat16(x[-64:]).tobytes(), scales + b"\0"
    if name == "float16":
        return x.astype(numpy.float16).tobytes()
    if name == "bfloat16":
        return to_bfloat16(x).tobytes()
    raise NotImplementedError(name)
