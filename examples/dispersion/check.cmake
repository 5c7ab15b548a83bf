# Runs the program as people would, rightly and wrongly. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")

# Of check.csv, the number in a column of the line of a rule and a number of keys must begin so.
function(expect_number rule keys column begins)
  file(STRINGS check.csv lines)
  list(GET lines 0 header)
  string(REPLACE "," ";" header "${header}")
  list(FIND header "${column}" at)
  list(FILTER lines INCLUDE REGEX "^${rule},${keys},")
  string(REPLACE "," ";" numbers "${lines}")
  list(GET numbers ${at} number)
  string(FIND "${number}" "${begins}" place)
  if(NOT place EQUAL 0)
    message(FATAL_ERROR "${rule} of ${keys} keys: expected ${column} ${begins}, got ${number}")
  endif()
endfunction()

# Random scores: the program itself answers with an error if a weight is outside of its bounds.
expect(0 out "one key at 5.69, the others uniform between 0 and 5.69; 8 draws, seed 1.*all weights of 816 rows lie within their bounds")
expect(0 out "Gaussian between 0 and 30; 3 draws, seed 7.*all weights of 306 rows lie" --scores gaussian --delta 30 --draws 3 --seed 7)
expect(0 out "all weights of 48 rows lie" --delta 100 --draws 1 --largest 200)
expect(0 out "all weights of 6 rows lie" --draws 1 --largest 2)

# When all weights are below eps, whatever the scores, tightly and as published: Gemma 2B and 7B.
expect(0 out "all weights are below 0.01 from 29295 keys on .by the published bound, 29590" --largest 1024)
expect(0 out "from 33362 keys on .by the published bound, 33698" --largest 1024 --delta 5.82)
expect(0 out "weight of 0.99 among 1024 keys takes beta . delta of 11.53 at least" --largest 1024)
expect(0 out "weight of 0.99 among 131072 keys takes beta . delta of 16.38 at least; there is 5.69 .softmax.*28.83 .SSMax 0.43" --draws 1)

# Uniform rows: as published, adaptive temperature leaves those over 382 keys or more alone, at an entropy above 5.9445; held it does not.
expect(0 out "adaptive: of the rows measured, beta is above 1 from 4 to 256 keys, [0-9.]+ at most, at [0-9]+; it switches itself off at 382 keys, where the \
entropy is 5.945 nats" --scores gap --delta 0 --csv check.csv)
expect(0 out "adaptive held: of the rows measured, beta is above 1 from 4 to 131072 keys, 2.421 at most, at [0-9]+; its bound" --scores gap --delta 0)
expect_number("adaptive" 131072 largest_mean 7.62939453e-06)
expect_number("SSMax ln n" 131072 entropy_mean 11.78350)

# One score 3 above all others, which are equal, has the largest weight there can be.
expect(0 out "softmax: .*1 of its bound.*SSMax 0.43: .*its bound falls to 0.66[0-9]+ at [48] and is 0.9682 at 131072" --scores gap --delta 3
  --csv check.csv --svg check.svg)
foreach(column largest_mean most_mean)
  expect_number("softmax" 16 ${column} 0.57247)
  expect_number("softmax" 1024 ${column} 0.019255)
  expect_number("softmax" 131072 ${column} 0.00015321)
  expect_number("SSMax 0.43" 16 ${column} 0.70445)
  expect_number("SSMax 0.43" 1024 ${column} 0.88195)
  expect_number("SSMax 0.43" 131072 ${column} 0.96823)
  expect_number("adaptive" 16 ${column} 0.96824)
endforeach()
expect_number("adaptive" 16 beta_mean 2.04184)
expect_number("adaptive" 1024 beta_mean 1)
expect_files(check.csv 103 check.svg "")  # a header, 6 rules x 17 lengths

# The phase figure: rules and boundaries by their formulas; half weight and twice the critical temperature of typical rows of 65536
# scores, in closed form (uniform: n ln 2 / 5.69; one above the rest: ln(n - 1) / 5.69) or computed in Python.
expect(0 out "are below the boundary from 287 to a million keys; SSMax 0.43 ln n and constant 8 stay above.*up to a similarity of 0.79" --phase --csv check.csv
  --svg check.svg)
foreach(expected "rho 0.5 1.96051" "rho 0.75 3.92103" "rho 0 0.98025" "softmax 1" "Llama 4 1.219722" "log n / log 8192 1.2307" "YaRN from 8192 1.459129"
    "SSMax 0.43 ln n 4.768852" "constant 8 8" "uniform: n 7983.4962" "twice critical, uniform: n 15966.99" "one above the rest: ln n 1.949093"
    "twice critical, one above the rest: ln n 3.89819" "normal: .ln n.^.1/2. 5.53244" "twice critical, normal: .ln n.^.1/2. 6.79025"
    "on a sphere of 5 dims: n^.1/2. 107.3058" "twice critical, on a sphere of 5 dims: n^.1/2. 152.694")
  string(REGEX REPLACE "^(.*) ([0-9.]+)$" "\\1" curve "${expected}")
  set(begins "${CMAKE_MATCH_2}")
  string(REPLACE "^" "\\^" curve "${curve}")
  file(STRINGS check.csv line REGEX "^${curve},65536,")
  string(REGEX REPLACE "^.*," "" number "${line}")
  string(FIND "${number}" "${begins}" place)
  if(NOT place EQUAL 0)
    message(FATAL_ERROR "${curve} at 65536 keys must be ${begins}, got ${line}")
  endif()
endforeach()
expect(0 out "log n / log 64 .* below the boundary" --phase --trained 64 --scale 2 --columns 62)
foreach(other "--delta;3" "--rows;check.csv" "--eps;0.1" "--draws;3")
  expect(1 err "--phase excludes|excludes --phase" --phase ${other})
endforeach()

# Scores of one's own, of the rows whose entropy, beta and weight tests/golden/adaptive_temperature.hpp has: sharpened, sharp enough, too diffuse.
string(REPEAT " 0" 15 zeros)
string(REPEAT ",0" 1023 many)
file(WRITE check_rows.txt "# of a query each\n3${zeros}\n0 1 2 3 4 5 6 7 -inf\n\n5;0;0;0\n3${many}\n")
expect(0 out "rows: 4 of 4 to 1024 keys: spread 3 to 7, mean 4.5; entropy 0.1191 to 6.892, mean 2.47 nats, as of 11.8 keys of equal weight. Within the \
largest spread, no weight reaches 0.01 among 108568 keys or more.*adaptive: it sharpens 2 of 4 rows, by beta 2.04 at most; it leaves 1 alone as sharp enough .entropy \
below 0.849. and 1 as too diffuse .above 5.94.. The mean largest weight goes from 0.551 to 0.676" --rows check_rows.txt --csv check.csv --svg check.svg)
file(STRINGS check.csv rows REGEX "^(softmax|adaptive),")
if(NOT "${rows}" MATCHES "^softmax,1,16,3,1\\.84036877,1,1\\.84036877,0\\.572473409;softmax,2,8,7,1\\.03763173,1,1\\.03763173,0\\.632332683;.*\
adaptive,1,16,3,1\\.84036877,2\\.0418403[0-9]*,[0-9.]+,0\\.968246099;adaptive,2,8,7,1\\.03763173,1\\.3291519[0-9]*,[0-9.]+,0\\.735316086;\
adaptive,3,4,5,0\\.11907894,1,0\\.11907894,0\\.980186663;adaptive,4,1024,3,6\\.892170[0-9]*,1,")
  message(FATAL_ERROR "check.csv has ${rows}")
endif()
expect_files(check.csv 25 check.svg "")  # a header, 6 rules x 4 rows
expect(0 out "4 of 4 to 1024 keys: spread 1.5 to 3.5" --rows check_rows.txt --rows-scale 0.5)
expect(0 out "rows: 3 of 4 keys: spread 4; entropy 0.7059 nats, .*it sharpens 0 of 3 rows; it leaves 3 alone" --rows "${DATA}/keys.npy")
expect(1 err "--rows excludes|excludes --rows" --rows check_rows.txt --delta 3)
expect(1 err "--rows-scale requires --rows" --rows-scale 3)
expect(1 err "no-file.txt: cannot be read: No such file" --rows no-file.txt)
file(WRITE check_rows.txt "1 2\n3 nan\n")
expect(1 err "check_rows.txt: line 2 must have finite numbers or -inf, got nan" --rows check_rows.txt)
file(WRITE check_rows.txt "1 2\n-inf -inf\n")
expect(1 err "check_rows.txt: row 2 must have a key that is not masked" --rows check_rows.txt)
file(WRITE check_rows.txt "# none\n")
expect(1 err "check_rows.txt: must have a row of scores" --rows check_rows.txt)
file(WRITE check_rows.txt "")
expect(1 err "check_rows.txt: is empty" --rows check_rows.txt)
file(REMOVE check_rows.txt)
expect(1 err ".: is a directory" --rows .)

# A length that is no power of two comes last; a rule by what it is told.
expect(0 out "At 1000 keys.*log-n 64: of the rows measured, beta is above 1 from 128 to 1000 keys, 1.661 at most, at 1000.*SSMax 0.5" --largest 1000 --trained 64 --scale 0.5)

# Braille where the terminal knows UTF-8, ASCII elsewhere; no wider than told.
expect_utf8("⠉")
execute_process(COMMAND "${PROGRAM}" --columns 62 OUTPUT_VARIABLE ascii)
string(REPEAT "[^\n]" 63 wide)
if(ascii MATCHES "${wide}")
  message(FATAL_ERROR "wider than 62 columns: ${CMAKE_MATCH_0}\n${ascii}")
endif()

# Wrongly.
expect_refusals()
expect(1 err "--scores.*linear" --scores linear)
expect(1 err "--delta.*-1" --delta=-1)
expect(1 err "delta must be finite|--delta.*nan" --delta nan)  # CLI11 knows NaN in some builds
expect(1 err "--largest.*1" --largest 1)
expect(1 err "--largest" --largest 99999999999999999999)
expect(1 err "--draws.*0" --draws 0)
expect(1 err "--eps must be between 0 and 1" --eps 1)
expect(1 err "--eps must be between 0 and 1" --eps nan)
expect(1 err "scales must be finite and positive, got 0" --scale 0)
expect(1 err "trained_length must be finite and above 1, got 1" --trained 1)
expect(1 err "of random scores, which gap has not" --scores gap --draws 3)
expect(1 err "of random scores, which gap has not" --scores gap --seed 3)

# An error leaves alone what is there.
expect_kept("scales must be finite and positive" --scale 0)

expect(0 out "Examples: dispersion " --help)

expect_at_every_width(--largest 64)
