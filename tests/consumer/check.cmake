# Builds and runs the consumer in every way: from the installed package, by add_subdirectory, by
# FetchContent and by pkg-config. Run with cmake -P and: SOURCE, the checkout; BUILD, a configured
# build of it; VERSION; COMPILER; CPACK; PYTHON.
set(room "${BUILD}/consumer")
file(REMOVE_RECURSE "${room}")
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${room}/prefix")

# The release's archive, made twice: from the checkout and from itself unpacked. The bytes are the same.
run("${CMAKE_COMMAND}" "-DSOURCE=${SOURCE}" "-DBUILD=${BUILD}" -DVERSION=${VERSION} "-DCPACK=${CPACK}" "-DPYTHON=${PYTHON}" "-DFOLDER=${room}/release" -P "${SOURCE}/cmake/packaging/release.cmake")
file(GLOB archive "${room}/release/posenc-[0-9]*.tar.gz")
file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${room}")
get_filename_component(unpacked "${archive}" NAME)
string(REPLACE ".tar.gz" "" unpacked "${room}/${unpacked}")
run("${CMAKE_COMMAND}" -G Ninja -S "${unpacked}" -B "${room}/of_unpacked" "-DCMAKE_CXX_COMPILER=${COMPILER}" -DPOSENC_BUILD_TESTS=OFF -DPOSENC_BUILD_EXAMPLES=OFF)
run("${CMAKE_COMMAND}" --build "${room}/of_unpacked" --target release)
file(READ "${room}/release/SHA256SUMS" sums)
file(READ "${room}/of_unpacked/release/SHA256SUMS" again)
set(sum "[0-9a-f]+  posenc")
if(NOT sums MATCHES "^([0-9a-f]+)  posenc-[0-9.]+tar.gz\n${sum}-conformance-[0-9.]+tar.gz\n${sum}.h\n${sum}_attention.hpp\n${sum}_kernels.cpp\n${sum}_rotation.hpp\n$"
    OR NOT sums STREQUAL again)
  message(FATAL_ERROR "a release must have the same six files from a checkout and from its own archive, has\n${sums}and\n${again}")
endif()
set(hash "${CMAKE_MATCH_1}")

# Who cites it finds its version; YAML where Python can read it.
file(READ "${unpacked}/CITATION.cff" citation)
if(NOT citation MATCHES "\nversion: ${VERSION}\n")
  message(FATAL_ERROR "CITATION.cff must be of the version ${VERSION}, is\n${citation}")
endif()
run("${PYTHON}" -c "
try:
  import yaml
except ImportError:
  exit()
cff = yaml.safe_load(open('${unpacked}/CITATION.cff'))
assert {'cff-version', 'message', 'title', 'authors'} <= cff.keys() and all(author['name'] for author in cff['authors']), cff")
set(ways PACKAGE SUBDIRECTORY WITHOUT_EIGEN FETCHED)
set(no_eigen "-DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON")

foreach(way IN LISTS ways)
  if(way STREQUAL PACKAGE)
    set(programs engine)
  elseif(way STREQUAL WITHOUT_EIGEN)
    set(programs rotation attention reader from_c from_cxx17)
    set(options ${no_eigen})
  else()
    set(programs rotation)
  endif()
  if(way STREQUAL FETCHED)
    set(options ${no_eigen} "-DARCHIVE=file://${archive}" -DHASH=${hash})
  endif()
  run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer" -B "${room}/${way}" -DCONSUME=${way}
    "-DCMAKE_PREFIX_PATH=${room}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" ${options})
  run("${CMAKE_COMMAND}" --build "${room}/${way}")
  foreach(program IN LISTS programs)
    run("${room}/${way}/${program}")
  endforeach()
endforeach()

# The first page's recipes, pasted into a project without a build type, optimise what they compile: the last -O of a command.
file(READ "${SOURCE}/README.md" text)
string(REGEX REPLACE ".*\n## Install\n" "" text "${text}")
string(REGEX MATCH "```cmake\n(find_package[^`]*)```.*```cmake\n(add_subdirectory[^`]*)```" found "${text}")
set(recipes "${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
string(REPLACE "add_subdirectory(posenc)" "add_subdirectory(\"${unpacked}\" posenc)" recipes "${recipes}")
foreach(recipe IN LISTS recipes)
  file(WRITE "${room}/recipe.cmake" "${recipe}")
  run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer" -B "${room}/RECIPES" --fresh -DCONSUME=RECIPES "-DRECIPE=${room}/recipe.cmake"
    "-DCMAKE_PREFIX_PATH=${room}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
  file(STRINGS "${room}/RECIPES/compile_commands.json" commands REGEX "\"command\":")
  if(recipe MATCHES "posenc_add_kernels")  # the engine includes posenc.h alone
    list(FILTER commands EXCLUDE REGEX "/engine[.]dir/")
  endif()
  list(FILTER commands EXCLUDE REGEX " -O3( -[^O ][^ ]*)* -o ")
  if(NOT found OR commands)
    message(FATAL_ERROR "the first page's recipe must compile with -O3:\n${recipe}${commands}")
  endif()
endforeach()

# Asks the package for components, separated by spaces: `expected` is what it must say.
function(ask components expected)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${SOURCE}/tests/consumer/components" -B "${room}/components" --fresh
    "-DCMAKE_PREFIX_PATH=${room}/prefix" "-DCOMPONENTS=${components}" ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "for the components ${components} and ${ARGN} the package must say: ${expected}; it says: ${output}")
  endif()
endfunction()
set(no_json "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON")
set(done " -- Configuring done")
set(attends "^ ?-- has posenc::rotation -- has posenc::attention")
set(kernels " -- has posenc_add_kernels${done}")
ask(rotation "^ ?-- has posenc::rotation${done}")
ask("" "${attends} -- has posenc::posenc -- has Eigen3::Eigen${kernels}")
ask(posenc "${attends} -- has posenc::posenc -- has Eigen3::Eigen${kernels}" ${no_json})
ask("model rotation" "${attends} -- has posenc::model -- has nlohmann_json::nlohmann_json${kernels}" ${no_eigen})
ask("model posenc" "${attends} -- has posenc::posenc -- has posenc::model -- has Eigen3::Eigen -- has nlohmann_json::nlohmann_json${kernels}")
ask(attention "${attends}${kernels}" ${no_eigen} ${no_json} "-DOPTIONAL=posenc model wheels")
ask("" "FALSE.*posenc::posenc needs Eigen 3.4 or newer, found none.*posenc::attention does without" ${no_eigen})
ask(model "FALSE.*posenc::model needs nlohmann-json 3.10 or newer" ${no_json})
ask("rotation wheels" "FALSE.*posenc has no component wheels. it has rotation, attention, kernels, model, posenc")
ask(rotation "FALSE.*posenc needs the headers of xsimd 8.1 or newer, found none" -DCMAKE_FIND_ROOT_PATH=${room} -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)

ask(kernels "${attends}${kernels}" ${no_eigen} ${no_json})
ask(rotation "Could not find a package configuration file provided by \"posenc\"" "-DCMAKE_PREFIX_PATH=" "-Dposenc_DIR=${BUILD}")

# The installed folder can be moved; pkg-config finds the package there.
file(RENAME "${room}/prefix" "${room}/moved")
set(ENV{PKG_CONFIG_PATH} "${room}/moved/share/pkgconfig")
execute_process(COMMAND pkg-config --cflags posenc OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT "${flags}" MATCHES "eigen")
  message(FATAL_ERROR "pkg-config's posenc must name Eigen's folder: ${flags}")
endif()
foreach(name posenc-attention posenc-rotation)
  execute_process(COMMAND pkg-config --cflags ${name} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  if("${flags}" MATCHES "eigen")
    message(FATAL_ERROR "pkg-config's ${name} must not need Eigen: ${flags}")
  endif()
endforeach()
run("${COMPILER}" -std=c++20 ${flags} "${SOURCE}/tests/consumer/rotation.cpp" -o "${room}/rotation_by_pkg_config")
run("${room}/rotation_by_pkg_config")
