"""What PyTorch and ONNX Runtime take for the cases of this folder's page, on one thread.

    python3 peers.py 2>/dev/null   # needs NumPy, and torch or onnxruntime with onnx: half a minute

Prints nanoseconds as the page has them: per head of 128 rotated, per query and visible key of a
prompt, per head and key of a step. Each is the least of many calls; calls are made from Python, whose
time (3 to 20 us per call) is in a rotation of one token. Debian's torch is as fast as its BLAS
(libopenblas0), and its onnxruntime prints a thousand schema errors, hence 2>/dev/null.
"""

import os
import platform
import sys
import time

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: nothing is measured")
    sys.exit(1)

HEADS, KV_HEADS, DIM = 32, 8, 128


def least(call, seconds=1.0):
    """Seconds of the fastest call."""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def cosines(tokens):
    angles = np.outer(np.arange(tokens), 500000.0 ** (-np.arange(DIM // 2) / (DIM // 2)))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def of_torch():
    import torch
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    attend = torch.nn.functional.scaled_dot_product_attention

    def half_turned(x):
        return torch.cat((-x[..., DIM // 2:], x[..., :DIM // 2]), -1)

    by = f"torch {torch.__version__.split('+')[0]}"
    for kind in (torch.float32, torch.bfloat16):
        name = "bf16" if kind == torch.bfloat16 else "float"
        for tokens in (1, 512):  # apply_rotary_pos_emb of modeling_llama.py
            q, k = (torch.randn(1, n, tokens, DIM).to(kind) for n in (HEADS, KV_HEADS))
            cos, sin = (torch.from_numpy(x).repeat(1, 2).to(kind) for x in cosines(tokens))
            call = lambda: (q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin)
            report(f"rotate {name} halves, {tokens} tokens", by, least(call), (HEADS + KV_HEADS) * tokens)
    for causal in (True, False):
        for tokens in (1024, 4096) if causal else (256, 1024, 4096):
            q, k, v = (torch.randn(1, 1, tokens, DIM) for _ in range(3))
            pairs = tokens * (tokens + 1) // 2 if causal else tokens * tokens
            report(f"prompt of {tokens}, {'causal' if causal else 'no mask'}", by,
                   least(lambda: attend(q, k, v, is_causal=causal)), pairs)
    for keys in (4096, 16384):
        for kind in (torch.float32, torch.bfloat16):
            # The queries of a kv head as rows: one that is grouped would copy keys.
            q = torch.randn(1, KV_HEADS, HEADS // KV_HEADS, DIM).to(kind)
            k, v = (torch.randn(1, KV_HEADS, keys, DIM).to(kind) for _ in range(2))
            name = "bf16" if kind == torch.bfloat16 else "float"
            report(f"step over {keys} keys of {name}", by, least(lambda: attend(q, k, v)), HEADS * keys)


def onnx_model(op, inputs, outputs, attributes):
    """Bytes of a model of one operator. inputs: name -> (dtype, shape)."""
    from onnx import TensorProto, helper
    free = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    fed = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(x[0])), x[1])
           for name, x in inputs.items()]
    node = helper.make_node(op, list(inputs), outputs, domain="com.microsoft", **attributes)
    return helper.make_model(helper.make_graph([node], op, fed, free), ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]).SerializeToString()


def of_onnxruntime():
    import onnxruntime
    by = f"ONNX Runtime {onnxruntime.__version__}"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def session(op, inputs, outputs, in_place={}, **attributes):
        """A call. in_place: inputs that are outputs too, in the same memory."""
        shapes = {name: (x.dtype.str, x.shape) for name, x in inputs.items()}
        model = onnx_model(op, shapes, outputs, attributes)
        made = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x) for name, x in inputs.items()}
        bound = made.io_binding()
        for name, x in values.items():
            bound.bind_ortvalue_input(name, x)
        for name in outputs:
            if name in in_place:
                bound.bind_ortvalue_output(name, values[in_place[name]])
            else:
                bound.bind_output(name)
        return lambda kept=(inputs, values): made.run_with_iobinding(bound)

    random = np.random.default_rng(1)
    some = lambda *shape: random.standard_normal(shape, np.float32)
    for interleaved in (0, 1):
        for tokens in (1, 512):
            cos, sin = cosines(tokens)
            call = session("RotaryEmbedding", {
                "x": some(1, HEADS + KV_HEADS, tokens, DIM), "at": np.arange(tokens, dtype=np.int64)[None],
                "cos": cos, "sin": sin}, ["y"], interleaved=interleaved)
            report(f"rotate float {'interleaved' if interleaved else 'halves'}, {tokens} tokens", by, least(call),
                   (HEADS + KV_HEADS) * tokens)
    for tokens in (256, 1024, 4096):
        call = session("MultiHeadAttention", {"q": some(1, tokens, DIM), "k": some(1, tokens, DIM),
                                              "v": some(1, tokens, DIM)}, ["y"], num_heads=1)
        report(f"prompt of {tokens}, no mask", by, least(call), tokens * tokens)

    def grouped(tokens, past, heads, kv_heads):  # keys and values go to the buffer that has those before
        return session("GroupQueryAttention", {
            "q": some(1, tokens, heads * DIM), "k": some(1, tokens, kv_heads * DIM),
            "v": some(1, tokens, kv_heads * DIM), "past_k": some(1, kv_heads, past + tokens, DIM),
            "past_v": some(1, kv_heads, past + tokens, DIM), "last": np.array([past + tokens - 1], np.int32),
            "total": np.array([past + tokens], np.int32)}, ["y", "new_k", "new_v"],
            {"new_k": "past_k", "new_v": "past_v"}, num_heads=heads, kv_num_heads=kv_heads)

    for tokens in (1024, 4096):
        report(f"prompt of {tokens}, causal", by, least(grouped(tokens, 0, 1, 1)), tokens * (tokens + 1) // 2)
    for keys in (4096, 16384):
        report(f"step over {keys} keys of float", by, least(grouped(1, keys - 1, HEADS, KV_HEADS)), HEADS * keys)


def report(case, by, seconds, items):
    print(f"| {case} | {by} | {seconds * 1e9 / items:.3g} |", flush=True)


def main():
    measured = 0
    print(time.strftime("%Y-%m-%d"), platform.machine(), "one thread\n\n| case | by | ns |\n|---|---|---|", flush=True)
    for of in (of_torch, of_onnxruntime):
        try:
            of()
            measured += 1
        except ImportError as missing:
            print(f"{missing.name} is not installed: not measured")
    sys.exit(measured == 0)


if __name__ == "__main__":
    reuse = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32)}
    if not reuse.items() <= os.environ.items():  # or each large result comes in fresh pages, which cost more than it
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **reuse})
    main()
