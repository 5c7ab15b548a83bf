"""posenc for PyTorch on CPUs: rotary position embeddings that are right at any position, and attention.
Heads are [batch, tokens, heads, head_dim] of float, bfloat16, half or double, in any strides but
contiguous dims; rotate and rotate_ take them without batch too. Errors say what must hold."""

import torch

from ._ops import ops

__all__ = ["attention", "rotate", "rotate_", "rows"]


def rows(inv_freq, positions, dtype=torch.float32, attention_factor=1.0):
    """Cosines and sines [..., 2, pairs] of integer positions [...], which batches may share, made of
    angles in double; for heads of dtype."""
    return ops.rows(inv_freq, positions, attention_factor, torch.float64 if dtype == torch.float64 else torch.float32)


class _Rotate(torch.autograd.Function):
    """The gradient of a rotation is the rotation back."""

    @staticmethod
    def forward(context, x, rows, layout, first_dim):
        context.save_for_backward(rows)
        context.rest = layout, first_dim
        return ops.rotate(x, rows, layout, first_dim)

    @staticmethod
    def backward(context, gradient):
        rows, = context.saved_tensors
        back = rows * rows.new_tensor([[1.0], [-1.0]])
        return ops.rotate(gradient.contiguous(), back, *context.rest), None, None, None


def rotate(x, rows, layout="halves", first_dim=0):
    """x rotated by rows, from dim first_dim on (below 0: from the end). layout: halves pairs dim i with
    i + n/2, as Hugging Face does, interleaved 2i with 2i + 1."""
    return _Rotate.apply(x, rows, layout, first_dim)


def rotate_(x, rows, layout="halves", first_dim=0):
    """The same in place, without a gradient."""
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("posenc: rotate_ has no gradient, use rotate")
    ops.rotate_(x, rows, layout, first_dim)
    return x


def attention(query, key, value, causal=False, scale=None, behind=0, ahead=0, cap=0.0, sinks=None, lengths=None):
    """softmax(scale <q, k>) v, [batch, queries, heads, value_dim] of query's type; the query head h reads
    the kv head h kv_heads / heads. The queries are the last of the tokens.

    causal: a query sees no key after it. behind, ahead: it sees keys at fewer positions behind or ahead
    of it; 1 is itself, 0 all. scale: None is 1 / sqrt(head_dim). cap: cap tanh(score / cap); 0: none.
    sinks: [heads], logits that take their share. lengths: [batch], of key and value, tokens that are
    there. It has no gradient."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value)):
        raise RuntimeError("posenc: attention has no gradient, use torch.no_grad()")
    return ops.attention(query, key, value, causal, 0.0 if scale is None else scale, behind, ahead, cap, sinks, lengths)
