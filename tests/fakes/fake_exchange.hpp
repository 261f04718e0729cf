// FakeExchange: engines in one process speak to each other directly. An engine may be killed: from then on
// nobody answers for it. Its agent may lie: what it asks and answers is then something else. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "probes/datapath/peer_exchange.hpp"

namespace weft::fakes {

class FakeExchange {
 public:
  void join(PortId nic, datapath::PeerService& service) {
    const std::lock_guard lock(mutex_);
    lines_.try_emplace(nic, *this, nic);
    services_[nic] = &service;
    service.meet(lines_.at(nic));
  }
  using Lie = std::function<std::string(const std::string& truth)>;
  /// Of all questions, and of all answers, of the engine of this NIC from now on.
  void ask_falsely(PortId nic, Lie lie) { questions_[nic] = std::move(lie); }
  void answer_falsely(PortId nic, Lie lie) { answers_[nic] = std::move(lie); }
  /// From now on the engine of this NIC does what it is asked for, and its answers come too late.
  void delay_answers(PortId nic) { late_.insert(nic); }
  void kill(PortId nic) {
    const std::lock_guard lock(mutex_);
    services_.erase(nic);
  }

 private:
  class Line final : public datapath::PeerExchange {
   public:
    Line(FakeExchange& all, PortId from) : all_(all), from_(from) {}
    Result<std::string> ask(PortId to, std::string_view question, Nanoseconds) override {
      const std::lock_guard lock(all_.mutex_);
      const auto found = all_.services_.find(to);
      if (found == all_.services_.end()) return fail(ErrorKind::timeout, "its agent has gone");
      const auto& as_asked = all_.questions_[from_];
      const auto answer = found->second->answer(from_, as_asked ? as_asked(std::string(question)) : question);
      if (all_.late_.contains(to)) return fail(ErrorKind::timeout, "no answer in time");
      const auto& as_answered = all_.answers_[to];
      return answer && as_answered ? as_answered(*answer) : answer;
    }

   private:
    FakeExchange& all_;
    PortId from_;
  };
  std::mutex mutex_;
  std::map<PortId, datapath::PeerService*> services_;
  std::set<PortId> late_;
  std::map<PortId, Lie> questions_;
  std::map<PortId, Lie> answers_;
  std::map<PortId, Line> lines_;
};

}  // namespace weft::fakes
