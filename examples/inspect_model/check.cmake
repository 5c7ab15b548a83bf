# Runs the program as people would, rightly and wrongly. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")
set(models "${CMAKE_CURRENT_LIST_DIR}/models")

# Two models are compared: 3.1 scales its frequencies, 3.2 more; GPT-NeoX and GPT-J differ in the layout of pairs.
expect(0 out "llama-3.1-8b.json / llama-3.2-1b.json.*layers: 32 / 16.*16 layers: 0-15.*head_dim: 128 / 64"
  "${models}/llama-3.1-8b.json" "${models}/llama-3.2-1b.json")
expect(0 out "32 layers: 0-31.*rule: llama3 / default.*rope_theta: 5e.05 / 10000.*From distance 1 on, a score may differ by more than 0.003906 of .q. .k..*\
distance angle, rad at worst Gaussian 0 0 0 0 1 0.1[0-9]+ 0.1[0-9]+ 0.0[0-9]+.*4,095 " "${models}/llama-3.1-8b.json" "${models}/llama-2-7b.json")
expect(0 out "32 layers encode positions alike" "${models}/llama-2-7b.json" "${models}/llama-2-7b.json")
expect(0 out "No score differs by more than 2 of" "${models}/llama-3.1-8b.json" "${models}/llama-2-7b.json" --threshold 2)
expect(0 out "llama-2-7b.json: llama, 32 layers.*mpt-7b.json: mpt" --each "${models}/llama-2-7b.json" "${models}/mpt-7b.json")
expect(0 out "^{ \"a\": \"llama-2-7b.json\".*\"matters_from\": 1,.*\"gaussian\": " --json "${models}/llama-2-7b.json" "${models}/llama-3.1-8b.json")

# One model, for programs.
expect(0 out "^{ \"file\": \"gpt-oss-20b.json\", \"type\": \"gpt_oss\", \"layers\": 24, .*\"sinks\": true, \"window\": 128,.*\"rule\": \"yarn\".*\"inv_freq\": . 1.0, 0.689"
  --json "${models}/gpt-oss-20b.json")
expect(0 out "^pair,inv_freq,x_dim,y_dim 0,1,0,64 1,0.8659643[0-9]*,1,65 .*63,[0-9.e-]+,63,127 $" --csv --columns pair,inv_freq,x_dim,y_dim "${models}/llama-2-7b.json")
expect(0 out "^kind,first_layer,layers,rule,layout,pair,x_dim,y_dim,axis,inv_freq,wavelength,turns,last_angle,attention_factor \"full_attention\",0,32,default,halves,0,0,64,0,1,6.28"
  --csv "${models}/llama-2-7b.json")

# The bias of keys.
expect(0 out "Keys have a bias, which a cache can leave out: score/key_bias.hpp adds it" "${models}/qwen2.5-7b.json")
expect(0 out "\"key_bias\": true, \"key_bias_is_separable\": true," --json "${models}/qwen2.5-7b.json")
expect(0 out "\"key_bias\": null, \"key_bias_is_separable\": null," --json "${models}/mimo-v2-flash.json")

# Layers of Gemma 4 that write no keys.
expect(0 out "Layers from 15 on write no keys or values: sliding_attention sees those of layer 13, full_attention sees those of layer 14." "${models}/gemma-4-e2b.json")
expect(0 out "\"key_layers\": . 0, 1, .*12, 13, 14, 13, 13, 13, 13, 14, 13," --json "${models}/gemma-4-e2b.json")

# What engines get wrong on a model: the exit status says whether they do.
expect(0 out "32 full_attention 128 of 128 halves 10,000 default all.*angles-in-float.*No engine is known" --check "${models}/llama-2-7b.json")
expect_of(2 out "a 50 sliding_attention: 0-4, 6-10[-0-9, .]* 256 of 256 halves 10,000 default 1,024, images both ways b 10 full_attention: [-0-9, .]* 128 of 512 halves 1,000,000 proportional all\
.*theta-lost 151.5 4,853 19,414 0.7 0.73 0.7 b: the base is 10000, where the model has 1000000 .DeepSpeed#8345.*have made 20 mistakes on such models; whether yours does, tests/conformance/conformance.py tells" "${PROGRAM}" --check "${models}/gemma-4-31b.json")
execute_process(COMMAND "${PROGRAM}" --check "${models}/llama-3.1-8b.json" OUTPUT_VARIABLE out)
string(REGEX MATCH " +angle off by.*float32\n" shown "${out}")
file(READ "${CMAKE_CURRENT_LIST_DIR}/../README.md" page)
string(FIND "${page}" "${shown}" at)
if(at EQUAL -1 OR shown STREQUAL "")
  message(FATAL_ERROR "examples/README.md must show\n${shown}")
endif()
expect_of(2 out "alibi-missing - - - 281 9,000 " "${PROGRAM}" --check "${models}/mpt-7b.json")
# What masks and scores cost, and which sides a layer sees.
expect_of(2 out "b 14 sliding_attention: .* 64 of 64 halves 10,000 default 64 to either side.*window-doubled - - - 48 % 50 % 50 % b: the window has 128 tokens to either side, not 64 .keras-hub#2518\
.*causal-for-both - - - 50 % 50 % 50 % b: .*% Of the keys that queries see or should see, those wrong or missing" "${PROGRAM}" --check "${models}/modernbert-base.json")
expect_of(2 out "a 52 sliding_attention.*1,024, images both ways.*both-ways-missing - - - 50 % 35 % 35 % a: " "${PROGRAM}" --check "${models}/gemma-3-27b.json")
expect_of(2 out "\"name\": \"cap-after-mask\",.*\"says\": \"the cap comes after the mask: a masked key has a score of -50, and is seen\",.*\"radians\": null, \"score\": null, \"keys\": 0.8[0-9]*"
  "${PROGRAM}" --json --check "${models}/gemma-2-9b.json")
expect_of(2 out "^. \"file\": \"gpt-oss-20b.json\", \"verdict\": \"contested\".*\"name\": \"theta-lost\".*\"tokens\": 131072, \"distance\": 131071, \"radians\": 12392.[0-9]*, \"score\": 1.44"
  "${PROGRAM}" --json --check "${models}/gpt-oss-20b.json")
expect(0 out "\"verdict\": \"uncontested\"" --json --check "${models}/gpt2.json")
file(WRITE check.model.json "{\"model_type\": \"llamb\"}")
expect_of(2 out "gemma4, 60 layers.*10 full_attention: [-0-9, .]* 128 of 512 halves 1,000,000 default, rope_freqs all.*p-rope-ignored" "${PROGRAM}" --check "${models}/../../explorer/gemma-4-31b.gguf")
expect(1 err "check.model.json: model_type must be one that is known, unless --as-llama is given, got the string .llamb." --check check.model.json)
expect_of(1 out "^. \"file\": \"check.model.json\", \"verdict\": \"refused\", \"error\": \"check.model.json: model_type must" "${PROGRAM}" --json --check check.model.json)
file(REMOVE check.model.json)
file(WRITE check.model.gguf "version https://git-lfs.github.com/spec/v1\n")
expect(1 err "check.model.gguf: the file must begin with the letters GGUF, got .vers." --check check.model.gguf)
file(REMOVE check.model.gguf)
# A GGUF file and its config.json, in either order; and those of other models.
expect(0 out "gemma-4-31b.json, gemma-4-31b.gguf: gemma4_text, 60 layers.*Both files say the same" --check "${models}/../../explorer/gemma-4-31b.gguf" "${models}/gemma-4-31b.json")
expect(0 out "^. \"file\": \"gemma-4-31b.json\", \"gguf\": \"gemma-4-31b.gguf\", \"verdict\": \"uncontested\"" --json --check "${models}/gemma-4-31b.json" "${models}/../../explorer/gemma-4-31b.gguf")
expect_of(2 out "difference; tokens: .*window - - - 25 % 50 % 50 % a: window is 512 in gemma-4-e2b.json; llama.cpp uses 1024 .*The files differ in [0-9]+ settings"
  "${PROGRAM}" --check "${models}/gemma-4-e2b.json" "${models}/../../explorer/gemma-4-31b.gguf")
expect(1 err "--check of two files must be of a GGUF file and its config.json" --check "${models}/gpt2.json" "${models}/mpt-7b.json")
expect(1 err "--check must be of one model, or of a GGUF file and its config.json" --check "${models}/gpt2.json" "${models}/mpt-7b.json" "${models}/gpt2.json")
expect(1 err "no.json: cannot be read" --check no.json "${models}/gpt2.json")
expect(1 err "--check and --csv" --check --csv "${models}/gpt2.json")

# Which rule made a table: as text, as JSON, in few digits, from another model's own frequencies.
file(WRITE check.table "[1.0, 0.1, 0.01, 0.001]  # base 10^4\n")
expect(0 out "check.table: 4 numbers, rounded to .*geometric: base 10000.*within rounding.*else geometric_inclusive: base 1000;" --identify check.table)
file(WRITE check.table "1 0.8 0.6 0.4 0.2")
expect(0 out "divided_by_factors: base 10000; within rounding.*factors 1, 0.1981.*else linear" --identify check.table)
file(WRITE check.table "1.0000e+00, 5.6234e-01, 3.1623e-01, 1.7783e-01, 1.0000e-01, 5.6234e-02, 3.1623e-02, 1.7783e-02")
expect(0 out "8 numbers, rounded to 5e-05.*geometric: base 100; within rounding" --identify check.table)
execute_process(COMMAND "${PROGRAM}" --csv --columns inv_freq "${models}/llama-3.1-8b.json" OUTPUT_VARIABLE csv)
string(REPLACE "inv_freq\n" "" csv "${csv}")
file(WRITE check.table "${csv}")
expect(0 out "64 numbers.*llama3: factor 8, base 500000, low_freq_factor 1, high_freq_factor 4, original_length 8192; within rounding" --identify check.table --base 500000)
string(REGEX REPLACE "\n([0-9])" ", \\1" list "${csv}")
file(WRITE check.table "{\"inv_freq\": [${list}]}")
expect(0 out "^. { \"table\": \"check.table\", \"unit_roundoff\": .*\"rule\": \"llama3\", \"parameters\": { \"factor\": 8.0," --json --identify check.table)

# Wrongly.
expect(1 err "FILE or --identify must be given; see --help")
expect(1 err "must not be given together" check.table --identify check.table)
expect(1 err "no-such-option" --no-such-option)
expect(1 err "models: is a directory $" "${models}")
expect(1 err "no/such.json: cannot be read: No such file or directory" no/such.json)
expect(1 err "no/such.txt: cannot be read: No such file or directory" --identify no/such.txt)
expect(1 err "is a directory" --identify "${models}")
expect(1 err "check.cmake: must be JSON" "${CMAKE_CURRENT_LIST_FILE}")
expect(1 err "check.cmake: must be a list of numbers, got include" --identify "${CMAKE_CURRENT_LIST_FILE}")
expect(1 err "llama-2-7b.json: must be a JSON object with an array inv_freq" --identify "${models}/llama-2-7b.json")
expect(1 err "--csv must be of one model" --csv "${models}/llama-2-7b.json" "${models}/mpt-7b.json")
expect(1 err "--json and --csv" --csv --json "${models}/llama-2-7b.json")
expect(1 err "--columns must come with --csv" --columns pair "${models}/llama-2-7b.json")
expect(1 err "--columns must be of kind, first_layer, .*, got wave" --csv --columns pair,wave "${models}/llama-2-7b.json")
expect(1 err "--base must come with --identify" --base 1e4 "${models}/llama-2-7b.json")
expect(1 err "identify: base must be finite and above 1, got 1" --base 1 --identify check.table)
expect(1 err "threshold must be finite and positive, got 0" --threshold 0 "${models}/llama-2-7b.json" "${models}/mpt-7b.json")
expect(1 err "--length" --length 0 "${models}/llama-2-7b.json")
file(WRITE check.table "")
expect(1 err "check.table: is empty" --identify check.table)
expect(1 err "check.table: is empty" check.table)
file(WRITE check.table "# none\n")
expect(1 err "check.table: must have at least one number, got none" --identify check.table)
file(WRITE check.table "1 -0.5")
expect(1 err "identify: numbers must be from 0 to 2.64, got -0.5 at 1" --identify check.table)
file(REMOVE check.table)

# A directory that holds a config.json: its name. Of several files the readable ones are described.
file(MAKE_DIRECTORY check.model)
file(COPY_FILE "${models}/llama-2-7b.json" check.model/config.json)
expect(1 err "check.model: is a directory; give check.model/config.json" check.model)
file(REMOVE_RECURSE check.model)
execute_process(COMMAND "${PROGRAM}" "${models}/mpt-7b.json" no.json "${models}/llama-2-7b.json" RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT result EQUAL 1 OR NOT out MATCHES "mpt-7b.*llama-2-7b" OR NOT err STREQUAL "inspect_model: no.json: cannot be read: No such file or directory\n")
  message(FATAL_ERROR "of three files: exit ${result}\n${out}\n${err}")
endif()

# What nothing would read.
set(one "${models}/llama-2-7b.json")
set(two ${one} "${models}/mpt-7b.json")
expect(1 err "--length must be of a description or a comparison: --check has lengths of its own" --check ${one} --length 100)
expect(1 err "--all-pairs must be of a description as text" --json ${one} --all-pairs)
expect(1 err "--all-pairs must be of a description as text" ${two} --all-pairs)
expect(1 err "--each must be of two files or more that are described" ${one} --each)
expect(1 err "--threshold must be of a comparison of two files" ${one} --threshold 0.1)
expect(1 err "--threshold must be of a comparison of two files" ${two} --each --threshold 0.1)
expect(1 err "--as-llama must be of a model, not of a table" --identify ${one} --as-llama)

# 80 columns.
foreach(model gemma-3-27b llama-3.1-8b qwen2-vl-7b gemma-4-e4b)
  expect_narrow("${models}/${model}.json")
endforeach()
expect_narrow(${one} "${models}/llama-3.1-8b.json")
expect_narrow(--help)
foreach(model gemma-3-27b deepseek-v4-flash llama-4-scout qwen3.5-27b)
  expect_of(2 out "^${model}" "${PROGRAM}" --check "${models}/${model}.json")
  narrow("${out}")
endforeach()

expect(0 out "Examples: inspect_model " --help)

# From a pipe, and without a place for what it says.
expect_of_pipes(0 out "llama, 32 layers" "${models}/llama-2-7b.json" @)
expect_of_pipes(0 out "No engine is known" "${models}/llama-2-7b.json" --check @)
expect_of_pipes(2 out "gemma4, 60 layers" "${models}/../../explorer/gemma-4-31b.gguf" --check @)
expect_of_pipes(0 out "Both files say the same" "${models}/../../explorer/gemma-4-31b.gguf" --check "${models}/gemma-4-31b.json" @)
expect_of_pipes(0 out "rope_freqs" "${models}/../../explorer/gemma-4-31b.gguf" --identify @)
expect_full("${models}/llama-2-7b.json")
