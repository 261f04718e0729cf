// DpdkLibrary: the shared module with DPDK in it (dpdk_module.h), loaded when it is first asked for, and
// never unloaded: DPDK cannot be. Where the module is absent, what one gets is an Error that names its
// package. Immutable after loading; freely shared between threads.
#pragma once

#include <filesystem>
#include <memory>

#include "probes/engine/dpdk/dpdk_module.h"
#include "topology/base/result.hpp"

namespace weft::dpdk {

/// Its functions; tests make one of their own.
struct DpdkLibrary {
  /// Error: not_supported (no such file: package weft-dpdk; of another build; a library is missing): no host
  /// is blamed for it.
  static Result<std::shared_ptr<const DpdkLibrary>> load(const std::filesystem::path& file);

  decltype(&weft_dpdk_start) start = nullptr;
  decltype(&weft_dpdk_open) open = nullptr;
  decltype(&weft_dpdk_close) close = nullptr;
  decltype(&weft_dpdk_rule) rule = nullptr;
  decltype(&weft_dpdk_clock) clock = nullptr;
  decltype(&weft_dpdk_send) send = nullptr;
  decltype(&weft_dpdk_receive) receive = nullptr;
  decltype(&weft_dpdk_release) release = nullptr;
  decltype(&weft_dpdk_counts) counts = nullptr;
};

}  // namespace weft::dpdk
