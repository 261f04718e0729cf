#include "probes/engine/dpdk/dpdk_library.hpp"

#include <dlfcn.h>

namespace weft::dpdk {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

const char* why_not() {
  const char* why = dlerror();
  return why != nullptr ? why : "no reason given";
}

}  // namespace

Result<std::shared_ptr<const DpdkLibrary>> DpdkLibrary::load(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return fail(ErrorKind::not_supported, "{} is not there: install the package weft-dpdk on this host",
                file.string());
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    return fail(ErrorKind::not_supported, "cannot load {}: {}", file.string(), why_not());
  const auto library = std::make_shared<DpdkLibrary>();
  decltype(&weft_dpdk_interface) interface = nullptr;
  if (!find(handle, "weft_dpdk_interface", interface) || interface() != WEFT_DPDK_INTERFACE)
    return fail(ErrorKind::not_supported,
                "{} belongs to another version of weft: install weft and weft-dpdk of one version",
                file.string());
  const bool all =
      find(handle, "weft_dpdk_start", library->start) && find(handle, "weft_dpdk_open", library->open) &&
      find(handle, "weft_dpdk_close", library->close) && find(handle, "weft_dpdk_rule", library->rule) &&
      find(handle, "weft_dpdk_clock", library->clock) && find(handle, "weft_dpdk_send", library->send) &&
      find(handle, "weft_dpdk_receive", library->receive) &&
      find(handle, "weft_dpdk_release", library->release) &&
      find(handle, "weft_dpdk_counts", library->counts);
  if (!all) return fail(ErrorKind::not_supported, "{} lacks a function: {}", file.string(), why_not());
  return library;
}

}  // namespace weft::dpdk
