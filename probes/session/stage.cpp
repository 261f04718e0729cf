#include "probes/session/stage.hpp"

namespace weft {

void note_refusal(const Fabric& fabric, SweepResults& results, PortId asking, PortId peer,
                  const std::string& why) {
  if (!results.takes_part(peer)) return;
  results.out.insert(peer);
  const NodeId host = fabric.port(peer).node;
  auto text = fmt::format("it made no queue pairs with {}: {}", fabric.name_of_nic(asking), why);
  if (results.paused)  // their messages, perhaps, went nowhere
    results.not_tested.push_back({host, peer, std::move(text)});
  else
    results.observations.hosts.push_back({host, peer, Verdict::failed, std::nullopt, std::move(text)});
}

}  // namespace weft
