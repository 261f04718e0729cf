// RdmaRig: a lab of the program's own whose hosts are guests with RDMA devices, up as long as the object
// lives; and what tests do with it: sweep, give its agents work of their own, look at the packets that leave
// a NIC. Needs root, QEMU and what tests/rdma/build_guest_image needs.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "probes/session/script.hpp"
#include "tests/support/lab_user.hpp"

namespace weft {

/// What is missing on this machine; empty: nothing.
std::string missing_for_guests();

/// What came of work that was given to agents.
struct RigAnswers {
  std::vector<std::optional<TaskAnswer>> answers;  // in the order of the items, wave by wave
  std::vector<HostEvidence> blamed;
  std::string error;  // of the run itself
  bool blames(const std::string& text) const;
};

/// Source ports by destination queue pair, as packets carried them.
using PortsByQp = std::map<QpNum, std::set<UdpPort>>;

class RdmaRig {
 public:
  explicit RdmaRig(std::string_view fabric);

  const LabUser& user() const { return user_; }
  const std::string& name() const { return user_.lab; }
  double boot_seconds() const { return boot_seconds_; }
  /// What `lab up` said, when it failed.
  const std::string& trouble() const { return trouble_; }
  const Lab& lab() const { return *lab_; }
  PortId nic(std::string_view host) const { return lab_->fabric().find_nic(host).value(); }
  Peer peer(std::string_view host) const;

  Answer weft(const std::vector<std::string>& words, Nanoseconds limit = std::chrono::seconds(100)) const;
  /// A program in a guest.
  Answer in(const std::string& host, std::vector<std::string> argv) const;

  /// The agent of `host` runs in memory where a byte of what a flow wrote changes, while the object lives: it
  /// is another program in the place of the guest's own.
  class BadMemory {
   public:
    BadMemory(const RdmaRig& rig, std::string host);
    ~BadMemory();
    BadMemory(const BadMemory&) = delete;
    BadMemory& operator=(const BadMemory&) = delete;

   private:
    const RdmaRig& rig_;
    std::string host_;
  };

  /// Runs waves of work over the agents of `hosts`, with queue pairs.
  RigAnswers run(const std::vector<std::string>& hosts, std::vector<std::vector<WorkItem>> waves) const;
  /// The RDMA packets that leave the NIC of `host` while `during` runs.
  PortsByQp ports_used(std::string_view host, const std::function<void()>& during) const;

 private:
  LabUser user_;
  double boot_seconds_ = 0;
  std::string trouble_;
  std::optional<Lab> lab_;
};

}  // namespace weft
