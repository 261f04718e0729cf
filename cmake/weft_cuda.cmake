# The CUDA part: one shared module that weft loads when GPU memory is asked for. It, its checks and its benchmark
# need a C++ compiler, CMake, Ninja and the CUDA toolkit, nothing else: the preset `gpu` builds just these.
include(CheckLanguage)
set(WEFT_CUDA FALSE)
if(NOT WEFT_FUZZ AND NOT WEFT_UNIT_TESTS_ONLY)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(WEFT_CUDA TRUE)
  endif()
endif()

# libweft_cuda.so beside the program: machine code for A100 and H100/H200, PTX for what is older or newer.
function(weft_cuda_module)
  if(NOT WEFT_CUDA)
    return()
  endif()
  add_library(weft_cuda SHARED probes/gpu/cuda_module.cu)
  set_target_properties(weft_cuda PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
                        CUDA_ARCHITECTURES "75-virtual;80-real;90-real;90-virtual"
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(weft_cuda PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(weft_cuda PRIVATE -Xcompiler=-Wall,-Wextra,-Werror)
  target_link_options(weft_cuda PRIVATE -Wl,--exclude-libs,ALL)  # the runtime inside stays inside
  install(TARGETS weft_cuda LIBRARY DESTINATION lib/weft COMPONENT weft)

  add_executable(gpu_checks tests/gpu/gpu_checks.cpp probes/packet/pattern.cpp)
  target_link_libraries(gpu_checks PRIVATE weft_cuda)
  file(STRINGS tests/gpu/gpu_checks.cpp checks REGEX "^    {\"[a-z ]+\",")
  foreach(line IN LISTS checks)
    string(REGEX REPLACE "^    {\"([a-z ]+)\",.*" "\\1" check ${line})
    add_test(NAME "tests/gpu: ${check}" COMMAND gpu_checks ${check})
    set_tests_properties("tests/gpu: ${check}" PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120 RESOURCE_LOCK gpu)
  endforeach()

  add_executable(bench_gpu EXCLUDE_FROM_ALL tests/bench/gpu_bench.cpp)
  target_link_libraries(bench_gpu PRIVATE weft_cuda)
  target_compile_definitions(bench_gpu PRIVATE WEFT_BINARY_DIR="${CMAKE_BINARY_DIR}")
endfunction()

# The same interface over host memory, for the tests of what stands above it.
function(weft_cuda_fake)
  add_library(weft_fake_cuda MODULE tests/gpu/fake_cuda.cpp)
  target_include_directories(weft_fake_cuda PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

function(weft_gpu_test_needs test)
  add_dependencies(${test} weft_fake_cuda)
  if(WEFT_CUDA)
    add_dependencies(${test} weft_cuda)
  endif()
endfunction()

function(weft_gpu_only)
  if(NOT WEFT_CUDA)
    message(FATAL_ERROR "the preset gpu needs the CUDA toolkit: nvcc was not found; put its folder on the PATH or name it in CUDACXX")
  endif()
  weft_cuda_module()
  message(STATUS "weft ${PROJECT_VERSION}: the GPU part alone, CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
endfunction()
