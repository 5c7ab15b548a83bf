# Runs the program as people would, rightly and wrongly. Run with cmake -P, PROGRAM, WRITER, DATA and MODELS.
# DATA: queries.npy [3][2][4] has heads (2, 1, 0, 0) and (0, 0, 0, t + 1), keys.npy [3][4] of float16
# (3, 4, 0, 0); weights.gguf has matrices whose columns are (2, 1, 0, 0), (0, 0, 0, 5) of queries and
# (3, 4, 0, 0), (0, 0, 0, 7) of keys; far.gguf a tensor q at offset 2^64 - 32, which is the header
# unless the sum is checked. Frequencies of 4 dims and base 10000: 1 and 0.01.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")
set(own --q "${DATA}/queries.npy" --k "${DATA}/keys.npy")

# A head made for the previous token. Of 9 pairs |q|^2 / 9 sum cos((s - 1) inv_freq), |q|^2 = 321, through
# softmax over 1 / sqrt(128): 0.99 at distance 1, worked out apart; distances 0 and 2 have 259.
expect(0 out "A head made for the previous token, weight 0.99 among 8192 keys, of the 9 fastest pairs; distance 1, head_dim 128, base 10k .* 1 or more 50 321 321 .*pairs that add most.* pair 0 6.28 35.7 35.7 .*is 321, and at most 321 .*Distance 0 comes next, with 259: --distance 0")
expect(0 out "distance 2, .* pair 8 19.9 33.9 35.7 .*is 259, and at most 321 " --distance 2)
# Only the scores at distances count, not where pairs lie.
expect(0 out "is 259, and at most 321 " --distance 2 --layout interleaved)
expect(0 out "of the 9 fastest pairs.*is 366, and at most 454 .*Distance 0 comes next, with 366" --distance 0 --head-dim 256 --rotary-dim 128)
# 6 cos r + 4 cos 0.01 r.
expect(0 out "pair 0 6.28 6 6 pair 1 628 4 4 .* is 10 on average .10 to 10., and at most 10 " ${own} --distance 0)
expect(0 out "means over 2 queries .*pair 1 628 4 4 pair 0 6.28 3.24 6 .* is 7.24 on average .* at most 10 " ${own})
expect(0 out "turns within 8192 tokens pairs score at most 1 or more 2 7.24 10 " ${own})
expect(0 out "1 or more 1 3.24 6 a quarter or more 0 0 0 less 1 4 4 none" ${own} --context 100)
# The other head of queries shares the keys: pair (0, t + 1) with (4, 0) scores -4 (t + 1) sin 0.01 r.
expect(0 out "pair 1 628 -0.08 8 pair 0 6.28 0 0 .* is -0.08, and at most 8 " ${own} --head 1 --query 1)
# Pair (2, 1) with (3, 4): 10 cos r + 5 sin r.
expect(0 out "1 or more 1 9.61 11.2 .*dims in no pair 0 0 0 .*pair 0 6.28 9.61 11.2" ${own} --rotary-dim 2 --layout interleaved --query 1 --head 0 --base 500)
# Rows of two heads.
expect(0 out "head_dim 2, .*pair 0 6.28 25 25 .*is 25 on average" --q "${DATA}/keys.npy" --k "${DATA}/keys.npy" --head-dim 2 --distance 0)
# Keys of one content stay where they are: positional is 1, symbolic the mean of 2 a b / (a^2 + b^2), worked
# out apart.
expect(0 out " 0 1.000 0.256 by position 1 1.000 0.998 by position 2 of 2 heads hold on to positions" ${own} --attends-by)
expect(0 out " 0 1.000 0.474 by position" ${own} --attends-by --query 1)
expect(1 err "--query must be 1 to 2, got 3" ${own} --attends-by --query 3)

# Matrices of weights, an input at a time: (10 + 35) / 2.
set(weights --q "${DATA}/weights.gguf:blk.0.attn_q.weight" --k "${DATA}/weights.gguf:blk.0.attn_k.weight")
expect(0 out "means over 2 inputs, each alone and 1 .* pair 1 628 19.5 19.5 pair 0 6.28 3 3 .* is 22.5 on average .10 to 35." ${weights} --distance 0)
expect(1 err "two tokens or more, got weights" ${weights} --attends-by)
expect(0 out "is 10, and at most 10 " ${weights} --distance 0 --query 0)

# Models that the writer writes, a type of tensor each, with a positional head in layer 1, head 2: of its 6
# pairs of 32 that turn within 32 tokens, W_q is 16 times as large and W_k, which head 3 has too, twice; so
# the share is 32 * 6 / (32 * 6 + 26), 88 %, of head 3 32 %, of others 19 %, a few percent apart. The writer
# compares all norms and shares with its own.
set(models "${CMAKE_CURRENT_BINARY_DIR}/models")
file(MAKE_DIRECTORY "${models}")
expect_of(0 out "^$" "${WRITER}" "${models}")
set(planted "1 of 12 heads has most of its budget in pairs that turn within 32 tokens: candidates for positional heads layer 1, head 2, key head 1")
set(of_heads "3 layers of 4 heads of queries and 2 of keys, head_dim 64")
expect(0 out "f32.gguf: llama, ${of_heads}, 64 dims rotate, interleaved, rule default, base 10k .* within 32 tokens 25.5 % 17.9 % 87.6 % within the context, 4096 74.6 % .*${planted} 87.6 %" --weights "${models}/f32.gguf" --csv check.csv --svg check.svg)
file(STRINGS check.csv csv)
list(GET csv 0 header)
list(GET csv 225 row)
if(NOT header STREQUAL "layer,head,key_head,pair,inv_freq,query_norm,key_norm,key_bias,share" OR NOT row MATCHES "^1,3,1,0,1,0[.]2[0-9]+,0[.]5[0-9]+,0,0[.]05[0-9]+$")
  message(FATAL_ERROR "check.csv is ${header}, ${row}")
endif()
expect_files(check.csv 385 check.svg "Norms of queries, by layer.*a turn in 32 tokens.*a turn in the context, 4.1k.*Norms of keys.*layer 1, head 2: 87.6 %.*full colour: 15.5 %")
expect(0 out "f16.gguf: qwen2, ${of_heads}, 64 dims rotate, halves.*${planted} 88.6 %" --weights "${models}/f16.gguf")
expect(0 out "bf16.gguf: qwen3, ${of_heads}, 64 dims rotate, halves.*${planted} 90.1 %" --weights "${models}/bf16.gguf")
expect(0 out "q8_0.gguf: phi3, ${of_heads}, 64 dims rotate, halves.*${planted} 88.1 %" --weights "${models}/q8_0.gguf")
expect(0 out "q4_k.gguf: stablelm, ${of_heads}, 16 dims rotate, halves.*${planted} 78.7 %" --weights "${models}/q4_k.gguf")
expect(0 out "0 of 4 heads have most .*no candidate .* nearest is layer 0, head 1, with 19.9 %" --weights "${models}/f32.gguf" --layer 0)
expect(0 out "1 of 4 heads has most .* layer 1, head 2, key head 1 87.6 %" --weights "${models}/f32.gguf" --layer 1 --context 64)
# The bias of keys.
expect(0 out "Keys have no bias: a cache has nothing to leave out" --weights "${models}/f32.gguf")
expect(0 out "Keys have a bias, and no norm behind it.*Leaving it out would hardly help" --weights "${models}/f16.gguf")
expect(0 out "layer, key head norm of a key q8_0 out q4_0 out outlying pairs 0, 1 [0-9.]+ 99.9 % .* 20 0, 0 0 0 % .*would help: errors of q8_0 keys would be [89][0-9] times smaller in layer 0, head 1, and 1 times in the median head" --weights "${models}/biased.gguf")
expect(0 out "Keys have a bias, and a norm behind it: a cache cannot leave it out" --weights "${models}/normed.gguf")
# A model in three files: the norms of layer 1 are in the second.
expect(0 out "1 of 4 heads has most .* layer 1, head 2, key head 1 87.6 %" --weights "${models}/f32-00001-of-00003.gguf" --layer 1 --context 64)
expect(0 out "head_dim 64, .*means over 256 inputs" --q "${models}/f32-00001-of-00003.gguf:blk.2.attn_q.weight" --k "${models}/f32-00001-of-00003.gguf:blk.2.attn_k.weight" --head-dim 64)
# A tensor of blocks as queries.
expect(0 out "head_dim 64, .*means over 256 inputs" --q "${models}/q4_k.gguf:blk.0.attn_q.weight" --k "${models}/q4_k.gguf:blk.0.attn_k.weight" --head-dim 64)
foreach(pair
    "truncated;truncated.gguf:blk.0.attn_k.weight: must end within the file, of 393723 bytes, got byte 393728"
    "cut-header;cut-header.gguf: key [0-9]+ of 9 must be complete, got a file that ends within it, at byte 200"
    "one-layer;one-layer.gguf: has no tensor blk.1.attn_q.weight"
    "one-file-of-2;one-file-of-2.gguf: split.count must be 1 unless the name of the file ends in -00001-of-00002.gguf, by which the other files of the model are found, got 2"
    "f32-00002-of-00003;f32-00002-of-00003.gguf: split.no must be 0, for the keys of a model are in its first file: give f32-00001-of-00003.gguf, got 1"
    "unknown-type;attn_q.weight: must be F32, F16, BF16, Q8_0 or Q4_K, ggml's types 0, 1, 30, 8 and 12, got 14"
    "wrong-rows;attn_q.weight: must be .256, inputs., for 4 heads of 64 dims, got .128, 512."
    "wrong-heads;llama.attention.head_count must be a multiple of llama.attention.head_count_kv, got 4 and 3 for layer 0"
    "no-heads;llama.attention.head_count must be given, and is absent"
    "no-blocks;attn_q.weight: must have rows of whole blocks, a multiple of 256 numbers of Q4_K, got 128"
    "not-finite;attn_q.weight: must have finite numbers, got another in row 1"
    "wrong-bias;attn_q.bias: must be .256., for 4 heads of 64 dims, got .2."
    "wrong-norm;attn_q_norm.weight: must be .64. or .256., for 4 heads of 64 dims, got .2."
    "no-rotation;no-rotation.gguf: must have a layer that rotates, got none"
    "no-such;no-such.gguf: cannot be read: No such file")
  list(POP_FRONT pair file)
  expect(1 err "${pair}" --weights "${models}/${file}.gguf")
endforeach()
expect(1 err "is a directory" --weights "${models}")
expect(1 err "layer must be below the number of layers, 3, got 3" --weights "${models}/f32.gguf" --layer 3)
expect(1 err "excludes" --weights "${models}/f32.gguf" --head 1)
# A head that attends by position and one that attends by content are told apart, and drawn.
expect(0 out "Heads of .*q.npy, .*64 tokens.* 0 1\\.000 0\\.000 by position 1 0\\.030 1\\.000 by content 1 of 2 heads hold on to positions" --q "${models}/q.npy" --k "${models}/k.npy" --attends-by --csv check.csv --svg check.svg)
expect_files(check.csv 3 check.svg "symbolic.*positional.*head 0.*head 1")
# A terminal of any width, a full device, a pipe.
expect_full(--weights "${models}/f32.gguf")
expect_at_every_width(--weights "${models}/f32.gguf" --layer 1)
if(MODELS)
  expect_of_pipes(0 out "layer 0 of" "${MODELS}/llama-2-7b.json" --config @)
endif()
expect_of(1 err "/dev/stdin: must be a file on a disk: tensors are read in any order" sh -c "cat \"$1\" | \"$0\" --weights /dev/stdin"
  "${PROGRAM}" "${models}/f32.gguf")
file(REMOVE_RECURSE "${models}")

# The settings of a model.
if(MODELS)
  expect(0 out "head_dim 128, layer 3 of .*qwen3-8b.json " --config "${MODELS}/qwen3-8b.json" --layer 3)
  expect(1 err "layer must be below the number of layers, 36" --config "${MODELS}/qwen3-8b.json" --layer 36)
  expect(0 out "head_dim 64, layer 0 of .*falcon-7b.json " --config "${MODELS}/falcon-7b.json")
  expect(1 err "queries.npy: must have heads of 128 dims, got 4" --config "${MODELS}/qwen3-8b.json" ${own})
  expect(1 err "--head-dim must be that of the layer, 128, got 64" --config "${MODELS}/qwen3-8b.json" --head-dim 64)
  expect(1 err "excludes" --config "${MODELS}/qwen3-8b.json" --base 500)
endif()

# Files.
expect(0 out "score" ${own} --csv check.csv --svg check.svg)
file(STRINGS check.csv csv)
list(GET csv 2 second)
file(READ check.svg svg)
list(LENGTH csv lines)
if(NOT lines EQUAL 3 OR NOT second MATCHES "^1,0.01,3.9998.*,4,4,4,1,1,1,4,4,4$" OR NOT svg MATCHES "^<svg.*What each pair adds.*Norms of pairs.*</svg>\n?$")
  message(FATAL_ERROR "check.csv is ${csv}; check.svg is ${svg}")
endif()
file(REMOVE check.csv check.svg)
expect(0 out "Examples: score_by_frequency a head that attends to the previous token" --help)

expect_narrow(${own})
expect_narrow(${own} --attends-by)
expect_narrow(--help)
# Wrongly.
expect(1 err "requires" --q "${DATA}/queries.npy")
expect(1 err "requires" --attends-by)
expect(1 err "--layer is not read: it is of a model, which --config or --weights names" ${own} --layer 0)
expect(1 err "--context is not read: with --attends-by it is for the rules of --config" ${own} --attends-by --context 64)
expect(1 err "no-such.npy: cannot be read: No such file" --q no-such.npy --k no-such.npy)
expect(1 err "columns.npy: must be in C order: save numpy.ascontiguousarray" --q "${DATA}/columns.npy" --k "${DATA}/keys.npy")
expect(1 err "check.cmake: must begin as .npy files do" --q "${CMAKE_CURRENT_LIST_FILE}" --k "${DATA}/keys.npy")
expect(1 err "keys.npy: must have heads of 3 dims, got 4" --q "${DATA}/keys.npy" --k "${DATA}/keys.npy" --head-dim 3)
expect(1 err "queries a multiple of the keys' heads, got .3..1..4. and .3..2..4." --q "${DATA}/keys.npy" --k "${DATA}/queries.npy")
expect(1 err "--head must be below 2, got 2" ${own} --head 2)
expect(1 err "no query has a key at distance 3" ${own} --distance 3)
expect(1 err "no query has a key at distance 1" ${own} --query 3)
expect(1 err "weights.gguf: needs the name of a tensor" --q "${DATA}/weights.gguf" --k "${DATA}/weights.gguf")
expect(1 err "weights.gguf: has no tensor blk.1" --q "${DATA}/weights.gguf:blk.1" --k "${DATA}/weights.gguf:blk.1")
expect(1 err "quantised.weight: must be F32, F16, BF16, Q8_0 or Q4_K, ggml's types 0, 1, 30, 8 and 12, got 2" --q "${DATA}/weights.gguf:quantised.weight" --k "${DATA}/keys.npy")
expect(1 err "far.gguf:q: must have an offset below 2.62" --q "${DATA}/far.gguf:q" --k "${DATA}/keys.npy")
expect(1 err "base must be finite and positive, got 0" --base 0)
expect(1 err "stray" stray)
