// FakeExchange: engines in one process speak to each other directly. An engine may be killed: from then on
// nobody answers for it. Thread-safe.
#pragma once

#include <map>
#include <mutex>

#include "probes/datapath/peer_exchange.hpp"

namespace weft::testing {

class FakeExchange {
 public:
  void join(PortId nic, PeerService& service) {
    const std::lock_guard lock(mutex_);
    lines_.try_emplace(nic, *this, nic);
    services_[nic] = &service;
    service.meet(lines_.at(nic));
  }
  void kill(PortId nic) {
    const std::lock_guard lock(mutex_);
    services_.erase(nic);
  }

 private:
  class Line final : public PeerExchange {
   public:
    Line(FakeExchange& all, PortId from) : all_(all), from_(from) {}
    Result<std::string> ask(PortId to, std::string_view question, Nanoseconds) override {
      const std::lock_guard lock(all_.mutex_);
      const auto found = all_.services_.find(to);
      if (found == all_.services_.end()) return fail(ErrorKind::timeout, "its agent has gone");
      return found->second->answer(from_, question);
    }

   private:
    FakeExchange& all_;
    PortId from_;
  };
  std::mutex mutex_;
  std::map<PortId, PeerService*> services_;
  std::map<PortId, Line> lines_;
};

}  // namespace weft::testing
