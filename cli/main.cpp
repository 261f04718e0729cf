#include <fcntl.h>

#include "cli/commands.hpp"

namespace {

/// A closed one of the descriptors 0 to 2 would become that of the first file opened, and messages would go
/// into it. What stands in its place refuses, as a closed one does.
void keep_standard_descriptors() {
  for (const int descriptor : {0, 1, 2})
    if (fcntl(descriptor, F_GETFD) == -1) (void)open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  return weft::cli::run_command_line(argc, argv);
}
