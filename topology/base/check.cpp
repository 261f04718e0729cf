#include "topology/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft {

void check_failed(const char* condition, std::source_location where) {
  std::fprintf(stderr, "weft: internal error: %s does not hold at %s:%u\n", condition, where.file_name(),
               static_cast<unsigned>(where.line()));
  std::abort();
}

}  // namespace weft
