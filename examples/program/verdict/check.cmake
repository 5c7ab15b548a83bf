set(models "${SOURCE}/examples/models")
set(gguf "${SOURCE}/examples/explorer/gemma-4-31b.gguf")

# What engines get wrong on a model: the exit status says whether they do.
expect(0 out "32 full_attention 128 of 128 halves 10,000 default all.*angles-in-float.*No engine is known" "${models}/llama-2-7b.json")
expect_of(2 out "a 50 sliding_attention: 0-4, 6-10[-0-9, .]* 256 of 256 halves 10,000 default 1,024, images both ways b 10 full_attention: [-0-9, .]* 128 of 512 halves 1,000,000 proportional all\
.*theta-lost 151.5 4,853 19,414 0.7 0.73 0.7 b: the base is 10000, where the model has 1000000 .DeepSpeed#8345.*have made 20 mistakes on such models; whether yours does, tests/conformance/conformance.py tells" "${PROGRAM}" verdict "${models}/gemma-4-31b.json")
execute_process(COMMAND "${PROGRAM}" verdict "${models}/llama-3.1-8b.json" OUTPUT_VARIABLE out)
string(REGEX MATCH " +angle off by.*float32\n" shown "${out}")
file(READ "${SOURCE}/examples/README.md" page)
string(FIND "${page}" "${shown}" at)
if(at EQUAL -1 OR shown STREQUAL "")
  message(FATAL_ERROR "examples/README.md must show\n${shown}")
endif()
expect_of(2 out "alibi-missing - - - 281 9,000 " "${PROGRAM}" verdict "${models}/mpt-7b.json")
# What masks and scores cost, and which sides a layer sees.
expect_of(2 out "b 14 sliding_attention: .* 64 of 64 halves 10,000 default 64 to either side.*window-doubled - - - 48 % 50 % 50 % b: the window has 128 tokens to either side, not 64 .keras-hub#2518\
.*causal-for-both - - - 50 % 50 % 50 % b: .*% Wrong or missing keys, among all that queries see or should see." "${PROGRAM}" verdict "${models}/modernbert-base.json")
expect_of(2 out "a 52 sliding_attention.*1,024, images both ways.*both-ways-missing - - - 50 % 35 % 35 % a: " "${PROGRAM}" verdict "${models}/gemma-3-27b.json")
expect_of(2 out "\"name\": \"cap-after-mask\",.*\"says\": \"the cap comes after the mask: a masked key has a score of -50, and is seen\",.*\"radians\": null, \"score\": null, \"keys\": 0.8[0-9]*"
  "${PROGRAM}" verdict --json "${models}/gemma-2-9b.json")
expect_of(2 out "^. \"file\": \"gpt-oss-20b.json\", \"verdict\": \"contested\".*\"name\": \"theta-lost\".*\"tokens\": 131072, \"distance\": 131071, \"radians\": 12392.[0-9]*, \"score\": 1.44"
  "${PROGRAM}" verdict --json "${models}/gpt-oss-20b.json")
expect(0 out "\"verdict\": \"uncontested\"" --json "${models}/gpt2.json")
file(WRITE check.model.json "{\"model_type\": \"llamb\"}")
expect_of(2 out "gemma4, 60 layers.*10 full_attention: [-0-9, .]* 128 of 512 halves 1,000,000 default, rope_freqs all.*p-rope-ignored" "${PROGRAM}" verdict "${gguf}")
expect(1 err "check.model.json: model_type must be one that is known .tables of 2026-11., unless --as-llama is given, got the string .llamb." check.model.json)
expect_of(1 out "^. \"file\": \"check.model.json\", \"verdict\": \"refused\", \"error\": \"check.model.json: model_type must" "${PROGRAM}" verdict --json check.model.json)
file(REMOVE check.model.json)
file(WRITE check.model.gguf "version https://git-lfs.github.com/spec/v1\n")
expect(1 err "check.model.gguf: the file must begin with the letters GGUF, got .vers." check.model.gguf)
file(REMOVE check.model.gguf)
# A GGUF file and its config.json, in either order; and those of other models.
expect(0 out "gemma-4-31b.json, gemma-4-31b.gguf: gemma4_text, 60 layers.*Both files say the same" "${gguf}" "${models}/gemma-4-31b.json")
expect(0 out "^. \"file\": \"gemma-4-31b.json\", \"gguf\": \"gemma-4-31b.gguf\", \"verdict\": \"uncontested\"" --json "${models}/gemma-4-31b.json" "${gguf}")
expect_of(2 out "difference; tokens: .*window - - - 25 % 50 % 50 % a: window is 512 in gemma-4-e2b.json; llama.cpp uses 1024 .*The files differ in [0-9]+ settings"
  "${PROGRAM}" verdict "${models}/gemma-4-e2b.json" "${gguf}")
expect(1 err "two files must be a GGUF file and its config.json" "${models}/gpt2.json" "${models}/mpt-7b.json")
expect(1 err "FILE: At Most 2 required but received 3" "${models}/gpt2.json" "${models}/mpt-7b.json" "${models}/gpt2.json")
expect(1 err "no.json: cannot be read" no.json "${models}/gpt2.json")

expect_of(2 out "gemma-3-27b: gemma3_text, 62 layers" "${PROGRAM}" verdict gemma-3-27b)
expect(1 err "FILE is required")

foreach(model gemma-3-27b deepseek-v4-flash llama-4-scout qwen3.5-27b)
  expect_of(2 out "^${model}" "${PROGRAM}" verdict "${models}/${model}.json")
  narrow("${out}")
endforeach()
expect_of_pipes(0 out "No engine is known" "${models}/llama-2-7b.json" @)
expect_of_pipes(2 out "gemma4, 60 layers" "${gguf}" @)
expect_of_pipes(0 out "Both files say the same" "${gguf}" "${models}/gemma-4-31b.json" @)
expect_full("${models}/llama-2-7b.json")
