# The phase figure: rules and boundaries by their formulas; half weight and twice the critical temperature of typical rows of 65536
# scores, in closed form (uniform: n ln 2 / 5.69; one above the rest: ln(n - 1) / 5.69) or computed in Python.
expect(0 out "SSMax 0.43 ln n and constant 8 are above the boundary up to a million keys\\. [^.]* are below the boundary from 287 keys on\\..*up to a similarity of 0.79" --csv check.csv
  --svg check.svg)
foreach(expected "rho 0.5 1.96051" "rho 0.75 3.92103" "rho 0 0.98025" "softmax 1" "Llama 4 1.219722" "log n / log 8192 1.2307" "YaRN from 8192 1.459129"
    "SSMax 0.43 ln n 4.768852" "constant 8 8" "uniform: n 7983.4962" "twice critical, uniform: n 15966.99" "one above the rest: ln n 1.949093"
    "twice critical, one above the rest: ln n 3.89819" "normal: .ln n.^.1/2. 5.53244" "twice critical, normal: .ln n.^.1/2. 6.79025"
    "on a sphere of 5 dims: n^.1/2. 107.3058" "twice critical, on a sphere of 5 dims: n^.1/2. 152.694")
  string(REGEX REPLACE "^(.*) ([0-9.]+)$" "\\1" curve "${expected}")
  set(begins "${CMAKE_MATCH_2}")
  string(REPLACE "^" "\\^" curve "${curve}")
  file(STRINGS check.csv line REGEX "^\"?${curve}\"?,65536,")
  string(REGEX REPLACE "^.*," "" number "${line}")
  string(FIND "${number}" "${begins}" place)
  if(NOT place EQUAL 0)
    message(FATAL_ERROR "${curve} at 65536 keys must be ${begins}, got ${line}")
  endif()
endforeach()
expect(0 out "log n / log 64 .* below the boundary" --trained 64 --scale 2 --columns 62)

# A run takes seconds.
expect(1 err "there is no place for stray; see posenc phase --help" stray)
expect(1 err "cannot write no/such/folder/x.svg: No such file" --svg no/such/folder/x.svg)
expect(1 err "scales must be finite and positive, got 0" --scale 0)
expect(1 err "trained_length must be finite and above 1, got 1" --trained 1)
