"""What another encoding costs a trained Llama, in NumPy over posenc: python3 model.py FOLDER FILE.ids

FOLDER is as Hugging Face has it, with weights in float32; FILE has the ids of the tokens of a text."""

import json
import pathlib
import sys

import numpy

import posenc


def read(folder):
    """config.json, and the tensors of model.safetensors by their names."""
    data = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {name: numpy.frombuffer(data[start:][slice(*t["data_offsets"])], "<f4").reshape(t["shape"])
               for name, t in json.loads(data[8:start]).items() if name != "__metadata__"}
    return json.loads((folder / "config.json").read_text()), tensors


def logits(config, tensors, ids, frequencies, **attention):
    """[tokens, vocabulary]; frequencies: None does not rotate; attention: what attend takes."""
    def norm(x, name):
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * tensors[name + ".weight"]

    head = tensors.get("lm_head.weight")
    words = tensors.get("model.embed_tokens.weight", head)  # one is stored where they are tied
    rows = frequencies and frequencies.rows(range(len(ids)))
    x = words[ids]
    for layer in (f"model.layers.{i}." for i in range(config["num_hidden_layers"])):
        def project(x, name):
            return x @ tensors[layer + name + "_proj.weight"].T

        seen = norm(x, layer + "input_layernorm")
        q, k, v = (project(seen, "self_attn." + name).reshape(len(ids), heads, -1) for name, heads in (
            ("q", config["num_attention_heads"]), ("k", config["num_key_value_heads"]), ("v", config["num_key_value_heads"])))
        if rows is not None:
            posenc.rotate(q, rows), posenc.rotate(k, rows)
        x = x + project(posenc.attend(q, k, v, causal=True, **attention).reshape(len(ids), -1), "self_attn.o")
        seen = norm(x, layer + "post_attention_layernorm")
        gate = project(seen, "mlp.gate")
        x = x + project(gate / (1 + numpy.exp(-gate)) * project(seen, "mlp.up"), "mlp.down")
    return norm(x, "model.norm") @ (words if head is None else head).T


def cross_entropy(rows, ids):
    """The mean of -ln p of each token, given those before it."""
    rows = rows[:-1].astype(float)
    rows -= rows.max(-1, keepdims=True)
    return (numpy.log(numpy.exp(rows).sum(-1)) - rows[numpy.arange(len(rows)), ids[1:]]).mean()


def costs(folder, ids):
    """Pairs of a name and the cross-entropy of a text under that encoding."""
    config, tensors = read(folder)
    heads = config["num_attention_heads"]
    dims = config.get("head_dim") or config["hidden_size"] // heads
    own, base = posenc.frequencies(str(folder / "config.json"), length=len(ids)), config["rope_theta"]
    slopes = 2.0 ** (-8 * numpy.arange(1, heads + 1) / heads)
    for name, f, attention in (("as trained", own, {}), ("NoPE", None, {}), ("ALiBi", None, {"slopes": slopes}),
                               ("base x 50", posenc.frequencies(rotary_dim=dims, base=base * 50), {}),
                               ("base / 100", posenc.frequencies(rotary_dim=dims, base=base / 100), {}),
                               ("window 16", own, {"behind": 16})):
        yield name, cross_entropy(logits(config, tensors, ids, f, **attention), ids)


def main(arguments):
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    for name, cost in costs(pathlib.Path(arguments[0]), numpy.loadtxt(arguments[1], dtype=int).ravel()):
        print(f"{name:12}{cost:9.6f}")


if __name__ == "__main__":
    main(sys.argv[1:])
