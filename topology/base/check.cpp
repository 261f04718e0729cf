#include "topology/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "weft: internal error: %s does not hold at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace weft
