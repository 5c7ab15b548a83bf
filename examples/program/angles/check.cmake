# The figures of the README, which a float libm may move in their second digit.
expect(0 out "posenc angle 3.0e-08 3.0e-08 3.0e-08 3.0e-08 score" --last 1000000)
expect(0 out "Hugging Face, vLLM angle [67]..e-05 [67]..e-04 [78]..e-03 [67]..e-02 score ....... ....... ....... 1.[12]e-02 weight ....... ....... 1.[678]e-01 3..e.00" --last 1000000)
expect(0 out "ggml on CPUs angle [89]..e-05 [89]..e-04 [89]..e-03 9..e-02 score ....... ....... ....... [23]..e-02 weight ....... ....... [12]..e-01 [56]..e.00" --last 1000000)
file(READ "${SOURCE}/README.md" readme)
string(REGEX REPLACE "[ \n]+" " " readme "${readme}")
if(NOT readme MATCHES "within 3.0e-8 .* off by up to 0.07 radians .ggml on CPUs: 0.09.* At 100,000 .* by 17 to 20 %")
  message(FATAL_ERROR "the README must have the figures of posenc angles")
endif()

# Numbers as charts write them.
expect(0 out "head_dim 128, base 500k; each.*position 1k 10k posenc" --base 500k --last 10k --around 1)

# More positions, other frequencies.
expect(0 out "head_dim 64, base 10k; each point is the worst of 2 positions" --head-dim 64 --base 10000 --around 2 --last 1000)
expect(0 out "position 1k 10k 100k posenc" --around 1 --last 100000)

# Files.
expect(0 out "posenc" --around 1 --last 1000 --csv check.csv --svg check.svg)
expect_files(check.csv 69 check.svg "Error of an angle.*Ratio of two attention weights")  # a header, 4 ways x 17 positions

# Wrongly.
expect_refusals(--around 1 --last 1000)
expect(1 err "even and positive, got 7" --head-dim 7)
expect(1 err "--base.*0" --base 0)
expect_narrow(--around 1 --last 2000)
expect_at_every_width(--around 1 --last 1000)
