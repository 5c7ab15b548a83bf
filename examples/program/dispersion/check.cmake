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

# A length that is no power of two comes last; a rule by what it is told.
expect(0 out "At 1000 keys.*log-n 64: of the rows measured, beta is above 1 from 128 to 1000 keys, 1.661 at most, at 1000.*SSMax 0.5" --largest 1000 --trained 64 --scale 0.5)

# Braille where the terminal knows UTF-8, ASCII elsewhere; no wider than told.
expect_utf8("⠉")
execute_process(COMMAND "${PROGRAM}" ${VERB} --columns 62 OUTPUT_VARIABLE ascii)
string(REPEAT "[^\n]" 63 wide)
if(ascii MATCHES "${wide}")
  message(FATAL_ERROR "wider than 62 columns: ${CMAKE_MATCH_0}\n${ascii}")
endif()

# Wrongly.
expect_refusals()
expect(1 err "--scores.*linear" --scores linear)
expect(1 err "delta must be finite|--delta.*nan" --delta nan)  # CLI11 knows NaN in some builds
expect(1 err "--eps must be between 0 and 1" --eps 1)
expect(1 err "--eps must be between 0 and 1" --eps nan)
expect(1 err "scales must be finite and positive, got 0" --scale 0)
expect(1 err "trained_length must be finite and above 1, got 1" --trained 1)
expect(1 err "for random scores, which gap has not" --scores gap --draws 3)

# An error leaves alone what is there.
expect_kept("scales must be finite and positive" --scale 0)


expect_at_every_width(--largest 64)
