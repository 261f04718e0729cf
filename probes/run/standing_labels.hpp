// StandingLabels: takes the labels that an operator gives to the jobs of this host: answers each request,
// checks the list, and writes it where the jobs find it. On a thread of its own, so that no probe waits for a
// disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "balancer/steer/label_list.hpp"
#include "probes/watch/label_messages.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft::run {

struct LabelPlace {
  std::string directory = {};  // of the jobs of this host
  /// Why no labels are taken; empty: they are.
  std::string refused = "this agent has no directory of jobs (--nccl-dir)";
};

/// Labels that this host may take: of its own NICs, and newer than list `newest`. Errors: invalid_input
/// (those of decode_labels, no pair at all, a NIC of another host), conflict (an older list).
Result<steer::LabelList> check_labels(ByteSpan bytes, std::span<const IpAddress> nics, std::uint64_t newest);

class StandingLabels {
 public:
  /// `nics`: those that the agent serves.
  StandingLabels(LabelPlace place, std::vector<IpAddress> nics);

  /// One that is no request is passed over; so is one more than a few that wait.
  void take(std::string request);

  struct Answered {
    std::string text;  // for the operator
    std::string line;  // for people; empty: there is nothing to tell
  };
  /// Since the last call.
  std::vector<Answered> answers();

 private:
  void go_round(const std::stop_token& stop);
  Answered answer(std::uint64_t id, ByteSpan request);

  const LabelPlace place_;
  const std::vector<IpAddress> nics_;
  std::optional<watch::LabelAnswer> last_taken_;  // the same request may come again
  std::mutex mutex_;                              // of all below
  std::condition_variable_any waits_;
  std::deque<std::string> requests_;
  std::vector<Answered> answers_;
  std::jthread thread_;
};

}  // namespace weft::run
