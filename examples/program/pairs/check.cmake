# queries.npy [3][2][4] has heads (2, 1, 0, 0) and (0, 0, 0, t + 1), keys.npy [3][4] of float16 (3, 4, 0, 0); weights.gguf has
# matrices whose columns are (2, 1, 0, 0), (0, 0, 0, 5) of queries and (3, 4, 0, 0), (0, 0, 0, 7) of keys; far.gguf a tensor q
# at offset 2^64 - 32, which is the header unless the sum is checked. Frequencies of 4 dims and base 10000: 1 and 0.01.
set(data "${folder}/../tensors/check")
set(own --q "${data}/queries.npy" --k "${data}/keys.npy")

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
expect(0 out "head_dim 2, .*pair 0 6.28 25 25 .*is 25 on average" --q "${data}/keys.npy" --k "${data}/keys.npy" --head-dim 2 --distance 0)
# Matrices of weights, an input at a time: (10 + 35) / 2.
set(weights --q "${data}/weights.gguf:blk.0.attn_q.weight" --k "${data}/weights.gguf:blk.0.attn_k.weight")
expect(0 out "means over 2 inputs, each alone and 1 .* pair 1 628 19.5 19.5 pair 0 6.28 3 3 .* is 22.5 on average .10 to 35." ${weights} --distance 0)
expect(0 out "is 10, and at most 10 " ${weights} --distance 0 --query 0)

# Tensors of blocks, and of a model in three files, which the check of norms writes.
set(models "${CMAKE_CURRENT_BINARY_DIR}/models")
file(MAKE_DIRECTORY "${models}")
expect_of(0 out "^$" "${WRITER}" "${models}")
foreach(tensors "f32-00001-of-00003.gguf:blk.2" "q4_k.gguf:blk.0")
  expect(0 out "head_dim 64, .*means over 256 inputs" --q "${models}/${tensors}.attn_q.weight" --k "${models}/${tensors}.attn_k.weight" --head-dim 64)
endforeach()
# Of safetensors, the numbers of the GGUF file.
if(MODELS)
  foreach(tensors "bf16.gguf:blk.1.attn_@" "bf16/model.safetensors:model.layers.1.self_attn.@_proj")
    string(REPLACE @ q q "${models}/${tensors}.weight")
    string(REPLACE @ k k "${models}/${tensors}.weight")
    expect(0 out "head_dim 64, .*means over 256 inputs" --q "${q}" --k "${k}" --head-dim 64 --csv check.csv)
    file(READ check.csv csv)
    if(DEFINED before AND NOT csv STREQUAL before)
      message(FATAL_ERROR "check.csv is ${csv}, and of the GGUF file ${before}")
    endif()
    set(before "${csv}")
  endforeach()
  file(REMOVE check.csv)
endif()
file(REMOVE_RECURSE "${models}")

# The settings of a model.
if(MODELS)
  expect_of_pipes(0 out "layer 0 of" "${MODELS}/llama-2-7b.json" --config @)
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
if(NOT lines EQUAL 3 OR NOT second MATCHES "^1,0.01,3.9998.*,4,4,4,1,1,1,4,4,4$" OR NOT svg MATCHES "^<svg.*Part of the score from each pair.*Norms of pairs.*</svg>\n?$")
  message(FATAL_ERROR "check.csv is ${csv}; check.svg is ${svg}")
endif()
file(REMOVE check.csv check.svg)
expect_narrow(${own})
expect_at_every_width(${own})

# Wrongly.
expect_refusals(${own})
expect(1 err "requires" --q "${data}/queries.npy")
expect(1 err "--layer requires --config" ${own} --layer 0)
expect(1 err "no-such.npy: cannot be read: No such file" --q no-such.npy --k no-such.npy)
expect(1 err "columns.npy: must be in C order: save numpy.ascontiguousarray" --q "${data}/columns.npy" --k "${data}/keys.npy")
expect(1 err "check.cmake: must begin as .npy files do" --q "${CMAKE_CURRENT_LIST_FILE}" --k "${data}/keys.npy")
expect(1 err "keys.npy: must have heads of 3 dims, got 4" --q "${data}/keys.npy" --k "${data}/keys.npy" --head-dim 3)
expect(1 err "queries a multiple of the keys' heads, got .3..1..4. and .3..2..4." --q "${data}/keys.npy" --k "${data}/queries.npy")
expect(1 err "--head must be below 2, got 2" ${own} --head 2)
expect(1 err "no query has a key at distance 3" ${own} --distance 3)
expect(1 err "no query has a key at distance 1" ${own} --query 3)
expect(1 err "weights.gguf: needs the name of a tensor" --q "${data}/weights.gguf" --k "${data}/weights.gguf")
expect(1 err "weights.gguf: has no tensor blk.1" --q "${data}/weights.gguf:blk.1" --k "${data}/weights.gguf:blk.1")
expect(0 out "means over 32 inputs" --q "${data}/weights.gguf:quantised.weight" --k "${data}/weights.gguf:quantised.weight")
expect(1 err "far.gguf:q: must have an offset below 2.62" --q "${data}/far.gguf:q" --k "${data}/keys.npy")
expect(1 err "base must be finite and positive, got 0" --base 0)
