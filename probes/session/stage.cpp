#include "probes/session/stage.hpp"

namespace weft {

void note_refusal(SweepState& state, PortId asking, PortId peer, const std::string& why) {
  if (!state.takes_part(peer)) return;
  state.out.insert(peer);
  const NodeId host = state.fabric.port(peer).node;
  auto text = fmt::format("it made no queue pairs with {}: {}", state.fabric.name_of_nic(asking), why);
  if (state.paused)  // their messages, perhaps, went nowhere
    state.not_tested.push_back({host, peer, std::move(text)});
  else
    state.observations.hosts.push_back({host, peer, Verdict::failed, std::nullopt, std::move(text)});
}

}  // namespace weft
