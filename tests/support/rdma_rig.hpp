// RdmaRig: a lab of the program's own whose hosts are guests with RDMA devices, up as long as the object
// lives; and what tests do with it: sweep, give its agents work of their own, look at the packets that leave
// a NIC. Needs root, QEMU and what tests/rdma/build_guest_image needs.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "probes/datapath/probe_engine.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/run/packet_class.hpp"
#include "probes/session/script.hpp"
#include "tests/support/lab_user.hpp"

namespace weft {

/// What is missing on this machine; empty: nothing.
std::string missing_for_guests();

/// What came of work that was given to agents.
struct RigAnswers {
  std::vector<std::optional<session::TaskAnswer>> answers;  // in the order of the items, wave by wave
  std::vector<HostEvidence> blamed;
  std::map<PortId, std::string> uses;
  std::string error;  // of the run itself
  bool blames(const std::string& text) const;
};

/// An RDMA packet as it left a NIC.
struct SeenPacket {
  QpNum qp;      // it goes to
  IpAddress to;  // whose that is
  UdpPort source_port;
  std::uint8_t traffic_class = 0;
  bool v6 = false;
  std::optional<std::uint16_t> vlan = std::nullopt;  // of its tag
  bool is_datagram = false;                          // of no connection (UD)
};
/// Source ports by destination queue pair, as packets carried them.
using PortsByQp = std::map<QpNum, std::set<UdpPort>>;
PortsByQp ports_by_qp(const std::vector<SeenPacket>& packets);
/// Of what goes to one host: queue pairs of several may have one number.
PortsByQp ports_to(const IpAddress& host, std::vector<SeenPacket> packets);

/// How agents are told to work.
struct RigOrders {
  run::PacketClass packets = {};
  run::ExchangeBy exchange = run::ExchangeBy::coordinator;
  datapath::ProbeTransport probes = datapath::ProbeTransport::by_device;
  /// By host: the NIC it is to use instead of its first.
  std::map<std::string, session::NicReport> nics = {};
};

class RdmaRig {
 public:
  explicit RdmaRig(std::string_view fabric);

  const LabUser& user() const { return user_; }
  const std::string& name() const { return user_.lab; }
  double boot_seconds() const { return boot_seconds_; }
  /// What `lab up` said, when it failed.
  const std::string& trouble() const { return trouble_; }
  const lab::Lab& lab() const { return *lab_; }
  PortId nic(std::string_view host) const { return lab_->fabric().find_nic(host).value(); }
  datapath::Peer peer(std::string_view host) const;

  Answer weft(const std::vector<std::string>& words, Nanoseconds limit = std::chrono::seconds(100)) const;
  /// Keeps each guest, what emulates its devices included, on one processor: which threads share one is then
  /// no matter of luck.
  void keep_apart() const;

  /// A program in a guest.
  Answer in(const std::string& host, std::vector<std::string> argv,
            Nanoseconds limit = std::chrono::seconds(100)) const;

  /// While the object lives another program stands in the place of the weft of `host`, and is its agent.
  class OtherAgent {
   public:
    ~OtherAgent();
    OtherAgent(const OtherAgent&) = delete;
    OtherAgent& operator=(const OtherAgent&) = delete;

   protected:
    OtherAgent(const RdmaRig& rig, std::string host) : rig_(rig), host_(std::move(host)) {}
    const RdmaRig& rig_;
    std::string host_;
  };
  /// A program of the tests: flipping_agent, in whose memory a byte of what a flow wrote changes, or
  /// datagram_agent.
  struct TestAgent : OtherAgent {
    TestAgent(const RdmaRig& rig, std::string host, const std::string& program);
  };
  /// The guest's own, after these words of a shell, as `ulimit -l 64; exec`.
  struct Restricted : OtherAgent {
    Restricted(const RdmaRig& rig, std::string host, const std::string& words);
  };

  /// Gives a guest's first NIC its address, neighbour and routes again, after it lost them.
  void restore_nic(const std::string& host) const;

  /// Runs waves of work over the agents of `hosts`, with queue pairs.
  RigAnswers run(const std::vector<std::string>& hosts, std::vector<std::vector<session::WorkItem>> waves,
                 const RigOrders& orders = {}) const;
  /// The RDMA packets that leave the NIC of `host` while `during` runs.
  std::vector<SeenPacket> packets_of(std::string_view host, const std::function<void()>& during) const;
  PortsByQp ports_used(std::string_view host, const std::function<void()>& during) const {
    return ports_by_qp(packets_of(host, during));
  }

 private:
  LabUser user_;
  double boot_seconds_ = 0;
  std::string trouble_;
  std::optional<lab::Lab> lab_;
};

}  // namespace weft
