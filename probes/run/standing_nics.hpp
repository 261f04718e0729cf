// StandingNics: keeps what may take time off the thread that probes: opens the NICs of an assignment (again,
// while they cannot be opened, or when the probing thread says that one is in trouble) and finds the first
// station of the way to each of their peers. A thread of its own; any thread calls.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "probes/datapath/packet_port.hpp"
#include "probes/engine/umad/umad_engine.hpp"
#include "probes/engine/verbs/ud_port.hpp"
#include "probes/run/packet_class.hpp"
#include "probes/session/messages.hpp"
#include "probes/watch/assignment.hpp"
#include "probes/watch/probe_codec.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {

/// A NIC that a standing agent can probe from.
struct OpenedNic {
  datapath::LocalNic local;
  std::unique_ptr<datapath::PacketPort> port;
  std::unique_ptr<datapath::NextHops> next_hops;
  const watch::ProbeCodec* codec = &watch::roce_codec();  // of what the port carries
  /// Queue pairs: what peers must know of it, and what tells the port of theirs; for the thread of the port.
  std::optional<packet::UdPair> pair = std::nullopt;
  std::function<void(const packet::UdPairs&)> know_pairs = {};
};
using OpenStandingNic = std::function<Result<OpenedNic>(const session::NicReport& nic)>;

/// By AF_PACKET sockets. What it opens holds UDP 4791 on that address, beside the runs of sweeps.
OpenStandingNic raw_standing_nics(std::uint8_t traffic_class);
/// By management datagrams of the InfiniBand ports whose GIDs are the NICs' addresses, beside the runs of
/// sweeps, which have another class of datagrams.
OpenStandingNic umad_standing_nics(bool in_ibsim, umad::OpenMads open);

/// By queue pairs of datagrams of the NICs' RDMA devices.
OpenStandingNic verbs_standing_nics(verbs::OpenUdPort open, const ChosenClass& packets,
                                    datapath::ProbeTransport probes);

/// When NICs are opened: as they are assigned, or before, since peers must know of their queue pairs first.
enum class OpenWhen : std::uint8_t { assigned, at_once };

/// Of each peer of the assignment, by its index, for one NIC.
using PeerHops = std::vector<std::optional<packet::MacAddress>>;

class StandingNics {
 public:
  /// What became known since it was last asked for.
  struct News {
    std::map<std::uint32_t, OpenedNic> opened;  // without their next_hops
    std::map<std::uint32_t, PeerHops> hops;     // by the index of a NIC
  };

  StandingNics(std::vector<session::NicReport> nics, OpenStandingNic open,
               OpenWhen when = OpenWhen::assigned);

  /// Of this assignment from now on; NICs that were opened stay.
  void assign(std::shared_ptr<const watch::Assignment> assignment);
  /// News of this assignment; nothing where another one came.
  News news(const watch::Assignment& assignment);
  /// A NIC takes nothing: it is looked up again until it can be opened.
  void in_trouble(const std::string& interface);
  /// Why NICs of the assignment are not open, one line each.
  std::vector<std::string> troubles() const;
  /// The queue pairs that NICs have now, by interface.
  std::map<std::string, packet::UdPair> pairs() const;

 private:
  /// Of a NIC that was opened once.
  struct Known {
    std::unique_ptr<datapath::NextHops> next_hops;
    std::map<IpAddress, packet::MacAddress> hops;
    bool answers_by_hops = false;  // the way to who asks must be found too
  };

  void keep(const std::stop_token& stop);
  void look_after(const watch::Assignment& assignment, bool is_fresh, const std::stop_token& stop);
  void open_at_once(const std::stop_token& stop);
  bool open(const std::string& interface);
  bool is_to_open(const watch::Assignment& assignment, std::uint32_t nic);
  PeerHops known_hops(const watch::Assignment& assignment, std::uint32_t nic) const;
  std::optional<PeerHops> find_hops(const watch::Assignment& assignment, std::uint32_t nic, bool again,
                                    const std::stop_token& stop);
  bool is_current(const watch::Assignment& assignment) const;

  std::vector<session::NicReport> reports_;
  OpenStandingNic open_;
  OpenWhen when_;
  std::map<std::string, Known> known_;  // by interface; of the thread alone
  int looks_ = 0;                       // of the thread alone
  mutable std::mutex mutex_;            // of all below
  std::condition_variable_any changed_;
  std::shared_ptr<const watch::Assignment> assignment_;
  bool is_new_ = false;
  std::map<std::string, OpenedNic> opened_;      // not fetched yet, by interface
  std::map<std::uint32_t, PeerHops> hops_;       // the same, by the index of a NIC
  std::set<std::string> in_trouble_;             // interfaces
  std::map<std::string, std::string> troubles_;  // by interface
  std::map<std::string, packet::UdPair> pairs_;  // the same
  std::jthread thread_;
};

}  // namespace weft::run
