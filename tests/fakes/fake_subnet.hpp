// FakeSubnet: an InfiniBand subnet that answers MADs, in virtual time: nodes, cables, LIDs, forwarding tables
// and counters are data a test may change. It can be unruly: drop, delay, reorder and repeat answers, stay
// silent at a node, report an undelivered MAD at once as ibsim does.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>

#include "probes/mad/mad_attributes.hpp"
#include "probes/mad/mad_counters.hpp"
#include "probes/mad/mads.hpp"
#include "topology/model/ib_subnet.hpp"

namespace weft::fakes {

struct Unruliness {
  double drop = 0;    // share of the MADs that are lost without a word
  double repeat = 0;  // share of the answers that come twice
  Nanoseconds least_delay = std::chrono::microseconds(5);
  Nanoseconds most_delay = std::chrono::microseconds(5);  // of an answer; unequal: they overtake each other
  bool reports_undelivered = false;
};

class FakeSubnet : public mad::Mads {
 public:
  explicit FakeSubnet(IbSubnet subnet, Unruliness unruliness = {}, std::uint32_t seed = 1);

  Result<void> send(const mad::MadPacket& packet) override;
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds at_most) override;
  void gather() override { ++gathered; }
  Nanoseconds now() override { return now_; }

  IbSubnetNode& node(Guid guid);
  const IbSubnet& subnet() const { return subnet_; }

  std::set<Guid> silent;                                              // nodes that never answer
  bool has_manager = true;                                            // false: ports know no subnet manager
  std::set<std::pair<Guid, mad::MadAttribute>> garbled;               // answers that are all ones
  std::set<std::pair<Guid, mad::MadAttribute>> ignored;               // questions a node keeps silent on
  std::map<Guid, mad::AdaptiveRoutingInfo> adaptive;                  // others refuse the question
  std::map<Guid, FirmwareVersion> firmware;                           // others refuse the question
  std::map<Guid, mad::FecMode> fec_mode;                              // likewise
  std::map<std::pair<Guid, std::uint8_t>, mad::FecCounters> fec;      // likewise, by node and port
  std::map<Guid, Guid> claims;                                        // nodes that tell another GUID
  std::map<std::pair<Guid, std::uint8_t>, mad::IbCounters> counters;  // by node and port
  std::set<Guid> wide_errors;                        // nodes that keep the error counters 64 bits wide too
  std::map<Guid, std::vector<std::uint8_t>> tables;  // linear forwarding tables, by LID
  std::function<void(std::uint64_t sent)> on_send;   // called with the number of MADs so far
  std::uint64_t sent = 0;
  std::uint64_t most_in_flight = 0;
  std::uint64_t gathered = 0;                    // times that arrivals were let gather
  std::map<std::uint16_t, std::uint64_t> asked;  // by attribute

 private:
  struct Place {
    std::size_t node;
    std::uint8_t port;
  };
  std::optional<Place> walk(const mad::DirectedRoute& route) const;
  std::optional<Place> find(Lid lid) const;
  std::optional<mad::MadBytes> answer(const mad::MadPacket& packet);
  bool fill_counters(MutableByteSpan data, const mad::MadHeader& header, Guid guid, std::uint8_t port);
  bool fill(mad::MadBytes& reply, const mad::MadHeader& header, const Place& at,
            const mad::MadPacket& packet);
  void arrive(const mad::MadBytes& bytes, bool undelivered);

  IbSubnet subnet_;
  Unruliness unruliness_;
  std::mt19937 random_;
  Nanoseconds now_{};
  std::multimap<Nanoseconds, mad::MadArrival> coming_;
  std::map<Guid, std::size_t> index_;
};

/// `leaves` x `spines`, `hosts` per leaf; GUIDs 0x1000 + n (hosts), 0x2000 + n (leaves), 0x3000 + n (spines);
/// LIDs from 1 with this LMC for hosts.
IbSubnet make_subnet(unsigned leaves, unsigned spines, unsigned hosts, std::uint8_t lmc = 0);

}  // namespace weft::fakes
