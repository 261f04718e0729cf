#include "probes/session/refusal.hpp"

namespace weft {

void note_refusal(SweepState& state, PortId asking, PortId peer, const std::string& why) {
  if (!state.takes_part(peer)) return;
  state.out.insert(peer);
  state.observations.hosts.push_back(
      {state.fabric.port(peer).node, peer, Verdict::failed, std::nullopt,
       fmt::format("it made no queue pairs with {}: {}", state.fabric.name_of_nic(asking), why)});
}

}  // namespace weft
