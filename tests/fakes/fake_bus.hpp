// FakeBus: a Bus in memory, as one agent sees it. The test plays the coordinator: it answers what the agent
// says, may fall silent, speak nonsense, or lose messages or the connection. Thread-safe, as a Bus is.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "probes/session/bus.hpp"
#include "probes/session/messages_json.hpp"

namespace weft::fakes {

class FakeBus : public session::Bus {
 public:
  using Answers = std::vector<session::ToAgent>;
  /// What the coordinator answers to each message, of the run that it started last; nothing by default. Asked
  /// by one thread at a time.
  std::function<Answers(const session::ToCoordinator&)> coordinator = [](const session::ToCoordinator&) {
    return Answers();
  };

  /// Whether the bus loses this message, unacknowledged; none by default. Asked by one thread at a time.
  std::function<bool(const session::ToCoordinator&)> loses = [](const session::ToCoordinator&) {
    return false;
  };

  void comes(std::string from, std::string bytes);
  /// From now on every call fails.
  void lose_connection();
  /// All that the agent said, in order; and of which run.
  std::vector<session::ToCoordinator> said() const;
  std::vector<session::MessageToCoordinator> said_of_runs() const;

  Result<void> send(std::string_view to, std::string_view bytes) override;
  Result<std::vector<session::OutgoingMessage>> deliver(std::vector<session::OutgoingMessage> messages,
                                                        Nanoseconds limit) override;
  Result<std::optional<session::Incoming>> receive(Nanoseconds limit) override;

 protected:
  /// What send and deliver do with each message. False: it was lost.
  virtual Result<bool> carry(std::string_view to, std::string_view bytes);

 private:
  std::mutex answering_;
  RunId run_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable arrived_;
  std::deque<session::Incoming> waiting_;
  std::vector<session::MessageToCoordinator> said_;
  bool lost_ = false;
};

}  // namespace weft::fakes
