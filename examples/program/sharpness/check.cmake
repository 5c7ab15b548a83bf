set(data "${folder}/../tensors/check")

# Scores of one's own, of the rows whose entropy, beta and weight tests/golden/adaptive_temperature.hpp has: sharpened, sharp enough, too diffuse.
string(REPEAT " 0" 15 zeros)
string(REPEAT ",0" 1023 many)
file(WRITE check_rows.txt "# of a query each\n3${zeros}\n0 1 2 3 4 5 6 7 -inf\n\n5;0;0;0\n3${many}\n")
expect(0 out "rows: 4 of 4 to 1024 keys: spread 3 to 7, mean 4.5; entropy 0.1191 to 6.892, mean 2.47 nats, as of 11.8 keys of equal weight. Within the \
largest spread, no weight reaches 0.01 among 108568 keys or more.*adaptive: it sharpens 2 of 4 rows, by beta 2.04 at most; it leaves 1 alone as sharp enough .entropy \
below 0.849. and 1 as too diffuse .above 5.94.. The mean largest weight goes from 0.551 to 0.676" check_rows.txt --csv check.csv --svg check.svg)
file(STRINGS check.csv rows REGEX "^(softmax|adaptive),")
if(NOT "${rows}" MATCHES "^softmax,1,16,3,1\\.84036877,1,1\\.84036877,0\\.572473409;softmax,2,8,7,1\\.03763173,1,1\\.03763173,0\\.632332683;.*\
adaptive,1,16,3,1\\.84036877,2\\.0418403[0-9]*,[0-9.]+,0\\.968246099;adaptive,2,8,7,1\\.03763173,1\\.3291519[0-9]*,[0-9.]+,0\\.735316086;\
adaptive,3,4,5,0\\.11907894,1,0\\.11907894,0\\.980186663;adaptive,4,1024,3,6\\.892170[0-9]*,1,")
  message(FATAL_ERROR "check.csv has ${rows}")
endif()
expect_files(check.csv 25 check.svg "")  # a header, 6 rules x 4 rows
expect(0 out "4 of 4 to 1024 keys: spread 1.5 to 3.5" check_rows.txt --factor 0.5)
expect(0 out "rows: 3 of 4 keys: spread 4; entropy 0.7059 nats, .*it sharpens 0 of 3 rows; it leaves 3 alone" "${data}/keys.npy")
expect_refusals(check_rows.txt)
expect(1 err "--factor must be finite" check_rows.txt --factor inf)
expect(1 err "FILE is required")
expect(1 err "no-file.txt: cannot be read: No such file" no-file.txt)
file(WRITE check_rows.txt "1 2\n3 nan\n")
expect(1 err "check_rows.txt: line 2 must have finite numbers or -inf, got nan" check_rows.txt)
file(WRITE check_rows.txt "1 2\n-inf -inf\n")
expect(1 err "check_rows.txt: row 2 must have a key that is not masked" check_rows.txt)
file(WRITE check_rows.txt "# none\n")
expect(1 err "check_rows.txt: must have a row of scores" check_rows.txt)
file(WRITE check_rows.txt "")
expect(1 err "check_rows.txt: is empty" check_rows.txt)
file(REMOVE check_rows.txt)
expect(1 err ".: is a directory" .)
