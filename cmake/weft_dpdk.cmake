# The DPDK part: one shared module that weft loads when a NIC is opened by DPDK. It is made of DPDK's static libraries
# (libdpdk-dev), with the drivers of its virtual devices alone: no other of its packages is needed where it runs, and none
# of its drivers is loaded.
pkg_check_modules(DPDK libdpdk)  # libdpdk-dev
set(WEFT_DPDK_LEFT_OUT ALL BUT dpdk_engine_absent.cpp dpdk_arguments.cpp)
set(WEFT_DPDK_DRIVERS net_af_packet bus_vdev mempool_ring)
set(WEFT_DPDK_LIBRARIES ethdev net mbuf mempool ring meter kvargs telemetry eal)
if(DPDK_FOUND)
  find_library(WEFT_DPDK_EAL NAMES librte_eal.a HINTS ${DPDK_LIBDIR})
  if(NOT WEFT_DPDK_EAL)
    set(DPDK_FOUND FALSE)
  endif()
endif()
if(DPDK_FOUND)
  set(WEFT_DPDK_LEFT_OUT dpdk_engine_absent.cpp dpdk_module.cpp dpdk_flow.cpp)
endif()
weft_note("${DPDK_FOUND}" "DPDK" "the engine dpdk; libdpdk-dev was not found")

# libweft_dpdk.so beside the program.
function(weft_dpdk_module)
  if(NOT DPDK_FOUND)
    return()
  endif()
  get_filename_component(folder ${WEFT_DPDK_EAL} DIRECTORY)
  set(drivers ${WEFT_DPDK_DRIVERS})
  set(libraries ${WEFT_DPDK_LIBRARIES})
  list(TRANSFORM drivers REPLACE "(.+)" "${folder}/librte_\\1.a")
  list(TRANSFORM libraries REPLACE "(.+)" "${folder}/librte_\\1.a")
  add_library(weft_dpdk MODULE ${CMAKE_SOURCE_DIR}/probes/engine/dpdk/dpdk_module.cpp
              ${CMAKE_SOURCE_DIR}/probes/engine/dpdk/dpdk_flow.cpp)
  set_target_properties(weft_dpdk PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(weft_dpdk PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(weft_dpdk SYSTEM PRIVATE ${DPDK_INCLUDE_DIRS})
  target_compile_options(weft_dpdk PRIVATE ${DPDK_CFLAGS_OTHER})
  target_compile_definitions(weft_dpdk PRIVATE ALLOW_EXPERIMENTAL_API)  # rte_eth_read_clock
  target_link_libraries(weft_dpdk PRIVATE -Wl,--whole-archive ${drivers} -Wl,--no-whole-archive -Wl,--start-group
                        ${libraries} -Wl,--end-group numa bsd Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(weft_dpdk PRIVATE -Wl,--exclude-libs,ALL)  # DPDK's names stay inside
  install(TARGETS weft_dpdk LIBRARY DESTINATION lib/weft COMPONENT dpdk)
endfunction()
