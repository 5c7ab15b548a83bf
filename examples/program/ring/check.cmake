# The ring runs under MPIEXEC, with the options BEFORE a number of ranks.
separate_arguments(before UNIX_COMMAND "${BEFORE}")
expect_narrow(--tokens 40 --heads 4 --head-dim 16)
set(ENV{NO_COLOR} 1)
function(expect ranks code where pattern)
  set(command "${MPIEXEC}" ${before} ${ranks} "${PROGRAM}" ring)
  if(ranks EQUAL 1)
    set(command "${PROGRAM}" ring)  # by itself
  endif()
  expect_of(${code} ${where} "${pattern}" ${command} ${ARGN})
  # mpiexec adds lines of its own, but no other rank does.
  string(REGEX MATCHALL "posenc ring: " said "${err}")
  list(LENGTH said lines)
  if((code EQUAL 0 AND NOT err STREQUAL "") OR (code EQUAL 1 AND NOT (lines EQUAL 1 AND err MATCHES "^posenc ring: [^\n]+\n")))
    message(FATAL_ERROR "${ranks} ranks, ${ARGN}: expected one line by one rank if there is an error, got\n${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

# Splits, encodings, ranks without a token, tokens that ranks do not divide.
set(small --heads 4 --head-dim 16)
expect(3 0 out "contiguous 0 33 .*striped 0 34 .*zig-zag 0 33 .*of what rounding may cost" --tokens 100 ${small})
expect(3 0 out "alibi with position temperature.*of what rounding may cost" --tokens 100 ${small} --encoding alibi --temperature position)
expect(3 0 out "nope with constant temperature.*of what rounding may cost" --tokens 100 ${small} --encoding nope --temperature constant)
expect(4 0 out "3 tokens on 4 ranks.*1 of 4 ranks have nothing to do" --tokens 3 ${small})
expect(1 0 out "on 1 rank.*bit for bit" --tokens 100 ${small} --split striped)

# Contiguous shards of a causal sequence share work badly: one of 4 ranks sees 25 % of the mean, another 175 %.
expect(4 0 out "contiguous 0 [0-9]+ [0-9,]+ 0.25 .* 3 [0-9]+ [0-9,]+ 1.75 " --tokens 400 ${small} --split contiguous)
expect(4 0 out "zig-zag: all ranks see as many pairs; if all keep step, 100 %" --tokens 400 ${small} --split zig-zag)
# 2 x 2 kv heads x 16 dims x 4 bytes of each of 100 tokens.
expect(4 0 out "sends at most 25 KiB a step, 3 times, and holds three such parts, 75 KiB.*it would hold 100 KiB" --tokens 400 ${small})

# Two and four ranks, each split.
foreach(ranks 2 4)
  expect(${ranks} 0 out "on ${ranks} ranks; 8 heads, 2 of keys and values" --tokens 301)
endforeach()

# Files.
expect(2 0 out "Ring" --tokens 100 ${small} --csv check_ring.csv --svg check_ring.svg)
expect_files(check_ring.csv 13 check_ring.svg "")  # a header, 3 splits x 2 ranks x 2 steps

# Wrongly: no rank waits for another, and one of them says why.
expect(1 1 err "must be one of none, constant, position, got adaptive" --temperature adaptive)
expect(2 1 err "cannot write no/such/folder/x.csv: No such file" --csv no/such/folder/x.csv)
expect(1 1 err "kv_heads must divide heads, got 3 kv heads for 8 heads" --kv-heads 3)
expect(1 1 err "even and positive, got 7" --head-dim 7)
expect(1 1 err "--split.*braided" --split braided)
expect(1 1 err "--tokens.*0" --tokens 0)
expect(1 1 err "MPI counts at most 2147483647 numbers" --tokens 1048576 --heads 1024)
expect(1 1 err "different files, got check.out twice" --csv check.out --svg check.out)
