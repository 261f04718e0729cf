#include "topology/host/near_cpus.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "topology/host/sysfs_values.hpp"

namespace weft::host {

Result<void> run_this_thread_on(const std::string& cpus) {
  const auto list = parse_cpu_list(cpus);
  if (!list || list->empty()) return fail(ErrorKind::usage, "'{}' is no list of CPUs, as in 0-3,8", cpus);
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(list->back() + 1),
                                                             [](cpu_set_t* s) { CPU_FREE(s); });
  const auto size = CPU_ALLOC_SIZE(list->back() + 1);
  CPU_ZERO_S(size, set.get());
  for (const std::uint32_t cpu : *list) CPU_SET_S(cpu, size, set.get());
  if (sched_setaffinity(0, size, set.get()) == 0) return {};
  return fail(ErrorKind::permission, "cannot run on CPUs {}: {}", cpus, std::strerror(errno));
}

}  // namespace weft::host
