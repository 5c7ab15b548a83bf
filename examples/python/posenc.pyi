# The types of posenc.py, whose docstrings say shapes and units. check.py compares both.
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar, overload

import numpy
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Cache", "Cells", "Error", "Frequencies", "KeyBias", "MixedFrequencies", "StepHeads", "alibi_slopes", "ask", "attend",
           "attention", "attention_backward", "format_bytes", "frequencies", "hadamard", "instruction_set", "page_bounds",
           "profile", "read_cache", "ring_slots", "rope", "rotate", "version", "write_step"]
__version__: Final[str]

# ---- Arrays: of NumPy, of PyTorch, or others that are read and written where they lie

class _Exports(Protocol):
    def __dlpack__(self, *args: Any, **named: Any) -> Any: ...

class _Interface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class _Tensor(_Exports, Protocol):
    @property
    def requires_grad(self) -> bool: ...

_Memory = NDArray[Any] | _Exports | _Interface
_Numbers = ArrayLike | _Exports
_Rotary = Frequencies | MixedFrequencies
_Config = str | bytes | os.PathLike[str] | os.PathLike[bytes] | Mapping[str, Any]
_Asked = str | float | os.PathLike[str] | Mapping[str, Any] | Sequence[str] | Sequence[float] | NDArray[Any] | _Exports
_Array = TypeVar("_Array", bound=NDArray[Any])
_OfTorch = TypeVar("_OfTorch", bound=_Tensor)
_Out = TypeVar("_Out", bound=_Memory)
_Rotated = TypeVar("_Rotated", bound=_Memory | Cache)

_Layout = Literal["halves", "interleaved"]
_Type = Literal["f32", "f64", "f16", "bf16"]
_Format = Literal["f32", "f16", "bf16", "u8_per_head", "q8_0", "q8_0_avx2", "int8_per_head", "int8_per_head_truncated",
                  "int8_static", "e4m3", "e4m3_truncated", "deepseek_v4", "deepseek_v4_cpu", "q4_0", "int4_per_head",
                  "int4_static", "q4_1", "q5_0", "q5_1", "iq4_nl"]
_Rule = Literal["linear", "ntk", "dynamic_ntk", "mixed_ntk", "ntk_by_parts", "yarn_by_rotations", "yarn", "llama3",
                "longrope", "divided_by_factors", "truncated", "p_rope", "resonance", "raised_cosine_clip",
                "fope_floor", "geometric", "geometric_inclusive", "proportional", "part_ntk", "pixel", "axial"]
_Axes = Literal["by_pair", "contiguous", "interleaved", "ggml", "ggml_interleaved"]
_NormKind = Literal["rms", "l2"]
_EpsPlace = Literal["inside", "outside", "at_least"]
_Rounding = Literal["flashinfer_fused", "separate_calls", "vllm_fused", "sglang_fused", "hugging_face"]
_BothWays = Literal["image", "image_within_window", "prefix"]
_Block = int | Literal["largest"]

class Error(ValueError): ...

def version() -> str: ...
def instruction_set() -> str: ...
def has_dot_products() -> bool: ...

# ---- Frequencies and rows

class Frequencies:
    def __init__(self, handle: Any, layer: Any = None) -> None: ...
    def __copy__(self) -> Frequencies: ...
    def __deepcopy__(self, _: Any) -> Frequencies: ...
    @property
    def inv_freq(self) -> NDArray[numpy.float64]: ...
    @property
    def axis_of_pair(self) -> NDArray[numpy.uintp] | None: ...
    @property
    def attention_factor(self) -> float: ...
    @property
    def axes(self) -> int: ...
    @property
    def layout(self) -> _Layout: ...
    @property
    def first_dim(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def softmax_factor(self) -> float: ...
    @property
    def window(self) -> int | None: ...
    @property
    def ahead(self) -> int | None: ...
    @property
    def chunk(self) -> int | None: ...
    @property
    def cap(self) -> float: ...
    @property
    def sinks(self) -> bool: ...
    @property
    def both_ways(self) -> _BothWays | None: ...
    @property
    def key_bias_is_separable(self) -> bool | None: ...
    @property
    def temperature(self) -> dict[str, Any] | None: ...
    def on_axes(self, axes: _Axes, numbers: _Numbers) -> Frequencies: ...
    def rows(self, positions: _Numbers, dtype: DTypeLike = ..., table_range: int = 0) -> NDArray[Any]: ...

class MixedFrequencies:
    def __init__(self, inv_freq: _Numbers, attention_factor: float = 1.0) -> None: ...
    def __copy__(self) -> MixedFrequencies: ...
    def __deepcopy__(self, _: Any) -> MixedFrequencies: ...
    @property
    def inv_freq(self) -> NDArray[numpy.float64]: ...
    @property
    def attention_factor(self) -> float: ...
    @property
    def heads(self) -> int: ...
    @property
    def axes(self) -> int: ...
    @property
    def layout(self) -> _Layout: ...
    @property
    def first_dim(self) -> int: ...
    def rows(self, positions: _Numbers, dtype: DTypeLike = ...) -> NDArray[Any]: ...

@overload
def frequencies(file: _Config, layer: int | None = None, length: int | None = None) -> Frequencies | None: ...
@overload
def frequencies(*, inv_freq: _Numbers, attention_factor: float | None = None) -> Frequencies: ...
@overload
def frequencies(*, rule: _Rule | None = None, of: Frequencies | None = None, **parameters: float | Sequence[float] | NDArray[Any]) -> Frequencies: ...
def alibi_slopes(heads: int, max_bias: float = 8.0) -> NDArray[numpy.float64]: ...
def profile(f: Frequencies, distances: _Numbers, rho: float = 1.0) -> NDArray[numpy.float64]: ...

# ---- Heads, and their rotation

class Cache:
    memory: Any  # NDArray[numpy.uint8]; what exports such memory can be set
    def __init__(self, format: _Format, pages: int, page_tokens: int, heads: int, head_dim: int, *, scale: float = 0.0,
                 inverse: float = 0.0, memory: _Memory | None = None) -> None: ...
    @property
    def format(self) -> _Format: ...
    @property
    def pages(self) -> int: ...
    @property
    def page_tokens(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def scale(self) -> float: ...
    @property
    def inverse(self) -> float: ...

class StepHeads:
    def __init__(self, source: _Memory | Cache, *, type: _Type | None = None, layout: _Layout = "halves", first_dim: int = 0,
                 out: _Memory | None = None, out_layout: _Layout | None = None, cache: Cache | None = None,
                 slots: _Numbers | None = None, source_slots: _Numbers | None = None, eps: float = 0.0,
                 weight: _Numbers | None = None, norm: _NormKind = "rms", after: bool = False, eps_place: _EpsPlace = "inside",
                 plus_one: bool = False, scale: float = 0.0, rounding: _Rounding | None = None, hadamard: _Block = 0,
                 from_hadamard: _Block = 0,
                 _called: tuple[str, str] = ...) -> None: ...
    @property
    def tokens(self) -> int: ...

@overload
def rotate(array: _Rotated, rows: _Numbers, *, layout: _Layout = "halves", first_dim: int = 0, out: None = None,
           type: _Type | None = None, eps: float = 0.0, weight: _Numbers | None = None, scale: float = 0.0) -> _Rotated: ...
@overload
def rotate(array: _Memory | Cache, rows: _Numbers, *, layout: _Layout = "halves", first_dim: int = 0, out: _Out,
           type: _Type | None = None, eps: float = 0.0, weight: _Numbers | None = None, scale: float = 0.0) -> _Out: ...
@overload
def rope(x: _Array, positions: _Numbers, config: _Rotary | _Config, *, layer: int | None = None, length: int | None = None,
         layout: _Layout | None = None, type: _Type | None = None, out: None = None) -> _Array: ...
@overload
def rope(x: _OfTorch, positions: _Numbers, config: _Rotary | _Config, *, layer: int | None = None, length: int | None = None,
         layout: _Layout | None = None, type: _Type | None = None, out: None = None) -> _OfTorch: ...
@overload
def rope(x: _Memory, positions: _Numbers, config: _Rotary | _Config, *, layer: int | None = None, length: int | None = None,
         layout: _Layout | None = None, type: _Type | None = None, out: _Out) -> _Out: ...
def write_step(rows: _Numbers | None = None, *, queries: StepHeads | None = None, keys: StepHeads | None = None,
               values: StepHeads | None = None) -> None: ...
def read_cache(cache: Cache, slots: _Numbers | None = None) -> NDArray[numpy.float32]: ...
def hadamard(array: _Out, block: _Block = "largest", *, type: _Type | None = None) -> _Out: ...
def format_bytes(format: _Format, head_dim: int) -> tuple[int, int]: ...
def ring_slots(first: int, count: int, capacity: int) -> NDArray[numpy.int64]: ...
def page_bounds(keys: _Memory | Cache, page_tokens: int, slots: _Numbers | None = None, *, type: _Type | None = None) -> NDArray[Any]: ...

# ---- Attention: outputs, of the type of queries; with what else is asked for, a tuple

class Cells:
    def __init__(self, array: _Numbers, *, bits: bool = False, slopes: _Numbers | None = None, type: Literal["bf16"] | None = None,
                 _called: tuple[str, str] = ...) -> None: ...
    @property
    def array(self) -> NDArray[Any]: ...
    @property
    def bits(self) -> bool: ...
    @property
    def slopes(self) -> _Numbers | None: ...

class KeyBias:
    def __copy__(self) -> KeyBias: ...
    def __deepcopy__(self, _: Any) -> KeyBias: ...
    def __init__(self, frequencies: Frequencies, bias: _Numbers, heads: int, *, layout: _Layout | None = None,
                 first_dim: int | None = None, hadamard: _Block = 0) -> None: ...
    def at(self, positions: _Numbers, delta: int = 0) -> KeyBias: ...

@overload
def attend(queries: NDArray[Any], keys: _Memory | Cache, values: _Memory | Cache, *, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: Literal[False] = False, scores: Literal[False] = False, weights: Literal[False] = False,
       threads: int = 1, out: _Memory | None = None) -> NDArray[Any]: ...
@overload
def attend(queries: _OfTorch, keys: _Memory | Cache, values: _Memory | Cache, *, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: Literal[False] = False, scores: Literal[False] = False, weights: Literal[False] = False,
       threads: int = 1, out: _Memory | None = None) -> _OfTorch: ...
@overload
def attend(queries: _Memory, keys: _Memory | Cache, values: _Memory | Cache, *, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: bool = False, scores: bool = False, weights: bool = False,
       threads: int = 1, out: _Memory | None = None) -> Any: ...
@overload
def attention(queries: NDArray[Any], keys: _Memory, values: _Memory, *, encoding: _Rotary | _Config | None = None, layer: int | None = None,
       length: int | None = None, layout: _Layout | None = None, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: Literal[False] = False, scores: Literal[False] = False, weights: Literal[False] = False,
       threads: int = 1, out: _Memory | None = None) -> NDArray[Any]: ...
@overload
def attention(queries: _OfTorch, keys: _Memory, values: _Memory, *, encoding: _Rotary | _Config | None = None, layer: int | None = None,
       length: int | None = None, layout: _Layout | None = None, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: Literal[False] = False, scores: Literal[False] = False, weights: Literal[False] = False,
       threads: int = 1, out: _Memory | None = None) -> _OfTorch: ...
@overload
def attention(queries: _Memory, keys: _Memory, values: _Memory, *, encoding: _Rotary | _Config | None = None, layer: int | None = None,
       length: int | None = None, layout: _Layout | None = None, slots: _Numbers | None = None, value_slots: _Numbers | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       log_sum_exp: bool = False, scores: bool = False, weights: bool = False,
       threads: int = 1, out: _Memory | None = None) -> Any: ...

# Gradients of queries, keys and values

@overload
def attention_backward(queries: NDArray[Any], keys: _Memory, values: _Memory, outputs: _Memory, log_sum_exp: _Numbers, d_outputs: _Memory, *,
       encoding: _Rotary | _Config | None = None, layer: int | None = None, length: int | None = None, layout: _Layout | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       threads: int = 1) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def attention_backward(queries: _OfTorch, keys: _Memory, values: _Memory, outputs: _Memory, log_sum_exp: _Numbers, d_outputs: _Memory, *,
       encoding: _Rotary | _Config | None = None, layer: int | None = None, length: int | None = None, layout: _Layout | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       threads: int = 1) -> tuple[_OfTorch, _OfTorch, _OfTorch]: ...
@overload
def attention_backward(queries: _Memory, keys: _Memory, values: _Memory, outputs: _Memory, log_sum_exp: _Numbers, d_outputs: _Memory, *,
       encoding: _Rotary | _Config | None = None, layer: int | None = None, length: int | None = None, layout: _Layout | None = None,
       lengths: _Numbers | None = None, type: _Type | None = None, scale: float = 0.0, factor: float = 1.0,
       query_positions: _Numbers | None = None, key_positions: _Numbers | None = None, causal: bool = False,
       behind: int | None = 0, ahead: int | None = 0, chunk: int | None = 0, mask: _Numbers | Cells | None = None,
       bias: _Numbers | Cells | None = None, slopes: _Numbers | None = None, cap: float = 0.0,
       sinks: _Numbers | None = None, temperature: dict[str, Any] | None = None, key_bias: KeyBias | None = None,
       profiles: tuple[_Numbers, _Numbers] | None = None, tau: float = 0.0, dot_products: bool = False,
       threads: int = 1) -> tuple[Any, Any, Any]: ...

# ---- The program posenc

def ask(verb: str, *arguments: _Asked, **options: _Asked | Literal[True]) -> Any: ...
