# Of three tokens: queries (2, 1, 0, 0) and (0, 0, 0, t + 1), and keys (3, 4, 0, 0), as the check of pairs says.
set(data "${folder}/../tensors/check")
set(own --q "${data}/queries.npy" --k "${data}/keys.npy")

# Keys of one content stay where they are: positional is 1, symbolic the mean of 2 a b / (a^2 + b^2), worked
# out apart.
expect(0 out " 0 1.000 0.256 by position 1 1.000 0.998 by position 2 of 2 heads hold on to positions" ${own})
expect(0 out " 0 1.000 0.474 by position" ${own} --query 1)
expect(1 err "--query must be 1 to 2, got 3" ${own} --query 3)

expect(1 err "two tokens or more, got weights" --q "${data}/weights.gguf:blk.0.attn_q.weight" --k "${data}/weights.gguf:blk.0.attn_k.weight")

# Heads that the check of norms writes.
set(models "${CMAKE_CURRENT_BINARY_DIR}/models")
file(MAKE_DIRECTORY "${models}")
expect_of(0 out "^$" "${WRITER}" "${models}")
# A head that attends by position and one that attends by content are told apart, and drawn.
expect(0 out "Heads of .*q.npy, .*64 tokens.* 0 1\\.000 0\\.000 by position 1 0\\.030 1\\.000 by content 1 of 2 heads hold on to positions" --q "${models}/q.npy" --k "${models}/k.npy" --csv check.csv --svg check.svg)
expect_files(check.csv 3 check.svg "symbolic.*positional.*head 0.*head 1")
# The same as tensors of safetensors.
if(MODELS)
  set(two "${models}/two/model.safetensors")
  expect(0 out "Heads of .*safetensors:q, .*64 tokens.* 0 1\\.000 0\\.000 by position 1 0\\.030 1\\.000 by content" --q "${two}:q" --k "${two}:k")
  expect(1 err "safetensors: has no tensor other" --q "${two}:other" --k "${two}:k")
  expect(1 err "safetensors: needs the name of a tensor" --q "${two}" --k "${two}")
endif()
file(REMOVE_RECURSE "${models}")

expect_narrow(${own})
# Wrongly.
expect_refusals(${own})
expect(1 err "--q is required")
expect(1 err "--q requires --k" --q "${data}/queries.npy")
expect(1 err "--context requires --config" ${own} --context 64)
