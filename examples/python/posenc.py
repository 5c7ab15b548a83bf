"""posenc from Python: rotary embedding and attention on arrays, and for engines the rotation of
arrays where they lie, and caches in the formats that engines store.

One file, to be copied. It calls the C API (posenc/posenc.h) of a library that posenc_add_kernels
makes; `cmake --workflow --preset python` builds one in a checkout. The library is looked for in the
environment variable POSENC_LIBRARY, then beside this file, then in that build.

    import numpy, posenc
    rotated = posenc.rope(q, positions, "config.json", layer=0)        # GGUF, or config.to_dict()
    outputs = posenc.attention(q, k, v, encoding="config.json", layer=0)   # rotates, and attends

Arrays are NumPy's, or any that DLPack or __array_interface__ export in memory of the CPU, such as
tensors of PyTorch, of float16, float32, float64 or bfloat16: none is copied, and what is written is
written where it lies. Outputs are tensors of PyTorch where queries are, and else NumPy's.

An engine makes frequencies once, rows once a step, and writes into its buffers:

    f = posenc.frequencies("config.json", layer=0)
    f = posenc.frequencies(rotary_dim=128, base=500000)        # or any rule by its name:
    f = posenc.frequencies(rule="yarn", rotary_dim=64, base=150000, factor=32, original_length=4096)
    rows = f.rows([0, 7, 1_000_000])                           # [tokens, 2, pairs], cosines first
    rows = f.on_axes("contiguous", [16, 24, 24]).rows(times_rows_columns)         # [axes, tokens]
    rows = posenc.MixedFrequencies(learned).rows(x_and_y)      # [heads, tokens, 2, pairs]
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
import csv
import ctypes
import json
import numbers
import operator
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import numpy

__all__ = ["Cache", "Cells", "Error", "Frequencies", "KeyBias", "MixedFrequencies", "StepHeads", "alibi_slopes", "ask", "attend",
           "attention", "attention_backward", "format_bytes", "frequencies", "hadamard", "instruction_set", "page_bounds",
           "profile", "read_cache", "ring_slots", "rope", "rotate", "version", "write_step"]
__version__ = "0.1.0"


class Error(ValueError):
    """A sentence that says what must hold, and what was given."""


# ---- The C API

_LAYOUTS = {"halves": 1, "interleaved": 2}
_TYPES = {None: None, "f32": 1, "f64": 2, "f16": 3, "bf16": 4}
_FORMATS = {"f32": 1, "f16": 3, "bf16": 4, "u8_per_head": 5, "q8_0": 6, "q8_0_avx2": 7, "int8_per_head": 8,
            "int8_per_head_truncated": 9, "int8_static": 10, "e4m3": 11, "e4m3_truncated": 12, "deepseek_v4": 13,
            "deepseek_v4_cpu": 14, "q4_0": 15, "int4_per_head": 16, "int4_static": 17, "q4_1": 18,
            "q5_0": 19, "q5_1": 20, "iq4_nl": 21}
_TYPE_OF = {numpy.dtype(numpy.float32): 1, numpy.dtype(numpy.float64): 2, numpy.dtype(numpy.float16): 3}
_BACK = numpy.array([[1], [-1]], numpy.float32)  # times rows: of the rotation back
_UINT16, _INT64 = numpy.dtype(numpy.uint16), numpy.dtype(numpy.int64)
_REALS = {1: numpy.dtype(numpy.float32), 2: numpy.dtype(numpy.float64)}
_NORMS = {"rms": 0, "l2": 1}
_EPS_PLACES = {"inside": 0, "outside": 1, "at_least": 2}
_ROUNDINGS = {None: 0, "flashinfer_fused": 2, "separate_calls": 18, "vllm_fused": 20,
              "sglang_fused": 30, "hugging_face": 31}
_AXES = {"by_pair": 0, "contiguous": 1, "interleaved": 2, "ggml": 3, "ggml_interleaved": 4}
_CELLS = {"b": 1, "bits": 2, "f4": 3, "f8": 4, "f2": 5, "bf16": 6}
_TEMPERATURES = {None: 0, "log_n": 1, "log_n_by_position": 2, "ssmax": 3, "by_position": 4,
                 "adaptive": 5, "half_weight": 6, "critical": 7}
_BOTH_WAYS = None, "image", "image_within_window", "prefix"
_UNROTATED = 3
_LAST_DIMS = _ALL_AHEAD = _LARGEST_BLOCK = ctypes.c_size_t(-1).value
_size, _pointer, _double = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double


def _struct(fields, **structs):
    """As posenc.h has it: types, each with the names of its fields."""
    types = {"p": _pointer, "n": _size, "z": ctypes.c_ssize_t, "i": ctypes.c_int, "d": _double, **structs}
    declared = [(name, types[of]) for of, *names in map(str.split, fields.split(",")) for name in names]
    return type("struct", (ctypes.Structure,), {"_fields_": declared})


_barrier = ctypes.CFUNCTYPE(None, _pointer)
_NO_BARRIER = _barrier()
_Parameter = _struct("name name, d number, list list, n count", name=ctypes.c_char_p, list=ctypes.POINTER(_double))
_Layer = _struct("i layout, n first_dim rotary_dim head_dim behind ahead chunk, d factor cap, "
                 "i sinks depends_on_length both_ways key_bias_is_separable, "
                 "d temperature_scale temperature_length temperature_offset, n alibi_heads, d alibi_max_bias alibi_factor, "
                 "i learned_bias")
_Heads = _struct("p data, i format, z page_stride token_stride head_stride, p slots, n pages page_tokens, p scales, "
                 "z scales_page_stride scales_token_stride scales_head_stride, d scale inverse")
_Rows = _struct("p cos_sin, n tokens batches rows pairs, p maker, n heads")
_Norm = _struct("d eps, i kind place eps_place, p weight, i weight_format plus_one")
_Operand = _struct("heads from_ to also_to, n heads head_dim, i layout to_layout, n first_dim, norm norm, d factor, "
                   "i rounding rounded_to, n hadamard from_hadamard", heads=_Heads, norm=_Norm)
_Cells = _struct("p data, i type one_row, n heads, z query_stride head_stride key_stride, p slopes")
_Temperature = _struct("i rule, d length scale offset, p scales biases")
_Profiles = _struct("p profiles, n rank extent, p query_side")
_Attention = _struct(
    "heads queries outputs keys values, n tokens query_tokens heads kv_heads head_dim value_dim, d scale factor, "
    "p sinks memory, n memory_bytes, p query_positions key_positions, n behind ahead chunk, i dot_products, "
    "cells mask bias, p slopes, d cap, temperature temperature, p log_sum_exp scores weights key_bias, "
    "profiles profiles, d tau", heads=_Heads, cells=_Cells, temperature=_Temperature, profiles=_Profiles)
_Gradients = _struct("heads outputs queries keys values", heads=_Heads)
_Worker = _struct("n index count, barrier barrier, p barrier_argument memory, n memory_bytes", barrier=_barrier)

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
    return _loaded or _load()


def _load():
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
            c.posenc1_alibi_slopes.argtypes = [_size, _double, _double, _pointer]
            c.posenc1_row_maker_create.argtypes = [_pointer, ctypes.c_int64, _pointer]
            c.posenc1_mixed_row_maker_create.argtypes = [_pointer, _size, _size, _size, _double, _pointer]
            for name in ("posenc1_write_rows", "posenc1_write_fractional_rows"):
                getattr(c, name).argtypes = [_pointer, _pointer, _pointer, _size, ctypes.c_int, _pointer]
            c.posenc1_rotate.argtypes = [ctypes.POINTER(_Rows), ctypes.POINTER(_Operand), _size, _size, _size]
            c.posenc1_format_bytes.argtypes = [ctypes.c_int, _size, _pointer, _pointer]
            c.posenc1_ring_slots.argtypes = [_size, _size, _size, _pointer]
            c.posenc1_page_bounds.argtypes = [ctypes.POINTER(_Heads), _size, _size, _size, _size, _pointer]
            c.posenc1_hadamard.argtypes = [ctypes.POINTER(_Heads), _size, _size, _size, _size]
            c.posenc1_attention_memory_of.argtypes = [ctypes.POINTER(_Attention), _size, _size, ctypes.POINTER(_size)]
            c.posenc1_attention_backward_memory.argtypes = [ctypes.POINTER(_Attention), _size, _size, ctypes.POINTER(_size)]
            c.posenc1_attention_backward.argtypes = [ctypes.POINTER(_Attention), ctypes.POINTER(_Gradients), _size, _size]
            c.posenc1_attend_as.argtypes = [ctypes.POINTER(_Attention), _size, ctypes.POINTER(_Worker)]
            c.posenc1_key_bias_create.argtypes = [_pointer, _pointer, _size, _size, _size, ctypes.c_int, _size, _size,
                                                  _pointer]
            c.posenc1_key_bias_at.argtypes = [_pointer, _pointer, _size, ctypes.c_int64, _pointer]
            for name in ("posenc1_frequencies_destroy", "posenc1_row_maker_destroy", "posenc1_key_bias_destroy"):
                getattr(c, name).argtypes, getattr(c, name).restype = [_pointer], None
            _loaded = c
    return _loaded


def _last_error(where=r"\g<0>", called=()):
    """As functions and operands are called here. Names of files may be in it, which need not be UTF-8."""
    said = re.sub(r"posenc1_\w+", where, _library().posenc1_error().decode(errors="backslashreplace"), count=1)
    for i, name in enumerate(called):
        said = re.sub(rf"operand {i}(\.from)?(\.(\w+))?:", lambda found: f"{name}{', ' + found[3] if found[3] else ''}:", said)
    return Error(said)


def _call(name, *arguments):
    if getattr(_library(), name)(*arguments) != 0:
        raise _last_error()


def version():
    """The library's version, as in "0.1.0"; __version__ is this file's."""
    return _library().posenc1_version().decode()


def instruction_set():
    """The one in use: base, v3, v4, v4_vnni, v4_bf16 or bf16; POSENC_INSTRUCTION_SET forces one."""
    name = _library().posenc1_instruction_set()
    if name is None:
        raise _last_error()
    return name.decode()


def has_dot_products():
    """Whether attend rounds where dot_products asks for it; if not, such calls are exact."""
    return _library().posenc1_has_dot_products() != 0


# ---- Arrays of others: views of their memory. What has no such memory is refused by its name.

class _Bfloat16(numpy.ndarray):
    """uint16 that are bfloat16, of an array that says so: type="bf16" need not."""


_DLTensor = _struct("p data, w device device_id axes, b code bits, h lanes, l shape strides, q offset", w=ctypes.c_int32,
                    b=ctypes.c_uint8, h=ctypes.c_uint16, l=ctypes.POINTER(ctypes.c_int64), q=ctypes.c_uint64)
_OF_CPU, _CODES, _OF_BFLOAT16 = (1, 3), {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}, (4, 16)


def _viewed(where, name, value):
    """As NumPy: what exports its memory by DLPack (PyTorch, JAX) or __array_interface__; else the value as it is."""
    if value.__class__ is numpy.ndarray and value.dtype.kind != "V":
        return value
    if isinstance(value, numpy.ndarray):
        return value.view(_UINT16).view(_Bfloat16) if value.dtype.name == "bfloat16" else value  # ml_dtypes has it
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(where, name, value)
    return numpy.asarray(value) if hasattr(value, "__array_interface__") and not isinstance(value, numpy.generic) else value


def _of_dlpack(where, name, value):
    def refuse(why):
        raise Error(f"posenc: {where}: {name} must be an array of NumPy, or one in memory of the CPU that DLPack exports, got "
                    f"{_type_of(value)}{why}") from None

    device = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else _OF_CPU[0]
    if int(device) not in _OF_CPU:
        refuse(f" on a device of type {int(device)}")
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            capsule = value.__dlpack__()
    except Exception as error:  # of any library
        refuse(f": {error}")
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = _pointer, [ctypes.py_object, ctypes.c_char_p]
    kind = name_of(capsule)
    versioned = kind == b"dltensor_versioned"
    address = pointer_of(capsule, kind)
    # struct DLManagedTensor begins with the tensor; of DLManagedTensorVersioned, flags and the tensor are at 24 and 32.
    tensor = _DLTensor.from_address(address + (32 if versioned else 0))
    # Before version 1 nothing says that memory is only read; PyTorch's is not, JAX's is.
    read_only = ctypes.c_uint64.from_address(address + 24).value & 1 if versioned else not _is_tensor(value)
    of_bfloat16 = (tensor.code, tensor.bits) == _OF_BFLOAT16
    if tensor.lanes != 1:
        refuse(f" of vectors of {tensor.lanes} numbers")
    try:
        dtype = _UINT16 if of_bfloat16 else numpy.dtype(f"{_CODES[tensor.code]}{tensor.bits / 8:g}")
    except (KeyError, TypeError):
        refuse(f" of numbers of {tensor.bits} bits that NumPy does not have")
    shape = tuple(tensor.shape[:tensor.axes])
    if 0 in shape:
        made = numpy.empty(shape, dtype)
    else:
        elements = tensor.strides[:tensor.axes] if tensor.strides else [int(numpy.prod(shape[i + 1:])) for i in range(len(shape))]
        strides = [stride * dtype.itemsize for stride in elements]
        ends = [(n - 1) * stride for n, stride in zip(shape, strides)]
        first = sum(end for end in ends if end < 0)
        memory = (ctypes.c_char * (sum(map(abs, ends)) + dtype.itemsize)).from_address(tensor.data + tensor.offset + first)
        memory.capsule = capsule  # which keeps the memory
        made = numpy.ndarray(shape, dtype, memory, -first, strides)
    made.flags.writeable = not read_only
    return made.view(_Bfloat16) if of_bfloat16 else made


def _is_tensor(value):
    """Whether PyTorch is loaded, and this is its tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _as_tensor(of, array):
    """A tensor of PyTorch over an array, where `of` is one; else the array."""
    return sys.modules["torch"].from_numpy(array) if _is_tensor(of) else array


def _empty_like(of, viewed):
    if _is_tensor(of):
        return sys.modules["torch"].empty_like(of)
    return numpy.empty_like(of if isinstance(of, numpy.ndarray) else viewed)


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
    """Refuses integers that ctypes would cut to their lowest 64 bits."""
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
    """The block of a Walsh-Hadamard transform: a power of two, 0 for none, or "largest"."""
    if isinstance(hadamard, str) and hadamard == "largest":
        return _LARGEST_BLOCK
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
    """As NumPy has it, but that bools among numbers are none; bfloat16 as float32."""
    if values.__class__ is numpy.ndarray and values.dtype.kind != "V":
        return values
    try:
        given = _viewed(where, name, values)
    except Error:  # PyTorch 1 exports no bools
        given = values
    try:
        if given.__class__ is _Bfloat16:
            return (given.astype(numpy.uint32) << 16).view(numpy.float32)
        given = numpy.asarray(given)
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
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    made = numpy.ascontiguousarray(array, dtype)
    return made if made.flags.aligned else made.copy()


def _data(array):
    """The address of an array. (That of a buffer, where an array has one, takes a third of the time.)"""
    if array.flags.carray and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return array.ctypes.data


def _numbers(where, name, values, shape, dtype=numpy.float64):
    """Real numbers of a shape, in which a name stands for any size; None: there are none."""
    if values is None or (values.__class__ is numpy.ndarray and values.dtype == dtype and values.shape == shape):
        return None if values is None else _for_c(values, dtype)
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
    if values is None:
        return None
    kept.append((name, _numbers(where, name, values, (heads,))))
    return _data(kept[-1][1])


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
    """[tokens, 2, pairs], or of heads, for a call."""
    given = rows if rows.__class__ is numpy.ndarray else _array(where, "rows", rows)
    if given.dtype != dtype or given.ndim not in (3, 4) or given.shape[-2] != 2:
        raise Error(f"posenc: {where}: rows must be {numpy.dtype(dtype)} [tokens, 2, pairs], or [heads, tokens, 2, pairs], got "
                    f"{'None' if rows is None else _type_of(given)}")
    return _for_c(given, dtype)


def _owner(array):
    """The array whose own memory this is of; None: not known."""
    base = array.base
    return array if base is None else base if base.__class__ is numpy.ndarray and base.base is None else None


def _require_apart(where, written, read):
    """C does not look whether rows, slots, weights and the like lie in what it writes. read: names and arrays."""
    owners = [_owner(to) for to in written]
    for name, array in read:
        owner = _owner(array)
        for to, of in zip(written, owners):
            if (of is owner or of is None or owner is None) and numpy.may_share_memory(to, array, 10**6):
                raise Error(f"posenc: {where}: {name} must not overlap what is written")


# ---- Frequencies and rows

class Frequencies:
    """How fast each pair of dims rotates: inv_freq, float64 [pairs], in radians per position, and
    axis_of_pair, the axis that each pair rotates by, None where there is one axis.

    Frequencies of a model's layer also say the rest of the layer, which attend takes:
    attend(..., behind=f.window, ahead=f.ahead, chunk=f.chunk, cap=f.cap, factor=f.softmax_factor,
    temperature=f.temperature), with query_positions and key_positions as rows have them. None is no
    limit, a cap of 0 no cap. attention does all this, and has what layers say that do not rotate.
    both_ways names the tokens that see each other all the same: image; image_within_window, where
    the window still hides the keys behind it; prefix. key_bias_is_separable says whether keys can be
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
        self._head_dim, self._softmax_factor, self._layer = 2 * pairs, 1.0, layer
        if layer is not None:
            self._layout = "interleaved" if layer.layout == _LAYOUTS["interleaved"] else "halves"
            self._first_dim = -2 * pairs if layer.first_dim == _LAST_DIMS else layer.first_dim
            self._head_dim, self._softmax_factor = layer.head_dim, layer.factor
            self._window, self._ahead = layer.behind or None, None if layer.ahead == _ALL_AHEAD else layer.ahead + 1
            self._chunk, self._cap = layer.chunk or None, layer.cap
            self._sinks, self._both_ways = bool(layer.sinks), _BOTH_WAYS[layer.both_ways]
            if layer.key_bias_is_separable >= 0:
                self._key_bias_is_separable = layer.key_bias_is_separable == 1

    # Of an array a view, whose shape and type are its own.
    inv_freq = property(lambda self: self._inv_freq.view())
    axis_of_pair = property(lambda self: None if self._axis_of_pair is None else self._axis_of_pair.view())
    attention_factor, axes, layout, first_dim, head_dim, softmax_factor = map(_fixed, (
        "attention_factor", "axes", "layout", "first_dim", "head_dim", "softmax_factor"))
    window, ahead, chunk, cap, sinks, both_ways, key_bias_is_separable = map(_fixed, (
        "window", "ahead", "chunk", "cap", "sinks", "both_ways", "key_bias_is_separable"))
    temperature = property(lambda self: _temperature_of(self._layer))

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
        """The same frequencies, in which each pair rotates by one of several axes. axes: by_pair, where
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

    def _rows(self, where, name, positions, dtype, table_range=0):
        return _written_rows(where, name, positions, dtype, self._axes, (), self._pairs, lambda: self._maker(table_range))

    def _maker(self, table_range):
        table_range = _count("rows", "table_range", table_range)
        if table_range not in self._makers:
            maker = _pointer()
            _call("posenc1_row_maker_create", self._handle, table_range, ctypes.byref(maker))
            self._makers[table_range] = maker
        return self._makers[table_range]


def _written_rows(where, name, positions, dtype, axes, heads, pairs, maker):
    """[*heads, tokens, 2, pairs], by what maker() returns."""
    try:
        format = _TYPE_OF[numpy.dtype(dtype)] if dtype is not None else 0
    except (KeyError, TypeError):
        format = 0
    if format not in _REALS:
        raise Error(f"posenc: {where}: dtype must be float32 or float64, got {_shown(dtype)}")
    given = _positions(where, positions, axes, name)
    result = numpy.empty((*heads, given.shape[1], 2, pairs), dtype)
    fractional = given.dtype == numpy.float64
    _call("posenc1_write_fractional_rows" if fractional else "posenc1_write_rows", maker(), _data(given), None,
          given.shape[1], format, _data(result))
    return result


class MixedFrequencies:
    """Frequencies of each head on several axes, inv_freq [heads, axes, pairs] in radians per position: a
    pair rotates by all axes at once, by the sum of position[axis] inv_freq[head, axis, pair]. RoPE-Mixed
    of vision transformers and KataGo's learned nets have them for each kv head; on one axis, AdaRoPE.

        f = posenc.MixedFrequencies(learned)
        outputs = posenc.attention(q, k, v, encoding=f, query_positions=x_and_y, key_positions=x_and_y)

    Query heads share the frequencies of their kv head: of H heads that are rotated, head h has those of
    h heads / H."""

    def __init__(self, inv_freq, attention_factor=1.0):
        where, self._maker = "MixedFrequencies", _pointer()
        given = _numbers(where, "inv_freq", () if inv_freq is None else inv_freq, ("heads", "axes", "pairs"))
        self._inv_freq = given.copy()
        self._inv_freq.flags.writeable = False
        self._heads, self._axes, self._pairs = given.shape
        self._attention_factor = _real(where, "attention_factor", attention_factor)
        _call("posenc1_mixed_row_maker_create", _data(self._inv_freq), *given.shape, self._attention_factor,
              ctypes.byref(self._maker))

    inv_freq = Frequencies.inv_freq
    attention_factor, axes, heads = map(_fixed, ("attention_factor", "axes", "heads"))
    layout, first_dim, _layer = property(lambda _: "halves"), property(lambda _: 0), None  # unless rope is told another

    def rows(self, positions, dtype=numpy.float32):
        """Cosines and sines times the attention factor, [heads, tokens, 2, pairs], as exact as those of
        Frequencies. positions: integers or floats, [axes, tokens], or [tokens], the same on all axes."""
        return self._rows("rows", "positions", positions, dtype)

    def _rows(self, where, name, positions, dtype):
        return _written_rows(where, name, positions, dtype, self._axes, (self._heads,), self._pairs, lambda: self._maker)

    def __repr__(self):
        return f"<posenc.MixedFrequencies: {self._heads} heads, {self._axes} axes, {self._pairs} pairs>"

    def __del__(self):
        if getattr(self, "_maker", None):
            _loaded.posenc1_row_maker_destroy(self._maker)

    __copy__, __deepcopy__, __reduce__ = Frequencies.__copy__, Frequencies.__deepcopy__, Frequencies.__reduce__


def frequencies(file=None, layer=None, length=None, *, rule=None, of=None, inv_freq=None,
                attention_factor=None, **parameters):
    """Frequencies of a layer (0, unless given) of a model's config.json or GGUF file, or of a dict as
    config.to_dict() gives it, for sequences of `length` tokens (1), None if the layer does not
    rotate; or of a rule by its name and parameters, geometric if none is named; or given ones,
    inv_freq [pairs] in radians per position, with an attention factor (1).

    Lengths are in tokens. [] marks parameters that may be left out. A rule of the first group changes
    the frequencies `of`; without `of` it changes geometric ones, whose rotary_dim and base are then
    given too. posenc/frequency/ has formulas and sources.

        linear               factor
        ntk                  factor
        dynamic_ntk          factor trained_length length
        mixed_ntk            factor [b]
        ntk_by_parts         factor original_length [alpha beta]
        yarn_by_rotations    factor original_length [alpha beta]
        yarn                 factor original_length [beta_fast beta_slow truncate mscale
                             mscale_all_dim attention_factor extrapolation]
        llama3               factor low_freq_factor high_freq_factor original_length
        longrope             short_factor (list) long_factor (list) original_length length
                             [factor attention_factor]
        divided_by_factors   factors (list)
        truncated            p
        p_rope               p                            the same by its other name
        resonance
        raised_cosine_clip   n
        fope_floor           trained_length

        geometric            rotary_dim base
        geometric_inclusive  rotary_dim base
        proportional         head_dim base p [factor]
        part_ntk             rotary_dim base factor original_length [ntk extrapolation]
        pixel                rotary_dim [max_freq]
        axial                dims (list) base (or a list, one per axis)"""
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
        return _of_model(where, file, layer, length)[0]
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


def _written_config(where, config, folder):
    def number(x):
        try:
            return x.item()  # of NumPy
        except (AttributeError, ValueError):
            raise TypeError(_type_of(x)) from None

    path = pathlib.Path(folder) / "the dict"  # as errors call it
    try:
        path.write_text(json.dumps(dict(config), default=number), "utf-8")
    except (TypeError, ValueError) as error:
        raise Error(f"posenc: {where}: the dict must have what a config.json has, got {error}") from None
    return path


def _of_model(where, file, layer, length):
    """The frequencies, None if the layer does not rotate, and what else the layer says."""
    layer = _count(where, "layer", 0 if layer is None else layer)
    length = _count(where, "length", 1 if length is None else length)
    if isinstance(file, collections.abc.Mapping):
        with tempfile.TemporaryDirectory() as folder:
            return _of_model(where, _written_config(where, file, folder), layer, length)
    try:
        path = os.fsencode(file)
    except TypeError:
        raise Error(f"posenc: {where}: the file must be a path, or a dict, got {_type_of(file)}") from None
    if b"\0" in path:
        raise Error(f"posenc: {where}: the file's name must have no null character, got {path!r}")
    described, handle = _Layer(), _pointer()
    _call("posenc1_frequencies_of_model", path, layer, length, ctypes.byref(described), ctypes.byref(handle))
    return Frequencies(handle, described) if handle else None, described


def _temperature_of(layer):
    """The temperature of queries, as attend takes it, or None."""
    if layer is None or not layer.temperature_scale:
        return None
    return {"rule": "by_position", "scale": layer.temperature_scale, "length": layer.temperature_length,
            "offset": layer.temperature_offset}


def alibi_slopes(heads, max_bias=8.0):
    """ALiBi's slopes, float64 [heads], per token of distance, for attend and attention. max_bias: minus
    log2 of the last slope of a power of two of heads, MPT's alibi_bias_max."""
    where = "alibi_slopes"
    return _slopes(where, _count(where, "heads", heads, 1, 65537), _real(where, "max_bias", max_bias), 1)


def _slopes(where, heads, max_bias, factor):
    slopes = numpy.empty(heads)
    if _library().posenc1_alibi_slopes(heads, max_bias, factor, _data(slopes)) != 0:
        raise _last_error(where)
    return slopes


# ---- Heads, and their rotation

def _heads(h, where, name, array, type, *others):
    """Fills posenc1_heads, and returns [batches, tokens, heads, head_dim]. type says of a uint16 that it
    is bfloat16, be it this array or another one of the call."""
    if array.__class__ is not numpy.ndarray:
        _require_unmasked(where, name, array)
    if not isinstance(array, numpy.ndarray) or not 3 <= array.ndim <= 4:
        raise Error(f"posenc: {where}: {name} must be an array of NumPy, [..., tokens, heads, head_dim] of 3 or 4 axes, "
                    f"got {_type_of(array)}")
    format = _TYPES["bf16"] if array.__class__ is _Bfloat16 else _TYPE_OF.get(array.dtype)
    if type is not None or format is None:
        given = _named(where, "type", _TYPES, type)
        if given == _TYPES["bf16"] and array.dtype == _UINT16:
            format = given
        elif format is None or (given != format and (given != _TYPES["bf16"] or not any(map(_is_uint16, others)))):
            raise Error(f"posenc: {where}: {name} must be float16, float32 or float64, or uint16 with "
                        f"type='bf16', got {array.dtype} and type={type!r}")
    shape, strides = array.shape, array.strides
    if len(shape) == 3:
        shape, strides = (1, *shape), (0, *strides)
    h.data, h.format = _data(array), format
    if 0 in shape:
        return shape
    if shape[3] > 1 and strides[3] != array.itemsize:
        raise Error(f"posenc: {where}: the dims of a head must be contiguous in {name}")
    for axis, field in enumerate(("page_stride", "token_stride", "head_stride")):
        if shape[axis] > 1:
            if strides[axis] == 0:
                raise Error(f"posenc: {where}: {name} must not repeat memory along axis {axis - (array.ndim == 3)}")
            setattr(h, field, strides[axis])
    return shape


def _is_uint16(array):
    return isinstance(array, numpy.ndarray) and array.dtype == _UINT16


def _require_writeable(where, array):
    if not array.flags.writeable:
        raise Error(f"posenc: {where}: what is written must be writeable")


class Cache:
    """Pages of heads in a format that engines store, in `memory`, uint8 [pages, bytes of a page], which
    is made of zeros unless it is given. A page has [page_tokens, heads] of bytes, then as many of
    scales, as format_bytes says. Token t of a call is in slot slots[t] = page x page_tokens + token
    within the page; without slots, a call has all tokens of the cache.

    format: f32, f16, bf16, u8_per_head, q8_0, q8_0_avx2, int8_per_head, int8_per_head_truncated,
    int8_static, e4m3, e4m3_truncated, deepseek_v4, deepseek_v4_cpu, q4_0, int4_per_head,
    int4_static, q4_1, q5_0, q5_1, iq4_nl. scale: what codes are multiplied by, of int8_static and int4_static, which need one,
    and of e4m3 (0: 1). inverse: what numbers are multiplied by, of e4m3 (0: 1 / scale)."""

    def __init__(self, format, pages, page_tokens, heads, head_dim, *, scale=0.0, inverse=0.0, memory=None):
        where = "Cache"
        self._format, self._head_dim = format, _count(where, "head_dim", head_dim)
        self._pages, self._page_tokens, self._heads = (_count(where, name, value) for name, value in (
            ("pages", pages), ("page_tokens", page_tokens), ("heads", heads)))
        self._scale, self._inverse = _real(where, "scale", scale), _real(where, "inverse", inverse)
        self._tokens = self._pages * self._page_tokens
        self._shape = self._pages, self._page_tokens * self._heads * sum(format_bytes(format, head_dim))
        if max(self._tokens, self._pages * self._shape[1], self._shape[1]) >= 2**63:
            raise Error(f"posenc: {where}: pages, page_tokens and heads must make fewer than 2^63 tokens and bytes, got "
                        f"{[pages, page_tokens, heads]}")
        self.memory = numpy.zeros(self._shape, numpy.uint8) if memory is None else memory
        self._bytes(where)

    format, pages, page_tokens, heads, head_dim, scale, inverse = map(_fixed, (
        "format", "pages", "page_tokens", "heads", "head_dim", "scale", "inverse"))

    def _bytes(self, where):
        """Memory, which may have been replaced since."""
        given, shape = _viewed(where, "memory", self.memory), self._shape
        if given.__class__ is not numpy.ndarray:
            _require_unmasked(where, "memory", given)
        if not isinstance(given, numpy.ndarray) or given.dtype != numpy.uint8 or given.shape != shape \
                or not given.flags.c_contiguous:
            raise Error(f"posenc: {where}: memory must be a contiguous array of uint8 {list(shape)}, got {_type_of(given)}")
        return given

    def _view(self, h, where):
        """Fills posenc1_heads but for slots, and returns the memory, which must outlive the call."""
        memory = self._bytes(where)
        h.data, h.format, h.pages, h.page_tokens = _data(memory), _FORMATS[self._format], self._pages, self._page_tokens
        h.scale, h.inverse = self._scale, self._inverse
        return memory

    def _slots(self, where, name, slots, tokens):
        """Those of a call: to C, pages without slots are an error."""
        if slots is not None:
            return _int64s(where, name, slots)
        if tokens not in (None, self._tokens):
            raise Error(f"posenc: {where}: {name} must be given where tokens are not all {self._tokens} of the cache, got None "
                        f"for {tokens}")
        return numpy.arange(self._tokens)


# Known at once as what was not given.
_NONE, _OFF, _RMS, _INSIDE = 0, 0.0, "rms", "inside"


class StepHeads:
    """Queries, keys or values of a step: an array [..., tokens, heads, head_dim], as rotate takes it,
    or a Cache to decode, by source_slots. They go to `out`, an array, to `cache` by slots, [tokens], or
    to both; else they stay in place.

    layout: of the pairs, halves or interleaved; out_layout: of what is written, the same unless it is
    given. first_dim: where the rotated dims begin, from the end if negative. type="bf16" says that
    uint16 are bfloat16. A norm of each head: eps (0: no norm), weight [head_dim], norm (rms, l2),
    after the rotation, eps_place (inside, outside, at_least), plus_one (weights are 1 + weight).
    scale: on heads after rotation and norm (0: none). rounding: where an engine rounds to bfloat16
    (flashinfer_fused, separate_calls, vllm_fused, sglang_fused, hugging_face). hadamard,
    from_hadamard: blocks as of hadamard(), at last and, where the source is stored so, first;
    cached keys that move have both."""

    def __init__(self, source, *, type=None, layout="halves", first_dim=_NONE, out=None, out_layout=None, cache=None,
                 slots=None, source_slots=None, eps=_OFF, weight=None, norm=_RMS, after=False, eps_place=_INSIDE,
                 plus_one=False, scale=_OFF, rounding=None, hadamard=_NONE, from_hadamard=_NONE, _called=("write_step", "source")):
        where, name = _called
        source, out = _viewed(where, name, source), _viewed(where, "out", out)
        self._c = c = _Operand()
        self._caches, self._read, self._source, self._layout = [], [], source, _named(where, "layout", _LAYOUTS, layout)
        from_, is_cache = c.from_, isinstance(source, Cache)
        for what, value, read, reader in () if type is slots is source_slots is out_layout is None else (
                ("type", type, not is_cache or _is_uint16(out), "an array as source, or uint16 as out"),
                ("source_slots", source_slots, is_cache, "a Cache as source"),
                ("out_layout", out_layout, out is not None or cache is not None, "out or cache"),
                ("slots", slots, cache is not None, "cache")):
            if value is not None and not read:
                raise Error(f"posenc: {where}: {what} must not be given without {reader}, got {_shown(value)}")
        if is_cache:
            of_source = source._slots(where, "source_slots", source_slots, None)
            from_.slots = _data(of_source)
            shape, target = (1, len(of_source), source._heads, source._head_dim), source._view(from_, where)
            self._caches.append((source, from_, out is None and cache is None, target))
            self._read.append(("source_slots", of_source))
        else:
            shape, target = _heads(from_, where, name, source, type, out), source
        if out is not None:
            to = _heads(c.to, where, "out", out, type if _is_uint16(out) else None)
            if to != shape:
                raise Error(f"posenc: {where}: out must have the shape {list(shape[4 - out.ndim:])}, got {list(out.shape)}")
            target = out
        if cache is not None:
            to, tokens = c.to if out is None else c.also_to, shape[0] * shape[1]
            kept = _of(where, "cache", Cache, cache)._slots(where, "slots", slots, tokens)
            if (len(kept), cache._heads, cache._head_dim) != (tokens, *shape[2:]):
                raise Error(f"posenc: {where}: cache and slots must have {[tokens, *shape[2:]]} tokens, heads and head_dim, "
                            f"got {[len(kept), cache._heads, cache._head_dim]}")
            memory, to.slots = cache._view(to, where), _data(kept)
            self._caches.append((cache, to, True, memory)), self._read.append(("slots", kept))
            _require_writeable(where, memory)
        if out is not None or cache is None:
            _require_writeable(where, target)
        self._written = [out] if out is not None else [source] if cache is None and not is_cache else []
        self._shape, (_, _, c.heads, c.head_dim) = shape, shape
        if first_dim is not _NONE:
            c.first_dim = _first_dim(where, first_dim, shape[3])
        if out_layout is not None:
            c.to_layout = _named(where, "out_layout", _LAYOUTS, out_layout)
        if not (eps is _OFF and weight is None and norm is _RMS and after is plus_one is False and eps_place is _INSIDE):
            of = c.norm
            of.eps = _real(where, "eps", eps)
            of.kind, of.eps_place = _named(where, "norm", _NORMS, norm), _named(where, "eps_place", _EPS_PLACES, eps_place)
            of.place, of.plus_one = _flag(where, "after", after), _flag(where, "plus_one", plus_one)
            if weight is not None:
                of.weight_format = 2 if from_.format == 2 else 1
                weight = _numbers(where, "weight", weight, shape[3:], _REALS[of.weight_format])
                of.weight = _data(weight)
                self._read.append(("weight", weight))
        if scale is not _OFF:
            c.factor = _real(where, "scale", scale)
        if rounding is not None:
            c.rounding, c.rounded_to = _named(where, "rounding", _ROUNDINGS, rounding), _FORMATS["bf16"]
        for what, block in ("hadamard", hadamard), ("from_hadamard", from_hadamard):
            if block is not _NONE:
                setattr(c, what, _block(where, block))

    tokens = property(lambda self: self._shape[1])


def _run(where, rows, sets, run=True):
    """The one call of C, of (name, StepHeads, whether they rotate) each."""
    shape, written, read, rotates = sets[0][1]._shape[:2], [], [], False
    for _, one, turns in sets:
        if one._shape[:2] != shape:
            raise Error(f"posenc: {where}: {', '.join(name for name, *_ in sets)} must have the same tokens, got "
                        f"{' and '.join(f'{of._shape[0]} x {of._shape[1]}' for _, of, _ in sets)}")
        one._c.layout = one._layout if turns else _UNROTATED
        rotates = rotates or turns
        read += one._read
        written += one._written
        for i, (cache, h, writes, memory) in enumerate(one._caches):
            if cache.memory is not memory:  # it may have been replaced since
                memory = cache._bytes(where)
                h.data, one._caches[i] = _data(memory), (cache, h, writes, memory)
            if writes:
                _require_writeable(where, memory)
                written.append(memory)
    batches, tokens = shape
    given = _Rows(None, tokens, batches)
    if rotates:
        rows = _rows(where, rows, _REALS[2 if sets[0][1]._c.from_.format == 2 else 1])
        *heads, count, _, pairs = rows.shape
        if not count and tokens:  # which to C are those of the tokens
            raise Error(f"posenc: {where}: there must be one row for each of {tokens} tokens, or of {batches} times as many, got 0")
        if heads == [0]:  # which to C is one
            raise Error(f"posenc: {where}: rows must be of a head at least, got 0")
        given.cos_sin, given.rows, given.pairs, given.heads = _data(rows), count, pairs, heads[0] if heads else 1
        read.append(("rows", rows))
    elif rows is not None:
        raise Error(f"posenc: {where}: rows must not be given without queries or keys")
    _require_apart(where, written, read)
    if not tokens * batches or not run:
        return
    operands = sets[0][1]._c if len(sets) == 1 else (_Operand * len(sets))(*(one._c for _, one, _ in sets))
    if _library().posenc1_rotate(given, operands, len(sets), 0, 1) != 0:
        raise _last_error(where, [name for name, *_ in sets])


def rotate(array, rows, *, layout="halves", first_dim=_NONE, out=None, type=None, eps=_OFF, weight=None, scale=_OFF):
    """Rotates queries or keys, [..., tokens, heads, head_dim] of 3 or 4 axes and any strides, by rows
    [tokens, 2, pairs], which batches share (or [batches x tokens, 2, pairs]), or by those of
    MixedFrequencies, [heads, tokens, 2, pairs], in place or into `out`, and returns what was written.
    Heads are float16, float32, float64, or bfloat16 in uint16, array, out or both, with type="bf16";
    rows are float64 for float64, else float32.

    layout: halves, where dim i is a pair with i + pairs, or interleaved, 2i with 2i + 1. first_dim:
    where the 2 x pairs rotated dims begin, from the end if negative. eps, weight [head_dim]: an RMS
    norm before the rotation (eps of 0: none). scale: on heads after it (0: none). A Cache too: all its
    tokens rotate where they lie."""
    heads = StepHeads(array, type=type, layout=layout, first_dim=first_dim, out=out, eps=eps, weight=weight, scale=scale,
                      _called=("rotate", "array"))
    _run("rotate", rows, (("array", heads, True),), run=0 not in heads._shape)
    return array if out is None else out


def _rotation(where, config, layer, length, *positions):
    """The frequencies, or None, and what else a layer says, or None."""
    if isinstance(config, (Frequencies, MixedFrequencies)):
        for name, value in ("layer", layer), ("length", length):
            if value is not None:
                raise Error(f"posenc: {where}: {name} must not be given with Frequencies, which are of one, got {_shown(value)}")
        return config, config._layer
    if length is None:
        right = [at for at in positions if at.size and at.dtype.kind in "iuf" and numpy.isfinite(at).all()]
        length = min(max([1, *(int(at.max()) + 1 for at in right)]), 2**63 - 1)
    return _of_model(where, config, layer, length)


def _rotated(where, name, x, at_name, at, f, layout, type, out=None, back=False):
    """A copy of x, or out, rotated, or gradients rotated back; x [..., tokens, heads, head_dim], at as rope has positions."""
    heads = _Heads()
    batches, tokens, *_ = _heads(heads, where, name, _viewed(where, name, _detached(x, out)), type, _viewed(where, "out", out))
    if at.ndim == (2 if f.axes == 1 else 3):
        if at.shape[-2:] != (batches, tokens):
            raise Error(f"posenc: {where}: {at_name} must be [{tokens}] or [{batches}, {tokens}], got {_type_of(at)}")
        at = at.reshape(*at.shape[:-2], batches * tokens)
    rows = f._rows(where, at_name, at, _REALS[2 if heads.format == 2 else 1])
    return _turned(x, rows * _BACK if back else rows, out, type=type, layout=f.layout if layout is None else layout, first_dim=f.first_dim,
                   _called=(where, name))


def _detached(x, out):
    """x without its gradient, where a copy of it is rotated."""
    return x.detach() if out is None and _is_tensor(x) else x


def _turned(x, rows, out, **how):
    """A copy of x, or out, rotated. A tensor of PyTorch has its gradient, which is rotated back."""
    if out is None and _is_tensor(x) and x.requires_grad and sys.modules["torch"].is_grad_enabled():
        class Turn(sys.modules["torch"].autograd.Function):
            @staticmethod
            def forward(_, x):
                return _turned(x.detach(), rows, None, **how)

            @staticmethod
            def backward(_, gradient):
                return _turned(gradient.contiguous(), rows * _BACK, None, **how)  # torch repeats that of a sum

        return Turn.apply(x)
    x, (where, name) = _detached(x, out), how["_called"]
    out = _empty_like(x, _viewed(where, name, x)) if out is None else out
    one = StepHeads(x, out=out, **how)
    _run(where, rows, ((name, one, True),), run=0 not in one._shape)
    return out


def rope(x, positions, config, *, layer=None, length=None, layout=None, type=None, out=None):
    """Rotary embedding: rotates queries or keys x, [..., tokens, heads, head_dim] of 3 or 4 axes, by their
    positions. Returns a new array of the type of x, or writes into `out` and returns it.

    positions: [tokens] or [batches, tokens]. Frequencies on several axes (time, row, column) also take
    [axes, tokens] and [axes, batches, tokens]. Positions are integers of 64 bits, or floats.
    config: the path of a model's config.json or GGUF file; a dict, as config.to_dict() gives it; or
    Frequencies, of any rule that posenc.frequencies lists; or MixedFrequencies. A file is read at each
    call; Frequencies are faster.
    layer: of the model (0). A layer that does not rotate leaves x as it is.
    length: of the sequence, in tokens, for LongRoPE and dynamic NTK (the largest position + 1).
    layout: of the pairs, halves or interleaved (that of config; halves for a rule).

    Numbers are float16, float32, float64 or bfloat16; type="bf16" says that uint16 are bfloat16. Angles
    are exact at any position. Errors are below 1e-6 of a pair's norm in float32, and 16 bits are rounded
    once. A tensor of PyTorch has its gradient. Hugging Face's heads, [batches, heads, tokens, head_dim],
    are x.transpose(1, 2), which is no copy."""
    where = "rope"
    at = _array(where, "positions", positions)
    f, _ = _rotation(where, config, layer, length, at)
    if f is not None:
        return _rotated(where, "x", x, "positions", at, f, layout, type, out)
    viewed = _viewed(where, "x", _detached(x, out))
    _heads(_Heads(), where, "x", viewed, type, _viewed(where, "out", out))
    if out is None and _is_tensor(x):
        return x.clone()
    out = numpy.array(x if isinstance(x, numpy.ndarray) else viewed, subok=True) if out is None else out
    to = _viewed(where, "out", out)
    if to.__class__ is not viewed.__class__ or (to.shape, to.dtype) != (viewed.shape, viewed.dtype):
        raise Error(f"posenc: {where}: out must be {viewed.dtype} {list(x.shape)}, got {_type_of(to)}")
    _require_writeable(where, to)
    to[...] = viewed
    return out


def write_step(rows=None, *, queries=None, keys=None, values=None):
    """A layer's step in one pass: norm, rotation, scale, rounding, and the write to caches, of
    StepHeads; values are not rotated. rows: float32 (float64 for heads of float64), as rotate takes them;
    none for values alone."""
    sets = [(name, _of("write_step", name, StepHeads, one), name != "values") for name, one in (
        ("queries", queries), ("keys", keys), ("values", values)) if one is not None]
    if sets:
        _run("write_step", rows, sets)
    elif rows is not None:
        raise Error("posenc: write_step: rows must not be given without queries or keys")


def read_cache(cache, slots=None):
    """The heads of a Cache as float32 [tokens, heads, head_dim], by slots [tokens], or all tokens; 0 where
    a slot is negative."""
    where, c = "read_cache", _Operand()
    slots = _of(where, "cache", Cache, cache)._slots(where, "slots", slots, None)
    memory, result = cache._view(c.from_, where), numpy.zeros((len(slots), cache._heads, cache._head_dim), numpy.float32)
    c.from_.slots, c.to.data, c.to.format, c.layout = _data(slots), _data(result), _TYPES["f32"], _UNROTATED
    tokens, c.heads, c.head_dim = result.shape
    if result.size and _library().posenc1_rotate(_Rows(None, tokens), c, 1, 0, 1) != 0:
        raise _last_error(where, ("cache",))
    return result


def hadamard(array, block="largest", *, type=None):
    """Transforms each block of dims of heads, [..., tokens, heads, head_dim] of any strides, in
    place, by an orthonormal Walsh-Hadamard matrix, and returns them; once more undoes it. It is for
    queries against keys that write_step has stored so, and for outputs of such values. block: a power
    of two that divides head_dim; or 0 for none. bfloat16 is uint16 with type="bf16"."""
    where, h = "hadamard", _Heads()
    viewed = _viewed(where, "array", array)
    batches, *shape = _heads(h, where, "array", viewed, type)
    _require_writeable(where, viewed)
    for _ in range(batches if viewed.size else 0):
        _call("posenc1_hadamard", h, *shape, _block(where, block))
        h.data += h.page_stride
    return array


def format_bytes(format, head_dim):
    """The bytes of a head, and those of its scales if the format has them elsewhere, else 0."""
    codes, scales = _size(), _size()
    _call("posenc1_format_bytes", _named("format_bytes", "format", _FORMATS, format),
          _count("format_bytes", "head_dim", head_dim), ctypes.byref(codes), ctypes.byref(scales))
    return codes.value, scales.value


def ring_slots(first, count, capacity):
    """The slots of `count` tokens from token `first` on, int64 [count], in a cache that keeps the last
    `capacity` tokens, as a ring: token t is in slot t % capacity. They are in the order of tokens, so
    that attend needs no positions:

        written = ring_slots(first, count, capacity)                         # what the step adds
        kept = min(first + count, capacity)
        read = ring_slots(first + count - kept, kept, capacity)              # what attend reads

    With a window of w tokens and steps of up to n tokens, capacity must be at least w + n - 1: the
    first query of a step sees w - 1 tokens before it, which the step must not replace."""
    where = "ring_slots"
    first, count, capacity = (_count(where, name, value) for name, value in (
        ("first", first), ("count", count), ("capacity", capacity)))
    result = numpy.empty(count if count <= capacity else 0, numpy.int64)
    if _library().posenc1_ring_slots(first, count, capacity, _data(result)) != 0:
        raise _last_error(where)
    return result


def page_bounds(keys, page_tokens, slots=None, *, type=None):
    """The least and the largest number of each dim over the tokens of each page, [pages, heads, 2,
    head_dim], float32 (float64 of float64). keys: a Cache, by slots [tokens] or all tokens, or an array
    [tokens, heads, head_dim], of uint16 with type="bf16". Page p has the tokens from p * page_tokens on;
    tokens of a negative slot are left out, and a page that has no other has bounds of 0. They bound a query's
    product with every key of the page: <q, k> <= sum of maximum(q * least, q * largest)."""
    where, h, kept = "page_bounds", _Heads(), None
    page_tokens = _count(where, "page_tokens", page_tokens)
    if isinstance(keys, Cache):
        slots = keys._slots(where, "slots", slots, None)
        kept, h.slots = keys._view(h, where), _data(slots)
        tokens, heads, head_dim = len(slots), keys._heads, keys._head_dim
    else:
        if slots is not None:
            raise Error(f"posenc: {where}: slots must not be given without a Cache, got {_shown(slots)}")
        keys = _viewed(where, "keys", keys)
        batches, tokens, heads, head_dim = _heads(h, where, "keys", keys, type)
        if batches != 1:
            raise Error(f"posenc: {where}: keys must be of one sequence, got {batches}")
    pages = -(-tokens // page_tokens) if page_tokens else 0
    result = numpy.zeros((pages, heads, 2, head_dim), numpy.float64 if h.format == 2 else numpy.float32)
    if _library().posenc1_page_bounds(h, tokens, heads, head_dim, page_tokens, _data(result)) != 0:
        raise _last_error(where)
    return result


# ---- Attention

class Cells:
    """A mask or a bias of attend, cell by cell: an array [..., heads, queries, keys], whose axes but the
    last may be 1 or missing; of a padded mask give mask[..., :keys]. In bool and uint8, what is not 0
    shows a key. Floats, or uint16 with type="bf16", are added to scores, and -infinity hides a key.
    bits: uint8 [..., (keys + 7) // 8], as numpy.packbits(shown, axis=-1, bitorder="little") makes
    them. slopes: [heads], which multiply the numbers of each head."""

    def __init__(self, array, *, bits=False, slopes=None, type=None, _called=("Cells", "array")):
        where, called = _called
        self._array, self._bits, self._slopes = _array(where, called, array).view(), _flag(where, "bits", bits), slopes
        _named(where, "type", {None: 0, "bf16": 0}, type)
        kind = self._array.dtype.kind + str(self._array.dtype.itemsize)
        name = {"b1": "b", "u1": "bits" if self._bits else "b", "f2": "f2", "f4": "f4", "f8": "f8"}.get(kind)
        name = "bf16" if kind == "u2" and type else name
        if name is None or (self._bits and name != "bits") or (type and name != type) or not self._array.dtype.isnative or not 1 <= self._array.ndim <= 4:
            raise Error(f"posenc: {where}: {called} must be bool, uint8, float16, float32, float64, or uint16 with "
                        f"type='bf16', of 1 to 4 axes, got {_type_of(self._array)} and type={type!r}")
        self._type = _CELLS[name]

    array = property(lambda self: self._array.view())
    bits, slopes = map(_fixed, ("bits", "slopes"))

    def _view(self, c, where, name, shape, kept):
        """Fills posenc1_cells of the first sequence; returns the bytes to those of the next. shape: of all cells."""
        array = self._array.reshape((1,) * (4 - self._array.ndim) + self._array.shape)
        keys = (shape[3] + 7) // 8 if self._bits else shape[3]
        if any(n not in (1, wanted) for n, wanted in zip(array.shape, shape[:3])) or array.shape[3] != keys:
            raise Error(f"posenc: {where}: {name} must be cells [batches, heads, queries, keys] {list(shape)}, or 1 in "
                        f"place of the first three, got {list(self._array.shape)}")
        if self._array.size and (array.strides[3] == 0 or any(stride % array.itemsize for stride in array.strides)
                                or (self._bits and array.strides[3] != 1) or not array.flags.aligned):
            array = numpy.ascontiguousarray(array) if array.flags.aligned else array.copy()
        slopes = _address(where, f"slopes of {name}", self._slopes, shape[1], kept)
        kept.append((name, array))
        if not array.size:
            return 0
        batch, head, query, key = array.strides
        c.data, c.type, c.slopes = _data(array), self._type, slopes
        c.one_row = array.shape[2] == 1 or query == 0
        c.query_stride = 0 if c.one_row else query
        c.heads = 1 if array.shape[1] == 1 or head == 0 else shape[1]
        c.head_stride = head if c.heads > 1 else 0
        c.key_stride = 0 if self._bits else key
        return batch if array.shape[0] > 1 else 0


def _of_sequences(where, name, values, batches, count=None):
    """A copy of integers [batches, count], given for each sequence or for all."""
    given = _array(where, name, values)
    rows = given if given.ndim == 2 else given[None]
    if rows.ndim != 2 or len(rows) not in (1, batches):
        raise Error(f"posenc: {where}: {name} must be integers, [tokens] or [{batches}, tokens], got {_type_of(given)}")
    if rows.dtype != _INT64:
        rows = numpy.stack([_int64s(where, name, row) for row in rows])
    if count is not None and rows.shape[1] != count:
        raise Error(f"posenc: {where}: {name} must be of {count} tokens, got {rows.shape[1]}")
    return numpy.array(rows if len(rows) == batches else numpy.broadcast_to(rows, (batches, rows.shape[1])), order="C")


def _source(h, where, name, source, slots, slots_name, batches, type, kept):
    """Fills posenc1_heads of the keys or values of the first sequence. Returns tokens, heads, head_dim, and the bytes
    from there to the data, and to the slots, of the next."""
    is_cache = isinstance(source, Cache)
    if is_cache:
        kept.append((name, source._view(h, where)))
        shape, step, tokens = (None, source._heads, source._head_dim), 0, None
    else:
        _require_unmasked(where, name, source)
        if not isinstance(source, numpy.ndarray):
            raise Error(f"posenc: {where}: {name} must be a Cache or an array of NumPy, got {_type_of(source)}")
        of, *shape = _heads(h, where, name, source, type if _is_uint16(source) else None)
        if of != batches:
            raise Error(f"posenc: {where}: {name} must be of {batches} sequences, got {list(source.shape)}")
        kept.append((name, source))
        tokens, step = shape[0], h.page_stride
    if slots is not None:
        slots = _of_sequences(where, slots_name, slots, batches, tokens)
        if not is_cache:  # a token that is there lies where it is
            slots = numpy.where(slots < 0, -1, numpy.arange(tokens))
            h.pages, h.page_tokens = min(tokens, 1), tokens
    elif is_cache:
        slots = numpy.broadcast_to(source._slots(where, slots_name, None, None), (batches, source._tokens))
    if slots is None or not slots.size:  # where there are no tokens, they are nowhere
        h.pages = h.page_tokens = 0
        return (0 if is_cache else tokens, *shape[1:]), step, 0
    kept.append((slots_name, slots))
    h.slots = _data(slots)
    return (slots.shape[1], *shape[1:]), step, slots.strides[0]


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


def attend(queries, keys, values, *, slots=None, value_slots=None, lengths=None, type=None, scale=0.0, factor=1.0,
           query_positions=None, key_positions=None, causal=False, behind=0, ahead=0, chunk=0, mask=None, bias=None,
           slopes=None, cap=0.0, sinks=None, temperature=None, key_bias=None, profiles=None, tau=0.0, dot_products=False,
           log_sum_exp=False, scores=False, weights=False, threads=1, out=None):
    """Attention, softmax(factor scale <q, k>) v, as float32 (float64 if queries are float64).

    queries: [batches, queries, heads, head_dim]; the axis of batches may be missing, and then the axis of
    queries too. keys, values: Caches, which sequences share, or arrays [batches, tokens, kv_heads, dim].
    Query head h reads kv head h kv_heads / heads. Outputs have the shape of queries and the dims of values.
    slots: [batches, tokens] or [tokens], of Caches. No query sees a token with a negative slot; with arrays,
    the other tokens stay in place. value_slots: the slots of values, if they differ from those of keys.
    lengths: [batches], the number of tokens of each sequence.

    query_positions, key_positions: [batches, tokens] or [tokens]. By default tokens count from 0, and queries
    are the last tokens. causal: a query sees no later token. behind, ahead: a query sees tokens at fewer
    positions behind and ahead of it (1: itself; None, 0: all). chunk: a query sees only tokens in its chunk
    of this many positions (None, 0: all). mask, bias: arrays or Cells. Booleans show keys; numbers are added
    to scores, by mask after the cap and by bias before it.

    scale: the factor of scores. 0 means 1 / sqrt(head_dim); pass 1 if queries are scaled already. factor:
    a second factor, a model's softmax_factor. slopes: [heads], ALiBi's, per position. cap: cap
    tanh(score / cap), as in Gemma 2 (0: none). tau: scale-invariant attention, in tokens (0: none).
    key_bias: a KeyBias that the keys were made without. profiles: two arrays, Inkling's [rank, extent] and
    the queries' side, [..., queries, heads, rank]. temperature: a dict of a rule and its
    numbers, {"rule": "log_n", "length": 4096}, log_n_by_position, {"rule": "ssmax", "scales": ...,
    "biases": ...}, {"rule": "by_position", "scale": 0.1, "length": 8192, "offset": 1}, adaptive,
    half_weight, critical. sinks: [heads], a logit that takes its share of the weights. posenc.h has
    the formulas.

    dot_products: products are rounded, and faster, where has_dot_products() says so (page: rounded products).
    The rms error of more than 32 rows per kv head is 3e-4 of the outputs' rms. Not of doubles. threads: the
    largest number of threads. out: an array of any type for the outputs. type="bf16" says that uint16 numbers are bfloat16, in
    queries, keys, values and out. log_sum_exp, scores, weights: True returns a tuple of outputs and these
    arrays, [..., queries, heads] and [..., heads, queries, keys]."""
    call = _Call("attend", **locals())
    where, first, given_out, out = call.where, call.first, out, call.out
    batches, count, heads, tokens, cut = call.batches, call.count, call.heads, call.tokens, call.cut
    result = numpy.zeros((batches, count, heads, call.value_dim), call.real)
    if out is not None:
        given = result[..., :0] if call.no_dims else result
        _require_unmasked(where, "out", out)
        if not isinstance(out, numpy.ndarray) or out.shape != given[cut].shape or not out.flags.writeable:
            raise Error(f"posenc: {where}: out must be a writeable array {list(given[cut].shape)}, got {_type_of(out)}")
        if not call.no_dims:
            result = out.reshape(result.shape)
        if out.size and not numpy.shares_memory(result, out):
            raise Error(f"posenc: {where}: out must have strides of axes that are there")
        _require_apart(where, (result,), (("queries", call.whole), *call.kept))
    _heads(first.outputs, where, "out", result, type if _is_uint16(result) else None)
    call.steps.append((first.outputs, "data", first.outputs.page_stride))
    records = {}
    for name, asked, shape, of, hidden in (("log_sum_exp", log_sum_exp, (count, heads), float, -numpy.inf),
                                           ("scores", scores, (heads, count, tokens), call.real, -numpy.inf),
                                           ("weights", weights, (heads, count, tokens), call.real, 0)):
        if _flag(where, name, asked):
            records[name] = numpy.full((batches, *shape), hidden, of)
            setattr(first, name, _data(records[name])), call.steps.append((first, name, records[name].strides[0]))
    if batches and count and heads:
        # A piece of work is a head, a query and 512 tokens, or more of each.
        pieces = sum(call.kv_heads * count * ((n + 511) // 512) for n in ([tokens] if call.lengths is None else call.lengths.tolist()))
        _attend(call.sequences()[0], min(call.threads, max(pieces * (batches if call.lengths is None else 1), 1)), (call, result, records))
        if call.lengths is not None:  # C has the keys of each sequence alone
            for name in ("scores", "weights"):
                for whole, n in zip(records.get(name, ()), call.lengths.tolist()):
                    short = whole.ravel()[:heads * count * n].reshape(heads, count, n).copy()
                    whole[...] = -numpy.inf if name == "scores" else 0
                    whole[..., :n] = short
    outputs = result[cut] if not call.no_dims else result[cut][..., :0] if out is None else out
    found = [outputs if given_out is None else given_out,
             *(x[0, :, 0] if len(cut) == 2 and name != "log_sum_exp" else x[cut[:1] if name != "log_sum_exp" else cut]
               for name, x in records.items())]
    found = [x if x is given_out else _as_tensor(queries, x) for x in found]
    return tuple(found) if records else found[0]


class _Call:
    """What attend is asked, but for its outputs: a posenc1_attention of the first sequence, and what differs from a
    sequence to the next."""

    def __init__(self, where, queries, keys, values, slots, value_slots, lengths, type, scale, factor, query_positions,
                 key_positions, causal, behind, ahead, chunk, mask, bias, slopes, cap, sinks, temperature, key_bias,
                 profiles, tau, dot_products, threads, out, log_sum_exp, scores, weights):
        self.where, self.kept, self.first = where, [], _Attention()
        kept, first = self.kept, self.first
        queries, keys, values, out = (_viewed(where, name, x) for name, x in (
            ("queries", queries), ("keys", keys), ("values", values), ("out", out)))
        _require_unmasked(where, "queries", queries)
        if not isinstance(queries, numpy.ndarray) or not 2 <= queries.ndim <= 4:
            raise Error(f"posenc: {where}: queries must be an array of NumPy [heads, head_dim], or with queries, or batches and "
                        f"queries before them, got {_type_of(queries)}")
        lead = 4 - queries.ndim
        whole = queries.reshape((1,) * lead + queries.shape)
        batches, count, heads, head_dim = _heads(first.queries, where, "queries", whole, type, keys, values, out)
        of_keys, key_step, slot_step = _source(first.keys, where, "keys", keys, slots, "slots of keys", batches, type, kept)
        no_dims = isinstance(values, numpy.ndarray) and values.ndim > 2 and values.shape[-1] == 0
        if no_dims:  # which C would take for head_dim; of a dim of zeros, weights are those of the outputs without dims
            values = numpy.zeros((*values.shape[:-1], 1), values.dtype)
        of_values, value_step, value_slot_step = _source(first.values, where, "values", values, *(
            (slots, "slots of values") if value_slots is None else (value_slots, "value_slots")), batches, type, kept)
        if of_keys[:2] != of_values[:2] or of_keys[2] != head_dim:
            raise Error(f"posenc: {where}: keys and values must be [tokens, kv_heads, dim], alike, keys with the "
                        f"{head_dim} dims of queries, got {list(of_keys)} and {[*of_values[:2], 0 if no_dims else of_values[2]]}")
        tokens, kv_heads, value_dim = of_values
        if heads and not kv_heads:
            raise Error(f"posenc: {where}: keys and values must have kv heads for the {heads} heads of queries, got 0")
        # A field, and the bytes to the next.
        self.steps = steps = [(first.queries, "data", first.queries.page_stride), (first.keys, "data", key_step), (first.keys, "slots", slot_step),
                              (first.values, "data", value_step), (first.values, "slots", value_slot_step)]
        if lengths is not None:
            lengths = _int64s(where, "lengths", lengths, "sequences")
            if len(lengths) != batches:
                raise Error(f"posenc: {where}: lengths must be of {batches} sequences, got {len(lengths)}")
            if batches and not 0 <= lengths.min() <= lengths.max() <= tokens:
                raise Error(f"posenc: {where}: lengths must be in [0, {tokens}], got {lengths.min()} to {lengths.max()}")
        for name, given, n in ("query_positions", query_positions, count), ("key_positions", key_positions, tokens):
            if given is not None:
                given = _of_sequences(where, name, given, batches, n)
                kept.append((name, given))
                if given.size:
                    setattr(first, name, _data(given)), steps.append((first, name, given.strides[0]))
        causal, ahead = _flag(where, "causal", causal), _limit(where, "ahead", ahead)
        first.ahead = 0 if causal else ahead - 1 if ahead else _ALL_AHEAD
        first.behind, first.chunk = _limit(where, "behind", behind), _limit(where, "chunk", chunk)
        first.scale, first.factor = _real(where, "scale", scale), _real(where, "factor", factor)
        first.cap, first.tau = _real(where, "cap", cap), _real(where, "tau", tau)
        if first.factor == 0:  # which to C is 1
            raise Error(f"posenc: {where}: factor must not be 0, got {_shown(factor)}")
        first.tokens, first.query_tokens, first.heads, first.kv_heads = tokens, count, heads, kv_heads
        first.head_dim, first.value_dim, first.dot_products = head_dim, value_dim, _flag(where, "dot_products", dot_products)
        threads = _count(where, "threads", threads, 1)
        self.real = numpy.float64 if whole.dtype == numpy.float64 else numpy.float32
        if temperature is not None:
            if not isinstance(temperature, dict):
                raise Error(f"posenc: {where}: temperature must be a dict of a rule and its numbers, got {_shown(temperature)}")
            rule = dict(temperature)
            first.temperature = _Temperature(
                _named(where, "rule of temperature", _TEMPERATURES, rule.pop("rule", None)),
                *(_real(where, f"{name} of temperature", rule.pop(name, 0)) for name in ("length", "scale", "offset")),
                *(_address(where, f"{name} of temperature", rule.pop(name, None), heads, kept) for name in ("scales", "biases")))
            if rule:
                raise Error(f"posenc: {where}: temperature must have a rule and its numbers, got {', '.join(map(str, rule))} too")
        if key_bias is not None:
            first.key_bias = _of(where, "key_bias", KeyBias, key_bias)._handle
        if profiles is not None:
            if not isinstance(profiles, (tuple, list)) or len(profiles) != 2:
                raise Error(f"posenc: {where}: profiles must be two arrays, got {_type_of(profiles)}")
            bank, side = (_numbers(where, f"profiles[{i}]", () if x is None else x, of, numpy.float32) for i, (x, of) in enumerate(
                zip(profiles, (("rank", "extent"), (*queries.shape[:-1], "rank")))))
            if side.shape[-1] != len(bank):
                raise Error(f"posenc: {where}: profiles must be [rank, extent] and [..., queries, heads, rank], got "
                            f"{list(bank.shape)} and {list(side.shape)}")
            kept += ("profiles[0]", bank), ("profiles[1]", side)
            first.profiles = _Profiles(_data(bank), *bank.shape, _data(side))
            steps.append((first.profiles, "query_side", count * heads * len(bank) * 4))
        for name, given in ("mask", mask), ("bias", bias):
            if given is not None:
                given = given if isinstance(given, Cells) else Cells(given, _called=(where, name))
                cells = getattr(first, name)
                steps.append((cells, "data", given._view(cells, where, name, (batches, heads, count, tokens), kept)))
        first.sinks, first.slopes = _address(where, "sinks", sinks, heads, kept), _address(where, "slopes", slopes, heads, kept)
        self.cut, self.whole, self.out, self.lengths, self.threads = (0,) * lead, whole, out, lengths, threads
        self.batches, self.count, self.heads, self.head_dim = batches, count, heads, head_dim
        self.tokens, self.kv_heads, self.value_dim, self.no_dims = tokens, kv_heads, value_dim, no_dims
        self.shape = *queries.shape[:-1], 0 if no_dims else value_dim

    def sequences(self, *others):
        """The first struct, and others, of each sequence."""
        all = [(of.__class__ * self.batches)() for of in (self.first, *others)]
        for i in range(self.batches):
            for of, field, step in self.steps if i else ():
                if step:
                    setattr(of, field, getattr(of, field) + step)
            if self.lengths is not None:
                self.first.tokens = int(self.lengths[i])
            for each, of in zip(all, (self.first, *others)):
                each[i] = of
        return all


def _asked(where, layer, options):
    """The arguments of attend that a layer names, and options, which stand before them."""
    for name, needed, what in (("sinks", layer.sinks, "a learned sink logit for each head"),
                               ("bias", layer.learned_bias, "a bias by distance among its weights")):
        if needed and options.get(name) is None:
            raise Error(f"posenc: {where}: {name} must be given for this layer, which has {what}, got None")
    asked = {"behind": layer.behind, "ahead": 0 if layer.ahead == _ALL_AHEAD else layer.ahead + 1, "chunk": layer.chunk,
             "cap": layer.cap, "factor": layer.factor, "temperature": _temperature_of(layer)}
    if "causal" in options:
        del asked["ahead"]
    if layer.alibi_heads:
        asked["slopes"] = _slopes(where, layer.alibi_heads, layer.alibi_max_bias, layer.alibi_factor)
    return {**asked, **options}


def attention(queries, keys, values, *, encoding=None, layer=None, length=None, layout=None, query_positions=None,
              key_positions=None, type=None, **options):
    """Attention on queries and keys that are not rotated yet, with an encoding of positions. Changes none
    of its arrays.

    queries: [batches, queries, heads, head_dim]. keys, values: [batches, tokens, kv_heads, dim]. The axis
    of batches may be missing. Outputs: [batches, queries, heads, dim of values], float32, or float64 if
    queries are float64.

    encoding: one of
        None, "nope"         no positions
        "alibi"              ALiBi, with the slopes of alibi_slopes(heads); `slopes` takes others
        Frequencies          rotary embedding by any rule that posenc.frequencies lists
        MixedFrequencies     rotary embedding by frequencies of each head, on all axes at once
        a path, or a dict    what a layer of this config.json, GGUF file or config.to_dict() does by
                             position: rotation, ALiBi, window, chunk, cap, temperature, factor, and
                             whether queries see later keys. Two things are weights of the model, and
                             must be given: sinks, and T5's biases as `bias`. Three things are left out:
                             norms of heads, index heads, and tokens of images that see both ways.
    layer: of the model (0). length, layout: as rope has them.
    query_positions, key_positions: [tokens] or [batches, tokens]. Tokens count from 0, and queries are
    the last tokens, unless positions are given. Frequencies on several axes also take [axes, tokens];
    queries then see keys by their order.

    options: all that attend takes, such as causal, behind, mask, bias, slopes, temperature, tau, cap,
    sinks, weights=True and threads. An option overrides what the encoding says. causal is off unless the
    encoding is a model's layer."""
    given = {"queries": queries, "keys": keys, "values": values}
    if any(_is_tensor(x) and x.requires_grad for x in given.values()):
        if sys.modules["torch"].is_grad_enabled():
            return _with_gradients(given, log_sum_exp=options.pop("log_sum_exp", False), encoding=encoding, layer=layer, length=length,
                                   layout=layout, query_positions=query_positions, key_positions=key_positions, type=type, **options)
        given = {name: x.detach() if _is_tensor(x) else x for name, x in given.items()}
    return attend(**_encoded("attention", given, encoding, layer, length, layout, query_positions, key_positions, type, options)[0])


def attention_backward(queries, keys, values, outputs, log_sum_exp, d_outputs, *, encoding=None, layer=None, length=None,
                       layout=None, query_positions=None, key_positions=None, type=None, **options):
    """The gradients of a loss with respect to queries, keys and values, a tuple of arrays of their shapes, from
    d_outputs, those with respect to the outputs of attention:

        outputs, log_sum_exp = posenc.attention(q, k, v, encoding=f, causal=True, log_sum_exp=True)
        d_q, d_k, d_v = posenc.attention_backward(q, k, v, outputs, log_sum_exp, d_outputs, encoding=f, causal=True)

    outputs, log_sum_exp: what attention returned. d_outputs: of the shape of outputs, and of any type; of float64 where
    outputs are. All else is as attention had it, but for scores, weights and out. Gradients are float32, or float64 if
    queries are float64. threads: each has some kv heads. Sinks, slopes, biases, profiles and temperatures get no
    gradient; a temperature counts as constant. A tensor of PyTorch that requires a gradient needs no such call:
    attention(...).backward() makes it."""
    where, given = "attention_backward", {"queries": queries, "keys": keys, "values": values}
    asked, turned_back = _encoded(where, given, encoding, layer, length, layout, query_positions, key_positions, type, options)
    for name in ("scores", "weights", "out"):
        if not (asked.get(name) is None or asked[name] is False):
            raise Error(f"posenc: {where}: {name} must not be given, which only attention has")
    call, d = _Call(where, **{**attend.__kwdefaults__, **asked}), _Gradients()
    batches, count, heads, first = call.batches, call.count, call.heads, call.first
    of_outputs = []
    for of, name, x in (first.outputs, "outputs", outputs), (d.outputs, "d_outputs", d_outputs):
        x = _viewed(where, name, x)
        _require_unmasked(where, name, x)
        if not isinstance(x, numpy.ndarray) or x.shape != call.shape:
            raise Error(f"posenc: {where}: {name} must be an array of NumPy {list(call.shape)}, got {_type_of(x)}")
        x = numpy.zeros((batches, count, heads, 1), x.dtype) if call.no_dims else x.reshape(batches, count, heads, call.value_dim)
        _heads(of, where, name, x, type if _is_uint16(x) else None)
        call.steps.append((of, "data", of.page_stride)), of_outputs.append(x)
    sums = _numbers(where, "log_sum_exp", () if log_sum_exp is None else log_sum_exp, call.shape[:-1]).reshape(batches, count, heads)
    first.log_sum_exp = _data(sums)
    call.steps.append((first, "log_sum_exp", sums.strides[0]))
    found = []
    for of, n, h, dim in ((d.queries, count, heads, call.head_dim), (d.keys, call.tokens, call.kv_heads, call.head_dim),
                          (d.values, call.tokens, call.kv_heads, call.value_dim)):
        found.append(numpy.zeros((batches, n, h, dim), call.real))
        of.data, of.format = _data(found[-1]), _TYPE_OF[found[-1].dtype]
        call.steps.append((of, "data", found[-1].strides[0]))
    if batches and count and heads and call.head_dim:
        _go_back(where, call.kv_heads, call.threads, *call.sequences(d))
    found[2] = found[2][..., :0] if call.no_dims else found[2]
    found = [x.reshape(tuple(of.shape)) for x, of in zip(found, given.values())]
    return tuple(_as_tensor(queries, x) for x in turned_back(*found))


def _go_back(where, kv_heads, threads, attentions, gradients):
    """Threads, this one among them, take a kv head of a sequence at a time."""
    library, failed = _library(), []
    parts = iter([(a, d, head) for a, d in zip(attentions, gradients) for head in range(kv_heads)])

    def work():
        needed, memory = _size(), numpy.empty(0, numpy.uint8)
        for a, d, head in parts:
            mine = _Attention.from_buffer_copy(a)
            if library.posenc1_attention_backward_memory(mine, head, head + 1, needed) == 0:
                memory = memory if memory.size >= needed.value else numpy.empty(needed.value, numpy.uint8)
                mine.memory, mine.memory_bytes = _data(memory), memory.size
                if not failed and library.posenc1_attention_backward(mine, d, head, head + 1) == 0:
                    continue
            failed.append(_last_error(where))
            return

    others = [threading.Thread(target=work) for _ in range(min(threads, len(attentions) * kv_heads) - 1)]
    for other in others:
        other.start()
    work()
    for other in others:
        other.join()
    if failed:
        raise failed[0]


def _encoded(where, given, encoding, layer, length, layout, query_positions, key_positions, type, options):
    """The arguments of attend, with queries and keys that are rotated; and what takes the gradients of these back."""
    arrays = {name: _viewed(where, name, x) for name, x in given.items()}
    (_, count, heads, _), (_, tokens, *_), _ = (
        _heads(_Heads(), where, name, x, type if name == "queries" or _is_uint16(x) else None, *arrays.values())
        for name, x in arrays.items())
    if isinstance(encoding, str) and encoding in ("nope", "alibi"):
        options = {"slopes": alibi_slopes(heads), **options} if encoding == "alibi" else options
        encoding = None
    positions, turned = {"query_positions": query_positions, "key_positions": key_positions}, {}
    if encoding is not None:
        ends = tokens if options.get("lengths") is None else _int64s(where, "lengths", options["lengths"], "sequences")[:, None]
        defaults = {"query_positions": numpy.arange(count) - count + ends, "key_positions": numpy.arange(tokens)}
        at = {name: defaults[name] if x is None else _array(where, name, x) for name, x in positions.items()}
        f, of_layer = _rotation(where, encoding, layer, length, *at.values())
        if of_layer is not None:
            options = _asked(where, of_layer, options)
        if f is not None:
            turned = {name: (name, at_name, at[at_name], f, layout) for name, at_name in
                      (("queries", "query_positions"), ("keys", "key_positions"))}
            given = {**given, **{name: _rotated(where, name, given[name], *how, type if _is_uint16(arrays[name]) else None)
                                 for name, (_, *how) in turned.items()}}
            positions = {name: None if f.axes > 1 and at[name].ndim > 1 else x for name, x in positions.items()}
    else:
        for name, value in ("layer", layer), ("length", length), ("layout", layout):
            if value is not None:
                raise Error(f"posenc: {where}: {name} must not be given without an encoding that rotates, got {_shown(value)}")

    def turned_back(*gradients):
        return [_rotated(where, f"gradients of {name}", x, *turned[name][1:], None, back=True) if name in turned else x
                for name, x in zip(given, gradients)]

    return {**given, "type": type, **positions, **options}, turned_back


def _with_gradients(given, *, log_sum_exp, **options):
    """attention of tensors, of which one requires a gradient."""
    torch = sys.modules["torch"]
    for name, x in given.items():
        if not _is_tensor(x):
            raise Error(f"posenc: attention: {name} must be a tensor where another one requires a gradient, got {_type_of(x)}")
    if options.get("out") is not None:
        raise Error(f"posenc: attention: out must not be given where a tensor requires a gradient, got {_type_of(options['out'])}")
    for name, x in options.items():
        if _is_tensor(x) and x.requires_grad:
            raise Error(f"posenc: attention: {name} must not require a gradient, which it would not get, got {_type_of(x)}; "
                        f"use {name}.detach()")

    class Attend(torch.autograd.Function):
        @staticmethod
        def forward(context, *heads):
            outputs, *others = attention(*(x.detach() for x in heads), log_sum_exp=True, **options)
            context.save_for_backward(*heads, outputs, others[0])
            context.mark_non_differentiable(*others)
            return (outputs, *others)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, d_outputs, *_):
            *heads, outputs, sums = (x.detach() for x in context.saved_tensors)
            how = {name: x for name, x in options.items() if name not in ("scores", "weights")}
            found = attention_backward(*heads, outputs, sums, d_outputs.contiguous(), **how)
            return tuple(x.to(of.dtype) for x, of in zip(found, heads))

    outputs, sums, *others = Attend.apply(*given.values())
    found = (outputs, *((sums,) if log_sum_exp else ()), *others)
    return found if len(found) > 1 else outputs


def _attend(attentions, threads, kept):
    """Threads that signals do not interrupt are the workers of the call: in a callback of C, what a
    handler raises is lost, and the other workers wait for good. An interrupt is raised when all have
    left. kept: what attentions point to; the workers hold it."""
    needed, failed, interrupts = _size(), [], []
    library, sequences = _library(), len(attentions)
    if library.posenc1_attention_memory_of(attentions, sequences, threads, needed) != 0:
        raise _last_error("attend")
    memory = numpy.empty(needed.value, numpy.uint8)

    def work(i, barrier, left=None):
        try:
            worker = _Worker(i, threads, barrier, None, _data(memory), needed.value)
            if library.posenc1_attend_as(attentions, sequences, worker) != 0:
                failed.append(_last_error("attend"))
        finally:
            if left is not None:
                left.release()

    if threads == 1:
        work(0, _NO_BARRIER)
        if failed:
            raise failed[0]
        return

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
    rows = _of(where, "f", Frequencies, f)._rows(where, "distances", distances, numpy.float64)
    rho = _real(where, "rho", rho)
    if not numpy.isfinite(rho):
        raise Error(f"posenc: {where}: rho must be finite, got {rho}")
    rotated = 2 * f.attention_factor * rows[:, 0].sum(axis=1)
    return f.softmax_factor * rho * (rotated + f.head_dim - 2 * f._pairs) / numpy.sqrt(f.head_dim)


# ---- The program posenc, which studies position

def _program():
    here = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("POSENC_PROGRAM")
    for path in [given] if given else [here / "posenc-program", *here.glob("../../build/*/posenc")]:
        if os.path.isfile(path):
            return str(path)
    raise Error(f"posenc: the program must be at {given or here / 'posenc-program'}, found none; "
                "cmake --workflow --preset curves builds it in a checkout")


def _words(where, name, value, folder):
    """An argument of the program: what is not text or a number is written to a file."""
    if isinstance(value, (list, tuple)):
        return [word for one in value for word in _words(where, name, one, folder)]
    if isinstance(value, collections.abc.Mapping):
        return [str(_written_config(where, value, folder))]
    value = _viewed(where, name, value)
    if isinstance(value, numpy.ndarray):
        path = pathlib.Path(folder) / f"{name}.npy"
        numpy.save(path, _array(where, name, value))
        return [str(path)]
    if isinstance(value, (str, bytes, os.PathLike, numbers.Real)) and not isinstance(value, bool):
        return [os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)]
    raise Error(f"posenc: {where}: {name} must be text, numbers, paths, a dict or an array, got {_type_of(value)}")


def ask(verb, *arguments, **options):
    """Runs the program `posenc VERB ARGUMENTS --OPTION VALUE`, and returns its numbers: its JSON if the
    verb has --json, else its CSV as a dict of columns, float64 [rows], or lists of text.

        posenc.ask("inspect", "config.json")          how a model encodes positions; of each rotation
                                                      the context_bound, the positional_budget, and
                                                      how many pairs bfloat16 lets tell neighbours apart
        posenc.ask("curves", encodings=["rope", "alibi", "t5"], heads=8)      scores and weights by
                                                      distance, of any of 14 encodings
        posenc.ask("verdict", config.to_dict())       what engines get wrong on this model
        posenc.ask("heads", q=q, k=k)                 whether heads attend by position or by content
        posenc.ask("pairs", q=q, k=k)                 what each frequency adds to scores
        posenc.ask("norms", "model.gguf")             which heads may be positional
        posenc.ask("run", "model.gguf", text="book.txt")      what a change costs a trained model

    `python3 -m posenc --help` lists all verbs, `python3 -m posenc VERB --help` the options of one; `_`
    stands for `-`. A value is text, a number, a path, or a list of these; True is a flag; a dict is
    what a config.json has; an array is written as .npy (queries and keys [tokens, heads, head_dim])."""
    where, flags = "ask", []
    if not isinstance(verb, str) or not verb.isalpha():
        raise Error(f"posenc: {where}: the verb must be a name, got {_shown(verb)}")
    with tempfile.TemporaryDirectory() as folder:
        words = _words(where, "arguments", arguments, folder)
        for name, value in options.items():
            given = [] if value is True else _words(where, name, value, folder)
            flags += [f"--{name.replace('_', '-')}", *given]

        def said(*more):
            return subprocess.run([_program(), verb, *more], capture_output=True, text=True)

        gives_json = re.search(r"^ +--json\b", said("--help").stdout, re.MULTILINE)
        path = pathlib.Path(folder) / "answer.csv"
        ran = said(*words, *flags, *(["--json"] if gives_json else ["--csv", str(path)]))
        if ran.returncode and not (gives_json and ran.stdout):  # of a verdict, the status says what was found
            raise Error(f"posenc: {where}: {(ran.stderr or ran.stdout).strip()}")
        if gives_json:
            return json.loads(ran.stdout)
        with path.open(newline="") as file:
            return _columns(csv.DictReader(file))


def _columns(rows):
    columns = {name: [] for name in rows.fieldnames}
    for row in rows:
        for name, cells in columns.items():
            cells.append(row[name])
    for name, cells in columns.items():
        try:
            columns[name] = numpy.array([float(cell) if cell else numpy.nan for cell in cells])
        except ValueError:  # text
            pass
    return columns


def _main():
    """python3 -m posenc VERB: the program."""
    try:
        program = _program()
    except Error as error:
        sys.exit(str(error))
    os.execv(program, ["posenc", *sys.argv[1:]])


if __name__ == "__main__":
    _main()
