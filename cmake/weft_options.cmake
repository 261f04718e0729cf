# Compiler settings that hold for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # without NDEBUG: preconditions stay on

# For C++ alone: nvcc has its own words.
function(weft_cxx_options)
  foreach(option IN LISTS ARGN)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
endfunction()

weft_cxx_options(-fPIC)  # programs too: one precompiled header serves them and the libraries
weft_cxx_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
                 -Wno-sign-conversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  weft_cxx_options(-Wno-missing-field-initializers)
  # g++ 12 sees overlaps, reads past an end and null dereferences in the standard library that are not there
  # (GCC bugs 105651, 107852).
  weft_cxx_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized)
endif()

set(WEFT_SANITIZE "" CACHE STRING "Sanitizers for every target, as in address,undefined")
if(WEFT_SANITIZE)
  weft_cxx_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()

# ccache reads a precompiled header as one input; its macros and times need not be compared one by one. A checkout in
# another folder finds what this one compiled. Files that the configuration wrote a moment ago are known by their content:
# else a precompiled header is compiled anew, never byte for byte the same, and nothing that uses it is found.
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${WEFT_CCACHE})
endif()

# Precompiled headers: three quarters of a small file's time goes into headers. One for the lowest modules, one for those
# that read and write JSON, one for the program's commands, one for tests. Only headers of others stand in them: one of
# ours that changes rebuilds what includes it and no more. Builds by clang and clang-tidy do without: so it is found what a
# file forgot to include, and ccache 4.7 takes the path of a header that clang was given precompiled into its key, so that
# another folder would find nothing.
set(WEFT_PRECOMPILED <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
    <mutex> <optional> <random> <ranges> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant>
    <vector> <fmt/format.h> <fmt/ranges.h> <tl/expected.hpp>)
set(WEFT_PRECOMPILED_JSON ${WEFT_PRECOMPILED} <nlohmann/json.hpp>)
set(WEFT_PRECOMPILED_CLI ${WEFT_PRECOMPILED_JSON} <boost/program_options/options_description.hpp>
    <boost/program_options/positional_options.hpp> <boost/program_options/value_semantic.hpp>
    <boost/program_options/variables_map.hpp>)
set(WEFT_PRECOMPILED_FOR_TESTS ${WEFT_PRECOMPILED_JSON} <gmock/gmock.h> <gtest/gtest.h>)

# What ccache asks for, to know a precompiled header again.
set(WEFT_PRECOMPILED_FLAGS -fpch-preprocess)

# weft_make_precompiled(target [FLAGS...] LIBS... HEADERS...): the target that others take their precompiled header from;
# they need its FLAGS too.
function(weft_make_precompiled target)
  cmake_parse_arguments(arg "" "" "FLAGS;LIBS;HEADERS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.cpp "")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.cpp)
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${WEFT_PRECOMPILED_FLAGS} ${arg_FLAGS})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()

function(weft_use_precompiled target from)
  if(TARGET ${from})
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_compile_options(${target} PRIVATE ${WEFT_PRECOMPILED_FLAGS})
  endif()
endfunction()

find_program(WEFT_MOLD mold)
if(WEFT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
