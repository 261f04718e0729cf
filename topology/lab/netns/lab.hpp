// Lab: a running fabric on this machine: one network namespace per node, veth pairs for cables, the kernel's
// own ECMP, and a management network beside the fabric that joins all hosts and the coordinator. A value
// that describes the lab; the lab itself lives in the kernel until lab_down (lab_control.hpp).
//
// A lab of root lives in /run/netns, so that `ip -n` finds it. A lab of an ordinary user lives in a user
// namespace kept by a holder process: open() moves the whole calling process into it for good, which the
// kernel allows only while it has one thread. So open a lab before starting threads, and one user's lab per
// process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/model/fabric.hpp"
#include "topology/model/lab_settings.hpp"
#include "topology/os/child_process.hpp"

namespace weft::lab {

enum class LabOwner { root, user };

/// What an agent must know of a NIC that it serves.
struct LabNic {
  PortId port;
  std::string interface;  // in the host's namespace: p1, p2, ...
  IpAddress address;
  IpAddress gateway;        // the switch's end of the cable
  std::string mac;          // 02:77:...
  std::string gateway_mac;  // of the switch's end
  Bytes mtu;                // of IP packets
};

class Lab {
 public:
  /// `state_root`: the directory that keeps the labs of this user. Errors: not_found (no such lab; names the
  /// ones there are), conflict (half up, or gone since: says to run `weft lab down`), permission.
  static Result<Lab> open(std::string_view name, const std::filesystem::path& state_root);

  const std::string& name() const { return name_; }
  LabOwner owner() const { return owner_; }
  /// As designed: the rates of the file.
  const Fabric& fabric() const { return fabric_; }
  /// As built: the same ids and names, the rates that the lab shapes to (with_lab_rates).
  Fabric fabric_as_built() const { return with_lab_rates(fabric_, settings_); }
  const LabSettings& settings() const { return settings_; }
  const AddressPlan& addresses() const { return addresses_; }

  /// The namespace's file, for setns() and `nsenter --net=`.
  std::filesystem::path namespace_of(NodeId node) const;
  std::filesystem::path management_namespace() const;
  LabNic nic(PortId port) const;  // a port of a host with a cable
  std::vector<LabNic> nics_of(NodeId host) const;
  /// True: a machine of its own, whose network is not that of its namespace.
  bool is_guest(NodeId node) const;

  /// Where the coordinator's server listens (in the management namespace) and where hosts reach it.
  IpAddress coordinator_address() const;
  IpAddress management_address(NodeId host) const;
  /// Moves the calling thread, and the threads and children that it starts from then on, into the management
  /// namespace. Call it early in main: before a server is started or a connection made.
  Result<void> enter_management() const;

 private:
  friend class LabBuilder;
  friend struct LabAccess;
  Lab(std::string name, LabOwner owner, std::filesystem::path namespaces, Fabric fabric, LabSettings settings,
      AddressPlan addresses)
      : name_(std::move(name)),
        owner_(owner),
        namespaces_(std::move(namespaces)),
        fabric_(std::move(fabric)),
        settings_(std::move(settings)),
        addresses_(std::move(addresses)) {}

  std::string name_;
  LabOwner owner_;
  std::filesystem::path namespaces_;  // directory of the namespaces' files
  Fabric fabric_;
  LabSettings settings_;
  AddressPlan addresses_;
};

/// Starts a program in the namespace of `node` (spec.network_namespace is set by this call). On a guest it
/// runs in the guest: the child is then a stand-in here that ends with the program there, and takes it along
/// when it is killed; of the caller's environment only spec.env goes along.
Result<os::ChildProcess> spawn_in(const Lab& lab, NodeId node, os::ChildSpec spec);

/// Bytes of frames, Ethernet headers included, that have come out of each channel since the lab came up;
/// indexed by channel.
Result<std::vector<std::uint64_t>> carried_bytes(const Lab& lab);

}  // namespace weft::lab
