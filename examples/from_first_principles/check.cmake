# Runs the program as people would, rightly and wrongly. Run with cmake -P and PROGRAM.
include("${CMAKE_CURRENT_LIST_DIR}/../reporting/expect.cmake")

# Rounding may move the last digits of what is 0 but for it.
expect(0 out "1\\. No position .*changes by [0-9.]+e-1[5-7] at most, which is rounding\\. With positions, here RoPE's, it changes by 0\\.[0-9]+\\. .*same weight, 0\\.0625,"
  --svg check.svg)
expect(0 out "Two words whose cosine is 0.118 have 0.99 at position 10 and 0.999999 at 1000" --step 2)
expect(0 out "binary neighbours differ by 1 to 8 bits.*neighbours differ by 1 bit, always; but so do those of tokens 255 apart" --step 3)
expect(0 out "varies by [0-9.]+e-1[5-7] with the place, that of binary codes by up to 1.75" --step 4)
expect(0 out "p_\\(t\\+k\\) = R_k p_t, here to [0-9.]+e-1[56]\\..*They differ by 0 at most\\." --step 5)
expect(0 out "8192 weights rather than 4096.*the best leaves 31 % of what two make.*0.106 in 64 dims, 0.0127 in 4096" --step 6)
expect(0 out "apart score [0-9.]+ to [0-9.]+\\..*the score varies by [0-9.]+e-1[4-6], and norms change by a factor of 1 \\+- [0-9.]+e-1[56]\\." --step 7)
expect(0 out "44 tokens are whole turns but for 0.0177 radians, and 710 tokens .* 6.03e-5 radians\\. .* 2.5e\\+09\\. With the 9 fastest of 64 frequencies, 26.5" --step 8)
expect(0 out "differ by 0.708 in an entry\\. .*the score varies by [0-9.]+e-1[3-5]," --step 9)
expect(0 out "of content, 1.7 at any distance, and of position, -1.62 to 1.03\\. It is p-RoPE's score but for [0-9.]+e-1[4-6]\\." --step 10)
expect(0 out "scores 0.94 and 0.242 of its score with itself\\. .*both score 0.966\\. .*vary by [0-9.]+e-1[3-5] " --step 11)
expect(0 out "first rises at 12, is below 0 from 1707 on, and lowest, -0.28, at 17156\\. .*60 of 64 have.*at 27205 tokens\\. .*it does 0 times\\. .*rank 2,.*clipped it has rank [4-9][0-9]\\."
  --step 12)
file(READ check.svg svg)
if(NOT svg MATCHES "^<svg.*1\\. Weight of 16 copies.*12\\. Llama 2, to 50,000 tokens.*</svg>\n?$")
  message(FATAL_ERROR "check.svg is ${svg}")
endif()
file(REMOVE check.svg)

# Those of the pages, each with the charts of its steps.
file(MAKE_DIRECTORY strips)
expect(0 out "1\\. No position.*12\\. What is left open" --strips strips)
foreach(strip numbers:1.2 codes:3.3 waves:4.5 rotation:6.7 frequencies:8.8 pairs:9.10 shares:11.11 distance:12.12)
  string(REGEX MATCH "(.*):(.*)" strip "${strip}")
  string(REPLACE "." "\\. .*>" titles "${CMAKE_MATCH_2}")
  file(READ strips/${CMAKE_MATCH_1}.svg svg)
  if(NOT svg MATCHES ">${titles}\\. .*</svg>")
    message(FATAL_ERROR "strips/${CMAKE_MATCH_1}.svg has no charts of steps ${CMAKE_MATCH_2}: ${svg}")
  endif()
endforeach()
file(REMOVE_RECURSE strips)
expect(0 out "Examples: from_first_principles all steps" --help)

expect_narrow()
expect_narrow(--help)
# Wrongly.
expect(1 err "--step must be at most 12, got 13" --step 13)
expect(1 err "cannot write no/such/folder/x.svg: No such file" --svg no/such/folder/x.svg)
expect(1 err "cannot write no/such/folder/numbers.svg: No such file" --strips no/such/folder)
expect(1 err "stray" stray)
