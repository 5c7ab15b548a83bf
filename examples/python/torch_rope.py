"""posenc as operators of PyTorch for CPUs: torch.ops.posenc.rotate, and rotate_ in place.

    import posenc, torch, torch_rope
    f = posenc.frequencies(rotary_dim=128, base=500000)
    rows = torch_rope.rows(f, position_ids, torch.bfloat16)      # [tokens] or [batch, tokens]
    torch.ops.posenc.rotate_(q, rows, "halves", 0)               # [..., tokens, heads, head_dim]
    k = torch.ops.posenc.rotate(k.transpose(1, 2), rows, "halves", 0)

float, bfloat16, half and double, any strides but contiguous dims, both layouts; rotate has a gradient.
`python3 torch_rope.py` compares speed and errors with the code of Hugging Face, --layer a whole layer.
"""

import sys
import time

import torch

import posenc

_TYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}


def rows(frequencies, positions, dtype=torch.float32):
    """Cosines and sines for heads of a type: [..., 2, pairs] of positions [...], float or double."""
    positions = torch.as_tensor(positions)
    made = frequencies.rows(positions.reshape(-1).numpy(), "float64" if dtype == torch.float64 else "float32")
    return torch.from_numpy(made).reshape(*positions.shape, 2, made.shape[2])


def _fill(h, x):
    h.data, h.format = x.data_ptr(), posenc._TYPES[_TYPES[x.dtype]]
    for count, stride, field in zip(x.shape[-4:-1], x.stride()[-4:-1], ("page_stride", "token_stride", "head_stride")[4 - x.ndim:]):
        if count > 1:
            setattr(h, field, stride * x.element_size())


def _rotated(x, rows, layout, first_dim, to=None):
    """Into `to`, or in place."""
    def must(holds, sentence):
        if not holds:
            raise posenc.Error(f"posenc: rotate: {sentence}")
    must(x.dtype in _TYPES, f"heads must be float, bfloat16, half or double, got {x.dtype}")
    must(x.ndim in (3, 4), f"heads must be [..., tokens, heads, head_dim], got {list(x.shape)}")
    must(layout in posenc._LAYOUTS, f"layout must be halves or interleaved, got {layout!r}")
    real = torch.float64 if x.dtype == torch.float64 else torch.float32
    tokens = x.shape[:-2] if rows.ndim == 4 else x.shape[-3:-2]
    must(rows.dtype == real and rows.shape[:-2] == tokens and rows.shape[-2] == 2 and rows.shape[-1] > 0,
         f"rows must be {real} {[*tokens, 2]} by pairs, got {rows.dtype} {list(rows.shape)}")
    must(-x.shape[-1] <= first_dim < x.shape[-1] or x.numel() == 0,
         f"first_dim must be in [{-x.shape[-1]}, {x.shape[-1]}), got {first_dim}")
    for heads in (x,) if to is None else (x, to):
        must(heads.shape[-1] == 1 or heads.stride(-1) == 1, "the dims of a head must be contiguous")
        must(all(n == 1 or stride != 0 for stride, n in zip(heads.stride(), heads.shape)),
             "heads must not repeat memory")  # to C, a stride of 0 is that of contiguous heads
    written = x if to is None else to
    if x.numel() == 0:
        return written
    rows = rows.contiguous()
    *batches, tokens, heads, head_dim = x.shape
    c = posenc._Operand()
    _fill(c.from_, x)
    if to is not None:
        _fill(c.to, to)
    c.heads, c.head_dim, c.layout, c.first_dim = heads, head_dim, posenc._LAYOUTS[layout], first_dim % head_dim
    count = rows.numel() // (2 * rows.shape[-1])
    posenc._call("posenc1_rotate", posenc._Rows(rows.data_ptr(), tokens, *batches or (1,), count, rows.shape[-1]), c, 1, 0, 1)
    return written


def _rotate_(x, rows, layout, first_dim):
    if x.requires_grad and torch.is_grad_enabled():
        raise posenc.Error("posenc: rotate_: has no gradient, use rotate")
    return _rotated(x, rows, layout, first_dim)


def _rotate(x, *rest):
    to = torch.empty_like(x)
    return to if x.is_meta else _rotated(x, *rest, to=to)


class _Rotate(torch.autograd.Function):
    """The gradient of a rotation is the rotation back."""

    @staticmethod
    def forward(context, x, rows, layout, first_dim):
        context.save_for_backward(rows)
        context.rest = layout, first_dim
        return _rotate(x, rows, layout, first_dim)

    @staticmethod
    def backward(context, gradient):
        rows, = context.saved_tensors
        back = rows * torch.tensor([[1.0], [-1.0]], dtype=rows.dtype)
        gradient = gradient if gradient.stride(-1) == 1 else gradient.contiguous()
        return torch.ops.posenc.rotate(gradient, back, *context.rest), None, None, None


_library = torch.library.Library("posenc", "DEF")
_library.define("rotate(Tensor x, Tensor rows, str layout, int first_dim) -> Tensor")
_library.define("rotate_(Tensor(a!) x, Tensor rows, str layout, int first_dim) -> Tensor(a!)")
_library.impl("rotate", _rotate, "CPU")
_library.impl("rotate", _rotate, "Meta")
_library.impl("rotate", _Rotate.apply, "Autograd")
_library.impl("rotate_", _rotate_, "CPU")


# ---- The same as Hugging Face writes it, and the comparison

def hugging_face_rows(inv_freq, positions, dtype, layout):
    angles = positions[:, None].float() * inv_freq.float()
    angles = torch.cat((angles, angles), -1) if layout == "halves" else angles.repeat_interleave(2, -1)
    return angles.cos().to(dtype)[:, None], angles.sin().to(dtype)[:, None]


def hugging_face_rotate(x, cos, sin, layout):
    if layout == "halves":
        a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return x * cos + torch.cat((-b, a), -1) * sin
    return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin


def fast_times(*calls, seconds=0.4):
    """The time that a tenth of each call's stay below, in us; in turns, so that all are disturbed alike."""
    times, end = [[] for _ in calls], time.perf_counter() + seconds
    while len(times[0]) < 5 or time.perf_counter() < end:
        for call, found in zip(calls, times):
            start = time.perf_counter()
            call()
            found.append(1e6 * (time.perf_counter() - start))
    return [sorted(found)[len(found) // 10] for found in times]


def compare():
    """Queries of 32 heads and keys of 8, as Llama 3 has them, at positions from 100,000 on."""
    print(f"One thread, {posenc.instruction_set()}, PyTorch {torch.__version__}: q [tokens, 32, 128] and k [tokens, 8, 128],\n"
          "from position 100,000 on. Times in us; the largest error of a number of variance 1.\n")
    print("type      layout       tokens   HF eager    rotate   rotate_   HF / rotate_   error HF    posenc")
    f = posenc.frequencies(rotary_dim=128, base=500000)
    inv_freq = torch.from_numpy(f.inv_freq.copy())
    for dtype in _TYPES:
        for layout in posenc._LAYOUTS:
            for tokens in (1, 512):
                positions = torch.arange(100_000, 100_000 + tokens)
                q, k = (torch.randn(tokens, heads, 128).to(dtype) for heads in (32, 8))
                exact = hugging_face_rotate(q.double(), *(part for part in exact_rows(f, positions, layout)), layout)
                cos, sin = hugging_face_rows(inv_freq, positions, dtype, layout)
                ours = rows(f, positions, dtype)
                errors = [(found.double() - exact).abs().max().item() for found in (
                    hugging_face_rotate(q, cos, sin, layout), torch.ops.posenc.rotate(q, ours, layout, 0))]
                eager, new, in_place = fast_times(
                    *(lambda turn=turn: (turn(q), turn(k)) for turn in (
                        lambda x: hugging_face_rotate(x, cos, sin, layout),
                        lambda x: torch.ops.posenc.rotate(x, ours, layout, 0),
                        lambda x: torch.ops.posenc.rotate_(x, ours, layout, 0))))
                print(f"{str(dtype)[6:]:9} {layout:12} {tokens:6} {eager:10.1f} {new:9.1f} {in_place:9.1f} "
                      f"{eager / in_place:14.1f} {errors[0]:10.1e} {errors[1]:9.1e}")


def exact_rows(f, positions, layout):
    made = rows(f, positions, torch.float64)
    return ((torch.cat((part, part), -1) if layout == "halves" else part.repeat_interleave(2, -1))[:, None]
            for part in (made[:, 0], made[:, 1]))


def layer():
    """A decoder layer of Llama 3.2 1B's shape, random weights, with either rotation."""
    hidden, heads, kv_heads, dim, inner, cached = 2048, 32, 8, 64, 8192, 1024
    print(f"A layer of Llama 3.2 1B's shape, {cached} tokens in the cache, one thread:\n")
    print("type      tokens   HF, ms   posenc, ms   HF / posenc   rotation's part of HF's")
    f = posenc.frequencies(rotary_dim=dim, base=500000)
    for dtype in (torch.float32, torch.bfloat16):
        def weight(*shape):
            return (torch.randn(*shape) / shape[1] ** 0.5).to(dtype)
        w_q, w_k, w_v, w_o = (weight(n, hidden) for n in (heads * dim, kv_heads * dim, kv_heads * dim, hidden))
        w_1, w_2, w_3 = weight(inner, hidden), weight(hidden, inner), weight(inner, hidden)
        past_k, past_v = (torch.randn(kv_heads, cached, dim).to(dtype) for _ in range(2))
        for tokens in (1, 128):
            x = torch.randn(tokens, hidden).to(dtype)
            positions = torch.arange(cached, cached + tokens)
            cos, sin = hugging_face_rows(torch.from_numpy(f.inv_freq.copy()), positions, dtype, "halves")
            ours = rows(f, positions, dtype)

            def step(rotate):
                q, k, v = ((x @ w.T).view(tokens, -1, dim) for w in (w_q, w_k, w_v))
                q, k = rotate(q), rotate(k)
                k = torch.cat((past_k, k.transpose(0, 1)), 1).repeat_interleave(heads // kv_heads, 0)
                v = torch.cat((past_v, v.transpose(0, 1)), 1).repeat_interleave(heads // kv_heads, 0)
                scores = q.transpose(0, 1) @ k.transpose(1, 2) / dim**0.5
                mask = torch.ones(tokens, cached + tokens, dtype=torch.bool).triu(cached + 1)
                out = scores.masked_fill(mask, -torch.inf).softmax(-1) @ v
                y = x + out.transpose(0, 1).reshape(tokens, -1) @ w_o.T
                return y + (torch.nn.functional.silu(y @ w_1.T) * (y @ w_3.T)) @ w_2.T

            def eager(h):
                return hugging_face_rotate(h, cos, sin, "halves")

            q, k = (torch.randn(tokens, n, dim).to(dtype) for n in (heads, kv_heads))
            theirs, posencs, alone = fast_times(
                lambda: step(eager), lambda: step(lambda h: torch.ops.posenc.rotate_(h, ours, "halves", 0)),
                lambda: (eager(q), eager(k)), seconds=6)
            print(f"{str(dtype)[6:]:9} {tokens:6} {theirs / 1e3:8.2f} {posencs / 1e3:12.2f} {theirs / posencs:13.3f} "
                  f"{100 * alone / theirs:23.1f} %")


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with torch.no_grad():
        layer() if "--layer" in sys.argv[1:] else compare()
