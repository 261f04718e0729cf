# Unoptimised, tests take up to ten times as long under a sanitizer, and a module compiles no sooner.
set(WEFT_MODULE_FLAGS "")
if(WEFT_SANITIZE)
  set(WEFT_MODULE_FLAGS -O1)
endif()
weft_make_precompiled(weft_precompiled FLAGS ${WEFT_MODULE_FLAGS} LIBS fmt::fmt HEADERS ${WEFT_PRECOMPILED})
weft_make_precompiled(weft_precompiled_json FLAGS ${WEFT_MODULE_FLAGS} LIBS fmt::fmt nlohmann_json::nlohmann_json
                      HEADERS ${WEFT_PRECOMPILED_JSON})
weft_make_precompiled(weft_precompiled_cli LIBS fmt::fmt nlohmann_json::nlohmann_json Boost::program_options
                      HEADERS ${WEFT_PRECOMPILED_CLI})
# Tests are compiled for seconds and run for milliseconds.
set(WEFT_TEST_FLAGS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(WEFT_TEST_FLAGS -O1)
endif()
weft_make_precompiled(weft_precompiled_for_tests FLAGS ${WEFT_TEST_FLAGS}
                      LIBS fmt::fmt GTest::gmock nlohmann_json::nlohmann_json HEADERS ${WEFT_PRECOMPILED_FOR_TESTS})
# Benchmarks are optimised as the program is.
weft_make_precompiled(weft_precompiled_for_benches LIBS fmt::fmt GTest::gmock nlohmann_json::nlohmann_json
                      HEADERS ${WEFT_PRECOMPILED_FOR_TESTS})

# One folder, one target: weft_module(topology/base ...) makes weft_topology_base of the .cpp files in and below it.
# Tests, fuzz targets and benchmarks are found by their place: a new file needs no line here.

set(WEFT_MODULES "")

function(weft_target_name out path)
  string(REPLACE "/" "_" name "weft_${path}")
  set(${out} ${name} PARENT_SCOPE)
endfunction()

function(weft_target_names out)
  set(names "")
  foreach(path IN LISTS ARGN)
    weft_target_name(name ${path})
    list(APPEND names ${name})
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# weft_module(path [ADAPTER | APPLICATION] [DEPS folder...] [LIBS target...] [EXCLUDE file... | EXCLUDE ALL [BUT file...]])
function(weft_module path)
  cmake_parse_arguments(arg "ADAPTER;APPLICATION" "" "DEPS;LIBS;EXCLUDE" ${ARGN})
  weft_target_name(target ${path})
  if(arg_EXCLUDE MATCHES "^ALL")
    list(REMOVE_ITEM arg_EXCLUDE ALL BUT)
    list(TRANSFORM arg_EXCLUDE PREPEND ${CMAKE_SOURCE_DIR}/${path}/ OUTPUT_VARIABLE sources)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${path}/*.cpp)
    foreach(excluded IN LISTS arg_EXCLUDE)
      list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${path}/${excluded})
    endforeach()
  endif()
  weft_target_names(links ${arg_DEPS})
  if(sources)
    weft_batched(compiled ${target} ${sources})
    add_library(${target} STATIC ${compiled})
    target_link_libraries(${target} PUBLIC ${links} ${arg_LIBS} Threads::Threads)
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
    if(path MATCHES "^topology/(base|os|model|findings)$")
      weft_use_precompiled(${target} weft_precompiled)
    else()
      weft_use_precompiled(${target} weft_precompiled_json)
    endif()
    target_compile_options(${target} PRIVATE ${WEFT_MODULE_FLAGS})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${links} ${arg_LIBS} Threads::Threads)
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR})
  endif()
  list(APPEND WEFT_MODULES ${path})
  set(WEFT_MODULES ${WEFT_MODULES} PARENT_SCOPE)
endfunction()

# All modules' targets, for what may use everything: the program and the tests.
function(weft_all_targets out)
  weft_target_names(targets ${WEFT_MODULES})
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# What `weft --version` says: the version, the commit (when this is a checkout, as of the last configuration), the
# engines and the optional parts.
function(weft_describe_build out)
  set(engines raw sim)
  if(IBVERBS_FOUND)
    list(APPEND engines verbs)
  endif()
  if(IBUMAD_FOUND)
    list(APPEND engines umad)
  endif()
  if(DPDK_FOUND)
    list(APPEND engines dpdk)
  endif()
  set(commit "")
  find_program(WEFT_GIT git)
  if(WEFT_GIT AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
    execute_process(COMMAND ${WEFT_GIT} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # A commit or a checkout appends to this file; without it (a bare clone's worktree) the commit may be older.
    if(EXISTS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
    endif()
  endif()
  list(JOIN engines ", " engines)
  list(JOIN WEFT_FOUND ", " parts)
  set(${out} WEFT_VERSION="${PROJECT_VERSION}" WEFT_COMMIT="${commit}" WEFT_ENGINES="${engines}" WEFT_PARTS="${parts}" PARENT_SCOPE)
endfunction()

# The program `weft`: everything in its folder but main.cpp is a library, so that tests can reach it.
function(weft_program path)
  file(GLOB sources CONFIGURE_DEPENDS ${path}/*.cpp)
  list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${path}/main.cpp ${CMAKE_SOURCE_DIR}/${path}/gate_main.cpp)
  weft_all_targets(targets)
  weft_describe_build(about)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/${path}/commands.cpp PROPERTIES COMPILE_DEFINITIONS "${about}")
  weft_batched(compiled weft_cli ${sources})
  add_library(weft_cli STATIC ${compiled})
  target_link_libraries(weft_cli PUBLIC ${targets} Boost::program_options)
  weft_use_precompiled(weft_cli weft_precompiled_cli)
  add_executable(weft ${path}/main.cpp)
  target_link_libraries(weft PRIVATE weft_cli)
  # Before each job on each host: a few files and nothing to load but the C library.
  add_executable(weft-gate ${path}/gate_main.cpp ${path}/gate_answer.cpp ${path}/exit_status.cpp balancer/export/gate_file.cpp
    balancer/export/target.cpp topology/files/file_text.cpp topology/files/time_span.cpp topology/findings/verdict.cpp
    topology/base/outside_text.cpp topology/base/units.cpp topology/base/utc.cpp)
  target_include_directories(weft-gate PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(weft-gate PRIVATE FMT_HEADER_ONLY)
  target_link_options(weft-gate PRIVATE -static-libstdc++ -static-libgcc)
  add_dependencies(weft weft-gate)
  install(TARGETS weft weft-gate RUNTIME COMPONENT weft)
endfunction()

# The targets of the modules that these test files include, directly or by way of other files of tests/: what their program
# links.
function(weft_targets_included out)
  set(modules "")
  set(objects "")
  set(todo ${ARGN})
  set(seen ${ARGN})
  while(todo)
    list(POP_FRONT todo file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    get_filename_component(folder ${file} DIRECTORY)
    file(STRINGS ${file} includes REGEX "^#include \"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*$" "\\1" header ${line})
      if(NOT header MATCHES "/")
        set(header ${folder}/${header})  # one beside it
      endif()
      if(header MATCHES "^tests/")
        string(REGEX REPLACE "\\.hpp$" "" stem ${header})
        file(GLOB parts RELATIVE ${CMAKE_SOURCE_DIR} ${stem}_*.cpp)  # a fake of several files
        foreach(next IN ITEMS ${header} ${stem}.cpp ${parts})
          if(NOT next MATCHES "_test\\.cpp$" AND EXISTS ${CMAKE_SOURCE_DIR}/${next} AND NOT next IN_LIST seen)
            list(APPEND seen ${next})
            list(APPEND todo ${next})
            weft_support_name(support ${next})
            if(TARGET ${support})
              list(APPEND objects ${support})
            endif()
          endif()
        endforeach()
      elseif(header MATCHES "^cli/")
        list(APPEND modules cli)
      else()
        get_filename_component(module ${header} DIRECTORY)
        while(module AND NOT module IN_LIST WEFT_MODULES)
          get_filename_component(module ${module} DIRECTORY)
        endwhile()
        list(APPEND modules ${module})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES modules)
  weft_target_names(targets ${modules})
  set(${out} ${objects} ${targets} PARENT_SCOPE)
endfunction()

# tests/support/NAME.cpp and tests/fakes/NAME.cpp are objects of their own: a program takes those that its files include.
function(weft_support_name out file)
  string(REGEX REPLACE "^tests/(.*)\\.cpp$" "weft_tests_\\1" name ${file})
  string(REPLACE "/" "_" name ${name})
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# tests/A/B/*_test.cpp becomes the program test_A_B; each test is one of ctest's. It links what its files include.
# Tests that change the machine (namespaces, servers) live under tests/lab and tests/rdma and hold one lock a folder.
function(weft_all_tests)
  include(GoogleTest)
  # Not on the command line: there it would make every test's compilation another one in another folder.
  file(CONFIGURE OUTPUT generated/tests/places.hpp CONTENT [[
// Where this build stands.
#pragma once
#define WEFT_SOURCE_DIR "@CMAKE_SOURCE_DIR@"
#define WEFT_BINARY_DIR "@CMAKE_BINARY_DIR@"
#define WEFT_CXX "@CMAKE_CXX_COMPILER@"
#define WEFT_FAKE_CUDA "@CMAKE_BINARY_DIR@/libweft_fake_cuda.so"
]] @ONLY)
  add_library(weft_kill_at SHARED tests/preload/kill_at.cpp)  # loaded before libc by what tests start
  set_target_properties(weft_kill_at PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(weft_kill_at PRIVATE ${CMAKE_DL_LIBS})
  weft_not_sanitized(weft_kill_at)
  file(GLOB support CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} tests/fakes/*.cpp tests/support/*.cpp)
  if(NOT IBVERBS_FOUND)
    list(FILTER support EXCLUDE REGEX "/fake_verbs[^/]*\\.cpp$")
  endif()
  set(WEFT_TEST_SUPPORT "")
  foreach(file IN LISTS support)
    weft_support_name(target ${file})
    add_library(${target} OBJECT ${file})
    weft_use_precompiled(${target} weft_precompiled_for_tests)
    target_compile_options(${target} PRIVATE ${WEFT_TEST_FLAGS})
    target_link_libraries(${target} PRIVATE fmt::fmt nlohmann_json::nlohmann_json GTest::gmock)
    target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/generated ${CMAKE_SOURCE_DIR})
    list(APPEND WEFT_TEST_SUPPORT ${target})
  endforeach()
  set(WEFT_TEST_SUPPORT ${WEFT_TEST_SUPPORT} PARENT_SCOPE)  # for benchmarks, which take all
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} tests/*_test.cpp)
  if(NOT IBVERBS_FOUND)
    list(FILTER tests EXCLUDE REGEX "^tests/(probes/(engine/verbs|rdma)|balancer/nccl)/")
  endif()
  if(WEFT_UNIT_TESTS_ONLY)
    list(FILTER tests EXCLUDE REGEX "^tests/(lab|rdma|style)/|/message_cost_test\\.cpp$")  # the last: what memory messages cost
  endif()
  set(folders "")
  foreach(test IN LISTS tests)
    get_filename_component(folder ${test} DIRECTORY)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} ${test})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    string(REGEX REPLACE "^tests" "test" name ${folder})
    string(REPLACE "/" "_" name ${name})
    weft_batched(compiled ${name} ${files_${folder}})
    add_executable(${name} ${compiled})
    weft_use_precompiled(${name} weft_precompiled_for_tests)
    target_compile_options(${name} PRIVATE ${WEFT_TEST_FLAGS})
    weft_targets_included(included ${files_${folder}})
    target_link_libraries(${name} PRIVATE ${included} fmt::fmt GTest::gmock GTest::gtest_main rapidcheck)
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated ${CMAKE_SOURCE_DIR})
    if("weft_cli" IN_LIST included OR "weft_topology_lab" IN_LIST included OR folder STREQUAL "tests/style")
      add_dependencies(${name} weft)  # they start it
    endif()
    if(folder MATCHES "^tests/(probes/gpu|cli|probes/engine/verbs|probes/packet)$")
      weft_gpu_test_needs(${name})
    endif()
    if(folder STREQUAL "tests/cli")
      add_dependencies(${name} weft_kill_at)
    endif()
    if(folder STREQUAL "tests/balancer/nccl" AND TARGET weft_nccl)
      add_dependencies(${name} weft_nccl weft_fake_driver weft_fake_mlx5 weft_hanging_files verbs_client nccl_client
                               plugin_host)
    endif()
    if(TARGET weft_dpdk AND folder STREQUAL "tests/lab")
      add_dependencies(${name} weft_dpdk)
    endif()
    set(properties TIMEOUT 300)
    if(folder MATCHES "^tests/(lab|rdma)")
      list(APPEND properties RESOURCE_LOCK ${name} LABELS lab)
    endif()
    if(folder STREQUAL "tests/lab")
      # An agent that reaches several adapters of ibsim, each through a process.
      add_executable(adapters_agent tests/lab/adapters_agent.cpp)
      target_link_libraries(adapters_agent PRIVATE weft_cli)
      add_dependencies(${name} adapters_agent)
    endif()
    if(folder STREQUAL "tests/rdma")
      # Agents for guests: in memory that changes a byte; over datagrams whatever the device does to their labels.
      foreach(agent flipping_agent datagram_agent)
        add_executable(${agent} tests/rdma/${agent}.cpp)
        target_link_libraries(${agent} PRIVATE weft_cli)
        add_dependencies(${name} ${agent})
      endforeach()
      if(TARGET weft_nccl)
        add_dependencies(${name} weft_nccl ring_client steer_timer)
      endif()
      # One run of the whole program: its tests share guests that take half a minute to boot.
      add_test(NAME "tests/rdma: queue pairs between guests" COMMAND ${name})
      set_tests_properties("tests/rdma: queue pairs between guests" PROPERTIES RUN_SERIAL TRUE TIMEOUT 1500 LABELS lab)
      continue()
    endif()
    if(folder STREQUAL "tests/lab")
      # Those that mostly wait hold one lock, those that time packets another; what is pasted from the docs has namespaces
      # of its own. A lab has its own name, state and sockets: only the processors are shared. They begin first (COST): left
      # for the end they would wait for each other's lock with nothing beside them.
      set(waiting "Watch*:StandingAgent*:SlurmRecipes*:BlacklistBySlurm*:Recipes*")
      gtest_discover_tests(${name} TEST_PREFIX "${folder}: " TEST_FILTER "${waiting}" DISCOVERY_MODE PRE_TEST
                           DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS lab COST 300
                           RESOURCE_LOCK labs_that_wait)
      gtest_discover_tests(${name} TEST_PREFIX "${folder}: " TEST_FILTER "Examples*" DISCOVERY_MODE PRE_TEST
                           DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS lab COST 200)
      gtest_discover_tests(${name} TEST_PREFIX "${folder}: " TEST_FILTER "*-${waiting}:Examples*" DISCOVERY_MODE PRE_TEST
                           DISCOVERY_TIMEOUT 60 PROPERTIES ${properties} COST 300)
      continue()
    endif()
    set(left_out "*")
    if(WEFT_SANITIZE AND folder STREQUAL "tests/cli")
      set(left_out "*-Examples.ThatNeedNoLabArePasted")  # each of these commands has tests of its own
    endif()
    if(WEFT_SANITIZE MATCHES "address")
      weft_shard(${name} ${folder} "${left_out}")
      continue()
    endif()
    gtest_discover_tests(${name} TEST_PREFIX "${folder}: " TEST_FILTER "${left_out}" DISCOVERY_MODE PRE_TEST
                         DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  endforeach()
endfunction()

# The tests of a folder in a few processes: under a sanitizer a process takes a third of a second to start, and there
# are thousands of tests.
function(weft_shard program folder filter)
  set(shards 1)
  if(folder MATCHES "^tests/(cli|probes/(diagnosis|session|watch|plan)|balancer/(export|reliability)|collectors/web)$")
    set(shards 4)
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(test "${folder}: ${shard} of ${shards}")
    add_test(NAME ${test} COMMAND ${program} --gtest_filter=${filter})
    set_tests_properties(${test} PROPERTIES TIMEOUT 900
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# tests/fuzz/NAME_fuzz.cpp: a libFuzzer target under the fuzz preset; under a sanitizer a test that replays
# tests/fuzz/corpus/NAME. Without either a replay shows next to nothing, and is not built.
function(weft_all_fuzz_targets)
  weft_all_targets(targets)
  file(GLOB fuzzers CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cpp)
  add_library(weft_fuzz_replay OBJECT EXCLUDE_FROM_ALL tests/fuzz/replay.cpp)
  foreach(source IN LISTS fuzzers)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" corpus ${name})
    if(WEFT_FUZZ)
      add_executable(${name} ${source})
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${name} ${source} $<TARGET_OBJECTS:weft_fuzz_replay>)
      add_test(NAME "tests/fuzz: ${corpus} replays" COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
    endif()
    weft_use_precompiled(${name} weft_precompiled_json)
    target_compile_options(${name} PRIVATE ${WEFT_MODULE_FLAGS})
    target_link_libraries(${name} PRIVATE ${targets} weft_cli)
  endforeach()
endfunction()

# tests/bench/NAME_bench.cpp (with tests/bench/NAME/*.cpp, if any): the program bench_NAME, run by `./bootstrap bench NAME`.
# All are built with the tests, so that none stops compiling unseen.
function(weft_all_benchmarks)
  weft_all_targets(targets)
  file(GLOB benches CONFIGURE_DEPENDS tests/bench/*_bench.cpp)
  list(FILTER benches EXCLUDE REGEX "/gpu_bench\\.cpp$")  # weft_cuda.cmake: it builds with the CUDA toolkit alone
  file(GLOB shared CONFIGURE_DEPENDS tests/bench/support/*.cpp)
  weft_batched(compiled weft_bench_support ${shared})
  add_library(weft_bench_support STATIC ${compiled})
  weft_use_precompiled(weft_bench_support weft_precompiled_for_benches)
  target_link_libraries(weft_bench_support PUBLIC ${WEFT_TEST_SUPPORT} ${targets} weft_cli nlohmann_json::nlohmann_json GTest::gmock)
  target_include_directories(weft_bench_support PUBLIC ${CMAKE_BINARY_DIR}/generated)
  add_dependencies(weft_bench_support weft weft_kill_at)
  foreach(source IN LISTS benches)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^(.*)_bench$" "bench_\\1" name ${name})
    string(REGEX REPLACE "^bench_" "" folder ${name})
    file(GLOB own CONFIGURE_DEPENDS tests/bench/${folder}/*.cpp)
    weft_batched(compiled ${name} ${source} ${own})
    add_executable(${name} ${compiled})
    weft_use_precompiled(${name} weft_precompiled_for_benches)
    target_link_libraries(${name} PRIVATE weft_bench_support)
    add_dependencies(${name} weft)
  endforeach()
  if(TARGET weft_nccl)
    add_dependencies(bench_nccl weft_nccl ring_client steer_timer plugin_host)
  endif()
  # A sweep of each kind in every test run: all must be right.
  add_test(NAME "tests/bench: one sweep of each kind names its fault" COMMAND bench_acceptance 1 --at-least 7)
  set_tests_properties("tests/bench: one sweep of each kind names its fault" PROPERTIES RUN_SERIAL TRUE TIMEOUT 600 LABELS lab)
  add_test(NAME "tests/bench: InfiniBand sweeps are clean or name each fault" COMMAND bench_ib_acceptance 2 few)
  set_tests_properties("tests/bench: InfiniBand sweeps are clean or name each fault"
                       PROPERTIES RUN_SERIAL TRUE TIMEOUT 600 LABELS lab SKIP_RETURN_CODE 77)
endfunction()

# The packages, installed in a fresh Debian and used there: two minutes, most of them the making of that root.
function(weft_package_test)
  add_test(NAME "tests/package: installs in a fresh root, and the demo runs there"
           COMMAND ${CMAKE_SOURCE_DIR}/tests/package/install_test.sh ${CMAKE_BINARY_DIR})
  set_tests_properties("tests/package: installs in a fresh root, and the demo runs there"
                       PROPERTIES TIMEOUT 900 LABELS lab SKIP_RETURN_CODE 77)
  add_test(NAME "tests/package: what is installed into a prefix runs from wherever it is"
           COMMAND ${CMAKE_SOURCE_DIR}/tests/package/prefix_test.sh ${CMAKE_BINARY_DIR})
  set_tests_properties("tests/package: what is installed into a prefix runs from wherever it is"
                       PROPERTIES TIMEOUT 300 LABELS lab)
endfunction()

function(weft_summary)
  message(STATUS "weft ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
  foreach(part IN LISTS WEFT_FOUND)
    message(STATUS "  with     ${part}")
  endforeach()
  foreach(part IN LISTS WEFT_LEFT_OUT)
    message(STATUS "  without  ${part}")
  endforeach()
endfunction()
