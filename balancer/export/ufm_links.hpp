// UfmLinks: the cables of a fabric file as UFM tells of them, and which of them can be isolated without
// cutting anything off. Pure: what was read of UFM in, answers out. A cable is isolated at its switch's port;
// of one between switches at the port that the file names first.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "balancer/export/switch_ways.hpp"
#include "balancer/export/ufm_words.hpp"

namespace weft::exports {

/// An end of a cable; its name may be another in another file.
struct UfmEnd {
  UfmPortId id;
  std::string name;  // as the fabric file has it
  friend bool operator==(const UfmEnd&, const UfmEnd&) = default;
};

/// The cables of the file, as UFM tells of them.
class UfmCables {
 public:
  enum class State : std::uint8_t {
    up,
    down,      // UFM has its ports, and they are not active
    isolated,  // by hand: by this or another program or person
    reported,  // listed by what the subnet manager saw, which may isolate it or not
    unknown,   // UFM has no such port
  };
  struct Seen {
    State state = State::unknown;
    std::string text;              // for people; the same as long as the state is, whatever ports are called
    std::vector<UfmEnd> isolated;  // by hand, at these ends
  };

  /// The fabric must outlive it.
  UfmCables(const Fabric& fabric, UfmPorts ports, UnhealthyPorts unhealthy);

  Seen seen(LinkId link) const;
  /// Those at switches first; of a host the port that UFM sees there.
  std::vector<UfmEnd> ends_of(LinkId link) const;
  /// Why a port counts as unhealthy, which it must.
  const std::vector<std::string>& conditions_at(const UfmPortId& port) const;
  /// By hand, and at no end that the file has at this link.
  bool isolated_elsewhere(LinkId link, const UfmPortId& port) const;
  /// Error (conflict): another cable than the file's is at one of its ports.
  Result<void> check_cable(LinkId link) const;
  /// How many are isolated by hand, whether the file has them or not.
  std::size_t count_isolated() const;
  /// By node: the switches that hosts need, in the file or beyond it.
  std::vector<bool> with_hosts() const;

 private:
  std::optional<UfmPortId> id_of(PortId port) const;
  const UfmPort* port_at(const UfmPortId& id) const;
  bool is_of_another_host(const UfmPortId& port, NodeId host) const;

  const Fabric& fabric_;
  const UfmPorts ports_;
  const UnhealthyPorts unhealthy_;
  std::vector<std::optional<Guid>> guid_of_;  // by node, of switches
  std::map<Guid, NodeId> switches_;           // of the file
};

/// What may be isolated of them, one after the other.
class UfmLinks {
 public:
  using State = UfmCables::State;
  using Seen = UfmCables::Seen;

  /// `max_isolated`: cables that may be isolated by hand at a time, by whomever. The fabric must outlive it.
  UfmLinks(const Fabric& fabric, UfmPorts ports, UnhealthyPorts unhealthy, std::size_t max_isolated);
  UfmLinks(const UfmLinks&) = delete;
  UfmLinks& operator=(const UfmLinks&) = delete;

  Seen seen(LinkId link) const { return cables_.seen(link); }
  bool isolated_elsewhere(LinkId link, const UfmPortId& port) const {
    return cables_.isolated_elsewhere(link, port);
  }

  /// Where to isolate it. Errors (conflict): it is not up, or another cable is there; it is the last way
  /// between two switches with hosts or the last cable of a host; as many are isolated as may be.
  Result<UfmEnd> end_to_isolate(LinkId link) const;
  /// Where to take it back. Errors (conflict): it is not isolated by hand, or the subnet manager lists that
  /// port too: a port that is marked as healthy is so for all reasons.
  Result<UfmEnd> end_to_heal(LinkId link) const;
  /// Whatever is asked from now on, this link is out of use.
  void take_out(LinkId link);
  /// Whatever is asked from now on, one cable fewer counts as isolated.
  void give_back();
  /// As it was read.
  void restart();

 private:
  Result<void> check_host(LinkId link) const;

  const Fabric& fabric_;
  const UfmCables cables_;
  const std::size_t max_isolated_;
  const std::size_t listed_;  // cables that are isolated by hand
  std::size_t isolated_;      // with what was taken out and given back
  SwitchWays ways_;
};

}  // namespace weft::exports
