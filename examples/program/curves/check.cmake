set(small --model llama-2-7b --range 512)
expect(0 out "RoPE \\(its own\\): the logit goes from 11.3 to [0-9.]+, not steadily \\(it first rises at distance 12\\)" ${small})
expect(0 out "RoPE.*first falls below half at 46; from 1707 tokens on a key like the query can score below a random one; the nearest 2 have half of the weight of 4096 keys; with adaptive temperature .beta 2.32. the nearest key alone has it" --model llama-2-7b --encodings rope)
expect(0 out "NoPE: the logit 11.3 is the same at every distance" ${small})
expect(0 out "correlation 0.5, 2 queries, seed 7" ${small} --rho 0.5 --samples 2 --seed 7 --encodings rope,nope)
expect(0 out "p-RoPE 0.25 \\(its own\\)" --model gemma-4-31b --range 64)
foreach(model gpt-j-6b gpt-neox-20b gemma-3-27b gemma-3-27b-local gemma-4-31b-local gemma-4-26b-a4b qwen3-vl-8b qwen3.5-27b mimo-v2-flash
    command-r7b bloom-176b baichuan2-13b mpt-7b)
  expect(0 out "${model}: .*\\(its own\\): the logit" --model ${model} --range 32)
endforeach()
# What is no function of distance says so, and shows a band.
foreach(range 512 4096)
  expect(0 out "sinusoidal: the logit depends on the query's position: it is [0-9.]+ to 28.7 at distance 1 .band: 2[0-9] positions.; the weights are those of the last query" --model llama-2-7b --encodings sinusoidal --range ${range} --svg check.svg)
  file(READ check.svg svg)
  if(NOT svg MATCHES "extremes of queries.*<path class='band f0'")
    message(FATAL_ERROR "check.svg has no band: ${svg}")
  endif()
endforeach()
expect(0 out "Self-Extend 64, 8: the logit depends on the query's position" ${small} --encodings self-extend --window 64)
expect(0 out "ReRoPE 64: the logit goes from" ${small} --encodings rerope --window 64)
expect(0 out "sinusoidal: .*; all of it at the last query, for it depends on the query's position, too" ${small} --encodings sinusoidal --rho 0.5)
# Gates of 1/2 fall by ln 2 at each token: 11.314 - 4 ln 2 at distance 4. CoPE falls by 8 / 63 up to its
# last position, 63, by T5's buckets 1 / 4 up to 31.
expect(0 out "forget gates 0.5, half-life 1: .*distance +0 +1 +4 .*logit +11.3 +10.6 +8.54 " --model llama-2-7b --range 64 --encodings forget-gates --gate 0.5)
expect(0 out "forget gates 0.999973, half-life 25.4k: .*forget gates 0.9, half-life 6.58: " ${small} --encodings forget-gates --gate 0.99997276,0.9)
expect(0 out "CoPE, 64 positions: the logit goes from 11.2 to 3.31.*T5, 32 buckets: the logit goes from 11.3 to 3.56" ${small} --encodings cope,t5)
# xPos decays where RoPE rises again.
expect(0 out "xPos: the logit goes from 22.6 to 0.0[0-9]+" --model gemma-4-31b --encodings xpos)

# Braille where the terminal knows UTF-8, ASCII elsewhere.
expect_utf8("⠉" ${small})

# Settings of one's own are of no model, and drawn once.
expect(0 out "encoding alone. head_dim 128, base 500k: 32 heads, 64 tokens =+ RoPE: logit" --base 500000 --range 64)
if(out MATCHES "llama|gemma|its own|head_dim.*head_dim")
  message(FATAL_ERROR "settings of no model: ${out}")
endif()
expect(0 out "with settings that are given; head_dim 128, base 500k.*p-RoPE 0.25: the logit" --model gemma-4-31b --head-dim 128 --base 500000 --range 64)

# 80 columns.
expect_narrow(--model mpt-7b --range 65536 --encodings alibi,forget-gates --gate 0.99997276)
if(NOT out MATCHES "ALiBi\n  logit .*  weight +[0-9.]+ .* 0\n")
  message(FATAL_ERROR "weights below 1e-99 must be 0: ${out}")
endif()
expect_narrow(${small} --rho 0.5 --samples 1000 --encodings nope)

# Files.
expect(0 out "check.csv has some distances; --every-distance writes all" ${small} --csv check.csv)
file(STRINGS check.csv csv)
list(LENGTH csv thinned)
if(NOT thinned EQUAL 1091)  # 65 distances below and at 64, 44 beyond
  message(FATAL_ERROR "check.csv has ${thinned} lines")
endif()
execute_process(COMMAND "${PROGRAM}" ${VERB} ${small} --csv - OUTPUT_VARIABLE out)
file(READ check.csv csv)
if(NOT out STREQUAL csv)
  message(FATAL_ERROR "--csv - must write what --csv FILE does, and nothing else, got ${out}")
endif()
expect(0 out "llama" ${small} --csv check.csv --svg check.svg --every-distance)
expect_files(check.csv 5121 check.svg "")  # a header, 5 encodings x 2 softmaxes x 512 distances

expect(0 out "KERPLE" ${small} --encodings kerple-log --csv check.csv)
file(STRINGS check.csv csv)
list(GET csv 1 line)
if(NOT line MATCHES "^llama-2-7b,\"KERPLE, logarithm\",plain,0,")
  message(FATAL_ERROR "a name with a comma must be quoted: ${line}")
endif()
file(REMOVE check.csv)

# Heads apart, other biases, several models in one figure.
expect(0 out "ALiBi, head 0 .*ALiBi, head 31 " ${small} --encodings alibi --heads-apart)
expect(0 out "KERPLE, logarithm: .*KERPLE, power: .*Sandwich: " ${small} --encodings kerple-log,kerple-power,sandwich)
expect(0 out "mpt" --model mpt-7b,bloom-176b --encodings alibi --svg check.svg --together)
file(READ check.svg svg)
string(REGEX MATCHALL "<path class='band[^>]*>" bands "${svg}")
list(LENGTH bands count)
if(NOT count EQUAL 6 OR NOT svg MATCHES "mpt-7b, trained: 2,048.*mpt-7b: ALiBi.*bloom-176b: ALiBi")  # two models in three charts
  message(FATAL_ERROR "check.svg has ${count} bands: ${svg}")
endif()
file(REMOVE check.svg)

# Encodings of one model need no name of the model; titles and names are whole, and no name covers a curve: a legend has them.
expect(0 out "base 500k" --base 500k --range 512 --encodings rope,alibi,nope,sinusoidal --together --svg check.svg)
file(READ check.svg svg)
if(svg MATCHES "…" OR NOT svg MATCHES ">head_dim 128, base 500k: weight, adaptive softmax<.*>sinusoidal<")
  message(FATAL_ERROR "check.svg must have whole titles: ${svg}")
endif()
file(REMOVE check.svg)

# The layers of a model that is read.
if(MODELS)
  expect(0 out "gemma-3-27b: gemma3.*sliding_attention: RoPE: the logit.*full_attention: RoPE, linear rule: the logit" --config "${MODELS}/gemma-3-27b.json" --range 2048)
  expect(0 out "qwen3-8b: qwen3, 36 layers; head_dim 128, 256 tokens.* RoPE: the logit" --model qwen3-8b --range 256)
  expect(0 out "mpt-7b: mpt.*ALiBi, head 0: .*ALiBi, head 31: " --config "${MODELS}/mpt-7b.json" --heads-apart --range 64)
  file(COPY "${MODELS}/phi-2.json" "${MODELS}/qwen3-8b.json" DESTINATION check.models)
  expect(0 out "phi-2: phi.*qwen3-8b: qwen3" --config check.models --range 64)
  # Models of one name are told apart by their folders; a long curve is a mean in an envelope.
  file(COPY check.models/qwen3-8b.json DESTINATION check.models/other)
  expect(0 out "qwen3-8b: .*other/qwen3-8b: " --config check.models/qwen3-8b.json check.models/other --range 4096 --together --svg check.svg)
  file(READ check.svg svg)
  if(NOT svg MATCHES "class='band f0'.*class='band f1'.*>qwen3-8b: RoPE<.*>other/qwen3-8b: RoPE<")
    message(FATAL_ERROR "check.svg does not tell models apart: ${svg}")
  endif()
  file(REMOVE check.svg)
  file(RENAME check.models/phi-2.json check.models/config.json)
  expect(0 out "check.models: phi, 32 layers" --config check.models --range 64)
  file(REMOVE_RECURSE check.models)
  expect(1 err "T5 buckets need the model's weights" --config "${MODELS}/t5-small.json")
  expect(1 err "no-such.json: cannot be read: No such file" --config no-such.json)
endif()

# Wrongly.
expect_refusals(${small})
expect(1 err "--model: there is no model gpt-j-6; the nearest is gpt-j-6b" --model gpt-j-6)
expect(1 err "there is no model xyz; posenc inspect --list has all" --model xyz)
expect(1 err "--encodings.*must be one of rope, p-rope, .*, got xrope; the nearest is rope" --encodings rope,xrope)
expect(1 err "--p.*1.5" --p 1.5)
expect(1 err "p must be in .0, 1., got NaN" --p nan)
expect(1 err "even and positive, got 7" --head-dim 7)
expect(1 err "base must be finite and positive, got 0" --base 0)
expect(1 err "base must be finite and positive, got NaN" --base nan)
expect(1 err "requires" --samples 5)
# What nothing reads.
foreach(option "--p 0.25" "--window 64" "--group 4" "--gate 0.5" "--heads 8" "--base 5e5" --heads-apart)
  separate_arguments(option)
  list(GET option 0 name_of_option)
  expect(1 err "${name_of_option} is not read: it is of [a-z, -]+, which --encodings does not name" ${small} --encodings nope ${option})
endforeach()
expect(1 err "--window is not read: it is of rerope, self-extend" ${small} --window 64)
expect(1 err "requires --csv" ${small} --every-distance)
expect(1 err "requires --svg" ${small} --together)
if(MODELS)
  foreach(option "--encodings nope" "--p 0.25" "--window 64" "--group 4" "--gate 0.5" "--heads 8" "--base 5e5" "--head-dim 64")
    separate_arguments(option)
    list(GET option 0 name_of_option)
    expect(1 err "${name_of_option} is not read: the layers of llama-3.1-8b have their own encoding; for another one, leave that model out" --model llama-3.1-8b ${option})
    expect(1 err "${name_of_option} is not read: the layers of .*phi-2.json have" --config "${MODELS}/phi-2.json" ${option})
  endforeach()
  expect(1 err "--heads-apart is not read: no layer of .*phi-2.json has heads that differ" --config "${MODELS}/phi-2.json" --heads-apart)
endif()

# An error leaves alone what is there.
expect_kept("base must be finite and positive" --base 0)

# Any terminal, and ranges of few distances.
expect_at_every_width(--model llama-2-7b --range 64 --encodings rope)
foreach(range 2 3 5)
  expect(0 out "distance +0 +1 " --model llama-2-7b --encodings rope --range ${range})
endforeach()
expect_at_every_width(--model llama-2-7b --range 2 --encodings rope)
if(MODELS)
  expect_of_pipes(0 out "llama, 32 layers; head_dim 128" "${MODELS}/llama-2-7b.json" --range 64 --config @)
  expect_of_pipes(0 out "bloom, 70 layers" "${MODELS}/bloom-176b.json" --range 64 --heads-apart --config @)
endif()
