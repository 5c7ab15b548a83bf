# Runs the program as people would, rightly and wrongly. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")

set(small --model llama-2-7b --range 512)
expect(0 out "RoPE \\(its own\\): the logit goes from 11.3 to [0-9.]+, not steadily \\(it first rises at distance 12\\)" ${small})
expect(0 out "RoPE.*first falls below half at 46 and below 0 at 1707" --model llama-2-7b --encodings rope)
expect(0 out "NoPE: the logit 11.3 is the same at every distance" ${small})
expect(0 out "correlation 0.5, 2 queries, seed 7" ${small} --rho 0.5 --samples 2 --seed 7 --encodings rope,nope)
expect(0 out "p-RoPE 0.25 \\(its own\\)" --model gemma-4-31b --range 64)
foreach(model gpt-j-6b gpt-neox-20b gemma-3-27b gemma-3-27b-local gemma-4-31b-local gemma-4-26b-a4b qwen3-vl-8b qwen3.5-27b mimo-v2-flash
    command-r7b bloom-176b baichuan2-13b mpt-7b)
  expect(0 out "${model}: .*\\(its own\\): the logit" --model ${model} --range 32)
endforeach()

# Braille where the terminal knows UTF-8, ASCII elsewhere.
execute_process(COMMAND "${PROGRAM}" ${small} OUTPUT_VARIABLE ascii)
set(ENV{LC_ALL} C.UTF-8)
execute_process(COMMAND "${PROGRAM}" ${small} OUTPUT_VARIABLE utf8)
if(ascii MATCHES "[^\t\n -~]" OR NOT utf8 MATCHES "⠉")
  message(FATAL_ERROR "wrong characters:\n${ascii}\n${utf8}")
endif()

# Files.
expect(0 out "llama" ${small} --csv check.csv --svg check.svg)
file(STRINGS check.csv csv)
list(LENGTH csv lines)
file(READ check.svg svg)
if(NOT lines EQUAL 5121 OR NOT svg MATCHES "^<svg.*</svg>\n?$")  # a header, 5 encodings x 2 softmaxes x 512 distances
  message(FATAL_ERROR "check.csv has ${lines} lines; check.svg is ${svg}")
endif()
file(REMOVE check.csv check.svg)

# Wrongly.
expect(1 err "no-such-option" --no-such-option)
expect(1 err "--model.*llama-3.*gpt-j-6b" --model llama-3)
expect(1 err "--encodings.*xpos" --encodings rope,xpos)
expect(1 err "--p.*1.5" --p 1.5)
expect(1 err "p must be in .0, 1., got NaN" --p nan)
expect(1 err "--rho.*-2" --rho=-2)
expect(1 err "--range.*0" --range 0)
expect(1 err "--range" --range 99999999999999999999)
expect(1 err "even and positive, got 7" --head-dim 7)
expect(1 err "base must be finite and positive, got 0" --base 0)
expect(1 err "base must be finite and positive, got NaN" --base nan)
expect(1 err "--base.*ten" --base ten)
expect(1 err "cannot write no/such/folder/x.csv: No such file" ${small} --csv no/such/folder/x.csv)
expect(1 err "cannot write no/such/folder/x.svg: No such file" ${small} --svg no/such/folder/x.svg)
expect(1 err "stray" stray)
expect(1 err "excludes" --all-ones --rho 0.5)
expect(1 err "requires" --samples 5)
expect(1 err "different files, got check.out twice" ${small} --csv check.out --svg check.out)

# An error leaves alone what is there.
file(WRITE check.csv "precious")
expect(1 err "base must be finite and positive" --base 0 --csv check.csv)
file(READ check.csv kept)
if(NOT kept STREQUAL "precious")
  message(FATAL_ERROR "check.csv was overwritten: ${kept}")
endif()
file(REMOVE check.csv)
