# In a browser without a window, the page shows the numbers of answers.txt, the charts, kinds of layers
# and errors; and it fetches nothing. (BROWSER, PAGE, SOURCE)
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
expect("model=rule&rule=rope&dim=128&base=10000&context=8192&rho=1&spread=10" ${rows} "<svg" "Wavelengths" "Mean score" "Largest weight")

# Charts are pictures with a name, for screen readers.
expect("model=rule&rule=rope" "role=\"img\" aria-label=\"Wavelengths" "<table aria-label=\"Numbers\"")

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
expect("model=config&config=%7B%22model_type%22%3A%22%3Cimg%20src%3Dx%3A%22%7D" "model_type must be one that is known")
