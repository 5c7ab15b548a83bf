"""Writes a GGUF file in the shape of Llama 3.2 1B, to measure time and memory: large_model.py q4_0|q8_0 FILE.

A weight is by the formula of small_model.hpp, of its tensor's name and its index. Needs NumPy, half a
minute, and 0.7 GB (q4_0) or 1.3 GB (q8_0) on the disk. There is no tokenizer: run takes --ids."""
import struct
import sys

import numpy

WIDTH, LAYERS, HEADS, KEY_HEADS, HEAD_DIM, HIDDEN, WORDS = 2048, 16, 32, 8, 64, 8192, 128256
FLOAT, UNSIGNED, TEXT = 6, 4, 8
METADATA = [("general.architecture", TEXT, "llama"), ("llama.block_count", UNSIGNED, LAYERS),
            ("llama.context_length", UNSIGNED, 131072), ("llama.embedding_length", UNSIGNED, WIDTH),
            ("llama.feed_forward_length", UNSIGNED, HIDDEN), ("llama.vocab_size", UNSIGNED, WORDS),
            ("llama.attention.head_count", UNSIGNED, HEADS),
            ("llama.attention.head_count_kv", UNSIGNED, KEY_HEADS),
            ("llama.attention.layer_norm_rms_epsilon", FLOAT, 1e-5),
            ("llama.rope.dimension_count", UNSIGNED, HEAD_DIM), ("llama.rope.freq_base", FLOAT, 500000.0)]
LAYER = [("attn_norm", (WIDTH,)), ("attn_q", (HEADS * HEAD_DIM, WIDTH)), ("attn_k", (KEY_HEADS * HEAD_DIM, WIDTH)),
         ("attn_v", (KEY_HEADS * HEAD_DIM, WIDTH)), ("attn_output", (WIDTH, HEADS * HEAD_DIM)), ("ffn_norm", (WIDTH,)),
         ("ffn_gate", (HIDDEN, WIDTH)), ("ffn_up", (HIDDEN, WIDTH)), ("ffn_down", (WIDTH, HIDDEN))]
TENSORS = [("token_embd.weight", (WORDS, WIDTH))] + [(f"blk.{i}.{name}.weight", shape) for i in range(LAYERS)
                                                     for name, shape in LAYER] + [("output_norm.weight", (WIDTH,))]
ALL = (1 << 64) - 1


def numbers(name, first, count):
    """small_model::number_of, for the indices from `first` on."""
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & ALL
    with numpy.errstate(over="ignore"):
        x = numpy.arange(first, first + count, dtype=numpy.uint64) * numpy.uint64(0xD1B54A32D192ED03)
        x ^= numpy.uint64(key * 0x9E3779B97F4A7C15 & ALL)
        x ^= x >> numpy.uint64(29)
        x *= numpy.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> numpy.uint64(32)
    return (x >> numpy.uint64(40)).astype(numpy.float32) / numpy.float32(8388608) - numpy.float32(1)


def blocks(x, kind):
    """The bytes of 32 numbers each: a scale, the largest magnitude over 127 or 7, and codes."""
    x = x.reshape(-1, 32)
    scale = numpy.abs(x).max(1, keepdims=True) / numpy.float32(127 if kind == "q8_0" else 7)
    codes = numpy.rint(x / scale)
    if kind == "q8_0":
        packed = codes.astype(numpy.int8).view(numpy.uint8)
    else:
        packed = (codes + 8).astype(numpy.uint8)
        packed = packed[:, :16] | packed[:, 16:] << 4
    return numpy.concatenate([scale.astype("<f2").view(numpy.uint8), packed], 1).tobytes()


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def value(kind, v):
    return text(v) if kind == TEXT else struct.pack("<f" if kind == FLOAT else "<I", v)


kind, path = sys.argv[1:]
number, block_bytes = {"q4_0": (2, 18), "q8_0": (8, 34)}[kind]
header = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(METADATA))
for key, of, v in METADATA:
    header += text(key) + struct.pack("<I", of) + value(of, v)
at = 0
for name, shape in TENSORS:
    header += text(name) + struct.pack("<I", len(shape)) + struct.pack("<%dQ" % len(shape), *reversed(shape))
    header += struct.pack("<IQ", number if len(shape) == 2 else 0, at)
    at += shape[0] * shape[1] // 32 * block_bytes if len(shape) == 2 else 4 * shape[0]
with open(path, "wb") as file:
    file.write(header + bytes(-len(header) % 32))
    for name, shape in TENSORS:
        if len(shape) == 1:
            file.write((1 + 0.2 * numbers(name, 0, shape[0])).astype("<f4").tobytes())
            continue
        rows = max(1, (1 << 22) // shape[1])
        for first in range(0, shape[0], rows):
            count = min(rows, shape[0] - first) * shape[1]
            x = numbers(name, first * shape[1], count) / numpy.float32(shape[1] ** 0.5)
            file.write(blocks(x, kind))
