# The wheel: its bytes are the same twice, also by `python3 -m build`; a new environment of Python has
# posenc of it, which rotates, attends and reads a model (wheel.py). Run with cmake -P and: SOURCE, the
# checkout; BUILD, a configured build of it; VERSION; LIBRARY, of the C API; XSIMD, JSON, as wheel.cmake
# has them; PYTHON.
cmake_policy(VERSION 3.25)
set(room "${BUILD}/wheel_test")
file(REMOVE_RECURSE "${room}")
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result WORKING_DIRECTORY "${room}/first/source")
  if(result)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
endfunction()
foreach(time first second)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${SOURCE}" -DVERSION=${VERSION} "-DLIBRARY=${LIBRARY}" "-DXSIMD=${XSIMD}" "-DJSON=${JSON}"
    "-DPYTHON=${PYTHON}" "-DFOLDER=${room}/${time}" -P "${SOURCE}/cmake/packaging/wheel.cmake" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Where the tools are installed, the folder is a project that they build.
execute_process(COMMAND "${PYTHON}" -c "import build" RESULT_VARIABLE no_build OUTPUT_QUIET ERROR_QUIET)
if(no_build EQUAL 0)
  run("${PYTHON}" -B -m build --wheel --no-isolation --outdir "${room}/built")
endif()
file(GLOB wheels "${room}/*/*.whl")
foreach(wheel IN LISTS wheels)
  file(SHA256 "${wheel}" hash)
  list(APPEND hashes ${hash})
endforeach()
list(REMOVE_DUPLICATES hashes)
list(LENGTH hashes count)
if(NOT count EQUAL 1 OR NOT wheels MATCHES "/first/posenc-${VERSION}-py3-none-(linux|manylinux_2_[0-9]+)_[a-z0-9_]+\\.whl")
  message(FATAL_ERROR "the wheel must have its name and the same bytes each time, made: ${wheels}")
endif()
list(GET wheels 0 wheel)

# Debian has what makes a new environment in python3-venv. Without, the unpacked wheel does.
execute_process(COMMAND "${PYTHON}" -m venv --system-site-packages "${room}/venv" RESULT_VARIABLE no_venv OUTPUT_QUIET ERROR_QUIET)
if(no_venv EQUAL 0)
  set(PYTHON "${room}/venv/bin/python")
  run("${PYTHON}" -m pip install --no-index --no-deps --disable-pip-version-check "${wheel}")
else()
  file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${room}/venv")
  set(ENV{PYTHONPATH} "${room}/venv")
endif()
unset(ENV{POSENC_LIBRARY})
set(wheel_py "${SOURCE}/tests/packages/wheel.py")
run("${PYTHON}" -B "${wheel_py}" "${room}/venv" "${SOURCE}/examples/inspect_model/models/llama-3.1-8b.json")
