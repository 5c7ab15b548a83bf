set(quick --tokens 300 --queries 2)

# errors_check.cpp holds the numbers.
expect(0 out "300 keys of 128 dims, base 1M, positions below 32.8k; .*No outlier: logits of rms 1.0 rms error of a logit weight that moves bytes as it is Hadamard mean out bias out both as it is bias out f16 256 0.000.*Bias of norm 300 in pair 60, 0.012 turns: logits of rms 2. .*Bias of norm 300 in pair 40, 0.93 turns.*over all dims, 300 in three pairs.*both: W x rotated" ${quick})
narrow("${out}")

# Other keys.
expect(0 out "Errors of scores[^:]*300 keys of 64 dims, base 10k, positions below 1k; .*Bias of norm 5 over all dims, 100 in three pairs: .* q8_0 68 .* as it is:" ${quick} --kind qwen --format q8_0 --head-dim 64 --base 10000 --context 1000 --bias 100 --wide-bias 5)
expect(0 out "Pair 20 of keys x 8, of queries / 8: " ${quick} --kind evened --gain 8)
expect(0 out "0.0054 0.* 0.0054 " ${quick} --kind none --format q8_0)
set(first "${out}")
expect(0 out "No outlier" ${quick} --kind none --format q8_0 --seed 2)
if(out STREQUAL first)
  message(FATAL_ERROR "--seed must change the numbers")
endif()

# Files: a header, 2 kinds x 3 formats x 5 ways.
expect(0 out "No outlier" ${quick} --kind none --kind slow --format q8_0 --format f16 --format int8 --csv check.csv --svg check.svg)
expect_files(check.csv 31 check.svg "Errors of scores from keys.*Bias of norm 300 in pair 60.*q8_0, 136 B")

# Wrongly.
expect_refusals(${quick} --kind none --format q8_0)
expect(1 err "--kind.*many" --kind many)
expect(1 err "--format.*q9_9" --format q9_9)
expect(1 err "--head-dim must be a multiple of 32, got 72" --head-dim 72)
expect(1 err "--head-dim.*16" --head-dim 16)

expect(1 err "--gain is not read: it is of keys outlier, evened, shared, which --kind does not name" --kind qwen --gain 8)
expect(1 err "--bias is not read: it is of keys slow, turning, qwen, which" --kind wide --kind outlier --bias 8)
expect(1 err "--wide-bias is not read: it is of keys wide, qwen, which" --kind slow --wide-bias 8)

expect_at_every_width(${quick} --kind none --format q8_0)
