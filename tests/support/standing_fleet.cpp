#include "tests/support/standing_fleet.hpp"

#include <algorithm>
#include <cmath>

#include "probes/plan/pairs.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft {

using std::chrono::milliseconds;
using std::chrono::seconds;

watch::StandingPlan fleet_plan(const Fabric& fabric, const FleetOptions& options) {
  const AddressBook addresses = plan_addresses(fabric, IpFamily::v4)->book;
  PathTable table;
  plan::PathLearner learner(fabric, addresses, table);
  const routing::EcmpRouting routing(fabric, {.seed = options.seed});
  const std::uint32_t partners = options.partners > 0 ? options.partners : plan::default_partners(fabric);
  for (const plan::NicPair& pair : plan::choose_pairs(fabric, partners)) {
    std::set<std::vector<ChannelId>> known;
    for (std::uint32_t i = 0; i < options.labels; ++i) {
      std::vector<ChannelId> path;
      const PathLabel label(49152 + i);
      if (routing.path_of(pair.src, pair.dst, label, path) && known.insert(path).second)
        learner.adopt(pair.src, pair.dst, label, {&path, 1});
    }
  }
  return watch::make_standing_plan(fabric, learner, {fabric.nics().begin(), fabric.nics().end()},
                                   options.limits);
}

watch::StandingEnds fleet_ends(const Fabric& fabric, const watch::StandingPlan& plan) {
  const AddressBook addresses = plan_addresses(fabric, IpFamily::v4)->book;
  watch::StandingEnds ends;
  for (const watch::StandingNic& nic : plan.nics)
    ends[nic.nic] = {{nic.nic, *addresses.address_of(nic.nic)}, "eth" + std::to_string(nic.nic.value())};
  return ends;
}

StandingFleet::StandingFleet(const Fabric& fabric, const watch::StandingPlan& plan,
                             watch::PlanVersion version, const FleetOptions& options)
    : fabric_(&fabric),
      plan_(&plan),
      version_(version),
      options_(options),
      random_(options.seed),
      touched_(plan.nics.size()) {
  for (const watch::StandingNic& nic : plan.nics)
    if (!phase_.contains(nic.host))
      phase_[nic.host] = Nanoseconds(static_cast<std::int64_t>(uniform() * 1e9));
}

void StandingFleet::find_touched() {
  if (faults_known_ == faults_.size()) return;
  faults_known_ = faults_.size();
  std::vector<bool> bad(fabric_->channel_count(), false);
  for (const FleetFault& fault : faults_)
    for (const ChannelId c : {Fabric::a_to_b(fault.fault.link), Fabric::b_to_a(fault.fault.link)})
      if (fault.fault.channel.value_or(c) == c) bad[c.value()] = true;
  for (std::uint32_t n = 0; n < plan_->nics.size(); ++n) {
    touched_[n].clear();
    for (std::uint32_t s = 0; s < plan_->nics[n].streams.size(); ++s)
      for (const PathSetId set : {plan_->nics[n].streams[s].there, plan_->nics[n].streams[s].back})
        if (std::ranges::any_of(plan_->paths.channels(plan_->paths.paths(set).front()),
                                [&](ChannelId c) { return bad[c.value()]; }) &&
            (touched_[n].empty() || touched_[n].back() != s))
          touched_[n].push_back(s);
  }
}

StandingFleet::Hazard StandingFleet::hazard_of(std::uint32_t row, Nanoseconds at) const {
  Hazard hazard;
  const watch::StandingStream& stream = plan_->stream(row);
  if (stopped_.contains(fabric_->port(stream.peer).node)) return {1, 0, 1};
  const auto meet = [&](PathSetId set, double& lost) {
    for (const ChannelId channel : plan_->paths.channels(plan_->paths.paths(set).front()))
      for (const FleetFault& fault : faults_) {
        if (fault.fault.link != Fabric::link_of(channel) ||
            fault.fault.channel.value_or(channel) != channel || at < fault.from || at >= fault.until)
          continue;
        if (fault.fault.on && (at - fault.from) % (*fault.fault.on + *fault.fault.off) >= *fault.fault.on)
          continue;
        const double share = fault.fault.down ? 1.0 : fault.fault.loss ? fault.fault.loss->value() : 0.0;
        if (share > 0) hazard.burst = fault.fault.burst.value_or(1);
        lost = 1 - (1 - lost) * (1 - share);
      }
  };
  meet(stream.there, hazard.there);
  meet(stream.back, hazard.back);
  return hazard;
}

void StandingFleet::simulate(std::uint32_t row, std::uint64_t streams, Nanoseconds begin,
                             const std::set<std::uint64_t>& background, watch::NicWindow& window) {
  const watch::StandingNic& nic = plan_->nics[plan_->nic_of(row)];
  const std::uint64_t s = row - nic.first_row, end = window.first + window.count;
  auto& pending = pending_[row];
  std::vector<watch::LostProbe> lost;
  const std::size_t before = pending.size();
  std::size_t settled = 0;
  for (std::uint64_t p = window.first + (s + streams - window.first % streams) % streams; p < end;
       p += streams) {
    const Nanoseconds at = begin + Nanoseconds(static_cast<std::int64_t>(
                                       static_cast<double>(p - window.first) / nic.packets_per_second * 1e9));
    const Hazard hazard = hazard_of(row, at);
    std::uint32_t& run = run_left_[row];
    bool there = false, back = false;
    if (run > 0)
      --run, there = hazard.there > 0, back = !there;
    else if (uniform() < hazard.there / hazard.burst)
      there = true, run = hazard.burst - 1;
    else if (uniform() < hazard.back / hazard.burst)
      back = true, run = hazard.burst - 1;
    if (!there && !back && background.contains(p)) (uniform() < 0.5 ? there : back) = true;
    if (there || back) {
      pending.push_back({p, there});
      continue;
    }
    for (; settled < pending.size(); ++settled) {
      const auto way = pending[settled].there ? watch::LostWay::there : watch::LostWay::back;
      if (settled < before)
        window.settled.push_back({pending[settled].number, way});
      else
        lost.push_back({static_cast<std::uint32_t>(pending[settled].number - window.first), way});
    }
  }
  for (std::size_t i = std::max(settled, before); i < pending.size(); ++i)
    lost.push_back({static_cast<std::uint32_t>(pending[i].number - window.first), watch::LostWay::open});
  pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(settled));
  if (pending.empty()) pending_.erase(row);
  window.lost.insert(window.lost.end(), lost.begin(), lost.end());
}

watch::NicWindow StandingFleet::window_of(std::uint32_t n, Nanoseconds begin, std::uint64_t first,
                                          std::uint64_t end) {
  const watch::StandingNic& nic = plan_->nics[n];
  watch::NicWindow window{.nic = n - plan_->first_nic[nic.host.value()],
                          .first = first,
                          .count = static_cast<std::uint32_t>(end - first)};
  const std::uint64_t streams = nic.streams.size();
  std::set<std::uint64_t> background;
  std::set<std::uint32_t> rows;
  constexpr double kChannels = 8;  // of a round trip, about: what the background harms
  for (auto n_lost = std::poisson_distribution<int>(options_.background * kChannels * window.count)(random_);
       n_lost > 0; --n_lost)
    background.insert(first + static_cast<std::uint64_t>(uniform() * window.count));
  for (const std::uint64_t number : background)
    rows.insert(nic.first_row + static_cast<std::uint32_t>(number % streams));
  for (const std::uint32_t s : touched_[n]) rows.insert(nic.first_row + s);
  if (!stopped_.empty())
    for (std::uint32_t s = 0; s < streams; ++s)
      if (stopped_.contains(fabric_->port(nic.streams[s].peer).node)) rows.insert(nic.first_row + s);
  for (auto at = pending_.lower_bound(nic.first_row);
       at != pending_.end() && at->first < nic.first_row + streams; ++at)
    rows.insert(at->first);
  for (const std::uint32_t row : rows) simulate(row, streams, begin, background, window);
  std::ranges::sort(window.lost, {}, &watch::LostProbe::offset);
  std::ranges::sort(window.settled, {}, &watch::SettledProbe::number);
  return window;
}

void StandingFleet::tell_delays(std::uint32_t n, watch::NicWindow& window) {
  const watch::StandingNic& nic = plan_->nics[n];
  for (std::uint32_t s = 0; s < nic.streams.size(); ++s) {
    std::size_t channels = 0;
    Nanoseconds more{};
    for (const PathSetId set : {nic.streams[s].there, nic.streams[s].back})
      for (const ChannelId channel : plan_->paths.channels(plan_->paths.paths(set).front())) {
        ++channels;
        for (const FleetFault& fault : faults_)
          if (fault.fault.delay && fault.fault.link == Fabric::link_of(channel) &&
              fault.fault.channel.value_or(channel) == channel && now_ >= fault.from && now_ < fault.until)
            more += *fault.fault.delay;
      }
    LatencyHistogram rtt;
    for (int i = 0; i < 20; ++i)
      rtt.add(Nanoseconds(
                  static_cast<std::int64_t>(static_cast<double>(channels) * 3000 * (1 + 0.1 * uniform()))) +
              more);
    window.delays.push_back({s, std::move(rtt)});
  }
}

std::vector<SentWindow> StandingFleet::second() {
  find_touched();
  std::vector<SentWindow> all;
  for (const auto& [host, phase] : phase_) {
    if (stopped_.contains(host)) continue;
    // The second that ends at now + phase.
    const Nanoseconds end = now_ + phase, begin = end - seconds(1);
    SentWindow sent{host,
                    {.boot = 1 + boots_[host],
                     .number = numbers_[host]++,
                     .plan = version_,
                     .begin = begin + seconds(1000),
                     .length = seconds(1)},
                    end + milliseconds(250)};
    for (std::uint32_t i = 0; i < plan_->nics_of(host).size(); ++i) {
      const std::uint32_t n = plan_->first_nic[host.value()] + i;
      if (plan_->nics[n].streams.empty()) continue;
      const auto number_at = [&](Nanoseconds at) {
        return static_cast<std::uint64_t>(
            std::max(0.0, plan_->nics[n].packets_per_second * std::chrono::duration<double>(at).count()));
      };
      watch::NicWindow window = window_of(n, begin, number_at(begin), number_at(end));
      window.nic = i;
      if (options_.delays && numbers_[host] % 10 == 0) tell_delays(n, window);
      sent.window.nics.push_back(std::move(window));
    }
    all.push_back(std::move(sent));
  }
  now_ += seconds(1);
  std::ranges::sort(all, {}, &SentWindow::arrival);
  return all;
}

FleetRun::FleetRun(const Fabric& fabric, const FleetOptions& options, const watch::WatcherOptions& watcher)
    : fabric_(&fabric),
      plan_(fleet_plan(fabric, options)),
      fleet_(fabric, plan_, watch::PlanVersion(1), options),
      watcher_(fabric, watcher) {
  watcher_.learned(plan_, watch::PlanVersion(1), fleet_ends(fabric, plan_), {});
  watcher_.paths_known({});
  for (const NodeId host : fabric.hosts()) watcher_.hello(fabric.name_of(host), {}, {}, {});
}

std::vector<IncidentEvent> FleetRun::advance(int count) {
  std::vector<IncidentEvent> all;
  for (int i = 0; i < count; ++i) {
    const Nanoseconds start = fleet_.now();
    std::vector<SentWindow> sent = fleet_.second();
    if (between) between(sent);
    auto next = sent.begin();
    for (int quarter = 1; quarter <= 4; ++quarter) {
      // The windows of this second end within it and arrive by a quarter later.
      const Nanoseconds now = start + milliseconds(250) * (quarter + 1);
      for (; next != sent.end() && (next->arrival <= now || quarter == 4); ++next)
        watcher_.take(fabric_->name_of(next->host), next->window,
                      std::max(next->arrival, now - milliseconds(250)));
      const auto actions = watcher_.tick(now, now);
      if (actions.moved) moved.push_back(*actions.moved);
      wants_paths = actions.map_again;
      all.insert(all.end(), actions.events.begin(), actions.events.end());
    }
  }
  events_.insert(events_.end(), all.begin(), all.end());
  return all;
}

std::optional<IncidentEvent> FleetRun::until_opened(int most) {
  for (int i = 0; i < most; ++i)
    for (const IncidentEvent& event : advance(1))
      if (event.change == IncidentChange::opened) return event;
  return std::nullopt;
}

}  // namespace weft
