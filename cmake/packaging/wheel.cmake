# A wheel for Python, FOLDER/posenc-VERSION-TAG.whl, of posenc.py and its library, and beside it the
# folder that it is built of, where `python3 -m build --wheel` does the same. Run with cmake -P and:
# SOURCE, the checkout; VERSION; LIBRARY, made by posenc_add_kernels; STRIP, a program or nothing;
# PROGRAM, posenc_static, or nothing; XSIMD, JSON, PCRE2, the folders of their headers, the latter two or
# nothing; PYTHON, 3.11 or newer; FOLDER.
cmake_policy(VERSION 3.19)
include("${CMAKE_CURRENT_LIST_DIR}/license.cmake")
set(from "${FOLDER}/source")
file(REMOVE_RECURSE "${FOLDER}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/wheel/pyproject.toml.in" "${from}/pyproject.toml" @ONLY)
file(COPY "${CMAKE_CURRENT_LIST_DIR}/wheel/backend.py" "${SOURCE}/LICENSE" DESTINATION "${from}")
copy_license(xsimd "${XSIMD}" "${from}")
if(JSON)
  copy_license(nlohmann-json "${JSON}" "${from}")
endif()
configure_file("${SOURCE}/examples/python/posenc.py" "${from}/posenc/__init__.py" COPYONLY)
configure_file("${SOURCE}/examples/python/posenc.pyi" "${from}/posenc/__init__.pyi" COPYONLY)
file(TOUCH "${from}/posenc/py.typed")  # which tells mypy and pyright to read it
configure_file("${SOURCE}/examples/python/torch_rope.py" "${from}/posenc/torch_rope.py" COPYONLY)
configure_file("${LIBRARY}" "${from}/posenc/libposenc_python.so" COPYONLY)
if(EXISTS "${PROGRAM}")
  find_path(cli11 CLI/CLI.hpp PATHS "${XSIMD}" /usr/include /usr/local/include REQUIRED)
  find_path(eigen eigen3/Eigen/Core PATHS "${XSIMD}" /usr/include /usr/local/include REQUIRED)
  copy_license(cli11 "${cli11}" "${from}")
  copy_license(eigen3 "${eigen}" "${from}")
  if(PCRE2)
    copy_license(pcre2 "${PCRE2}" "${from}")
  endif()
  # python -m posenc, and the command posenc
  configure_file("${CMAKE_CURRENT_LIST_DIR}/wheel/__main__.py" "${from}/posenc/__main__.py" COPYONLY)
  configure_file("${PROGRAM}" "${from}/posenc/posenc-program" COPYONLY)
  file(APPEND "${from}/pyproject.toml" "\n[project.scripts]\nposenc = \"posenc.__main__:main\"\n")
endif()
if(STRIP)
  execute_process(COMMAND "${STRIP}" --strip-unneeded "${from}/posenc/libposenc_python.so" COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND "${PYTHON}" -B -c "import backend; print(backend.build_wheel('..'))" WORKING_DIRECTORY "${from}" COMMAND_ERROR_IS_FATAL ANY)
