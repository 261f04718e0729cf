// MemoryHub: buses in memory between a coordinator and its agents, each in a thread of its own; it may lose
// messages. Outlives its buses.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "probes/session/bus.hpp"

namespace weft::fakes {

class MemoryHub {
 public:
  /// Whether this message is lost, unacknowledged; none by default. Asked by one thread at a time.
  std::function<bool(std::string_view to, std::string_view bytes)> loses = [](auto, auto) { return false; };

  /// Whether this message comes all the same, and only its acknowledgement is lost; none by default.
  std::function<bool(std::string_view to, std::string_view bytes)> forgets = [](auto, auto) { return false; };

  /// The end of this participant.
  std::unique_ptr<session::Bus> join(std::string self) {
    return std::make_unique<End>(*this, std::move(self));
  }

 private:
  class End : public session::Bus {
   public:
    End(MemoryHub& hub, std::string self) : hub_(hub), self_(std::move(self)) {}
    Result<void> send(std::string_view to, std::string_view bytes) override {
      const std::lock_guard lock(hub_.mutex_);
      if (hub_.loses(to, bytes)) return {};
      hub_.waiting_[std::string(to)].push_back({self_, std::string(bytes)});
      hub_.arrived_.notify_all();
      return {};
    }
    Result<std::vector<session::OutgoingMessage>> deliver(std::vector<session::OutgoingMessage> messages,
                                                          Nanoseconds) override {
      std::vector<session::OutgoingMessage> left;
      for (session::OutgoingMessage& message : messages) {
        const std::lock_guard lock(hub_.mutex_);
        const bool lost = hub_.loses(message.to, message.bytes);
        if (!lost) hub_.waiting_[message.to].push_back({self_, message.bytes});
        if (lost || hub_.forgets(message.to, message.bytes)) left.push_back(std::move(message));
      }
      hub_.arrived_.notify_all();
      return left;
    }
    Result<std::optional<session::Incoming>> receive(Nanoseconds limit) override {
      std::unique_lock lock(hub_.mutex_);
      auto& waiting = hub_.waiting_[self_];
      hub_.arrived_.wait_for(lock, limit, [&] { return !waiting.empty(); });
      if (waiting.empty()) return std::optional<session::Incoming>();
      std::optional<session::Incoming> first(std::move(waiting.front()));
      waiting.pop_front();
      return first;
    }

   private:
    MemoryHub& hub_;
    std::string self_;
  };

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::string, std::deque<session::Incoming>> waiting_;  // by receiver
};

}  // namespace weft::fakes
