# In a browser without a window, the page opens on a model, shows the numbers of answers.txt, the charts,
# kinds of layers and errors; and it fetches nothing. (BROWSER, PAGE, SOURCE)
function(expect address)
  execute_process(COMMAND "${BROWSER}" --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 --dump-dom "file://${PAGE}#${address}"
    OUTPUT_VARIABLE shown ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "<script.*</script>" "" shown "${shown}")
  foreach(text IN LISTS ARGN)
    string(FIND "${shown}" "${text}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "#${address} must show ${text}")
    endif()
  endforeach()
  if(shown MATCHES "(src|href)=\"[a-z]+:")
    message(SEND_ERROR "#${address} must fetch nothing, got ${CMAKE_MATCH_0}")
  endif()
endfunction()

# What answers.txt has for its first settings.
file(STRINGS "${SOURCE}/answers.txt" expected LIMIT_COUNT 1)
string(JSON facts GET "${expected}" facts)
string(JSON count LENGTH "${facts}")
math(EXPR last "${count} - 1")
set(rows "")
foreach(i RANGE ${last})
  string(JSON name GET "${facts}" ${i} 0)
  string(JSON value GET "${facts}" ${i} 1)
  list(APPEND rows "<th scope=\"row\">${name}</th><td>${value}</td>")
endforeach()
expect("model=rule&rule=rope&dim=128&base=10000&context=8192&rho=1&spread=10" ${rows} "<svg" "Wavelengths" "Mean score" "Largest possible weight"
  "RoPE, base 10,000</h2>" "up to a distance of 1,706 tokens, and below it at 1,707.")

# The page opens on a model, in its own context; so does an address that names a model alone.
expect("" "llama-3.1-8b</h2>" "keys that a query sees</th><td>131072")
expect("model=gemma-3-27b" "keys that a query sees</th><td>1024" "in its window of 1,024 tokens")

# Each chart is a slider with a name, for keyboards and screen readers.
expect("model=rule&rule=rope" "role=\"slider\" aria-label=\"Wavelengths, by pair\"" "<table aria-label=\"Numbers\"" "aria-label=\"Save Wavelengths as CSV\"")

# ALiBi's heads have curves of their own; two models share the charts.
expect("model=bloom-176b" "ALiBi: bias on a score</text>" ">head 63, slope 0.00391</text>" "and every 256 tokens in the flattest head")
expect("model=llama-3.1-8b&with=llama-2-7b" "llama-3.1-8b and llama-2-7b</h2>" "<th>llama-3.1-8b</th><th>llama-2-7b</th>" "<td>85133</td><td>1707</td>"
  ">context of llama-2-7b</text>")
# Of weights that no settings have, the page says so.
expect("model=t5-small" "one for each of 32 buckets of distances" "T5: bucket of an earlier key")
expect("model=gpt2" "Positions are added to the words before the first layer (learned)")

expect("model=gemma-3-27b&kind=1&context=4096" "full_attention: 10 layers</option>" "sliding_attention: 52 layers" "gemma-3-27b</h2>"
  "keys that a query sees</th><td>4096")
# The verdict on a model of the list, and on a file that is dropped.
expect("model=gemma-3-27b&context=4096" "<h3 id=\"says\">Engines are known to make 17 mistakes on such a model.</h3>" "<td>52 sliding_attention</td><td>128 of 128</td>" "theta-lost: the base is 10000, where the model has 1000000"
  "<small>deepspeedai/DeepSpeed#8345, vllm-project/vllm#9503</small>")
file(READ "${SOURCE}/gemma-4-31b.gguf" bytes HEX)
file(READ "${PAGE}" page_text)
string(REPLACE "size = 1 << 24" "size = 1 << 9" page_text "${page_text}")  # its header is longer
string(APPEND page_text "<script>{ const given = new DataTransfer(), bytes = Uint8Array.from('${bytes}'.match(/../g), byte => parseInt(byte, 16));
given.items.add(new File([bytes], 'my.gguf')); dispatchEvent(new DragEvent('drop', { dataTransfer: given, cancelable: true })); }</script>")
set(whole_page "${PAGE}")
set(PAGE "${PAGE}.drop.html")
file(WRITE "${PAGE}" "${page_text}")
expect("" "gemma4</h2>" "<option>full_attention: 10 layers</option>" "128 of 512" "pairs-of-partial")
file(REMOVE "${PAGE}")
set(PAGE "${whole_page}")

expect("model=rule&rule=yarn&factor=0" "role=\"alert\">factor must be from 1 to 1024, got 0")
expect("model=nonesuch" "role=\"alert\">model must be one of the list, got nonesuch")
expect("model=config&config=%7B%22model_type%22%3A%22%3Cimg%20src%3Dx%3A%22%7D" "model_type must be one that is known")
