set(models "${SOURCE}/examples/models")
set(gguf "${SOURCE}/examples/explorer/gemma-4-31b.gguf")

# One model, for programs.
expect(0 out "^{ \"file\": \"gpt-oss-20b.json\", \"type\": \"gpt_oss\", \"layers\": 24, .*\"sinks\": true, \"window\": 128,.*\"rule\": \"yarn\".*\"inv_freq\": . 1.0, 0.689"
  --json "${models}/gpt-oss-20b.json")
expect(0 out "^kind,first_layer,layers,rule,layout,pair,x_dim,y_dim,axis,inv_freq,wavelength,turns,last_angle,attention_factor full_attention,0,32,default,halves,0,0,64,0,1,6.28.*\
halves,1,1,65,0,0.8659643[0-9]*,.*halves,63,63,127,0,"
  --csv - "${models}/llama-2-7b.json")

# The bias of keys.
expect(0 out "Keys have a bias, which a cache can leave out: score/key_bias.hpp adds it" "${models}/qwen2.5-7b.json")
expect(0 out "\"key_bias\": true, \"key_bias_is_separable\": true," --json "${models}/qwen2.5-7b.json")
expect(0 out "\"key_bias\": null, \"key_bias_is_separable\": null," --json "${models}/mimo-v2-flash.json")

# Layers of Gemma 4 that write no keys.
expect(0 out "Layers from 15 on write no keys or values: sliding_attention sees those of layer 13, full_attention sees those of layer 14." "${models}/gemma-4-e2b.json")
expect(0 out "\"key_layers\": . 0, 1, .*12, 13, 14, 13, 13, 13, 13, 14, 13," --json "${models}/gemma-4-e2b.json")

# Models by name, several at a time, and the list of names.
expect(0 out "llama-2-7b.json: llama, 32 layers.*mpt-7b.json: mpt" "${models}/llama-2-7b.json" "${models}/mpt-7b.json")
expect(0 out "qwen3-8b: qwen3, 36 layers" qwen3-8b)
expect(0 out "baichuan2-13b bloom-176b .*tinyllama-1.1b $" --list)
file(GLOB all "${models}/*.json")
list(LENGTH all count)
string(REGEX MATCHALL "\n" listed "${out}")
list(LENGTH listed names)
if(NOT names EQUAL count)
  message(FATAL_ERROR "--list has ${names} names for ${count} models:\n${out}")
endif()
expect_of(0 out "tinyllama" "${PROGRAM}" inspect ${all})

# How far a head sees is said of every model that has attention: of a base that is large enough, of one that is not, of pairs
# that stand still, of ALiBi, without positions. Distances were worked out apart, in Python.
expect(0 out "base 500,000, head_dim 128: RoPE, 1 layer, shown at 8,192 .*The base is large enough for 8,192 tokens: at distance 18,438 the sum" --base 500k --length 8192)
expect(0 out "The base is too small for the context: at distance 1,707 the sum" --base 10k)
expect(0 out "large enough for 512 tokens: at distance 725 the sum" --base 10k --head-dim 64 --length 512)
expect(0 out "large enough for 131,072 tokens|too small for the context: at distance 85,133" "${models}/llama-3.1-8b.json")
expect(0 out "sum of cos.distance . frequency. over pairs stays positive up to a distance of" "${models}/gemma-4-31b.json")
# ALiBi's slopes of 32 heads are 2^-(1/4) to 2^-8: ln 2 over them is 0.8243 and 177.4.
# The bound is that of the text; 9 of 64 pairs single out the previous token with the least score.
expect(0 out "too small for the context: at distance 1,707" "${models}/llama-2-7b.json")
expect(0 out "\"context_bound\": { \"reach\": 1048576, \"context\": 1707, \"certain\": -1.0, \"longest_wavelength\": 54410.1[0-9]* }, \"positional_budget\": { \"tokens\": 4096, \"distance\": 1, \"weight\": 0.99, \"pairs\": 9, \"score\": 27.79"
  --json "${models}/llama-2-7b.json")
# What numbers lose: bfloat16 leaves pairs of inv_freq above 2^-7; a float angle is off by 131,071 2^-23.
expect(0 out "24 of 64 pairs tell neighbouring tokens apart if keys are stored in bfloat16, 34 in float16[.] .*Angles computed in float32 are off by up to 0.015625? radians at the last of 131,072 positions" --base 500k --length 131072)
expect(0 out "\"neighbours_told_apart\": { \"float32\": 64, \"float16\": 34, \"bfloat16\": 24 }, \"float_angle_error\": 0.0156" --json --base 500k --length 131072)
expect(0 out "\"positional_budget\": null" --json --length 1 "${models}/llama-2-7b.json")
expect(0 out "By its bias alone a key loses half of its weight after 0.8243 tokens in the steepest head, after 177.4 tokens in the flattest" "${models}/mpt-7b.json")
expect(0 out "No rotation. .*|No score changes with distance: a head sees as far as its mask" "${models}/smollm3-3b.json")
foreach(model IN LISTS all)
  expect(0 out "is large enough for|is too small for|loses half of its weight|sees as far as its mask|T5: a learned bias" "${model}")
endforeach()

# Wrongly.
expect(1 err "no/such.json: cannot be read: No such file or directory" no/such.json)
expect(1 err "check.cmake: must be JSON" "${CMAKE_CURRENT_LIST_FILE}")
expect(1 err "--csv must be of one model" --csv - "${models}/llama-2-7b.json" "${models}/mpt-7b.json")
expect(1 err "--json and --csv" --csv - --json "${models}/llama-2-7b.json")
expect(1 err "--length" --length 0 "${models}/llama-2-7b.json")
expect(1 err "FILE or --base must be given, or --list")
expect(1 err "models: is a directory $" "${models}")
expect(1 err "lama-2-7b: cannot be read: No such file or directory; the nearest model is llama-2-7b" lama-2-7b)
expect(1 err "--base excludes FILE|FILE excludes --base" --base 10k llama-2-7b)
expect(1 err "base must be finite and positive, got 0" --base 0)
expect(1 err "cannot write no/such/folder/x.csv: No such file" llama-2-7b --csv no/such/folder/x.csv)

# A directory that holds a config.json: its name. Of several files the readable ones are described.
file(MAKE_DIRECTORY check.model)
file(COPY_FILE "${models}/llama-2-7b.json" check.model/config.json)
expect(1 err "check.model: is a directory; give check.model/config.json" check.model)
file(REMOVE_RECURSE check.model)
execute_process(COMMAND "${PROGRAM}" inspect "${models}/mpt-7b.json" no.json "${models}/llama-2-7b.json" RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT result EQUAL 1 OR NOT out MATCHES "mpt-7b.*llama-2-7b" OR NOT err STREQUAL "posenc inspect: no.json: cannot be read: No such file or directory\n")
  message(FATAL_ERROR "of three files: exit ${result}\n${out}\n${err}")
endif()

# 80 columns.
foreach(model gemma-3-27b llama-3.1-8b qwen2-vl-7b gemma-4-e4b)
  expect_narrow("${models}/${model}.json")
endforeach()
expect_of_pipes(0 out "llama, 32 layers" "${models}/llama-2-7b.json" @)
expect_full("${models}/llama-2-7b.json")
