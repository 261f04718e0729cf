#include "probes/session/discover_script.hpp"

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr std::uint32_t kFirstLabel = 49152;  // RoCEv2 source ports (ibv_flow_label_to_udp_sport)
constexpr std::uint32_t kLabels = 16384;
constexpr std::uint8_t kAttempts = 3;  // a hop that is silent three times is silent, not unlucky
constexpr std::uint8_t kMaxHops = 8;   // five switches of three tiers, seven of four, and the peer
constexpr unsigned kMaxRounds = 24;
constexpr unsigned kMinRounds = 2;    // before them it is not known whether packets of a flow take one path
constexpr unsigned kQuietRounds = 4;  // with nothing new in them: two among rails, two across
constexpr std::size_t kPartners = 4;
constexpr std::size_t kLabelsOfPair = 8;
/// Of the first round, when all NICs may be at one switch.
constexpr std::size_t kFirstTraces = 1000;
constexpr double kMaxTracesPerSecond = 500;  // of one NIC: what agents on a few cores send without loss
constexpr auto kSlack = std::chrono::seconds(5);

}  // namespace

discover::Trace trace_of(std::uint32_t src, std::uint32_t dst, PathLabel label,
                         std::vector<datapath::HopAnswer> answers) {
  std::ranges::stable_sort(answers, {}, &datapath::HopAnswer::hop);
  discover::Trace trace{src, dst, label, {}, false};
  std::set<IpAddress> met;
  for (const datapath::HopAnswer& answer : answers) {
    if (answer.hop == 0) continue;
    if (answer.is_peer) {
      trace.reached = true;
      trace.hops.resize(answer.hop - 1u);
      break;
    }
    if (!met.insert(answer.from).second) continue;
    if (trace.hops.size() < answer.hop) trace.hops.resize(answer.hop);
    auto& here = trace.hops[answer.hop - 1u];
    if (!here) here = answer.from;
  }
  return trace;
}

DiscoverScript::DiscoverScript(const Fabric& fabric, const AddressBook& addresses,
                               const DiscoverOptions& options, RunId run)
    : fabric_(&fabric),
      addresses_(&addresses),
      options_(options),
      run_(run),
      random_(options.seed),
      nics_(fabric.nics().begin(), fabric.nics().end()) {}

discover::TracedCabling DiscoverScript::cabling_now() const {
  std::vector<discover::TracedNic> nics;
  for (const PortId nic : nics_) nics.push_back({fabric_->name_of_nic(nic), *addresses_->address_of(nic)});
  return discover::cabling_of_traces(nics, traces_);
}

bool DiscoverScript::cut_short(const std::string& why) {
  cut_short_ = why;
  found_ = cabling_now();
  return rounds_ > kMinRounds;
}

std::vector<WorkItem> DiscoverScript::next_wave() {
  auto found = cabling_now();
  const bool is_new = found.cables != found_.cables || found.switches.size() != found_.switches.size();
  found_ = std::move(found);
  if (rounds_ > 0) quiet_rounds_ = is_new ? 0 : quiet_rounds_ + 1;
  if (rounds_ >= kMaxRounds || quiet_rounds_ >= kQuietRounds) return {};
  ++rounds_;
  return work_for(orders());
}

/// NIC n of a host goes to NIC n of others, as a rule: rails need not be joined. Every other round goes
/// across. The second asks some of the first again: do the packets of one flow take one path?
std::vector<DiscoverScript::Order> DiscoverScript::orders() {
  std::map<std::uint16_t, std::vector<std::uint32_t>> rails;
  std::size_t taking_part = 0;
  for (std::uint32_t i = 0; i < nics_.size(); ++i)
    if (!out_.contains(nics_[i])) {
      const bool across = rounds_ % 2 == 0;
      rails[across ? std::uint16_t{0} : fabric_->port(nics_[i]).number.value()].push_back(i);
      ++taking_part;
    }
  if (taking_part < 2) return {};
  const std::size_t labels =
      rounds_ == 1 ? std::clamp<std::size_t>(kFirstTraces / taking_part / kPartners, 1, kLabelsOfPair)
                   : kLabelsOfPair;
  std::vector<Order> all;
  for (const auto& [rail, part] : rails) {
    const auto some = orders_from(part, labels);
    all.insert(all.end(), some.begin(), some.end());
  }
  if (rounds_ == 2)
    for (std::size_t i = 0; i < traces_.size(); i += std::max<std::size_t>(1, traces_.size() / 64))
      if (!out_.contains(nics_[traces_[i].src]) && !out_.contains(nics_[traces_[i].dst]))
        all.push_back({traces_[i].src, traces_[i].dst, traces_[i].label});
  return all;
}

std::vector<DiscoverScript::Order> DiscoverScript::orders_from(const std::vector<std::uint32_t>& part,
                                                               std::size_t labels) {
  std::vector<Order> all;
  if (part.size() < 2) return all;
  std::set<std::size_t> steps;  // the same for all, so that each NIC is as often a source as a target
  if (rounds_ <= 2) steps.insert(rounds_);
  while (steps.size() < std::min(kPartners, part.size() - 1)) steps.insert(1 + random_() % (part.size() - 1));
  for (std::size_t i = 0; i < part.size(); ++i)
    for (const std::size_t step : steps) {
      const std::uint32_t src = part[i];
      const std::uint32_t dst = part[(i + step) % part.size()];
      if (src == dst || fabric_->port(nics_[src]).node == fabric_->port(nics_[dst]).node) continue;
      for (std::size_t l = 0; l < labels; ++l)
        all.push_back({src, dst, PathLabel(kFirstLabel + static_cast<std::uint32_t>(random_() % kLabels))});
    }
  return all;
}

/// Of all traces so far, those that the busiest switch answered. Addresses of no known switch may be one's.
double DiscoverScript::busiest_share() const {
  if (traces_.empty()) return 1;
  std::map<IpAddress, std::size_t> switch_at;
  for (std::size_t s = 0; s < found_.switches.size(); ++s)
    for (const IpAddress& address : found_.switches[s].addresses) switch_at[address] = s + 1;
  std::vector<std::size_t> answered(found_.switches.size() + 1);  // first: those of no known switch
  for (const discover::Trace& trace : traces_)
    for (const auto& hop : trace.hops)
      if (hop) ++answered[switch_at[*hop]];
  const auto most = static_cast<double>(*std::ranges::max_element(answered));
  return std::clamp(most / static_cast<double>(traces_.size()), 1e-3, 1.0);
}

std::vector<WorkItem> DiscoverScript::work_for(const std::vector<Order>& orders) {
  if (orders.empty()) return {};
  const double seconds = static_cast<double>(orders.size()) * busiest_share() / options_.answers_per_second;
  const auto hops =
      longest_ == 0 ? kMaxHops : static_cast<std::uint8_t>(std::min<std::size_t>(longest_ + 2, 15));
  std::map<std::uint32_t, std::vector<const Order*>> by_nic;
  for (const Order& order : orders) by_nic[order.src].push_back(&order);
  std::vector<WorkItem> work;
  double longest = 0;
  for (const auto& [src, mine] : by_nic) {
    datapath::TraceRequest request{.run = run_, .batch = BatchId(rounds_), .attempts = kAttempts};
    PeerList peers;
    for (const Order* order : mine)
      request.specs.push_back({peers.index_of(nics_[order->dst], *addresses_), order->label, hops});
    request.peers = std::move(peers).take();
    const double least = std::max(seconds, static_cast<double>(mine.size()) / kMaxTracesPerSecond);
    longest = std::max(longest, least);
    request.pace.packets_per_second = static_cast<double>(hops) * static_cast<double>(mine.size()) / least;
    const Nanoseconds expected(static_cast<std::int64_t>(least * 1e9));
    work.push_back(
        {nics_[src], (expected + request.pace.answer_wait) * kAttempts + kSlack, std::move(request)});
  }
  sending_time_ += longest + std::chrono::duration<double>(datapath::Pace{}.answer_wait).count();
  return work;
}

void DiscoverScript::take(const WorkItem& item, const TaskAnswer* answer) {
  const auto* hops = answer ? std::get_if<std::vector<datapath::HopAnswer>>(answer) : nullptr;
  const auto* request = std::get_if<datapath::TraceRequest>(&item.work);
  if (!hops || !request) return;
  std::vector<std::vector<datapath::HopAnswer>> by_spec(request->specs.size());
  for (const datapath::HopAnswer& hop : *hops)
    if (hop.spec < by_spec.size()) by_spec[hop.spec].push_back(hop);
  const auto index = [&](PortId nic) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(nics_, nic) - nics_.begin());
  };
  for (std::size_t i = 0; i < by_spec.size(); ++i) {
    const datapath::TraceSpec& spec = request->specs[i];
    auto trace =
        trace_of(index(item.nic), index(request->peers[spec.peer].nic), spec.label, std::move(by_spec[i]));
    if (trace.reached) longest_ = std::max(longest_, trace.hops.size());
    traces_.push_back(std::move(trace));
  }
}

}  // namespace weft::session
