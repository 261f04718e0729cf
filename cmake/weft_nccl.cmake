# libweft-nccl.so, which others' programs load: what it needs of weft is compiled into it once more, with names that
# nobody sees, so that it depends on libc alone and stands beside any other copy of its parts.
function(weft_nccl_library)
  if(NOT IBVERBS_FOUND OR WEFT_FUZZ)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS balancer/nccl/*.cpp balancer/steer/*.cpp)
  list(APPEND sources probes/rdma/relabel.cpp probes/packet/roce.cpp topology/base/check.cpp topology/base/ip.cpp
       topology/base/outside_text.cpp topology/os/file_descriptor.cpp)
  add_library(weft_nccl SHARED ${sources})
  target_compile_definitions(weft_nccl PRIVATE FMT_HEADER_ONLY)
  target_compile_options(weft_nccl PRIVATE -ffunction-sections -fdata-sections -foptimize-sibling-calls)
  target_include_directories(weft_nccl PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(weft_nccl PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  set_target_properties(weft_nccl PROPERTIES OUTPUT_NAME weft-nccl LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LINK_DEPENDS ${CMAKE_SOURCE_DIR}/balancer/nccl/exports.map)
  # nodelete: it has put itself into tables of others, for good.
  target_link_options(weft_nccl PRIVATE -Wl,-z,nodelete -Wl,-z,defs -Wl,--gc-sections -Wl,--as-needed
                      -Wl,--version-script=${CMAKE_SOURCE_DIR}/balancer/nccl/exports.map)
  target_link_options(weft_nccl PRIVATE -static-libstdc++ -static-libgcc)
  weft_not_sanitized(weft_nccl)
  add_dependencies(weft weft_nccl)  # `weft nccl env` names it
  install(TARGETS weft_nccl LIBRARY DESTINATION lib/weft COMPONENT nccl)
endfunction()

# A library that programs without the sanitizers' runtime load, and these programs. Its sources are under the sanitizers in
# the module of the same name.
function(weft_not_sanitized)
  if(WEFT_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE -fno-sanitize=all)
      target_link_options(${target} PRIVATE -fno-sanitize=all)
    endforeach()
  endif()
endfunction()

# libibverbs as a fake, and a client that uses it as NCCL does.
function(weft_nccl_test_programs)
  if(NOT TARGET weft_nccl)
    return()
  endif()
  add_library(weft_fake_driver SHARED tests/nccl/fake_driver.cpp)
  set_target_properties(weft_fake_driver PROPERTIES OUTPUT_NAME weft_fake_ibverbs
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(weft_fake_driver PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_options(weft_fake_driver PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/tests/nccl/fake_driver.map)
  # By the name of the real one, which is how it is found; not by that file's name.
  add_library(weft_fake_mlx5 SHARED tests/nccl/fake_mlx5.cpp)
  set_target_properties(weft_fake_mlx5 PROPERTIES NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(weft_fake_mlx5 PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_options(weft_fake_mlx5 PRIVATE -Wl,-soname,libmlx5.so.1)
  target_link_libraries(weft_fake_mlx5 PRIVATE weft_fake_driver)
  add_library(weft_hanging_files SHARED tests/nccl/hanging_files.cpp)
  set_target_properties(weft_hanging_files PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(weft_hanging_files PRIVATE ${CMAKE_DL_LIBS})
  add_executable(verbs_client tests/nccl/verbs_client.cpp)
  target_include_directories(verbs_client PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(verbs_client PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  add_executable(ring_client tests/rdma/ring_client.cpp)
  target_link_libraries(ring_client PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  add_executable(steer_timer tests/rdma/steer_timer.cpp)
  target_link_libraries(steer_timer PRIVATE weft_balancer_steer)
  # What it calls of NCCL needs no GPU.
  add_executable(nccl_client tests/nccl/nccl_client.cpp balancer/nccl/call_slots.cpp)
  target_include_directories(nccl_client PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(nccl_client PRIVATE ${CMAKE_DL_LIBS})
  # The tuner and the profiler as NCCL drives them.
  add_executable(plugin_host tests/nccl/plugin_host.cpp)
  target_include_directories(plugin_host PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(plugin_host PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  weft_not_sanitized(weft_fake_driver weft_fake_mlx5 weft_hanging_files verbs_client ring_client nccl_client plugin_host)
  # Real jobs: skipped without a GPU and PyTorch.
  find_program(WEFT_PYTHON3 python3)
  if(WEFT_PYTHON3)
    add_test(NAME "tests/gpu: nccl job" COMMAND ${WEFT_PYTHON3} ${CMAKE_SOURCE_DIR}/tests/gpu/nccl_job.py
                                                $<TARGET_FILE:weft_nccl> ${CMAKE_BINARY_DIR}/nccl_job)
    set_tests_properties("tests/gpu: nccl job" PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 480 RESOURCE_LOCK gpu)
  endif()
endfunction()
