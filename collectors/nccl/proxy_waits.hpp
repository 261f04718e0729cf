// What NCCLX's proxies have under way (nccl_comm_state of a dump), by ranks of the job: who waits for whom,
// also where the entries of dumps are missing or cut. Stock NCCL tells none of it. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/nccl/flight_dump.hpp"

namespace weft::nccl {

class Job;

/// Of PT_activeOps, a text of JSON. False: something of it is not understood, so that this is not all.
bool read_active(std::string_view text, std::vector<ActiveTransfer>& active);

/// A rank waits for another, to send to it or for what it sends.
struct ProxyWait {
  Rank rank = 0;
  Rank remote = 0;
  std::uint32_t channel = 0;
  bool sends = false;
};
std::string to_string(const ProxyWait& wait);  // rank 3 waits on channel 1 for what rank 2 sends

class ProxyWaits {
 public:
  ProxyWaits() = default;
  explicit ProxyWaits(const Job& job);

  /// Of those whose two ranks are known.
  const std::vector<ProxyWait>& all() const { return all_; }
  /// Of all ranks, whoever they wait for.
  std::size_t under_way() const { return under_way_; }
  std::vector<ProxyWait> for_rank(Rank remote) const;
  /// Its dump tells all that its proxies have under way, and that is nothing.
  bool is_idle(Rank rank) const { return idle_.contains(rank); }
  /// `rank` sends to `remote`, or waits for what it sends.
  bool has(Rank rank, Rank remote, bool sends) const;

 private:
  std::vector<ProxyWait> all_;
  std::multimap<Rank, std::size_t> by_remote_;  // in all_
  std::set<Rank> idle_;
  std::size_t under_way_ = 0;
};

}  // namespace weft::nccl
