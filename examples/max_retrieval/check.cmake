# Runs the program as people would, rightly and wrongly. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")

# Two small trainings; and again, one after the other.
set(small --steps 150 --batch 64 --seeds 2 --sets 200 --largest 64)
expect(0 out "2 networks, trained for 150 steps .* seeds 3 to 4\\. .*Plain softmax .* from 16 to 64 items .*Adaptive temperature, as published, does .*A constant beta of [248], .*A polynomial fitted to the network itself, .*Hard attention, .*It took [0-9]+ s on 2 threads"
  ${small} --seed 3 --threads 2 --csv check.csv --svg check.svg --maps check_maps.svg)
expect(0 out "It took [0-9]+ s on 1 thread\\." ${small} --seed 3 --threads 1 --csv again.csv)
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

# The file: of each seed, size and rule an accuracy far above that of a guess, which is 0.1, and right within sets of 64 to 5 deviations.
file(STRINGS check.csv lines)
list(LENGTH lines count)
list(POP_FRONT lines header)
if(NOT count EQUAL 43 OR NOT header STREQUAL "seed,items,rule,accuracy,largest_weight,entropy,inverse_temperature,unaided,training_loss")
  message(FATAL_ERROR "check.csv has ${count} lines, the first of them ${header}")
endif()
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^[34],(16|32|64),(plain|adaptive|own fit|beta [248]|hard),(0\\.[2-9][0-9]*|1),(0\\.[0-9]+|1),(-?[0-9.e-]+),([0-9]+\\.[0-9]+|1|2|4|8|1000000),0,[01]\\.[0-9]+$")
    message(FATAL_ERROR "check.csv has the line ${line}")
  endif()
  if(line MATCHES ",16,plain," AND NOT line MATCHES "^[34],16,plain,0\\.[6-9]")
    message(FATAL_ERROR "too little was learnt: ${line}")
  endif()
  string(REPLACE "," ";" fields "${line}")
  list(GET fields 1 items)
  list(GET fields 2 rule)
  list(GET fields 4 weight)
  list(GET fields 6 beta)
  if(rule STREQUAL plain)
    set(plain_weight ${weight})
    if(NOT beta EQUAL 1)
      message(FATAL_ERROR "plain softmax has no other temperature than 1: ${line}")
    endif()
  elseif(rule MATCHES "^beta ([248])$" AND NOT beta EQUAL CMAKE_MATCH_1 OR rule STREQUAL hard AND NOT (beta EQUAL 1000000 AND weight GREATER 0.999))
    message(FATAL_ERROR "this is not its temperature: ${line}")
  elseif(items EQUAL 64 AND NOT (beta GREATER 1 AND weight GREATER plain_weight))
    message(FATAL_ERROR "a rule must sharpen, and makes of ${plain_weight} this: ${line}")
  endif()
endforeach()
expect(0 out "Plain" ${small} --seed 5 --csv again.csv)
file(READ again.csv again)
if(csv STREQUAL again)
  message(FATAL_ERROR "the seed changes nothing")
endif()
file(REMOVE check.csv again.csv check.svg check_maps.svg)

# As small as it gets: nothing is learnt, and nothing met that is larger than in training.
set(tiny --steps 1 --batch 1 --seeds 2 --sets 3)
expect(0 out "met no sets larger" ${tiny} --largest 16)

# Rows so diffuse that adaptive temperature, as published, does nothing.
expect(0 out "leaves alone 100 % of the sets of 1024 items .* mean beta there is 1.00\\." ${tiny} --largest 1024)

# Symbols where the terminal knows UTF-8, ASCII elsewhere.
expect_utf8("±.*⠤|⠤.*±" ${tiny} --largest 32)

# Wrongly.
expect_refusals(${tiny} --largest 16)
expect(1 err "--steps.*0" --steps 0)
expect(1 err "--batch.*-3" --batch=-3)
expect(1 err "--seeds.*1 " --seeds 1)
expect(1 err "--sets.*0" --sets 0)
expect(1 err "--largest.*15" --largest 15)
expect(1 err "--largest" --largest 99999999999999999999)
expect(1 err "--threads.*0" --threads 0)
expect(1 err "--columns.*10" --columns 10)
expect(1 err "--steps.*ten" --steps ten)
expect(1 err "different files, got check.out twice" ${tiny} --csv check.out --maps check.out)

expect(0 out "Examples: max_retrieval " --help)

# A first look says what it is. Other settings of its own are refused.
expect(0 out "3 networks, trained for 1000 steps .* from 16 to 1024 items " --quick --batch 1 --sets 3)
expect(1 err "--seeds excludes --quick" --quick --seeds 4)
