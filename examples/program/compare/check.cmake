set(models "${SOURCE}/examples/models")
set(gguf "${SOURCE}/examples/explorer/gemma-4-31b.gguf")

# Two models are compared: 3.1 scales its frequencies, 3.2 more; GPT-NeoX and GPT-J differ in the layout of pairs.
expect(0 out "llama-3.1-8b.json / llama-3.2-1b.json.*layers: 32 / 16.*16 layers: 0-15.*head_dim: 128 / 64"
  "${models}/llama-3.1-8b.json" "${models}/llama-3.2-1b.json")
expect(0 out "32 layers: 0-31.*rule: llama3 / default.*rope_theta: 5e.05 / 10000.*From distance 1 on, a score may differ by more than 0.003906 of .q. .k..*\
distance angle, rad at worst Gaussian 0 0 0 0 1 0.1[0-9]+ 0.1[0-9]+ 0.0[0-9]+.*4,095 " "${models}/llama-3.1-8b.json" "${models}/llama-2-7b.json")
expect(0 out "32 layers encode positions alike" "${models}/llama-2-7b.json" "${models}/llama-2-7b.json")
expect(0 out "No score differs by more than 2 of" "${models}/llama-3.1-8b.json" "${models}/llama-2-7b.json" --threshold 2)
expect(0 out "^{ \"a\": \"llama-2-7b.json\".*\"matters_from\": 1,.*\"gaussian\": " --json "${models}/llama-2-7b.json" "${models}/llama-3.1-8b.json")
# By name, and longer contexts.
expect(0 out "llama-3.1-8b / llama-2-7b.*127,999 " llama-3.1-8b llama-2-7b --length 128k)
expect(0 out "32 layers encode positions alike" llama-2-7b "${models}/llama-2-7b.json")

expect_narrow("${models}/llama-2-7b.json" "${models}/llama-3.1-8b.json")
expect_full(llama-2-7b llama-3.1-8b)
expect_of_pipes(0 out "layers encode positions alike" "${models}/llama-2-7b.json" @ llama-2-7b)
# Wrongly.
expect(1 err "threshold must be finite and positive, got 0" --threshold 0 llama-2-7b mpt-7b)
expect(1 err "B is required" llama-2-7b)
expect(1 err "there is no place for gpt2" llama-2-7b mpt-7b gpt2)
expect(1 err "no.json: cannot be read: No such file" no.json gpt2)
