# Two small trainings; and again, one after the other.
set(small --steps 150 --batch 64 --seeds 2 --sets 200 --largest 64)
expect(0 out "2 networks, trained for 150 steps .* seeds 3 to 4\\. .*Accuracy, %: the mean .* 64 .*Points below hard attention.* 64 .*of the own fit; and the paper's.* 64 .*It took ([0-9]+ min )?[0-9]+ s on 2 threads"
  ${small} --seed 3 --threads 2 --csv check.csv --svg check.svg --maps check_maps.svg)
expect(0 out "It took ([0-9]+ min )?[0-9]+ s on 1 thread\\." ${small} --seed 3 --threads 1 --csv again.csv)
file(READ check.csv csv)
file(READ again.csv again)
file(READ check.svg svg)
file(READ check_maps.svg maps)
if(NOT csv STREQUAL again)
  message(FATAL_ERROR "the numbers depend on the threads:\n${csv}\n${again}")
endif()
if(NOT svg MATCHES "^<svg.*paper, plain.*</svg>\n?$")
  message(FATAL_ERROR "check.svg is ${svg}")
endif()

# Of each size a map, plain over adaptive; under it a weight of the largest item, which adaptive temperature raises at 64.
string(REGEX MATCHALL ">0\\.[0-9][0-9]<|>[0-9]+ items<|>plain softmax<|>adaptive temperature, as published<" captions "${maps}")
if(NOT "${captions}" MATCHES "^>plain softmax<;>0\\.[0-9]+<;>16 items<;>0\\.[0-9]+<;>32 items<;>(0\\.[0-9]+)<;>64 items<;>adaptive temperature, as published<;>0\\.[0-9]+<;>16 items<;>0\\.[0-9]+<;>32 items<;>(0\\.[0-9]+)<;>64 items<$"
   OR NOT CMAKE_MATCH_1 LESS CMAKE_MATCH_2)
  message(FATAL_ERROR "check_maps.svg has the captions ${captions}")
endif()

# The file: of each seed, size and rule an accuracy far above that of a guess, which is 0.1.
file(STRINGS check.csv lines)
list(LENGTH lines count)
list(POP_FRONT lines header)
if(NOT count EQUAL 25 OR NOT header STREQUAL "seed,items,measure,plain,adaptive,own fit,beta 8,2 log n,half,critical,hard")
  message(FATAL_ERROR "check.csv has ${count} lines, the first of them ${header}")
endif()
foreach(line IN LISTS lines)
  if(line MATCHES "^[34],(16|32|64),accuracy," AND NOT line MATCHES "^[34],(16|32|64),accuracy(,0\\.[2-9][0-9]*|,1)+$"
     OR line MATCHES ",16,accuracy," AND NOT line MATCHES "^[34],16,accuracy,0\\.[6-9]")
    message(FATAL_ERROR "too little was learnt: ${line}")
  endif()
  string(REPLACE "," ";" fields "${line}")
  list(GET fields 1 items)
  list(GET fields 2 measure)
  list(SUBLIST fields 3 -1 numbers)
  list(LENGTH numbers count)
  foreach(rule plain adaptive own beta_8 log_n half critical hard)
    list(POP_FRONT numbers ${rule})
  endforeach()
  if(NOT count EQUAL 8 OR measure STREQUAL inverse_temperature AND NOT (plain EQUAL 1 AND beta_8 EQUAL 8 AND hard EQUAL 1000000))
    message(FATAL_ERROR "these are not its temperatures: ${line}")
  elseif(measure STREQUAL inverse_temperature AND items EQUAL 64 AND NOT (log_n EQUAL 3 AND adaptive GREATER 1 AND half GREATER 1 AND critical GREATER half))
    message(FATAL_ERROR "a rule must sharpen: ${line}")
  elseif(measure STREQUAL largest_weight AND NOT (adaptive GREATER_EQUAL plain AND half GREATER 0.4999 AND critical GREATER 0.4999 AND hard GREATER 0.999))
    message(FATAL_ERROR "a weight must be half: ${line}")
  endif()
endforeach()
# Its table, again, by itself.
execute_process(COMMAND "${PROGRAM}" ${VERB} --table check.csv OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
if(NOT table MATCHES "^Accuracy, %: the mean over seeds, and its standard error\n items +plain +adaptive +beta 8 +2 log n +half +critical +hard\n    16 .*\n    64 [^\n]*\n\nPoints below hard attention[^\n]*\n[^\n]*\n    16 ")
  message(FATAL_ERROR "the table of check.csv is ${table}")
endif()
expect(1 err "--table excludes|excludes --table" --table check.csv --seeds 3)
expect(1 err "no-file.csv: cannot be read" --table no-file.csv)
expect(1 err "check.svg: must begin with seed,items,measure,plain" --table check.svg)
file(WRITE again.csv "${header}\n1,16,accuracy,1,1,1,1,1,1,1\n")
expect(1 err "again.csv: must have an accuracy for each rule, got 1,16," --table again.csv)
file(WRITE again.csv "${header}\n1,16,accuracy,1,1,1,1,1,1,1,1\n")
expect(1 err "again.csv: must have two seeds or more" --table again.csv)
file(APPEND again.csv "2,32,accuracy,1,1,1,1,1,1,1,1\n")
expect(1 err "again.csv: must have the same sizes for every seed, got 2,32," --table again.csv)

# Networks that are trained for longer: among many items half the weight is far above plain softmax, and where hard attention is. And
# the page has the table of results.csv, which --seeds 32 --sets 500 wrote, and what it says of its 4096 items.
set(ENV{LC_ALL} C.UTF-8)
execute_process(COMMAND "${PROGRAM}" ${VERB} --steps 400 --seeds 2 --sets 100 --largest 512 --csv again.csv OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PROGRAM}" ${VERB} --table again.csv OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
if(NOT table MATCHES "\n   512  +([0-9]+)\\.[0-9] ± [0-9.]+ +[0-9.-]+ ± [0-9.]+ +[0-9.-]+ ± [0-9.]+ +-?([0-9]+)\\.[0-9] ± [0-9.]+ +[0-9.-]+ ± [0-9.]+\n"
   OR CMAKE_MATCH_1 LESS 8 OR CMAKE_MATCH_2 GREATER 5)
  message(FATAL_ERROR "half the weight must be far from plain softmax (${CMAKE_MATCH_1}) and near hard attention (${CMAKE_MATCH_2}):\n${table}")
endif()
execute_process(COMMAND "${PROGRAM}" ${VERB} --table "${SOURCE}/examples/max_retrieval/results.csv" OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
set(ENV{LC_ALL} C)
file(READ "${SOURCE}/examples/README.md" page)
string(REGEX REPLACE "\n" " " sentences "${page}")
string(REGEX MATCH "^(.*\n 16384 [^\n]*\n)\n.*\n  4096  +[0-9.]+ ± [0-9.]+ +([0-9.]+ ± [0-9.]+) .* -([0-9.]+ ± [0-9.]+) +[0-9.-]+ ± [0-9.]+\n  8192" matched "${table}")
string(FIND "${page}" "```\n${CMAKE_MATCH_1}```" at_table)
string(FIND "${sentences}" "${CMAKE_MATCH_2} points below hard attention" at_adaptive)
string(FIND "${sentences}" "half the weight is ${CMAKE_MATCH_3} points above hard attention" at_half)
if(matched STREQUAL "" OR at_table EQUAL -1 OR at_adaptive EQUAL -1 OR at_half EQUAL -1)
  message(FATAL_ERROR "the page must have this table, \"${CMAKE_MATCH_2} points below hard attention\" and \"half the weight is ${CMAKE_MATCH_3} points above hard attention\":\n${table}")
endif()

expect(0 out "Accuracy" ${small} --seed 5 --csv again.csv)
file(READ again.csv again)
if(csv STREQUAL again)
  message(FATAL_ERROR "the seed changes nothing")
endif()
file(REMOVE check.csv check.svg check_maps.svg)

# As small as it gets: nothing is learnt, and nothing met that is larger than in training.
set(tiny --steps 1 --batch 1 --seeds 2 --sets 3)
expect(0 out "hard 16 [^\n]* Points below hard attention" ${tiny} --largest 16)

# Rows so diffuse that adaptive temperature, as published, does nothing.
expect(0 out "It took" ${tiny} --largest 1024 --csv again.csv)
file(READ again.csv again)
if(NOT again MATCHES "\n1,1024,inverse_temperature,1,1,.*\n2,1024,inverse_temperature,1,1,")
  message(FATAL_ERROR "adaptive temperature must leave all sets of 1024 items alone:\n${again}")
endif()

# Symbols where the terminal knows UTF-8, ASCII elsewhere.
expect_utf8("±.*⠤|⠤.*±" ${tiny} --largest 32)

# Ctrl-C at any time leaves a whole file or none, and an old file whole.
foreach(seconds 0.01 0.02 0.03 0.04 0.05 0.07 0.1)
  foreach(old "" "precious\n")
    file(REMOVE again.csv)
    if(old)
      file(WRITE again.csv "${old}")
    endif()
    execute_process(COMMAND env --default-signal=INT timeout -s INT ${seconds} "${PROGRAM}" ${VERB} ${tiny} --largest 1024 --csv again.csv OUTPUT_QUIET ERROR_QUIET)
    set(kept "")
    if(EXISTS again.csv)
      file(READ again.csv kept)
    endif()
    if(NOT kept STREQUAL "${old}" AND NOT kept MATCHES "^seed,items,.*\n2,1024,inverse_temperature,[^\n]*\n$")
      message(FATAL_ERROR "Ctrl-C after ${seconds} s left half of a file:\n${kept}")
    endif()
  endforeach()
endforeach()
file(REMOVE again.csv)

# Wrongly.
expect_refusals(${tiny} --largest 16)
expect(1 err "--steps.*0" --steps 0)
expect(1 err "different files, got check.out twice" ${tiny} --csv check.out --maps check.out)


# A first look says what it is, and refuses the settings that it makes.
expect(0 out "3 networks, trained for 1000 steps .* 1024 [^ ]* .*Points below" --quick --batch 1 --sets 3)
expect(1 err "--seeds excludes --quick" --quick --seeds 4)
