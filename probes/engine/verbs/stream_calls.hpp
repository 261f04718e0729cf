// Streams between two RDMA devices: the calls of librdmacm's rsockets, which are those of sockets under other
// names, so that tests give the system's own. Loaded when first used, never linked.
#pragma once

#include "topology/base/result.hpp"

struct pollfd;
struct sockaddr;

namespace weft {

struct StreamCalls {
  int (*socket)(int domain, int type, int protocol) = nullptr;
  int (*bind)(int stream, const sockaddr* address, unsigned length) = nullptr;
  int (*listen)(int stream, int backlog) = nullptr;
  int (*accept)(int stream, sockaddr* address, unsigned* length) = nullptr;
  int (*connect)(int stream, const sockaddr* address, unsigned length) = nullptr;
  int (*get_option)(int stream, int level, int name, void* value, unsigned* length) = nullptr;
  int (*set_option)(int stream, int level, int name, const void* value, unsigned length) = nullptr;
  int (*control)(int stream, int command, ...) = nullptr;
  long (*send)(int stream, const void* bytes, unsigned long length, int flags) = nullptr;
  long (*receive)(int stream, void* bytes, unsigned long length, int flags) = nullptr;
  int (*poll)(pollfd* streams, unsigned long count, int milliseconds) = nullptr;
  int (*close)(int stream) = nullptr;
};

/// Of librdmacm. Errors: absent (it is not installed), not_supported (it lacks rsockets).
Result<StreamCalls> load_rdma_streams();

}  // namespace weft
