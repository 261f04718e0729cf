// Spool: the windows of an agent that the bus has not acknowledged yet, oldest first. Bounded: when it is
// full the oldest is dropped; its number is missing then, and so the watcher sees the gap. Pure over an
// AgentLink; one thread.
#pragma once

#include <cstdint>
#include <deque>

#include "probes/watch/seams.hpp"

namespace weft::watch {

struct SpoolLimits {
  std::size_t windows = 1'200;  // twenty minutes, as long as the bus keeps them
  std::size_t bytes = 4 << 20;  // of their encoding
  std::size_t under_way = 64;   // sent and not acknowledged
};

class Spool {
 public:
  explicit Spool(std::uint64_t boot, const SpoolLimits& limits = {}) : boot_(boot), limits_(limits) {}

  /// The number of the window that is added next.
  std::uint64_t next_number() const { return next_; }
  /// One whose number is next_number(). One larger than a window may be counts as dropped.
  void add(std::vector<std::byte> window);
  /// Takes what the link knows by now and sends what is to be sent, in order, until the link takes no more.
  void serve(AgentLink& link);

  std::size_t waiting() const { return kept_.size(); }
  /// Windows dropped for want of room, so far.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Kept {
    std::uint64_t number;
    std::vector<std::byte> bytes;
    bool under_way = false;
  };
  std::deque<Kept>::iterator find(const MessageId& id);
  void make_room();

  std::uint64_t boot_;
  SpoolLimits limits_;
  std::deque<Kept> kept_;  // ascending by number
  std::size_t bytes_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace weft::watch
