#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "cli/commands.hpp"

namespace {

/// A closed one of the descriptors 0 to 2 would become that of the first file opened, and messages would go
/// into it. What stands in its place refuses, as a closed one does.
void keep_standard_descriptors() {
  for (const int descriptor : {0, 1, 2})
    if (fcntl(descriptor, F_GETFD) == -1) (void)open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

/// More than any run holds; programs that close all they may have, one by one, are not kept busy by it.
constexpr rlim_t kMaxDescriptors = 65536;

/// Each agent that is started from here costs a descriptor: the usual soft limit (1024) is a thousand hosts.
void allow_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kMaxDescriptors));
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  allow_all_descriptors();
  return weft::cli::run_command_line(argc, argv);
}
