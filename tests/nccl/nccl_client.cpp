// Loads NCCL, asks it for an id, which needs no GPU, and tells whose dlvsym NCCL calls then: the file that
// has it.
//   nccl_client LIBNCCL
#include <dlfcn.h>

#include <cstdio>

#include "balancer/nccl/call_slots.hpp"

int main(int argc, char** argv) {
  void* library = argc < 2 ? nullptr : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", argc < 2 ? "usage: nccl_client LIBNCCL" : dlerror());
    return 2;
  }
  // nccl.h: ncclUniqueId is 128 bytes.
  struct Id {
    char bytes[128];
  };
  auto* get_id = reinterpret_cast<int (*)(Id*)>(dlsym(library, "ncclGetUniqueId"));
  if (get_id == nullptr) return 3;
  Id id{};
  const int error = get_id(&id);
  void** slot = weft::nccl::find_call_slot(reinterpret_cast<void*>(get_id), "dlvsym");
  Dl_info about{};
  if (slot == nullptr || dladdr(*slot, &about) == 0) return 4;
  std::printf("%d %s\n", error, about.dli_fname);
  return 0;
}
