"""Sparse attention by pages (Quest) or by tokens (DeepSeek's indexer): choose, then attend to the slots
of what was chosen."""

import numpy
import posenc

from plain_loops import DIM, HEADS, KV_HEADS, is_right, keys_of, queries_of, values_of

TOKENS, PAGE_TOKENS = 512, 16
PAGES = TOKENS // PAGE_TOKENS
k_cache, v_cache = (posenc.Cache("f32", PAGES, PAGE_TOKENS, KV_HEADS, DIM) for _ in range(2))
f, slot = posenc.frequencies(rotary_dim=DIM, base=10000), numpy.arange(TOKENS)
posenc.write_step(f.rows(slot), keys=posenc.StepHeads(keys_of(0, TOKENS), cache=k_cache, slots=slot),
                  values=posenc.StepHeads(values_of(0, TOKENS), cache=v_cache, slots=slot))
q = posenc.rotate(queries_of(TOKENS - 1, 1), f.rows([TOKENS - 1]))

# Kept from step to step: a step changes the bounds of the page that it writes.
bounds = posenc.page_bounds(k_cache, PAGE_TOKENS)

# A page counts as much as the largest product that any of its keys may have with any query head.
least, largest = (numpy.repeat(bounds[:, :, i], HEADS // KV_HEADS, axis=1) for i in range(2))
most = numpy.maximum(q * least, q * largest).sum(axis=-1).max(axis=-1)
order = numpy.argsort(-most, kind="stable")

# The kept share of the weights says what is lost: e^(log_sum_exp - that of all pages).
right, chosen = True, PAGES
while chosen > 2:
    slots = (order[:chosen, None] * PAGE_TOKENS + numpy.arange(PAGE_TOKENS)).ravel()
    outputs, sums = posenc.attend(q, k_cache, v_cache, slots=slots, log_sum_exp=True)
    if chosen == PAGES:
        of_all = sums
    print(f"{chosen} of {PAGES} pages: {numpy.exp(sums - of_all).mean():.2f} of the weights")
    right = right and is_right(outputs[0], TOKENS - 1, TOKENS - 1, slots)
    chosen //= 2
print("right" if right else "wrong")
raise SystemExit(not right)
