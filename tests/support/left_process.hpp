// What a process of a job on this machine leaves that was killed: a file whose lock nobody holds.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "balancer/steer/process_qps.hpp"

namespace weft {

inline steer::KernelName this_kernel_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return steer::kernel_name(host, boot);
}

/// The name of the file of a process, in pid namespace 1.
inline std::string process_file_name(unsigned pid, const steer::KernelName& kernel = this_kernel_name()) {
  return kernel.host + "-" + kernel.boot + "-1-" + std::to_string(pid) + ".qps";
}

/// As the process wrote it while it held the lock. Where it is.
inline std::filesystem::path leave_file(const std::filesystem::path& directory, steer::ProcessQps process,
                                        const steer::KernelName& kernel = this_kernel_name()) {
  process.holds_lock = true;
  const auto bytes = steer::encode_qps(process);
  const auto path = directory / process_file_name(process.pid, kernel);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace weft
