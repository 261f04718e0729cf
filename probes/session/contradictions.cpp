#include "probes/session/contradictions.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

using Counterparts = std::map<PortId, std::set<PortId>>;

/// Of liars, that it would take without a culprit: two that accuse one may be the two that lie.
constexpr std::size_t kMinMore = 2;

Counterparts counterparts_in(const std::vector<Contradiction>& all) {
  Counterparts of;
  for (const Contradiction& each : all) {
    of[each.one].insert(each.other);
    of[each.other].insert(each.one);
  }
  return of;
}

/// Few NICs that explain all contradictions: by turns the one that takes part in most of those that are left.
std::set<PortId> few_that_explain(Counterparts of) {
  std::set<PortId> few;
  while (!of.empty()) {
    const PortId nic =
        std::ranges::max_element(of, {}, [](const auto& each) { return each.second.size(); })->first;
    few.insert(nic);
    for (const PortId other : of.at(nic)) {
      of.at(other).erase(nic);
      if (of.at(other).empty()) of.erase(other);
    }
    of.erase(nic);
  }
  return few;
}

/// Contradictions no two of which have a NIC in common, by either of their NICs: each takes a culprit of its
/// own.
std::map<PortId, PortId> apart(const Counterparts& of) {
  std::vector<PortId> fewest_first;
  for (const auto& [nic, others] : of) fewest_first.push_back(nic);
  const auto count = [&](PortId nic) { return of.at(nic).size(); };
  std::ranges::stable_sort(fewest_first, {}, count);
  std::map<PortId, PortId> mates;
  for (const PortId nic : fewest_first) {
    if (mates.contains(nic)) continue;
    std::vector<PortId> free;
    std::ranges::copy_if(of.at(nic), std::back_inserter(free),
                         [&](PortId other) { return !mates.contains(other); });
    if (free.empty()) continue;
    const PortId mate = std::ranges::min(free, {}, count);
    mates[nic] = mate;
    mates[mate] = nic;
  }
  return mates;
}

/// Those that contradict themselves; of the others each without whom the fewest NICs that explain all would
/// be two more at least. Who speaks the truth is contradicted by liars alone: as many as its counterparts,
/// and one more for each contradiction apart from these.
std::set<PortId> culprits_in(Counterparts of) {
  std::set<PortId> culprits;
  for (const auto& [nic, others] : of)
    if (others.contains(nic)) culprits.insert(nic);
  for (const PortId nic : culprits) {
    for (const PortId other : of.at(nic))
      if (other != nic) of.at(other).erase(nic);
    of.erase(nic);
  }
  std::erase_if(of, [](const auto& each) { return each.second.empty(); });
  const auto few = few_that_explain(of);
  const auto mates = apart(of);
  for (const PortId nic : few) {
    const auto& others = of.at(nic);
    std::set<PortId> touched;  // of those apart: by the smaller of their two NICs
    const auto touch = [&](PortId one) {
      if (const auto at = mates.find(one); at != mates.end()) touched.insert(std::min(one, at->second));
    };
    touch(nic);
    std::ranges::for_each(others, touch);
    const std::size_t without = others.size() + mates.size() / 2 - touched.size();
    if (without >= few.size() + kMinMore) culprits.insert(nic);
  }
  return culprits;
}

bool is_of(const Contradiction& each, PortId nic) { return each.one == nic || each.other == nic; }

void blame(const Fabric& fabric, SweepResults& results, PortId nic, Verdict verdict, std::string text) {
  results.observations.hosts.push_back({fabric.port(nic).node, nic, verdict, std::nullopt, std::move(text)});
}

}  // namespace

std::set<PortId> note_contradictions(const Fabric& fabric, SweepResults& results,
                                     std::vector<Contradiction> all) {
  const auto of = counterparts_in(all);
  const auto culprits = culprits_in(of);
  for (const PortId nic : culprits) {
    const auto first = std::ranges::find_if(all, [&](const auto& each) { return is_of(each, nic); });
    blame(fabric, results, nic, Verdict::failed,
          of.at(nic).contains(nic)
              ? fmt::format("its own figures contradict each other: {}", first->what)
              : fmt::format("its figures contradict those of {} others: {}", of.at(nic).size(), first->what));
    results.out.insert(nic);
  }
  std::erase_if(all, [&](const Contradiction& each) {
    return culprits.contains(each.one) || culprits.contains(each.other);
  });
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
