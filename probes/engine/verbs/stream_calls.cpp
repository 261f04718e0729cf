#include "probes/engine/verbs/stream_calls.hpp"

#include <dlfcn.h>

#include "probes/rdma/library_symbol.hpp"

namespace weft {
Result<StreamCalls> load_rdma_streams() {
  void* lib = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);  // stays: it has threads of its own
  if (lib == nullptr)
    return fail(ErrorKind::absent, "--exchange rdmacm: {}; install the package librdmacm1", dlerror());
  StreamCalls calls;
  const bool all =
      find_symbol(lib, "rsocket", calls.socket) && find_symbol(lib, "rbind", calls.bind) &&
      find_symbol(lib, "rlisten", calls.listen) && find_symbol(lib, "raccept", calls.accept) &&
      find_symbol(lib, "rconnect", calls.connect) && find_symbol(lib, "rgetsockopt", calls.get_option) &&
      find_symbol(lib, "rsetsockopt", calls.set_option) && find_symbol(lib, "rfcntl", calls.control) &&
      find_symbol(lib, "rsend", calls.send) && find_symbol(lib, "rrecv", calls.receive) &&
      find_symbol(lib, "rpoll", calls.poll) && find_symbol(lib, "rclose", calls.close);
  if (!all) return fail(ErrorKind::not_supported, "--exchange rdmacm: {}", dlerror());
  return calls;
}

}  // namespace weft
