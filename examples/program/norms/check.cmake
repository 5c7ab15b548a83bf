# Models that the writer writes, a type of tensor each, with a positional head in layer 1, head 2: of its 6
# pairs of 32 that turn within 32 tokens, W_q is 16 times as large and W_k, which head 3 has too, twice; so
# the share is 32 * 6 / (32 * 6 + 26), 88 %, of head 3 32 %, of others 19 %, a few percent apart. The writer
# compares all norms and shares with its own.
set(models "${CMAKE_CURRENT_BINARY_DIR}/models")
file(MAKE_DIRECTORY "${models}")
expect_of(0 out "^$" "${WRITER}" "${models}")
set(planted "heads, the highest share within 32 tokens first layer 1, head 2, key head 1")
set(of_heads "3 layers of 4 heads of queries and 2 of keys, head_dim 64")
expect(0 out "f32.gguf: llama, ${of_heads}, 64 dims rotate, interleaved, rule default, base 10k .* within 32 tokens 25.5 % 17.9 % 87.6 % within the context, 4096 74.6 % .*${planted} 87.6 % .* and 4 more, in --csv FILE .*They do not say where it looks: .*posenc run shows where heads look in a text" "${models}/f32.gguf" --csv check.csv --svg check.svg)
file(STRINGS check.csv csv)
list(GET csv 0 header)
list(GET csv 225 row)
if(NOT header STREQUAL "layer,head,key_head,pair,inv_freq,query_norm,key_norm,key_bias,share,fast_share" OR NOT row MATCHES "^1,3,1,0,1,0[.]2[0-9]+,0[.]5[0-9]+,0,0[.]05[0-9]+,0[.]3[0-9]+$")
  message(FATAL_ERROR "check.csv is ${header}, ${row}")
endif()
expect_files(check.csv 385 check.svg "Norms of queries, by layer.*a turn in 32 tokens.*a turn in the context, 4.1k.*Norms of keys.*layer 1, head 2: 87.6 %.*full colour: 15.5 %")
expect(0 out "f16.gguf: qwen2, ${of_heads}, 64 dims rotate, halves.*${planted} 88.6 %" "${models}/f16.gguf")
expect(0 out "bf16.gguf: qwen3, ${of_heads}, 64 dims rotate, halves.*${planted} 90.1 %" "${models}/bf16.gguf")
expect(0 out "q8_0.gguf: phi3, ${of_heads}, 64 dims rotate, halves.*${planted} 88.1 %" "${models}/q8_0.gguf")
expect(0 out "q4_k.gguf: stablelm, ${of_heads}, 16 dims rotate, halves.*${planted} 78.7 %" "${models}/q4_k.gguf")
expect(0 out "first layer 0, head 1, key head 0 19.9 % layer 0, head [023], .* Keys have no bias" "${models}/f32.gguf" --layer 0)
expect(0 out "${planted} 87.6 % layer 1, head 3, key head 1 3[0-9.]+ % " "${models}/f32.gguf" --layer 1 --context 64)
# The bias of keys.
expect(0 out "Keys have no bias: a cache has nothing to leave out" "${models}/f32.gguf")
expect(0 out "Keys have a bias, and no norm behind it.*Leaving it out would hardly help" "${models}/f16.gguf")
expect(0 out "layer, key head norm of a key q8_0 out q4_0 out outlying pairs 0, 1 [0-9.]+ 99.9 % .* 20 0, 0 0 0 % .*would help: errors of q8_0 keys would be [89][0-9] times smaller in layer 0, head 1, and 1 times in the median head" "${models}/biased.gguf")
expect(0 out "Keys have a bias, and a norm behind it: a cache cannot leave it out" "${models}/normed.gguf")
# A model in three files: the norms of layer 1 are in the second.
expect(0 out "${planted} 87.6 %" "${models}/f32-00001-of-00003.gguf" --layer 1 --context 64)
# The same models as folders of Hugging Face, by the folder or a file in it.
if(MODELS)
  foreach(folder f32 f32/config.json f32/model.safetensors)
    expect(0 out "${folder}: llama, ${of_heads}, 64 dims rotate, halves, .*${planted} 87.6 %" "${models}/${folder}")
  endforeach()
  expect(0 out "f16: qwen2, .*Keys have a bias, and no norm behind it.*Leaving it out would hardly help" "${models}/f16")
  expect(1 err "has no model.safetensors" "${models}")
  file(RENAME "${models}/bf16/config.json" "${models}/config.json")
  expect(1 err "bf16: has no config.json beside it" "${models}/bf16")
  file(RENAME "${models}/config.json" "${models}/bf16/config.json")
  file(READ "${models}/bf16/config.json" config)
  string(REPLACE "\"num_key_value_heads\": 2" "\"num_key_value_heads\": 1" config "${config}")
  file(WRITE "${models}/bf16/config.json" "${config}")
  expect(1 err "model.safetensors:model.layers.0.self_attn.k_proj.weight: must be .64, inputs., for 1 heads of 64 dims, got .128, 256." "${models}/bf16")
else()
  expect(1 err "built without nlohmann-json, which reads safetensors" "${models}/f32")
endif()
foreach(pair
    "truncated;truncated.gguf:blk.0.attn_k.weight: must end within the file, of 393723 bytes, got byte 393728"
    "cut-header;cut-header.gguf: key [0-9]+ of 9 must be complete, got a file that ends within it, at byte 200"
    "one-layer;one-layer.gguf: has no tensor blk.1.attn_q.weight"
    "one-file-of-2;one-file-of-2.gguf: split.count must be 1 unless the name of the file ends in -00001-of-00002.gguf, by which the other files of the model are found, got 2"
    "f32-00002-of-00003;f32-00002-of-00003.gguf: split.no must be 0, for the keys of a model are in its first file: give f32-00001-of-00003.gguf, got 1"
    "unknown-type;attn_q.weight: must be F32, F16, BF16, Q4_0, .* or MXFP4, got ggml's type 24"
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
  expect(1 err "${pair}" "${models}/${file}.gguf")
endforeach()
expect(1 err "layer must be below the number of layers, 3, got 3" "${models}/f32.gguf" --layer 3)
expect(1 err "there is no option --head;" "${models}/f32.gguf" --head 1)
expect(1 err "FILE is required")
expect_refusals("${models}/f32.gguf" --layer 1)
expect_at_every_width("${models}/f32.gguf" --layer 1)
expect_of(1 err "/dev/stdin: must be a file on a disk: tensors are read in any order" sh -c "cat \"$1\" | \"$0\" norms /dev/stdin"
  "${PROGRAM}" "${models}/f32.gguf")
file(REMOVE_RECURSE "${models}")
