#include "probes/watch/assignment.hpp"

#include <set>
#include <tuple>

namespace weft::watch {

std::vector<AskedPair> asked_pairs(const std::vector<NicSchedule>& nics) {
  std::vector<AskedPair> pairs;
  for (std::uint32_t nic = 0; nic < nics.size(); ++nic) {
    std::set<std::uint32_t> peers;
    for (const StreamSpec& stream : nics[nic].streams) peers.insert(stream.peer);
    for (const std::uint32_t peer : peers) pairs.push_back({nic, peer});
  }
  return pairs;
}

bool same_work(const Assignment& a, const Assignment& b) {
  const auto work = [](const Assignment& of) {
    return std::tie(of.plan, of.nics, of.peers, of.asked, of.size);
  };
  return work(a) == work(b);
}

}  // namespace weft::watch
