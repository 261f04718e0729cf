#include "probes/engine/verbs/request_qps.hpp"

#include <map>

namespace weft::verbs {

Result<std::unique_ptr<RequestQps>> RequestQps::connect(
    const std::shared_ptr<const rdma::VerbsDevice>& device, rdma::CompletionQueue& queue,
    const PeerAccess& access, const std::vector<datapath::Peer>& peers, QpSetSpec like,
    const std::vector<RequestedQp>& wanted) {
  std::map<std::uint32_t, std::vector<WantedQp>> by_peer;
  for (std::uint32_t spec = 0; spec < wanted.size(); ++spec)
    by_peer[wanted[spec].peer].push_back({spec, wanted[spec].label, wanted[spec].back_label});
  std::unique_ptr<RequestQps> all(new RequestQps);
  all->place_size_ = static_cast<std::uint64_t>(like.message.count()) * like.depth;
  all->places_.resize(wanted.size());
  for (const auto& [peer, qps] : by_peer) {
    like.peer = peers[peer].nic;
    auto set = QpSet::connect(device, queue, queue, access, like, qps);
    if (!set) return pass_on(set, fmt::format("queue pairs to {}", to_string(peers[peer].address)));
    for (std::size_t i = 0; i < qps.size(); ++i) all->places_[qps[i].spec] = {set->get(), i};
    all->sets_.push_back(std::move(*set));
  }
  return all;
}

std::uint64_t RequestQps::memory(std::uint32_t spec) const {
  return places_[spec].set->memory() + places_[spec].index * place_size_;
}

std::vector<std::uint32_t> RequestQps::close(const std::vector<FlowMoved>& moved) {
  std::map<QpSet*, std::vector<FlowMoved>> by_set;
  for (const FlowMoved& flow : moved) by_set[places_[flow.spec].set].push_back(flow);
  std::vector<std::uint32_t> differing;
  for (auto& [set, flows] : by_set)
    if (const auto theirs = set->close(std::move(flows)))
      for (const std::uint32_t spec : *theirs)
        if (spec < places_.size() && places_[spec].set == set) differing.push_back(spec);
  return differing;
}

}  // namespace weft::verbs
