// TestLab: a lab with a name and a state root of its own, gone when it is destroyed; and what tests do in
// one: send datagrams, count packets, ask the kernel for its route. Needs root.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "topology/lab/netns/lab_control.hpp"

namespace weft {

/// A directory that goes with the object.
class TestDirectory {
 public:
  TestDirectory();
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A name that no other lab of this machine has.
std::string unique_lab_name();

/// A failed set-up ends the test program with its message: nothing after it could be right.
class TestLab {
 public:
  explicit TestLab(const Fabric& fabric, const LabSettings& settings = {});
  /// In this state root, as where the program itself keeps its labs.
  TestLab(const Fabric& fabric, const LabSettings& settings, std::filesystem::path root);
  TestLab(const TestLab&) = delete;
  TestLab& operator=(const TestLab&) = delete;
  ~TestLab();

  const lab::Lab& operator*() const { return *lab_; }
  const lab::Lab* operator->() const { return &*lab_; }
  const std::filesystem::path& root() const { return root_; }
  const Fabric& fabric() const { return lab_->fabric(); }

  NodeId node(std::string_view name) const { return fabric().find_node(name).value(); }
  PortId nic(std::string_view name) const { return fabric().find_nic(name).value(); }
  LinkId link(std::string_view name) const { return fabric().find_link(name).value(); }
  ChannelId channel(std::string_view name) const { return fabric().find_channel(name).value(); }

  /// As `weft lab fault` reads it: "leaf1--spine2:loss=50%,from=leaf1".
  Result<void> fault(std::string_view text) const;
  Result<bool> heal(std::optional<LinkId> link = std::nullopt) const {
    return lab_heal(**this, link, root());
  }

  /// What a program wrote on stdout in a node.
  Result<std::string> run_in(std::string_view node, const std::vector<std::string>& argv) const;

 private:
  TestDirectory scratch_;
  std::filesystem::path root_ = scratch_.path();
  std::optional<lab::Lab> lab_;
};

struct Datagrams {
  std::string_view from;  // NIC
  std::string_view to;    // NIC
  std::uint16_t label = 49152;
  int count = 1;
  int size = 100;                    // of the IP packet
  Nanoseconds gap = Nanoseconds(0);  // between two packets
};
/// Sends UDP datagrams to port 4791 of `to` and waits until no more arrive; how many did.
int arrived(const TestLab& lab, const Datagrams& datagrams);

struct PacketCounts {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};
/// What the kernel counted at a port since the lab came up.
PacketCounts packets_at(const TestLab& lab, PortId port);
/// Bytes that came in at a port.
std::uint64_t bytes_into(const TestLab& lab, PortId port);

/// The channel by which a switch forwards what goes from one NIC to the other with this label, as the kernel
/// says when asked (`ip route get`).
ChannelId kernel_choice(const TestLab& lab, std::string_view node, std::string_view from, std::string_view to,
                        std::uint16_t label);
/// From the NIC's own cable to the last, asking every switch on the way.
std::vector<ChannelId> kernel_path(const TestLab& lab, std::string_view from, std::string_view to,
                                   std::uint16_t label);

/// Who says that a datagram's TTL ran out after `hops` hops; absent: nobody within a second.
std::optional<IpAddress> answer_after(const TestLab& lab, const Datagrams& datagrams, int hops);

}  // namespace weft
