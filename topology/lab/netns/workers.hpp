// The processes that keep a fault alive: a sender of other traffic, a holder of packets that are late. Each
// runs in the namespace where it was started, until it is killed, its namespace's interface goes, or, for a
// load, until kMaxLoad is over.
#pragma once

#include "topology/lab/netns/fault.hpp"
#include "topology/os/processes.hpp"

namespace weft {

struct LoadWork {
  std::string interface;  // it leaves by this one and crosses no other
  std::string to_mac;     // the far end, which discards it
  Bandwidth rate;         // of Ethernet frames
  Bytes size;             // of one frame without its header
};
/// Started in the calling thread's network namespace.
Result<ProcessMark> start_load(const LoadWork& work);

struct DelayWork {
  std::uint16_t queue;
  Nanoseconds delay;
  bool v6 = false;
};
/// Started in the calling thread's network namespace; it holds the queue when this returns. Error
/// not_supported: built without libnetfilter-queue.
Result<ProcessMark> start_delay(const DelayWork& work);

}  // namespace weft
