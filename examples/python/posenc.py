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

import _thread
import collections.abc
import ctypes
import json
import numbers
import operator
import os
import pathlib
import tempfile
import threading

import numpy

__all__ = ["Cache", "Cells", "Error", "Frequencies", "KeyBias", "StepHeads", "attend", "format_bytes", "frequencies",
           "hadamard", "instruction_set", "profile", "read_cache", "rotate", "version", "write_step"]


class Error(ValueError):
    """What must hold, and what was given."""


# ---- The C API

_TYPES = {None: None, "f32": 0, "f64": 1, "f16": 2, "bf16": 3}
_FLOATS = {("f", 4): "f32", ("f", 8): "f64", ("f", 2): "f16"}
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
            path = str(_find())
            try:
                c = ctypes.CDLL(path)
            except OSError as error:
                raise Error(f"posenc: {path}: must be a library that can be loaded, got {error}") from None
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


def _last_error():
    """Names of files may be in it, which need not be UTF-8."""
    return Error(_library().posenc1_error().decode(errors="backslashreplace"))


def _call(name, *arguments):
    if getattr(_library(), name)(*arguments) != 0:
        raise _last_error()


def version():
    return _library().posenc1_version().decode()


def instruction_set():
    """The one in use: base, v3, v4, v4_bf16 or bf16; POSENC_INSTRUCTION_SET forces one."""
    name = _library().posenc1_instruction_set()
    if name is None:
        raise _last_error()
    return name.decode()


# ---- Arguments. What NumPy or ctypes would turn into something else is refused by its name; to C, a
# size of 0 stands for a default.

def _type_of(value):
    """As in torch.Tensor; what there is of an array."""
    of = value.__class__
    if of is numpy.ndarray:
        return f"{value.dtype} {list(value.shape)}"
    return "None" if value is None else of.__name__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__name__}"


def _shown(value):
    text = repr(value)
    return text if len(text) < 80 and "\n" not in text else _type_of(value)


def _count(where, name, value, least=0, limit=2**63):
    """Of other integers ctypes would pass the lowest 64 bits."""
    try:
        if value.__class__ is int and least <= value < limit:
            return value
        count = least - 1 if isinstance(value, (bool, numpy.bool_)) else operator.index(value)
    except TypeError:
        count = least - 1
    if not least <= count < limit:
        raise Error(f"posenc: {where}: {name} must be an integer in [{least}, {'2^63' if limit == 2**63 else limit}), "
                    f"got {_shown(value)}")
    return count


def _limit(where, name, value):
    """A count of positions; None, as a layer has it, is no limit."""
    return 0 if value is None else _count(where, name, value)


def _real(where, name, value):
    if value.__class__ is float or (value.__class__ is int and -2**53 <= value <= 2**53):
        return value
    given = value[()] if isinstance(value, numpy.ndarray) and value.ndim == 0 else value
    try:
        if isinstance(given, numbers.Real) and not isinstance(given, bool):
            return float(given)
    except OverflowError:
        pass
    raise Error(f"posenc: {where}: {name} must be a real number that fits float64, got {_shown(value)}")


def _flag(where, name, value):
    """0 and 1 are taken too."""
    if value is False or value is True:
        return value
    if isinstance(value, (bool, numpy.bool_)) or (isinstance(value, (int, numpy.integer)) and value in (0, 1)):
        return bool(value)
    raise Error(f"posenc: {where}: {name} must be True or False, got {_shown(value)}")


def _named(where, what, names, value):
    try:
        return names[value]
    except (KeyError, TypeError):  # of no name, and of what has no hash
        listed = ", ".join(str(name) for name in names)
        raise Error(f"posenc: {where}: {what} must be one of {listed}, got {_shown(value)}") from None


def _of(where, name, wanted, value):
    if not isinstance(value, wanted):
        raise Error(f"posenc: {where}: {name} must be of type {wanted.__name__}, got {_type_of(value)}")
    return value


def _fixed(name):
    """An attribute that sizes and addresses of C hang on: it cannot be set."""
    return property(operator.attrgetter("_" + name))


def _first_dim(where, first_dim, head_dim):
    """Counted from the end if negative. C refuses heads without dims."""
    if first_dim.__class__ is int and 0 <= first_dim < head_dim:
        return first_dim
    first = _count(where, "first_dim", first_dim, -head_dim, max(head_dim, 1))
    return first + head_dim if first < 0 else first


def _block(where, hadamard):
    """Of a Walsh-Hadamard transform: a power of two, 0 for none, or "largest"."""
    if isinstance(hadamard, str) and hadamard == "largest":
        return _LAST_DIMS
    if isinstance(hadamard, str) or not hasattr(hadamard, "__index__"):
        raise Error(f"posenc: {where}: the block must be an integer or 'largest', got {_shown(hadamard)}")
    return _count(where, "the block", hadamard)


def _has_mask(values):
    if not isinstance(values, (list, tuple)):
        return isinstance(values, numpy.ma.MaskedArray)
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {int, float}:
        return False
    return any(issubclass(kind, numpy.ma.MaskedArray) for kind in kinds) or (
        any(issubclass(kind, (list, tuple)) for kind in kinds) and any(map(_has_mask, values)))


def _require_unmasked(where, name, values):
    if values.__class__ is not numpy.ndarray and _has_mask(values):
        raise Error(f"posenc: {where}: {name} must not be masked, since the mask would be lost, got {_type_of(values)}")


def _has_bool(values):
    kinds = set(map(type, values))
    return bool in kinds or numpy.bool_ in kinds or any(
        isinstance(some, (list, tuple)) and _has_bool(some) for some in (values if not kinds <= {int, float} else ()))


def _array(where, name, values):
    """As NumPy has it, but that bools among numbers are none."""
    if values.__class__ is numpy.ndarray:
        return values
    try:
        given = numpy.asarray(values)
        if isinstance(values, (list, tuple)) and given.dtype.kind in "iuf":
            if _has_bool(values):
                raise Error(f"posenc: {where}: {name} must be numbers alone, got bools among them")
            if given.ndim == 1 and given.dtype.kind in "iu":
                return given  # a masked element would be NaN
        _require_unmasked(where, name, values)
        return given
    except (OverflowError, RuntimeError, TypeError, ValueError, Warning) as error:  # lists of any lengths; others' arrays
        if isinstance(error, Error):
            raise
        _require_unmasked(where, name, values)
        raise Error(f"posenc: {where}: {name} must be an array of NumPy, or lists of equal lengths, got "
                    f"{_type_of(values)}") from None


def _for_c(array, dtype):
    """Contiguous and aligned."""
    made = numpy.ascontiguousarray(array, dtype)
    return made if made.flags.aligned else made.copy()


def _numbers(where, name, values, shape, dtype=numpy.float64):
    """Real numbers of a shape, in which a name stands for any size; None: there are none."""
    if values is None:
        return None
    given = _array(where, name, values)
    if given.dtype.kind not in "iuf" or given.ndim != len(shape) or any(
            n != wanted for n, wanted in zip(given.shape, shape) if not isinstance(wanted, str)):
        raise Error(f"posenc: {where}: {name} must be [{', '.join(map(str, shape))}] of real numbers, got {_type_of(given)}")
    if given.dtype == dtype:
        return _for_c(given, dtype)
    with numpy.errstate(over="ignore"):
        made = _for_c(given, dtype)
    if (numpy.isinf(made) & numpy.isfinite(given)).any():
        raise Error(f"posenc: {where}: {name} must fit {made.dtype}, got {numpy.abs(given).max()}")
    return made


def _address(where, name, values, heads, kept):
    """That of a number for each head, which is kept with its name; None if there are none."""
    kept.append((name, _numbers(where, name, values, (heads,))))
    return None if kept[-1][1] is None else kept[-1][1].ctypes.data


def _int64s(where, name, values, axis="tokens"):
    """[tokens], contiguous; conversion alone would truncate floats and wrap large numbers."""
    given = _array(where, name, values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise Error(f"posenc: {where}: {name} must be integers, [{axis}], got {_type_of(given)}")
    if given.dtype == numpy.uint64 and given.size and int(given.max()) >= 2**63:
        raise Error(f"posenc: {where}: {name} must fit int64, got {given.max()}")
    return _for_c(given, numpy.int64)


def _positions(where, values, axes, name="positions"):
    """[axes, tokens], contiguous, int64 or double; of [tokens] each is on every axis."""
    given = _array(where, name, values)
    if given.ndim not in (1, 2) or (given.ndim == 2 and len(given) != axes) or given.dtype.kind not in "iuf":
        shape = "[tokens]" if axes == 1 else f"[{axes} axes, tokens] or [tokens]"
        raise Error(f"posenc: {where}: {name} must be integers or floats, {shape}, got {_type_of(given)}")
    if given.dtype.kind == "f" and given.size:
        whole = _for_c(given, numpy.float64)
    else:
        whole = numpy.stack([_int64s(where, name, row) for row in numpy.atleast_2d(given)])
    return numpy.ascontiguousarray(numpy.broadcast_to(whole, (axes, given.shape[-1])))


def _rows(where, rows, dtype):
    """[tokens, 2, pairs] for a call."""
    given = rows if rows.__class__ is numpy.ndarray else _array(where, "rows", rows)
    if given.dtype != dtype or given.ndim != 3 or given.shape[1] != 2:
        raise Error(f"posenc: {where}: rows must be {numpy.dtype(dtype)} [tokens, 2, pairs], got "
                    f"{'None' if rows is None else _type_of(given)}")
    return _for_c(given, dtype)


def _owner(array):
    """The array whose own memory this is of; None: not known."""
    base = array.base
    return array if base is None else base if base.__class__ is numpy.ndarray and base.base is None else None


def _require_apart(where, written, read):
    """C does not look whether rows, slots, weights and the like lie in what it writes. read: names and arrays."""
    owners = {id(_owner(to)) for to in written}
    known = id(None) not in owners
    for name, array in read:
        if array is None or (known and (owner := _owner(array)) is not None and id(owner) not in owners):
            continue
        for to in written:
            if numpy.may_share_memory(to, array, 10**6):
                raise Error(f"posenc: {where}: {name} must not overlap what is written")


# ---- Frequencies and rows

class Frequencies:
    """How fast each pair rotates, in radians per position, and by which axis: axis_of_pair, None
    where there is one. Of a model's layer, also what else it says, for attend(..., behind=f.window,
    ahead=f.ahead, chunk=f.chunk, cap=f.cap, scale=f.softmax_factor / f.head_dim**0.5), where None is
    no limit, and a cap of 0 none, with query_positions and key_positions as rows have them. both_ways
    names the tokens that see each other beside these: image, image_within_window (also later ones,
    but none beyond the window behind them), prefix. key_bias_is_separable: whether keys can be
    stored without their bias, which attend's key_bias adds (None: not known)."""

    def __init__(self, handle, layer=None):
        self._handle, self._makers = handle, {}
        factor = _double()
        pairs = _library().posenc1_frequencies_read(handle, None, ctypes.byref(factor))
        self._inv_freq = numpy.empty(pairs)
        _library().posenc1_frequencies_read(handle, self._inv_freq.ctypes.data, ctypes.byref(factor))
        self._inv_freq.flags.writeable = False
        self._pairs, self._attention_factor = pairs, factor.value
        of_pair = numpy.empty(pairs, numpy.uintp)
        self._axes = _library().posenc1_frequencies_axes(handle, of_pair.ctypes.data)
        of_pair.flags.writeable = False
        self._axis_of_pair = of_pair if self._axes > 1 else None
        self._layout, self._first_dim = "halves", 0
        self._window = self._ahead = self._chunk = self._both_ways = None
        self._cap, self._sinks, self._key_bias_is_separable = 0.0, False, None
        self._head_dim, self._softmax_factor = 2 * pairs, 1.0
        if layer is not None:
            self._layout = "interleaved" if layer.layout else "halves"
            self._first_dim = -2 * pairs if layer.first_dim == _LAST_DIMS else layer.first_dim
            self._head_dim, self._softmax_factor = layer.head_dim, layer.softmax_factor
            self._window, self._ahead = layer.window or None, layer.ahead or None
            self._chunk, self._cap = layer.chunk or None, layer.cap
            self._sinks, self._both_ways = bool(layer.sinks), _BOTH_WAYS[layer.both_ways]
            if layer.key_bias_is_separable >= 0:
                self._key_bias_is_separable = layer.key_bias_is_separable == 1

    # Of an array a view, whose shape and type are its own.
    inv_freq = property(lambda self: self._inv_freq.view())
    axis_of_pair = property(lambda self: None if self._axis_of_pair is None else self._axis_of_pair.view())
    attention_factor, axes, layout, first_dim, head_dim, softmax_factor, window, ahead, chunk, cap, sinks, both_ways, \
        key_bias_is_separable = map(_fixed, (
            "attention_factor", "axes", "layout", "first_dim", "head_dim", "softmax_factor", "window", "ahead", "chunk",
            "cap", "sinks", "both_ways", "key_bias_is_separable"))

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
        return f"<posenc.Frequencies: {self._pairs} pairs{axes}, {self.layout}>"

    def on_axes(self, axes, numbers):
        """The same frequencies, where each pair rotates by an axis of its own. axes: by_pair, where
        numbers are the axis of each; contiguous, the pairs of each axis (Qwen2-VL: [16, 24, 24]);
        interleaved, the same of three axes (Qwen3-VL); ggml, ggml_interleaved: its four sections."""
        where, handle = "on_axes", _pointer()
        given = _int64s(where, "numbers", numbers, "count")
        if given.size and given.min() < 0:
            raise Error(f"posenc: {where}: numbers must not be negative, got {given.min()}")
        _call("posenc1_frequencies_on_axes", self._handle, _named(where, "axes", _AXES, axes), given.ctypes.data,
              given.size, ctypes.byref(handle))
        return self._like(handle)

    def _like(self, handle):
        other = Frequencies(handle)
        vars(other).update({name: value for name, value in vars(self).items()
                            if name not in ("_handle", "_makers", "_axes", "_axis_of_pair")})
        return other

    def rows(self, positions, dtype=numpy.float32, table_range=0):
        """Cosines and sines times the attention factor, [tokens, 2, pairs], right to 3e-8 in float32
        at any position. positions: integers or floats, [tokens]; on axes [axes, tokens], or [tokens]
        of text. table_range: whole ones within it come from a table (see posenc.h)."""
        return self._rows("rows", "positions", positions, dtype, table_range)

    def _rows(self, where, name, positions, dtype, table_range):
        types = {numpy.dtype(numpy.float32): 0, numpy.dtype(numpy.float64): 1}
        try:
            type = types[numpy.dtype(dtype)] if dtype is not None else None
        except (KeyError, TypeError):
            type = None
        if type is None:
            raise Error(f"posenc: {where}: dtype must be float32 or float64, got {_shown(dtype)}")
        given = _positions(where, positions, self._axes, name)
        result = numpy.empty((given.shape[1], 2, self._pairs), dtype)
        fractional = given.dtype == numpy.float64
        _call("posenc1_write_fractional_rows" if fractional else "posenc1_write_rows", self._maker(table_range),
              given.ctypes.data, None, given.shape[1], type, result.ctypes.data)
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
    """Frequencies of a layer (0, unless given) of a model's config.json or GGUF file, or of a dict as
    config.to_dict() gives it, for sequences of `length` tokens (1), None if the layer does not
    rotate; or of a rule by its name and parameters (errors list both; geometric, if none is named),
    which changes the frequencies `of`; or given ones, with an attention factor (1)."""
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
            raise Error(f"posenc: {where}: {name} must not be given here, got {_shown(value)}")
    if file is not None:
        return _of_model(where, file, _count(where, "layer", 0 if layer is None else layer),
                         _count(where, "length", 1 if length is None else length))
    if inv_freq is not None:
        given = _numbers(where, "inv_freq", inv_freq, ("pairs",))
        _call("posenc1_frequencies_of_numbers", given.ctypes.data, given.size,
              1 if attention_factor is None else _real(where, "attention_factor", attention_factor), ctypes.byref(handle))
        return Frequencies(handle)
    for name in ("geometric" if rule is None else rule, *parameters):
        if not isinstance(name, str) or "\0" in name:
            raise Error(f"posenc: {where}: rule must be a name, as its parameters are, got {_shown(name)}")
    of = None if of is None else _of(where, "of", Frequencies, of)
    listed = (_Parameter * len(parameters))()
    for parameter, (name, value) in zip(listed, parameters.items()):
        parameter.name = name.encode()
        if name == "truncate":  # the one choice of a rule
            parameter.number = _flag(where, name, value)
        elif hasattr(value, "__len__") and not isinstance(value, str) and getattr(value, "ndim", 1):
            given = _numbers(where, name, value, ("count",))
            parameter.list, parameter.count = (_double * given.size)(*given), given.size
        else:
            parameter.number = _real(where, name, value)
    _call("posenc1_frequencies_of_rule", of._handle if of else None, ("geometric" if rule is None else rule).encode(),
          listed, len(parameters), ctypes.byref(handle))
    return Frequencies(handle)


def _of_model(where, file, layer, length):
    if isinstance(file, collections.abc.Mapping):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "the dict"  # as errors call it
            try:
                path.write_text(json.dumps(dict(file), default=lambda x: x.item()), "utf-8")  # of a number of NumPy
            except (AttributeError, TypeError, ValueError) as error:
                raise Error(f"posenc: {where}: the dict must have what a config.json has, got {error}") from None
            return _of_model(where, path, layer, length)
    try:
        path = os.fsencode(file)
    except TypeError:
        raise Error(f"posenc: {where}: the file must be a path, or a dict, got {_type_of(file)}") from None
    if b"\0" in path:
        raise Error(f"posenc: {where}: the file's name must have no null character, got {path!r}")
    described, handle = _Layer(), _pointer()
    _call("posenc1_frequencies_of_model", path, layer, length, ctypes.byref(described), ctypes.byref(handle))
    return Frequencies(handle, described) if handle else None


# ---- Rotation

def _heads(array, type, layout, name, where="rotate", layout_name="layout"):
    """The 4-D view [batches, tokens, heads, head_dim] of an array, and its description."""
    if array.__class__ is not numpy.ndarray:
        _require_unmasked(where, name, array)
    if not isinstance(array, numpy.ndarray) or not 3 <= array.ndim <= 4:
        raise Error(f"posenc: {where}: {name} must be an array of NumPy, [..., tokens, heads, head_dim] of 3 or 4 axes, "
                    f"got {_type_of(array)}")
    _named(where, "type", _TYPES, type)
    kind = type if type == "bf16" and array.dtype == numpy.uint16 else _FLOATS.get((array.dtype.kind, array.dtype.itemsize))
    if kind is None or (type not in (None, kind)) or not array.dtype.isnative:
        raise Error(f"posenc: {where}: {name} must be float16, float32 or float64, or uint16 with "
                    f"type='bf16', got {array.dtype} and type={type!r}")
    layout = _named(where, layout_name, _LAYOUTS, layout)
    view = array[None] if array.ndim == 3 else array
    if view.size and view.shape[3] > 1 and view.strides[3] != view.itemsize:
        raise Error(f"posenc: {where}: the dims of a head must be contiguous in {name}")
    strides = view.strides[:3]
    for axis in range(3) if 0 in strides and view.size else ():
        if view.shape[axis] > 1 and strides[axis] == 0:
            raise Error(f"posenc: {where}: {name} must not repeat memory along axis {axis}")
    if 1 in view.shape or not view.size:
        strides = [stride if count > 1 else 0 for stride, count in zip(strides, view.shape)]
    return view, _Heads(view.ctypes.data, _TYPES[kind], layout, *strides)


def _is_uint16(array):
    return isinstance(array, numpy.ndarray) and array.dtype == numpy.uint16


def _type_beside(type, array, *others):
    """What `type` says of an array of a call; "bf16" says it of those of uint16."""
    named = isinstance(type, str) and type == "bf16" and not _is_uint16(array)
    return None if named and any(map(_is_uint16, others)) else type


def rotate(array, rows, *, layout="halves", first_dim=0, out=None, type=None, eps=0.0, weight=None,
           scale=0.0):
    """Rotates queries or keys, [..., tokens, heads, head_dim] of any strides, by rows [tokens, 2,
    pairs], in place or into `out`, and returns what was written. bfloat16 is uint16, array, out or
    both, with type="bf16". first_dim: where the rotated 2 x pairs dims begin, from the end if negative. eps,
    weight: an RMS norm before; scale: after."""
    view, from_ = _heads(array, type if out is None else _type_beside(type, array, out), layout, "array")
    target, to = (array, _Heads())
    if out is not None:
        written, to = _heads(out, type if _is_uint16(out) else None, layout, "out")
        if written.shape != view.shape:
            raise Error(f"posenc: rotate: out must have the shape {list(array.shape)}, got {list(out.shape)}")
        target = out
    if not target.flags.writeable:
        raise Error("posenc: rotate: what is written must be writeable")
    real = numpy.float64 if target.dtype == numpy.float64 else numpy.float32
    rows = _rows("rotate", rows, real)
    batches, tokens, heads, head_dim = view.shape
    weight = _numbers("rotate", "weight", weight, (head_dim,), real)
    eps, scale = _real("rotate", "eps", eps), _real("rotate", "scale", scale)
    if weight is not None or (owner := _owner(target)) is None or (of := _owner(rows)) is None or of is owner:
        _require_apart("rotate", (target,), (("rows", rows), ("weight", weight)))
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

def format_bytes(format, head_dim):
    """The bytes of a head, and those of its scales if the format has them elsewhere, else 0."""
    where = "format_bytes"
    codes, scales = _size(), _size()
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
        self._format, self._head_dim, self._layout = format, _count(where, "head_dim", head_dim), layout
        self._pages, self._page_tokens, self._heads = (_count(where, name, value) for name, value in (
            ("pages", pages), ("page_tokens", page_tokens), ("heads", heads)))
        self._head_bytes = sum(format_bytes(format, head_dim))
        self._scale, self._inverse = _real(where, "scale", scale), _real(where, "inverse", inverse)
        _named(where, "layout", _LAYOUTS, layout)
        self._shape = self._pages, self._page_tokens * self._heads * self._head_bytes
        if max(self._pages * self._page_tokens, self._pages * self._shape[1], self._shape[1]) >= 2**63:
            raise Error(f"posenc: {where}: pages, page_tokens and heads must make fewer than 2^63 tokens and bytes, got "
                        f"{[pages, page_tokens, heads]}")
        self.memory = numpy.zeros(self._shape, numpy.uint8) if memory is None else memory
        self._bytes(where)

    format, pages, page_tokens, heads, head_dim, layout, scale, inverse = map(_fixed, (
        "format", "pages", "page_tokens", "heads", "head_dim", "layout", "scale", "inverse"))

    def _bytes(self, where):
        """Memory, which may have been replaced since."""
        given, shape = self.memory, self._shape
        if given.__class__ is not numpy.ndarray:
            _require_unmasked(where, "memory", given)
        if not isinstance(given, numpy.ndarray) or given.dtype != numpy.uint8 or given.shape != shape \
                or not given.flags.c_contiguous:
            raise Error(f"posenc: {where}: memory must be a contiguous array of uint8 {list(shape)}, got {_type_of(given)}")
        return given

    def _described(self, where, name, slots):
        """For a call, the slots and the memory, which must outlive it."""
        memory = self._bytes(where)
        if slots is not None:
            slots = _int64s(where, name, slots)
        return _Cache(data=memory.ctypes.data, format=_FORMATS[self._format],
                      layout=_LAYOUTS[self._layout], pages=self._pages, page_tokens=self._page_tokens,
                      slots=slots.ctypes.data if slots is not None and slots.size else None,
                      scale=self._scale, inverse=self._inverse), slots, memory


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
        for name, value, read, reader in (("type", type, not is_cache or (type is not None and _is_uint16(out)), "an array as source, or uint16 as out"),
                                          ("layout", layout, not is_cache, "an array as source"),
                                          ("source_slots", source_slots, is_cache, "a Cache as source"),
                                          ("out_layout", out_layout, out is not None, "out"),
                                          ("slots", slots, cache is not None, "cache")):
            if value is not None and not read:
                raise Error(f"posenc: {where}: {name} must not be given without {reader}, got {_shown(value)}")
        layout = source._layout if is_cache else "halves" if layout is None else layout
        self._kept, self._caches, self._read = [source, out], [], []
        if is_cache:
            h.from_cache, slots_of_source, target = source._described(where, "source_slots", source_slots)
            tokens = source._pages * source._page_tokens if slots_of_source is None else len(slots_of_source)
            shape, writes = (tokens, source._heads, source._head_dim), out is None and cache is None
            self._read.append(("source_slots", slots_of_source))
            self._caches.append((source, h.from_cache, writes, target))
        else:
            view, h.from_ = _heads(source, type if out is None else _type_beside(type, source, out), layout, "source", where)
            if view.shape[0] != 1:
                raise Error(f"posenc: {where}: source must be [tokens, heads, head_dim], got {list(source.shape)}")
            shape, target = view.shape[1:], source
        targets = [] if out is None else [out]
        if out is not None:
            written, h.to = _heads(out, type if _is_uint16(out) else None, layout if out_layout is None else out_layout, "out", where,
                                   "out_layout")
            if written.shape[1:] != shape or written.shape[0] != 1:
                raise Error(f"posenc: {where}: out must have the shape {list(shape)}, got {list(out.shape)}")
        if cache is not None:
            h.to_cache, kept, memory = _of(where, "cache", Cache, cache)._described(where, "slots", slots)
            if (cache._heads, cache._head_dim) != shape[1:] or (kept is not None and len(kept) != shape[0]):
                raise Error(f"posenc: {where}: cache and slots must have {list(shape)} tokens, heads and head_dim, "
                            f"got {[shape[0] if kept is None else len(kept), cache._heads, cache._head_dim]}")
            self._read.append(("slots", kept)), targets.append(memory), self._caches.append((cache, h.to_cache, True, memory))
        for array in targets or (target,):
            if array.flags.writeable:
                continue
            raise Error(f"posenc: {where}: what is written must be writeable")
        self._tokens, h.heads, h.head_dim = shape
        h.first_dim = _first_dim(where, first_dim, h.head_dim)
        h.norm = _Norm(_real(where, "eps", eps), _named(where, "norm", _NORMS, norm), _flag(where, "after", after),
                       _named(where, "eps_place", _EPS_PLACES, eps_place), None, 0, _flag(where, "plus_one", plus_one))
        weight = _numbers(where, "weight", weight, (h.head_dim,), numpy.float32)
        if weight is not None:
            self._read.append(("weight", weight))
            h.norm.weight = weight.ctypes.data
        h.scale, h.rounding = _real(where, "scale", scale), _named(where, "rounding", _ROUNDINGS, rounding)
        h.rounded_type = _TYPES["bf16"]
        h.hadamard, h.from_hadamard = _block(where, hadamard), _block(where, from_hadamard)
        self._heads, self._written = h, [out] if out is not None else [source] if cache is None and not is_cache else []

    tokens = _fixed("tokens")

    def _described(self, where):
        """For a call; memory of caches may have been replaced since."""
        for i, (cache, described, writes, memory) in enumerate(self._caches):
            if cache.memory is not memory:
                given = cache._bytes(where)
                if given.shape != memory.shape:
                    raise Error(f"posenc: {where}: memory must stay uint8 {list(memory.shape)}, got {_type_of(given)}")
                if writes and not given.flags.writeable:
                    raise Error(f"posenc: {where}: what is written must be writeable")
                described.data, self._caches[i] = given.ctypes.data, (cache, described, writes, given)
        return self._heads


def write_step(rows=None, *, queries=None, keys=None, values=None):
    """Norm, rotation, scale, rounding and the write to caches of a layer's StepHeads, in one pass;
    values are not rotated. rows: float32 [tokens, 2, pairs]; not needed for values alone."""
    where, step, tokens, written, read = "write_step", _Step(), set(), [], []
    if rows is not None and queries is None and keys is None:
        raise Error(f"posenc: {where}: rows must not be given without queries or keys")
    for name, one in (("queries", queries), ("keys", keys), ("values", values)):
        if one is not None:
            setattr(step, name, _of(where, name, StepHeads, one)._described(where))
            tokens.add(one._tokens)
            written += one._written
            written += [memory for _, _, writes, memory in one._caches if writes]
            read += one._read
    if queries is not None or keys is not None:
        rows = _rows(where, rows, numpy.float32)
        step.cos_sin, step.pairs = rows.ctypes.data, rows.shape[2]
        tokens.add(len(rows))
        read.append(("rows", rows))
    if len(tokens) > 1:
        raise Error(f"posenc: {where}: rows, queries, keys and values must have the same tokens, got {sorted(tokens)}")
    step.tokens = tokens.pop() if tokens else 0
    _require_apart(where, written, read)
    _call("posenc1_write_step", ctypes.byref(step), 0, 1)


def read_cache(cache, slots=None):
    """The heads of a Cache as float32 [tokens, heads, head_dim]; 0 where a slot is negative."""
    described, slots, memory = _of("read_cache", "cache", Cache, cache)._described("read_cache", "slots", slots)
    tokens = cache.pages * cache.page_tokens if slots is None else len(slots)
    result = numpy.zeros((tokens, cache.heads, cache.head_dim), numpy.float32)
    if result.size:
        _call("posenc1_read_cache", ctypes.byref(described), tokens, cache.heads, cache.head_dim,
              result.ctypes.data)
    return result


class Cells:
    """What a mask or a bias of attend is, cell by cell: an array [..., heads, queries, keys] whose
    axes but the last may be 1 or missing; of a padded mask give mask[..., :keys]. Of bool or uint8, not 0 shows a key. Of floats, or uint16
    with type="bf16", numbers are added to scores, and -infinity hides. bits: uint8 [..., (keys + 7)
    // 8], as numpy.packbits(shown, axis=-1, bitorder="little") makes them. slopes: of each head, on
    numbers."""

    def __init__(self, array, *, bits=False, slopes=None, type=None):
        self._set("Cells", "array", array, bits, slopes, type)

    def _set(self, where, called, array, bits=False, slopes=None, type=None):
        self._array, self._bits, self._slopes = _array(where, called, array).view(), _flag(where, "bits", bits), slopes
        _named(where, "type", {None: 0, "bf16": 0}, type)
        kind = self._array.dtype.kind + str(self._array.dtype.itemsize)
        name = {"b1": "b", "u1": "bits" if self._bits else "b", "f2": "f2", "f4": "f4", "f8": "f8"}.get(kind)
        name = "bf16" if kind == "u2" and type else name
        if name is None or (self._bits and name != "bits") or (type and name != type) or not self._array.dtype.isnative or not 1 <= self._array.ndim <= 4:
            raise Error(f"posenc: {where}: {called} must be bool, uint8, float16, float32, float64, or uint16 with "
                        f"type='bf16', of 1 to 4 axes, got {_type_of(self._array)} and type={type!r}")
        self._type = _CELLS[name]
        return self

    array = property(lambda self: self._array.view())
    bits, slopes = map(_fixed, ("bits", "slopes"))

    def _of_each(self, where, name, shape, kept):
        """The cells of each sequence. shape: batches, heads, queries, keys."""
        array = self._array.reshape((1,) * (4 - self._array.ndim) + self._array.shape)
        keys = (shape[3] + 7) // 8 if self._bits else shape[3]
        if any(n not in (1, wanted) for n, wanted in zip(array.shape, shape[:3])) or array.shape[3] != keys:
            raise Error(f"posenc: {where}: {name} must be cells [batches, heads, queries, keys] {list(shape)}, or 1 in "
                        f"place of the first three, got {list(self._array.shape)}")
        if self._array.size and (array.strides[3] == 0 or any(stride % array.itemsize for stride in array.strides)
                                or (self._bits and array.strides[3] != 1) or array.ctypes.data % array.itemsize):
            array = numpy.ascontiguousarray(array) if array.flags.aligned else array.copy()
        slopes = _address(where, f"slopes of {name}", self._slopes, shape[1], kept)
        kept.append((name, array))
        batch, head, query, key = array.strides
        if not self._array.size:
            return [_Cells() for _ in range(shape[0])]
        one_row, one_head = array.shape[2] == 1 or query == 0, array.shape[1] == 1 or head == 0
        return [_Cells(array.ctypes.data + (i * batch if array.shape[0] > 1 else 0), self._type, one_row,
                       1 if one_head else shape[1], 0 if one_row else query, 0 if one_head else head,
                       0 if self._bits else key, slopes) for i in range(shape[0])]


def _of_sequences(where, name, values, batches, count=None):
    """Integers [batches, count] for those of each sequence, or of all; None: none are given."""
    if values is None:
        return None
    given = _array(where, name, values)
    rows = given if given.ndim == 2 else given[None]
    if rows.ndim != 2 or len(rows) not in (1, batches):
        raise Error(f"posenc: {where}: {name} must be integers, [tokens] or [{batches}, tokens], got {_type_of(given)}")
    rows = numpy.stack([_int64s(where, name, row) for row in rows])
    if count is not None and rows.shape[1] != count:
        raise Error(f"posenc: {where}: {name} must be of {count} tokens, got {rows.shape[1]}")
    return numpy.ascontiguousarray(numpy.broadcast_to(rows, (batches, rows.shape[1])))


def _source(where, name, source, slots, slots_name, batches, type, layout, kept):
    """What a sequence reads keys or values of: cache or heads, each; tokens, heads and head_dim."""
    if isinstance(source, Cache):
        slots = _of_sequences(where, slots_name, slots, batches)
        kept.append((slots_name, slots))
        tokens = source.pages * source.page_tokens if slots is None else slots.shape[1]
        one, _, memory = source._described(where, name, None)
        kept.append((name, memory))
        each = [_Cache.from_buffer_copy(one) for _ in range(batches)]
        for i, one in enumerate(each):
            one.slots = slots[i].ctypes.data if slots is not None and slots.size else None
        return each, None, (tokens, source.heads, source.head_dim)
    _require_unmasked(where, name, source)
    if not isinstance(source, numpy.ndarray):
        raise Error(f"posenc: {where}: {name} must be a Cache or an array of NumPy, got {_type_of(source)}")
    view, described = _heads(source, type if _is_uint16(source) else None, layout, name, where)
    if view.shape[0] != batches:
        raise Error(f"posenc: {where}: {name} must be of {batches} sequences, got {list(source.shape)}")
    tokens = view.shape[1]
    slots = _of_sequences(where, slots_name, slots, batches, tokens)
    each = []
    for i in range(batches):
        one = _Heads.from_buffer_copy(described)
        one.data, one.batch_stride = view[i].ctypes.data, 0
        if slots is not None and tokens:  # a token that is there lies where it is
            kept.append((slots_name, numpy.where(slots[i] < 0, -1, numpy.arange(tokens))))
            one.slots, one.pages, one.page_tokens = kept[-1][1].ctypes.data, 1, tokens
        each.append(one)
    kept.append((name, view))
    return None, each, view.shape[1:]


class KeyBias:
    """The bias of a key projection, [kv_heads, head_dim], that keys were made without: attend adds
    scale <q, R(p) b> to the scores, so that a cache holds W x rotated. `frequencies`: as keys are
    rotated, with layout and first_dim unless they are given. heads: of queries. hadamard: the block
    of the transform that queries are under, as of hadamard()."""

    def __init__(self, frequencies, bias, heads, *, layout=None, first_dim=None, hadamard=0):
        where, self._handle = "KeyBias", _pointer()
        _of(where, "frequencies", Frequencies, frequencies)
        bias = _numbers(where, "bias", () if bias is None else bias, ("kv_heads", "head_dim"), numpy.float32)
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
              _count("KeyBias.at", "delta", delta, -2**63), ctypes.byref(other._handle))
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

    scale: 0 stands for 1 / sqrt(head_dim); a model's is softmax_factor / sqrt(head_dim); 1 where queries
    have it already. causal, behind, ahead,
    chunk: what a query sees by positions, which count from 0, the queries being last, unless they
    are given; behind=8 is itself and 7 before it, as Frequencies.window (None and 0: all). mask,
    bias: arrays or Cells, which show keys or add to scores, behind the cap and before it. slopes: ALiBi's. cap: as
    Gemma 2 has it. sinks: a logit per head. temperature: {"rule": "log_n", "length": 4096},
    log_n_by_position, {"rule": "ssmax", "scales": ..., "biases": ...}, {"rule": "by_position",
    "scale": 0.1, "length": 8192, "offset": 1}, adaptive, half_weight, critical. key_bias: a KeyBias that keys were made
    without. profiles: Inkling's, [rank, extent], and what queries make of them, [..., queries,
    heads, rank]. tau: scale-invariant attention's, in tokens. dot_products: quicker, rounded. out: of any type, where outputs go.
    type="bf16" says that those of uint16 are bfloat16: queries, keys, values, out.

    log_sum_exp, scores, weights: True: returns a tuple of outputs and these, [..., queries,
    heads] and [..., heads, queries, keys]. posenc.h says more of all."""
    where, kept = "attend", []
    _require_unmasked(where, "queries", queries)
    if not isinstance(queries, numpy.ndarray) or not 2 <= queries.ndim <= 4:
        raise Error(f"posenc: {where}: queries must be an array of NumPy [heads, head_dim], or with queries, or batches and "
                    f"queries before them, got {_type_of(queries)}")
    whole = queries.reshape((1,) * (4 - queries.ndim) + queries.shape)
    view, of_queries = _heads(whole, _type_beside(type, queries, keys, values, out), layout, "queries", where)
    batches, count, heads, head_dim = view.shape
    key_caches, key_heads, shape = _source(where, "keys", keys, slots, "slots of keys", batches, type, layout, kept)
    no_dims = isinstance(values, numpy.ndarray) and values.ndim > 2 and values.shape[-1] == 0
    if no_dims:  # which C would take for head_dim; of a dim of zeros, weights are those of the outputs without dims
        values = numpy.zeros((*values.shape[:-1], 1), values.dtype)
    value_caches, value_heads, value_shape = _source(
        where, "values", values, *((slots, "slots of values") if value_slots is None else (value_slots, "value_slots")), batches,
        type, layout, kept)
    if shape[:2] != value_shape[:2] or shape[2] != head_dim:
        raise Error(f"posenc: {where}: keys and values must be [tokens, kv_heads, dim], alike, keys with the "
                    f"{head_dim} dims of queries, got {list(shape)} and {[*value_shape[:2], 0 if no_dims else value_shape[2]]}")
    tokens, kv_heads, value_dim = shape[0], shape[1], value_shape[2]
    if heads and not kv_heads:
        raise Error(f"posenc: {where}: keys and values must have kv heads for the {heads} heads of queries, got 0")
    if lengths is not None:
        lengths = _int64s(where, "lengths", lengths, "sequences")
        if len(lengths) != batches:
            raise Error(f"posenc: {where}: lengths must be of {batches} sequences, got {len(lengths)}")
        if batches and not 0 <= lengths.min() <= lengths.max() <= tokens:
            raise Error(f"posenc: {where}: lengths must be in [0, {tokens}], got {lengths.min()} to {lengths.max()}")
    query_positions = _of_sequences(where, "query_positions", query_positions, batches, count)
    key_positions = _of_sequences(where, "key_positions", key_positions, batches, tokens)
    causal, dot_products = _flag(where, "causal", causal), _flag(where, "dot_products", dot_products)
    scale, cap, tau = _real(where, "scale", scale), _real(where, "cap", cap), _real(where, "tau", tau)
    behind, ahead, chunk = _limit(where, "behind", behind), _limit(where, "ahead", ahead), _limit(where, "chunk", chunk)
    threads = _count(where, "threads", threads, 1)
    real = numpy.float64 if view.dtype == numpy.float64 else numpy.float32
    lead, cut = whole.shape[:4 - queries.ndim], (0,) * (4 - queries.ndim)
    result = numpy.zeros((batches, count, heads, value_dim), real)
    if out is not None:
        given = result[..., :0] if no_dims else result
        _require_unmasked(where, "out", out)
        if not isinstance(out, numpy.ndarray) or out.shape != given[cut].shape or not out.flags.writeable:
            raise Error(f"posenc: {where}: out must be a writeable array {list(given[cut].shape)}, got {_type_of(out)}")
        if not no_dims:
            result = out.reshape(result.shape)
        if out.size and not numpy.shares_memory(result, out):
            raise Error(f"posenc: {where}: out must have strides of axes that are there")
    _, of_outputs = _heads(result, type if _is_uint16(result) else None, layout, "out", where)
    sums = numpy.full((batches, count, heads), -numpy.inf) if _flag(where, "log_sum_exp", log_sum_exp) else None
    records = [numpy.full((batches, heads, count, tokens), hidden, real) if _flag(where, name, asked) else None
               for name, asked, hidden in (("scores", scores, -numpy.inf), ("weights", weights, 0))]
    if temperature is not None and not isinstance(temperature, dict):
        raise Error(f"posenc: {where}: temperature must be a dict of a rule and its numbers, got {_shown(temperature)}")
    rule = dict(temperature or {})
    rules = _Temperature(_named(where, "rule of temperature", _TEMPERATURES, rule.pop("rule", None)),
                         *(_real(where, f"{name} of temperature", rule.pop(name, 0)) for name in ("length", "scale", "offset")),
                         *(_address(where, f"{name} of temperature", rule.pop(name, None), heads, kept)
                           for name in ("scales", "biases")))
    if rule:
        raise Error(f"posenc: {where}: temperature must have a rule and its numbers, got {', '.join(map(str, rule))} too")
    if key_bias is not None:
        _of(where, "key_bias", KeyBias, key_bias)
    if profiles is not None and (not isinstance(profiles, (tuple, list)) or len(profiles) != 2):
        raise Error(f"posenc: {where}: profiles must be two arrays, got {_type_of(profiles)}")
    bank, side = (None, None) if profiles is None else (
        _numbers(where, f"profiles[{i}]", () if x is None else x, of, numpy.float32) for i, (x, of) in enumerate(
            zip(profiles, (("rank", "extent"), (*queries.shape[:-1], "rank")))))
    if bank is not None and side.shape[-1] != len(bank):
        raise Error(f"posenc: {where}: profiles must be [rank, extent] and [..., queries, heads, rank], got "
                    f"{list(bank.shape)} and {list(side.shape)}")
    side = None if side is None else side.reshape(batches, count, heads, len(bank))
    cells = [[_Cells()] * batches if some is None else
             (some if isinstance(some, Cells) else Cells.__new__(Cells)._set(where, name, some))._of_each(
                 where, name, (batches, heads, count, tokens), kept)
             for name, some in (("mask", mask), ("bias", bias))]
    sinks, slopes = (_address(where, name, given, heads, kept) for name, given in (("sinks", sinks), ("slopes", slopes)))
    if out is not None:
        _require_apart(where, (result,), (("queries", view), *kept, ("profiles[0]", bank), ("profiles[1]", side)))
    a, parts = (_Attention * batches)(), []
    for i, one in enumerate(a):
        one.queries, one.outputs = (_Heads.from_buffer_copy(x) for x in (of_queries, of_outputs))
        one.queries.data, one.outputs.data = view[i].ctypes.data, result[i].ctypes.data
        one.queries.batch_stride = one.outputs.batch_stride = 0
        for name, each in (("key_cache", key_caches), ("keys", key_heads), ("value_cache", value_caches),
                           ("values", value_heads)):
            if each is not None:
                setattr(one, name, each[i])
        one.tokens = tokens if lengths is None else int(lengths[i])
        one.heads, one.kv_heads, one.head_dim, one.value_dim, one.scale = heads, kv_heads, head_dim, value_dim, scale
        one.query_tokens = count
        for name, given in (("query_positions", query_positions), ("key_positions", key_positions)):
            setattr(one, name, None if given is None or not given.size else given[i].ctypes.data)
        one.causal, one.dot_products, one.cap, one.tau = causal, dot_products, cap, tau
        one.behind, one.ahead, one.chunk = behind, ahead, chunk
        one.mask, one.bias, one.temperature = cells[0][i], cells[1][i], rules
        one.sinks, one.slopes = sinks, slopes
        one.key_bias = None if key_bias is None else key_bias._handle
        if bank is not None:
            one.profiles = _Profiles(bank.ctypes.data, *bank.shape, side[i].ctypes.data)
        one.log_sum_exp = sums[i].ctypes.data if sums is not None else None
        short = [None if x is None else numpy.empty((heads, count, one.tokens), real) for x in records]
        one.scores, one.weights = (None if x is None else x.ctypes.data for x in short)
        parts.append(short)
    if batches and count and heads:  # to C, no queries are one
        # A piece of work is a head, a query and 512 tokens, or more of each.
        pieces = sum(kv_heads * count * ((one.tokens + 511) // 512) for one in a)
        _attend(a, min(threads, max(pieces, 1)), locals())
    for i, short in enumerate(parts):
        for to, some in zip(records, short):
            if to is not None and count:
                to[i, :, :, :a[i].tokens] = some
    outputs = result[cut] if not no_dims else result[cut][..., :0] if out is None else out
    all_of = [outputs, *(x for x in (sums[cut] if sums is not None else None,
                                     *(None if x is None else x[0, :, 0] if len(lead) == 2 else x[cut[:1]]
                                       for x in records)) if x is not None)]
    return tuple(all_of) if len(all_of) > 1 else all_of[0]


def _attend(attentions, threads, kept):
    """Threads that signals do not interrupt are the workers of the call: in a callback of C, what a
    handler raises is lost, and the other workers wait for good. An interrupt is raised when all have
    left. kept: what attentions point to; the workers hold it."""
    needed, failed, interrupts = _size(), [], []
    _call("posenc1_attention_memory_of", attentions, len(attentions), threads, ctypes.byref(needed))
    memory, library = numpy.empty(needed.value, numpy.uint8), _library()

    def work(i, barrier, left=None):
        try:
            worker = _Worker(i, threads, barrier, None, memory.ctypes.data, needed.value)
            if library.posenc1_attend_as(attentions, len(attentions), ctypes.byref(worker)) != 0:
                failed.append(_last_error())
        finally:
            if left is not None:
                left.release()

    def lead():
        together, others = threading.Barrier(threads), []

        def wait(_):
            try:
                together.wait()
            except BaseException as error:  # it would not leave the call of C
                failed.append(error)
                together.abort()  # so that the others do not wait for this one

        barrier = _barrier(wait)
        try:
            for i in range(1, threads):
                left = threading.Lock()
                left.acquire()
                _thread.start_new_thread(work, (i, barrier, left))
                others.append(left)
            work(0, barrier)
        except BaseException as error:  # workers that wait in C return, and have written nothing
            failed.insert(0, error)
            together.abort()
        for left in others:
            left.acquire()

    turn, ended, all_left = [kept], [], threading.Lock()
    all_left.acquire()

    def leader():
        try:
            turn.pop()
        except IndexError:  # the call has been interrupted before
            return
        try:
            lead()
        except BaseException as error:
            failed.append(error)
        ended.append(kept)
        all_left.release()

    if threads == 1:
        work(0, _barrier())
    else:
        try:  # threading.Thread neither starts nor is joined rightly if it is interrupted
            _thread.start_new_thread(leader, ())
        except BaseException as error:
            (failed if isinstance(error, RuntimeError) else interrupts).append(error)
            try:
                ended.append(turn.pop())
            except IndexError:  # it has begun
                pass
        while not ended:
            try:
                all_left.acquire()
            except BaseException as error:
                interrupts.append(error)
    if interrupts:
        raise interrupts[0]
    if failed:
        error = min(failed, key=lambda e: (isinstance(e, Exception), isinstance(e, threading.BrokenBarrierError)))
        if isinstance(error, RuntimeError) and not isinstance(error, threading.BrokenBarrierError):
            error = Error(f"posenc: attend: threads must be as many as can be started, got {threads} ({error})")
        raise error from None


def profile(f, distances, rho=1.0):
    """The mean score of queries and keys of unit variance and correlation rho, at distances:
    softmax_factor rho (2 sum_i cos(r inv_freq_i) + the dims that do not rotate) / sqrt(head_dim),
    with the attention factor squared on what rotates; on axes, where all have the distance."""
    where = "profile"
    if f is None:
        raise Error(f"posenc: {where}: f must be frequencies, got None, which a layer that does not rotate has")
    rows = _of(where, "f", Frequencies, f)._rows(where, "distances", distances, numpy.float64, 0)
    rho = _real(where, "rho", rho)
    if not numpy.isfinite(rho):
        raise Error(f"posenc: {where}: rho must be finite, got {rho}")
    rotated = 2 * f.attention_factor * rows[:, 0].sum(axis=1)
    return f.softmax_factor * rho * (rotated + f.head_dim - 2 * f._pairs) / numpy.sqrt(f.head_dim)
