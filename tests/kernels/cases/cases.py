"""The cases of attention.txt by posenc.py: a line each, its name and a hash of all bits, or the error; and each is
compared with formulas in NumPy's double. cases.py FILE THREADS"""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"))
import posenc

PAGE = 16
DTYPES = {"f32": numpy.float32, "f64": numpy.float64, "f16": numpy.float16, "bf16": numpy.uint16}


def numbers(count, n):
    i = numpy.arange(count, dtype=numpy.uint64)
    return ((13 * i + 7 * n + i * i * (n + 2)) % 97).astype(numpy.float64) / 32 - 1.5


def stored(x, name):
    return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16) if name == "bf16" else x.astype(DTYPES[name])


def as_numbers(x):
    return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float) if x.dtype == numpy.uint16 else x.astype(float)


def digest(arrays):
    value = 0xcbf29ce484222325
    for array in arrays:
        for byte in numpy.ascontiguousarray(array).tobytes():
            value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def of_lines(lines, kind):
    """The lines of a kind: what they name, and the formula behind it."""
    named = (line.split(None, 2)[1:] for line in lines if line.startswith(f"={kind} "))
    return {name: formula[0] if formula else None for name, *formula in named}


def computed(formula, **of):
    return eval(formula, {**vars(numpy), **of})


class Case:
    def __init__(self, line):
        line, _, self.error = line.partition(" error ")
        self.name, *fields = line.split()
        self.fields = dict(field.split("=") for field in fields)

    def number(self, name, otherwise=0):
        return type(otherwise)(self.fields.get(name, otherwise))

    def of_heads(self, name, n, change):
        if name in self.fields or not name:
            result = change(numbers(self.number("heads", 4), n))
            if self.fields.get(name) == "nan":
                result[0] = numpy.nan
            return result
        return None


def cells_of(c, name, n, tokens):
    kind = c.fields.get(name)
    if kind is None:
        return None, 0
    shape = (c.number("mask_heads", 1), c.number("queries", 1), tokens)
    x = numbers(numpy.prod(shape), n).reshape(shape)
    if kind in ("bool", "bit"):
        added = numpy.where(x < -0.75, -numpy.inf, 0)
        shown = x >= -0.75
        return posenc.Cells(numpy.packbits(shown, axis=-1, bitorder="little"), bits=True) if kind == "bit" else shown, added
    slopes = c.of_heads("mask_slopes", 9, lambda x: x)
    added = numpy.where(x < -0.75, -numpy.inf, x)
    return posenc.Cells(stored(added, kind), slopes=slopes, type="bf16" if kind == "bf16" else None), \
        added if slopes is None else numpy.where(added == -numpy.inf, added, added * slopes[:, None, None])


def frequencies_of(c):
    """What rotates; the axis of each pair and the frequencies, by formulas."""
    kind, _, given = c.fields.get("axes", "").partition(":")
    numbers = [int(n) for n in given.split(",") if n]
    if kind == "axial":
        bases = [float(base) for base in c.fields["bases"].split(",")]
        f = posenc.frequencies(rule="axial", dims=numbers, base=bases[0] if len(bases) == 1 else bases)
        series = [base ** (-2 * numpy.arange(d // 2) / d) for d, base in zip(numbers, bases * 3 if len(bases) == 1 else bases)]
        return f, numpy.repeat(numpy.arange(len(numbers)), numpy.array(numbers) // 2), numpy.concatenate(series)
    f, i = posenc.frequencies(rotary_dim=c.number("dim", 32), base=1e4), numpy.arange(c.number("dim", 32) // 2)
    w = 1e4 ** (-i / len(i))
    if not kind:
        return f, 0 * i, w
    f, sector = f.on_axes(kind, numbers), i % sum(numbers)
    return f, {"by_pair": lambda: numpy.array(numbers), "contiguous": lambda: numpy.repeat([0, 1, 2], numbers),
               "interleaved": lambda: numpy.where(i < 3 * numpy.array(numbers)[i % 3], i % 3, 0),
               "ggml": lambda: numpy.searchsorted(numpy.cumsum(numbers), sector, "right"),
               "ggml_interleaved": lambda: numpy.where(sector < 3 * numpy.array(numbers)[sector % 3], sector % 3, 3)}[kind](), w


def rows_of(c):
    mixed, dim, heads = "mixed" in c.fields, c.number("dim", 32), c.number("heads", 4)
    if mixed:
        shape = (*map(int, c.fields["mixed"].split(":")), dim // 2)
        f = posenc.MixedFrequencies(numbers(numpy.prod(shape), 14).reshape(shape))
    else:
        f, axis, w = frequencies_of(c)
    t, a = numpy.arange(c.number("rows")), numpy.arange(f.axes)[:, None]
    at = 1000 * t + 7 * a * t + 5 * a
    if "fraction" in c.fields:
        with numpy.errstate(all="ignore"):
            at = at / c.number("fraction", 1.0)
    found = [f.rows(at, dtype) for dtype in (numpy.float32, numpy.float64)]
    angles = numpy.einsum("at,hai->hti", at, f.inv_freq) if mixed else at[axis].T * w
    cos, sin = numpy.cos(angles), numpy.sin(angles)
    for rows, bound in zip(found, (3.1e-8, 8e3 * f.axes * 2.0**-52)):
        numpy.testing.assert_allclose(rows[..., 0, :], cos, 0, bound, err_msg=c.name)
        numpy.testing.assert_allclose(rows[..., 1, :], sin, 0, bound, err_msg=c.name)
    if mixed:
        q = numbers(len(t) * heads * dim, 1).reshape(len(t), heads, dim)
        found.insert(1, posenc.rotate(q.astype(numpy.float32), found[0]))
        x, y = numpy.split(q, 2, axis=-1)
        cos, sin = (numpy.repeat(of_row, heads // f.heads, axis=0).swapaxes(0, 1) for of_row in (cos, sin))
        numpy.testing.assert_allclose(found[1], numpy.concatenate([x * cos - y * sin, y * cos + x * sin], -1), 0, 1e-6, err_msg=c.name)
    return digest(found)


def ring_of(c):
    first, count, capacity = map(int, c.fields["ring"].split(":"))
    found = posenc.ring_slots(first, count, capacity)
    numpy.testing.assert_array_equal(found, numpy.arange(first, first + count) % capacity, err_msg=c.name)
    return digest([found])


def bounds_of(c):
    tokens, heads, dim, keys = c.number("tokens", 37), c.number("kv_heads", 2), c.number("dim", 32), c.fields.get("keys", "f32")
    x, t, page, there = numbers(tokens * heads * dim, 2).reshape(tokens, heads, dim), numpy.arange(tokens), c.number("bounds"), None
    if keys in DTYPES:
        source, there = stored(x, keys), numpy.ones(tokens, bool)
        found, exact = posenc.page_bounds(source, page, type="bf16" if keys == "bf16" else None), as_numbers(source)
    else:
        pages = -(-tokens // PAGE)
        source, slots = posenc.Cache(keys.replace("cached_", ""), pages, PAGE, heads, dim), (pages - 1 - t // PAGE) * PAGE + t % PAGE
        if c.number("slots"):
            slots[5::6] = -1
        posenc.write_step(values=posenc.StepHeads(x.astype(numpy.float32), cache=source, slots=slots))
        found, exact, there = posenc.page_bounds(source, page, slots), posenc.read_cache(source, slots), slots >= 0
    for p, bounds in enumerate(found):
        part = exact[p * page:(p + 1) * page][there[p * page:(p + 1) * page]]
        wanted = numpy.stack([part.min(axis=0), part.max(axis=0)], axis=1) if len(part) else numpy.zeros((heads, 2, dim))
        numpy.testing.assert_array_equal(bounds, wanted, err_msg=c.name)
    return digest([found])


def expected(c, q, k, v, there, given, mask, bias):
    """Outputs, log_sum_exp, scores and weights of one sequence, in double."""
    queries, heads, dim = q.shape
    tokens = len(k)
    k, v = (numpy.repeat(x, heads // x.shape[1], axis=1) for x in (k, v))
    scale = given.get("factor", 1) * given.get("scale", 1 / numpy.sqrt(dim))
    x = numpy.einsum("qhd,shd->hqs", q, k) * scale + bias
    at, of = (p if p is not None else otherwise for p, otherwise in (
        (given["query_positions"], tokens - queries + numpy.arange(queries)), (given["key_positions"], numpy.arange(tokens))))
    distance = numpy.asarray(at)[:, None] - numpy.asarray(of)[None]
    if "key_bias" in c.fields:
        f, axis, of_key = *frequencies_of(c)[:2], numpy.asarray(of)
        if f.axes > 1:
            t = numpy.arange(60)
            known = numpy.stack([t // 12, t // 12 + t % 12 // 4, t // 12 + t % 4])
            of_key = numpy.where(of_key < 60, known[axis][:, numpy.minimum(of_key, 59)], of_key - 40).T
        kv_heads = c.number("kv_heads", 2)
        b = numpy.repeat(numbers(kv_heads * dim, 11).reshape(-1, dim), heads // kv_heads, axis=0)
        if c.number("key_bias") > 1:  # of transformed queries
            block = c.number("key_bias")
            signs = numpy.array([[(-1) ** (i & j).bit_count() for j in range(block)] for i in range(block)])
            q = (q.reshape(*q.shape[:2], -1, block) @ (signs / numpy.sqrt(block))).reshape(q.shape)
        angle = (of_key if of_key.ndim == 2 else of_key[:, None]) * 1e4 ** (-2 * numpy.arange(dim // 2) / dim)
        first, second = b[None, :, :dim // 2], b[None, :, dim // 2:]
        cos, sin = numpy.cos(angle)[:, None], numpy.sin(angle)[:, None]
        turned = numpy.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
        x = x + numpy.einsum("qhd,shd->hqs", q, turned) * scale
    for name, formula in NUMBERS.items():
        if formula and name in given:
            x = computed(formula, x=x, distance=distance, **{name: given[name]})
    if given["profiles"] is not None:
        bank, side = given["profiles"]
        within = (distance >= 0) & (distance < bank.shape[1])
        x = x + numpy.where(within, numpy.einsum("qhk,kqs->hqs", side, bank[:, numpy.where(within, distance, 0)]), 0)
    if given["slopes"] is not None:
        x = x - given["slopes"][:, None, None] * abs(distance)
    x = numpy.where(x > -numpy.inf, given["cap"] * numpy.tanh(x / given["cap"]), x) if "cap" in given else x
    x = x + mask
    hidden = numpy.broadcast_to(~there, distance.shape).copy()
    hidden |= (distance < 0) if given["causal"] else False
    hidden |= (distance >= given["behind"]) if given["behind"] else False
    hidden |= (-distance >= given["ahead"]) if given["ahead"] else False
    if given["chunk"]:
        hidden |= numpy.asarray(at)[:, None] // given["chunk"] != numpy.asarray(of)[None] // given["chunk"]
    x = numpy.where(hidden, -numpy.inf, x)
    seen = (x > -numpy.inf).sum(axis=-1)
    with numpy.errstate(all="ignore"):
        top = numpy.where(seen > 0, x.max(axis=-1, initial=-numpy.inf), 0)[..., None]
        p = numpy.exp(x - top)
        p = p / p.sum(axis=-1, keepdims=True)
        entropy = -numpy.nansum(numpy.where(p > 0, p * numpy.log(p), 0), axis=-1)
        t, beta = given["temperature"] or {}, numpy.ones(seen.shape)
        at = numpy.asarray(at, dtype=float)[None]
        if TEMPERATURES.get(t.get("rule")):
            scales = None if t.get("scales") is None else t["scales"][:, None]
            beta = beta * computed(TEMPERATURES[t["rule"]], **{**t, "scales": scales}, seen=seen, p=at)
        elif t.get("rule") in ("half_weight", "critical"):
            for at_row in numpy.ndindex(beta.shape):
                row = numpy.sort(x[at_row][x[at_row] > -numpy.inf])[::-1]
                gaps = row[:1] - row
                if t["rule"] == "critical":
                    n = numpy.searchsorted(gaps, gaps, "right")  # within each gap
                    ratios = numpy.log(n / n[:1]) / gaps
                    beta[at_row] = max(1, (t.get("scale") or 2) * ratios[gaps > 0].max(initial=0))
                    continue
                low, high, share = 1, 1e6, t.get("scale") or 0.5
                below, ties = gaps[gaps > 0], (gaps == 0).sum()
                for _ in range(100 if numpy.exp(-below).sum() * share > (1 - share) * ties else 0):
                    middle = (low + high) / 2
                    too_low = numpy.exp(-middle * below).sum() * share > (1 - share) * ties
                    low, high = (middle, high) if too_low else (low, middle)
                beta[at_row] = low
        elif t.get("rule") == "adaptive":
            h = entropy - 1e-9 * seen
            beta = numpy.where(h > 0.5, numpy.maximum(1, numpy.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], h)), 1)
        y = numpy.where(x > -numpy.inf, numpy.where(beta[..., None] == 1, x, beta[..., None] * x), -numpy.inf)
        sinks = numpy.full(heads, -numpy.inf) if given["sinks"] is None else given["sinks"]
        top = numpy.maximum(y.max(axis=-1, initial=-numpy.inf), sinks[:, None])
        top = numpy.where(top > -numpy.inf, top, 0)
        e = numpy.exp(y - top[..., None])
        total = e.sum(axis=-1) + numpy.exp(sinks[:, None] - top)
        w = numpy.where(total[..., None] > 0, e / total[..., None], 0)
        return numpy.einsum("hqs,shd->qhd", w, v), (numpy.log(total) + top).T, x, w


def check_gradients(c, gradients, d, q, k, v, bound, *rest):
    """Along one direction, against differences of the formulas. Not of temperatures by the row, which count as constant."""
    if c.fields.get("temperature", "").startswith(("half_weight", "critical", "adaptive")):
        return
    ways = [numbers(x.size, 17 + n).reshape(x.shape) for n, x in enumerate((q, k, v))]

    def loss(step):
        return (d * expected(c, *(x + step * way for x, way in zip((q, k, v), ways)), *rest)[0]).sum()

    h, each = 2.0**-10, [as_numbers(x) * way for x, way in zip(gradients, ways)]
    wanted = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)
    magnitude = sum(abs(x).sum() for x in each)
    numpy.testing.assert_allclose(sum(x.sum() for x in each), wanted, 0, max(bound, 1e-9) * magnitude, err_msg=c.name)


def run(c, threads):
    queries, heads, kv_heads = c.number("queries", 1), c.number("heads", 4), c.number("kv_heads", 2)
    dim, value_dim, kind, keys = c.number("dim", 32), c.number("value_dim", 32), c.fields.get("type", "f32"), c.fields.get("keys", "f32")
    lengths = [int(n) for n in c.fields.get("lengths", str(c.number("tokens", 37))).split(",")]
    most = max(lengths)
    q = numpy.stack([stored(numbers(queries * heads * dim, 1 + 10 * b), kind).reshape(queries, heads, dim) for b in range(len(lengths))])
    if c.number("hadamard"):
        posenc.hadamard(q, c.number("hadamard"), type="bf16" if kind == "bf16" else None)
    slots, there, sources, exact = None, numpy.ones((len(lengths), most), bool), [], []
    for n, of in ((2, dim), (3, value_dim)):
        each = [numbers(length * kv_heads * of, n + 10 * b).reshape(length, kv_heads, of) for b, length in enumerate(lengths)]
        if keys in DTYPES:
            whole = numpy.zeros((len(lengths), most, kv_heads, of), DTYPES[keys])
            for to, x in zip(whole, each):
                to[:len(x)] = stored(x, keys)
            sources.append(whole), exact.append([as_numbers(x[:length]) for x, length in zip(whole, lengths)])
            continue
        pages = [(length + PAGE - 1) // PAGE for length in lengths]
        cache = posenc.Cache(keys.replace("cached_", ""), max(sum(pages), 1), PAGE, kv_heads, of)
        slots = numpy.full((len(lengths), most), -1)
        for b, (length, x) in enumerate(zip(lengths, each)):
            t = numpy.arange(length)
            slots[b, :length] = sum(pages[:b]) * PAGE + (pages[b] - 1 - t // PAGE) * PAGE + t % PAGE
            if c.number("slots"):
                slots[b, 5::6] = -1
            posenc.write_step(values=posenc.StepHeads(x.astype(numpy.float32), cache=cache, slots=slots[b, :length],
                                                     hadamard=c.number("hadamard")))
        there = slots >= 0
        sources.append(cache)
        exact.append([posenc.read_cache(cache, s[:length]).astype(float) for s, length in zip(slots, lengths)])
    given = {name: float(c.fields[name]) for name in NUMBERS if name in c.fields}
    given |= {name: c.number(name) for name in ("causal", "behind", "ahead", "chunk")}
    given |= {"query_positions": None, "key_positions": None, "temperature": None}
    if "first" in c.fields:
        given["query_positions"] = c.number("first") + numpy.arange(queries)
        given["key_positions"] = numpy.arange(most) * c.number("stretch", 1)
    given |= {"slopes": c.of_heads("slopes", 6, lambda x: abs(x) / 4), "sinks": c.of_heads("sinks", 7, lambda x: x)}
    if "temperature" in c.fields:
        rule, *rest = c.fields["temperature"].split(":")
        given["temperature"] = {"rule": rule, **dict(zip(("length", "scale", "offset"), map(float, rest)))}
        if rule == "ssmax":
            given["temperature"]["scales"] = c.of_heads("", 8, lambda x: abs(x) + 0.125)
    given["profiles"] = (numbers(60, 12).reshape(3, 20), numpy.stack([
        numbers(queries * heads * 3, 13 + 10 * b).reshape(queries, heads, 3) for b in range(len(lengths))])) \
        if c.number("profiles") else None
    bias_of_keys = None
    if c.number("key_bias"):
        f = frequencies_of(c)[0]
        bias_of_keys = posenc.KeyBias(f, numbers(kv_heads * dim, 11).reshape(kv_heads, dim), heads, hadamard=c.number("key_bias"))
        if f.axes > 1:
            t = numpy.arange(60)
            bias_of_keys = bias_of_keys.at([t // 12, t // 12 + t % 12 // 4, t // 12 + t % 4], -40)
    mask, masked = cells_of(c, "mask", 4, most)
    bias, biased = cells_of(c, "bias", 5, most)
    records = bool(c.number("records"))
    backward = bool(c.number("gradients"))
    asked = {"lengths": lengths, "type": "bf16" if "bf16" in (kind, keys) else None, "mask": mask, "bias": bias,
             "key_bias": bias_of_keys, "threads": threads, **given}
    found = posenc.attend(q, *sources, slots=slots, dot_products=bool(c.number("dots")), log_sum_exp=records or backward,
                          scores=records, weights=records, out=numpy.zeros((*q.shape[:3], value_dim), DTYPES[kind]), **asked)
    found = found if records or backward else (found,)
    if backward:
        d = numpy.stack([stored(numbers(found[0][b].size, 16 + 10 * b), kind).reshape(found[0][b].shape) for b in range(len(lengths))])
        gradients = posenc.attention_backward(q, *sources, *found[:2], d, **asked)
    bound = {"f64": 1e-13, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}[kind] + (0.02 if c.number("dots") else 0)
    for b, length in enumerate(lengths):
        bank, sides = given["profiles"] or (None, None)
        cut = {**given, "profiles": None if bank is None else (bank, sides[b]),
               "key_positions": None if given["key_positions"] is None else given["key_positions"][:length]}
        wanted = expected(c, as_numbers(q[b]), exact[0][b], exact[1][b], there[b, :length], cut, masked, biased)
        numpy.testing.assert_allclose(as_numbers(found[0][b]), wanted[0], bound, bound, err_msg=c.name)
        for got, right in zip(found[1:], (wanted[1], wanted[2], wanted[3])):
            numpy.testing.assert_allclose(got[b] if got.ndim == 3 else got[b][..., :length], right, bound, bound, err_msg=c.name)
        if backward:
            check_gradients(c, (gradients[0][b], gradients[1][b, :length], gradients[2][b, :length]), as_numbers(d[b]), as_numbers(q[b]),
                            exact[0][b], exact[1][b], bound, there[b, :length], cut, masked, biased)
            assert not gradients[1][b, length:].any() and not gradients[2][b, length:].any(), c.name
    parts = []
    for b, length in enumerate(lengths):
        parts += [found[0][b]] + [x[b] if x.ndim == 3 else x[b][..., :length] for x in found[1:]]
        parts += [gradients[0][b], gradients[1][b, :length], gradients[2][b, :length]] if backward else []
    return digest(parts)


if __name__ == "__main__":
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    NUMBERS, TEMPERATURES = of_lines(lines, "number"), of_lines(lines, "temperature")
    without = {name for name, formula in (NUMBERS | TEMPERATURES).items() if not formula}
    assert without == {"scale", "factor", "cap", "adaptive", "half_weight", "critical"}, without  # which are written above
    for line in lines:
        if line and line[0] not in "#=":
            case = Case(line)
            try:
                of = {"rows": rows_of, "ring": ring_of, "bounds": bounds_of}
                calls = [call for field, call in of.items() if field in case.fields]
                print(f"{case.name} {calls[0](case) if calls else run(case, int(sys.argv[2])):x}")
            except posenc.Error as error:
                print(f"{case.name} error {error}")
