"""Makes families.txt anew: python3 families.py families.txt, with transformers 5 and torch.

Each family gets a small model, whose weights are the formula of small_model.hpp, and its class in
transformers computes the logits, in double."""
import json
import pathlib
import re
import sys
import tempfile

import numpy
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

USUAL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=48, max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
FAMILIES = {  # its class, and what differs from the usual sizes; None takes a size away
    "llama": ("LlamaConfig", dict(head_dim=8, rope_theta=1000.0, attention_bias=True, mlp_bias=True)),
    "mistral": ("MistralConfig", dict(head_dim=8, sliding_window=16)),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", dict(head_dim=16)),
    "smollm3": ("SmolLM3Config", dict(num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0], no_rope_layer_interval=4)),
    "granite": ("GraniteConfig", dict(embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5,
                                      attention_multiplier=0.2)),
    "gemma2": ("Gemma2Config", dict(head_dim=8, sliding_window=16, query_pre_attn_scalar=16,
                                    attn_logit_softcapping=5.0, final_logit_softcapping=6.0)),
    "gemma3_text": ("Gemma3TextConfig", dict(num_hidden_layers=6, head_dim=8, sliding_window=16,
                                             query_pre_attn_scalar=16)),
    "phi3": ("Phi3Config", dict(original_max_position_embeddings=128)),
    "olmo2": ("Olmo2Config", {}),
    "cohere2": ("Cohere2Config", dict(num_hidden_layers=4, sliding_window=16, sliding_window_pattern=4,
                                      logit_scale=0.25)),
    "stablelm": ("StableLmConfig", dict(partial_rotary_factor=0.5, use_qkv_bias=True)),
    "stablelm_parallel": ("StableLmConfig", dict(partial_rotary_factor=0.5, use_parallel_residual=True)),
    "gpt_neox": ("GPTNeoXConfig", dict(rotary_pct=0.5)),
    "gpt_neox_in_turn": ("GPTNeoXConfig", dict(rotary_pct=0.5, use_parallel_residual=False)),
    "gpt2": ("GPT2Config", dict(n_inner=48, intermediate_size=None, num_key_value_heads=None)),
    "opt": ("OPTConfig", dict(ffn_dim=48, word_embed_proj_dim=32, dropout=0.0)),
    "bloom": ("BloomConfig", dict(num_key_value_heads=None)),
    "mpt": ("MptConfig", dict(expansion_ratio=2, max_seq_len=128, num_key_value_heads=None,
                              max_position_embeddings=None)),
    "qwen3_moe": ("Qwen3MoeConfig", dict(head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
                                         norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])),
    "olmoe": ("OlmoeConfig", dict(num_experts=4, num_experts_per_tok=2, intermediate_size=24)),
    "deepseek_v2": ("DeepseekV2Config", dict(
        num_key_value_heads=4, kv_lora_rank=12, q_lora_rank=10, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=8,
        n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=24,
        first_k_dense_replace=1, topk_method="greedy", routed_scaling_factor=1.0, n_group=1, topk_group=1,
        norm_topk_prob=False)),
}
# Norms of latents do not have this eps.
FAMILIES["deepseek_v2_eps"] = ("DeepseekV2Config", FAMILIES["deepseek_v2"][1] | dict(
    rms_norm_eps=0.05, routed_scaling_factor=2.5))
# Settings of training and of tokens, which no logit depends on.
LEFT_OUT = re.compile(r"architectures|dtype|transformers_version|use_cache|init|.*dropout|.*_pdrop|router_aux.*|layerdrop|"
                      r"summary_.*|chunk_size.*|.*token_id|pretraining_tp|slow_but_exact|verbose|problem_type|_.*")
ALL = (1 << 64) - 1


def numbers(name, count):
    """small_model::number_of, for so many indices."""
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & ALL
    with numpy.errstate(over="ignore"):
        x = numpy.arange(count, dtype=numpy.uint64) * numpy.uint64(0xD1B54A32D192ED03)
        x ^= numpy.uint64(key * 0x9E3779B97F4A7C15 & ALL)
        x ^= x >> numpy.uint64(29)
        x *= numpy.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> numpy.uint64(32)
    return ((x >> numpy.uint64(40)).astype(float) / 8388608 - 1).astype(numpy.float32)


def filled(file):
    """Fills a safetensors file by the formula; returns name, shape, scale and plus of each tensor."""
    listed, tensors = [], {}
    with safe_open(file, "np") as names:
        for name in sorted(names.keys()):
            shape = names.get_slice(name).get_shape()
            scale, plus = (0.2, float(name.endswith("weight"))) if len(shape) == 1 else (2 / shape[-1] ** 0.5, 0.0)
            if len(shape) == 2 and re.search("embed|wte|wpe", name):
                scale = 1.0
            scale = float(numpy.float32(scale))
            tensors[name] = (numpy.float32(plus) + numpy.float32(scale) * numbers(name, int(numpy.prod(shape)))).reshape(shape)
            listed.append((name, tuple(shape), scale, plus))
    save_file(tensors, file, metadata={"format": "pt"})
    return listed


def folded(tensors):
    """Names that differ in one number, 0, 1, ..., become one, with a range."""
    for _ in range(2):
        groups = {}
        for name, *of in tensors:
            found = list(re.finditer(r"(?<=\.)\d+(?=\.)", name))
            at = found[-1] if found else None
            key = (name[:at.start()] + "#" + name[at.end():] if at else name, *of)
            groups.setdefault(key, []).append(int(at.group()) if at else None)
        tensors = []
        for (name, *of), found in groups.items():
            runs = []
            for i in sorted(found, key=lambda x: x or 0):
                if runs and i is not None and i == runs[-1][1] + 1:
                    runs[-1][1] = i
                else:
                    runs.append([i, i])
            tensors += [(name.replace("#", "{%s-%s}" % tuple(run)), *of) for run in runs]
    return tensors


out = open(sys.argv[1], "w")


def say(*words):
    print(*words, file=out)


say(f"""# Small models of each family, and logits of their classes in transformers {transformers.__version__} with torch {torch.__version__}, in
# double, with eager attention and experts; made by families.py. Each tensor of the file that save_pretrained
# writes was filled by the formula of small_model.hpp (scale x, plus; {{0-3}} is a range), read again by
# from_pretrained, and run over 48 ids: 1, then (29 before + place) mod 64. A logit has its position, its id and
# its value.""")
ids = [1]
while len(ids) < 48:
    ids.append((ids[-1] * 29 + len(ids)) % 64)
for family, (config, sizes) in FAMILIES.items():
    sizes = {name: size for name, size in (USUAL | sizes).items() if size is not None}
    with tempfile.TemporaryDirectory() as folder:
        model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, config)(**sizes))
        model.save_pretrained(folder)
        tensors = filled(pathlib.Path(folder) / "model.safetensors")
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="eager", experts_implementation="eager", dtype=torch.float32)
        with torch.no_grad():
            logits = model.double().eval()(torch.tensor([ids])).logits[0]
        settings = json.loads((pathlib.Path(folder) / "config.json").read_text())
    cost = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]))
    settings = {name: value for name, value in settings.items() if value is not None and not LEFT_OUT.fullmatch(name)}
    say(f"\nfamily {family}\nconfig {json.dumps(settings)}")
    for name, shape, scale, plus in folded(tensors):
        say("tensor", name, ",".join(map(str, shape)), f"{scale:.9g} {plus:g}")
    say(f"cross_entropy {cost:.9g}")
    for position in (0, 20, 47):
        for word in (0, 17, 33, 63):
            say(f"logit {position} {word} {logits[position, word]:.9g}")
