"""posenc from Python: rows of cosines and sines, the rotation of NumPy arrays where they lie, and
caches in the formats that engines store.

One file, to be copied. It calls the C API (posenc/posenc.h) of a library that posenc_add_kernels
makes; `cmake --workflow --preset python` builds one in a checkout. The library is looked for in the
environment variable POSENC_LIBRARY, then beside this file, then in that build.

    import numpy, posenc
    f = posenc.frequencies("config.json", layer=0)             # or GGUF
    f = posenc.frequencies(rotary_dim=128, base=500000)        # or any rule by its name:
    f = posenc.frequencies(rule="yarn", rotary_dim=64, base=150000, factor=32, original_length=4096)
    rows = f.rows([0, 7, 1_000_000])                           # [tokens, 2, pairs], cosines first
    rows = f.on_axes("contiguous", [16, 24, 24]).rows(times_rows_columns)         # [axes, tokens]
    posenc.rotate(queries, rows)                               # [..., tokens, heads, head_dim]
    score = posenc.profile(f, distances=range(8192))           # mean score by distance

    k_cache = posenc.Cache("q8_0", pages=64, page_tokens=16, heads=8, head_dim=128)
    v_cache = posenc.Cache("q8_0", pages=64, page_tokens=16, heads=8, head_dim=128)
    posenc.write_step(rows, queries=posenc.StepHeads(queries),                 # in place
                      keys=posenc.StepHeads(keys, cache=k_cache, slots=slots, eps=1e-6),
                      values=posenc.StepHeads(values, cache=v_cache, slots=slots))
    outputs = posenc.attend(queries, k_cache, v_cache, slots=slots, causal=True)

Errors of the library are posenc.Error, with its sentence.
"""

import ctypes
import operator
import os
import pathlib
import threading

import numpy

__all__ = ["Cache", "Cells", "Error", "Frequencies", "KeyBias", "StepHeads", "attend", "format_bytes", "frequencies",
           "hadamard", "instruction_set", "profile", "read_cache", "rotate", "version", "write_step"]


class Error(ValueError):
    """What must hold, and what was given."""


# ---- The C API

_TYPES = {"f32": 0, "f64": 1, "f16": 2, "bf16": 3}
_LAYOUTS = {"halves": 0, "interleaved": 1}
_FORMATS = {"f32": 0, "f16": 2, "bf16": 3, "u8_per_head": 4, "q8_0": 5, "q8_0_avx2": 6,
            "int8_per_head": 7, "int8_per_head_truncated": 8, "int8_static": 9, "e4m3": 10,
            "e4m3_truncated": 11, "deepseek_v4": 12, "deepseek_v4_cpu": 13, "q4_0": 14,
            "int4_per_head": 15, "int4_static": 16}
_NORMS = {"rms": 0, "l2": 1}
_EPS_PLACES = {"inside": 0, "outside": 1, "at_least": 2}
_ROUNDINGS = {None: 0, "flashinfer_fused": 2, "separate_calls": 18, "vllm_fused": 20,
              "sglang_fused": 30, "hugging_face": 31}
_AXES = {"by_pair": 0, "contiguous": 1, "interleaved": 2, "ggml": 3, "ggml_interleaved": 4}
_CELLS = {"b": 0, "bits": 1, "f4": 2, "f8": 3, "f2": 4, "bf16": 5}
_TEMPERATURES = {None: 0, "log_n": 1, "log_n_by_position": 2, "ssmax": 3, "by_position": 4,
                 "adaptive": 5, "half_weight": 6, "critical": 7}
_BOTH_WAYS = None, "image", "image_within_window", "prefix"
_LAST_DIMS = ctypes.c_size_t(-1).value
_size, _pointer, _double = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double


class _Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("number", _double),
                ("list", ctypes.POINTER(_double)), ("count", _size)]


class _Layer(ctypes.Structure):
    _fields_ = [("layout", ctypes.c_int), ("first_dim", _size), ("rotary_dim", _size),
                ("head_dim", _size), ("window", _size), ("ahead", _size), ("chunk", _size),
                ("softmax_factor", _double), ("cap", _double), ("sinks", ctypes.c_int),
                ("depends_on_length", ctypes.c_int), ("both_ways", ctypes.c_int),
                ("key_bias_is_separable", ctypes.c_int)]


class _Heads(ctypes.Structure):
    _fields_ = [("data", _pointer), ("type", ctypes.c_int), ("layout", ctypes.c_int),
                ("batch_stride", ctypes.c_ssize_t), ("token_stride", ctypes.c_ssize_t),
                ("head_stride", ctypes.c_ssize_t), ("slots", _pointer), ("pages", _size),
                ("page_tokens", _size)]


class _Rotation(ctypes.Structure):
    _fields_ = [("from_", _Heads), ("to", _Heads), ("batches", _size), ("tokens", _size),
                ("heads", _size), ("head_dim", _size), ("first_dim", _size), ("cos_sin", _pointer),
                ("rows", _size), ("pairs", _size), ("maker", _pointer), ("eps", _double),
                ("weight", _pointer), ("scale", _double)]


class _Cache(ctypes.Structure):
    _fields_ = [("data", _pointer), ("format", ctypes.c_int), ("layout", ctypes.c_int),
                ("page_stride", ctypes.c_ssize_t), ("token_stride", ctypes.c_ssize_t),
                ("head_stride", ctypes.c_ssize_t), ("slots", _pointer), ("pages", _size),
                ("page_tokens", _size), ("scales", _pointer),
                ("scales_page_stride", ctypes.c_ssize_t),
                ("scales_token_stride", ctypes.c_ssize_t),
                ("scales_head_stride", ctypes.c_ssize_t), ("scale", _double), ("inverse", _double)]


class _Norm(ctypes.Structure):
    _fields_ = [("eps", _double), ("kind", ctypes.c_int), ("place", ctypes.c_int),
                ("eps_place", ctypes.c_int), ("weight", _pointer), ("weight_type", ctypes.c_int),
                ("plus_one", ctypes.c_int)]


class _StepHeads(ctypes.Structure):
    _fields_ = [("from_", _Heads), ("from_cache", _Cache), ("to", _Heads), ("to_cache", _Cache),
                ("heads", _size), ("head_dim", _size), ("first_dim", _size), ("norm", _Norm),
                ("scale", _double), ("rounding", ctypes.c_uint), ("rounded_type", ctypes.c_int),
                ("hadamard", _size), ("from_hadamard", _size)]


class _Step(ctypes.Structure):
    _fields_ = [("queries", _StepHeads), ("keys", _StepHeads), ("values", _StepHeads),
                ("tokens", _size), ("cos_sin", _pointer), ("pairs", _size), ("maker", _pointer)]


class _Cells(ctypes.Structure):
    _fields_ = [("data", _pointer), ("type", ctypes.c_int), ("one_row", ctypes.c_int),
                ("heads", _size), ("query_stride", ctypes.c_ssize_t),
                ("head_stride", ctypes.c_ssize_t), ("key_stride", ctypes.c_ssize_t),
                ("slopes", _pointer)]


class _Temperature(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int), ("length", _double), ("scale", _double),
                ("offset", _double), ("scales", _pointer), ("biases", _pointer)]


class _Profiles(ctypes.Structure):
    _fields_ = [("profiles", _pointer), ("rank", _size), ("extent", _size), ("query_side", _pointer)]


class _Attention(ctypes.Structure):
    _fields_ = [("queries", _Heads), ("outputs", _Heads), ("keys", _Heads), ("values", _Heads),
                ("key_cache", _Cache), ("value_cache", _Cache), ("tokens", _size), ("heads", _size),
                ("kv_heads", _size), ("head_dim", _size), ("value_dim", _size), ("scale", _double),
                ("sinks", _pointer), ("memory", _pointer), ("memory_bytes", _size),
                ("query_tokens", _size), ("query_positions", _pointer), ("key_positions", _pointer),
                ("causal", ctypes.c_int), ("dot_products", ctypes.c_int), ("behind", _size),
                ("ahead", _size), ("chunk", _size), ("mask", _Cells), ("bias", _Cells),
                ("slopes", _pointer), ("cap", _double), ("temperature", _Temperature),
                ("log_sum_exp", _pointer), ("scores", _pointer), ("weights", _pointer),
                ("key_bias", _pointer), ("profiles", _Profiles), ("tau", _double)]


_barrier = ctypes.CFUNCTYPE(None, _pointer)


class _Worker(ctypes.Structure):
    _fields_ = [("index", _size), ("count", _size), ("barrier", _barrier),
                ("barrier_argument", _pointer), ("memory", _pointer), ("memory_bytes", _size)]


_loading, _loaded = threading.Lock(), None


def _find():
    here = pathlib.Path(__file__).resolve().parent
    name = "libposenc_python.so"
    given = os.environ.get("POSENC_LIBRARY")
    for path in [given] if given else [here / name, *here.glob("../../build/*/examples/python/" + name)]:
        if os.path.exists(path):
            return path
    raise Error(f"posenc: the library must be at {given or here / name}, found none; "
                "cmake --workflow --preset python builds it in a checkout")


def _library():
    global _loaded
    with _loading:
        if _loaded is None:
            c = ctypes.CDLL(str(_find()))
            for name in ("posenc1_error", "posenc1_version", "posenc1_instruction_set"):
                getattr(c, name).restype = ctypes.c_char_p
            c.posenc1_frequencies_read.restype = _size
            c.posenc1_frequencies_read.argtypes = [_pointer, _pointer, ctypes.POINTER(_double)]
            c.posenc1_frequencies_axes.restype = _size
            c.posenc1_frequencies_axes.argtypes = [_pointer, _pointer]
            c.posenc1_frequencies_on_axes.argtypes = [_pointer, ctypes.c_int, _pointer, _size, _pointer]
            c.posenc1_frequencies_of_numbers.argtypes = [_pointer, _size, _double, _pointer]
            c.posenc1_frequencies_of_rule.argtypes = [_pointer, ctypes.c_char_p, _pointer, _size, _pointer]
            c.posenc1_frequencies_of_model.argtypes = [ctypes.c_char_p, _size, _size, _pointer, _pointer]
            c.posenc1_row_maker_create.argtypes = [_pointer, ctypes.c_int64, _pointer]
            for name in ("posenc1_write_rows", "posenc1_write_fractional_rows"):
                getattr(c, name).argtypes = [_pointer, _pointer, _pointer, _size, ctypes.c_int, _pointer]
            for name in ("posenc1_rotate", "posenc1_write_step"):
                getattr(c, name).argtypes = [_pointer, _size, _size]
            c.posenc1_format_bytes.argtypes = [ctypes.c_int, _size, _pointer, _pointer]
            c.posenc1_read_cache.argtypes = [_pointer, _size, _size, _size, _pointer]
            c.posenc1_hadamard.argtypes = [_pointer, _size, _size, _size, _size]
            c.posenc1_attention_memory_of.argtypes = [_pointer, _size, _size, _pointer]
            c.posenc1_attend_as.argtypes = [_pointer, _size, _pointer]
            c.posenc1_key_bias_create.argtypes = [_pointer, _pointer, _size, _size, _size, ctypes.c_int, _size, _size,
                                                  _pointer]
            c.posenc1_key_bias_at.argtypes = [_pointer, _pointer, _size, ctypes.c_int64, _pointer]
            for name in ("posenc1_frequencies_destroy", "posenc1_row_maker_destroy", "posenc1_key_bias_destroy"):
                getattr(c, name).argtypes, getattr(c, name).restype = [_pointer], None
            _loaded = c
    return _loaded


def _count(where, name, value, least=0, limit=2**63):
    """Of other integers ctypes would pass the lowest 64 bits."""
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if not least <= count < limit:
        raise Error(f"posenc: {where}: {name} must be an integer in [{least}, {'2^63' if limit == 2**63 else limit}), "
                    f"got {value!r}")
    return count


def _first_dim(where, first_dim, head_dim):
    """Counted from the end if negative."""
    first = _count(where, "first_dim", first_dim, -head_dim, head_dim)
    return first + head_dim if first < 0 else first


def _int64s(what, values):
    """[tokens], contiguous; conversion alone would truncate floats and wrap large numbers."""
    given = numpy.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise Error(f"posenc: {what} must be integers, [tokens], got {given.dtype} {list(given.shape)}")
    if given.dtype == numpy.uint64 and given.size and int(given.max()) >= 2**63:
        raise Error(f"posenc: {what} must fit int64, got {given.max()}")
    return numpy.ascontiguousarray(given, dtype=numpy.int64)


def _positions(where, values, axes):
    """[axes, tokens], contiguous, int64 or double; of [tokens] each is on every axis."""
    given = numpy.asarray(values)
    if given.ndim not in (1, 2) or (given.ndim == 2 and len(given) != axes) or given.dtype.kind not in "iuf":
        shape = "[tokens]" if axes == 1 else f"[{axes} axes, tokens] or [tokens]"
        raise Error(f"posenc: {where}: positions must be integers or floats, {shape}, got {given.dtype} {list(given.shape)}")
    if given.dtype.kind == "f" and given.size:
        whole = numpy.ascontiguousarray(given, dtype=numpy.float64)
    else:
        whole = numpy.stack([_int64s(f"{where}: positions", row) for row in numpy.atleast_2d(given)])
    return numpy.ascontiguousarray(numpy.broadcast_to(whole, (axes, given.shape[-1])))


def _call(name, *arguments):
    if getattr(_library(), name)(*arguments) != 0:
        raise Error(_library().posenc1_error().decode())


def version():
    return _library().posenc1_version().decode()


def instruction_set():
    """The one in use: base, v3, v4, v4_bf16 or bf16; POSENC_INSTRUCTION_SET forces one."""
    name = _library().posenc1_instruction_set()
    if name is None:
        raise Error(_library().posenc1_error().decode())
    return name.decode()


# ---- Frequencies and rows

class Frequencies:
    """How fast each pair rotates, in radians per position, and by which axis: axis_of_pair, None
    where there is one. Of a model's layer, also what else it says: window, ahead and chunk are attend's behind, ahead and chunk (None: all), cap its cap;
    both_ways names the tokens that see each other beside these: image, image_within_window (also
    later ones, but none beyond the window behind them), prefix. key_bias_is_separable: whether keys
    can be stored without their bias, which attend's key_bias adds (None: not known)."""

    def __init__(self, handle, layer=None):
        self._handle, self._makers = handle, {}
        factor = _double()
        pairs = _library().posenc1_frequencies_read(handle, None, ctypes.byref(factor))
        self.inv_freq = numpy.empty(pairs)
        _library().posenc1_frequencies_read(handle, self.inv_freq.ctypes.data, ctypes.byref(factor))
        self.inv_freq.flags.writeable = False
        self.attention_factor = factor.value
        of_pair = numpy.empty(pairs, numpy.uintp)
        self.axes = _library().posenc1_frequencies_axes(handle, of_pair.ctypes.data)
        self.axis_of_pair = of_pair if self.axes > 1 else None
        self.layout, self.first_dim = "halves", 0
        self.window = self.ahead = self.chunk = self.cap = self.both_ways = None
        self.sinks, self.key_bias_is_separable = False, None
        self.head_dim, self.softmax_factor = 2 * pairs, 1.0
        if layer is not None:
            self.layout = "interleaved" if layer.layout else "halves"
            self.first_dim = -2 * pairs if layer.first_dim == _LAST_DIMS else layer.first_dim
            self.head_dim, self.softmax_factor = layer.head_dim, layer.softmax_factor
            self.window, self.ahead = layer.window or None, layer.ahead or None
            self.chunk, self.cap = layer.chunk or None, layer.cap or None
            self.sinks, self.both_ways = bool(layer.sinks), _BOTH_WAYS[layer.both_ways]
            if layer.key_bias_is_separable >= 0:
                self.key_bias_is_separable = layer.key_bias_is_separable == 1

    def __del__(self):
        for maker in getattr(self, "_makers", {}).values():
            _loaded.posenc1_row_maker_destroy(maker)
        if getattr(self, "_handle", None):
            _loaded.posenc1_frequencies_destroy(self._handle)

    def __copy__(self):
        return self  # nothing of it changes, and the handle is destroyed once

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        raise TypeError("posenc: frequencies cannot be pickled; make them anew from their settings")

    def __repr__(self):
        axes = f" on {self.axes} axes" if self.axes > 1 else ""
        return f"<posenc.Frequencies: {len(self.inv_freq)} pairs{axes}, {self.layout}>"

    def on_axes(self, axes, numbers):
        """The same frequencies, where each pair rotates by an axis of its own. axes: by_pair, where
        numbers are the axis of each; contiguous, the pairs of each axis (Qwen2-VL: [16, 24, 24]);
        interleaved, the same of three axes (Qwen3-VL); ggml, ggml_interleaved: its four sections."""
        where, handle = "on_axes", _pointer()
        given = _int64s(f"{where}: numbers", numbers)
        if given.size and given.min() < 0:
            raise Error(f"posenc: {where}: numbers must not be negative, got {given.min()}")
        _call("posenc1_frequencies_on_axes", self._handle, _named(where, "axes", _AXES, axes), given.ctypes.data,
              given.size, ctypes.byref(handle))
        return self._like(handle)

    def _like(self, handle):
        other = Frequencies(handle)
        vars(other).update({name: value for name, value in vars(self).items()
                            if name not in ("_handle", "_makers", "axes", "axis_of_pair")})
        return other

    def rows(self, positions, dtype=numpy.float32, table_range=0):
        """Cosines and sines times the attention factor, [tokens, 2, pairs], right to 3e-8 in float32
        at any position. positions: integers or floats, [tokens]; on axes [axes, tokens], or [tokens]
        of text. table_range: whole ones within it come from a table (see posenc.h)."""
        types = {numpy.dtype(numpy.float32): 0, numpy.dtype(numpy.float64): 1}
        if numpy.dtype(dtype) not in types:
            raise Error(f"posenc: rows: dtype must be float32 or float64, got {numpy.dtype(dtype)}")
        given = _positions("rows", positions, self.axes)
        result = numpy.empty((given.shape[1], 2, len(self.inv_freq)), dtype)
        fractional = given.dtype == numpy.float64
        _call("posenc1_write_fractional_rows" if fractional else "posenc1_write_rows", self._maker(table_range),
              given.ctypes.data, None, given.shape[1], types[result.dtype], result.ctypes.data)
        return result

    def _maker(self, table_range):
        table_range = _count("rows", "table_range", table_range)
        if table_range not in self._makers:
            maker = _pointer()
            _call("posenc1_row_maker_create", self._handle, table_range, ctypes.byref(maker))
            self._makers[table_range] = maker
        return self._makers[table_range]


def frequencies(file=None, layer=None, length=None, *, rule=None, of=None, inv_freq=None,
                attention_factor=None, **parameters):
    """Frequencies of a layer (0, unless given) of a model's config.json or GGUF file, for sequences
    of `length` tokens (1), None if the layer does not rotate; or of a rule by its name and
    parameters (posenc.h lists them; geometric, if none is named), which changes the frequencies
    `of`; or given ones, with an attention factor (1)."""
    where, handle = "frequencies", _pointer()
    if file is None and inv_freq is None:  # two names that rules have, too
        for name, value in (("length", length), ("attention_factor", attention_factor)):
            if value is not None:
                parameters[name] = value
        length = attention_factor = None
    by_rule = rule is not None or of is not None or bool(parameters)
    if (file is not None) + (inv_freq is not None) + by_rule != 1:
        raise Error(f"posenc: {where}: give a file, inv_freq, or a rule and its parameters")
    for name, value, needed in (("layer", layer, file), ("length", length, file),
                                ("attention_factor", attention_factor, inv_freq)):
        if value is not None and needed is None:
            raise Error(f"posenc: {where}: {name} must not be given here, got {value!r}")
    if file is not None:
        described, path = _Layer(), os.fsencode(file)
        if b"\0" in path:
            raise Error(f"posenc: {where}: the file's name must have no null character, got {path!r}")
        _call("posenc1_frequencies_of_model", path, _count(where, "layer", layer or 0),
              _count(where, "length", 1 if length is None else length), ctypes.byref(described),
              ctypes.byref(handle))
        return Frequencies(handle, described) if handle else None
    if inv_freq is not None:
        given = numpy.ascontiguousarray(inv_freq, dtype=numpy.float64)
        if given.ndim != 1:
            raise Error(f"posenc: {where}: inv_freq must have one axis, got {list(given.shape)}")
        _call("posenc1_frequencies_of_numbers", given.ctypes.data, given.size,
              1 if attention_factor is None else attention_factor, ctypes.byref(handle))
        return Frequencies(handle)
    if rule is not None and not isinstance(rule, str):
        raise Error(f"posenc: {where}: rule must be a name, got {rule!r}")
    if of is not None and not isinstance(of, Frequencies):
        raise Error(f"posenc: {where}: of must be what frequencies returned, got {of!r}")
    listed = (_Parameter * len(parameters))()
    for parameter, (name, value) in zip(listed, parameters.items()):
        parameter.name = name.encode()
        numbers = numpy.asarray(value, dtype=numpy.float64)
        if numbers.ndim > 1:
            raise Error(f"posenc: {where}: {name} must have one axis, got {list(numbers.shape)}")
        if numbers.ndim == 0:
            parameter.number = float(numbers)
        else:
            parameter.list, parameter.count = (_double * numbers.size)(*numbers), numbers.size
    _call("posenc1_frequencies_of_rule", of._handle if of else None, ("geometric" if rule is None else rule).encode(),
          listed, len(parameters), ctypes.byref(handle))
    return Frequencies(handle)


# ---- Rotation

def _heads(array, type, layout, name, where="rotate"):
    """The 4-D view [batches, tokens, heads, head_dim] of an array, and its description."""
    if not isinstance(array, numpy.ndarray) or not 3 <= array.ndim <= 4:
        raise Error(f"posenc: {where}: {name} must be an array [..., tokens, heads, head_dim] of 3 or 4 axes")
    known = {("f", 4): "f32", ("f", 8): "f64", ("f", 2): "f16"}.get((array.dtype.kind, array.dtype.itemsize))
    kind = type if type == "bf16" and array.dtype == numpy.uint16 else known
    if kind is None or (type not in (None, kind)) or not array.dtype.isnative:
        raise Error(f"posenc: {where}: {name} must be float16, float32 or float64, or uint16 with "
                    f"type='bf16', got {array.dtype} and type={type!r}")
    if layout not in _LAYOUTS:
        raise Error(f"posenc: {where}: layout must be halves or interleaved, got {layout!r}")
    view = array[None] if array.ndim == 3 else array
    if view.size and view.shape[3] > 1 and view.strides[3] != view.itemsize:
        raise Error(f"posenc: {where}: the dims of a head must be contiguous in {name}")
    for axis in range(3):
        if view.size and view.shape[axis] > 1 and view.strides[axis] == 0:
            raise Error(f"posenc: {where}: {name} must not repeat memory along axis {axis}")
    strides = [stride if count > 1 else 0 for stride, count in zip(view.strides, view.shape)]
    return view, _Heads(view.ctypes.data, _TYPES[kind], _LAYOUTS[layout], *strides[:3])


def rotate(array, rows, *, layout="halves", first_dim=0, out=None, type=None, eps=0.0, weight=None,
           scale=0.0):
    """Rotates queries or keys, [..., tokens, heads, head_dim] of any strides, by rows [tokens, 2,
    pairs], in place or into `out`, and returns what was written. bfloat16 is uint16 with
    type="bf16". first_dim: where the rotated 2 x pairs dims begin, from the end if negative. eps,
    weight: an RMS norm before; scale: after."""
    view, from_ = _heads(array, type, layout, "array")
    target, to = (array, _Heads())
    if out is not None:
        is_bf16 = getattr(out, "dtype", None) == numpy.uint16
        written, to = _heads(out, type if is_bf16 else None, layout, "out")
        if written.shape != view.shape:
            raise Error(f"posenc: rotate: out must have the shape {list(array.shape)}, got {list(out.shape)}")
        target = out
    if not target.flags.writeable:
        raise Error("posenc: rotate: what is written must be writeable")
    numbers = numpy.float64 if target.dtype == numpy.float64 else numpy.float32
    rows = numpy.ascontiguousarray(rows)
    if rows.dtype != numbers or rows.ndim != 3 or rows.shape[1] != 2:
        raise Error(f"posenc: rotate: rows must be {numpy.dtype(numbers)} [tokens, 2, pairs], got "
                    f"{rows.dtype} {list(rows.shape)}")
    batches, tokens, heads, head_dim = view.shape
    if weight is not None:
        weight = numpy.ascontiguousarray(weight, dtype=numbers)
        if weight.shape != (head_dim,):
            raise Error(f"posenc: rotate: weight must be [{head_dim}], got {list(weight.shape)}")
    if view.size:
        _call("posenc1_rotate", ctypes.byref(_Rotation(
            from_=from_, to=to, batches=batches, tokens=tokens, heads=heads, head_dim=head_dim,
            first_dim=_first_dim("rotate", first_dim, head_dim), cos_sin=rows.ctypes.data, rows=len(rows), pairs=rows.shape[2],
            eps=eps, weight=weight.ctypes.data if weight is not None else None, scale=scale)),
            0, _LAST_DIMS)
    return target


def hadamard(array, block="largest", *, type=None):
    """Transforms each block of dims of heads, [..., tokens, heads, head_dim] of any strides, in
    place, by an orthonormal Walsh-Hadamard matrix, and returns them; once more undoes it. For
    queries against keys that write_step has stored so, and outputs of such values. block: a power
    of two that divides head_dim; or 0 for none. bfloat16 is uint16 with type="bf16"."""
    where = "hadamard"
    view = _heads(array, type, "halves", "array", where)[0]
    if not array.flags.writeable:
        raise Error(f"posenc: {where}: what is written must be writeable")
    for of_batch in view if view.size else ():
        heads = _heads(of_batch, type, "halves", "array", where)[1]
        _call("posenc1_hadamard", ctypes.byref(heads), *of_batch.shape, _block(where, block))
    return array


# ---- A step into caches, and attention over them

def _named(where, what, names, value):
    if value not in names:
        listed = ", ".join(str(name) for name in names)
        raise Error(f"posenc: {where}: {what} must be one of {listed}, got {value!r}")
    return names[value]


def _block(where, hadamard):
    """Of a Walsh-Hadamard transform: a power of two, 0 for none, or "largest"."""
    if hadamard == "largest":
        return _LAST_DIMS
    if not hasattr(hadamard, "__index__"):
        raise Error(f"posenc: {where}: the block must be an integer or 'largest', got {hadamard!r}")
    return _count(where, "the block", hadamard)


def format_bytes(format, head_dim):
    """The bytes of a head, and those of its scales if the format has them elsewhere, else 0."""
    where, codes, scales = "format_bytes", _size(), _size()
    _call("posenc1_format_bytes", _named(where, "format", _FORMATS, format),
          _count(where, "head_dim", head_dim), ctypes.byref(codes), ctypes.byref(scales))
    return codes.value, scales.value


class Cache:
    """Dense pages of encoded heads in `memory`, uint8 [pages, bytes of a page], which is made of
    zeros unless it is given: [page_tokens, heads] of bytes, then of scales, as format_bytes says.
    format: f32, f16, bf16, u8_per_head, q8_0, q8_0_avx2, int8_per_head, int8_per_head_truncated,
    int8_static, e4m3, e4m3_truncated, deepseek_v4, deepseek_v4_cpu, q4_0, int4_per_head,
    int4_static. scale, inverse: of a tensor."""

    def __init__(self, format, pages, page_tokens, heads, head_dim, *, layout="halves", scale=0.0,
                 inverse=0.0, memory=None):
        where = "Cache"
        self.format, self.layout = format, layout
        self.pages, self.page_tokens, self.heads, self.head_dim = (
            _count(where, name, value) for name, value in (
                ("pages", pages), ("page_tokens", page_tokens), ("heads", heads),
                ("head_dim", head_dim)))
        self.scale, self.inverse = float(scale), float(inverse)
        _named(where, "layout", _LAYOUTS, layout)
        shape = (self.pages, self.page_tokens * self.heads * sum(format_bytes(format, self.head_dim)))
        self.memory = numpy.zeros(shape, numpy.uint8) if memory is None else memory
        given = self.memory
        if not isinstance(given, numpy.ndarray) or given.dtype != numpy.uint8 or given.shape != shape \
                or not given.flags.c_contiguous:
            raise Error(f"posenc: {where}: memory must be a contiguous array of uint8 {list(shape)}")

    def _described(self, slots):
        """For a call, and the slots, which must outlive it."""
        if slots is not None:
            slots = _int64s("slots", slots)
        return _Cache(data=self.memory.ctypes.data, format=_FORMATS[self.format],
                      layout=_LAYOUTS[self.layout], pages=self.pages, page_tokens=self.page_tokens,
                      slots=slots.ctypes.data if slots is not None and slots.size else None,
                      scale=self.scale, inverse=self.inverse), slots


class StepHeads:
    """Queries, keys or values of a step: an array [tokens, heads, head_dim] as rotate takes it, with
    a layout (halves, unless given), or a Cache to decode, with source_slots. They go to `out`, in
    the source's layout unless out_layout is given, to `cache` by `slots`, or both, else stay in
    place. eps, weight, norm (rms, l2), after, eps_place (inside, outside, at_least),
    plus_one: a norm of each head. scale: after the rotation. rounding: where an engine rounds to
    bfloat16 (flashinfer_fused, separate_calls, vllm_fused, sglang_fused, hugging_face). hadamard,
    from_hadamard: blocks as of hadamard(), at last and, where the source is stored so, first;
    cached keys that move have both."""

    def __init__(self, source, *, type=None, layout=None, first_dim=0, out=None, out_layout=None,
                 cache=None, slots=None, source_slots=None, eps=0.0, weight=None, norm="rms",
                 after=False, eps_place="inside", plus_one=False, scale=0.0, rounding=None,
                 hadamard=0, from_hadamard=0):
        where, h = "write_step", _StepHeads()
        is_cache = isinstance(source, Cache)
        for name, value, read, reader in (("type", type, not is_cache, "an array as source"),
                                          ("layout", layout, not is_cache, "an array as source"),
                                          ("source_slots", source_slots, is_cache, "a Cache as source"),
                                          ("out_layout", out_layout, out is not None, "out"),
                                          ("slots", slots, cache is not None, "cache")):
            if value is not None and not read:
                raise Error(f"posenc: {where}: {name} must not be given without {reader}, got {value!r}")
        layout = source.layout if is_cache else "halves" if layout is None else layout
        self._kept = [source, out, cache, weight]
        if is_cache:
            h.from_cache, slots_of_source = source._described(source_slots)
            tokens = source.pages * source.page_tokens if slots_of_source is None else len(slots_of_source)
            shape, target = (tokens, source.heads, source.head_dim), source.memory
            self._kept.append(slots_of_source)
        else:
            view, h.from_ = _heads(source, type, layout, "source", where)
            if view.shape[0] != 1:
                raise Error(f"posenc: {where}: source must be [tokens, heads, head_dim], got {list(source.shape)}")
            shape, target = view.shape[1:], source
        targets = [] if out is None else [out]
        if out is not None:
            is_bf16 = getattr(out, "dtype", None) == numpy.uint16
            written, h.to = _heads(out, "bf16" if is_bf16 else None, out_layout or layout, "out", where)
            if written.shape[1:] != shape or written.shape[0] != 1:
                raise Error(f"posenc: {where}: out must have the shape {list(shape)}, got {list(out.shape)}")
        if cache is not None:
            h.to_cache, kept = cache._described(slots)
            if (cache.heads, cache.head_dim) != shape[1:] or (kept is not None and len(kept) != shape[0]):
                raise Error(f"posenc: {where}: cache and slots must have {list(shape)} tokens, heads and head_dim, "
                            f"got {[shape[0] if kept is None else len(kept), cache.heads, cache.head_dim]}")
            self._kept.append(kept), targets.append(cache.memory)
        if not all(array.flags.writeable for array in targets or [target]):
            raise Error(f"posenc: {where}: what is written must be writeable")
        self.tokens, h.heads, h.head_dim = shape
        h.first_dim = _first_dim(where, first_dim, h.head_dim)
        h.norm = _Norm(eps, _named(where, "norm", _NORMS, norm), bool(after),
                       _named(where, "eps_place", _EPS_PLACES, eps_place), None, 0, bool(plus_one))
        if weight is not None:
            weight = numpy.ascontiguousarray(weight, dtype=numpy.float32)
            if weight.shape != (h.head_dim,):
                raise Error(f"posenc: {where}: weight must be [{h.head_dim}], got {list(weight.shape)}")
            self._kept.append(weight)
            h.norm.weight = weight.ctypes.data
        h.scale, h.rounding = scale, _named(where, "rounding", _ROUNDINGS, rounding)
        h.rounded_type = _TYPES["bf16"]
        h.hadamard, h.from_hadamard = _block(where, hadamard), _block(where, from_hadamard)
        self._heads = h


def write_step(rows=None, *, queries=None, keys=None, values=None):
    """Norm, rotation, scale, rounding and the write to caches of a layer's StepHeads, in one pass;
    values are not rotated. rows: float32 [tokens, 2, pairs]; not needed for values alone."""
    where, step, tokens = "write_step", _Step(), set()
    if rows is not None and queries is None and keys is None:
        raise Error(f"posenc: {where}: rows must not be given without queries or keys")
    for name, one in (("queries", queries), ("keys", keys), ("values", values)):
        if one is not None:
            if not isinstance(one, StepHeads):
                raise Error(f"posenc: {where}: {name} must be StepHeads, got {one.__class__.__name__}")
            setattr(step, name, one._heads)
            tokens.add(one.tokens)
    if queries is not None or keys is not None:
        rows = numpy.ascontiguousarray(rows)
        if rows.dtype != numpy.float32 or rows.ndim != 3 or rows.shape[1] != 2:
            raise Error(f"posenc: {where}: rows must be float32 [tokens, 2, pairs], got {rows.dtype} "
                        f"{list(rows.shape)}")
        step.cos_sin, step.pairs = rows.ctypes.data, rows.shape[2]
        tokens.add(len(rows))
    if len(tokens) > 1:
        raise Error(f"posenc: {where}: rows, queries, keys and values must have the same tokens, got {sorted(tokens)}")
    step.tokens = tokens.pop() if tokens else 0
    _call("posenc1_write_step", ctypes.byref(step), 0, 1)


def read_cache(cache, slots=None):
    """The heads of a Cache as float32 [tokens, heads, head_dim]; 0 where a slot is negative."""
    described, slots = cache._described(slots)
    tokens = cache.pages * cache.page_tokens if slots is None else len(slots)
    result = numpy.zeros((tokens, cache.heads, cache.head_dim), numpy.float32)
    if result.size:
        _call("posenc1_read_cache", ctypes.byref(described), tokens, cache.heads, cache.head_dim,
              result.ctypes.data)
    return result


class Cells:
    """What a mask or a bias of attend is, cell by cell: an array [..., heads, queries, keys] whose
    axes but the last may be 1 or missing. Of bool or uint8, not 0 shows a key. Of floats, or uint16
    with type="bf16", numbers are added to scores, and -infinity hides. bits: uint8 [..., (keys + 7)
    // 8], as numpy.packbits(shown, axis=-1, bitorder="little") makes them. slopes: of each head, on
    numbers."""

    def __init__(self, array, *, bits=False, slopes=None, type=None):
        self.array, self.bits, self.slopes = numpy.asarray(array), bits, slopes
        kind = self.array.dtype.kind + str(self.array.dtype.itemsize)
        name = {"b1": "b", "u1": "bits" if bits else "b", "f2": "f2", "f4": "f4", "f8": "f8"}.get(kind)
        name = "bf16" if kind == "u2" and type == "bf16" else name
        if name is None or (bits and name != "bits") or (type is not None and name != type) \
                or type not in (None, "bf16") or not self.array.dtype.isnative or not 1 <= self.array.ndim <= 4:
            raise Error("posenc: attend: cells must be bool, uint8, float16, float32, float64, or uint16 with "
                        f"type='bf16', of 1 to 4 axes, got {self.array.dtype} {list(self.array.shape)}")
        self._type = _CELLS[name]

    def _of(self, where, shape, kept):
        """The cells of each sequence. shape: batches, heads, queries, keys."""
        array = self.array.reshape((1,) * (4 - self.array.ndim) + self.array.shape)
        keys = (shape[3] + 7) // 8 if self.bits else shape[3]
        if any(n not in (1, wanted) for n, wanted in zip(array.shape, shape[:3])) or array.shape[3] < keys:
            raise Error(f"posenc: {where}: cells must be [batches, heads, queries, keys] {list(shape)}, or 1 in "
                        f"place of the first three, got {list(self.array.shape)}")
        if self.array.size and (array.strides[3] == 0 or any(stride % array.itemsize for stride in array.strides)
                                or (self.bits and array.strides[3] != 1) or array.ctypes.data % array.itemsize):
            array = numpy.ascontiguousarray(array)
        slopes = _numbers(where, "slopes of cells", self.slopes, (shape[1],), kept)
        kept.append(array)
        batch, head, query, key = array.strides
        if not self.array.size:
            return [_Cells() for _ in range(shape[0])]
        one_row, one_head = array.shape[2] == 1 or query == 0, array.shape[1] == 1 or head == 0
        return [_Cells(array.ctypes.data + (i * batch if array.shape[0] > 1 else 0), self._type, one_row,
                       1 if one_head else shape[1], 0 if one_row else query, 0 if one_head else head,
                       0 if self.bits else key, slopes) for i in range(shape[0])]


def _numbers(where, name, values, shape, kept, dtype=numpy.float64):
    """The address of numbers of a shape, which are kept; None if there are none."""
    if values is None:
        return None
    array = numpy.ascontiguousarray(values, dtype=dtype)
    if array.shape != shape:
        raise Error(f"posenc: {where}: {name} must be {list(shape)}, got {list(array.shape)}")
    kept.append(array)
    return array.ctypes.data


def _of_sequences(where, name, values, batches, count=None):
    """Integers [batches, count] for those of each sequence, or of all; None: none are given."""
    if values is None:
        return None
    given = numpy.asarray(values)
    rows = given if given.ndim == 2 else given[None]
    if rows.ndim != 2 or len(rows) not in (1, batches):
        raise Error(f"posenc: {where}: {name} must be integers, [tokens] or [{batches}, tokens], got "
                    f"{given.dtype} {list(given.shape)}")
    rows = numpy.stack([_int64s(name, row) for row in rows])
    if count is not None and rows.shape[1] != count:
        raise Error(f"posenc: {where}: {name} must be of {count} tokens, got {rows.shape[1]}")
    return numpy.ascontiguousarray(numpy.broadcast_to(rows, (batches, rows.shape[1])))


def _source(where, name, source, slots, batches, layout, kept):
    """What a sequence reads keys or values of: cache or heads, each; tokens, heads and head_dim."""
    if isinstance(source, Cache):
        slots = _of_sequences(where, f"slots of {name}", slots, batches)
        kept.append(slots)
        tokens = source.pages * source.page_tokens if slots is None else slots.shape[1]
        each = [source._described(None)[0] for _ in range(batches)]
        for i, one in enumerate(each):
            one.slots = slots[i].ctypes.data if slots is not None and slots.size else None
        return each, None, (tokens, source.heads, source.head_dim)
    is_bf16 = getattr(source, "dtype", None) == numpy.uint16
    view, described = _heads(source, "bf16" if is_bf16 else None, layout, name, where)
    if view.shape[0] != batches:
        raise Error(f"posenc: {where}: {name} must be of {batches} sequences, got {list(source.shape)}")
    tokens = view.shape[1]
    slots = _of_sequences(where, f"slots of {name}", slots, batches, tokens)
    each = []
    for i in range(batches):
        one = _Heads.from_buffer_copy(described)
        one.data, one.batch_stride = view[i].ctypes.data, 0
        if slots is not None and tokens:  # a token that is there lies where it is
            kept.append(numpy.where(slots[i] < 0, -1, numpy.arange(tokens)))
            one.slots, one.pages, one.page_tokens = kept[-1].ctypes.data, 1, tokens
        each.append(one)
    return None, each, view.shape[1:]


class KeyBias:
    """The bias of a key projection, [kv_heads, head_dim], that keys were made without: attend adds
    scale <q, R(p) b> to the scores, so that a cache holds W x rotated. `frequencies`: as keys are
    rotated, with layout and first_dim unless they are given. heads: of queries. hadamard: the block
    of the transform that queries are under, as of hadamard()."""

    def __init__(self, frequencies, bias, heads, *, layout=None, first_dim=None, hadamard=0):
        where, self._handle = "KeyBias", _pointer()
        if not isinstance(frequencies, Frequencies):
            raise Error(f"posenc: {where}: frequencies must be Frequencies, got {frequencies.__class__.__name__}")
        bias = numpy.ascontiguousarray(bias, numpy.float32)
        if bias.ndim != 2:
            raise Error(f"posenc: {where}: bias must be [kv_heads, head_dim], got {list(bias.shape)}")
        first = _first_dim(where, frequencies.first_dim if first_dim is None else first_dim, bias.shape[1])
        layout = _named(where, "layout", _LAYOUTS, frequencies.layout if layout is None else layout)
        _call("posenc1_key_bias_create", frequencies._handle, bias.ctypes.data, bias.shape[0], _count(where, "heads", heads),
              bias.shape[1], layout, first, _block(where, hadamard), ctypes.byref(self._handle))
        self._axes = frequencies.axes

    def at(self, positions, delta=0):
        """The same for a sequence on several axes: what attend calls a key's position is then an
        index, of a token of positions, integers [axes, tokens], or beyond them index + delta."""
        other, given = KeyBias.__new__(KeyBias), _positions("KeyBias.at", positions, self._axes)
        if given.dtype != numpy.int64:
            raise Error(f"posenc: KeyBias.at: positions must be integers, got {given.dtype}")
        other._handle, other._axes = _pointer(), self._axes
        _call("posenc1_key_bias_at", self._handle, given.ctypes.data, given.shape[1],
              int(_int64s("KeyBias.at: delta", [delta])[0]), ctypes.byref(other._handle))
        return other

    def __del__(self):
        if getattr(self, "_handle", None):
            _loaded.posenc1_key_bias_destroy(self._handle)

    __copy__, __deepcopy__, __reduce__ = Frequencies.__copy__, Frequencies.__deepcopy__, Frequencies.__reduce__


def attend(queries, keys, values, *, slots=None, value_slots=None, lengths=None, type=None,
           layout="halves", scale=0.0, query_positions=None, key_positions=None, causal=False,
           behind=0, ahead=0, chunk=0, mask=None, bias=None, slopes=None, cap=0.0, sinks=None,
           temperature=None, key_bias=None, profiles=None, tau=0.0, dot_products=False, log_sum_exp=False,
           scores=False, weights=False, threads=1, out=None):
    """softmax(scale <q, k>) v as float32 (float64), of queries [batches, queries, heads, head_dim],
    or without batches, or of one query, [heads, head_dim]. keys, values: Caches, which sequences
    share by slots [batches, tokens] (of values those of keys, unless they are given), or arrays
    [batches, tokens, kv_heads, dim]. Tokens of a negative slot are seen by no query; of an array,
    the others lie where they are. lengths: of each sequence, which has no more tokens.

    scale: 0 stands for 1 / sqrt(head_dim); 1 where queries have it already. causal, behind, ahead,
    chunk: what a query sees by positions, which count from 0, the queries being last, unless they
    are given; behind=8 is itself and 7 before it, as Frequencies.window. mask, bias: arrays or
    Cells, which show keys or add to scores, behind the cap and before it. slopes: ALiBi's. cap: as
    Gemma 2 has it. sinks: a logit per head. temperature: {"rule": "log_n", "length": 4096},
    log_n_by_position, {"rule": "ssmax", "scales": ..., "biases": ...}, {"rule": "by_position",
    "scale": 0.1, "length": 8192, "offset": 1}, adaptive, half_weight, critical. key_bias: a KeyBias that keys were made
    without. profiles: Inkling's, [rank, extent], and what queries make of them, [..., queries,
    heads, rank]. tau: scale-invariant attention's, in tokens. dot_products: quicker, rounded. out: of any type, where outputs go.

    log_sum_exp, scores, weights: not False: returns a tuple of outputs and these, [..., queries,
    heads] and [..., heads, queries, keys]. posenc.h says more of all."""
    where, kept = "attend", []
    if not isinstance(queries, numpy.ndarray) or not 2 <= queries.ndim <= 4:
        raise Error(f"posenc: {where}: queries must be an array [heads, head_dim], or with queries, or batches and "
                    "queries before them")
    whole = queries.reshape((1,) * (4 - queries.ndim) + queries.shape)
    view, of_queries = _heads(whole, type, layout, "queries", where)
    batches, count, heads, head_dim = view.shape
    key_caches, key_heads, shape = _source(where, "keys", keys, slots, batches, layout, kept)
    value_caches, value_heads, value_shape = _source(
        where, "values", values, slots if value_slots is None else value_slots, batches, layout, kept)
    if shape[:2] != value_shape[:2] or shape[2] != head_dim:
        raise Error(f"posenc: {where}: keys and values must be [tokens, kv_heads, dim], alike, keys with the "
                    f"{head_dim} dims of queries")
    tokens, kv_heads, value_dim = shape[0], shape[1], value_shape[2]
    lengths = _of_sequences(where, "lengths", lengths, 1, batches)
    if lengths is not None and lengths.size and not 0 <= lengths.min() <= lengths.max() <= tokens:
        raise Error(f"posenc: {where}: lengths must be in [0, {tokens}], got {lengths.min()} to {lengths.max()}")
    query_positions = _of_sequences(where, "query_positions", query_positions, batches, count)
    key_positions = _of_sequences(where, "key_positions", key_positions, batches, tokens)
    real = numpy.float64 if view.dtype == numpy.float64 else numpy.float32
    lead, cut = whole.shape[:4 - queries.ndim], (0,) * (4 - queries.ndim)
    result = numpy.zeros((batches, count, heads, value_dim), real)
    if out is not None:
        if not isinstance(out, numpy.ndarray) or out.shape != result[cut].shape or not out.flags.writeable:
            raise Error(f"posenc: {where}: out must be a writeable array {list(result[cut].shape)}")
        result = out.reshape(result.shape)
        if not numpy.shares_memory(result, out) and out.size:
            raise Error(f"posenc: {where}: out must have strides of axes that are there")
    is_bf16 = result.dtype == numpy.uint16
    _, of_outputs = _heads(result, "bf16" if is_bf16 else None, layout, "out", where)
    sums = numpy.full((batches, count, heads), -numpy.inf) if log_sum_exp else None
    records = [numpy.full((batches, heads, count, tokens), hidden, real) if asked else None
               for asked, hidden in ((scores, -numpy.inf), (weights, 0))]
    if temperature is not None and not isinstance(temperature, dict):
        raise Error(f"posenc: {where}: temperature must be a dict of a rule and its numbers, got {temperature!r}")
    rule = dict(temperature or {})
    rules = _Temperature(_named(where, "rule of temperature", _TEMPERATURES, rule.pop("rule", None)),
                         *(rule.pop(name, 0) for name in ("length", "scale", "offset")),
                         *(_numbers(where, name, rule.pop(name, None), (heads,), kept) for name in ("scales", "biases")))
    if rule:
        raise Error(f"posenc: {where}: temperature must have a rule and its numbers, got {', '.join(map(str, rule))} too")
    if key_bias is not None and not isinstance(key_bias, KeyBias):
        raise Error(f"posenc: {where}: key_bias must be a KeyBias, got {key_bias.__class__.__name__}")
    if profiles is not None and (not isinstance(profiles, (tuple, list)) or len(profiles) != 2):
        raise Error(f"posenc: {where}: profiles must be two arrays, got {profiles.__class__.__name__}")
    bank, side = (None, None) if profiles is None else (numpy.ascontiguousarray(x, numpy.float32) for x in profiles)
    if bank is not None and (bank.ndim != 2 or side.shape != (*queries.shape[:-1], len(bank))):
        raise Error(f"posenc: {where}: profiles must be [rank, extent] and [..., queries, heads, rank], got "
                    f"{list(bank.shape)} and {list(side.shape)}")
    side = None if side is None else side.reshape(batches, count, heads, len(bank))
    cells = [[_Cells()] * batches if some is None else
             (some if isinstance(some, Cells) else Cells(some))._of(where, (batches, heads, count, tokens), kept)
             for some in (mask, bias)]
    a, parts = (_Attention * batches)(), []
    for i, one in enumerate(a):
        one.queries, one.outputs = (_Heads.from_buffer_copy(x) for x in (of_queries, of_outputs))
        one.queries.data, one.outputs.data = view[i].ctypes.data, result[i].ctypes.data
        one.queries.batch_stride = one.outputs.batch_stride = 0
        for name, each in (("key_cache", key_caches), ("keys", key_heads), ("value_cache", value_caches),
                           ("values", value_heads)):
            if each is not None:
                setattr(one, name, each[i])
        one.tokens = tokens if lengths is None else int(lengths[0, i])
        one.heads, one.kv_heads, one.head_dim, one.value_dim, one.scale = heads, kv_heads, head_dim, value_dim, scale
        one.query_tokens = count
        for name, given in (("query_positions", query_positions), ("key_positions", key_positions)):
            setattr(one, name, None if given is None or not given.size else given[i].ctypes.data)
        one.causal, one.dot_products, one.cap, one.tau = bool(causal), bool(dot_products), cap, tau
        one.behind, one.ahead, one.chunk = (_count(where, name, value) for name, value in (
            ("behind", behind), ("ahead", ahead), ("chunk", chunk)))
        one.mask, one.bias, one.temperature = cells[0][i], cells[1][i], rules
        one.sinks = _numbers(where, "sinks", sinks, (heads,), kept)
        one.slopes = _numbers(where, "slopes", slopes, (heads,), kept)
        one.key_bias = None if key_bias is None else key_bias._handle
        if bank is not None:
            one.profiles = _Profiles(bank.ctypes.data, *bank.shape, side[i].ctypes.data)
        one.log_sum_exp = sums[i].ctypes.data if sums is not None else None
        short = [None if x is None else numpy.empty((heads, count, one.tokens), real) for x in records]
        one.scores, one.weights = (None if x is None else x.ctypes.data for x in short)
        parts.append(short)
    if count and batches:
        _attend(a, _count(where, "threads", threads, 1))
    for i, short in enumerate(parts):
        for to, some in zip(records, short):
            if to is not None and count:
                to[i, :, :, :a[i].tokens] = some
    all_of = [result[cut], *(x for x in (sums[cut] if sums is not None else None,
                                         *(None if x is None else x[0, :, 0] if len(lead) == 2 else x[cut[:1]]
                                           for x in records)) if x is not None)]
    return tuple(all_of) if len(all_of) > 1 else all_of[0]


def _attend(attentions, threads):
    """Every thread is a worker of the call."""
    needed, failed = _size(), []
    _call("posenc1_attention_memory_of", attentions, len(attentions), threads, ctypes.byref(needed))
    memory, library = numpy.empty(needed.value, numpy.uint8), _library()
    together = threading.Barrier(max(threads, 1))
    barrier = _barrier(lambda _: together.wait() and None)

    def work(i):
        worker = _Worker(i, threads, barrier, None, memory.ctypes.data, needed.value)
        if library.posenc1_attend_as(attentions, len(attentions), ctypes.byref(worker)) != 0:
            failed.append(library.posenc1_error().decode())

    others = [threading.Thread(target=work, args=(i,)) for i in range(1, threads)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
    if failed:
        raise Error(failed[0])


def profile(f, distances, rho=1.0):
    """The mean score of queries and keys of unit variance and correlation rho, at distances:
    softmax_factor rho (2 sum_i cos(r inv_freq_i) + the dims that do not rotate) / sqrt(head_dim),
    with the attention factor squared on what rotates; on axes, where all have the distance."""
    if not numpy.isfinite(rho):
        raise Error(f"posenc: profile: rho must be finite, got {rho}")
    rows = f.rows(distances, numpy.float64)
    rotated = 2 * f.attention_factor * rows[:, 0].sum(axis=1)
    return f.softmax_factor * rho * (rotated + f.head_dim - 2 * len(f.inv_freq)) / numpy.sqrt(f.head_dim)
