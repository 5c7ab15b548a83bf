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
expect("model=rule&rule=yarn&factor=0" "role=\"alert\">factor must be from 1 to 1024, got 0")
expect("model=config&config=%7B%22model_type%22%3A%22%3Cimg%20src%3Dx%3A%22%7D" "model_type must be one that is known")
