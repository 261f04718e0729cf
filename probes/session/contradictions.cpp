#include "probes/session/contradictions.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

using Counterparts = std::map<PortId, std::set<PortId>>;

Counterparts counterparts_in(const std::vector<Contradiction>& all) {
  Counterparts of;
  for (const Contradiction& each : all) {
    of[each.one].insert(each.other);
    of[each.other].insert(each.one);
  }
  return of;
}

/// One that contradicts itself, or two others at least, each of which contradicts fewer.
std::optional<PortId> culprit_in(const Counterparts& of) {
  for (const auto& [nic, others] : of)
    if (others.contains(nic)) return nic;
  const auto most = std::ranges::max_element(of, {}, [](const auto& each) { return each.second.size(); });
  if (most == of.end() || most->second.size() < 2) return std::nullopt;
  const auto fewer = [&](PortId other) { return of.at(other).size() < most->second.size(); };
  return std::ranges::all_of(most->second, fewer) ? std::optional(most->first) : std::nullopt;
}

bool is_of(const Contradiction& each, PortId nic) { return each.one == nic || each.other == nic; }

void blame(const Fabric& fabric, SweepResults& results, PortId nic, Verdict verdict, std::string text) {
  results.observations.hosts.push_back({fabric.port(nic).node, nic, verdict, std::nullopt, std::move(text)});
}

}  // namespace

std::set<PortId> note_contradictions(const Fabric& fabric, SweepResults& results,
                                     std::vector<Contradiction> all) {
  std::set<PortId> culprits;
  for (auto of = counterparts_in(all); const auto nic = culprit_in(of); of = counterparts_in(all)) {
    const auto first = std::ranges::find_if(all, [&](const auto& each) { return is_of(each, *nic); });
    blame(fabric, results, *nic, Verdict::failed,
          of.at(*nic).contains(*nic) ? fmt::format("its own figures contradict each other: {}", first->what)
                                     : fmt::format("its figures contradict those of {} others: {}",
                                                   of.at(*nic).size(), first->what));
    results.out.insert(*nic);
    culprits.insert(*nic);
    std::erase_if(all, [&](const auto& each) { return is_of(each, *nic); });
  }
  for (const auto& [nic, others] : counterparts_in(all)) {
    const auto first = std::ranges::find_if(all, [nic = nic](const auto& each) { return is_of(each, nic); });
    blame(fabric, results, nic, Verdict::unknown,
          fmt::format("its figures and those of {} contradict each other: {}",
                      fabric.name_of_nic(*others.begin()), first->what));
  }
  return culprits;
}

std::optional<std::string> contradiction_of(const datapath::PingTally& sent,
                                            const datapath::ReceivedTally* received) {
  const std::uint64_t whole = received ? received->packets : 0;
  const std::uint64_t damaged = received ? received->corrupt : 0;
  const std::uint64_t back = std::uint64_t{sent.answered} + sent.corrupt;
  if (whole > sent.sent || damaged > sent.sent - whole)
    return fmt::format("{} probes received, {} more damaged, of {} sent", whole, damaged, sent.sent);
  if (back > whole) return fmt::format("{} probes answered of {} received", back, whole);
  if (received && received->unsent > whole - back)
    return fmt::format("{} probes answered, {} answers not sent, of {} received", back, received->unsent,
                       whole);
  return std::nullopt;
}

std::optional<std::string> contradiction_of(const datapath::FlowTally& sent,
                                            const datapath::ReceivedTally* received) {
  const std::uint64_t most = sent.measure ? sent.measure->bytes : sent.bytes;
  if (!received || received->bytes <= most) return std::nullopt;
  return fmt::format("{} bytes received of {} sent", received->bytes, most);
}

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

}  // namespace weft::session
