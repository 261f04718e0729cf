#include "topology/lab/netns/fault.hpp"

namespace weft::lab {

Result<os::ProcessMark> start_delay(const DelayWork&) {
  return fail(ErrorKind::not_supported,
              "the delay fault is not in this build: it was built without libnetfilter-queue (install "
              "libnetfilter-queue-dev and build again)");
}

}  // namespace weft::lab
