#include "probes/session/field_script.hpp"

#include <algorithm>
#include <map>

#include "probes/plan/field_trial.hpp"
#include "probes/session/map_stage.hpp"
#include "topology/base/check.hpp"

namespace weft::session {
namespace {

constexpr std::uint8_t kAttempts = 3;  // as of a map
constexpr double kMaxTracesPerSecond = 2000;
constexpr auto kSlack = std::chrono::seconds(5);

plan::FieldTrial trial_of(const Fabric& fabric, const AddressBook& addresses,
                          routing::ShortestPathCache& ways, const plan::NicPair& pair, std::uint64_t seed) {
  const auto hops = plan::hops_of_trial(fabric, ways, addresses, pair);
  const auto address = addresses.address_of(pair.dst);
  WEFT_CHECK(hops && address);
  return {fabric, addresses, pair, *hops, address->is_v6(), seed};
}

}  // namespace

FieldScript::FieldScript(const Fabric& fabric, const AddressBook& addresses, const SweepOptions& options,
                         RunId run, const plan::NicPair& pair)
    : in_{fabric, addresses, options, run},
      results_(in_),
      pair_(pair),
      trial_(trial_of(in_.fabric, in_.addresses, results_.learner.ways(), pair, run.value())) {}

std::vector<WorkItem> FieldScript::next_wave() {
  if (asked_ || !results_.takes_part(pair_.src) || !results_.takes_part(pair_.dst)) return {};
  asked_ = true;
  datapath::TraceRequest request{.run = in_.run, .batch = results_.next_batch(), .attempts = kAttempts};
  PeerList peers;
  const auto peer = peers.index_of(pair_.dst, in_.addresses);
  const plan::HopRange hops = trial_.hops();
  for (const plan::FieldTrial::Probe& probe : trial_.probes())
    request.specs.push_back({peer, probe.label, hops.last, hops.first, hops.to_peer, probe.fields});
  request.peers = std::move(peers).take();
  const auto probes = static_cast<double>(request.specs.size());
  const double packets = probes * request.specs.front().hops();
  // At worst all go by one switch.
  const double seconds = std::max(probes / in_.options.answers_per_second, packets / kMaxTracesPerSecond);
  request.pace.packets_per_second = packets / seconds;
  const Nanoseconds expected(static_cast<std::int64_t>(seconds * 1e9));
  return {{pair_.src, (expected + request.pace.answer_wait) * kAttempts + kSlack, std::move(request)}};
}

void FieldScript::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto answers = by_spec(std::get<datapath::TraceRequest>(item.work), answer);
  const auto& probes = trial_.probes();
  std::map<PathLabel, std::vector<datapath::HopAnswer>> usual;
  for (std::size_t i = 0; i < std::min(answers.size(), probes.size()); ++i) {
    trial_.take(i, answers[i]);
    if (probes[i].fields != PacketFields{}) continue;
    auto& all = usual[probes[i].label];
    all.insert(all.end(), answers[i].begin(), answers[i].end());
  }
  for (const auto& [label, all] : usual) results_.learner.learn(pair_.src, pair_.dst, label, all, false);
}

}  // namespace weft::session
