# What the project is built on. Required parts fail here with the package to install; optional ones are
# left out and listed in the summary.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)                 # libfmt-dev
find_package(nlohmann_json REQUIRED)       # nlohmann-json3-dev
find_package(yaml-cpp REQUIRED)            # libyaml-cpp-dev
find_package(pugixml REQUIRED)             # libpugixml-dev: minigraph.xml
find_package(Boost REQUIRED COMPONENTS program_options)  # libboost-program-options-dev, with the headers of Boost.Math
find_package(GTest REQUIRED)               # libgtest-dev, libgmock-dev
find_package(benchmark REQUIRED)           # libbenchmark-dev
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)  # libsodium-dev
find_package(OpenSSL REQUIRED COMPONENTS Crypto)        # libssl-dev: the certificate of a run's server
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)  # libdeflate-dev: the fast CRC-32 of the ICRC
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)  # libcpp-httplib-dev: the live page
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)  # libsqlite3-dev: the history of a watcher
find_package(prometheus-cpp REQUIRED CONFIG)             # prometheus-cpp-dev: metrics as text

pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)  # libcpp-httplib-dev: the live page

set(WEFT_FOUND "")
set(WEFT_LEFT_OUT "")

# Notes in the summary whether an optional part is there.
function(weft_note found name what_is_lost)
  if(found)
    list(APPEND WEFT_FOUND ${name})
    set(WEFT_FOUND ${WEFT_FOUND} PARENT_SCOPE)
  else()
    list(APPEND WEFT_LEFT_OUT "${name} (${what_is_lost})")
    set(WEFT_LEFT_OUT ${WEFT_LEFT_OUT} PARENT_SCOPE)
  endif()
endfunction()

pkg_check_modules(NETFILTER_QUEUE IMPORTED_TARGET libnetfilter_queue)
set(WEFT_NETFILTER_QUEUE "")
set(WEFT_DELAY_WORKER_LEFT_OUT netns/delay_worker.cpp)
if(NETFILTER_QUEUE_FOUND)
  set(WEFT_DELAY_WORKER_LEFT_OUT netns/delay_worker_absent.cpp)
  set(WEFT_NETFILTER_QUEUE PkgConfig::NETFILTER_QUEUE)
endif()
weft_note("${NETFILTER_QUEUE_FOUND}" "libnetfilter-queue" "the lab's delay fault")

pkg_check_modules(IBUMAD IMPORTED_TARGET libibumad)  # libibumad-dev
set(WEFT_IBUMAD "")
set(WEFT_UMAD_LEFT_OUT umad_mads.cpp)
if(IBUMAD_FOUND)
  set(WEFT_UMAD_LEFT_OUT umad_mads_absent.cpp)
  set(WEFT_IBUMAD PkgConfig::IBUMAD)
endif()
weft_note("${IBUMAD_FOUND}" "libibumad" "management datagrams on InfiniBand")

pkg_check_modules(CLP IMPORTED_TARGET clp)  # coinor-libclp-dev
set(WEFT_CLP "")
set(WEFT_LP_BOUND_LEFT_OUT lp_bound_clp.cpp)
if(CLP_FOUND)
  set(WEFT_CLP PkgConfig::CLP)
  set(WEFT_LP_BOUND_LEFT_OUT lp_bound_absent.cpp)
endif()
weft_note("${CLP_FOUND}" "CLP" "the linear programme beside the balancer's bounds by cuts")

pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)  # libhwloc-dev
set(WEFT_HWLOC "")
set(WEFT_PCIE_TREE_LEFT_OUT pcie_tree_hwloc.cpp)
if(HWLOC_FOUND)
  set(WEFT_HWLOC PkgConfig::HWLOC)
  set(WEFT_PCIE_TREE_LEFT_OUT pcie_tree_absent.cpp)
endif()
weft_note("${HWLOC_FOUND}" "hwloc" "GPUs and PCIe links of hosts")

weft_note("${WEFT_CUDA}" "CUDA toolkit" "memory of GPUs; nvcc was not found")

pkg_check_modules(IBVERBS libibverbs)  # libibverbs-dev
weft_note("${IBVERBS_FOUND}" "libibverbs" "RDMA probes and flows")
