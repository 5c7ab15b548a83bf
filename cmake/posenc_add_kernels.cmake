# posenc_add_kernels(NAME engine_rope [INSTRUCTION_SETS base v3 v4 v4_vnni v4_bf16] [SHARED] [MODEL] [OPTIONS -O2 -g])
#
# Adds the library NAME, which has the functions of posenc/posenc.h: posenc's kernels compiled once
# for each instruction set, and the choice among them by what CPU and operating system offer.
# Consumers need C11 or C++17, and no dependency of posenc.
# INSTRUCTION_SETS: default all that there are: on x86-64 with g++ or clang those above (levels of
#   x86-64, and AVX-512's products of integers and bfloat16), on AArch64 with Linux base and bf16, elsewhere
#   base alone. base is always among them; v4 where v4_vnni is; and both where v4_bf16 is.
# SHARED: a shared library, which exports those functions alone. Default: a static library.
# MODEL: with posenc1_frequencies_of_model, which needs nlohmann-json.
# OPTIONS: of the compiler. They come after its own, so that an -O2 replaces the -O3 which g++ and clang get in every
#   build type.
# POSENC_INSTRUCTION_SET=v3 in the environment of a program forces a set.
function(posenc_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SHARED;MODEL" "NAME" "INSTRUCTION_SETS;OPTIONS")
  if(NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "posenc_add_kernels(NAME name [INSTRUCTION_SETS sets] [SHARED] [MODEL] [OPTIONS options]), got: ${ARGV}")
  endif()

  if(NOT arg_NAME MATCHES "^[A-Za-z0-9_.+-]+$")
    message(FATAL_ERROR "posenc_add_kernels: NAME must have letters, digits and _.+- alone, got ${arg_NAME}")
  endif()
  if(TARGET ${arg_NAME} OR TARGET ${arg_NAME}_base)
    message(FATAL_ERROR "posenc_add_kernels: NAME must be new, got ${arg_NAME}, which is a target already")
  endif()
  if("INSTRUCTION_SETS" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "posenc_add_kernels: INSTRUCTION_SETS must be given sets, got none; for all leave it out")
  endif()

  if("OPTIONS" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "posenc_add_kernels: OPTIONS must be given options of the compiler, got none")
  endif()
  list(TRANSFORM arg_OPTIONS PREPEND "SHELL:")  # else one that the project has too would stand before ours alone

  if(NOT CMAKE_CXX_COMPILER_ID)
    message(FATAL_ERROR "posenc_add_kernels: the project must enable C++, as in project(engine LANGUAGES C CXX)")
  endif()

  set(sources "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels")

  set(flags_base "")
  set(target_base "")
  set(known base)
  # A set that has only some functions, and the set that has the others: v4_vnni has attention, these of bf16 what writes bfloat16.
  set(fewer_v4_vnni v4)
  set(fewer_v4_bf16 v4_vnni)
  set(fewer_bf16 base)
  set(only_v4_vnni POSENC_KERNELS_ONLY_ATTENTION)
  # Not clang-cl, whose linker finds nothing for __builtin_cpu_supports.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND CMAKE_SIZEOF_VOID_P EQUAL 8
      AND NOT MSVC)
    set(known base v3 v4 v4_vnni v4_bf16)
    set(flags_base -march=x86-64)
    # What a set is compiled for; posenc/c/detail/choice.hpp lets it run where all of it is there. Of the levels of x86-64 without
    # LZCNT and MOVBE: no kernel gains by them, and hypervisors hide them from CPUs that have the rest.
    set(needs_v3 sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 f16c fma bmi bmi2)
    set(needs_v4 ${needs_v3} avx512f avx512bw avx512cd avx512dq avx512vl)
    set(needs_v4_vnni ${needs_v4} avx512vnni)
    set(needs_v4_bf16 ${needs_v4_vnni} avx512bf16)
    foreach(set v3 v4 v4_vnni v4_bf16)
      set(flags_${set} -march=x86-64)
      foreach(extension IN LISTS needs_${set})
        list(APPEND flags_${set} -m${extension})
      endforeach()
    endforeach()
    # As posenc/core/target.hpp names them.
    set(target_base x86_64)
    set(target_v3 x86_64_v2_avx_avx2_fma_f16c_bmi_bmi2)
    set(target_v4 ${target_v3}_avx512f_bw_cd_dq_vl)
    set(target_v4_vnni ${target_v4}_vnni)
    set(target_v4_bf16 ${target_v4}_bf16_vnni)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang"
      AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(known base bf16)
    set(flags_base -march=armv8-a)
    set(flags_bf16 -march=armv8.2-a+bf16)
    set(target_base arm8_64_neon_fma_idiv)
    set(target_bf16 arm8_64_neon_fma_bf16_lse_rdm_idiv)
  endif()
  set(unaligned "")
  if(MINGW AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND v3 IN_LIST known)
    # g++ does not align the stack of Windows, but writes as if it did (its bug 54412).
    set(unaligned -Wa,-muse-unaligned-vector-move)
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(${unaligned} POSENC_ASSEMBLER_MOVES_UNALIGNED)
    if(NOT POSENC_ASSEMBLER_MOVES_UNALIGNED)
      message(STATUS "posenc_add_kernels: base alone, as v3 and v4 need binutils 2.38 on Windows")
      set(known base)
      set(unaligned "")
    endif()
  endif()
  set(target_api "${target_base}")
  if(NOT arg_INSTRUCTION_SETS)
    set(arg_INSTRUCTION_SETS ${known})
  endif()
  foreach(set IN LISTS arg_INSTRUCTION_SETS)
    if(NOT set IN_LIST known)
      list(JOIN known ", " names)
      message(FATAL_ERROR "posenc_add_kernels: INSTRUCTION_SETS must be among ${names} here, got ${set}")
    endif()
  endforeach()
  list(APPEND arg_INSTRUCTION_SETS base)
  if(v4_bf16 IN_LIST arg_INSTRUCTION_SETS)
    list(APPEND arg_INSTRUCTION_SETS v4_vnni)
  endif()
  if(v4_vnni IN_LIST arg_INSTRUCTION_SETS)
    list(APPEND arg_INSTRUCTION_SETS v4)
  endif()
  list(REMOVE_DUPLICATES arg_INSTRUCTION_SETS)

  # Always optimised: without, sets share functions of the standard library that contain instructions
  # of one of them. For the same reason no link-time optimisation, which optimises after it has kept
  # one of those functions; -fno-lto because a project may have -flto among its flags.
  set(gnu "$<AND:$<CXX_COMPILER_ID:GNU,Clang,AppleClang>,$<NOT:$<BOOL:${MSVC}>>>")
  set(objects "")
  foreach(set IN LISTS arg_INSTRUCTION_SETS ITEMS api)
    set(object ${arg_NAME}_${set})
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
    if(set STREQUAL api)
      add_library(${object} OBJECT "${sources}/library.cpp")
      target_compile_options(${object} PRIVATE ${flags_base})
      foreach(available IN LISTS arg_INSTRUCTION_SETS)
        string(TOUPPER "POSENC_KERNELS_${available}" definition)
        target_compile_definitions(${object} PRIVATE ${definition})
      endforeach()
      if(arg_MODEL)
        if(NOT TARGET posenc::model)
          message(FATAL_ERROR "posenc_add_kernels: MODEL needs posenc::model: find_package(posenc COMPONENTS model)")
        endif()
        target_compile_definitions(${object} PRIVATE POSENC_KERNELS_MODEL)
        target_link_libraries(${object} PRIVATE posenc::model)
      endif()
    else()
      add_library(${object} OBJECT "${sources}/set.cpp")
      # g++ 12 warns of its own AVX-512 headers.
      target_compile_options(${object} PRIVATE ${flags_${set}} "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
      target_compile_definitions(${object} PRIVATE POSENC_KERNELS_SET=${set})
      if(fewer_${set})
        target_compile_definitions(${object} PRIVATE POSENC_KERNELS_FEWER=${fewer_${set}} ${only_${set}})
      endif()
    endif()
    target_link_libraries(${object} PRIVATE posenc::attention)
    target_compile_definitions(${object} PRIVATE $<$<BOOL:${arg_SHARED}>:POSENC_KERNELS_SHARED>)
    if(target_${set})
      target_compile_definitions(${object} PRIVATE POSENC_KERNELS_TARGET=${target_${set}})
    endif()
    # No product joins a sum but where the code says so: bits and codes are those of every compiler.
    target_compile_options(${object} PRIVATE $<${gnu}:-O3> $<${gnu}:-fexceptions> $<${gnu}:-fno-lto> $<${gnu}:-ffp-contract=off> ${unaligned}
      ${arg_OPTIONS})
    set_target_properties(${object} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF)
  endforeach()

  get_target_property(include posenc::rotation INTERFACE_INCLUDE_DIRECTORIES)
  if(arg_SHARED)
    add_library(${arg_NAME} SHARED ${objects})
    if(WIN32)  # which has no visibility of symbols
      string(REGEX REPLACE "^[$]<BUILD_INTERFACE:([^>]*)>" "\\1" header "${include}/posenc/posenc.h")
      file(STRINGS "${header}" functions REGEX "^[a-z].* ?posenc1_[a-z_]+[(]")
      list(TRANSFORM functions REPLACE ".*(posenc1_[a-z_]+)[(].*" "\\1\n")
      list(JOIN functions "" functions)
      file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.def" CONTENT "EXPORTS\n${functions}" @ONLY)
      target_sources(${arg_NAME} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.def")
    endif()
  else()
    add_library(${arg_NAME} STATIC ${objects})
  endif()
  set_target_properties(${arg_NAME} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${arg_NAME} INTERFACE "${include}")
endfunction()
