// Writing to a connection that has ended is an error, not a signal that ends the process: neither OpenSSL nor
// cpp-httplib's client uses MSG_NOSIGNAL.
#pragma once

#include <csignal>

namespace weft::os {

/// SIGPIPE does not reach this thread while the object lives; one that came meanwhile is dropped.
class NoPipeSignal {
 public:
  NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal();

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace weft::os
