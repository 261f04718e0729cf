#include "probes/plan/field_trial.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "probes/plan/path_search.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// Several, so that several switches behind the first are met.
constexpr std::size_t kBases = 4;
constexpr std::size_t kValues = 16;  // of a field, for each of them
constexpr std::size_t kEnough =
    16;  // values that tell: a field that is hashed is missed once in 65,536 times
constexpr std::size_t kRepeats = 8;
constexpr std::size_t kMovesOneOf = 4;
constexpr std::uint32_t kMaxQueuePair = 0xFFFFFF;
constexpr std::uint32_t kMaxFlowLabel = 0xFFFFF;
/// Sizes from 132 to 1,024 bytes: within any MTU.
constexpr std::uint32_t kSizeStep = 4, kSizes = 224, kMinSize = 128;
/// DSCP 1 to 63; the bits of ECN stay as they are without congestion control.
constexpr std::uint32_t kClasses = 63;

/// `count` different numbers of 1 ... `most`.
std::set<std::uint32_t> draw(std::mt19937_64& random, std::uint32_t most, std::size_t count) {
  std::set<std::uint32_t> drawn;
  while (drawn.size() < count) drawn.insert(1 + static_cast<std::uint32_t>(random() % most));
  return drawn;
}

std::uint32_t most_of(PacketField field) {
  switch (field) {
    case PacketField::source_port:
      return kRoceLabels - 1;
    case PacketField::queue_pair:
      return kMaxQueuePair;
    case PacketField::traffic_class:
      return kClasses;
    case PacketField::flow_label:
      return kMaxFlowLabel;
    case PacketField::size:
      return kSizes;
  }
  return 1;
}

/// A packet as those of `label`, but for this field.
FieldTrial::Probe with_value(PathLabel label, PacketField field, std::uint32_t value) {
  switch (field) {
    case PacketField::source_port:
      return {PathLabel(kFirstRoceLabel + (label.value() - kFirstRoceLabel + value) % kRoceLabels), {}};
    case PacketField::queue_pair:
      return {label, {.queue_pair = QpNum(value)}};
    case PacketField::traffic_class:
      return {label, {.traffic_class = static_cast<std::uint8_t>(value << 2)}};
    case PacketField::flow_label:
      return {label, {.flow_label = value}};
    case PacketField::size:
      return {label, {.size = Bytes(kMinSize + kSizeStep * value)}};
  }
  return {label, {}};
}

}  // namespace

FieldTrial::FieldTrial(const Fabric& fabric, const AddressBook& addresses, const NicPair& pair,
                       TrialHops hops, bool v6, std::uint64_t seed)
    : fabric_(&fabric), addresses_(&addresses), pair_(pair), hops_(hops), v6_(v6) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<Probe, Purpose>> others;
  const auto bases = draw(random, kRoceLabels - 1, kBases);
  std::size_t base = 0;
  for (const std::uint32_t number : bases) {
    const PathLabel label(kFirstRoceLabel + number);
    probes_.push_back({label, {}});
    purposes_.push_back({base, std::nullopt});
    for (std::size_t i = 0; i < kRepeats; ++i) others.push_back({{label, {}}, {base, std::nullopt}});
    for (const PacketField field : kPacketFields) {
      if (field == PacketField::flow_label && !v6) continue;
      for (const std::uint32_t value : draw(random, most_of(field), kValues))
        others.push_back({with_value(label, field, value), {base, field}});
    }
    ++base;
  }
  // Mixed, so that a route that changes on the way shows in packets that do not differ.
  std::ranges::shuffle(others, random);
  for (const auto& [probe, purpose] : others) {
    probes_.push_back(probe);
    purposes_.push_back(purpose);
  }
  seen_.resize(probes_.size());
}

/// Who answers from an address that the file does not have, as anonymous routers do, tells nothing.
void FieldTrial::take(std::size_t probe, std::span<const datapath::HopAnswer> answers) {
  for (const datapath::HopAnswer& answer : answers)
    if (!answer.is_peer && node_at(answer.from)) seen_[probe].emplace(answer.hop, answer.from);
}

std::optional<NodeId> FieldTrial::node_at(const IpAddress& address) const {
  if (const auto port = addresses_->port_of(address)) return fabric_->port(*port).node;
  return addresses_->node_of(address);
}

/// A hop tells it alone, or all of them do together.
bool FieldTrial::identifies_path(const Seen& seen) const {
  const TellingHops& telling = hops_.telling;
  if (std::ranges::any_of(telling.alone, [&](std::uint8_t hop) { return seen.contains(hop); })) return true;
  if (!telling.together) return false;
  for (std::uint8_t hop = hops_.asked.first; hop <= hops_.asked.last; ++hop)
    if (!seen.contains(hop)) return false;
  return true;
}

FieldTrial::Beside FieldTrial::compare(const Seen& usual, const Seen& other) const {
  Beside beside;
  Seen common;
  std::optional<NodeId> before = routing::edge_switch(*fabric_, pair_.src);
  std::uint8_t expected = hops_.asked.first;  // the hop behind `before`
  for (const auto& [hop, from] : usual) {
    const auto found = other.find(hop);
    if (found == other.end()) continue;
    if (found->second != from) {
      beside.parted = hop;
      if (hop == expected) beside.chooser = before;
      break;
    }
    common.emplace(hop, from);
    before = node_at(from);
    expected = static_cast<std::uint8_t>(hop + 1);
  }
  beside.tells = beside.parted || identifies_path(common);
  return beside;
}

FieldFindings FieldTrial::findings() const {
  FieldFindings findings{.src = pair_.src, .dst = pair_.dst};
  std::map<PacketField, FieldFinding> by_field;
  std::map<PacketField, std::set<NodeId>> choosers;
  for (const PacketField field : kPacketFields)
    if (field != PacketField::flow_label || v6_) by_field[field].field = field;
  for (std::size_t probe = kBases; probe < probes_.size(); ++probe) {
    const auto& [base, field] = purposes_[probe];
    const Beside beside = compare(seen_[base], seen_[probe]);
    if (!beside.tells) continue;
    std::uint64_t& all = field ? by_field[*field].values : findings.repeats;
    std::uint64_t& moved = field ? by_field[*field].moved : findings.repeats_moved;
    ++all;
    if (!beside.parted) continue;
    ++moved;
    if (field && beside.chooser) choosers[*field].insert(*beside.chooser);
  }
  const bool known = !findings.sprays() && findings.repeats >= kRepeats;
  for (auto& [field, finding] : by_field) {
    // Of a field that is hashed half of the values and more move the path; fewer may be a route that changed.
    if (known && finding.moved > 0 && kMovesOneOf * finding.moved < finding.values) {
      finding.moves = MovesPath::unknown;
    } else if (known && finding.moved > 0) {
      finding.moves = MovesPath::yes;
      finding.at.assign(choosers[field].begin(), choosers[field].end());
    } else if (known && finding.values >= kEnough) {
      finding.moves = MovesPath::no;
    }
    findings.fields.push_back(finding);
  }
  return findings;
}

std::optional<TrialHops> hops_of_trial(const Fabric& fabric, routing::ShortestPathCache& ways,
                                       const AddressBook& addresses, const NicPair& pair) {
  const auto found = ways_of_pair(fabric, ways, addresses, pair);
  if (!found || found->paths < 2) return std::nullopt;
  // From the switch behind the first, which has no choice of who it is, to the last: the peer's device might
  // know the queue pair.
  return TrialHops{{2, static_cast<std::uint8_t>(found->all.last - 1), false},
                   telling_hops(fabric, ways, addresses, pair)};
}

}  // namespace weft::plan
