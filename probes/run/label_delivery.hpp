// LabelDelivery: gives hosts the labels of their jobs by way of their standing agents. Each is first asked
// what its newest list is, then given the next one; what is not answered is sent again until a limit. A state
// machine: answers and `now` go in, messages come out. deliver_labels gives it a bus and a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancer/steer/label_list.hpp"
#include "probes/watch/seams.hpp"

namespace weft::run {

/// What each host is given; its number is set as the host has it.
using LabelsOfHosts = std::map<std::string, steer::LabelList>;

enum class Delivery : std::uint8_t {
  taken,
  refused,
  no_agent,   // nobody answered
  unanswered  // the list was sent, and nobody said what became of it
};

struct HostDelivery {
  std::string host;
  Delivery what = Delivery::no_agent;
  std::uint64_t generation = 0;  // of the list that is taken, or that was sent
  std::string why;               // it is refused
};

struct DeliveryTiming {
  Nanoseconds again = std::chrono::seconds(1);
  Nanoseconds asked = std::chrono::seconds(5);   // an agent looks twenty times a second
  Nanoseconds given = std::chrono::seconds(10);  // until a disk has it
};

class LabelDelivery {
 public:
  /// `id`: drawn; ids of requests count from it.
  LabelDelivery(const LabelsOfHosts& labels, std::uint64_t id, const DeliveryTiming& timing, Nanoseconds now);

  struct Message {
    std::string host;
    std::vector<std::byte> bytes;
  };
  /// What is to be sent now; hosts whose time is over are given up.
  std::vector<Message> due(Nanoseconds now);
  /// What is no answer to the last request of its host is passed over.
  void take(const watch::AgentWord& said, Nanoseconds now);
  bool is_over() const;
  /// In the order of their names.
  std::vector<HostDelivery> outcomes() const;

 private:
  enum class State : std::uint8_t { asked, given, done };
  struct Host {
    State state = State::asked;
    std::uint64_t id = 0;  // of the last request
    steer::LabelList list;
    std::vector<std::byte> bytes;  // of the last request
    Nanoseconds until{};
    Nanoseconds next{};  // when it is sent again
    Delivery what = Delivery::no_agent;
    std::string why;
  };
  void refuse(Host& host, std::string why);
  void give(Host& host, std::uint64_t newest, Nanoseconds now);

  const DeliveryTiming timing_;
  std::uint64_t next_id_;
  std::map<std::string, Host> hosts_;
};

/// Blocks until each host has taken or refused its labels, or its time is over.
std::vector<HostDelivery> deliver_labels(watch::OperatorLink& link, const LabelsOfHosts& labels,
                                         const DeliveryTiming& timing = {});

}  // namespace weft::run
